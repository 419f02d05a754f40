"""Recorded times of workers, iteration by iteration: reading a CSV file, checking it, and describing its structure."""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import inf, nan, prod
from pathlib import Path

import numpy as np

from gcexp.errors import DataError, unknown
from gcexp.files import bundled, used
from gcexp.schema import quoted
from gcexp.traces.missing import Absent, resolved
from gcexp.traces.record import LEAST, MOST, NEEDED, Flags, TraceFile

_DIGITS = 18  # of a whole number in a file
_MOST_CELLS = 2**25  # iterations times workers, and times chunks
_SHOWN = 10  # numbers in a sentence


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


def read_trace(
    file: str | Path | TraceFile, absent: Absent = "refuse", timeout: float | None = None
) -> TraceFile:
    """Read a trace and check that it is complete.

    The file has a header and the columns ``iteration`` (0, 1, ... without gaps), ``worker`` and ``time`` (> 0), and may
    have more; with ``chunk`` (0, 1, ...) a row is one micro-batch. Workers are numbers or names of hosts. In a
    persistent trace every iteration has the same workers; else iteration t has workers 0, ..., n_t - 1.

    Parameters
    ----------
    file : path or TraceFile
        What has been read already is given back.
    absent : {"refuse", "late", "skip"}
        What happens where workers are missing: a `DataError`, or their rows are filled as late ones
        (`gcexp.traces.missing.as_late`), or these iterations are left out and counted.
    timeout : float, optional
        The time of missing rows that are late.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.
    """
    return trace_of(file, absent, timeout)


def trace_of(source: object, absent: Absent = "refuse", timeout: float | None = None) -> TraceFile:
    """A trace from a path, a bundled trace's name, a frame with a file's columns, or an array (iterations, workers).

    Missing rows are treated as `read_trace` says; `trace_with_gaps` leaves them.

    Examples
    --------
    >>> trace_of([[1.0, 2.0], [1.5, 1.0]]).values["time"].shape, trace_of("pai-job4").name
    ((2, 2), 'pai-job4')
    """
    return resolved(trace_with_gaps(source), absent, timeout)


def trace_with_gaps(source: object) -> TraceFile:
    """A trace as `trace_of` takes it, with its missing rows: ``missing`` says which, and their times are NaN."""
    if isinstance(source, TraceFile):
        return source
    if isinstance(source, str | Path):
        path = located(source)
        stat = path.stat()
        return _read(path, _flags(path), stat.st_mtime_ns, stat.st_size)
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _parsed(source.to_csv(index=False).splitlines(), "frame", Flags())
    try:
        times = np.asarray(source, float)
    except (TypeError, ValueError):
        times = np.empty(0)
    if times.ndim != 2 or not times.size:
        raise DataError(
            "a trace is a CSV file, a bundled trace's name, a frame with the columns iteration, worker and time, or an "
            f"array of shape (iterations, workers), got {quoted(source)}"
        )
    missing = np.isnan(times)
    empty = np.flatnonzero(missing.all(0))
    if len(empty):
        raise DataError(f"array: worker {empty[0]} has no time in any iteration")
    wrong = np.argwhere(~missing & ~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        t, w = wrong[0]
        raise DataError(
            f"array: the time of worker {w} in row {t} is {times[t, w]:g}, wanted is {LEAST:g} to {MOST:g}"
        )
    n = times.shape[1]
    return TraceFile(
        "array", NEEDED, tuple(range(n)), {"time": times}, missing=missing if missing.any() else None
    )


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, *_when: int) -> TraceFile:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"trace {path.name}: cannot be read ({error})") from None
    whole, told = _whole_lines(text)
    return replace(_parsed(whole.splitlines(keepends=True), path.name, flags), decisions=told)


