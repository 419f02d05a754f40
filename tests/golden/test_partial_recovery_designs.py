"""Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163): Theorems 2, 3, 4, 10, the naive scheme and Fig. 4, panel 2.

Every scheme is decoded for every straggler set of small n; the assignments are checked against the paper's tables.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcexp.codes.naive_partial import NaivePartial
from gcexp.codes.partial_recovery import CyclicPartialRecovery
from gcexp.codes.subset_designs import (
    DESIGNS,
    BlockAssignment,
    Combinatorial,
    CoPrime,
    Intermediate,
    TDesign,
    co_prime_classes,
    design_index,
    hadamard_blocks,
)
from gcexp.delays import Pareto
from gcexp.errors import DecodingError, ParameterError
from gcexp.schemes import Fastest, Scheme
from gcexp.theory import order_statistics
from gcexp.theory import partial_recovery as theory
from gcexp.timeline import simulate


@cache
def survivors(n: int, s: int) -> np.ndarray:
    """Who is heard, for every set of s stragglers, boolean (C(n,s), n)."""
    responses = np.ones((comb(n, s), n), dtype=bool)
    for row, silent in zip(responses, combinations(range(n), s), strict=True):
        row[list(silent)] = False
    return responses


def decoded(code, s: int):
    """Coefficients for every straggler set, checked to be the visible partitions, (C(n,s), k)."""
    responses = survivors(code.n, s)
    decoding = code.decode(responses * code.messages)
    assert (decoding.residual == 0).all()
    visible = responses.astype(int) @ code.assignment > 0
    np.testing.assert_array_equal(decoding.coefficients, visible)
    combined = (code.encoding.T @ decoding.weights[:, 0].T).T
    np.testing.assert_allclose(combined, visible, rtol=0, atol=1e-12)
    return decoding.coefficients


def matches(code, cost: theory.Cost) -> bool:
    """Partitions, messages and loads are the theorem's, on every worker."""
    same = set(code.messages) == {cost.m} and set(code.load) == {int(cost.load * code.k)}
    return same and code.k == cost.k and code.length == 1


def sets(text: str) -> list[set[int]]:
    return [{int(c) for c in word} for word in text.split()]


# --- Theorem 2 ----------------------------------------------------------------------------------------------


def test_theorem_2_for_every_straggler_set():
    for n in range(1, 7):
        for y in range(1, n + 1):
            for s in range(n):
                code = Combinatorial(n, s, y)
                assert matches(code, theory.combinatorial(n, y))
                lost = comb(s, y)
                assert code.recovers == comb(n, y) - lost
                assert (decoded(code, s).sum(1) == code.recovers).all()
                assert Fraction(code.recovers, code.k) == 1 - theory.rho(n, s, y)


def test_subsets_are_lexicographic():
    code = Combinatorial(5, 3, 2)
    assert [set(block) for block in code.holders] == sets("01 02 03 04 12 13 14 23 24 34")
    assert code.owner.tolist() == sorted(code.owner.tolist())


@pytest.mark.parametrize(("n", "s", "alpha"), [(7, 4, 5 / 7), (9, 5, 6 / 9), (12, 8, 0.9), (6, 5, 1.0)])
def test_minimal_y_recovers_the_wanted_fraction(n, s, alpha):
    y = theory.minimal_y(n, s, alpha)
    assert Combinatorial(n, s, y).recovers >= theory.exact(alpha) * comb(n, y)
    if y > 1:
        assert Combinatorial(n, s, y - 1).recovers < theory.exact(alpha) * comb(n, y - 1)


# --- Theorem 3 ----------------------------------------------------------------------------------------------


def test_table_2():
    code = CoPrime(n=5, s=3, y=2)
    rows = code.encoding.toarray()
    sums = sets("0123 0456 1478 2579 3689")
    alone = sets("23 06 14 57 89")
    for w in range(5):
        mine = rows[code.owner == w]
        assert set(np.flatnonzero(mine[0]).tolist()) == sums[w]
        assert {int(r.argmax()) for r in mine[1:]} == alone[w] and (mine[1:].sum(1) == 1).all()
    assert matches(code, theory.co_prime(5, 2)) and theory.co_prime(5, 2).m == 3
    # Workers 2, 3, 4 straggle: both sums, less partition 0 which worker 1 sends alone.
    decoding = code.decode([[3, 3, 0, 0, 0]])
    assert np.flatnonzero(decoding.coefficients[0]).tolist() == list(range(7))
    used = np.flatnonzero(decoding.weights[0, 0])
    assert decoding.weights[0, 0, used].tolist() == [1, 1, -1] and code.owner[used].tolist() == [0, 1, 1]


