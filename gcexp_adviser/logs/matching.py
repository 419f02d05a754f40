"""Which columns of a table are the iteration, the worker and the time; ambiguity ends in a sentence with the cure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError
from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.names import (
    LABEL,
    NOT_USED,
    Name,
    Names,
    column_given,
    listed,
    name_of,
    names_of,
)
from gcexp_adviser.logs.numbers import cells_of, is_empty, is_numeric
from gcexp_adviser.logs.panels import panel_of, series_of
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.unmatched import comes_back, no_iteration, no_time, no_worker, numbered, typed

_CHOICES = 3  # what is offered to be typed
_HIGH = ("p50", "p75", "p90", "p95", "p98", "p99", "p999")  # quantiles
_JOINS = "+"  # columns=worker:node+local_rank


@dataclass(frozen=True)
class Matched:
    """Columns of a long table, by what they are; a key may be made of several columns, and times may be added up.

    ``times`` is empty where the time is the difference of `start` and `end`, ``iteration`` where no column says it.
    Where there is an `end` and no `start`, a time begins with the end of the worker's previous row.
    """

    iteration: tuple[str, ...]
    worker: tuple[str, ...]
    times: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    compute: str = ""
    load: str = ""
    chunk: str = ""
    decisions: list[str] = field(default_factory=list)

    @property
    def used(self) -> set[str]:
        """Names of all these columns."""
        single = {self.start, self.end, self.compute, self.load, self.chunk}
        return (single | {*self.iteration, *self.worker, *self.times}) - {""}

    def with_column(self, role: str, column: str) -> Matched:
        """The same with a column of computing, loads or micro-batches."""
        return replace(self, **{role: column})  # type: ignore[arg-type]


def is_canonical(table: Table) -> bool:
    """Whether a table has the three columns of this project's format, by their very names."""
    return set(NEEDED) <= set(table.columns)


def canonical(table: Table) -> Matched:
    """The columns of this project's format; others are further columns, whatever they are called."""
    found = Matched(("iteration",), ("worker",), ("time",))
    for name in ("compute", "load", "chunk"):
        if name in table.columns:
            found = found.with_column(name, name)
    return found


def looks_long(table: Table, given: dict[str, str]) -> bool:
    """Whether a table has a row for each iteration and worker, and not a column for each worker."""
    if "workers" in given:
        return False
    if {"time", "start", "end", "worker"} & set(given):
        return True
    names = table.names
    if panel_of(names) or series_of(names.written):
        return False
    if names.has("worker"):
        return True
    timed = names.fitting("time")
    numbers = names.without([*timed, *names.fitting("iteration")]).where(
        lambda name: is_numeric(table.frame[name.written])
    )
    if len(numbers) > 1:
        timed = [name for name in timed if not table.says_when(name)]
    is_timed = bool(timed) or (names.has("start") and names.has("end"))
    return is_timed and len(of_workers(names)) < 2


def of_workers(names: Names) -> list[str]:
    """Columns that are surely those of workers, as ``rank0`` and ``rank1``; none if there are several such groups."""
    groups: dict[str, list[Name]] = {}
    for name in names.items:
        pattern = _pattern_of(name)
        is_double = name.timers in names.written  # pandas calls the second column of a name time.1
        if pattern and not is_double:
            groups.setdefault(pattern, []).append(name)
    found: list[Name] = []
    for group in groups.values():
        if len(group) < 2 or are_quantiles(group):
            continue
        if found:
            return []
        found = group
    return [name.written for name in found]


def are_quantiles(group: Sequence[Name]) -> bool:
    """Whether all columns of a group are quantiles of the times of all workers, as ``p50`` and ``p99``."""
    high = [name for name in group if name.base.endswith(_HIGH)]  # p0 and p1 alone are processes
    return bool(high) and all(name.is_quantile for name in group)


