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
    groups = code.clusters
    spare = code.d - 1
    if getattr(scheme.wait, "durations_only", False):  # LB: whichever results are missing
        groups, spare = 1, groups * spare
    assert delay.initial_slow is not None, (
        "the formula is that of a known number of slow workers at the start"
    )
    return mean_time(
        code.n,
        groups,
        spare,
        iterations=iterations,
        initial_slow=delay.initial_slow,
        p=alike(delay, "p"),
        load=code.d,
        alpha=alike(delay, "alpha"),
        mu_s=alike(delay, "mu_s"),
        mu_f=alike(delay, "mu_f"),
        load_model=delay.load_model,
    )


# --- The running example: matrices, counts, drawings ---------------------------------------------------------------


@columns("matrix", "row", *(f"column {j}" for j in range(N)))
def matrices():
    """The matrices of the running example, 0-based, one row per row.

    (4) clusters and their workers at home, (5) partitions of each worker, (6) codeword of each worker, (12) clusters
    with all their workers, (13) the same, sorted.
    """
    size = N // P
    codewords = [f"c[{row},{cluster}]" for cluster, row in zip(AT_HOME, _ROW, strict=True)]
    found: dict[str, np.ndarray | list] = {
        "(4) home clusters": MATRIX[:size],
        "(5) partitions of a worker": [size * AT_HOME + (_ROW + i) % size for i in range(R)],
        "(6) codeword of a worker": [codewords],
        "(12) clusters, with memberships": MATRIX,
        "(13) the same, sorted": np.sort(MATRIX, axis=0),
    }
    for name, rows in found.items():
        for number, row in enumerate(rows):
            cells = [str(cell) for cell in row]
            cells += [" "] * (N - len(cells))  # a matrix with a column for each cluster is narrower
            yield name, number, *cells


@columns(
    "stragglers", "sets", "gc", "static", "greedy", "best", "lost_by_greedy", "lost_by_best", "threshold"
)
def recoverable():
    """How many straggler sets leave a scheme decodable without a straggler, one row per number of stragglers.

    Those of GC and GC-SC come from the formula, those of the greedy and of the most even placement from enumeration,
    with the sets that these lose to the home clusters. ``threshold`` is how many results decode whatever the stragglers
    are, with every placement that greedy makes for sets of this size.
    """
    gc = recoverable_sets(N, 1, R)
    static = recoverable_sets(N, P, R)
    for s in range(P * (R - 1) + 1):
        slow = ~next(all_sets(N, s))
        allowed = np.broadcast_to(ALLOWED, (len(slow), P, N))
        placed = greedy_clusters(allowed, slow)
        at_home = _is_recoverable(np.broadcast_to(AT_HOME, slow.shape), slow)
        greedy = _is_recoverable(placed, slow)
        best = _is_recoverable(best_clusters(allowed, slow), slow)
        yield {
            "stragglers": s,
            "sets": len(slow),
            "gc": gc[s],
            "static": static[s],
            "greedy": greedy.sum(),
            "best": best.sum(),
            "lost_by_greedy": (at_home & ~greedy).sum(),
            "lost_by_best": (at_home & ~best).sum(),
            "threshold": _threshold(np.unique(seats(placed, P), axis=0)),
        }


def _is_recoverable(cluster: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Whether each set of slow workers leaves every cluster decodable, (U,); arguments as of `_slow_per_cluster`."""
    return (_slow_per_cluster(cluster, slow) < R).all(1)


def _slow_per_cluster(cluster: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Slow workers in each cluster, (U, P), from the cluster of each worker and whether it is slow, (U, n)."""
    is_in_cluster = cluster[:, None] == np.arange(P)[:, None]
    return (is_in_cluster & slow[:, None]).sum(2)


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
    for title, slow_workers in slow.items():
        is_slow = np.isin(np.arange(N), list(slow_workers))
        times = _times(is_slow)
        which = "no" if _is_recoverable(AT_HOME[None], is_slow[None]).all() else "a"
        times_in_words = ", ".join(f"{name} {time:.3f}" for name, time in times.items())
        caption = f"{which} cluster waits for a slow worker; expected time {times_in_words}"
        for worker in range(N):
            yield title, AT_HOME[worker], worker, is_slow[worker], False, *times.values(), caption


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
    for title, slow_workers in slow.items():
        is_slow = np.isin(np.arange(N), list(slow_workers))
        times = _times(is_slow)
        after_phase_1 = _place(is_slow, phases=1)
        placed = _place(is_slow)
        if (after_phase_1 >= 0).all():
            before = AT_HOME
            stages = {"at home (GC-SC)": AT_HOME, "placed (GC-DC)": placed}
        else:
            before = after_phase_1
            stages = {"after phase 1": after_phase_1, "after the swap": placed}
        for stage, clusters in stages.items():
            slow_in_clusters = _slow_per_cluster(clusters[None], is_slow[None])[0]
            caption = "slow per cluster: " + ", ".join(map(str, slow_in_clusters))
            time = np.nan
            if (clusters >= 0).all():
                time = times["GC-SC" if clusters is AT_HOME else "GC-DC"]
                caption += f"; time {time:.3f}"
            for worker, cluster in enumerate(clusters):
                yield {
                    "panel": f"{title}: {stage}",
                    "cluster": cluster if cluster >= 0 else None,
                    "worker": worker,
                    "slow": is_slow[worker],
                    "moved": cluster != before[worker],
                    "expected_time": time,
                    "slow_in_cluster": slow_in_clusters.max(),
                    "gc": times["GC"],
                    "gc_sc": times["GC-SC"],
                    "gc_dc": times["GC-DC"],
                    "lb": times["LB"],
                    "caption": caption,
                }


def _place(slow: np.ndarray, phases: int = 2) -> np.ndarray:
    """The cluster of each worker by the greedy rule, or after its first phase; -1 for no cluster."""
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
        "GC-DC": time(_place(slow), P),
        "LB": time(together, 1, P * (R - 1)),
    }
