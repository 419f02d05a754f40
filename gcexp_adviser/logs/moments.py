"""Times that are moments: dates, and times that count from the start of the run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gcexp.errors import DataError

_ENOUGH = 10  # rows from which on a pattern is no chance
#: Share of the steps in which moments rise; those of whole seconds stand still in others.
_RISING = 0.5
_EVEN = 2.5  # ratio up to which the steps of the first and of the second half are alike
#: Ratio from which on times that count from a start have grown: as many steps went before as are there.
_GROWN = 3.0
#: Share of a time by which durations that rise from row to row rise at least: they repeat no better.
_FINE = 1e-3
_FIRST, _LAST = 1e9, 4e9  # seconds since 1970 of the years 2001 to 2096
_ALIKE = 1.05  # ratio of the last and the first date of a log


def refuse_moments(times: np.ndarray, place: str, cure: Callable[[], str], escape: str) -> str:
    """Raise `DataError` where times (R, N) seem to be dates, or to count from the start of the run.

    Durations may rise throughout as well, as those of longer and longer sequences. Times that count from a start are
    sums of durations: they rise by steps that are alike from the first half to the second, and from near one step to
    many, so that the last time is about R steps. Those of a clock rise by a share that no durations repeat to.

    Parameters
    ----------
    times : array
        NaN where a worker has none; rows in the order of their iterations.
    place : str
        How the sentence begins.
    cure : callable
        Says what to do where they are moments.
    escape : str
        What to type where they are durations.

    Returns
    -------
    str
        A remark where times rise throughout and may be durations; else empty.

    Examples
    --------
    >>> refuse_moments(np.array([[0.3, 0.4], [0.2, 0.5]]), "mine", str, "")
    ''
    """
    shortest = float(np.nanmin(times))
    longest = float(np.nanmax(times))
    for unit, parts in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if _FIRST * parts <= shortest and longest < _LAST * parts and longest < _ALIKE * shortest:
            raise DataError(
                f"{place}: the times go from {shortest:.10g} to {longest:.10g}, as dates in {unit} since 1970 do; "
                f"{cure()}; where they are durations, name their unit: {escape}"
            )
    if len(times) < _ENOUGH or not _only_grow(times):
        return ""
    told = f"the times of every worker only grow from iteration to iteration, from {shortest:.6g} to {longest:.6g}"
    if _count_from_a_start(times):
        raise DataError(
            f"{place}: {told}: they seem to count from the start of the run; {cure()}; where they are durations, name "
            f"their unit: {escape}"
        )
    return f"{told}: took them for durations; where they say when an iteration ended: {cure()}"


def _only_grow(times: np.ndarray) -> bool:
    """Whether no worker's time falls from one of its rows to the next, and most of them rise."""
    if (np.diff(times[:_ENOUGH], axis=0) < 0).any():  # as in nearly all logs
        return False
    steps = np.concatenate([np.diff(column[~np.isnan(column)]) for column in times.T])
    if len(steps) < _ENOUGH - 1 or (steps < 0).any():
        return False
    return bool((steps > 0).mean() >= _RISING)


def _count_from_a_start(times: np.ndarray) -> bool:
    """Whether the rising times of most workers look like sums of durations, or like those of a clock.

    >>> sums, drift = np.arange(1.0, 13.0)[:, None], np.linspace(1.0, 1.4, 12)[:, None]
    >>> [_count_from_a_start(times) for times in (sums, 43_200 + sums, drift, sums**3)]
    [True, True, False, False]
    """
    votes = []
    for column in times.T:
        seen = column[~np.isnan(column)]
        steps = np.diff(seen)
        if len(steps) < 2:
            continue
        half = len(steps) // 2
        early = np.median(steps[:half])
        late = np.median(steps[half:])
        are_even = max(early, late) <= _EVEN * min(early, late)
        are_sums = seen[-1] >= _GROWN * seen[0] and are_even
        are_of_clock = np.median(steps) < _FINE * seen[0]
        votes.append(bool(are_sums or are_of_clock))
    return 2 * sum(votes) > len(votes)
