"""The record that lines or a matrix of times make: iterations renumbered, each time in its place, gaps marked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, nan, prod

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.long_rows import Rows
from gcexp.traces.moments import other_scale, refuse_moments
from gcexp.traces.names import typed
from gcexp.traces.recipes import DIFFERENCES, see
from gcexp.traces.record import Flags, TraceFile
from gcexp.traces.tables import IN_MEMORY, MOST_CELLS, OF_ARRAY, OF_FRAME, Table
from gcexp.traces.twice import refuse_twice
from gcexp.traces.wide_rows import Matrix

_SHOWN = 10  # numbers in a sentence
_MOSTLY = 0.5  # a trace that lacks more of its iterations than this is a sample


@dataclass(frozen=True)
class _Numbering:
    """What the numbers of iterations say."""

    gap: str  # which of them lack, as a sentence goes on; empty for none
    sampled: bool
    decisions: list[str]


def arranged(found: Rows | Matrix, table: Table, name: str, flags: Flags, unit: str) -> TraceFile:
    """The record of times that were read.

    Parameters
    ----------
    found : Rows or Matrix
    table : Table
        From which they were read, for sentences.
    name : str
        That of the record.
    flags : Flags
    unit : str
        That of the times, where a person has named it: then they are durations, whatever they look like.

    Raises
    ------
    DataError
        For times that stand twice, moments in place of times, and other faults.
    """
    place = table.place
    if isinstance(found, Matrix):
        trace = _of_matrix(found, name, place, flags)
    else:
        trace = _of_rows(found, name, table, flags)
    times = trace.values["time"]
    remarks = []
    if not unit and not flags.unit:
        escape = 'the argument unit="s"' if place in IN_MEMORY else "unit=s"
        remarks.append(refuse_moments(times, place, _cure_of_moments(found, place), escape))
    remarks.append(other_scale(times, trace.labels))
    told = list(filter(None, remarks))
    return replace(trace, decisions=(*trace.decisions, *told))


def _cure_of_moments(found: Rows | Matrix, place: str) -> str:
    """What to type where times turn out to be moments."""
    if isinstance(found, Matrix):
        return f"take the differences of its rows first: {_differences(place)}"
    column = (found.found.times or (found.found.end,))[0]
    if place in IN_MEMORY:
        return (
            f"for the time since the worker's previous row: columns={{'end': {column!r}}}; where another column is the "
            "time: columns={'time': 'NAME'}"
        )
    return (
        f"for the time since the worker's previous row: columns=end:{typed(column)}; where another column is the time: "
        "columns=time:NAME"
    )


def _differences(place: str) -> str:
    """What makes differences of the rows of a matrix."""
    if place == OF_ARRAY:
        return "numpy.diff(array, axis=0)"
    if place == OF_FRAME:
        return "frame.diff().iloc[1:]"
    return see(DIFFERENCES)


def _of_matrix(found: Matrix, name: str, place: str, flags: Flags) -> TraceFile:
    times = found.times
    if times.size > MOST_CELLS:
        raise DataError(
            f"{place}: a matrix of more than {MOST_CELLS} cells is not read; keep fewer iterations"
        )
    numbering = _numbering(found.iterations)
    missing = np.isnan(times)
    return TraceFile(
        name=name,
        columns=("iteration", "worker", "time"),
        workers=found.workers,
        names=found.hosts,
        values={"time": times},
        flags=_flags(flags, found.unit, numbering),
        missing=_if_any(missing),
        gap=numbering.gap,
        decisions=(*found.decisions, *numbering.decisions),
    )


def _of_rows(found: Rows, name: str, table: Table, flags: Flags) -> TraceFile:
    place = table.place
    index = [found.iterations, found.workers]
    if found.chunks is not None:
        index.append(found.chunks)
    known = []
    places = []
    for numbers in index:
        values, where = np.unique(numbers, return_inverse=True)
        known.append(values)
        places.append(where)
    numbering = _numbering(known[0])
    if found.chunks is not None:
        _check_chunks(known[2], place)
    shape = tuple(map(len, known))
    if prod(shape) > MOST_CELLS:
        raise DataError(
            f"{place} has {shape[0]} iterations and {shape[1]} workers in {len(found.workers)} lines; a matrix of more "
            f"than {MOST_CELLS} cells is not read"
        )
    cell = np.ravel_multi_index(places, shape)
    workers = tuple(known[1].tolist())
    labels = found.hosts or workers
    twice = np.flatnonzero(np.bincount(cell) > 1)
    if len(twice):
        refuse_twice(table, found.found, _cell_named(np.unravel_index(twice[0], shape), known, labels))
    there = np.zeros(shape, dtype=bool)
    there.ravel()[cell] = True
    there = there.reshape(*shape[:2], -1)
    missing = _missing(there, labels, flags, place)
    matrices = {}
    for key, column in found.values.items():
        if found.chunks is not None and key not in ("time", "load"):
            continue
        matrix = np.full(shape, nan)
        matrix.ravel()[cell] = column
        matrices[key] = matrix
    chunks = None
    if found.chunks is not None:
        chunks = matrices["time"]
        matrices["time"] = chunks.sum(2)
        if "load" in matrices:
            matrices["load"] = _load_of_chunks(matrices["load"], labels, place)
    return TraceFile(
        name=name,
        columns=found.columns,
        workers=workers,
        names=found.hosts,
        values=matrices,
        chunks=chunks,
        flags=_flags(flags, found.unit, numbering),
        missing=_if_any(missing),
        gap=numbering.gap,
        decisions=(*found.decisions, *numbering.decisions),
    )


def _if_any(missing: np.ndarray) -> np.ndarray | None:
    """Which rows are missing, or None where none is."""
    return missing if missing.any() else None


def _flags(flags: Flags, unit: str, numbering: _Numbering) -> Flags:
    """The flags with what reading has found."""
    if unit:
        flags = replace(flags, unit=unit)
    if numbering.sampled:
        flags = replace(flags, sampled=True)
    return flags


def _numbering(numbers: np.ndarray) -> _Numbering:
    """What rising numbers of iterations say of what is between them."""
    first = int(numbers[0])
    last = int(numbers[-1])
    decisions = []
    steps = np.diff(numbers)
    stride = gcd(*steps.tolist()) if len(steps) else 1
    if first != 0 and stride <= 1:
        decisions.append(f"iterations begin with {first}: renumbered from 0")
    if stride > 1:
        decisions.append(
            f"iterations are {first}, {first + stride}, ..., in steps of {stride}: renumbered, and taken for a sample"
        )
    expected = (last - first) // stride + 1
    lacking = expected - len(numbers)
    gap = ""
    sampled = stride > 1
    if lacking:
        at = int(np.flatnonzero(steps > stride)[0])
        shown = ", ".join(map(str, numbers[: max(3, at + 2)][:_SHOWN].tolist()))
        gap = f"iterations go {shown}: {numbers[at] + stride} is missing"
        told = f"iteration {numbers[at] + stride} is in no row"
        if lacking > 1:
            told = f"iteration {numbers[at] + stride} and {lacking - 1} more are in no row"
        decisions.append(f"{told}: the others were renumbered")
        sampled = sampled or lacking > _MOSTLY * expected
    return _Numbering(gap, sampled, decisions)


def _check_chunks(numbers: np.ndarray, place: str) -> None:
    """Raise `DataError` for numbers of micro-batches with gaps."""
    missing = np.flatnonzero(numbers != np.arange(len(numbers)))
    if len(missing):
        shown = ", ".join(map(str, numbers[: max(3, missing[0] + 1)][:_SHOWN]))
        raise DataError(f"{place}: chunks go {shown}: {missing[0]} is missing")


def _cell_named(cell: tuple, known: list, labels: tuple) -> str:
    """An iteration and a worker, and maybe a micro-batch, in words."""
    t, i, *chunk = cell
    told = f"iteration {known[0][t]}, worker {labels[i]}"
    if chunk:
        told += f", chunk {known[2][chunk[0]]}"
    return told


def _missing(there: np.ndarray, labels: tuple, flags: Flags, place: str) -> np.ndarray:
    """Which workers (R, N) have no row in which iterations, from the micro-batches (R, N, M or 1) that are there."""
    workers_there = there.any(2)
    shape = workers_there.shape
    sizes = shape[1] if flags.persistent else workers_there.sum(1)[:, None]
    missing = (np.arange(shape[1]) < sizes) & ~workers_there
    if missing.any() and not flags.persistent:
        t, i = np.argwhere(missing)[0]
        raise DataError(f"{place}: iteration {t} lacks worker {labels[i]}")
    partly = np.argwhere(workers_there[..., None] & ~there)
    if len(partly):
        t, i, m = partly[0]
        raise DataError(f"{place}: iteration {t}, worker {labels[i]} lacks chunk {m}")
    return missing


def _load_of_chunks(loads: np.ndarray, labels: tuple, place: str) -> np.ndarray:
    """Load (R, N) of the workers whose chunks have these loads (R, N, M), which are equal for each worker."""
    differ = np.argwhere(loads.min(2) < loads.max(2))
    if len(differ):
        t, i = differ[0]
        raise DataError(f"{place}: iteration {t}, worker {labels[i]} has chunks of different loads")
    return loads[..., 0]