def _pattern_of(name: Name) -> str:
    """What the columns of workers have in common with one of this name; empty for a column that is no worker's."""
    if name.timers:
        return f"{name.timers}.0"
    if re.search(r"\d", name.base) and name.is_of_worker:
        return re.sub(r"\d+", "0", name.base)
    return ""


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
    chosen: dict[str, tuple[str, ...]] = {}
    names = table.names
    for role, column in given.items():
        chosen[role] = _columns_given(role, column, table)
        names = names.without(chosen[role])
    decisions: list[str] = []
    found = _times(table, chosen, names, decisions)
    names = names.without(found.used)
    for role in ("compute", "load", "chunk"):
        columns = _columns_of(role, chosen, names)
        if len(columns) > 1:
            _ask(role, columns, table)
        if columns:
            found = found.with_column(role, columns[0])
    names = names.without(found.used)
    iterations = _columns_of("iteration", chosen, names)
    workers = _columns_of("worker", chosen, names)
    if not workers and LABEL in names.written and comes_back(table, name_of(LABEL)):
        workers = (LABEL,)
        decisions.append(f"{LABEL} is the number that begins a line, as srun --label writes it")
    if not workers and not alone:
        raise DataError(f"{table.place}: {no_worker(table, iterations)}")
    if not iterations and not alone and "iteration" not in chosen:
        raise DataError(f"{table.place}: {no_iteration(table)}")
    iteration, worker = _keys(table, iterations, workers, found.chunk, found.times, given)
    found = replace(found, iteration=iteration, worker=worker)
    decisions.insert(0, _said(found))
    others = names_of([*iterations, *workers]).without([*iteration, *worker]).written
    if others:
        decisions.append(f"did not need {listed(others)} to tell the rows apart")
    return replace(found, decisions=decisions)


def _said(found: Matched) -> str:
    """What was taken for what."""
    parts = []
    if found.iteration:
        parts.append(f"iteration = {_joined(found.iteration)}")
    if found.worker:
        parts.append(f"worker = {_joined(found.worker)}")
    if found.times:
        parts.append(f"time = {' + '.join(found.times)}")
    elif found.start:
        parts.append(f"time = {found.end} - {found.start}")
    else:
        parts.append(f"time = {found.end} - that of the worker's previous row")
    for role in ("compute", "load", "chunk"):
        if getattr(found, role):
            parts.append(f"{role} = {getattr(found, role)}")
    return f"took {', '.join(parts)}"


def _columns_given(role: str, column: str, table: Table) -> tuple[str, ...]:
    """The columns that a person named for a role."""
    if column == NOT_USED:
        return ()
    parts = [column]
    if _JOINS in column and column not in table.columns and role in ("iteration", "worker", "time"):
        parts = column.split(_JOINS)
    return tuple(column_given(part, table.columns, table.place) for part in parts)


def _columns_of(role: str, chosen: dict[str, tuple[str, ...]], names: Names) -> tuple[str, ...]:
    """The columns that a person named for a role, or all those whose names fit."""
    if role in chosen:
        return chosen[role]
    return tuple(names.fitting(role))


def _times(table: Table, chosen: dict[str, tuple[str, ...]], names: Names, decisions: list[str]) -> Matched:
    """The columns of times, or those of starts and ends; the keys are found later."""
    if chosen.get("time"):
        return Matched((), (), chosen["time"])
    timed = names.where(lambda name: name.fits("time") and not _is_least(name, names))
    if chosen.get("start") or chosen.get("end"):
        timed = []
    starts = _columns_of("start", chosen, names)
    ends = _columns_of("end", chosen, names)
    pattern, group = numbered(timed)
    if len(timed) > 1 and group == timed:
        raise DataError(
            f"{table.place}: {listed(timed)} may each be the time; where each of them is of a worker: "
            f"columns=workers:{typed(pattern)}"
        )
    if len(timed) > 1:
        _ask("time", timed, table)
    values = names.where(lambda name: name.base == "value")
    if timed and values and table.says_when(timed[0]):
        raise DataError(
            f"{table.place}: {timed[0]} is a date, as in a table of TensorBoard: where the values are the times, "
            f"columns=time:{values[0]}; for the time since the worker's previous row: columns=end:{typed(timed[0])}"
        )
    if timed:
        if starts and ends:
            decisions.append(f"did not use {starts[0]} and {ends[0]}, for {timed[0]} is the time")
        return Matched((), (), (timed[0],))
    if not ends or not (starts or chosen.get("end")):
        raise DataError(f"{table.place}: {no_time(table)}")
    if len(starts) > 1:
        _ask("start", starts, table)
    if len(ends) > 1:
        _ask("end", ends, table)
    return Matched((), (), start=starts[0] if starts else "", end=ends[0])


