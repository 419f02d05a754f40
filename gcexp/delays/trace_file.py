"""Recorded times of workers, iteration by iteration: reading a CSV file, checking it, and describing its structure."""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf, nan, prod
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from gcexp.delays.trace_structure import LEAST_ROWS, barrier, structure
from gcexp.errors import DataError, require, unknown
from gcexp.files import bundled, used
from gcexp.schema import quoted

NEEDED = ("iteration", "worker", "time")
Absent: TypeAlias = Literal["refuse", "skip"]
_SKIP = "absent=skip of gcexp trace check, fit and advise leaves such iterations out"
_DIGITS = 18  # of a whole number in a file
_MOST_CELLS = 2**25  # iterations times workers, and times chunks
_SHOWN = 10  # numbers in a sentence
LEAST, MOST = 1e-150, 1e150  # times whose sums, squares and quotients are numbers


@dataclass(frozen=True)
class Flags:
    """What a matrix of times means: its entry in ``index.json`` beside the file; defaults where there is none."""

    persistent: bool = True  # a column is one worker throughout
    data_bound: bool = False  # slow because of its data: a partition that is computed twice is slow twice
    sampled: bool = False  # rows are not consecutive iterations
    unit: str = ""
    licence: str = ""
    measures: str = ""
    cite: str = ""


