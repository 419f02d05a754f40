"""Times that stand in rows, one for each iteration and worker: durations, or starts and ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp.traces.assembling import Lines, with_times
from gcexp.traces.record import LEAST, MOST
from gcexp_adviser.logs.keys import whole_numbers, workers_of
from gcexp_adviser.logs.ledger import longer_than_the_run, tiles_the_run
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import listed, name_of, typed
from gcexp_adviser.logs.numbers import Writing, cells_of, floats, in_seconds, instants, is_numeric
from gcexp_adviser.logs.runs import chosen, one_after_another, refuse_several, runs_of, without_repeated
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.times import known_unit, made_seconds, refuse_text
from gcexp_adviser.logs.twice import refuse_twice

#: Columns that say how much data a worker had in a step, by their names.
SIZES = frozenset(
    "num_examples num_samples n_samples examples samples batch_size local_batch_size tokens num_tokens".split()
)


@dataclass(frozen=True, kw_only=True)
class Rows(Lines):
    """Lines that stood in the rows of a table.

    Attributes
    ----------
    found : Matched
        The columns of the table that they come from.
    unit : str
        ``s`` where it is known that times are seconds now, else empty.
    sizes : dict of arrays (L,)
        Columns that say how much data a worker had.
    """

    found: Matched
    unit: str = ""
    decisions: list[str] = field(default_factory=list)
    sizes: dict[str, np.ndarray] = field(default_factory=dict)


def long_rows(table: Table, found: Matched, unit: str, writing: Writing, run: str = "") -> Rows:
    """Times that stand in rows, of the run that a person named where there are several."""
    decisions = list(found.decisions)
    keys = _keys(table, found, writing, decisions)
    told: list[str] = []
    if found.iteration:
        table, iterations, told = _of_one_run(table, found, keys, run)
        if len(table.frame) < len(keys.iterations):
            decisions = list(found.decisions)
            keys = _keys(table, found, writing, decisions)
        if run == "all":
            keys = replace(keys, iterations=iterations)
    decisions += told
    workers, hosts, iterations, chunks = keys.workers, keys.hosts, keys.iterations, keys.chunks
    if found.times:
        times, known = _durations(table, found, unit, writing, decisions)
    elif found.start:
        times, known = _from_start_to_end(table, found, unit, writing, decisions, iterations, workers)
    else:
        times, known = _from_end_to_end(table, found, unit, writing, decisions, iterations, workers)
    values = {"time": times}
    if found.compute:
        values["compute"] = _compute(table, found.compute, unit, known, writing, decisions)
    if found.load:
        values["load"], _, told = floats(table.frame[found.load], writing)
        decisions += told
    columns, values = _with_further(table, found, values, decisions)
    rows = Rows(
        columns=columns,
        iterations=iterations,
        workers=workers,
        values=values,
        found=found,
        chunks=chunks,
        hosts=hosts,
        unit="s" if known else "",
        decisions=decisions,
        sizes=_sizes(table, found),
    )
    return _with_times(rows, table)


def _sizes(table: Table, found: Matched) -> dict[str, np.ndarray]:
    """The numbers of columns that say how much data a worker had."""
    sizes = {}
    for column in table.names.without(found.used).where(lambda name: name.base in SIZES):
        sizes[column] = _numbers_or_nan(table.frame[column])
    return sizes


@dataclass(frozen=True)
class _Keys:
    """Of what worker, iteration and micro-batch each row is."""

    workers: np.ndarray
    hosts: tuple[str, ...]
    iterations: np.ndarray
    chunks: np.ndarray | None


def _keys(table: Table, found: Matched, writing: Writing, decisions: list[str]) -> _Keys:
    """Of what worker, iteration and micro-batch each row is."""
    workers, hosts = workers_of(table, found.worker, writing, decisions)
    iterations = _iterations(table, found.iteration, workers, writing, decisions)
    chunks = None
    if found.chunk:
        chunks = whole_numbers(table, found.chunk, "chunk", writing)
    return _Keys(workers, hosts, iterations, chunks)


def _of_one_run(table: Table, found: Matched, keys: _Keys, run: str) -> tuple[Table, np.ndarray, list[str]]:
    """The table of the run that is meant, without iterations that it repeated; its iterations; and what is told."""
    iterations, chunks = keys.iterations, keys.chunks
    workers, numbers = pd.factorize(keys.workers)
    labels = [keys.hosts[number] if keys.hosts else str(number) for number in numbers]
    told = []
    several = runs_of(table, found.used, iterations, workers, chunks, labels)
    if several is None and run not in ("", "last", "all", "1"):
        raise ParameterError(f"{table.place}: run={run} is not there; it holds one run")
    if several is not None and not run:
        refuse_several(several, table, iterations, workers, found.worker)
    if several is not None and run == "all":
        told.append(f"put {several.count} runs after one another, told apart by {several.how}")
        iterations = one_after_another(several.of_rows, iterations)
    elif several is not None:
        rows = chosen(several, run, table.place)
        told.append(
            f"took run {several.of_rows[rows][0] + 1} of {several.count}, told apart by {several.how}"
        )
        table = table.keep(rows)
        iterations, workers = iterations[rows], workers[rows]
        chunks = None if chunks is None else chunks[rows]
    repeated = without_repeated(iterations, workers, chunks)
    if repeated is not None:
        rows, sentence = repeated
        table, iterations = table.keep(rows), iterations[rows]
        told.append(sentence)
    return table, iterations, told


def _with_further(
    table: Table, found: Matched, values: dict[str, np.ndarray], decisions: list[str]
) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """What the lines have, and its numbers: in this project's format all columns of the table."""
    others = table.names.without(found.used).written
    if is_strict(found):
        ordered = {}
        for name in table.columns:
            if name in values:
                ordered[name] = values[name]
            elif name in others:
                ordered[name] = _numbers_or_nan(table.frame[name])
        return tuple(table.columns), ordered
    if others:
        decisions.append(f"did not use {listed(others)}")
    columns = ["iteration", "worker"]
    for name in ("chunk", "time", "compute", "load"):
        if name == "time" or getattr(found, name):
            columns.append(name)
    return tuple(columns), values