def _is_least(name: Name, names: Names) -> bool:
    """Whether ``time_min`` stands beside ``time_max`` or ``time_mean``, so that it has the least time, not minutes."""
    if not re.search(r"min\W*$", name.written, re.IGNORECASE):
        return False
    for word in ("max", "mean", "avg", "average", "median"):
        beside = f"{name.base}_{word}".strip("_")
        for other in names.items:
            if other.base == beside:
                return True
    return False


def _ask(role: str, fitting: Sequence[str], table: Table) -> None:
    """Raise `DataError`: several columns fit."""
    choices = " or ".join(f"columns={role}:{typed(column)}" for column in fitting[:_CHOICES])
    raise DataError(f"{table.place}: {listed(fitting)} may each be the {role}; say which one: {choices}")


def _joined(columns: tuple[str, ...]) -> str:
    return _JOINS.join(columns)


def key_of(table: Table, columns: Sequence[str]) -> np.ndarray:
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
    times: tuple[str, ...],
    given: dict[str, str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that tell iterations apart and those that tell workers apart.

    Of several that fit, one is taken if with it no pair of an iteration and a worker stands twice, and if all others
    that do so say the same. Where no single one suffices, all together are tried: an epoch and a batch within it. Rows
    without a time, as those of an evaluation, do not count.
    """
    by_iteration = [iterations]
    if "iteration" not in given and iterations:
        by_iteration = [(name,) for name in iterations]
    by_worker = [workers]
    if "worker" not in given and workers:
        by_worker = [(name,) for name in workers]
    if len(by_iteration) == len(by_worker) == 1:
        return by_iteration[0], by_worker[0]
    table = _with_times(table, times)
    fitting = _that_tell_rows_apart(table, by_iteration, by_worker, chunk)
    if not fitting:
        wider_iteration = list(by_iteration)
        wider_worker = list(by_worker)
        if len(by_iteration) > 1:
            wider_iteration.append(_coarsest_first(table, iterations))
        if len(by_worker) > 1:
            wider_worker.append(_coarsest_first(table, workers))
        fitting = _that_tell_rows_apart(table, wider_iteration, wider_worker, chunk)
    if not fitting and len(by_worker) > 1:
        _ask("worker", workers, table)
    if not fitting:
        _ask("iteration", iterations, table)
    first = fitting[0]
    for other in fitting[1:]:
        for role, mine, its in zip(("iteration", "worker"), first, other, strict=True):
            if not _same(table, mine, its):
                _ask(role, [_joined(mine), _joined(its)], table)
    return first


def _with_times(table: Table, times: tuple[str, ...]) -> Table:
    """The rows of a table in which all columns of times have something."""
    empty = np.zeros(len(table.frame), bool)
    for column in times:
        empty |= [is_empty(cell) for cell in cells_of(table.frame[column])]
    return replace(table, frame=table.frame[~empty])


def _that_tell_rows_apart(table, by_iteration, by_worker, chunk) -> list[tuple]:
    """Pairs of keys with which no row stands twice."""
    fitting = []
    for iteration in by_iteration:
        for worker in by_worker:
            columns = [*iteration, *worker]
            if chunk:
                columns.append(chunk)
            codes = key_of(table, columns)
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


def refuse_wide_roles(given: dict[str, str]) -> None:
    """Raise `ParameterError` where ``columns=`` names workers' columns and those of a long table."""
    clash = set(given) & {"worker", "time", "start", "end", "compute", "load", "chunk"}
    if clash:
        raise ParameterError(
            f"columns= names workers, a column for each, and {', '.join(sorted(clash))}, of a table with a row for each"
        )
