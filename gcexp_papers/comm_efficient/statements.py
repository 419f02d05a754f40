"""What Ye, Abbe (ICML 2018) say about their construction, for every code of few workers, in exact fractions.

Definition 1 is the definition of a code, and holds by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd

from gcexp.analysis.checks import COLUMNS, check, tabulated
from gcexp.analysis.declared import gives
from gcexp.analysis.solving import invertible
from gcexp.codes.comm_efficient import CommunicationEfficient, evaluation_points, polynomial_rows
from gcexp.codes.general_v import GeneralCommunicationEfficient
from gcexp.errors import ParameterError
from gcexp.theory import comm_efficient as theory

MODULES = (__name__, f"{__package__}.enumerations")


@gives(*COLUMNS, checks=MODULES)
def statements(most: int) -> pd.DataFrame:
    """Every code with few workers, in exact fractions.

    Parameters
    ----------
    most : int
        Codes of up to so many workers, with all 1 <= m <= d <= n and s = d - m.

    Returns
    -------
    DataFrame
        ``id, what, instances, tried, held, share``: in which share of the instances a statement holds.
    """
    return tabulated(*MODULES, most=most)


class _Instance:
    """A code of n workers, load d and m blocks, its polynomials evaluated one by one, and all sets of responders."""

    def __init__(self, n: int, d: int, m: int):
        self.n, self.d, self.m, self.s = n, d, m, d - m
        self.code = CommunicationEfficient(n, d, m)
        self.theta = evaluation_points(n)
        self.B = polynomial_rows(self.theta, d, m)
        self.V = np.array([[x**r for x in self.theta] for r in range(n - d + m)], dtype=object)
        self.C = self.code.exact_encoding()
        self.responses = np.array([[w in F for w in range(n)] for F in combinations(range(n), n - self.s)])

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
        return bool((self.code.exact_weights(self.responses) @ sent == wanted).all())

    def _interleaved(self, gradients: np.ndarray) -> np.ndarray:
        """The paper's blocks of m consecutive coordinates: row i m + u is coordinate u of every block of g_i."""
        return gradients.reshape(self.n, -1, self.m).transpose(0, 2, 1).reshape(self.n * self.m, -1)


@cache
def _codes(most: int) -> list[_Instance]:
    return [_Instance(n, d, m) for n in range(1, most + 1) for d in range(1, n + 1) for m in range(1, d + 1)]


def _drawn(c: _Instance, *lengths: int) -> Iterator[np.ndarray]:
    """Gradients of small whole numbers, (n, length) each."""
    generator = np.random.default_rng(c.n * 100 + c.d * 10 + c.m)
    return (generator.integers(-9, 10, (c.n, length)) for length in lengths)


@cache
def _decoded(most: int) -> list[bool]:
    return [c.decodes(*_drawn(c, 2 * c.m)) for c in _codes(most)]


