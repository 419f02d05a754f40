"""What a timeout, a quorum or a spare worker would save, and how much of the gradient each would drop."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from gcexp_adviser.diagnosis.logged import longest, mean, usual_number
from gcexp_adviser.page import percent
from gcexp_adviser.remedies.remedies import growth

LIMITS = (0.001, 0.01, 0.05)  # largest shares of the gradient that a timeout may drop
_FEWER = (1, 2)  # workers that a quorum leaves out, and spare workers
_LEAST_USED = 0.5  # of the iterations; a setting that uses a worker less often is not recommended
_ANY_DATA = "every worker can draw any data"  # the condition under which nobody's data are lost
_COLUMNS = [
    *("setting", "limit", "phi", "value", "time", "time_without_event", "used", "least_used_worker"),
    *("worst_iteration", "kept_on_second_half", "remark", "never_used"),
]
_TIE = 1e-9


def settings(x: np.ndarray, phis: tuple[float, ...], without: np.ndarray | None = None) -> pd.DataFrame:
    """Numbers to type into synchronous training: chosen on the first half of the times (T, n), judged on the second.

    A timeout D for the largest dropped share q is the least time of the first half that at most a share q of all its
    times exceeds; an iteration then takes max(fastest worker, min(slowest worker, D)). A quorum of n - s waits for
    that many workers. With b spare workers, a row for each phi, n - b are waited for, and each carries n / (n - b) of
    a share, so that a batch is whole; every worker must be able to draw any data for that. Where the data stay with
    their workers, those of the least used worker are lost as with the quorum, which the remark says.

    Where other workers are asked in each iteration, times are NaN of those who were not; n is then how many usually
    are, and a share of the gradient or of a worker's data is that of the iterations in which it was asked.

    Parameters
    ----------
    x : array (T, n)
        Times as they were recorded: a setting has to stand the slow spells as well.
    phis : tuple of float
        Shares of the time that do not grow with the load, for spare workers.
    without : array (T, n), optional
        The same times without the slowness of single events; by default there was none.

    Returns
    -------
    DataFrame
        ``value`` is what to type: the time in the trace's unit, how many workers are waited for, or how many are
        spare. ``time`` is the mean iteration over that of waiting for all, and ``time_without_event`` the same on the
        times `without`, NaN where none are given; ``used`` the share of the gradient that is used,
        ``least_used_worker`` that of the data of the worker heard least, ``worst_iteration`` that in the worst
        iteration. ``kept_on_second_half`` says whether no more than ``limit`` was dropped; ``remark`` why a setting is
        not recommended: that, or some worker's data count less than half the time; ``never_used`` lists the columns of
        workers never heard.
    """
    half = len(x) // 2
    n = usual_number(x)
    first = x[:half]
    first = np.sort(first[~np.isnan(first)])
    second = x[half:]
    fewer = [s for s in _FEWER if s < n]
    rows: list[dict[str, Any]] = []
    for limit in LIMITS:
        stop = first[ceil((1 - limit) * len(first) - _TIE) - 1]
        used = _used(second, _until_timeout(second, stop), limit)
        rows.append({"setting": "timeout", "limit": limit, "value": stop} | used)
    for s in fewer:
        used = _used(second, _until_quorum(second, n - s), None)
        rows.append({"setting": "quorum", "limit": None, "value": n - s} | used)
    for b in fewer:
        used = _used_with_spares(second, n - b)
        rows += [{"setting": "spare", "value": b, "phi": phi} | used for phi in phis]
    for row in rows:
        row["time"] = _ratio(row, second)
        row["time_without_event"] = np.nan if without is None else _ratio(row, without[half:])
    return pd.DataFrame(rows, columns=_COLUMNS)


def _until_timeout(x: np.ndarray, stop: float) -> np.ndarray:
    """How long iterations of times x (T, n) take with a timeout (T,): at least until the fastest worker is there."""
    return np.maximum(np.fmin.reduce(x, axis=1), np.minimum(longest(x), stop))


def _until_quorum(x: np.ndarray, awaited: int) -> np.ndarray:
    """How long iterations of times x (T, n) take until so many workers are there (T,)."""
    return np.fmin(np.partition(x, awaited - 1, axis=1)[:, awaited - 1], longest(x))


def _ratio(row: dict[str, Any], x: np.ndarray) -> float:
    """Mean iteration of a setting on times x (T, n), over that of waiting for all."""
    n = usual_number(x)
    if row["setting"] == "timeout":
        took = _until_timeout(x, row["value"]).mean()
    elif row["setting"] == "quorum":
        took = _until_quorum(x, row["value"]).mean()
    else:
        awaited = n - row["value"]
        took = growth(n / awaited, row["phi"]) * _until_quorum(x, awaited).mean()
    return float(took / longest(x).mean())


def _used(x: np.ndarray, lasts: np.ndarray, limit: float | None) -> dict[str, Any]:
    """What iterations of times x (T, n) use that wait until `lasts` (T,), and whether they drop at most `limit`."""
    heard = np.where(np.isnan(x), np.nan, x <= lasts[:, None])
    by_worker = np.nan_to_num(mean(heard, axis=0), nan=1.0)  # who was never asked is not dropped either
    used = mean(heard)
    kept = limit is None or bool(1 - used <= limit + _TIE)
    remark = ""
    if not kept:
        remark = "drops more than that"
    elif by_worker.min() < _LEAST_USED - _TIE:
        remark = f"do not, unless {_ANY_DATA}"
    return {
        "used": used,
        "least_used_worker": by_worker.min(),
        "worst_iteration": mean(heard, axis=1).min(),
        "kept_on_second_half": kept,
        "remark": remark,
        "never_used": np.flatnonzero(by_worker == 0).tolist(),
    }


def _used_with_spares(x: np.ndarray, awaited: int) -> dict[str, Any]:
    """The same where so many workers carry the whole batch: all of it, if every worker can draw any data."""
    of_quorum = _used(x, _until_quorum(x, awaited), None)
    least = percent(of_quorum["least_used_worker"], 1)
    return {
        "used": 1.0,
        "least_used_worker": 1.0,
        "worst_iteration": 1.0,
        "kept_on_second_half": True,
        "remark": f"if {_ANY_DATA}; else least used {least}",
        "never_used": [],
    }
