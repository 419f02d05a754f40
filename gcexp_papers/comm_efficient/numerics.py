"""Tables behind the figures of Ye and Abbe (ICML 2018) that need no clock and no training.

Every function returns a tidy table. Codes are decoded in exact fractions, unless a function is about rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd

from gcexp.analysis import counting
from gcexp.analysis.declared import gives
from gcexp.analysis.solving import invertible
from gcexp.codes.comm_efficient import (
    CommunicationEfficient,
    ShortMessageCode,
    evaluation_points,
    polynomial_rows,
)
from gcexp.codes.general_v import GeneralCommunicationEfficient
from gcexp.delays.compute_transmit import ComputeTransmit
from gcexp.errors import ParameterError, require
from gcexp.schemes import Scheme
from gcexp.seeding import rng
from gcexp.theory import comm_efficient as theory

# --- Tables ---------------------------------------------------------------------------------------------------


@gives("symbol", "meaning", "value")
def notation(meanings: dict[str, str], n: int, d: int, m: int, length: int) -> pd.DataFrame:
    """Table 1: what the symbols mean, and their values in a code that is built.

    Parameters
    ----------
    meanings : mapping
        Symbol (n, k, d, s, m, l, g, f) to its meaning.
    n, d, m : int
        Workers, load and blocks of the code.
    length : int
        Numbers in a gradient.

    Returns
    -------
    DataFrame
        ``symbol, meaning, value``: of g and f, how many numbers a gradient of a partition and a message have.
    """
    code = CommunicationEfficient(n, d, m)
    sent = code.encode(np.zeros((code.k, length)))
    values = {
        "n": code.n,
        "k": code.k,
        "d": int(code.load.max()),
        "s": code.s,
        "m": code.blocks,
        "l": length,
        "g": length,
        "f": sent.shape[1],
    }
    require(set(meanings) == set(values), f"the symbols are {', '.join(values)}, got {', '.join(meanings)}")
    return pd.DataFrame(
        [
            {"symbol": symbol, "meaning": meaning, "value": values[symbol]}
            for symbol, meaning in meanings.items()
        ]
    )


@gives("straggler", "coordinate", "worker", "weight", "fraction", "error")
def decode_weights(
    n: int, d: int, m: int, theta: list[float | str], scales: list[float | str]
) -> pd.DataFrame:
    """Table 2: exact weights on the messages that answer, for every set of d - m stragglers.

    Parameters
    ----------
    n, d, m, theta, scales
        As in `CommunicationEfficient`.

    Returns
    -------
    DataFrame
        ``straggler, coordinate, worker, weight, fraction, error``: the largest difference between the decoded
        coefficients and those of the sum, in fractions, so that 0 is exact.
    """
    code = CommunicationEfficient(n, d, m, theta=theta, scales=scales)
    C = code.exact_encoding()
    target = np.tile(np.eye(m, dtype=int), n)
    rows = []
    for silent in combinations(range(n), code.s):
        weights = code.exact_weights([[w not in silent for w in range(n)]])[0]
        error = abs(weights @ C - target).max()
        for u in range(m):
            for w in range(n):
                weight = Fraction(weights[u, w])
                rows.append(
                    {
                        "straggler": " ".join(map(str, silent)),
                        "coordinate": u,
                        "worker": w,
                        "weight": float(weight),
                        "fraction": str(weight) if w not in silent else "",
                        "error": float(error),
                    }
                )
    return pd.DataFrame(rows)


@gives(
    *("m", "d", "s", "expected_time_s", "gain_of_last_straggler_s", "spare", "rank", "below_uncoded"),
    "below_best_m1",
)
def expected_times(n: int, t1: float, lambda1: float, t2: float, lambda2: float) -> pd.DataFrame:
    """Table 3: mean iteration time of every load d and message length 1/m, with s = d - m stragglers.

    Parameters
    ----------
    n, t1, lambda1, t2, lambda2
        As in `gcexp.theory.comm_efficient.expected_time`.

    Returns
    -------
    DataFrame
        ``m, d, s, expected_time_s``; ``rank``, 1 for the smallest time; ``below_uncoded, below_best_m1``, by how many
        per cent it is below the time of d = m = 1, and below the best with m = 1; ``gain_of_last_straggler_s``, by how
        much smaller it is than with any smaller s; ``spare``, whether there is any.
    """
    law = (t1, lambda1, t2, lambda2)
    rows = []
    for m in range(1, n + 1):
        for d in range(m, n + 1):
            time, *fewer = (theory.expected_time(n, d, m, *law, s=s) for s in range(d - m, -1, -1))
            gain = min(fewer) - time if fewer else np.nan
            rows.append(
                {"m": m, "d": d, "s": d - m, "expected_time_s": time, "gain_of_last_straggler_s": gain}
            )
    frame = pd.DataFrame(rows)
    time = frame["expected_time_s"]
    frame["spare"] = (frame["s"] > 0).astype(int)
    frame["rank"] = time.rank().astype(int)
    uncoded = time[(frame["m"] == 1) & (frame["d"] == 1)].iloc[0]
    frame["below_uncoded"] = 100 * (1 - time / uncoded)
    frame["below_best_m1"] = 100 * (1 - time / time[frame["m"] == 1].min())
    return frame


# --- Stability ------------------------------------------------------------------------------------------------


@gives("case", "n", "d", "m", "method", "worst_error", "condition")
def stability(methods: list, length: int, sets: int, seed: int = 0) -> pd.DataFrame:
    r"""Rounding errors and condition numbers of the code, and what exact coefficients change.

    The error is ||g_hat - g|| / sqrt(sum_i ||g_i||^2) for standard normal partition gradients g_i, messages and sums
    in float64; the worst of the responder sets.

    Parameters
    ----------
    methods : list of mapping
        ``label`` and ``of``: how coefficients and weights are computed, and what makes the codes, which have the same
        n, d and m in all methods.
    length : int
        Numbers in a gradient.
    sets : int
        Responder sets tried: all, where they are not more, else as many random ones.
    seed : int
        Of gradients and sets.

    Returns
    -------
    DataFrame
        ``case, n, d, m, method, worst_error``; ``condition``, the largest condition number of the n-s columns of the
        Vandermonde matrix that decode (empty for a general V).

    Raises
    ------
    ParameterError
        If the codes of one method are not those of another.
    """
    rows = []
    for codes in _same_codes(methods):
        n, d, m, s = _shape(codes[0][1])
        generator = rng(seed, "monte_carlo", n, d, m)
        g = generator.standard_normal((n, length))
        size = np.sqrt((g**2).sum())
        silent = _silent_sets(n, s, sets, generator)
        heard = np.ones((len(silent), n), dtype=np.int64)
        np.put_along_axis(heard, silent, 0, axis=1)
        condition = max(_condition(n, tuple(who)) for who in silent.tolist())
        for method, code in codes:
            # `decode` would refuse what this table is about.
            found = (code.weights(heard) @ code.encode(g)).reshape(len(heard), -1)[:, :length]
            rows.append(
                {
                    "case": f"d = {d}, m = {m}",
                    "n": n,
                    "d": d,
                    "m": m,
                    "method": method,
                    "worst_error": np.linalg.norm(found - g.sum(0), axis=1).max() / size,
                    "condition": condition if isinstance(code, CommunicationEfficient) else np.nan,
                }
            )
    return pd.DataFrame(rows)


def _same_codes(methods: list) -> Iterator[list[tuple[str, ShortMessageCode]]]:
    """The first code of every method with its label, then the second ones, and so on."""
    labels = [given["label"] for given in methods]
    makers = [given["of"] if isinstance(given["of"], list) else [given["of"]] for given in methods]
    for label, of in zip(labels, makers, strict=True):
        require(
            len(of) == len(makers[0]),
            f"every method has the same codes, got {len(makers[0])} of {labels[0]} and {len(of)} of {label}",
        )
    for makes in zip(*makers, strict=True):
        codes = [(label, make()) for label, make in zip(labels, makes, strict=True)]
        for label, code in codes:
            require(
                isinstance(code, ShortMessageCode),
                f"{label}: a communication-efficient code is wanted, got {code!r}",
            )
            require(
                _shape(code) == _shape(codes[0][1]),
                f"every method has the same codes, got {codes[0][1]!r} of {labels[0]} and {code!r} of {label}",
            )
        yield codes


def _shape(code: ShortMessageCode) -> tuple[int, int, int, int]:
    return code.n, code.d, code.m, code.s


@lru_cache(maxsize=1024)
def _condition(n: int, silent: tuple[int, ...]) -> float:
    """2-norm condition number of the responders' Vandermonde matrix, by its exact inverse: float64 ends at 1e16."""
    x = [point for w, point in enumerate(evaluation_points(n)) if w not in silent]
    a = [int(2 * point) for point in x]  # whole numbers: y = 2 x
    P = [1]  # prod (y - a_w), ascending
    for root in a:
        P = [low - root * high for low, high in zip([0, *P], [*P, 0], strict=True)]
    inverse = np.empty((len(x), len(x)))
    for w, root in enumerate(a):  # row w: the coefficients of prod_{v != w} (y - a_v) / (a_w - a_v)
        quotient = [0]
        for coefficient in reversed(P[1:]):
            quotient.insert(0, coefficient + root * quotient[0])
        scale = sum(coefficient * root**r for r, coefficient in enumerate(quotient[:-1]))
        inverse[w] = [float(Fraction(c * 2**r, scale)) for r, c in enumerate(quotient[:-1])]
    V = np.array(x, dtype=float) ** np.arange(len(x))[:, None]
    return float(np.linalg.norm(V, 2) * np.linalg.norm(inverse, 2))


