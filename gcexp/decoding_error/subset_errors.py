r"""Errors of many survivor sets at once: elimination on Gram matrices, shared by sets with the same beginning.

With optimal decoding the error of survivors F is e(F) = (1/k) min_w ||w B_F - 1||^2 = 1 - (1/k) h_F^T G_F^+ h_F, where
G = B B^T and h = B 1. Survivors are added one by one: with pivot p = G_jj, k e falls by h_j^2 / p, the others' G and
h lose g g^T / p and g h_j / p, g the column of j (Gram-Schmidt on messages). A pivot of zero belongs to a message that
the earlier ones already imply, and changes nothing.

All 2^n sets form a binary tree: level t decides about worker t. A node holds what is left of G for the workers after
t, so that all of it costs 2^n sum_j j^2 / 2^j = 6 * 2^n numbers: 20 workers take a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.linear import svd
from gcexp.errors import ParameterError

_ZERO = 1e-11  # a pivot below this fraction of ||row||^2 is zero
_SURE = 1e-6  # above this fraction its rounding is harmless; between the two a set is decoded by its singular values
_RANK = 1e-10  # singular values below this times the largest are zero, as in `Code.weights`
_NUMBERS = 2**21  # entries of the Gram matrices that are held at once
_HELD = 2**18  # the same on each level of a tree
MOST_WORKERS_IN_TABLE = 20  # workers up to which all 2^n errors are held


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
        G = self.G[None]
        h = self.h[None]
        first = np.diag(self.G)
        e = np.full(1, float(self.k))
        doubt = np.zeros(1, dtype=bool)
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

    def errors(self, responses: np.ndarray) -> np.ndarray:
        """Error of each survivor set, (U,), for boolean responses (U, n); sets may differ in size."""
        errors = np.ones(len(responses))
        sizes = responses.sum(1)
        if "table" in self.__dict__ or 2**self.n <= self.n * len(responses):  # cheaper than one by one
            return self.table[responses @ (1 << np.arange(self.n))]
        for m in np.unique(sizes[sizes > 0]):
            rows = np.flatnonzero(sizes == m)
            for part in np.array_split(rows, -(-len(rows) * m * m // _NUMBERS)):
                F = np.nonzero(responses[part])[1].reshape(-1, m)
                G = self.G[F[:, :, None], F[:, None]]
                h = self.h[F]
                first = np.einsum("uii->ui", G).copy()
                e = np.full(len(part), float(self.k))
                doubt = np.zeros(len(part), dtype=bool)
                for t in range(m):
                    step = _eliminated(G, h, first[:, t])
                    G = step.G
                    h = step.h
                    e = e - step.gain
                    doubt = doubt | step.doubt
                e = e.clip(0) / self.k
                if doubt.any():
                    e[doubt] = self.decoded(responses[part[doubt]])
                errors[part] = e
        return errors

    def errors_along(self, orders: np.ndarray) -> np.ndarray:
        """Error of the survivors when the first s workers of each order are lost, s = 0, ..., n: (U, n + 1).

        Each of the orders (U, n) holds all workers. Its survivor sets lie in each other, so that one elimination, from
        the last worker of the order to the first, gives the errors of all of them.
        """
        errors = np.ones((len(orders), self.n + 1))
        step = max(1, _NUMBERS // max(1, self.n * self.n))
        for u in range(0, len(orders), step):
            F = orders[u : u + step, ::-1]
            G = self.G[F[:, :, None], F[:, None]]
            h = self.h[F]
            first = np.einsum("uii->ui", G).copy()
            e = np.full(len(F), float(self.k))
            doubt = np.zeros(len(F), dtype=bool)
            for t in range(self.n):
                taken = _eliminated(G, h, first[:, t])
                G = taken.G
                h = taken.h
                e = e - taken.gain
                doubt = doubt | taken.doubt
                of_survivors = e.clip(0) / self.k
                if doubt.any():
                    survives = np.zeros((doubt.sum(), self.n), dtype=bool)
                    np.put_along_axis(survives, F[doubt, : t + 1], True, axis=1)
                    of_survivors[doubt] = self.decoded(survives)
                errors[u : u + step, self.n - t - 1] = of_survivors
        return errors

    def decoded(self, responses: np.ndarray) -> np.ndarray:
        """The same from the singular values of B_F: slower, and sure where messages almost depend on each other."""
        errors = np.empty(len(responses))
        step = max(1, _NUMBERS // max(1, self.B.size))
        for u in range(0, len(responses), step):
            mine = responses[u : u + step, :, None] * self.B
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


class _Step(NamedTuple):
    gain: np.ndarray
    G: np.ndarray
    h: np.ndarray
    doubt: np.ndarray


def _eliminated(G: np.ndarray, h: np.ndarray, first) -> _Step:
    """Take the first of the workers of each state (U, r, r), (U, r) as heard; `first`: its ||row||^2."""
    pivot = G[:, 0, 0]
    there = pivot > _ZERO * first
    inverse = there / np.where(there, pivot, 1)
    g = G[:, 1:, 0]
    h0 = h[:, 0]
    scaled = g * inverse[:, None]
    left = scaled[:, :, None] * g[:, None]
    np.subtract(G[:, 1:, 1:], left, out=left)
    return _Step(h0 * h0 * inverse, left, h[:, 1:] - scaled * h0[:, None], there & (pivot < _SURE * first))


class _States(NamedTuple):
    """Sets that are begun (U): G and h of the workers not decided yet, k e, the workers taken, and their number.

    Where workers are lost and not heard, P and w stand for G and h. In `doubt` are sets that rounding may spoil.
    """

    G: np.ndarray
    h: np.ndarray
    e: np.ndarray
    taken: np.ndarray
    sets: np.ndarray
    doubt: np.ndarray

    @classmethod
    def root(cls, n: int, G: np.ndarray, h: np.ndarray, e: float) -> _States:
        """Nobody of n workers is taken yet."""
        zero = np.zeros(1, dtype=int)
        return cls(G[None], h[None], np.array([e]), zero, np.zeros((1, n), dtype=bool), zero > 0)

    def some(self, which) -> _States:
        return _States(*(values[which] for values in self))

    def skip(self, count: int = 1) -> _States:
        """The first of the undecided workers are not taken."""
        return self._replace(G=self.G[:, count:, count:], h=self.h[:, count:])

    def take(self, place: int, first: float = 0, sign: int = 1) -> _States:
        """The first of the undecided workers, number `place`, is taken, and k e moves in the direction `sign`."""
        step = _eliminated(self.G, self.h, first)
        sets = self.sets.copy()
        sets[:, place] = True
        moved = self.e + sign * step.gain
        return _States(step.G, step.h, moved, self.taken + 1, sets, self.doubt | step.doubt)


def _walk(
    root: _States,
    take: int,
    ends: int,
    pinned: bool,
    last: Callable[[int, _States], None],
    first: np.ndarray,
    sign: int = 1,
    promising: Callable[[int, _States], np.ndarray] | None = None,
) -> None:
    """Build all sets of `take` workers, one by one, up to the last `ends` workers, which ``last(t, states)`` takes.

    They are any of the workers from t on. Sets that are not `promising` are left out. The first worker is in every set
    if `pinned`.
    """
    n = root.sets.shape[1]
    if take == ends:
        return last(0, root)
    waiting = [(0, root)]
    while waiting:
        t, states = waiting.pop()
        if len(states.e) > 1 and states.G.size > _HELD:
            half = len(states.e) // 2
            waiting += [(t, states.some(slice(None, half))), (t, states.some(slice(half, None)))]
            continue
        taken = states.take(t, first[t], sign)
        if promising is not None:
            taken = taken.some(promising(t + 1, taken))
        full = taken.taken == take - ends
        if full.any():
            last(t + 1, taken.some(full))
        enough: np.ndarray | slice = slice(0)
        if t or not pinned:
            enough = states.taken + n - t - 1 >= take
        left = [taken.some(~full), states.skip().some(enough)]
        if any(len(part.e) for part in left):
            waiting.append((t + 1, _States(*map(np.concatenate, zip(*left, strict=True)))))


def worst_of_size(rows: Rows, lost: int, pinned: bool = False) -> tuple[float, np.ndarray]:
    r"""Largest error over all sets of n - lost survivors, by enumeration, and survivors (n,) that have it.

    Whichever are fewer are taken one by one, survivors from nothing or stragglers from everyone. In the second case
    the inverse Gram matrix P and the best weights w = P h of all workers stand for G and h, and the error rises:
    losing S costs w_S^T P_SS^-1 w_S / k. The last one needs the diagonal only: nodes with matrices are sets of two
    less. Worker 0 is always taken where a symmetry may map every worker to every other (`pinned`).
    """
    n = rows.n
    k = float(rows.k)
    take, gone = n - lost, False
    G = rows.G
    h = rows.h
    start = k
    if 2 * lost < n:
        values = np.linalg.eigvalsh(G)
        if values[0] > _SURE * values[-1]:
            P = np.linalg.inv(G)
            G, h, start, take, gone = P, P @ h, k - h @ P @ h, lost, True
    best = -np.inf
    chosen = np.zeros(n, dtype=bool)
    if take == 0:
        return start / k, chosen ^ gone
    if take == 1 and pinned:
        G = G[:1, :1]
        h = h[:1]
    sign = 1 if gone else -1
    first = G.diagonal().copy()

    def last(t: int, states: _States) -> None:
        nonlocal best, chosen
        diagonal = np.einsum("uii->ui", states.G)
        there = diagonal > _ZERO * first[t:]
        values = states.e[:, None] + sign * (np.where(there, states.h**2, 0) / np.where(there, diagonal, 1))
        risky = states.doubt[:, None] | (there & (diagonal < _SURE * first[t:]))
        if risky.any():
            u, j = np.nonzero(risky)
            values[u, j] = k * rows.decoded((states.sets[u] | (np.arange(n) == t + j[:, None])) ^ gone)
        if values.max() > best:
            u, j = np.unravel_index(values.argmax(), values.shape)
            best = float(values[u, j])
            chosen = states.sets[u].copy()
            chosen[t + j] = True

    _walk(_States.root(n, G, h, start), take, 1, pinned, last, first, sign)
    return max(best, 0.0) / k, chosen ^ gone


_DOUBT = (1e-11, 1e-8)  # relative eigenvalues between which rounding decides whether messages are independent
_CHARGE = 1e4  # c, in units of the largest entry of G^+
_ROUNDED = 1e-5  # relative, of bounds
_DECODED = 32  # sets that are decoded anew at once
_MOST_DECODED = 100_000  # sets, some 20 CPU-s; a search that needs more would take hours
_GAIN = 1e-9  # an error times k above the best by less is no worse set


def search_worst(
    rows: Rows, lost: int, floor: float, pinned: bool = False, tell: Callable[[int], object] | None = None
) -> tuple[float, np.ndarray] | None:
    r"""Largest error over all sets of at least three stragglers, by branch and bound, and survivors (n,) that have it.

    None where no set exceeds the error `floor`, which some set is known to have. Where a symmetry may map every worker
    to every other (`pinned`), worker 0 is always lost. `tell` is told how many more of the C(n, lost) sets are done,
    or of lost / n of them where one is pinned. Raises `numpy.linalg.LinAlgError` where rounding leaves open which
    messages depend on each other, or so many do that most sets would be decoded.

    Losing S raises k e by w_S^T P_SS^-1 w_S with P = G^-1 and the best weights w = P h. Stragglers are taken one by
    one, as pivots of an incremental Cholesky factor: with pivot P_jj the error rises by w_j^2 / P_jj, and the others' P
    and w lose p p^T / P_jj and p w_j / P_jj. Where messages depend on each other, P = G^+ + c N N^T, N an orthonormal
    basis of the left null space of B: it is the inverse of G + N N^T / c, which charges weights along N a little, so
    that an error is never smaller than without, and larger by about 1/c. What exceeds the worst so far is decoded anew.

    Bound. Survivors may keep the weights w that they have when nobody is lost, times the best common factor. Let
    q = w . h, x = sum w_j h_j and y = sum M_ij over those lost, M_ij = w_i w_j G_ij; then k e <= k - (q - x)^2 /
    (q - 2 x + y). This is above the best error so far, k - c, only if y + 2 (q/c - 1) x - x^2 / c > q (q/c - 1), and
    -x^2 <= x_0^2 - 2 x_0 x for any x_0: a sum over pairs again. With T lost and r more to be, it is at most the sum
    over T and the r largest of what one j adds to T and the r - 1 largest M_ij of others.
    """
    n = rows.n
    k = float(rows.k)
    values, vectors = np.linalg.eigh(rows.G)
    share = values / max(values[-1], np.finfo(float).tiny)
    if ((share > _DOUBT[0]) & (share < _DOUBT[1])).any():
        raise np.linalg.LinAlgError("messages almost depend on each other")
    free = share >= _DOUBT[1]
    P = (vectors[:, free] / values[free]) @ vectors[:, free].T
    w = P @ rows.h
    P += _CHARGE * P.diagonal().max() * (vectors[:, ~free] @ vectors[:, ~free].T)
    harm = w**2 / np.maximum(P.diagonal(), 1e-300)
    order = np.argsort(-harm, kind="stable")  # those that hurt most first
    if pinned:
        order = np.append(0, order[order != 0])
    inside = np.ix_(order, order)
    found = _Found(Rows(rows.B[order]), w[order], lost)
    found.raised(k * floor + _GAIN, None)

    def last(t: int, states: _States) -> None:
        _last_three(states, t, found)
        if tell is not None:
            tell(len(states.e) * comb(n - t, 3))

    def promising(t: int, states: _States) -> np.ndarray:
        more = lost - states.taken
        kept = found.most(states.sets, t, more) > found.need
        if tell is not None:
            tell(sum(comb(n - t, int(one)) for one in more[~kept]))
        return kept

    root = _States.root(n, P[inside], w[order], k - rows.h @ w)
    _walk(root, lost, 3, pinned, last, np.zeros(n), promising=promising)
    if found.set is None:
        return None
    responses = np.ones(n, dtype=bool)
    responses[order[found.set]] = False
    return float(rows.decoded(responses[None])[0]), responses


class _Found:
    """The largest k e so far, who is lost then, and what a set must exceed to be looked at: see `search_worst`.

    M is the matrix of the sum over pairs, in the order of the search, with what one worker adds on its diagonal.
    """

    def __init__(self, rows: Rows, w: np.ndarray, lost: int):
        self.rows = rows
        self._lost = lost
        self._k = rows.k
        self._tried = 0
        self._M = rows.G * np.outer(w, w)
        self._x = w * rows.h

    def raised(self, best: float, places: np.ndarray | None) -> None:
        self.best, self.set = best, places
        q = self._x.sum()
        middle = self._lost * self._x.mean()
        c = max(self._k - best, 1e-6 * self._k)  # a lower best is a weaker bound
        self.M = self._M + np.diag(2 * (q / c - 1 - middle / c) * self._x)
        self.need = q * (q / c - 1) - middle**2 / c
        self.rounded = _ROUNDED * (self._lost**2 * np.abs(self.M).max() + abs(self.need))

    def decoded(self, e: np.ndarray, sets: np.ndarray, places: np.ndarray) -> None:
        """Look at sets (C, n) that lose these places (C, r) too, and then have k e of at most e (C,)."""
        worst_first = np.argsort(-e, kind="stable")
        for some in np.split(worst_first, range(_DECODED, len(e), _DECODED)):
            some = some[e[some] > self.best]
            if not len(some):
                return
            self._tried += len(some)
            if self._tried > _MOST_DECODED:
                raise np.linalg.LinAlgError(
                    "messages depend on each other, so that most sets must be decoded"
                )
            lost = sets[some]  # a copy
            np.put_along_axis(lost, places[some], True, axis=1)
            exact = self._k * self.rows.decoded(~lost)
            if exact.max() > self.best:
                self.raised(float(exact.max()), lost[exact.argmax()])

    def most(self, sets: np.ndarray, t: int, more: np.ndarray) -> np.ndarray:
        """Bound on the sum after `more` of the workers from place t on are lost beside those of each set, (U,)."""
        lost = sets.astype(float)
        own = self.M.diagonal()
        shared = lost @ self.M
        bounds = (shared * lost).sum(1)
        each = (own + 2 * shared)[:, t:]
        near = np.maximum(self.M[t:, t:] * ~np.eye(len(own) - t, dtype=bool), 0)
        near.sort(axis=1)
        for r in np.unique(more):
            some = more == r
            m = len(near)
            score = each[some] + near[:, m - r + 1 :].sum(1)
            bounds[some] += np.partition(score, m - r, axis=1)[:, m - r :].sum(1)
        return bounds + self.rounded


def _last_three(nodes: _States, t: int, found: _Found) -> None:
    """Lose the first of the three last stragglers where the bound on the whole set does not rule it out."""
    m = nodes.h.shape[1]
    need = found.need - found.rounded  # of this M: both move when a worse set is found
    sets = nodes.sets.astype(float)
    own = found.M.diagonal()
    M = found.M[t:, t:]
    shared = sets @ found.M
    known = (shared * sets).sum(1)
    each = (own + 2 * shared)[:, t:]
    later = ~np.tri(m, dtype=bool)
    near = np.where(later | later.T, np.maximum(M, 0), 0)
    largest = np.zeros((m, m))  # [d, j]: of M_ij over i > d
    largest[:-1] = np.maximum.accumulate(near[:0:-1], axis=0)[::-1]
    two = np.partition(each[:, None] + np.where(later, 2 * M + largest, -np.inf), m - 2, axis=2)[
        :, :, m - 2 :
    ]
    first = known[:, None] + each
    promising = first + two.sum(2) > need
    for d in np.flatnonzero(promising[:, : m - 2].any(0)).tolist():
        _last_two(nodes.some(promising[:, d]).skip(d).take(t + d), t + d + 1, found)


def _last_two(nodes: _States, t: int, found: _Found) -> None:
    """Lose every pair of the undecided."""
    m = nodes.h.shape[1]
    step = max(1, _HELD // (m * m))
    later = ~np.tri(m, dtype=bool)
    for part in (nodes.some(slice(u, u + step)) for u in range(0, len(nodes.e), step)):
        pivot = np.einsum("uii->ui", part.G)
        ratio = part.G / pivot[:, :, None]  # of the first of the two
        e = part.h[:, None] - ratio * part.h[:, :, None]
        e *= e
        ratio *= part.G
        rest = np.subtract(pivot[:, None], ratio, out=ratio)
        np.einsum("uii->ui", rest)[...] = np.inf  # nobody is lost twice
        e /= rest
        e += (part.e[:, None] + part.h**2 / pivot)[:, :, None]
        if e.max() > found.best:
            u, i, j = np.nonzero((e > found.best) & later)
            found.decoded(e[u, i, j], part.sets[u], t + np.stack([i, j], axis=1))
