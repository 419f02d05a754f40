"""Section 3: the construction by polynomials, for every code of at most six workers, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from math import lcm

import numpy as np
from numpy.polynomial.polynomial import polydiv, polyval

from gcexp.analysis.claims import claim
from gcexp.analysis.enumeration import cyclic
from gcexp.analysis.solving import invertible
from gcexp.codes.comm_efficient import CommunicationEfficient, evaluation_points, polynomial_rows
from gcexp.codes.general_v import GeneralCommunicationEfficient

#: Points that are no worker's.
_POINTS = (Fraction(7, 3), Fraction(-11, 5), Fraction(0))


class Instance:
    """A code of n workers, load d and m blocks, its polynomials, and all sets of responders."""

    def __init__(self, n: int, d: int, m: int):
        self.n = n
        self.d = d
        self.m = m
        self.s = d - m
        self.code = CommunicationEfficient(n, d, m)
        self.theta = evaluation_points(n)
        self.B = polynomial_rows(self.theta, d, m).reshape(n, m, n - self.s)  # partition, block, power
        self.V = np.array(self.theta) ** np.arange(n - self.s)[:, None]
        self.C = self.code.exact_encoding()
        responders = [np.isin(np.arange(n), heard) for heard in combinations(range(n), n - self.s)]
        self.responses = np.array(responders)
        self.held = cyclic(n, d)  # workers by partitions
        #: Coefficient of x^(n-d-1) in each p_i^(u), (n, m); 0 where d = n.
        self.below = self.B[:, :, n - d - 1] if d < n else np.zeros((n, m), dtype=int)

    def values(self, x: Fraction) -> np.ndarray:
        """p_i^(1)(x), ..., p_i^(m)(x) of every partition, (n, m): products and the recursion, without coefficients."""
        first = np.ones(self.n, dtype=object)
        for i in range(self.n):
            for j in range(1, self.n - self.d + 1):
                root = self.theta[(i + j) % self.n]
                first[i] = first[i] * (x - root)
        found = [first]
        for u in range(self.m - 1):
            found.append(x * found[u] - self.below[:, u] * first)
        return np.stack(found, axis=1)

    def drawn(self, *shape: int) -> np.ndarray:
        """Gradients of small whole numbers."""
        return np.random.default_rng(self.n * 100 + self.d * 10 + self.m).integers(-9, 10, shape)

    def interleaved(self, gradients: np.ndarray) -> np.ndarray:
        """The paper's blocks of m consecutive coordinates: row i m + u is coordinate u of every block of g_i."""
        blocks = gradients.astype(object).reshape(self.n, -1, self.m)
        return blocks.transpose(0, 2, 1).reshape(self.n * self.m, -1)

    @cached_property
    def whole_weights(self) -> tuple[np.ndarray, int]:
        """Decode weights of all sets of responders as whole numbers, and what these are divided by."""
        return _whole(self.code.exact_weights(self.responses))

    @cached_property
    def whole_encoding(self) -> tuple[np.ndarray, int]:
        """The encoding as whole numbers, and what these are divided by."""
        return _whole(self.C)

    def decodes(self, gradients: np.ndarray) -> bool:
        """Whether all sets of responders give the sum of integer gradients (n, l), exactly; zeros are appended."""
        padded = np.pad(gradients, ((0, 0), (0, -gradients.shape[1] % self.m)))
        encoding, sent_in_parts = self.whole_encoding
        weights, decoded_in_parts = self.whole_weights
        decoded = weights @ (encoding @ self.interleaved(padded))
        wanted = padded.sum(0).reshape(-1, self.m).T
        return bool((decoded == sent_in_parts * decoded_in_parts * wanted).all())


def _whole(exact: np.ndarray) -> tuple[np.ndarray, int]:
    """Fractions as whole numbers, and what these are divided by."""
    denominator = lcm(*(one.denominator for one in exact.flat))
    return np.frompyfunc(int, 1, 1)(exact * denominator), denominator


@cache
def every_code() -> list[Instance]:
    """All codes with n <= 6."""
    found = []
    for n in range(1, 7):
        for d in range(1, n + 1):
            found += [Instance(n, d, m) for m in range(1, d + 1)]
    return found


@claim("b_stacked_identities", "b_zero_pattern", "bv_is_evaluation", "b_rows")
def matrix_b():
    """B V holds the values of the polynomials at the workers; at other points the order of coefficients counts."""
    for c in every_code():
        yield "b_stacked_identities", (c.B[:, :, c.n - c.d :] == np.eye(c.m, dtype=int)).all()
        for w in range(c.n):
            found = c.B @ c.V[:, w]
            yield "b_zero_pattern", not found[~c.held[w]].any()
            yield "bv_is_evaluation", (found == c.values(c.theta[w])).all()
        for x in _POINTS:
            yield "b_rows", (polyval(x, c.B.transpose(2, 0, 1)) == c.values(x)).all()


