"""The record of a table with the columns of a clean record, whose rows are lines of a file or of a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp.traces.assembling import Lines, by_number, record_of_lines, with_times
from gcexp.traces.record import LEAST, MOST, Flags, TraceFile

if TYPE_CHECKING:
    import pandas as pd

_LARGEST = 2**53  # of a whole number, up to which floats hold all of them
_DIGITS = 18  # of a worker's number; what is longer is a name


def record_of_frame(
    frame: pd.DataFrame, name: str, place: str, flags: Flags, place_of: Callable[[int], str]
) -> TraceFile:
    """The record of a table, whose rows stand where `place_of` says.

    It has the columns of a clean record, each of them once (`gcexp.traces.places.fault_in`).
    """
    if not len(frame):
        raise DataError(f"{place} has no rows")
    workers, hosts = _workers_of(frame["worker"], place, place_of)
    chunks = None
    if "chunk" in frame:
        chunks = _whole_numbers(frame["chunk"], "chunk", place, place_of)
    values = {}
    for column in frame.columns:
        if column not in ("iteration", "worker", "chunk"):
            values[column] = _numbers(frame[column])
    is_no_number = np.isnan(values["time"]) & ~frame["time"].isna().to_numpy()
    times = np.where(is_no_number, np.inf, values["time"])
    _require_times(times, lambda at: f"{place}: time in {place_of(at[0])}", frame["time"].to_numpy(object))
    lines = Lines(
        columns=tuple(frame.columns),
        iterations=_whole_numbers(frame["iteration"], "iteration", place, place_of),
        workers=workers,
        values=values,
        chunks=chunks,
        hosts=hosts,
    )
    return record_of_lines(with_times(lines, place), name, place, flags)


def _require_times(times: np.ndarray, place_of: Callable[[tuple[int, ...]], str], cells: np.ndarray) -> None:
    """Raise `DataError` for the first of some times that is none; NaN stands where there is no time."""
    wrong = np.argwhere(~np.isnan(times) & ~((times >= LEAST) & (times <= MOST)))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise DataError(f"{place_of(at)} is {cells[at]!r}, wanted is a number from {LEAST:g} to {MOST:g}")


def _whole_numbers(column: pd.Series, role: str, place: str, place_of: Callable[[int], str]) -> np.ndarray:
    """Whole numbers of a column; raise `DataError` for the first cell that is none."""
    numbers = _numbers(column)
    fits = (numbers >= 0) & (numbers < _LARGEST) & (numbers == np.floor(numbers))
    if not fits.all():
        row = int(np.flatnonzero(~fits)[0])
        raise DataError(
            f"{place}: {role} in {place_of(row)} is {quoted(column.iloc[row])}, wanted is a whole number >= 0"
        )
    return numbers.astype(np.int64)


def _numbers(column: pd.Series) -> np.ndarray:
    """The numbers in the cells of a column, NaN where a cell holds none."""
    if column.dtype.kind in "iuf":
        return column.to_numpy(float, na_value=np.nan)
    return np.array([_number(cell) for cell in column.to_numpy(object)], float)


def _number(cell: Any) -> float:
    """The number in a cell, rounded as Python rounds it; NaN where it holds none."""
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return np.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _workers_of(
    column: pd.Series, place: str, place_of: Callable[[int], str]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers of the rows' workers, and the names that they are places of, where some worker is no number."""
    import pandas as pd

    codes, found = pd.factorize(column, use_na_sentinel=False)
    texts = ["" if pd.isna(worker) else str(worker).strip().removesuffix(".0") for worker in found]
    numbers = [int(text) if text.isdecimal() and len(text) <= _DIGITS else None for text in texts]
    if None not in numbers:
        return np.array(numbers, np.int64)[codes], ()
    for i, text in enumerate(texts):
        if not text:
            row = int(np.flatnonzero(codes == i)[0])
            raise DataError(
                f"{place}: worker in {place_of(row)} is empty, wanted is a whole number >= 0 or a name"
            )
    hosts = tuple(sorted(set(texts), key=by_number))
    place_of_host = {host: i for i, host in enumerate(hosts)}
    return np.array([place_of_host[text] for text in texts])[codes], hosts
