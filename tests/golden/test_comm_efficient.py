"""Ye and Abbe (ICML 2018): the worked example, decode errors, expected times."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
import pytest

from gcexp.codes.comm_efficient import CommunicationEfficient, evaluation_points
from gcexp.codes.general_v import GeneralCommunicationEfficient
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.errors import DecodingError
from tests.conftest import refusals


def survivors(n: int, q: int, most: int = 10**9) -> np.ndarray:
    """Every pattern of q of n workers, or `most` random ones, boolean (U, n)."""
    if comb(n, q) > most:
        return np.random.default_rng(0).permuted(np.tile(np.arange(n) < q, (most, 1)), axis=1)
    return np.concatenate([*all_sets(n, n - q)])


def worst_error(code, responses, l: int = 60) -> float:
    """Largest ||decoded - g|| / ||g|| for standard normal partition gradients."""
    weights = code.decode(responses).weights
    g = np.random.default_rng(1).standard_normal((code.k, l))
    short = -l % code.blocks
    exact = np.pad(g.sum(0), (0, short))
    decoded = (weights @ code.encode(g)).reshape(len(responses), -1)
    return float((np.linalg.norm(decoded - exact, axis=1) / np.linalg.norm(exact)).max())


# --- section 3: the worked example --------------------------------------------------------------------------

EXAMPLE = {"n": 5, "d": 3, "theta": [-2, -1, 0, 1, 2], "scales": ["1/2", 1, "1/2", -1, "1/2"]}


def test_worked_example():
    one, two = (CommunicationEfficient(**EXAMPLE, m=m) for m in (1, 2))
    first = [[1, 3, 6, 0, 0], [0, 2, 6, -3, 0], [0, 0, 1, -2, 1], [-2, 0, 0, 3, -6], [3, 1, 0, 0, 6]]
    second = [[-3, -3, 6, 0, 0], [0, 0, 12, 3, 0], [0, 0, 3, 0, -3], [0, 0, 0, 3, 12], [3, 3, 0, 0, -6]]
    np.testing.assert_array_equal(one.encoding.toarray(), first)
    np.testing.assert_array_equal(two.encoding.toarray()[:, 0::2], first)
    np.testing.assert_array_equal(two.encoding.toarray()[:, 1::2], second)
    np.testing.assert_array_equal(two.load, 3)  # worker 1 sends no block 1 of partition 1, but holds it
    np.testing.assert_array_equal(one.exact_weights([[1, 1, 1, 0, 0]])[0, 0], [1, -1, 1, 0, 0])


# --- section 2: the construction, exactly -------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "m"), [(5, 3, 2), (6, 4, 3), (7, 5, 2), (4, 4, 2), (3, 1, 1)])
def test_gaussian_code_is_exact(n, d, m):
    code = GeneralCommunicationEfficient(n, d, m, tries=3)
    combined = code.exact_weights(survivors(n, n - d + m, most=6)) @ code.exact_encoding()
    np.testing.assert_array_equal(combined, [np.tile(np.eye(m, dtype=int), n)] * len(combined))
    w, i = np.ogrid[:n, :n]
    np.testing.assert_array_equal(code.assignment, (i - w) % n < d)


@pytest.mark.parametrize(("n", "d", "m"), [(7, 4, 1), (7, 5, 5), (8, 5, 3)])
def test_polynomial_code_is_the_general_one(n, d, m):
    """Of V[r, w] = theta_w^r the same encoding and weights, exactly; of at most six workers claims try every code."""
    V = [[x**r for x in evaluation_points(n)] for r in range(n - d + m)]
    one, other = CommunicationEfficient(n, d, m), GeneralCommunicationEfficient(n, d, m, V=V)
    np.testing.assert_array_equal(one.exact_encoding(), other.exact_encoding())
    responses = survivors(n, n - d + m, most=20)
    np.testing.assert_array_equal(one.exact_weights(responses), other.exact_weights(responses))
    np.testing.assert_array_equal(np.abs(one.encoding.toarray()).max(1), 1)  # scales left out


def test_evaluation_points():
    for n in (8, 9):  # the paper's set
        half = {1 + Fraction(i, 2) for i in range(n // 2)}
        assert set(evaluation_points(n)) == half | {-x for x in half} | ({0} if n % 2 else set())


# --- numerical limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 8, 10, 13, 17, 20])
def test_round_trip(n):
    """All m <= d <= 6, a length that m does not divide; every set of responders up to n = 10."""
    for m, d in combinations_with_replacement(range(1, min(n, 6) + 1), 2):
        code = CommunicationEfficient(n, d, m)
        responses = survivors(n, n - d + m, most=10**9 if n <= 10 else 30)
        assert worst_error(code, responses, l=61) < 1e-8


@pytest.mark.parametrize(("n", "d", "m", "order"), [(10, 4, 3, "ascending"), (15, 5, 4, "alternating")])
def test_plain_float64_at_small_n(n, d, m, order):
    code = CommunicationEfficient(n, d, m, theta_order=order, arithmetic="float64")
    assert (code.decode(survivors(n, n - d + m)).coefficients == 1).all()


def test_plain_float64_at_20_workers_is_refused_by_its_certificate():
    """How far off it is says the table behind the paper's claims."""
    for (d, m), order in product([(4, 3), (6, 5)], ["ascending", "alternating"]):
        code = CommunicationEfficient(20, d, m, theta_order=order, arithmetic="float64")
        with pytest.raises(DecodingError, match="residual"):
            code.decode(survivors(20, 20 - d + m))


