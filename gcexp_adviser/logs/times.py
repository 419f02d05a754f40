"""How long rows took: durations that stand in cells, or times between moments; their unit, and what is no time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp.traces.record import LEAST, MOST, Flags
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.keys import Keys
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import UNIT_OF, listed
from gcexp_adviser.logs.numbers import in_seconds
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.unmatched import no_time_but_a_rate
from gcexp_adviser.logs.waiting import refuse_waiting


@dataclass(frozen=True)
class Times:
    """Times that were read.

    Attributes
    ----------
    values : array (L,) or (R, N)
        NaN where there is none.
    unit : str
        Theirs; empty where it is not known.
    told : list of str
        What was decided.
    """

    values: np.ndarray
    unit: str = ""
    told: list[str] = field(default_factory=list)

    @cached_property
    def seconds(self) -> np.ndarray:
        """The times in seconds; as they are where their unit is not known."""
        return in_seconds(self.values, self.unit)

    def with_unit(self, flags: Flags) -> Flags:
        """The flags of a record, with the unit of `seconds` where it is known."""
        return replace(flags, unit="s") if self.unit else flags

    @property
    def are_times(self) -> np.ndarray:
        """Which of the numbers are times that a worker may take."""
        return (self.seconds >= LEAST) & (self.seconds <= MOST)


def times_of(table: Table, found: Matched, keys: Keys, unit: str) -> Times:
    """The times of the rows (L,), or of the rows and the workers (R, N) where each of these has a column.

    Parameters
    ----------
    table : Table
    found : Matched
        Its columns. What stands in cells may be no time; what lies between moments is one.
    keys : Keys
    unit : str
        What a person named, or nothing.

    Raises
    ------
    DataError
        For a cell that is neither a number nor empty, an end that is not later than its start, different units, and
        rows that hold the waiting for others.
    """
    if found.of_workers:
        return _times_of_workers(table, found, unit)
    if found.times:
        return _durations(table, found, unit)
    if not found.start:
        return _from_end_to_end(table[found.end], keys, unit)
    return _from_start_to_end(table[found.start], table[found.end], keys, unit)


def _durations(table: Table, found: Matched, unit: str) -> Times:
    """Times of rows (L,), which stand in a column or are the sum of several."""
    if not unit:
        _refuse_sizes(table, found)
        _refuse_rates(table, found.times)
    hint = "; where it says when an iteration ended: columns=end:{}"
    parts, of_cells, of_names, told = _read([table[name] for name in found.times], unit, hint)
    if len(of_cells) > 1 or len(of_names) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found.times)} have different units; make them the same"
        )
    sums = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    return _with_unit(sums, unit, of_cells.pop(), table, found.times[0], told, found.is_clean)


def _refuse_sizes(table: Table, found: Matched) -> None:
    """Raise `DataError` for a time whose name says how much data a worker had."""
    for column in found.times:
        if table[column].name.is_size:
            raise DataError(
                f"{table.place}: {column} seems to say how much data a worker had, and is no time; where another "
                "column is the time: columns=time:NAME; where it is one, name its unit: unit=s"
            )


def _refuse_rates(table: Table, columns: tuple[str, ...]) -> None:
    """Raise `DataError` for times whose name says that they are rates, unless their cells have units of time."""
    for column in columns:
        if table[column].name.is_rate and not table[column].numbers.unit:
            raise DataError(f"{table.place}: {no_time_but_a_rate(table[column].name)}")


def _times_of_workers(table: Table, found: Matched, unit: str) -> Times:
    """Times (R, N) in a column for each worker."""
    if not unit:
        _refuse_rates(table, found.of_workers)
    parts, of_cells, of_names, told = _read([table[name] for name in found.of_workers], unit)
    if len(of_names) > 1:
        raise DataError(
            f"{table.place}: the columns of workers have different units by their names; make them the same"
        )
    if len(of_cells) > 1:
        raise DataError(
            f"{table.place}: some columns of workers have units behind their numbers, and others have not; name that "
            "of the others: unit=ms"
        )
    first = found.of_workers[0]
    return _with_unit(np.stack(parts, axis=1), unit, of_cells.pop(), table, first, told, found.is_clean)


def _read(
    columns: list[Column], given: str, hint: str = ""
) -> tuple[list[np.ndarray], set[str], set[str], list[str]]:
    """The numbers of some columns, their units by the cells and by the names, and what was decided.

    The unit that a person gave is that of numbers without one, where others have theirs behind them.
    """
    parts = []
    told: dict[str, None] = {}
    of_cells = {column.numbers.unit for column in columns}
    of_names = {column.name.unit for column in columns}
    some_are_bare = len(of_cells) > 1 or any(column.numbers.bare is not None for column in columns)
    if given and not some_are_bare and of_cells != {""}:
        raise ParameterError(
            f"unit={given}: the numbers of {columns[0].name.written} have units behind them already"
        )
    for column in columns:
        _refuse_text(column, hint.format(column.name.typed))
        numbers = column.numbers_in_unit(given)
        if given and len(of_cells) > 1 and not numbers.unit:
            said = f"numbers of {column.name.written} without a unit are in {given}"
            numbers = numbers._replace(unit=given, told=(*numbers.told, said))
            numbers = numbers._replace(values=numbers.seconds)
        parts.append(numbers.values)
        told |= dict.fromkeys(numbers.told)
    return parts, {"s"} if given and some_are_bare else of_cells, of_names, list(told)


def _refuse_text(column: Column, hint: str) -> None:
    """Raise `DataError` for the first cell of a column that is neither a number nor empty."""
    missing = np.isnan(column.numbers.values)
    if not missing.any():
        return
    wrong = np.flatnonzero(missing & ~column.empty)
    if len(wrong):
        row = int(wrong[0])
        cell = column.series.iloc[row]
        raise DataError(
            f"{column.place}: {column.name.written} in {column.place_of(row)} is {quoted(cell)}, wanted is a number > "
            f"0, or nothing where a worker has no time{_how_to_write(cell)}{hint}"
        )


def _how_to_write(cell: object) -> str:
    """How what a cell seems to mean is written, as a sentence goes on; empty where that is not known.

    >>> _how_to_write("1.5D-03"), _how_to_write("01:23.4"), _how_to_write("soon")
    ('; write E in place of D, as 1.5E-03', '; of minutes and seconds write hours too, as 00:01:23.4', '')
    """
    text = str(cell).strip()
    if re.fullmatch(r"[-+]?\d*\.?\d+[dD][-+]?\d+", text):
        return f"; write E in place of D, as {text.upper().replace('D', 'E')}"
    if re.fullmatch(r"\d{1,2}:\d\d([.,]\d+)?", text):
        return f"; of minutes and seconds write hours too, as 00:{text}"
    return ""


# --- moments ----------------------------------------------------------------------------------------------------------


def _from_start_to_end(start: Column, end: Column, keys: Keys, unit: str) -> Times:
    """Times between the starts and the ends of rows; `unit` is what a person named."""
    place = end.place
    names = f"{start.name.written} and {end.name.written}"
    starts, unit_of_starts, starts_say_it = start.moments
    ends, unit_of_ends, ends_say_it = end.moments
    of_name = start.name.unit
    if of_name != end.name.unit:
        raise DataError(f"{place}: {names} have different units by their names")
    if starts_say_it != ends_say_it:
        raise DataError(
            f"{place}: only one of {names} has dates, or units behind its numbers; write both alike"
        )
    if unit_of_starts != unit_of_ends and not (unit or of_name):
        told = f"{unit_of_starts or 'no unit'} and {unit_of_ends or 'no unit'}"
        raise DataError(f"{place}: {names} seem to have different units ({told}); name theirs, as in unit=ms")
    known, sentence = _unit_of_moments(end, "starts and ends", unit)
    times = Times(np.asarray(ends - starts, float), known, [sentence])
    wrong = np.flatnonzero(~times.are_times)
    if len(wrong):
        row = int(wrong[0])
        begun = str(start.series.iloc[row])
        ended = str(end.series.iloc[row])
        raise DataError(
            f"{place}: {end.place_of(row)} starts at {quoted(begun)} and ends at {quoted(ended)}, wanted is a later "
            f"end{_over_midnight(begun, ended)}"
        )
    begins_anew = refuse_waiting(starts, ends, keys, place)
    return replace(times, told=[*times.told, begins_anew]) if begins_anew else times


def _from_end_to_end(end: Column, keys: Keys, unit: str) -> Times:
    """Times from the end of each worker's previous iteration to that of a row, NaN for its first."""
    ends = end.moments.values
    ends = ends - np.nanmin(ends)  # small, so that floats hold their differences
    name = end.name.written
    told = f"left out each worker's first row, of whose beginning {name} says nothing"
    known, sentence = _unit_of_moments(end, "ends", unit)
    times = Times(np.asarray(ends - _previous(ends, keys), float), known, [told, sentence])
    wrong = np.flatnonzero(~times.are_times & ~np.isnan(times.seconds))
    if len(wrong):
        row = int(wrong[0])
        ended = str(end.series.iloc[row])
        raise DataError(
            f"{end.place}: {name} in {end.place_of(row)}, {quoted(ended)}, is not later than that of the worker's "
            "previous iteration"
        )
    return times


