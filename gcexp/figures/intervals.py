"""Intervals of a median that assume no distribution."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

_ODDS = 32  # to one against, on each side of an interval: five seeds that agree decide, four do not


def sign_interval(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Interval of a median from numbers that are known to lie between `low` and `high` each.

    Parameters
    ----------
    low, high : ndarray, shape (S,)
        Ends; equal where the number is known.

    Returns
    -------
    tuple of float
        k-th smallest of `low` and k-th largest of `high`, with the largest k for which ``P(Bin(S, 1/2) < k)
        <= 1/32``; without end in both directions below five numbers.

    Examples
    --------
    >>> five = np.array([1.2, 1.1, 1.4, 1.3, 1.25])
    >>> [float(end) for end in sign_interval(five, five)], sign_interval(five[:4], five[:4])
    ([1.1, 1.4], (-inf, inf))
    """
    k = _trimmed(len(low))
    return (float(np.sort(low)[k - 1]), float(np.sort(high)[-k])) if k else (-math.inf, math.inf)


@cache
def _trimmed(count: int) -> int:
    """Largest k with P(Bin(count, 1/2) < k) <= 1/32."""
    below, k = 1, 0  # sum of C(count, j) for j <= k
    while _ODDS * below <= 2**count:
        k += 1
        below += math.comb(count, k)
    return k
