"""The cluster matrices and slow workers that agree with what is left of the paper's running example.

The example has n = 12 workers in P = 4 clusters, of whom each belongs to two. Its matrix, its workers and its numbers
are lost in our copy, its sentences are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.schemes.placement import cluster_matrix, greedy_clusters, home, membership

from .numerics import N, P

STRAGGLERS = 5  # of Sec. V: in the end one cluster has two of them, and each other one has one


@dataclass(frozen=True)
class Restoration:
    """A cluster matrix with the slow workers of Sec. V, in agreement with what Sec. V says of them.

    Attributes
    ----------
    layout, shifts
        Of the matrix, as `gcexp.schemes.placement.cluster_matrix` takes them.
    slow : tuple of int
    partners : tuple of int
        Workers in the fourth cluster with any of whom the worker that is left over can change places.
    one_example : bool
        Whether the slow workers of Sec. IV-C may be among these: at home the third cluster has nobody else.
    able : tuple of int
        Clusters with a worker who could enter the first one.
    open_to_left : tuple of int
        Clusters that the worker who is left over may enter.
    could_move : int
        Workers placed elsewhere who could enter the first cluster.
    """

    layout: str
    shifts: tuple[int, ...]
    slow: tuple[int, ...]
    partners: tuple[int, ...]
    one_example: bool
    able: tuple[int, ...]
    open_to_left: tuple[int, ...]
    could_move: int


@cache
def restorations() -> tuple[Restoration, ...]:
    """All that agree with Sec. V, of two layouts, 27 shifts and 792 sets of five slow workers.

    Phase one is that of the paper: scarce clusters first, workers in ascending order. Two clusters have more fast
    workers than the two others, which are served first, and fewer slow workers than these. One worker is left over; the
    first cluster lacks one and is closed to this worker. Somebody in the fourth cluster can change places with them,
    and then one cluster has two slow workers and each other one has one. Which of several such workers the paper takes
    is lost.
    """
    is_slow = ~next(all_sets(N, STRAGGLERS))
    found = []
    for layout, shifts in product(("row", "column"), product(range(1, P), repeat=N // P)):
        allowed = membership(cluster_matrix(N, P, [(shift,) for shift in shifts], layout))
        at_home, _ = home(N, P, layout)
        placed = greedy_clusters(np.broadcast_to(allowed, (len(is_slow), P, N)), is_slow, phases=1)
        for slow, clusters in zip(is_slow, placed, strict=True):
            if not _order_agrees(allowed, slow):
                continue
            partners = _partners(allowed, slow, clusters)
            if partners:
                found.append(_restoration(layout, shifts, allowed, at_home, slow, clusters, partners))
    return tuple(found)


def _order_agrees(allowed: np.ndarray, slow: np.ndarray) -> bool:
    """Whether third and fourth cluster have the fewest fast workers, and first and second the fewest slow ones."""
    fast = (allowed & ~slow).sum(1)
    late = (allowed & slow).sum(1)
    fast_agree = fast[0] == fast[1] > fast[2] == fast[3]
    return bool(fast_agree and late[0] == late[1] < min(late[2], late[3]))


def _partners(allowed: np.ndarray, slow: np.ndarray, clusters: np.ndarray) -> tuple[int, ...]:
    """Workers of the fourth cluster with whom a swap ends the example as the paper says.

    There are none where phase one does not end as the paper says.
    """
    left = np.flatnonzero(clusters < 0)
    lacks_one = (clusters == 0).sum() == N // P - 1
    if len(left) != 1 or not lacks_one or allowed[0, left[0]] or not allowed[3, left[0]]:
        return ()
    found = []
    for worker in np.flatnonzero((clusters == 3) & allowed[0]).tolist():
        after = clusters.copy()
        after[worker] = 0
        after[left] = 3
        if sorted(np.bincount(after[slow], minlength=P)) == [1, 1, 1, 2]:
            found.append(worker)
    return tuple(found)


def _restoration(layout, shifts, allowed, at_home, slow, clusters, partners) -> Restoration:
    """What is asked of a matrix and slow workers that agree."""
    (left,) = np.flatnonzero(clusters < 0)
    could_move = allowed[0] & (clusters > 0)
    return Restoration(
        layout,
        shifts,
        tuple(np.flatnonzero(slow).tolist()),
        partners,
        one_example=bool(slow[at_home == 2].all()),
        able=tuple(np.unique(clusters[could_move]).tolist()),
        open_to_left=tuple(np.flatnonzero(allowed[:, left]).tolist()),
        could_move=int(could_move.sum()),
    )
