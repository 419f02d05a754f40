"""From a table to numbers: the times of workers in iterations, whether they stand in rows or in columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp.traces.how import How
from gcexp.traces.matching import (
    Matched,
    canonical,
    is_canonical,
    looks_long,
    matched,
    numbered,
    of_workers,
    refuse_wide_roles,
    typed,
)
from gcexp.traces.names import COLUMNS_EXAMPLE, NOT_USED, SYNONYMS, Name, column_given, listed, name_of
from gcexp.traces.numbers import Writing, cells_of, floats, in_seconds, instants, is_empty, is_numeric
from gcexp.traces.record import LEAST, MOST, NEEDED
from gcexp.traces.separators import UNNAMED
from gcexp.traces.tables import Table
from gcexp.traces.twice import StandsTwice

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
    values : dict of arrays (L,)
        ``time`` and other numbers.
    found : Matched
        The columns of the table that they come from.
    chunks : array of int (L,), optional
    hosts : tuple of str
        Names of the workers, or empty.
    unit : str
        ``s`` where it is known that times are seconds now, else empty.
    """

    columns: tuple[str, ...]
    iterations: np.ndarray
    workers: np.ndarray
    values: dict[str, np.ndarray]
    found: Matched
    chunks: np.ndarray | None = None
    hosts: tuple[str, ...] = ()
    unit: str = ""
    decisions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Matrix:
    """Times as a matrix (R, N), NaN where there is none, with the numbers of its iterations and workers."""

    iterations: np.ndarray
    workers: tuple[int, ...]
    hosts: tuple[str, ...]
    times: np.ndarray
    unit: str
    decisions: list[str]


def read_rows(table: Table, how: How, alone: bool = False) -> Rows | Matrix:
    """The times of a table.

    Parameters
    ----------
    table : Table
    how : How
        What a person has said of it.
    alone : bool
        Whether the table is that of one worker, so that no column need say the worker.

    Raises
    ------
    DataError, ParameterError
        The first thing that is not known or not right.
    """
    given = dict(how.roles)
    writing = Writing(table.place, table.semicolons, table.decimal_commas, how.decimal)
    if not given and is_canonical(table):
        return _long(table, canonical(table), how.unit, writing)
    if looks_long(table, given):
        return _long(table, matched(table, given, alone), how.unit, writing)
    refuse_wide_roles(given)
    return _wide(table, given, how.unit, writing)


# --- a row for each iteration and worker ------------------------------------------------------------------------------


def _long(table: Table, found: Matched, unit: str, writing: Writing) -> Rows:
    """Times that stand in rows."""
    strict = not found.decisions  # this project's format
    decisions = list(found.decisions)
    workers, hosts = _workers(table, found.worker, writing)
    iterations = _iterations(table, found.iteration, workers, writing, decisions)
    chunks = _whole_numbers(table, found.chunk, "chunk", writing) if found.chunk else None
    if found.times:
        times, known = _durations(table, found, unit, writing, decisions)
    else:
        times, known = _differences(table, found, unit, writing, decisions, iterations, workers)
    values = {"time": times}
    if found.compute:
        values["compute"] = _compute(table, found.compute, unit, known, writing, decisions)
    if found.load:
        values["load"], _, told = floats(table.frame[found.load], writing)
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
    rows = Rows(
        columns=tuple(columns),
        iterations=iterations,
        workers=workers,
        values=values,
        found=found,
        chunks=chunks,
        hosts=hosts,
        unit="s" if known else "",
        decisions=decisions,
    )
    return _with_times(rows, table)


def _with_times(rows: Rows, table: Table) -> Rows:
    """The lines that have a time; a worker without one in an iteration is missing there."""
    there = ~np.isnan(rows.values["time"])
    if there.all():
        return rows
    if not there.any():
        raise DataError(f"{table.place}: no row has a time")
    decisions = list(rows.decisions)
    if rows.found.times:
        empty = int((~there).sum())
        decisions.append(f"{empty} {'row has' if empty == 1 else 'rows have'} no time: they count as missing")
    return replace(
        rows,
        iterations=rows.iterations[there],
        workers=rows.workers[there],
        values={name: numbers[there] for name, numbers in rows.values.items()},
        chunks=None if rows.chunks is None else rows.chunks[there],
        decisions=decisions,
    )


