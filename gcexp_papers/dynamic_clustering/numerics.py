"""Dynamic clustering without a clock: expected iteration times, the matrices and counts of the running example.

Times are in the unit of the delay model, 1/mu.

Reference: Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering for straggler mitigation,
ICC 2021 (arXiv 2011.01922).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.codes.clustered import Clustered
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.base import alike
from gcexp.schemes.placement import best_clusters, cluster_matrix, greedy_clusters, home, membership, seats

from .theory import expected_time, mean_time, recoverable_sets

if TYPE_CHECKING:
    from gcexp.delays import TwoStateMarkov
    from gcexp.schemes import Scheme

#: The paper's running example, as restored: workers, clusters and load; clusters at home, and those that are open.
N, P, R = 12, 4, 2
AT_HOME, _ROW = home(N, P)
MATRIX = cluster_matrix(N, P, [(1,), (3,), (1,)])
ALLOWED = membership(MATRIX)
LAW: dict[str, Any] = {"alpha": 0.01, "mu_s": 0.1, "mu_f": 10.0}


def expected_iteration_time(scheme: Scheme, delay: TwoStateMarkov, iterations: int) -> float:
    """Expected mean time of the first iterations of GC, GC-SC or LB, by integration.

    NaN with a placement rule (GC-DC), for which no formula is known. Of workers with rates of their own (``spread``)
    it is the time of equal ones.
    """
    code = scheme.code
    if scheme.placement is not None:
        return float("nan")
    assert isinstance(code, Clustered)
    groups, spare = code.clusters, code.d - 1
    if getattr(scheme.wait, "durations_only", False):  # LB: whichever results are missing
        groups, spare = 1, groups * spare
    law: dict[str, Any] = {key: alike(delay, key) for key in ("p", "alpha", "mu_s", "mu_f")}
    law |= {key: getattr(delay, key) for key in ("initial_slow", "load_model")}
    return mean_time(code.n, groups, spare, iterations=iterations, load=code.d, **law)


# --- The running example: matrices, counts, drawings ---------------------------------------------------------------


@columns("matrix", "row", *(f"column {j}" for j in range(N)))
def matrices():
    """The matrices of the running example, 0-based, one row per row.

    (4) clusters and their workers at home, (5) partitions of each worker, (6) codeword of each worker, (12) clusters
    with all their workers, (13) the same, sorted.
    """
    size = N // P
    found: dict[str, np.ndarray | list] = {
        "(4) home clusters": MATRIX[:size],
        "(5) partitions of a worker": [size * AT_HOME + (_ROW + i) % size for i in range(R)],
        "(6) codeword of a worker": [[f"c[{j},{q}]" for q, j in zip(AT_HOME, _ROW, strict=True)]],
        "(12) clusters, with memberships": MATRIX,
        "(13) the same, sorted": np.sort(MATRIX, axis=0),
    }
    for name, lines in found.items():
        for i, line in enumerate(lines):
            yield name, i, *map(str, line), *" " * (N - len(line))


@columns(
    "stragglers", "sets", "gc", "static", "greedy", "best", "lost_by_greedy", "lost_by_best", "threshold"
)
def recoverable():
    """How many straggler sets leave a scheme decodable without a straggler, one row per number of stragglers.

    Those of GC and GC-SC come from the formula, those of the greedy and of the most even placement from enumeration,
    with the sets that these lose to the home clusters. ``threshold`` is how many results decode whatever the stragglers
    are, with every placement that greedy makes for sets of this size.
    """
    gc, static = (recoverable_sets(N, groups, R) for groups in (1, P))
    for s in range(P * (R - 1) + 1):
        slow = ~next(all_sets(N, s))
        allowed = np.broadcast_to(ALLOWED, (len(slow), P, N))
        placed = greedy_clusters(allowed, slow)
        at_home, greedy, best = (
            (_slow_per_cluster(cluster, slow) < R).all(1)
            for cluster in (np.broadcast_to(AT_HOME, slow.shape), placed, best_clusters(allowed, slow))
        )
        lost = ((at_home & ~kept).sum() for kept in (greedy, best))
        threshold = _threshold(np.unique(seats(placed, P), axis=0))
        yield s, len(slow), gc[s], static[s], greedy.sum(), best.sum(), *lost, threshold


def _slow_per_cluster(cluster: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Slow workers in each cluster, (U, P), from the cluster of each worker and whether it is slow, (U, n)."""
    return ((cluster[:, None] == np.arange(P)[:, None]) & slow[:, None]).sum(2)


