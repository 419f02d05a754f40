"""What is measured: the error of one set of stragglers, of many, or of the worst."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RandomError:
    """Errors of drawn or recorded sets of stragglers: mean, its standard error, and the largest met.

    Attributes
    ----------
    s : int or float
        Stragglers; their mean number where each worker straggles with a probability of its own.
    mean, stderr, largest : float
    trials : int
        Number of sets.
    coefficients : tuple of float, optional
        With the code's own decoder, the mean coefficient of each partition: the bias is what it differs from 1.
    coefficients_stderr : float, optional
        Largest standard error of these means.
    """

    s: float
    mean: float
    stderr: float
    largest: float
    trials: int
    coefficients: tuple[float, ...] | None = None
    coefficients_stderr: float | None = None


@dataclass(frozen=True)
class SetError:
    """Error of one set."""

    s: int
    error: float
    stragglers: tuple[int, ...]


@dataclass(frozen=True)
class WorstError:
    """The worst case lies between `lower`, the error of `stragglers`, and `upper`; they are equal where it is exact.

    `how` says where it comes from: ``guarantee``, ``closed form``, ``enumeration`` or ``bracket``.
    """

    s: int
    lower: float
    upper: float
    how: str
    stragglers: tuple[int, ...]

    @property
    def exact(self) -> bool:
        """Whether the worst case is known."""
        return self.lower == self.upper
