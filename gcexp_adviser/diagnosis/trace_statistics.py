"""Statistics of a matrix of recorded times: how much they vary, and between what."""

from __future__ import annotations

from math import nan

import numpy as np


def statistics(times: np.ndarray) -> dict[str, float]:
    """Statistics of a matrix of times (R, N), NaN where one row says nothing.

    ``mean``; ``cov``, standard deviation over mean of all entries; ``row_cov``, the median over rows of the same;
    ``max_over_median`` of a row, its median, and ``max_over_median_95``, its 95 % quantile; shares of variance by
    ``worker``, by ``iteration`` and the ``rest`` (two-way, no interaction); ``lag1``, correlation of a worker's times
    with its previous ones, mean over workers; ``repeats``, share of times equal to the worker's previous one.

    Examples
    --------
    >>> found = statistics(np.array([[1.0, 3.0], [2.0, 4.0], [1.0, 3.0]]))
    >>> found["mean"], round(found["worker"], 2), round(found["iteration"], 2)
    (2.3333333333333335, 0.82, 0.18)
    """
    mean = float(times.mean())
    peak = times.max(1) / np.median(times, axis=1)
    statistics = {
        "mean": mean,
        "cov": float(times.std() / mean),
        "row_cov": float(np.median(times.std(1) / times.mean(1))),
        "max_over_median": float(np.median(peak)),
        "max_over_median_95": float(np.quantile(peak, 0.95)),
        **dict.fromkeys(("worker", "iteration", "rest", "lag1", "repeats"), nan),
    }
    whole = times.var()
    if len(times) < 2 or whole == 0:
        return statistics
    by_worker = float(times.mean(0).var() / whole)
    by_iteration = float(times.mean(1).var() / whole)
    statistics["worker"] = by_worker
    statistics["iteration"] = by_iteration
    statistics["rest"] = 1 - by_worker - by_iteration
    statistics["repeats"] = float((times[1:] == times[:-1]).mean())
    before = times[:-1] - times[:-1].mean(0)
    after = times[1:] - times[1:].mean(0)
    spread = np.sqrt((before**2).sum(0) * (after**2).sum(0))
    moving = spread > 0
    if moving.any():
        together = (before * after).sum(0)
        statistics["lag1"] = float((together[moving] / spread[moving]).mean())
    return statistics
