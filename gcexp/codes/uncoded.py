"""Uncoded: disjoint shards, one per worker."""

from __future__ import annotations

import numpy as np

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

    formulas = {"k": "n", "load": "1", "messages": "1", "length": "1"}
    decoding = "weight 1 on everyone heard; O(n)"
    limit = "none: nothing is solved"
    source = ("sarmasarkar2021",)
    examples = ({"n": 1}, {"n": 4})

    @checked
    def __init__(self, n: int):
        require(n >= 1, f"uncoded needs n >= 1, got n={n}")
        super().__init__(np.eye(n), quorums=[Quorum(range(n), [(1, n)])])

    def weights(self, heard):
        return heard.astype(float)
