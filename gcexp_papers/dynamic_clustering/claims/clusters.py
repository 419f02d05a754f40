"""Sections I and II: what gradient coding tolerates, and what it tolerates in clusters of workers."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import all_instances, claim, equals, every, less, number
from gcexp.codes.clustered import Clustered
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.schemes.placement import home
from gcexp.seeding import rng
from gcexp.theory import dynamic_clustering as theory

N, P, R = 12, 4, 2  # the running example, as restored
SIZES = [0, 1, 2, 3, 4]  # numbers of stragglers in the table of recoverable sets


def _complete(code: Clustered, responses: np.ndarray) -> np.ndarray:
    """Whether the full gradient is decoded, (U,)."""
    return (np.abs(code.decode(responses.astype(int), partial=True).coefficients - 1) < 1e-6).all(1)


# --- What one code of all workers tolerates -----------------------------------------------------------------


@claim("gc_any_threshold_codewords", "gc_tolerates_persistent_stragglers", assumed=True)
def gradient_coding_tolerates_all_sets_of_r_minus_1():
    """For n <= 7 and every load r all sets of r - 1 stragglers leave the gradient, and some set of r does not."""
    for n in range(2, 8):
        for r in range(1, n + 1):
            code = Clustered(n, 1, r)
            enough = all(_complete(code, responses).all() for responses in all_sets(n, r - 1))
            yield "gc_any_threshold_codewords", enough
            too_few = r == n or not all(_complete(code, responses).all() for responses in all_sets(n, r))
            yield "gc_tolerates_persistent_stragglers", enough and too_few


@claim("example_gc_one_straggler", "gc_tolerates_persistent_stragglers", figure="recoverable", assumed=True)
def one_straggler_is_the_most_in_the_example(table):
    """With n = 12, r = 2 and one code of all workers each of the 12 single stragglers is tolerated, and no pair."""
    return every(equals(number(table, "gc", {"stragglers": s}), sets) for s, sets in ((1, 12), (2, 0)))


# --- What clusters tolerate ---------------------------------------------------------------------------------


@claim("example_results_per_cluster", assumed=True)
def every_cluster_needs_two_results():
    """Of all 4096 sets of results with n = 12, P = 4, r = 2 exactly those with two from each cluster are decoded."""
    code, (at_home, _) = Clustered(N, P, R), home(N, P)
    results = np.array(list(product((0, 1), repeat=N)), dtype=bool)
    enough = np.all([results[:, at_home == cluster].sum(1) >= 2 for cluster in range(P)], axis=0)
    return all_instances(enough == _complete(code, results))


@claim("cluster_decodes_its_part", assumed=True)
def two_workers_yield_the_sum_of_their_cluster():
    """With n = 12, P = 4, r = 2 any two workers of a cluster yield the sum of its three partitions."""
    code, (at_home, _) = Clustered(N, P, R), home(N, P)
    supports = code.encoding.toarray() != 0
    for silent in range(N):
        mine = at_home == at_home[silent]
        sums = code.decode((mine & (np.arange(N) != silent))[None].astype(int), partial=True).coefficients[0]
        yield (np.abs(sums - supports[mine].any(0)) < 1e-6).all()


@claim("example_worst_case_equal", figure="recoverable", assumed=True)
def worst_case_of_clusters_is_that_of_one_code(table):
    """With n = 12, P = 4, r = 2 clusters do not tolerate all 66 pairs of stragglers; one code tolerates none."""
    pairs = {"stragglers": 2}
    return every(
        less(number(table, "static", pairs), number(table, "sets", pairs)),
        equals(number(table, "gc", pairs), 0),
    )


@claim("example_best_case", figure=["fig1", "recoverable"], assumed=True)
def one_straggler_in_each_cluster_is_tolerated(drawing, table):
    """Realization 1 of Fig. 1 waits for no slow worker (mean time 0.558); 81 = 3^4 sets of four are tolerated."""
    panel = {"panel": "realization 1: one straggler per cluster"}
    return every(
        equals(number(drawing, "gc_sc", panel, "mean", rows=12), 0.558, 0.001),
        equals(number(table, "static", {"stragglers": 4}), 81),
    )


@claim("realization_2_fails", figure="fig1", assumed=True)
def two_stragglers_in_a_cluster_are_not_tolerated(drawing):
    """Realization 2 of Fig. 1 has eight results and is not decoded; it waits for a slow worker (mean time 10.033)."""
    responses = ~np.isin(np.arange(N), [0, 1, 2, 4])
    panel = {"panel": "realization 2: two in one cluster"}
    return every(
        all_instances(~_complete(Clustered(N, P, R), responses[None])),
        equals(number(drawing, "gc_sc", panel, "mean", rows=12), 10.033, 0.001),
    )


@claim("more_recoverable_realizations_than_gc", figure="recoverable", assumed=True)
def clusters_tolerate_more_sets_than_one_code(table):
    """With n = 12, P = 4, r = 2 clusters tolerate 256 sets of stragglers, one code of all workers 13."""
    one, clusters = (
        number(table, column, {"stragglers": SIZES}, "mean", rows=5) for column in ("gc", "static")
    )
    return less(one, clusters)


@lru_cache
def _tolerated(size: int, r: int) -> tuple[int, ...]:
    """Sets of s = 0, ..., size silent workers of a cluster from which an own cyclic code of load r decodes, by rank."""
    B = engine.code(engine.cyclic(size, r), 1, rng(0, "assignment", 11, size, r))[0]
    left = [engine.survivors(size, s) for s in range(size + 1)]
    return tuple(int(engine.spans(np.stack([B[list(one)] for one in some]), 1).sum()) for some in left)


def _side_by_side(clusters: int, size: int, r: int) -> list[int]:
    """The same for several clusters: a set is tolerated if its part in each is."""
    counts = [1]
    for _ in range(clusters):
        counts = np.convolve(counts, _tolerated(size, r)).tolist()
    return counts


@claim("best_case_formula", "tolerance_scales_with_clusters", assumed=True)
def at_best_r_minus_1_stragglers_per_cluster():
    """For P <= 4, cluster sizes l <= 5 and every r the most that are tolerated, by rank, are P (r - 1) stragglers.

    Numbers of tolerated sets are those of the formula; the most grow with P where r >= 2.
    """
    for size in range(1, 6):
        for r in range(1, size + 1):
            counts = [_side_by_side(clusters, size, r) for clusters in range(1, 5)]
            most = [max(np.flatnonzero(one)) for one in counts]
            for clusters, one in enumerate(counts, start=1):
                formula = theory.recoverable_sets(clusters * size, clusters, r).tolist()
                yield "best_case_formula", one == formula and most[clusters - 1] == clusters * (r - 1)
            if r >= 2:
                yield "tolerance_scales_with_clusters", most[0] == r - 1 and most == sorted(set(most))


@claim("static_fails_for_most", assumed=True)
def clusters_tolerate_no_set_of_five():
    """With n = 12, P = 4, r = 2 no set of five stragglers (of 792) is tolerated, by rank, and 81 of 495 of four."""
    cluster = engine.code(engine.cyclic(N // P, R), 1, rng(0, "assignment", 12))[0]
    B = np.kron(np.eye(P, dtype=np.int64), cluster)
    five, four = (
        engine.spans(np.stack([B[list(left)] for left in engine.survivors(N, s)]), 1) for s in (5, 4)
    )
    formula = theory.recoverable_sets(N, P, R)
    return every(all_instances(~five), equals(int(four.sum()), 81), equals(int(formula[4]), 81))


# --- How much stragglers in one cluster hurt ----------------------------------------------------------------


@claim("advantage_of_clusters_diminishes", "persistence_hurts", assumed=True)
def packed_stragglers_cost_clusters_their_advantage():
    """In fixed states with 2 and 4 slow workers, mu_s = 0.1, 1, 5, clusters gain less if these share clusters.

    n = 12, P = 4, r = 2; means by integration. Packed, clusters take longer than with the slow workers spread over
    them, and at most as long as one code of all workers.
    """
    for mu_s, count in product((0.1, 1.0, 5.0), (2, 4)):
        spread, packed = np.zeros((2, P, N // P), dtype=int)
        spread.T.flat[:count] = packed.flat[:count] = 1  # one in each cluster; the first cluster first
        alone, even, uneven = (
            theory.expected_time(one, 1, load=R, alpha=0.01, mu_s=mu_s, mu_f=10.0)
            for one in (packed.reshape(1, N), spread, packed)
        )
        yield "advantage_of_clusters_diminishes", even < uneven <= alone
        yield "persistence_hurts", uneven > even
