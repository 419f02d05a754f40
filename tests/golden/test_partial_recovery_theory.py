"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): bounds, tables, impossibility arguments, expected times.

Every closed form meets enumeration, Monte Carlo, or a numerical integral; golden numbers are the specification's.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, exp, inf, isinf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.subset_designs import BlockAssignment, intermediate_holders
from gcexp.errors import ParameterError
from gcexp.theory import order_statistics
from gcexp.theory.partial_recovery import (
    choose,
    combinatorial,
    comparison,
    convex_bound,
    cyclic,
    cyclic_load,
    exact,
    expected_times,
    intermediate,
    intermediate_misses,
    invisible_fraction,
    least_invisible,
    limit_times,
    lower_bound,
    minimal_y,
    most_stragglers,
    naive,
    one_message_load,
    rho,
    sweep,
    threshold,
    y_min,
)


def survivors(n: int, s: int) -> np.ndarray:
    """Who is heard, for every set of s stragglers, boolean (C(n,s), n)."""
    responses = np.ones((comb(n, s), n), dtype=bool)
    for row, silent in zip(responses, combinations(range(n), s), strict=True):
        row[list(silent)] = False
    return responses


# --- Theorem 1 ----------------------------------------------------------------------------------------------


def test_lower_bound_of_full_recovery():
    for n in range(1, 15):
        for s in range(n):
            assert lower_bound(n, s, 1) == Fraction(s + 1, n)


def test_lower_bound_golden():
    assert lower_bound(15, 9, 2 / 3) == Fraction(445, 216) / 15
    # 4.5857; the specification prints 4.5858.
    assert 12 * lower_bound(12, 8, 0.9) == 4 + (Fraction(14, 99) - Fraction(1, 10)) / Fraction(7, 99)
    assert float(15 * lower_bound(15, 10, 0.9)) == pytest.approx(4.77)
    assert lower_bound(8, 5, Fraction(13, 14)) == Fraction(1, 2)


def test_lower_bound_where_a_combinatorial_scheme_meets_it():
    for n in range(1, 13):
        for s in range(n):
            for y in range(s + 1):
                if rho(n, s, y) < 1:
                    assert lower_bound(n, s, 1 - rho(n, s, y)) == Fraction(y, n)


@given(data=st.data(), n=st.integers(1, 15), tenths=st.integers(1, 40))
def test_lower_bound_is_the_zero_of_inequality_1(data, n, tenths):
    """It is feasible in (1), and nothing less is; most_stragglers inverts it at integer loads."""
    s, alpha = data.draw(st.integers(0, n - 1)), Fraction(tenths, 40)
    least = lower_bound(n, s, alpha)
    assert least_invisible(n, s, least) <= 1 - alpha
    if least:
        assert least_invisible(n, s, least) == 1 - alpha
        assert least_invisible(n, s, least * Fraction(999, 1000)) > 1 - alpha
    y = minimal_y(n, s, alpha)
    assert least <= Fraction(y, n) and most_stragglers(n, y, alpha) >= s
    assert y == 1 or most_stragglers(n, y - 1, alpha) < s


@given(data=st.data(), n=st.integers(1, 12), held=st.lists(st.integers(0, 12), min_size=1, max_size=15))
def test_claim_1(data, n, held):
    s = data.draw(st.integers(0, n - 1))
    held = [min(h, n) for h in held]
    total = sum(choose(n - h, s - h) for h in held)
    assert total >= convex_bound(sum(held), len(held), n, s)
    # Theorem 1 is Claim 1 with the load put in.
    assert invisible_fraction(held, n, s) >= least_invisible(n, s, Fraction(sum(held), n * len(held)))


@settings(max_examples=50, deadline=None)
@given(data=st.data(), n=st.integers(2, 6), k=st.integers(1, 6))
def test_lemma_1_counts_invisible_pairs(data, n, k):
    s = data.draw(st.integers(0, n - 1))
    held = np.array(
        data.draw(st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=n, max_size=n))
    )
    visible = (survivors(n, s).astype(int) @ held) > 0
    assert invisible_fraction(held.sum(0), n, s) == Fraction(int((~visible).sum()), visible.size)


