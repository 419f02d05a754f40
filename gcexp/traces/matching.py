"""Which columns of a table are the iteration, the worker and the time; ambiguity ends in a sentence with the cure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError, unknown
from gcexp.traces.names import NOT_USED, Name, column_given, listed, name_of
from gcexp.traces.numbers import cells_of, is_empty
from gcexp.traces.record import NEEDED
from gcexp.traces.tables import Table

_CHOICES = 3  # what is offered to be typed
_JOINS = "+"  # columns=worker:node+local_rank


@dataclass(frozen=True)
class Matched:
    """Columns of a long table, by what they are; a key may be made of several columns.

    ``time`` is empty where it is the difference of `start` and `end`, ``iteration`` where no column says it.
    """

    iteration: tuple[str, ...]
    worker: tuple[str, ...]
    time: str = ""
    start: str = ""
    end: str = ""
    compute: str = ""
    load: str = ""
    chunk: str = ""
    decisions: list[str] = field(default_factory=list)

    @property
    def used(self) -> set[str]:
        """Names of all these columns."""
        single = {self.time, self.start, self.end, self.compute, self.load, self.chunk}
        return (single | {*self.iteration, *self.worker}) - {""}


def is_canonical(table: Table) -> bool:
    """Whether a table has the three columns of this project's format, by their very names."""
    return set(NEEDED) <= set(table.columns)


def canonical(table: Table) -> Matched:
    """The columns of this project's format; others are further columns, whatever they are called."""
    found = [name if name in table.columns else "" for name in ("compute", "load", "chunk")]
    compute, load, chunk = found
    return Matched(("iteration",), ("worker",), "time", compute=compute, load=load, chunk=chunk)


def looks_long(table: Table, given: dict[str, str]) -> bool:
    """Whether a table has a row for each iteration and worker, and not a column for each worker."""
    if "workers" in given:
        return False
    if {"time", "start", "end", "worker"} & set(given):
        return True
    names = [name_of(column) for column in table.columns]
    if any(name.fits("worker") for name in names):
        return True
    timed = any(name.fits("time") for name in names)
    from_to = any(name.fits("start") for name in names) and any(name.fits("end") for name in names)
    return (timed or from_to) and len(of_workers(names)) < 2


