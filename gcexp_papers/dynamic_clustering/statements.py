"""What Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922) state and no figure shows, instance by instance.

Codes are decoded and placements enumerated on the running example (12 workers, 4 clusters, load 2, two memberships) and
on small instances; the states of the workers are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
import pandas as pd

from gcexp.analysis.checks import COLUMNS, Check, check, checks, tabulated
from gcexp.analysis.declared import gives
from gcexp.codes.clustered import Clustered
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.markov import TwoStateMarkov
from gcexp.schemes.placement import Greedy, cluster_matrix, greedy_clusters, home, membership, stored

Checks = Iterator[tuple[str, bool | np.bool]]

N, P, R, SHIFTS = 12, 4, 2, [(1,), (3,), (1,)]  # the running example, as restored


MODULES = (__name__, f"{__package__}.enumerations")


@gives(*COLUMNS, checks=MODULES)
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
        ``id, what, instances, tried, held, share``.

    Raises
    ------
    ParameterError
        If a check has no instance to try.
    """
    return tabulated(*MODULES, gc_up_to=gc_up_to, draws=draws, seed=seed)


def _supports(code: Clustered) -> np.ndarray:
    """Partitions of each worker's codeword, boolean (n, k)."""
    return code.encoding.toarray() != 0


def _complete(code: Clustered, responses: np.ndarray) -> np.ndarray:
    """Whether the full gradient is decoded, (U,)."""
    return (np.abs(code.decode(responses.astype(int), partial=True).coefficients - 1) < 1e-6).all(1)


@checks(
    Check(
        id="gc_any_threshold_codewords",
        what="any n - r + 1 codewords give the full gradient, every set",
        over="n <= 7, every load and set",
        grade="built",
        rests_on=("gcexp.codes.clustered:Clustered", "gcexp.decoding_error.straggler_sets:all_sets"),
    ),
    Check(
        id="gc_tolerates_persistent_stragglers",
        what="r - 1 stragglers, every set",
        over="n <= 7, every load and set",
        grade="built",
        rests_on=("gcexp.codes.clustered:Clustered", "gcexp.decoding_error.straggler_sets:all_sets"),
    ),
    Check(
        id="gc_fails_beyond",
        what="r stragglers are too many for some set",
        over="n <= 7, every load and set",
        grade="built",
        rests_on=("gcexp.codes.clustered:Clustered", "gcexp.decoding_error.straggler_sets:all_sets"),
        answers=("gc_tolerates_persistent_stragglers",),
    ),
)
def _gradient_coding(gc_up_to: int) -> Checks:
    for n in range(2, gc_up_to + 1):
        for r in range(1, n + 1):
            code = Clustered(n, 1, r)
            for s in range(min(r + 1, n)):
                done = np.concatenate([_complete(code, responses) for responses in all_sets(n, s)])
                if s == r - 1:
                    yield "gc_any_threshold_codewords", done.all()
                    yield "gc_tolerates_persistent_stragglers", done.all()
                elif s == r:
                    yield "gc_fails_beyond", not done.all()


@checks(
    Check(
        id="codewords_combine_two",
        what="every codeword of the example",
        over="the running example",
        grade="definition",
        inputs="assumed",
    ),
    Check(
        id="disjoint_codeword_sets",
        what="the codewords of two clusters share no partition",
        over="the running example",
        grade="definition",
        inputs="assumed",
    ),
    Check(
        id="example_results_per_cluster",
        what="decoded exactly if every cluster has two results",
        over="the running example",
        grade="built",
        rests_on=("gcexp.codes.clustered:Clustered", "gcexp.schemes.placement:home"),
        inputs="assumed",
    ),
    Check(
        id="cluster_decodes_its_part",
        what="two of a cluster yield the sum of its partitions",
        over="the running example",
        grade="built",
        rests_on=("gcexp.codes.clustered:Clustered",),
        inputs="assumed",
    ),
)
def _clusters() -> Checks:
    code, (at_home, _) = Clustered(N, P, R), home(N, P)
    held = _supports(code)
    yield "codewords_combine_two", (held.sum(1) == R).all()
    parts = [held[at_home == cluster].any(0) for cluster in range(P)]
    yield "disjoint_codeword_sets", (np.sum(parts, axis=0) == 1).all()
    every = np.array(list(product((0, 1), repeat=N)), dtype=bool)
    enough = np.all([every[:, at_home == cluster].sum(1) >= 2 for cluster in range(P)], axis=0)
    for one, done in zip(enough, _complete(code, every), strict=True):
        yield "example_results_per_cluster", one == done
    for cluster in range(P):
        mine = np.flatnonzero(at_home == cluster)
        for silent in mine:
            responses = np.isin(np.arange(N), mine) & (np.arange(N) != silent)
            sums = code.decode(responses[None].astype(int), partial=True).coefficients[0]
            right = (np.abs(sums - parts[cluster]) < 1e-6).all()
            yield "cluster_decodes_its_part", right


