"""Batch raptor code: sums of random batches, decoded by peeling."""

from __future__ import annotations

from math import ceil, floor, log

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.divisors import divisors
from gcexp.errors import ParameterError, require
from gcexp.schema import checked
from gcexp.seeding import rngs


def degree_law(epsilon: float) -> np.ndarray:
    r"""Probabilities of the degrees 1, ..., D+1 of a batch raptor code.

    D = floor(1/epsilon), u = 2 epsilon (1 - 2 epsilon) / (1 - 4 epsilon)^2, P_1 = u/(u+1),
    P_i = 1/(i (i-1) (u+1)) for 2 <= i <= D, and P_{D+1} = 1/(D (u+1)). This is recalled from Theorem 6 of Wang, Liu and
    Shroff, not confirmed; the shape is that of Shokrollahi's raptor codes.
    """
    require(0 < epsilon < 0.25, f"the raptor degree law needs 0 < epsilon < 1/4, got epsilon={epsilon}")
    D = floor(1 / epsilon + 1e-9)  # 1 / epsilon may round to just below an integer
    u = 2 * epsilon * (1 - 2 * epsilon) / (1 - 4 * epsilon) ** 2
    i = np.arange(2, D + 1)
    return np.concatenate([[u], 1 / (i * (i - 1)), [1 / D]]) / (u + 1)


def peeling_weights(sums: np.ndarray, received: np.ndarray) -> np.ndarray:
    r"""Weights that turn 0/1 sums into the sum of all unknowns that peeling recovers.

    The sums are (M, batches), those received and the weights (U, M).
    While a received sum holds exactly one unknown batch, that batch is recovered and subtracted from all
    others. If message w_t reveals batch b_t at step t, the sum of all revealed batches is
    sum_t v_t * (message w_t) with v_t = 1 - sum_{t' > t, b_t in w_t'} v_t': integers, found backwards.
    """
    sums = np.asarray(sums, dtype=bool)
    received = np.asarray(received, dtype=bool)
    is_recovered = np.zeros((len(received), sums.shape[1]), dtype=bool)
    missing = np.tile(sums.sum(1).astype(np.int16), (len(received), 1))  # unknown batches in each sum
    steps = []
    while True:  # every step reveals one batch in each pattern that is not finished
        ready = received & (missing == 1)
        rows = np.flatnonzero(ready.any(1))
        if not len(rows):
            break
        message = ready[rows].argmax(1)
        batch = (sums[message] & ~is_recovered[rows]).argmax(1)
        is_recovered[rows, batch] = True
        missing[rows] -= sums.T[batch]
        steps.append((rows, message, batch))
    weights = np.zeros(received.shape)
    covered = np.zeros(is_recovered.shape)
    for rows, message, batch in reversed(steps):
        v = 1 - covered[rows, batch]
        weights[rows, message] = v
        covered[rows] += v[:, None] * sums[message]
    return weights


class BatchRaptor(Code):
    r"""Sums of random batches; peeling recovers what it can, possibly nothing (eps-BRC).

    The k = n partitions form n/b batches of b consecutive ones. A worker draws a degree from `degree_law`,
    cut off at n/b (not renormalised), then that many distinct batches, uniformly. There is no quorum:
    whatever is heard decodes to a 0/1 vector, and the recovered fraction is random.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers; s sets the default batch.
    epsilon : float
        Fraction that may be lost, of `degree_law`.
    batch : int, optional
        Partitions per batch; default: ceil(1/ln(n/s)) + 1, raised to the next divisor of n (at most n).
    seed : int
        Seed of the assignment, one stream per worker.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n, 0 < epsilon < 1/4 and batch divides n.

    References
    ----------
    Wang, Liu, Shroff: Fundamental limits of approximate gradient coding, 2019, Theorem 6 (degree law and
    batch rule are assumptions of this library).

    Examples
    --------
    >>> code = BatchRaptor(n=30, s=19, epsilon=0.1)
    >>> code.batch, code.load[:6]
    (5, array([10, 10, 10, 15, 30, 30]))
    """

    formulas = {"k": "n", "messages": "1", "length": "1"}
    error_bound = "meant to lose a fraction epsilon at most; may lose everything"
    decoding = "peeling; O(n^2 / batch)"
    limit = "none: nothing is solved"
    source = ("wang2019fundamental",)
    redrawn = True
    examples = (
        {"n": 12, "s": 6, "epsilon": 0.1},
        {"n": 8, "s": 0, "epsilon": 0.2, "batch": 1, "seed": 3},
        {"n": 2, "s": 1, "epsilon": 0.1},
    )

    @checked
    def __init__(self, n: int, s: int, epsilon: float, batch: int | None = None, seed: int = 0):
        require(0 <= s < n, f"eps-BRC needs 0 <= s < n, got n={n}, s={s}")
        law = degree_law(epsilon)
        if batch is None:
            least = ceil(1 / log(n / s)) + 1 if s else 1
            batch = next(size for size in range(1, n + 1) if n % size == 0 and (size >= least or size == n))
        if not (1 <= batch <= n and n % batch == 0):
            raise ParameterError(
                f"eps-BRC needs batch to divide n, got n={n}, batch={batch} (allowed: {divisors(n)})"
            )
        self._sums = np.zeros((n, n // batch), dtype=bool)
        for w, draw in enumerate(rngs(seed, "assignment", range(n))):
            degree = min(int(draw.choice(len(law), p=law)) + 1, n // batch)
            self._sums[w, draw.choice(n // batch, size=degree, replace=False)] = True
        super().__init__(np.repeat(self._sums, batch, axis=1), recovers=0)
        self.s = s
        self.epsilon = epsilon
        self.batch = batch
        self.seed = seed

    def weights(self, responses):
        return peeling_weights(self._sums, responses > 0)
