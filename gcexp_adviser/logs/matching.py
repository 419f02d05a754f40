"""Which columns of a table are the iteration, the worker and the time; ambiguity ends in a sentence with the cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError
from gcexp.traces.record import NEEDED
from gcexp_adviser.logs.columns_of_workers import columns_of_workers
from gcexp_adviser.logs.names import NOT_USED, Names, listed, typed
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.unmatched import no_iteration, no_time, no_worker

_CHOICES = 3  # what is offered to be typed
_JOINS = "+"  # columns=worker:node+local_rank
_OUTER_LOOPS = ("round", "epoch")
_SESSIONS = 2  # times that an outer loop runs through its values before rows count as in no order


@dataclass(frozen=True)
class Matched:
    """Columns of a table, by what they are; a key may be made of several columns, and times may be added up.

    ``times`` is empty where the time is the difference of `start` and `end`, ``iteration`` where no column says it.
    Where there is an `end` and no `start`, a time begins with the end of the worker's previous row. Where each worker
    has a column of times, these are `of_workers`, and beside them at most the iteration has one. Of columns that are
    clean, those of a clean record or of an array, nothing has to be told.
    """

    iteration: tuple[str, ...] = ()
    worker: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    compute: str = ""
    load: str = ""
    chunk: str = ""
    of_workers: tuple[str, ...] = ()
    is_clean: bool = False
    decisions: list[str] = field(default_factory=list)

    @property
    def used(self) -> set[str]:
        """Names of all these columns."""
        single = {self.start, self.end, self.compute, self.load, self.chunk}
        return (single | {*self.iteration, *self.worker, *self.times, *self.of_workers}) - {""}

    def with_column(self, role: str, column: str) -> Matched:
        """The same with a column of computing, loads or micro-batches."""
        return replace(self, **{role: column})  # type: ignore[arg-type]


def matched(table: Table, given: dict[str, str]) -> Matched:
    """Match the columns of a table, which has a row for each iteration and worker, or a column for each worker.

    Where nothing was said, the columns of a clean record are known by their very names. In a table of several files,
    each may be that of a worker; then no column need say the worker or the iteration.

    Parameters
    ----------
    table : Table
    given : dict
        What ``columns=`` says.

    Raises
    ------
    DataError
        Where a column is missing or several fit; the sentence shows what to type.
    """
    if not given and set(NEEDED) <= set(table.columns):
        return _columns_of_clean(table)
    if _is_long(table, given):
        return _columns_of_long(table, given)
    return _columns_of_wide(table, given)


def without_empty_compute(table: Table, given: dict[str, str]) -> Table:
    """The table without columns of compute times in which no cell is a number, but those that a person named."""
    for name in table.names.fitting("compute"):
        if name not in given.values() and _has_no_number(table, name):
            told = f"did not use {name}, which has no number"
            decisions = [*table.decisions, told]
            table = replace(table, frame=table.frame.drop(columns=name), decisions=decisions)
    return table


def _has_no_number(table: Table, name: str) -> bool:
    """Whether no cell of a column is a number; of one with cells that cannot be read, reading tells."""
    if table[name].percents is not None:
        return False
    try:
        return bool(np.isnan(table[name].numbers.values).all())
    except DataError:
        return False


def _is_long(table: Table, given: dict[str, str]) -> bool:
    """Whether a table has a row for each iteration and worker, and not a column for each worker."""
    if "workers" in given:
        return False
    if {"time", "start", "end", "worker"} & set(given):
        return True
    names = table.names
    if names.has("worker"):
        return True
    has_time = names.has("time") or (names.has("start") and names.has("end"))
    return has_time and not names.of_workers


def _columns_of_clean(table: Table) -> Matched:
    """The columns of a clean record; others are further columns, whatever they are called."""
    found = Matched(("iteration",), ("worker",), ("time",), is_clean=True)
    for name in ("compute", "load", "chunk"):
        if name in table.columns:
            found = found.with_column(name, name)
    return found


def _columns_of_long(table: Table, given: dict[str, str]) -> Matched:
    """The columns of a table with a row for each iteration and worker."""
    of_one_file = table.files is None
    chosen: dict[str, tuple[str, ...]] = {}
    names = table.names
    for role, column in given.items():
        chosen[role] = _columns_given(role, column, table)
        names = names.without(chosen[role])
    found = _times(table, chosen, names)
    names = names.without(found.used)
    for role in ("compute", "load", "chunk"):
        columns = _columns_of(role, chosen, names)
        if len(columns) > 1:
            _ask(role, columns, table)
        if columns:
            found = found.with_column(role, columns[0])
    names = names.without(found.used)
    iterations = _keys_fitting("iteration", chosen, table, names, found)
    workers = _keys_fitting("worker", chosen, table, names, found)
    if not workers and of_one_file:
        raise DataError(f"{table.place}: {no_worker(table)}")
    if not iterations and of_one_file and "iteration" not in chosen:
        raise DataError(f"{table.place}: {no_iteration(table, workers)}")
    iteration, worker = _keys(table, iterations, workers, found, given)
    found = replace(found, iteration=iteration, worker=worker)
    decisions = [_said(found)]
    others = [name for name in (*iterations, *workers) if name not in (*iteration, *worker)]
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
    return tuple(map(table.column_named, parts))


def _columns_of(role: str, chosen: dict[str, tuple[str, ...]], names: Names) -> tuple[str, ...]:
    """The columns that a person named for a role, or all those whose names fit."""
    if role in chosen:
        return chosen[role]
    return tuple(names.fitting(role))


def _keys_fitting(
    role: str, chosen: dict[str, tuple[str, ...]], table: Table, names: Names, found: Matched
) -> tuple[str, ...]:
    """The columns that a person named for a key, or those whose names fit, without one that most rows lack."""
    fitting = _columns_of(role, chosen, names)
    if role in chosen or len(fitting) < 2:
        return fitting
    there = _rows_with_times(table, found)
    filled = tuple(name for name in fitting if 2 * table[name].empty[there].sum() <= there.sum())
    return filled or fitting


def _rows_with_times(table: Table, found: Matched) -> np.ndarray:
    """Which rows (L,) have something in the columns of times."""
    there = np.ones(len(table.frame), bool)
    for name in found.times:
        there &= ~table[name].empty
    return there


def _times(table: Table, chosen: dict[str, tuple[str, ...]], names: Names) -> Matched:
    """The columns of times, or those of starts and ends; the keys are found later."""
    if chosen.get("time"):
        return Matched(times=chosen["time"])
    if not (chosen.get("start") or chosen.get("end")):
        timed = names.fitting("time")
        if len(timed) > 1:
            _ask("time", timed, table)
        if timed:
            return Matched(times=(timed[0],))
    starts = _columns_of("start", chosen, names)
    ends = _columns_of("end", chosen, names)
    if not ends or not (starts or chosen.get("end")):
        raise DataError(f"{table.place}: {no_time(table)}")
    if len(starts) > 1:
        _ask("start", starts, table)
    if len(ends) > 1:
        _ask("end", ends, table)
    return Matched(start=starts[0] if starts else "", end=ends[0])


def _ask(role: str, fitting: Sequence[str], table: Table) -> None:
    """Raise `DataError`: several columns fit."""
    choices = " or ".join(f"columns={role}:{typed(column)}" for column in fitting[:_CHOICES])
    raise DataError(f"{table.place}: {listed(fitting)} may each be the {role}; say which one: {choices}")


def _joined(columns: tuple[str, ...]) -> str:
    return _JOINS.join(columns)


# --- keys -------------------------------------------------------------------------------------------------------------


def _keys(
    table: Table, iterations: tuple[str, ...], workers: tuple[str, ...], found: Matched, given: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that tell iterations apart and those that tell workers apart.

    Of several that fit, one is taken if with it no pair of an iteration and a worker stands twice, and if all others
    that do so say the same. Where no single one suffices, all together are tried: an epoch and a batch within it. Rows
    without a time, as those of an evaluation, do not count.
    """
    by_iteration: list[tuple[str, ...]] = [iterations]
    if "iteration" not in given and iterations:
        by_iteration = [(name,) for name in iterations]
    by_worker: list[tuple[str, ...]] = [workers]
    if "worker" not in given and workers:
        by_worker = [(name,) for name in workers]
    if len(by_iteration) == len(by_worker) == 1:
        return by_iteration[0], by_worker[0]
    beside = table.names.where(lambda name: name.is_run)
    if found.chunk:
        beside.append(found.chunk)
    there = _rows_with_times(table, found)
    codes = {name: table[name].codes[there] for name in (*iterations, *workers, *beside)}
    fitting = _that_tell_rows_apart(codes, by_iteration, by_worker, beside)
    if not fitting:
        if len(by_iteration) > 1:
            by_iteration.append(_outer_first(codes, iterations, _owners(table, codes, workers, there)))
        if len(by_worker) > 1:
            by_worker.append(_coarsest_first(codes, workers))
        fitting = _that_tell_rows_apart(codes, by_iteration, by_worker, beside)
    if not fitting and len(by_worker) > 1:
        _ask("worker", workers, table)
    if not fitting:
        _ask("iteration", iterations, table)
    first = fitting[0]
    for other in fitting[1:]:
        for role, mine, its in zip(("iteration", "worker"), first, other, strict=True):
            if not _same(codes, mine, its):
                _ask(role, [_joined(mine), _joined(its)], table)
    return first


