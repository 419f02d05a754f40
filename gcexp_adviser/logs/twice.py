"""Several rows of one iteration and worker: who they are of, and what to type so that one time is left."""

from __future__ import annotations

from gcexp.errors import DataError
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.tables import PARQUET, Table

_MOST_KINDS = 50  # values of a column that says what a row is about
_SELDOM = 0.1  # of the rows, at which a run that was started again goes back


class StandsTwice(DataError):
    """Several rows are of the same iteration and worker."""

    def __init__(self, place: str, who: str, found: Matched, cure: str = ""):
        cure = cure or "keep one of the rows"
        super().__init__(
            f"{place}: {who} stands twice; {cure}, or name the columns that tell them apart, as in "
            "columns=iteration:epoch+step,worker:host+rank"
        )
        self.place = place
        self.who = who
        self.found = found


def with_cure(error: StandsTwice, table: Table) -> StandsTwice:
    """The error with what to type where such rows are of different kinds, as of a forward and a backward pass."""
    found = error.found
    keys = [*found.iteration, *found.worker]
    if not found.iteration or not found.times:
        return error
    if _goes_back(table, found):
        cure = (
            "the run seems to have gone back and done some iterations again, as from a checkpoint; keep the last row "
            f'of each: python -c "import pandas as pd; d = {_reading(table)}; '
            f"d.drop_duplicates({keys!r}, keep='last').to_csv('last.csv', index=False)\""
        )
        return StandsTwice(error.place, error.who, found, cure)
    kinds = []
    for column in table.columns:
        if column in found.used or table.frame[column].nunique() > _MOST_KINDS:
            continue
        rows_of_keys = table.frame.groupby(keys, sort=False)[column]
        if rows_of_keys.nunique().max() > 1:
            kinds.append(column)
    if not kinds:
        return error
    first = table.frame[kinds[0]].iloc[0]
    time = list(found.times) if len(found.times) > 1 else found.times[0]
    cure = (
        f"its rows differ in {listed(kinds)}: keep one kind of rows, as d = d[d[{kinds[0]!r}] == {first!r}], or add "
        f'them up: python -c "import pandas as pd; d = {_reading(table)}; '
        f"d.groupby({keys!r}, as_index=False)[{time!r}].sum().to_csv('sums.csv', index=False)\""
    )
    return StandsTwice(error.place, error.who, found, cure)


def _goes_back(table: Table, found: Matched) -> bool:
    """Whether the iterations of each worker grow from row to row, but for a few rows where they fall."""
    import pandas as pd

    if len(found.iteration) > 1:
        return False
    iterations = pd.to_numeric(table.frame[found.iteration[0]], errors="coerce")
    workers = [table.frame[column] for column in found.worker]
    steps = iterations.groupby(workers, sort=False).diff()
    falls = int((steps < 0).sum())
    return 0 < falls < _SELDOM * len(steps) and not (steps == 0).any()


def _reading(table: Table) -> str:
    """How pandas reads such a file."""
    if PARQUET in table.decisions:
        return "pd.read_parquet('FILE')"
    if any("JSON" in decision for decision in table.decisions):
        return "pd.read_json('FILE', lines=True)"
    return "pd.read_csv('FILE', sep=';')" if table.semicolons else "pd.read_csv('FILE')"