def _whole_lines(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without a last line that may be cut off, for no newline ends it; and what is told of that."""
    whole, newline, last = text.rpartition("\n")
    if not newline or not last.strip():
        return text, ()
    number = whole.count("\n") + 2
    told = (
        f"left out line {number}, {quoted(last)}: no newline ends it, so it may have been cut off; where it is whole, "
        "end the file with a newline"
    )
    return whole + newline, (told,)


def _parsed(text: Iterable[str], name: str, flags: Flags) -> TraceFile:
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
                raise DataError(f"{place}: line {number} has {len(line)} cells, the header {len(header)}")
            for i, key in keys:
                text_of_key = line[i].strip()
                if key == "worker" and text_of_key and not text_of_key.isdecimal():
                    first_host = first_host or number
                    index.append(hosts.setdefault(text_of_key, len(hosts)))
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
        place_of = {host: place for place, host in enumerate(names)}
        sorted_places = np.array([place_of[host] for host in hosts])
        found = found.copy()
        found[:, 1] = sorted_places[found[:, 1]]
    cells = np.frombuffer(numbers).reshape(-1, len(columns))
    values = {key: cells[:, i] for i, (_, key) in enumerate(columns)}
    return replace(_arranged(name, header, found, values, flags, names), names=names)


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sort key of host names: ``node2`` comes before ``node10``."""
    key = []
    for part in re.split(r"(\d+)", name):
        key.append((int(part), "") if part.isdecimal() else (-1, part))
    return key


def _check_header(header: tuple[str, ...], place: str) -> None:
    for name in NEEDED:
        if name not in header:
            raise DataError(f"{place} has no column {name!r}; it has {', '.join(header) or 'nothing'}")
    for name in header:
        count = header.count(name)
        if count > 1:
            raise DataError(f"{place} has {count} columns {name!r}; it has {', '.join(header)}")


def _arranged(
    name: str,
    header: tuple[str, ...],
    index: np.ndarray,
    values: dict[str, np.ndarray],
    flags: Flags,
    hosts: tuple[str, ...] = (),
) -> TraceFile:
    """The trace whose lines have these whole numbers (L, 2 or 3) and these values (L,) of the other columns."""
    place = f"trace {name}"
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
    workers = tuple(found[1][0].tolist())
    labels = hosts or workers
    twice = np.flatnonzero(np.bincount(cell) > 1)
    if len(twice):
        t, i, *chunk = np.unravel_index(twice[0], shape)
        told = f"iteration {found[0][0][t]}, worker {labels[i]}"
        if chunk:
            told += f", chunk {found[2][0][chunk[0]]}"
        raise DataError(f"{place}: {told} stands twice")
    whole = np.zeros(shape, dtype=bool)
    whole.ravel()[cell] = True
    whole = whole.reshape(*shape[:2], -1)
    there = whole.any(2)
    sizes = shape[1] if flags.persistent else there.sum(1)[:, None]
    wanted = np.arange(shape[1]) < sizes
    missing = wanted & ~there
    if missing.any() and not flags.persistent:
        t, i = np.argwhere(missing)[0]
        raise DataError(f"{place}: iteration {t} lacks worker {labels[i]}")
    partly = np.argwhere(there[..., None] & ~whole)
    if len(partly):
        t, i, m = partly[0]
        raise DataError(f"{place}: iteration {t}, worker {labels[i]} lacks chunk {m}")
    matrices = {}
    for key, column in values.items():
        if "chunk" in header and key not in ("time", "load"):
            continue
        matrix = np.full(shape, nan)
        matrix.ravel()[cell] = column
        matrices[key] = matrix
    chunks = None
    if "chunk" in header:
        chunks = matrices["time"]
        matrices["time"] = chunks.sum(2)
    if "chunk" in header and "load" in matrices:
        matrices["load"] = _load_of_chunks(matrices["load"], labels, place)
    return TraceFile(
        name=Path(name).stem,
        columns=header,
        workers=workers,
        values=matrices,
        chunks=chunks,
        flags=flags,
        missing=missing if missing.any() else None,
    )


def _load_of_chunks(loads: np.ndarray, labels: tuple, place: str) -> np.ndarray:
    """Load (R, N) of the workers whose chunks have these loads (R, N, M), which are equal for each worker."""
    differ = np.argwhere(loads.min(2) < loads.max(2))
    if len(differ):
        t, i = differ[0]
        raise DataError(f"{place}: iteration {t}, worker {labels[i]} has chunks of different loads")
    return loads[..., 0]


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
