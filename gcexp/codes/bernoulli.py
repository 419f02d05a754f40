"""Bernoulli gradient codes: every worker holds every partition with the same probability."""

from __future__ import annotations

import numpy as np

from gcexp.codes.approximate import ApproximateCode
from gcexp.errors import require
from gcexp.schema import checked
from gcexp.seeding import rngs

_MOST_DRAWN = 10**8  # entries of the assignment, as 10 000 workers with as many partitions have


class BernoulliCode(ApproximateCode):
    r"""Worker w holds each of the k partitions with probability p = d/k, independently, and sends their sum (BGC).

    With m workers heard, weight 1/(p m) on each makes c_i = X_i / (p m), X_i ~ Binomial(m, p): unbiased over the draw
    of the code, with mean error ||c - 1||^2 / k = (1 - p) / (m p). A worker without a partition stays, and sends zero.

    Parameters
    ----------
    n, d : int, float
        Workers and mean load.
    k : int, optional
        Partitions; default n.
    decoder : {"one_step", "optimal"}
        Weights 1/(p m), or those of smallest ||c - 1||.
    seed : int
        Seed of the assignment, one stream per worker.

    Raises
    ------
    ParameterError
        Unless n >= 1 and 0 < d <= k; for an unknown decoder.

    References
    ----------
    Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017, section 4.

    Examples
    --------
    >>> code = BernoulliCode(n=10, d=4)
    >>> code.load
    array([3, 7, 1, 1, 3, 3, 4, 3, 1, 3])
    """

    formulas = {"k": "k", "messages": "1", "length": "1"}
    error_bound = "mean error (1 - p) / (p m) of one_step with m heard, p = d/k; mean load d"
    source = ("charles2017",)
    redrawn = True
    examples: tuple[dict, ...] = (
        {"n": 8, "d": 3},
        {"n": 6, "d": 2.5, "k": 9, "decoder": "optimal", "seed": 1},
        {"n": 9, "d": 2, "k": 4, "decoder": "optimal"},
        {"n": 3, "d": 3},
    )

    @checked
    def __init__(self, n: int, d: float, k: int | None = None, decoder: str = "one_step", seed: int = 0):
        k = n if k is None else k
        require(
            n >= 1 and 0 < d <= k, f"a Bernoulli code needs n >= 1 and 0 < d <= k, got n={n}, d={d:g}, k={k}"
        )
        require(
            n * k <= _MOST_DRAWN,
            f"a Bernoulli code draws n k entries, up to {_MOST_DRAWN}, got n={n}, k={k}",
        )
        self.d = d
        self.p = d / k
        self.seed = seed
        is_held = np.zeros((n, k), dtype=bool)
        for w, random in enumerate(rngs(seed, "assignment", range(n))):
            is_held[w] = self._row(k, random)
        super().__init__(is_held.astype(float), decoder, scale=1 / self.p)

    def _row(self, k: int, random: np.random.Generator) -> np.ndarray:
        return random.random(k) < self.p


class RegularizedBernoulliCode(BernoulliCode):
    r"""A Bernoulli code without overloaded workers (rBGC).

    The draw of `BernoulliCode`; then every worker with more than 2 d partitions keeps a random subset of exactly
    ceil(d) of them. The weights stay those of the Bernoulli code.

    Parameters
    ----------
    n, d : int, float
        Workers and mean load before the cut.
    k : int, optional
        Partitions; default n.
    decoder : {"one_step", "optimal"}
        Weights 1/(p m), or those of smallest ||c - 1||.
    seed : int
        Seed of the assignment, one stream per worker, the same as the Bernoulli code's.

    Raises
    ------
    ParameterError
        Unless n >= 1 and 0 < d <= k; for an unknown decoder.

    References
    ----------
    Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017, section 5 (recalled,
    not confirmed: the number of partitions kept is an assumption of this library).

    Examples
    --------
    >>> int(BernoulliCode(n=40, d=2).load.max()), int(RegularizedBernoulliCode(n=40, d=2).load.max())
    (7, 4)
    """

    error_bound = "about that of the Bernoulli code; mean load at most d, none above 2 d"
    source = ("charles2017",)
    examples = (
        {"n": 12, "d": 1},
        {"n": 8, "d": 1.5, "decoder": "optimal", "seed": 2},
        {"n": 6, "d": 1, "k": 10},
    )

    def _row(self, k, random):
        is_held = super()._row(k, random)
        if is_held.sum() > 2 * self.d:
            shuffled = random.permutation(np.flatnonzero(is_held))
            is_held[shuffled[int(np.ceil(self.d)) :]] = False
        return is_held
