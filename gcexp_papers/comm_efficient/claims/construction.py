"""Section 3: the construction by polynomials, for every code of at most six workers, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from gcexp.analysis.claims import Verdict, all_instances, claim
from gcexp.analysis.solving import invertible
from gcexp.codes.comm_efficient import CommunicationEfficient, evaluation_points, polynomial_rows
from gcexp.codes.general_v import GeneralCommunicationEfficient

#: Points that are no worker's.
_POINTS = (Fraction(7, 3), Fraction(-11, 5), Fraction(0))


class Instance:
    """A code of n workers, load d and m blocks, its polynomials evaluated one by one, and all sets of responders."""

    def __init__(self, n: int, d: int, m: int):
        self.n, self.d, self.m, self.s = n, d, m, d - m
        self.code = CommunicationEfficient(n, d, m)
        self.theta = evaluation_points(n)
        self.B = polynomial_rows(self.theta, d, m)
        self.V = np.array([[x**r for x in self.theta] for r in range(n - d + m)], dtype=object)
        self.C = self.code.exact_encoding()
        self.responses = np.array([[w in F for w in range(n)] for F in combinations(range(n), n - self.s)])
        w, i = np.ogrid[:n, :n]
        self.held = (i - w) % n < d  # workers by partitions: worker w holds w, ..., w+d-1

    def values(self, x: Fraction) -> np.ndarray:
        """p_i^(1)(x), ..., p_i^(m)(x) of every partition, (n, m): products and the recursion, without coefficients."""
        first = [self._product(i, x) for i in range(self.n)]
        found = np.empty((self.n, self.m), dtype=object)
        for i in range(self.n):
            p, below = first[i], self.below(i)
            for u in range(self.m):
                found[i, u] = p
                p = x * p - below[u] * first[i]
        return found

    def _product(self, i: int, x: Fraction) -> Fraction:
        result = Fraction(1)
        for j in range(1, self.n - self.d + 1):
            result *= x - self.theta[(i + j) % self.n]
        return result

    def below(self, i: int) -> list[Fraction]:
        """Coefficient of x^(n-d-1) in each p_i^(u), read off B; 0 where d = n."""
        at = self.n - self.d - 1
        return [self.B[i * self.m + u, at] if at >= 0 else Fraction(0) for u in range(self.m)]

    def drawn(self, *lengths: int) -> Iterator[np.ndarray]:
        """Gradients of small whole numbers, (n, length) each."""
        generator = np.random.default_rng(self.n * 100 + self.d * 10 + self.m)
        return (generator.integers(-9, 10, (self.n, length)) for length in lengths)

    def interleaved(self, gradients: np.ndarray) -> np.ndarray:
        """The paper's blocks of m consecutive coordinates: row i m + u is coordinate u of every block of g_i."""
        return gradients.reshape(self.n, -1, self.m).transpose(0, 2, 1).reshape(self.n * self.m, -1)

    def decodes(self, gradients: np.ndarray) -> bool:
        """Whether all sets of responders give the sum of integer gradients (n, l), exactly; zeros are appended."""
        short = -gradients.shape[1] % self.m
        padded = np.pad(gradients, ((0, 0), (0, short))).astype(object)
        sent = self.C @ self.interleaved(padded)
        wanted = padded.sum(0).reshape(-1, self.m).T
        return bool((self.code.exact_weights(self.responses) @ sent == wanted).all())


@cache
def every_code() -> list[Instance]:
    """All codes with n <= 6."""
    return [Instance(n, d, m) for n in range(1, 7) for d in range(1, n + 1) for m in range(1, d + 1)]


@claim("b_stacked_identities", "b_zero_pattern", "bv_is_evaluation", "b_rows")
def matrix_b() -> Iterator[tuple[str, bool]]:
    """The last m columns of B are stacked identities, and B V holds values of the polynomials: every code, n <= 6.

    The values are 0 at workers without the partition. They are compared with products and the recursion, at the
    workers' points and, for the order of the coefficients, at three others.
    """
    for c in every_code():
        identities = c.B[:, c.n - c.d :] == np.tile(np.eye(c.m, dtype=int), (c.n, 1))
        yield "b_stacked_identities", identities.all()
        for w in range(c.n):
            found = (c.B @ c.V[:, w]).reshape(c.n, c.m)
            yield "b_zero_pattern", not found[~c.held[w]].any()
            yield "bv_is_evaluation", (found == c.values(c.theta[w])).all()
        for x in _POINTS:
            powers = [x**r for r in range(len(c.V))]
            yield "b_rows", (c.B @ powers == c.values(x).ravel()).all()