def _threshold(seated: np.ndarray) -> int:
    """Results that decode whichever are missing, with every seating: seat j is taken by worker seated[u, j]."""
    code = Clustered(N, P, R)
    for missing in range(1, N):
        responses = next(all_sets(N, missing))[:, seated].reshape(-1, N)
        if not code.met(np.unique(responses, axis=0).astype(int)).all():
            return N - missing + 1
    return 1


@columns("panel", "cluster", "worker", "slow", "moved", "gc", "gc_sc", "gc_dc", "lb", "caption")
def balls_in_bins(slow: Mapping[str, Iterable[int]]):
    """Slow workers of each panel in home clusters, as a drawing: a row per worker.

    Beside them stand the exact expected times of GC, GC-SC, GC-DC (states known) and LB.
    """
    for title, chosen in slow.items():
        states = np.isin(np.arange(N), list(chosen))
        times = _times(states)
        waits = "a" if (_slow_per_cluster(AT_HOME[None], states[None]) >= R).any() else "no"
        told = ", ".join(f"{name} {time:.3f}" for name, time in times.items())
        caption = f"{waits} cluster waits for a slow worker; expected time {told}"
        for worker in range(N):
            yield title, AT_HOME[worker], worker, states[worker], False, *times.values(), caption


@columns(
    *("panel", "cluster", "worker", "slow", "moved", "expected_time", "slow_in_cluster", "gc", "gc_sc"),
    *("gc_dc", "lb", "caption"),
)
def placement(slow: Mapping[str, Iterable[int]]):
    """How the greedy rule spreads slow workers, as a drawing: a row per panel and worker.

    There are two panels for each set of slow workers: at home and placed, or, if there is a swap, before and after it.
    After phase 1 a worker may have no cluster. ``slow_in_cluster`` is the largest number of slow workers in a cluster,
    ``expected_time`` that of the panel's clusters; beside it stand those of `balls_in_bins`.
    """
    for title, chosen in slow.items():
        states = np.isin(np.arange(N), list(chosen))
        times, dealt, placed = _times(states), _placed(states, phases=1), _placed(states)
        if (dealt >= 0).all():
            before, first, second = AT_HOME, "at home (GC-SC)", "placed (GC-DC)"
        else:
            before, first, second = dealt, "after phase 1", "after the swap"
        for stage, clusters in ((first, before), (second, placed)):
            counts = _slow_per_cluster(clusters[None], states[None])[0]
            caption = "slow per cluster: " + ", ".join(map(str, counts))
            time = np.nan
            if (clusters >= 0).all():
                time = times["GC-SC" if clusters is AT_HOME else "GC-DC"]
                caption += f"; time {time:.3f}"
            for worker, cluster in enumerate(clusters):
                place = cluster if cluster >= 0 else None, worker, states[worker], cluster != before[worker]
                yield f"{title}: {stage}", *place, time, counts.max(), *times.values(), caption


def _placed(slow: np.ndarray, phases: int = 2) -> np.ndarray:
    return greedy_clusters(ALLOWED[None], slow[None], phases=phases)[0]


def _times(slow: np.ndarray) -> dict[str, float]:
    """Exact expected times where the states are known."""

    def time(cluster: np.ndarray, groups: int, spare: int = R - 1) -> float:
        order = np.argsort(cluster, kind="stable")
        return expected_time(slow[order].astype(float).reshape(groups, -1), spare, load=R, **LAW)

    together = np.zeros(N)
    return {
        "GC": time(together, 1),
        "GC-SC": time(AT_HOME, P),
        "GC-DC": time(_placed(slow), P),
        "LB": time(together, 1, P * (R - 1)),
    }
