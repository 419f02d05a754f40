"""Ranks, and the test of two samples by them, without `scipy.stats`, which takes a second or more to import."""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.special import ndtr

_FEW = 8  # values of a sample up to which the distribution is computed exactly, where no two values are equal


def ranks(x: np.ndarray) -> np.ndarray:
    """Ranks from 1, of equal values the mean of theirs.

    >>> ranks(np.array([10.0, 30.0, 20.0, 20.0]))
    array([1. , 4. , 2.5, 2.5])
    """
    _, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[places]


def p_of_equal_ranks(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p of the rank test of two samples (H. B. Mann and D. R. Whitney, 1947).

    With R the sum of the ranks of the m values a among all m + n, U = R - m (m + 1) / 2 is the number of pairs in which
    a is the larger. Where a sample has at most eight values and none are equal, p is exact; else max(U, m n - U) is
    taken to be normal with mean m n / 2 and the variance

        m n / 12 ((m + n + 1) - sum (t^3 - t) / ((m + n) (m + n - 1))),    t equal values each,

    with a correction of 1/2 for continuity. These are the choices of `scipy.stats.mannwhitneyu`.

    Examples
    --------
    >>> round(p_of_equal_ranks(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0, 7.0])), 6)
    0.057143
    """
    m = len(a)
    n = len(b)
    both = np.concatenate([a, b])
    _, equal = np.unique(both, return_counts=True)
    larger = float(ranks(both)[:m].sum() - m * (m + 1) / 2)
    more = max(larger, m * n - larger)
    if min(m, n) <= _FEW and equal.max() == 1:
        return min(1.0, 2 * _ways(m, n, round(m * n - more)) / comb(m + n, m))
    ties = float((equal.astype(float) ** 3 - equal).sum())
    variance = m * n / 12 * ((m + n + 1) - ties / ((m + n) * (m + n - 1)))
    if not variance:
        return 1.0
    return min(1.0, float(2 * ndtr(-(more - m * n / 2 - 0.5) / np.sqrt(variance))))


def _ways(m: int, n: int, most: int) -> int:
    """In how many orders of m and n values at most so many pairs are turned round.

    These are coefficients of the Gaussian binomial, the product of (1 - q^(n + i)) / (1 - q^i) for i = 1, ..., m.
    """
    m, n = sorted((m, n))
    found = np.zeros(most + 1, dtype=object)  # whole numbers of any length
    found[0] = 1
    for i in range(1, m + 1):
        for first in range(min(i, most + 1)):
            found[first::i] = np.add.accumulate(found[first::i])
        if n + i <= most:
            found[n + i :] = found[n + i :] - found[: most + 1 - n - i]
    return int(found.sum())
