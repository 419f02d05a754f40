"""Statistics of a matrix of recorded times: how much they vary, and between what."""

from __future__ import annotations

from math import nan

import numpy as np

from gcexp_adviser.diagnosis.logged import has_gaps, mean, median, two_way


def statistics(times: np.ndarray) -> dict[str, float]:
    """Statistics of a matrix of times (R, N), each of them NaN where one row says nothing.

    Times are NaN where a worker has no row, and each row has one at least. Shares of variance are then those of means
    of what was logged, `gcexp_adviser.diagnosis.logged.two_way`.

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
    logged = times[~np.isnan(times)] if has_gaps(times) else times
    whole_mean = float(logged.mean())
    peak = np.fmax.reduce(times, axis=1) / median(times, axis=1)
    statistics = {
        "mean": whole_mean,
        "cov": float(logged.std() / whole_mean),
        "row_cov": float(np.median(np.nanstd(times, axis=1) / mean(times, axis=1))),
        "max_over_median": float(np.median(peak)),
        "max_over_median_95": float(np.quantile(peak, 0.95)),
        **dict.fromkeys(("worker", "iteration", "rest", "lag1", "repeats"), nan),
    }
    whole = logged.var()
    if len(times) < 2 or whole == 0:
        return statistics
    means = two_way(times)
    by_worker = float(means.by_worker.var() / whole)
    by_iteration = float(means.by_row.var() / whole)
    statistics["worker"] = by_worker
    statistics["iteration"] = by_iteration
    statistics["rest"] = 1 - by_worker - by_iteration
    both = ~np.isnan(times[1:]) & ~np.isnan(times[:-1])
    if not both.any():
        return statistics
    statistics["repeats"] = float((times[1:] == times[:-1])[both].mean())
    before = np.where(both, times[:-1], np.nan)
    after = np.where(both, times[1:], np.nan)
    before = before - mean(before, axis=0)
    after = after - mean(after, axis=0)
    spread = np.sqrt(np.nansum(before**2, axis=0) * np.nansum(after**2, axis=0))
    moving = spread > 0
    if moving.any():
        together = np.nansum(before * after, axis=0)
        statistics["lag1"] = float((together[moving] / spread[moving]).mean())
    return statistics
