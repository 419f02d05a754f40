"""Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922): the library against the paper written out from scratch.

What is compared here shares no code with the library: raw random numbers, one worker after the other, `scipy.quad`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy.integrate import quad

from gcexp.codes.clustered import Clustered
from gcexp.delays.markov import TwoStateMarkov
from gcexp.schemes.placement import Greedy, cluster_matrix, home, membership
from gcexp.schemes.scheme import Scheme
from gcexp.schemes.waiting import Decodable
from gcexp.seeding import STREAMS
from gcexp.theory.dynamic_clustering import expected_time, mean_time, slow_probability
from gcexp.timeline import simulate
from gcexp_papers.dynamic_clustering.numerics import matrices, placement


@dataclass(frozen=True)
class Setting:
    n: int
    clusters: int
    load: int
    memberships: int
    initial_slow: int

    def draw(self, seeds: int, iterations: int, **law):
        delay = TwoStateMarkov(initial_slow=self.initial_slow, **law)
        return delay.draw(tuple(range(seeds)), iterations, self.n)

    def groups(self):
        spare = self.load - 1
        return {"GC": (1, spare), "GC-SC": (self.clusters, spare), "LB": (1, self.clusters * spare)}

    def rule(self, kind=Greedy, **more):
        return kind(**{"clusters": self.clusters, "memberships": self.memberships} | more)


ONE, TWO = Setting(12, 4, 2, 2, 4), Setting(20, 5, 3, 3, 6)
LAW = {"p": 0.05, "alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}
RATES = {"alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}


def played(setting, drawn) -> dict[str, np.ndarray]:
    """Iteration times (seeds, iterations) of what knows no states."""
    arrival = np.sort(drawn.arrival(setting.load / setting.n, 1), axis=2)
    return {
        "GC": simulate(Scheme(Clustered(setting.n, 1, setting.load), Decodable()), drawn).duration,
        "GC-SC": placed(setting, drawn),
        "LB": arrival[:, :, setting.n - setting.clusters * (setting.load - 1) - 1],
    }


def placed(setting, drawn, rule=None) -> np.ndarray:
    code = Clustered(setting.n, setting.clusters, setting.load)
    return simulate(Scheme(code, Decodable(), placement=rule), drawn).duration


# --- One seed, replayed from the raw draws -------------------------------------------------------------------------


def stream(seed, purpose, unit):
    return np.random.default_rng(np.random.SeedSequence([seed, STREAMS[purpose], unit]))


def delays_and_states(setting, seed, iterations):
    """T = r (alpha + E/mu) and who is slow, one worker after the other."""
    times, slow = [], []
    uniform = [stream(seed, "states", w).random(iterations + 2) for w in range(setting.n)]
    start_slow = sorted(range(setting.n), key=lambda w: uniform[w][0])[: setting.initial_slow]
    for w in range(setting.n):
        unit = stream(seed, "delays", w).standard_exponential(iterations)
        states = [w in start_slow]
        for t in range(1, iterations):
            states.append(states[-1] != (uniform[w][2 + t] < 0.05))
        times.append(
            [
                setting.load * (0.01 + e / (0.1 if is_slow else 10))
                for e, is_slow in zip(unit, states, strict=True)
            ]
        )
        slow.append(states)
    return np.array(times).T, np.array(slow).T


def clusters_of_workers(setting, seed):
    """allowed[w], from the base matrix and its rotated rows."""
    P, allowed = setting.clusters, [set() for _ in range(setting.n)]
    for row in range(setting.n // P):
        shifts = 1 + stream(seed, "placement", row).permutation(P - 1)[: setting.memberships - 1]
        for q in range(P):
            for shift in (0, *shifts):
                allowed[row * P + q].add(int((q + shift) % P))
    return [sorted(clusters) for clusters in allowed]


def place(allowed, slow, P, same_class=False):
    """The greedy rule of the specification for settings with 2m >= P, where one swap is enough."""
    n = len(slow)
    size, at = n // P, {}

    def members(q):
        return [w for w in range(n) if at.get(w) == q]

    fast_first = 2 * sum(slow) <= n
    for turn in (False, True) if fast_first else (True, False):
        mine = [w for w in range(n) if slow[w] == turn]
        order = sorted(range(P), key=lambda q: (sum(q in allowed[w] for w in mine), q))  # noqa: B023
        before = None
        while before != len(at):
            before = len(at)
            for q in order:
                free = [w for w in mine if w not in at and q in allowed[w]]
                if free and len(members(q)) < size:
                    at[free[0]] = q
    for w in range(n):
        if w in at:
            continue
        rooms = [q for q in range(P) if len(members(q)) < size]
        direct = [q for q in allowed[w] if q in rooms]
        if direct:
            at[w] = direct[0]
            continue
        swaps = [(q, x, v) for q in rooms for x in allowed[w] for v in members(x) if q in allowed[v]]
        alike = [swap for swap in swaps if slow[swap[2]] == slow[w]] if same_class else []
        q, x, v = (alike or swaps)[0]
        at[v], at[w] = q, x
    return at


def replayed(setting, seed, iterations, perfect, same_class):
    times, slow = delays_and_states(setting, seed, iterations)
    allowed = clusters_of_workers(setting, seed)
    P, n = setting.clusters, setting.n
    need = n // P - setting.load + 1
    found = {"GC": [], "GC-SC": [], "GC-DC": [], "LB": []}
    for t in range(iterations):
        at_home = {w: w % P for w in range(n)}
        known = slow[t] if perfect else slow[t - 1] if t else None
        at = at_home if known is None else place(allowed, known.tolist(), P, same_class)
        for name, where in (("GC-SC", at_home), ("GC-DC", at)):
            done = [sorted(times[t, w] for w in range(n) if where[w] == q)[need - 1] for q in range(P)]
            found[name].append(max(done))
        found["GC"].append(sorted(times[t])[n - setting.load])
        found["LB"].append(sorted(times[t])[P * need - 1])
    return found


@pytest.mark.parametrize(
    ("setting", "seed", "perfect", "swap_rule"),
    [(ONE, 7, False, "first_fit"), (ONE, 3, False, "same_class"), (TWO, 7, True, "first_fit")],
    ids=["simulation 1", "simulation 1, same_class", "simulation 3"],
)
def test_a_seed_replayed_from_its_raw_draws(setting, seed, perfect, swap_rule):
    """Every iteration of a run, to the last bits, with a placement rule of this test's own."""
    iterations = 400 if setting is ONE else 150
    wanted = replayed(setting, seed, iterations, perfect, swap_rule == "same_class")
    drawn = setting.draw(seed + 1, iterations, **LAW)
    rule = setting.rule(observe="perfect" if perfect else "state", swap_rule=swap_rule)
    found = played(setting, drawn) | {"GC-DC": placed(setting, drawn, rule)}
    for name, durations in found.items():
        np.testing.assert_allclose(durations[seed], wanted[name], rtol=1e-14, err_msg=name)


