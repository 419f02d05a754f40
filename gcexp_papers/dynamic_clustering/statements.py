"""What Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922) state and no figure shows, instance by instance.

Codes are decoded and placements enumerated on the running example (12 workers, 4 clusters, load 2, two memberships) and
on small instances; the states of the workers are drawn. Each check is a generator of ``(id, what, holds)``: the
statement's name in statements.csv, the instances in words, and whether it holds in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from gcexp.analysis.counting import collected
from gcexp.analysis.declared import gives
from gcexp.codes.clustered import Clustered
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.markov import TwoStateMarkov
from gcexp.schemes.placement import Greedy, cluster_matrix, greedy_clusters, home, membership, stored
from gcexp.theory.dynamic_clustering import recoverable_sets

Checks = Iterator[tuple[str, str, bool | np.bool]]

N, P, R, SHIFTS = 12, 4, 2, [(1,), (3,), (1,)]  # the running example, as restored


@gives("id", "what", "cases", "hold")
def statements(gc_up_to: int, draws: int, seed: int) -> pd.DataFrame:
    """Every statement that no figure shows, with the number of instances and in how many it holds.

    Parameters
    ----------
    gc_up_to : int
        Largest n for which gradient coding of all workers is decoded, for every load and set of results.
    draws : int
        Random slow sets per setting, and seeds of the chain of states.
    seed : int
        Of the slow sets.

    Returns
    -------
    DataFrame
        ``id, what, cases, hold``.

    Raises
    ------
    ParameterError
        If a check has no instance to try.
    """
    return collected(
        [_gradient_coding(gc_up_to), _clusters(), _memberships(), _swaps(draws, seed), _states(draws)]
    )


def _supports(code: Clustered) -> np.ndarray:
    """Partitions of each worker's codeword, boolean (n, k)."""
    return code.encoding.toarray() != 0


def _complete(code: Clustered, heard: np.ndarray) -> np.ndarray:
    """Whether the full gradient is decoded, (U,)."""
    return (np.abs(code.decode(heard.astype(int), partial=True).coefficients - 1) < 1e-6).all(1)


def _gradient_coding(up_to: int) -> Checks:
    for n in range(2, up_to + 1):
        for r in range(1, n + 1):
            code = Clustered(n, 1, r)
            for s in range(min(r + 1, n)):
                done = np.concatenate([_complete(code, heard) for heard in all_sets(n, s)])
                if s == r - 1:
                    what = "any n - r + 1 codewords give the full gradient, every set"
                    yield "gc_any_threshold_codewords", what, done.all()
                    yield "gc_tolerates_persistent_stragglers", "r - 1 stragglers, every set", done.all()
                elif s == r:
                    what = "r stragglers are too many for some set"
                    yield "gc_tolerates_persistent_stragglers", what, not done.all()


def _clusters() -> Checks:
    code, (at_home, _) = Clustered(N, P, R), home(N, P)
    held = _supports(code)
    yield "codewords_combine_two", "every codeword of the example", (held.sum(1) == R).all()
    parts = [held[at_home == cluster].any(0) for cluster in range(P)]
    yield (
        "disjoint_codeword_sets",
        "the codewords of two clusters share no partition",
        (np.sum(parts, axis=0) == 1).all(),
    )
    every = np.array(list(product((0, 1), repeat=N)), dtype=bool)
    enough = np.all([every[:, at_home == cluster].sum(1) >= 2 for cluster in range(P)], axis=0)
    for one, done in zip(enough, _complete(code, every), strict=True):
        yield "example_results_per_cluster", "decoded exactly if every cluster has two results", one == done
    for cluster in range(P):
        mine = np.flatnonzero(at_home == cluster)
        for silent in mine:
            heard = np.isin(np.arange(N), mine) & (np.arange(N) != silent)
            sums = code.decode(heard[None].astype(int), partial=True).coefficients[0]
            right = (np.abs(sums - parts[cluster]) < 1e-6).all()
            yield "cluster_decodes_its_part", "two of a cluster yield the sum of its partitions", right
    five = recoverable_sets(N, P, R)[5]
    yield "static_fails_for_most", "none of the 792 sets of five stragglers is recoverable", five == 0
    for clusters, size, r in ((2, 3, 2), (3, 3, 2), (4, 3, 2), (5, 3, 2), (3, 4, 3), (2, 4, 3), (4, 4, 3)):
        sets = recoverable_sets(clusters * size, clusters, r)
        most = int(np.flatnonzero(sets).max())
        right = most == clusters * (r - 1)
        yield "best_case_formula", "at best r - 1 stragglers in each cluster, P (r - 1) in all", right
        yield "tolerance_scales_with_clusters", "the most that is tolerated grows with P", right