@checks(
    Check(
        id="worker_with_two_clusters",
        what="all codewords of two clusters can be formed",
        over="the running example",
        grade="definition",
        inputs="assumed",
    ),
    Check(
        id="causal_codeword_assignment",
        what="the placement of an iteration does not change with its own states or later ones",
        over="the running example",
        grade="built",
        rests_on=("gcexp.schemes.placement:cluster_matrix", "gcexp.schemes.placement:home"),
        inputs="assumed",
    ),
)
def _memberships() -> Checks:
    code, matrix = Clustered(N, P, R), cluster_matrix(N, P, SHIFTS)
    allowed, kept = membership(matrix), stored(matrix)
    held, at_home = _supports(code), home(N, P)[0]
    for worker in range(N):
        mine = np.flatnonzero(allowed[:, worker])
        yield (
            "worker_with_two_clusters",
            (
                len(mine) == 2
                and all((kept[worker] | ~held[at_home == cluster].any(0)).all() for cluster in mine)
            ),
        )
    rule = Greedy(clusters=P, memberships=2, shifts=tuple(SHIFTS))
    is_slow = np.random.default_rng(0).random((3, 6, N)) < 0.4
    before = rule.seat(is_slow, (0, 1, 2))
    for t in range(6):
        other = is_slow.copy()
        other[:, t:] ^= True
        same = (rule.seat(other, (0, 1, 2))[:, : t + 1] == before[:, : t + 1]).all()
        yield "causal_codeword_assignment", same


