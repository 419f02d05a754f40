"""SPARe: every worker holds several shards, one message for each, and computes them in an order that may change."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code
from gcexp.codes.quorums import Quorum, Quorums
from gcexp.codes.subset_designs import one_copy
from gcexp.errors import ParameterError, require, require_known
from gcexp.schema import checked

OFFSETS = ("golomb", "consecutive")


def golomb_offsets(n: int, d: int) -> list[int]:
    """The first d offsets 0, 1, 3, 7, ... whose differences modulo n are all distinct, each as small as it can be.

    Then two workers of n share at most one of the partitions w + offset (mod n).

    Examples
    --------
    >>> golomb_offsets(n=40, d=5)
    [0, 1, 3, 7, 12]
    """
    offsets = [0]
    differences = set[int]()
    for offset in range(1, n):
        if len(offsets) == d:
            break
        new = [(offset - other) % n for other in offsets] + [(other - offset) % n for other in offsets]
        if len(set(new)) == len(new) and differences.isdisjoint(new):
            offsets.append(offset)
            differences.update(new)
    if len(offsets) < d:
        raise ParameterError(
            f"spare: no {d} offsets with distinct differences modulo n={n} were found, only {len(offsets)}; take more "
            "workers, a smaller d, or offsets=consecutive"
        )
    return offsets


class SPARe(Code):
    r"""Stacked shards: worker w sends the gradients of the d partitions w + o_0, ..., w + o_(d-1) (mod n), one by one.

    The gradient is complete when every partition has arrived from somebody; nothing has to be solved. All first
    messages together are the gradient, so that without stragglers nobody computes a second one. With some, the others
    go on with their next partitions, in an order that is chosen anew before each iteration
    (`gcexp.schemes.Reordering`).

    A partition is lost once all its d holders have failed. If workers fail one by one in random order, the first
    partition is lost after about Gamma(1/d) / d n^(1 - 1/d) failures (`gcexp.theory.failures.until_loss`). With
    consecutive offsets neighbours share d - 1 partitions, so that losses come together and the first one later.

    Parameters
    ----------
    n : int
        Workers (= partitions).
    d : int
        Partitions of each worker: the paper's redundancy r.
    offsets : {"golomb", "consecutive"} or list of int
        o_0, ..., o_(d-1): `golomb_offsets`; 0, 1, ..., d-1; or these numbers.

    Raises
    ------
    ParameterError
        Unless 1 <= d <= n, and there are d distinct offsets modulo n.

    References
    ----------
    Lee et al.: SPARe, stacked parallelism with adaptive reordering, arXiv 2603.00357. The paper's text was not at hand:
    the construction follows its abstract and its formula, the greedy offsets are this library's.

    Examples
    --------
    >>> code = SPARe(n=7, d=3)
    >>> code.encoding.toarray().nonzero()[1][:6]
    array([0, 1, 3, 1, 2, 4])
    >>> code.decode([[3, 0, 2, 1, 1, 1, 1]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "n", "load": "d", "messages": "d", "length": "1"}
    error_bound = "(partitions not sent)/k"
    decoding = "weight 1 on the first copy of each partition; O(n d)"
    limit = "none: nothing is solved"
    source = ("lee2026",)
    examples = (
        {"n": 7, "d": 3},
        {"n": 5, "d": 1},
        {"n": 6, "d": 4, "offsets": "consecutive"},
        {"n": 6, "d": 3, "offsets": [0, 2, 3]},
    )

    @checked
    def __init__(self, n: int, d: int, offsets: str | list[int] = "golomb"):
        require(1 <= d <= n, f"spare needs 1 <= d <= n, got n={n}, d={d}")
        numbers = _offsets(n, d, offsets)
        partition = ((np.arange(n)[:, None] + numbers) % n).ravel()
        rank = np.tile(np.arange(d), n)
        B = sparse.csr_array((np.ones(n * d), partition, np.arange(n * d + 1)), shape=(n * d, n))
        holders = (np.arange(n)[:, None] - numbers) % n
        one_holder_sent_all = [Quorum(workers, [(d, 1)]) for workers in holders]
        super().__init__(B, owner=np.repeat(np.arange(n), d), quorums=one_holder_sent_all)
        self.d, self.offsets = d, offsets
        self._partition = partition
        self._rank = rank
        self._holders = holders
        self._message_quorums = Quorums(holders * d + np.arange(d), [(1, 1)])

    @property
    def message_quorums(self):
        return self._message_quorums

    def weights_of(self, received):
        return one_copy(received, self._partition, self._rank).astype(float)

    def failures_until_loss(self, orders: Iterable) -> np.ndarray:
        """After how many failures the first partition has no holder left, (U,), for orders (U, n) of failing workers.

        Examples
        --------
        >>> SPARe(n=7, d=3).failures_until_loss([[0, 1, 2, 3, 4, 5, 6], [0, 6, 4, 1, 2, 3, 5]])
        array([4, 3])
        """
        orders = np.asarray(orders)
        place = np.argsort(orders, axis=1) + 1
        return place[:, self._holders].max(2).min(1)


def _offsets(n: int, d: int, offsets: str | list[int]) -> np.ndarray:
    """The d offsets as numbers, distinct modulo n."""
    if isinstance(offsets, str):
        require_known("offsets", offsets, OFFSETS)
        return np.array(golomb_offsets(n, d) if offsets == "golomb" else range(d))
    numbers = np.array(offsets)
    require(
        len(np.unique(numbers % n)) == len(numbers) == d,
        f"spare needs d={d} offsets that differ modulo n={n}, got {offsets}",
    )
    return numbers
