"""Expected times against integrals by scipy, closed forms for many workers, and the simulated clock."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from gcexp.codes import Clustered
from gcexp.delays import TwoStateMarkov
from gcexp.schemes import Decodable, Scheme
from gcexp.timeline import simulate
from gcexp_papers.dynamic_clustering.theory import (
    expected_time,
    expected_time_of_counts,
    mean_time,
    order_statistic,
    recoverable_sets,
    slow_threshold,
)
from tests.conftest import refusals

LAW = {"alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}


def by_quad(groups, spare, load):
    """r (alpha + int (1 - prod R(u)) du), the Poisson-binomial law by convolution."""

    def left(u):
        product = 1.0
        for slow in groups:
            law = np.ones(1)
            for q in slow:
                waits = q * np.exp(-0.1 * u) + (1 - q) * np.exp(-10 * u)
                law = np.convolve(law, [1 - waits, waits])
            product *= law[: spare + 1].sum()
        return 1 - product

    ends = (0, 0.1, 0.5, 2, 10, 50, 150, 500)
    parts = [quad(left, a, b, epsabs=1e-9, epsrel=1e-9)[0] for a, b in zip(ends, ends[1:], strict=False)]
    return load * (0.01 + sum(parts))


@pytest.mark.parametrize(("n", "clusters", "load"), [(12, 4, 2), (20, 5, 3)])
def test_integrals_agree_with_scipy(n, clusters, load):
    """Of both simulations of the paper."""
    q = np.random.default_rng(0).random(n).round(1)
    spare = load - 1
    for groups, left in ((1, spare), (clusters, spare), (1, clusters * spare)):  # GC, GC-SC, LB
        each = q.reshape(groups, -1)
        expected = by_quad(each, left, load)
        assert expected_time(each, left, load=load, **LAW) == pytest.approx(expected, rel=1e-7)


def test_expected_times_of_counts_are_expected_times():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (20, 5))
    marked = np.arange(4) < counts[..., None]
    for slow in ((1.0, 0.0), (0.95, 0.05)):
        each = expected_time(np.where(marked, *slow), 2, load=3, **LAW)
        np.testing.assert_allclose(expected_time_of_counts(counts, 4, 2, slow, load=3, **LAW), each)


def test_sum_load_model_in_theory():
    exact = mean_time(12, 4, 1, iterations=400, initial_slow=4, p=0.05, load=2, load_model="sum", **LAW)
    drawn = TwoStateMarkov(p=0.05, initial_slow=4, load_model="sum", **LAW).draw(tuple(range(40)), 400, 12)
    means = simulate(Scheme(Clustered(12, 4, 2), Decodable()), drawn).duration.mean(1)
    assert means.mean() == pytest.approx(exact, abs=4 * means.std() / np.sqrt(40))
    assert exact == pytest.approx(15.56 / (1 - 0.096), rel=0.01)  # GC-DC 15.56, 9.6 % better


def test_a_slow_and_a_fast_worker_are_equally_likely_to_end_at_the_threshold():
    x = slow_threshold(3, alpha=0.01, mu_s=0.1, mu_f=10) / 3 - 0.01
    assert 0.1 * np.exp(-0.1 * x) == pytest.approx(10 * np.exp(-10 * x))


@pytest.mark.parametrize(("n", "spare"), [(12, 1), (200, 100), (400, 200)])
def test_time_of_many_equal_workers_is_the_order_statistic(n, spare):
    found = expected_time(np.zeros((1, n)), spare, load=2, **LAW)
    exact = order_statistic(n, spare, load=2, alpha=0.01, mu=10.0)
    assert found == pytest.approx(exact, rel=2e-9)  # was off by 2e-4 at (200, 100)


def test_time_of_many_groups_is_the_largest_of_as_many_workers():
    """Groups of one worker without a spare: the last of n, H_n."""
    found = expected_time_of_counts([[0] * 200], 1, 0, load=2, **LAW)
    exact = order_statistic(200, 0, load=2, alpha=0.01, mu=10.0)
    assert found[0] == pytest.approx(exact, rel=2e-9)
    mean = mean_time(200, 1, 99, iterations=1, initial_slow=0, p=0.0, load=2, **LAW)
    assert mean == pytest.approx(order_statistic(200, 99, load=2, alpha=0.01, mu=10.0), rel=2e-9)


test_refuses = refusals(
    (lambda: expected_time(np.ones((4, 3)), 3, load=2, **LAW), "spare=3"),
    (lambda: recoverable_sets(12, 5, 2), "n=12, clusters=5"),
    (lambda: slow_threshold(2, alpha=0, mu_s=1, mu_f=1), "0 < mu_s < mu_f"),
)
