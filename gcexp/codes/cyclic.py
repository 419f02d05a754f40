"""Cyclic repetition code."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code, Quorum, arcs
from gcexp.errors import require
from gcexp.seeding import rng


class CyclicRepetition(Code):
    r"""Exact for any s stragglers: worker i sends one combination of the partitions i, ..., i+s (mod n).

    H is s x n Gaussian with H 1 = 0. Row i of B is 1 at i and -H_J^{-1} h_i on J = {i+1, ..., i+s}, scaled to
    largest entry 1. So H B^T = 0: any n-s rows span the null space of H, which contains 1. All solutions of
    a B = 1 are a_0 + z N, with N (s x n) spanning the left null space of B; silencing S means
    z N_S = -a_{0,S}: s unknowns, not n-s.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers; the load is s+1.
    seed : int
        Seed of H.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n.

    References
    ----------
    Tandon et al.: Gradient Coding, ICML 2017, section 3.2.

    Examples
    --------
    >>> code = CyclicRepetition(n=5, s=2)
    >>> code.load, code.length
    (array([3, 3, 3, 3, 3]), 1.0)
    >>> code.decode([[1, 0, 1, 1, 0]]).coefficients
    array([[1., 1., 1., 1., 1.]])
    """

    examples = ({"n": 5, "s": 2}, {"n": 8, "s": 3}, {"n": 4, "s": 0}, {"n": 3, "s": 2})

    def __init__(self, n: int, s: int, seed: int = 0):
        require(0 <= s < n, f"cyclic repetition needs 0 <= s < n, got n={n}, s={s}")
        H = rng(seed, "assignment").standard_normal((s, n))
        H[:, -1:] -= H.sum(1, keepdims=True)
        B = np.eye(n)
        for i, J in enumerate(arcs(n, s + 1)[:, 1:]):
            B[i, J] = -np.linalg.solve(H[:, J], H[:, i])
        B /= abs(B).max(1, keepdims=True)
        super().__init__(B, quorums=[Quorum(range(n), [(1, n - s)])])
        self.s, self.seed = s, seed
        self._a0 = np.linalg.lstsq(B.T, np.ones(n), rcond=None)[0]
        self._null = np.linalg.svd(B)[0][:, n - s :].T

    def weights(self, heard):
        a, few = np.empty(heard.shape), heard.sum(1) < self.n - self.s
        a[few] = super().weights(heard[few])[:, 0]  # below the quorum: best effort
        silent = np.argsort(heard[~few], axis=1, kind="stable")[:, : self.s]
        z = np.linalg.solve(self._null[:, silent].transpose(1, 2, 0), -self._a0[silent][..., None])[..., 0]
        a[~few] = self._a0 + z @ self._null
        return np.where(heard > 0, a, 0)
