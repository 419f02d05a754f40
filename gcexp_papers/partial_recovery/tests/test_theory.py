"""Bounds, limits and thresholds; what the paper's claims try is not repeated."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcexp.errors import ParameterError
from gcexp_papers.partial_recovery.theory import (
    co_prime,
    combinatorial,
    cyclic,
    cyclic_load,
    exact,
    expected_times,
    intermediate,
    invisible_fraction,
    least_invisible,
    limit_times,
    lower_bound,
    minimal_y,
    most_stragglers,
    one_message_load,
    rho,
    t_design,
    threshold,
    y_min,
)
from tests.conftest import refusals

# --- Theorem 1 ----------------------------------------------------------------------------------------------


@given(data=st.data(), n=st.integers(1, 15), tenths=st.integers(1, 40))
def test_lower_bound_is_the_zero_of_inequality_1(data, n, tenths):
    """It is feasible in (1), and nothing less is; most_stragglers inverts it at integer loads."""
    s = data.draw(st.integers(0, n - 1))
    alpha = Fraction(tenths, 40)
    least = lower_bound(n, s, alpha)
    assert least_invisible(n, s, least) <= 1 - alpha
    if least:
        assert least_invisible(n, s, least) == 1 - alpha
        assert least_invisible(n, s, least * Fraction(999, 1000)) > 1 - alpha
    y = minimal_y(n, s, alpha)
    assert least <= Fraction(y, n) and most_stragglers(n, y, alpha) >= s
    assert y == 1 or most_stragglers(n, y - 1, alpha) < s


def test_fractions_are_read_exactly():
    assert exact(2 / 3) == Fraction(2, 3) and exact(Fraction(1, 7)) == Fraction(1, 7) and exact(1) == 1


# --- Tables and figures -------------------------------------------------------------------------------------


def test_table_1():
    n, s = 12, 5
    assert cyclic(n, s, 8) == (12, 1, Fraction(2, 12))
    assert (cyclic_load(n, s, 10), one_message_load(n, s, 10)) == (4, 6)
    assert cyclic(n, s, 10) == (12, 2, Fraction(4, 12))


def test_table_1_rule_is_the_least_load_that_theorem_5_allows():
    for s, n in combinations(range(13), 2):
        loads = {b: cyclic_load(n, s, b) for b in range(n - s, n + 1)}
        works = [b for b, p in loads.items() if b == n or b % p == 0]  # beta = n: exact cyclic codes
        for beta in loads:
            assert one_message_load(n, s, beta) == min(loads[b] for b in works if b >= beta)


# --- Section VIII -------------------------------------------------------------------------------------------


INSTANCES = [  # model, sample_time, law
    ("A", 0.01, {"scale": 1.0, "shape": 2.5}),
    ("B", 0.01, {"shift": 0.5, "mean": 2.0}),
    ("C", 0.0, {"scale": 1.0, "shape": 2.5}),
    ("D", 0.0, {"shift": 0.5, "mean": 2.0}),
    ("A", 0.001, {"scale": 1.0, "shape": 2.5}),
    ("C", 0.0, {"scale": 1.0, "shape": 0.8}),
]


@pytest.mark.parametrize(("model", "sample_time", "law"), INSTANCES)
def test_limits(model, sample_time, law):
    n = 2000
    large = expected_times(model, n, 0.75, 100 * n, sample_time, **law)
    assert large == pytest.approx(limit_times(model, n, 0.75, 100 * n, sample_time, **law), rel=5e-3)
    if model in "BD":
        first, second = limit_times(model, n, 0.75, 100 * n, **law)
        assert second - first == pytest.approx(100 * law["shift"] if model == "D" else -np.log(4))


def test_full_recovery_has_no_finite_limit():
    assert limit_times("A", 10, 1.0, 100, scale=1.0, shape=2.0) == (inf, inf)
    assert expected_times("A", 10, 1.0, 100, scale=1.0, shape=2.0)[0] < inf


def test_wanted_fractions_near_0_and_1():
    assert exact(1) == 1 and exact(1e-6) == Fraction(1, 10**6)
    assert exact(Fraction(1, 10**7)) == Fraction(1, 10**7)
    for alpha, fraction in ((1e-7, "1/10000000"), (0.9999999, "9999999/10000000")):
        with pytest.raises(ParameterError, match=f"alpha={fraction}$"):
            exact(alpha)


# --- what is refused ----------------------------------------------------------------------------------------


test_theory_refuses = refusals(
    (lambda: lower_bound(5, 5, 0.5), "0 <= s < n, got n=5, s=5"),
    (lambda: rho(5, 3, 6), "0 <= y <= n, got n=5, y=6"),
    (lambda: least_invisible(5, 3, Fraction(3, 2)), "0 to 1, got 3/2"),
    (lambda: invisible_fraction([], 5, 3), "at least one partition"),
    (lambda: combinatorial(5, 6), "1 <= y <= n, got n=5, y=6"),
    (lambda: intermediate(5, 3, 2), "1 <= x <= y <= n, got n=5, x=3, y=2"),
    (lambda: y_min(5, 2, 0.5, 4), "1 <= x <= s \\+ 1, got x=4, s=2"),
    (lambda: cyclic_load(6, 2, 3), "n=6.*s=2.*beta=3"),
    (lambda: cyclic(5, 3, 5), "got n=5, s=3, beta=5, p=4"),
    (lambda: co_prime(6, 2), r"gcd\(n, y\) = 1"),
    (lambda: t_design(8, 3, 5, 1), r"no 3-\(8,5,1\) design"),
    (lambda: exact(0), "0 < alpha <= 1, got"),
    (lambda: exact(1.0001), "0 < alpha <= 1, got"),
    (lambda: expected_times("E", 10, 0.5, 100), "'E'"),
    (lambda: threshold("E", 10, 100), "'E'"),
)
