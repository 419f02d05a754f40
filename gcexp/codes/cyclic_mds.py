"""Cyclic MDS codes: exact, all rows shifts of one polynomial's coefficients."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code, Quorum, arcs
from gcexp.codes.closed_form import or_pseudoinverse
from gcexp.errors import require, require_known
from gcexp.schema import checked

FIELDS = ("complex", "real")
_SMALLEST = 1e-6  # g(1) with largest coefficient 1: below this the complex code has no digits left


class CyclicMDS(Code):
    r"""Exact for any s stragglers: worker w sends sum_t b_t g_{w+t}, one polynomial b of degree s for all workers.

    Let z = exp(2 pi i / n) and b(x) = prod_{j in R} (x - z^j), scaled to largest coefficient 1, with s consecutive
    exponents R = {f, ..., f+s-1} that leave out 0: an [n, n-s] cyclic code, MDS by the BCH bound, that contains 1.
    Complex: f = 1. Real: f = (n-s+1)/2, where R = -R.

    Weights a give c = 1 exactly if a_w = 1/b(1) + sum_{j in R} y_j z^{-jw}. Zero on s stragglers S, this is Lagrange
    interpolation on the circle: with e_w = z^{-(f + (s-1)/2) w}, h_{wv} = sin(pi (w-v)/n) and
    l_v = 1 / prod_{u in S, u != v} h_{vu},

        a_w = (1 - e_w prod_{v in S} h_{wv} sum_{v in S} l_v / (e_v h_{wv})) / b(1)          for w not in S.

    Rounding sets the limits. Residuals over random sets, and over a run of neighbours, which is hard: complex
    2e-12 and 3e-12 at (n,s) = (20,6), 3e-10 and 1e-10 at (30,10), 1e-7 and 5e-7 at (60,10); refused where b(1) < 1e-6,
    as at (100,10). Real 5e-13 and 2e-10 at (31,10), 1e-11 and 5e-8 at (61,10), 7e-11 and an error at (101,10). The
    pseudoinverse stands in where it is better.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers; the load is s+1.
    field : {"complex", "real"}
        Of the coefficients; a complex message has twice the length.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n; if the real code is asked for n and s of equal parity; if the complex code has lost its
        accuracy.

    References
    ----------
    Raviv, Tamo, Tandon, Dimakis: Gradient coding from cyclic MDS codes and expander graphs, ICML 2018, section 4.

    Examples
    --------
    >>> code = CyclicMDS(n=8, s=3, field="real")
    >>> code.load, code.length
    (array([4, 4, 4, 4, 4, 4, 4, 4]), 1.0)
    >>> code.encoding.toarray()[0].round(3)
    array([0.414, 1.   , 1.   , 0.414, 0.   , 0.   , 0.   , 0.   ])
    >>> code.decode([[0, 1, 1, 0, 1, 0, 1, 1]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "n", "load": "s + 1", "messages": "1"}
    decoding = "closed form (Lagrange on the circle); O(s n); the pseudoinverse where that is better"
    limit = "complex: refused where b(1) < 1e-6, as at (n, s) = (100, 10); real: neighbours fail at (101, 10)"
    source = ("raviv2018",)
    examples = (
        {"n": 7, "s": 3},
        {"n": 8, "s": 3, "field": "real"},
        {"n": 7, "s": 2, "field": "real"},
        {"n": 5, "s": 4},
        {"n": 3, "s": 0},
    )

    @checked
    def __init__(self, n: int, s: int, field: str = "complex"):
        require(0 <= s < n, f"a cyclic MDS code needs 0 <= s < n, got n={n}, s={s}")
        require_known("field", field, FIELDS)
        real = field == "real" and s > 0
        require(
            not real or (n - s) % 2 == 1,
            f"a real cyclic MDS code needs n and s of opposite parity, got n={n}, s={s}; take s={s + 1} or "
            "field=complex",
        )
        first = (n - s + 1) // 2 if real else 1
        b = np.atleast_1d(np.poly(np.exp(2j * np.pi * np.arange(first, first + s) / n)))[::-1]
        b = (b.real if field == "real" else b) / np.abs(b).max()
        require(
            abs(b.sum()) >= _SMALLEST,
            f"the complex cyclic MDS code loses its accuracy for n={n}, s={s}: b(1) = {abs(b.sum()):.0e}; take "
            "field=real (n and s of opposite parity) or ReedSolomon",
        )
        B = np.zeros((n, n), dtype=b.dtype)
        B[np.arange(n)[:, None], arcs(n, s + 1)] = b
        super().__init__(B, quorums=[Quorum(range(n), [(1, n - s)])])
        self.s, self.field, self._sum = s, field, b.sum()
        w = np.arange(n)
        self._sine = np.sin(np.pi * (w[:, None] - w) / n)
        turn = np.exp(-2j * np.pi * (first + (s - 1) / 2) * w / n)
        self._turn = turn.real if field == "real" else turn  # +-1 in the real code

    def weights(self, heard):
        there = heard > 0
        enough = there.sum(1) >= self.n - self.s
        a = np.zeros(heard.shape, dtype=self._turn.dtype)
        a[enough] = self._closed_form(there[enough])
        return or_pseudoinverse(self, heard, a)

    def _closed_form(self, there: np.ndarray) -> np.ndarray:
        silent = np.argsort(there, axis=1, kind="stable")[
            :, : self.s
        ]  # of those heard, the first make up the number
        among = self._sine[silent[:, :, None], silent[:, None, :]] + np.eye(self.s)
        h = self._sine[:, silent].transpose(1, 0, 2)
        h[np.arange(len(h))[:, None], silent] = 1  # not used
        terms = 1 / (among.prod(2) * self._turn[silent])
        a = (1 - self._turn * h.prod(2) * (terms[:, None] / h).sum(2)) / self._sum
        np.put_along_axis(a, silent, 0, axis=1)
        return a
