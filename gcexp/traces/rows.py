"""From a table to numbers: the times of workers in iterations, whether they stand in rows or in columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp.traces.matching import (
    Matched,
    canonical,
    is_canonical,
    looks_long,
    matched,
    of_workers,
    refuse_wide_roles,
)
from gcexp.traces.names import COLUMNS_EXAMPLE, NOT_USED, Name, column_given, listed, name_of, unit_named
from gcexp.traces.numbers import cells_of, floats, in_seconds, instants, is_empty, is_numeric
from gcexp.traces.record import LEAST, MOST, NEEDED
from gcexp.traces.separators import UNNAMED
from gcexp.traces.tables import Table

_DIGITS = 18  # of a whole number in a file
#: What may stand before the number of a worker; what else stands there belongs to its name.
_NUMBERED = {
    *("", "w", "worker", "worker_id", "rank", "rank_id", "r", "replica", "process", "proc", "p", "n"),
    *("t", "time", "times", "duration", "durations"),
}


@dataclass(frozen=True)
class Rows:
    """Times as lines: each of an iteration and a worker, and maybe of a micro-batch.

    Attributes
    ----------
    columns : tuple of str
        What the lines have, in the words of this project's format.
    iterations, workers : arrays of int (L,)
        Numbers; those of workers are places in `hosts` where they have names.
    chunks : array of int (L,), optional
    hosts : tuple of str
        Names of the workers, or empty.
    values : dict of arrays (L,)
        ``time`` and other numbers.
    unit : str
        ``s`` where it is known that times are seconds now, else empty.
    numbered : bool
        Whether the log numbers its iterations itself.
    """

    columns: tuple[str, ...]
    iterations: np.ndarray
    workers: np.ndarray
    values: dict[str, np.ndarray]
    chunks: np.ndarray | None = None
    hosts: tuple[str, ...] = ()
    unit: str = ""
    numbered: bool = True
    decisions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Matrix:
    """Times as a matrix (R, N), NaN where there is none, with the numbers of its iterations and workers."""

    iterations: np.ndarray
    workers: tuple[int, ...]
    hosts: tuple[str, ...]
    times: np.ndarray
    unit: str
    numbered: bool
    decisions: list[str]


def read_rows(table: Table, given: dict[str, str], unit: str = "", alone: bool = False) -> Rows | Matrix:
    """The times of a table.

    Parameters
    ----------
    table : Table
    given : dict
        What ``columns=`` says.
    unit : str
        That of the times, where a person has named it.
    alone : bool
        Whether the table is that of one worker, so that no column need say the worker.

    Raises
    ------
    DataError, ParameterError
        The first thing that is not known or not right.
    """
    unit = unit_named(unit) if unit else ""
    if not given and is_canonical(table):
        return _long(table, canonical(table), unit)
    if looks_long(table, given):
        return _long(table, matched(table, given, alone), unit)
    refuse_wide_roles(given)
    return _wide(table, given, unit)


# --- a row for each iteration and worker ------------------------------------------------------------------------------


def _long(table: Table, found: Matched, unit: str) -> Rows:
    """Times that stand in rows."""
    strict = not found.decisions  # this project's format
    decisions = list(found.decisions)
    iterations, numbered = _iterations(table, found.iteration, decisions)
    workers, hosts = _workers(table, found.worker)
    chunks = None
    if found.chunk:
        chunks = _whole_numbers(table, found.chunk, "chunk")
    times, known = _times(table, found, unit, decisions)
    values = {"time": times}
    if found.compute:
        values["compute"] = _compute(table, found.compute, unit, known, decisions)
    if found.load:
        values["load"], _, told = floats(
            table.frame[found.load], table.place, table.semicolons, table.decimal_commas
        )
        decisions += told
    others = [column for column in table.columns if column not in found.used]
    columns = [name for name in (*NEEDED[:2], "chunk", "time", "compute", "load")]
    columns = [name for name in columns if name in NEEDED or getattr(found, name)]
    if strict:
        columns = table.columns
        for column in others:
            values[column] = _numbers_or_nan(table.frame[column])
        values = {name: values[name] for name in columns if name in values}
    elif others:
        decisions.append(f"did not use {listed(others)}")
    return Rows(
        columns=tuple(columns),
        iterations=iterations,
        workers=workers,
        values=values,
        chunks=chunks,
        hosts=hosts,
        unit="s" if known else "",
        numbered=numbered,
        decisions=decisions,
    )


def _numbers_or_nan(column: pd.Series) -> np.ndarray:
    """The numbers of a further column, NaN where a cell is none."""
    cells = cells_of(column)
    if cells.dtype == object:
        return pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(float)
    return cells.astype(float)


def _iterations(table: Table, columns: tuple[str, ...], decisions: list[str]) -> tuple[np.ndarray, bool]:
    """Numbers of the rows' iterations, and whether the log has them."""
    if not columns:
        decisions.append("no column says the iteration: rows are numbered in their order")
        return np.arange(len(table.frame)), False
    if len(columns) == 1:
        return _whole_numbers(table, columns[0], "iteration"), True
    parts = [_whole_numbers(table, column, "iteration") for column in columns]
    _, numbers = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
    decisions.append(f"numbered the pairs of {' and '.join(columns)} in their order")
    return numbers.ravel(), False


