"""Parts of a code that share nothing, whose worst cases add up, and its symmetry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gcexp.decoding_error.design_parameters import SAME, is_constant
from gcexp.decoding_error.subset_errors import Rows


@dataclass(frozen=True, eq=False)
class Part:
    """Workers and partitions that share nothing with the others: one message for each class of copies."""

    rows: Rows
    classes: tuple[np.ndarray, ...]

    @property
    def weight(self) -> np.ndarray:
        """Workers in each class."""
        return np.array([len(members) for members in self.classes], dtype=int)


def independent_parts(messages: Rows) -> list[Part]:
    """Connected components of workers and partitions, copies of a message merged (multiples of it are copies)."""
    n, k = messages.n, messages.k
    links = sparse.coo_array(messages.B != 0)
    worker, partition = links.coords
    graph = sparse.coo_array((np.ones(links.nnz), (worker, n + partition)), shape=(n + k, n + k))
    _, label = sparse.csgraph.connected_components(graph, directed=False)
    parts = []
    for component in np.unique(label):
        workers = np.flatnonzero(label[:n] == component)
        partitions = np.flatnonzero(label[n:] == component)
        parts.append(_merged(messages.B[np.ix_(workers, partitions)], workers))
    return parts


def _merged(B: np.ndarray, workers: np.ndarray) -> Part:
    """The part of some workers with messages B, one message for each class of workers that send multiples of it."""
    first_entry = np.ones(len(B))
    if B.size:
        first_entry = B[np.arange(len(B)), (B != 0).argmax(1)]
    direction = (B / np.where(first_entry != 0, first_entry, 1)[:, None]).round(12)
    _, first_worker, which = np.unique(direction, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first_worker)  # classes by their first worker
    classes = tuple(workers[which.ravel() == c] for c in order)
    return Part(Rows(B[np.sort(first_worker)]), classes)


def is_transitive(rows: Rows) -> bool:
    """Whether shifts (of all workers, or in a two-way table of them) map every worker to every other."""
    n = rows.n
    G = rows.G
    h = rows.h
    if n < 2 or not (is_constant(h) and is_constant(G.diagonal())):
        return False
    tolerance = SAME * np.abs(G).max()
    for columns in range(1, n + 1):
        if n % columns:
            continue
        table = np.arange(n).reshape(n // columns, columns)
        shifts = [np.roll(table, 1, axis).ravel() for axis in (0, 1) if table.shape[axis] > 1]
        if all(np.abs(G[np.ix_(p, p)] - G).max() <= tolerance for p in shifts):
            return True
    return False
