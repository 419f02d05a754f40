"""What a timeout, a quorum or a spare worker would save, and how much of the gradient each would drop."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from gcexp.advice.remedies import growth

LIMITS = (0.001, 0.01, 0.05)  # largest shares of the gradient that a timeout may drop
_FEWER = (1, 2)  # workers that a quorum leaves out, and spare workers
_LEAST_USED = 0.5
_COLUMNS = [
    *("setting", "limit", "phi", "value", "time", "used", "least_used_worker", "worst_iteration"),
    *("kept_on_second_half", "remark", "never_used"),
]
_TIE = 1e-9


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
    half, n = len(x) // 2, x.shape[1]
    first, second = np.sort(x[:half], axis=None), x[half:]
    ordered = np.sort(second, axis=1)
    every = ordered[:, -1].mean()
    chosen: list[tuple[dict[str, Any], np.ndarray]] = []
    for limit in LIMITS:
        stop = first[ceil((1 - limit) * len(first) - _TIE) - 1]
        lasts = np.maximum(ordered[:, 0], np.minimum(ordered[:, -1], stop))
        chosen.append(({"setting": "timeout", "limit": limit, "value": stop}, lasts))
    fewer = [s for s in _FEWER if s < n]
    chosen += [({"setting": "quorum", "limit": None, "value": n - s}, ordered[:, n - s - 1]) for s in fewer]
    rows = []
    for given, lasts in chosen:
        heard = second <= lasts[:, None]
        by_worker, used = heard.mean(0), heard.mean()
        kept = given["limit"] is None or bool(1 - used <= given["limit"] + _TIE)
        remark = "" if by_worker.min() >= _LEAST_USED - _TIE else "do not, unless every worker sees all data"
        judged = {
            "time": lasts.mean() / every,
            "used": used,
            "least_used_worker": by_worker.min(),
            "worst_iteration": heard.mean(1).min(),
            "kept_on_second_half": kept,
            "remark": remark if kept else "drops more than that",
            "never_used": np.flatnonzero(by_worker == 0).tolist(),
        }
        rows.append(given | judged)
    whole: dict[str, Any] = dict.fromkeys(("used", "least_used_worker", "worst_iteration"), 1.0)
    whole |= {"kept_on_second_half": True, "remark": "", "never_used": []}
    for b in fewer:
        for phi in phis:
            time = growth(n / (n - b), phi) * ordered[:, n - b - 1].mean() / every
            rows.append({"setting": "spare", "value": b, "phi": phi, "time": time} | whole)
    return pd.DataFrame(rows, columns=_COLUMNS)
