"""Learning-rate schedules: the factor of the u-th update. Skipped updates do not count."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

from gcexp.errors import require


@dataclass(frozen=True)
class StepDecay:
    """factor^(u // every), as ``torch.optim.lr_scheduler.StepLR``.

    Raises
    ------
    ParameterError
        Unless every >= 1 and factor > 0.

    Examples
    --------
    >>> [StepDecay(every=2, factor=0.1)(u) for u in range(4)]
    [1.0, 1.0, 0.1, 0.1]
    """

    every: int
    factor: float = 0.1

    def __post_init__(self):
        require(self.every >= 1, f"schedule.every must be a number of updates >= 1, got {self.every}")
        require(self.factor > 0, f"schedule.factor must be a number > 0, got {self.factor}")

    def __call__(self, update: int) -> float:
        """Factor of update u = 0, 1, ..."""
        return self.factor ** (update // self.every)


@dataclass(frozen=True)
class Cosine:
    """From 1 along half a cosine to `final` in `updates` updates, and `final` from there; linear from 0 before.

    Parameters
    ----------
    updates : int
    warmup : int
        Updates at the start in which the factor rises from 1 / (warmup + 1) to 1; part of `updates`.
    final : float

    Raises
    ------
    ParameterError
        Unless 0 <= warmup < updates and 0 <= final <= 1.

    Examples
    --------
    >>> [round(Cosine(updates=6, warmup=2)(u), 3) for u in range(8)]
    [0.333, 0.667, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    updates: int
    warmup: int = 0
    final: float = 0.0

    def __post_init__(self):
        require(
            0 <= self.warmup < self.updates,
            f"schedule.warmup must be at least 0 and below schedule.updates={self.updates}, got {self.warmup}",
        )
        require(0 <= self.final <= 1, f"schedule.final must be in [0, 1], got {self.final}")

    def __call__(self, update: int) -> float:
        """Factor of update u = 0, 1, ..."""
        if update < self.warmup:
            return (update + 1) / (self.warmup + 1)
        done = min(1.0, (update - self.warmup) / (self.updates - self.warmup))
        return self.final + (1 - self.final) * (1 + cos(pi * done)) / 2