def is_strict(found: Matched) -> bool:
    """Whether the table has the format of this project, of which nothing has to be told."""
    return not found.decisions


def _with_times(rows: Rows, table: Table) -> Rows:
    """The lines that have a time, with what is told of the others."""
    there = ~np.isnan(rows.values["time"])
    if there.all():
        return rows
    kept = with_times(rows, table.place)
    kept = replace(kept, sizes={name: numbers[there] for name, numbers in rows.sizes.items()})
    if not rows.found.times:
        return kept
    return replace(kept, decisions=[*rows.decisions, *_without_times(rows, there)])


def _without_times(rows: Rows, there: np.ndarray) -> list[str]:
    """What is told of the lines without a time, where `there` (L,) says which lines have one."""
    keys = pd.MultiIndex.from_arrays([rows.iterations, rows.workers])
    beside = keys[~there].isin(keys[there])
    missing = int((~beside).sum())
    other = int(beside.sum())
    told = []
    if missing:
        verb = "row has no time: it counts" if missing == 1 else "rows have no time: they count"
        told.append(f"{missing} {verb} as missing")
    if other:
        lines = "1 row" if other == 1 else f"{other} rows"
        told.append(f"left out {lines} without a time, whose iteration and worker have one in another row")
    return told


def _numbers_or_nan(column: pd.Series) -> np.ndarray:
    """The numbers of a further column, NaN where a cell is none."""
    cells = cells_of(column)
    if cells.dtype == object:
        return pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(float)
    return cells.astype(float)


def _iterations(
    table: Table, columns: tuple[str, ...], workers: np.ndarray, writing: Writing, decisions: list[str]
) -> np.ndarray:
    """Numbers of the rows' iterations."""
    if not columns:
        decisions.append("no column says the iteration: the rows of each worker are numbered in their order")
        return pd.Series(workers).groupby(workers).cumcount().to_numpy()
    parts = []
    for column in columns:
        parts.append(whole_numbers(table, column, "iteration", writing))
    if len(parts) == 1:
        return parts[0]
    _, numbers = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
    decisions.append(f"numbered the pairs of {' and '.join(columns)} in their order")
    return numbers.ravel()


