"""Several rows of one iteration and worker: in what they differ, and what to do about it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from gcexp.errors import DataError
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.recipes import SEVERAL_ROWS, see
from gcexp_adviser.logs.tables import Table

_MOST_KINDS = 50  # values of a column that says what a row is about


def refuse_rows_that_stand_twice(table: Table, found: Matched) -> None:
    """Raise `DataError` where several rows are of the same iteration and worker, by their cells."""
    if not found.iteration:
        return
    keys = [*found.iteration, *found.worker]
    if found.chunk:
        keys.append(found.chunk)
    twice = np.flatnonzero(table.frame.duplicated(keys))
    if not len(twice):
        return
    row = table.frame.iloc[int(twice[0])].astype(str)
    iteration = "/".join(row[list(found.iteration)])
    worker = "/".join(row[list(found.worker)])
    refuse_twice(table, found, f"iteration {iteration}, worker {worker}")


def refuse_twice(table: Table, found: Matched, who: str) -> NoReturn:
    """Raise `DataError`: several rows are of the iteration and worker that `who` names."""
    told = f"{table.place}: {who} stands twice"
    kinds = _kinds(table, found)
    if kinds:
        told += f"; its rows differ in {listed(kinds)}, as {kinds[0]} {table.frame[kinds[0]].iloc[0]}"
    raise DataError(
        f"{told}: {see(SEVERAL_ROWS)}, or name the columns that tell them apart, as in "
        "columns=iteration:epoch+step,worker:host+rank"
    )


def _kinds(table: Table, found: Matched) -> list[str]:
    """Columns with few values, in which rows of one iteration and worker differ."""
    if not found.iteration:
        return []
    keys = [*found.iteration, *found.worker]
    kinds = []
    for name in table.names.without(found.used).written:
        if table[name].distinct > _MOST_KINDS:
            continue
        if table.frame.groupby(keys, sort=False)[name].nunique().max() > 1:
            kinds.append(name)
    return kinds
