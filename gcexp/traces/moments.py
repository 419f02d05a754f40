"""Numbers that are called times and are none: moments, which say when something was, not how long it took."""

from __future__ import annotations

import numpy as np

from gcexp.errors import DataError

_ENOUGH = 10  # rows from which on times that only grow are no chance
_RISING = (
    0.75  # share of a worker's steps in which moments rise; those of whole seconds stand still in others
)
_FIRST, _LAST = 1e9, 4e9  # seconds since 1970 of the years 2001 to 2096
_ALIKE = 1.05  # ratio of the last and the first date of a log
_FAR = 300.0  # ratio of workers' usual times from which on their units may differ


def refuse_moments(times: np.ndarray, place: str, cure: str) -> None:
    """Raise `DataError` where times (R, N) seem to be dates, or to count from the start of the run.

    Parameters
    ----------
    times : array
        NaN where a worker has none; rows in the order of their iterations.
    place : str
        How the sentence begins.
    cure : str
        What to type for differences of moments.

    Examples
    --------
    >>> refuse_moments(np.array([[0.3, 0.4], [0.2, 0.5]]), "mine", "")
    """
    seen = times[~np.isnan(times)]
    shortest, longest = float(seen.min()), float(seen.max())
    for unit, parts in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if _FIRST * parts <= shortest and longest < _LAST * parts and longest < _ALIKE * shortest:
            raise DataError(
                f"{place}: the times go from {shortest:.10g} to {longest:.10g}, as dates in {unit} since 1970 do; "
                f"{cure}; where they are durations, name their unit, as in unit=ns"
            )
    if len(times) >= _ENOUGH and _only_grow(times):
        raise DataError(
            f"{place}: the times of every worker only grow from iteration to iteration, from {shortest:.6g} to "
            f"{longest:.6g}: they seem to count from the start of the run; {cure}; where they are durations, name "
            "their unit, as in unit=s"
        )


def _only_grow(times: np.ndarray) -> bool:
    """Whether no worker's time falls, and each one's rises in most steps."""
    steps = np.diff(times, axis=0)
    known = ~np.isnan(steps)
    counts = known.sum(axis=0)
    if counts.min() < _ENOUGH - 1:
        return False
    if (steps[known] < 0).any():
        return False
    rising = (known & (steps > 0)).sum(axis=0)
    return bool((rising >= _RISING * counts).all())


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