# --- durations --------------------------------------------------------------------------------------------------------


def _durations(
    table: Table, found: Matched, unit: str, writing: Writing, decisions: list[str]
) -> tuple[np.ndarray, str]:
    """Times of the rows, in seconds where their unit is known, and that unit; NaN where a cell is empty."""
    columns = []
    units = set()
    for name in found.times:
        parts, of_cells, told = floats(table.frame[name], writing)
        refuse_text(table, name, parts, f"; where it says when an iteration ended: columns=end:{typed(name)}")
        for sentence in told:
            if sentence not in decisions:
                decisions.append(sentence)
        units.add((of_cells, name_of(name).unit))
        columns.append(parts)
    if len(units) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found.times)} have different units; make them the same"
        )
    sums = columns[0] if len(columns) == 1 else np.sum(columns, axis=0)
    of_cells, _ = units.pop()
    known = known_unit(unit, of_cells, found.times[0], decisions, is_strict(found))
    if known and not of_cells:
        sums = in_seconds(sums, known)
    row = _first_wrong(sums, may_be_missing=True)
    if row is not None:
        _check_twice(table, found)
        cell = table.frame[found.times[0]].iloc[row]
        told = f"{table.place}: time in {table.place_of(row)} is {_wanted(cell)}"
        if sums[row] < 0 and len(found.times) == 1:
            mark = typed(f"{found.times[0]}:{cell}")
            told += f"; where it stands for a worker that was too late: without={mark}"
        raise DataError(told)
    return sums, known


def _first_wrong(times: np.ndarray, may_be_missing: bool) -> int | None:
    """The first row whose time is none, or None."""
    fine = (times >= LEAST) & (times <= MOST)
    if may_be_missing:
        fine |= np.isnan(times)
    if fine.all():
        return None
    return int(np.argmin(fine))


def _check_twice(table: Table, found: Matched) -> None:
    """Raise `DataError` where several rows are of the same iteration and worker: then that is what is wrong first."""
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


def _wanted(cell: object) -> str:
    """A cell that is no time, and what is wanted."""
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if 0 < value < np.inf:
        return f"{quoted(cell)}, wanted is a number from {LEAST:g} to {MOST:g}"
    return f"{quoted(cell)}, wanted is a number > 0, or nothing where a worker has no time"


def _compute(
    table: Table, column: str, unit: str, known: str, writing: Writing, decisions: list[str]
) -> np.ndarray:
    """Times of computing alone, in the unit of the times."""
    values, of_cells, told = floats(table.frame[column], writing)
    decisions += told
    if of_cells:
        return values
    of_name = name_of(column).unit
    if of_name and not known:
        raise DataError(
            f"{table.place}: {column} is in {of_name}, and the unit of the times is unknown; name it: unit=ms"
        )
    chosen = of_name or known
    if not chosen:
        return values
    return in_seconds(values, chosen)


# --- starts and ends --------------------------------------------------------------------------------------------------


def _from_start_to_end(
    table: Table,
    found: Matched,
    unit: str,
    writing: Writing,
    decisions: list[str],
    iterations: np.ndarray,
    workers: np.ndarray,
) -> tuple[np.ndarray, str]:
    """Times between the starts and the ends of the rows, and their unit."""
    starts, unit_of_starts = instants(table.frame[found.start], writing)
    ends, unit_of_ends = instants(table.frame[found.end], writing)
    of_name = name_of(found.start).unit
    if of_name != name_of(found.end).unit:
        raise DataError(f"{table.place}: {found.start} and {found.end} have different units by their names")
    if unit_of_starts != unit_of_ends and not (unit or of_name):
        told = f"{unit_of_starts or 'no unit'} and {unit_of_ends or 'no unit'}"
        raise DataError(
            f"{table.place}: {found.start} and {found.end} seem to have different units ({told}); name theirs, as in "
            "unit=ms"
        )
    known = _unit_of_moments(table, found, "starts and ends", unit, unit_of_ends, decisions)
    times = _spans(starts, ends, known)
    row = _first_wrong(times, may_be_missing=False)
    if row is not None:
        start = quoted(str(table.frame[found.start].iloc[row]))
        end = quoted(str(table.frame[found.end].iloc[row]))
        raise DataError(
            f"{table.place}: {table.place_of(row)} starts at {start} and ends at {end}, wanted is a later end"
            f"{_over_midnight(start, end)}"
        )
    _refuse_waiting(table, starts, ends, iterations, workers)
    return times, known