@claim(
    *("roots_mark_assignment", "p_coefficients", "recursion", "recursion_degrees", "recursion_divisible"),
    "recursion_gap",
    assumed=True,
)
def polynomials() -> Iterator[tuple[str, bool]]:
    """The polynomials have the roots, degrees, gaps and divisor of (6) to (10): every code, n <= 6, every partition."""
    for c in every_code():
        degree, every_row = c.n - c.d, c.B.reshape(c.n, c.m, -1)
        for i, rows in enumerate(every_row):
            for w, x in enumerate(c.theta):
                root = sum(a * x**r for r, a in enumerate(rows[0])) == 0
                yield "roots_mark_assignment", root != c.held[w, i] and rows[0, degree] == 1
            monic = rows[0, degree] == 1 and not rows[0, degree + 1 : c.n - c.s].any()
            yield "p_coefficients", monic
            for u in range(c.m):
                monic = rows[u, degree + u] == 1 and not rows[u, degree + u + 1 :].any()
                yield "recursion_degrees", monic
            for u in range(1, c.m):
                next_one = np.roll(rows[u - 1], 1) - c.below(i)[u - 1] * rows[0]
                yield "recursion", (rows[u] == next_one).all() and rows[u - 1, -1] == 0
                yield "recursion_divisible", not _remainder(rows[u], rows[0, : degree + 1]).any()
                yield "recursion_gap", not rows[u, degree : degree + u].any()


def _remainder(dividend: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Remainder of polynomials, ascending coefficients, the divisor monic."""
    rest, size = dividend.copy(), len(divisor) - 1
    for at in range(len(rest) - 1, size - 1, -1):
        rest[at - size : at + 1] = rest[at - size : at + 1] - rest[at] * divisor
    return rest


@claim("cyclic_assignment", assumed=True)
def assignment_is_cyclic() -> Verdict:
    """Worker i holds i, ..., i+d-1, and partition i is missing at the n-d workers after i: every code, n <= 6."""
    return all_instances(
        (c.code.assignment == c.held).all()
        and all(not c.code.assignment[(i + j) % c.n, i] for i in range(c.n) for j in range(1, c.n - c.d + 1))
        for c in every_code()
    )


@claim("v_submatrices_invertible", "a_invertible")
def matrices_of_responders_are_invertible() -> Verdict:
    """The columns of V of any n-s responders have a determinant other than 0, exactly: every code, n <= 6."""
    return all_instances(
        invertible(c.V[:, np.flatnonzero(responses)]) for c in every_code() for responses in c.responses
    )


@claim("explicit_optimal_scheme", "decode_identity", "scheme_satisfies_definition1")
def any_responders_decode() -> Iterator[tuple[str, bool]]:
    """The code with d = s + m decodes from any n-s workers, exactly, by A^-1 e_(n-d+u): every code, n <= 6, every set.

    For Definition 1 each worker also holds d partitions and sends one linear map of l/m numbers.
    """
    for c in every_code():
        decodes = c.decodes(*c.drawn(2 * c.m))
        yield "explicit_optimal_scheme", decodes
        yield "decode_identity", decodes
        sends = (c.code.messages == 1).all() and c.code.blocks == c.m
        yield "scheme_satisfies_definition1", (c.code.load == c.d).all() and sends and decodes


def _decode(gradients: Callable[[Instance], Iterator[np.ndarray]]) -> Verdict:
    """Whether every code decodes some gradients."""
    return all_instances(c.decodes(drawn) for c in every_code() for drawn in gradients(c))


@claim("k_does_not_matter", assumed=True)
def more_partitions_than_workers() -> Verdict:
    """With k = 2 n and 3 n partitions, sums of k/n taken as one, the sum of all is decoded: every code, n <= 6."""
    generator = np.random.default_rng(0)
    return _decode(lambda c: (generator.integers(-9, 10, (c.n, j, c.m)).sum(1) for j in (2, 3)))


@claim("padding_footnote")
def zeros_are_appended() -> Verdict:
    """Lengths that m does not divide decode with zeros appended: every code with n <= 6 and m > 1."""
    return _decode(lambda c: c.drawn(*(c.m + extra for extra in range(1, c.m))))


@claim("minibatch")
def sums_of_minibatches_decode() -> Verdict:
    """The sum of partial gradients of random subsets of five samples is decoded: every code, n <= 6, four subsets."""
    generator = np.random.default_rng(0)

    def drawn(c: Instance) -> np.ndarray:
        samples, kept = generator.integers(-9, 10, (c.n, 5, 2 * c.m)), generator.random((c.n, 5)) < 0.5
        return (samples * kept[:, :, None]).sum(1)

    return _decode(lambda c: (drawn(c) for _ in range(4)))


@claim("encode_depends_on_held")
def messages_depend_on_what_is_held() -> Iterator[bool]:
    """Other gradients of partitions that a worker does not hold leave its message as it is: every code, n <= 6."""
    for c in every_code():
        for w in range(c.n):
            gradients, others = c.drawn(2 * c.m, 2 * c.m)
            changed = np.where(c.held[w][:, None], gradients, others)
            before, after = (c.C[w] @ c.interleaved(g.astype(object)) for g in (gradients, changed))
            yield (before == after).all()


@claim("fig1_any_length", assumed=True)
def code_of_fig_1_decodes_any_length() -> Verdict:
    """The code of Fig. 1(c) decodes gradients of 1 to 9 numbers, with a zero appended where the length is odd."""
    generator = np.random.default_rng(0)
    code = GeneralCommunicationEfficient(3, 2, 2, V=[[1, -1, 1], [0, 1, -1], [0, 0, 1]], scales=[1, 1, 1])
    weights = code.decode([[1, 1, 1]]).weights[0]
    return all_instances(
        ((weights @ code.encode(gradients)).ravel()[:length] == gradients.sum(0)).all()
        for length in range(1, 10)
        for gradients in [generator.integers(-9, 10, (3, length))]
    )
