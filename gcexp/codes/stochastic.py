"""Stochastic gradient coding: random replication, and a plain sum of what arrives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gcexp.codes.base import Code
from gcexp.errors import require, require_known
from gcexp.schema import checked
from gcexp.seeding import rngs

LAYOUTS = ("cyclic", "random")


class StochasticGradientCode(Code):
    r"""Partition i is on d_i workers; worker w sends the sum of g_i / (d_i (1 - p)), and the master adds up (SGC).

    If every worker straggles with probability p, independently, then c_i = X_i / (d_i (1 - p)) with
    X_i ~ Binomial(d_i, 1 - p): unbiased, with mean error p / (d (1 - p)) for equal d_i = d. There is nothing to solve.
    Random holders are pairwise balanced on average: partitions i and j share d_i d_j / n workers.

    Parameters
    ----------
    n : int
        Workers.
    d : int or sequence of int
        Copies of each partition, of all alike or one number for each.
    p : float
        Probability with which a worker straggles, as assumed by the encoding.
    k : int, optional
        Partitions; default n.
    layout : {"random", "cyclic"}
        The holders of partition i: d_i random workers, or the workers i, i-1, ..., i-d_i+1 (mod n).
    seed : int
        Seed of the random layout, one stream per partition.

    Raises
    ------
    ParameterError
        Unless 1 <= d_i <= n for k partitions and 0 <= p < 1; for an unknown layout.

    References
    ----------
    Bitar, Wootters, El Rouayheb: Stochastic gradient coding for straggler mitigation in distributed learning, 2020.

    Examples
    --------
    >>> code = StochasticGradientCode(n=5, d=2, p=0.5, layout="cyclic")
    >>> code.decode([[1, 1, 0, 1, 1], [0, 1, 1, 0, 0]]).coefficients
    array([[2., 2., 1., 1., 2.],
           [0., 1., 2., 1., 0.]])
    """

    formulas = {"k": "k", "messages": "1", "length": "1"}
    error_bound = (
        "mean error p / (d (1 - p)) where workers straggle with probability p, unbiased; mean load k d / n"
    )
    decoding = "weight 1 on everyone heard; O(n)"
    limit = "none: nothing is solved"
    source = ("bitar2020",)
    redrawn = True
    most_partitions = 10**5  # each has a random stream of its own
    examples = (
        {"n": 6, "d": 2, "p": 0.3},
        {"n": 5, "d": 3, "p": 0.2, "k": 8, "layout": "cyclic"},
        {"n": 4, "d": (1, 4, 2), "p": 0.0, "k": 3, "seed": 3},
    )

    @checked
    def __init__(
        self,
        n: int,
        d: int | Sequence[int],
        p: float,
        k: int | None = None,
        layout: str = "random",
        seed: int = 0,
    ):
        k = n if k is None else k
        require(k >= 1 and n >= 1, f"stochastic gradient coding needs n >= 1 and k >= 1, got n={n}, k={k}")
        same_of_all = np.ndim(d) == 0
        copies = [int(copy) for copy in np.atleast_1d(d)]
        if same_of_all:
            copies *= k
        require(
            len(copies) == k and all(1 <= copy <= n for copy in copies),
            f"stochastic gradient coding needs 1 <= d <= n for each partition, got n={n}, k={k}, d={d}",
        )
        require(0 <= p < 1, f"stochastic gradient coding needs 0 <= p < 1, got p={p}")
        require_known("layout", layout, LAYOUTS)
        B = np.zeros((n, k))
        for i, (copy, draw) in enumerate(zip(copies, rngs(seed, "assignment", range(k)), strict=True)):
            if layout == "cyclic":
                holders = (i - np.arange(copy)) % n
            else:
                holders = draw.choice(n, size=copy, replace=False)
            B[holders, i] = 1 / (copy * (1 - p))
        super().__init__(B, promise="linear")
        self.d = d if same_of_all else tuple(copies)
        self.p = p
        self.layout = layout
        self.seed = seed

    def weights(self, responses):
        return (responses > 0).astype(float)
