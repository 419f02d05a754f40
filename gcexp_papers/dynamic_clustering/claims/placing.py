"""Sections III to V: what workers store, who is placed in which cluster, and the greedy rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from gcexp.analysis.claims import (
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    Verdict,
    all_instances,
    claim,
    equals,
    every,
    less,
    number,
)
from gcexp.codes.clustered import Clustered
from gcexp.schemes.placement import Greedy, cluster_matrix, greedy_clusters, membership
from gcexp.seeding import rng

from .clusters import SIZES, N, P

SHIFTS = [(1,), (3,), (1,)]  # of the running example, as restored
_SHIFTS = "the shifts of the cluster matrix: the only ones that agree with the whole example (2026-11-22)"
#: (n, P, r, m) of Figs. 3 and 4.
SETTINGS = ((12, 4, 2, 2), (20, 5, 3, 3))


# --- Memory and codewords -----------------------------------------------------------------------------------


@claim(
    "memory_formula", "data_assigned_once_within_memory", "codewords_per_worker", figure="fig3", assumed=True
)
def a_worker_stores_six_mini_batches_for_six_codewords(table):
    """In simulation 1 every worker of GC-DC stores m n / P = 6 mini-batches and may be given m l = 6 codewords."""
    at_end = {"label": "GC-DC", "iteration": 400}
    return every(
        equals(number(table, column, at_end, statistic, rows=None), 6)
        for column in ("stored_partitions", "codewords")
        for statistic in ("min", "max")
    )


@claim("half_of_the_data", figure="fig3", assumed=True, post_hoc=_SHIFTS)
def a_worker_stores_half_of_the_data(table):
    """In the example with n = 12, P = 4 and two memberships a worker stores 6 of the 12 mini-batches."""
    at_end = {"label": "GC-DC", "iteration": 400}
    return equals(number(table, "stored_partitions", at_end, "mean", rows=None) / N, 1 / 2)


def _rotations(n: int, clusters: int, m: int, trial: int) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    """Drawn rotations of each row, and the clusters that they open to each worker, boolean (n, P), as defined."""
    generator = rng(trial, "placement", 14, n)
    shifts = tuple(
        tuple((1 + generator.permutation(clusters - 1)[: m - 1]).tolist()) for _ in range(n // clusters)
    )
    allowed = np.zeros((n, clusters), dtype=bool)
    for w in range(n):
        row, column = divmod(w, clusters)
        allowed[w, [(column + by) % clusters for by in (0, *shifts[row])]] = True
    return shifts, allowed


def _inside(seated: np.ndarray, allowed: np.ndarray) -> bool:
    """Whether every seat is taken once, and by a worker to whom its cluster is open; seat j belongs to j mod P."""
    n, clusters = allowed.shape
    once = np.bincount(seated.ravel(), minlength=n).min() == seated.size // n and (seated < n).all()
    return bool(once and allowed[seated, np.arange(n) % clusters].all())


def _placed(matrices: int, states: int) -> Iterator[tuple[int, int, int, np.ndarray, np.ndarray, np.ndarray]]:
    """Drawn rotations and slow sets, and who plays whom: n, P, r, memberships (n, P), slow sets and seats (U, n)."""
    for n, clusters, r, m in SETTINGS:
        for trial in range(matrices):
            shifts, allowed = _rotations(n, clusters, m, trial)
            slow = rng(trial, "states", 15, n).integers(0, 2, (states, n)).astype(bool)
            rule = Greedy(clusters=clusters, memberships=m, shifts=shifts, observe="perfect")
            yield n, clusters, r, allowed, slow, rule.seat(slow[None], (0,))[0].astype(int)


@claim("feasible_data_assignment", "worker_replacement", assumed=True)
def workers_store_what_their_codewords_need():
    """For n = 12 and 20, 20 drawn matrices and 100 slow sets each, a worker stores what the codeword of its seat needs.

    Every seat is taken once, by a worker of its cluster. Seat j of the built code is row floor(j / P) of cluster
    j mod P and combines r mini-batches of the cluster from its row on.
    """
    for n, clusters, r, allowed, _, seated in _placed(20, 100):
        support = Clustered(n, clusters, r).encoding.toarray() != 0
        size = n // clusters
        needed = np.zeros((n, n), dtype=bool)
        for j in range(n):
            needed[j, [j % clusters * size + (j // clusters + i) % size for i in range(r)]] = True
        yield bool((support == needed).all())
        stores = np.repeat(allowed, size, axis=1)
        for who in seated:
            yield _inside(who, allowed) and not (support & ~stores[who]).any()


@claim("more_recoverable_realizations_than_static", figure="recoverable", assumed=True)
def placing_enlarges_the_set_of_recoverable_realizations(table):
    """With n = 12, P = 4, r = 2 the greedy rule tolerates 528 sets of stragglers, clusters at home 256.

    The most even placement loses none of the 256 (the greedy rule loses 58).
    """
    static, greedy = (
        number(table, column, {"stragglers": SIZES}, "mean", rows=5) for column in ("static", "greedy")
    )
    return every(less(static, greedy), equals(number(table, "lost_by_best", None, "max", rows=5), 0))


@claim("worst_case_not_improved", figure="recoverable", assumed=True)
def eleven_results_are_needed_with_every_placement(table):
    """With n = 12, P = 4, r = 2 and every placement of the greedy rule eleven results always suffice, ten do not."""
    return every(equals(number(table, "threshold", None, one, rows=5), 11) for one in ("min", "max"))


# --- The running example ------------------------------------------------------------------------------------

FOUR, FIVE = "slow {2, 4, 6, 10}: ", "slow {0, 2, 4, 6, 10}: "


def _most_slow(table: pd.DataFrame, panel: str, expected: int) -> Verdict:
    """Whether the cluster with most slow workers has so many."""
    return equals(number(table, "slow_in_cluster", {"panel": panel}, "max", rows=12), expected)


def _sits_in(table: pd.DataFrame, panel: str, worker: int, cluster: int) -> Verdict:
    return equals(number(table, "cluster", {"panel": panel, "worker": worker}), cluster)


@claim(
    "static_third_cluster_fails",
    "fourth_cluster_unharmed",
    "two_replacements_suffice",
    "replacement_from_fourth_cluster",
    "speeds_up_by_spreading",
    figure="fig2",
    assumed=True,
)
def example_of_section_4_is_recovered_by_two_replacements(table):
    """With 2, 4, 6, 10 slow all of cluster 2 are slow at home; placed, no cluster has more than one.

    Worker 7 of the fourth cluster moves to the third. The mean time is 0.558, no slow worker is waited for.
    """
    home, placed = FOUR + "at home (GC-SC)", FOUR + "placed (GC-DC)"
    one_each = _most_slow(table, placed, 1)
    return {
        "static_third_cluster_fails": _most_slow(table, home, 3),
        "fourth_cluster_unharmed": one_each,
        "two_replacements_suffice": one_each,
        "replacement_from_fourth_cluster": every(_sits_in(table, home, 7, 3), _sits_in(table, placed, 7, 2)),
        "speeds_up_by_spreading": equals(
            number(table, "expected_time", {"panel": placed}, "mean", rows=12), 0.558, 0.001
        ),
    }


@claim("example_class_sizes", figure="fig2", assumed=True)
def five_of_twelve_workers_are_slow(table):
    """Five of the twelve workers of the example of Section V are slow, so that the fast ones are placed first."""
    return equals(number(table, "slow", {"panel": FIVE + "after the swap"}, "mean", rows=12), 5 / 12)


@claim(
    "example_conflict",
    "example_swap",
    "example_final_counts",
    figure="fig2",
    assumed=True,
    post_hoc=_SHIFTS,
)
def example_of_section_5_ends_with_a_swap(table):
    """With 0, 2, 4, 6, 10 slow worker 10 is left over, cluster 0 lacks one but is closed to it, and 3 is swapped.

    In the end one cluster has two slow workers and each other one has one.
    """
    before, after = FIVE + "after phase 1", FIVE + "after the swap"
    dealt = table[table["panel"] == before]
    left = dealt.loc[dealt["cluster"].isna(), "worker"].tolist() == [10]
    lacks = (dealt["cluster"] == 0).sum() == N // P - 1 and not _allowed()[0, 10]
    swap = every(_sits_in(table, *one) for one in ((before, 3, 3), (after, 3, 0), (after, 10, 3)))
    return {
        "example_conflict": every(all_instances([left, lacks]), _sits_in(table, after, 3, 0)),
        "example_swap": swap,
        "example_final_counts": _most_slow(table, after, 2),
    }


def _allowed() -> np.ndarray:
    """Which workers may enter a cluster of the running example, boolean (P, n)."""
    return membership(cluster_matrix(N, P, SHIFTS))


def _after_phase_one() -> tuple[np.ndarray, int, np.ndarray]:
    """Clusters after phase one, the one that lacks a worker, and who sits elsewhere and could enter it."""
    allowed, slow = _allowed(), np.isin(np.arange(N), [0, 2, 4, 6, 10])
    placed = greedy_clusters(allowed[None], slow[None], phases=1)[0]
    lacking = int(np.flatnonzero(np.bincount(placed[placed >= 0], minlength=P) < N // P)[0])
    return placed, lacking, allowed[lacking] & (placed != lacking) & (placed >= 0)


@claim("footnote_2_other_candidates", assumed=True)
def three_other_workers_could_be_swapped():
    """Beside the worker that is swapped three others could enter the cluster that lacks one in the example."""
    _, _, others = _after_phase_one()
    return equals(int(others.sum()) - 1, 3)


@claim(
    "footnote_2_guarantee",
    assumed=True,
    reason="The names of the clusters are lost, and the answer depends on which ones are meant. Two clusters (1 and 3) "
    "have a worker who may enter cluster 0, which lacks one. Of the two clusters that are open to the worker left "
    "over, 10, cluster 3 has such a worker (3, 4 or 11) and cluster 2 (1, 2, 7) has none.",
)
def two_clusters_have_a_worker_for_the_one_that_lacks_one():
    """Two clusters of the example, any or those open to the worker left over, have a worker for the one that lacks one.

    Undecided if the two readings have different answers.
    """
    placed, _, others = _after_phase_one()
    able = {int(cluster) for cluster in placed[others]}
    (left,) = np.flatnonzero(placed < 0)
    readings = [len(able) >= 2, all(int(q) in able for q in np.flatnonzero(_allowed()[:, left]))]
    outcome = REPRODUCED if all(readings) else UNDECIDED if any(readings) else NOT_REPRODUCED
    return Verdict(outcome, f"{sum(readings)} of 2 readings")


# --- The greedy rule ----------------------------------------------------------------------------------------


@claim("swap_resolves_any_conflict", assumed=True)
def one_swap_is_enough_where_2m_is_at_least_P():
    """For 200 drawn matrices and slow sets in two settings with 2m >= P whoever is left over finds a swap or room.

    (n, P, m) = (12, 4, 2) and (20, 5, 3), those of the simulations. With 2m < P, of which the paper does not speak,
    one swap can be too few.
    """
    random = np.random.default_rng(0)
    for n, clusters, m in ((12, 4, 2), (20, 5, 3)):
        for _ in range(200):
            size = n // clusters
            shifts = [tuple(1 + random.permutation(clusters - 1)[: m - 1]) for _ in range(size)]
            allowed = membership(cluster_matrix(n, clusters, shifts))
            slow = random.random(n) < random.uniform(0.2, 0.8)
            placed = greedy_clusters(allowed[None], slow[None], phases=1)[0]
            room = np.bincount(placed[placed >= 0], minlength=clusters) < size
            for left in np.flatnonzero(placed < 0):
                movers = np.isin(placed, np.flatnonzero(allowed[:, left]))
                yield (np.any(allowed[room], axis=0) & movers).any() or (allowed[:, left] & room).any()


def _states(n: int, seeds: int, iterations: int) -> np.ndarray:
    """States (S, T, n): a third of the workers starts slow, each changes with probability 0.05 before an iteration."""
    slow = np.empty((seeds, iterations, n), dtype=bool)
    for seed in range(seeds):
        generator = rng(seed, "states", 13, n)
        changes = generator.integers(0, 10**6, (iterations, n)) < 50_000
        changes[0] = generator.permutation(n) < n // 3
        slow[seed] = np.cumsum(changes, axis=0) % 2
    return slow


def _per_cluster(seated: np.ndarray, slow: np.ndarray, clusters: int) -> np.ndarray:
    """Slow workers in each cluster, (S, T, P)."""
    S, T, n = seated.shape
    return np.take_along_axis(slow, seated.astype(int), axis=2).reshape(S, T, n // clusters, clusters).sum(2)


def _against_home(seeds: int, iterations: int, observe: str) -> Iterator[tuple[bool, np.ndarray, np.ndarray]]:
    """Slow workers of the fullest cluster, (S, T), placed greedily and at home; whether the placement is allowed."""
    for n, clusters, _, m in SETTINGS:
        slow = _states(n, seeds, iterations)
        shifts, allowed = _rotations(n, clusters, m, 0)
        rule = Greedy(clusters=clusters, memberships=m, shifts=shifts, observe=observe)
        seated = rule.seat(slow, tuple(range(seeds)))
        at_home = np.broadcast_to(np.arange(n), slow.shape)
        greedy, home = (_per_cluster(one, slow, clusters).max(2) for one in (seated, at_home))
        yield _inside(seated, allowed), greedy, home


def _fewer(found: Iterator[tuple[bool, np.ndarray, np.ndarray]]) -> Verdict:
    """Whether in every seed the fullest cluster has fewer slow workers on average than at home."""
    return all_instances(
        inside and one < other
        for inside, greedy, home in found
        for one, other in zip(greedy.mean(1), home.mean(1), strict=True)
    )


@claim("regulates_stragglers_per_cluster", assumed=True)
def placed_by_the_previous_states_the_fullest_cluster_has_fewer_slow_workers():
    """It has fewer than at home in each of 20 seeds, on average over 200 iterations; n = 12 and 20, p = 0.05."""
    return _fewer(_against_home(20, 200, "state"))


@claim("as_uniform_as_possible", assumed=True)
def placed_by_the_present_states_the_fullest_cluster_has_fewer_slow_workers():
    """It has fewer than at home in each of 10 seeds, on average over 100 iterations; n = 12 and 20, p = 0.05.

    The paper states an aim, which the greedy rule pursues and does not always reach: in 4 % of these states the
    memberships would allow a more even placement.
    """
    return _fewer(_against_home(10, 100, "perfect"))


def _renamed(matrices: int = 10, states: int = 200) -> Iterator[tuple[bool, bool]]:
    """Whether a placement is allowed, and whether under other names of the workers clusters get as many slow ones."""
    for n, clusters, _, allowed, slow, seated in _placed(matrices, states):
        names = rng(0, "placement", 16, n).permutation(n)  # worker w is called names[w]
        renamed, marked = np.empty_like(allowed), np.empty_like(slow)
        renamed[names], marked[:, names] = allowed, slow
        cluster = greedy_clusters(np.broadcast_to(renamed.T, (len(slow), clusters, n)), marked)
        before = np.take_along_axis(slow, seated, axis=1).reshape(len(slow), n // clusters, clusters).sum(1)
        after = np.stack([(marked & (cluster == q)).sum(1) for q in range(clusters)], axis=1)
        open_to_all = _inside(seated, allowed) and renamed[np.arange(n), cluster].all()
        for one, other in zip(before, after, strict=True):
            yield open_to_all, sorted(one) == sorted(other)


@claim("sorted_columns", assumed=True)
def everybody_plays_in_an_own_cluster_whatever_the_order():
    """For n = 12 and 20, 10 drawn matrices and 200 slow sets each, placements stay allowed under other names."""
    return all_instances(allowed for allowed, _ in _renamed())


@claim(
    "sorted_columns",
    assumed=True,
    reason="Sorting does not change which workers a cluster may have, but it changes what the greedy rule makes of it, "
    "as the rule goes through the workers in their order: under other names the numbers of slow workers per cluster "
    "are different ones in 17 % of the slow sets tried.",
)
def slow_workers_per_cluster_do_not_depend_on_the_order():
    """For n = 12 and 20, 10 drawn matrices and 200 slow sets each, clusters have as many slow workers either way."""
    return all_instances(same for _, same in _renamed())
