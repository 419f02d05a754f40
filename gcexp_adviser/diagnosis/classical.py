"""Classical tests by `scipy.special` alone: `scipy.stats`, which has them too, takes a second or more to import."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, stdtr

from gcexp.traces.ranks import ranks
from gcexp_adviser.diagnosis.logged import counts, mean


class Line(NamedTuple):
    """A line by least squares: its slope, the standard error of that, and p of a slope of 0."""

    slope: float
    error: float
    p: float


def line_through(x: np.ndarray, y: np.ndarray) -> Line:
    """The line through at least three points by least squares, with the t-test of its slope.

    >>> line = line_through(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 3.0, 5.0]))
    >>> round(line.slope, 9), round(line.error, 6), round(line.p, 6)
    (1.6, 0.141421, 0.007722)
    """
    dx = x - x.mean()
    dy = y - y.mean()
    slope = float(dx @ dy / (dx @ dx))
    degrees = len(x) - 2
    rest = dy - slope * dx
    error = float(np.sqrt(rest @ rest / degrees / (dx @ dx)))
    if not error:
        return Line(slope, 0.0, 0.0 if slope else 1.0)
    return Line(slope, error, float(2 * stdtr(degrees, -abs(slope / error))))


def p_of_equal_means(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P of the t-test of two samples (K, n) and (L, n) of equal variance, in each column; NaN where nothing varies.

    Values that are NaN are not there, which may be other ones in each column.

    >>> p_of_equal_means(np.array([[0.0], [1.0], [2.0]]), np.array([[2.0], [3.0], [4.0]])).round(6)
    array([0.070484])
    """
    mean_a = mean(a, axis=0)
    mean_b = mean(b, axis=0)
    of_a = counts(a, axis=0)
    of_b = counts(b, axis=0)
    degrees = of_a + of_b - 2
    squares = np.nansum((a - mean_a) ** 2, axis=0) + np.nansum((b - mean_b) ** 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(squares / degrees * (1 / of_a + 1 / of_b))
        t = (mean_a - mean_b) / error
    return 2 * stdtr(degrees, -np.abs(t))


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks.

    >>> round(rank_correlation(np.array([1, 2, 2, 4]), np.array([10, 30, 20, 40])), 6)
    0.948683
    """
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def p_of_even_odds(wins: int, trials: int) -> float:
    """Two-sided p of the sign test: of so many wins or more extreme ones, where both outcomes are as likely.

    >>> p_of_even_odds(9, 10), p_of_even_odds(5, 10)
    (0.021484375, 1.0)
    """
    fewer = min(wins, trials - wins)
    return min(1.0, float(2 * bdtr(fewer, trials, 0.5)))
