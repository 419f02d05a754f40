"""The assignment of workers to clusters that spreads the slow ones most evenly."""

from __future__ import annotations

import numpy as np

from gcexp.errors import require


def best_clusters(allowed: np.ndarray, is_slow: np.ndarray) -> np.ndarray:
    """Cluster of every worker (U, n) with the slow ones spread most evenly.

    The largest number of slow workers in a cluster is as small as can be, then the number of such clusters, and so on:
    a linear assignment of workers to slots: slot i of a cluster costs a slow worker (P+1)^i and a fast one nothing.

    Examples
    --------
    >>> from gcexp.schemes.placement.clusters import cluster_matrix, membership
    >>> allowed = membership(cluster_matrix(12, 4, [(1,), (3,), (1,)]))
    >>> slow = np.isin(np.arange(12), [2, 6, 10])
    >>> np.bincount(best_clusters(allowed[None], slow[None])[0], weights=slow, minlength=4)
    array([0., 1., 1., 1.])
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    U, P, n = allowed.shape
    size = n // P
    require(
        (P + 1.0) ** size < 2**50,
        f"placement=best needs (clusters + 1)^(n/clusters) < 2^50, got clusters={P}, n={n}",
    )
    slot = np.repeat(np.arange(P), size)
    price = np.tile((P + 1.0) ** np.arange(size), P)
    cluster = np.empty((U, n), dtype=np.intp)
    for u in range(U):
        cost = np.where(allowed[u].T[:, slot], is_slow[u][:, None] * price, np.inf)
        worker, slot_of_worker = linear_sum_assignment(cost)
        cluster[u, worker] = slot[slot_of_worker]
    return cluster
