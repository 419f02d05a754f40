"""The clean record of recorded times: the one file of times that the library reads, and its writer.

It is a CSV file with the columns ``iteration`` (0, 1, ...), ``worker`` and ``time`` (> 0), and maybe ``compute``,
``load``, ``chunk`` and others of numbers; with ``chunk`` (0, 1, ...) a row is one micro-batch. Workers are numbers or
names of hosts. In a persistent trace every iteration has the same workers, and a worker without a row is missing; else
iteration t has workers 0, ..., n_t - 1. ``gcexp trace import`` makes it of any log.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import DataError, UserError, require
from gcexp.files import read_json, write_text, written
from gcexp.schema import quoted
from gcexp.traces.assembling import Lines, by_number, record_of_lines, record_of_matrix, with_times
from gcexp.traces.missing import Absent, resolved
from gcexp.traces.places import flags_of, located
from gcexp.traces.record import LEAST, MOST, NEEDED, Flags, TraceFile, is_recorder_folder

if TYPE_CHECKING:
    import pandas as pd

#: The names of records in memory, with which sentences about them begin.
OF_ARRAY, OF_FRAME = "array", "frame"
_INDEX = "index.json"
_LARGEST = 2**53  # of a whole number, up to which floats hold all of them
_DIGITS = 18  # of a worker's number; what is longer is a name
_WARM_UP = 1  # first iterations of a recording that are left out unless a person says how many


def read_record(
    file: str | Path | TraceFile, absent: Absent = "refuse", timeout: float | None = None
) -> TraceFile:
    """Read a clean record, or a folder of `gcexp.distributed.Recorder`, and check that it is complete.

    Parameters
    ----------
    file : path or TraceFile
        A file, a folder, or the name of a bundled trace. What has been read already is not read again.
    absent : {"refuse", "late", "skip"}
        What happens where workers are missing: a `DataError`, or their rows are filled as late ones
        (`gcexp.traces.missing.as_late`), or these iterations are left out and counted.
    timeout : float, optional
        The time of missing rows that are late, in the unit of the record.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.

    Examples
    --------
    >>> read_record("pai-job4").values["time"].shape
    (2182, 10)
    """
    if isinstance(file, TraceFile):
        return resolved(file, absent, timeout)
    trace = replace(_record_at(located(file)), source=str(file))
    return without_gaps(trace, absent, timeout)


def is_clean(file: str | Path) -> bool:
    """Whether `read_record` takes a file for a clean record, by its first line, or a folder for recordings.

    >>> is_clean("pai-job1"), is_clean("README.md")
    (True, False)
    """
    path = located(file)
    if path.is_dir():
        return is_recorder_folder(path)
    try:
        _require_columns(_header_of(path), "")
    except (OSError, ValueError, csv.Error, DataError):
        return False
    return True


def without_gaps(trace: TraceFile, absent: Absent, timeout: float | None = None) -> TraceFile:
    """The trace without missing rows, and refused where whole iterations are in no row unless `absent` allows it."""
    if absent == "refuse" and trace.gap:
        raise DataError(
            f"trace {trace.name}: {trace.gap}; absent=late or absent=skip takes the others for consecutive ones"
        )
    return resolved(trace, absent, timeout)


def record_in_memory(times: Any) -> TraceFile:
    """The record of times in memory: a frame with the columns of a clean record, or an array (iterations, workers).

    NaN stands where a worker has no time.

    Examples
    --------
    >>> record_in_memory([[1.0, 2.0], [1.5, 1.0]]).values["time"].tolist()
    [[1.0, 2.0], [1.5, 1.0]]
    """
    if hasattr(times, "to_csv") and hasattr(times, "columns"):
        return _record_of_frame(times.reset_index(drop=True), OF_FRAME, OF_FRAME, Flags(), "row {}".format)
    try:
        matrix = np.asarray(times, dtype=float)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.size:
        raise DataError(
            f"{OF_ARRAY}: wanted are times of shape (iterations, workers), or a frame with the columns "
            f"{', '.join(NEEDED)}, got {quoted(times)}"
        )
    _require_times(
        matrix, lambda place: f"{OF_ARRAY}: the time of worker {place[1]} in row {place[0]}", matrix
    )
    silent = np.flatnonzero(np.isnan(matrix).all(axis=0))
    if len(silent):
        raise DataError(f"{OF_ARRAY}: worker {silent[0]} has no time in any iteration")
    return record_of_matrix(matrix, OF_ARRAY, OF_ARRAY, Flags())


# --- files ------------------------------------------------------------------------------------------------------------


def _record_at(path: Path) -> TraceFile:
    """The record in a file or in a folder of recordings."""
    if is_recorder_folder(path):
        return read_recorder_folder(path)
    if path.is_dir():
        raise DataError(
            f"{path} is a folder without recordings of gcexp.distributed.Recorder; {_how_to_import(path)}"
        )
    stat = path.stat()
    return _read(path, flags_of(path), stat.st_mtime_ns, stat.st_size)


def read_recorder_folder(folder: Path, warm_up: int | None = None) -> TraceFile:
    """The record of what `gcexp.distributed.Recorder` wrote on all ranks, without its first iterations (default 1)."""
    first = _WARM_UP if warm_up is None else warm_up
    require(first >= 0, f"warm-up is a number of iterations >= 0, got {first}")
    return _joined(folder, first, *when_in(folder))


@lru_cache(maxsize=4)
def _joined(folder: Path, warm_up: int, *_when: tuple) -> TraceFile:
    from gcexp.traces.recordings import joined

    frame, told = joined(folder, warm_up)
    trace = _record_of_frame(frame, folder.name, f"trace {folder.name}", Flags(unit="s"), "row {}".format)
    return replace(trace, decisions=(*told, *trace.decisions))


def when_in(folder: Path) -> list[tuple]:
    """When the files in a folder were written, and how large they are."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stat = path.stat()
            found.append((str(path), stat.st_mtime_ns, stat.st_size))
    return found


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, *_when: int) -> TraceFile:
    try:
        frame = _frame_of(path)
        return _record_of_frame(frame, path.stem, f"trace {path.name}", flags, lambda row: f"line {row + 2}")
    except DataError as error:
        raise DataError(f"{error}; {_how_to_import(path)}") from None