def _numbers_or_nan(column: pd.Series) -> np.ndarray:
    """The numbers of a further column, NaN where a cell is none."""
    cells = cells_of(column)
    if cells.dtype == object:
        return pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(float)
    return cells.astype(float)


def _iterations(
    table: Table, columns: tuple[str, ...], workers: np.ndarray, writing: Writing, decisions: list[str]
) -> np.ndarray:
    """Numbers of the rows' iterations."""
    if not columns:
        decisions.append("no column says the iteration: the rows of each worker are numbered in their order")
        return pd.Series(workers).groupby(workers).cumcount().to_numpy()
    if len(columns) == 1:
        return _whole_numbers(table, columns[0], "iteration", writing)
    parts = [_whole_numbers(table, column, "iteration", writing) for column in columns]
    _, numbers = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
    decisions.append(f"numbered the pairs of {' and '.join(columns)} in their order")
    return numbers.ravel()


def _whole_numbers(table: Table, column: str, role: str, writing: Writing) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    codes, values = pd.factorize(cells_of(table.frame[column]), use_na_sentinel=False)
    numbers = np.zeros(len(values), np.int64)
    for place, value in enumerate(values):
        number = _whole(value, writing)
        if number is None and role == "iteration":
            number = _numbered_iteration(value)
        if number is None:
            row = int(np.flatnonzero(codes == place)[0])
            raise DataError(
                f"{table.place}: {role} in {table.place_of(row)} is {quoted(value)}, wanted is a whole number >= 0"
                f"{_other_column(role)}"
            )
        numbers[place] = number
    return numbers[codes]


def _numbered_iteration(value: object) -> int | None:
    """The number of ``step_12`` or ``Epoch 3``, or None.

    >>> _numbered_iteration("step_12"), _numbered_iteration("node12")
    (12, None)
    """
    found = re.fullmatch(r"([A-Za-z]+)[ _:-]?(\d{1,18})", value.strip()) if isinstance(value, str) else None
    return int(found[2]) if found and found[1].lower() in SYNONYMS["iteration"] else None


def _other_column(role: str) -> str:
    """What to type where a column is not what its name says."""
    return f"; where another column is the {role}: columns={role}:NAME" if role == "iteration" else ""


def _whole(value: object, writing: Writing) -> int | None:
    """A whole number >= 0 of at most 18 digits in a cell, or None."""
    if isinstance(value, str):
        text = value.strip()
        if writing.points_divide and re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", text):
            text = text.replace(".", "")
        text = text.removesuffix(".0")
        return int(text) if text.isdecimal() and len(text) <= _DIGITS else None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    if not 0 <= value < 10**_DIGITS or value != int(value):
        return None
    return int(value)


def _workers(table: Table, columns: tuple[str, ...], writing: Writing) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of the rows' workers, and the names that they are places of, where workers have names."""
    if len(columns) > 1:
        parts = [table.frame[column].astype(str).str.strip() for column in columns]
        joined = parts[0].str.cat(parts[1:], sep="/")
        codes, values = pd.factorize(joined.to_numpy(object), use_na_sentinel=False)
    else:
        codes, values = pd.factorize(cells_of(table.frame[columns[0]]), use_na_sentinel=False)
    numbers = [_whole(value, writing) for value in values]
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


