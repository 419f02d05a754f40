"""The share phi of a worker's time that does not grow with its load: as it is given, and as a trace tells it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcexp.advice.resampling import (
    LEVELS,
    Number,
    autocorrelation_time,
    block_length,
    ratio_interval,
    resampled_rows,
    widened,
)
from gcexp.errors import require

_ROWS_OF_A_LOAD = 20


def share(value: Any) -> tuple[float, ...]:
    """The share phi, or its range, as a person gives it: a number, ``low,high`` or a pair.

    Examples
    --------
    >>> share("0.5"), share("0,1"), share((0.2, 0.4))
    ((0.5,), (0.0, 1.0), (0.2, 0.4))
    """
    try:
        found = np.array(value.split(",") if isinstance(value, str) else value, float).ravel()
    except (TypeError, ValueError):
        found = np.empty(0)
    fits = len(found) in (1, 2) and (np.diff(found) > 0).all() and ((found >= 0) & (found <= 1)).all()
    shown = value if isinstance(value, str) else repr(value)
    require(bool(fits), f"phi is a share in [0, 1] or a range low,high, got {shown}")
    return tuple(found.tolist())


def share_of_loads(times: np.ndarray, loads: np.ndarray, seed: int = 0) -> tuple[Number | None, str]:
    """Phi from times (T, n) of iterations with several loads (T,); None where it cannot be said, and why.

    The mean time at load L is F + C L: least squares weighted by 1 / mean. phi = F / (F + C L_0), with L_0 the
    smallest load, cut to [0, 1]. Its interval comes from a bootstrap inside each load.
    """
    at = np.array([load for load in np.unique(loads) if (loads == load).sum() >= _ROWS_OF_A_LOAD])
    if len(at) < 2:
        return None, f"it takes two loads with {_ROWS_OF_A_LOAD} iterations each to measure it"
    rows = [times[loads == load].mean(1) for load in at]
    blocks = [block_length(len(m), autocorrelation_time(m)) for m in rows]
    drawn = [
        m[resampled_rows(len(m), block, seed + place)].mean(1)
        for place, (m, block) in enumerate(zip(rows, blocks, strict=True))
    ]

    def line(means: np.ndarray) -> np.ndarray:
        return np.polyfit(at, means, 1, w=1 / np.sqrt(means))

    def phi_of(means: np.ndarray) -> float:
        C, F = line(means)
        return float(np.clip(F / (F + C * at[0]), 0, 1))

    means = np.array([m.mean() for m in rows])
    if len(at) > 2 and (np.abs(means - np.polyval(line(means), at)) > 3 * np.std(drawn, axis=1)).any():
        return None, "the mean times of the loads are not on a line"
    ends = np.percentile([phi_of(some) for some in np.transpose(drawn)], LEVELS)
    independent = min(len(m) / block for m, block in zip(rows, blocks, strict=True))
    low, high = widened(phi_of(means), ends, independent)
    return Number(phi_of(means), max(low, 0.0), min(high, 1.0)), ""


def share_of_compute(times: np.ndarray, compute: np.ndarray, seed: int = 0) -> tuple[Number | None, str]:
    """The same where the part of each time that grows with the load was measured: 1 - mean(compute) / mean(time)."""
    fixed = times - compute
    if compute.size > 2 and fixed.std() > 0 and compute.std() > 0:
        if np.corrcoef(fixed.ravel(), compute.ravel())[0, 1] < -0.5:
            why = "the rest of the time falls where compute rises: its clock misses part of the work"
            return None, why
    phi = float(1 - compute.mean() / times.mean())
    if len(times) < 2:
        return Number(phi), ""
    low, high, _ = ratio_interval(compute.mean(1), times.mean(1), seed)
    return Number(phi, max(1 - high, 0.0), min(1 - low, 1.0)), ""