@checks(
    Check(
        id="swap_resolves_any_conflict",
        what="one swap is enough",
        over="drawn slow sets",
        grade="built",
        rests_on=("gcexp.schemes.placement:cluster_matrix",),
        inputs="assumed",
    ),
    Check(
        id="footnote_2_other_candidates",
        what="three workers beside the one swapped could go to the cluster that lacks one",
        over="the example",
        grade="built",
        rests_on=("gcexp.schemes.placement:cluster_matrix", "gcexp.schemes.placement:greedy_clusters"),
        inputs="assumed",
    ),
    Check(
        id="footnote_2_some_clusters",
        what="some two clusters have a worker who could go to the cluster that lacks one",
        over="the example",
        grade="built",
        rests_on=("gcexp.schemes.placement:cluster_matrix", "gcexp.schemes.placement:greedy_clusters"),
        inputs="assumed",
        answers=("footnote_2_guarantee/some_clusters",),
    ),
    Check(
        id="footnote_2_open_clusters",
        what="each cluster that is open to the worker left over has a worker who could go to the one that lacks one",
        over="the example",
        grade="built",
        rests_on=("gcexp.schemes.placement:cluster_matrix", "gcexp.schemes.placement:greedy_clusters"),
        inputs="assumed",
        answers=("footnote_2_guarantee/open_clusters",),
        reason="of the two clusters that are open to worker 10, cluster 3 (workers 3, 4, 11) has one who may enter "
        "cluster 0, cluster 2 (1, 2, 7) has none",
    ),
)
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
                yield "swap_resolves_any_conflict", fits
    allowed = membership(cluster_matrix(N, P, SHIFTS))
    slow = np.isin(np.arange(N), [0, 2, 4, 6, 10])
    placed = greedy_clusters(allowed[None], slow[None], phases=1)[0]
    lacking = int(np.flatnonzero(np.bincount(placed[placed >= 0], minlength=P) < N // P)[0])
    others = allowed[lacking] & (placed != lacking) & (placed >= 0)
    yield "footnote_2_other_candidates", others.sum() - 1 == 3
    (left,) = np.flatnonzero(placed < 0)
    able = {int(cluster) for cluster in placed[others]}
    yield "footnote_2_some_clusters", len(able) >= 2
    for cluster in np.flatnonzero(allowed[:, left]):
        yield "footnote_2_open_clusters", cluster in able


@checks(
    Check(
        id="two_state_chain",
        what="a worker changes its state with probability p at the start of an iteration",
        over="p = 0.05, 0.2, 0.5",
        grade="built",
        rests_on=("gcexp.delays.markov:TwoStateMarkov",),
        inputs="assumed",
    ),
    Check(
        id="half_of_the_workers_slow",
        what="half of the workers are slow in the long run",
        over="p = 0.05, 0.2, 0.5",
        grade="definition",
        answers=("two_state_chain",),
        inputs="assumed",
    ),
    Check(
        id="low_p_means_persistence",
        what="the state mostly stays, and sometimes changes",
        over="p < 1/2",
        grade="definition",
        inputs="assumed",
    ),
)
def _states(draws: int) -> Checks:
    for p in (0.05, 0.2, 0.5):
        slow = TwoStateMarkov(p=p).draw(tuple(range(draws)), 200, 20).is_slow
        assert slow is not None, "the model has states"
        changes, n = slow[:, 1:] != slow[:, :-1], slow[:, 1:].size
        rate = abs(changes.mean() - p) <= 4 * np.sqrt(p * (1 - p) / n)
        yield "two_state_chain", rate
        spread = np.sqrt(0.25 / slow[:, 0].size)
        yield "half_of_the_workers_slow", abs(slow[:, -1].mean() - 0.5) <= 4 * spread
        if p < 0.5:
            stays = (slow[:, 1:] == slow[:, :-1]).mean() > 0.5 and changes.any()
            yield "low_p_means_persistence", stays


@check(over="the running example and drawn shifts", grade="definition", inputs="assumed")
def random_circular_shifts() -> Iterable[bool]:
    """A worker's further clusters are those of its row, shifted around; all of their codewords are its."""
    random = np.random.default_rng(0)
    for shifts in (SHIFTS, *(tuple((int(i),) for i in random.integers(1, P, N // P)) for _ in range(5))):
        matrix = cluster_matrix(N, P, shifts)
        rows, further = matrix[: N // P], matrix[N // P :]
        yield all(
            (np.roll(row, i) == other).all() for row, (i,), other in zip(rows, shifts, further, strict=True)
        )


@check(
    over="drawn states",
    grade="definition",
    inputs="assumed",
    answers=("stragglers_from_previous_observation", "two_phase_rule", "objective_expected_time"),
)
def greedy_goes_by_the_states_before() -> Iterable[bool]:
    """Clusters of an iteration are those that the greedy rule gives for the slow workers of the one before."""
    rule = Greedy(clusters=P, memberships=2, shifts=tuple(SHIFTS))
    allowed = membership(cluster_matrix(N, P, SHIFTS))
    is_slow = np.random.default_rng(0).random((1, 6, N)) < 0.4
    seats = rule.seat(is_slow, (0,))[0]
    for t in range(1, 6):
        placed = greedy_clusters(allowed[None], is_slow[0, t - 1][None])[0]
        yield all(placed[worker] == seat % P for seat, worker in enumerate(seats[t]))


@check(over="fast and slow workers, p = 0.05", grade="definition", inputs="assumed")
def delay_law() -> Iterable[bool]:
    """The time of a load is the load times a constant and an exponential one: shifted, its mean by state."""
    model = TwoStateMarkov(p=0.05)
    draws = model.draw(tuple(range(20)), 200, N)
    times = draws.arrival(load=1 / N, length=1)
    for slow, rate in ((True, model.mu_s), (False, model.mu_f)):
        mine = times[draws.is_slow == slow]
        yield mine.min() >= model.alpha and abs(mine.mean() / (model.alpha + 1 / rate) - 1) < 0.1
