"""Delay models with one independent random time per worker: Pareto and shifted exponential."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gcexp.delays.base import Draws, Exponentials, PerWorker, Streamed, each_is, of_workers
from gcexp.errors import require, require_known

SCALINGS = ("data", "server")


@dataclass(frozen=True, kw_only=True)
class _OneTime(Streamed):
    """One random time X for each worker, added to the work (`data`) or multiplying it (`server`)."""

    most_workers: ClassVar[int] = 10**6

    scaling: str = "data"
    data_time: float = 0.0
    persistence: int = 1

    def __post_init__(self):
        require_known("scaling", self.scaling, SCALINGS)
        require(self.data_time >= 0, f"data_time must be a time >= 0 in seconds, got {self.data_time}")
        require(
            self.persistence >= 1, f"persistence must be a number of iterations >= 1, got {self.persistence}"
        )

    def law(self, exponential: np.ndarray) -> np.ndarray:
        """X as a function of a unit exponential."""
        raise NotImplementedError

    def start(self, seeds: tuple[int, ...], n: int) -> Callable[[int], Draws]:
        streams = Exponentials(seeds, n, self.persistence)

        def draw(iterations: int) -> Draws:
            X = self.law(streams(iterations))
            if self.scaling == "data":
                return Draws(tuple(seeds), X.shape, start=X, compute=self.data_time)
            return Draws(tuple(seeds), X.shape, compute=self.data_time + X)

        return draw


def _workers(exponential: np.ndarray) -> int:
    """Number of workers that exponentials (..., n) are of; 1 for a single number."""
    return np.shape(exponential)[-1] if np.ndim(exponential) else 1


@dataclass(frozen=True)
class Pareto(_OneTime):
    r"""Heavy-tailed times, P(X > x) = (scale / x)^shape for x >= scale.

    A worker that computes the fraction u of the data takes ``u data_time + X`` (scaling ``data``) or
    ``u (data_time + X)`` (scaling ``server``; X is then its time for all data).

    Parameters
    ----------
    scale, shape : float, sequence or mapping
        Smallest X, in seconds, and tail exponent, of all workers alike or by worker (`gcexp.delays.base.PerWorker`).
        The mean is finite for shape > 1.
    scaling : {"data", "server"}
    data_time : float
        Deterministic time to compute all data, in seconds.
    persistence : int
        Iterations for which a draw is kept.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On gradient coding with partial recovery, sections VII and VIII.

    Examples
    --------
    >>> draws = Pareto(scale=1.0, shape=2.0).draw((0,), 3, 2)
    >>> bool((draws.arrival(load=0.5, length=1) >= 1.0).all())
    True
    """

    scale: PerWorker = 1.0
    shape: PerWorker = 2.0

    def __post_init__(self):
        each_is(self, ["scale"], lambda one: one > 0, "Pareto needs scale > 0")
        each_is(self, ["shape"], lambda one: one > 0, "Pareto needs shape > 0")
        super().__post_init__()

    def law(self, exponential):
        n = _workers(exponential)
        return of_workers("scale", self.scale, n) * np.exp(exponential / of_workers("shape", self.shape, n))


@dataclass(frozen=True)
class ShiftedExponential(_OneTime):
    r"""Light-tailed times, P(X > x) = exp(-(x - shift) / mean) for x >= shift.

    Parameters
    ----------
    shift, mean : float, sequence or mapping
        Smallest X and mean of what is added to it, in seconds, of all workers alike or by worker
        (`gcexp.delays.base.PerWorker`).
    scaling, data_time, persistence
        As in `Pareto`.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On gradient coding with partial recovery, section VIII.

    Examples
    --------
    >>> ShiftedExponential(shift=1.0, mean=0.5).draw((0,), 2, 3).arrival(load=1.0, length=1).shape
    (1, 2, 3)
    """

    shift: PerWorker = 0.0
    mean: PerWorker = 1.0

    def __post_init__(self):
        each_is(self, ["shift"], lambda one: one >= 0, "shifted exponential needs shift >= 0")
        each_is(self, ["mean"], lambda one: one > 0, "shifted exponential needs mean > 0")
        super().__post_init__()

    def law(self, exponential):
        n = _workers(exponential)
        X = of_workers("mean", self.mean, n) * exponential
        X += of_workers("shift", self.shift, n)
        return X
