"""Times between moments: from the start of a row to its end, or from the end of the worker's row before."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp.schema import quoted
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.keys import Keys
from gcexp_adviser.logs.times import Times, made_seconds

_ENOUGH = 10  # rows from which on a pattern is no chance
_TILED = 0.9  # share of the rows that begin where the one before ended
_NO_PAUSE = 1e-3  # pause between two rows, as a share of a usual row, up to which they tile the run
_TOO_LONG = 1.01  # how many times as long as the run all steps together may take


def from_start_to_end(start: Column, end: Column, keys: Keys, unit: str) -> Times:
    """Times between the starts and the ends of rows; `unit` is what a person named.

    Raises
    ------
    DataError
        For an end that is not later than its start, different units, and rows that hold the waiting for others.
    """
    place = end.place
    names = f"{start.name.written} and {end.name.written}"
    starts, unit_of_starts = start.moments
    ends, unit_of_ends = end.moments
    of_name = start.name.unit
    if of_name != end.name.unit:
        raise DataError(f"{place}: {names} have different units by their names")
    if unit_of_starts != unit_of_ends and not (unit or of_name):
        told = f"{unit_of_starts or 'no unit'} and {unit_of_ends or 'no unit'}"
        raise DataError(f"{place}: {names} seem to have different units ({told}); name theirs, as in unit=ms")
    known, sentence = _unit_of_moments(end, "starts and ends", unit, unit_of_ends)
    times = Times(np.asarray(ends - starts, float), known, [sentence])
    row = times.first_wrong(may_be_missing=False)
    if row is not None:
        begun = quoted(str(start.series.iloc[row]))
        ended = quoted(str(end.series.iloc[row]))
        raise DataError(
            f"{place}: {end.place_of(row)} starts at {begun} and ends at {ended}, wanted is a later end"
            f"{_over_midnight(begun, ended)}"
        )
    _refuse_waiting(starts, ends, keys, place)
    return times


def from_end_to_end(end: Column, keys: Keys, unit: str) -> Times:
    """Times from the end of each worker's previous iteration to that of a row, NaN for its first."""
    ends, unit_of_ends = end.moments
    ends = ends - np.nanmin(ends)  # small, so that floats hold their differences
    name = end.name.written
    told = f"left out each worker's first row, of whose beginning {name} says nothing"
    known, sentence = _unit_of_moments(end, "ends", unit, unit_of_ends)
    times = Times(np.asarray(ends - _previous(ends, keys), float), known, [told, sentence])
    row = times.first_wrong(may_be_missing=True)
    if row is not None:
        ended = quoted(str(end.series.iloc[row]))
        raise DataError(
            f"{end.place}: {name} in {end.place_of(row)}, {ended}, is not later than that of the worker's previous "
            "iteration"
        )
    return times


def _unit_of_moments(end: Column, what: str, unit: str, of_numbers: str) -> tuple[str, str]:
    """The unit of moments, as a person or a name says, or that of numbers that are dates; and a sentence about it."""
    known = unit or end.name.unit
    if known:
        return known, f"{what} are in {known}{made_seconds(known)}"
    if not of_numbers:
        return "", f"no unit of {what} is named: times stay in theirs; where it is ms: unit=ms"
    if end.is_numeric:
        return of_numbers, f"{what} are in {of_numbers} since 1970"
    return of_numbers, f"{what} are dates"


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
    if all(re.fullmatch(r"\W?\d{1,2}:\d\d(:\d\d([.,]\d+)?)?\W?", text) for text in (start, end)):
        return "; where midnight lies between them, write dates too, as 2024-05-31 23:59:59"
    return ""


# --- rows that hold the waiting for others ----------------------------------------------------------------------------


def _refuse_waiting(starts: np.ndarray, ends: np.ndarray, keys: Keys, place: str) -> None:
    """Raise `DataError` where starts and ends say that the rows hold the waiting for other workers."""
    codes, labels = pd.factorize(keys.workers)
    if len(labels) < 2:
        return
    first = starts.min()
    begins = np.asarray(starts - first, float)
    finishes = np.asarray(ends - first, float)
    stamps = "stamp the end of each worker's own work, before it waits"
    if tiles_the_run(begins, finishes, codes):
        raise DataError(
            f"{place}: each row begins where the worker's row before ended: the rows tile the run and hold the waiting "
            f"for others, so nothing can be said of workers; {stamps}"
        )
    longer = longer_than_the_run(begins, finishes, keys.iterations)
    if longer is not None:
        total, wall = longer
        raise DataError(
            f"{place}: the longest rows of all iterations add up to {total / wall:.2f} times what lies between the "
            "first start and the last end: the rows hold the waiting for others, or workers do not wait for each "
            f"other, so nothing can be said of workers; {stamps}"
        )


def tiles_the_run(starts: np.ndarray, ends: np.ndarray, workers: np.ndarray) -> bool:
    """Whether rows (L,), in the order of each worker, begin where the one before ended, so that they hold the waiting.

    >>> ends = np.arange(1.0, 13.0)
    >>> tiles_the_run(ends - 1, ends, np.zeros(12, int)), tiles_the_run(ends - 0.8, ends, np.zeros(12, int))
    (True, False)
    """
    order = np.lexsort((starts, workers))
    same = np.diff(workers[order]) == 0
    pauses = (starts[order][1:] - ends[order][:-1])[same]
    if len(pauses) < _ENOUGH:
        return False
    usual = float(np.median(ends - starts))
    return bool((np.abs(pauses) <= _NO_PAUSE * usual).mean() >= _TILED)


def longer_than_the_run(
    starts: np.ndarray, ends: np.ndarray, iterations: np.ndarray
) -> tuple[float, float] | None:
    """The sum of the longest times of all iterations and the wall time, where the sum is longer; else None.

    >>> starts, ends = np.array([0.0, 0.0, 1.0, 1.0]), np.array([2.0, 1.0, 3.0, 2.0])
    >>> longer_than_the_run(starts, ends, np.array([0, 0, 1, 1]))
    (4.0, 3.0)
    """
    if len(np.unique(iterations)) < 2:
        return None
    _, codes = np.unique(iterations, return_inverse=True)
    longest = np.zeros(codes.max() + 1)
    np.maximum.at(longest, codes, ends - starts)
    total = float(longest.sum())
    wall = float(np.max(ends) - np.min(starts))
    return (total, wall) if total > _TOO_LONG * wall else None