@dataclass(frozen=True, eq=False)
class TraceFile:
    """A trace: R rows (iterations) of N workers, its name that of the file without folder and ending.

    `workers` are the numbers in the file, rising; `names` those of their hosts, or empty. `values` (R, N) are ``time``
    and the other columns of numbers, NaN where a row has fewer workers; `chunks` (R, N, M) the times of the
    micro-batches that add up to ``time``, in order. `left_out` counts the iterations in which workers were missing.
    """

    name: str
    columns: tuple[str, ...]
    workers: tuple[int, ...]
    values: Mapping[str, np.ndarray]
    chunks: np.ndarray | None = None
    flags: Flags = field(default_factory=Flags)
    names: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the workers: their numbers or their names."""
        return self.names or tuple(map(str, self.workers))

    def column(self, name: str, purpose: str) -> np.ndarray:
        """Values (R, N) of a column; raise `DataError` if there is none."""
        require(
            name in self.values,
            f"trace {self.name} has no column {name!r} for {purpose}; it has {', '.join(self.columns)}",
        )
        return self.values[name]


def located(file: str | Path) -> Path:
    """The path of a trace, a file or the name of a bundled trace; no pipe or device.

    Examples
    --------
    >>> located("pai-job1").name, located("data/traces/pai-job1.csv").name
    ('pai-job1.csv', 'pai-job1.csv')
    """
    paths = [Path(file), bundled(file)]
    if Path(file).name == str(file):
        paths.append(bundled(f"data/traces/{file}.csv"))
    for path in paths:
        with suppress(OSError):
            if path.exists() and not (path.is_file() or path.is_dir()):  # a device may never end
                raise DataError(f"trace {path} cannot be read: it is no regular file")
            if not path.is_dir():
                used(path)  # also where nothing is: a file may appear there
            with open(path):
                return path
    names = [path.stem for path in bundled("data/traces").glob("*.csv")]
    raise DataError(
        f"there is no trace {file}, neither from this folder nor from the project's; {unknown('trace', file, names)}"
    )


def read_trace(file: str | Path | TraceFile, absent: Absent = "refuse") -> TraceFile:
    """Read a trace and check that it is complete.

    The file has a header and the columns ``iteration`` (0, 1, ... without gaps), ``worker`` and ``time`` (> 0), and may
    have more; with ``chunk`` (0, 1, ...) a row is one micro-batch. Workers are numbers or names of hosts. In a
    persistent trace every iteration has the same workers; else iteration t has workers 0, ..., n_t - 1.

    Parameters
    ----------
    file : path or TraceFile
        What has been read already is given back.
    absent : {"refuse", "skip"}
        What happens where workers are missing: a `DataError`, or these iterations are left out and counted, as is a
        last line that was cut off.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.
    """
    if isinstance(file, TraceFile):
        return file
    path = located(file)
    stat = path.stat()
    return _read(path, _flags(path), absent, stat.st_mtime_ns, stat.st_size)


def trace_of(source: object, absent: Absent = "refuse") -> TraceFile:
    """A trace from a path, a bundled trace's name, a frame with a file's columns, or an array (iterations, workers).

    Examples
    --------
    >>> trace_of([[1.0, 2.0], [1.5, 1.0]]).values["time"].shape, trace_of("pai-job4").name
    ((2, 2), 'pai-job4')
    """
    if isinstance(source, str | Path | TraceFile):
        return read_trace(source, absent)
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _parsed(source.to_csv(index=False).splitlines(), "frame", Flags(), absent)
    try:
        times = np.asarray(source, float)
    except (TypeError, ValueError):
        times = np.empty(0)
    if times.ndim != 2 or not times.size:
        raise DataError(
            "a trace is a CSV file, a bundled trace's name, a frame with the columns iteration, worker and time, or an "
            f"array of shape (iterations, workers), got {quoted(source)}"
        )
    whole = ~np.isnan(times).any(1)
    if not whole.all() and (absent == "refuse" or not whole.any()):
        t, w = np.argwhere(np.isnan(times))[0]
        raise DataError(
            f"array: iteration {t} lacks worker {w} ({np.isnan(times).sum()} such pairs in all): {_SKIP}"
        )
    times = times[whole]
    wrong = np.argwhere(~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        t, w = wrong[0]
        raise DataError(
            f"array: the time of worker {w} in row {t} is {times[t, w]:g}, wanted is {LEAST:g} to {MOST:g}"
        )
    n = times.shape[1]
    return TraceFile("array", NEEDED, tuple(range(n)), {"time": times}, left_out=int((~whole).sum()))


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, absent: Absent, *_when: int) -> TraceFile:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _parsed(file, path.name, flags, absent)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"trace {path.name}: cannot be read ({error})") from None


def _parsed(text: Iterable[str], name: str, flags: Flags, absent: Absent) -> TraceFile:
    """The trace in the lines of a CSV."""
    place = f"trace {name}"
    index, numbers = array("q"), array("d")  # whole numbers and other cells, line by line
    hosts: dict[str, int] = {}  # in the order in which they appear
    first_host, numbered = 0, False
    lines = csv.reader(text)
    try:
        header = tuple(cell.strip() for cell in next(lines, ()))
        _check_header(header, place)
        keys = [(header.index(key), key) for key in ("iteration", "worker", "chunk") if key in header]
        columns = [pair for pair in enumerate(header) if pair not in keys]
        for line in lines:
            if not line:
                continue
            number = lines.line_num
            if len(line) != len(header):
                cut = index and len(line) < len(header) and not any(lines)
                if cut and absent == "skip":
                    break
                more = f"; it is the last one, so the log may have been cut off: {_SKIP}" if cut else ""
                raise DataError(
                    f"{place}: line {number} has {len(line)} cells, the header {len(header)}{more}"
                )
            for i, key in keys:
                if key == "worker" and not line[i].strip().isdecimal() and line[i].strip():
                    first_host = first_host or number
                    index.append(hosts.setdefault(line[i].strip(), len(hosts)))
                else:
                    numbered |= key == "worker"
                    index.append(_index(line[i], key, number, place))
            numbers.extend([_number(line[i], key, number, place) for i, key in columns])
    except csv.Error as error:
        raise DataError(f"{place}: cannot be read ({error})") from None
    if not index:
        raise DataError(f"{place} has a header and no rows")
    found = np.frombuffer(index, np.int64).reshape(-1, len(keys))
    names = tuple(sorted(hosts, key=_by_number))
    if hosts and numbered:
        _index(next(iter(hosts)), "worker", first_host, place)
    if hosts:
        found = found.copy()
        found[:, 1] = np.argsort([list(hosts).index(host) for host in names])[found[:, 1]]
    cells = np.frombuffer(numbers).reshape(-1, len(columns))
    values = {key: cells[:, i] for i, (_, key) in enumerate(columns)}
    return replace(_arranged(name, header, found, values, flags, absent, names), names=names)


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sort key of host names: ``node2`` comes before ``node10``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _check_header(header: tuple[str, ...], place: str) -> None:
    for name in NEEDED:
        if name not in header:
            raise DataError(f"{place} has no column {name!r}; it has {', '.join(header) or 'nothing'}")
    if twice := [name for name in header if header.count(name) > 1]:
        raise DataError(
            f"{place} has {header.count(twice[0])} columns {twice[0]!r}; it has {', '.join(header)}"
        )


def _arranged(
    name: str,
    header: tuple[str, ...],
    index: np.ndarray,
    values: dict[str, np.ndarray],
    flags: Flags,
    absent: Absent,
    hosts: tuple[str, ...] = (),
) -> TraceFile:
    """The trace whose lines have these whole numbers (L, 2 or 3) and these values (L,) of the other columns."""
    place, names = f"trace {name}", [key for key in ("iteration", "worker", "chunk") if key in header]
    found = [np.unique(numbers, return_inverse=True) for numbers in index.T]
    if absent == "refuse":
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
        at[1] = hosts[at[1]] if hosts else at[1]
        told = ", ".join(f"{key} {value}" for key, value in zip(names, at, strict=True))
        raise DataError(f"{place}: {told} stands twice")
    whole = np.zeros(shape, dtype=bool)
    whole.ravel()[cell] = True
    whole = whole.reshape(*shape[:2], -1)
    there, workers = whole.any(2), tuple(found[1][0].tolist())
    wanted = np.arange(shape[1]) < (shape[1] if flags.persistent else there.sum(1)[:, None])
    rows = np.ones(len(whole), dtype=bool)
    if absent == "skip" and flags.persistent:
        rows = whole.all((1, 2))
        if not rows.any():
            raise DataError(f"{place}: in every one of its {len(rows)} iterations some worker is missing")
        whole, there = whole[rows], there[rows]
    if not (there | ~wanted).all():
        t, i = np.argwhere(wanted & ~there)[0]
        more = f" ({(wanted & ~there).sum()} such pairs in all): {_SKIP}" if flags.persistent else ""
        raise DataError(f"{place}: iteration {t} lacks worker {(hosts or workers)[i]}{more}")
    if not (whole | ~there[..., None]).all():
        t, i, m = np.argwhere(there[..., None] & ~whole)[0]
        raise DataError(f"{place}: iteration {t}, worker {(hosts or workers)[i]} lacks chunk {m}")
    matrices = {}
    for key in values if "chunk" not in header else ("time",):
        matrix = np.full(shape, nan)
        matrix.ravel()[cell] = values[key]
        matrices[key] = matrix if rows.all() else matrix[rows]
    chunks = matrices["time"] if "chunk" in header else None
    if chunks is not None:
        matrices = {"time": chunks.sum(2)}
    stem, left_out = Path(name).stem, int((~rows).sum())
    return TraceFile(stem, header, workers, matrices, chunks, flags, left_out=left_out)


def _check_gaps(numbers: np.ndarray, kind: str, place: str) -> None:
    """Raise `DataError` for numbers with gaps."""
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
    used(index)
    try:
        stat = index.stat()
        entry = _index_of(index, stat.st_mtime_ns, stat.st_size)[path.stem]
        return Flags(**{name: entry[name] for name in Flags.__dataclass_fields__ if name in entry})
    except (OSError, KeyError):
        return Flags()
    except (TypeError, ValueError) as error:
        raise DataError(f"{index} is no index of traces ({error})") from None


def statistics(times: np.ndarray) -> dict[str, float]:
    """Statistics of a matrix of times (R, N), NaN where one row says nothing.

    ``mean``; ``cov``, standard deviation over mean of all entries; ``row_cov``, the median over rows of the same;
    ``max_over_median`` of a row, its median, and ``max_over_median_95``, its 95 % quantile; shares of variance by
    ``worker``, by ``iteration`` and the ``rest`` (two-way, no interaction); ``lag1``, correlation of a worker's times
    with its previous ones, mean over workers; ``repeats``, share of times equal to the worker's previous one.

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