@pytest.mark.parametrize(("n", "d", "m"), [(20, 6, 5), (20, 6, 1), (20, 4, 3), (20, 10, 5)])
def test_gaussian_at_20_workers_after_a_search(n, d, m):
    code = GeneralCommunicationEfficient(n, d, m)
    assert worst_error(code, survivors(n, n - d + m, most=60)) < (1e-11 if d <= 6 else 1e-10)


# --- wiring -------------------------------------------------------------------------------------------------


def test_load_or_stragglers_may_be_left_out():
    assert (CommunicationEfficient(10, 4, 3).s, CommunicationEfficient(10, None, 3, s=1).d) == (1, 4)
    assert GeneralCommunicationEfficient(6, None, 2, s=1, tries=1).d == 3


def test_spare_load_uses_the_outermost_points():
    """d > s + m: the quorum is n - s, and n - d + m of those workers are used."""
    code = CommunicationEfficient(8, 5, 2, s=1)
    assert code.quorums[0].need == ((1, 7),)
    decoding = code.decode([[1, 1, 1, 0, 1, 1, 1, 1], [1, 1, 1, 0, 1, 0, 1, 0]])
    used = np.flatnonzero(decoding.weights[0].any(0))
    np.testing.assert_array_equal(used, [2, 4, 5, 6, 7])  # not +1 and -1
    np.testing.assert_allclose(decoding.coefficients, 1, atol=1e-12)  # five are enough, the quorum is seven


@pytest.mark.parametrize("family", [CommunicationEfficient, GeneralCommunicationEfficient])
def test_below_the_threshold(family):
    few = np.arange(6)[None] < 3
    mixed = family(6, 4, 2).decode(few, partial=True)  # 4 are needed
    assert mixed.residual[0] > 1e-6 and not mixed.coefficients.any()  # skipped, and the certificate says so
    partial = family(6, 3, 1).decode(few, partial=True)
    assert partial.residual[0] == 0 and 0 < partial.error[0] < 1


SINGULAR = [[1, 1, 1, 2], [1, 1, 1, 1], [1, 2, 4, 8]]  # without partition 0, of the workers 1 and 2
DEPENDENT = [[1, 2, 4, 3], [3, 1, 1, 2], [0, 0, 0, 1]]  # of the workers 0, 1 and 2
OF_ANY = [
    ({"d": 3, "m": 2, "s": 2}, "n=10.*d=3.*m=2.*s=2"),
    ({"d": 3, "m": 4}, "1 <= m <= d <= n, got n=10, d=3, m=4"),
    ({"d": 3, "m": 2, "s": -1}, "s >= 0, got n=10, d=3, m=2, s=-1"),
    ({"d": None, "m": 2}, "needs d or s"),
    ({"d": None, "m": 8, "s": 3}, "1 <= m <= d <= n, got n=10, d=None, m=8, s=3"),
    ({"d": 3, "m": 2, "arithmetic": "rationl"}, "'rational'"),
    ({"d": 3, "m": 2, "scales": [1] * 9 + [0]}, "scales"),
    ({"d": 3, "m": 2, "scales": ["a"] * 10}, "scales holds numbers"),
]
OF_POLYNOMIALS = [
    ({"theta_order": "asc"}, "'asc'.*'ascending'"),
    ({"theta": [1, 2, 3]}, "theta holds 4 numbers"),
    ({"theta": [1, 2, 3, 1]}, "theta"),
    ({"theta": [1, 2, 3, float("nan")]}, "theta"),
]
OF_GENERAL = [
    ({"tries": 0}, "tries.*got 0"),
    ({"V": [[1, 2, 3, 4], [1, 1, 1, 1]]}, "3 rows of 4 numbers"),
    ({"V": [[1, 2, 3], [1, 1, 1], [1, 4, 9]]}, "a row of V holds 4 numbers"),
    ({"d": 4, "V": [[1, 0, 1, 1]]}, "worker 1 .*V"),
    ({"V": SINGULAR}, r"\[1, 2\].* 0"),
    ({"V": SINGULAR, "arithmetic": "float64"}, r"\[1, 2\].* 0"),
]
FOUR = {"n": 4, "d": 2, "m": 1}


test_a_family_refuses = refusals(
    *((partial(CommunicationEfficient, **{"n": 10} | given), named) for given, named in OF_ANY),
    *((partial(GeneralCommunicationEfficient, **{"n": 10} | given), named) for given, named in OF_ANY),
    *((partial(CommunicationEfficient, **FOUR | given), named) for given, named in OF_POLYNOMIALS),
    *((partial(GeneralCommunicationEfficient, **FOUR | given), named) for given, named in OF_GENERAL),
)
PLAIN = CommunicationEfficient(5, 3, 2, arithmetic="float64")


def dependent(**more):
    return lambda: GeneralCommunicationEfficient(**FOUR, V=DEPENDENT, **more).decode([[1, 1, 1, 0]])


test_refuses = refusals(
    (dependent(), r"\[0, 1, 2\]"),
    (dependent(arithmetic="float64"), "V has 3 dependent columns"),
    (lambda: PLAIN.exact_encoding(), "arithmetic=float64"),
    (lambda: PLAIN.exact_weights([[1, 1, 1, 1, 0]]), "arithmetic=float64"),
    (lambda: CommunicationEfficient(5, 3, 2).exact_weights([[1, 1, 1, 0, 0]]), "4 workers, got 3"),
)
