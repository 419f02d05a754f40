"""The clean record of recorded times: the one file of times that the library reads, and its writer.

It is a CSV file with the columns ``iteration`` (0, 1, ...), ``worker`` and ``time`` (> 0), and maybe ``compute``,
``load``, ``chunk`` and others of numbers; with ``chunk`` (0, 1, ...) a row is one micro-batch. Workers are numbers or
names of hosts. In a persistent trace every iteration has the same workers, and a worker without a row is missing; else
iteration t has workers 0, ..., n_t - 1. ``gcexp trace import`` makes it of any log.
"""

from __future__ import annotations

import csv
import json
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import DataError, UserError, require
from gcexp.files import read_json, write_text, written
from gcexp.schema import quoted
from gcexp.traces.assembling import record_of_matrix
from gcexp.traces.frames import record_of_frame
from gcexp.traces.missing import Absent, resolved
from gcexp.traces.places import Place, fault_in, header_of, place_of
from gcexp.traces.record import NEEDED, Flags, TraceFile

if TYPE_CHECKING:
    import pandas as pd

#: The names of records in memory, with which sentences about them begin.
OF_ARRAY, OF_FRAME = "array", "frame"
_INDEX = "index.json"


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
    trace = replace(_record_at(place_of(file)), source=str(file), replayable=True)
    return without_gaps(trace, absent, timeout)


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
        _require_columns(list(map(str, times.columns)), OF_FRAME)
        return record_of_frame(times.reset_index(drop=True), OF_FRAME, OF_FRAME, Flags(), "row {}".format)
    try:
        matrix = np.asarray(times, dtype=float)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.size:
        raise DataError(
            f"{OF_ARRAY}: wanted are times of shape (iterations, workers), or a frame with the columns "
            f"{', '.join(NEEDED)}, got {quoted(times)}"
        )
    return record_of_matrix(matrix, OF_ARRAY, OF_ARRAY, Flags())


# --- files ------------------------------------------------------------------------------------------------------------


def _record_at(place: Place) -> TraceFile:
    """The record in a file or in a folder of recordings."""
    path = place.path
    if place.has_recordings:
        from gcexp.traces.recordings import record_of_recordings  # with pandas, slow to import

        return record_of_recordings(path, place.written)
    if path.is_dir():
        raise DataError(
            f"{path} is a folder without recordings of gcexp.distributed.Recorder; {_how_to_import(path)}"
        )
    return _read(place, place.written)


@lru_cache(maxsize=8)
def _read(place: Place, _written: tuple) -> TraceFile:
    path = place.path
    name = f"trace {path.name}"
    try:
        return record_of_frame(_frame_of(path), path.stem, name, place.flags, lambda row: f"line {row + 2}")
    except DataError as error:
        raise DataError(f"{error}; {_how_to_import(path)}") from None


def _require_columns(columns: list[str], place: str) -> None:
    """Raise `DataError` unless the columns of a clean record are there, and each column once."""
    fault = fault_in(columns)
    if fault:
        raise DataError(f"{place} {fault}")


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
        _require_columns(header_of(path), f"trace {path.name}")
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
