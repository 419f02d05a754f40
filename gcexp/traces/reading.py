"""Reading recorded times of workers: from a file, a folder, several files, a frame or an array to one record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gcexp.errors import DataError, ParameterError, require, unknown
from gcexp.files import bundled, used
from gcexp.traces.how import Columns, How, how_given
from gcexp.traces.missing import Absent, resolved, without_first
from gcexp.traces.names import listed
from gcexp.traces.record import Flags, TraceFile, is_recorder_folder

_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".out", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz")
_PACKED = (".gz", ".zip", ".xz", ".bz2")
_MOST_FILES = 4096


def located(file: str | Path) -> Path:
    """The path of a trace: a file, a folder of files, or the name of a bundled trace; no pipe or device.

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
    with suppress(OSError):
        if str(file) and Path(file).is_dir():
            used(file)
            return Path(file)
    names = [path.stem for path in bundled("data/traces").glob("*.csv")]
    raise DataError(
        f"there is no trace {file}, neither from this folder nor from the project's; {unknown('trace', file, names)}"
    )


def read_trace(
    file: str | Path | TraceFile,
    absent: Absent = "refuse",
    timeout: float | None = None,
    *,
    columns: Columns = None,
    unit: str | None = None,
    decimal: str | None = None,
    pattern: str | None = None,
) -> TraceFile:
    r"""Read a trace and check that it is complete.

    The format of this project is a CSV file with the columns ``iteration`` (0, 1, ...), ``worker`` and ``time`` (> 0),
    and maybe more; with ``chunk`` (0, 1, ...) a row is one micro-batch. Workers are numbers or names of hosts. In a
    persistent trace every iteration has the same workers; else iteration t has workers 0, ..., n_t - 1.

    Logs of other forms are read as well, recognised by their content: text with any separator, long (a row for each
    iteration and worker) or wide (a column for each worker), compressed or not; lines of ``name=value``, or those that
    a `pattern` reads; lines and lists of JSON; Parquet; arrays of numpy's; a folder of files, one for each worker;
    recordings of `gcexp.distributed.Recorder`; a folder of PyTorch profiler traces (`gcexp.traces.kineto`).
    ``decisions`` of the record says what was taken for what. What may mean two things is refused.

    Parameters
    ----------
    file : path or TraceFile
        What has been read already is not read again.
    absent : {"refuse", "late", "skip"}
        What happens where workers are missing: a `DataError`, or their rows are filled as late ones
        (`gcexp.traces.missing.as_late`), or these iterations are left out and counted.
    timeout : float, optional
        The time of missing rows that are late, in the unit of the record.
    columns : str or mapping, optional
        What the columns of a long table are, as ``iteration:step,worker:host,time:ms_per_step``; also ``start`` and
        ``end`` in place of ``time``, ``compute``, ``load`` and ``chunk``. A key may be made of several columns,
        ``iteration:epoch+batch``, and a time be the sum of several, ``time:forward+backward``. With an ``end`` and no
        start a time begins with the end of the worker's previous row. ``iteration:none`` numbers the rows of each
        worker. Of a wide table ``workers:PATTERN``, as ``workers:rank*``.
    unit : {"s", "ms", "us", "ns", "min", "h"}, optional
        That of the times, where their name does not say it. Times of a known unit become seconds.
    decimal : {",", "."}, optional
        The decimal sign of numbers, where that is not beyond doubt; the other sign divides thousands. The words
        ``comma`` and ``point`` mean the same.
    pattern : str, optional
        A regular expression that is searched in each line of a text; its named groups are the columns, as in
        ``step (?P<iteration>\d+) of rank (?P<worker>\d+) took (?P<time_ms>[\d.]+)``. Other lines are left out.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.
    """
    return trace_of(file, absent, timeout, columns=columns, unit=unit, decimal=decimal, pattern=pattern)