def test_fractions_are_read_exactly():
    assert exact(2 / 3) == Fraction(2, 3) and exact(Fraction(1, 7)) == Fraction(1, 7) and exact(1) == 1
    for bad in (0, -0.1, 1.0001):
        with pytest.raises(ParameterError, match="0 < alpha <= 1, got"):
            exact(bad)


# --- Tables and figures -------------------------------------------------------------------------------------


def test_table_1():
    n, s = 12, 5
    assert cyclic(n, s, 8) == (12, 1, Fraction(2, 12))
    assert (cyclic_load(n, s, 10), one_message_load(n, s, 10)) == (4, 6)
    assert cyclic(n, s, 10) == (12, 2, Fraction(4, 12))
    with pytest.raises(ParameterError, match="got n=5, s=3, beta=5, p=4"):
        cyclic(5, 3, 5)


def test_table_1_rule_is_the_least_load_that_theorem_5_allows():
    for n in range(1, 13):
        for s in range(n):
            for beta in range(n - s, n + 1):
                works = [
                    cyclic_load(n, s, b)
                    for b in range(beta, n + 1)
                    if b == n or b % cyclic_load(n, s, b) == 0  # beta = n: exact cyclic codes
                ]
                assert one_message_load(n, s, beta) == min(works)


@pytest.mark.parametrize(
    ("n", "s", "beta", "rows", "bound"),
    [
        (7, 4, 5, [(1, Fraction(25, 49)), (2, Fraction(3, 7)), (6, Fraction(2, 7))], Fraction(2, 7)),
        (9, 5, 6, [(1, Fraction(4, 9)), (1, Fraction(3, 9)), (8, Fraction(2, 9))], Fraction(1, 5)),
    ],
)
def test_table_4(n, s, beta, rows, bound):
    costs = comparison(n, s, beta)
    assert [(cost.m, cost.load) for cost in costs.values()] == rows
    assert lower_bound(n, s, Fraction(beta, n)) == bound
    assert costs["combinatorial"].load < costs["cyclic"].load < costs["naive"].load
    p = cyclic_load(n, s, beta)
    assert (p, beta % p) == ((3, 2) if n == 7 else (3, 0))
    code = CyclicTwoMessage(n, s, beta) if beta % p else CyclicPartialRecovery(n, s, beta)
    assert Fraction(int(code.load.max()), code.k) == costs["cyclic"].load


def test_loads_are_ordered_for_whole_partitions():
    """n l_min <= y_min <= p <= alpha (s+1), for integer alpha n >= n - s."""
    triples = [(n, s, b) for n in range(1, 25) for s in range(1, n) for b in range(n - s, n + 1)]
    assert len(triples) == 2576
    for n, s, beta in triples:
        alpha = Fraction(beta, n)
        bound, y, p = n * lower_bound(n, s, alpha), minimal_y(n, s, alpha), cyclic_load(n, s, beta)
        assert bound <= y <= p <= n * naive(n, s, alpha).load
    # Not so where alpha n is no integer.
    assert minimal_y(5, 1, 0.9) == 2 == cyclic_load(5, 1, 5)
    assert (naive(5, 1, 0.9).load, lower_bound(5, 1, 0.9)) == (Fraction(9, 25), Fraction(3, 10))


FIGURE_2 = {
    (12, 8): {
        "y": [8, 7, 6, 5, 5],
        "k": [12, 72, 112, 1440, 792],
        "m": [8, 42, 56, 600, 330],
        "missed": [Fraction(1, 12), Fraction(1, 12), Fraction(5, 56), Fraction(7, 72), Fraction(7, 99)],
    },
    (15, 10): {
        "y": [10, 8, 7, 6, 5],
        "k": [15, 60, 675, 1650, 3003],
        "m": [10, 32, 315, 660, 1001],
    },
}


