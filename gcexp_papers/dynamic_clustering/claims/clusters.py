"""Sections I and II: what gradient coding tolerates, and what it tolerates in clusters of workers."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import all_instances, because, claim, equals, every, less, number
from gcexp.codes.clustered import Clustered
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.seeding import rng

from .. import theory
from ..numerics import AT_HOME, LAW, N, P, R


def _complete(code, responses):
    """Whether the full gradient is decoded, (U,)."""
    return (np.abs(code.decode(responses.astype(int), partial=True).coefficients - 1) < 1e-6).all(1)


def sets_in_all(table, column):
    """Sets of 0 to 4 stragglers that are tolerated in the running example, on average over the five numbers."""
    return number(table, column, {"stragglers": [0, 1, 2, 3, 4]}, "mean", rows=5)


# --- What one code of all workers tolerates -----------------------------------------------------------------


@claim("gc_any_threshold_codewords", "gc_tolerates_persistent_stragglers", assumed=True)
def gradient_coding_tolerates_all_sets_of_r_minus_1():
    """All sets of r - 1 stragglers leave the gradient, and some set of r does not."""
    for n in range(2, 8):
        for r in range(1, n + 1):
            code = Clustered(n, 1, r)
            fewer, as_many = (_complete(code, next(all_sets(n, s))).all() for s in (r - 1, r))
            yield "gc_any_threshold_codewords", fewer
            yield "gc_tolerates_persistent_stragglers", fewer and not as_many


@claim("example_gc_one_straggler", "gc_tolerates_persistent_stragglers", figure="recoverable", assumed=True)
def one_straggler_is_the_most_in_the_example(table):
    """One code of all workers tolerates each of the 12 single stragglers, and no pair."""
    for s, sets in ((1, 12), (2, 0)):
        yield equals(number(table, "gc", {"stragglers": s}), sets)


# --- What clusters tolerate ---------------------------------------------------------------------------------


@claim("example_results_per_cluster", assumed=True)
def every_cluster_needs_two_results():
    """Of all 4096 sets of results exactly those with two from each cluster are decoded."""
    results = np.array(list(product((False, True), repeat=N)))
    enough = np.all([results[:, AT_HOME == cluster].sum(1) >= 2 for cluster in range(P)], axis=0)
    return all_instances(enough == _complete(Clustered(N, P, R), results))


@claim("cluster_decodes_its_part", assumed=True)
def two_workers_yield_the_sum_of_their_cluster():
    """Any two workers decode the sum of the three partitions of their cluster."""
    code = Clustered(N, P, R)
    supports = code.encoding.toarray() != 0
    for silent in range(N):
        mine = AT_HOME == AT_HOME[silent]
        sums = code.decode((mine & (np.arange(N) != silent))[None].astype(int), partial=True).coefficients[0]
        yield (np.abs(sums - supports[mine].any(0)) < 1e-6).all()


@claim("example_best_case", figure=["fig1", "recoverable"], assumed=True)
def one_straggler_in_each_cluster_is_tolerated(drawing, table):
    """Realization 1 waits for no slow worker, as its mean time says; 81 = 3^4 sets of four are tolerated."""
    panel = {"panel": "realization 1: one straggler per cluster"}
    yield equals(number(drawing, "gc_sc", panel, "mean", rows=12), 0.558, 0.001)
    yield equals(number(table, "static", {"stragglers": 4}), 81)


@claim("realization_2_fails", figure="fig1", assumed=True)
def two_stragglers_in_a_cluster_are_not_tolerated(drawing):
    """Realization 2 has eight results and is not decoded; it waits for a slow worker, as its mean time says."""
    heard = ~np.isin(np.arange(N), [0, 1, 2, 4])
    panel = {"panel": "realization 2: two in one cluster"}
    yield all_instances(~_complete(Clustered(N, P, R), heard[None]))
    yield equals(number(drawing, "gc_sc", panel, "mean", rows=12), 10.033, 0.001)


@claim(
    "example_worst_case_equal", "more_recoverable_realizations_than_gc", figure="recoverable", assumed=True
)
def clusters_tolerate_more_sets_than_one_code_but_not_all_pairs(table):
    """One code of all workers tolerates fewer sets of stragglers than clusters, and no pair."""
    static, sets, gc = (number(table, name, {"stragglers": 2}) for name in ("static", "sets", "gc"))
    yield "example_worst_case_equal", every(less(static, sets), equals(gc, 0))
    fewer = less(sets_in_all(table, "gc"), sets_in_all(table, "static"))
    yield "more_recoverable_realizations_than_gc", fewer


def _decoded(B, s):
    """Whether each set of workers without s silent ones decodes from the messages B, by rank."""
    return engine.spans(np.stack([B[list(left)] for left in engine.survivors(len(B), s)]), 1)


@cache
def _tolerated(clusters, size, r):
    """Sets of s = 0, 1, ... silent workers that clusters with own cyclic codes of load r tolerate, each its part."""
    B = engine.code(engine.cyclic(size, r), 1, rng(0, "assignment", 11, size, r))[0]
    counts = [1]
    for _ in range(clusters):
        counts = np.convolve(counts, [int(_decoded(B, s).sum()) for s in range(size + 1)]).tolist()
    return counts


@claim("best_case_formula", "tolerance_scales_with_clusters", assumed=True)
def at_best_r_minus_1_stragglers_per_cluster():
    """Numbers of tolerated sets are those of the formula; where r >= 2 the most that are tolerated grow with P."""
    for size in range(1, 6):
        for r in range(1, size + 1):
            most = []
            for clusters in range(1, 5):
                counts = _tolerated(clusters, size, r)
                most.append(max(np.flatnonzero(counts)))
                formula = theory.recoverable_sets(clusters * size, clusters, r).tolist()
                yield "best_case_formula", counts == formula and most[-1] == clusters * (r - 1)
            if r >= 2:
                yield "tolerance_scales_with_clusters", most[0] == r - 1 and most == sorted(set(most))


@claim("static_fails_for_most", assumed=True)
def clusters_tolerate_no_set_of_five():
    """Ranks decide it; of the 495 sets of four stragglers 81 are tolerated."""
    cluster = engine.code(engine.cyclic(N // P, R), 1, rng(0, "assignment", 12))[0]
    B = np.kron(np.eye(P, dtype=np.int64), cluster)
    four = int(_decoded(B, 4).sum()), int(theory.recoverable_sets(N, P, R)[4])
    return every(all_instances(~_decoded(B, 5)), *(equals(count, 81) for count in four))


# --- How much stragglers in one cluster hurt ----------------------------------------------------------------


@claim("advantage_of_clusters_diminishes", "persistence_hurts", assumed=True)
def packed_stragglers_cost_clusters_their_advantage():
    """If 2 or 4 slow workers share clusters, these take longer than if spread over them, as one code at the most."""
    shorter, longer, times_as_long = [], [], []
    for mu_s, count in product((0.1, 1.0, 5.0), (2, 4)):
        spread, packed = np.zeros((2, P, N // P), dtype=int)
        spread.T.flat[:count] = packed.flat[:count] = 1  # one in each cluster; the first cluster first
        alone, even, uneven = (
            theory.expected_time(one, 1, load=R, **LAW | {"mu_s": mu_s})
            for one in (packed.reshape(1, N), spread, packed)
        )
        shorter.append(even < uneven <= alone)
        longer.append(uneven > even)
        times_as_long.append(uneven / even)
    told = (
        f"With 2 or 4 slow workers and slow rates of 0.1 to 5 it takes {min(times_as_long):.1f} to "
        f"{max(times_as_long):.0f} times as long as with the same workers spread over the clusters. The paper gives no "
        "number for 'drastically'; that it is longer is judged."
    )
    yield "advantage_of_clusters_diminishes", all_instances(shorter)
    yield "persistence_hurts", because(all_instances(longer), told)
