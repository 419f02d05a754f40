"""Whether rows hold the waiting for others, as starts and ends, moments of writing, or times in a queue say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.dates import Moments
from gcexp_adviser.logs.keys import Keys
from gcexp_adviser.logs.parsed import Parsed

_ENOUGH = 10  # rows from which on a pattern is no chance
_TILED = 0.9  # share of the rows that begin where the one before ended, or of the iterations that end at once
_NO_PAUSE = 1e-3  # pause between two rows, as a share of a usual row, that is none
_ROWS_OF_QUEUE, _LEAST_QUEUE = 20, 3  # iterations and workers from which on a queue is no chance
_FIXED_SUM = 0.2  # variance of the sums of iterations over that of workers that do not depend on each other
_EVEN = 0.35  # scatter of the distances between the times of an iteration, relative to their mean
_TOO_LONG = 1.01  # how many times as long as the run all steps together may take
_ANEW = 0.9  # share of the iterations that begin before the usual end of all, where each begins anew
_EARLIER = 0.2  # share of the iterations that there end before the one before has ended, at least
_SHORT_PAUSE = 0.05  # pause, as a share of a usual row, that writing a line may take
_STEADY = 0.3  # spread of the pauses within an iteration, as a share of that of the rows, from which on they are waits
_EXACT_PAUSE = 2e-4  # pause, as a share of a usual row, that is rounding
_ROUNDED = 1.5e-3  # seconds that may be rounding where dates are whole milliseconds
#: Share of a run that the times of a worker may differ from it where dates are whole seconds.
_ROUNDED_RUN = 2e-3
_WHOLE_ROWS = 50  # how many seconds a run must take for dates in whole seconds to tell something
_SCALES = (1.0, 1e3, 1e-3)  # seconds of a number whose unit is not known


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


def refuse_tiling(columns: Sequence[Column], times: np.ndarray, unit: str, keys: Keys) -> None:
    """Raise `DataError` where durations fill all that lies between the stamps of each worker's rows.

    Parameters
    ----------
    columns : sequence of Column
        Those that may say when the rows (L,) began, or were written.
    times : array (L,)
        How long they took, in seconds where their unit is known.
    unit : str
        That of the times, or nothing.
    keys : Keys
    """
    for column in columns:
        stamps = column.stamps
        if stamps is not None and _fill_between(stamps, times, unit, keys):
            raise DataError(
                f"{column.place}: each row takes all the time from one {column.name.written} of its worker to the "
                "next: the rows tile the run and hold the waiting for others, or nobody waits for anybody, so nothing "
                "can be said of workers; take the time up to the end of each worker's own work, before it waits"
            )


def _fill_between(stamps: Moments, times: np.ndarray, unit: str, keys: Keys) -> bool:
    """Whether durations (L,) fill all that lies between moments, which may be those of starts or of ends."""
    known = np.isfinite(stamps.values) & ~np.isnan(times)
    rows = pd.DataFrame(
        {
            "worker": keys.workers[known],
            "iteration": keys.iterations[known],
            "moment": stamps.seconds[known],
        }
    )
    scales = _SCALES if not (unit and stamps.unit) else _SCALES[:1]
    for scale in scales:
        rows["time"] = times[known] * scale
        if durations_tile(rows, at_end=True) or durations_tile(rows, at_end=False):
            return True
    return False


def durations_tile(rows: pd.DataFrame, at_end: bool) -> bool:
    """Whether the time of each row is what lies between two moments of its worker, for all of several workers.

    What a worker waits outside its rows differs by worker as its times do; what writing a line takes does not.

    Parameters
    ----------
    rows : DataFrame
        With the columns ``worker``, ``iteration``, ``moment`` and ``time``.
    at_end : bool
        Whether the moments are those of ends, and not of starts.

    Examples
    --------
    >>> rows = pd.DataFrame({"worker": np.repeat([0, 1], 20), "iteration": np.tile(np.arange(20), 2)})
    >>> rows = rows.assign(moment=rows["iteration"] * 0.5, time=0.5)
    >>> durations_tile(rows, at_end=True), durations_tile(rows.assign(time=0.4), at_end=True)
    (True, False)
    """
    rows = rows.sort_values(["worker", "moment"], kind="stable")
    of_worker = rows.groupby("worker")
    between = of_worker["moment"].diff()
    took = rows["time"] if at_end else of_worker["time"].shift()
    pairs = rows.assign(between=between, took=took, pause=between - took).dropna()
    count = pairs.groupby("worker")["pause"].size()
    if len(count) < 2 or len(count) < rows["worker"].nunique() or count.min() < _ENOUGH:
        return False
    if _fill_whole_seconds(pairs):
        return True
    usual = float(pairs["took"].median())
    if not _are_below(pairs, _SHORT_PAUSE * usual):
        return False
    rounding = _ROUNDED if _are_multiples(pairs["moment"], 1e-3) else _EXACT_PAUSE * usual
    return _are_below(pairs, rounding) or _within(pairs, "pause") < _STEADY * _within(pairs, "took")


def _are_below(pairs: pd.DataFrame, most: float) -> bool:
    """Whether nearly all pauses of each worker are that short."""
    are_short = pairs["pause"].abs() <= most
    return bool(are_short.groupby(pairs["worker"]).mean().min() >= _TILED)


def _are_multiples(moments: pd.Series, seconds: float) -> bool:
    """Whether moments are multiples of some seconds, but for what floats do."""
    parts = moments / seconds
    return bool((parts - parts.round()).abs().max() < 1e-3)


def _within(pairs: pd.DataFrame, column: str) -> float:
    """How far the numbers of a column usually are from the middle one of their iteration."""
    middle = pairs.groupby("iteration")[column].transform("median")
    return float((pairs[column] - middle).abs().mean())


def _fill_whole_seconds(pairs: pd.DataFrame) -> bool:
    """Whether the times of each worker add up to its run, where moments are whole seconds."""
    if not _are_multiples(pairs["moment"], 1.0):
        return False
    sums = pairs.groupby("worker")[["between", "took"]].sum()
    off = (sums["between"] - sums["took"]).abs()
    allowed = np.maximum(1.0, _ROUNDED_RUN * sums["between"])
    return bool(sums["between"].min() >= _WHOLE_ROWS and (off <= allowed).all())


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


def remark_on_queue(times: np.ndarray, log: Parsed) -> str:
    """A sentence where the times (R, N) of iterations stand in a queue, and a person named their unit; empty for none.

    Raises
    ------
    DataError
        Where nobody did.
    """
    if not in_a_queue(times):
        return ""
    seen = (
        "the times of each iteration stand at even distances, in changing orders of the workers, as those of a queue, "
        "in which each begins where another one ends and holds the waiting for its turn"
    )
    if log.are_durations:
        return f"took times as they are, though {seen}"
    raise DataError(
        f"{log.place}: {seen}: nothing can be said of workers; stamp the begin and the end of each one's own work; "
        f"where times are of that alone: {log.escape}"
    )


def in_a_queue(times: np.ndarray) -> bool:
    """Whether each of the times (R, N) of an iteration seems to begin where another one ends, in changing orders.

    In a queue the sum of an iteration is the same whoever comes first, and its times in their order stand at even
    distances, the first one from 0. An iteration with one or some slow workers, and shares of one amount of work, have
    the first sign alone. Of 44 000 logs without a queue (eleven laws, 3 to 10 workers, 20 to 80 iterations) none was
    taken for one; of work that goes round in even steps from one worker to the next a quarter is.

    >>> draw = np.random.default_rng(0)
    >>> served = draw.gamma(100, 0.01, (40, 6)).cumsum(axis=1)
    >>> in_a_queue(draw.permuted(served, axis=1)), in_a_queue(served), in_a_queue(draw.gamma(4, 1, (40, 6)))
    (True, False, False)
    """
    whole = times[~np.isnan(times).any(axis=1)]
    if len(whole) < _ROWS_OF_QUEUE or whole.shape[1] < _LEAST_QUEUE:
        return False
    of_workers = float(whole.var(axis=0).sum())
    if whole.sum(axis=1).var() >= _FIXED_SUM * of_workers:
        return False
    distances = np.diff(np.sort(whole, axis=1), axis=1, prepend=0)
    scatter = distances.std(axis=1) / distances.mean(axis=1)
    return bool(np.median(scatter) < _EVEN)