def _silent_sets(n: int, s: int, most: int, generator: np.random.Generator) -> np.ndarray:
    """Sets of s of n workers (sets, s): all, or `most` random ones."""
    if comb(n, s) <= most:
        return np.array(list(combinations(range(n), s)), dtype=int).reshape(comb(n, s), s)
    return np.array([generator.choice(n, s, replace=False) for _ in range(most)])


# --- Statements that no figure shows --------------------------------------------------------------------------


@gives(*counting.COLUMNS)
def statements(most: int, assignments: int) -> pd.DataFrame:
    """What the paper says about its construction, for every code with few workers, in exact fractions.

    Parameters
    ----------
    most : int
        Codes of up to so many workers, with all 1 <= m <= d <= n and s = d - m.
    assignments : int
        Up to so many workers all assignments of d of n partitions to each are tried for the converse.

    Returns
    -------
    DataFrame
        ``id, what, instances, tried, held, share``: in which share of the instances a statement holds.
    """
    codes = [_Instance(n, d, m) for n in range(1, most + 1) for d in range(1, n + 1) for m in range(1, d + 1)]
    rows = [*_construction(codes), *_promises(codes), *_limits(most, assignments)]
    return counting.table(rows)


class _Instance:
    """A code of n workers, load d and m blocks, its polynomials evaluated one by one, and all sets of responders."""

    def __init__(self, n: int, d: int, m: int):
        self.n, self.d, self.m, self.s = n, d, m, d - m
        self.code = CommunicationEfficient(n, d, m)
        self.theta = evaluation_points(n)
        self.B = polynomial_rows(self.theta, d, m)
        self.V = np.array([[x**r for x in self.theta] for r in range(n - d + m)], dtype=object)
        self.C = self.code.exact_encoding()
        self.heard = np.array([[w in F for w in range(n)] for F in combinations(range(n), n - self.s)])

    def values(self, x: Fraction) -> np.ndarray:
        """p_i^(1)(x), ..., p_i^(m)(x) of every partition, (n, m): products and the recursion, without coefficients."""
        first = [self._product(i, x) for i in range(self.n)]
        found = np.empty((self.n, self.m), dtype=object)
        for i in range(self.n):
            p, below = first[i], self._below(i)
            for u in range(self.m):
                found[i, u] = p
                p = x * p - below[u] * first[i]
        return found

    def _product(self, i: int, x: Fraction) -> Fraction:
        result = Fraction(1)
        for j in range(1, self.n - self.d + 1):
            result *= x - self.theta[(i + j) % self.n]
        return result

    def _below(self, i: int) -> list[Fraction]:
        """Coefficient of x^(n-d-1) in each p_i^(u), read off B; 0 where d = n."""
        at = self.n - self.d - 1
        return [self.B[i * self.m + u, at] if at >= 0 else Fraction(0) for u in range(self.m)]

    def holds(self, w: int, i: int) -> bool:
        """Whether worker w holds partition i: i is one of w, ..., w+d-1."""
        return (i - w) % self.n < self.d

    def rows(self) -> np.ndarray:
        """B as (n, m, n-d+m)."""
        return self.B.reshape(self.n, self.m, -1)

    def decodes(self, gradients: np.ndarray) -> bool:
        """Whether all sets of responders give the sum of integer gradients (n, l), exactly; zeros are appended."""
        short = -gradients.shape[1] % self.m
        padded = np.pad(gradients, ((0, 0), (0, short))).astype(object)
        sent = self.C @ self._interleaved(padded)
        wanted = padded.sum(0).reshape(-1, self.m).T
        return bool((self.code.exact_weights(self.heard) @ sent == wanted).all())

    def _interleaved(self, gradients: np.ndarray) -> np.ndarray:
        """The paper's blocks of m consecutive coordinates: row i m + u is coordinate u of every block of g_i."""
        return gradients.reshape(self.n, -1, self.m).transpose(0, 2, 1).reshape(self.n * self.m, -1)


