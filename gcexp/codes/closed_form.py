"""Where a decoder in closed form loses to rounding, or does not apply, the pseudoinverse stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.codes.base import Code
from gcexp.errors import require

if TYPE_CHECKING:  # they import this
    from gcexp.codes.cyclic_mds import CyclicMDS
    from gcexp.codes.reed_solomon import ReedSolomon

_SPOILED = 1e-9
_HARDEST = 5e-7  # rounding on the hardest pattern at most: half of what `Code.decode` refuses


def or_pseudoinverse(code: Code, heard: np.ndarray, weights: np.ndarray) -> np.ndarray:
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
    best = Code.weights(code, heard[again])[:, 0]
    better = off(best) < off(weights[again])
    weights[again[better]] = best[better]
    return weights


def rounding(code: Code, weights: np.ndarray) -> float:
    """Size of the rounding error of a decoded coefficient, eps max |W| |B|, for weights (U, n)."""
    return float((np.abs(weights) @ abs(code.encoding)).max() * np.finfo(float).eps)


def require_accuracy(code: CyclicMDS | ReedSolomon, hardest: np.ndarray, instead: str) -> None:
    """Refuse a code whose weights (U, n) on the hardest pattern, a run of neighbours, leave no digits.

    Raises
    ------
    ParameterError
        Where eps |W| |B| is above 5e-7; `instead` says what to take.
    """
    size = rounding(code, hardest)
    require(
        size <= _HARDEST,
        f"{code!r} loses its accuracy: without {code.s} neighbours rounding errors are about {size:.0e} "
        f"(at most {_HARDEST:.0e}); take {instead}",
    )