def _durations(
    table: Table, found: Matched, unit: str, writing: Writing, decisions: list[str]
) -> tuple[np.ndarray, str]:
    """Times of the rows, in seconds where their unit is known, and that unit; NaN where a cell is empty."""
    strict = not found.decisions
    sums = np.zeros(len(table.frame))
    units = set()
    for name in found.times:
        column = table.frame[name]
        parts, of_cells, told = floats(column, writing)
        decisions += [sentence for sentence in told if sentence not in decisions]
        _refuse_text(table, name, parts)
        units.add((of_cells, name_of(name).unit))
        sums += parts
    if len(units) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found.times)} have different units; make them the same"
        )
    of_cells, _ = units.pop()
    known = _known_unit(unit, of_cells, [name_of(found.times[0])], decisions, strict)
    if known and not of_cells:
        sums = in_seconds(sums, known)
    wrong = np.flatnonzero(~((sums >= LEAST) & (sums <= MOST)) & ~np.isnan(sums))
    if len(wrong):
        row = int(wrong[0])
        _refuse_twice(table, found)
        cell = table.frame[found.times[0]].iloc[row]
        raise DataError(f"{table.place}: time in {table.place_of(row)} is {_wanted(cell)}")
    return sums, known


def _refuse_twice(table: Table, found: Matched) -> None:
    """Raise `StandsTwice` where several rows are of the same iteration and worker: then that is what is wrong first."""
    keys = [*found.iteration, *found.worker, *([found.chunk] if found.chunk else [])]
    twice = np.flatnonzero(table.frame.duplicated(keys)) if found.iteration else []
    if len(twice):
        row = table.frame.iloc[int(twice[0])]
        iteration = "/".join(str(row[name]) for name in found.iteration)
        worker = "/".join(str(row[name]) for name in found.worker)
        raise StandsTwice(table.place, f"iteration {iteration}, worker {worker}", found)


def _wanted(cell: object) -> str:
    """A cell that is no time, and what is wanted."""
    shown = quoted(cell.item() if isinstance(cell, np.generic) else cell)
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if 0 < value < np.inf:
        return f"{shown}, wanted is a number from {LEAST:g} to {MOST:g}"
    return f"{shown}, wanted is a number > 0, or nothing where a worker has no time"


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


