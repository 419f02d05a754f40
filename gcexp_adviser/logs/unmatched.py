"""What to type where a table does not say which columns are the iteration, the worker and the time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from gcexp.errors import DataError
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.lost_lines import that_go_on
from gcexp_adviser.logs.names import COLUMNS_EXAMPLE, UNIT_OF, Name, Names, listed, typed
from gcexp_adviser.logs.no_workers import no_workers_among
from gcexp_adviser.logs.recipes import LAUNCHER, NESTED_JSON, RATES, TURNED, see
from gcexp_adviser.logs.tables import Table

_CHOICES = 3  # columns of which a sum is shown
_FIRST = 5  # columns without names that are tried for an example
_DATES = 1e9  # seconds since 1970 that a date has
_OF_MANY = re.compile(r"(^|_)(std|var|cv|stdev|stddev)(_|$)")
_NO_TIME = re.compile(
    r"loss|acc|auc|score|error|precision|recall|f1|lr|rate|ratio|share|grad|norm|reward|weight|size|length|count|num"
    r"|samples|examples|tokens|rows|bytes|percent|pct|efficiency|speedup|epsilon|gini|(^|_)id(_|$)"
)


def not_known(table: Table) -> str:
    """That neither the iteration, the worker and the time nor columns of workers are known, and what to type.

    Where no column may be the time, or none the worker, this alone is told. An example tells the first rows apart.
    """
    head = table.head
    times = _that_may_be("time", head, head.names)
    pattern, group = table.names.numbered
    if table.named and not times and not group:
        return no_time(table)
    left = head.names.without(times[:1])
    iterations = _that_may_be("iteration", head, left)[:1]
    workers = _that_may_be("worker", head, left.without(iterations))[:1]
    if iterations and len(head.frame) < 2 * head[iterations[0]].distinct:
        workers = []  # a row for each iteration
    if table.named and not workers and len(times) == 1:
        return f"{no_worker(table)}; where {times[0]} is the time: columns=time:{typed(times[0])}"
    of_workers = ", or columns=workers:* where each column is a worker"
    others = no_workers_among(table, group or table.columns)
    if others:
        of_workers = f"; {others.told}"
    elif group and pattern.written != "*":
        of_workers = f", or columns=workers:{pattern.typed} where each of these columns is a worker"
    example = COLUMNS_EXAMPLE
    if times and iterations and workers and not head.frame.duplicated([*iterations, *workers]).any():
        said = f"iteration:{iterations[0]},worker:{workers[0]},time:{times[0]}"
        example = f"columns={typed(said)}"
    return (
        "has no column 'iteration', 'worker' and 'time' by these or similar names, nor a numbered column for each "
        f"worker; it has {listed(table.columns)}: say which are which, as in {example}"
        f"{of_workers}{where_nested(table)}"
    )


def _that_may_be(role: str, head: Table, names: Names) -> list[str]:
    """Columns that may be meant by their names and first cells: those that are called so, then the likeliest ones."""
    if role == "time":
        found = [head[name] for name in reversed(names.written) if _may_be_time(head[name])]
        found.sort(key=lambda column: (column.name.says_time, not _is_whole(column)), reverse=True)
        return [column.name.written for column in found]
    may_be = _may_be_worker if role == "worker" else _may_be_iteration
    others = [name for name in names.written if may_be(head[name])]
    return [*names.fitting(role), *others]


def _may_be_time(column: Column) -> bool:
    """Whether a column may hold times: numbers above 0 that are no dates and have no other meaning by their name."""
    name, numbers = column.name, column.further[~column.empty]
    if name.is_stamp or name.is_rate or name.fits("iteration") or name.fits("worker") or not len(numbers):
        return False
    if not (numbers > 0).all() or (numbers > _DATES).all() or _OF_MANY.search(name.base):
        return False
    return name.says_time or not _NO_TIME.search(name.base)


def _may_be_worker(column: Column) -> bool:
    """Whether a column may say the worker: words or whole numbers, each in several rows."""
    return 2 <= column.distinct <= len(column.cells) / 2 and (not column.is_numeric or _is_whole(column))


def _may_be_iteration(column: Column) -> bool:
    """Whether a column may say the iteration: different whole numbers."""
    return column.distinct >= 2 and _is_whole(column)


def _is_whole(column: Column) -> bool:
    """Whether a column has whole numbers from 0 on."""
    numbers = column.further
    return bool(((numbers >= 0) & (numbers < np.inf) & (numbers == np.rint(numbers))).all())


def no_time(table: Table) -> str:
    """That no column is known to be the time, and what to type."""
    told = _no_column("time", table)
    if not table.named:
        return told
    parts = table.names.where(lambda name: _may_be_part(table[name.written]))
    if len(parts) == 1:
        told += f"; where {parts[0]} is it: columns=time:{typed(parts[0])}"
    elif _may_be_added([table[name] for name in parts[:_CHOICES]]):
        several = "+".join(parts[:_CHOICES])
        told += f"; the sum of several is typed columns=time:{typed(several)}"
    elif parts:
        choices = " or ".join(f"columns=time:{typed(name)}" for name in parts[:_CHOICES])
        told += f"; where one of these is it: {choices}"
    stamps = [
        *table.names.where(lambda name: name.is_stamp),
        *table.names.fitting("end"),
        *table.names.fitting("start"),
    ]
    if stamps:
        told += f"; for the time since the worker's previous row: columns=end:{typed(stamps[0])}"
    if table.names.where(lambda name: name.is_rate):
        told += f"; a rate becomes a time: {see(RATES)}"
    pattern, group = table.names.numbered
    if len(group) > 2:
        told += f"; where each of the columns {pattern.typed} is an iteration, {see(TURNED)}"
    return told + where_nested(table)


def _may_be_part(column: Column) -> bool:
    """Whether a column may be the time or a part of it, by its name: a unit, or a word with ``time`` in it."""
    name = column.name
    says_time = bool(name.unit) or name.base in UNIT_OF or "time" in name.base
    return says_time and not name.is_stamp and column.is_numeric


def _may_be_added(columns: list[Column]) -> bool:
    """Whether columns may be parts of a time: of one unit, and mostly there in the same rows."""
    if len({column.name.unit for column in columns}) != 1:
        return False
    empty = np.stack([column.empty for column in columns])
    return bool(empty.any(axis=0).sum() <= len(empty[0]) / 2)


def no_time_but_a_rate(name: Name) -> str:
    """That a column of times is one of rates, and what to do."""
    rate = name.written
    return (
        f"{rate} seems to be a rate, of which more is faster, and is no time. Where it counts iterations, a time is "
        f"1/{rate}, and where it counts examples their number in an iteration/{rate}: {see(RATES)}; where it is a "
        "time, name its unit: unit=s"
    )


def no_worker(table: Table) -> str:
    """That no column is known to be the worker, and what to type."""
    told = _no_column("worker", table)
    pattern, group = table.names.numbered
    if group and table.named and not no_workers_among(table, group):
        told += f"; where each of the columns {pattern.written} is a worker: columns=workers:{pattern.typed}"
    return (
        f"{told}; the log of one worker alone does not show who is slow: of files of one worker each name all; where "
        f"a launcher wrote the rank before each line, {see(LAUNCHER)}{where_nested(table)}"
    )


def no_iteration(table: Table, workers: Sequence[str]) -> str:
    """That no column is known to be the iteration, where these are the workers, and what to type."""
    told = _no_column("iteration", table)
    if not table.named:
        return told
    numbers = table.frame.groupby(list(workers), dropna=False, sort=False).ngroup().to_numpy()
    counts = np.bincount(numbers)
    if counts.min() == counts.max():
        return f"{told}; columns=iteration:none numbers the rows of each worker in their order"
    told += f"; workers have {counts.min()} to {counts.max()} rows"
    if that_go_on(numbers):
        return (
            f"{told}, and others than their last ones are missing, as where not all take part in each step: which ones "
            "cannot be known without the step, so write it into each line"
        )
    return f"{told}; where the last ones are missing, columns=iteration:none numbers those of each in their order"


def _no_column(role: str, table: Table) -> str:
    """That no column is known to be something, and what to type."""
    shown = listed(table.columns)
    if not table.named and "worker" in table.columns:  # of files that are called after their workers
        columns = [column for column in table.columns if column not in ("worker", "iteration")]
        return (
            f"has no header, so no column is known to be the {role!r}; its columns are {listed(columns)}: say which "
            f"they are{_as_in(_columns_of_files(table, columns))}"
        )
    if not table.named:
        return (
            f"has no header, so no column is known to be the {role!r}; its columns are {shown}: say which they are"
            f"{_as_in(columns_without_names(table))}"
        )
    return (
        f"has no column {role!r} nor one of a similar name; it has {shown}: say which one it is, as in "
        f"columns={role}:NAME"
    )


# --- without a header -------------------------------------------------------------------------------------------------


def columns_without_names(table: Table) -> list[str]:
    """What the columns of a table without a header may be, as it is typed; nothing where that is not seen.

    >>> import pandas as pd
    >>> rows = pd.DataFrame(
    ...     {"column1": [0, 0, 1, 1], "column2": [0, 1, 0, 1], "column3": [0.5, 0.7, 0.4, 0.6]}
    ... )
    >>> columns_without_names(Table("mine", rows, named=False))
    ['columns=iteration:column1,worker:column2,time:column3']
    >>> columns_without_names(Table("mine", rows[["column1", "column3"]], named=False))
    []
    >>> columns_without_names(Table("mine", rows[["column1", "column3"]][::2], named=False))
    ['columns=iteration:column1,workers:* where column1 numbers the iterations']
    """
    choices = _of_rows(table)
    first, *others = table.columns
    numbers_rows = _is_whole(table[first]) and table.frame[first].is_unique
    may_be_workers = all(table[name].may_be_durations for name in others)
    if table[first].may_be_durations and may_be_workers and not no_workers_among(table, table.columns):
        choices.append("columns=workers:* where each is a worker")
    if others and numbers_rows and may_be_workers and not no_workers_among(table, others):
        choices.append(f"columns=iteration:{first},workers:* where {first} numbers the iterations")
    return choices


def _of_rows(table: Table) -> list[str]:
    """The first columns that may be iteration, worker and time, as they are typed; nothing where none may.

    They tell the first rows apart, and a worker usually has several rows where there are several iterations.
    """
    head = table.head
    for iteration, worker, time in permutations(head.columns[:_FIRST], 3):
        keys_fit = _is_whole(head[iteration]) and _names_workers(head[worker])
        least_rows = min(head[iteration].distinct, 2) * head[worker].distinct
        if not keys_fit or len(head.frame) < least_rows or not head[time].may_be_durations:
            continue
        if not head.frame.duplicated([iteration, worker]).any():
            return [f"columns=iteration:{iteration},worker:{worker},time:{time}"]
    return []


def _columns_of_files(table: Table, columns: list[str]) -> list[str]:
    """What columns of files, each of which is a worker's, may be, as it is typed; nothing where that is not seen."""
    first, last = columns[0], columns[-1]
    if len(columns) > 1 and _are_starts_and_ends(table[first], table[last]):
        return [f"columns=start:{first},end:{last}"]
    if not table[last].may_be_durations:
        return []
    choices = [f"columns=time:{last}"]
    if len(columns) > 1 and _is_whole(table[first]) and not table.frame.duplicated([first, "worker"]).any():
        choices.insert(0, f"columns=iteration:{first},time:{last}")
    return choices


def _as_in(choices: list[str]) -> str:
    """Examples, as a sentence goes on; nothing where there is none."""
    return f", as in {', or '.join(choices)}" if choices else ""


def _names_workers(column: Column) -> bool:
    """Whether all cells may name workers: words or whole numbers."""
    return not column.empty.any() and (not column.is_numeric or _is_whole(column))


def _are_starts_and_ends(start: Column, end: Column) -> bool:
    """Whether two columns hold dates, of which the second is later."""
    try:
        starts, unit_of_starts, _ = start.moments
        ends, unit_of_ends, _ = end.moments
    except DataError:
        return False
    return bool(unit_of_starts) and unit_of_starts == unit_of_ends and bool((ends > starts).all())


def where_nested(table: Table) -> str:
    """The recipe for cells that hold several things, as a sentence goes on; nothing where there are none."""
    if not table.nested:
        return ""
    return f"; {listed(table.nested)} holds lists or objects: {see(NESTED_JSON)}"
