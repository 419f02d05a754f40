"""A column of a table: its name, its cells, and what they say as numbers, dates and words, each read once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.dates import (
    Moments,
    looks_like_date,
    moments_in_dates,
    moments_in_numbers,
    unit_of_epoch,
)
from gcexp_adviser.logs.names import Name
from gcexp_adviser.logs.numbers import (
    Numbers,
    Writing,
    has_decimal_comma,
    is_empty,
    looks_like_number,
    numbers_in,
    percents_in,
    whole_number,
)

_IDS = 1e17  # from which on whole numbers, of 18 digits, are ids


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table with L rows.

    Attributes
    ----------
    name : Name
    series : Series
        The cells as they were written.
    writing : Writing
        How numbers are written in the table, and how sentences begin.
    place_of : callable
        Where a row stands, for sentences: ``line 3``.

    Examples
    --------
    >>> from gcexp_adviser.logs.names import name_of
    >>> cells = pd.Series(["0.25 s", "", "300ms"])
    >>> column = Column(name_of("took"), cells, Writing("mine.csv"), "row {}".format)
    >>> column.numbers.values.tolist(), column.numbers.unit, column.empty.tolist(), column.is_numeric
    ([0.25, nan, 0.3], 's', [False, True, False], False)
    """

    name: Name
    series: pd.Series
    writing: Writing
    place_of: Callable[[int], str]

    @property
    def place(self) -> str:
        """How sentences begin."""
        return self.writing.place

    @cached_property
    def cells(self) -> np.ndarray:
        """The cells as numbers of numpy's, or as objects."""
        kind = self.series.dtype
        if isinstance(kind, np.dtype) and kind.kind in "fiub":
            return self.series.to_numpy()
        if pd.api.types.is_numeric_dtype(kind):  # of pandas' or pyarrow's own, with empty cells
            return self.series.to_numpy(dtype=float, na_value=np.nan)
        return self.series.to_numpy(dtype=object, na_value=np.nan)

    @cached_property
    def empty(self) -> np.ndarray:
        """Which cells say that there is no number, bool (L,)."""
        if self.cells.dtype != object:
            return np.isnan(self.cells)
        return np.array(list(map(is_empty, self.cells)), bool)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether most cells that are not empty are numbers; others are told when they are read."""
        if self.series.dtype.kind == "m":
            return True
        if self.cells.dtype != object:
            return self.cells.dtype != bool
        there = self.cells[~self.empty]
        numbers = sum(map(looks_like_number, there))
        return 2 * numbers >= len(there)

    @cached_property
    def has_decimal_comma(self) -> bool:
        """Whether a cell is a number with a decimal comma beyond doubt."""
        return self.cells.dtype == object and any(map(has_decimal_comma, self.cells))

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of the cells, by `gcexp_adviser.logs.numbers.numbers_in`, which may refuse them."""
        if self.series.dtype.kind == "m":
            seconds = self.series.dt.total_seconds().to_numpy(float)
            return Numbers(seconds, "s", ("times are durations of pandas",))
        return numbers_in(self.cells, self.writing)

    @cached_property
    def can_be_read(self) -> bool:
        """Whether the cells are read as numbers without a question."""
        try:
            return len(self.numbers.values) > 0
        except DataError:
            return False

    def numbers_in_unit(self, unit: str) -> Numbers:
        """The numbers, where those without a unit have this `unit` or that of the name, if others have one behind them.

        Raises
        ------
        DataError
            Where neither says it.
        """
        numbers = self.numbers
        if numbers.bare is None:
            return numbers
        of_bare = unit or self.name.unit
        if not of_bare:
            row = int(np.argmax(numbers.bare))
            raise DataError(
                f"{self.place}: {self.name.written} in {self.place_of(row)} is {quoted(str(self.cells[row]))}, without "
                "a unit, which other numbers of the column have behind them; name that of the numbers without one: "
                "unit=ms"
            )
        seconds = numbers._replace(unit=of_bare).seconds
        if numbers.bare is not None:
            seconds = np.where(numbers.bare, seconds, numbers.values)
        told = f"numbers of {self.name.written} without a unit are in {of_bare}"
        return Numbers(seconds, "s", (*numbers.told, told))

    @cached_property
    def moments(self) -> Moments:
        """The points in time of the cells; raise `DataError` where they are none."""
        if self.cells.dtype.kind in "iu":
            return Moments(self.cells, unit_of_epoch(self.cells))
        if self.is_numeric:
            return moments_in_numbers(self.cells, self.numbers_in_unit(""))
        dates = moments_in_dates(self.series)
        if dates is not None:
            return dates
        values, unit, _, _ = self.numbers_in_unit("")
        if np.isnan(values).all():
            first = quoted(str(self.series.iloc[0]))
            raise DataError(f"{self.place}: {first} is neither a number nor a date as 2024-05-31 12:00:00")
        return Moments(values, unit, bool(unit))

    @cached_property
    def stamps(self) -> Moments | None:
        """The points in time of a column that says when rows began or were written; None for another column."""
        by_name = self.name.is_stamp or self.name.fits("start") or self.name.fits("end")
        first = self.cells[~self.empty][:1]
        is_date = len(first) == 1 and looks_like_date(first[0])
        if not by_name and not is_date:
            return None
        try:
            return self.moments
        except DataError:
            return None

    @cached_property
    def percents(self) -> np.ndarray | None:
        """The numbers of a column in percent by its cells, or of computing by its name; None for another column."""
        if self.cells.dtype == object:
            found = percents_in(self.cells)
            if found is not None:
                return found
        return self.numbers.values if self.name.is_percent_of_compute else None

    @cached_property
    def whole_numbers(self) -> np.ndarray:
        """The whole numbers >= 0 of the cells (L,); -1 where a cell is none."""
        if self.cells.dtype.kind == "i" and self.cells.min() >= 0:
            return self.cells.astype(np.int64, copy=False)
        codes, values = pd.factorize(self.cells, use_na_sentinel=False)
        numbers = [whole_number(value, self.writing) for value in values]
        return np.array([-1 if number is None else number for number in numbers], np.int64)[codes]

    @cached_property
    def further(self) -> np.ndarray:
        """The numbers of a column that is neither a key nor a time, NaN where a cell is none."""
        if self.cells.dtype == object:
            return pd.to_numeric(pd.Series(self.cells), errors="coerce").to_numpy(float)
        return self.cells.astype(float)

    @cached_property
    def is_whole(self) -> bool:
        """Whether none of the numbers has decimals."""
        values = self.numbers.values
        seen = values[~np.isnan(values)]
        return bool((seen == np.rint(seen)).all())

    @cached_property
    def may_be_durations(self) -> bool:
        """Whether the cells may be durations: numbers above 0, that are no dates, maybe with units behind them."""
        if not self.can_be_read:
            return False
        values = self.numbers.values[~self.empty]
        return len(values) > 0 and bool((values > 0).all()) and not unit_of_epoch(values)

    @cached_property
    def are_ids(self) -> bool:
        """Whether all numbers are whole ones of so many digits that they are no times, and no dates in nanoseconds."""
        values = self.numbers.values
        seen = values[~np.isnan(values)]
        if not len(seen) or seen.min() < _IDS or not self.is_whole:
            return False
        return not unit_of_epoch(seen)

    @cached_property
    def counts_rows(self) -> bool:
        """Whether the numbers rise by one from row to row."""
        values = self.numbers.values
        return len(values) > 2 and bool((np.diff(values) == 1).all())

    @cached_property
    def words(self) -> np.ndarray:
        """The cells as words in lower case (L,)."""
        values, places = np.unique(self.cells.astype(str), return_inverse=True)
        return np.array([value.strip().lower() for value in values])[places.ravel()]

    @cached_property
    def codes(self) -> np.ndarray:
        """The place of each cell (L,) among the distinct ones in the order of their appearance; -1 where none is."""
        codes, _ = pd.factorize(self.series)
        return codes

    @property
    def distinct(self) -> int:
        """How many distinct cells there are that say something."""
        return int(self.codes.max(initial=-1)) + 1