def _differences(
    table: Table,
    found: Matched,
    unit: str,
    writing: Writing,
    decisions: list[str],
    iterations: np.ndarray,
    workers: np.ndarray,
) -> tuple[np.ndarray, str]:
    """Times between the starts and the ends of the rows, or from one end to the worker's next one."""
    ends, unit_of_ends = instants(table.frame[found.end], writing)
    if found.start:
        starts, unit_of_starts = instants(table.frame[found.start], writing)
        _refuse_different_units(table, found, unit, unit_of_starts, unit_of_ends)
    else:
        ends = ends - np.nanmin(ends)  # small, so that floats hold their differences
        starts = _previous(ends, iterations, workers)
        decisions.append(f"left out each worker's first row, of whose beginning {found.end} says nothing")
    known = unit or name_of(found.end).unit
    what = "starts and ends" if found.start else "ends"
    if known:
        decisions.append(f"{what} are in {known}{_made_seconds(known)}")
    elif unit_of_ends:
        known = unit_of_ends
        dates = not is_numeric(table.frame[found.end])
        decisions.append(f"{what} are dates" if dates else f"{what} are in {known} since 1970")
    else:
        decisions.append(f"no unit of {what} is named: times stay in theirs; where it is ms: unit=ms")
    differences = np.asarray(ends - starts, float)
    times = in_seconds(differences, known) if known else differences
    missing = np.isnan(times)
    wrong = np.flatnonzero(~((times >= LEAST) & (times <= MOST)) & ~missing)
    if found.start:
        wrong = np.flatnonzero(~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        row = int(wrong[0])
        before = found.start or found.end
        cells = (table.frame[before].iloc[row], table.frame[found.end].iloc[row])
        if not found.start:
            raise DataError(
                f"{table.place}: {found.end} in {table.place_of(row)}, {quoted(str(cells[1]))}, is not later than that "
                "of the worker's previous iteration"
            )
        raise DataError(
            f"{table.place}: {table.place_of(row)} starts at {quoted(str(cells[0]))} and ends at "
            f"{quoted(str(cells[1]))}, wanted is a later end"
        )
    return times, known


def _refuse_different_units(
    table: Table, found: Matched, unit: str, unit_of_starts: str, unit_of_ends: str
) -> None:
    """Raise `DataError` where starts and ends do not have the same unit."""
    of_name = name_of(found.start).unit
    if of_name != name_of(found.end).unit:
        raise DataError(f"{table.place}: {found.start} and {found.end} have different units by their names")
    if unit_of_starts != unit_of_ends and not (unit or of_name):
        told = f"{unit_of_starts or 'no unit'} and {unit_of_ends or 'no unit'}"
        raise DataError(
            f"{table.place}: {found.start} and {found.end} seem to have different units ({told}); name theirs, as in "
            "unit=ms"
        )


def _previous(ends: np.ndarray, iterations: np.ndarray, workers: np.ndarray) -> np.ndarray:
    """The end of each worker's previous iteration, NaN for its first."""
    order = np.lexsort((iterations, workers))
    before = np.full(len(ends), np.nan)
    same_worker = workers[order][1:] == workers[order][:-1]
    before[order[1:][same_worker]] = ends[order[:-1][same_worker]]
    return before


def _compute(
    table: Table, column: str, unit: str, known: str, writing: Writing, decisions: list[str]
) -> np.ndarray:
    """Times of computing alone, in the unit of the times."""
    values, of_cells, told = floats(table.frame[column], writing)
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


def _wide(table: Table, given: dict[str, str], unit: str, writing: Writing) -> Matrix:
    """Times that stand in columns, one for each worker."""
    decisions: list[str] = []
    in_memory = not table.named and not table.columns[0].startswith("column")
    columns, numbering = _columns_of_workers(table, given, in_memory, writing, decisions)
    units = {name_of(column).unit for column in columns}
    if len(units) > 1:
        raise DataError(
            f"{table.place}: the columns of workers have different units by their names; make them the same"
        )
    parts = []
    of_cells = set()
    for column in columns:
        values, named, told = floats(table.frame[column], writing)
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
    workers, hosts = labels_of(columns, is_numbered=not table.named)
    keys = [_by_number(host) for host in hosts] or workers
    order = sorted(range(len(columns)), key=keys.__getitem__)
    times = times[:, order]
    if hosts:
        hosts = tuple(hosts[place] for place in order)
    else:
        workers = tuple(workers[place] for place in order)
    numbers = np.arange(len(times))
    if numbering:
        numbers = _whole_numbers(table, numbering, "iteration", writing)
        values, counts = np.unique(numbers, return_counts=True)
        if counts.max() > 1:
            raise DataError(f"{table.place}: iteration {values[counts.argmax()]} stands twice")
        order = np.argsort(numbers)
        numbers, times = numbers[order], times[order]
    _check_times(table, times, hosts or tuple(map(str, workers)))
    return Matrix(numbers, workers, hosts, times, "s" if known else "", decisions)


def _columns_of_workers(
    table: Table, given: dict[str, str], in_memory: bool, writing: Writing, decisions: list[str]
) -> tuple[list[str], str]:
    """The columns of the workers, and the one of the iterations, which may be empty."""
    names = [name_of(column) for column in table.columns]
    numbering = _numbering_of_wide(table, given, names)
    rest = [name for name in names if name.written != numbering]
    if "workers" in given:
        pattern = given["workers"]
        found = [name.written for name in rest if fnmatchcase(name.written, pattern)]
        found = [name for name in found if not name.startswith(UNNAMED)]
        if not found:
            raise ParameterError(
                f"{table.place}: columns=workers:{pattern} fits no column; it has {listed(table.columns)}"
            )
    elif in_memory:
        found = [name.written for name in rest]
        if len(found) == 3 and not _is_whole(table, found[2], writing) and _may_be_long(table, writing):
            raise DataError(
                f"{table.place}: its 3 columns may be iteration, worker and time, or one for each worker; say "
                "columns=iteration:0,worker:1,time:2 or columns=workers:*"
            )
    elif table.named:
        found = _guessed_workers(table, rest)
    else:
        found = _unnamed_workers(table, rest, writing)
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


def _numbering_of_wide(table: Table, given: dict[str, str], names: list[Name]) -> str:
    """The column of the iterations of a wide table; empty where there is none."""
    if given.get("iteration") == NOT_USED:
        return ""
    if "iteration" in given:
        return column_given(given["iteration"], table.columns, table.place)
    found = [name.written for name in names if name.fits("iteration")]
    if len(found) > 1:
        found = [name for name in found if table.frame[name].is_unique]
    if len(found) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found)} may each be the iteration; say which one, as in "
            f"columns=iteration:{found[0]}"
        )
    return found[0] if found else ""


