"""Adaptive gradient codes: workers send round after round, and the master stops them as soon as it can decode."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import ceil, comb, lcm, log2

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code, Quorum, arcs
from gcexp.codes.comm_efficient import CommunicationEfficient, fraction_rows, load_and_stragglers
from gcexp.codes.composite import DirectSum
from gcexp.codes.general_v import solve_rational
from gcexp.errors import ParameterError, require, require_known
from gcexp.schema import checked
from gcexp.seeding import rng

CONSTRUCTIONS = ("random", "chebyshev", "structured")
ARITHMETICS = ("float64", "extended")
PASSES = {"float64": 2, "extended": 5}  # solve, then refine
MOST_PATTERNS = 500  # on which a drawn E is judged, per number of stragglers: all up to here, else a sample
MOST_EXACT_ROWS = 48  # of a structured or given E
#: Rows of a drawn E with n > d, at most: no code near this size decodes with more than one round per unit of load.
MOST_ROWS = 800
#: Three draws that are all worse end the search.
HOPELESS = 1e3
#: By the silent workers: rows that are received, and their weights.
_Solved = dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]
E_BITS = 20  # a drawn E is rounded to multiples of 2^-20, so that its products with short numbers are exact


def rounds_needed(L: int, d: int) -> list[int]:
    """Rounds r_s = ceil(L / (d - s)) that decode with s = 0, ..., d-1 stragglers."""
    return [-(-L // (d - s)) for s in range(d)]


def vandermonde(n: int, d: int, L: int, alphas: Sequence | None = None) -> list[list]:
    r"""Structured E: row r n + j holds alpha_{j,r}^k for k < L + (r+1)(n-d), then zeros.

    By default alpha_{j,r} = 1 + j L + r. Given `alphas` stand at the places r n + j; integers and fractions stay exact.
    Equations (63) and, for n = d, (75) of Cao, Yan, Tang and Han.
    """
    if alphas is None:
        alphas = []
        for r in range(L):
            alphas += [1 + j * L + r for j in range(n)]
    require(
        len(alphas) == n * L == len(set(alphas)),
        f"structured E needs n*L = {n * L} distinct numbers, got {len(set(alphas))}",
    )
    width = (n - d + 1) * L
    rows = []
    for i, alpha in enumerate(alphas):
        filled = L + (i // n + 1) * (n - d)
        powers = [alpha**k for k in range(filled)]
        rows.append(powers + [0] * (width - filled))
    return rows


def random_matrix(n: int, d: int, L: int, generator: np.random.Generator) -> np.ndarray:
    """Random E (Cao et al., equation (36)): standard normal, row r n + j zero from column L + (r+1)(n-d) on."""
    filled = L + (np.arange(n * L) // n + 1) * (n - d)
    width = (n - d + 1) * L
    return generator.standard_normal((n * L, width)) * (np.arange(width) < filled[:, None])


def decode_rows(n: int, d: int, L: int, silent: Sequence[int] | np.ndarray) -> np.ndarray:
    """Rows of E of the paper's decode matrix A: the first h = L + (n-d) r_s that the other workers send.

    A consists of their first h columns, and the first L rows of A^{-1} are the decode weights.
    """
    r = rounds_needed(L, d)[len(silent)]
    answers = np.ones(n, dtype=bool)
    answers[list(silent)] = False
    return (np.arange(r)[:, None] * n + np.flatnonzero(answers)).ravel()[: L + (n - d) * r]


class Adaptive(Code):
    r"""Messages as short as the stragglers allow: with s of them, ceil(L/(d-s)) rounds of length 1/L (AGC).

    Worker j holds the d partitions j, ..., j+d-1 (mod n), each cut into L sub-vectors, and in round r sends row r n + j
    of ``B = E M`` times them. Nobody needs to know s beforehand: r_s = ceil(L/(d-s)) messages of any n-s workers
    decode, s = 0, ..., d-1, so that the sent length is 1/(d-s) where d-s divides L. That is the shortest for every s at
    once.

    E (nL x (n-d+1)L) is zero in round r from column L + (r+1)(n-d) on. The first L rows of M sum sub-vector u of all
    partitions; the others are chosen so that row r n + j of E M vanishes on partitions that j does not hold, one linear
    system ``E[Q_p, L:] M^D = -E[Q_p, :L] M^U`` per partition. If W E = [I 0], then W B is the sum.

    Decoding: let E_r be the first r n rows of E and their L + (n-d) r columns, A_0 the smallest solution of
    A_0 E_r = [I 0], and let the d r - L orthonormal rows of N span the left null space of E_r. The solutions are
    A_0 + Z N, and silencing the workers S means Z N_S = -A_{0,S}: s r unknowns, where the paper's matrix A has
    L + (n-d) r. Where d-s divides L, the weights are the paper's; else all (n-s) r messages are used instead of the
    first L + (n-d) r, with the smallest Z. Below the quorum nothing is decoded (weights 0) unless L = 1.

    Numerics. M and W are solved and refined once, so that the residual is a few eps max |W| |E| |M|; without that it is
    100 to 1000 times larger. With `arithmetic` extended they are refined with exactly accumulated residuals and rounded
    at the end: eps max |W| |B|. Of `search_seeds` drawn E the one with the smallest such number, over all sets of s
    stragglers for every s (a sample of 500 where there are more), is kept; the number is `bound`, the draw `trial`.

    Limits. The residual grows with rounds and workers (docs/codes-accuracy.md). `gcexp.codes.accuracy` refuses a code
    that is too inaccurate before a run; where the residual would be above 1, the constructor does. Fewer rounds help
    most; in `GroupedAdaptive` n is at most 2d-1. A structured E fits d = 2; for d = 3 it does not decode in float64
    from n = 4 on, even with exact weights.

    Parameters
    ----------
    n, d : int
        Workers (= partitions) and load.
    rounds : int, optional
        L, sub-vectors of a gradient and rounds at most; default lcm(1, ..., d), for which nothing is rounded up.
    construction : {"random", "chebyshev", "structured"}
        ``random``: Gaussian. ``chebyshev``, for n = d only: a Vandermonde matrix on randomly permuted Chebyshev nodes.
        ``structured``: `vandermonde` on 1 + jL + r, for small n: entries and weights are exact rationals, rounded once.
    arithmetic : {"float64", "extended"}
        How M and the weights are computed where E is drawn.
    search_seeds : int
        Matrices drawn.
    seed : int
        Seed of the drawn matrices, one stream for each.
    E : sequence of n*L rows of (n-d+1)*L numbers, optional
        A matrix instead of `construction`, for small n; numbers or strings such as "3/2", taken exactly.

    Raises
    ------
    ParameterError
        Unless 1 <= d <= n and rounds >= 1; where names or E do not fit; where a structured or given E has more than 48
        rows or does not decode for some set of stragglers (exact determinants); where a drawn E, n > d, has more than
        800 rows, or rounding leaves nothing of what the best one decodes.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: (36), (44), (50), (51), (57); Remark 3 for the
    structured E. That any distinct nonzero alphas do is a conjecture there, and wrong. The small system, the score and
    the refinement are choices of this library.

    Examples
    --------
    >>> code = Adaptive(n=5, d=3)
    >>> code.load, code.rounds, code.quorums[0].need
    (array([3, 3, 3, 3, 3]), 6, ((2, 5), (3, 4), (6, 3)))
    >>> code.decode([[2, 2, 2, 2, 2], [3, 0, 3, 3, 3], [6, 6, 0, 0, 6]]).coefficients
    array([[1., 1., 1., 1., 1.],
           [1., 1., 1., 1., 1.],
           [1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "n", "load": "d", "messages": "rounds", "length": "1 / rounds"}
    decoding = (
        "a linear system of s r unknowns for the r rounds needed, refined once; O((s r)^3 + L n r (L "
        "+ (n - d) r)), L rounds in all"
    )
    limit = (
        "orders of magnitude: d = 3, L = 6: 1e-7 at n = 40; d = 4, L = 12: refused from n = 13 on; d = 5, L = 60: from "
        "n = 6 on; see codes-accuracy.md"
    )
    instead = "fewer rounds, such as rounds=d, or GroupedAdaptive"
    source = ("cao2020",)
    examples = (
        {"n": 5, "d": 3},
        {"n": 6, "d": 3, "rounds": 5, "arithmetic": "extended", "search_seeds": 4},
        {"n": 4, "d": 2, "rounds": 1, "seed": 3},
        {"n": 3, "d": 3, "construction": "chebyshev"},
        {"n": 4, "d": 2, "construction": "structured"},
        {
            "n": 3,
            "d": 2,
            "E": [[3, 2, 1, 0], [3, 1, 1, 0], [1, 3, 2, 0], [2, 1, 3, 3], [2, 3, 2, 3], [2, 1, 1, 3]],
        },
        {"n": 4, "d": 1},
        {"n": 1, "d": 1},
    )

    @checked
    def __init__(
        self,
        n: int,
        d: int,
        rounds: int | None = None,
        construction: str = "random",
        arithmetic: str = "float64",
        search_seeds: int = 32,
        seed: int = 0,
        E: Sequence | None = None,
    ):
        require(1 <= d <= n, f"adaptive codes need 1 <= d <= n, got n={n}, d={d}")
        L = lcm(*range(1, d + 1)) if rounds is None else rounds
        require(L >= 1, f"adaptive codes need rounds >= 1, got rounds={L}")
        require_known("construction", construction, CONSTRUCTIONS)
        require_known("arithmetic", arithmetic, ARITHMETICS)
        require(search_seeds >= 1, f"adaptive codes need search_seeds >= 1, got {search_seeds}")
        require(
            construction != "chebyshev" or n == d,
            f"Chebyshev nodes have both signs, which is safe for n = d only, got n={n}, d={d}",
        )
        self.d, self.rounds, self.construction, self.E = d, L, construction, E
        self.arithmetic, self.search_seeds, self.seed = arithmetic, search_seeds, seed
        self._exact = E is not None or construction == "structured"
        need = {r: n - s for s, r in enumerate(rounds_needed(L, d))}  # of equal r the fewest workers
        if self._exact:
            require(
                n * L <= MOST_EXACT_ROWS,
                f"structured and given E are solved exactly, which needs n * rounds <= {MOST_EXACT_ROWS}, "
                f"got n={n}, rounds={L}",
            )
            structured = vandermonde(n, d, L) if E is None else E
            B, self._solved = _exact_code(_given(structured, n, d, L), n, d, L)
        else:
            require(
                n == d or n * L <= MOST_ROWS,
                f"a drawn E has n * rounds <= {MOST_ROWS} rows, got n={n}, rounds={L}; take fewer rounds, such as "
                f"rounds={d}, or groups of d workers",
            )
            (self.bound, self.trial), drawn, B = _search(
                n, d, L, construction, arithmetic, search_seeds, seed
            )
            self._prefix = {r: _Prefix(drawn, n, d, L, r, arithmetic) for r in need}
        owner = np.tile(np.arange(n), L)
        super().__init__(_stored(B, d), owner, blocks=L, quorums=[Quorum(range(n), need.items())])

    def weights(self, responses):
        weights = np.zeros((len(responses), self.rounds, len(self.owner)))
        left = np.ones(len(responses), dtype=bool)
        for r, q in self.quorums[0].need:  # the fewest rounds that enough workers sent
            mine = np.flatnonzero(left & ((responses >= r).sum(1) >= q))
            left[mine] = False
            silent = (responses[mine] < r).sum(1)
            for s in np.unique(silent):
                some = mine[silent == s]
                for u in np.split(some, range(1024, len(some), 1024)):
                    who = np.nonzero(responses[u] < r)[1].reshape(len(u), s)
                    weights[u, :, : self.n * r] = (
                        self._exactly(who, r) if self._exact else self._prefix[r](who)
                    )
        if self.rounds == 1:
            weights[left] = super().weights(responses[left])
        return weights  # below the quorum 0: the pseudoinverse would mix sub-vectors

    def _exactly(self, silent: np.ndarray, r: int) -> np.ndarray:
        """Weights (U, L, n r) of a structured or given E, without the workers `silent` (U, s)."""
        W = np.zeros((len(silent), self.rounds, self.n * r))
        for weights, who in zip(W, silent.tolist(), strict=True):
            rows, solved = self._solved[tuple(who)]
            weights[:, rows] = solved
        return W


def group_sizes(n: int, d: int) -> list[int]:
    """Sizes of the groups, (66): all d, but the last one d + (n mod d).

    Examples
    --------
    >>> group_sizes(20, 3), group_sizes(7, 2), group_sizes(6, 3)
    ([3, 3, 3, 3, 3, 5], [2, 2, 3], [3, 3])
    """
    require(1 <= d <= n, f"groups need 1 <= d <= n, got n={n}, d={d}")
    return [d] * (n // d - 1) + [d + n % d]


class GroupedAdaptive(DirectSum):
    r"""Adaptive codes side by side in groups of d workers (G-AGC): decodable with d-1 stragglers in every group.

    Groups have d consecutive workers, the last one d + (n mod d), and each runs `Adaptive` on its own partitions. In a
    group of d workers everybody holds everything, so M^U is all of M, and any L of its dL messages decode. With at
    most s stragglers in a group, ceil(L/(d-s)) rounds suffice.

    Nothing grows with n: matrices are those of groups of d to 2d-1 workers, and groups of d share one E.

    Parameters
    ----------
    n, d : int
        Workers (= partitions) and load.
    rounds : int, optional
        L; default lcm(1, ..., d).
    construction : {"random", "chebyshev", "structured"}
        Of the groups of d workers. A larger last group is ``structured`` if the others are, else ``random``.
    arithmetic, search_seeds, seed
        As in `Adaptive`.

    Raises
    ------
    ParameterError
        As in `Adaptive`.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: (66), (68), (75).

    Examples
    --------
    >>> code = GroupedAdaptive(n=7, d=2)
    >>> [(q.workers, q.need) for q in code.quorums]
    [((0, 1), ((1, 2), (2, 1))), ((2, 3), ((1, 2), (2, 1))), ((4, 5, 6), ((1, 3), (2, 2)))]
    >>> code.decode([[2, 0, 1, 1, 2, 0, 2]]).coefficients
    array([[1., 1., 1., 1., 1., 1., 1.]])
    """

    formulas = {"k": "n", "load": "d", "messages": "rounds", "length": "1 / rounds"}
    decoding = "that of the adaptive code in every group of d to 2d - 1 workers"
    limit = "that of the adaptive code with n = d to 2d - 1, whatever n is"
    instead = "fewer rounds, such as rounds=d"
    source = ("cao2020",)
    examples = (
        {"n": 7, "d": 2},
        {"n": 6, "d": 3, "construction": "chebyshev"},
        {"n": 7, "d": 3, "rounds": 4, "arithmetic": "extended", "search_seeds": 4},
        {"n": 5, "d": 2, "construction": "structured"},
        {"n": 3, "d": 1},
        {"n": 3, "d": 3, "seed": 2},
    )

    @checked
    def __init__(
        self,
        n: int,
        d: int,
        rounds: int | None = None,
        construction: str = "random",
        arithmetic: str = "float64",
        search_seeds: int = 32,
        seed: int = 0,
    ):
        parts = []
        for size in group_sizes(n, d):
            own = "random" if construction == "chebyshev" and size > d else construction
            parts.append(Adaptive(size, d, rounds, own, arithmetic, search_seeds, seed))
        super().__init__(parts)
        self.d, self.rounds, self.construction = d, self.blocks, construction
        self.arithmetic, self.search_seeds, self.seed = arithmetic, search_seeds, seed


class GroupedCGC(DirectSum):
    r"""Communication-efficient codes side by side in groups of d workers (G-CGC): s stragglers in every group.

    The groups are those of `GroupedAdaptive`, and each runs `CommunicationEfficient` on its own partitions. Where d
    divides n, each worker of a group holds its d partitions and any m of its messages of length 1/m decode.

    Parameters
    ----------
    n, d, m : int
        As in `CommunicationEfficient`; d is the size of the groups, too.
    s : int, optional
        Stragglers in each group; default d - m.

    Raises
    ------
    ParameterError
        Unless 1 <= m <= d <= n and 0 <= s <= d - m.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845, with (66); where d divides n: Kadhe, Koyluoglu,
    Ramchandran: Communication-efficient gradient coding for straggler mitigation in distributed learning, ISIT 2020.

    Examples
    --------
    >>> code = GroupedCGC(n=7, d=3, m=2)
    >>> [(q.workers, q.need) for q in code.quorums]
    [((0, 1, 2), ((1, 2),)), ((3, 4, 5, 6), ((1, 3),))]
    >>> code.length, code.decode([[0, 1, 1, 1, 1, 1, 0]]).coefficients
    (0.5, array([[1., 1., 1., 1., 1., 1., 1.]]))
    """

    formulas = {"k": "n", "load": "d", "messages": "1", "length": "1 / m"}
    decoding = "that of the communication-efficient code in every group of d to 2d - 1 workers"
    limit = "that of the communication-efficient code with n = d to 2d - 1, whatever n is"
    instead = "a smaller load d or fewer blocks m"
    source = ("cao2020", "kadhe2020")
    examples = ({"n": 7, "d": 3, "m": 2}, {"n": 6, "d": None, "m": 1, "s": 2}, {"n": 4, "d": 2, "m": 2})

    @checked
    def __init__(self, n: int, d: int | None, m: int, s: int | None = None):
        d, s = load_and_stragglers(n, d, m, s)
        sizes = group_sizes(n, d)
        of_size = {size: CommunicationEfficient(size, d, m, s) for size in set(sizes)}
        super().__init__([of_size[size] for size in sizes])
        self.d, self.m, self.s = d, m, s


class _Prefix:
    """The first r rounds of E (n r rows, h columns): weights for any workers silent, by a small system for each."""

    def __init__(self, E: np.ndarray, n: int, d: int, L: int, r: int, arithmetic: str):
        self.n, self.arithmetic = n, arithmetic
        self.A = E[: n * r, : L + (n - d) * r]
        h = self.A.shape[1]
        Q, R = np.linalg.qr(self.A, mode="complete")
        self.Q, self.R, self.N = Q[:, :h], R[:h], Q[:, h:].T
        self.target = np.eye(L, h)

    def __call__(self, silent: np.ndarray) -> np.ndarray:
        """W (U, L, n r) with W A = [I 0], zero on the workers `silent` (U, s)."""
        U, (L, h), rows = len(silent), self.target.shape, len(self.A)
        at = (np.arange(0, rows, self.n)[:, None] + silent[:, None]).reshape(U, -1)
        q, R = np.linalg.qr(self.N[:, at].transpose(1, 0, 2))
        at = np.broadcast_to(at[:, None], (U, L, at.shape[1]))
        W = np.zeros((U, L, rows))
        wanted = np.broadcast_to(self.target, (U, L, h))
        for _ in range(PASSES[self.arithmetic]):
            residual = _residual(wanted, W, self.A, self.arithmetic)
            step = np.linalg.solve(self.R.T, residual.reshape(U * L, h).T).T.reshape(U, L, h) @ self.Q.T
            y = np.linalg.solve(R.swapaxes(1, 2), np.take_along_axis(step, at, 2).swapaxes(1, 2))
            W += step - (q @ y).swapaxes(1, 2) @ self.N
            np.put_along_axis(W, at, 0, 2)
        return W


def _residual(target: np.ndarray, x: np.ndarray, A: np.ndarray, arithmetic: str) -> np.ndarray:
    """``target - x A``; `extended` cuts x into slices so short that no product with the entries of A is rounded."""
    if arithmetic == "float64":
        return target - x @ A
    bits = 53 - (E_BITS + 3) - ceil(log2(A.shape[-2] + 1))  # entries of A are below 2^3
    for _ in range(4):
        unit = np.ldexp(1.0, np.frexp(np.abs(x).max(-1, keepdims=True, initial=0))[1] - bits)
        part = np.rint(x / unit) * unit
        target, x = target - part @ A, x - part
    return target


def _drawn(n: int, d: int, L: int, construction: str, generator: np.random.Generator) -> np.ndarray:
    """One E, rounded to multiples of 2^-E_BITS."""
    if construction == "chebyshev":
        nodes = np.cos((np.arange(n * L) + 0.5) * np.pi / (n * L))
        E = generator.permutation(nodes)[:, None] ** np.arange(L)
    else:
        E = random_matrix(n, d, L, generator)
    return np.rint(E * 2**E_BITS) / 2**E_BITS


def _rows(n: int, d: int, L: int) -> tuple[np.ndarray, np.ndarray]:
    """For every partition the rows of the workers that do not hold it, (n, (n-d) L), and of those that do, (n, d L)."""
    workers = np.roll(arcs(n, n), -1, axis=0)  # of partition p from worker p + 1 on
    order = np.arange(L)[:, None] * n + workers[:, None]
    return order[:, :, : n - d].reshape(n, -1), order[:, :, n - d :].reshape(n, -1)


def _build(E: np.ndarray, n: int, d: int, L: int, arithmetic: str) -> tuple[np.ndarray, np.ndarray]:
    """B (n L, n, L), and the numbers whose rounding it suffered: |E| |M| or, for `extended`, |B|."""
    without, holders = _rows(n, d, L)
    size, z = (n - d) * L, n - d
    A, target = E[without, L:].swapaxes(1, 2), -E[without, :L].swapaxes(1, 2)
    M, rest = np.zeros((2, n, L, size))  # the transposed M^D of each partition is their sum
    for _ in range(PASSES[arithmetic]):
        residual = _residual(_residual(target, M, A, arithmetic), rest, A, arithmetic)
        for i in range(0, size, z or 1):  # forward substitution, block by block
            own, later = slice(i, i + z), slice(i + z, size)
            step = np.linalg.solve(
                A[:, own, own].swapaxes(1, 2), residual[:, :, own].swapaxes(1, 2)
            ).swapaxes(1, 2)
            residual[:, :, later] -= step @ A[:, own, later]
            rest[:, :, own] += step
        M, rest = M + rest, rest - ((M + rest) - M)
    A, target = E[holders, L:].swapaxes(1, 2), -E[holders, :L].swapaxes(1, 2)
    B = np.zeros((n * L, n, L))
    held = -_residual(_residual(target, M, A, arithmetic), rest, A, arithmetic)
    B[holders, np.arange(n)[:, None]] = held.swapaxes(1, 2)
    if arithmetic == "extended":
        return B, np.abs(B)
    return B, np.abs(E[:, None, :L]) + (np.abs(M) @ np.abs(E[:, L:]).T).transpose(2, 0, 1)


def _stored(B: np.ndarray, d: int) -> sparse.csr_array:
    """B (n L, n, L) with the entries of held partitions only, zeros among them too."""
    rows, n, L = B.shape
    held = np.sort(arcs(n, d), axis=1)[np.arange(rows) % n]
    columns = held[:, :, None] * L + np.arange(L)
    values = np.take_along_axis(B, held[:, :, None], axis=1)
    starts = np.arange(0, rows * d * L + 1, d * L)
    return sparse.csr_array((values.astype(float).ravel(), columns.ravel(), starts), shape=(rows, n * L))


def _silent_sets(n: int, s: int, seed: int) -> np.ndarray:
    """Sets of s of n workers (U, s): all, or a sample where they are more than MOST_PATTERNS."""
    if comb(n, s) <= MOST_PATTERNS:
        return np.array(list(combinations(range(n), s)), dtype=int).reshape(comb(n, s), s)
    generator = rng(seed, "monte_carlo", n, s)
    return np.sort([generator.choice(n, s, replace=False) for _ in range(MOST_PATTERNS)], axis=1)


@lru_cache(maxsize=32)
def _search(n: int, d: int, L: int, construction: str, arithmetic: str, search_seeds: int, seed: int):
    """The draw with the smallest bound on its residual, that bound, E and B."""
    need = {r: s for s, r in enumerate(rounds_needed(L, d))}
    silent = {r: _silent_sets(n, s, seed) for r, s in reversed(need.items())}  # the worst ones first
    best = (np.inf, 0)
    for trial in range(search_seeds):
        E = _drawn(n, d, L, construction, rng(seed, "assignment", trial))
        try:
            best = min(best, (_bound(E, n, d, L, silent, arithmetic, best[0]), trial))
        except np.linalg.LinAlgError:
            continue
        if trial >= 2 and best[0] > HOPELESS:
            break
    require(
        best[0] < 1,
        f"adaptive code with n={n}, d={d}, rounds={L}: rounding leaves nothing of the decoded gradient (an error of "
        f"{best[0]:.0e} at worst for the best drawn E); take fewer rounds, such as rounds={d}, or groups of d workers",
    )
    E = _drawn(n, d, L, construction, rng(seed, "assignment", best[1]))
    return best, E, _build(E, n, d, L, arithmetic)[0]


def _bound(E: np.ndarray, n: int, d: int, L: int, silent: dict, arithmetic: str, limit: float) -> float:
    """Rounding error of a decoded coefficient at most: eps |W| |E| |M|, or eps |W| |B| for `extended`.

    Infinity as soon as it is above `limit`.
    """
    B, size = _build(E, n, d, L, "float64")
    if arithmetic == "extended":
        size = np.abs(B)
    size = size.reshape(n * L, n * L) * np.finfo(float).eps
    worst = 0.0
    for r, sets in silent.items():
        prefix = _Prefix(E, n, d, L, r, "float64")
        for some in np.split(sets, range(32, len(sets), 32)):
            worst = max(worst, float((np.abs(prefix(some)) @ size[: n * r]).max()))
            if worst > limit:
                return np.inf
    return worst


def _given(E, n: int, d: int, L: int) -> np.ndarray:
    """E as fractions, if it has the shape of a code's."""
    exact = fraction_rows("E", E, (n * L, (n - d + 1) * L))
    for row, x in enumerate(exact):
        filled = L + (row // n + 1) * (n - d)
        require(
            not x[filled:].any(),
            f"row {row} of E is zero from column {filled} on, got {list(map(str, x[filled:]))}",
        )
    return exact


def _exact_code(E: np.ndarray, n: int, d: int, L: int) -> tuple[np.ndarray, _Solved]:
    """B, and the rows and weights without every set of stragglers, from an exact E."""
    without, holders = _rows(n, d, L)
    B = np.zeros((n * L, n, L), dtype=object)
    for p in range(n):
        try:
            M = solve_rational(E[without[p], L:], -E[without[p], :L])
        except ZeroDivisionError:
            raise ParameterError(
                f"E does not fit: its rows {without[p].tolist()} from column {L} on are singular"
            ) from None
        B[holders[p], p] = E[holders[p], :L] + E[holders[p], L:] @ M
    solved: _Solved = {}
    for s in range(d):
        for silent in combinations(range(n), s):
            rows = decode_rows(n, d, L, silent)
            A = E[rows, : len(rows)]
            try:
                W = solve_rational(A.T, np.eye(len(rows), L, dtype=int)).T
            except ZeroDivisionError:
                raise ParameterError(
                    f"E does not decode without workers {list(silent)}: the determinant of rows {rows.tolist()} is 0"
                ) from None
            solved[silent] = rows, W.astype(float)
    return B, solved
