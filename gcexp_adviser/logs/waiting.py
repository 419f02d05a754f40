"""Whether rows hold the waiting for other workers, as their starts and ends say."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.logs.keys import Keys

_ENOUGH = 10  # rows from which on a pattern is no chance
_TILED = 0.9  # share of the rows that begin where the one before ended, or of the iterations that end at once
_NO_PAUSE = 1e-3  # pause between two rows, as a share of a usual row, that is none
_TOO_LONG = 1.01  # how many times as long as the run all steps together may take
_ANEW = 0.9  # share of the iterations that begin before the usual end of all, where each begins anew
_EARLIER = 0.2  # share of the iterations that there end before the one before has ended, at least


def refuse_waiting(starts: np.ndarray, ends: np.ndarray, keys: Keys, place: str) -> str:
    """Raise `DataError` where starts and ends say that the rows hold the waiting for other workers.

    Returns
    -------
    told : str
        That the clock begins anew in each iteration, so that it does not say this; else nothing.
    """
    codes, labels = pd.factorize(keys.workers)
    if len(labels) < 2:
        return ""
    first = starts.min()
    begins = np.asarray(starts - first, float)
    finishes = np.asarray(ends - first, float)
    stamps = "stamp the end of each worker's own work, before it waits"
    if begins_anew(begins, finishes, keys.iterations):
        if end_together(begins, finishes, keys.iterations):
            raise DataError(
                f"{place}: all rows of an iteration end at once: they hold the waiting for others, so nothing can be "
                f"said of workers; {stamps}"
            )
        return (
            "the clock of starts and ends begins anew in each iteration: whether rows hold the waiting for others "
            "cannot be seen"
        )
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
    return ""


def begins_anew(starts: np.ndarray, ends: np.ndarray, iterations: np.ndarray) -> bool:
    """Whether the clock of rows (L,) begins anew in each iteration, and does not run on.

    A clock that runs on has passed the usual end in half of the iterations. Where all rows begin at once and wait for
    their turn, each iteration ends later than the one before.

    >>> number, took = np.arange(12.0), np.tile([1.0, 2.0], 6)
    >>> [begins_anew(starts, starts + took, number) for starts in (0 * number, 3 * number)]
    [True, False]
    >>> begins_anew(0 * number, number + 1, number)
    False
    """
    by_iteration = pd.DataFrame({"start": starts, "end": ends}).groupby(iterations)
    first_starts = by_iteration["start"].min().to_numpy()
    last_ends = by_iteration["end"].max().to_numpy()
    if len(last_ends) < _ENOUGH:
        return False
    begin_early = (first_starts < np.median(last_ends)).mean()
    end_earlier = (np.diff(last_ends) <= 0).mean()
    return bool(begin_early >= _ANEW and end_earlier >= _EARLIER)


def end_together(starts: np.ndarray, ends: np.ndarray, iterations: np.ndarray) -> bool:
    """Whether the rows (L,) of an iteration end at once, in most iterations.

    >>> ends, number = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1])
    >>> end_together(0 * ends, ends, number), end_together(0 * ends, ends + [0, 0.5, 0, 0.5], number)
    (True, False)
    """
    by_iteration = pd.Series(ends).groupby(iterations)
    apart = by_iteration.max() - by_iteration.min()
    usual = float(np.median(ends - starts))
    return bool((apart <= _NO_PAUSE * usual).mean() >= _TILED)


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