def _guessed_workers(table: Table, rest: list[Name]) -> list[str]:
    """Columns whose names are surely those of workers; raise `DataError` where there are none."""
    found = of_workers(_with_numbers(table, rest))
    if found:
        return found
    shown = listed(table.columns)
    told = (
        f"{table.place}: has no column 'iteration', 'worker' and 'time' by these or similar names, nor a numbered "
        f"column for each worker; it has {shown}: say which are which, as in {COLUMNS_EXAMPLE}, or "
    )
    pattern, group = numbered(table.columns)
    if group and pattern != "*":
        raise DataError(f"{told}columns=workers:{typed(pattern)} where each of these columns is a worker")
    raise DataError(f"{told}columns=workers:* where each column is a worker{table.cure}")


def _with_numbers(table: Table, names: list[Name]) -> list[Name]:
    """The columns of numbers that may be times."""
    return [name for name in names if is_numeric(table.frame[name.written]) and not name.is_stamp]


def _unnamed_workers(table: Table, rest: list[Name], writing: Writing) -> list[str]:
    """The columns of a matrix without a header; raise `DataError` where some may be something else than a worker's."""
    found = [name.written for name in _with_numbers(table, rest)]
    choice = "columns=iteration:column1,worker:column2,time:column3 or columns=workers:*"
    words = [name.written for name in rest if name.written not in found]
    if words or not found:
        raise DataError(
            f"{table.place}: has no header, and no numbers in {listed(words)}, others may be no worker's; say {choice}"
        )
    if len(found) >= 3 and _may_be_long(table, writing):
        raise DataError(
            f"{table.place}: has no header, so its {len(found)} columns may be iteration, worker and time, or one for "
            f"each worker; say {choice}"
        )
    whole = [name for name in found if _is_whole(table, name, writing)]
    if 0 < len(whole) < len(found):
        first = whole[0]
        raise DataError(
            f"{table.place}: has no header, and {first} has whole numbers only, unlike others, so it may be no "
            f"worker's; say {choice}, or columns=iteration:{first},workers:* where it numbers the iterations"
        )
    if len(found) > 2 and _counts_rows(table, found[0], writing):
        raise DataError(
            f"{table.place}: has no header, and {found[0]} counts the rows, so it may be no worker's; say "
            f"columns=iteration:{found[0]},workers:* or columns=workers:*"
        )
    return found


def _is_whole(table: Table, column: str, writing: Writing) -> bool:
    """Whether a column of numbers has none with decimals."""
    values, _, _ = floats(table.frame[column], writing)
    seen = values[~np.isnan(values)]
    return bool((seen == np.rint(seen)).all())


def _counts_rows(table: Table, column: str, writing: Writing) -> bool:
    """Whether a column of numbers rises by one from row to row."""
    values, _, _ = floats(table.frame[column], writing)
    return len(values) > 2 and bool((np.diff(values) == 1).all())


def _may_be_long(table: Table, writing: Writing) -> bool:
    """Whether the first two columns may number iterations and workers."""
    try:
        first = _whole_numbers(table, table.columns[0], "iteration", writing)
        second = _whole_numbers(table, table.columns[1], "worker", writing)
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


def labels_of(columns: list[str], is_numbered: bool = False) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers of the workers that columns or files are named after, and no names; or places, and their names.

    Examples
    --------
    >>> labels_of(["rank_1", "rank_0"]), labels_of(["node7", "node8"])
    (((1, 0), ()), ((0, 1), ('node7', 'node8')))
    """
    if is_numbered:
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