def of_workers(names: list[Name]) -> list[str]:
    """Columns that differ in a number only, as ``rank0`` and ``rank1`` do; none where there are several such groups."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if re.search(r"\d", name.base):
            without_numbers = re.sub(r"\d+", "0", name.base)
            groups.setdefault(without_numbers, []).append(name.written)
    several = [group for group in groups.values() if len(group) > 1]
    return several[0] if len(several) == 1 else []


def matched(table: Table, given: dict[str, str], alone: bool) -> Matched:
    """Match the columns of a long table.

    Parameters
    ----------
    table : Table
    given : dict
        What ``columns=`` says.
    alone : bool
        Whether the table is that of one worker, whose name is that of its file; then no column need say the worker.

    Raises
    ------
    DataError
        Where a column is missing or several fit; the sentence shows what to type.
    """
    place, columns = table.place, table.columns
    chosen = {role: _columns_given(role, column, table) for role, column in given.items()}
    taken = {column for found in chosen.values() for column in found}
    names = [name_of(column) for column in columns if column not in taken]
    decisions: list[str] = []
    single = {"time": "", "start": "", "end": "", "compute": "", "load": "", "chunk": ""}
    for role in single:
        if role in chosen:
            single[role] = chosen[role][0] if chosen[role] else ""
    if not single["time"] and not (single["start"] and single["end"]):
        _match_times(table, names, single, decisions)
    elif single["time"]:
        single["start"] = single["end"] = ""
    rest = [name for name in names if name.written not in single.values()]
    for role in ("compute", "load", "chunk"):
        fitting = [name.written for name in rest if name.fits(role)]
        if role not in chosen and fitting:
            single[role] = _one_of(role, fitting, table)
    rest = [name for name in rest if name.written not in single.values()]
    iterations = chosen.get("iteration") or tuple(name.written for name in rest if name.fits("iteration"))
    workers = chosen.get("worker") or tuple(name.written for name in rest if name.fits("worker"))
    if not workers and not alone:
        raise DataError(
            f"{place}: {_no_column('worker', table)}; of files of one "
            "worker each name all: gcexp trace import FILE FILE ..."
        )
    if not iterations and not alone:
        raise DataError(f"{place}: {_no_column('iteration', table)}")
    chunk = single["chunk"]
    iteration, worker = _keys(table, iterations, workers, chunk, given)
    said = [
        f"iteration = {_joined(iteration)}" if iteration else "",
        f"worker = {_joined(worker)}" if worker else "",
    ]
    said.append(
        f"time = {single['time']}" if single["time"] else f"time = {single['end']} - {single['start']}"
    )
    for role in ("compute", "load", "chunk"):
        if single[role]:
            said.append(f"{role} = {single[role]}")
    decisions.insert(0, f"took {', '.join(part for part in said if part)}")
    others = [name for name in (*iterations, *workers) if name not in {*iteration, *worker}]
    if others:
        decisions.append(f"did not need {listed(others)} to tell the rows apart")
    return Matched(iteration, worker, decisions=decisions, **single)


def _columns_given(role: str, column: str, table: Table) -> tuple[str, ...]:
    """The columns that a person named for a role."""
    if column == NOT_USED:
        return ()
    parts = [column]
    if _JOINS in column and column not in table.columns and role in ("iteration", "worker"):
        parts = column.split(_JOINS)
    return tuple(column_given(part, table.columns, table.place) for part in parts)


def _match_times(table: Table, names: list[Name], single: dict[str, str], decisions: list[str]) -> None:
    """Find the column of times, or those of starts and ends."""
    timed = [name.written for name in names if name.fits("time")]
    starts = [name.written for name in names if name.fits("start")]
    ends = [name.written for name in names if name.fits("end")]
    if single["start"]:
        starts = [single["start"]]
    if single["end"]:
        ends = [single["end"]]
    if len(timed) > 1:
        _ask("time", timed, table)
    if timed:
        single["time"] = timed[0]
        single["start"] = single["end"] = ""
        if starts and ends:
            decisions.append(f"did not use {starts[0]} and {ends[0]}, for {timed[0]} is the time")
        return
    if not starts or not ends:
        raise DataError(f"{table.place}: {_no_column('time', table)}")
    if len(starts) > 1:
        _ask("start", starts, table)
    if len(ends) > 1:
        _ask("end", ends, table)
    single["start"], single["end"] = starts[0], ends[0]


def _one_of(role: str, fitting: list[str], table: Table) -> str:
    if len(fitting) > 1:
        _ask(role, fitting, table)
    return fitting[0]


def _ask(role: str, fitting: list[str], table: Table) -> None:
    """Raise `DataError`: several columns fit."""
    raise DataError(
        f"{table.place}: {listed(fitting)} may each be the {role}; say which one: "
        f"{' or '.join(f'columns={role}:{_typed(column)}' for column in fitting[:_CHOICES])}"
    )


def _typed(column: str) -> str:
    """A column's name as it is typed in ``columns=``; quoted where a shell would divide it."""
    return f"'{column}'" if any(sign in column for sign in " ()[]&;|<>*?$") else column


def _no_column(role: str, table: Table) -> str:
    """That no column is known to be something, and what to type."""
    columns = table.columns
    shown = listed(columns)
    if not table.named:
        return (
            f"has no header, so no column is known to be the {role!r}; its columns are {shown}: say which they are, as "
            "in columns=iteration:column1,worker:column2,time:column3, or columns=workers:* where each is a worker"
        )
    hint = unknown("column", role, columns)
    near = f" ({hint[hint.index('did you mean') : hint.index('?') + 1]})" if "did you mean" in hint else ""
    return (
        f"has no column {role!r} nor one of a similar name{near}; it has {shown}: say which one it is, as in "
        f"columns={role}:NAME"
    )