@pytest.mark.parametrize("given", FIGURE_2, ids=str)
def test_figure_2(given):
    rows = sweep(*given, 0.9)
    assert [row["x"] for row in rows] == [1, 2, 3, 4, 5]
    for column, values in FIGURE_2[given].items():
        assert [row[column] for row in rows] == values
    n, s = given
    assert all(row["load"] == Fraction(row["y"], n) and row["missed"] <= Fraction(1, 10) for row in rows)
    assert rows[-1]["y"] == minimal_y(n, s, 0.9)
    assert rows[-1]["load"] >= lower_bound(n, s, 0.9)
    # alpha n is no integer, so the cyclic end may lie above the naive line: 2/3 against 0.66 at n = 15.
    assert (rows[0]["load"] < naive(n, s, 0.9).load) == (n == 12)
    between = [rows[0]["m"] <= row["m"] <= rows[-1]["m"] for row in rows]
    assert all(between) == (n == 15)


@pytest.mark.parametrize("given", FIGURE_2, ids=str)
def test_figure_2_is_built(given):
    for row in sweep(*given, 0.9):
        holders = intermediate_holders(given[0], row["x"], row["y"])
        assert len(holders) == row["k"]
        assert set(np.bincount(np.concatenate(holders), minlength=given[0])) == {row["m"]}
        assert {len(set(block)) for block in holders} == {row["y"]}


def test_remark_11():
    """Loads fall from the cyclic to the combinatorial one; messages lie between the ends in 69 % of the points."""
    inside, strictly, entire = [], 0, []
    for n in range(4, 21):
        for s in range(1, n):
            for beta in range(n - s, n):
                rows = sweep(n, s, Fraction(beta, n))
                loads, m = [row["y"] for row in rows], [row["m"] for row in rows]
                assert loads == sorted(loads, reverse=True)
                assert loads[0] == cyclic_load(n, s, beta)
                assert loads[-1] == minimal_y(n, s, Fraction(beta, n)) == rows[-1]["x"]
                low, high = sorted((m[0], m[-1]))
                between = [low <= each <= high for each in m[1:-1]]
                inside += between
                strictly += sum(low < each < high for each in m[1:-1])
                entire += [all(between)] if between else []
    assert (sum(inside), strictly, len(inside)) == (1763, 1729, 2551)
    assert (sum(entire), len(entire)) == (378, 725)


def test_lemma_3():
    """The left side of (3) falls in x at fixed y, by the factor (s-y+x+1) / (n-y+x)."""
    for n in range(2, 13):
        for s in range(1, n):
            for y in range(2, s + 1):
                for x in range(1, y):
                    left, right = (
                        Fraction(intermediate_misses(n, s, v, y), intermediate(n, v, y).k) for v in (x, x + 1)
                    )
                    assert left * (s - y + x + 1) == right * (n - y + x) and right <= left


def test_ends_of_theorem_10():
    for n in range(1, 12):
        for y in range(1, n + 1):
            assert intermediate(n, 1, y) == (n, y, Fraction(y, n))
            assert intermediate(n, y, y) == combinatorial(n, y)


# --- Section VIII -------------------------------------------------------------------------------------------


def agrees(draws: np.ndarray, expected: float, errors: float = 4.5) -> bool:
    return abs(draws.mean() - expected) <= errors * draws.std(ddof=1) / sqrt(len(draws))


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 6), (4, 6), (11, 30), (15, 20)])
def test_order_statistics(k, n):
    exponential = np.sort(np.random.default_rng(0).standard_exponential((20000, n)), axis=1)[:, k - 1]
    assert agrees(0.5 + 2 * exponential, order_statistics.shifted_exponential(k, n, shift=0.5, mean=2.0))
    shape = 2.5
    closed = order_statistics.pareto(k, n, scale=1e-3, shape=shape)
    assert agrees(1e-3 * np.exp(exponential / shape), closed)
    assert order_statistics.of_quantile(lambda e: 1e-3 * exp(e / shape), k, n) == pytest.approx(
        closed, rel=1e-7
    )
    harmonics = order_statistics.harmonic(n) - order_statistics.harmonic(n - k)
    assert order_statistics.of_quantile(lambda e: e, k, n) == pytest.approx(harmonics, rel=1e-7)