# --- Exact expectations by another quadrature ----------------------------------------------------------------------


def by_quad(groups, spare, load, mu_s=0.1):
    """r (alpha + int (1 - prod R(u)) du), the Poisson-binomial law by convolution."""

    def left(u):
        product = 1.0
        for slow in groups:
            law = np.ones(1)
            for q in slow:
                waits = q * np.exp(-mu_s * u) + (1 - q) * np.exp(-10 * u)
                law = np.convolve(law, [1 - waits, waits])
            product *= law[: spare + 1].sum()
        return 1 - product

    ends = (0, 0.1, 0.5, 2, 10, 50, 150, 500)
    parts = [quad(left, a, b, epsabs=1e-9, epsrel=1e-9)[0] for a, b in zip(ends, ends[1:], strict=False)]
    return load * (0.01 + sum(parts))


@pytest.mark.parametrize("setting", [ONE, TWO], ids=["simulation 1", "simulation 2"])
def test_integrals_agree_with_scipy(setting):
    q = np.random.default_rng(0).random(setting.n).round(1)
    for groups, spare in setting.groups().values():
        each = q.reshape(groups, -1)
        expected = by_quad(each, spare, setting.load)
        assert expected_time(each, spare, load=setting.load, **RATES) == pytest.approx(expected, rel=1e-7)


