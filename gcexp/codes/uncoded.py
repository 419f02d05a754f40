"""Uncoded: disjoint shards, one per worker, even or uneven."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code, Quorum
from gcexp.errors import require
from gcexp.schema import checked


class Uncoded(Code):
    """Worker w holds partition w alone and sends g_w; whoever is missing is missing from the sum.

    With ``wait=fastest`` for n - s workers this is Forget-s; waiting for all is the naive scheme.

    Parameters
    ----------
    n : int
        Workers, equal to the number of partitions.

    Raises
    ------
    ParameterError
        Unless n >= 1.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On gradient coding with partial recovery, Lemma 2 (as Forget-s).

    Examples
    --------
    >>> Uncoded(n=3).decode([[1, 0, 1]], partial=True).coefficients
    array([[1., 0., 1.]])
    """

    most_workers = 10**6
    formulas = {"k": "n", "load": "1", "messages": "1", "length": "1"}
    decoding = "weight 1 on everyone heard; O(n)"
    limit = "none: nothing is solved"
    source = ("sarmasarkar2021",)
    examples = ({"n": 1}, {"n": 4})

    @checked
    def __init__(self, n: int):
        require(n >= 1, f"uncoded needs n >= 1, got n={n}")
        super().__init__(sparse.eye_array(n, format="csr"), quorums=[Quorum(range(n), [(1, n)])])

    def trusted(self, responses):
        all_patterns = np.ones(len(responses), dtype=bool)
        if responses.dtype.itemsize == 1 and responses.flags.c_contiguous:
            return all_patterns, responses.view(bool)  # 0 and 1 in bytes are truth values already
        return all_patterns, responses.astype(bool)

    def weights(self, responses):
        return responses.astype(float)


class UnevenShards(Code):
    """Disjoint shards of several partitions, as near to given shares as whole numbers are, and a message for each.

    Worker w gets floor(k rho_w / n) partitions, and the rest go to the largest remainders, ties to the lower worker.
    Who gets none sends nothing. This is what uneven loads (`gcexp.schemes.loads`) are in whole partitions.

    Parameters
    ----------
    loads : sequence of float
        Relative loads rho >= 0 of the workers; they sum to their number n.
    k : int
        Partitions.

    Raises
    ------
    ParameterError
        Unless loads are >= 0 and sum to n, and k >= 1.

    References
    ----------
    Chen et al.: Semi-dynamic load balancing, SoCC 2020 (LB-BSP; from memory). Rounding to partitions is this library's.

    Examples
    --------
    >>> UnevenShards(loads=(1.7, 0.9, 0.4), k=6).load
    array([3, 2, 1])
    """

    formulas = {"messages": "1", "length": "1"}
    decoding = "weight 1 on everyone heard; O(n)"
    limit = "none: nothing is solved"
    source = ("chen2020",)
    examples = ({"loads": (1.7, 0.9, 0.4), "k": 6}, {"loads": (2.0, 0.0), "k": 3})

    @checked
    def __init__(self, loads: Sequence[float], k: int):
        loads, n = tuple(map(float, loads)), len(loads)
        require(n >= 1 and min(loads) >= 0, f"uneven shards need loads >= 0, got {list(loads)}")
        require(abs(sum(loads) - n) <= 1e-6 * n, f"loads must sum to n={n}, got a sum of {sum(loads):g}")
        require(k >= 1, f"uneven shards need k >= 1 partitions, got {k}")
        shares = np.round(k * np.array(loads) / n, 9)
        counts = np.floor(shares).astype(int)
        largest_remainder_first = np.argsort(counts - shares, kind="stable")
        counts[largest_remainder_first[: k - counts.sum()]] += 1
        owner = np.flatnonzero(counts)
        B = np.zeros((len(owner), k))
        B[np.repeat(np.arange(len(owner)), counts[owner]), np.arange(k)] = 1
        quorum = Quorum(owner, [(1, len(owner))])
        super().__init__(B, owner=owner, quorums=[quorum], n=n)
        self.loads = loads

    def weights(self, responses):
        return responses[:, self.owner].astype(float)
