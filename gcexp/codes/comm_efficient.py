"""Communication-efficient code: every message is m times shorter than a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from scipy import sparse

from gcexp.codes.base import Code, Quorum, arcs
from gcexp.errors import ParameterError, require, require_known
from gcexp.schema import checked

ARITHMETICS = ("float64", "rational")
MOST_EXACT = 100  # 3 s
_PATTERNS_AT_ONCE = 1024
THETA_ORDERS = ("alternating", "ascending")


def evaluation_points(n: int, order: str = "alternating") -> tuple[Fraction, ...]:
    """Points of the paper's experiments: +-(1 + i/2) for i = 0, 1, ..., and 0 where n is odd.

    The order ``alternating`` is (0,) +1, -1, +3/2, -3/2, ... and loses fewer digits than ``ascending``, because
    neighbours on the cycle share data.
    """
    require_known("theta_order", order, THETA_ORDERS)
    points = [Fraction(0)] * (n % 2)
    for i in range(n // 2):
        points += [1 + Fraction(i, 2), -1 - Fraction(i, 2)]
    return tuple(sorted(points) if order == "ascending" else points)


def polynomial_rows(theta: Sequence | np.ndarray, d: int, m: int) -> np.ndarray:
    r"""Rows B (n*m, n-d+m) of the polynomial code: row i*m+u holds the coefficients of p_i^(u+1), ascending powers.

    p_i^(1)(x) = prod_{j=1}^{n-d} (x - theta_{i+j}) and p_i^(u)(x) = x p_i^(u-1)(x) - c p_i^(1)(x), where c is the
    coefficient of x^(n-d-1) in p_i^(u-1) (Ye and Abbe, section 3). So p_i^(u) is monic of degree n-d+u-1, without the
    powers n-d, ..., n-d+u-2: the last m columns of B are n stacked identities. Integers and fractions stay exact.
    """
    n = len(theta)
    theta = np.asarray(theta)
    theta = theta if theta.dtype.kind == "f" else theta.astype(object)
    B = np.zeros((n, m, n - d + m), dtype=theta.dtype)
    B[:, 0, 0] = 1
    for factor in theta[arcs(n, n - d + 1)[:, 1:]].T:  # of every p_i^(1) at once
        B[:, 0] = np.roll(B[:, 0], 1, axis=1) - factor[:, None] * B[:, 0]
    for u in range(1, m):
        c = B[:, u - 1, n - d - 1] if d < n else np.zeros_like(theta)
        B[:, u] = np.roll(B[:, u - 1], 1, axis=1) - c[:, None] * B[:, 0]
    return B.reshape(n * m, n - d + m)


class ShortMessageCode(Code):
    r"""What the constructions of Ye and Abbe share: messages of length 1/m, of which any n-d+m decode.

    V has t = n-d+m rows, the rows B end in n stacked m x m identities, and C = (B V)^T is zero where worker w does not
    hold partition i. Worker w sends ``C[w]`` times all blocks. For any t workers F, the m columns of ``V_F^{-1}
    [e_{n-d}, ..., e_{t-1}]`` turn their messages into the last m columns of B: the sum of the partitions, block by
    block. A family gives B (n*m, t), V (t, n) and these weights; here rows are scaled, responders chosen, weights kept.
    B and V hold exact objects where `arithmetic` is rational. Where they were made whole numbers, the entries of B V
    for each partition and block times its `unit` (n, m), over `denominator`, are those of the code. Of more than t
    responders the first t in the order `prefer` are used.
    """

    @checked
    def __init__(
        self, B, V, d: int, m: int, s: int, scales, arithmetic: str, unit=1, denominator=1, prefer=None
    ):
        t, n = V.shape
        self.d = d
        self.m = m
        self.s = s
        self.scales = scales
        self.arithmetic = arithmetic
        self._V = V
        self._weights_of_pattern: dict[bytes, np.ndarray] = {}  # by the pattern's bits
        self._prefer = np.arange(n) if prefer is None else np.asarray(prefer)
        held = np.sort(arcs(n, d))
        C = np.zeros((n, n, m), dtype=B.dtype)
        units = np.broadcast_to(unit, (n, m))
        for i in range(n):
            holders = np.flatnonzero((held == i).any(1))
            C[holders, i] = (B[i * m : (i + 1) * m] @ V[:, holders]).T * units[i]
        columns = (held[:, :, None] * m + np.arange(m)).reshape(n, d * m)  # the assignment, zeros too
        sent = np.take_along_axis(C.reshape(n, n * m), columns, axis=1)
        sends = (sent != 0).any(1)
        require(
            bool(sends.all()),
            f"worker {sends.argmin()} would send nothing: its column of V is zero or unlucky",
        )
        if scales is None:
            self._scale = denominator / np.abs(sent).max(1)
        else:
            self._scale = np.array(fractions("scales", scales, n)).astype(C.dtype)
            require(bool(self._scale.all()), f"scales must not be zero, got {list(scales)}")
        self._sent, self._columns = sent * (self._scale / denominator)[:, None], columns
        stored = self._sent.astype(float)
        rows = (stored.ravel(), columns.ravel(), np.arange(0, n * d * m + 1, d * m))
        super().__init__(
            sparse.csr_array(rows, shape=(n, n * m)), blocks=m, quorums=[Quorum(range(n), [(1, n - s)])]
        )

    def exact_encoding(self) -> np.ndarray:
        """Encoding matrix as fractions, (n, n*m).

        Raises
        ------
        ParameterError
            If `arithmetic` is not rational.
        """
        self._require_rational()
        exact = np.full((self.n, self.n * self.m), Fraction(0), dtype=object)
        np.put_along_axis(exact, self._columns, self._sent, axis=1)
        return exact

    def exact_weights(self, responses) -> np.ndarray:
        """Decode weights as fractions, (U, m, n), of patterns with at least n-d+m workers.

        Raises
        ------
        ParameterError
            If `arithmetic` is not rational, or too few workers are heard.
        """
        self._require_rational()
        responses = self._patterns(responses)
        few = responses.sum(1) < len(self._V)
        require(
            not few.any(),
            f"{self!r} decodes from n-d+m = {len(self._V)} workers, got {responses.sum(1).min()}",
        )
        numerator, denominator = self._ratios(self._responders(responses))
        as_fractions = np.frompyfunc(Fraction, 2, 1)
        return np.array(as_fractions(numerator, denominator), dtype=object)

    def weights(self, responses):
        weights = np.empty((len(responses), self.m, self.n))
        few = responses.sum(1) < len(self._V)
        # Best effort; for m > 1 it mixes blocks and is skipped.
        weights[few] = super().weights(responses[few])
        responders = self._responders(responses[~few])
        keys = [pattern.tobytes() for pattern in np.packbits(responders, axis=1)]
        row_of_key = {key: row for row, key in enumerate(keys) if key not in self._weights_of_pattern}
        new_keys = list(row_of_key)
        new_rows = list(row_of_key.values())
        for first in range(0, len(new_keys), _PATTERNS_AT_ONCE):
            piece = slice(first, first + _PATTERNS_AT_ONCE)
            solved = self._solve(responders[new_rows[piece]])
            self._weights_of_pattern.update(zip(new_keys[piece], solved, strict=True))
        of_patterns = [self._weights_of_pattern[key] for key in keys]
        weights[~few] = np.reshape(of_patterns, (len(keys), self.m, self.n))
        return weights

    def _require_rational(self) -> None:
        require(
            self.arithmetic == "rational",
            f"exact values need arithmetic=rational, got arithmetic={self.arithmetic}",
        )

    def _responders(self, responses: np.ndarray) -> np.ndarray:
        """The first n-d+m of the workers heard, in the preferred order, boolean (U, n)."""
        heard = responses[:, self._prefer] > 0
        responders = np.empty(responses.shape, dtype=bool)
        responders[:, self._prefer] = heard & (np.cumsum(heard, axis=1) <= len(self._V))
        return responders

    def _solve(self, responders: np.ndarray) -> np.ndarray:
        """Weights (U, m, n) of patterns (U, n) of exactly n-d+m workers."""
        if self.arithmetic == "rational":
            numerator, denominator = self._ratios(responders)
            return (numerator / denominator).astype(float)  # a quotient of integers is rounded once
        t = len(self._V)
        F = np.nonzero(responders)[1].reshape(-1, t)
        try:
            solved = np.linalg.solve(self._V[:, F].transpose(1, 0, 2), np.eye(t)[:, t - self.m :])
        except np.linalg.LinAlgError:
            raise ParameterError(f"{self!r}: V has {t} dependent columns") from None
        weights = np.zeros((len(F), self.n, self.m))
        np.put_along_axis(weights, F[:, :, None], solved / self._scale[F][:, :, None], axis=1)
        return weights.transpose(0, 2, 1)

    def _ratios(self, responders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exact weights of such patterns: integer numerators (U, m, n) and denominators that broadcast to them."""
        raise NotImplementedError