def _joined(columns: tuple[str, ...]) -> str:
    return _JOINS.join(columns)


def key_of(table: Table, columns: tuple[str, ...]) -> np.ndarray:
    """Numbers of the rows' distinct values in some columns, in the order of their appearance."""
    codes = np.zeros(len(table.frame), np.int64)
    for column in columns:
        found, values = pd.factorize(table.frame[column])
        codes, _ = pd.factorize(codes * (len(values) + 1) + found)
    return codes


def _keys(
    table: Table,
    iterations: tuple[str, ...],
    workers: tuple[str, ...],
    chunk: str,
    given: dict[str, str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that tell iterations apart and those that tell workers apart.

    Of several that fit, one is taken if with it no pair of an iteration and a worker stands twice, and if all others
    that do so say the same. Where no single one suffices, all together are tried: an epoch and a batch within it.
    """
    choices_of_iteration = [iterations]
    if "iteration" not in given and iterations:
        choices_of_iteration = [(name,) for name in iterations]
    choices_of_worker = [workers]
    if "worker" not in given and workers:
        choices_of_worker = [(name,) for name in workers]
    if len(choices_of_iteration) == len(choices_of_worker) == 1:
        return choices_of_iteration[0], choices_of_worker[0]
    fitting = _that_tell_rows_apart(table, choices_of_iteration, choices_of_worker, chunk)
    if not fitting:
        wider_iteration = choices_of_iteration
        wider_worker = choices_of_worker
        if len(choices_of_iteration) > 1:
            wider_iteration = [*choices_of_iteration, _coarsest_first(table, iterations)]
        if len(choices_of_worker) > 1:
            wider_worker = [*choices_of_worker, _coarsest_first(table, workers)]
        fitting = _that_tell_rows_apart(table, wider_iteration, wider_worker, chunk)
    if not fitting:
        several = workers if len(choices_of_worker) > 1 else iterations
        role = "worker" if len(choices_of_worker) > 1 else "iteration"
        _ask(role, list(several), table)
    first = fitting[0]
    for other in fitting[1:]:
        for role, mine, its in zip(("iteration", "worker"), first, other, strict=True):
            if not _same(table, mine, its):
                _ask(role, [_joined(mine), _joined(its)], table)
    return first


def _that_tell_rows_apart(table, choices_of_iteration, choices_of_worker, chunk) -> list[tuple]:
    """Pairs of keys with which no row stands twice."""
    fitting = []
    more = (chunk,) if chunk else ()
    for iteration in choices_of_iteration:
        for worker in choices_of_worker:
            codes = key_of(table, (*iteration, *worker, *more))
            if codes.max(initial=-1) + 1 == len(codes):
                fitting.append((iteration, worker))
    return fitting


def _coarsest_first(table: Table, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns in the order of their number of values, as an epoch stands before a batch."""
    return tuple(sorted(columns, key=lambda column: table.frame[column].nunique()))


def _same(table: Table, mine: tuple[str, ...], its: tuple[str, ...]) -> bool:
    """Whether two keys divide the rows alike."""
    together = key_of(table, (*mine, *its)).max() + 1
    return together == key_of(table, mine).max() + 1 == key_of(table, its).max() + 1


def refuse_empty(table: Table, column: str, role: str) -> None:
    """Raise `DataError` where a key is empty in some row."""
    cells = cells_of(table.frame[column])
    if cells.dtype == object:
        empty = np.array([is_empty(cell) for cell in cells])
    else:
        empty = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), bool)
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise DataError(f"{table.place}: {role} in {table.place_of(row)} is empty; delete such rows")


def refuse_wide_roles(given: dict[str, str]) -> None:
    """Raise `ParameterError` where ``columns=`` names workers' columns and those of a long table."""
    clash = set(given) & {"worker", "time", "start", "end", "compute", "load", "chunk"}
    if clash:
        raise ParameterError(
            f"columns= names workers, a column for each, and {', '.join(sorted(clash))}, of a table with a row for each"
        )