@pytest.mark.parametrize("shape", [3.0, 1.05, 1.001, 1.0, 0.6, 0.5, 0.2])
@pytest.mark.parametrize(("k", "n"), [(1, 1), (5, 5), (4, 5), (30, 30)])
def test_order_statistics_of_heavy_tails(k, n, shape):
    """The slowest of n under a heavy tail: exp(e / shape) overflows long before its mean says whether it is finite."""
    assert order_statistics.of_quantile(lambda e: exp(e / shape), k, n) == pytest.approx(
        order_statistics.pareto(k, n, shape=shape), rel=1e-7
    )


def test_order_statistics_of_other_tails():
    assert isinf(order_statistics.of_quantile(lambda e: exp(e * e), 3, 3))
    assert order_statistics.of_quantile(lambda e: 0.0, 5, 5) == 0
    with pytest.raises(ParameterError, match="gives no number at"):
        order_statistics.of_quantile(lambda e: e if e < 50 else float("nan"), 5, 5)


def test_order_statistics_at_the_edge():
    assert 1e3 * order_statistics.pareto(11, 30, 1e-3, 1.2) == pytest.approx(1.4612, abs=5e-5)
    assert order_statistics.pareto(1, 1, shape=2.0) == pytest.approx(2.0)
    assert isinf(order_statistics.pareto(3, 3, shape=1.0)) and isinf(order_statistics.pareto(2, 3, shape=0.5))
    assert order_statistics.pareto(2, 3, shape=0.51) < inf
    for k in (0, 4):
        with pytest.raises(ParameterError, match=f"1 <= k <= n, got k={k}, n=3"):
            order_statistics.pareto(k, 3)


INSTANCES = [  # model, sample_time, law, E[T1], E[T2] at n=20, alpha=3/4, N=2000
    ("A", 0.01, {"scale": 1.0, "shape": 2.5}, 2.7104, 3.3117),
    ("B", 0.01, {"shift": 0.5, "mean": 2.0}, 4.1288, 3.8375),
    ("C", 0.0, {"scale": 1.0, "shape": 2.5}, 171.036, 262.332),
    ("D", 0.0, {"shift": 0.5, "mean": 2.0}, 312.881, 367.509),
    ("A", 0.001, {"scale": 1.0, "shape": 2.5}, 1.8104, 1.5117),
    ("C", 0.0, {"scale": 1.0, "shape": 0.8}, 579.986, 479.558),
]


@pytest.mark.parametrize(("model", "sample_time", "law", "t1", "t2"), INSTANCES)
def test_expected_times(model, sample_time, law, t1, t2):
    times = expected_times(model, 20, 0.75, 2000, sample_time, **law)
    digits = 5e-5 if t1 < 100 else 5e-4
    assert times == pytest.approx((t1, t2), abs=digits)
    e = np.random.default_rng(1).standard_exponential((40000, 20))
    X = law["scale"] * np.exp(e / law["shape"]) if "scale" in law else law["shift"] + law["mean"] * e
    X.sort(axis=1)
    assert most_stragglers(20, 2, 0.75) == 10
    for u, waited, expected in ((100, 15, times[0]), (200, 10, times[1])):
        draws = u * sample_time + X[:, waited - 1] if model in "AB" else u * X[:, waited - 1]
        assert agrees(draws, expected)


@pytest.mark.parametrize(("model", "sample_time", "law", "t1", "t2"), INSTANCES)
def test_limits(model, sample_time, law, t1, t2):
    n = 2000
    large = expected_times(model, n, 0.75, 100 * n, sample_time, **law)
    assert large == pytest.approx(limit_times(model, n, 0.75, 100 * n, sample_time, **law), rel=5e-3)
    if model in "BD":
        first, second = limit_times(model, n, 0.75, 100 * n, **law)
        assert second - first == pytest.approx(100 * law["shift"] if model == "D" else -np.log(4))


