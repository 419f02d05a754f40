"""From a source to its table: a file, a folder, several files, or times in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gcexp.errors import DataError
from gcexp.traces.places import flags_of, located
from gcexp.traces.record import Flags
from gcexp_adviser.logs.files import logs_in
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.names import listed
from gcexp_adviser.logs.several import table_of_files
from gcexp_adviser.logs.table_files import table_of_file
from gcexp_adviser.logs.tables import Table, of_frame, table_in_memory
from gcexp_adviser.profiler.kineto import is_profiler_folder, read_profiler_folder
from gcexp_adviser.profiler.kineto_events import is_trace


def table_of(source: object, how: How) -> Table:
    """The table of a source.

    Parameters
    ----------
    source : Path, several paths, frame, mapping of columns, or array
    how : How
        What a person has said of it.

    Raises
    ------
    DataError
        For what holds no table.
    """
    if isinstance(source, Path):
        return _of_folder(source, how) if source.is_dir() else _of_file(source, how)
    if isinstance(source, Sequence) and source and all(isinstance(one, str | Path) for one in source):
        return _of_several(list(map(located, source)), how)
    return table_in_memory(source)


def _of_file(path: Path, how: How) -> Table:
    """The table of a file, of whose times an index beside it may say what they mean."""
    return replace(table_of_file(path, how.pattern), flags=flags_of(path))


def _of_folder(folder: Path, how: How) -> Table:
    """The table of a folder: of a profiler, or of logs of one worker each or with the same columns."""
    if is_profiler_folder(folder):
        return _of_profiler(folder, folder.name)
    files, others = logs_in(folder)
    table = _of_several(files, how, folder.name)
    if not others:
        return table
    told = f"left out {len(others)} other files of the folder: {listed(path.name for path in others)}"
    return replace(table, decisions=[told, *table.decisions])


def _of_several(paths: list[Path], how: How, name: str = "") -> Table:
    """The table of files: of a worker each, or with the same columns; `name` is that of the folder."""
    if len(paths) == 1:
        return table_of(paths[0], how)
    for path in paths:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name one folder, or files")
    if all(map(is_trace, paths)):
        return _of_profiler(paths, name or paths[0].parent.name or "profiler")
    return table_of_files(paths, how, name)


def _of_profiler(source: Path | list[Path], name: str) -> Table:
    """The table of profiler traces of PyTorch, whose times are seconds."""
    frame, told = read_profiler_folder(source)
    return replace(of_frame(frame, f"trace {name}", told), name=name, flags=Flags(unit="s"))
