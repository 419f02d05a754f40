"""Times of real workers, iteration by iteration: reading a CSV file, what it lacks, and what can be seen in it."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite, nan
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from gcexp.delays.trace_structure import LEAST_ROWS, barrier, structure
from gcexp.errors import DataError, require
from gcexp.files import bundled
from gcexp.schema import quoted

NEEDED = ("iteration", "worker", "time")
Absent: TypeAlias = Literal["refuse", "skip"]
_SKIP = "absent=skip of gcexp trace check, fit and advise leaves such iterations out"
_DIGITS = 18  # of a whole number in a file
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
    names : tuple of str
        Of the workers, where the file names hosts; else empty.
    left_out : int
        Iterations in which workers were missing.
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
        """What workers are called, by their numbers or by their names."""
        return self.names or tuple(map(str, self.workers))

    def column(self, name: str, purpose: str) -> np.ndarray:
        """Values (R, N) of a column, or a sentence."""
        require(
            name in self.values,
            f"trace {self.name} has no column {name!r} for {purpose}; it has {', '.join(self.columns)}",
        )
        return self.values[name]


def located(file: str | Path) -> Path:
    """The file as named from here, among those that come with the project, or a bundled trace by its name.

    Raises
    ------
    DataError
        If there is none of them.
    """
    for path in (Path(file), bundled(file), bundled(f"data/traces/{file}.csv")):
        with suppress(OSError), open(path) as opened:  # what is looked for in vain is seen, too
            opened.read(1)  # not a folder
            return path
    raise DataError(f"there is no trace {file}, neither from this folder nor from the project's")


def read_trace(file: str | Path | TraceFile, absent: Absent = "refuse") -> TraceFile:
    """Read a trace and check that it is whole.

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
    """A trace from whatever holds one: a path, the name of a bundled trace, a pandas frame or an array.

    Parameters
    ----------
    source : path, TraceFile, DataFrame or array
        A frame has the columns of a file; an array has shape (iterations, workers).
    absent : {"refuse", "skip"}
        As in `read_trace`.

    Raises
    ------
    DataError

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
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"trace {path.name}: cannot be read ({error})") from None
    return _parsed(lines, path.name, flags, absent)


def _parsed(text: list[str], name: str, flags: Flags, absent: Absent) -> TraceFile:
    place = f"trace {name}"
    try:
        lines = list(csv.reader(text))
    except csv.Error as error:
        raise DataError(f"{place}: cannot be read ({error})") from None
    header = tuple(cell.strip() for cell in lines[0]) if lines else ()
    for column in NEEDED:
        if column not in header:
            raise DataError(f"{place} has no column {column!r}; it has {', '.join(header) or 'nothing'}")
    if twice := [column for column in header if header.count(column) > 1]:
        raise DataError(
            f"{place} has {header.count(twice[0])} columns {twice[0]!r}; it has {', '.join(header)}"
        )
    if len(lines) > 2 and 0 < len(lines[-1]) < len(header):
        if absent == "refuse":
            raise DataError(
                f"{place}: line {len(lines)} has {len(lines[-1])} cells, the header {len(header)}; it is the last one, "
                f"so the log may have been cut off: {_SKIP}"
            )
        lines.pop()
    hosts = _hosts(lines[1:], header)
    keys = [column for column in ("iteration", "worker", "chunk") if column in header]
    cells: dict[tuple[int, ...], dict[str, float]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if len(line) != len(header):
            raise DataError(f"{place}: line {number} has {len(line)} cells, the header {len(header)}")
        row = dict(zip(header, line, strict=True))
        if hosts:
            row["worker"] = str(hosts[row["worker"].strip()])
        key = tuple(_index(row[column], column, number, place) for column in keys)
        if key in cells:
            told = ", ".join(f"{column} {value}" for column, value in zip(keys, key, strict=True))
            raise DataError(f"{place}: {told} stands twice")
        cells[key] = {column: _number(row[column]) for column in header if column not in keys}
        time = cells[key]["time"]
        if not (time > 0 and isfinite(time)):
            raise DataError(f"{place}: time in line {number} is {row['time']!r}, wanted is a number > 0")
        if not LEAST <= time <= MOST:
            raise DataError(
                f"{place}: time in line {number} is {row['time']!r}, wanted is a number from {LEAST:g} to {MOST:g}"
            )
    if not cells:
        raise DataError(f"{place} has a header and no rows")
    iterations = sorted({key[0] for key in cells})
    if iterations != list(range(len(iterations))) and absent == "refuse":
        missing = next(t for t in range(len(iterations) + 1) if t not in set(iterations))
        shown = ", ".join(map(str, iterations[: max(3, missing + 1)]))
        raise DataError(f"{place}: iterations go {shown}: {missing} is missing")
    left_out = 0
    if absent == "skip" and flags.persistent:
        cells, left_out = _whole(cells, place)
    workers = tuple(sorted({key[1] for key in cells}))
    rows = len({key[0] for key in cells})
    found = _arranged(name, header, workers, rows, cells, flags)
    return replace(found, names=tuple(hosts), left_out=left_out)


def _hosts(lines: list[list[str]], header: tuple[str, ...]) -> dict[str, int]:
    """Numbers of workers that are named by hosts, ``node2`` before ``node10``; none where any is a number."""
    at = header.index("worker")
    named = {line[at].strip() for line in lines if len(line) == len(header)}
    if "" in named or any(name.isdecimal() for name in named):
        return {}
    by_number = sorted(
        named,
        key=lambda name: [
            (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
        ],
    )
    return {name: place for place, name in enumerate(by_number)}


def _whole(cells: dict, place: str) -> tuple[dict, int]:
    """Cells of the iterations that have everything, numbered anew, and how many iterations had not."""
    there: dict[int, set] = {}
    for key in cells:
        there.setdefault(key[0], set()).add(key[1:])
    everything = set().union(*there.values())
    whole = {t: row for row, t in enumerate(sorted(t for t in there if there[t] == everything))}
    if not whole:
        raise DataError(f"{place}: in every one of its {len(there)} iterations some worker is missing")
    kept = {(whole[key[0]], *key[1:]): cell for key, cell in cells.items() if key[0] in whole}
    return kept, len(there) - len(whole)


def _arranged(name: str, header, workers, rows: int, cells, flags: Flags) -> TraceFile:
    place, column = f"trace {name}", {w: i for i, w in enumerate(workers)}
    shape = (rows, len(workers))
    there = np.zeros(shape, dtype=bool)
    for t, w, *_ in cells:
        there[t, column[w]] = True
    whole = there if flags.persistent else there | (np.arange(len(workers)) >= there.sum(1)[:, None])
    if not whole.all():
        t, i = np.argwhere(~whole)[0]
        many = int((~whole).sum())
        more = f" ({many} such pairs in all): {_SKIP}" if flags.persistent else ""
        raise DataError(f"{place}: iteration {t} lacks worker {workers[i]}{more}")
    chunks = None
    if "chunk" in header:
        M = 1 + max(key[2] for key in cells)
        chunks = np.full((*shape, M), nan)
        for (t, w, m), cell in cells.items():
            chunks[t, column[w], m] = cell["time"]
        if np.isnan(chunks[there]).any():
            t, i, m = np.argwhere(np.isnan(chunks) & there[..., None])[0]
            raise DataError(f"{place}: iteration {t}, worker {workers[i]} lacks chunk {m}")
        values = {"time": chunks.sum(2)}
    else:
        values = {key: np.full(shape, nan) for key in header if key not in ("iteration", "worker")}
        for (t, w), cell in cells.items():
            for key, value in cell.items():
                values[key][t, column[w]] = value
    return TraceFile(Path(name).stem, header, workers, values, chunks, flags)


def _index(text: str, name: str, number: int, place: str) -> int:
    if not text.strip().isdecimal() or len(text) > _DIGITS:
        raise DataError(f"{place}: {name} in line {number} is {quoted(text)}, wanted is a whole number >= 0")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


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


#: What is said of times that look as if all workers had been timed together.
BARRIER = {
    "equalised": "the times of all workers agree to {within:.1%} within an iteration while iterations differ by "
    "{across:.1%}: they look as if they were stamped after the barrier, where everybody has waited for the slowest; "
    "stamp them before the all-reduce",
    "doubtful": "the times of all workers are nearly equal within each iteration: they may have been stamped after the "
    "barrier",
}


def barrier_said(times: np.ndarray) -> tuple[str, str]:
    """Verdict of the barrier test, and a sentence; both empty where nothing is wrong."""
    verdict = barrier(times)
    if not verdict:
        return "", ""
    logs = np.log(times)
    within, across = np.median(logs.std(axis=1, ddof=1)), np.median(logs, axis=1).std()
    return verdict, BARRIER[verdict].format(within=within, across=across)


def report(file: str | Path | TraceFile) -> str:
    """What a trace holds and what can be seen in it, as lines; the first fault of a broken one is a `DataError`."""
    trace = read_trace(file)
    times = trace.values["time"]
    sizes = (~np.isnan(times)).sum(1)
    wide = times[:, : sizes.min()]
    found, flags = statistics(wide), trace.flags
    ragged = "" if sizes.min() == sizes.max() else f" (rows have {sizes.min()} to {sizes.max()} of them)"
    gaps = f"{trace.left_out} iterations with missing workers left out" if trace.left_out else "no gaps"
    lines = [
        f"{trace.name}: {len(times)} iterations, {len(trace.workers)} workers{ragged}, {gaps}",
        f"columns: {', '.join(trace.columns)}",
        f"workers: {trace.labels[0]} to {trace.labels[-1]}"
        + (
            ""
            if trace.names or trace.workers == tuple(range(len(trace.workers)))
            else ", not all numbers between"
        ),
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
    if flags.persistent and (said := barrier_said(times)[1]):
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
    """What is taken for granted of loads that the trace was not recorded at."""
    if "compute" in trace.values:
        share = np.nansum(trace.values["compute"]) / np.nansum(trace.values["time"])
        return f"loads: {share:.0%} of the time, column compute, grows with the load (delay.pricing=additive)"
    return (
        "loads: delay.phi=0 assumes that all of a time grows with the worker's load, so that twice the data takes "
        "twice as long; the file cannot tell, so try delay.phi=0.5 too (gcexp benchmark does)"
    )
