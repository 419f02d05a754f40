"""Reading recorded times of workers: from a file, a folder, several files, a frame or an array to one record."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gcexp.errors import require
from gcexp.traces.clean import without_gaps
from gcexp.traces.missing import Absent, resolved
from gcexp.traces.places import Place, place_of
from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.how import ANYHOW, How, how_of


def read(source: object, how: How = ANYHOW, warm_up: int | None = None) -> TraceFile:
    """The record of a log with its missing rows: ``missing`` says which, and their times are NaN.

    The clean record, a CSV file with the columns ``iteration``, ``worker`` and ``time`` (`gcexp.traces.clean`), is one
    form of a log. Others are recognised by their content: text with any separator, long (a row for each iteration and
    worker) or wide (a column for each worker), compressed or not; lines of ``name=value``, or those that a pattern
    reads; lines and lists of JSON; Parquet; arrays of numpy's; a folder of files, one for each worker; recordings of
    `gcexp.distributed.Recorder`; a folder of PyTorch profiler traces (`gcexp_adviser.profiler.kineto`). ``decisions``
    of the record says what was taken for what. What may mean two things is refused.

    Parameters
    ----------
    source : path, name of a bundled trace, several paths, frame, array (iterations, workers) or TraceFile
        A record that has been read already is given back.
    how : How
        What is said of the log, by `gcexp_adviser.logs.how.how_given`.
    warm_up : int, optional
        First iterations that are left out; by default none, of recordings of `gcexp.distributed.Recorder` one.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame(
    ...     {"Step": [1, 1, 2, 2], "Host": ["a", "b"] * 2, "Duration (ms)": [100, 250, 120, 90]}
    ... )
    >>> read(log).values["time"].tolist(), read(log).labels
    ([[0.1, 0.25], [0.12, 0.09]], ('a', 'b'))
    """
    if isinstance(source, TraceFile):
        return source
    if not isinstance(source, str | Path):
        return _without_first(_record_of(source, how), warm_up)
    place = place_of(source)
    if place.has_recordings:
        require(
            how == ANYHOW,
            f"{place.path} holds recordings of gcexp.distributed.Recorder, whose columns, units and numbers are known: "
            "leave out columns=, unit=, decimal= and pattern=",
        )
        from gcexp.traces.recordings import record_of_recordings  # with pandas, slow to import

        record = record_of_recordings(place.path, place.written, warm_up)
    else:
        record = _without_first(_record_at(place, place.written, how), warm_up)
    return replace(record, source=str(source), replayable=place.replayable)


def trace_of(
    source: object, absent: Absent = "refuse", timeout: float | None = None, **log: Any
) -> TraceFile:
    """The record of any log without gaps.

    Parameters
    ----------
    source : as in `read`
    absent : {"refuse", "late", "skip"}
        What happens where workers are missing: a `DataError`, or their rows are filled as late ones
        (`gcexp.traces.missing.as_late`), or these iterations are left out and counted.
    timeout : float, optional
        The time of missing rows that are late, in the unit of the record.
    **log
        What is said of the log: ``columns``, ``unit``, ``decimal``, ``pattern`` (`gcexp_adviser.logs.how.how_given`).

    Examples
    --------
    >>> trace_of([[1.0, 2.0], [1.5, 1.0]]).values["time"].shape, trace_of("pai-job4").name
    ((2, 2), 'pai-job4')
    """
    how = how_of(log, trace_of)
    if isinstance(source, TraceFile):
        return resolved(source, absent, timeout)
    return without_gaps(read(source, how), absent, timeout)


@lru_cache(maxsize=8)
def _record_at(place: Place, _written: tuple, how: How) -> TraceFile:
    """The record of a file or a folder, which is not read again as long as nothing of it is written."""
    return _record_of(place.path, how)


def _record_of(source: object, how: How) -> TraceFile:
    from gcexp_adviser.logs.record import record_of  # with pandas, which takes a quarter of a second

    return record_of(source, how)


def _without_first(record: TraceFile, number: int | None) -> TraceFile:
    """The record without its first iterations, where some are to be left out and others remain."""
    if not number:
        return record
    require(number > 0, f"warm-up is a number of iterations >= 0, got {number}")
    rows = len(record.values["time"])
    require(number < rows, f"{number} first iterations cannot be left out: {record.name} has {rows}")
    missing = record.missing
    if missing is not None:
        missing = missing[number:] if missing[number:].any() else None
    return replace(
        record,
        values={name: matrix[number:] for name, matrix in record.values.items()},
        chunks=None if record.chunks is None else record.chunks[number:],
        missing=missing,
        decisions=(*record.decisions, f"left out the first {number} iterations"),
    )