def _construction(codes: list[_Instance]) -> Iterator[dict]:
    """Section 3 up to the matrices."""
    points = [Fraction(7, 3), Fraction(-11, 5), Fraction(0)]
    every = "codes and partitions"
    of_each = [(c, i) for c in codes for i in range(c.n)]
    further = [(c, i, u) for c, i in of_each for u in range(1, c.m)]

    yield counting.counted(
        "b_stacked_identities",
        "the last m columns of B are n stacked m x m identities",
        "codes",
        ((c.B[:, c.n - c.d :] == np.tile(np.eye(c.m, dtype=int), (c.n, 1))).all() for c in codes),
    )
    yield counting.counted(
        "conditions_vs_dutta",
        "the last m columns of B have exactly m n nonzeros",
        "codes",
        (np.count_nonzero(c.B[:, c.n - c.d :]) == c.m * c.n for c in codes),
    )
    yield counting.counted(
        "b_zero_pattern",
        "B times column j of V is 0 on (n-d) m rows: those of the partitions that worker j does not hold",
        "codes and workers",
        (
            not (c.B @ c.V[:, w]).reshape(c.n, c.m)[[not c.holds(w, i) for i in range(c.n)]].any()
            for c in codes
            for w in range(c.n)
        ),
    )
    yield counting.counted(
        "bv_is_evaluation",
        "B V holds the values of the polynomials at the points, computed by products and the recursion",
        "codes and workers",
        ((c.B @ c.V[:, w] == c.values(c.theta[w]).ravel()).all() for c in codes for w in range(c.n)),
    )
    yield counting.counted(
        "b_rows",
        "a row of B, as ascending coefficients, evaluates to its polynomial at three points that are no worker's",
        "codes and points",
        ((c.B @ [x**r for r in range(len(c.V))] == c.values(x).ravel()).all() for c in codes for x in points),
    )
    yield counting.counted(
        "cyclic_assignment",
        "worker i holds i, ..., i+d-1; partition i is missing at the n-d workers after i",
        "codes",
        (
            (c.code.assignment == [[c.holds(w, i) for i in range(c.n)] for w in range(c.n)]).all()
            and all(
                not c.code.assignment[(i + j) % c.n, i] for i in range(c.n) for j in range(1, c.n - c.d + 1)
            )
            for c in codes
        ),
    )
    yield counting.counted(
        "roots_mark_assignment",
        "p_i vanishes at the point of worker w exactly where w does not hold i, and is monic of degree n-d",
        "codes, workers and partitions",
        (
            (sum(a * c.theta[w] ** r for r, a in enumerate(c.rows()[i, 0])) == 0) != c.holds(w, i)
            and c.rows()[i, 0, c.n - c.d] == 1
            for c, i in of_each
            for w in range(c.n)
        ),
    )
    yield counting.counted(
        "p_coefficients",
        "p_i has coefficient 1 at degree n-d and 0 above, up to n-s-1",
        every,
        (
            c.rows()[i, 0, c.n - c.d] == 1 and not c.rows()[i, 0, c.n - c.d + 1 : c.n - c.s].any()
            for c, i in of_each
        ),
    )
    yield counting.counted(
        "recursion",
        "p^(u+1) = x p^(u) - c p^(1), c the coefficient of x^(n-d-1) in p^(u), coefficient by coefficient",
        "codes, partitions and u",
        (
            (c.rows()[i, u] == np.roll(c.rows()[i, u - 1], 1) - c._below(i)[u - 1] * c.rows()[i, 0]).all()
            and c.rows()[i, u - 1, -1] == 0
            for c, i, u in further
        ),
    )
    yield counting.counted(
        "recursion_degrees",
        "p^(u) is monic of degree n-d+u-1",
        "codes, partitions and u",
        (
            c.rows()[i, u, c.n - c.d + u] == 1 and not c.rows()[i, u, c.n - c.d + u + 1 :].any()
            for c, i in of_each
            for u in range(c.m)
        ),
    )
    yield counting.counted(
        "recursion_divisible",
        "p^(1) divides p^(u) without remainder",
        "codes, partitions and u",
        (not _remainder(c.rows()[i, u], c.rows()[i, 0, : c.n - c.d + 1]).any() for c, i, u in further),
    )
    yield counting.counted(
        "recursion_gap",
        "p^(u) has no powers n-d, ..., n-d+u-2",
        "codes, partitions and u",
        (not c.rows()[i, u, c.n - c.d : c.n - c.d + u].any() for c, i, u in further),
    )