def test_example_4():
    assert [set(T) for T in co_prime_classes(7, 3)] == sets("012 013 014 015 024")
    assert CoPrime(7, 4, 3).messages.tolist() == [15 - 5 + 1] * 7


def test_classes_are_balanced():
    for n in range(1, 10):
        for y in range(1, n + 1):
            if gcd(n, y) == 1:
                first = co_prime_classes(n, y)
                shifted = [tuple(sorted((w + i) % n for w in T)) for T in first for i in range(n)]
                assert len(first) * n == len(set(shifted)) == comb(n, y)


def test_theorem_3_for_every_straggler_set():
    for n in range(1, 8):
        for y in range(1, n + 1):
            if gcd(n, y) == 1:
                cost = theory.co_prime(n, y)
                assert cost.m <= theory.combinatorial(n, y).m
                assert (cost.m < theory.combinatorial(n, y).m) == (comb(n, y) > n)
                for s in range(n):
                    code = CoPrime(n, s, y)
                    assert matches(code, cost)
                    assert (decoded(code, s).sum(1) == comb(n, y) - theory.choose(s, y)).all()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_co_prime_on_any_counts(data):
    """Below the quorum too the answer is 0/1: whole workers by their sums, parts by single gradients."""
    code = CoPrime(5, 3, 2)
    responses = np.array([data.draw(st.lists(st.integers(0, 3), min_size=5, max_size=5))])
    c = code.decode(responses, partial=True).coefficients[0]
    received = code.received(responses)[0]
    singles = code.encoding.toarray()[received & (code.rank > 0)].any(0)
    whole = code.assignment[responses[0] == 3].any(0)
    np.testing.assert_array_equal(c, singles | whole)


# --- Theorem 4 ----------------------------------------------------------------------------------------------


def test_hadamard_design():
    blocks = "0123 0145 0167 0246 0257 0347 0356 1247 1256 1346 1357 2345 2367 4567"
    assert [set(b) for b in hadamard_blocks(8)] == sets(blocks)
    assert all(np.bitwise_xor.reduce(b) == 0 for b in hadamard_blocks(8))
    assert design_index(hadamard_blocks(8), 8, 3) == 1
    code = TDesign("hadamard_8", t=3, s=5)
    assert matches(code, theory.t_design(8, 3, 4, 1)) and code.messages[0] == 7
    rows = [
        set(range(7)), {0, 1, 2, 7, 8, 9, 10}, {0, 3, 4, 7, 8, 11, 12}, {0, 5, 6, 9, 10, 11, 12},
        {1, 3, 5, 7, 9, 11, 13}, {1, 4, 6, 8, 10, 11, 13}, {2, 3, 6, 8, 9, 12, 13}, {2, 4, 5, 7, 10, 12, 13},
    ]  # fmt: skip
    assert [set(np.flatnonzero(row).tolist()) for row in code.assignment] == rows


@pytest.mark.parametrize(("s", "recovered"), [(5, 13), (6, 11), (7, 7)])
def test_hadamard_meets_theorem_1(s, recovered):
    code = TDesign("hadamard_8", t=3, s=s)
    assert code.recovers == recovered
    assert (decoded(code, s).sum(1) == recovered).all()
    alpha = Fraction(recovered, 14)
    assert alpha == 1 - theory.rho(8, s, 4) and theory.lower_bound(8, s, alpha) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("name", "n", "t", "size", "index"),
    [
        ("fano", 7, 2, 3, 1),
        ("hadamard_8", 8, 3, 4, 1),
        ("hadamard_16", 16, 3, 8, 3),
        ("quadruple_10", 10, 3, 4, 1),
    ],
)
def test_designs(name, n, t, size, index):
    blocks = DESIGNS[name]()
    assert design_index(blocks, n, t) == index and {len(b) for b in blocks} == {size}
    assert len(blocks) == theory.t_design(n, t, size, index).k
    for i in range(t + 1):
        assert design_index(blocks, n, i) == theory.lower_index(n, t, size, index, i)
    rest = [tuple(set(range(n)) - set(b)) for b in blocks]
    assert design_index(rest, n, t) == theory.complement_index(n, t, size, index)
    with pytest.raises(ParameterError, match=f"a {t + 1}-design has every {t + 1}-subset"):
        design_index(blocks, n, t + 1)  # the named t is the largest
    assert theory.t_design(n, t, size, index).m <= comb(n - 1, size - 1)