@claim(
    *("roots_mark_assignment", "p_coefficients", "recursion", "recursion_degrees", "recursion_divisible"),
    "recursion_gap",
    assumed=True,
)
def polynomials():
    """The polynomials have the roots, degrees, gaps and divisor of (6) to (10)."""
    for c in every_code():
        degree = c.n - c.d
        for i, rows in enumerate(c.B):
            monic = []
            for u in range(c.m):
                leads_with_one = rows[u, degree + u] == 1
                monic.append(leads_with_one and not rows[u, degree + u + 1 :].any())
            for w, x in enumerate(c.theta):
                yield "roots_mark_assignment", (polyval(x, rows[0]) == 0) != c.held[w, i] and monic[0]
            yield "p_coefficients", monic[0]
            for one in monic:
                yield "recursion_degrees", one
            for u in range(1, c.m):
                next_one = np.roll(rows[u - 1], 1) - c.below[i, u - 1] * rows[0]
                yield "recursion", (rows[u] == next_one).all() and rows[u - 1, -1] == 0
                _, remainder = polydiv(rows[u] * Fraction(1), rows[0, : degree + 1] * Fraction(1))
                yield "recursion_divisible", not remainder.any()
                yield "recursion_gap", not rows[u, degree : degree + u].any()


@claim("cyclic_assignment", assumed=True)
def assignment_is_cyclic():
    """Worker i holds i, ..., i+d-1, and partition i is missing at the n-d workers after i."""
    for c in every_code():
        yield (c.code.assignment == c.held).all()
        for i in range(c.n):
            after = [(i + j) % c.n for j in range(1, c.n - c.d + 1)]
            yield not c.code.assignment[after, i].any()


@claim("v_submatrices_invertible", "a_invertible")
def matrices_of_responders_are_invertible():
    """The columns of V of any n-s responders have a determinant other than 0, exactly."""
    for c in every_code():
        for heard in c.responses:
            yield invertible(c.V[:, heard])


@claim(
    "explicit_optimal_scheme",
    "decode_identity",
    "scheme_satisfies_definition1",
    "padding_footnote",
    "minibatch",
)
def any_responders_decode():
    """Any n - s workers decode, also appended zeros and random sums of samples, and each sends l/m numbers."""
    generator = np.random.default_rng(0)
    for c in every_code():
        decodes = c.decodes(c.drawn(c.n, 2 * c.m))
        yield "explicit_optimal_scheme", decodes
        yield "decode_identity", decodes
        sends = (c.code.messages == 1).all() and c.code.blocks == c.m
        yield "scheme_satisfies_definition1", (c.code.load == c.d).all() and sends and decodes
        for extra in range(1, c.m):
            yield "padding_footnote", c.decodes(c.drawn(c.n, c.m + extra))
        samples = c.drawn(4, c.n, 5, 2 * c.m)
        kept = generator.random((4, c.n, 5, 1)) < 0.5
        for sums in (samples * kept).sum(2):
            yield "minibatch", c.decodes(sums)


@claim("k_does_not_matter", assumed=True)
def more_partitions_than_workers():
    """With k = 2 n and 3 n partitions, sums of k/n taken as one, the sum of all is decoded."""
    for c in every_code():
        for partitions_each in (2, 3):
            sums = c.drawn(c.n, partitions_each, c.m).sum(1)
            yield c.decodes(sums)


@claim("encode_depends_on_held")
def messages_depend_on_what_is_held():
    """Other gradients of partitions that a worker does not hold leave its message as it is."""
    for c in every_code():
        gradients, others = c.drawn(2, c.n, 2 * c.m)
        for w in range(c.n):
            changed = np.where(c.held[w][:, None], gradients, others)
            before = c.C[w] @ c.interleaved(gradients)
            after = c.C[w] @ c.interleaved(changed)
            yield (before == after).all()


@claim("fig1_any_length", assumed=True)
def code_of_fig_1_decodes_any_length():
    """The code of Fig. 1(c) decodes gradients of 1 to 9 numbers, with a zero appended where the length is odd."""
    generator = np.random.default_rng(0)
    code = GeneralCommunicationEfficient(3, 2, 2, V=[[1, -1, 1], [0, 1, -1], [0, 0, 1]], scales=[1, 1, 1])
    weights = code.decode([[1, 1, 1]]).weights[0]
    for length in range(1, 10):
        gradients = generator.integers(-9, 10, (3, length))
        yield ((weights @ code.encode(gradients)).ravel()[:length] == gradients.sum(0)).all()
