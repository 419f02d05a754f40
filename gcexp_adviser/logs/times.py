"""Columns of times: durations of rows or of workers, their unit, and cells that are no time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gcexp.errors import DataError, ParameterError
from gcexp.schema import quoted
from gcexp.traces.record import LEAST, MOST, Flags
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import typed
from gcexp_adviser.logs.numbers import in_seconds
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.twice import refuse_rows_that_stand_twice


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

    def first_wrong(self, may_be_missing: bool) -> int | None:
        """The first row (L,) whose time is none, or None."""
        fine = (self.seconds >= LEAST) & (self.seconds <= MOST)
        if may_be_missing:
            fine |= np.isnan(self.seconds)
        if fine.all():
            return None
        return int(np.argmin(fine))


def durations(table: Table, found: Matched, unit: str) -> Times:
    """Times of rows (L,), which stand in a column or are the sum of several; `unit` is what a person named."""
    if not unit:
        _refuse_sizes(table, found)
    hint = "; where it says when an iteration ended: columns=end:{}"
    parts, of_cells, of_names, told = _read([table[name] for name in found.times], unit, hint)
    if len(of_cells) > 1 or len(of_names) > 1:
        raise DataError(
            f"{table.place}: {' and '.join(found.times)} have different units; make them the same"
        )
    sums = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    times = _with_unit(sums, unit, of_cells.pop(), table[found.times[0]], told, found.is_clean)
    row = times.first_wrong(may_be_missing=True)
    if row is not None:
        refuse_rows_that_stand_twice(table, found)
        cell = table[found.times[0]].series.iloc[row]
        sentence = f"{table.place}: time in {table.place_of(row)} is {_wanted(cell)}"
        if times.seconds[row] < 0 and len(found.times) == 1:
            mark = typed(f"{found.times[0]}:{cell}")
            sentence += f"; where it stands for a worker that was too late: without={mark}"
        raise DataError(sentence)
    return times


def _refuse_sizes(table: Table, found: Matched) -> None:
    """Raise `DataError` for a time whose name says how much data a worker had."""
    for column in found.times:
        if table[column].name.is_size:
            raise DataError(
                f"{table.place}: {column} seems to say how much data a worker had, and is no time; where another "
                "column is the time: columns=time:NAME; where it is one, name its unit: unit=s"
            )


def times_of_workers(table: Table, columns: list[str], unit: str, is_clean: bool) -> Times:
    """Times (R, N) in a column for each worker; of an array, which `is_clean`, nothing has to be told."""
    parts, of_cells, of_names, told = _read([table[name] for name in columns], unit)
    if len(of_names) > 1:
        raise DataError(
            f"{table.place}: the columns of workers have different units by their names; make them the same"
        )
    if len(of_cells) > 1:
        raise DataError(
            f"{table.place}: some columns of workers have units behind their numbers, and others have not; name that "
            "of the others: unit=ms"
        )
    return _with_unit(np.stack(parts, axis=1), unit, of_cells.pop(), table[columns[0]], told, is_clean)


def compute_times(column: Column, times: Times) -> Times:
    """Times of computing alone (L,), in the unit of the times of their rows, or their share in percent."""
    unit = times.unit
    if column.percents is not None:
        told = f"compute is the time, of which {column.name.written} is the share in percent"
        return Times(times.values * column.percents / 100, unit, [told])
    values, of_cells, told, _ = column.numbers_in_unit(unit)
    if np.isnan(values).all():
        raise DataError(
            f"{column.place}: {column.name.written} has no number; leave it out: columns=compute:none"
        )
    if of_cells:
        return Times(values, of_cells, list(told))
    of_name = column.name.unit
    if of_name and not unit:
        raise DataError(
            f"{column.place}: {column.name.written} is in {of_name}, and the unit of the times is unknown; name it: "
            "unit=ms"
        )
    return Times(values, of_name or unit, list(told))


def _wanted(cell: object) -> str:
    """A cell that is no time, and what is wanted."""
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if 0 < value < np.inf:
        return f"{quoted(cell)}, wanted is a number from {LEAST:g} to {MOST:g}"
    return f"{quoted(cell)}, wanted is a number > 0, or nothing where a worker has no time"


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
        told |= dict.fromkeys(numbers.told)
        if given and len(of_cells) > 1 and not numbers.unit:
            parts.append(in_seconds(numbers.values, given))
            told[f"numbers of {column.name.written} without a unit are in {given}"] = None
        else:
            parts.append(numbers.values)
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
            f"0, or nothing where a worker has no time{how_to_write(cell)}{hint}"
        )


def how_to_write(cell: object) -> str:
    """How what a cell seems to mean is written, as a sentence goes on; empty where that is not known.

    >>> how_to_write("1.5D-03"), how_to_write("01:23.4"), how_to_write("soon")
    ('; write E in place of D, as 1.5E-03', '; of minutes and seconds write hours too, as 00:01:23.4', '')
    """
    text = str(cell).strip()
    if re.fullmatch(r"[-+]?\d*\.?\d+[dD][-+]?\d+", text):
        return f"; write E in place of D, as {text.upper().replace('D', 'E')}"
    if re.fullmatch(r"\d{1,2}:\d\d([.,]\d+)?", text):
        return f"; of minutes and seconds write hours too, as 00:{text}"
    return ""


# --- units ------------------------------------------------------------------------------------------------------------


def _with_unit(
    values: np.ndarray, given: str, of_cells: str, column: Column, told: list[str], is_clean: bool
) -> Times:
    """Numbers as times, whose unit the cells, a person or a name says.

    Parameters
    ----------
    values : array
        In seconds already where cells have units.
    given : str
        The unit that a person named.
    of_cells : str
        What stands behind the numbers.
    column : Column
        Whose name may say it.
    told : list of str
        What was decided before.
    is_clean : bool
        Whether the name says nothing, as in a clean record.

    """
    if of_cells:
        return Times(values, of_cells, told)
    of_name = "" if is_clean else column.name.unit
    unit = given or of_name
    if unit or not is_clean:
        told = [*told, _told_of_unit(given, of_name, column.name.written)]
    return Times(values, unit, told)


def _told_of_unit(given: str, of_name: str, name: str) -> str:
    """In what unit the times of a column are, and who says so."""
    if given:
        other = f", not {of_name} as the name {name} says" if of_name not in ("", given) else ""
        return f"times are in {given}, as unit={given} says{other}{made_seconds(given)}"
    if of_name:
        return f"times are in {of_name} by the name {name}{made_seconds(of_name)}"
    return "no unit of the times is named: they stay as they are; where they are milliseconds: unit=ms"


def made_seconds(unit: str) -> str:
    """That times of a unit became seconds, as a sentence goes on."""
    return "" if unit == "s" else ", and were made seconds"