@pytest.mark.parametrize("name", DESIGNS)
def test_theorem_4_and_beyond(name):
    """Equal recovery for n - s <= t; for more survivors the promised worst case is attained."""
    t = 2 if name == "fano" else 3
    n = TDesign(name, t, 0).n
    for s in range(n) if n < 16 else (4, 8, 13):
        code = TDesign(name, t, s)
        recovered = decoded(code, s).sum(1)
        assert recovered.min() == code.recovers
        size = len(code.holders[0])
        assert recovered.mean() == pytest.approx(float(code.k * (1 - theory.rho(n, s, size))))
        if n - s <= t:
            assert recovered.max() == code.recovers


def test_pairs_are_a_design():
    """All pairs are a 2-design: the combinatorial scheme."""
    pairs = list(combinations(range(5), 2))
    code, same = TDesign(pairs, t=2, s=3), Combinatorial(5, 3, 2)
    assert (code.encoding != same.encoding).nnz == 0 and code.recovers == same.recovers


# --- Theorem 10 ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_theorem_10_for_every_straggler_set():
    for n in range(1, 8):
        for y in range(1, n + 1):
            for x in range(1, y + 1):
                everything = [Intermediate(n, s, x, y) for s in range(n)]
                assert matches(everything[0], theory.intermediate(n, x, y))
                assert {len(set(block)) for block in everything[0].holders} == {y}
                for s, code in enumerate(everything):
                    lost = code.k - decoded(everything[-1], s).sum(1)
                    worst = theory.intermediate_misses(n, s, x, y)
                    assert lost.max() == worst == code.k - code.recovers
                    assert lost[-1] == worst  # the first s workers, consecutive
                    assert Fraction(int(lost.sum()), lost.size * code.k) == theory.rho(n, s, y)


def test_example_3():
    code = Intermediate(5, 3, 2, 3)
    rows = [
        "111..1.1111.1..",
        "1..111..1.1111.",
        "11.1..111..1.11",
        ".1111.1..111..1",
        "..1.1111.1..111",
    ]
    assert ["".join(".1"[int(a)] for a in row) for row in code.assignment] == rows
    for s, missed in ((3, 2), (4, 6)):
        assert (15 - decoded(Intermediate(5, s, 2, 3), s).sum(1)).max() == missed
    assert Fraction(code.recovers, code.k) == Fraction(13, 15)


def test_ends_of_theorem_10():
    for n in range(1, 8):
        for y in range(1, n + 1):
            arcs = [{(w + i) % n for i in range(y)} for w in range(n)]
            assert [set(block) for block in Intermediate(n, 0, 1, y).holders] == arcs
            assert sorted(Intermediate(n, 0, y, y).holders) == list(combinations(range(n), y))


# --- The naive scheme ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "s", "alpha"), [(7, 4, 5 / 7), (9, 5, 6 / 9), (5, 2, 0.3), (4, 3, 1.0), (6, 0, 0.5)]
)
def test_naive_recovers_what_it_kept(n, s, alpha):
    code = NaivePartial(n, s, alpha)
    cost = theory.naive(n, s, alpha)
    assert matches(code, cost)
    assert code.kept.mean() == pytest.approx(alpha) and code.recovers == code.kept.sum()
    np.testing.assert_array_equal(code.assignment.any(0), code.kept)
    decoding = code.decode(survivors(n, s))
    np.testing.assert_array_equal(decoding.coefficients, np.tile(code.kept, (comb(n, s), 1)))
    assert theory.lower_bound(n, s, alpha) <= cost.load


