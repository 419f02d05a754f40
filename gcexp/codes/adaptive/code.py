"""The adaptive code of one E, which may be drawn, structured or given."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from scipy import sparse

from gcexp.codes.adaptive.drawn import ARITHMETICS, Prefix, search
from gcexp.codes.adaptive.exact import exact_code, exact_matrix
from gcexp.codes.adaptive.matrices import rounds_needed, vandermonde
from gcexp.codes.base import Code, Quorum, arcs
from gcexp.errors import require, require_known
from gcexp.schema import checked

CONSTRUCTIONS = ("random", "chebyshev", "structured")
MOST_EXACT_ROWS = 48  # of a structured or given E
#: Rows of a drawn E with n > d, at most: no code near this size decodes with more than one round per unit of load.
MOST_ROWS = 800
_PATTERNS_AT_ONCE = 1024


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
        self.d = d
        self.rounds = L
        self.construction = construction
        self.E = E
        self.arithmetic = arithmetic
        self.search_seeds = search_seeds
        self.seed = seed
        self._exact = E is not None or construction == "structured"
        # Workers of whom r rounds are needed; of equal r the fewest.
        workers_needed = {r: n - s for s, r in enumerate(rounds_needed(L, d))}
        if self._exact:
            require(
                n * L <= MOST_EXACT_ROWS,
                f"structured and given E are solved exactly, which needs n * rounds <= {MOST_EXACT_ROWS}, "
                f"got n={n}, rounds={L}",
            )
            rows = vandermonde(n, d, L) if E is None else E
            B, self._weights_without = exact_code(exact_matrix(rows, n, d, L), n, d, L)
        else:
            require(
                n == d or n * L <= MOST_ROWS,
                f"a drawn E has n * rounds <= {MOST_ROWS} rows, got n={n}, rounds={L}; take fewer rounds, such as "
                f"rounds={d}, or groups of d workers",
            )
            best = search(n, d, L, construction, arithmetic, search_seeds, seed)
            self.bound = best.bound
            self.trial = best.trial
            B = best.B
            self._prefix = {r: Prefix(best.E, n, d, L, r, arithmetic) for r in workers_needed}
        owner = np.tile(np.arange(n), L)
        quorum = Quorum(range(n), workers_needed.items())
        super().__init__(_stored(B, d), owner, blocks=L, quorums=[quorum])

    def weights(self, responses):
        weights = np.zeros((len(responses), self.rounds, len(self.owner)))
        below_quorum = np.ones(len(responses), dtype=bool)
        for r, q in self.quorums[0].need:  # the fewest rounds that enough workers sent
            patterns = np.flatnonzero(below_quorum & ((responses >= r).sum(1) >= q))
            below_quorum[patterns] = False
            stragglers = (responses[patterns] < r).sum(1)
            for s in np.unique(stragglers):
                with_s = patterns[stragglers == s]
                for u in np.split(with_s, range(_PATTERNS_AT_ONCE, len(with_s), _PATTERNS_AT_ONCE)):
                    silent = np.nonzero(responses[u] < r)[1].reshape(len(u), s)
                    weights[u, :, : self.n * r] = self._weights_of_rounds(r, silent)
        if self.rounds == 1:
            weights[below_quorum] = super().weights(responses[below_quorum])
        return weights  # below the quorum 0: the pseudoinverse would mix sub-vectors

    def _weights_of_rounds(self, r: int, silent: np.ndarray) -> np.ndarray:
        """Weights (U, L, n r) of the first r rounds, without the workers `silent` (U, s)."""
        if not self._exact:
            return self._prefix[r](silent)
        W = np.zeros((len(silent), self.rounds, self.n * r))
        for weights, workers in zip(W, silent.tolist(), strict=True):
            rows, weights_of_rows = self._weights_without[tuple(workers)]
            weights[:, rows] = weights_of_rows
        return W


def _stored(B: np.ndarray, d: int) -> sparse.csr_array:
    """B (n L, n, L) with the entries of held partitions only, zeros among them too."""
    rows, n, L = B.shape
    held = np.sort(arcs(n, d), axis=1)[np.arange(rows) % n]
    columns = held[:, :, None] * L + np.arange(L)
    values = np.take_along_axis(B, held[:, :, None], axis=1)
    starts = np.arange(0, rows * d * L + 1, d * L)
    return sparse.csr_array((values.astype(float).ravel(), columns.ravel(), starts), shape=(rows, n * L))
