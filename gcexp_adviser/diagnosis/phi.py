"""The share phi of a worker's time that does not grow with its load: as it is given, and as a trace tells it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcexp.delays.trace_loads import own_load
from gcexp.errors import require
from gcexp_adviser.diagnosis.logged import counts, has_gaps, mean, median
from gcexp_adviser.diagnosis.resampling import (
    LEVELS,
    Number,
    autocorrelation_time,
    block_length,
    ratio_interval,
    resampled_rows,
    widened,
)

_ROWS_OF_A_LOAD = 20  # of fewer iterations the typical time is not known
#: Correlation of the fixed and the growing part below which a clock has missed some of the work.
_MISSED = -0.5


def share(value: Any) -> tuple[float, ...]:
    """The share phi, or its range, as a person gives it: a number, ``low,high`` or a pair.

    Examples
    --------
    >>> share("0.5"), share("0,1"), share((0.2, 0.4))
    ((0.5,), (0.0, 1.0), (0.2, 0.4))
    """
    given, shown = value, repr(value)
    if isinstance(value, str):
        given, shown = value.split(","), value
    try:
        found = np.array(given, float).ravel()
    except (TypeError, ValueError):
        found = np.empty(0)
    rising = (np.diff(found) > 0).all()
    shares = ((found >= 0) & (found <= 1)).all()
    fits = len(found) in (1, 2) and rising and shares
    require(bool(fits), f"phi is a share in [0, 1] or a range low,high, got {shown}")
    return tuple(found.tolist())


def share_of_loads(times: np.ndarray, loads: np.ndarray, seed: int = 0) -> tuple[Number | None, str]:
    """Phi at the own load, from times (T, n) of iterations with several loads (T,); None and why where it is unknown.

    Times are NaN where a worker has no row, and a worker without any at the load of most iterations does not count.
    The typical time at load L is F + C L: least squares weighted by 1 / time over the loads with 20 iterations or more.
    Then phi = F / (F + C L_0), cut to [0, 1], with L_0 the own load (`gcexp.delays.trace_loads.own_load`). With loads
    1 and 1/2, whose typical times have the ratio r, this is 2 r - 1.

    The typical time is a median over iterations and workers together, of times over the worker's own median at the load
    of most iterations. A mean would tell how many slow spells the few iterations at a load happened to have. The 95 %
    interval comes from a bootstrap of rows inside each load.
    """
    at = [load for load in np.unique(loads) if (loads == load).sum() >= _ROWS_OF_A_LOAD]
    if len(at) < 2:
        return None, f"it takes two loads with {_ROWS_OF_A_LOAD} iterations each to measure it"
    groups = [times[loads == load] for load in at]
    usual = median(max(groups, key=len), axis=0)
    typical, resampled, independent = [], [], []
    for place, group in enumerate(groups):
        scaled = group / usual
        middle = np.nanmedian(scaled)
        typical.append(middle)
        # Of a median this is what rows that depend on each other share
        above = mean(np.where(np.isnan(scaled), np.nan, scaled > middle), axis=1)
        block = block_length(len(scaled), autocorrelation_time(above))
        independent.append(len(scaled) / block)
        resampled.append(
            [np.nanmedian(scaled[rows]) for rows in resampled_rows(len(scaled), block, seed + place)]
        )
    found = np.array(typical)
    own = own_load(loads)

    if len(at) > 2:
        off_the_line = np.abs(found - np.polyval(_line(at, found), at))
        if (off_the_line > 3 * np.std(resampled, axis=1)).any():
            return None, "the typical times of the loads are not on a line"
    phi = _fixed_share(at, found, own)
    ends = np.percentile([_fixed_share(at, some, own) for some in np.transpose(resampled)], LEVELS)
    low, high = widened(phi, ends, min(independent))
    return Number(phi, max(low, 0.0), min(high, 1.0)), ""


def _line(loads: list[float], times: np.ndarray) -> np.ndarray:
    """Slope and value at load 0 of the line through typical times, by least squares weighted by 1 / time."""
    return np.polyfit(loads, times, 1, w=1 / np.sqrt(times))


def _fixed_share(loads: list[float], times: np.ndarray, own: float) -> float:
    """The share F / (F + C L_0) of a line through typical times at the own load L_0, cut to [0, 1]."""
    growth, fixed = _line(loads, times)
    whole = fixed + growth * own
    if whole <= 0:  # times that fall so fast do not grow with the load at all
        return 1.0
    return float(np.clip(fixed / whole, 0, 1))


def share_of_compute(times: np.ndarray, compute: np.ndarray, seed: int = 0) -> tuple[Number | None, str]:
    """The same where the part of each time that grows with the load was measured: 1 - mean(compute) / mean(time).

    Both are those of the times (T, n) that are there; the others are NaN.
    """
    if has_gaps(times) or has_gaps(compute):
        logged = ~np.isnan(times - compute)
        rows = logged.any(axis=1)  # others say nothing
        if not rows.any():
            return None, "no row has both a time and a compute time"
        times = np.where(logged, times, np.nan)[rows]
        compute = np.where(logged, compute, np.nan)[rows]
    fixed = (times - compute).ravel()
    growing = compute.ravel()
    if counts(growing) > 2 and np.nanstd(fixed) > 0 and np.nanstd(growing) > 0:
        logged = ~np.isnan(growing)
        together = np.corrcoef(fixed[logged], growing[logged])[0, 1]
        if together < _MISSED:
            return None, "the rest of the time falls where compute rises: its clock misses part of the work"
    phi = float(1 - mean(compute) / mean(times))
    if phi < 0:
        longer = f"compute takes {1 - phi:.4g} times as long as the time on the mean, so that its clock is another one"
        return None, f"{longer}; where all of the time is compute: phi=0"
    if len(times) < 2:
        return Number(phi), ""
    n = times.shape[1]
    low, high, _ = ratio_interval(np.nansum(compute, axis=1) / n, np.nansum(times, axis=1) / n, seed)
    return Number(phi, max(1 - high, 0.0), min(1 - low, 1.0)), ""