def _unit_of_moments(end: Column, what: str, unit: str) -> tuple[str, str]:
    """The unit of moments, as cells, a person or a name says, or that of numbers that are dates; and a sentence.

    Raises
    ------
    ParameterError
        Where a person named a unit though the cells have theirs.
    """
    _, of_cells, is_written = end.moments
    if is_written and unit:
        raise ParameterError(
            f"unit={unit}: {end.name.written} has dates, or units behind its numbers already; leave unit= out"
        )
    known = unit or end.name.unit
    if known and not is_written:
        return known, f"{what} are in {known}{_made_seconds(known)}"
    if not of_cells:
        return "", f"no unit of {what} is named: times stay in theirs; where it is ms: unit=ms"
    if is_written and of_cells == "s":
        return of_cells, f"{what} are in s, as their cells say"
    if end.is_numeric:
        return of_cells, f"{what} are in {of_cells} since 1970"
    return of_cells, f"{what} are dates"


def _previous(ends: np.ndarray, keys: Keys) -> np.ndarray:
    """The end of each worker's previous iteration, NaN for its first."""
    workers = keys.workers
    order = np.lexsort((keys.iterations, workers))
    before = np.full(len(ends), np.nan)
    same_worker = workers[order][1:] == workers[order][:-1]
    before[order[1:][same_worker]] = ends[order[:-1][same_worker]]
    return before


