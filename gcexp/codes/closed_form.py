"""What exact codes with a closed-form decoder share: the pseudoinverse where rounding or too few workers spoil it."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code

_SPOILED = 1e-9


class ClosedFormCode(Code):
    """An exact code for s stragglers that decodes in closed form where enough workers are heard.

    Weights that are off by more than 1e-9 give way to the pseudoinverse's where those are better.
    """

    s: int

    def weights(self, responses):
        heard = responses > 0
        enough = heard.sum(1) >= self.n - self.s
        a = np.zeros(responses.shape, dtype=self.encoding.dtype)
        a[enough] = self._closed_form(heard[enough])
        spoiled = np.flatnonzero(self._residual_of(a) > _SPOILED)
        best = super().weights(responses[spoiled])[:, 0]
        is_better = self._residual_of(best) < self._residual_of(a[spoiled])
        a[spoiled[is_better]] = best[is_better]
        return a

    def _closed_form(self, heard: np.ndarray) -> np.ndarray:
        """Weights (U, n) of patterns (U, n) of at least n - s workers."""
        raise NotImplementedError

    def _residual_of(self, weights: np.ndarray) -> np.ndarray:
        """||c - 1|| for each row of weights, (U,)."""
        return np.linalg.norm(weights @ self.encoding - 1, axis=1)