def trace_of(
    source: object,
    absent: Absent = "refuse",
    timeout: float | None = None,
    *,
    columns: Columns = None,
    unit: str | None = None,
    decimal: str | None = None,
    pattern: str | None = None,
) -> TraceFile:
    """A trace from a path, a bundled trace's name, several paths, a frame, or an array (iterations, workers).

    What a file may be, and the parameters, are those of `read_trace`; `trace_with_gaps` leaves missing rows.

    Examples
    --------
    >>> trace_of([[1.0, 2.0], [1.5, 1.0]]).values["time"].shape, trace_of("pai-job4").name
    ((2, 2), 'pai-job4')
    >>> import pandas as pd
    >>> log = pd.DataFrame(
    ...     {"Step": [1, 1, 2, 2], "Host": ["a", "b"] * 2, "Duration (ms)": [100, 250, 120, 90]}
    ... )
    >>> trace_of(log).values["time"].tolist(), trace_of(log).labels
    ([[0.1, 0.25], [0.12, 0.09]], ('a', 'b'))
    """
    trace = trace_with_gaps(source, columns=columns, unit=unit, decimal=decimal, pattern=pattern)
    if absent == "refuse" and trace.gap and trace is not source:
        raise DataError(
            f"trace {trace.name}: {trace.gap}; absent=late or absent=skip takes the others for consecutive ones"
        )
    return resolved(trace, absent, timeout)


def trace_with_gaps(
    source: object,
    *,
    columns: Columns = None,
    unit: str | None = None,
    decimal: str | None = None,
    pattern: str | None = None,
    warm_up: int | None = None,
) -> TraceFile:
    """A trace as `trace_of` takes it, with its missing rows: ``missing`` says which, and their times are NaN.

    Parameters
    ----------
    source, columns, unit, decimal, pattern
        See `trace_of`.
    warm_up : int, optional
        First iterations that are left out; by default none, of recordings of `gcexp.distributed.Recorder` one.
    """
    if isinstance(source, TraceFile):
        return source
    how = how_given(columns, unit, decimal, pattern)
    if isinstance(source, str | Path):
        path = located(source)
        if is_recorder_folder(path):
            return _of_recorder(path, how, warm_up, *_when_in(path))
        return _without_first(_of_path(path, how), warm_up)
    if isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        paths = list(map(located, source))
        trace = _of_path(paths[0], how) if len(paths) == 1 else _of_files(paths, how)
        return _without_first(trace, warm_up)
    return _without_first(_of_memory(source, how), warm_up)


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
        return _of_folder(path, how, *_when_in(path))
    stat = path.stat()
    return _read(path, _flags(path), how, stat.st_mtime_ns, stat.st_size)


def _of_memory(source: Any, how: How) -> TraceFile:
    """The record of a frame, of what becomes one, or of an array."""
    from gcexp.traces.tables import OF_ARRAY, OF_FRAME, framed, of_frame, table_in_memory

    if hasattr(source, "to_pandas"):  # tables of Arrow and Polars
        source = source.to_pandas()
    if isinstance(source, Mapping):
        source = framed(source)
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _recorded(of_frame(source, OF_FRAME), OF_FRAME, Flags(), how)
    return _recorded(table_in_memory(source, OF_ARRAY), OF_ARRAY, Flags(), how)


def _recorded(table: Any, name: str, flags: Flags, how: How, alone: bool = False) -> TraceFile:
    """The record of a table."""
    from gcexp.traces.arranging import arranged
    from gcexp.traces.rows import read_rows

    trace = arranged(read_rows(table, how, alone), table, name, flags, how.unit)
    return replace(trace, decisions=(*table.decisions, *trace.decisions))


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, how: How, *_when: int) -> TraceFile:
    return _recorded(_table(path, how), _stem(path), flags, how)


def _table(path: Path, how: How) -> Any:
    """The table in a file."""
    from gcexp.traces.contents import content_of
    from gcexp.traces.table_files import table_of

    place = f"trace {path.name}"
    data, told = content_of(path, place)
    table = table_of(data, place, how.pattern)
    return replace(table, decisions=[*told, *table.decisions])


