"""Reading recorded times of workers: from a file, a folder, several files, a frame or an array to one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gcexp.errors import DataError, ParameterError, require
from gcexp.traces.clean import read_recorder_folder, when_in, without_gaps
from gcexp.traces.missing import Absent, resolved, without_first
from gcexp.traces.places import flags_of, located
from gcexp.traces.record import Flags, TraceFile, is_recorder_folder
from gcexp_adviser.logs.file_names import parts_of, stem, unrotated
from gcexp_adviser.logs.how import ANYHOW, How, how_of
from gcexp_adviser.logs.names import listed

_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".out", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz")
_MOST_FILES = 4096


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
    if isinstance(source, str | Path):
        path = located(source)
        if is_recorder_folder(path):
            trace = _of_recorder(path, how, warm_up)
        else:
            trace = _without_first(_of_path(path, how), warm_up)
        return replace(trace, source=str(source))
    if isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        paths = list(map(located, source))
        trace = _of_path(paths[0], how) if len(paths) == 1 else _of_files(paths, how)
        return _without_first(trace, warm_up)
    return _without_first(_of_memory(source, how), warm_up)


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


def _without_first(trace: TraceFile, number: int | None) -> TraceFile:
    """The trace without its first iterations, where some are to be left out."""
    if not number:
        return trace
    require(number > 0, f"warm-up is a number of iterations >= 0, got {number}")
    told = f"left out the first {number} iterations"
    return replace(without_first(trace, number), decisions=(*trace.decisions, told))


def _of_path(path: Path, how: How) -> TraceFile:
    """The record of a file or a folder."""
    if path.is_dir():
        return _of_folder(path, how, *when_in(path))
    stat = path.stat()
    return _read(path, flags_of(path), how, stat.st_mtime_ns, stat.st_size)


def _of_memory(source: Any, how: How) -> TraceFile:
    """The record of a frame, of what becomes one, or of an array."""
    from gcexp_adviser.logs.tables import OF_ARRAY, OF_FRAME, framed, of_frame, table_in_memory

    if hasattr(source, "to_pandas"):  # tables of Arrow and Polars
        source = source.to_pandas()
    if isinstance(source, Mapping):
        source = framed(source)
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _recorded(of_frame(source, OF_FRAME), OF_FRAME, Flags(), how)
    return _recorded(table_in_memory(source, OF_ARRAY), OF_ARRAY, Flags(), how)


def _recorded(table: Any, name: str, flags: Flags, how: How, alone: bool = False) -> TraceFile:
    """The record of a table."""
    from gcexp_adviser.logs.rows import record_of

    return record_of(replace(table, name=name, flags=flags), how)


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, how: How, *_when: int) -> TraceFile:
    return _recorded(_table(path, how), stem(path), flags, how)


def _table(path: Path, how: How) -> Any:
    """The table in a file."""
    from gcexp_adviser.logs.contents import content_of
    from gcexp_adviser.logs.table_files import table_of

    place = f"trace {path.name}"
    data, told = content_of(path, place)
    table = table_of(data, place, how.pattern)
    return replace(table, decisions=[*told, *table.decisions])


# --- several files ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _of_folder(folder: Path, how: How, *_when: tuple) -> TraceFile:
    """The record of the files in a folder: of a profiler, or logs of one worker each or with the same columns."""
    from gcexp_adviser.profiler.kineto import is_profiler_folder

    if is_profiler_folder(folder):
        return _of_profiler(folder, folder.name, how)
    files, others = _logs_in(folder)
    trace = _of_path(files[0], how) if len(files) == 1 else _of_files(files, how, folder.name)
    if not others:
        return trace
    told = f"left out {len(others)} other files of the folder: {listed(path.name for path in others)}"
    return replace(trace, decisions=(*trace.decisions, told))


def _logs_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of a folder that may be logs, and its others; those of folders in it where it has none itself."""
    files, others = _logs_among(sorted(folder.iterdir()))
    if not files:
        _refuse_without_times(others)
        inner, inner_others = _logs_among(sorted(folder.rglob("*")))
        names = sorted({path.name for path in inner})
        if any(part.run for part in parts_of(inner)[0]):
            names = names[:1]  # each folder holds the logs of a run
        if len(names) != 1:
            _refuse_without_times(inner_others)
        if len(names) > 1:
            raise DataError(
                f"the folders in {folder} hold logs of several names, {listed(names)}: name those of one, as gcexp "
                f"trace import {_pattern_of_one_name(folder, inner)}"
            )
        files = inner
    if not files:
        told = (
            f"folder {folder} holds no log: none of its {len(others)} files ends with {', '.join(_ENDINGS)}"
        )
        if others:
            told += f"; if they are logs, name them: gcexp trace import {folder}/*"
        raise DataError(told)
    if len(files) > _MOST_FILES:
        raise DataError(f"folder {folder} holds {len(files)} files; more than {_MOST_FILES} are not read")
    return files, others


