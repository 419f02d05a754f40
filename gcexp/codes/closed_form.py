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
        there = responses > 0
        enough = there.sum(1) >= self.n - self.s
        a = np.zeros(responses.shape, dtype=self.encoding.dtype)
        a[enough] = self._closed_form(there[enough])
        again = np.flatnonzero(self._off(a) > _SPOILED)
        best = super().weights(responses[again])[:, 0]
        better = self._off(best) < self._off(a[again])
        a[again[better]] = best[better]
        return a

    def _closed_form(self, there: np.ndarray) -> np.ndarray:
        """Weights (U, n) of patterns (U, n) of at least n - s workers."""
        raise NotImplementedError

    def _off(self, weights: np.ndarray) -> np.ndarray:
        return np.linalg.norm(weights @ self.encoding - 1, axis=1)
