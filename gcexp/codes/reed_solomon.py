"""Reed-Solomon gradient codes: exact, decoded by interpolation at zero."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Quorum
from gcexp.codes.closed_form import ClosedFormCode
from gcexp.errors import require, require_known
from gcexp.schema import checked

MASKS = ("cyclic", "spread")


class ReedSolomon(ClosedFormCode):
    r"""Exact for any s stragglers and any number k of partitions, with a decoder in closed form.

    Let a_i = exp(2 pi i / n). Partition p is on the s+1 workers H_p, and t_p(x) = prod_{i not in H_p} (1 - x / a_i), a
    polynomial of degree n-s-1 with t_p(0) = 1; worker i holds B[i,p] = t_p(a_i), zero outside H_p. All t_p(0), hence 1,
    follow from the values at any n-s points by Lagrange's formula. Without the workers S, |S| <= s, it is

        weight_i = prod_{j not in S, j != i} a_j / (a_j - a_i) = (1/n) prod_{v in S} (1 - a_i / a_v).

    Rows are scaled to largest entry 1. Supports are balanced: loads are k(s+1)/n, rounded either way. Spread supports
    make all entries alike in size (with s+1 dividing n they are equal: fractional repetition), and the code stays
    usable where cyclic supports, whose entries grow like (n/s)^s, are lost to rounding. A run of s neighbours is the
    hardest pattern: with cyclic supports it leaves about every s up to n = 40 and few or nearly all workers beyond,
    with spread ones every s up to n = 60 and s up to n / 4 beyond (measured: docs/codes-accuracy.md).
    `gcexp.codes.accuracy` refuses the others before a run. The pseudoinverse stands in where it is better.

    Parameters
    ----------
    n, s : int
        Workers and stragglers; complex messages have twice the length of a gradient.
    k : int, optional
        Partitions; default n.
    mask : {"spread", "cyclic"}
        H_p = {floor((p + t k) n / ((s+1) k)), t = 0, ..., s}, about n/(s+1) apart; or floor(p n / k) and the s workers
        before it (mod n).

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and k >= 1; for an unknown mask.

    References
    ----------
    Halbawi, Azizan, Salehi, Hassibi: Improving distributed gradient descent using Reed-Solomon codes, ISIT 2018 (for
    any balanced mask; the spread one is this library's choice).

    Examples
    --------
    >>> code = ReedSolomon(n=5, s=2, k=10)
    >>> code.load, code.length
    (array([6, 6, 6, 6, 6]), 2.0)
    >>> code.decode([[1, 0, 1, 1, 0]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "k", "load": "ceil(k * (s + 1) / n)", "messages": "1", "length": "2"}
    decoding = "closed form (interpolation at 0); O(s n); the pseudoinverse where that is better"
    limit = "neighbours are hardest: any s up to n = 60 (mask=cyclic: 40), s up to n / 4 beyond; see codes-accuracy.md"
    instead = "CyclicRepetition, which bears as many stragglers with the same load"
    source = ("halbawi2018",)
    examples = (
        {"n": 7, "s": 3},
        {"n": 9, "s": 3, "mask": "cyclic"},
        {"n": 6, "s": 2, "k": 4},
        {"n": 4, "s": 3, "k": 5, "mask": "cyclic"},
        {"n": 3, "s": 0},
    )

    @checked
    def __init__(self, n: int, s: int, k: int | None = None, mask: str = "spread"):
        k = n if k is None else k
        require(0 <= s < n, f"a Reed-Solomon code needs 0 <= s < n, got n={n}, s={s}")
        require(k >= 1, f"a Reed-Solomon code needs k >= 1, got k={k}")
        require_known("mask", mask, MASKS)
        a = np.exp(2j * np.pi * np.arange(n) / n)
        self._factor = 1 - a[:, None] / a  # [i, v]
        p = np.arange(k)[:, None]
        step = np.arange(s + 1)
        if mask == "spread":
            H = (p + step * k) * n // ((s + 1) * k)
        else:
            H = (p * n // k - step) % n
        B = np.zeros((n, k), dtype=complex)
        # prod over all v != i of (1 - a_i / a_v) is n, so t_p(a_i) = n / prod over v in H_p, v != i.
        B[H, p] = n / (self._factor[H[:, :, None], H[:, None]] + np.eye(s + 1)).prod(2)
        self._scale = np.abs(B).max(1)
        self._scale[self._scale == 0] = 1  # a worker without partitions, k < n
        super().__init__(B / self._scale[:, None], quorums=[Quorum(range(n), [(1, n - s)])])
        self.s, self.mask = s, mask

    def _closed_form(self, heard: np.ndarray) -> np.ndarray:
        # If more than n - s were heard, some of these s were: their factor is 1.
        silent = np.argsort(heard, axis=1, kind="stable")[:, : self.s]
        is_heard = np.take_along_axis(heard, silent, 1)
        factor = np.where(is_heard[:, None], 1, self._factor[:, silent].swapaxes(0, 1))
        return np.where(heard, factor.prod(2) * self._scale / self.n, 0)
