"""How long did workers take whose times a timeout hides? An estimate from the longest times that were logged.

A timeout gives up every worker that takes longer than it, so the times that are missing are the longest of all. What is
known of them is how many they are, and how the long times that were logged thin out below the timeout.
"""

from __future__ import annotations

import numpy as np

_LONG = 0.2  # share of the logged times that count as long
_LEAST = 10  # long times; fewer tell nothing


def hides_the_longest(logged: np.ndarray, hidden: int) -> bool:
    """Whether the longest times are missing, all beyond one limit, rather than times like those that were logged.

    Times that are long thin out about exponentially: the j-th longest of all is on the mean theta / j longer than the
    next one (A. Rényi, "On the theory of order statistics", Acta Mathematica Hungarica 4, 1953). If m longer ones are
    hidden, the j-th longest that was logged is the (m + j)-th longest of all, and the gap is theta / (m + j). The
    answer is which of the two makes the gaps between the longest logged times more likely.

    Parameters
    ----------
    logged : ndarray
        Times that were logged, in any order.
    hidden : int
        How many are missing (m).

    Examples
    --------
    >>> x = np.random.default_rng(0).exponential(size=1000)
    >>> limit = np.quantile(x, 0.95)
    >>> hides_the_longest(x[x < limit], 50), hides_the_longest(x[50:], 50)
    (True, False)
    """
    longest_first = np.sort(logged)[::-1]
    count = min(max(hidden // 2, 2 * _LEAST), int(_LONG * len(logged)))
    if count < _LEAST:
        return False
    gaps = longest_first[:count] - longest_first[1 : count + 1]
    if not gaps.any():
        return True
    rank = np.arange(1, count + 1)
    theta_of_all = (rank * gaps).mean()
    theta_of_the_shorter = ((hidden + rank) * gaps).mean()
    more_likely = np.log((hidden + rank) / rank).sum() - count * np.log(theta_of_the_shorter / theta_of_all)
    return bool(more_likely > 0)


def mean_beyond(logged: np.ndarray, hidden: int, limit: float) -> float:
    """Mean of `hidden` times that are longer than a limit; NaN where the logged times are too few to tell.

    Times above u, the 80 % quantile of the N logged ones, are taken to be exponential beyond u: x - u has the mean
    theta. Of these, k were logged, and m hidden ones are only known to be longer than the limit c. The estimate of
    maximum likelihood is

        theta = (sum over the k of (x - u) + m (c - u)) / k

    (B. Epstein and M. Sobel, "Life testing", Journal of the American Statistical Association 48, 1953), and a hidden
    time is c + theta on the mean. Where more times are hidden than long ones were logged, nothing is told.

    Examples
    --------
    >>> x = np.random.default_rng(0).exponential(size=1000)
    >>> limit = np.quantile(x, 0.95)
    >>> round(mean_beyond(x[x < limit], 50, limit), 2), x[x >= limit].mean().round(2).item()
    (3.94, 3.97)
    """
    usual = np.quantile(logged, 1 - _LONG)
    excess = logged[logged > usual] - usual
    if len(excess) < max(_LEAST, hidden):
        return float("nan")
    theta = (excess.sum() + hidden * (limit - usual)) / len(excess)
    return float(limit + theta)