class CommunicationEfficient(ShortMessageCode):
    r"""Exact for any s stragglers with messages of length 1/m: the polynomial code of Ye and Abbe.

    Worker w holds the d partitions w, ..., w+d-1 (mod n). For distinct theta_0, ..., theta_{n-1}, the polynomials
    p_i^(1), ..., p_i^(m) of `polynomial_rows` vanish at theta_w unless w holds i, and ``V[r, w] = theta_w^r``. The
    message of worker w is sum_{i, u} c_w p_i^(u+1)(theta_w) g_{i,u}, where g_{i,0}, ..., g_{i,m-1} are the blocks
    of g_i and c_w a row scale; any n-d+m workers decode. A code with load d, message length 1/m and s
    stragglers exists if and only if d >= s + m.

    The paper lets g_{i,u} be every m-th coordinate of g_i. Here, as in every code of this library, it is the u-th of
    m consecutive sub-vectors (g_i padded with zeros at the end): the same code up to one fixed permutation of
    the coordinates, and of what is sent and decoded.

    Vandermonde systems are ill-conditioned (1e9 for n = 15, 1e15 for n = 20), so coefficients and decode weights are
    computed in exact rationals and rounded once; the rest is float64. The weights are those of Lagrange
    interpolation: with all n points known, a set S of silent workers costs |S| products each,
    ``[x^(n-d+u)] L_w(x) = prod_{j in S} (theta_w - theta_j) / prod_{j != w} (theta_w - theta_j) * e``, e being a
    coefficient of prod_{j in F, j != w} (1 - theta_j z).

    Runs of neighbours and many blocks lose the most digits (docs/codes-accuracy.md), and
    `GeneralCommunicationEfficient` goes further. With float64 arithmetic, as in the paper, (n, d, m) = (20, 4, 3)
    already raises; float32 messages lose everything at (20, 6, 5).

    Parameters
    ----------
    n : int
        Workers (= partitions).
    d : int or None
        Load; None: s + m.
    m : int
        Blocks; a message is a gradient's m-th part.
    s : int, optional
        Stragglers; default d - m. With fewer, the quorum is n-s and n-d+m of those workers are used, outermost
        points first.
    theta_order : {"alternating", "ascending"}
        Order of `evaluation_points`.
    theta : sequence of n numbers, optional
        Distinct points instead of these; numbers or strings such as "3/2", taken exactly.
    scales : sequence of n numbers, optional
        Row scales c_w, not zero; default: largest entry 1.
    arithmetic : {"rational", "float64"}
        How coefficients and weights are computed.

    Raises
    ------
    ParameterError
        Unless 1 <= m <= d <= n and 0 <= s <= d - m, or where points or scales do not fit.

    References
    ----------
    Ye, Abbe: Communication-computation efficient gradient coding, ICML 2018, Theorem 1 and section 3 (row scales,
    order of the points and exact arithmetic are choices of this library).

    Examples
    --------
    >>> code = CommunicationEfficient(n=5, d=3, m=2)
    >>> code.s, code.load, code.length
    (1, array([3, 3, 3, 3, 3]), 0.5)
    >>> code.decode([[1, 1, 0, 1, 1]]).coefficients
    array([[1., 1., 1., 1., 1.]])
    >>> toy = CommunicationEfficient(5, 3, 2, theta=[-2, -1, 0, 1, 2], scales=["1/2", 1, "1/2", -1, "1/2"])
    >>> [str(x) for x in toy.exact_weights([[1, 1, 0, 1, 1]])[0, 0]]
    ['1/3', '-1/6', '0', '1/6', '1/3']
    """

    formulas = {"k": "n", "load": "d", "messages": "1", "length": "1 / m"}
    decoding = "Lagrange interpolation in rationals, rounded once; s n exact products, kept for each pattern"
    limit = (
        "neighbours are hardest, many blocks lose most; float64 fails at (20, 4, 3); see codes-accuracy.md"
    )
    instead = "GeneralCommunicationEfficient, which takes the same n, d, m and s"
    source = ("ye2018",)
    examples = (
        {"n": 5, "d": 3, "m": 2},
        {"n": 8, "d": 5, "m": 2, "s": 1},
        {"n": 7, "d": None, "m": 3, "s": 2, "theta_order": "ascending"},
        {"n": 6, "d": 4, "m": 3, "arithmetic": "float64"},
        {"n": 4, "d": 4, "m": 4},
        {"n": 5, "d": 2, "m": 2},
        {"n": 4, "d": 4, "m": 1},
        {"n": 3, "d": 2, "m": 1, "theta": [-1, 0, 1], "scales": [-1, -1, 1]},
        {"n": 1, "d": 1, "m": 1},
    )

    @checked
    def __init__(
        self,
        n: int,
        d: int | None,
        m: int,
        s: int | None = None,
        theta_order: str = "alternating",
        theta: Sequence | None = None,
        scales: Sequence | None = None,
        arithmetic: str = "rational",
    ):
        require(
            n <= MOST_EXACT or arithmetic != "rational",
            f"exact rationals need n <= {MOST_EXACT}, got n={n}; a code with a general V supports more workers",
        )
        d, s = load_and_stragglers(n, d, m, s)
        points = evaluation_points(n, theta_order) if theta is None else fractions("theta", theta, n)
        require(len(set(points)) == n, f"theta must hold distinct points, got {list(map(str, points))}")
        require_known("arithmetic", arithmetic, ARITHMETICS)
        self.theta_order, self.theta = theta_order, theta
        x = np.array(points, dtype=float)
        unit = np.ones(m)
        denominator = 1
        outermost = np.argsort(-np.abs(x), kind="stable")
        if arithmetic == "rational":
            # In whole numbers: row u of B V for the points q theta is q^(n-d+u) times that for theta.
            self._q = lcm(*(point.denominator for point in points))
            x = np.array([int(point * self._q) for point in points], dtype=object)
            unit = np.array([self._q ** (m - 1 - u) for u in range(m)], dtype=object)
            denominator = Fraction(self._q ** (n - d + m - 1))
        V = np.stack([x**r for r in range(n - d + m)])
        B = polynomial_rows(x, d, m)
        super().__init__(B, V, d, m, s, scales, arithmetic, unit, denominator, outermost)
        if arithmetic == "rational":
            self._prepare(x)

    def _prepare(self, a: np.ndarray) -> None:
        """Integers from which every pattern's weights are made; the points are a / q."""
        n = self.n
        m = self.m
        q = self._q
        self._a, self._gap = a, a[:, None] - a
        product = np.prod(self._gap + np.eye(n, dtype=int), axis=1)
        power = np.array([q ** (n - self.d + u) for u in range(m)], dtype=object)
        factor = power[:, None] / (product * self._scale)
        self._numerator = np.vectorize(lambda x: x.numerator, otypes=[object])(factor)
        self._denominator = np.vectorize(lambda x: x.denominator, otypes=[object])(factor)
        self._series = np.zeros(m, dtype=object)  # prod_j (1 - a_j z), up to z^(m-1)
        self._series[0] = 1
        for point in a:
            self._series[1:] -= point * self._series[:-1]

    def _ratios(self, responders):
        silent = np.nonzero(~responders)[1].reshape(len(responders), -1)
        series = np.tile(self._series, (len(responders), 1))
        ratio = np.ones(responders.shape, dtype=object)
        for j in silent.T:
            _divide(series, self._a[j])
            ratio *= self._gap[:, j].T  # 0 at j itself: nothing is asked of a silent worker
        series = np.repeat(series[:, None], self.n, axis=1)
        _divide(series, self._a)
        return ratio[:, None] * series[:, :, ::-1].transpose(0, 2, 1) * self._numerator, self._denominator


