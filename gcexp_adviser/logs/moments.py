"""Numbers that are called times and are none: moments, which say when something was, not how long it took."""

from __future__ import annotations

import numpy as np

from gcexp.errors import DataError

_ENOUGH = 10  # rows from which on times that only grow are no chance
_RISING = (
    0.75  # share of a worker's steps in which moments rise; those of whole seconds stand still in others
)
_GROWN = 3.0  # ratio from which on times that count from a start have grown: as many steps went before as are there
_EVEN = 2.5  # ratio up to which the steps of the first and of the second half are alike
_FINE = (
    2e-4  # share of a time by which durations that rise from row to row rise at least: they repeat no better
)
_FIRST, _LAST = 1e9, 4e9  # seconds since 1970 of the years 2001 to 2096
_ALIKE = 1.05  # ratio of the last and the first date of a log
_FAR = 300.0  # ratio of workers' usual times from which on their units may differ


def refuse_moments(times: np.ndarray, place: str, cure: str, escape: str) -> str:
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
    cure : str
        What to type for differences of moments.
    escape : str
        What to type where they are durations.

    Returns
    -------
    str
        A remark where times rise throughout and may be durations; else empty.

    Examples
    --------
    >>> refuse_moments(np.array([[0.3, 0.4], [0.2, 0.5]]), "mine", "", "")
    ''
    """
    shortest = float(np.nanmin(times))
    longest = float(np.nanmax(times))
    for unit, parts in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if _FIRST * parts <= shortest and longest < _LAST * parts and longest < _ALIKE * shortest:
            raise DataError(
                f"{place}: the times go from {shortest:.10g} to {longest:.10g}, as dates in {unit} since 1970 do; "
                f"{cure}; where they are durations, name their unit: {escape}"
            )
    if len(times) < _ENOUGH or not _only_grow(times):
        return ""
    told = f"the times of every worker only grow from iteration to iteration, from {shortest:.6g} to {longest:.6g}"
    if _count_from_a_start(times):
        raise DataError(
            f"{place}: {told}: they seem to count from the start of the run; {cure}; where they are durations, name "
            f"their unit: {escape}"
        )
    return f"{told}: took them for durations; where they say when an iteration ended: {cure}"


def _only_grow(times: np.ndarray) -> bool:
    """Whether no worker's time falls, and each one's rises in most steps."""
    if (np.diff(times[:_ENOUGH], axis=0) < 0).any():  # as in nearly all logs
        return False
    steps = np.diff(times, axis=0)
    known = ~np.isnan(steps)
    counts = known.sum(axis=0)
    if counts.min() < _ENOUGH - 1:
        return False
    if (steps[known] < 0).any():
        return False
    rising = (known & (steps > 0)).sum(axis=0)
    return bool((rising >= _RISING * counts).all())


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
        half = len(steps) // 2
        early = np.median(steps[:half])
        late = np.median(steps[half:])
        are_even = max(early, late) <= _EVEN * min(early, late)
        are_sums = seen[-1] >= _GROWN * seen[0] and are_even
        are_of_clock = np.median(steps) < _FINE * seen[0]
        votes.append(bool(are_sums or are_of_clock))
    return 2 * sum(votes) > len(votes)


def other_scale(times: np.ndarray, labels: tuple[str, ...]) -> str:
    """A sentence about the worker whose usual time is so far from the others' that its unit may differ; empty for none.

    >>> other_scale(np.array([[300.0, 0.3, 0.3]]), ("a", "b", "c"))
    'worker a takes 1e+03 times as long as the others: where its times have another unit, make them the same'
    """
    usual = np.nanmedian(times, axis=0)
    if len(usual) < 2:
        return ""
    typical = np.sort(usual)[(len(usual) - 1) // 2]
    ratios = usual / typical
    farthest = int(np.abs(np.log(ratios)).argmax())
    if 1 / _FAR < ratios[farthest] < _FAR:
        return ""
    return (
        f"worker {labels[farthest]} takes {ratios[farthest]:.3g} times as long as the others: where its times have "
        "another unit, make them the same"
    )
