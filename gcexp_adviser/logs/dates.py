"""Points in time in the cells of a log: dates, and numbers that count from a start."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gcexp_adviser.logs.numbers import Numbers, in_seconds

#: Units, and between which numbers dates of our time lie in them.
_EPOCHS = (("s", 1e8, 1e11), ("ms", 1e11, 1e14), ("us", 1e14, 1e17), ("ns", 1e17, 1e20))

#: A date and a time of day, as logs write them.
DATE = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_DATE = re.compile(DATE)


class Moments(NamedTuple):
    """Points in time (L,), NaN where a cell is none; their unit, empty where unknown; and whether the cells say it."""

    values: np.ndarray
    unit: str = ""
    is_written: bool = False

    @property
    def seconds(self) -> np.ndarray:
        """Seconds since the first moment, or what is counted from it where the unit is not known."""
        known = self.values[np.isfinite(self.values)]
        first = known.min() if len(known) else 0
        return in_seconds(np.asarray(self.values - first, float), self.unit)


def moments_in_numbers(cells: np.ndarray, numbers: Numbers) -> Moments:
    """The points in time that the numbers in some cells are; whole ones stay exact."""
    values = numbers.values
    if cells.dtype == object and _are_whole(values):
        values = np.array(list(map(_integer, cells, values)))
    return Moments(values, numbers.unit or unit_of_epoch(values), bool(numbers.unit))


def moments_in_dates(series: pd.Series) -> Moments | None:
    """The dates in some cells as whole nanoseconds, so that differences of them are exact; None where none is a date.

    >>> moments_in_dates(pd.Series(["2024-05-31 12:00:00,5", "soon"]))
    Moments(values=array([1.7171568e+18,           nan]), unit='ns', is_written=True)
    """
    written_as = "ISO8601" if _is_text(series) else None
    try:
        dates = pd.to_datetime(_as_iso(series), utc=True, format=written_as, errors="coerce")
    except (ValueError, TypeError, OverflowError):
        return None
    missing = dates.isna().to_numpy()
    if missing.all():
        return None
    stamps = dates.dt.tz_localize(None).to_numpy().astype("datetime64[ns]").astype(np.int64)
    return Moments(np.where(missing, np.nan, stamps) if missing.any() else stamps, "ns", is_written=True)


def looks_like_date(cell: Any) -> bool:
    """Whether a cell is a date with a time of day, or a number of seconds since 1970 as they are in our time.

    >>> [looks_like_date(cell) for cell in ("2024-05-31 12:00:00,5", 1.77e9, 300.0, "soon")]
    [True, True, False, False]
    """
    if isinstance(cell, str):
        return bool(_DATE.fullmatch(cell.strip()))
    if isinstance(cell, pd.Timestamp | np.datetime64):
        return True
    return isinstance(cell, int | float | np.number) and bool(unit_of_epoch(np.array([cell], float)))


def _as_iso(series: pd.Series) -> pd.Series:
    """Dates as ISO 8601 has them: ``2024-05-01 12:00:00.5`` for ``2024/05/01 12:00:00,5``."""
    if not _is_text(series):
        return series
    text = series.astype(str).str.strip()
    text = text.str.replace(r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3", regex=True)
    return text.str.replace(r",(\d+)$", r".\1", regex=True)


def _integer(cell: Any, value: float) -> int:
    """A whole number in a cell, exactly where it is written in digits alone; else as it was read."""
    try:
        return int(cell)
    except (TypeError, ValueError):
        return int(value)


def _are_whole(values: np.ndarray) -> bool:
    """Whether all numbers are there and are whole ones that fit into 64 bits."""
    if np.isnan(values).any() or np.abs(values).max(initial=0) >= 2**63:
        return False
    return bool((values == np.rint(values)).all())


def _is_text(series: pd.Series) -> bool:
    return str in set(map(type, series.head(3)))


def unit_of_epoch(values: np.ndarray) -> str:
    """The unit in which numbers are dates of our time; empty for none."""
    seen = values[~np.isnan(values)]
    if not len(seen):
        return ""
    value = float(np.median(seen))
    for unit, low, high in _EPOCHS:
        if low <= value < high and 1e9 <= in_seconds(value, unit) < 4e9:
            return unit
    return ""
