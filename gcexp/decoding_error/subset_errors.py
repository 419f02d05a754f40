r"""Errors of very many survivor sets at once: elimination on Gram matrices, shared by all sets that begin alike.

With optimal decoding the error of survivors F is e(F) = (1/k) min_w ||w B_F - 1||^2 = 1 - (1/k) h_F^T G_F^+ h_F, where
G = B B^T and h = B 1. Survivors are added one by one: with pivot p = G_jj, k e falls by h_j^2 / p, the others' G and
h lose g g^T / p and g h_j / p, g the column of j (Gram-Schmidt on messages). A pivot of zero belongs to a message that
the earlier ones already imply, and changes nothing.

All 2^n sets form a binary tree: level t decides about worker t. A node holds what is left of G for the workers after
t, so that all of it costs 2^n sum_j j^2 / 2^j = 6 * 2^n numbers: 20 workers take a tenth of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.linear import svd
from gcexp.errors import ParameterError

_ZERO = 1e-11  # a pivot below this fraction of ||row||^2 is zero
_SURE = 1e-6  # above this fraction its rounding is harmless; between the two a set is decoded by its singular values
_RANK = 1e-10  # singular values below this times the largest are zero, as in `Code.weights`
_NUMBERS = 2**21  # entries of the Gram matrices that are held at once
_HELD = 2**18  # the same on each level of a tree


@dataclass(frozen=True, eq=False)
class Rows:
    """One real message per worker, as the rows of a matrix; all that an error with optimal decoding depends on.

    Parameters
    ----------
    B : ndarray (n, k)
        Encoding in worker order.
    """

    B: np.ndarray

    @property
    def n(self) -> int:
        """Workers."""
        return self.B.shape[0]

    @property
    def k(self) -> int:
        """Partitions."""
        return self.B.shape[1]

    @cached_property
    def G(self) -> np.ndarray:
        """Gram matrix, (n, n)."""
        return self.B @ self.B.T

    @cached_property
    def h(self) -> np.ndarray:
        """Row sums, (n,)."""
        return self.B.sum(1)

    @cached_property
    def table(self) -> np.ndarray:
        """Error of every survivor set, (2^n,); worker j survives in set number u where bit j of u is 1."""
        G, h, first = self.G[None], self.h[None], np.diag(self.G)
        e, doubt = np.full(1, float(self.k)), np.zeros(1, dtype=bool)
        for t in range(self.n):  # worker t is bit t: sets without it first, then those with it
            kept = _eliminated(G, h, first[t])
            G = np.concatenate([G[:, 1:, 1:], kept.G])
            h = np.concatenate([h[:, 1:], kept.h])
            e = np.concatenate([e, e - kept.gain])
            doubt = np.concatenate([doubt, doubt | kept.doubt])
        e = e.clip(0) / self.k
        if doubt.any():
            unsure = np.flatnonzero(doubt)
            e[unsure] = self.decoded((unsure[:, None] >> np.arange(self.n) & 1).astype(bool))
        return e

    def errors(self, heard: np.ndarray) -> np.ndarray:
        """Error of each survivor set, (U,), for boolean heard (U, n); sets may differ in size."""
        errors, sizes = np.ones(len(heard)), heard.sum(1)
        if "table" in self.__dict__ or 2**self.n <= self.n * len(heard):  # cheaper than one by one
            return self.table[heard @ (1 << np.arange(self.n))]
        for m in np.unique(sizes[sizes > 0]):
            rows = np.flatnonzero(sizes == m)
            for part in np.array_split(rows, -(-len(rows) * m * m // _NUMBERS)):
                F = np.nonzero(heard[part])[1].reshape(-1, m)
                G, h = self.G[F[:, :, None], F[:, None]], self.h[F]
                first = np.einsum("uii->ui", G).copy()
                e, doubt = np.full(len(part), float(self.k)), np.zeros(len(part), dtype=bool)
                for t in range(m):
                    step = _eliminated(G, h, first[:, t])
                    G, h, e, doubt = step.G, step.h, e - step.gain, doubt | step.doubt
                e = e.clip(0) / self.k
                if doubt.any():
                    e[doubt] = self.decoded(heard[part[doubt]])
                errors[part] = e
        return errors

    def decoded(self, heard: np.ndarray) -> np.ndarray:
        """The same from the singular values of B_F: slower, and sure where messages almost depend on each other."""
        errors = np.empty(len(heard))
        step = max(1, _NUMBERS // max(1, self.B.size))
        for u in range(0, len(heard), step):
            mine = heard[u : u + step, :, None] * self.B
            _, singular, right = svd(mine, full_matrices=False)
            used = singular > _RANK * singular[:, :1]
            errors[u : u + step] = 1 - (used * right.sum(2) ** 2).sum(1) / self.k
        return errors.clip(0)


def rows(code: Code) -> Rows:
    """Messages of a code with one real message per worker.

    Raises
    ------
    ParameterError
        For more than one block, message or real number per message.
    """
    problem = None
    if code.blocks != 1 or not (code.messages == 1).all():
        problem = "codes with one block and one message per worker"
    elif code.encoding.dtype.kind == "c":
        problem = "real codes"
    if problem:
        raise ParameterError(f"errors with optimal decoding are for {problem}, got {code!r}")
    return Rows(code.encoding.toarray()[np.argsort(code.owner)])


@dataclass(frozen=True)
class _Step:
    gain: np.ndarray
    G: np.ndarray
    h: np.ndarray
    doubt: np.ndarray


def _eliminated(G: np.ndarray, h: np.ndarray, first) -> _Step:
    """Take the first of the workers of each state (U, r, r), (U, r) as heard; `first`: its ||row||^2."""
    pivot = G[:, 0, 0]
    there = pivot > _ZERO * first
    inverse = there / np.where(there, pivot, 1)
    g, h0 = G[:, 1:, 0], h[:, 0]
    scaled = g * inverse[:, None]
    left = scaled[:, :, None] * g[:, None]
    np.subtract(G[:, 1:, 1:], left, out=left)
    return _Step(h0 * h0 * inverse, left, h[:, 1:] - scaled * h0[:, None], there & (pivot < _SURE * first))


def worst_of_size(rows: Rows, lost: int, pinned: bool = False) -> tuple[float, np.ndarray]:
    r"""Largest error over all sets of n - lost survivors, by enumeration, and survivors (n,) that have it.

    Whichever are fewer are taken one by one, survivors from nothing or stragglers from everyone. In the second case the
    inverse Gram matrix P and the best weights w = P h of all workers stand for G and h, and the error rises: losing S
    costs w_S^T P_SS^-1 w_S / k. The last one needs the diagonal only: nodes with matrices are sets of two less.

    Parameters
    ----------
    rows : Rows
    lost : int
    pinned : bool
        Whether every worker may be mapped to every other by a symmetry: then worker 0 is always taken.

    Examples
    --------
    >>> value, heard = worst_of_size(Rows(np.ones((4, 3)) - np.eye(4, 3)), 2)
    >>> round(value, 4), heard.astype(int)
    (0.1111, array([1, 1, 0, 0]))
    """
    n, k = rows.n, float(rows.k)
    take, gone = n - lost, False
    G, h, start = rows.G, rows.h, k
    if 2 * lost < n:
        values = np.linalg.eigvalsh(G)
        if values[0] > _SURE * values[-1]:
            P = np.linalg.inv(G)
            G, h, start, take, gone = P, P @ h, k - h @ P @ h, lost, True
    sign = 1 if gone else -1
    first = G.diagonal().copy()
    best, chosen = -np.inf, np.zeros(n, dtype=bool)

    def met(values: np.ndarray, sets: np.ndarray, last: np.ndarray | None = None) -> None:
        nonlocal best, chosen
        top = int(values.argmax())
        if values[top] > best:
            best, chosen = float(values[top]), sets[top].copy()
            if last is not None:
                chosen[last[top]] = True

    def checked(sets: np.ndarray) -> np.ndarray:
        return k * rows.decoded(sets ^ gone)

    if take == 0:
        return start / k, chosen ^ gone
    if take == 1:
        candidates = slice(0, 1) if pinned else slice(None)
        met(
            start + sign * (h * h / np.where(first > 0, first, 1))[candidates],
            np.eye(n, dtype=bool)[candidates],
        )
        return max(best, 0.0) / k, chosen ^ gone
    nothing = np.zeros((1, n), dtype=bool)
    waiting = [(0, G[None], h[None], np.array([start]), np.zeros(1, dtype=int), nothing[:, 0], nothing)]
    while waiting:
        t, G, h, e, taken, doubt, sets = waiting.pop()
        if len(e) > 1 and G.size > _HELD:
            half = len(e) // 2
            for some in (slice(None, half), slice(half, None)):
                waiting.append((t, G[some], h[some], e[some], taken[some], doubt[some], sets[some]))
            continue
        step = _eliminated(G, h, first[t])
        with_it, now = sets.copy(), e + sign * step.gain
        with_it[:, t] = True
        unsure = doubt | step.doubt
        full = taken == take - 2  # one more, any of the workers after t
        if full.any():
            diagonal = np.einsum("uii->ui", step.G[full])
            there = diagonal > _ZERO * first[t + 1 :]
            gains = np.where(there, step.h[full] ** 2, 0) / np.where(there, diagonal, 1)
            values, mine = now[full, None] + sign * gains, with_it[full]
            risky = unsure[full, None] | (there & (diagonal < _SURE * first[t + 1 :]))
            if risky.any():
                u, j = np.nonzero(risky)
                values[u, j] = checked(mine[u] | (np.arange(n) == t + 1 + j[:, None]))
            if values.size:
                last = values.argmax(1)
                met(values[np.arange(len(last)), last], mine, t + 1 + last)
        on = ~full & (taken + 1 + n - t - 1 >= take)
        off = taken + n - t - 1 >= take if t or not pinned else np.zeros(len(e), dtype=bool)
        waiting.append(
            (
                t + 1,
                np.concatenate([step.G[on], G[off, 1:, 1:]]),
                np.concatenate([step.h[on], h[off, 1:]]),
                np.concatenate([now[on], e[off]]),
                np.concatenate([taken[on] + 1, taken[off]]),
                np.concatenate([unsure[on], doubt[off]]),
                np.concatenate([with_it[on], sets[off]]),
            )
        )
        if not len(waiting[-1][3]):
            waiting.pop()
    return max(best, 0.0) / k, chosen ^ gone