def _whole_numbers(table: Table, column: str, role: str) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    codes, values = pd.factorize(cells_of(table.frame[column]), use_na_sentinel=False)
    numbers = np.zeros(len(values), np.int64)
    for place, value in enumerate(values):
        number = _whole(value, table.decimal_commas)
        if number is None:
            row = int(np.flatnonzero(codes == place)[0])
            raise DataError(
                f"{table.place}: {role} in {table.place_of(row)} is {quoted(value)}, wanted is a whole number >= 0"
                f"{_other_column(role)}"
            )
        numbers[place] = number
    return numbers[codes]


def _other_column(role: str) -> str:
    """What to type where a column is not what its name says."""
    return f"; where another column is the {role}: columns={role}:NAME" if role == "iteration" else ""


def _whole(value: object, decimal_commas: bool) -> int | None:
    """A whole number >= 0 of at most 18 digits in a cell, or None."""
    if isinstance(value, str):
        text = value.strip()
        if decimal_commas and re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", text):
            text = text.replace(".", "")
        text = text.removesuffix(".0")
        return int(text) if text.isdecimal() and len(text) <= _DIGITS else None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    if not 0 <= value < 10**_DIGITS or value != int(value):
        return None
    return int(value)


def _workers(table: Table, columns: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of the rows' workers, and the names that they are places of, where workers have names."""
    if len(columns) > 1:
        parts = [table.frame[column].astype(str).str.strip() for column in columns]
        joined = parts[0].str.cat(parts[1:], sep="/")
        codes, values = pd.factorize(joined.to_numpy(object))
    else:
        codes, values = pd.factorize(cells_of(table.frame[columns[0]]), use_na_sentinel=False)
    numbers = [_whole(value, table.decimal_commas) for value in values]
    named = [place for place, number in enumerate(numbers) if number is None]
    for place in named:
        value = values[place]
        if is_empty(value) or not isinstance(value, str):
            row = int(np.flatnonzero(codes == place)[0])
            raise DataError(
                f"{table.place}: worker in {table.place_of(row)} is {quoted(value)}, wanted is a whole number >= 0 or "
                "a name"
            )
    if not named:
        return np.array(numbers, np.int64)[codes], ()
    if len(named) < len(values):
        row = int(np.flatnonzero(codes == named[0])[0])
        raise DataError(
            f"{table.place}: worker in {table.place_of(row)} is {quoted(values[named[0]])}, wanted is a whole number "
            ">= 0, as in other rows"
        )
    stripped = [str(value).strip() for value in values]
    hosts = tuple(sorted(set(stripped), key=_by_number))
    place_of = {host: place for place, host in enumerate(hosts)}
    return np.array([place_of[host] for host in stripped])[codes], hosts


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sort key of host names: ``node2`` comes before ``node10``."""
    key = []
    for part in re.split(r"(\d+)", name):
        key.append((int(part), "") if part.isdecimal() else (-1, part))
    return key


def _times(table: Table, found: Matched, unit: str, decisions: list[str]) -> tuple[np.ndarray, str]:
    """Times of the rows, in seconds where their unit is known, and that unit."""
    strict = not found.decisions
    if not found.time:
        return _differences(table, found, unit, decisions)
    column = table.frame[found.time]
    times, of_cells, told = floats(column, table.place, table.semicolons, table.decimal_commas)
    decisions += told
    known = _known_unit(unit, of_cells, [name_of(found.time)], decisions, strict)
    if known and not of_cells:
        times = in_seconds(times, known)
    wrong = np.flatnonzero(~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(f"{table.place}: time in {table.place_of(row)} is {_wanted(column.iloc[row])}")
    return times, known


def _wanted(cell: object) -> str:
    """A cell that is no time, and what is wanted."""
    shown = quoted(cell.item() if isinstance(cell, np.generic) else cell)
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if 0 < value < np.inf:
        return f"{shown}, wanted is a number from {LEAST:g} to {MOST:g}"
    if is_empty(cell):
        return f"{shown}, wanted is a number > 0; where a worker has no time, leave its row out"
    return f"{shown}, wanted is a number > 0"


def _known_unit(given: str, of_cells: str, names: list[Name], decisions: list[str], strict: bool) -> str:
    """The unit of numbers: the one that a person named, else that of the cells or of the columns' names."""
    of_names = names[0].unit
    if of_cells and given:
        raise ParameterError(
            f"unit={given}: the numbers of {names[0].written} have units behind them already"
        )
    if of_cells:
        return of_cells
    if strict:
        of_names = ""
    if given:
        more = f", not {of_names} as the name {names[0].written} says" if of_names not in ("", given) else ""
        decisions.append(f"times are in {given}, as unit={given} says{more}{_made_seconds(given)}")
        return given
    if of_names:
        decisions.append(f"times are in {of_names} by the name {names[0].written}{_made_seconds(of_names)}")
    elif not strict:
        decisions.append(
            "no unit of the times is named: they stay as they are; where they are milliseconds: unit=ms"
        )
    return of_names


def _made_seconds(unit: str) -> str:
    return "" if unit == "s" else ", and were made seconds"


def _differences(table: Table, found: Matched, unit: str, decisions: list[str]) -> tuple[np.ndarray, str]:
    """Times between the starts and the ends of the rows."""
    starts, unit_of_starts = instants(table.frame[found.start], table.place)
    ends, unit_of_ends = instants(table.frame[found.end], table.place)
    names = [name_of(found.start), name_of(found.end)]
    if names[0].unit != names[1].unit:
        raise DataError(f"{table.place}: {found.start} and {found.end} have different units by their names")
    known = unit or names[0].unit
    if unit_of_starts != unit_of_ends and not known:
        told = f"{unit_of_starts or 'no unit'} and {unit_of_ends or 'no unit'}"
        raise DataError(
            f"{table.place}: {found.start} and {found.end} seem to have different units ({told}); name theirs, as in "
            "unit=ms"
        )
    if known:
        decisions.append(f"starts and ends are in {known}{_made_seconds(known)}")
    elif unit_of_starts:
        known = unit_of_starts
        dates = not is_numeric(table.frame[found.start])
        decisions.append(
            "starts and ends are dates" if dates else f"starts and ends are in {known} since 1970"
        )
    else:
        decisions.append("no unit of starts and ends is named: times stay in theirs; where it is ms: unit=ms")
    differences = np.asarray(ends - starts, float)
    times = in_seconds(differences, known) if known else differences
    wrong = np.flatnonzero(~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        row = int(wrong[0])
        cells = (table.frame[found.start].iloc[row], table.frame[found.end].iloc[row])
        raise DataError(
            f"{table.place}: {table.place_of(row)} starts at {quoted(str(cells[0]))} and ends at "
            f"{quoted(str(cells[1]))}, wanted is a later end"
        )
    return times, known


def _compute(table: Table, column: str, unit: str, known: str, decisions: list[str]) -> np.ndarray:
    """Times of computing alone, in the unit of the times."""
    values, of_cells, told = floats(table.frame[column], table.place, table.semicolons, table.decimal_commas)
    decisions += told
    if of_cells:
        return values
    of_name = name_of(column).unit
    if of_name and not known:
        raise DataError(
            f"{table.place}: {column} is in {of_name}, and the unit of the times is unknown; name it: unit=ms"
        )
    chosen = of_name or known
    return in_seconds(values, chosen) if chosen else values


# --- a column for each worker -----------------------------------------------------------------------------------------


def _wide(table: Table, given: dict[str, str], unit: str) -> Matrix:
    """Times that stand in columns, one for each worker."""
    decisions: list[str] = []
    in_memory = not table.named and not table.columns[0].startswith("column")
    columns, numbering = _columns_of_workers(table, given, in_memory, decisions)
    units = {name_of(column).unit for column in columns}
    if len(units) > 1:
        raise DataError(
            f"{table.place}: the columns of workers have different units by their names; make them the same"
        )
    parts = []
    of_cells = set()
    for column in columns:
        values, named, told = floats(table.frame[column], table.place, table.semicolons, table.decimal_commas)
        _refuse_text(table, column, values)
        of_cells.add(named)
        decisions += [sentence for sentence in told if sentence not in decisions]
        parts.append(values)
    if len(of_cells) > 1:
        raise DataError(
            f"{table.place}: some columns of workers have units behind their numbers, and others have not"
        )
    times = np.stack(parts, axis=1)
    known = _known_unit(unit, of_cells.pop(), [name_of(columns[0])], decisions, strict=in_memory)
    if known:
        times = in_seconds(times, known)
    workers, hosts = labels_of(columns, numbered=not table.named)
    keys = [_by_number(host) for host in hosts] or workers
    order = sorted(range(len(columns)), key=keys.__getitem__)
    times = times[:, order]
    if hosts:
        hosts = tuple(hosts[place] for place in order)
    else:
        workers = tuple(workers[place] for place in order)
    numbers = np.arange(len(times))
    if numbering:
        numbers = _whole_numbers(table, numbering, "iteration")
        values, counts = np.unique(numbers, return_counts=True)
        if counts.max() > 1:
            raise DataError(f"{table.place}: iteration {values[counts.argmax()]} stands twice")
        order = np.argsort(numbers)
        numbers, times = numbers[order], times[order]
    _check_times(table, times, hosts or tuple(map(str, workers)))
    return Matrix(numbers, workers, hosts, times, "s" if known else "", bool(numbering), decisions)


def _columns_of_workers(
    table: Table, given: dict[str, str], in_memory: bool, decisions: list[str]
) -> tuple[list[str], str]:
    """The columns of the workers, and the one of the iterations, which may be empty."""
    names = [name_of(column) for column in table.columns]
    numbering = ""
    if "iteration" in given:
        if given["iteration"] != NOT_USED:
            numbering = column_given(given["iteration"], table.columns, table.place)
    else:
        numberings = [name.written for name in names if name.fits("iteration")]
        if len(numberings) > 1:
            numberings = [name for name in numberings if table.frame[name].is_unique]
        if len(numberings) > 1:
            raise DataError(
                f"{table.place}: {' and '.join(numberings)} may each be the iteration; say which one, as in "
                f"columns=iteration:{numberings[0]}"
            )
        numbering = numberings[0] if numberings else ""
    rest = [name for name in names if name.written != numbering]
    if "workers" in given:
        pattern = given["workers"]
        found = [name.written for name in rest if fnmatchcase(name.written, pattern)]
        if not found:
            raise ParameterError(
                f"{table.place}: columns=workers:{pattern} fits no column; it has {listed(table.columns)}"
            )
    elif in_memory:
        found = [name.written for name in rest]
    else:
        found = _guessed_workers(table, rest, decisions)
    others = [name.written for name in rest if name.written not in found]
    if not in_memory:
        shown = found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
        decisions.append(
            f"took each of the {len(found)} columns {shown} for a worker, and each row for an iteration"
        )
    if others:
        decisions.append(f"did not use {listed(others)}")
    if numbering:
        decisions.append(f"iteration = {numbering}")
    return found, numbering


def _guessed_workers(table: Table, rest: list[Name], decisions: list[str]) -> list[str]:
    """Columns that are surely those of workers; raise `DataError` where that is not sure."""
    numeric = [name for name in rest if is_numeric(table.frame[name.written]) and not name.is_stamp]
    numeric = [name for name in numeric if not _is_row_number(table, name)]
    place = table.place
    if not table.named:
        if len(numeric) >= 3 and _may_be_long(table):
            raise DataError(
                f"{place}: has no header, so its {len(numeric)} columns may be iteration, worker and time, or one for "
                "each worker; say columns=iteration:column1,worker:column2,time:column3 or columns=workers:*"
            )
        return [name.written for name in numeric if name in rest] if numeric else _no_workers(table)
    group = of_workers(numeric)
    if group:
        return group
    return _no_workers(table)


def _no_workers(table: Table) -> list[str]:
    shown = listed(table.columns)
    raise DataError(
        f"{table.place}: has no column 'iteration', 'worker' and 'time' by these or similar names, nor a numbered "
        f"column for each worker; it has {shown}: say which are which, as in {COLUMNS_EXAMPLE}, or columns=workers:* "
        "where each column is a worker"
    )


def _is_row_number(table: Table, name: Name) -> bool:
    """Whether a column numbers the rows without a name of its own, as the index that pandas writes."""
    return name.written.startswith(UNNAMED)


def _may_be_long(table: Table) -> bool:
    """Whether the first two columns may number iterations and workers."""
    try:
        first = _whole_numbers(table, table.columns[0], "iteration")
        second = _whole_numbers(table, table.columns[1], "worker")
    except DataError:
        return False
    pairs = np.unique(np.stack([first, second], axis=1), axis=0)
    return len(pairs) == len(first) and len(np.unique(first)) < len(first)


def _refuse_text(table: Table, column: str, values: np.ndarray) -> None:
    """Raise `DataError` for the first cell that is neither a number nor empty."""
    unread = np.flatnonzero(np.isnan(values))
    cells = table.frame[column]
    for row in unread:
        if not is_empty(cells.iloc[row]):
            raise DataError(
                f"{table.place}: {column} in {table.place_of(int(row))} is {quoted(cells.iloc[row])}, wanted is a "
                "number > 0, or nothing where a worker has no time"
            )


def _check_times(table: Table, times: np.ndarray, labels: tuple[str, ...]) -> None:
    """Raise `DataError` for a time that is none, and a worker without any."""
    missing = np.isnan(times)
    empty = np.flatnonzero(missing.all(0))
    if len(empty):
        raise DataError(f"{table.place}: worker {labels[empty[0]]} has no time in any iteration")
    wrong = np.argwhere(~missing & ~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        row, worker = wrong[0]
        raise DataError(
            f"{table.place}: the time of worker {labels[worker]} in row {row} is {times[row, worker]:g}, wanted is a "
            f"number from {LEAST:g} to {MOST:g}"
        )


def labels_of(columns: list[str], numbered: bool = False) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers of the workers that columns or files are named after, and no names; or places, and their names.

    Examples
    --------
    >>> labels_of(["rank_1", "rank_0"]), labels_of(["node7", "node8"])
    (((1, 0), ()), ((0, 1), ('node7', 'node8')))
    """
    if numbered:
        return tuple(range(len(columns))), ()
    numbers = []
    for column in columns:
        base = name_of(column).base
        found = re.fullmatch(r"(.*?)_?(\d{1,18})", base)
        if not found or found[1] not in _NUMBERED:
            return tuple(range(len(columns))), tuple(column.strip() for column in columns)
        numbers.append(int(found[2]))
    if len(set(numbers)) < len(numbers):
        return tuple(range(len(columns))), tuple(column.strip() for column in columns)
    return tuple(numbers), ()