@check(over="codes", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",))
def b_stacked_identities(most: int) -> Iterable[bool]:
    """The last m columns of B are n stacked m x m identities."""
    return ((c.B[:, c.n - c.d :] == np.tile(np.eye(c.m, dtype=int), (c.n, 1))).all() for c in _codes(most))


@check(over="codes", grade="definition")
def conditions_vs_dutta(most: int) -> Iterable[bool]:
    """The last m columns of B have exactly m n nonzeros."""
    return (np.count_nonzero(c.B[:, c.n - c.d :]) == c.m * c.n for c in _codes(most))


@check(over="codes and workers", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",))
def b_zero_pattern(most: int) -> Iterable[bool]:
    """B times column j of V is 0 on (n-d) m rows: those of the partitions that worker j does not hold."""
    return (
        not (c.B @ c.V[:, w]).reshape(c.n, c.m)[[not c.holds(w, i) for i in range(c.n)]].any()
        for c in _codes(most)
        for w in range(c.n)
    )


@check(over="codes and workers", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",))
def bv_is_evaluation(most: int) -> Iterable[bool]:
    """B V holds the values of the polynomials at the points, computed by products and the recursion."""
    return ((c.B @ c.V[:, w] == c.values(c.theta[w]).ravel()).all() for c in _codes(most) for w in range(c.n))


@check(over="codes and points", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",))
def b_rows(most: int) -> Iterable[bool]:
    """A row of B, as ascending coefficients, evaluates to its polynomial at three points that are no worker's."""
    points = [Fraction(7, 3), Fraction(-11, 5), Fraction(0)]
    return (
        (c.B @ [x**r for r in range(len(c.V))] == c.values(x).ravel()).all()
        for c in _codes(most)
        for x in points
    )


@check(
    over="codes",
    grade="built",
    rests_on=(
        "gcexp.codes.comm_efficient:CommunicationEfficient",
        "gcexp.codes.comm_efficient:polynomial_rows",
    ),
)
def cyclic_assignment(most: int) -> Iterable[bool]:
    """Worker i holds i, ..., i+d-1; partition i is missing at the n-d workers after i."""
    return (
        (c.code.assignment == [[c.holds(w, i) for i in range(c.n)] for w in range(c.n)]).all()
        and all(not c.code.assignment[(i + j) % c.n, i] for i in range(c.n) for j in range(1, c.n - c.d + 1))
        for c in _codes(most)
    )


@check(
    over="codes, workers and partitions",
    grade="built",
    rests_on=("gcexp.codes.comm_efficient:polynomial_rows",),
)
def roots_mark_assignment(most: int) -> Iterable[bool]:
    """p_i vanishes at the point of worker w exactly where w does not hold i, and is monic of degree n-d."""
    return (
        (sum(a * c.theta[w] ** r for r, a in enumerate(c.rows()[i, 0])) == 0) != c.holds(w, i)
        and c.rows()[i, 0, c.n - c.d] == 1
        for c in _codes(most)
        for i in range(c.n)
        for w in range(c.n)
    )


@check(over="codes and partitions", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",))
def p_coefficients(most: int) -> Iterable[bool]:
    """p_i has coefficient 1 at degree n-d and 0 above, up to n-s-1."""
    return (
        c.rows()[i, 0, c.n - c.d] == 1 and not c.rows()[i, 0, c.n - c.d + 1 : c.n - c.s].any()
        for c in _codes(most)
        for i in range(c.n)
    )


@check(
    over="codes, partitions and u", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",)
)
def recursion(most: int) -> Iterable[bool]:
    """p^(u+1) = x p^(u) - c p^(1), c the coefficient of x^(n-d-1) in p^(u), coefficient by coefficient."""
    return (
        (c.rows()[i, u] == np.roll(c.rows()[i, u - 1], 1) - c._below(i)[u - 1] * c.rows()[i, 0]).all()
        and c.rows()[i, u - 1, -1] == 0
        for c in _codes(most)
        for i in range(c.n)
        for u in range(1, c.m)
    )


@check(
    over="codes, partitions and u", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",)
)
def recursion_degrees(most: int) -> Iterable[bool]:
    """p^(u) is monic of degree n-d+u-1."""
    return (
        c.rows()[i, u, c.n - c.d + u] == 1 and not c.rows()[i, u, c.n - c.d + u + 1 :].any()
        for c in _codes(most)
        for i in range(c.n)
        for u in range(c.m)
    )


@check(
    over="codes, partitions and u", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",)
)
def recursion_divisible(most: int) -> Iterable[bool]:
    """p^(1) divides p^(u) without remainder."""
    return (
        not _remainder(c.rows()[i, u], c.rows()[i, 0, : c.n - c.d + 1]).any()
        for c in _codes(most)
        for i in range(c.n)
        for u in range(1, c.m)
    )


@check(
    over="codes, partitions and u", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",)
)
def recursion_gap(most: int) -> Iterable[bool]:
    """p^(u) has no powers n-d, ..., n-d+u-2."""
    return (
        not c.rows()[i, u, c.n - c.d : c.n - c.d + u].any()
        for c in _codes(most)
        for i in range(c.n)
        for u in range(1, c.m)
    )


def _remainder(dividend: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Remainder of polynomials, ascending coefficients, the divisor monic."""
    rest, size = dividend.copy(), len(divisor) - 1
    for at in range(len(rest) - 1, size - 1, -1):
        rest[at - size : at + 1] = rest[at - size : at + 1] - rest[at] * divisor
    return rest


@check(
    over="codes, all sets of responders",
    grade="built",
    rests_on=("gcexp.codes.comm_efficient:polynomial_rows",),
    answers=("explicit_optimal_scheme", "decode_identity"),
)
def explicit_optimal_scheme(most: int) -> Iterable[bool]:
    """The polynomial code with d = s + m decodes from any n-s workers: A^-1 e_(n-d+u) gives coordinate u, exactly."""
    return _decoded(most)


@check(over="the same", grade="definition")
def infinite_precision(most: int) -> Iterable[bool]:
    """In exact arithmetic the decoded sum has no error."""
    return _decoded(most)


@check(over="codes", grade="definition")
def definition1(most: int) -> Iterable[bool]:
    """Each worker holds d partitions and sends one linear map of l/m numbers."""
    return (
        (c.code.load == c.d).all() and (c.code.messages == 1).all() and c.code.blocks == c.m
        for c in _codes(most)
    )


@check(
    over="codes, all sets of responders",
    grade="built",
    rests_on=(
        "gcexp.codes.comm_efficient:CommunicationEfficient",
        "gcexp.codes.comm_efficient:polynomial_rows",
    ),
)
def scheme_satisfies_definition1(most: int) -> Iterable[bool]:
    """Each worker holds d partitions, sends one linear map of l/m numbers, any n-s workers decode."""
    return (
        (c.code.load == c.d).all() and (c.code.messages == 1).all() and c.code.blocks == c.m and done
        for c, done in zip(_codes(most), _decoded(most), strict=True)
    )


@check(over="codes and lengths", grade="definition")
def coordinate_groups(most: int) -> Iterable[bool]:
    """A message has l/m numbers, for l = 2 m and 3 m."""
    return (c.code.encode(np.zeros((c.n, f * c.m))).shape == (c.n, f) for c in _codes(most) for f in (2, 3))


@check(
    over="codes, j = 2, 3, all sets of responders",
    grade="built",
    rests_on=("gcexp.codes.comm_efficient:polynomial_rows",),
    inputs="assumed",
)
def k_does_not_matter(most: int) -> Iterable[bool]:
    """With k = j n partitions, sums of j taken as one: d/k and messages stay, the sum of all k is decoded exactly."""
    generator = np.random.default_rng(0)
    return (c.decodes(generator.integers(-9, 10, (c.n, j, c.m)).sum(1)) for c in _codes(most) for j in (2, 3))


@check(
    over="codes with m > 1 and lengths",
    grade="built",
    rests_on=("gcexp.codes.comm_efficient:polynomial_rows",),
)
def padding_footnote(most: int) -> Iterable[bool]:
    """A length that m does not divide decodes with zeros appended."""
    return (c.decodes(*_drawn(c, c.m + extra)) for c in _codes(most) for extra in range(1, c.m))


@check(
    over="codes, four mini-batches each",
    grade="built",
    rests_on=("gcexp.codes.comm_efficient:polynomial_rows",),
)
def minibatch(most: int) -> Iterable[bool]:
    """The sum of partial gradients of random subsets of the samples is decoded."""
    generator = np.random.default_rng(0)
    return (c.decodes(_minibatch(c.n, 2 * c.m, generator)) for c in _codes(most) for _ in range(4))


@check(over="codes and workers", grade="built", rests_on=("gcexp.codes.comm_efficient:polynomial_rows",))
def encode_depends_on_held(most: int) -> Iterable[bool]:
    """Other gradients of partitions that a worker does not hold leave its message as it is."""
    return (_unmoved(c, w, *_drawn(c, 2 * c.m, 2 * c.m)) for c in _codes(most) for w in range(c.n))


@check(
    over="codes and sets of responders",
    grade="built",
    rests_on=("gcexp.analysis.solving:invertible", "gcexp.codes.comm_efficient:polynomial_rows"),
    answers=("v_submatrices_invertible", "a_invertible"),
)
def v_submatrices_invertible(most: int) -> Iterable[bool]:
    """The determinant of the n-s responders' columns of V is not 0, exactly."""
    return (invertible(c.V[:, np.flatnonzero(responses)]) for c in _codes(most) for responses in c.responses)


@check(
    over="lengths 1 to 9", grade="built", rests_on=("gcexp.codes.general_v:GeneralCommunicationEfficient",)
)
def fig1_any_length() -> Iterable[bool]:
    """The code of Fig. 1(c) decodes gradients of any length, a zero appended where it is odd."""
    generator = np.random.default_rng(0)
    toy = GeneralCommunicationEfficient(3, 2, 2, V=[[1, -1, 1], [0, 1, -1], [0, 0, 1]], scales=[1, 1, 1])
    return (_toy_decodes(toy, generator.integers(-9, 10, (3, length))) for length in range(1, 10))


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


@check(over="(n, d, s, m)", grade="definition")
def limit_k_equals_n(most: int) -> Iterable[bool]:
    """A code is built exactly where d >= s + m, and refused elsewhere."""
    return (
        _built(n, d, m, s) == (d >= s + m) == theory.feasible(n, d, s, m)
        for n in range(1, most + 1)
        for d, m in product(range(1, n + 1), repeat=2)
        for s in range(n)
    )
