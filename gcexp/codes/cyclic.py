"""Cyclic repetition code."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code, Quorum, arcs
from gcexp.codes.linear import svd
from gcexp.errors import require, require_known
from gcexp.schema import checked
from gcexp.seeding import rng


def spread(n: int, s: int, seed: int) -> np.ndarray:
    r"""H (s x n) with H 1 = 0 whose windows of s cyclically consecutive columns are well conditioned.

    Rows are cosines and sines over the workers, one frequency near the middle of each of s/2 equal cells of (0, n/2),
    and for odd s an alternating row; plus Gaussian noise, which makes every s columns independent. A purely Gaussian H
    has a few nearly singular windows: for s = n/10 and random stragglers the largest decode errors are then 1e-10 to
    1e-7 at n = 100 to 400, and 1e-13 to 1e-11 here for the default seed (``python -m benchmarks b1``). Of tens of
    thousands of sets at s near n/2 the worst loses more, 3e-10 at (n, s) = (20, 9) and 6e-10 at (30, 19): its weights
    are near 1e6, and no refinement helps.

    Examples
    --------
    >>> bool(abs(spread(6, 2, seed=0).sum(1)).max() < 1e-14)
    True
    """
    draw = rng(seed, "assignment")
    cell = np.arange(s // 2) + 0.5 + draw.uniform(-0.2, 0.2, s // 2)
    angle = 2 * np.pi / n * np.outer(np.maximum(np.rint(cell * n / max(s, 1)), 1), np.arange(n))
    alternating = np.sqrt(0.5) * np.where(np.arange(n) % 2, -1.0, 1.0)
    H = np.concatenate([np.cos(angle), np.sin(angle), alternating[None][: s % 2]])
    H += 0.2 * draw.standard_normal((s, n))
    return H - H.mean(1, keepdims=True)


def gaussian(n: int, s: int, seed: int) -> np.ndarray:
    """H (s x n) as in the paper: standard normal, the last column minus the sum of the others."""
    H = rng(seed, "assignment").standard_normal((s, n))
    H[:, -1:] -= H.sum(1, keepdims=True)
    return H


CONSTRUCTIONS = {"spread": spread, "gaussian": gaussian}


class CyclicRepetition(Code):
    r"""Exact for any s stragglers: worker i sends one combination of the partitions i, ..., i+s (mod n).

    H is s x n with H 1 = 0. Row i of B is 1 at i and -H_J^{-1} h_i on
    J = {i+1, ..., i+s}, scaled to largest entry 1. So H B^T = 0: any n-s rows span the null space of H, which
    contains 1. All solutions of a B = 1 are a_0 + z N, with N (s x n) spanning the left null space of B; silencing S
    means z N_S = -a_{0,S}: s unknowns, not n-s.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers; the load is s+1.
    construction : {"spread", "gaussian"}
        H of `spread`, which decodes accurately up to n = 400, or `gaussian`, the paper's.
    seed : int
        Seed of H.

    Raises
    ------
    ParameterError
        Unless 0 <= s < n and the construction exists.

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

    formulas = {"k": "n", "load": "s + 1", "messages": "1", "length": "1"}
    decoding = "a linear system of s unknowns; O(s^3 + s n)"
    limit = (
        "below 1e-9 up to n = 400 on all sets tried, 1e-7 with construction=gaussian; see codes-accuracy.md"
    )
    tried = ({}, {"construction": "gaussian"})
    instead = "construction=spread, or FractionalRepetition where s + 1 divides n"
    source = ("tandon2017",)
    examples = (
        {"n": 5, "s": 2},
        {"n": 8, "s": 3},
        {"n": 4, "s": 0},
        {"n": 6, "s": 3, "construction": "gaussian"},
    )

    @checked
    def __init__(self, n: int, s: int, construction: str = "spread", seed: int = 0):
        require(0 <= s < n, f"cyclic repetition needs 0 <= s < n, got n={n}, s={s}")
        require_known("construction", construction, CONSTRUCTIONS)
        H = CONSTRUCTIONS[construction](n, s, seed)
        B = np.eye(n)
        for i, J in enumerate(arcs(n, s + 1)[:, 1:]):
            B[i, J] = -np.linalg.solve(H[:, J], H[:, i])
        B /= abs(B).max(1, keepdims=True)
        super().__init__(B, quorums=[Quorum(range(n), [(1, n - s)])])
        self.s, self.construction, self.seed = s, construction, seed
        U, singular, V = svd(B)
        self._a0 = U[:, : n - s] @ (V[: n - s].sum(1) / singular[: n - s])  # least norm
        self._null = U[:, n - s :].T

    def weights(self, responses):
        got = responses > 0
        a, few = np.empty(responses.shape), got.sum(1) < self.n - self.s
        a[few] = super().weights(responses[few])[:, 0]  # below the quorum: best effort
        silent = np.argsort(got[~few], axis=1, kind="stable")[:, : self.s]
        z = np.linalg.solve(self._null[:, silent].transpose(1, 2, 0), -self._a0[silent][..., None])[..., 0]
        a[~few] = self._a0 + z @ self._null
        a[~got] = 0
        return a
