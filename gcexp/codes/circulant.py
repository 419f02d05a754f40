"""Circulant multi-message code: each worker sends several sums of rising size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.linear import pinv
from gcexp.errors import require
from gcexp.schema import checked

_TOLERANCE = 1e-6  # distance from the span below which a vector is in it
_NUMBERS = 2**20  # in the matrices that are inverted at once


class CirculantMultiMessage(Code):
    r"""Worker w computes the partitions w, w+1, ... (mod n) in turn, and sends the sum of every few of them.

    Its first message is the sum of the first ``sizes[0]`` partitions, its next that of the following ``sizes[1]``, and
    so on: with sizes (1, 2, 3) the sums of {w}, {w+1, w+2}, {w+3, w+4, w+5}. The master takes everything that it can
    recover from whatever arrived: all partitions if the all-ones vector is in the span of the messages, else those
    whose own gradient is in it. Coefficients are 0 or 1 for any pattern, so there is no quorum.

    Parameters
    ----------
    n : int
        Workers, equal to the number of partitions.
    sizes : sequence of int
        Partitions in each message, in sending order; the load is their sum.

    Raises
    ------
    ParameterError
        Unless sizes are positive and sum to at most n.

    References
    ----------
    Ozfatura, Ulukus, Gunduz: Distributed gradient descent with coded partial gradient computations, ICASSP 2019
    (several coded messages, recovery of single gradients; this circulant layout is an assumption of this library).

    Examples
    --------
    >>> code = CirculantMultiMessage(n=6, sizes=(1, 2))
    >>> code.load, code.messages
    (array([3, 3, 3, 3, 3, 3]), array([2, 2, 2, 2, 2, 2]))
    >>> code.decode([[2, 1, 0, 0, 0, 0], [2, 0, 0, 2, 0, 0]]).coefficients
    array([[1., 1., 1., 0., 0., 0.],
           [1., 1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "n", "load": "sum(sizes)", "messages": "len(sizes)", "length": "1"}
    error_bound = "every partition in the span of what arrived; all if the full sum is"
    decoding = "the pseudoinverse of what was heard; O(M^2 k), M messages"
    limit = "none: membership in a span is decided up to a tolerance"
    source = ("ozfatura2019",)
    examples = (
        {"n": 6, "sizes": (1, 2)},
        {"n": 7, "sizes": (1, 2, 3)},
        {"n": 5, "sizes": (2, 2)},
        {"n": 1, "sizes": (1,)},
    )

    @checked
    def __init__(self, n: int, sizes: Sequence[int] = (1, 2, 3)):
        sizes = tuple(int(size) for size in sizes)
        require(
            len(sizes) > 0 and min(sizes) >= 1 and sum(sizes) <= n,
            f"a circulant code needs message sizes >= 1 that sum to at most n, got n={n}, sizes={sizes}",
        )
        message = np.repeat(np.arange(len(sizes)), sizes)  # of each place in a worker's order
        w = np.arange(n)[:, None]
        B = np.zeros((n, len(sizes), n))
        B[w, message, (w + np.arange(sum(sizes))) % n] = 1
        super().__init__(B.reshape(-1, n), owner=np.repeat(np.arange(n), len(sizes)), recovers=0)
        self.sizes = sizes

    def weights(self, responses):
        B = self.encoding.toarray()
        received = self.received(responses)
        weights = np.empty(received.shape)
        step = max(1, _NUMBERS // B.size)
        for u in range(0, len(responses), step):
            messages = received[u : u + step, :, None] * B
            inverse = pinv(messages, rcond=1e-10)  # (U, k, M)
            projection = inverse @ messages  # onto the span
            distance = 1 - np.diagonal(projection, axis1=1, axis2=2)  # squared, of each partition
            distance_of_sum = self.k - projection.sum((1, 2))
            spans_all = distance_of_sum < self.k * _TOLERANCE**2
            is_recovered = (distance < _TOLERANCE**2) | spans_all[:, None]
            weights[u : u + step] = (is_recovered[:, None] @ inverse)[:, 0]
        return weights * received
