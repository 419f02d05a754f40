"""How does the master update the model from a decoded gradient? Plain numpy on flat vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcexp.errors import require, unknown

NORMALIZATIONS = ("total", "recovered")


@dataclass(frozen=True)
class GradientDescent:
    r"""Gradient descent with a fixed step: w - (learning_rate / N) g.

    Parameters
    ----------
    learning_rate : float
        Step size on the mean loss.
    normalize : {"total", "recovered"}
        N counts all samples, or those that were recovered (an average over them; for 0/1 coefficients only).

    Raises
    ------
    ParameterError
        Unless learning_rate > 0 and normalize is one of the two.

    Examples
    --------
    >>> rule = GradientDescent(learning_rate=0.5)
    >>> w = np.ones(2)
    >>> rule.update(np.array([4.0, 8.0]), rule.init(w), w, n_samples=4, recovered=2)
    (array([0.5, 0. ]), {})
    """

    learning_rate: float = 0.5
    normalize: str = "total"

    def __post_init__(self):
        require(
            self.learning_rate > 0, f"optimizer.learning_rate is a step size > 0, got {self.learning_rate}"
        )
        require(
            self.normalize in NORMALIZATIONS, unknown("optimizer.normalize", self.normalize, NORMALIZATIONS)
        )

    def check(self, coefficients: np.ndarray) -> None:
        """Refuse to average over recovered samples where a coefficient is neither 0 nor 1."""
        if self.normalize == "recovered":
            other = coefficients[(coefficients != 0) & (coefficients != 1)]
            require(
                not other.size,
                "optimizer.normalize=recovered averages over recovered samples, so coefficients must be 0 or 1, got "
                f"{other[:1].sum():.6g}; use normalize=total",
            )

    def init(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """No state."""
        return {}

    def update(
        self,
        gradient: np.ndarray,
        state: dict[str, np.ndarray],
        parameters: np.ndarray,
        n_samples: int,
        recovered: int,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """New parameters (l,) and the same state."""
        samples = n_samples if self.normalize == "total" else recovered
        return parameters - (self.learning_rate / samples) * gradient, state
