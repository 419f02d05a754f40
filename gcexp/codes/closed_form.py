"""Use the pseudoinverse where a closed-form decoder is inaccurate or does not apply."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code

_SPOILED = 1e-9


def or_pseudoinverse(code: Code, responses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Decode weights (U, n) of an exact code, replaced by the pseudoinverse's where off by more than 1e-9 and worse.

    Rows of zeros, for patterns below the quorum, become the best effort.

    Examples
    --------
    >>> code = Code([[1.0, 1.0], [0.0, 1.0]])
    >>> or_pseudoinverse(code, np.array([[1, 0], [1, 1]]), np.array([[1.0, 0.0], [0.9, 0.0]])).round(6) + 0.0
    array([[1., 0.],
           [1., 0.]])
    """

    def off(weights):
        return np.linalg.norm(weights @ code.encoding - 1, axis=1)

    again = np.flatnonzero(off(weights) > _SPOILED)
    best = Code.weights(code, responses[again])[:, 0]
    better = off(best) < off(weights[again])
    weights[again[better]] = best[better]
    return weights
