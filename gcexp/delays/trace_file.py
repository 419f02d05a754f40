"""Times of real workers, iteration by iteration: reading a CSV file, what it lacks, and what can be seen in it."""

from __future__ import annotations

import csv
import json
import os
from array import array
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, nan, prod
from pathlib import Path

import numpy as np

from gcexp.delays.trace_structure import LEAST_ROWS, structure
from gcexp.errors import DataError, require, unknown
from gcexp.files import bundled
from gcexp.schema import quoted

NEEDED = ("iteration", "worker", "time")
_DIGITS = 18  # of a whole number in a file
_MOST_CELLS = 2**25  # iterations times workers, and times chunks
_SHOWN = 10  # numbers in a sentence
LEAST, MOST = 1e-150, 1e150  # times whose sums, squares and quotients are numbers


@dataclass(frozen=True)
class Flags:
    """What a matrix of times means: its entry in ``index.json`` beside the file; defaults where there is none.

    Attributes
    ----------
    persistent : bool
        A column is one worker throughout.
    data_bound : bool
        Slow because of its data: a partition that is computed twice is slow twice.
    sampled : bool
        Rows are not consecutive iterations.
    unit, licence, measures, cite : str
    """

    persistent: bool = True
    data_bound: bool = False
    sampled: bool = False
    unit: str = ""
    licence: str = ""
    measures: str = ""
    cite: str = ""


@dataclass(frozen=True, eq=False)
class TraceFile:
    """A trace: R rows (iterations) of N workers.

    Attributes
    ----------
    name : str
        The file's, without folder and ending.
    columns : tuple of str
    workers : tuple of int
        As the file numbers them, rising.
    values : mapping of str to ndarray (R, N)
        ``time`` and the other columns of numbers; NaN where a row has fewer workers.
    chunks : ndarray (R, N, M), optional
        Times of the micro-batches that add up to `time`, in order.
    flags : Flags
    """

    name: str
    columns: tuple[str, ...]
    workers: tuple[int, ...]
    values: Mapping[str, np.ndarray]
    chunks: np.ndarray | None = None
    flags: Flags = field(default_factory=Flags)

    def column(self, name: str, purpose: str) -> np.ndarray:
        """Values (R, N) of a column, or a sentence."""
        require(
            name in self.values,
            f"trace {self.name} has no column {name!r} for {purpose}; it has {', '.join(self.columns)}",
        )
        return self.values[name]


def located(file: str | Path) -> Path:
    """The file as named from here, or among those that come with the project, where a trace's name is enough.

    Raises
    ------
    DataError
        If there is neither.

    Examples
    --------
    >>> located("pai-job1").name, located("data/traces/pai-job1.csv").name
    ('pai-job1.csv', 'pai-job1.csv')
    """
    paths = [Path(file), bundled(file)]
    if Path(file).name == str(file):
        paths.append(bundled(f"data/traces/{file}.csv"))
    for path in paths:
        with suppress(OSError), open(path):  # what is looked for in vain is seen, too
            return path
    names = [path.stem for path in bundled("data/traces").glob("*.csv")]
    raise DataError(
        f"there is no trace {file}, neither from this folder nor from the project's; {unknown('trace', file, names)}"
    )


