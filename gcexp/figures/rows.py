"""Which rows of a table belong to a line, bar or panel? Unknown columns become one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import UserError, unknown

if TYPE_CHECKING:
    import pandas as pd


def known(frame: pd.DataFrame, *columns: str | None) -> None:
    """Raise unless the table has these columns.

    Raises
    ------
    UserError
        For an unknown column or an empty table.
    """
    for column in columns:
        if column is not None and column not in frame.columns:
            raise UserError(unknown("column", column, frame.columns))
    if frame.empty:
        raise UserError("the table has no rows; there is nothing to draw")


def numbers(frame: pd.DataFrame, column: str) -> np.ndarray:
    """A column as float64.

    Raises
    ------
    UserError
        If it holds text.
    """
    known(frame, column)
    try:
        return frame[column].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"column {column!r} holds text, where a plot wants numbers") from None


def parts(frame: pd.DataFrame, column: str | None) -> Iterator[tuple[object, pd.DataFrame]]:
    """The values of a column in order of appearance, each with its rows; no column: everything."""
    if column is None:
        yield "", frame
    else:
        yield from frame.groupby(column, sort=False)


def names(frame: pd.DataFrame, column: str) -> list[str]:
    """The values of a column as text, in order of appearance."""
    return [str(value) for value in frame[column].drop_duplicates()]


def several(frame: pd.DataFrame, by: str) -> str:
    """In how many seeds a figure's medians or means stand on, in words; empty without seeds."""
    if "seed" not in frame.columns:
        return ""
    counts = frame.groupby(by, sort=False)["seed"].nunique()
    low, high = int(counts.min()), int(counts.max())
    return f"{low} seed{'s' * (low > 1)}" if low == high else f"{low} to {high} seeds"