@pytest.mark.parametrize(("model", "sample_time", "law", "t1", "t2"), INSTANCES)
def test_threshold(model, sample_time, law, t1, t2):
    """Where the limits cross, the exact times at n = 2000 change their order; model D never does."""
    n = 2000
    at = threshold(model, n, 100 * n, sample_time, **law)
    if model == "D":
        assert at == 1
        return
    if model == "C":
        assert at == 1 - 4 ** -law["shape"]
    first, second = limit_times(model, n, Fraction(at).limit_denominator(10**6), 100 * n, sample_time, **law)
    assert first == pytest.approx(second, rel=1e-4)
    for alpha, combinatorial_wins in ((at - 0.3 * (1 - at), False), (at + 0.3 * (1 - at), True)):
        if alpha > 0.01:
            first, second = expected_times(model, n, alpha, 100 * n, sample_time, **law)
            assert (second < first) == combinatorial_wins


@pytest.mark.slow
def test_model_D_never_favours_the_combinatorial_scheme():
    """Asymptotically. With shift 0 whole numbers let it win for 200 of 1769 pairs; mean/2 removes them all."""
    wins = {0.0: [], 1 / 12: [], 0.5: [], 1.0: []}
    pairs = [(n, beta) for n in range(2, 60) for beta in range(1, n + 1)]
    assert len(pairs) == 1769
    for n, beta in pairs:
        for shift, found in wins.items():
            first, second = expected_times("D", n, Fraction(beta, n), n, shift=shift, mean=1.0)
            if second < first - 1e-12:
                found.append((n, beta))
    assert len(wins[0.0]) == 200 and {(4, 2), (7, 5), (11, 8)} <= set(wins[0.0])
    assert all(n < 4 for n, _ in wins[1 / 12]) and not wins[0.5] and not wins[1.0]


def test_full_recovery_has_no_finite_limit():
    assert limit_times("A", 10, 1.0, 100, scale=1.0, shape=2.0) == (inf, inf)
    assert expected_times("A", 10, 1.0, 100, scale=1.0, shape=2.0)[0] < inf
    with pytest.raises(ParameterError, match="unknown model 'E'"):
        expected_times("E", 10, 0.5, 100)
    with pytest.raises(ParameterError, match="unknown model 'E'"):
        threshold("E", 10, 100)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lower_bound(5, 5, 0.5), "0 <= s < n, got n=5, s=5"),
        (lambda: rho(5, 3, 6), "0 <= y <= n, got n=5, y=6"),
        (lambda: least_invisible(5, 3, Fraction(3, 2)), "0 to 1, got 3/2"),
        (lambda: invisible_fraction([], 5, 3), "at least one partition"),
        (lambda: combinatorial(5, 6), "1 <= y <= n, got n=5, y=6"),
        (lambda: intermediate(5, 3, 2), "1 <= x <= y <= n, got n=5, x=3, y=2"),
        (lambda: y_min(5, 2, 0.5, 4), "1 <= x <= s \\+ 1, got x=4, s=2"),
        (lambda: cyclic_load(6, 2, 3), "n - s <= beta <= n, got n=6, s=2, beta=3"),
        (lambda: order_statistics.harmonic(-1), "index >= 0, got -1"),
    ],
)
def test_theory_refuses(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_any_assignment_keeps_lemma_1():
    """Random equal-load assignments: what the worst case recovers never beats Lemma 1 or Theorem 1."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(3, 7))
        s = int(rng.integers(1, n))
        orders = [rng.permutation(n) for _ in range(4)]  # each worker holds eight slots, two per partition
        blocks = [tuple({int(a), int(b)}) for o in orders for a, b in zip(o, np.roll(o, 1), strict=True)]
        code = BlockAssignment(blocks, s, n)
        missed = 1 - Fraction(code.recovers, code.k)
        assert invisible_fraction(code.assignment.sum(0), n, s) <= missed
        assert least_invisible(n, s, Fraction(int(code.load[0]), code.k)) <= missed
        if missed < 1:
            assert lower_bound(n, s, 1 - missed) <= Fraction(int(code.load[0]), code.k)
