"""Several files of one run as one table: each of a worker, or all with the same columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.logs.names import listed, names_of
from gcexp_adviser.logs.names_of_files import Part
from gcexp_adviser.logs.tables import MATRIX, Table

#: What ``columns=`` calls the name of each row's file, where workers of several files have the same names.
FILE = "file"


@dataclass(frozen=True)
class _Places:
    """Where the rows of several tables stand."""

    tables: tuple[Table, ...]
    starts: np.ndarray

    def __call__(self, number: int) -> str:
        which = int(np.searchsorted(self.starts, number, side="right")) - 1
        table = self.tables[which]
        return f"{table.place_of(number - int(self.starts[which]))} of {table.place.removeprefix('trace ')}"


def one_table(tables: list[Table], parts: list[Part], given: dict[str, str]) -> Table:
    """The rows of the tables in the parts of a log below each other.

    Where no column says the worker, each file is that of one, which is called after it; where none says the iteration,
    the rows of each file are numbered. The only column of files without a header has the times.

    Parameters
    ----------
    tables : list of Table
        That of each part.
    parts : list of Part
    given : dict
        The columns of roles, as a person named them.

    Raises
    ------
    DataError
        For tables of different columns.
    """
    if len(tables) == 1:
        return tables[0]
    decisions = []
    is_bare = "time" not in given and _are_bare(tables)
    if is_bare:
        tables = [_as_times(table) for table in tables]
        decisions.append("took the only column of each file, which has no header, for its times")
    columns, left_out = _common_columns(tables)
    if left_out:
        decisions.append(f"left out {listed(left_out)}, which not every file has")
    decisions += _told_of(tables)
    lengths = [len(table.frame) for table in tables]
    frame = pd.concat([table.frame[columns] for table in tables], ignore_index=True)
    names = names_of(columns)
    is_numbered = False
    other_than_runs = ""
    if FILE in given.get("worker", "").split("+") and FILE not in columns:
        parts = [replace(part, name=part.whole_name, run="") if part.whole_name else part for part in parts]
        frame[FILE] = np.repeat([part.name for part in parts], lengths)
    if "worker" in given or names.has("worker"):
        decisions.append(f"put the rows of {len(tables)} files together")
        of_workers = names.fitting("worker")[:1]
        if of_workers and parts[0].whole_name:
            other_than_runs = f"{FILE}+{of_workers[0]}"
            parts = _without_runs_of_other_workers(parts, tables, of_workers[0])
    else:
        other_than_runs = FILE if parts[0].whole_name else ""
        workers, told = _workers_of(parts)
        frame["worker"] = np.repeat(workers, lengths)
        decisions.append(told)
        is_numbered = "iteration" not in given and not names.has("iteration")
    if is_numbered:
        frame["iteration"] = _numbers_in_logs(parts, lengths)
        decisions.append("no column says the iteration: the rows of each file are numbered")
    runs = [part.run for part in parts]
    return Table(
        place=f"trace of {len(tables)} files",
        frame=frame,
        place_of=_Places(tuple(tables), np.cumsum([0, *lengths[:-1]])),
        decisions=decisions,
        named=tables[0].named,
        semicolons=tables[0].semicolons,
        files=np.repeat(np.arange(len(parts)), lengths),
        runs=np.repeat(runs, lengths) if len(set(runs)) > 1 else None,
        is_numbered=is_numbered,
        worker_in_place_of_runs=other_than_runs,
    )


def _without_runs_of_other_workers(parts: list[Part], tables: list[Table], column: str) -> list[Part]:
    """The parts without runs that were guessed, where a column says that each has workers of its own."""
    workers_of: dict[str, set[str]] = {}
    for part, table in zip(parts, tables, strict=True):
        workers_of.setdefault(part.run, set()).update(table.frame[column].astype(str))
    if len(set().union(*workers_of.values())) < sum(map(len, workers_of.values())):
        return parts
    return [replace(part, run="") for part in parts]


def _workers_of(parts: list[Part]) -> tuple[list[int | str], str]:
    """The worker of each file, where each is that of one, and what is told of that."""
    written = list(dict.fromkeys(part.name for part in parts))
    numbers, names = names_of(written).workers
    label_of: dict[str, Any] = dict(zip(written, names or numbers, strict=True))
    ordered = sorted(written, key=_by_numbers)
    told = f"took each of {len(written)} files for that of one worker: {ordered[0]} to {ordered[-1]}"
    return [label_of[part.name] for part in parts], told


def _numbers_in_logs(parts: list[Part], lengths: list[int]) -> np.ndarray:
    """The number of each row in the log that its file is a part of.

    >>> from pathlib import Path
    >>> rotated = [Part(Path("a.log.1"), "a"), Part(Path("a.log"), "a"), Part(Path("b.log"), "b")]
    >>> _numbers_in_logs(rotated, [2, 2, 3]).tolist()
    [0, 1, 2, 3, 0, 1, 2]
    """
    begins: dict[tuple[str, str], int] = {}
    numbers = []
    for part, length in zip(parts, lengths, strict=True):
        log = part.run, part.name
        begin = begins.get(log, 0)
        begins[log] = begin + length
        numbers.append(np.arange(begin, begin + length))
    return np.concatenate(numbers)


def _by_numbers(name: str) -> list[tuple[str, int]]:
    """What sorts names by the numbers in them: host-9 before host-10.

    >>> sorted(["host-10", "host-9", "host"], key=_by_numbers)
    ['host', 'host-9', 'host-10']
    """
    return [(words, int(number or 0)) for words, number in re.findall(r"(\D*)(\d*)", name)]


def _told_of(tables: list[Table]) -> list[str]:
    """What was decided of the files, once for all that tell the same; what was left out is told with its file."""
    files_of: dict[str, list[str]] = {}
    for table in tables:
        for decision in table.decisions:
            files_of.setdefault(decision, []).append(table.place.removeprefix("trace "))
    told = []
    for decision, files in files_of.items():
        if "left out" not in decision:
            told.append(decision)
        elif len(files) == len(tables):
            told.append(f"of each file: {decision}")
        else:
            told.append(f"{listed(files)}: {decision}")
    return told


def _are_bare(tables: list[Table]) -> bool:
    """Whether each table is one column of numbers without a name."""
    for table in tables:
        if table.named or len(table.columns) != 1 or not table[table.columns[0]].is_numeric:
            return False
    return True


def _as_times(table: Table) -> Table:
    """A table of one column, which is called the time."""
    decisions = [decision for decision in table.decisions if decision != MATRIX]
    return replace(table, frame=table.frame.set_axis(["time"], axis=1), named=True, decisions=decisions)


def _common_columns(tables: list[Table]) -> tuple[list[str], list[str]]:
    """The columns that all tables have, and others; raise `DataError` where the common ones have no time."""
    everything: dict[str, int] = {}  # how many tables have a column
    for table in tables:
        for column in table.columns:
            everything[column] = everything.get(column, 0) + 1
    common, others = [], []
    for column, count in everything.items():
        if count == len(tables):
            common.append(column)
        else:
            others.append(column)
    if not others:
        return common, []
    if not names_of(common).has("time", "end"):
        first = tables[0]
        other = next(table for table in tables if table.columns != first.columns)
        raise DataError(
            f"{other.place} has the columns {listed(other.columns)}, {first.place} has {listed(first.columns)}; files "
            "of one run have the same"
        )
    return common, others