def _over_midnight(start: str, end: str) -> str:
    """What to write where midnight lies between two times of day, as a sentence goes on; empty for others."""
    if all(re.fullmatch(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?", text) for text in (start, end)):
        return "; where midnight lies between them, write dates too, as 2024-05-31 23:59:59"
    return ""


# --- units ------------------------------------------------------------------------------------------------------------


def _with_unit(
    values: np.ndarray,
    given: str,
    of_cells: str,
    table: Table,
    name: str,
    told: list[str],
    is_clean: bool,
) -> Times:
    """Numbers as times, whose unit the cells, a person, a name or another column says.

    Parameters
    ----------
    values : array
        In seconds already where cells have units.
    given : str
        The unit that a person named.
    of_cells : str
        What stands behind the numbers.
    table : Table
        One of whose columns may hold it.
    name : str
        That of the column of the times, which may say it.
    told : list of str
        What was decided before.
    is_clean : bool
        Whether the name says nothing, as in a clean record.

    """
    if of_cells:
        return Times(values, of_cells, told)
    of_name = "" if is_clean else table[name].name.unit
    if not given:
        for beside in table.names.where(lambda name: name.is_unit):
            unit = _unit_in(table[beside], of_name)
            if unit:
                sentence = f"times are in {unit}, as the column {beside} says{_made_seconds(unit)}"
                return Times(values, unit, [*told, sentence])
    unit = given or of_name
    if unit or not is_clean:
        told = [*told, _told_of_unit(given, of_name, name)]
    return Times(values, unit, told)


def _unit_in(column: Column, of_name: str) -> str:
    """The unit of times that the cells of a column are; empty where they are none.

    Raises
    ------
    DataError
        Where they are several units, or another one than the name of the times says.
    """
    words = np.unique(column.words)
    units = sorted({UNIT_OF[word] for word in words if word in UNIT_OF})
    if not units:
        return ""
    if len(units) > 1 or not set(words) <= set(UNIT_OF):
        raise DataError(
            f"{column.place}: {column.name.written} has {listed(words)}, so the times have different units; make "
            "them the same, or where they are the same already, name theirs: unit=ms"
        )
    if of_name not in ("", units[0]):
        raise DataError(
            f"{column.place}: {column.name.written} has {units[0]}, and the name of the times says {of_name}; name "
            f"theirs: unit={units[0]} or unit={of_name}"
        )
    return units[0]


def _told_of_unit(given: str, of_name: str, name: str) -> str:
    """In what unit the times of a column are, and who says so."""
    if given:
        other = f", not {of_name} as the name {name} says" if of_name not in ("", given) else ""
        return f"times are in {given}, as unit={given} says{other}{_made_seconds(given)}"
    if of_name:
        return f"times are in {of_name} by the name {name}{_made_seconds(of_name)}"
    return "no unit of the times is named: they stay as they are; where they are milliseconds: unit=ms"


def _made_seconds(unit: str) -> str:
    """That times of a unit became seconds, as a sentence goes on."""
    return "" if unit == "s" else ", and were made seconds"
