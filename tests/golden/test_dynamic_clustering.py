"""Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922): clusters, placements, two-state workers, exact means.

The library places many slow sets at once. Here it meets the paper's rule written out for one of them, runs replayed
from raw random numbers, and integrals by `scipy.quad`. What the paper says is judged by its claims.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import kstest

from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.codes.clustered import Clustered
from gcexp.command.runs import single_run
from gcexp.delays.markov import TwoStateMarkov
from gcexp.errors import ParameterError, UserError
from gcexp.report.entries import run_of_keys
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Decodable, Fewest, Scheme
from gcexp.schemes.placement import (
    Best,
    Greedy,
    Home,
    cluster_matrix,
    greedy_clusters,
    home,
    membership,
    seats,
    stored,
)
from gcexp.seeding import STREAMS
from gcexp.timeline import simulate
from tests.conftest import refusals

SHIFTS = (1, 3, 1)
LAW = {"alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}


@dataclass(frozen=True)
class Setting:
    """A simulation of the paper: n workers, P clusters, load r, m memberships."""

    n: int
    P: int
    r: int
    m: int
    initial_slow: int

    def draw(self, seeds: int, iterations: int = 400, **more):
        delay = TwoStateMarkov(p=0.05, initial_slow=self.initial_slow, **LAW, **more)
        return delay.draw(tuple(range(seeds)), iterations, self.n)

    def rule(self, kind=Greedy, **more):
        return kind(**{"clusters": self.P, "memberships": self.m} | more)

    def durations(self, drawn, placement=None, clusters: int | None = None, bound: bool = False):
        """Iteration times (S, T) of GC (clusters=1), GC-SC (no placement), GC-DC or LB (bound)."""
        code = Clustered(self.n, clusters or self.P, self.r)
        wait = Fewest() if bound else Decodable()
        return simulate(Scheme(code, wait, placement=placement, bound=bound), drawn).duration


ONE, TWO = Setting(12, 4, 2, 2, 4), Setting(20, 5, 3, 3, 6)


def per_cluster(cluster: np.ndarray, is_slow: np.ndarray, P: int) -> np.ndarray:
    """Slow workers in each cluster, (U, P)."""
    return ((cluster[:, None] == np.arange(P)[:, None]) & is_slow[:, None]).sum(2)


def reference(allowed, is_slow, swap_rule="first_fit", order_mode="static"):
    """The rule of the paper for one slow set: the cluster of each worker, and how many chains were used."""
    P, n = allowed.shape
    l, at, chains = n // P, {}, 0

    def room(q):
        return sum(x == q for x in at.values()) < l

    fast, slow = ([w for w in range(n) if is_slow[w] == state] for state in (False, True))
    for members in (fast, slow) if len(fast) >= len(slow) else (slow, fast):
        order = sorted(range(P), key=lambda q: (sum(allowed[q, w] for w in members), q))  # noqa: B023
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
    return [at[w] for w in range(n)], chains


# --- Codes and clusters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "members"),
    [
        ("row", [(0, 4, 8), (1, 5, 9), (2, 6, 10), (3, 7, 11)]),
        ("column", [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]),
    ],
)
def test_clusters_are_copies_of_one_cyclic_code(layout, members):
    code = Clustered(12, 4, 2, layout)
    assert [quorum.workers for quorum in code.quorums] == members
    rows = code.encoding.toarray()[np.ravel(members)]
    np.testing.assert_array_equal(rows, np.kron(np.eye(4), rows[:3, :3]))
    np.testing.assert_array_equal(rows[:3, :3] != 0, [[1, 1, 0], [0, 1, 1], [1, 0, 1]])


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


def fits_the_text(matrix, at_home, slow, swap_rule):
    """What is left of the paper's text about its example, Sections IV-C and V on each slow set, boolean (U,)."""
    allowed = np.broadcast_to(membership(matrix), (len(slow), 4, 12))
    of_fast, of_slow = ((allowed & state[:, None]).sum(2) for state in (~slow, slow))
    orders = of_fast[:, 0] == of_fast[:, 1]  # third, fourth, first, second
    orders &= of_fast[:, 1] > of_fast[:, 2]
    orders &= (of_fast[:, 2] == of_fast[:, 3]) & (np.diff(of_slow) >= 0).all(1)
    statically = per_cluster(np.broadcast_to(at_home, slow.shape), slow, 4)
    mixed = (statically[:, 2] == 3) & (statically[:, 3] == 0)  # the third is all slow, the fourth all fast
    dealt, placed = (greedy_clusters(allowed, slow, swap_rule, phases=phases) for phases in (1, 2))
    conflict = ((dealt < 0).sum(1) == 1) & ((dealt == 0).sum(1) == 2)  # the first cluster lacks one
    moved = (dealt >= 0) & (dealt != placed)
    swapped = (moved.sum(1) == 1) & (moved & (dealt == 3)).any(1)  # out of the fourth cluster
    in_the_end = (np.sort(per_cluster(placed, slow, 4)) == [1, 1, 1, 2]).all(1)
    return orders & mixed & conflict & swapped & in_the_end