def read_trace(file: str | Path) -> TraceFile:
    """Read a trace and check that it is whole.

    The file has a header and the columns ``iteration`` (0, 1, ... without gaps), ``worker`` and ``time`` (> 0), and may
    have more; with ``chunk`` (0, 1, ...) a row is one micro-batch. In a persistent trace every iteration has the same
    workers; else iteration t has workers 0, ..., n_t - 1.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.
    """
    path = located(file)
    stat = path.stat()
    return _read(path, _flags(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, *_when: int) -> TraceFile:
    place = f"trace {path.name}"
    index, numbers = array("q"), array("d")  # whole numbers and other cells, line by line
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            header = tuple(name.strip() for name in next(lines, ()))
            _check_header(header, place)
            keys = [(header.index(name), name) for name in ("iteration", "worker", "chunk") if name in header]
            columns = [pair for pair in enumerate(header) if pair not in keys]
            for line in lines:
                if not line:
                    continue
                number = lines.line_num
                if len(line) != len(header):
                    raise DataError(f"{place}: line {number} has {len(line)} cells, the header {len(header)}")
                index.extend([_index(line[i], name, number, place) for i, name in keys])
                numbers.extend([_number(line[i], name, number, place) for i, name in columns])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{place}: cannot be read ({error})") from None
    if not index:
        raise DataError(f"{place} has a header and no rows")
    cells = np.frombuffer(numbers).reshape(-1, len(columns))
    values = {name: cells[:, i] for i, (_, name) in enumerate(columns)}
    return _arranged(path, header, np.frombuffer(index, np.int64).reshape(-1, len(keys)), values, flags)


def _check_header(header: tuple[str, ...], place: str) -> None:
    for name in NEEDED:
        if name not in header:
            raise DataError(f"{place} has no column {name!r}; it has {', '.join(header) or 'nothing'}")
    if twice := [name for name in header if header.count(name) > 1]:
        raise DataError(
            f"{place} has {header.count(twice[0])} columns {twice[0]!r}; it has {', '.join(header)}"
        )


def _arranged(
    path: Path, header: tuple[str, ...], index: np.ndarray, values: dict[str, np.ndarray], flags: Flags
) -> TraceFile:
    """The trace whose lines have these whole numbers (L, 2 or 3) and these values (L,) of the other columns."""
    place, names = f"trace {path.name}", [name for name in ("iteration", "worker", "chunk") if name in header]
    found = [np.unique(numbers, return_inverse=True) for numbers in index.T]
    _check_gaps(found[0][0], "iterations", place)
    if "chunk" in header:
        _check_gaps(found[2][0], "chunks", place)
    shape = tuple(len(known) for known, _ in found)
    if prod(shape) > _MOST_CELLS:
        raise DataError(
            f"{place} has {shape[0]} iterations and {shape[1]} workers in {len(index)} lines; a matrix of more than "
            f"{_MOST_CELLS} cells is not read"
        )
    cell = np.ravel_multi_index([where for _, where in found], shape)
    if len(twice := np.flatnonzero(np.bincount(cell) > 1)):
        at = [known[i] for (known, _), i in zip(found, np.unravel_index(twice[0], shape), strict=True)]
        told = ", ".join(f"{name} {value}" for name, value in zip(names, at, strict=True))
        raise DataError(f"{place}: {told} stands twice")
    whole = np.zeros(shape, dtype=bool)
    whole.ravel()[cell] = True
    whole = whole.reshape(*shape[:2], -1)
    there, workers = whole.any(2), tuple(found[1][0].tolist())
    wanted = np.arange(shape[1]) < (shape[1] if flags.persistent else there.sum(1)[:, None])
    if not (there | ~wanted).all():
        t, i = np.argwhere(wanted & ~there)[0]
        raise DataError(f"{place}: iteration {t} lacks worker {workers[i]}")
    if not (whole | ~there[..., None]).all():
        t, i, m = np.argwhere(there[..., None] & ~whole)[0]
        raise DataError(f"{place}: iteration {t}, worker {workers[i]} lacks chunk {m}")
    matrices = {}
    for name in values if "chunk" not in header else ("time",):
        matrices[name] = np.full(shape, nan)
        matrices[name].ravel()[cell] = values[name]
    if "chunk" not in header:
        return TraceFile(path.stem, header, workers, matrices, None, flags)
    chunks = matrices["time"]
    return TraceFile(path.stem, header, workers, {"time": chunks.sum(2)}, chunks, flags)


def _check_gaps(numbers: np.ndarray, kind: str, place: str) -> None:
    """Refuse numbers that rise but are not 0, 1, ..."""
    missing = np.flatnonzero(numbers != np.arange(len(numbers)))
    if len(missing):
        shown = ", ".join(map(str, numbers[: max(3, missing[0] + 1)][:_SHOWN]))
        raise DataError(f"{place}: {kind} go {shown}: {missing[0]} is missing")


def _index(text: str, name: str, number: int, place: str) -> int:
    if not text.strip().isdecimal() or len(text) > _DIGITS:
        raise DataError(f"{place}: {name} in line {number} is {quoted(text)}, wanted is a whole number >= 0")
    return int(text)


def _number(text: str, name: str, number: int, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if name == "time" and not LEAST <= value <= MOST:
        wanted = "a number > 0" if not 0 < value < inf else f"a number from {LEAST:g} to {MOST:g}"
        raise DataError(f"{place}: time in line {number} is {quoted(text)}, wanted is {wanted}")
    return value


@lru_cache(maxsize=8)
def _index_of(path: Path, *_when: int) -> dict:
    return json.loads(path.read_text("utf-8"))


def _flags(path: Path) -> Flags:
    index = path.parent / "index.json"
    try:
        with open(index) as file:  # what is looked for in vain is seen, too
            stat = os.fstat(file.fileno())
        entry = _index_of(index, stat.st_mtime_ns, stat.st_size)[path.stem]
        return Flags(**{name: entry[name] for name in Flags.__dataclass_fields__ if name in entry})
    except (OSError, KeyError):
        return Flags()
    except (TypeError, ValueError) as error:
        raise DataError(f"{path.parent / 'index.json'} is no index of traces ({error})") from None


def statistics(times: np.ndarray) -> dict[str, float]:
    """What can be seen in a matrix of times (R, N).

    Returns
    -------
    dict
        ``mean``; ``cov``, standard deviation over mean of all entries; ``row_cov``, the median over rows of the same;
        ``max_over_median`` of a row, its median, and ``max_over_median_95``, its 95 % quantile; shares of variance by
        ``worker``, by ``iteration`` and the ``rest`` (two-way, no interaction); ``lag1``, correlation of a worker's
        times with its previous ones, mean over workers; ``repeats``, share of times equal to the worker's previous one.
        NaN where one row says nothing.

    Examples
    --------
    >>> found = statistics(np.array([[1.0, 3.0], [2.0, 4.0], [1.0, 3.0]]))
    >>> found["mean"], round(found["worker"], 2), round(found["iteration"], 2)
    (2.3333333333333335, 0.82, 0.18)
    """
    mean = float(times.mean())
    peak = times.max(1) / np.median(times, axis=1)
    found = {
        "mean": mean,
        "cov": float(times.std() / mean),
        "row_cov": float(np.median(times.std(1) / times.mean(1))),
        "max_over_median": float(np.median(peak)),
        "max_over_median_95": float(np.quantile(peak, 0.95)),
        **dict.fromkeys(("worker", "iteration", "rest", "lag1", "repeats"), nan),
    }
    if len(times) > 1 and times.var() > 0:
        by_worker, by_row = times.mean(0).var() / times.var(), times.mean(1).var() / times.var()
        found |= {
            "worker": float(by_worker),
            "iteration": float(by_row),
            "rest": float(1 - by_worker - by_row),
        }
        found["repeats"] = float((times[1:] == times[:-1]).mean())
        before, after = times[:-1] - times[:-1].mean(0), times[1:] - times[1:].mean(0)
        spread = np.sqrt((before**2).sum(0) * (after**2).sum(0))
        moving = spread > 0
        if moving.any():
            found["lag1"] = float(((before * after).sum(0)[moving] / spread[moving]).mean())
    return found


def report(file: str | Path) -> str:
    """What a trace holds and what can be seen in it, as lines; the first fault of a broken one is a `DataError`."""
    trace = read_trace(file)
    times = trace.values["time"]
    sizes = (~np.isnan(times)).sum(1)
    wide = times[:, : sizes.min()]
    found, flags = statistics(wide), trace.flags
    ragged = "" if sizes.min() == sizes.max() else f" (rows have {sizes.min()} to {sizes.max()} of them)"
    lines = [
        f"{trace.name}: {len(times)} iterations, {len(trace.workers)} workers{ragged}, no gaps",
        f"columns: {', '.join(trace.columns)}",
        f"workers: {trace.workers[0]} to {trace.workers[-1]}"
        + ("" if trace.workers == tuple(range(len(trace.workers))) else ", not all numbers between"),
        f"time: mean {found['mean']:.6g} {flags.unit}".rstrip() + f", CoV {found['cov']:.3f}",
        f"max/median of a row: {found['max_over_median']:.2f} (95 %: {found['max_over_median_95']:.2f})",
    ]
    if len(times) > 1 and flags.persistent:
        shares = ", ".join(f"{name} {found[name]:.2f}" for name in ("worker", "iteration", "rest"))
        lines += [
            f"variance by: {shares}",
            f"lag-1 correlation: {found['lag1']:.2f}; equal to the previous one: {found['repeats']:.0%}",
        ]
    if trace.chunks is not None:
        lines.append(f"micro-batches: {trace.chunks.shape[2]} for each worker and iteration")
    if len(times) >= LEAST_ROWS and flags.persistent:
        lines += structure(times, trace.workers) or ["racks, bursts, drift: none beyond chance"]
    said = [
        f"{name}: {str(getattr(flags, name)).lower()}" for name in ("persistent", "data_bound", "sampled")
    ]
    lines.append(f"flags: {', '.join(said)}")
    lines.append(_priced(trace))
    lines.append(f"licence: {flags.licence or 'none stated: usable here, not to be published'}")
    if len(times) < 10 or not flags.persistent:
        why = "fewer than 10 iterations" if flags.persistent else "workers are new in every row"
        lines.append(f"{why}: nothing is learned from a prefix")
    if len(times) < LEAST_ROWS or not flags.persistent:
        why = f"fewer than {LEAST_ROWS} iterations" if flags.persistent else "workers are new in every row"
        lines.append(f"{why}: racks, bursts and drift are not looked for")
    return "\n".join(lines)


def _priced(trace: TraceFile) -> str:
    """What is taken for granted of loads that the trace was not recorded at."""
    if "compute" in trace.values:
        share = np.nansum(trace.values["compute"]) / np.nansum(trace.values["time"])
        return f"loads: {share:.0%} of the time, column compute, grows with the load (delay.pricing=additive)"
    return (
        "loads: delay.phi=0 assumes that all of a time grows with the worker's load, so that twice the data takes "
        "twice as long; the file cannot tell, so try delay.phi=0.5 too (gcexp benchmark does)"
    )