def _remainder(dividend: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Remainder of polynomials, ascending coefficients, the divisor monic."""
    rest, size = dividend.copy(), len(divisor) - 1
    for at in range(len(rest) - 1, size - 1, -1):
        rest[at - size : at + 1] = rest[at - size : at + 1] - rest[at] * divisor
    return rest


def _promises(codes: list[_Instance]) -> Iterator[dict]:
    """What the code does: Definition 1, decoding, lengths."""
    generator = np.random.default_rng(0)

    def drawn(c: _Instance, length: int) -> np.ndarray:
        return generator.integers(-9, 10, (c.n, length))

    exact = [c.decodes(drawn(c, 2 * c.m)) for c in codes]
    for statement, what in {
        "explicit_optimal_scheme": "the polynomial code with d = s + m decodes from any n-s workers",
        "decode_identity": "A^-1 e_(n-d+u) times the messages is coordinate u of every block of the sum",
        "infinite_precision": "in exact arithmetic the decoded sum has no error",
    }.items():
        yield counting.counted(statement, f"{what}, exactly", "codes, all sets of responders", exact)
    for statement in ("definition1", "scheme_satisfies_definition1", "theorem1_achievability"):
        yield counting.counted(
            statement,
            "each worker holds d partitions, sends one linear map of l/m numbers, any n-s workers decode",
            "codes, all sets of responders",
            (
                (c.code.load == c.d).all() and (c.code.messages == 1).all() and c.code.blocks == c.m and done
                for c, done in zip(codes, exact, strict=True)
            ),
        )
    yield counting.counted(
        "scheme_meets_equality",
        "s = d - m: d - m stragglers are survived, and a code for one more is refused",
        "codes",
        (
            done and c.code.s == c.d - c.m and not _built(c.n, c.d, c.m, c.s + 1)
            for c, done in zip(codes, exact, strict=True)
        ),
    )
    yield counting.counted(
        "generalises_m1",
        "m = 1: messages as long as a gradient and d = s + 1, exact from any n-s workers",
        "codes with m = 1",
        (
            done and c.code.length == 1 and c.d == c.s + 1
            for c, done in zip(codes, exact, strict=True)
            if c.m == 1
        ),
    )
    yield counting.counted(
        "coordinate_groups",
        "a message has l/m numbers, for l = 2 m and 3 m",
        "codes and lengths",
        (c.code.encode(np.zeros((c.n, f * c.m))).shape == (c.n, f) for c in codes for f in (2, 3)),
    )
    yield counting.counted(
        "message_length_general_k",
        "k = n: messages have length 1/(d-s)",
        "codes",
        (c.code.length == 1 / (c.d - c.s) for c in codes),
    )
    yield counting.counted(
        "k_does_not_matter",
        "k = j n partitions, sums of j taken as one: d/k and messages stay, the sum of all k is decoded exactly",
        "codes, j = 2, 3, all sets of responders",
        (c.decodes(generator.integers(-9, 10, (c.n, j, c.m)).sum(1)) for c in codes for j in (2, 3)),
    )
    yield counting.counted(
        "padding_footnote",
        "a length that m does not divide decodes with zeros appended",
        "codes with m > 1 and lengths",
        (c.decodes(drawn(c, c.m + extra)) for c in codes for extra in range(1, c.m)),
    )
    yield counting.counted(
        "minibatch",
        "the sum of partial gradients of random subsets of the samples is decoded",
        "codes, four mini-batches each",
        (c.decodes(_minibatch(c.n, 2 * c.m, generator)) for c in codes for _ in range(4)),
    )
    yield counting.counted(
        "encode_depends_on_held",
        "other gradients of partitions that a worker does not hold leave its message as it is",
        "codes and workers",
        (_unmoved(c, w, drawn(c, 2 * c.m), drawn(c, 2 * c.m)) for c in codes for w in range(c.n)),
    )
    for statement in ("v_submatrices_invertible", "a_invertible"):
        yield counting.counted(
            statement,
            "the determinant of the n-s responders' columns of V is not 0, exactly",
            "codes and sets of responders",
            (invertible(c.V[:, np.flatnonzero(heard)]) for c in codes for heard in c.heard),
        )
    toy = GeneralCommunicationEfficient(3, 2, 2, V=[[1, -1, 1], [0, 1, -1], [0, 0, 1]], scales=[1, 1, 1])
    yield counting.counted(
        "fig1_any_length",
        "the code of Fig. 1(c) decodes gradients of any length, a zero appended where it is odd",
        "lengths 1 to 9",
        (_toy_decodes(toy, generator.integers(-9, 10, (3, length))) for length in range(1, 10)),
    )


def _minibatch(n: int, length: int, generator: np.random.Generator) -> np.ndarray:
    """Partial gradients (n, length), each the sum over a random subset of five samples."""
    samples, kept = generator.integers(-9, 10, (n, 5, length)), generator.random((n, 5)) < 0.5
    return (samples * kept[:, :, None]).sum(1)


def _unmoved(c: _Instance, w: int, gradients: np.ndarray, others: np.ndarray) -> bool:
    held = np.array([c.holds(w, i) for i in range(c.n)])
    changed = np.where(held[:, None], gradients, others)
    sent = [c.C[w] @ c._interleaved(g.astype(object)) for g in (gradients, changed)]
    return bool((sent[0] == sent[1]).all())


def _toy_decodes(code: GeneralCommunicationEfficient, gradients: np.ndarray) -> bool:
    sent = code.encode(gradients)
    decoded = code.decode([[1] * code.n]).weights[0] @ sent
    return bool((decoded.ravel()[: gradients.shape[1]] == gradients.sum(0)).all())


def _built(n: int, d: int, m: int, s: int) -> bool:
    try:
        CommunicationEfficient(n, d, m, s)
    except ParameterError:
        return False
    return True


def _limits(most: int, assignments: int) -> Iterator[dict]:
    """Which (d, s, m) exist."""
    triples = [
        (n, d, s, m)
        for n in range(1, most + 1)
        for d in range(1, n + 1)
        for s in range(n)
        for m in range(1, n + 1)
    ]
    yield counting.counted(
        "limit_k_equals_n",
        "a code is built exactly where d >= s + m, and refused elsewhere",
        "(n, d, s, m)",
        (_built(n, d, m, s) == (d >= s + m) == theory.feasible(n, d, s, m) for n, d, s, m in triples),
    )
    yield counting.counted(
        "tandon_bound",
        "m = 1: a code is built exactly where d >= s + 1",
        "(n, d, s)",
        (_built(n, d, 1, s) == (d >= s + 1) for n, d, s, m in triples if m == 1),
    )
    beyond = [(n, d, s, m) for n, d, s, m in triples if n <= assignments and s < n and d < s + m and m <= d]
    yield counting.counted(
        "theorem1_converse",
        "whatever the assignment, some s silent workers leave fewer than m holders of a partition, whose messages of "
        "l/m numbers cannot determine it",
        f"assignments of (n, d, s, m) with d < s + m, m <= d, n <= {assignments}",
        (
            min(np.bincount(np.ravel(held), minlength=n)) - s < m
            for n, d, s, m in beyond
            for held in product(combinations(range(n), d), repeat=n)
        ),
    )


# --- What a clock should show ---------------------------------------------------------------------------------


def expected_iteration_time(scheme: Scheme, delay: ComputeTransmit, iterations: int) -> float:
    """Mean iteration time with the delay model of Section 5, the scheme's overhead included.

    Parameters
    ----------
    scheme : Scheme
        Naive, or communication-efficient: one message of every worker, any n-s decode.
    delay : ComputeTransmit
    iterations : int
        Not used: the mean is the same for all numbers of iterations.

    Examples
    --------
    >>> from gcexp.schemes import Decodable
    >>> scheme = Scheme(CommunicationEfficient(10, 4, 3), Decodable(), overhead=1.2)
    >>> round(expected_iteration_time(scheme, ComputeTransmit(), 1), 4)
    2.5544
    """
    code, n = scheme.code, scheme.code.n
    d, m = int(code.load.max()), code.blocks
    s = n - (code.quorums[0].need[0][1] if code.quorums else n)
    law = {
        "t1": delay.compute_shift / n,
        "lambda1": n / delay.compute_mean,
        "t2": delay.transmit_shift,
        "lambda2": 1 / delay.transmit_mean,
    }
    return scheme.overhead + theory.expected_time(n, d, m, s=s, **law)