# --- Lemma 1 and Theorem 1 on everything that is built ------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        Combinatorial(7, 4, 2),
        CoPrime(7, 5, 3),
        TDesign("hadamard_8", 3, 4),
        TDesign("quadruple_10", 3, 6),
        Intermediate(8, 5, 2, 4),
        Intermediate(9, 6, 3, 5),
        NaivePartial(7, 4, 5 / 7),
        CyclicPartialRecovery(9, 5, 6),
        CyclicPartialRecovery(12, 5, 8),
        BlockAssignment([(0, 1, 2), (0,), (1,), (2,)], s=1),
    ],
    ids=repr,
)
def test_built_assignments_satisfy_the_bounds(code):
    missed = 1 - Fraction(code.recovers, code.k)
    assert theory.invisible_fraction(code.assignment.sum(0), code.n, code.s) <= missed
    load = Fraction(int(code.load.max()), code.k)
    assert theory.least_invisible(code.n, code.s, load) <= missed
    assert theory.lower_bound(code.n, code.s, 1 - missed) <= load


# --- Fig. 4, panel 2: fixed alpha ---------------------------------------------------------------------------

PANEL_2 = {  # code, mean time x 1e3, mean recovered fraction, guaranteed fraction, rate, messages
    "combinatorial": (Combinatorial(15, 9, 3), 2.1258, 0.8154, Fraction(53, 65), 383.6, 91),
    "intermediate": (Intermediate(15, 9, 2, 3), 2.1258, 0.8154, Fraction(139, 195), 383.6, 39),
    "cyclic_6_2": (CyclicPartialRecovery(15, 6, 10), 2.5307, 0.756, Fraction(10, 15), 299, 1),
    "cyclic_9_5": (CyclicPartialRecovery(15, 9, 10), 2.5258, 0.738, Fraction(10, 15), 292, 1),
    "cyclic_5_1": (CyclicPartialRecovery(15, 5, 10), 2.6744, 0.6667, Fraction(10, 15), 249.3, 1),
    "cyclic_14_10": (CyclicPartialRecovery(15, 14, 10), 3.0588, 0.6667, Fraction(10, 15), 217.9, 1),
}


@cache
def panel_2(name: str):
    code = PANEL_2[name][0]
    draws = Pareto(scale=1e-3, shape=1.2, data_time=3e-3).draw(seeds=(0, 1), iterations=4000, n=15)
    timeline = simulate(Scheme(code, Fastest(s=code.s)), draws)
    fraction = (timeline.coefficients == 1).mean(1)[timeline.pattern]
    return timeline, fraction


@pytest.mark.parametrize("name", PANEL_2)
def test_panel_2(name):
    code, time, mean, guaranteed, rate, messages = PANEL_2[name]
    timeline, fraction = panel_2(name)
    assert set(code.messages) == {messages} and Fraction(code.recovers, code.k) == guaranteed
    assert 1e3 * timeline.duration.mean() == pytest.approx(time, rel=0.03)
    assert fraction.mean() == pytest.approx(mean, abs=0.01) and fraction.min() >= float(guaranteed) - 1e-12
    assert fraction.mean() / timeline.duration.mean() == pytest.approx(rate, rel=0.03)
    # The table's time is a closed form: load x data_time + E[X_{n-s:n}].
    waited = order_statistics.pareto(15 - code.s, 15, scale=1e-3, shape=1.2)
    assert 1e3 * (3e-3 * code.load[0] / code.k + waited) == pytest.approx(time, abs=6e-5)


