"""Straggler policy: what a worker does once the master has stopped waiting for it, and when it is free again."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

Late = Literal["stop", "chunk", "finish", "every"]
LATE: tuple[str, ...] = get_args(Late)
PIECES = 8  # of a worker's own share, where nobody says how many
CLOSE = 1e-9  # two times that differ by less of their size are equal: whole numbers of a trace make real ties


def pieces(relative: np.ndarray, chunks: int) -> np.ndarray:
    """Equal pieces C = max(1, round(chunks * rho)) of workers with relative loads rho, half to even.

    Examples
    --------
    >>> pieces(np.array([0.0, 0.3125, 1.0, 2.0]), chunks=8)
    array([ 1,  2,  8, 16])
    """
    return np.maximum(1, np.rint(chunks * np.asarray(relative))).astype(int)


def free_after(
    late: str, begin: np.ndarray, stop: np.ndarray, end: np.ndarray, borders: np.ndarray | None = None
) -> np.ndarray:
    """When each worker can start again after an iteration, (S, n), counted from the start of that iteration.

    A worker has *begun* if it started (`begin`) before the master stopped; who becomes free at that very moment takes
    the new model. It would have sent its last message at `end`, and `borders` (C, S, n) are the ends of its pieces but
    the last, inf where it has fewer.

    ========== ==========================================================================================
    ``stop``   at the stop: the worker polls, as in the papers
    ``chunk``  at the first border at or behind the stop, where it looks up; who has finished, when it did
    ``finish`` when it has finished what it has begun; then it takes the newest model
    ``every``  when it has finished, begun or not: each worker runs every step in order
    ========== ==========================================================================================

    Examples
    --------
    >>> begin, end, borders = np.array([[0.0, 0.0]]), np.array([[1.0, 3.0]]), np.array([[[0.5, 1.5]]])
    >>> [free_after(late, begin, np.array([1.0]), end, borders).tolist() for late in LATE]
    [[[1.0, 1.0]], [[1.0, 1.5]], [[1.0, 3.0]], [[1.0, 3.0]]]
    """
    stop = stop[:, None]
    if late == "stop":
        return np.broadcast_to(stop, end.shape)
    if late == "every":
        return end
    early = stop * (1 - CLOSE)
    begun = begin < early
    free = np.where(begun, end, begin)
    if late == "finish":
        return free
    cut = begun & (end > stop * (1 + CLOSE))
    if borders is None or not cut.any():
        return free
    ahead = np.where(borders >= early, borders, np.inf).min(0, initial=np.inf)
    return np.where(cut, np.minimum(ahead, end), free)