def _memberships() -> Checks:
    code, matrix = Clustered(N, P, R), cluster_matrix(N, P, SHIFTS)
    allowed, kept = membership(matrix), stored(matrix)
    held, at_home = _supports(code), home(N, P)[0]
    for worker in range(N):
        mine = np.flatnonzero(allowed[:, worker])
        yield (
            "worker_with_two_clusters",
            "all codewords of two clusters can be formed",
            (
                len(mine) == 2
                and all((kept[worker] | ~held[at_home == cluster].any(0)).all() for cluster in mine)
            ),
        )
        for cluster in mine:
            for other in np.flatnonzero(at_home == cluster):
                can = not (held[other] & ~kept[worker]).any()
                yield "worker_replacement", "a worker stores what every worker of its clusters computes", can
                yield (
                    "feasible_data_assignment",
                    "every codeword it may get is covered by what it stores",
                    can,
                )
    rule = Greedy(clusters=P, memberships=2, shifts=tuple(SHIFTS))
    is_slow = np.random.default_rng(0).random((3, 6, N)) < 0.4
    before = rule.seat(is_slow, (0, 1, 2))
    for t in range(6):
        other = is_slow.copy()
        other[:, t:] ^= True
        same = (rule.seat(other, (0, 1, 2))[:, : t + 1] == before[:, : t + 1]).all()
        what = "the placement of an iteration does not change with its own states or later ones"
        yield "causal_codeword_assignment", what, same


def _swaps(draws: int, seed: int) -> Checks:
    random = np.random.default_rng(seed)
    for n, clusters, m in ((12, 4, 2), (20, 5, 3)):
        for _ in range(draws):
            size = n // clusters
            shifts = [tuple(1 + random.permutation(clusters - 1)[: m - 1]) for _ in range(size)]
            allowed = membership(cluster_matrix(n, clusters, shifts))
            slow = random.random(n) < random.uniform(0.2, 0.8)
            placed = greedy_clusters(allowed[None], slow[None], phases=1)[0]
            room = np.bincount(placed[placed >= 0], minlength=clusters) < size
            for left in np.flatnonzero(placed < 0):
                full = np.flatnonzero(allowed[:, left])
                movers = np.flatnonzero(np.isin(placed, full))
                fits = np.any(allowed[room], axis=0)[movers].any() or (allowed[:, left] & room).any()
                yield (
                    "swap_resolves_any_conflict",
                    f"n = {n}, P = {clusters}, m = {m}: one swap is enough",
                    fits,
                )
    allowed = membership(cluster_matrix(N, P, SHIFTS))
    slow = np.isin(np.arange(N), [0, 2, 4, 6, 10])
    placed = greedy_clusters(allowed[None], slow[None], phases=1)[0]
    lacking = int(np.flatnonzero(np.bincount(placed[placed >= 0], minlength=P) < N // P)[0])
    others = allowed[lacking] & (placed != lacking) & (placed >= 0)
    what = "the example: three workers beside the one swapped could go to the cluster that lacks one"
    yield "footnote_2_other_candidates", what, others.sum() - 1 == 3


def _states(draws: int) -> Checks:
    for p in (0.05, 0.2, 0.5):
        slow = TwoStateMarkov(p=p).draw(tuple(range(draws)), 200, 20).is_slow
        assert slow is not None, "the model has states"
        changes, n = slow[:, 1:] != slow[:, :-1], slow[:, 1:].size
        rate = abs(changes.mean() - p) <= 4 * np.sqrt(p * (1 - p) / n)
        yield (
            "two_state_chain",
            "a worker changes its state with probability p at the start of an iteration",
            rate,
        )
        spread = np.sqrt(0.25 / slow[:, 0].size)
        yield (
            "two_state_chain",
            "half of the workers are slow in the long run",
            (abs(slow[:, -1].mean() - 0.5) <= 4 * spread),
        )
        if p < 0.5:
            stays = (slow[:, 1:] == slow[:, :-1]).mean() > 0.5 and changes.any()
            yield "low_p_means_persistence", "p < 1/2: the state mostly stays, and sometimes changes", stays
