"""Impossibility arguments, and searches over small assignments that are independent of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, combinations_with_replacement
from math import comb

import numpy as np

from gcexp.errors import require

from .theory import cyclic_load


def forced_equal(assignment, s: int, beta: int, worker: int) -> list[set[int]]:
    r"""Theorem 6: which coefficients of a worker's only message must be equal, as classes of its partitions.

    If `worker` alone of the survivors holds the partitions V, and the others together see fewer than beta, then its
    message is used; every answer is 0/1 and assigned coefficients are not 0, so those on V are equal. Classes that
    share a partition merge. The assignment is (n, k), and all sets of n - s survivors with `worker` in them are tried.
    """
    held = np.asarray(assignment, dtype=bool)
    n = len(held)
    masks = [_mask_of(row) for row in held]
    classes = [1 << int(partition) for partition in np.flatnonzero(held[worker])]
    other_workers = [other for other in range(n) if other != worker]
    for others in combinations(other_workers, n - s - 1):
        seen = 0
        for other in others:
            seen |= masks[other]
        held_alone = masks[worker] & ~seen
        if held_alone and seen.bit_count() < beta:
            classes = _merge_classes(classes, held_alone)
    return [_partitions_in(mask) for mask in sorted(classes)]


def _mask_of(row: np.ndarray) -> int:
    """The partitions in a row as bits of a number."""
    mask = 0
    for partition in np.flatnonzero(row):
        mask |= 1 << int(partition)
    return mask


def _partitions_in(mask: int) -> set[int]:
    """The partitions whose bits a number has."""
    return {partition for partition in range(mask.bit_length()) if mask >> partition & 1}


def _merge_classes(classes: list[int], equal: int) -> list[int]:
    """The classes with all those in one that share a partition with `equal`."""
    apart = []
    merged = equal
    for one in classes:
        if one & equal:
            merged |= one
        else:
            apart.append(one)
    return [*apart, merged]


def spans(rows, target) -> bool:
    """Whether `target` is a combination of the rows."""
    rows = np.asarray(rows, dtype=float)
    target = np.asarray(target, dtype=float)
    weights, *_ = np.linalg.lstsq(rows.T, target, rcond=None)
    off = rows.T @ weights - target
    return bool(np.abs(off).max() < 1e-9)


def cyclic_impossible(n: int, s: int, beta: int) -> bool:
    r"""Theorem 6: whether no cyclic scheme with one message and load p/n recovers beta, whatever its coefficients.

    The forced coefficients make worker 0, and by symmetry all, send plain sums. Consecutive survivors 0, ..., n-s-1 see
    exactly 0, ..., beta-1; so the answer would be the sum of these, which is not in the span of their sums. True where
    the argument proves it; False claims nothing.
    """
    p = cyclic_load(n, s, beta)
    workers = np.arange(n)[:, None]
    sums = np.zeros((n, n))
    sums[workers, (workers + np.arange(p)) % n] = 1
    first = sums[: n - s]
    visible = first.any(0)
    if visible.sum() != beta or spans(first, visible):
        return False
    return forced_equal(sums, s, beta, worker=0) == [set(range(p))]


def most_recovered(rows) -> int:
    """Most ones of a 0/1 vector in the span of the rows, by trying all 2^k of them."""
    rows = np.atleast_2d(np.asarray(rows, dtype=float))
    k = rows.shape[1]
    require(k <= 20, f"trying all 0/1 vectors needs k <= 20, got k={k}")
    _, singular_values, Vt = np.linalg.svd(rows)
    limit = 1e-9 * max(1.0, singular_values.max(initial=0))
    rank = int((singular_values > limit).sum())
    null = Vt[rank:]
    vectors = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
    is_in_span = (np.abs(vectors @ null.T) < 1e-9).all(1)
    return int(vectors[is_in_span].sum(1).max())


def multigraphs(n: int) -> np.ndarray:
    """All multigraphs with n edges or loops on n nodes, (N, n): each edge as a bit mask of its nodes.

    A scheme with k = n and load 2/n is one of them: workers are edges, or loops, between the partitions they hold.
    """
    require(1 <= n <= 6, f"multigraphs are listed for 1 <= n <= 6, got n={n}")
    loops = [1 << v for v in range(n)]
    edges = [1 << u | 1 << v for u, v in combinations(range(n), 2)]
    kinds = loops + edges
    count = comb(len(kinds) + n - 1, n)
    flat = chain.from_iterable(combinations_with_replacement(kinds, n))
    return np.fromiter(flat, dtype=np.uint8, count=count * n).reshape(count, n)


def least_covered(graphs: np.ndarray, survivors: int) -> np.ndarray:
    """Theorem 9: fewest nodes that any `survivors` edges of each multigraph cover, (N,).

    For s >= 2 it is at most n - s + 1: with load 2/n, no scheme recovers more, whatever m is.
    """
    n = graphs.shape[1]
    least = np.full(len(graphs), n)
    for responses in combinations(range(n), survivors):
        covered = np.bitwise_or.reduce(graphs[:, responses], axis=1)
        least = np.minimum(least, np.bitwise_count(covered))
    return least


def not_contradicted(graphs: np.ndarray) -> np.ndarray:
    r"""Theorem 8, beta = 3 and n - s = 2: which multigraphs survive the argument, boolean (N,).

    Any two workers must yield a 0/1 vector with three ones from one message each, with coefficients that are not 0.
    Two edges at a node v: rho_1 + rho_2 = 1, rho the coefficient at v over that at the free node. Two disjoint edges:
    each has equal coefficients. An edge and a loop off it: the edge has. Anything else sees at most two partitions.
    An edge with equal coefficients (rho = 1) therefore leaves rho = 0, impossible, to every edge that meets it.
    """
    n = graphs.shape[1]
    is_edge = np.bitwise_count(graphs) == 2
    equal = np.zeros(graphs.shape, dtype=bool)
    blind = np.zeros(len(graphs), dtype=bool)
    meets = {}
    for i, j in combinations(range(n), 2):
        union = np.bitwise_count(graphs[:, i] | graphs[:, j])
        blind |= union < 3
        apart = (graphs[:, i] & graphs[:, j]) == 0
        equal[:, i] |= apart & is_edge[:, i]
        equal[:, j] |= apart & is_edge[:, j]
        meets[i, j] = ~apart & is_edge[:, i] & is_edge[:, j]
    clash = np.zeros(len(graphs), dtype=bool)
    for (i, j), meet in meets.items():
        clash |= meet & (equal[:, i] | equal[:, j])
    return ~(blind | clash)


def cycle_unions(n: int) -> list[np.ndarray]:
    """Claim 2: assignments in which each of n workers holds two partitions and each partition is on two workers.

    One for every way to write n as a sum of cycle lengths, boolean (n, n) each; a cycle of 2 is a pair of workers with
    the same two partitions.
    """

    def parts(total: int, smallest: int) -> Iterator[tuple[int, ...]]:
        if total == 0:
            yield ()
        for first in range(smallest, total + 1):
            for rest in parts(total - first, first):
                yield (first, *rest)

    found = []
    for lengths in parts(n, 2):
        held = np.zeros((n, n), dtype=bool)
        start = 0
        for length in lengths:
            i = np.arange(length)
            held[start + i, start + i] = True
            held[start + i, start + (i + 1) % length] = True
            start += length
        found.append(held)
    return found
