"""The way of a log: from any source to a table, to its columns, to what they say in arrays, to a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from gcexp.traces.record import TraceFile
from gcexp_adviser.logs.contents import content_of
from gcexp_adviser.logs.files import files_of
from gcexp_adviser.logs.how import How
from gcexp_adviser.logs.ledger import judged
from gcexp_adviser.logs.matching import matched, without_empty_compute
from gcexp_adviser.logs.rows import rows_of
from gcexp_adviser.logs.several import one_table
from gcexp_adviser.logs.table_files import table_of
from gcexp_adviser.logs.tables import Table, of_frame, table_in_memory
from gcexp_adviser.logs.uncounted import rows_that_count
from gcexp_adviser.profiler.kineto import read_profiler_folder


def record_of(source: object, how: How) -> TraceFile:
    """The record of a source.

    Parameters
    ----------
    source : Path, several paths, frame, mapping of columns, or array
    how : How
        What a person has said of it.

    Raises
    ------
    DataError, ParameterError
        The first thing that is not known or not right.
    """
    table = _table_of(source, how)
    table = rows_that_count(table, how)
    table = table.read_with(how.decimal)
    table = without_empty_compute(table, how.columns)
    found = matched(table, how.columns)
    log = rows_of(table, found, how)
    record = judged(log)
    return replace(record, decisions=(*table.decisions, *record.decisions))


def _table_of(source: object, how: How) -> Table:
    """The table of a source: of a file, of those of a folder, of several files, or of times in memory."""
    if not _names_files(source):
        return table_in_memory(source)
    files = files_of(source)
    if files.are_profiles:
        frame, told = read_profiler_folder([part.path for part in files.parts])
        table = of_frame(frame, f"trace {files.name}", told)
    else:
        tables = []
        for part in files.parts:
            content = content_of(part.path, is_text=bool(how.pattern))
            tables.append(table_of(content, how.pattern))
        table = one_table(tables, files.parts, how.columns)
    return replace(table, name=files.name, flags=files.flags, decisions=[*files.told, *table.decisions])


def _names_files(source: object) -> TypeGuard[Path | Sequence[str | Path]]:
    """Whether a source is a path or a list of paths."""
    if isinstance(source, Path):
        return True
    return (
        isinstance(source, Sequence) and bool(source) and all(isinstance(one, str | Path) for one in source)
    )