@pytest.mark.slow
def test_the_example_is_the_only_one_that_fits():
    """Two layouts, 27 shift triples, 792 slow sets: one fits with first_fit swaps, a second one with same_class."""
    found = {"first_fit": [], "same_class": []}
    sets = np.array([np.isin(np.arange(12), chosen) for chosen in combinations(range(12), 5)])
    for layout, shifts in product(("row", "column"), product((1, 2, 3), repeat=3)):
        matrix = cluster_matrix(12, 4, [(shift,) for shift in shifts], layout)
        for swap_rule, fitting in found.items():
            fits = fits_the_text(matrix, home(12, 4, layout)[0], sets, swap_rule)
            fitting += [(layout, shifts, np.flatnonzero(slow).tolist()) for slow in sets[fits]]
    ours, second = ("row", SHIFTS, [0, 2, 4, 6, 10]), ("row", (2, 3, 1), [1, 2, 4, 6, 10])
    assert found == {"first_fit": [ours], "same_class": [ours, second]}


# --- Placements --------------------------------------------------------------------------------------------------


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
        assert (per_cluster(placed, np.ones_like(slow), P) == n // P).all()
        if m == P:
            counts = per_cluster(placed, slow, P)
            assert (counts.max(1) - counts.min(1)).max() <= 1
        for u in range(0, count, 6):
            cluster, used = reference(allowed[u], slow[u], swap_rule, order_mode)
            assert placed[u].tolist() == cluster
            chains += used
    assert chains > 5 or (n, P) != (20, 10)


@pytest.mark.parametrize("layout", ["row", "column"])
def test_seats_are_the_placed_clusters(layout):
    """The workers of a cluster play its codewords; who is at home keeps its own."""
    greedy = Greedy(clusters=5, memberships=3, layout=layout)
    allowed = np.stack([membership(greedy.matrix(20, seed)) for seed in range(50)])
    placed = greedy_clusters(allowed, np.random.default_rng(0).random((50, 20)) < 0.5)
    played = seats(placed, 5, layout)
    for cluster, player in zip(placed, played, strict=True):
        for q, quorum in enumerate(Clustered(20, 5, 3, layout).quorums):
            there = np.flatnonzero(cluster == q)
            assert set(player[list(quorum.workers)]) == set(there)
            stay = [w for w in quorum.workers if cluster[w] == q]
            assert player[stay].tolist() == stay
            rest = [player[j] for j in quorum.workers if j not in stay]
            assert rest == sorted(rest)


def test_state_is_perfect_one_iteration_late():
    drawn = ONE.draw(5)
    for kind in (Greedy, Best):
        late = ONE.rule(kind).seat(drawn.is_slow, drawn.seeds)
        now = ONE.rule(kind, observe="perfect").seat(drawn.is_slow, drawn.seeds)
        np.testing.assert_array_equal(late[:, 1:], now[:, :-1])
        assert (late[:, 0] == np.arange(12)).all()  # nothing is known yet


@pytest.mark.parametrize("observe", ["state", "perfect", "arrival", "threshold", "censored"])
@pytest.mark.parametrize("kind", [Greedy, Best])
def test_one_membership_is_static_clustering(kind, observe):
    drawn = TWO.draw(5, 100)
    more = {"threshold": 1.4} if observe in ("threshold", "censored") else {}
    for placement in (TWO.rule(kind, memberships=1, observe=observe, **more), Home()):
        np.testing.assert_array_equal(TWO.durations(drawn, placement), TWO.durations(drawn))


def test_memory_instead_of_memberships():
    drawn = TWO.draw(3)
    for memory, m in ((4, 1), (11, 2), (12, 3), (15, 3), (20, 5), (50, 5)):
        by_memory = Greedy(clusters=5, memory=memory)
        assert by_memory.memberships_of(20) == m
        np.testing.assert_array_equal(
            by_memory.seat(drawn.is_slow, drawn.seeds),
            TWO.rule(memberships=m).seat(drawn.is_slow, drawn.seeds),
        )


def test_shifts_belong_to_the_seed():
    slow = np.tile(np.isin(np.arange(12), [2, 4, 6, 10]), (3, 2, 1))
    rule = ONE.rule(observe="perfect")
    random = rule.seat(slow, (0, 1, 2))
    assert len(np.unique(random[:, 0], axis=0)) > 1 and (random[:, 0] == random[:, 1]).all()
    np.testing.assert_array_equal(random[2:], rule.seat(slow[:1], (2,)))
    given = ONE.rule(observe="perfect", shifts=[[1], [3], [1]]).seat(slow, (0, 1, 2))
    assert (given == given[0, 0]).all()


def test_a_large_crowd_is_placed_too():
    """More workers than bits in a word."""
    slow = np.random.default_rng(0).random((2, 4, 120)) < 0.3
    seated = Greedy(clusters=12, memberships=4, observe="perfect").seat(slow, (0, 1))
    assert (np.sort(seated, axis=2) == np.arange(120)).all()


@pytest.mark.parametrize(
    ("observe", "threshold", "stops", "expected"),
    [
        ("arrival", None, (2, 4), [[2, 3], [3]]),
        ("threshold", 3.0, (1, 8), [[2, 3], [2, 3]]),
        ("censored", 3.0, (1, 5), [[], [2, 3]]),  # stopped before it: nothing is known of who is missing
        ("censored", 3.0, (5, 1), [[2, 3], [2, 3]]),  # then keeps the marks
        ("censored", 5.0, (4, 9), [[], [3]]),
    ],
)
def test_threshold_marks_late_results_and_censored_keeps_what_it_does_not_know(
    observe, threshold, stops, expected
):
    class Played:
        shape = (1, 3, 4)

        def __call__(self, t, seated):
            # The last iteration is played for those of a next chunk; here there is none.
            return np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([(*stops, np.inf)[t]])

    seen = []

    class Spy(Greedy):
        def place(self, allowed, is_slow):
            seen.append(np.flatnonzero(is_slow[0]).tolist())
            return super().place(allowed, is_slow)

    Spy(clusters=2, memberships=2, observe=observe, threshold=threshold).seat(None, (0,), Played())
    assert seen == expected


# --- Two-state workers -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_states_forget_where_they_started():
    slow = TwoStateMarkov(p=0.1, initial_slow=10, subset="first").draw(tuple(range(300)), 8, 20).is_slow
    for t in range(8):
        for group, sign in ((slow[:, t, :10], 1), (slow[:, t, 10:], -1)):  # those that start slow, and fast
            assert group.mean() == pytest.approx((1 + sign * (1 - 2 * 0.1) ** t) / 2, abs=0.04)
    seeds = tuple(range(400))
    random = TwoStateMarkov(initial_slow=4).draw(seeds, 1, 12).is_slow[:, 0]
    assert (random.sum(1) == 4).all() and np.abs(random.mean(0) - 1 / 3).max() < 0.1
    assert TwoStateMarkov().draw(seeds, 1, 12).is_slow.mean() == pytest.approx(0.5, abs=0.03)


def test_streams_are_independent_of_the_rest():
    """Another law changes no draw of the others: states and times are drawn apart."""
    base, frozen, mixed = (
        TwoStateMarkov(initial_slow=3, **law).draw((0, 1), 20, 6).is_slow
        for law in ({}, {"p": 0}, {"spread": 0.5})
    )
    assert (frozen == base[:, :1]).all() and (mixed == base).all()


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
    law = {"p": 0, "initial_slow": 6, "subset": "first", "spread": 0.5, "alpha": 0}
    rates = 12 / TwoStateMarkov(**law).draw(tuple(range(200)), 300, 12).compute.mean(1)  # each worker's own
    for mine, rate in ((rates[:, :6], 0.1), (rates[:, 6:], 10)):
        assert 0.4 * rate < mine.min() and mine.max() < 2 * rate and mine.std() > 0.2 * rate


# --- Simulations -------------------------------------------------------------------------------------------------


def stream(seed, purpose, unit):
    return np.random.default_rng(np.random.SeedSequence([seed, STREAMS[purpose], unit]))


def delays_and_states(setting, seed, iterations):
    """T = r (alpha + E/mu) and who is slow, (T, n), one worker after the other."""
    times, slow = [], []
    uniform = [stream(seed, "states", w).random(iterations + 2) for w in range(setting.n)]
    start_slow = sorted(range(setting.n), key=lambda w: uniform[w][0])[: setting.initial_slow]
    for w in range(setting.n):
        unit = stream(seed, "delays", w).standard_exponential(iterations)
        states = [w in start_slow]
        for t in range(1, iterations):
            states.append(states[-1] != (uniform[w][2 + t] < 0.05))
        times.append(setting.r * (0.01 + unit / np.where(states, 0.1, 10)))
        slow.append(states)
    return np.array(times).T, np.array(slow).T


def clusters_of_workers(setting, seed):
    """Which clusters are open to each worker, (P, n), from the base matrix and its rotated rows."""
    P, allowed = setting.P, np.zeros((setting.P, setting.n), dtype=bool)
    for row in range(setting.n // P):
        shifts = 1 + stream(seed, "placement", row).permutation(P - 1)[: setting.m - 1]
        for q in range(P):
            allowed[[(q + shift) % P for shift in (0, *shifts)], row * P + q] = True
    return allowed


def replayed(setting, seed, iterations, perfect, swap_rule):
    times, slow = delays_and_states(setting, seed, iterations)
    allowed = clusters_of_workers(setting, seed)
    P, n = setting.P, setting.n
    need = n // P - setting.r + 1
    found = {"GC": [], "GC-SC": [], "GC-DC": [], "LB": []}
    for t in range(iterations):
        at = at_home = np.arange(n) % P
        known = slow[t] if perfect else slow[t - 1] if t else None
        if known is not None:
            at = reference(allowed, known, swap_rule)[0]
        for name, where in (("GC-SC", at_home), ("GC-DC", at)):
            done = [sorted(times[t, w] for w in range(n) if where[w] == q)[need - 1] for q in range(P)]
            found[name].append(max(done))
        found["GC"].append(sorted(times[t])[n - setting.r])
        found["LB"].append(sorted(times[t])[P * need - 1])
    return found


@pytest.mark.parametrize(
    ("setting", "seed", "perfect", "swap_rule"),
    [(ONE, 7, False, "first_fit"), (ONE, 3, False, "same_class"), (TWO, 7, True, "first_fit")],
    ids=["simulation 1", "simulation 1, same_class", "simulation 3"],
)
def test_a_seed_replayed_from_its_raw_draws(setting, seed, perfect, swap_rule):
    """Every iteration of a run, to the last bits; no scheme beats the bound in any."""
    iterations = 400 if setting is ONE else 150
    drawn = setting.draw(seed + 1, iterations)
    rule = setting.rule(observe="perfect" if perfect else "state", swap_rule=swap_rule)
    found = {
        "GC": setting.durations(drawn, clusters=1),
        "GC-SC": setting.durations(drawn),
        "GC-DC": setting.durations(drawn, rule),
        "LB": setting.durations(drawn, bound=True),
    }
    for name, durations in replayed(setting, seed, iterations, perfect, swap_rule).items():
        np.testing.assert_allclose(found[name][seed], durations, rtol=1e-14, err_msg=name)
        assert (found["LB"] <= found[name]).all() and (found[name] <= found["GC"]).all()


# --- The bound as scheme=lb --------------------------------------------------------------------------------------


def test_no_task_takes_the_bound(tmp_path):
    of_code = {"scheme": "lb", "n": 12, "code.clusters": 4, "delay": "markov", "iterations": 60}
    typed = [f"{key}={value}" for key, value in of_code.items()]
    for call in (
        lambda: run_of_keys(of_code | {"label": "LB", "task": "digits_mlp", "seeds": 4}),
        lambda: single_run([*typed, "seeds=0-3"], tmp_path),
        lambda: Run.of([*typed, "seeds=0-3"]),
    ):
        with pytest.raises(UserError, match="no task"):
            call()
    assert not list(tmp_path.iterdir())
    for overrides in (["scheme=gc_sc", "bound=true"], ["scheme=gc_sc", "wait=fewest"]):
        with pytest.raises(UserError, match="bound"):
            build_scheme(compose(overrides))


def test_one_quorum_is_its_own_bound_and_other_codes_are_refused():
    for code in (CyclicRepetition(n=4, s=1), Uncoded(n=3)):
        time, responses = Fewest().stop(code, lambda r=1, n=code.n: np.arange(1.0, n + 1)[None, None])
        assert (code.met(responses[0]).all(), time[0, 0]) == (True, responses.sum())
    code = build(compose(["scheme=cyclic_two_message", "n=10", "s=4"]), "code")
    with pytest.raises(ParameterError):
        Fewest().stop(code, lambda r=1: np.ones((1, 1, 10)))


# --- What is refused ---------------------------------------------------------------------------------------------


def seated(rule, n: int):
    return rule.seat(np.zeros((1, 3, n), dtype=bool), (0,))


test_refuses = refusals(
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
    (lambda: greedy_clusters(*np.ones((2, 1, 1, 4), bool), phases=0), "phases=0"),
    (lambda: ONE.rule().seat(None, (0,)), "observe=state"),
    (lambda: seated(ONE.rule(observe="arrival"), 12), "observe=arrival"),
    (lambda: seated(TWO.rule(), 12), "n=12.*clusters=5"),
    (lambda: seated(TWO.rule(memberships=None, memory=3), 20), "memory=3"),
    (lambda: seated(ONE.rule(shifts=(1, 3)), 12), "shifts.*got 2"),
    (lambda: seated(ONE.rule(memberships=3, shifts=SHIFTS), 12), "memberships"),
    (lambda: seated(Best(clusters=2, memberships=2, observe="perfect"), 80), "clusters"),
    (lambda: ONE.rule().check(Clustered(12, 4, 2, "column")), "layout=row"),
    (lambda: ONE.rule().check(Clustered(12, 3, 2)), "layout=row"),
    (lambda: ONE.rule().check(CyclicRepetition(n=12, s=1)), "layout=row"),
)
