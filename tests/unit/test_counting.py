"""Statements compared with instances: what is counted, and that none is true for want of an instance."""

import numpy as np
import pytest

from gcexp.analysis.counting import collected
from gcexp.analysis.enumeration import PRIME, rank
from gcexp.errors import ParameterError


def told():
    yield "lemma", "small", True
    yield "theorem", "every n", True
    yield "lemma", "large", False
    yield "lemma", "small", False


def silent():
    yield from ()


def test_rows_of_one_statement_stand_together():
    frame = collected([told(), told()])
    assert list(frame) == ["id", "what", "cases", "hold"]
    rows = [["lemma", "small", 4, 2], ["lemma", "large", 2, 0], ["theorem", "every n", 2, 2]]
    assert frame.to_numpy().tolist() == rows


@pytest.mark.parametrize(
    ("check", "name"),
    [(lambda: collected([told(), silent()]), "silent"), (lambda: collected([[]]), "a check")],
)
def test_nothing_holds_for_want_of_an_instance(check, name):
    with pytest.raises(ParameterError, match=name):
        check()


@pytest.mark.parametrize("shape", [(40, 3, 5), (40, 5, 3), (40, 6, 6), (2, 0, 4)])
def test_ranks_in_the_field_are_those_of_small_integers(shape):
    """A minor of such entries is below the prime, and so zero in both or in none; rows are repeated to lower ranks."""
    matrices = np.random.default_rng(0).integers(-2, 3, shape)
    matrices[::2, 2:] = matrices[::2, :1]
    expected = [np.linalg.matrix_rank(matrix) if matrix.size else 0 for matrix in matrices]
    assert rank(matrices).tolist() == expected
    # The largest entries, and products of them, do not overflow.
    assert rank(matrices * (PRIME - 1)).tolist() == expected
