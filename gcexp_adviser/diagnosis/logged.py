"""Estimates from the times that were logged alone: NaN stands where a worker has no row in an iteration.

Where nothing is missing each of them is the usual one, to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Of a least-squares fit: steps at most, and the change of an effect at which it ends.
_STEPS, _CLOSE = 1000, 1e-12


class Means(NamedTuple):
    """Means of rows (T,) and of workers (n,) as if all were there, and the mean of all."""

    by_row: np.ndarray
    by_worker: np.ndarray
    mean: float


def has_gaps(y: np.ndarray) -> bool:
    """Whether some values are missing."""
    return bool(np.isnan(y).any())


def counts(y: np.ndarray, axis: int | None = None) -> np.ndarray:
    """How many values were logged along an axis, or in all."""
    return np.count_nonzero(~np.isnan(y), axis=axis)


def mean(y: np.ndarray, axis: int | None = None) -> np.ndarray:
    """The mean of what was logged; NaN where nothing was.

    >>> mean(np.array([[1.0, np.nan], [3.0, np.nan]]), axis=0)
    array([ 2., nan])
    """
    if not has_gaps(y):
        return y.mean(axis)
    with np.errstate(invalid="ignore"):
        return np.nansum(y, axis) / counts(y, axis)


def median(y: np.ndarray, axis: int) -> np.ndarray:
    """The median of what was logged; NaN where nothing was.

    >>> median(np.array([[1.0, np.nan], [3.0, np.nan], [9.0, np.nan]]), axis=0)
    array([ 3., nan])
    """
    if not has_gaps(y):
        return np.median(y, axis)
    ordered = np.sort(y, axis)  # what is missing comes last
    logged = np.expand_dims(counts(y, axis), axis)
    below = np.take_along_axis(ordered, np.maximum(logged - 1, 0) // 2, axis)
    above = np.take_along_axis(ordered, np.minimum(logged // 2, y.shape[axis] - 1), axis)
    return ((below + above) / 2).squeeze(axis)


def longest(y: np.ndarray) -> np.ndarray:
    """The longest of what was logged in each row (T,)."""
    return np.fmax.reduce(y, axis=1)


def usual_number(y: np.ndarray) -> int:
    """How many workers are asked in an iteration of y (T, n), the middle number; NaN stands for no time."""
    return int(np.median(counts(y, axis=1)))


def usual_count(y: np.ndarray, axis: int) -> float:
    """Harmonic mean of the numbers of values along an axis: as many would give means that are as sure.

    >>> usual_count(np.ones((5, 3)), axis=1), usual_count(np.array([[1.0, 1.0], [1.0, np.nan]]), axis=1)
    (3.0, 1.3333333333333333)
    """
    size = y.shape[axis]
    logged = counts(y, axis)
    return float(size / (size / logged[logged > 0]).mean())


def two_way(y: np.ndarray) -> Means:
    """Means of rows and workers of y (T, n); NaN for a row in which nothing was logged.

    They are the least-squares fit y = row + worker - mean to what was logged, so that a row does not look fast because
    its slow workers are missing. Where nothing is missing they are plain means. Else one kind of effect is fitted after
    the other until none changes (Gauss and Seidel).

    Examples
    --------
    >>> y = np.add.outer([1.0, 2.0, 3.0], [0.0, 10.0])
    >>> y[0, 1] = np.nan
    >>> means = two_way(y)
    >>> means.by_row.round(6).tolist(), means.by_worker.round(6).tolist(), round(means.mean, 6)
    ([6.0, 7.0, 8.0], [2.0, 12.0], 7.0)
    """
    if not has_gaps(y):
        return Means(y.mean(1), y.mean(0), y.mean())
    worker = np.zeros(y.shape[1])
    for _ in range(_STEPS):
        row = mean(y - worker, axis=1)
        before = worker
        worker = mean(y - row[:, None], axis=0)
        worker = worker - worker.mean()
        if np.abs(worker - before).max() <= _CLOSE:
            break
    whole = float(np.nanmean(row))
    return Means(row, worker + whole, whole)


def degrees_of_rest(y: np.ndarray) -> int:
    """Degrees of freedom that rows and workers leave of what was logged."""
    rows = np.count_nonzero(counts(y, axis=1))
    workers = np.count_nonzero(counts(y, axis=0))
    return int(counts(y)) - rows - workers + 1


def completed(y: np.ndarray) -> np.ndarray:
    """Y (T, n) with the fit of `two_way` where values are missing, which changes neither that fit nor its residuals.

    So sums of squares of a whole matrix become those of what was logged (F. Yates, "The analysis of replicated
    experiments when the field results are incomplete", Empire Journal of Experimental Agriculture 1, 1933).
    """
    if not has_gaps(y):
        return y
    means = two_way(y)
    return np.where(np.isnan(y), means.by_row[:, None] + means.by_worker - means.mean, y)


def without_workers(y: np.ndarray) -> np.ndarray:
    """Y (T, n) of which all workers have one mean where values are missing, so that means do not tell who is there."""
    if not has_gaps(y):
        return y
    means = two_way(y)
    return y - (means.by_worker - means.mean)


def without_rows(y: np.ndarray) -> np.ndarray:
    """Y (T, n) of which all rows have one mean where values are missing, so that means of workers are of like rows."""
    if not has_gaps(y):
        return y
    means = two_way(y)
    return y - (means.by_row - means.mean)[:, None]


def against_row(y: np.ndarray) -> np.ndarray:
    """What each worker takes more than its row, (T, n).

    Of c workers in a row, least squares shrinks the deviations from their own effects by (c - 1) / c, and the error of
    these effects grows as that falls. So deviations are stretched by c (n - 1) / ((c - 1) n): the scatter of a
    worker's values then tells how sure its mean is. A row of one worker tells nothing.
    """
    if not has_gaps(y):
        return y - y.mean(1, keepdims=True)
    n = y.shape[1]
    means = two_way(y)
    own = means.by_worker - means.mean
    logged = counts(y, axis=1)[:, None]
    rest = y - means.by_row[:, None] - own
    with np.errstate(divide="ignore", invalid="ignore"):
        stretched = rest * (logged * (n - 1)) / ((logged - 1) * n)
    return np.where(logged > 1, own + stretched, np.nan)
