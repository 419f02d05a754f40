r"""What can be decoded? Decided by ranks over a prime field, for codes and storages made here.

Papers' theorems and this library's closed forms are compared with what stands here, so nothing of it comes from them:
codes, ranks and storages are made from their definitions alone. Codes are random over a prime field, where a rank is
below the generic one with probability 10^-7 or less; where only the support is given, what a generic code cannot decode
no linear code can.

Conventions: a storage is boolean (n, k), worker by partition. A message is a row of numbers, one for each partition and
each of the L numbers of its gradient: column ``i * L + u`` is number u of partition i. Wanted are the L sums over
partitions, `total`. Every matrix is int64 with entries below `PRIME`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import prod

import numpy as np

#: The field. Products of two entries are below 2^62, so that the difference of two fits.
PRIME = 2**31 - 1


def drawn(generator: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Entries that are uniform on 1, ..., PRIME - 1."""
    return generator.integers(1, PRIME, tuple(shape), dtype=np.int64)


def rank(matrices: np.ndarray) -> np.ndarray:
    """Rank of every matrix of a stack (..., rows, columns), by elimination without divisions.

    Examples
    --------
    >>> rank(np.array([[[1, 2], [2, 4]], [[1, 2], [2, 5]]]))
    array([1, 2])
    """
    found, _ = _eliminated(matrices, np.shape(matrices)[-2])
    return found


def _eliminated(matrices: np.ndarray, rows_of_pivots: int) -> tuple[np.ndarray, np.ndarray]:
    """Rank of the first rows of each matrix (..., rows, columns), and whether they span all rows behind them.

    The first of the first rows that has an entry in a column takes this column from all rows, and itself becomes zero.
    Where there is no such row, the entries behind stay, whatever is done in later columns.
    """
    shape = np.shape(matrices)
    A = np.array(matrices, dtype=np.int64).reshape(prod(shape[:-2]), *shape[-2:]) % PRIME
    found = np.zeros(len(A), dtype=np.int64)
    every = np.arange(len(A))
    for j in range(shape[-1]):
        if (found == rows_of_pivots).all():
            break
        pivot = (A[:, :rows_of_pivots, j] != 0).argmax(1)
        row = A[every, pivot, j:]
        entry = row[:, 0]
        is_pivot = entry != 0
        found += is_pivot
        scale = np.where(is_pivot, entry, 1)
        rest = A[:, :, j:]
        A[:, :, j:] = (rest * scale[:, None, None] - rest[:, :, :1] * row[:, None, :]) % PRIME
    spanned = (A[:, rows_of_pivots:] == 0).all((1, 2))
    return found.reshape(shape[:-2]), spanned.reshape(shape[:-2])


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """X with A X = B, for square matrices (..., size, size); a singular A raises `ZeroDivisionError`.

    Examples
    --------
    >>> solve(np.array([[2, 0], [1, 1]]), np.array([[4], [5]]))
    array([[2],
           [3]])
    """
    size = A.shape[-1]
    width = A.shape[-1] + B.shape[-1]
    both = np.concatenate([A, B], axis=-1).reshape(prod(A.shape[:-2]), size, width) % PRIME
    every = np.arange(len(both))
    for j in range(size):
        pivot = j + (both[:, j:, j] != 0).argmax(1)
        row = both[every, pivot]
        if not row[:, j].all():
            raise ZeroDivisionError(f"singular in column {j}")
        inverse = np.array([pow(entry, -1, PRIME) for entry in row[:, j].tolist()])
        row = row * inverse[:, None] % PRIME
        both[every, pivot] = both[:, j]
        both = (both - both[:, :, j, None] * row[:, None]) % PRIME
        both[:, j] = row
    return both[:, :, size:].reshape(B.shape)


# --- storages ---------------------------------------------------------------------------------------------------


def cyclic(n: int, d: int) -> np.ndarray:
    """Worker w holds the partitions w, ..., w+d-1 (mod n), boolean (n, n).

    Examples
    --------
    >>> cyclic(3, 2).astype(int)
    array([[1, 1, 0],
           [0, 1, 1],
           [1, 0, 1]])
    """
    return (np.arange(n) - np.arange(n)[:, None]) % n < d


def storages(n: int, k: int) -> np.ndarray:
    """Every storage that holds each partition somewhere, up to the order of the partitions, (storages, n, k).

    Examples
    --------
    >>> [len(storages(n, k)) for n, k in ((1, 3), (2, 2), (4, 3))]
    [1, 6, 680]
    """
    holders: list[tuple[int, ...]] = []
    for size in range(1, n + 1):
        holders += combinations(range(n), size)
    return _multisets(_members(holders, n), k).swapaxes(1, 2)


def loads(n: int, k: int, d: int) -> np.ndarray:
    """Every storage with d partitions on each worker, up to the order of the workers, (storages, n, k).

    Some partitions may be held by nobody.
    """
    shares = list(combinations(range(k), d))
    return _multisets(_members(shares, k), n)


def _members(sets: Sequence[Sequence[int]], size: int) -> np.ndarray:
    """Which of so many things are in each set, boolean (sets, size)."""
    found = np.zeros((len(sets), size), dtype=bool)
    for i, members in enumerate(sets):
        found[i, list(members)] = True
    return found


def _multisets(rows: np.ndarray, size: int) -> np.ndarray:
    """Every choice of so many rows, the same ones also several times, (choices, size, columns)."""
    chosen = list(combinations_with_replacement(range(len(rows)), size))
    return rows[np.array(chosen)]


