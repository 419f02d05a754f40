"""Restart model: stragglers are restarted in every epoch, and a worker answers in the epoch of its first success."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log
from typing import ClassVar

import numpy as np

from gcexp.delays.base import Draws, Exponentials, PerWorker, Streamed, each_is, of_workers
from gcexp.errors import require


@dataclass(frozen=True)
class Epochs(Streamed):
    r"""Epoch of each worker's first success, P(G >= i) = p^i for i = 0, 1, ...: a count, not seconds.

    Epoch 0 starts all workers, each later one the stragglers among them; a worker that is started straggles with
    probability p, independently, and what succeeded stays. So the master can decode in the first epoch in which few
    enough G are larger: no loop over epochs, and none is cut off. A worker that is not started again, because its group
    has finished, would have drawn numbers that nobody reads.

    ``G = floor(X / -log p)`` of one unit exponential X per worker and iteration. X does not depend on p: where p is
    smaller, no worker succeeds later.

    Arrivals do not depend on load or length. A waiting rule that stops at an epoch must price it.

    Parameters
    ----------
    p : float, sequence or mapping
        Probability that a started worker is a straggler, of all workers alike or by worker
        (`gcexp.delays.base.PerWorker`).

    Raises
    ------
    ParameterError
        Unless 0 <= p < 1.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: the law behind (81) to (84).

    Examples
    --------
    >>> draws = Epochs(p=0.3).draw((0,), 2, 5)
    >>> draws.arrival(load=0.5, length=1.0)
    array([[[2., 1., 0., 0., 0.],
            [0., 0., 0., 0., 0.]]])
    """

    most_workers: ClassVar[int] = 10**6

    p: PerWorker = 0.1

    def __post_init__(self):
        each_is(self, ["p"], lambda one: 0 <= one < 1, "epochs need a straggling probability 0 <= p < 1")

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        streams = Exponentials(seeds, n)
        straggling = np.atleast_1d(of_workers("p", self.p, n))
        rate = np.array([-log(p) if p else np.inf for p in straggling])

        def draw(iterations: int) -> Draws:
            X = streams(iterations)
            G = np.floor(X / rate)
            return Draws(tuple(seeds), X.shape, start=G, counts=True)

        return draw


@dataclass(frozen=True)
class Restarts(Streamed):
    r"""Workers on a clock of equal epochs: with the fraction u of the data and v gradients sent, i t + u t_cp + v t_cm.

    i is the epoch of the worker's first success, drawn as in `Epochs` from the same numbers, and t the length of an
    epoch. What succeeded stays, so a code that decodes from these arrivals decodes in the paper's restart model.

    Parameters
    ----------
    p : float, sequence or mapping
        Probability that a started worker is a straggler, of all workers alike or by worker
        (`gcexp.delays.base.PerWorker`).
    epoch : float
        t, after which stragglers are started again, in seconds.
    compute : float
        t_cp for all data: t_cp of the paper times n / d.
    transmit : float
        t_cm, to send one gradient.

    Raises
    ------
    ParameterError
        Unless 0 <= p < 1 and times are >= 0.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: (82) to (84).

    Examples
    --------
    >>> Restarts(p=0.3).draw((0,), 2, 5).arrival(load=3 / 20, length=1.0)
    array([[[48., 32., 16., 16., 16.],
            [16., 16., 16., 16., 16.]]])
    """

    most_workers: ClassVar[int] = 10**6

    p: PerWorker = 0.1
    epoch: float = 16.0
    compute: float = 20.0
    transmit: float = 13.0

    def __post_init__(self):
        each_is(self, ["p"], lambda one: 0 <= one < 1, "restarts need a straggling probability 0 <= p < 1")
        for name in ("epoch", "compute", "transmit"):
            require(
                getattr(self, name) >= 0, f"{name} must be a time >= 0 in seconds, got {getattr(self, name)}"
            )

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        draw_epochs = Epochs(self.p).start(seeds, n)

        def draw(iterations: int) -> Draws:
            epochs = draw_epochs(iterations)
            start = self.epoch * epochs.start
            return replace(epochs, start=start, compute=self.compute, transmit=self.transmit, counts=False)

        return draw