@pytest.mark.slow
def test_what_hardly_matters():
    """How many start slow (3 %) and which ones (1.5 %); where workers sit before anything is known (0.3 %)."""
    for groups, spare in TWO.groups().values():
        law = {"iterations": 400, "load": 3} | LAW
        none, six, ten = (mean_time(20, groups, spare, initial_slow=i, **law) for i in (0, 6, 10))
        assert abs(none / six - 1) < 0.03 and abs(ten / six - 1) < 0.03
    for setting in (ONE, TWO):  # GC and the bound do not see which ones
        first = np.arange(setting.n) < setting.initial_slow
        q = slow_probability(0.05, np.arange(400)[:, None], first).reshape(400, -1, setting.clusters)
        times = expected_time(q.swapaxes(1, 2), setting.load - 1, load=setting.load, **RATES)
        law = {"iterations": 400, "initial_slow": setting.initial_slow, "load": setting.load} | LAW
        exact = mean_time(setting.n, setting.clusters, setting.load - 1, **law)
        assert times.mean() / exact == pytest.approx(1, abs=0.015)
    for setting, mean in ((ONE, 14.30), (TWO, 8.59)):
        drawn = setting.draw(100, 1, **LAW)
        gained = placed(setting, drawn) - placed(setting, drawn, setting.rule(observe="perfect"))
        assert gained.mean() / 400 < 0.003 * mean


# --- The running example -------------------------------------------------------------------------------------------


def fits_the_text(matrix, at_home, slow, swap_rule):
    """What is left of the paper's text about its example, Sections IV-C and V on one slow set."""
    allowed = membership(matrix)
    of_fast, of_slow = (allowed & ~slow).sum(1), (allowed & slow).sum(1)
    if not (of_fast[0] == of_fast[1] > of_fast[2] == of_fast[3]) or (np.diff(of_slow) < 0).any():
        return False  # orders: third, fourth, first, second; then first, second, ...
    statically = np.bincount(at_home[slow], minlength=4)
    if statically[2] != 3 or statically[3] != 0:
        return False  # the third cluster is all slow, the fourth all fast
    each = [np.flatnonzero(column).tolist() for column in allowed.T]
    phase_one = first_phase(each, slow.tolist())
    left = [w for w in range(12) if w not in phase_one]
    if len(left) != 1 or sum(q == 0 for q in phase_one.values()) != 2:
        return False  # one worker is left over, the first cluster lacks one
    at = place(each, slow.tolist(), 4, swap_rule == "same_class")
    moved = [w for w, q in phase_one.items() if at[w] != q]
    counts = sorted(sum(at[w] == q for w in np.flatnonzero(slow)) for q in range(4))
    return [phase_one[w] for w in moved] == [3] and counts == [1, 1, 1, 2]


def first_phase(allowed, slow):
    """Phase 1 alone: `place` with workers that cannot be swapped in."""
    at = {}
    for turn in (False, True):
        mine = [w for w in range(12) if slow[w] == turn]
        order = sorted(range(4), key=lambda q: (sum(q in allowed[w] for w in mine), q))  # noqa: B023
        before = None
        while before != len(at):
            before = len(at)
            for q in order:
                free = [w for w in mine if w not in at and q in allowed[w]]
                if free and sum(x == q for x in at.values()) < 3:
                    at[free[0]] = q
    return at


@pytest.mark.slow
def test_the_example_is_the_only_one_that_fits():
    """Two layouts, 27 shift triples, 792 slow sets: one fits with first_fit swaps, a second one with same_class."""
    found = {"first_fit": [], "same_class": []}
    sets = [np.isin(np.arange(12), chosen) for chosen in combinations(range(12), 5)]
    for layout, shifts in product(("row", "column"), product((1, 2, 3), repeat=3)):
        matrix = cluster_matrix(12, 4, [(shift,) for shift in shifts], layout)
        for swap_rule, fitting in found.items():
            for slow in sets:
                if fits_the_text(matrix, home(12, 4, layout)[0], slow, swap_rule):
                    fitting.append((layout, shifts, np.flatnonzero(slow).tolist()))
    ours, second = ("row", (1, 3, 1), [0, 2, 4, 6, 10]), ("row", (2, 3, 1), [1, 2, 4, 6, 10])
    assert found == {"first_fit": [ours], "same_class": [ours, second]}


