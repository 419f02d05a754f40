"""Cyclic repetition code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code, arcs
from gcexp.codes.linear import svd
from gcexp.codes.quorums import Quorum
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
    """
    draw = rng(seed, "assignment")
    cell = np.arange(s // 2) + 0.5 + draw.uniform(-0.2, 0.2, s // 2)
    frequency = np.maximum(np.rint(cell * n / max(s, 1)), 1)
    angle = 2 * np.pi / n * np.outer(frequency, np.arange(n))
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
#: Up to here the null space is that of a singular value decomposition, whose last bits published decodes have.
_DENSE = 400
_NUMBERS = 2**21  # in the systems that are solved at once


class CyclicRepetition(Code):
    r"""Exact for any s stragglers: worker i sends one combination of the partitions i, ..., i+s (mod n).

    H is s x n with H 1 = 0. Row i of B is 1 at i and -H_J^{-1} h_i on
    J = {i+1, ..., i+s}, scaled to largest entry 1. So H B^T = 0: any n-s rows span the null space of H, which
    contains 1. All solutions of a B = 1 are a_0 + z N, with N (s x n) spanning the left null space of B; silencing S
    means z N_S = -a_{0,S}: s unknowns, not n-s. Up to n = 400, and for a Gaussian H, whose windows of s columns are too
    badly conditioned for it, a_0 and N come from the singular values of B; else from a closed form.

    Closed form: let d_i be orthogonal to h_{i+1}, ..., h_{i+s-1} with d_i . h_i = 1, and q_i = z + h_0 + ... + h_i with
    any z. Then a_i = d_i . q_i / B_ii solves a B = 1. For let e_ij(q) be the coordinate of q along h_j in the basis
    h_i, ..., h_{i+s-1}, and 0 where j is none of these: row i of B exchanges h_i for h_{i+s}, so that
    e_ij(q) - e_{i+1,j}(q) = B_ij d_i . q / B_ii. Summed over i at q = q_i, which closes because H 1 = 0, column j of
    a B is sum_i e_ij(q_i - q_{i-1}) = sum_i e_ij(h_i) = e_jj(h_j) = 1. O(n s^3), and no matrix n x n. B is
    solved for when it is first asked for, in O(n s^3) as well: a clock of more than 400 workers never does.

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

    most_workers = 10**6
    most_certified = _DENSE
    formulas = {"k": "n", "load": "s + 1", "messages": "1", "length": "1"}
    decoding = "a linear system of s unknowns; O(s^3 + s n)"
    limit = (
        "below 1e-9 up to n = 400 on all sets tried, 1e-7 with construction=gaussian; see codes-accuracy.md"
    )
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
        require(
            construction == "spread" or n <= Code.most_workers,
            f"construction=gaussian decodes by singular values, which takes n <= {Code.most_workers}; got n={n}",
        )
        super().__init__(_on_arcs(np.ones((n, s + 1))), quorums=[Quorum(range(n), [(1, n - s)])])
        self.s = s
        self.construction = construction
        self.seed = seed

    @cached_property
    def encoding(self) -> sparse.csr_array:
        """B. Its rows are solved for when they are first asked for: a clock that decodes nothing needs none."""
        return _on_arcs(_rows(CONSTRUCTIONS[self.construction](self.n, self.s, self.seed)))

    @cached_property
    def _solutions(self) -> tuple[np.ndarray, np.ndarray]:
        """a_0 (n,) and N (s, n)."""
        if self.s == 0:
            return np.ones(self.n), np.empty((0, self.n))
        if self.n > _DENSE and self.construction == "spread":
            H = spread(self.n, self.s, self.seed)
            D = _ahead(H) / self.encoding.diagonal()[:, None]
            sums = H.cumsum(1)
            return (D * (sums - sums.mean(1, keepdims=True)).T).sum(1), D.T
        rank = self.n - self.s
        U, singular, V = svd(self.encoding.toarray())
        return U[:, :rank] @ (V[:rank].sum(1) / singular[:rank]), U[:, rank:].T

    def weights(self, responses):
        heard = responses > 0
        a = np.empty(responses.shape)
        few = heard.sum(1) < self.n - self.s
        if few.any():
            a[few] = super().weights(responses[few])[:, 0]  # below the quorum: best effort
        a0, null = self._solutions
        silent = np.argsort(heard[~few], axis=1, kind="stable")[:, : self.s]
        z = np.linalg.solve(null[:, silent].transpose(1, 2, 0), -a0[silent][..., None])[..., 0]
        a[~few] = a0 + z @ null
        a[~heard] = 0
        return a


def _on_arcs(rows: np.ndarray) -> sparse.csr_array:
    """The matrix (n, n) whose row i has the entries of rows (n, s + 1) in columns i, ..., i + s (mod n)."""
    n, width = rows.shape
    columns = arcs(n, width)
    ends = np.arange(0, n * width + 1, width)
    matrix = sparse.csr_array((rows.ravel(), columns.ravel(), ends), shape=(n, n))
    matrix.sort_indices()
    return matrix


def _solve_windows(H: np.ndarray, solve: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """What `solve` gives of H_J (m, s, s), J = {i+1, ..., i+s}, and h_i (m, s, 1) for all i, some at a time, (n, s)."""
    s, n = H.shape
    step = max(1, _NUMBERS // max(1, s * s))
    solutions = []
    for columns in np.split(arcs(n, s + 1), range(step, n, step)):
        h = H[:, columns[:, 0]]
        windows = H[:, columns[:, 1:]]
        solutions.append(solve(windows.transpose(1, 0, 2), h.T[..., None])[..., 0])
    return np.concatenate(solutions)


def _rows(H: np.ndarray) -> np.ndarray:
    """Row i of B on i, ..., i + s: in the null space of H (s, n), its largest entry 1, (n, s + 1)."""
    rows = np.concatenate([np.ones((H.shape[1], 1)), -_solve_windows(H, np.linalg.solve)], axis=1)
    return rows / abs(rows).max(1, keepdims=True)


def _ahead(H: np.ndarray) -> np.ndarray:
    """d_i . h_i = 1 and d_i . h_{i+1} = ... = d_i . h_{i+s-1} = 0 for each column of H (s, n), (n, s)."""
    first = np.eye(len(H), 1)

    def solve(windows: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.linalg.solve(windows.transpose(0, 2, 1), first)

    return np.roll(_solve_windows(H, solve), 1, axis=0)
