"""What a timeout, a quorum or a spare worker would save, and how much of the gradient each would drop."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from gcexp.advice.remedies import growth

LIMITS = (0.001, 0.01, 0.05)  # largest shares of the gradient that a timeout may drop
_FEWER = (1, 2)  # workers that a quorum leaves out, and spare workers
_TIE = 1e-9


@dataclass(frozen=True)
class Setting:
    """A number for a setting of synchronous training: chosen on the first half of a trace, judged on the second.

    Attributes
    ----------
    setting : {"timeout", "quorum", "spare"}
    limit : float, optional
        Of a timeout: the share of the gradient that it may drop at most.
    value : float
        What to type: the time in the trace's unit, how many workers are waited for, or how many are spare.
    time : float
        Mean iteration over that of waiting for all workers.
    used : float
        Share of the gradient that is used, on the mean.
    least_used_worker : float
        The same for the data of the worker that is heard least.
    worst_iteration : float
        The same for the iteration in which least is used.
    phi : float, optional
        Of spare workers: the share of a worker's time that does not grow with its load, for which `time` holds.
    never_used : tuple of int
        Columns of workers that are never heard.
    """

    setting: str
    value: float
    time: float
    used: float
    least_used_worker: float
    worst_iteration: float
    limit: float | None = None
    phi: float | None = None
    never_used: tuple[int, ...] = ()

    @property
    def kept_on_second_half(self) -> bool:
        """Whether no more is dropped on the second half than was asked for."""
        return self.limit is None or 1 - self.used <= self.limit + _TIE

    @property
    def fits(self) -> bool:
        """Whether it may be recommended: it keeps its limit, and every worker's data count at least half the time."""
        return self.kept_on_second_half and self.least_used_worker >= 0.5 - _TIE

    def as_dict(self) -> dict:
        """What stands in ``advice.json``."""
        names = ("setting", "limit", "value", "time", "used", "least_used_worker", "worst_iteration")
        found = {name: getattr(self, name) for name in names}
        return found | {"kept_on_second_half": self.kept_on_second_half, "phi": self.phi}


def settings(x: np.ndarray, phi: tuple[float, ...]) -> list[Setting]:
    """All settings of a trace x (T, n); those of spare workers once for each phi.

    A timeout D for the largest dropped share q is the least time of the first half that at most a share q of all its
    times exceeds; an iteration then takes max(fastest worker, min(slowest worker, D)). A quorum of n - s waits for that
    many workers. With b spare workers n - b are waited for, and each carries n / (n - b) of a share, so that a batch
    is whole; the batches must be drawn anew, or it would always lack the same data.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, 1.0, 5.0], [1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 3.0], [1.0, 2.0, 1.0, 1.0]])
    >>> [round(one.time, 3) for one in settings(x, (0.0,)) if one.setting != "timeout"]
    [0.4, 0.4, 0.533, 0.8]
    """
    half = len(x) // 2
    first, second = np.sort(x[:half], axis=None), x[half:]
    n = x.shape[1]
    ordered = np.sort(second, axis=1)
    every = ordered[:, -1].mean()
    found = []
    for limit in LIMITS:
        stop = first[ceil((1 - limit) * len(first) - _TIE) - 1]
        lasts = np.maximum(ordered[:, 0], np.minimum(ordered[:, -1], stop))
        heard = second <= lasts[:, None]
        found.append(_judged("timeout", float(stop), lasts.mean() / every, heard, limit))
    fewer = [s for s in _FEWER if n - s >= 1]
    for s in fewer:
        lasts = ordered[:, n - s - 1]
        found.append(_judged("quorum", n - s, lasts.mean() / every, second <= lasts[:, None]))
    for b in fewer:
        for share in phi:
            time = growth(n / (n - b), share) * ordered[:, n - b - 1].mean() / every
            found.append(Setting("spare", b, float(time), 1.0, 1.0, 1.0, phi=share))
    return found


def _judged(name: str, value: float, time: float, heard: np.ndarray, limit: float | None = None) -> Setting:
    by_worker = heard.mean(0)
    never = tuple(int(w) for w in np.flatnonzero(by_worker == 0))
    worst = float(heard.mean(1).min())
    return Setting(
        name, value, float(time), float(heard.mean()), float(by_worker.min()), worst, limit, None, never
    )