def _pattern_of_one_name(folder: Path, paths: list[Path]) -> str:
    """A shell's pattern for the files in folders of a folder that are called as the largest one is."""
    largest = max(paths, key=lambda path: path.stat().st_size)
    depth = len(largest.parts)
    alike = [path.parts for path in paths if path.name == largest.name and len(path.parts) == depth]
    pattern = []
    for parts in zip(*alike, strict=True):
        pattern.append(parts[0] if len(set(parts)) == 1 else "*")
    return str(Path(*pattern))


def _refuse_without_times(paths: list[Path]) -> None:
    """Raise `DataError` for the first of some files that is known to hold no times of workers."""
    from gcexp_adviser.logs.without_times import refuse_without_times
    from gcexp_adviser.profiler.kineto_events import head_of

    for path in paths[:_MOST_FILES]:
        refuse_without_times(head_of(path), str(path))


def _logs_among(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Those of some paths that may be logs by their endings and first bytes, and other files."""
    from gcexp_adviser.logs.without_times import told_of
    from gcexp_adviser.profiler.kineto_events import head_of

    files, others = [], []
    for path in paths:
        if not path.is_file() or path.name.startswith(".") or path.name == "index.json":
            continue
        ending = Path(unrotated(path)[0]).suffix
        if ending in _ENDINGS and not told_of(head_of(path)):
            files.append(path)
        else:
            others.append(path)
    return files, others


def _of_recorder(folder: Path, how: How, warm_up: int | None) -> TraceFile:
    """The record of what `gcexp.distributed.Recorder` wrote on all ranks."""
    if how != ANYHOW:
        raise ParameterError(
            f"{folder} holds recordings of gcexp.distributed.Recorder, whose columns, units and numbers are known: "
            "leave out columns=, unit=, decimal= and pattern="
        )
    return read_recorder_folder(folder, warm_up)


def _of_profiler(source: Path | list[Path], name: str, how: How) -> TraceFile:
    """The record of profiler traces of PyTorch, whose times are seconds."""
    from gcexp_adviser.logs.tables import of_frame
    from gcexp_adviser.profiler.kineto import read_profiler_folder

    frame, told = read_profiler_folder(source)
    return _recorded(of_frame(frame, f"trace {name}", told), name, Flags(unit="s"), how)


def _of_files(paths: list[Path], how: How, name: str = "") -> TraceFile:
    """The record of several files: of a worker each, or with the same columns."""
    from gcexp_adviser.logs.several import one_table
    from gcexp_adviser.profiler.kineto_events import is_trace

    for path in paths:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name one folder, or files")
    if all(is_trace(path) for path in paths):
        return _of_profiler(paths, name or paths[0].parent.name or "profiler", how)
    parts, told = parts_of(paths)
    tables = [_table(part.path, how) for part in parts]
    table = one_table(tables, parts, dict(how.roles))
    table = replace(table, decisions=[*told, *table.decisions])
    return _recorded(table, name or stem(paths[0]), Flags(), how, alone=True)