def test_who_else_could_have_been_swapped():
    """Footnote 2: three more workers may enter the first cluster: 4, 8 and 11."""
    panels = placement(12, 4, 2, (1, 3, 1), {"five": [0, 2, 4, 6, 10]}, RATES).set_index("panel")
    before = panels.loc["five: after phase 1"].set_index("worker")
    allowed = membership(cluster_matrix(12, 4, [(1,), (3,), (1,)]))
    enter = [w for w in np.flatnonzero(allowed[0]) if before["cluster"][w] != 0]
    assert enter == [3, 4, 8, 11]
    assert [before["cluster"][w] for w in enter] == [3, 3, 1, 3]
    times = panels.loc["five: after the swap", ["gc", "gc_sc", "gc_dc", "lb"]].drop_duplicates()
    np.testing.assert_allclose(times, [[25.687, 19.687, 10.036, 4.057]], atol=1e-3)


def test_every_cell_of_the_matrices():
    frame = matrices(12, 4, 2, (1, 3, 1))
    text = {
        "(4) home clusters": "0 1 2 3|4 5 6 7|8 9 10 11",
        "(5) partitions of a worker": "0 3 6 9 1 4 7 10 2 5 8 11|1 4 7 10 2 5 8 11 0 3 6 9",
        "(6) codeword of a worker": "c[0,0] c[0,1] c[0,2] c[0,3] c[1,0] c[1,1] c[1,2] c[1,3] "
        "c[2,0] c[2,1] c[2,2] c[2,3]",
        "(12) clusters, with memberships": "0 1 2 3|4 5 6 7|8 9 10 11|3 0 1 2|5 6 7 4|11 8 9 10",
        "(13) the same, sorted": "0 0 1 2|3 1 2 3|4 5 6 4|5 6 7 7|8 8 9 10|11 9 10 11",
    }
    cells = frame.filter(like="column ").agg(lambda row: " ".join(row).split(), axis=1)
    for name, rows in text.items():
        assert [" ".join(row) for row in cells[frame["matrix"] == name]] == rows.split("|"), name


# --- The simulations -----------------------------------------------------------------------------------------------


@cache
def paired(setting, observe, kind=Greedy, swap_rule="first_fit", seeds=60):
    """Static and dynamic mean times of each seed."""
    drawn = setting.draw(seeds, 400, **LAW)
    more = {"swap_rule": swap_rule} if kind is Greedy else {}
    rule = setting.rule(kind, observe=observe, **more)
    return placed(setting, drawn).mean(1), placed(setting, drawn, rule).mean(1)


@pytest.mark.parametrize(("observe", "mean", "spread"), [("state", 0.366, 0.070), ("perfect", 0.492, 0.077)])
def test_a_single_run_can_be_off_by_ten_points(observe, mean, spread):
    """Share that one run of 400 iterations of simulation 2 saves, same_class swaps."""
    static, dynamic = paired(TWO, observe, swap_rule="same_class")
    share = 1 - dynamic / static
    assert share.mean() == pytest.approx(mean, abs=3 * spread / np.sqrt(len(share)) + 0.01)
    assert share.std() == pytest.approx(spread, rel=0.3)


def test_the_swap_rule_changes_gc_dc_alone():
    """(f) 16: GC, GC-SC and the bound are equal to the bit; a placement leaves the draws as they are."""
    drawn = TWO.draw(3, 100, **LAW)
    compute, states = drawn.compute.copy(), drawn.is_slow.copy()
    others, times = [played(TWO, drawn)], []
    for swap_rule in ("first_fit", "same_class"):
        times.append(placed(TWO, drawn, TWO.rule(swap_rule=swap_rule)))
        others.append(played(TWO, drawn))
    np.testing.assert_array_equal(drawn.compute, compute)
    np.testing.assert_array_equal(drawn.is_slow, states)
    for after in others[1:]:
        for name, before in others[0].items():
            np.testing.assert_array_equal(after[name], before)
    assert (times[0] != times[1]).any()
