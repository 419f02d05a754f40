"""Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922): clusters, placements, two-state workers, exact means.

The library places many slow sets at once. Here it meets the paper's rule written out for one of them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest

from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.codes.clustered import Clustered
from gcexp.command.single_run import run
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.markov import TwoStateMarkov
from gcexp.errors import ParameterError, UserError
from gcexp.report.entries import run_of_keys
from gcexp.run import stages
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Decodable, Fewest, Scheme
from gcexp.schemes.placement import (
    Best,
    Greedy,
    Home,
    best_clusters,
    cluster_matrix,
    greedy_clusters,
    home,
    membership,
    seats,
    stored,
)
from gcexp.theory.dynamic_clustering import (
    expected_time,
    expected_time_of_counts,
    mean_time,
    recoverable_sets,
    slow_probability,
    slow_threshold,
)
from gcexp.timeline import simulate

SHIFTS = (1, 3, 1)
MATRIX = cluster_matrix(12, 4, [(1,), (3,), (1,)])
ALLOWED = membership(MATRIX)
LAW = {"alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}


@dataclass(frozen=True)
class Setting:
    """A simulation of the paper: n workers, P clusters, load r, m memberships."""

    n: int
    P: int
    r: int
    m: int
    initial_slow: int

    @property
    def delay(self):
        return TwoStateMarkov(p=0.05, initial_slow=self.initial_slow, **LAW)

    @property
    def groups(self):
        """Groups and spare workers of GC, GC-SC and the lower bound."""
        return {"gc": (1, self.r - 1), "sc": (self.P, self.r - 1), "lb": (1, self.P * (self.r - 1))}


ONE, TWO = Setting(12, 4, 2, 2, 4), Setting(20, 5, 3, 3, 6)


@cache
def clustered(n: int, P: int, r: int, layout: str = "row") -> Clustered:
    return Clustered(n, P, r, layout)


@cache
def draws(setting: Setting, delay: TwoStateMarkov, seeds: int, iterations: int = 400):
    return delay.draw(tuple(range(seeds)), iterations, setting.n)


def arrivals(setting: Setting, drawn) -> np.ndarray:
    return drawn.arrival(setting.r / setting.n, 1.0)


def durations(setting: Setting, drawn, rule=None, clusters: int | None = None) -> np.ndarray:
    """Iteration times (S, T) of GC (clusters=1), GC-SC (no rule) or GC-DC."""
    layout = getattr(rule, "layout", "row")
    code = clustered(setting.n, setting.P if clusters is None else clusters, setting.r, layout)
    return simulate(Scheme(code, Decodable(), placement=rule), drawn).duration


def rule(setting: Setting, kind=Greedy, **more):
    return kind(**{"clusters": setting.P, "memberships": setting.m} | more)


def slow_sets(n: int, s: int) -> np.ndarray:
    """All sets of s slow workers, boolean (C(n,s), n)."""
    return ~np.concatenate([*all_sets(n, s)])


def workers(n: int, *chosen: int) -> np.ndarray:
    return np.isin(np.arange(n), chosen)


def slow_counts(cluster: np.ndarray, is_slow: np.ndarray, P: int) -> np.ndarray:
    """Slow workers in each cluster, (U, P)."""
    return ((cluster[:, None] == np.arange(P)[:, None]) & is_slow[:, None]).sum(2)


def reference(allowed, is_slow, swap_rule="first_fit", order_mode="static"):
    """The rule of the paper for one slow set: cluster of each worker, the two orders, chains used."""
    P, n = allowed.shape
    l, at, orders, chains = n // P, {}, [], 0

    def room(q):
        return sum(x == q for x in at.values()) < l

    fast, slow = ([w for w in range(n) if is_slow[w] == state] for state in (False, True))
    for members in (fast, slow) if len(fast) >= len(slow) else (slow, fast):
        order = sorted(range(P), key=lambda q: (sum(allowed[q, w] for w in members), q))  # noqa: B023
        orders.append(order)
        placed = True
        while placed:
            placed = False
            for q in order:
                w = next((w for w in members if w not in at and allowed[q, w]), None)
                if room(q) and w is not None:
                    at[w], placed = q, True
            if order_mode == "refresh":
                left = [w for w in members if w not in at]
                order = sorted(range(P), key=lambda q: (sum(allowed[q, w] for w in left), q))  # noqa: B023
    for w in [w for w in range(n) if w not in at]:
        mine = np.flatnonzero(allowed[:, w]).tolist()
        if direct := [q for q in mine if room(q)]:
            at[w] = direct[0]
            continue
        swaps = [
            (q, x, v)
            for q in range(P)
            if room(q)
            for x in mine
            for v in range(n)
            if at.get(v) == x and allowed[q, v]
        ]
        if swap_rule == "same_class":
            swaps = [c for c in swaps if is_slow[c[2]] == is_slow[w]] or swaps
        if swaps:
            q, x, v = swaps[0]
            at[v], at[w] = q, x
            continue
        chains += 1
        queue, seen = deque([[(w, x)] for x in mine]), set(mine)
        while queue:
            chain = queue.popleft()
            end = chain[-1][1]
            if room(end):
                at.update(chain)
                break
            for v in [v for v in range(n) if at.get(v) == end]:
                for x in np.flatnonzero(allowed[:, v]).tolist():
                    if x not in seen:
                        seen.add(x)
                        queue.append([*chain, (v, x)])
    return [at[w] for w in range(n)], orders, chains


# --- (f) 0, 1: the code -----------------------------------------------------------------------------------------


def test_all_clusters_share_one_code():
    code = clustered(12, 4, 2)
    blocks = [code.encoding.toarray()[q::4, 3 * q : 3 * q + 3] for q in range(4)]
    assert all((block == blocks[0]).all() for block in blocks)
    assert np.count_nonzero(code.encoding.toarray()) == 12 * 2


def test_static_tables():
    """Who holds what in the running example, matrix (5) of the paper, and the same clusters side by side."""
    held = clustered(12, 4, 2).assignment
    expected = np.array([[0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11], [1, 4, 7, 10, 2, 5, 8, 11, 0, 3, 6, 9]])
    for w in range(12):
        assert set(np.flatnonzero(held[w])) == set(expected[:, w])
    column = clustered(12, 4, 2, "column")
    assert [quorum.workers for quorum in column.quorums] == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    order = [w for quorum in clustered(12, 4, 2).quorums for w in quorum.workers]
    np.testing.assert_array_equal(column.encoding.toarray(), clustered(12, 4, 2).encoding.toarray()[order])


# --- (f) 2, 3: the running example ---------------------------------------------------------------------------------


def test_cluster_matrix_of_the_example():
    expected = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [3, 0, 1, 2], [5, 6, 7, 4], [11, 8, 9, 10]]
    np.testing.assert_array_equal(MATRIX, expected)
    np.testing.assert_array_equal(
        Greedy(clusters=4, memberships=2, shifts=SHIFTS).matrix(12, seed=5), expected
    )
    columns = [[0, 3, 4, 5, 8, 11], [0, 1, 5, 6, 8, 9], [1, 2, 6, 7, 9, 10], [2, 3, 4, 7, 10, 11]]
    np.testing.assert_array_equal(np.sort(MATRIX, axis=0).T, columns)


@pytest.mark.parametrize(("n", "P", "m"), [(12, 4, 2), (20, 5, 3), (20, 10, 2), (16, 4, 4), (6, 3, 1)])
@pytest.mark.parametrize("layout", ["row", "column"])
def test_random_cluster_matrices(n, P, m, layout):
    for seed in range(20):
        matrix = Greedy(clusters=P, memberships=m, layout=layout).matrix(n, seed)
        assert matrix.shape == (m * n // P, P)
        assert all(len(set(column)) == len(column) for column in matrix.T)
        assert (membership(matrix).sum(0) == m).all() and (stored(matrix).sum(1) == m * n // P).all()
        at_home, row = home(n, P, layout)
        assert (matrix[row, at_home] == np.arange(n)).all()
        if m < P:
            fewer = Greedy(clusters=P, memberships=max(m - 1, 1), layout=layout).matrix(n, seed)
            np.testing.assert_array_equal(matrix[: len(fewer)], fewer)  # more memberships add, never move


@pytest.mark.parametrize(
    ("swap_rule", "clusters"),
    [
        ("first_fit", [{0, 3, 5}, {6, 8, 9}, {1, 2, 7}, {4, 10, 11}]),
        ("same_class", [{0, 4, 5}, {6, 8, 9}, {1, 2, 7}, {3, 10, 11}]),
    ],
)
def test_example_placement(swap_rule, clusters):
    slow = workers(12, 0, 2, 4, 6, 10)
    assert (ALLOWED & ~slow).sum(1).tolist() == [4, 4, 3, 3]
    cluster, orders, chains = reference(ALLOWED, slow, swap_rule)
    assert orders == [[2, 3, 0, 1], [0, 1, 2, 3]] and chains == 0
    placed = greedy_clusters(ALLOWED[None], slow[None], swap_rule)
    np.testing.assert_array_equal(placed[0], cluster)
    assert [set(np.flatnonzero(placed[0] == q)) for q in range(4)] == clusters


def test_codewords_of_the_example():
    """Cluster 0: worker 0 keeps c[0,0], 3 takes c[1,0], 5 takes c[2,0]."""
    played = seats(greedy_clusters(ALLOWED[None], workers(12, 0, 2, 4, 6, 10)[None]), 4)[0]
    assert played[[0, 4, 8]].tolist() == [0, 3, 5]
    assert played[[1, 5, 9]].tolist() == [6, 8, 9]  # 9 is at home in row 2, 6 and 8 take rows 0 and 1
    assert played[[2, 6, 10]].tolist() == [2, 1, 7] and played[[3, 7, 11]].tolist() == [4, 10, 11]


def test_greedy_does_not_always_manage():
    slow = workers(12, 2, 6, 10)[None]
    for swap_rule in ("first_fit", "same_class"):
        for order_mode, counts in (("static", [0, 1, 0, 2]), ("refresh", [0, 0, 1, 2])):
            placed = greedy_clusters(ALLOWED[None], slow, swap_rule, order_mode)
            assert slow_counts(placed, slow, 4)[0].tolist() == counts
    assert slow_counts(best_clusters(ALLOWED[None], slow), slow, 4)[0].tolist() == [0, 1, 1, 1]
    times = expected_time_of_counts([[0, 1, 0, 2], [0, 0, 3, 0]], 3, 1, load=2, **LAW)
    np.testing.assert_allclose(times, [10.030, 16.687], atol=1e-3)


# --- (f) 4: placements ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "P", "m"),
    [(12, 4, 2), (20, 5, 3), (20, 10, 2), (24, 8, 2), (15, 5, 3), (16, 4, 4), (6, 6, 2), (5, 1, 1)],
)
def test_random_placements(n, P, m):
    """As the rule written out, chains of swaps included."""
    rng, count, chains = np.random.default_rng(0), 600, 0
    matrices = [Greedy(clusters=P, memberships=m).matrix(n, seed) for seed in range(count)]
    allowed = np.stack([membership(matrix) for matrix in matrices])
    slow = rng.random((count, n)) < rng.random((count, 1))
    for swap_rule, order_mode in product(("first_fit", "same_class"), ("static", "refresh")):
        placed = greedy_clusters(allowed, slow, swap_rule, order_mode)
        assert np.take_along_axis(allowed, placed[:, None], axis=1).all()
        assert (slow_counts(placed, np.ones_like(slow), P) == n // P).all()
        if m == P:
            counts = slow_counts(placed, slow, P)
            assert (counts.max(1) - counts.min(1)).max() <= 1
        for u in range(0, count, 6):
            cluster, _, used = reference(allowed[u], slow[u], swap_rule, order_mode)
            assert placed[u].tolist() == cluster
            chains += used
    assert chains > 5 or (n, P) != (20, 10)


def test_phase_one_is_what_the_rule_starts_with():
    """Whoever is not swapped stays where phase 1 put it; where nobody is left over, phase 1 is the placement."""
    rng = np.random.default_rng(0)
    for slow in rng.random((100, 12)) < rng.random((100, 1)):
        dealt, placed = (greedy_clusters(ALLOWED[None], slow[None], phases=p)[0] for p in (1, 2))
        assert (dealt != placed).sum() <= 2 * (dealt < 0).sum()


@pytest.mark.parametrize("layout", ["row", "column"])
def test_seats_are_the_placed_clusters(layout):
    """The workers of a cluster play its codewords; who is at home keeps its own."""
    greedy = Greedy(clusters=5, memberships=3, layout=layout)
    allowed = np.stack([membership(greedy.matrix(20, seed)) for seed in range(50)])
    placed = greedy_clusters(allowed, np.random.default_rng(0).random((50, 20)) < 0.5)
    played = seats(placed, 5, layout)
    for cluster, player in zip(placed, played, strict=True):
        for q, quorum in enumerate(clustered(20, 5, 3, layout).quorums):
            there = np.flatnonzero(cluster == q)
            assert set(player[list(quorum.workers)]) == set(there)
            stay = [w for w in quorum.workers if cluster[w] == q]
            assert player[stay].tolist() == stay
            rest = [player[j] for j in quorum.workers if j not in stay]
            assert rest == sorted(rest)


# --- (f) 5: counts of recoverable sets -----------------------------------------------------------------------------


def test_greedy_can_lose_to_static():
    """Of all pairs of slow workers, those that end in different clusters."""
    slow = slow_sets(10, 2)
    allowed = np.broadcast_to(membership(cluster_matrix(10, 5, [(1,), (2,)])), (len(slow), 5, 10))
    at_home = np.tile(home(10, 5)[0], (len(slow), 1))
    apart = [slow_counts(where, slow, 5).max(1) <= 1 for where in (greedy_clusters(allowed, slow), at_home)]
    assert [one.sum() for one in apart] == [36, 40]


# --- the rules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("observe", ["state", "perfect"])
def test_a_single_iteration(observe):
    is_slow = np.isin(np.arange(12), [0, 4])[None, None]
    seated = Greedy(clusters=4, memberships=2, shifts=(1, 3, 1), observe=observe).seat(is_slow, (0,))
    at_home = seated[0, 0].tolist() == list(range(12))
    assert seated.shape == (1, 1, 12) and at_home == (observe == "state")


def test_state_is_perfect_one_iteration_late():
    drawn = draws(ONE, ONE.delay, 5)
    for kind in (Greedy, Best):
        late = rule(ONE, kind).seat(drawn.is_slow, drawn.seeds)
        now = rule(ONE, kind, observe="perfect").seat(drawn.is_slow, drawn.seeds)
        np.testing.assert_array_equal(late[:, 1:], now[:, :-1])
        assert (late[:, 0] == np.arange(12)).all()  # nothing is known yet


@pytest.mark.parametrize("observe", ["state", "perfect", "arrival", "threshold", "censored"])
@pytest.mark.parametrize("kind", [Greedy, Best])
def test_one_membership_is_static_clustering(kind, observe):
    """(f) 6."""
    drawn = draws(TWO, TWO.delay, 5, 100)
    more = {"threshold": 1.4} if observe in ("threshold", "censored") else {}
    np.testing.assert_array_equal(
        durations(TWO, drawn, rule(TWO, kind, memberships=1, observe=observe, **more)), durations(TWO, drawn)
    )
    np.testing.assert_array_equal(durations(TWO, drawn, Home()), durations(TWO, drawn))


def test_memory_instead_of_memberships():
    drawn = draws(TWO, TWO.delay, 3)
    for memory, m in ((4, 1), (11, 2), (12, 3), (15, 3), (20, 5), (50, 5)):
        by_memory = Greedy(clusters=5, memory=memory)
        assert by_memory.memberships_of(20) == m
        np.testing.assert_array_equal(
            by_memory.seat(drawn.is_slow, drawn.seeds),
            rule(TWO, memberships=m).seat(drawn.is_slow, drawn.seeds),
        )
    with pytest.raises(ParameterError, match="memory=3"):
        Greedy(clusters=5, memory=3).seat(drawn.is_slow, drawn.seeds)


def test_shifts_belong_to_the_seed():
    slow = np.tile(workers(12, 2, 4, 6, 10), (3, 2, 1))
    random = Greedy(clusters=4, memberships=2, observe="perfect").seat(slow, (0, 1, 2))
    assert len(np.unique(random[:, 0], axis=0)) > 1 and (random[:, 0] == random[:, 1]).all()
    np.testing.assert_array_equal(
        random[2:], Greedy(clusters=4, memberships=2, observe="perfect").seat(slow[:1], (2,))
    )
    given = Greedy(clusters=4, memberships=2, observe="perfect", shifts=[[1], [3], [1]]).seat(slow, (0, 1, 2))
    assert (given == given[0, 0]).all()


def test_a_large_crowd_is_placed_too():
    """More workers than bits in a word."""
    slow = np.random.default_rng(0).random((2, 4, 120)) < 0.3
    seated = Greedy(clusters=12, memberships=4, observe="perfect").seat(slow, (0, 1))
    assert (np.sort(seated, axis=2) == np.arange(120)).all()


def test_threshold_marks_late_results_and_censored_keeps_what_it_does_not_know():
    class Played:
        shape = (1, 3, 4)

        def __init__(self, stops):
            self.stops = stops

        def __call__(self, t, seated):
            # The last iteration is played for those of a next chunk; here there is none.
            return np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([(*self.stops, np.inf)[t]])

    seen = []

    class Spy(Greedy):
        def place(self, allowed, is_slow):
            seen.append(np.flatnonzero(is_slow[0]).tolist())
            return super().place(allowed, is_slow)

    for observe, threshold, stops, expected in (
        ("arrival", None, (2, 4), [[2, 3], [3]]),
        ("threshold", 3.0, (1, 8), [[2, 3], [2, 3]]),
        (
            "censored",
            3.0,
            (1, 5),
            [[], [2, 3]],
        ),  # stopped before the threshold: nothing is known of who is missing
        ("censored", 3.0, (5, 1), [[2, 3], [2, 3]]),  # then keeps the marks
        ("censored", 5.0, (4, 9), [[], [3]]),
    ):
        seen.clear()
        Spy(clusters=2, memberships=2, observe=observe, threshold=threshold).seat(None, (0,), Played(stops))
        assert seen == expected, observe


# --- (f) 7, 8: the delay model -------------------------------------------------------------------------------------


def test_states_forget_where_they_started():
    slow = TwoStateMarkov(p=0.1, initial_slow=10, subset="first").draw(tuple(range(300)), 8, 20).is_slow
    for t in range(8):
        assert slow[:, t, :10].mean() == pytest.approx(slow_probability(0.1, t, True), abs=0.04)
        assert slow[:, t, 10:].mean() == pytest.approx(slow_probability(0.1, t, False), abs=0.04)


@pytest.mark.slow
def test_first_slow_workers():
    seeds = tuple(range(400))
    random = TwoStateMarkov(initial_slow=4).draw(seeds, 1, 12).is_slow[:, 0]
    assert (random.sum(1) == 4).all() and np.abs(random.mean(0) - 1 / 3).max() < 0.1
    assert (
        TwoStateMarkov(initial_slow=4, subset="first").draw((0,), 1, 12).is_slow[0, 0] == (np.arange(12) < 4)
    ).all()
    assert TwoStateMarkov().draw(seeds, 1, 12).is_slow.mean() == pytest.approx(0.5, abs=0.03)


def test_streams_are_independent_of_the_rest():
    """Another law changes no draw of the others: states and times are drawn apart."""
    base = TwoStateMarkov(initial_slow=3).draw((0, 1), 20, 6)
    frozen = TwoStateMarkov(p=0, initial_slow=3).draw((0, 1), 20, 6)
    assert (frozen.is_slow == base.is_slow[:, :1]).all()
    mixed = TwoStateMarkov(initial_slow=3, spread=0.5).draw((0, 1), 20, 6)
    np.testing.assert_array_equal(mixed.is_slow, base.is_slow)


def test_sum_of_independent_times():
    """Load model `sum`: the law of r independent times, from the exponentials of `scaled`."""
    summed = TwoStateMarkov(p=0, initial_slow=0, load_model="sum").draw((0,), 5000, 4)
    scaled = TwoStateMarkov(p=0, initial_slow=0).draw((0,), 5000, 4)
    np.testing.assert_allclose(summed.arrival(1 / 4, 1), scaled.arrival(1 / 4, 1))
    three = summed.arrival(3 / 4, 1)
    assert kstest(((three - 0.03) * 10).ravel(), "gamma", args=(3,)).pvalue > 1e-3
    assert (three >= summed.arrival(2 / 4, 1)).all()  # a second message never comes before the first
    assert (summed.arrival(0, 1) == 0).all()


def test_heterogeneous_workers():
    drawn = TwoStateMarkov(p=0, initial_slow=6, subset="first", spread=0.5, alpha=0).draw(
        tuple(range(200)), 300, 12
    )
    rates = 12 / drawn.compute.mean(1)  # about each worker's own
    assert 0.04 < rates[:, :6].min() and rates[:, :6].max() < 0.2 and rates[:, :6].std() > 0.02
    assert 4 < rates[:, 6:].min() and rates[:, 6:].max() < 20 and rates[:, 6:].std() > 2


# --- exact expectations --------------------------------------------------------------------------------------------


def test_expected_times_of_counts_are_expected_times():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (20, 5))
    marked = np.arange(4) < counts[..., None]
    for slow in ((1.0, 0.0), (0.95, 0.05)):
        each = expected_time(np.where(marked, *slow), 2, load=3, **LAW)
        np.testing.assert_allclose(expected_time_of_counts(counts, 4, 2, slow, load=3, **LAW), each)


def test_stationary_values_of_dynamic_clusters():
    """All 4096 equally likely slow sets, with the matrix of the example; no simulation."""
    slow = np.array(list(product((False, True), repeat=12)))
    allowed = np.broadcast_to(ALLOWED, (4096, *ALLOWED.shape))
    for swap_rule, previous, perfect in (("first_fit", 14.491, 14.055), ("same_class", 14.483, 14.044)):
        counts = slow_counts(greedy_clusters(allowed, slow, swap_rule), slow, 4)
        for known, value in (((0.95, 0.05), previous), ((1.0, 0.0), perfect)):
            mean = expected_time_of_counts(counts, 3, 1, known, load=2, **LAW).mean()
            assert mean == pytest.approx(value, abs=6e-4)


def test_sum_load_model_in_theory():
    drawn = draws(ONE, replace(ONE.delay, load_model="sum"), 40)
    exact = mean_time(12, 4, 1, iterations=400, initial_slow=4, p=0.05, load=2, load_model="sum", **LAW)
    means = durations(ONE, drawn).mean(1)
    assert means.mean() == pytest.approx(exact, abs=4 * means.std() / np.sqrt(40))
    assert exact == pytest.approx(15.56 / (1 - 0.096), rel=0.01)  # GC-DC 15.56, 9.6 % better


def test_marking_threshold():
    """A slow and a fast worker are equally likely to end there."""
    x = slow_threshold(3, alpha=0.01, mu_s=0.1, mu_f=10) / 3 - 0.01
    assert 0.1 * np.exp(-0.1 * x) == pytest.approx(10 * np.exp(-10 * x))


# --- (f) 10 to 14, 16: the simulations -----------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [ONE, TWO])
def test_no_scheme_beats_the_bound_in_any_iteration(setting):
    """(f) 10."""
    drawn = draws(setting, setting.delay, 100)
    lb = np.sort(arrivals(setting, drawn), axis=2)[:, :, setting.n - setting.P * (setting.r - 1) - 1]
    gc = durations(setting, drawn, clusters=1)
    chosen = product(("first_fit", "same_class"), ("state", "perfect"))
    for placed in (None, *(rule(setting, swap_rule=swaps, observe=seen) for swaps, seen in chosen)):
        between = durations(setting, drawn, placed)
        assert (lb <= between).all() and (between <= gc).all()


# --- the bound as scheme=lb -------------------------------------------------------------------------------------------

LB = [
    "n=12",
    "code.clusters=4",
    "code.d=2",
    "delay=markov",
    "delay.initial_slow=4",
    "iterations=60",
    "seeds=0-3",
]


def test_durations_are_the_bound():
    config = compose(["scheme=lb", *LB])
    drawn = build(config, "delay").draw((0, 1, 2, 3), 60, 12)
    found = stages.simulated(config, stages.length_of(config)).duration
    eighth = np.sort(drawn.arrival(2 / 12, 1), axis=2)[:, :, 12 - 4 * (2 - 1) - 1]
    np.testing.assert_array_equal(found, eighth)  # no code decodes from fewer


def test_no_task_takes_it(tmp_path):
    keys = {
        "label": "LB",
        "scheme": "lb",
        "n": 12,
        "code.clusters": 4,
        "delay": "markov",
        "task": "digits_mlp",
    }
    for call in (
        lambda: run_of_keys(keys | {"iterations": 60, "seeds": 4}),
        lambda: run(["scheme=lb", *LB], tmp_path),
        lambda: stages.run_training(compose(["scheme=lb", *LB]), tmp_path / "trajectory.npz", None),
    ):
        with pytest.raises(UserError, match="no task"):
            call()
    assert not list(tmp_path.iterdir())
    for overrides in (["scheme=gc_sc", "bound=true"], ["scheme=gc_sc", "wait=fewest"]):
        with pytest.raises(UserError, match="bound"):
            build_scheme(compose(overrides))


@pytest.mark.parametrize("code", [CyclicRepetition(n=4, s=1), Uncoded(n=3)])
def test_one_quorum_is_its_own_bound(code):
    time, responses = Fewest().stop(code, lambda r=1: np.arange(1.0, code.n + 1)[None, None])
    assert (code.met(responses[0]).all(), time[0, 0]) == (True, responses.sum())


def test_the_bound_refuses_other_codes():
    config = compose(["scheme=cyclic_two_message", "n=10", "s=4"])
    with pytest.raises(ParameterError):
        Fewest().stop(build(config, "code"), lambda r=1: np.ones((1, 1, 10)))


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Clustered(12, 5, 2), "n=12.*clusters=5"),
        (lambda: Clustered(12, 4, 4), "d=4"),
        (lambda: Clustered(12, 4, 2, layout="rows"), "'rows'.*'row'"),
        (lambda: Greedy(clusters=4), "memberships=None.*memory=None"),
        (lambda: Greedy(clusters=4, memberships=2, memory=6), "memberships=2, memory=6"),
        (lambda: Greedy(clusters=4, memberships=5), "clusters=4.*memberships=5"),
        (lambda: Greedy(clusters=4, memberships=2, shifts=(0, 1, 1)), r"\(0,\)"),
        (lambda: Greedy(clusters=4, memberships=3, shifts=((1, 1),) * 3), r"\(1, 1\)"),
        (lambda: Greedy(clusters=4, memberships=2, swap_rule="fit"), "'fit'"),
        (lambda: Greedy(clusters=4, memberships=2, order_mode="statics"), "'static'"),
        (lambda: Greedy(clusters=4, memberships=2, observe="states"), "'state'"),
        (lambda: Greedy(clusters=4, memberships=2, threshold=1.0), r"threshold=1\.0.*observe=state"),
        (lambda: Greedy(clusters=4, memberships=2, observe="censored"), "threshold=None.*observe=censored"),
        (lambda: TwoStateMarkov(p=1.5), "0 <= p <= 1, got p=1.5"),
        (lambda: TwoStateMarkov(mu_s=20), r"mu_s=20.*mu_f=10\.0"),
        (lambda: TwoStateMarkov(alpha=-1), "alpha >= 0"),
        (lambda: TwoStateMarkov(initial_slow=5).draw((0,), 3, 4), "n=4.*initial_slow=5"),
        (lambda: TwoStateMarkov(subset="last"), "'last'"),
        (lambda: TwoStateMarkov(load_model="summed"), "'sum'"),
        (lambda: TwoStateMarkov(pieces=0), "pieces=0"),
        (lambda: TwoStateMarkov(spread=1.0), r"spread=1\.0"),
        (lambda: expected_time(np.ones((4, 3)), 3, load=2, **LAW), "spare=3"),
        (lambda: recoverable_sets(12, 5, 2), "n=12, clusters=5"),
        (lambda: greedy_clusters(*np.ones((2, 1, 1, 4), bool), phases=0), "phases=0"),
        (lambda: slow_threshold(2, alpha=0, mu_s=1, mu_f=1), "0 < mu_s < mu_f"),
    ],
)
def test_refuses(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_placements_refuse_what_they_cannot_see():
    slow = np.zeros((1, 3, 12), dtype=bool)
    for kind, states, named in (
        (rule(ONE), None, "observe=state"),
        (rule(ONE, observe="arrival"), slow, "observe=arrival"),
        (Greedy(clusters=5, memberships=2), slow, "n=12.*clusters=5"),
        (rule(ONE, shifts=(1, 3)), slow, "shifts.*got 2"),
        (rule(ONE, memberships=3, shifts=SHIFTS), slow, "memberships"),
        (Best(clusters=2, memberships=2, observe="perfect"), np.zeros((1, 1, 80), dtype=bool), "clusters"),
    ):
        with pytest.raises(ParameterError, match=named):
            kind.seat(states, (0,))


def test_placements_belong_to_a_code():
    rule(ONE).check(clustered(12, 4, 2))
    Home().check(clustered(12, 4, 2))
    for code in (clustered(12, 4, 2, "column"), clustered(12, 3, 2), CyclicRepetition(n=12, s=1)):
        with pytest.raises(ParameterError, match="layout=row"):
            rule(ONE).check(code)
