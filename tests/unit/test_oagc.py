"""OAGC: unbiased, with the least error for equal gradients, and errors as its closed forms say."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.codes import OAGC, StochasticGradientCode
from gcexp.errors import ParameterError
from gcexp.theory.errors import equal_gradients_error, unbiased_error

P = np.linspace(0.1, 0.45, 20)  # chosen such that the error for equal gradients is .0147


@pytest.mark.parametrize("layout", ["corner", "staircase"])
def test_errors_are_those_of_the_closed_forms_within_sampling_error(layout):
    code = OAGC(n=20, p=P.tolist(), layout=layout)
    heard = np.random.default_rng(0).random((40_000, 20)) >= P
    c = code.decode(heard.astype(int)).coefficients

    def agrees(samples, mean):
        return np.all(np.abs(samples.mean(0) - mean) < 5 * samples.std(0) / len(samples) ** 0.5)

    assert agrees(c, 1)
    assert agrees((c.mean(1) - 1) ** 2, equal_gradients_error(P))
    assert agrees(((c - 1) ** 2).mean(1), unbiased_error(code.encoding, P))


def test_the_layouts_differ_in_the_error_of_single_partitions():
    corner, staircase = (OAGC(n=20, p=P.tolist(), layout=layout) for layout in ("corner", "staircase"))
    assert equal_gradients_error(P) == pytest.approx(0.0147, abs=5e-5)
    assert unbiased_error(corner.encoding, P) == pytest.approx(0.180, abs=5e-4)
    assert unbiased_error(staircase.encoding, P) == pytest.approx(2.196, abs=5e-4)
    assert corner.encoding.min() == 0
    assert corner.load.sum() <= 39
    assert staircase.load.tolist() == [2] * 20


def test_errors_are_near_those_of_a_known_trial_for_probabilities_in_no_order():
    """Its own p is not known: .0146, .156, 1.42 and .088, the last of fractional repetition in pairs."""
    p = np.random.RandomState(24).uniform(0.01, 0.5, 20)
    corner, staircase = (OAGC(n=20, p=p.tolist(), layout=layout) for layout in ("corner", "staircase"))
    errors = [equal_gradients_error(p), *(unbiased_error(code.encoding, p) for code in (corner, staircase))]
    both_straggle = p.reshape(10, 2).prod(1).mean()
    np.testing.assert_allclose([*errors, both_straggle], [0.0146, 0.156, 1.42, 0.088], rtol=0.05)


def test_no_other_row_sums_have_a_smaller_error_for_equal_gradients():
    random = np.random.default_rng(1)
    for _ in range(50):
        B = random.random((20, 20))
        B /= B.sum(0)
        assert ((B.sum(1) / 20) ** 2 * P / (1 - P)).sum() > equal_gradients_error(P)


def test_the_staircase_has_the_least_error_of_its_sums():
    code = OAGC(n=5, p=[0.1, 0.2, 0.3, 0.4, 0.5], layout="staircase", d=3)
    rows, columns = code.encoding.tocoo().coords
    sums = np.zeros((10, 15))
    sums[rows, np.arange(15)] = sums[5 + columns, np.arange(15)] = 1
    free = np.linalg.svd(sums)[2][np.linalg.matrix_rank(sums) :]  # changes that keep all sums
    price = np.array(code.p) / (1 - np.array(code.p))
    assert len(free) == 6
    np.testing.assert_allclose(free @ (price[rows] * code.encoding.data), 0, atol=1e-12)


def test_equal_probabilities_give_known_codes():
    np.testing.assert_allclose(OAGC(n=7, p=0.3).encoding.toarray(), np.eye(7))
    staircase = OAGC(n=7, p=0.3, layout="staircase", d=3)
    stochastic = StochasticGradientCode(n=7, d=3, p=0.3, layout="cyclic")
    everyone = np.ones((1, 7), int)
    np.testing.assert_allclose(staircase.encoding.toarray() / 0.7, stochastic.encoding.toarray())
    np.testing.assert_allclose(
        staircase.decode(everyone).coefficients, stochastic.decode(everyone).coefficients
    )


@pytest.mark.parametrize(
    "given", [{"p": 0.0}, {"p": [0.1, 0.2]}, {"p": 1}, {"p": 0.2, "layout": "staircase", "d": 1}]
)
def test_what_cannot_be_is_refused(given):
    with pytest.raises(ParameterError):
        OAGC(n=3, **given)
