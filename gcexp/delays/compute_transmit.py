"""Delay model with two random parts: computing, in proportion to the load, and sending, in proportion to the length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from gcexp.delays.base import Draws, Exponentials, PerWorker, Streamed, each_is, of_workers
from gcexp.errors import require

_TIMES = ("compute_shift", "compute_mean", "transmit_shift", "transmit_mean")


@dataclass(frozen=True)
class ComputeTransmit(Streamed):
    r"""A worker with the fraction u of the data and messages of length v takes ``u T1 + v T2``.

    T1 = compute_shift + Exp(compute_mean) is its time for all data, T2 = transmit_shift + Exp(transmit_mean) its
    time to send one gradient, independent of each other. In the paper's symbols, with k = n partitions, load d and
    length 1/m: d T1' + T2 / m with T1' = T1 / n per partition, so compute_shift = n t1, compute_mean = n / lambda1,
    transmit_shift = t2, transmit_mean = 1 / lambda2.

    Parameters
    ----------
    compute_shift, compute_mean : float, sequence or mapping
        Smallest time to compute all data and mean of what is added to it, in seconds, of all workers alike or by worker
        (`gcexp.delays.base.PerWorker`).
    transmit_shift, transmit_mean : float, sequence or mapping
        The same to send one gradient.
    persistence : int
        Iterations for which a draw is kept.

    References
    ----------
    Ye, Abbe: Communication-computation efficient gradient coding, ICML 2018, section 5.

    Examples
    --------
    >>> delay = ComputeTransmit(compute_shift=12.8, compute_mean=10.0, transmit_shift=6.0, transmit_mean=10.0)
    >>> arrival = delay.draw((0,), 4, 8).arrival(load=4 / 8, length=1 / 3)
    >>> arrival.shape, bool((arrival >= 4 * 1.6 + 6 / 3).all())
    ((1, 4, 8), True)
    """

    most_workers: ClassVar[int] = 10**6

    compute_shift: PerWorker = 1.0
    compute_mean: PerWorker = 0.5
    transmit_shift: PerWorker = 1.0
    transmit_mean: PerWorker = 0.5
    persistence: int = 1

    def __post_init__(self):
        each_is(self, _TIMES, lambda one: one >= 0, "compute_transmit needs times >= 0 in seconds")
        require(
            self.persistence >= 1, f"persistence must be a number of iterations >= 1, got {self.persistence}"
        )

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        compute = Exponentials(seeds, n, self.persistence)
        transmit = Exponentials(seeds, n, self.persistence, "transmission")
        compute_shift = of_workers("compute_shift", self.compute_shift, n)
        compute_mean = of_workers("compute_mean", self.compute_mean, n)
        transmit_shift = of_workers("transmit_shift", self.transmit_shift, n)
        transmit_mean = of_workers("transmit_mean", self.transmit_mean, n)

        def draw(iterations: int) -> Draws:
            return Draws(
                tuple(seeds),
                (len(seeds), iterations, n),
                compute=compute_shift + compute_mean * compute(iterations),
                transmit=transmit_shift + transmit_mean * transmit(iterations),
            )

        return draw
