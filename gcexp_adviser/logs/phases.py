"""Whether times hold the waiting for other workers, by further columns of durations beside them.

Who works longer waits less. Where a worker's time is short in just those iterations in which something else took it
long, as loading its data, the time holds the waiting for that; and a time that is no shorter where the worker waited
longer was stamped behind that waiting.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.logs.names import Name, typed
from gcexp_adviser.logs.parsed import Parsed

_ENOUGH = 10  # iterations
_AGAINST, _RANKS_AGAINST = -0.9, -0.7  # correlations of a time with what is done while others wait
_FOLLOWS, _HALF = 0.3, 0.5  # slope of waiting over times, which is -1 where these are a worker's own work
#: By how many standard errors, and scatters of single iterations, workers differ lastingly.
_LASTING, _LARGE = 5.0, 0.5
_WAITS = re.compile(r"(^|_)(wait|waiting|waited|idle|sync|synchroni[sz]e|barrier|stall|stalled|blocked)(_|$)")
_TALKS = re.compile(
    r"(^|_)(comm|communication|all_?reduce|reduce|nccl|collective|all_?gather|gather|broadcast)(_|$)"
)
_OWN = re.compile(r"(^|_)(data|load|loader|loading|input|io|fetch|read)(_|$)")


def may_be_waiting(name: Name) -> bool:
    """Whether a column's name says that workers waited for each other, or talked to each other."""
    return bool(_WAITS.search(name.base) or _TALKS.search(name.base)) and not _OWN.search(name.base)


class _Doubt(NamedTuple):
    """What speaks against a time, and what to type."""

    seen: str
    cure: str


def remark_on_waiting(log: Parsed) -> str:
    """A sentence where times seem to hold the waiting for others, though a person named them; empty for none.

    Raises
    ------
    DataError
        Where nobody named them.
    """
    doubt = _doubt_of(log)
    if doubt is None:
        return ""
    if log.is_time_named:
        return f"took {log.time} as it is, though {doubt.seen}"
    raise DataError(
        f"{log.place}: {doubt.seen}; {doubt.cure}; where {log.time} is each worker's own work: "
        f"columns=time:{typed(log.time)}"
    )


def _doubt_of(log: Parsed) -> _Doubt | None:
    """What speaks against the times by the first further column that does; None for nothing."""
    times = log.record.values["time"]
    for name, others in log.durations.items():
        base = name.base
        waits = bool(_WAITS.search(base)) and not _OWN.search(base)
        talks = bool(_TALKS.search(base))
        written = name.written
        told_apart = (waits or talks) and differ_lastingly(others) and not differ_lastingly(times)
        if told_apart or (waits and holds_waiting(times, others)):
            return _Doubt(
                f"{log.time} is no shorter where {written} is longer, so it seems to hold that waiting for others",
                f"write {log.time} - {written} into a column and name it, as in columns=time:NAME",
            )
        if not waits and not talks and falls_as_another_grows(times, others):
            return _Doubt(
                f"{log.time} of a worker falls where its {written} grows, so one of them seems to hold the waiting for "
                "those that take long for the other",
                "stamp the end of each worker's own work, before it waits; where that is "
                f"{written}: columns=time:{typed(written)}",
            )
    return None


def falls_as_another_grows(times: np.ndarray, others: np.ndarray) -> bool:
    """Whether times (R, N) and other durations have nearly one sum for all workers of an iteration.

    What workers and iterations have in common is no sign of it: a worker may compute fast and load slowly throughout.

    >>> draw = np.random.default_rng(0)
    >>> loading, computing = draw.gamma(4, 0.1, (2, 60, 4))
    >>> waiting_too = (loading + computing).max(axis=1, keepdims=True) - loading
    >>> falls_as_another_grows(waiting_too, loading), falls_as_another_grows(computing, loading)
    (True, False)
    """
    there = ~np.isnan(times) & ~np.isnan(others)
    rows = np.flatnonzero(there.all(axis=1))
    if len(rows) < _ENOUGH or times.shape[1] < 2:
        return False
    x = _own_part(times[rows])
    y = _own_part(others[rows])
    if not x.any() or not y.any():
        return False
    if np.corrcoef(x, y)[0, 1] > _AGAINST:
        return False
    ranks = pd.DataFrame({"times": x, "others": y}).rank().to_numpy()
    return bool(np.corrcoef(ranks, rowvar=False)[0, 1] < _RANKS_AGAINST)


def holds_waiting(times: np.ndarray, waiting: np.ndarray) -> bool:
    """Whether times (R, N) do not fall where workers wait longer, as those that were stamped behind the waiting.

    With dt and dw the deviations of a worker's time and waiting from the means of its iteration, dw = c dt has c = -1
    where the times are the worker's own work. It is told where c lies within .3 of 0, and three standard errors of it
    within .5.

    >>> draw = np.random.default_rng(0)
    >>> own = draw.gamma(100, 0.01, (100, 6))
    >>> waiting = own.max(axis=1, keepdims=True) - own
    >>> behind = own.max(axis=1, keepdims=True) * draw.gamma(100, 0.01, (100, 6))
    >>> holds_waiting(behind, waiting), holds_waiting(own, waiting)
    (True, False)
    """
    there = ~np.isnan(times) & ~np.isnan(waiting)
    rows = np.flatnonzero(there.all(axis=1))
    if len(rows) < _ENOUGH or times.shape[1] < 2:
        return False
    x = _within(times[rows])
    y = _within(waiting[rows])
    squares = float((x * x).sum())
    if not squares or not y.any():
        return False
    slope = float((x * y).sum()) / squares
    error = float(np.sqrt(((y - slope * x) ** 2).mean() / squares))
    return abs(slope) < _FOLLOWS and abs(slope) + 3 * error < _HALF


def differ_lastingly(durations: np.ndarray) -> bool:
    """Whether some workers have longer durations (R, N) than others throughout, and not by drifts.

    >>> draw = np.random.default_rng(0)
    >>> durations = draw.gamma(100, 0.01, (100, 6))
    >>> differ_lastingly(durations), differ_lastingly(durations * [1, 1, 1.2, 1, 1, 1])
    (False, True)
    """
    rows = durations[~np.isnan(durations).any(axis=1)]
    if len(rows) < _ENOUGH:
        return False
    within = _within(rows)
    usual = np.abs(within.mean(axis=0)).max()
    scatter = within.std(axis=0, ddof=1).mean()
    return bool(usual > _LASTING * scatter / np.sqrt(len(rows)) and usual > _LARGE * scatter)


def _within(values: np.ndarray) -> np.ndarray:
    """What values (R, N) differ by from the mean of their iteration."""
    return values - values.mean(axis=1, keepdims=True)


def _own_part(values: np.ndarray) -> np.ndarray:
    """What values (R, N) differ by from what their iteration and their worker let expect, (R N,)."""
    within = _within(values)
    return (within - within.mean(axis=0)).ravel()
