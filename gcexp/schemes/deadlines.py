"""Deadlines learned from the times before the run, from the last iterations, or from the arrival of a quorum."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from gcexp.errors import require
from gcexp.schemes.stopping import responses_by
from gcexp.schemes.waiting import times_before_the_run


@dataclass(frozen=True)
class PrefixDeadline:
    """Stop when all have been heard, or after `factor` times the median arrival before the run.

    Parameters
    ----------
    factor : float

    References
    ----------
    This library's.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> rule = PrefixDeadline(factor=2.0)
    >>> state = rule.begin(lambda r=None: np.array([[[1.0, 1.0, 3.0]]]))
    >>> rule.stop(Uncoded(3), lambda r=None: np.array([[[1.5, 1.0, 9.0]]]), state)[:2]
    (array([[2.]]), array([[[1, 1, 0]]], dtype=int16))
    """

    factor: float = 1.2

    def __post_init__(self):
        require(self.factor > 0, f"wait=prefix_deadline needs a factor > 0, got {self.factor}")

    def begin(self, lead):
        times = times_before_the_run("wait=prefix_deadline", lead)()
        return self.factor * np.median(times.reshape(len(times), -1), axis=1)

    def stop(self, code, arrive, state):
        time = np.minimum(arrive().max(-1), state[:, None])
        return time, responses_by(code, arrive, time), state


@dataclass(frozen=True)
class AdaptiveDeadline:
    r"""Stop when all have been heard, or after max(m + kappa MAD, q-th arrival).

    m and MAD are the median of the arrivals of the last `window` iterations and the median of their absolute
    deviations from it (no factor 1.4826); who was not heard enters as the stop. The first iteration waits for all.

    Parameters
    ----------
    kappa : float
    window : int
        Iterations that are remembered.
    q : int, optional
        Workers that are waited for in any case; default ceil(n/2).

    References
    ----------
    Learned timeouts by median and MAD are discussed in hivemind's issue 676; these values, the cutting and the first
    iteration are this library's.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> rule, code = AdaptiveDeadline(kappa=1), Uncoded(3)
    >>> _, _, state = rule.stop(code, lambda r=None: np.array([[[1.0, 2.0, 4.0]]]), rule.begin(None))
    >>> rule.stop(code, lambda r=None: np.array([[[1.0, 2.0, 9.0]]]), state)[0]
    array([[3.]])
    """

    kappa: float = 3.0
    window: int = 10
    q: int | None = None

    def __post_init__(self):
        require(self.kappa >= 0, f"wait=adaptive_deadline needs kappa >= 0, got {self.kappa}")
        require(self.window >= 1, f"wait=adaptive_deadline needs a window >= 1, got {self.window}")

    def begin(self, lead):
        return ()

    def stop(self, code, arrive, state):
        at = arrive()
        time = at.max(-1)
        q = quorum(self.q, code.n)
        if state:
            last_arrivals = np.concatenate(state, axis=1)
            middle = _median(last_arrivals)
            spread = _median(np.abs(last_arrivals - middle[:, None]))
            of_quorum = np.partition(at, q - 1, axis=-1)[..., q - 1]
            deadline = np.maximum((middle + self.kappa * spread)[:, None], of_quorum)
            time = np.minimum(time, deadline)
        cut_at_the_stop = np.minimum(at, time[..., None])[:, 0]
        state = (*state, cut_at_the_stop)[-self.window :]
        return time, responses_by(code, arrive, time), state


def _median(values: np.ndarray) -> np.ndarray:
    """The median of each row, equal to `numpy.median`, which spends most of its time looking for NaN."""
    low = (values.shape[1] - 1) // 2
    high = values.shape[1] // 2
    parted = np.partition(values, (low, high), axis=1)
    return (parted[:, low] + parted[:, high]) / 2


def quorum(q: int | None, n: int) -> int:
    """Workers of a quorum: as given, or half of them."""
    if q is None:
        return ceil(n / 2)
    require(1 <= q, f"a quorum needs q >= 1 workers, got {q}")
    require(q <= n, f"a quorum of q={q} workers is larger than n={n}")
    return q


@dataclass(frozen=True)
class QuorumGrace:
    """Stop when all have been heard, or when (1 + grace) times the q-th arrival has passed.

    Parameters
    ----------
    q : int, optional
        Workers of the quorum; default ceil(n/2).
    grace : float
        Window behind it, as a share of the time that the quorum took.

    References
    ----------
    A minimum quorum and an adaptive grace window are in Decoupled DiLoCo, arXiv 2604.21428; this form of the window is
    this library's.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> QuorumGrace(q=2, grace=0.5).stop(Uncoded(3), lambda r=None: np.array([[[1.0, 2.0, 4.0]]]))
    (array([[3.]]), array([[[1, 1, 0]]], dtype=int16))
    """

    q: int | None = None
    grace: float = 0.2

    def __post_init__(self):
        require(self.grace >= 0, f"wait=quorum_grace needs a grace >= 0, got {self.grace}")

    def stop(self, code, arrive):
        at = arrive()
        q = quorum(self.q, code.n)
        of_quorum = np.partition(at, q - 1, axis=-1)[..., q - 1]
        time = np.minimum(at.max(-1), (1 + self.grace) * of_quorum)
        return time, responses_by(code, arrive, time)