def test_panel_2_pairs():
    """Combinatorial and intermediate have one clock and, on average, one recovered fraction: 1 - rho_3."""
    (a, _), (b, fraction) = panel_2("combinatorial"), panel_2("intermediate")
    np.testing.assert_allclose(a.duration, b.duration, rtol=1e-12)
    expected = 1 - theory.rho(15, 9, 3)
    assert (a.coefficients.sum(1) == expected * 455).all()
    assert decoded(PANEL_2["intermediate"][0], 9).mean() == pytest.approx(float(expected))
    assert len(set(fraction.ravel())) > 1


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Combinatorial(5, 5, 2), "0 <= s < n, got n=5, s=5"),
        (lambda: Combinatorial(5, -1, 2), "0 <= s < n, got n=5, s=-1"),
        (lambda: Combinatorial(5, 2, 6), "1 <= y <= n, got n=5, y=6"),
        (lambda: Combinatorial(5, 2, 0), "1 <= y <= n, got n=5, y=0"),
        (lambda: Combinatorial(30, 2, 10), "has 300450150 messages, more than 1000000"),
        (lambda: CoPrime(6, 3, 2), r"gcd\(n, y\) = 1, got n=6, y=2 with gcd 2"),
        (lambda: CoPrime(5, -1, 2), "0 <= s < n, got n=5, s=-1"),
        (lambda: CoPrime(31, 3, 10), "more than 1000000"),
        (lambda: Intermediate(5, 3, 3, 2), "1 <= x <= y <= n, got n=5, x=3, y=2"),
        (lambda: Intermediate(5, 5, 1, 2), "0 <= s < n, got n=5, s=5"),
        (lambda: Intermediate(40, 5, 8, 10), "more than 1000000"),
        (lambda: TDesign("hadamar_8", 3, 5), "unknown design 'hadamar_8'; did you mean 'hadamard_8'"),
        (lambda: TDesign("fano", 3, 2), "3-design has every 3-subset of its 7 points .* got 0 to 1"),
        (lambda: TDesign("fano", 0, 2), "t >= 1 .* got t=0"),
        (lambda: TDesign("fano", 4, 2), "0 <= t <= block size, got t=4 and blocks of 3 points"),
        (lambda: TDesign([], 2, 2), "at least one block"),
        (lambda: TDesign([(0, 1), (0, 1, 2)], 1, 1), r"one size, got sizes \[2, 3\]"),
        (lambda: hadamard_blocks(12), "n = 4, 8, 16, ..., got n=12"),
        (lambda: BlockAssignment([(0, 1), ()], 1), "at least one worker"),
        (lambda: BlockAssignment([], 1), "at least one worker"),
        (lambda: BlockAssignment([(0, 0), (1, 2)], 1), r"set of workers 0 to n-1 = 2, got \(0, 0\)"),
        (lambda: BlockAssignment([(0, 1), (1, 2)], 1, n=2), r"set of workers 0 to n-1 = 1, got \(1, 2\)"),
        (lambda: BlockAssignment([(0, 1), (1, 2)], 1), "equally many partitions, got 1 to 2"),
        (lambda: BlockAssignment([(0, 1)], 1, recovers=2), "up to k=1, got 2"),
        (lambda: BlockAssignment([(w,) for w in range(40)], 20), "n=40, s=20 has too many straggler sets"),
        (lambda: NaivePartial(5, 5, 0.5), "0 <= s < n, got n=5, s=5"),
        (lambda: NaivePartial(5, 2, 0.0), "0 < alpha <= 1, got alpha=0.0"),
        (lambda: NaivePartial(5, 2, 1e-9), "alpha >= 1/1000, got alpha=1e-09"),
        (lambda: theory.co_prime(6, 2), r"gcd\(n, y\) = 1"),
        (lambda: theory.t_design(8, 3, 5, 1), r"no 3-\(8,5,1\) design"),
    ],
)
def test_refuses(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_a_wrong_guarantee_is_found_by_the_decoder():
    ring = [(w, (w + 1) % 5) for w in range(5)]
    assert BlockAssignment(ring, 3).recovers == 3
    with pytest.raises(DecodingError, match=r"3 partitions \(at least 4\)"):
        BlockAssignment(ring, 3, recovers=4).decode([[2, 2, 0, 0, 0]])


def test_worst_case_may_be_given_where_it_cannot_be_found():
    code = BlockAssignment([(w,) for w in range(40)], 20, recovers=20)
    assert code.decode([[1] * 20 + [0] * 20]).coefficients.sum() == 20


def test_thousands_of_partitions():
    """k = 3003 as in Fig. 2 and as many patterns as a long run has: union decoding stays a few array operations."""
    code = Combinatorial(15, 10, 5)
    responses = survivors(15, 10)[::15] * code.messages
    assert code.k == 3003 and (code.decode(responses).coefficients.sum(1) == code.recovers).all()
