"""A certified lower bound on durations: no code decodes before the heard workers together hold enough partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcexp.errors import require

_CLOSE = 1e-9


@dataclass(frozen=True)
class Capacity:
    r"""A lower bound, not a waiting rule: stop when the arrived messages hold enough partitions, copies counted.

    **Theorem 1.** Let worker w's first r messages need the relative load rho_(w,r) and not be there before
    a_w(rho_(w,r)), where a_w does not fall. If the decode at time D has a coefficient other than 0 on a share alpha
    of the partitions, then sum_w rho_(w, r_w) >= alpha n, with r_w the messages there by D. So D is at least the
    first time at which that sum is reached: with one message and equal loads d, D >= a_w(d) of the ceil(alpha n /
    d)-th worker. *Proof*: docs/bounds.md.

    It holds for every assignment of these loads (fixed, random, new in each iteration), every decoder and k, each
    value of ``late``, and where loads and messages are equal for every placement, with hindsight too. An exact code
    has alpha = 1; a mean error or a mean share bounds nothing by itself, because an average may trade one iteration
    for another. Refused where it does not hold: times that follow the data, counts of restarts, loads that are not
    the code's, and unequal loads under a placement that moves them.

    Parameters
    ----------
    fraction : float
        alpha: 1 for exact codes; the recovered share; 1 - e for an error ||c - 1||^2/k of at most e in every iteration.

    References
    ----------
    Theorem 1 of docs/bounds.md.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> at = np.array([[[3.0, 1.0, 2.0, 4.0]]])
    >>> Capacity().stop(CyclicRepetition(n=4, s=1), lambda r=1: at)[0]
    array([[2.]])
    """

    durations_only = True
    by_loads = True

    fraction: float = 1.0

    def __post_init__(self):
        require(0 < self.fraction <= 1, f"wait=capacity needs 0 < fraction <= 1, got {self.fraction}")

    def stop(self, code, arrive):
        most = int(code.messages.max(initial=0))
        n = code.n
        need = self.fraction * code.k
        require(
            int(code.load.sum()) >= need - _CLOSE,
            f"wait=capacity: all workers of {code!r} hold {int(code.load.sum())} partitions together, "
            f"but {need:g} are asked for",
        )
        ranks = range(1, most + 1)
        at = np.concatenate([arrive(r) for r in ranks], axis=-1)  # (S, T, R n)
        work = np.concatenate([code.work(r) - code.work(r - 1) for r in ranks])
        order = np.argsort(at, axis=-1, kind="stable")
        enough = np.cumsum(work[order], axis=-1) >= need - _CLOSE
        last_place = enough.argmax(-1)[..., None]
        last_message = np.take_along_axis(order, last_place, -1)
        time = np.take_along_axis(at, last_message, -1)
        there = (at <= time).reshape(*at.shape[:-1], most, n)
        counts = there.sum(-2, dtype=np.int16)
        return time[..., 0], np.minimum(counts, code.messages.astype(np.int16))
