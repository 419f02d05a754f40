"""What is decoded from each pattern: what the code promises is trusted, and a sample of it certified."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import DecodingError
from gcexp.schema import quoted

if TYPE_CHECKING:  # a job that only reads a timeline loads no codes
    from gcexp.codes import Code

# Workers times patterns decoded at once, patterns all the same, but for so many workers that they fill the memory.
_DECODED = 2**17
_LEAST_DECODED = 128
_MOST_DECODED = 2**21
# Patterns that are certified although the code promises what they give, and the stream that draws them.
SAMPLE, CERTIFIED = 64, "timeline.certified"


def decode_patterns(
    code: Code, patterns: np.ndarray, sample: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (U, k), as truth values where all are 0 or 1, and residuals (U,), NaN where nothing was decoded.

    Coefficients that the code promises (`Code.trusted`) are taken as they are. `sample` is called with the numbers of
    the patterns that have such a promise, and returns those that are decoded all the same, unless the code has more
    than `most_certified` workers. They and the patterns without a promise are decoded, some at a time.

    Raises
    ------
    DecodingError
        Where a pattern of the sample decodes to something else than the code promises.
    """
    promised, promised_coefficients = code.trusted(patterns)
    residual = np.full(len(patterns), np.nan)
    if promised.all():
        coefficients = promised_coefficients
    else:
        coefficients = np.empty((len(patterns), code.k), dtype=bool)
        coefficients[promised] = promised_coefficients
    to_certify = np.empty(0, dtype=np.intp)
    if code.n <= code.most_certified:
        to_certify = sample(np.flatnonzero(promised))
    to_decode = np.sort(np.concatenate([np.flatnonzero(~promised), to_certify]))
    step = _patterns_at_once(code)
    for first in range(0, len(to_decode), step):
        rows = to_decode[first : first + step]
        decoding = code.decode(patterns[rows], partial=True)
        c = decoding.coefficients
        residual[rows] = decoding.residual
        broken = promised[rows] & (c != coefficients[rows]).any(1)
        if broken.any():
            survivors = np.flatnonzero(patterns[rows[broken.argmax()]])
            workers = quoted(survivors.tolist())
            raise DecodingError(f"{code!r} does not decode what it promises from workers {workers}", code)
        if coefficients.dtype == bool and not decoding.binary:
            coefficients = coefficients.astype(np.float64)
        if coefficients.dtype == bool:
            c = c != 0
        coefficients[rows] = c
    return coefficients, residual


def _patterns_at_once(code: Code) -> int:
    """Patterns of a code that are decoded together."""
    size = max(code.n, code.k)
    usual = max(_LEAST_DECODED, _DECODED // size)
    return max(1, min(usual, _MOST_DECODED // size))
