"""Dynamic clustering without a clock: expected iteration times, the matrices and counts of the running example.

Times are in the unit of the delay model, 1/mu.

Reference: Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering for straggler mitigation,
ICC 2021 (arXiv 2011.01922).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.codes.clustered import Clustered
from gcexp.schemes.placement import (
    Greedy,
    best_clusters,
    greedy_clusters,
    home,
    membership,
    seats,
)
from gcexp.theory.dynamic_clustering import (
    expected_time,
    mean_time,
    recoverable_sets,
)

if TYPE_CHECKING:
    from gcexp.delays import TwoStateMarkov
    from gcexp.schemes import Scheme


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
    law = {key: getattr(delay, key) for key in ("initial_slow", "p", "alpha", "mu_s", "mu_f", "load_model")}
    return mean_time(code.n, groups, spare, iterations=iterations, load=code.d, **law)


# --- The running example: matrices, counts, drawings ---------------------------------------------------------------


def _with_memberships(n: int, clusters: int, shifts: Sequence[int]) -> np.ndarray:
    """Clusters with all their workers, two memberships each, in columns."""
    return Greedy(clusters=clusters, memberships=2, shifts=shifts).matrix(n, 0)


@columns("matrix", "row", more=lambda n, **_: [f"column {j}" for j in range(n)])
def matrices(n: int, clusters: int, load: int, shifts: Sequence[int]) -> pd.DataFrame:
    """The matrices of the running example, 0-based, one row per row.

    (4) clusters and their workers at home, (5) partitions of each worker, (6) codeword of each worker, (12) clusters
    with all their workers, (13) the same, sorted.

    Parameters
    ----------
    n, clusters, load : int
    shifts : list of int
        One per row of a cluster, for two memberships.
    """
    matrix = _with_memberships(n, clusters, shifts)
    size = n // clusters
    at_home, row = home(n, clusters)
    found: dict[str, np.ndarray | list[np.ndarray]] = {
        "(4) home clusters": matrix[:size],
        "(5) partitions of a worker": [size * at_home + (row + i) % size for i in range(load)],
        "(6) codeword of a worker": np.array([[f"c[{j},{q}]" for q, j in zip(at_home, row, strict=True)]]),
        "(12) clusters, with memberships": matrix,
        "(13) the same, sorted": np.sort(matrix, axis=0),
    }
    rows = []
    for name, values in found.items():
        for i, line in enumerate(values):
            cells = dict.fromkeys((f"column {j}" for j in range(n)), " ")
            cells |= {f"column {j}": str(value) for j, value in enumerate(line)}
            rows.append({"matrix": name, "row": i} | cells)
    return pd.DataFrame(rows)


@columns(
    *("stragglers", "sets", "gc", "static", "greedy", "best", "lost_by_greedy", "lost_by_best"),
    "threshold",
)
def recoverable(n: int, clusters: int, load: int, shifts: Sequence[int]) -> pd.DataFrame:
    """How many straggler sets leave a scheme decodable without a straggler, one row per number of stragglers.

    Parameters
    ----------
    n, clusters, load, shifts
        As in `matrices`.

    Returns
    -------
    DataFrame
        Counts of GC and GC-SC by formula, of greedy and of the most even placement by enumeration; the sets that
        these lose to the home clusters; and how many results decode whatever the stragglers are (`threshold`), with
        every placement that greedy makes for sets of this size.
    """
    allowed = membership(_with_memberships(n, clusters, shifts))
    code = Clustered(n, clusters, load)
    gc, static = (recoverable_sets(n, groups, load) for groups in (1, clusters))
    rows = []
    for s in range(clusters * (load - 1) + 1):
        slow = _sets(n, s)
        each = np.broadcast_to(allowed, (len(slow), *allowed.shape))
        placed = greedy_clusters(each, slow)
        greedy = _decodable(placed, slow, clusters, load)
        at_home = _decodable(np.broadcast_to(home(n, clusters)[0], slow.shape), slow, clusters, load)
        best = _decodable(best_clusters(each, slow), slow, clusters, load)
        rows.append(
            {
                "stragglers": s,
                "sets": len(slow),
                "gc": gc[s],
                "static": static[s],
                "greedy": greedy.sum(),
                "best": best.sum(),
                "lost_by_greedy": (at_home & ~greedy).sum(),
                "lost_by_best": (at_home & ~best).sum(),
                "threshold": _threshold(code, seats(placed, clusters)),
            }
        )
    return pd.DataFrame(rows)


def _sets(n: int, s: int) -> np.ndarray:
    """All sets of s of n workers, boolean (U, n)."""
    sets = [np.isin(np.arange(n), chosen) for chosen in combinations(range(n), s)]
    return np.array(sets)


def _counts(cluster: np.ndarray, slow: np.ndarray, clusters: int) -> np.ndarray:
    """Slow workers in each cluster, (U, P)."""
    return ((cluster[:, None] == np.arange(clusters)[:, None]) & slow[:, None]).sum(2)


def _decodable(cluster: np.ndarray, slow: np.ndarray, clusters: int, load: int) -> np.ndarray:
    return np.all(_counts(cluster, slow, clusters) < load, axis=1)


def _threshold(code: Clustered, seated: np.ndarray) -> int:
    """Results that decode whichever are missing, with every seating (U, n)."""
    seated = np.unique(seated, axis=0)
    for missing in range(1, code.n):
        late = _sets(code.n, missing)
        # Position j of the code is played by worker seated[u, j].
        responses = ~late[:, seated].reshape(-1, code.n)
        if not code.met(np.unique(responses, axis=0).astype(int)).all():
            return code.n - missing + 1
    return 1


@columns("panel", "cluster", "worker", "slow", "moved", "gc", "gc_sc", "gc_dc", "lb", "caption")
def balls_in_bins(
    n: int,
    clusters: int,
    load: int,
    shifts: Sequence[int],
    slow: Mapping[str, Iterable[int]],
    law: Mapping[str, float],
) -> pd.DataFrame:
    """Stragglers in home clusters, as a drawing: one row per straggler set and worker.

    Parameters
    ----------
    n, clusters, load, shifts
        As in `matrices`.
    slow : mapping
        Title of a panel to its slow workers.
    law : mapping
        alpha, mu_s, mu_f.

    Returns
    -------
    DataFrame
        With the exact expected times of GC, GC-SC, GC-DC (states known) and LB.
    """
    frames = []
    for title, states, at_home, _, _, times in _panels(n, clusters, load, shifts, slow, law):
        waits = "a" if (_counts(at_home[None], states[None], clusters) >= load).any() else "no"
        told = ", ".join(f"{name} {time:.3f}" for name, time in times.items())
        caption = f"{waits} cluster waits for a slow worker; expected time {told}"
        frames.append(_balls(title, at_home, states, np.zeros(n, dtype=bool), caption, times))
    return pd.concat(frames, ignore_index=True)


@columns(
    *("panel", "cluster", "worker", "slow", "moved", "expected_time", "slow_in_cluster", "gc", "gc_sc"),
    *("gc_dc", "lb", "caption"),
)
def placement(
    n: int,
    clusters: int,
    load: int,
    shifts: Sequence[int],
    slow: Mapping[str, Iterable[int]],
    law: Mapping[str, float],
) -> pd.DataFrame:
    """How the greedy rule spreads slow workers, as a drawing.

    Parameters
    ----------
    n, clusters, load, shifts, slow, law
        As in `balls_in_bins`. Two panels each: at home and placed, or, if there is a swap, before and after it.

    Returns
    -------
    DataFrame
        One row per panel and worker; after phase 1 a worker may have no cluster. `slow_in_cluster` is the largest
        number of slow workers in a cluster, `expected_time` that of the panel's clusters; beside it those of GC,
        GC-SC, GC-DC and LB for the same slow workers.
    """
    frames = []
    for title, states, at_home, dealt, placed, times in _panels(n, clusters, load, shifts, slow, law):
        still = np.zeros(n, dtype=bool)
        if (dealt >= 0).all():
            stages = {"at home (GC-SC)": (at_home, still), "placed (GC-DC)": (placed, placed != at_home)}
        else:
            stages = {"after phase 1": (dealt, still), "after the swap": (placed, placed != dealt)}
        for stage, (cluster, moved) in stages.items():
            counts = _counts(cluster[None], states[None], clusters)[0]
            caption = "slow per cluster: " + ", ".join(map(str, counts))
            time = times["GC-SC"] if cluster is at_home else times["GC-DC"]
            done = (cluster >= 0).all()
            caption += f"; time {time:.3f}" if done else ""
            columns = {"expected_time": time if done else np.nan, "slow_in_cluster": counts.max()} | times
            frames.append(_balls(f"{title}: {stage}", cluster, states, moved, caption, columns))
    return pd.concat(frames, ignore_index=True)


def _panels(
    n: int, clusters: int, load: int, shifts: Sequence[int], slow: Mapping[str, Iterable[int]], law: Mapping
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, float]]]:
    """Title, slow workers, clusters at home, after phase 1 and placed, and exact expected times of the schemes."""
    allowed = membership(_with_memberships(n, clusters, shifts))
    at_home, _ = home(n, clusters)
    for title, chosen in slow.items():
        states = np.isin(np.arange(n), list(chosen))
        dealt, placed = (greedy_clusters(allowed[None], states[None], phases=phases)[0] for phases in (1, 2))
        yield title, states, at_home, dealt, placed, _times(states, at_home, placed, clusters, load, law)


def _balls(panel, cluster, slow, moved, caption, columns) -> pd.DataFrame:
    where = np.where(cluster < 0, np.nan, cluster)
    columns = {name.lower().replace("-", "_"): value for name, value in columns.items()}
    first = {"panel": panel, "cluster": where, "worker": np.arange(len(slow)), "slow": slow, "moved": moved}
    return pd.DataFrame(first | columns | {"caption": caption})


def _times(slow, at_home, placed, clusters: int, load: int, law: Mapping) -> dict[str, float]:
    """Exact expected times where the states are known."""

    def time(cluster: np.ndarray, groups: int, spare: int) -> float:
        order = np.argsort(cluster, kind="stable")
        q = slow[order].astype(float).reshape(groups, -1)
        return expected_time(q, spare, load=load, **law)

    together, spare = np.zeros_like(at_home), load - 1
    return {
        "GC": time(together, 1, spare),
        "GC-SC": time(at_home, clusters, spare),
        "GC-DC": time(placed, clusters, spare),
        "LB": time(together, 1, clusters * spare),
    }
