"""Order statistics against Monte Carlo, quadrature and closed forms, also for many workers; what is refused."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, isinf, log, log1p, nan, prod, sqrt

import numpy as np
import pytest

from gcexp.errors import ParameterError
from gcexp.theory import order_statistics
from tests.conftest import refusals


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
    assert order_statistics.shifted_exponential(2 * 10**6, 10**15) == pytest.approx(-log1p(-2e-9), rel=1e-9)


def test_means_by_quadrature_are_refused_where_it_misses_the_peak():
    assert order_statistics.of_quantile(lambda e: e, 1, 10**4) == pytest.approx(1e-4, rel=1e-9)
    with pytest.raises(ParameterError, match="10000 .*n=100000"):  # was 0.0
        order_statistics.of_quantile(lambda e: e, 1, 10**5)


def agrees(draws: np.ndarray, expected: float, errors: float = 4.5) -> bool:
    return abs(draws.mean() - expected) <= errors * draws.std(ddof=1) / sqrt(len(draws))


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 6), (4, 6), (11, 30), (15, 20)])
def test_order_statistics(k, n):
    exponential = np.sort(np.random.default_rng(0).standard_exponential((20000, n)), axis=1)[:, k - 1]
    assert agrees(0.5 + 2 * exponential, order_statistics.shifted_exponential(k, n, shift=0.5, mean=2.0))
    assert agrees(1e-3 * np.exp(exponential / 2.5), order_statistics.pareto(k, n, scale=1e-3, shape=2.5))
    harmonics = order_statistics.harmonic(n) - order_statistics.harmonic(n - k)
    assert order_statistics.of_quantile(lambda e: e, k, n) == pytest.approx(harmonics, rel=1e-7)


@pytest.mark.parametrize("shape", [3.0, 2.5, 1.05, 1.001, 1.0, 0.6, 0.5, 0.2])
@pytest.mark.parametrize(("k", "n"), [(1, 1), (5, 5), (4, 5), (30, 30)])
def test_order_statistics_of_heavy_tails(k, n, shape):
    """The slowest of n under a heavy tail: exp(e / shape) overflows long before its mean says whether it is finite."""
    found = order_statistics.of_quantile(lambda e: exp(e / shape), k, n)
    assert found == pytest.approx(order_statistics.pareto(k, n, shape=shape), rel=1e-7)


def test_order_statistics_at_the_edge():
    assert 1e3 * order_statistics.pareto(11, 30, 1e-3, 1.2) == pytest.approx(1.4612, abs=5e-5)
    assert order_statistics.pareto(1, 1, shape=2.0) == pytest.approx(2.0)
    assert isinf(order_statistics.pareto(3, 3, shape=1.0)) and isinf(order_statistics.pareto(2, 3, shape=0.5))
    assert order_statistics.pareto(2, 3, shape=0.51) < inf
    assert isinf(order_statistics.of_quantile(lambda e: exp(e * e), 3, 3))
    assert order_statistics.of_quantile(lambda e: 0.0, 5, 5) == 0


test_refuses = refusals(
    (lambda: order_statistics.harmonic(-1), "index >= 0, got -1"),
    (lambda: order_statistics.pareto(0, 3), "1 <= k <= n, got k=0, n=3"),
    (lambda: order_statistics.pareto(4, 3), "1 <= k <= n, got k=4, n=3"),
    (lambda: order_statistics.of_quantile(lambda e: e if e < 50 else nan, 5, 5), "gives no number at"),
)
