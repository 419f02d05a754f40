"""Ranks over a prime field."""

import numpy as np
import pytest

from gcexp.analysis.enumeration import PRIME, rank


@pytest.mark.parametrize("shape", [(40, 3, 5), (40, 5, 3), (40, 6, 6), (2, 0, 4)])
def test_ranks_in_the_field_are_those_of_small_integers(shape):
    """A minor of such entries is below the prime, and so zero in both or in none; rows are repeated to lower ranks."""
    matrices = np.random.default_rng(0).integers(-2, 3, shape)
    matrices[::2, 2:] = matrices[::2, :1]
    expected = [np.linalg.matrix_rank(matrix) if matrix.size else 0 for matrix in matrices]
    assert rank(matrices).tolist() == expected
    # The largest entries, and products of them, do not overflow.
    assert rank(matrices * (PRIME - 1)).tolist() == expected