def _how_to_import(path: Path) -> str:
    """What to type where a file is no clean record."""
    return (
        f"if it is a log of another form, gcexp trace import {path} -o clean.csv makes a clean record of it"
    )


def _frame_of(path: Path) -> pd.DataFrame:
    """The table in a CSV file, as text."""
    import warnings

    import pandas as pd  # takes a quarter of a second

    try:
        _require_columns(_header_of(path), f"trace {path.name}")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a row with too many cells
            return pd.read_csv(
                path,
                encoding="utf-8-sig",
                dtype=str,
                index_col=False,
                keep_default_na=False,
                na_values=["", "nan", "NaN"],
            )
    except (OSError, ValueError, csv.Error, pd.errors.ParserWarning) as error:
        raise DataError(f"trace {path.name} cannot be read as CSV ({' '.join(str(error).split())})") from None


def _header_of(path: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), [])


# --- tables -----------------------------------------------------------------------------------------------------------


def _record_of_frame(
    frame: pd.DataFrame, name: str, place: str, flags: Flags, place_of: Callable[[int], str]
) -> TraceFile:
    """The record of a table, whose rows stand where `place_of` says."""
    _require_columns(list(map(str, frame.columns)), place)
    if not len(frame):
        raise DataError(f"{place} has no rows")
    workers, hosts = _workers_of(frame["worker"], place, place_of)
    chunks = None
    if "chunk" in frame:
        chunks = _whole_numbers(frame["chunk"], "chunk", place, place_of)
    values = {}
    for column in frame.columns:
        if column not in ("iteration", "worker", "chunk"):
            values[column] = _numbers(frame[column])
    is_no_number = np.isnan(values["time"]) & ~frame["time"].isna().to_numpy()
    times = np.where(is_no_number, np.inf, values["time"])
    _require_times(times, lambda at: f"{place}: time in {place_of(at[0])}", frame["time"].to_numpy(object))
    lines = Lines(
        columns=tuple(frame.columns),
        iterations=_whole_numbers(frame["iteration"], "iteration", place, place_of),
        workers=workers,
        values=values,
        chunks=chunks,
        hosts=hosts,
    )
    return record_of_lines(with_times(lines, place), name, place, flags)


def _require_columns(columns: list[str], place: str) -> None:
    """Raise `DataError` unless the columns of a clean record are there, and each column once."""
    if not columns:
        raise DataError(f"{place} is empty")
    for name in columns:
        count = columns.count(name)
        if count > 1:
            raise DataError(f"{place} has {count} columns {name!r}")
    for name in NEEDED:
        if name not in columns:
            shown = ", ".join(columns[:8])
            raise DataError(f"{place} has no column {name!r}, as a clean record has; it has {shown}")


