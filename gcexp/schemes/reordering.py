"""A waiting rule that chooses before each iteration in which order workers compute their messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from gcexp.codes import ByMessage, Code
from gcexp.schemes.micro_batches import Covered


@dataclass(frozen=True)
class Reordering:
    r"""Wait until every partition has arrived; workers who were fast compute first what slow ones would have sent.

    For codes whose messages hold one partition each. A worker is slow if nothing of it had arrived when the master
    stopped in the iteration before. Before each iteration the partitions are assigned to holders that are not slow, at
    most m to each with the smallest m that suffices, and of all such assignments one with the fewest partitions in
    second, third, ... places, and then with the smallest places in the code's own order. Every worker computes first
    what it was assigned, and then the rest, each in the code's own order. Partitions that only slow workers hold are
    assigned to nobody; without slow workers the code's own order stays.

    References
    ----------
    Adaptive reordering is part of SPARe (arXiv 2603.00357), whose text was not at hand: that paper reorders after
    failures and with as few stacks as possible. That slow workers count as failed for one iteration, and the choice
    among assignments, are this library's.

    Examples
    --------
    >>> from gcexp.codes import SPARe
    >>> code = SPARe(n=3, d=2)  # worker w holds w and w + 1
    >>> Reordering().order(code, np.array([[False, True, False]]))
    array([[0, 1, 0, 1, 0, 1]])
    """

    def begin(self, lead):
        return None  # nobody is known to be slow

    def order(self, code, state):
        if state is None:
            return code.rank
        return np.stack([_order_without(code, slow.tobytes()) for slow in state])

    def stop(self, code, arrive, state):
        time, responses = Covered().stop(code, arrive)
        first = arrive(1)[:, 0]
        if isinstance(code, ByMessage):
            first = _first_of_worker(code.code, first)
        return time, responses, first > time


def _first_of_worker(code: Code, at: np.ndarray) -> np.ndarray:
    """When the first message of each worker arrives, (S, n), for arrivals (S, M)."""
    by_worker = np.argsort(code.owner, kind="stable")
    begin = np.cumsum(code.messages) - code.messages
    return np.minimum.reduceat(at[:, by_worker], begin, axis=1)


@lru_cache(maxsize=4096)  # the same few workers are slow again and again
def _order_without(code: Code, slow: bytes) -> np.ndarray:
    """Place of each message in its worker's order, (M,), where some workers are slow."""
    is_slow = np.frombuffer(slow, dtype=bool)
    if not is_slow.any() or is_slow.all():
        return code.rank
    comes_first = np.zeros(len(code.owner), dtype=bool)
    comes_first[_assignment(code, ~is_slow[code.owner])] = True
    order = np.lexsort((code.rank, ~comes_first, code.owner))
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.sort(code.owner * len(order) + code.rank) % len(order)
    return ranks


def _assignment(code: Code, usable: np.ndarray) -> np.ndarray:
    """The usable message with which each partition that has one is sent, few of any worker."""
    _, partition = code.encoding.tocoo().coords
    message = np.flatnonzero(usable)
    partitions, row = np.unique(partition[message], return_inverse=True)
    most = int(code.messages.max())
    for places in range(1, most + 1):
        # A worker stands once for every place; a later place costs more than all own places together.
        place = np.repeat(np.arange(places), len(message))
        message_there = np.tile(message, places)
        row_there = np.tile(row, places)
        column = code.owner[message_there] * places + place
        cost = 1.0 + code.rank[message_there] + place * float(most * len(partitions) + 1)
        shape = (len(partitions), code.n * places)
        # The matching of older versions of scipy takes indices of 32 bits only.
        indices = row_there.astype(np.int32), column.astype(np.int32)
        table = sparse.csr_array((cost, indices), shape=shape)
        try:
            matched_row, matched_column = min_weight_full_bipartite_matching(table)
        except ValueError:  # some worker must send more
            continue
        pairs = set(zip(matched_column // places, matched_row, strict=True))
        is_assigned = [(code.owner[m], i) in pairs for m, i in zip(message, row, strict=True)]
        return message[is_assigned]
    raise AssertionError("all messages together send every partition")