def _stem(path: Path) -> str:
    """A file's name without what says its form: ``times`` of ``times.csv.gz``."""
    name = path.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return Path(name).stem or path.stem


# --- several files ----------------------------------------------------------------------------------------------------


def _when_in(folder: Path) -> list[tuple]:
    """When the files in a folder were written, and how large they are."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stat = path.stat()
            found.append((str(path), stat.st_mtime_ns, stat.st_size))
    return found


@lru_cache(maxsize=4)
def _of_folder(folder: Path, how: How, *_when: tuple) -> TraceFile:
    """The record of the files in a folder: of a profiler, or logs of one worker each or with the same columns."""
    from gcexp.traces.kineto import is_profiler_folder

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
        inner, _ = _logs_among(sorted(folder.rglob("*")))
        names = sorted({path.name for path in inner})
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


def _logs_among(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Those of some paths that may be logs by their endings, and other files."""
    files, others = [], []
    for path in paths:
        if not path.is_file() or path.name.startswith(".") or path.name == "index.json":
            continue
        ending = path.suffix
        if ending in _PACKED:
            ending = Path(path.stem).suffix
        if ending in _ENDINGS:
            files.append(path)
        else:
            others.append(path)
    return files, others


@lru_cache(maxsize=4)
def _of_recorder(folder: Path, how: How, warm_up: int | None, *_when: tuple) -> TraceFile:
    """The record of what `gcexp.distributed.Recorder` wrote on all ranks."""
    from gcexp.traces.recordings import WARM_UP, joined
    from gcexp.traces.tables import of_frame

    if how != How():
        raise ParameterError(
            f"{folder} holds recordings of gcexp.distributed.Recorder, whose columns, units and numbers are known: "
            "leave out columns=, unit=, decimal= and pattern="
        )
    first = WARM_UP
    if warm_up is not None:
        first = warm_up
    require(first >= 0, f"warm-up is a number of iterations >= 0, got {first}")
    table, told = joined(folder, first)
    return _recorded(of_frame(table, f"trace {folder.name}", told), folder.name, Flags(unit="s"), how)


def _of_profiler(source: Path | list[Path], name: str, how: How) -> TraceFile:
    """The record of profiler traces of PyTorch, whose times are seconds."""
    from gcexp.traces.kineto import read_profiler_folder
    from gcexp.traces.tables import of_frame

    frame, told = read_profiler_folder(source)
    return _recorded(of_frame(frame, f"trace {name}", told), name, Flags(unit="s"), how)


def _of_files(paths: list[Path], how: How, name: str = "") -> TraceFile:
    """The record of several files: of a worker each, or with the same columns."""
    from gcexp.traces.kineto_events import is_trace
    from gcexp.traces.several import one_table

    for path in paths:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name one folder, or files")
    if all(is_trace(path) for path in paths):
        return _of_profiler(paths, name or paths[0].parent.name or "profiler", how)
    tables = [_table(path, how) for path in paths]
    table = one_table(tables, _names_of(paths), dict(how.roles))
    return _recorded(table, name or _stem(paths[0]), Flags(), how, alone=True)


def _names_of(paths: list[Path]) -> list[str]:
    """What files are called, so that no two are called alike: ``rank0`` of ``logs/rank0/metrics.csv``.

    >>> (
    ...     _names_of([Path("a/rank0/log.csv"), Path("a/rank1/log.csv")]),
    ...     _names_of([Path("x.csv"), Path("y.csv.gz")]),
    ... )
    (['rank0', 'rank1'], ['x', 'y'])
    """
    names = list(map(_stem, paths))
    if len(set(names)) == len(names):
        return names
    folders = [path.parent.name for path in paths]
    if len(set(names)) == 1 and len(set(folders)) == len(folders):
        return folders
    return [str(path.with_suffix("")) for path in paths]


# --- flags ------------------------------------------------------------------------------------------------------------


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