def _divide(series: np.ndarray, point: np.ndarray) -> None:
    """Divide power series (..., m) by 1 - point z, in place."""
    for v in range(1, series.shape[-1]):
        series[..., v] += point * series[..., v - 1]


def load_and_stragglers(n: int, d: int | None, m: int, s: int | None) -> tuple[int, int]:
    """Load d and stragglers s of a code with d >= s + m; either may be None and is then chosen with equality."""
    got = f"got n={n}, d={d}, m={m}, s={s}"
    if d is None:
        if s is None:
            raise ParameterError(f"a communication-efficient code needs d or s, {got}")
        d = s + m
    require(1 <= m <= d <= n, f"a communication-efficient code needs 1 <= m <= d <= n, {got}")
    s = d - m if s is None else s
    require(0 <= s, f"a communication-efficient code needs s >= 0, {got}")
    require(d >= s + m, f"a communication-efficient code needs d >= s + m, {got}, so {d} < {s + m}")
    return d, s


def fractions(name: str, values: Sequence, n: int) -> tuple[Fraction, ...]:
    """The n exact numbers of a parameter."""
    try:
        exact = tuple(Fraction(v) for v in values)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError(f"{name} holds numbers, or strings such as '3/2', got {values!r}") from None
    require(len(exact) == n, f"{name} holds {n} numbers, got {len(exact)}")
    return exact


def fraction_rows(name: str, rows: Sequence[Sequence], shape: tuple[int, int]) -> np.ndarray:
    """The exact numbers of a matrix of this shape."""
    require(len(rows) == shape[0], f"{name} has {shape[0]} rows of {shape[1]} numbers, got {len(rows)} rows")
    return np.array([fractions(f"a row of {name}", row, shape[1]) for row in rows], dtype=object)