def _require_times(times: np.ndarray, place_of: Callable[[tuple[int, ...]], str], cells: np.ndarray) -> None:
    """Raise `DataError` for the first of some times that is none; NaN stands where there is no time."""
    wrong = np.argwhere(~np.isnan(times) & ~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise DataError(f"{place_of(at)} is {cells[at]!r}, wanted is a number from {LEAST:g} to {MOST:g}")


def _whole_numbers(column: pd.Series, role: str, place: str, place_of: Callable[[int], str]) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    numbers = _numbers(column)
    fits = (numbers >= 0) & (numbers < _LARGEST) & (numbers == np.floor(numbers))
    if not fits.all():
        row = int(np.flatnonzero(~fits)[0])
        raise DataError(
            f"{place}: {role} in {place_of(row)} is {quoted(column.iloc[row])}, wanted is a whole number >= 0"
        )
    return numbers.astype(np.int64)


def _numbers(column: pd.Series) -> np.ndarray:
    """The numbers in the cells of a column, NaN where a cell holds none."""
    if column.dtype.kind in "iuf":
        return column.to_numpy(float, na_value=np.nan)
    return np.array([_number(cell) for cell in column.to_numpy(object)], float)


def _number(cell: Any) -> float:
    """The number in a cell, rounded as Python rounds it; NaN where it holds none."""
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return np.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _workers_of(
    column: pd.Series, place: str, place_of: Callable[[int], str]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of the rows' workers, and the names that they are places of, where some worker is no number."""
    import pandas as pd

    codes, found = pd.factorize(column, use_na_sentinel=False)
    texts = ["" if pd.isna(worker) else str(worker).strip().removesuffix(".0") for worker in found]
    numbers = [int(text) if text.isdecimal() and len(text) <= _DIGITS else None for text in texts]
    if None not in numbers:
        return np.array(numbers, np.int64)[codes], ()
    for i, text in enumerate(texts):
        if not text:
            row = int(np.flatnonzero(codes == i)[0])
            raise DataError(
                f"{place}: worker in {place_of(row)} is empty, wanted is a whole number >= 0 or a name"
            )
    hosts = tuple(sorted(set(texts), key=by_number))
    place_of_host = {host: i for i, host in enumerate(hosts)}
    return np.array([place_of_host[text] for text in texts])[codes], hosts


# --- writing ----------------------------------------------------------------------------------------------------------


def as_frame(trace: TraceFile) -> pd.DataFrame:
    """The rows of a trace, one for each iteration, worker and micro-batch that is there; iterations count from 0.

    Examples
    --------
    >>> as_frame(record_in_memory([[1.0, 2.0], [1.5, 1.0]])).to_numpy().tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [1.0, 1.0, 1.0]]
    """
    import pandas as pd

    times = trace.values["time"]
    rows, places = np.nonzero(~np.isnan(times))
    labels = np.array(trace.names, dtype=object) if trace.names else np.array(trace.workers)
    columns: dict[str, np.ndarray] = {"iteration": rows, "worker": labels[places]}
    repeats = 1
    if trace.chunks is not None:
        repeats = trace.chunks.shape[2]
        columns = {name: np.repeat(values, repeats) for name, values in columns.items()}
        columns["chunk"] = np.tile(np.arange(repeats), len(rows))
    for name in trace.columns:
        if name == "time" and trace.chunks is not None:
            columns["time"] = trace.chunks[rows, places].ravel()
        elif name in trace.values:
            columns[name] = np.repeat(trace.values[name][rows, places], repeats)
    return pd.DataFrame(columns).dropna(axis=1, how="all")


def write_clean(trace: TraceFile, output: Path) -> list[Path]:
    """Write a trace as a new CSV file, and what its times mean into ``index.json`` beside it where that is not usual.

    Raises
    ------
    UserError
        For a file that is there already, and an ``index.json`` that is no index of traces.
    """
    require(not output.exists(), f"{output} is there already; name a new file")
    entry = _unusual(trace.flags)
    index = output.parent / _INDEX
    entries: dict[str, Any] = {}
    if index.exists():
        entries = read_json(index)
        if not isinstance(entries, dict):
            raise UserError(f"{index} is no index of traces; write {output.name} into another folder")
    with written(output) as temporary:
        as_frame(trace).to_csv(temporary, index=False)
    if not entry and output.stem not in entries:
        return [output]
    entries[output.stem] = entry
    write_text(index, json.dumps(entries, indent=1) + "\n")
    return [output, index]


def _unusual(flags: Flags) -> dict[str, Any]:
    """Flags that differ from those of a file without an entry."""
    found = {}
    for one in fields(Flags):
        value = getattr(flags, one.name)
        if value != one.default:
            found[one.name] = value
    return found