def _distinct(codes: dict[str, np.ndarray], columns: Sequence[str]) -> int:
    """How many distinct rows there are in some columns, whose distinct cells have numbers in `codes`."""
    (first, *others) = columns
    found = codes[first]
    for name in others:
        own = codes[name]
        found, _ = pd.factorize(found * (own.max(initial=-1) + 2) + own)
    return len(np.unique(found))


def _that_tell_rows_apart(
    codes: dict[str, np.ndarray],
    by_iteration: list[tuple[str, ...]],
    by_worker: list[tuple[str, ...]],
    beside: list[str],
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs of keys with which no row stands twice, where `beside` are columns of micro-batches and of runs."""
    fitting = []
    for iteration in by_iteration:
        for worker in by_worker:
            columns = list(dict.fromkeys([*iteration, *worker, *beside]))
            if _distinct(codes, columns) == len(codes[columns[0]]):
                fitting.append((iteration, worker))
    return fitting


def _coarsest_first(codes: dict[str, np.ndarray], columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns in the order of their number of values, as a node stands before a local rank."""
    return tuple(sorted(columns, key=lambda name: codes[name].max(initial=-1)))


def _owners(
    table: Table, codes: dict[str, np.ndarray], workers: tuple[str, ...], there: np.ndarray
) -> np.ndarray:
    """A number for each row that is there, equal for rows of one worker of one file, as far as columns tell."""
    owners = np.zeros(int(there.sum()), np.int64)
    if table.files is not None:
        owners, _ = pd.factorize(table.files[there])
    for name in workers:
        own = codes[name]
        owners, _ = pd.factorize(owners * (own.max(initial=-1) + 2) + own)
    return owners


def _outer_first(
    codes: dict[str, np.ndarray], columns: tuple[str, ...], owners: np.ndarray
) -> tuple[str, ...]:
    """Columns of iterations, the outer loop first: that which changes least often along the rows of a worker.

    Rows in no order do not say it, and names do.

    >>> codes = {"batch": np.array([0, 1, 0, 1, 0, 1]), "epoch": np.array([0, 0, 1, 1, 2, 2])}
    >>> _outer_first(codes, ("batch", "epoch"), np.zeros(6, int))
    ('epoch', 'batch')
    """
    order = np.argsort(owners, kind="stable")
    is_same = np.diff(owners[order]) == 0
    changes = {}
    for name in columns:
        changes[name] = int((np.diff(codes[name][order]) != 0)[is_same].sum())
    ordered = sorted(columns, key=lambda name: changes[name])
    values = int(codes[ordered[0]].max(initial=-1)) + 1
    if changes[ordered[0]] > _SESSIONS * values * (owners.max(initial=-1) + 1):
        ordered.sort(key=_depth_of_loop)
    return tuple(ordered)


def _depth_of_loop(name: str) -> int:
    """The place of a loop by its name: rounds hold epochs, and epochs hold all others.

    >>> sorted(["step", "epoch", "server_round"], key=_depth_of_loop)
    ['server_round', 'epoch', 'step']
    """
    for depth, loop in enumerate(_OUTER_LOOPS):
        if loop in name.lower():
            return depth
    return len(_OUTER_LOOPS)


def _same(codes: dict[str, np.ndarray], mine: tuple[str, ...], its: tuple[str, ...]) -> bool:
    """Whether two keys divide the rows alike."""
    return _distinct(codes, (*mine, *its)) == _distinct(codes, mine) == _distinct(codes, its)


# --- a column for each worker -----------------------------------------------------------------------------------------


def _columns_of_wide(table: Table, given: dict[str, str]) -> Matched:
    """The columns of a table with a column for each worker."""
    _refuse_long_roles(given)
    is_array = not table.named and not table.columns[0].startswith("column")
    numbering = _numbering_of_wide(table, given)
    workers, told = columns_of_workers(table, given, numbering, is_array)
    iteration = (numbering,) if numbering else ()
    return Matched(iteration, of_workers=tuple(workers), is_clean=is_array, decisions=told)


def _refuse_long_roles(given: dict[str, str]) -> None:
    """Raise `ParameterError` where ``columns=`` names workers' columns and those of a long table."""
    clash = set(given) & {"worker", "time", "start", "end", "compute", "load", "chunk"}
    if clash:
        raise ParameterError(
            f"columns= names workers, a column for each, and {', '.join(sorted(clash))}, of a table with a row for each"
        )


def _numbering_of_wide(table: Table, given: dict[str, str]) -> str:
    """The column of the iterations of a wide table; empty where there is none."""
    if "iteration" in given:
        named = _columns_given("iteration", given["iteration"], table)
        if len(named) > 1:
            raise ParameterError(
                f"{table.place}: columns=iteration:{typed(given['iteration'])} names {len(named)} columns; of a table "
                "with a column for each worker one column numbers the rows: columns=iteration:NAME"
            )
        return "".join(named)
    found = table.names.fitting("iteration")
    if len(found) > 1:
        found = [name for name in found if table.frame[name].is_unique]
    if not found:
        return ""
    if len(found) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found)} may each be the iteration; say which one, as in "
            f"columns=iteration:{found[0]}"
        )
    return found[0]
