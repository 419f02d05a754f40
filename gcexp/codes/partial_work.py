"""Uncoded work in small pieces: what is done counts, and a neighbour does it again from the other end."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gcexp.codes.base import Code, Quorum, number_among_equal
from gcexp.codes.subset_designs import one_copy
from gcexp.errors import require, require_known
from gcexp.schema import checked

ORDERS = ("reverse", "forward")


class PartialWork(Code):
    r"""Worker w computes its own share of q chunks and then those of w+1, ..., w+d-1, with a message for each chunk.

    The chunks of share i are the partitions i q, ..., i q + q - 1. A worker's own share goes from its start; the
    others from their **end** (``reverse``), so that two workers on one share meet in the middle, or from their start
    too (``forward``). The decode takes each partition from the first worker that sent it, and nothing has to be
    solved. With d = 1 this is uncoded work in micro-batches.

    Parameters
    ----------
    n : int
        Workers.
    d : int
        Shares that each works on, itself included.
    q : int
        Chunks of a share.
    order : {"reverse", "forward"}

    Raises
    ------
    ParameterError
        Unless n, q >= 1 and 1 <= d <= n.

    References
    ----------
    The order of computation matters for uncoded partial results: arXiv 2405.19509; this order is this library's.

    Examples
    --------
    >>> code = PartialWork(n=3, d=2, q=2)
    >>> [
    ...     np.flatnonzero(row)[0].item() for row in code.encoding.toarray()[:4]
    ... ]  # worker 0: its own, the next from its end
    [0, 1, 3, 2]
    >>> code.decode([[2, 1, 1]], partial=True).coefficients
    array([[1., 1., 1., 0., 1., 0.]])
    """

    formulas = {"k": "n * q", "load": "d * q", "messages": "d * q", "length": "1"}
    error_bound = "(chunks not done)/k"
    decoding = "weight 1 on the first copy of each chunk; O(n d q)"
    limit = "none: nothing is solved"
    source = ("ramamoorthy2024",)
    examples = (
        {"n": 3, "d": 2, "q": 2},
        {"n": 4, "d": 1, "q": 3},
        {"n": 4, "d": 3, "q": 2, "order": "forward"},
    )

    @checked
    def __init__(self, n: int, d: int, q: int, order: Literal["reverse", "forward"] = "reverse"):
        require(n >= 1 and q >= 1, f"partial work needs n >= 1 and q >= 1, got n={n}, q={q}")
        require(1 <= d <= n, f"partial work needs 1 <= d <= n, got n={n}, d={d}")
        require_known("order", order, ORDERS)
        chunk = np.arange(q)
        others = np.tile(chunk[::-1] if order == "reverse" else chunk, d - 1)
        share = (np.arange(n)[:, None] + np.repeat(np.arange(d), q)) % n
        partition = (share * q + np.concatenate([chunk, others])).ravel()
        B = np.zeros((n * d * q, n * q))
        B[np.arange(len(partition)), partition] = 1
        super().__init__(
            B,
            owner=np.repeat(np.arange(n), d * q),
            quorums=[Quorum(range(n), [(q, n)])],
            recovers=n * q,
        )
        self.d = d
        self.q = q
        self.order = order
        self._partition, self._copy = partition, number_among_equal(partition)

    def weights(self, responses):
        return one_copy(self.received(responses), self._partition, self._copy).astype(float)