def least_copies(held: np.ndarray) -> np.ndarray:
    """Copies of the partition that fewest workers hold, of storages (..., n, k)."""
    return held.sum(-2).min(-1)


def thinned(held: np.ndarray) -> np.ndarray:
    """Storages (..., n, k) with as many copies of each partition as of the rarest one: those of the first workers."""
    copy = np.cumsum(held, axis=-2)
    return held & (copy <= least_copies(held)[..., None, None])


def fewest_holders(held: np.ndarray, s: int) -> np.ndarray:
    """Fewest workers that hold a partition after the worst s have been silent, of storages (..., n, k)."""
    left = np.array(survivors(held.shape[-2], s))
    return held[..., left, :].sum(-2).min((-2, -1))


# --- codes ------------------------------------------------------------------------------------------------------


def code(held: np.ndarray, L: int, generator: np.random.Generator) -> np.ndarray:
    """Codes whose first rounds decode as early as any can: B (..., L, n, k L), a row for each round and worker.

    B = E M, as in Cao, Yan, Tang, Han (arXiv 2006.04845), section V, for storages (..., n, k) with d copies of each
    partition. E has a row for each round r and worker, random in its first L + (r+1)(n-d) columns, else 0. For
    partition i let Q be the rows of workers that do not hold it, and X the solution of E[Q, L:] X = -E[Q, :L]: then the
    columns of B that belong to i are E [I; X], which vanish on Q. Partitions with different numbers of copies are
    refused.

    Examples
    --------
    >>> B = code(cyclic(4, 2), 2, np.random.default_rng(0))
    >>> (B[0] != 0).astype(int)[0]
    array([1, 1, 1, 1, 0, 0, 0, 0])
    >>> [decodes(B[:r], 2, (0, 1, 2)) for r in (1, 2)]
    [False, True]
    """
    *stack, n, k = held.shape
    copies = held.sum(-2)
    d = int(copies.flat[0])
    if (copies != d).any():
        raise ValueError(f"each partition needs equally many copies, got {np.unique(copies).tolist()}")
    width = (n - d + 1) * L
    filled = L + (np.arange(L) + 1) * (n - d)
    left_of_stairs = np.arange(width) < filled[:, None]
    E = drawn(generator, (*stack, L, n, width)) * left_of_stairs[:, None]
    B = np.zeros((*stack, L, n, k, L), dtype=np.int64)
    for i in range(k):
        holders_first = np.argsort(~held[..., i], axis=-1, kind="stable")[..., None, :, None]
        in_order = np.take_along_axis(E, holders_first, axis=-2)
        mine = in_order[..., :d, :]
        silent = in_order[..., d:, :].reshape(*stack, L * (n - d), width)
        X = solve(silent[..., L:], -silent[..., :L] % PRIME)
        products = mine[..., L:, None] * X[..., None, None, :, :] % PRIME
        columns = (mine[..., :L] + products.sum(-2)) % PRIME
        np.put_along_axis(B[..., i, :], holders_first[..., :d, :], columns, axis=-2)
    return B.reshape(*stack, L, n, k * L)


@cache
def total(k: int, L: int) -> np.ndarray:
    """What is wanted: row u is the sum of number u over the k partitions, (L, k L); not to be written to."""
    return np.tile(np.eye(L, dtype=np.int64), (1, k))


def spans(rows: np.ndarray, L: int) -> np.ndarray:
    """Whether the sums are combinations of the rows (..., messages, k L)."""
    *sets, messages, width = rows.shape
    with_sums = np.empty((*sets, messages + L, width), dtype=np.int64)
    with_sums[..., :messages, :] = rows
    with_sums[..., messages:, :] = total(width // L, L)
    _, spanned = _eliminated(with_sums, messages)
    return spanned


def decodes(B: np.ndarray, L: int, *responses: Sequence[int]) -> bool:
    """Whether every one of the given sets of workers, all of one size, decodes from its messages B (rounds, n, k L)."""
    rows = B[:, np.array(responses, dtype=np.intp)].swapaxes(0, 1)  # (sets, rounds, workers, k L)
    return bool(spans(rows.reshape(len(rows), -1, B.shape[-1]), L).all())


def reach_the_sum(rounds: np.ndarray, s: int) -> bool:
    """Whether every n - s workers decode from real messages (rounds, n, n L) of a built code, by least squares."""
    _, n, width = rounds.shape
    sets = np.stack([rounds[:, list(left)].reshape(-1, width) for left in survivors(n, s)])
    wanted = total(n, width // n).astype(float)
    nearest = wanted @ np.linalg.pinv(sets, rcond=1e-11) @ sets
    return bool(np.abs(wanted - nearest).max() < 1e-7)


def survivors(n: int, s: int) -> list[tuple[int, ...]]:
    """Every set of n - s workers."""
    return list(combinations(range(n), n - s))


def silent_sets(n: int, most: int) -> list[tuple[int, ...]]:
    """Every set of at most `most` of n workers, the smallest first."""
    sets: list[tuple[int, ...]] = []
    for s in range(most + 1):
        sets += combinations(range(n), s)
    return sets


def rounds_needed(B: np.ndarray, s: int) -> int | None:
    """Fewest rounds of a code B (L, n, k L) from which every n - s workers decode; None if all are too few.

    Examples
    --------
    >>> B = code(cyclic(4, 3), 6, np.random.default_rng(0))
    >>> [rounds_needed(B, s) for s in range(4)]
    [2, 3, 6, None]
    """
    L, n, _ = B.shape
    for r in range(1, L + 1):
        if decodes(B[:r], L, *survivors(n, s)):
            return r
    return None
