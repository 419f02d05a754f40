"""Reading recorded times of workers: from a file, a folder, several files, a frame or an array to one record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from gcexp.errors import DataError, unknown
from gcexp.files import bundled, used
from gcexp.traces.missing import Absent, resolved
from gcexp.traces.names import roles_given
from gcexp.traces.record import Flags, TraceFile

Columns: TypeAlias = str | Mapping[str, str] | None
_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz")
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
) -> TraceFile:
    """Read a trace and check that it is complete.

    The format of this project is a CSV file with the columns ``iteration`` (0, 1, ...), ``worker`` and ``time`` (> 0),
    and maybe more; with ``chunk`` (0, 1, ...) a row is one micro-batch. Workers are numbers or names of hosts. In a
    persistent trace every iteration has the same workers; else iteration t has workers 0, ..., n_t - 1.

    Logs of other forms are read as well, recognised by their content: text with any separator, long (a row for each
    iteration and worker) or wide (a column for each worker), compressed or not; lines and lists of JSON; Parquet;
    arrays of numpy's; a folder of files, one for each worker; recordings of `gcexp.distributed.Recorder`; a folder of
    PyTorch profiler traces (`gcexp.traces.kineto`). ``decisions`` of the record says what was taken for what. What may
    mean two things is refused.

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
        ``end`` in place of ``time``, ``compute``, ``load`` and ``chunk``. A key may be made of several columns:
        ``iteration:epoch+batch``. Of a wide table ``workers:PATTERN``, as ``workers:rank*``.
    unit : {"s", "ms", "us", "ns", "min", "h"}, optional
        That of the times, where their name does not say it. Times of a known unit become seconds.

    Raises
    ------
    DataError
        The first fault, in a sentence with its place.
    """
    return trace_of(file, absent, timeout, columns=columns, unit=unit)


def trace_of(
    source: object,
    absent: Absent = "refuse",
    timeout: float | None = None,
    *,
    columns: Columns = None,
    unit: str | None = None,
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
    trace = trace_with_gaps(source, columns=columns, unit=unit)
    if absent == "refuse" and trace.gap and trace is not source:
        raise DataError(
            f"trace {trace.name}: {trace.gap}; absent=late or absent=skip takes the others for consecutive ones"
        )
    return resolved(trace, absent, timeout)


def trace_with_gaps(source: object, *, columns: Columns = None, unit: str | None = None) -> TraceFile:
    """A trace as `trace_of` takes it, with its missing rows: ``missing`` says which, and their times are NaN."""
    if isinstance(source, TraceFile):
        return source
    given = tuple(roles_given(columns).items())
    if isinstance(source, str | Path):
        path = located(source)
        if path.is_dir():
            return _of_folder(path, given, unit or "", *_when_in(path))
        stat = path.stat()
        return _read(path, _flags(path), given, unit or "", stat.st_mtime_ns, stat.st_size)
    if isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        if len(source) == 1:
            return trace_with_gaps(source[0], columns=columns, unit=unit)
        return _of_files([located(one) for one in source], given, unit or "")
    return _of_memory(source, given, unit or "")


def _of_memory(source: Any, given: tuple, unit: str) -> TraceFile:
    """The record of a frame, of what becomes one, or of an array."""
    from gcexp.traces.tables import framed, of_frame, table_in_memory

    if hasattr(source, "to_pandas"):  # tables of Arrow and Polars
        source = source.to_pandas()
    if isinstance(source, Mapping):
        source = framed(source)
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _recorded(of_frame(source, "frame"), "frame", Flags(), given, unit)
    return _recorded(table_in_memory(source, "array"), "array", Flags(), given, unit)


def _recorded(table: Any, name: str, flags: Flags, given: tuple, unit: str, alone: bool = False) -> TraceFile:
    """The record of a table."""
    from gcexp.traces.arranging import arranged
    from gcexp.traces.rows import read_rows

    rows = read_rows(table, dict(given), unit, alone)
    trace = arranged(rows, name, table.place, flags)
    return replace(trace, decisions=(*table.decisions, *trace.decisions))


@lru_cache(maxsize=8)
def _read(path: Path, flags: Flags, given: tuple, unit: str, *_when: int) -> TraceFile:
    return _recorded(_table(path), _stem(path), flags, given, unit)


def _table(path: Path) -> Any:
    """The table in a file."""
    from gcexp.traces.contents import content_of
    from gcexp.traces.tables import table_of

    place = f"trace {path.name}"
    data, told = content_of(path, place)
    table = table_of(data, place)
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
def _of_folder(folder: Path, given: tuple, unit: str, *_when: tuple) -> TraceFile:
    """The record of the files in a folder: of a profiler, one log for each worker, or logs with the same columns."""
    from gcexp.traces.kineto import is_profiler_folder

    if is_profiler_folder(folder):
        return _of_profiler(folder, folder.name, given, unit)
    files = []
    for path in sorted(folder.iterdir()):
        ending = Path(path.name.removesuffix(path.suffix)).suffix if path.suffix in _PACKED else path.suffix
        if (
            path.is_file()
            and ending in _ENDINGS
            and path.name != "index.json"
            and not path.name.startswith(".")
        ):
            files.append(path)
    if not files:
        raise DataError(f"folder {folder} holds no log: none of its files ends with {', '.join(_ENDINGS)}")
    if len(files) > _MOST_FILES:
        raise DataError(f"folder {folder} holds {len(files)} files; more than {_MOST_FILES} are not read")
    if len(files) == 1:
        return trace_with_gaps(files[0], columns=dict(given), unit=unit)
    return _of_files(files, given, unit, folder.name)


def _of_profiler(source: Path | list[Path], name: str, given: tuple, unit: str) -> TraceFile:
    """The record of profiler traces of PyTorch, whose times are seconds."""
    from gcexp.traces.kineto import read_profiler_folder
    from gcexp.traces.tables import of_frame

    frame, told = read_profiler_folder(source)
    return _recorded(of_frame(frame, f"trace {name}", told), name, Flags(unit="s"), given, unit)


def _of_files(paths: list[Path], given: tuple, unit: str, name: str = "") -> TraceFile:
    """The record of several files: of a worker each, or with the same columns."""
    from gcexp.traces.kineto_events import is_trace
    from gcexp.traces.several import one_table

    for path in paths:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name one folder, or files")
    if all(is_trace(path) for path in paths):
        return _of_profiler(paths, name or paths[0].parent.name or "profiler", given, unit)
    tables = [_table(path) for path in paths]
    table = one_table(tables, [_stem(path) for path in paths], dict(given))
    return _recorded(table, name or _stem(paths[0]), Flags(), given, unit, alone=True)


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
