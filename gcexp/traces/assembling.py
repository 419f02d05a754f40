"""The record that lines or a matrix of times make: iterations renumbered, each time in its place, gaps marked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import gcd, nan, prod
from typing import NoReturn, TypeVar

import numpy as np

from gcexp.errors import DataError
from gcexp.traces.record import LEAST, MOST, NEEDED, Flags, TraceFile

MOST_CELLS = 2**25  # iterations times workers, and times chunks
_SHOWN = 10  # numbers in a sentence
_MOSTLY = 0.5  # a trace that lacks more of its iterations than this is a sample


@dataclass(frozen=True)
class Lines:
    """Times as lines: each of an iteration and a worker, and maybe of a micro-batch.

    Attributes
    ----------
    columns : tuple of str
        What the lines have, in the words of this project's format.
    iterations, workers : arrays of int (L,)
        Numbers; those of workers are places in `hosts` where they have names.
    values : dict of arrays (L,)
        ``time`` and other numbers.
    chunks : array of int (L,), optional
    hosts : tuple of str
        Names of the workers, or empty.
    """

    columns: tuple[str, ...]
    iterations: np.ndarray
    workers: np.ndarray
    values: dict[str, np.ndarray]
    chunks: np.ndarray | None = None
    hosts: tuple[str, ...] = ()


SomeLines = TypeVar("SomeLines", bound=Lines)


class TwiceError(DataError):
    """Two lines are of the same iteration and worker, which ``who`` names."""

    def __init__(self, place: str, who: str):
        super().__init__(f"{place}: {who} stands twice; keep one of the rows")
        self.who = who


@dataclass(frozen=True)
class _Numbering:
    """What the numbers of iterations say."""

    gap: str  # which of them lack, as a sentence goes on; empty for none
    sampled: bool
    decisions: list[str]


def with_times(lines: SomeLines, place: str) -> SomeLines:
    """The lines that have a time; a worker without one in an iteration is missing there.

    Raises
    ------
    DataError
        Where no line has a time, and for a worker without any.
    """
    there = ~np.isnan(lines.values["time"])
    if there.all():
        return lines
    if not there.any():
        raise DataError(f"{place}: no row has a time")
    silent = np.setdiff1d(lines.workers, lines.workers[there])
    if len(silent):
        worker = lines.hosts[silent[0]] if lines.hosts else silent[0]
        raise DataError(f"{place}: worker {worker} has no time in any iteration")
    return replace(
        lines,
        iterations=lines.iterations[there],
        workers=lines.workers[there],
        values={name: numbers[there] for name, numbers in lines.values.items()},
        chunks=None if lines.chunks is None else lines.chunks[there],
    )


def record_of_lines(lines: Lines, name: str, place: str, flags: Flags) -> TraceFile:
    """The record of lines that all have a time.

    Parameters
    ----------
    lines : Lines
    name, place : str
        That of the record, and how sentences begin.
    flags : Flags

    Raises
    ------
    TwiceError
        For two lines of the same iteration and worker.
    DataError
        For micro-batches with gaps or of different loads, and more than `MOST_CELLS` cells.
    """
    index = [lines.iterations, lines.workers]
    if lines.chunks is not None:
        index.append(lines.chunks)
    known = []
    places = []
    for numbers in index:
        values, where = _ranked(numbers)
        known.append(values)
        places.append(where)
    numbering = _numbering(known[0])
    if lines.chunks is not None:
        _check_chunks(known[2], place)
    shape = tuple(map(len, known))
    if prod(shape) > MOST_CELLS:
        raise DataError(
            f"{place} has {shape[0]} iterations and {shape[1]} workers in {len(lines.workers)} lines; a matrix of more "
            f"than {MOST_CELLS} cells is not read"
        )
    cell = places[0]
    for where, length in zip(places[1:], shape[1:], strict=True):
        cell = cell * length + where
    workers = tuple(known[1].tolist())
    labels = lines.hosts or workers
    there = np.zeros(shape, dtype=bool)
    there.ravel()[cell] = True
    if np.count_nonzero(there) < len(cell):
        _refuse_twice(cell, known, shape, labels, place)
    there = there.reshape(*shape[:2], -1)
    missing = _missing(there, labels, flags, place)
    matrices = {}
    for key, column in lines.values.items():
        if lines.chunks is not None and key not in ("time", "load"):
            continue
        matrix = np.full(shape, nan)
        matrix.ravel()[cell] = column
        matrices[key] = matrix
    chunks = None
    if lines.chunks is not None:
        chunks = matrices["time"]
        matrices["time"] = chunks.sum(2)
        if "load" in matrices:
            matrices["load"] = _load_of_chunks(matrices["load"], labels, place)
    return TraceFile(
        name=name,
        columns=lines.columns,
        workers=workers,
        names=lines.hosts,
        values=matrices,
        chunks=chunks,
        flags=_flags(flags, numbering),
        missing=_if_any(missing),
        gap=numbering.gap,
        decisions=tuple(numbering.decisions),
    )


def _ranked(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers, rising, and the place of each number among them.

    >>> _ranked(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    if numbers.min(initial=0) < 0 or numbers.max(initial=0) > 2 * len(numbers):
        values, places = np.unique(numbers, return_inverse=True)
        return values, places
    there = np.bincount(numbers) > 0  # needs no sorting
    values = np.flatnonzero(there)
    if there.all():
        return values, numbers
    return values, (np.cumsum(there) - 1)[numbers]


def record_of_matrix(
    times: np.ndarray,
    name: str,
    place: str,
    flags: Flags,
    iterations: np.ndarray | None = None,
    workers: np.ndarray | None = None,
    hosts: tuple[str, ...] = (),
) -> TraceFile:
    """The record of a matrix of times (R, N), NaN where a worker has none.

    Its rows and columns are 0, 1, ..., or `iterations` (R,) and distinct `workers` (N,) in any order. These are places
    in `hosts` where they have names.

    Raises
    ------
    DataError
        For a number that is no time, a worker without any, an iteration that stands twice, and more than `MOST_CELLS`
        cells.
    """
    rows, columns = times.shape
    if times.size > MOST_CELLS:
        raise DataError(
            f"{place}: a matrix of more than {MOST_CELLS} cells is not read; keep fewer iterations"
        )
    numbers = np.arange(columns)
    if workers is not None:
        times = times[:, np.argsort(workers)]
        numbers = np.sort(workers)
    if iterations is not None:
        values, counts = np.unique(iterations, return_counts=True)
        if counts.max() > 1:
            raise DataError(f"{place}: iteration {values[counts.argmax()]} stands twice")
        times = times[np.argsort(iterations)]
    missing = np.isnan(times)
    labels = tuple(numbers.tolist())
    _check_times(times, missing, hosts or labels, place)
    numbering = _numbering(np.arange(rows) if iterations is None else np.sort(iterations))
    return TraceFile(
        name=name,
        columns=NEEDED,
        workers=labels,
        names=hosts,
        values={"time": times},
        flags=_flags(flags, numbering),
        missing=_if_any(missing),
        gap=numbering.gap,
        decisions=tuple(numbering.decisions),
    )


def _check_times(times: np.ndarray, missing: np.ndarray, labels: tuple, place: str) -> None:
    """Raise `DataError` for the first number (R, N) that is no time, and a worker without any."""
    silent = np.flatnonzero(missing.all(axis=0))
    if len(silent):
        raise DataError(f"{place}: worker {labels[silent[0]]} has no time in any iteration")
    wrong = np.argwhere(~missing & ~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        row, worker = wrong[0]
        raise DataError(
            f"{place}: the time of worker {labels[worker]} in row {row} is {times[row, worker]:g}, wanted is a number "
            f"from {LEAST:g} to {MOST:g}"
        )


def by_number(name: str) -> list[tuple[int, str]]:
    """Sort key of host names: ``node2`` comes before ``node10``.

    >>> sorted(["node10", "node2", "node"], key=by_number)
    ['node', 'node2', 'node10']
    """
    key = []
    for part in re.split(r"(\d+)", name):
        if part.isdecimal():
            digits = part.lstrip("0")
            key.append((len(digits), digits))  # in the order of the numbers, however many digits they have
        else:
            key.append((-1, part))
    return key


def _if_any(missing: np.ndarray) -> np.ndarray | None:
    """Which rows are missing, or None where none is."""
    return missing if missing.any() else None


def _flags(flags: Flags, numbering: _Numbering) -> Flags:
    """The flags with what the numbers of iterations say."""
    if numbering.sampled:
        return replace(flags, sampled=True)
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


def _refuse_twice(
    cell: np.ndarray, known: list, shape: tuple[int, ...], labels: tuple, place: str
) -> NoReturn:
    """Raise `TwiceError` for the first iteration and worker of which there are several lines."""
    twice = np.flatnonzero(np.bincount(cell) > 1)
    t, i, *chunk = np.unravel_index(twice[0], shape)
    told = f"iteration {known[0][t]}, worker {labels[i]}"
    if chunk:
        told += f", chunk {known[2][chunk[0]]}"
    raise TwiceError(place, told)


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