def _over_midnight(start: str, end: str) -> str:
    """What to write where midnight lies between two times of day, as a sentence goes on; empty for others."""
    if all(re.fullmatch(r"\W?\d{1,2}:\d\d(:\d\d([.,]\d+)?)?\W?", text) for text in (start, end)):
        return "; where midnight lies between them, write dates too, as 2024-05-31 23:59:59"
    return ""


def _refuse_waiting(
    table: Table, starts: np.ndarray, ends: np.ndarray, iterations: np.ndarray, workers: np.ndarray
) -> None:
    """Raise `DataError` where starts and ends say that the rows hold the waiting for other workers."""
    codes, labels = pd.factorize(workers)
    if len(labels) < 2:
        return
    first = starts.min()
    begins = np.asarray(starts - first, float)
    finishes = np.asarray(ends - first, float)
    stamps = "stamp the end of each worker's own work, before it waits"
    if tiles_the_run(begins, finishes, codes):
        raise DataError(
            f"{table.place}: each row begins where the worker's row before ended: the rows tile the run and hold the "
            f"waiting for others, so nothing can be said of workers; {stamps}"
        )
    longer = longer_than_the_run(begins, finishes, iterations)
    if longer is not None:
        total, wall = longer
        raise DataError(
            f"{table.place}: the longest rows of all iterations add up to {total / wall:.2f} times what lies between "
            "the first start and the last end: the rows hold the waiting for others, or workers do not wait for each "
            f"other, so nothing can be said of workers; {stamps}"
        )


def _from_end_to_end(
    table: Table,
    found: Matched,
    unit: str,
    writing: Writing,
    decisions: list[str],
    iterations: np.ndarray,
    workers: np.ndarray,
) -> tuple[np.ndarray, str]:
    """Times from the end of each worker's previous iteration to that of a row, NaN for its first, and their unit."""
    ends, unit_of_ends = instants(table.frame[found.end], writing)
    ends = ends - np.nanmin(ends)  # small, so that floats hold their differences
    decisions.append(f"left out each worker's first row, of whose beginning {found.end} says nothing")
    known = _unit_of_moments(table, found, "ends", unit, unit_of_ends, decisions)
    times = _spans(_previous(ends, iterations, workers), ends, known)
    row = _first_wrong(times, may_be_missing=True)
    if row is not None:
        end = quoted(str(table.frame[found.end].iloc[row]))
        raise DataError(
            f"{table.place}: {found.end} in {table.place_of(row)}, {end}, is not later than that of the worker's "
            "previous iteration"
        )
    return times, known


def _unit_of_moments(
    table: Table, found: Matched, what: str, unit: str, of_numbers: str, decisions: list[str]
) -> str:
    """The unit of moments: that which a person or a name says, or that of numbers that are dates; empty for none."""
    known = unit or name_of(found.end).unit
    if known:
        decisions.append(f"{what} are in {known}{made_seconds(known)}")
        return known
    if not of_numbers:
        decisions.append(f"no unit of {what} is named: times stay in theirs; where it is ms: unit=ms")
    elif is_numeric(table.frame[found.end]):
        decisions.append(f"{what} are in {of_numbers} since 1970")
    else:
        decisions.append(f"{what} are dates")
    return of_numbers


def _spans(starts: np.ndarray, ends: np.ndarray, unit: str) -> np.ndarray:
    """What lies between moments, in seconds where their unit is known."""
    differences = np.asarray(ends - starts, float)
    return in_seconds(differences, unit) if unit else differences


def _previous(ends: np.ndarray, iterations: np.ndarray, workers: np.ndarray) -> np.ndarray:
    """The end of each worker's previous iteration, NaN for its first."""
    order = np.lexsort((iterations, workers))
    before = np.full(len(ends), np.nan)
    same_worker = workers[order][1:] == workers[order][:-1]
    before[order[1:][same_worker]] = ends[order[:-1][same_worker]]
    return before
