"""Expected times against the simulated clock, limits, closed forms, and what is refused."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from gcexp.codes import CommunicationEfficient
from gcexp.delays import Draws
from gcexp.errors import ParameterError
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.timeline import simulate
from gcexp_papers.comm_efficient import theory
from tests.conftest import refusals

RATES = {"n": 8, "t1": 1.6, "lambda1": 0.8, "t2": 6.0, "lambda2": 0.1}  # of Table 3


def test_the_simulated_clock_agrees():
    """2e5 iterations of (4, 3); the same draws of T1, one for all of a worker's partitions, and T2 for the others."""
    draw = np.random.default_rng(0)
    shape = (1, 200_000, 8)
    one = 1.6 + draw.standard_exponential(shape) / 0.8
    drawn = Draws((0,), shape, 0.0, 8 * one, 6.0 + draw.standard_exponential(shape) / 0.1)
    mean = simulate(Scheme(CommunicationEfficient(8, 4, 3), Decodable()), drawn).duration.mean()
    assert mean == pytest.approx(21.37, abs=0.05)
    for d, m, s in [(8, 1, 7), (1, 1, 0), (6, 2, 3), (4, 3, 0)]:  # (4, 2) and (8, 1): r1 = r2
        code = CommunicationEfficient(8, d, m, s)
        time = Fastest(s=s).stop(code, lambda code=code: drawn.arrival(code.load / 8, code.length))[0]
        expected = theory.expected_time(d=d, m=m, s=s, **RATES)
        assert abs(time.mean() - expected) < 4.5 * time.std() / np.sqrt(time.size)


def test_equal_rates_are_a_limit():
    rates = {"t1": 1.0, "t2": 2.0, "lambda2": 0.5}
    exact = theory.expected_time(6, 2, 1, lambda1=1.0, **rates)
    for gap in (1e-4, 1e-6, 1e-9, 1e-12):
        near = theory.expected_time(6, 2, 1, lambda1=1 + gap, **rates)
        assert near == pytest.approx(exact, rel=3 * gap + 1e-12)
    r, y = 0.5, 3.0
    cdf = theory.worker_cdf(y + 4, 2, 1, lambda1=1.0, **rates)
    assert cdf == pytest.approx(1 - np.exp(-r * y) * (1 + r * y))


def test_free_communication():
    expected = [4.9973, 7.4946, 9.3670, 10.8226, 11.9658, 12.8589, 13.5438, 14.0500]
    closed = [theory.no_communication(8, d, 1.6, 0.8) for d in range(1, 9)]
    np.testing.assert_allclose(closed, expected, atol=1e-4)
    quadrature = [theory.expected_time(8, d, 1, 1.6, 0.8, 0, inf) for d in range(1, 9)]
    np.testing.assert_allclose(quadrature, closed, rtol=1e-11)
    assert (np.diff(closed, 2) < 0).all()  # concave in d
    edge = theory.full_load_pays_below(8)
    assert edge == pytest.approx(0.24541, abs=5e-6)
    for factor, pays in ((0.999, True), (1.001, False)):
        t1 = factor * edge / 0.8
        assert (theory.no_communication(8, 8, t1, 0.8) < theory.no_communication(8, 1, t1, 0.8)) is pays


def test_free_computation():
    expected = [7.2500, 4.3393, 3.4484, 3.0863, 2.9690, 3.0298, 3.3112, 4.1473]
    closed = [theory.no_computation(8, m, 6, 0.1) for m in range(1, 9)]
    np.testing.assert_allclose(closed, expected, atol=1e-4)
    quadrature = [theory.expected_time(8, 8, m, 0, inf, 6, 0.1) for m in range(1, 9)]
    np.testing.assert_allclose(quadrature, closed, rtol=1e-11)
    best = min(range(1, 1001), key=lambda m: theory.no_computation(1000, m, 6, 0.1))
    assert best == 605 and best / 1000 == pytest.approx(theory.best_share(0.6), rel=0.01)


def test_no_randomness():
    assert theory.expected_time(8, 4, 2, 1.5, inf, 6.0, inf) == 9.0


@pytest.mark.parametrize("shift", [1e-6, 0.01, 0.6, 5.0, 1e4])
def test_best_share(shift):
    alpha = theory.best_share(shift)
    assert alpha / (1 - alpha) + np.log1p(-alpha) == pytest.approx(shift, rel=1e-8)


def test_feasible_is_what_can_be_built():
    for n, d, m, s in np.ndindex(6, 7, 6, 6):
        if n >= 1 and m >= 1:
            try:
                CommunicationEfficient(n, d, m, s)
                built = True
            except ParameterError:
                built = False
            assert theory.feasible(n, d, s, m) == built
    assert theory.shortest_message(10, 4, 1) == pytest.approx(1 / 3)
    assert theory.shortest_message(10, 3, 1, k=5) == pytest.approx(1 / 5)


def test_the_choice_may_be_limited():
    cluster = {"n": 10, "t1": 0.1, "lambda1": 20.0, "t2": 1.0, "lambda2": 2.0, "overhead": 1.2}
    found = theory.best_choices(**cluster, max_load=2)
    assert found["straggler_only"][:3] == (2, 1, 1)
    assert found["best"][:3] == (2, 2, 0) and found["second"] is None
    assert theory.best_choices(**cluster, max_load=1)["best"] is None
    found = theory.best_choices(**cluster, distinct_m=True)
    assert (found["best"].m, found["second"].m, found["second"].s) == (3, 4, 1)
    assert found["second"].time == pytest.approx(2.5929, abs=6e-5)


@pytest.mark.parametrize(("n", "d"), [(20, 10), (10**4, 5000), (10**6, 5 * 10**5), (10**6, 10)])
def test_expected_time_of_many_workers(n, d):
    """Where sending is free there is a closed form; at (10^6, 5 10^5) the answer was off by 4e-4."""
    found = theory.expected_time(n, d, 1, 1.6, 0.8, 0.0, inf)
    assert found == pytest.approx(theory.no_communication(n, d, 1.6, 0.8), rel=1e-9)


def test_no_communication_of_many_workers_is_a_harmonic_number():
    gamma = 0.57721566490153286
    assert theory.no_communication(10**9, 1, 0.0, 1.0) == pytest.approx(np.log(1e9) + gamma, rel=1e-9)


test_refuses = refusals(
    (lambda: theory.expected_time(8, 9, 1, 1, 1, 1, 1), "1 <= m <= d <= n, got n=8, d=9, m=1"),
    (lambda: theory.expected_time(8, 4, 3, 1, 1, 1, 1, s=2), "0 <= s <= d - m, got d=4, m=3, s=2"),
    (lambda: theory.expected_time(8, 4, 3, -1, 1, 1, 1), "times >= 0"),
    (lambda: theory.expected_time(8, 4, 3, 1, 0, 1, 1), "lambda1 and lambda2"),
    (lambda: theory.best_choices(8, 1, 1, 1, 1, max_load=9), "max_load=9"),
    (lambda: theory.shortest_message(5, 2, 2), "no code has"),
    (lambda: theory.feasible(5, 2, -1, 1), "s >= 0"),
    (lambda: theory.best_share(0), "0 < lambda2 t2"),
    (lambda: theory.full_load_pays_below(1), "n >= 2"),
    (lambda: theory.no_communication(5, 6, 1, 1), "1 <= d <= n"),
    (lambda: theory.no_computation(5, 0, 1, 1), "1 <= m <= n"),
)
