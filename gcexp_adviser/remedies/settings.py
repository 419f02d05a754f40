"""What a timeout, a quorum or a spare worker would save, and how much of the gradient each would drop."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from gcexp_adviser.remedies.remedies import growth

LIMITS = (0.001, 0.01, 0.05)  # largest shares of the gradient that a timeout may drop
_FEWER = (1, 2)  # workers that a quorum leaves out, and spare workers
_LEAST_USED = 0.5  # of the iterations; a setting that uses a worker less often is not recommended
_COLUMNS = [
    *("setting", "limit", "phi", "value", "time", "used", "least_used_worker", "worst_iteration"),
    *("kept_on_second_half", "remark", "never_used"),
]
_TIE = 1e-9
#: With spare workers nothing of a batch is dropped.
_WHOLE = {
    "used": 1.0,
    "least_used_worker": 1.0,
    "worst_iteration": 1.0,
    "kept_on_second_half": True,
    "remark": "",
    "never_used": [],
}


def settings(x: np.ndarray, phis: tuple[float, ...]) -> pd.DataFrame:
    """Numbers to type into synchronous training: chosen on the first half of the times (T, n), judged on the second.

    A timeout D for the largest dropped share q is the least time of the first half that at most a share q of all its
    times exceeds; an iteration then takes max(fastest worker, min(slowest worker, D)). A quorum of n - s waits for
    that many workers. With b spare workers, a row for each phi, n - b are waited for, and each carries n / (n - b) of
    a share, so that a batch is whole; it must be drawn anew each time, or it would always lack the same data.

    ``value`` is what to type: the time in the trace's unit, how many workers are waited for, or how many are spare.
    ``time`` is the mean iteration over that of waiting for all; ``used`` the share of the gradient that is used,
    ``least_used_worker`` that of the data of the worker heard least, ``worst_iteration`` that in the worst iteration.
    ``kept_on_second_half`` says whether no more than ``limit`` was dropped; ``remark`` why a setting is not
    recommended: that, or some worker's data count less than half the time; ``never_used`` lists the columns of
    workers never heard.
    """
    half = len(x) // 2
    n = x.shape[1]
    first = np.sort(x[:half], axis=None)
    second = x[half:]
    ordered = np.sort(second, axis=1)
    waiting = ordered[:, -1].mean()
    fewer = [s for s in _FEWER if s < n]
    rows = []
    for limit in LIMITS:
        stop = first[ceil((1 - limit) * len(first) - _TIE) - 1]
        lasts = np.maximum(ordered[:, 0], np.minimum(ordered[:, -1], stop))
        given = {"setting": "timeout", "limit": limit, "value": stop, "time": lasts.mean() / waiting}
        rows.append(given | _judged(second, lasts, limit))
    for s in fewer:
        lasts = ordered[:, n - s - 1]
        given = {"setting": "quorum", "limit": None, "value": n - s, "time": lasts.mean() / waiting}
        rows.append(given | _judged(second, lasts, None))
    for b in fewer:
        for phi in phis:
            time = growth(n / (n - b), phi) * ordered[:, n - b - 1].mean() / waiting
            given = {"setting": "spare", "value": b, "phi": phi, "time": time}
            rows.append(given | _WHOLE)
    return pd.DataFrame(rows, columns=_COLUMNS)


def _judged(x: np.ndarray, lasts: np.ndarray, limit: float | None) -> dict[str, Any]:
    """What iterations of times x (T, n) use that wait until `lasts` (T,), and whether they drop at most `limit`."""
    heard = x <= lasts[:, None]
    by_worker = heard.mean(0)
    used = heard.mean()
    kept = limit is None or bool(1 - used <= limit + _TIE)
    remark = ""
    if not kept:
        remark = "drops more than that"
    elif by_worker.min() < _LEAST_USED - _TIE:
        remark = "do not, unless every worker sees all data"
    return {
        "used": used,
        "least_used_worker": by_worker.min(),
        "worst_iteration": heard.mean(1).min(),
        "kept_on_second_half": kept,
        "remark": remark,
        "never_used": np.flatnonzero(by_worker == 0).tolist(),
    }
