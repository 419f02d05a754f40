"""The q-th smallest of the times of workers, in every iteration: what a master that waits for q of them asks."""

from __future__ import annotations

import numpy as np

# Workers of a group up to which, and places from either end up to which, comparing whole columns beats a partition.
_SMALL, _NEAR = 64, 4
_BLOCK = 250  # numbers that numpy parts in vector registers, per number three times as fast as more


def smallest(at: np.ndarray, q: int) -> np.ndarray:
    """The q-th smallest entry of the last axis.

    Few entries, or a place near one end, are found by comparing whole columns, others by partial sorting.

    Parameters
    ----------
    at : ndarray (..., S, n)
        Times, or whole numbers.
    q : int
        From 1 to n.

    Examples
    --------
    >>> smallest(np.array([[[3.0, 1.0, 2.0]]]), q=2)
    array([[2.]])
    """
    size = at.shape[-1]
    from_end = min(q, size - q + 1)
    if size > _SMALL or from_end > _NEAR or at.shape[-2] == 1:
        if q == size:
            return at.max(axis=-1)
        # Numbers >= 0 are in the order of their bits, and whole numbers are parted in three quarters of the time.
        whole = at.view(np.int64) if at.dtype == np.float64 else at
        if whole.min(initial=0) < 0:
            return _parted(at, q)
        return _parted(whole, q).view(at.dtype)
    keep, push_on = (np.maximum, np.minimum) if q > size // 2 else (np.minimum, np.maximum)
    columns = np.array(at.transpose(-1, -2, *range(at.ndim - 2)), order="C")  # a copy: each is written over
    outermost: list[np.ndarray] = []  # the smallest or largest so far, the outermost first
    spare = np.empty_like(columns[0])
    for column in columns:
        for other in outermost[: from_end - 1]:
            push_on(other, column, out=spare)
            keep(other, column, out=other)
            column, spare = spare, column
        if len(outermost) < from_end:
            outermost.append(column)
        else:
            keep(outermost[-1], column, out=outermost[-1])
    return outermost[-1].transpose(*range(1, at.ndim - 1), 0)


def _parted(at: np.ndarray, q: int) -> np.ndarray:
    """The q-th smallest entry of the last axis by partial sorting, in blocks if q is near one end."""
    size = at.shape[-1]
    from_end = min(q, size - q + 1)
    is_low = 2 * q <= size
    count = -(-size // _BLOCK)
    block = size // count
    if count == 1 or 2 * from_end > block:
        return np.partition(at, q - 1, axis=-1)[..., q - 1]
    # What is sought is among the outermost entries of the blocks, and those that are in none.
    blocks = at[..., : count * block].reshape(*at.shape[:-1], count, block)
    if is_low:
        outermost = np.partition(blocks, from_end - 1, axis=-1)[..., :from_end]
    else:
        outermost = np.partition(blocks, block - from_end, axis=-1)[..., block - from_end :]
    in_no_block = at[..., count * block :]
    outermost = outermost.reshape(*at.shape[:-1], count * from_end)
    candidates = np.concatenate([outermost, in_no_block], axis=-1)
    return _parted(candidates, from_end if is_low else candidates.shape[-1] - from_end + 1)
