"""Whether a decoder's linear system can be solved."""

from __future__ import annotations

from math import lcm

import numpy as np

from gcexp.codes.general_v import solve_exactly


def invertible(matrix: np.ndarray) -> bool:
    """Whether a square matrix of whole numbers or fractions has an inverse, exactly.

    Examples
    --------
    >>> from fractions import Fraction
    >>> [invertible(np.array(one)) for one in ([[1, 2], [2, 4]], [[Fraction(1, 2)]], np.eye(0))]
    [False, True, True]
    """
    scale = lcm(*(x.denominator for x in matrix.flat))
    whole = matrix
    if matrix.size:
        whole = np.vectorize(int, otypes=[object])(matrix * scale)
    try:
        solve_exactly(whole, np.zeros((len(matrix), 0), dtype=int))
    except ZeroDivisionError:
        return False
    return True
