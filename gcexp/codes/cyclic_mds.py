"""Cyclic MDS codes: exact, all rows shifts of one polynomial's coefficients."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Quorum, arcs
from gcexp.codes.closed_form import ClosedFormCode
from gcexp.errors import require, require_known
from gcexp.schema import checked

FIELDS = ("complex", "real")


class CyclicMDS(ClosedFormCode):
    r"""Exact for any s stragglers: worker w sends sum_t b_t g_{w+t}, one polynomial b of degree s for all workers.

    Let z = exp(2 pi i / n) and b(x) = prod_{j in R} (x - z^j), scaled to largest coefficient 1, with s consecutive
    exponents R = {f, ..., f+s-1} that leave out 0: an [n, n-s] cyclic code, MDS by the BCH bound, that contains 1.
    Complex: f = 1. Real: f = (n-s+1)/2, where R = -R. By the q-binomial theorem, with q = z, no root is multiplied out:

        b_{s-i} = (-1)^i z^{i (f + (s-1)/2)} prod_{t=1..i} sin(pi (s-i+t) / n) / sin(pi t / n),

    and b(1) = prod_{j in R} (-2i) sin(pi j / n) exp(i pi j / n).

    Weights a give c = 1 exactly if a_w = 1/b(1) + sum_{j in R} y_j z^{-jw}. Zero on s stragglers S, this is Lagrange
    interpolation on the circle: with e_w = z^{-(f + (s-1)/2) w}, h_{wv} = sin(pi (w-v)/n) and
    l_v = 1 / prod_{u in S, u != v} h_{vu},

        a_w = (1 - e_w prod_{v in S} h_{wv} sum_{v in S} l_v / (e_v h_{wv})) / b(1)          for w not in S.

    Rounding sets the limits, and a run of s neighbours is the hardest pattern: about every s up to n = 40, few or
    nearly all workers beyond (measured: docs/codes-accuracy.md). `gcexp.codes.accuracy` refuses the others before a
    run. The pseudoinverse stands in where it is better.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers; the load is s+1.
    field : {"complex", "real"}
        Of the coefficients; a complex message has twice the length.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n; if the real code is asked for n and s of equal parity.

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
    limit = "about any s up to n = 40, few or nearly all workers beyond: neighbours are hardest; see codes-accuracy.md"
    instead = "CyclicRepetition, which bears as many stragglers with the same load"
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
        b, at_one = _polynomial(n, s, first)
        if field == "real":
            b = b.real
            at_one = at_one.real
        B = np.zeros((n, n), dtype=b.dtype)
        B[np.arange(n)[:, None], arcs(n, s + 1)] = b
        super().__init__(B, quorums=[Quorum(range(n), [(1, n - s)])])
        self.s = s
        self.field = field
        self._sum = at_one
        w = np.arange(n)
        self._sine = np.sin(np.pi * (w[:, None] - w) / n)
        turn = np.exp(-2j * np.pi * (first + (s - 1) / 2) * w / n)
        self._turn = turn.real if field == "real" else turn  # +-1 in the real code

    def _closed_form(self, heard: np.ndarray) -> np.ndarray:
        # If more than n - s were heard, the first of them count as silent too, so that s always are.
        silent = np.argsort(heard, axis=1, kind="stable")[:, : self.s]
        among_silent = self._sine[silent[:, :, None], silent[:, None, :]] + np.eye(self.s)
        to_silent = self._sine[:, silent].transpose(1, 0, 2)
        to_silent[np.arange(len(silent))[:, None], silent] = 1  # not used
        terms = 1 / (among_silent.prod(2) * self._turn[silent])
        sums = (terms[:, None] / to_silent).sum(2)
        a = (1 - self._turn * to_silent.prod(2) * sums) / self._sum
        np.put_along_axis(a, silent, 0, axis=1)
        return a


def _polynomial(n: int, s: int, first: int) -> tuple[np.ndarray, complex]:
    """b_0, ..., b_s of the polynomial with roots z^first, ..., z^(first+s-1) and largest |b_i| 1, and b(1)."""
    t = np.arange(1, s + 1)
    half = np.cumprod(np.sin(np.pi * (s + 1 - t[: s // 2]) / n) / np.sin(np.pi * t[: s // 2] / n))
    size = np.concatenate([[1.0], half])
    size = np.concatenate([size, size[: s - s // 2][::-1]])  # symmetric
    i = np.arange(s, -1, -1)
    # (-1)^i z^{i (first + (s-1)/2)}, as a fraction of a turn that stays exact: half turns are whole
    phase = np.exp(1j * np.pi * ((i * (2 * first + s - 1) + i * n) % (2 * n)) / n)
    roots = np.arange(first, first + s)
    at_one = np.prod(-2j * np.sin(np.pi * roots / n) * np.exp(1j * np.pi * roots / n))
    return phase * size / size.max(), at_one / size.max()