def report(file: str | Path | TraceFile) -> str:
    """Lines that describe a trace; raise `DataError` for the first fault of a broken one."""
    trace = read_trace(file)
    times = trace.values["time"]
    sizes = (~np.isnan(times)).sum(1)
    wide = times[:, : sizes.min()]
    found, flags = statistics(wide), trace.flags
    whole = trace.names or trace.workers == tuple(range(len(trace.workers)))
    ragged = "" if sizes.min() == sizes.max() else f" (rows have {sizes.min()} to {sizes.max()} of them)"
    gaps = f"{trace.left_out} iterations with missing workers left out" if trace.left_out else "no gaps"
    lines = [
        f"{trace.name}: {len(times)} iterations, {len(trace.workers)} workers{ragged}, {gaps}",
        f"columns: {', '.join(trace.columns)}",
        f"workers: {trace.labels[0]} to {trace.labels[-1]}" + ("" if whole else ", not all numbers between"),
        f"time: mean {found['mean']:.6g} {flags.unit}".rstrip() + f", CoV {found['cov']:.3f}",
        f"max/median of a row: {found['max_over_median']:.2f} (95 %: {found['max_over_median_95']:.2f})",
    ]
    if len(times) > 1 and flags.persistent and np.isfinite(found["rest"]):
        shares = ", ".join(f"{name} {found[name]:.2f}" for name in ("worker", "iteration", "rest"))
        lag = f"{found['lag1']:.2f}" if np.isfinite(found["lag1"]) else "unknown, too few rows differ"
        lines += [
            f"variance by: {shares}",
            f"lag-1 correlation: {lag}; equal to the previous one: {found['repeats']:.0%}",
        ]
    if trace.chunks is not None:
        lines.append(f"micro-batches: {trace.chunks.shape[2]} for each worker and iteration")
    if flags.persistent and (said := barrier(times)[1]):
        lines.append(f"warning: {said}")
    if len(times) >= LEAST_ROWS and flags.persistent:
        seen = structure(times, trace.workers, trace.labels)
        lines += seen or ["racks, bursts, drift: none beyond chance"]
    told = [
        f"{name}: {str(getattr(flags, name)).lower()}" for name in ("persistent", "data_bound", "sampled")
    ]
    lines.append(f"flags: {', '.join(told)}")
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
    """What is assumed about loads at which the trace was not recorded."""
    if "compute" in trace.values:
        share = np.nansum(trace.values["compute"]) / np.nansum(trace.values["time"])
        return f"loads: {share:.0%} of the time, column compute, grows with the load (delay.pricing=additive)"
    return (
        "loads: delay.phi=0 assumes that all of a time grows with the worker's load, so that twice the data takes "
        "twice as long; the file cannot tell, so try delay.phi=0.5 too (gcexp benchmark does)"
    )
