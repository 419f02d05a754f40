"""Fractional repetition codes: groups of workers that hold the same partitions."""

from __future__ import annotations

from math import comb

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code
from gcexp.codes.divisors import divisors
from gcexp.codes.quorums import Quorums
from gcexp.errors import ParameterError, require
from gcexp.schema import checked


class FractionalRepetition(Code):
    r"""Workers in n/d groups of d; all members of a group send the sum of the same k d/n of the k partitions.

    Group b(w) = floor(w / d), so replicas are adjacent. Decoding takes one survivor per group. Exact for any
    s <= d - 1 stragglers; for a random straggler set the mean recovered fraction is 1 - C(s,d)/C(n,d), in the worst
    case 1 - (d/n) floor(s/d).

    Parameters
    ----------
    n : int
        Workers.
    d : int, optional
        Group size, which is the load where k = n; default s + 1.
    k : int, optional
        Partitions, a multiple of the n/d groups; default n.
    s : int, optional
        Stragglers, for the default of d.

    Raises
    ------
    ParameterError
        Unless d or s is given, 1 <= d <= n, d divides n, and n/d divides k >= 1.

    References
    ----------
    Tandon et al.: Gradient Coding, ICML 2017, section 3.1. Wang, Liu, Shroff: Fundamental limits of approximate
    gradient coding, 2019 (as the code of eps-FRC).

    Examples
    --------
    >>> code = FractionalRepetition(n=6, d=2)
    >>> code.decode([[0, 1, 1, 1, 0, 0]], partial=True).coefficients
    array([[1., 1., 1., 1., 0., 0.]])
    """

    most_workers = 10**6
    formulas = {"k": "k", "load": "d * k // n", "messages": "1", "length": "1"}
    error_bound = "of s random stragglers, a fraction C(s,d)/C(n,d) is lost on average"
    decoding = "one survivor of each group; O(n)"
    limit = "none: nothing is solved"
    source: tuple[str, ...] = ("tandon2017",)
    examples: tuple[dict, ...] = (
        {"n": 6, "d": 2},
        {"n": 4, "d": 4},
        {"n": 3, "d": 1},
        {"n": 6, "d": 3, "k": 8},
    )

    @checked
    def __init__(self, n: int, d: int | None = None, k: int | None = None, s: int | None = None):
        k = n if k is None else k
        if d is None:
            if s is None:
                raise ParameterError("fractional repetition needs d, or s for d = s + 1; got neither")
            d = s + 1
        require(d >= 1, f"fractional repetition needs 1 <= d <= n, got n={n}, d={d}")
        if n % d:
            raise ParameterError(
                f"fractional repetition needs d = s + 1 to divide n, got n={n}, d={d} (with n={n} these s work, to be "
                f"set with s: {divisors(n, less=1)})"
            )
        groups = np.arange(n).reshape(-1, d)
        require(
            k >= 1 and k % len(groups) == 0,
            f"fractional repetition needs k >= 1 that the n/d = {len(groups)} groups divide, got k={k}",
        )
        self.d = d
        share = k // len(groups)  # a worker's partitions follow each other: no dense matrix
        first_of_worker = np.arange(0, k, share).repeat(d)
        columns = (first_of_worker[:, None] + np.arange(share)).ravel()
        rows = (np.ones(n * share), columns, np.arange(0, n * share + 1, share))
        super().__init__(
            sparse.csr_array(rows, shape=(n, k)),
            quorums=Quorums(groups, [(1, 1)]),
        )

    def trusted(self, responses):
        heard = self.quorums.each_met(responses)
        return np.ones(len(responses), dtype=bool), heard.repeat(self.k // heard.shape[1], axis=1)

    def weights(self, responses):
        heard = responses.reshape(len(responses), self.n // self.d, self.d) > 0
        is_first = heard & (np.cumsum(heard, axis=2) == 1)
        return is_first.reshape(responses.shape).astype(float)


class EpsilonFractionalRepetition(FractionalRepetition):
    r"""Fractional repetition with the smallest load whose mean lost fraction is at most epsilon (eps-FRC).

    d is the smallest divisor of n with C(s,d)/C(n,d) <= epsilon.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers.
    epsilon : float
        Mean fraction of the partitions that may be lost to s random stragglers.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and 0 <= epsilon < 1.

    References
    ----------
    Wang, Liu, Shroff: Fundamental limits of approximate gradient coding, 2019 (order of Theorem 4; the divisor rule
    is an assumption of this library).

    Examples
    --------
    >>> EpsilonFractionalRepetition(n=30, s=19, epsilon=0.1).d
    5
    """

    formulas = {"k": "n", "load": "d", "messages": "1", "length": "1"}
    error_bound = "at most a fraction epsilon is lost on average to s random stragglers"
    source = ("wang2019fundamental", "tandon2017")
    examples = ({"n": 12, "s": 5, "epsilon": 0.1}, {"n": 6, "s": 0, "epsilon": 0.0})

    @checked
    def __init__(self, n: int, s: int, epsilon: float):
        require(0 <= s < n, f"eps-FRC needs 0 <= s < n, got n={n}, s={s}")
        require(0 <= epsilon < 1, f"eps-FRC needs 0 <= epsilon < 1, got epsilon={epsilon}")
        self.s, self.epsilon = s, epsilon
        for d in range(1, n + 1):
            if n % d == 0 and comb(s, d) <= epsilon * comb(n, d):
                break  # d = n always does: C(s, n) = 0
        super().__init__(n, d)
