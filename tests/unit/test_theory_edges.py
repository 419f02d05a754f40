"""Formulas far from the papers' sizes: right, or refused in one sentence."""

from __future__ import annotations

from fractions import Fraction
from math import log, log1p, prod

import numpy as np
import pytest
from scipy.stats import binom

from gcexp.errors import ParameterError
from gcexp.theory import adaptive, comm_efficient, dynamic_clustering, order_statistics, partial_recovery

LAW = {"load": 2, "alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}


@pytest.mark.parametrize(("n", "spare"), [(12, 1), (200, 100), (400, 200)])
def test_time_of_many_equal_workers_is_the_order_statistic(n, spare):
    found = dynamic_clustering.expected_time(np.zeros((1, n)), spare, **LAW)
    exact = dynamic_clustering.order_statistic(n, spare, load=2, alpha=0.01, mu=10.0)
    assert found == pytest.approx(exact, rel=2e-9)  # was off by 2e-4 at (200, 100)


def test_time_of_many_groups_is_the_largest_of_as_many_workers():
    """Groups of one worker without a spare: the last of n, H_n."""
    found = dynamic_clustering.expected_time_of_counts([[0] * 200], 1, 0, **LAW)
    exact = dynamic_clustering.order_statistic(200, 0, load=2, alpha=0.01, mu=10.0)
    assert found[0] == pytest.approx(exact, rel=2e-9)
    mean = dynamic_clustering.mean_time(200, 1, 99, iterations=1, initial_slow=0, p=0.0, **LAW)
    assert mean == pytest.approx(
        dynamic_clustering.order_statistic(200, 99, load=2, alpha=0.01, mu=10.0), rel=2e-9
    )


@pytest.mark.parametrize("n", [10**3, 10**4, 10**6, 10**10, 10**15])
@pytest.mark.parametrize("inverse", [1, 2])
def test_pareto_of_many_workers(n, inverse):
    """With 1/shape = b whole, G(n+1) G(n-k+1-b) / (G(n-k+1) G(n+1-b)) is a product of b quotients."""
    for k in (1, n // 2, n - 5):
        exact = prod(Fraction(n - j, n - k - j) for j in range(inverse))
        assert order_statistics.pareto(k, n, shape=1 / inverse) == pytest.approx(float(exact), rel=1e-10)


def test_harmonic_numbers_of_many_workers():
    gamma = 0.57721566490153286
    assert order_statistics.harmonic(10**12) == pytest.approx(log(1e12) + gamma + 0.5e-12, rel=1e-14)
    assert order_statistics.shifted_exponential(10**10, 2 * 10**10) == pytest.approx(log(2), rel=1e-10)
    few, split = sum(1 / j for j in range(500, 10**6)), order_statistics.reciprocals(500, 3 * 10**6)
    assert split == pytest.approx(few + sum(1 / j for j in range(10**6, 3 * 10**6 + 1)), rel=1e-13)
    assert comm_efficient.no_communication(10**9, 1, 0.0, 1.0) == pytest.approx(log(1e9) + gamma, rel=1e-9)
    assert order_statistics.shifted_exponential(2 * 10**6, 10**15) == pytest.approx(-log1p(-2e-9), rel=1e-9)


def test_means_by_quadrature_are_refused_where_it_misses_the_peak():
    assert order_statistics.of_quantile(lambda e: e, 1, 10**4) == pytest.approx(1e-4, rel=1e-9)
    with pytest.raises(ParameterError, match="10000 .*n=100000"):  # was 0.0
        order_statistics.of_quantile(lambda e: e, 1, 10**5)


@pytest.mark.parametrize(("n", "d"), [(20, 10), (10**4, 5000), (10**6, 5 * 10**5), (10**6, 10)])
def test_expected_time_of_many_workers(n, d):
    """Where sending is free there is a closed form; at (10^6, 5 10^5) the answer was off by 4e-4."""
    found = comm_efficient.expected_time(n, d, 1, 1.6, 0.8, 0.0, np.inf)
    assert found == pytest.approx(comm_efficient.no_communication(n, d, 1.6, 0.8), rel=1e-9)


@pytest.mark.parametrize("p", [0.0, 0.9])
def test_restarts_of_many_workers(p):
    chances = adaptive.first_epoch(1100, p, 3)  # was an OverflowError from 1030 on
    left = binom.cdf(3, 1100, p ** np.arange(1, len(chances) + 1))  # of 1100 after so many epochs
    np.testing.assert_allclose(chances.sum(1).cumsum(), left, atol=1e-9)


def test_wanted_fractions_near_0_and_1():
    assert partial_recovery.exact(1) == 1 and partial_recovery.exact(1e-6) == Fraction(1, 10**6)
    assert partial_recovery.exact(Fraction(1, 10**7)) == Fraction(1, 10**7)
    for alpha, fraction in ((1e-7, "1/10000000"), (0.9999999, "9999999/10000000")):
        with pytest.raises(ParameterError, match=f"alpha={fraction}$"):
            partial_recovery.exact(alpha)
