"""Naive partial recovery: drop a part of the data, code the rest."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.errors import require
from gcexp.schema import checked

_DENOMINATOR = 1000


class NaivePartial(Code):
    r"""Keep the fraction alpha of the data and run an exact code on it: what partial recovery has to beat.

    With alpha = a/b in lowest terms the data are k = n b / gcd(a, n) equal partitions. The first alpha k of them are
    kept, as n pieces of a / gcd(a, n) consecutive partitions, and coded with `CyclicRepetition`; the others are on no
    worker. The coefficients are 1 on the kept partitions and 0 on the rest, in every iteration: the dropped data are
    never learnt from. Load alpha (s+1)/n, the least for one message.

    Parameters
    ----------
    n, s : int
        Workers and stragglers.
    alpha : float
        Fraction kept; read as the nearest fraction with a denominator of at most 1000.
    seed : int
        Seed of the coefficients, as in `CyclicRepetition`.

    Attributes
    ----------
    kept : ndarray of bool (k,)
        Which partitions the workers hold.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and 0 < alpha <= 1.

    References
    ----------
    Sarmasarkar, Lalitha, Karamchandani: On Gradient Coding with Partial Recovery, arXiv 2102.10163, section IV
    ("naive" scheme, Table 4). Tandon et al.: Gradient Coding, ICML 2017 (the code of the kept part).

    Examples
    --------
    >>> code = NaivePartial(n=5, s=2, alpha=5 / 7)
    >>> code.k, code.load, code.kept.astype(int)
    (7, array([3, 3, 3, 3, 3]), array([1, 1, 1, 1, 1, 0, 0]))
    >>> code.decode([[1, 0, 1, 1, 0]]).coefficients
    array([[1., 1., 1., 1., 1., 0., 0.]])
    """

    formulas = {"load": "alpha * k * (s + 1) / n", "messages": "1", "length": "1"}
    decoding = "that of cyclic repetition; O(s^3 + s n)"
    limit = "that of cyclic repetition"
    instead = "fewer stragglers"
    source = ("sarmasarkar2021", "tandon2017")
    examples = (
        {"n": 5, "s": 2, "alpha": 0.5},
        {"n": 4, "s": 1, "alpha": 1.0},
        {"n": 6, "s": 3, "alpha": 0.8},
    )

    @checked
    def __init__(self, n: int, s: int, alpha: float, seed: int = 0):
        require(0 < alpha <= 1, f"naive partial recovery needs 0 < alpha <= 1, got alpha={alpha}")
        fraction = Fraction(alpha).limit_denominator(_DENOMINATOR)
        require(fraction > 0, f"naive partial recovery needs alpha >= 1/{_DENOMINATOR}, got alpha={alpha}")
        self._on_kept = CyclicRepetition(n, s, seed=seed)
        shared = gcd(fraction.numerator, n)
        k = n * fraction.denominator // shared
        piece = fraction.numerator // shared
        self.kept = np.arange(k) < n * piece
        rows = np.zeros((n, k))
        rows[:, self.kept] = np.repeat(self._on_kept.encoding.toarray(), piece, axis=1)
        super().__init__(rows, quorums=self._on_kept.quorums, recovers=n * piece)
        self.s = s
        self.alpha = float(alpha)
        self.seed = seed

    def weights(self, responses):
        return self._on_kept.weights(responses)
