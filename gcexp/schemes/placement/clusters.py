"""Clusters of workers: at home, and those that a worker may join because it stores their partitions as well.

Conventions: `n` workers in `P` clusters of `l = n / P`; `S` seeds, `T` iterations, `U` distinct slow sets. A worker has
a home cluster and row and belongs to `m` clusters; the `cluster_matrix` (m*l, P) lists each cluster's workers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gcexp.errors import require


def home(n: int, clusters: int, layout: str = "row") -> tuple[np.ndarray, np.ndarray]:
    """Home cluster and row of every worker, both (n,).

    Examples
    --------
    >>> home(6, 2)
    (array([0, 1, 0, 1, 0, 1]), array([0, 0, 1, 1, 2, 2]))
    """
    require(
        1 <= clusters <= n and n % clusters == 0,
        f"placement needs clusters >= 1 that divides n, got n={n}, clusters={clusters}",
    )
    if layout == "column":
        return np.divmod(np.arange(n), n // clusters)
    row, cluster = np.divmod(np.arange(n), clusters)
    return cluster, row


def cluster_matrix(n: int, clusters: int, shifts: Sequence[Sequence[int]], layout: str = "row") -> np.ndarray:
    """Worker-cluster assignment (m*l, P): the workers in home order, and below it m - 1 rotations of each row.

    Row r of `shifts` (l, m-1) says how far row r is rotated to the right in each block below the first: distinct
    numbers from 1 to P-1 (Buyukates et al., section IV-B).

    Examples
    --------
    >>> cluster_matrix(12, 4, [(1,), (3,), (1,)])
    array([[ 0,  1,  2,  3],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, 11],
           [ 3,  0,  1,  2],
           [ 5,  6,  7,  4],
           [11,  8,  9, 10]])
    """
    cluster, row = home(n, clusters, layout)
    size = n // clusters
    require(
        len(shifts) == size,
        f"shifts needs one row for each of the {size} workers of a cluster, got {len(shifts)} rows",
    )
    base = np.empty((size, clusters), dtype=np.intp)
    base[row, cluster] = np.arange(n)
    blocks = [base]
    for shifts_of_block in zip(*shifts, strict=True):
        rotated = base.copy()
        for row, shift in enumerate(shifts_of_block):
            rotated[row] = np.roll(base[row], shift)
        blocks.append(rotated)
    return np.concatenate(blocks)


def membership(matrix: np.ndarray) -> np.ndarray:
    """Which cluster a worker may be placed in, boolean (P, n), from the cluster matrix."""
    clusters = matrix.shape[1]
    allowed = np.zeros((clusters, int(matrix.max()) + 1), dtype=bool)
    allowed[np.arange(clusters), matrix] = True
    return allowed


def stored(matrix: np.ndarray) -> np.ndarray:
    """Partitions that a worker stores, boolean (n, k): all of its clusters, so that it can take any place there."""
    allowed = membership(matrix)
    clusters, n = allowed.shape
    return np.repeat(allowed.T, n // clusters, axis=1)


def seats(cluster: np.ndarray, clusters: int, layout: str = "row") -> np.ndarray:
    """Worker at place j of the code (U, n), from the cluster of each worker (U, n).

    Whoever is placed at home keeps its own row; the others, ascending, take the vacant rows, ascending.

    Examples
    --------
    >>> seats(np.array([[0, 1, 1, 0]]), clusters=2)
    array([[0, 1, 3, 2]])
    """
    n = cluster.shape[1]
    at_home, row = home(n, clusters, layout)
    moved = cluster != at_home
    # The i-th mover of a cluster meets its i-th vacant seat: both lists are sorted by cluster, then by worker or row.
    # Who stays at home comes behind them all.
    behind = n * n
    worker_in_turn = np.argsort(np.where(moved, cluster * n + np.arange(n), behind), axis=1, kind="stable")
    vacant_in_turn = np.argsort(np.where(moved, at_home * n + row, behind), axis=1, kind="stable")
    seated = np.tile(np.arange(n), (len(cluster), 1))
    movers = np.arange(n) < moved.sum(1, keepdims=True)
    u, _ = np.nonzero(movers)
    seated[u, vacant_in_turn[movers]] = worker_in_turn[movers]
    return seated
