"""Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922): the library against the paper written out from scratch.

What is compared here shares no code with the library but the placement rule: raw random numbers, one worker after the
other, `scipy.quad`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from scipy.integrate import quad

from gcexp.codes.clustered import Clustered
from gcexp.delays.markov import TwoStateMarkov
from gcexp.schemes.placement import Greedy, cluster_matrix, greedy_clusters, home, membership
from gcexp.schemes.scheme import Scheme
from gcexp.schemes.waiting import Decodable
from gcexp.seeding import STREAMS
from gcexp.theory.dynamic_clustering import expected_time
from gcexp.timeline import simulate


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

    def rule(self, **more):
        return Greedy(clusters=self.clusters, memberships=self.memberships, **more)


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
    """Which clusters are open to each worker, (P, n), from the base matrix and its rotated rows."""
    P, allowed = setting.clusters, np.zeros((setting.clusters, setting.n), dtype=bool)
    for row in range(setting.n // P):
        shifts = 1 + stream(seed, "placement", row).permutation(P - 1)[: setting.memberships - 1]
        for q in range(P):
            allowed[[(q + shift) % P for shift in (0, *shifts)], row * P + q] = True
    return allowed


def replayed(setting, seed, iterations, perfect, swap_rule):
    times, slow = delays_and_states(setting, seed, iterations)
    allowed = clusters_of_workers(setting, seed)
    P, n = setting.clusters, setting.n
    need = n // P - setting.load + 1
    found = {"GC": [], "GC-SC": [], "GC-DC": [], "LB": []}
    for t in range(iterations):
        at = at_home = np.arange(n) % P
        known = slow[t] if perfect else slow[t - 1] if t else None
        if known is not None:
            at = greedy_clusters(allowed[None], known[None], swap_rule)[0]
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
    """Every iteration of a run, to the last bits; tests/golden tries the placement rule by itself."""
    iterations = 400 if setting is ONE else 150
    wanted = replayed(setting, seed, iterations, perfect, swap_rule)
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


# --- The running example -------------------------------------------------------------------------------------------


def fits_the_text(matrix, at_home, slow, swap_rule):
    """What is left of the paper's text about its example, Sections IV-C and V on each slow set, boolean (U,)."""
    allowed = np.broadcast_to(membership(matrix), (len(slow), 4, 12))
    of_fast, of_slow = ((allowed & state[:, None]).sum(2) for state in (~slow, slow))
    orders = (of_fast[:, 0] == of_fast[:, 1]) & (
        of_fast[:, 1] > of_fast[:, 2]
    )  # third, fourth, first, second
    orders &= (of_fast[:, 2] == of_fast[:, 3]) & (np.diff(of_slow) >= 0).all(1)
    statically = per_cluster(np.broadcast_to(at_home, slow.shape), slow)
    mixed = (statically[:, 2] == 3) & (statically[:, 3] == 0)  # the third is all slow, the fourth all fast
    dealt, placed = (greedy_clusters(allowed, slow, swap_rule, phases=phases) for phases in (1, 2))
    conflict = ((dealt < 0).sum(1) == 1) & ((dealt == 0).sum(1) == 2)  # the first cluster lacks one
    moved = (dealt >= 0) & (dealt != placed)
    swapped = (moved.sum(1) == 1) & (moved & (dealt == 3)).any(1)  # out of the fourth cluster
    in_the_end = (np.sort(per_cluster(placed, slow)) == [1, 1, 1, 2]).all(1)
    return orders & mixed & conflict & swapped & in_the_end


def per_cluster(cluster, slow):
    """Slow workers in each of the four clusters, (U, 4)."""
    return ((cluster[:, None] == np.arange(4)[:, None]) & slow[:, None]).sum(2)


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
    ours, second = ("row", (1, 3, 1), [0, 2, 4, 6, 10]), ("row", (2, 3, 1), [1, 2, 4, 6, 10])
    assert found == {"first_fit": [ours], "same_class": [ours, second]}


# --- The simulations -----------------------------------------------------------------------------------------------
