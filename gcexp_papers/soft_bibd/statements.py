"""What Sakorikar and Wang (arXiv 2105.05231) state beside their figures, held against every small instance.

One row per statement, as `gcexp.analysis.counting.counted` makes them. Codes are matrices A (partitions x workers),
as in the paper; F is a set of survivors, and an error is (1/k) min_w ||A_F w - 1||^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, reduce
from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from gcexp.analysis import counting
from gcexp.analysis.declared import gives
from gcexp.codes.base import Code
from gcexp.codes.bernoulli import BernoulliCode
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.composite import Kronecker
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.expander import ExpanderCode, RandomRegularCode
from gcexp.codes.regular_bipartite import RegularBipartiteCode
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.soft_bibd import SoftBIBD, sample, weight_law
from gcexp.decoding_error.error import error, errors_of
from gcexp.decoding_error.straggler_sets import random_sets
from gcexp.designs.block_designs import find_bibd, named_design
from gcexp.seeding import rng
from gcexp.theory import errors as theory

DESIGNS = (
    "complete-3-2",
    "complete-4-2",
    "complete-4-3",
    "complete-5-3",
    "pg-2-2",
    "complement-pg-2-2",
    "ag_dual-2-3",
    "paley2-9",
    "stack-complete-4-3-2",
    "sts-9",
)
REPETITIONS = ((4, 4, 1), (4, 4, 2), (6, 3, 2), (6, 6, 3), (9, 12, 3), (8, 4, 4), (5, 5, 1))  # n, k, r
_SAME = 1e-9


@gives(*counting.COLUMNS)
def statements(draws: int, seed: int = 0) -> pd.DataFrame:
    """One row per statement: what was tried, and in how many instances it held.

    Parameters
    ----------
    draws : int
        Rows that are sampled from a law, and random sets of a product, where these are not enumerated.
    seed : int
        Of everything random.

    Returns
    -------
    DataFrame
        ``id, what, instances, tried, held, share``.
    """
    parts = (_definitions, _repetition, _designs, _laws, _soft, _products, _soft_products)
    return counting.table(row for part in parts for row in part(draws, seed))


# --- Instances ------------------------------------------------------------------------------------------------


@cache
def every(n: int) -> np.ndarray:
    """All sets of survivors, (2^n, n); bit j of the number is worker j."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def code(A) -> Code:
    """Code of a matrix (partitions x workers)."""
    return Code(np.transpose(A).astype(float), promise="least_squares", n=np.shape(A)[1])


def errors(A, heard=None) -> np.ndarray:
    """Error of each set, by default of all of them."""
    return errors_of(code(A), every(np.shape(A)[1]) if heard is None else heard)


def worst(A) -> np.ndarray:
    """Largest error for 0, ..., n stragglers."""
    n = np.shape(A)[1]
    lost, found = n - every(n).sum(1), errors(A)
    return np.array([found[lost == s].max() for s in range(n + 1)])


@cache
def incidence(name: str) -> np.ndarray:
    """Matrix of a design, partitions x workers."""
    return named_design(name).incidence.astype(float)


def _rivals(seed: int) -> Iterator[np.ndarray]:
    """Supports of earlier codes of 13 workers that hold 4 of 13 partitions each, Bernoulli codes on average."""
    yield (np.arange(13)[None, :] - np.arange(13)[:, None]) % 13 < 4
    yield ExpanderCode(13, "circulant", (1, 5)).assignment.T
    for draw in (seed, seed + 1):
        for kind in (RandomRegularCode, RegularBipartiteCode, BernoulliCode):
            yield kind(13, 4, seed=draw).assignment.T


def block_diagonal(n: int, k: int, r: int) -> np.ndarray:
    """FRC as the paper writes it: n/r all-one blocks on the diagonal."""
    return np.kron(np.eye(n // r), np.ones((k * r // n, r)))


def random_matrices(count: int, seed: int) -> Iterator[np.ndarray]:
    """Binary matrices of small random sizes."""
    random = rng(seed, "monte_carlo", 11)
    for _ in range(count):
        k, n = random.integers(2, 6, 2)
        yield random.integers(0, 2, (k, n)).astype(float)


def close(a, b, tolerance: float = _SAME) -> bool:
    """Whether all numbers agree."""
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0) <= tolerance)


# --- Section II: definitions and cited codes --------------------------------------------------------------------


def _definitions(draws: int, seed: int) -> Iterator[dict]:
    built = [incidence(name) for name in DESIGNS] + [block_diagonal(*given) for given in REPETITIONS]
    yield counting.counted(
        "def_gradient_code",
        "constant column weight l and row weight r, hence n l = k r",
        "designs, repetition codes",
        (
            np.ptp(A.sum(0)) == np.ptp(A.sum(1)) == 0
            and A.shape[1] * A[:, 0].sum() == A.shape[0] * A[0].sum()
            for A in built
        ),
    )
    random = rng(seed, "monte_carlo", 12)

    def factorised(A):
        gradients, w = random.standard_normal((7, A.shape[0])), random.standard_normal(A.shape[1])
        difference = (gradients @ A) @ w - gradients.sum(1)
        return close(difference, gradients @ (A @ w - 1))

    yield counting.counted(
        "def_error_free_of_data",
        "estimate minus true sum is gradients times (A w - 1)",
        "random matrices, weights, gradients",
        map(factorised, random_matrices(50, seed)),
    )

    def minimal(A):
        best = np.linalg.pinv(A).sum(1)
        least = ((A @ best - 1) ** 2).sum()
        tries = best[:, None] + 0.3 * random.standard_normal((A.shape[1], 50))
        return close(errors(A, np.ones((1, A.shape[1]))), least / len(A)) and bool(
            (((A @ tries - 1) ** 2).sum(0) >= least - _SAME).all()
        )

    yield counting.counted(
        "def_optimal_decoding",
        "the pseudoinverse gives the least-squares minimiser, and the error of the decoder here",
        "random matrices",
        map(minimal, random_matrices(50, seed + 1)),
    )
    yield counting.counted(
        "def_worst_case_error",
        "the worst case here is the largest error over all sets of n - s survivors",
        "designs up to 9 workers, random matrices; every s",
        (
            close([e.lower for e in error(code(A), range(A.shape[1] + 1))], worst(A))
            for A in (*map(incidence, DESIGNS), *random_matrices(30, seed + 2))
        ),
    )
    yield counting.counted(
        "normalised_error_note",
        "errors lie in [0, 1]",
        "all sets of random matrices",
        (
            bool(((errors(A) >= -_SAME) & (errors(A) <= 1 + _SAME)).all())
            for A in random_matrices(30, seed + 2)
        ),
    )
    yield counting.counted(
        "normalisation_allows_comparison",
        "t copies of every partition change the normalised error of no set",
        "random matrices, t = 2, 3",
        (
            close(errors(np.repeat(A, t, axis=0)), errors(A))
            for A in random_matrices(20, seed + 3)
            for t in (2, 3)
        ),
    )

    def comparable(n):
        curves: dict[int, list] = {}
        for found in find_bibd(n, 40):
            curve = theory.bibd_error(tuple(found[1:]), np.arange(n + 1))
            curves.setdefault(found.redundancy, []).append(curve)
        same = all(close(curve, curves[r][0]) for r in curves for curve in curves[r])
        means = [curves[r][0][1:n].mean() for r in sorted(curves)]
        return same and means == sorted(means, reverse=True)

    yield counting.counted(
        "compare_equal_density",
        "designs with equal n and r/n have equal error curves whatever k and l, and denser ones lower curves",
        "n with designs, k <= 40",
        map(comparable, (7, 9, 11, 13, 15, 16)),
    )


def _frc(n: int, k: int, r: int, s: int) -> float:
    return s // r * r / n


def _repetition(draws: int, seed: int) -> Iterator[dict]:
    def built(n, k, r):
        A = FractionalRepetition(n=n, d=r, k=k).assignment.T
        return np.array_equal(A, block_diagonal(n, k, r))

    yield counting.counted(
        "frc_construction",
        "the code here is block diagonal with all-one blocks",
        "(n, k, r)",
        (built(*given) for given in REPETITIONS),
    )
    curves = {given: worst(block_diagonal(*given)) for given in REPETITIONS}
    yield counting.counted(
        "frc_exact",
        "a repetition code is exact for every set of s stragglers with s + 1 <= r",
        "(n, k, r, s)",
        (
            curve[s] < _SAME and error(FractionalRepetition(n=n, d=r, k=k), s).upper == 0
            for (n, k, r), curve in curves.items()
            for s in range(r)
        ),
    )
    for name in ("eq6_frc_error", "lemma11_frc_error"):
        yield counting.counted(
            name,
            "the worst error of a repetition code is floor(s/r) r/n",
            "(n, k, r, s)",
            (
                close(value, _frc(n, k, r, s))
                for (n, k, r), curve in curves.items()
                for s, value in enumerate(curve)
            ),
        )
    yield counting.counted(
        "lemma11_all_ones_block",
        "an all-one block loses nothing while one worker answers, all otherwise",
        "blocks up to 5 x 5, every set",
        (close(errors(np.ones((k, n))), ~every(n).any(1)) for k in range(1, 6) for n in range(1, 6)),
    )

    def necessary(n, k, r):
        """With a partition on r workers and s = r stragglers, these can be silent and the error is 1/k or more."""
        A = random_biregular(n, k, r, seed)
        holders = A.any(0) & (A[0] > 0)
        return errors(A, ~holders[None])[0] >= 1 / k - _SAME

    def attained(make, n, s):
        made = make(n, s)
        return made.load.max() == made.k * (s + 1) / n and error(made, s).upper == 0

    makes = (CyclicRepetition, lambda n, s: FractionalRepetition(n, s + 1))
    yield counting.counted(
        "exact_load_proportional",
        "exact for any s stragglers needs load k (s + 1)/n: with less some partition is lost, and codes attain it",
        "binary codes with r = s; cyclic and fractional repetition",
        (
            *(necessary(n, k, r) for n, k, r in ((6, 6, 2), (6, 6, 3), (8, 8, 2), (8, 8, 3))),
            *(attained(makes[0], n, s) for n in (6, 9, 12) for s in range(n // 2)),
            *(attained(makes[1], 12, s) for s in (0, 1, 2, 3, 5)),
        ),
    )
    designs = [(name, *named_design(name).params) for name in DESIGNS]
    yield counting.counted(
        "eq5_exact_recovery",
        "an (n, k, l, r) code with r = s + 1 recovers the sum exactly from every n - s workers",
        "designs and repetition codes, as binary codes with r >= 2",
        (
            *(worst(incidence(name))[r - 1] < _SAME for name, _, _, _, r, _ in designs),
            *(curve[r - 1] < _SAME for (_, _, r), curve in curves.items() if r > 1),
        ),
    )
    yield counting.counted(
        "eq5_real_coefficients",
        "on a cyclic support with r = s + 1 suitable real coefficients recover the sum exactly",
        "(n, s)",
        (
            close(errors_of(CyclicRepetition(n, s), every(n)[every(n).sum(1) == n - s]), 0)
            for n in range(3, 9)
            for s in range(1, n)
        ),
    )
    pairs = [(r, n, s) for n in range(4, 61) for r in range(2, n) if n % r == 0 for s in range(1, n)]

    def difference(r, n, s):
        return theory.design_error(n, r, s).item() - s // r * r / n

    yield counting.counted(
        "bibd_better_than_frc",
        "a BIBD has a smaller worst error than the FRC of the same (n, k, l, r)",
        "parameters with r | n <= 60, 1 <= s <= n - 2",
        (difference(*given) < -_SAME for given in pairs if given[2] < given[1] - 1),
    )
    yield counting.counted(
        "bibd_better_from_r_on",
        "the same for r <= s < n - 1",
        "parameters with r | n <= 60",
        (difference(*given) < -_SAME for given in pairs if given[0] <= given[2] < given[1] - 1),
    )
    plane = worst(incidence("pg-2-3"))
    yield counting.counted(
        "bibd_outperforms_many",
        "the worst error of the (13, 4, 1) design is below that of other codes of its n and density from s = 5 to 11, "
        "and at s = 4 not above it",
        "cyclic arcs, circulant graph, two draws each of random regular, regular bipartite, Bernoulli; s = 4 to 11",
        (
            plane[s] < rival[s] - _SAME or (s == 4 and plane[s] < rival[s] + _SAME)
            for rival in map(worst, _rivals(seed))
            for s in range(4, 12)
        ),
    )
    yield counting.counted(
        "frc_easy_but_weak",
        "an FRC exists for every r | n, and from s = r on no BIBD of its parameters would be worse",
        "parameters with r | n <= 60, s >= r",
        (difference(*given) <= _SAME for given in pairs if given[2] >= given[0]),
    )


def random_biregular(n: int, k: int, r: int, seed: int) -> np.ndarray:
    """Circulant matrix (partitions x workers) with row weight r, its workers shuffled."""
    A = np.array([[(j - i) % n < r for j in range(n)] for i in range(k)], dtype=float)
    return A[:, rng(seed, "monte_carlo", n, k, r).permutation(n)]


# --- Section II-C, Lemmas 3, 5, 9: block designs ----------------------------------------------------------------


def _curve(name: str) -> np.ndarray:
    n = named_design(name).params[0]
    return theory.bibd_error(named_design(name).params, np.arange(n + 1))


def _designs(draws: int, seed: int) -> Iterator[dict]:
    def constant(name):
        A = incidence(name)
        n, _, l, _, shared = named_design(name).params
        return close(A.T @ A, (l - shared) * np.eye(n) + shared)

    for name in ("bibd_dual_intersections", "appC_gram"):
        yield counting.counted(
            name,
            "A^T A = (l - lambda) I + lambda J: any two workers share lambda partitions",
            "designs",
            map(constant, (*DESIGNS, "pg-2-3", "bent-2", "ag_dual-2-4", "pg-3-2", "twin-3")),
        )
    yield counting.counted(
        "appC_gram_regular",
        "it is invertible for lambda < l, with inverse (I - lambda J / (l + lambda (m - 1))) / (l - lambda)",
        "designs, m = n",
        (
            close(
                np.linalg.inv(incidence(name).T @ incidence(name)),
                (np.eye(n) - shared / (l + shared * (n - 1))) / (l - shared),
            )
            for name in DESIGNS
            for n, _, l, _, shared in [named_design(name).params]
            if shared < l
        ),
    )

    def fixed(name):
        A, curve = incidence(name), _curve(name)
        n = A.shape[1]
        return close(errors(A), curve[n - every(n).sum(1)])

    for name in ("bibd_error_set_independent", "eq7_bibd_error", "lemma3_gives_eq7", "lemma5"):
        yield counting.counted(
            name,
            "the error of every set of n - s survivors is 1 - l^2 m / (k (l + lambda (m - 1)))",
            "designs, all sets",
            map(fixed, DESIGNS),
        )

    def weights(name):
        A, n = incidence(name), incidence(name).shape[1]
        heard = every(n)[1:]
        _, _, l, _, shared = named_design(name).params
        expected = heard * (l / (l + shared * (heard.sum(1, keepdims=True) - 1)))
        return close(code(A).decode(heard.astype(int)).weights[:, 0], expected)

    for name in ("lemma3_bibd_decoder", "appC_closed_form_decoder"):
        yield counting.counted(
            name,
            "the pseudoinverse gives l / (l + lambda (m - 1)) on every survivor",
            "designs, all sets",
            (weights(one) for one in DESIGNS if named_design(one).params[4] < named_design(one).params[2]),
        )
    yield counting.counted(
        "bibd_robust",
        "no set of stragglers is worse than another",
        "designs, all sets",
        map(fixed, DESIGNS),
    )
    # Constant load and intersections, redundancies of 4, 1 and 2, 2 and 1: pairs of blocks of different sizes.
    uneven = [np.concatenate([np.ones((1, n)), np.eye(n)]) for n in (3, 4, 5)]
    uneven += [np.concatenate([np.ones((2, n)), incidence(f"complete-{n}-2")]) for n in (4, 5)]

    def with_parameters(A):
        k, n = A.shape
        gram = A.T @ A
        return close(errors(A), theory.bibd_error((n, k, gram[0, 0], 0, gram[0, 1]), n - every(n).sum(1)))

    yield counting.counted(
        "gc_with_lambda_same_error",
        "the same closed form holds for constant l and lambda < l without constant r",
        "codes that are no designs, all sets",
        map(with_parameters, uneven),
    )
    yield counting.counted(
        "gc_with_lambda_not_bibd",
        "constant load and intersections, and lambda (n - 1) differs from l (mean r - 1)",
        "codes with redundancies that are not constant",
        (
            np.ptp(A.sum(0)) == 0
            and not close((A.T @ A)[0, 1] * (A.shape[1] - 1), A[:, 0].sum() * (A.sum(1).mean() - 1))
            for A in uneven
        ),
    )
    yield counting.counted(
        "lemma9",
        "the errors are a convex sequence in s",
        "designs",
        (bool((np.diff(_curve(name), 2) >= -1e-12).all()) for name in (*DESIGNS, "pg-2-3", "bent-2")),
    )

    def convex(name):
        params = named_design(name).params
        s, h = np.linspace(0.5, params[0] - 1.5, 20), 1e-3
        second = (
            theory.bibd_error(params, s + h)
            - 2 * theory.bibd_error(params, s)
            + theory.bibd_error(params, s - h)
        ) / h**2
        formula = theory.bibd_curvature(params, params[0] - s)
        return bool((formula >= 0).all()) and close(second, formula, 1e-4 * formula.max() + 1e-7)

    yield counting.counted(
        "appG_convex_function",
        "the second derivative in a real s is 2 l^2 lambda (l - lambda) / (k (l - lambda + lambda m)^3) >= 0",
        "designs, 20 real s",
        map(convex, DESIGNS),
    )


# --- Section III-A: laws ------------------------------------------------------------------------------------------


@cache
def full_system(n: int) -> np.ndarray:
    """Monomials of degree at most 2, evaluated on {0,1}^n: the rows of (12)."""
    bits = every(n).T.astype(float)
    pairs = [bits[i] * bits[j] for i, j in combinations(range(n), 2)]
    return np.stack([np.ones(2**n), *bits, *pairs])


def _rank2(M: np.ndarray) -> int:
    rows, rank = [int("".join(map(str, row)), 2) for row in M.astype(int)], 0
    while rows:
        pivot = rows.pop()
        if pivot:
            rank += 1
            low = pivot & -pivot
            rows = [row ^ pivot if row & low else row for row in rows]
    return rank


def _right(n: int, rho: float, mu: float) -> np.ndarray:
    return np.array([1] + [rho] * n + [mu] * comb(n, 2))


def _points(seed: int, n: int, count: int) -> list[tuple[float, float]]:
    """Random (rho, mu), none within 1e-6 of an edge of the region."""
    drawn = rng(seed, "monte_carlo", 13, n).random((count, 2))
    drawn[:, 1] *= drawn[:, 0]
    return [(r, m) for r, m in drawn if min(abs(m - theory.soft_smallest_mu(n, r)), abs(m - r)) > 1e-6]


def _laws(draws: int, seed: int) -> Iterator[dict]:
    ranks = {2: 4, 3: 7, 4: 11, 5: 16, 6: 22, 7: 29}
    yield counting.counted(
        "theorem1_full_rank",
        "the system matrix has full row rank 1 + n + C(n, 2) over the reals",
        "n = 2, ..., 7",
        (np.linalg.matrix_rank(full_system(n)) == rank for n, rank in ranks.items()),
    )
    yield counting.counted(
        "lemma1_reed_muller",
        "its rows are the values of all monomials of degree <= 2, and independent over GF(2): RM(2, n)",
        "n = 2, ..., 7",
        (_rank2(full_system(n)) == rank == len(full_system(n)) for n, rank in ranks.items()),
    )
    laws = [
        (n, rho, mu, weight_law(n, rho, mu))
        for n in (3, 5, 7)
        for rho in (0.2, 0.5, 0.8)
        for mu in np.linspace(theory.soft_smallest_mu(n, rho), rho, 4)
    ]

    def full(n, law):
        weight = every(n).sum(1)
        return law[weight] / np.array([comb(n, int(w)) for w in range(n + 1)])[weight]

    moments = [(n, rho, mu, full_system(n) @ full(n, law)) for n, rho, mu, law in laws]
    yield counting.counted(
        "eq8_load_on_average",
        "P(x_j = 1) = l/k for every j: every column has l ones on average",
        "laws over {0,1}^n, n = 3, 5, 7",
        (close(m[1 : n + 1], rho) for n, rho, _, m in moments),
    )
    yield counting.counted(
        "eq9_intersections_on_average",
        "P(x_i = x_j = 1) = lambda/k for every pair: every pair shares lambda on average",
        "laws over {0,1}^n, n = 3, 5, 7",
        (close(m[n + 1 :], mu) for n, _, mu, m in moments),
    )
    yield counting.counted(
        "linear_system",
        "a law with these moments is a non-negative solution of the system, right side (1, rho, ..., mu, ...)",
        "laws over {0,1}^n, n = 3, 5, 7",
        (
            close(m, _right(n, rho, mu)) and bool((law >= 0).all())
            for (n, rho, mu, m), (*_, law) in zip(moments, laws, strict=True)
        ),
    )
    random = rng(seed, "monte_carlo", 14)

    def sampled(n, rho, mu, law):
        A = sample(law, draws, random).astype(float)
        one, two = np.sqrt(rho * (1 - rho) / draws), np.sqrt(mu * (1 - mu) / draws)
        pairs = (A.T @ A / draws)[np.triu_indices(n, 1)]
        return np.abs(A.mean(0) - rho).max() <= 4 * one and np.abs(pairs - mu).max() <= 4 * two + 1e-12

    yield counting.counted(
        "soft_only_on_average",
        "loads and intersections of sampled rows are l and lambda on average (4 standard errors)",
        f"laws, {draws} rows",
        (sampled(*given) for given in laws),
    )

    def independent(n, rho, mu, law):
        x, y = (part.sum(1) for part in np.split(sample(law, 2 * (draws // 2), random), 2))
        joint = np.zeros((n + 1, n + 1))
        np.add.at(joint, (x, y), 1 / len(x))
        expected = np.outer(law, law)
        return bool((np.abs(joint - expected) <= 4.5 * np.sqrt(expected / len(x)) + 1e-12).all())

    yield counting.counted(
        "rows_iid_joint_law",
        "the weights of two rows are independent and have one law (4.5 standard errors)",
        f"laws, {draws // 2} pairs of rows",
        (independent(*given) for given in laws),
    )

    def feasible(M, right):
        return linprog(np.zeros(M.shape[1]), A_eq=M, b_eq=right, method="highs").success

    def by_weight(n, rho, mu):
        w = np.arange(n + 1)
        return feasible(np.stack([np.ones(n + 1), w / n, w * (w - 1) / (n * (n - 1))]), [1, rho, mu])

    grid = [(n, *point) for n in (3, 4, 5) for point in _points(seed, n, 25)]
    exists = [feasible(full_system(n), _right(n, rho, mu)) for n, rho, mu in grid]
    yield counting.counted(
        "theorem1_symmetric_reduction",
        "a law on {0,1}^n exists where one of the three equations in the weights does",
        "random (rho, mu), n = 3, 4, 5",
        (by_weight(*given) == there for given, there in zip(grid, exists, strict=True)),
    )

    def separated(n, rho, mu):
        """Whether y with M^T y >= 0 and b^T y = -1 exists."""
        M, right = full_system(n), _right(n, rho, mu)
        found = linprog(
            np.zeros(len(M)),
            A_ub=-M.T,
            b_ub=np.zeros(M.shape[1]),
            A_eq=right[None],
            b_eq=[-1],
            bounds=(None, None),
        )
        return found.success

    yield counting.counted(
        "lemma2_farkas",
        "either a non-negative solution or a separating vector exists, never both",
        "random (rho, mu), n = 3, 4, 5",
        (separated(*given) != there for given, there in zip(grid, exists, strict=True)),
    )
    many = [(n, *point) for n in (3, 5, 8, 16, 20) for point in _points(seed + 1, n, 200)]
    granted = [given for given in many if given[2] >= theory.soft_paper_smallest_mu(*given[:2])]
    yield counting.counted(
        "theorem1_region17",
        "where (25) and (26) hold for an index and lambda <= l, a law exists",
        "random (rho, mu) in region (17), n <= 20",
        (by_weight(*given) for given in granted),
    )


# --- Section III-B: errors of Soft BIBDs --------------------------------------------------------------------------


@cache
def three() -> tuple[np.ndarray, ...]:
    """The 27 equally likely matrices of n = k = 3, l = 2, lambda = 1: each row has weight 2."""
    rows = np.ones((3, 3)) - np.eye(3)
    return tuple(rows[list(chosen)] for chosen in product(range(3), repeat=3))


def _soft(draws: int, seed: int) -> Iterator[dict]:
    params = (3, 3, 2, 2, 1)
    tables = np.array([errors(A) for A in three()])
    mean, lost = tables.mean(0), 3 - every(3).sum(1)
    bound = theory.bibd_error(params, lost)
    instances = "all 27 matrices of n = k = 3, l = 2, all sets"
    for name in ("theorem2", "theorem2_every_set"):
        yield counting.counted(
            name,
            "at every fixed set the expected error is at most 1 - l^2 m / (k (l + lambda (m - 1)))",
            instances,
            (m <= b + _SAME for m, b in zip(mean, bound, strict=True)),
        )
    yield counting.counted(
        "soft_expected_error_lower",
        "the expected error at a fixed set is not larger than a BIBD's, and is smaller at s = 1",
        instances,
        (m <= b + _SAME and (s != 1 or m < b - _SAME) for m, b, s in zip(mean, bound, lost, strict=True)),
    )
    yield counting.counted(
        "theorem2_equals_bibd",
        "the right side of (27) is the error of the BIBD with these parameters",
        "designs, all sets",
        (
            close(
                errors(incidence(name)),
                _curve(name)[incidence(name).shape[1] - every(incidence(name).shape[1]).sum(1)],
            )
            for name in DESIGNS
        ),
    )
    largest = np.array([[e[lost == s].max() for s in range(4)] for e in tables])
    yield counting.counted(
        "soft_performance_per_realisation",
        "the worst-case error is not the same in all realisations",
        "27 matrices, s = 1, 2",
        (np.ptp(largest[:, s]) > _SAME for s in (1, 2)),
    )
    yield counting.counted(
        "soft_mean_of_worst",
        "the mean of the worst error is at most the BIBD's (maximum inside the expectation)",
        "27 matrices, s = 1, 2",
        (largest[:, s].mean() <= theory.bibd_error(params, s) + _SAME for s in (1, 2)),
    )

    def constant(heard):
        m = heard.sum()
        w = 2 / (2 + (m - 1))
        found = np.mean([((A @ (w * heard) - 1) ** 2).mean() for A in three()])
        return close(found, theory.bibd_error(params, 3 - m))

    yield counting.counted(
        "theorem2_constant_decoder",
        "with the constant vector of Lemma 3 the expectation is the right side of (27)",
        "all 27 matrices, all sets but the empty one",
        (constant(heard) for heard in every(3)[1:]),
    )
    single = [rng(seed, "monte_carlo", 15, i) for i in range(3)]
    yield counting.counted(
        "fig1_noninteger",
        "a code with non-integer l and lambda is sampled, its rows next to n rho",
        "(n, k, l)",
        (
            bool(
                (
                    np.abs(SoftBIBD(n, k, l, seed=int(r.integers(1000))).assignment.sum(0) - n * l / k) < 1
                ).all()
            )
            for (n, k, l), r in zip(((20, 20, 7.5), (10, 7, 2.5), (16, 11, 4.1)), single, strict=True)
        ),
    )


# --- Section IV: products -----------------------------------------------------------------------------------------


def _distinct(values: np.ndarray) -> set[int]:
    return {int(v) for v in np.unique(values.round())}


def _products(draws: int, seed: int) -> Iterator[dict]:
    small = [incidence(name) for name in ("complete-3-2", "complete-4-3", "complete-4-2")]
    pair, triple, wide = small
    repetition = [
        block_diagonal(2, 2, 1),
        block_diagonal(4, 4, 2),
        block_diagonal(4, 2, 2),
        block_diagonal(3, 3, 3),
    ]
    pairs = [
        (a, b) for a, b in product([*small[:2], *repetition[:3]], repeat=2) if a.shape[1] * b.shape[1] <= 12
    ]
    yield counting.counted(
        "lemma4_order",
        "the worst error does not depend on the order of the factors",
        "pairs of designs and repetition codes, every s; three factors",
        (
            *(close(worst(np.kron(a, b)), worst(np.kron(b, a))) for a, b in pairs),
            *(
                close(
                    worst(reduce(np.kron, order)),
                    worst(reduce(np.kron, (pair, *repetition[:1], repetition[3]))),
                )
                for order in ((repetition[0], pair, repetition[3]), (repetition[3], repetition[0], pair))
            ),
        ),
    )

    def permuted(a, b):
        (k1, n1), (k2, n2) = a.shape, b.shape
        rows = np.arange(k1 * k2).reshape(k1, k2).T.ravel()
        columns = np.arange(n1 * n2).reshape(n1, n2).T.ravel()
        same = np.array_equal(np.kron(a, b)[np.ix_(rows, columns)], np.kron(b, a))
        heard = random_sets(n1 * n2, n1 * n2 // 3, 20, seed)
        return same and close(errors(np.kron(a, b), heard), errors(np.kron(b, a), heard[:, columns]))

    yield counting.counted(
        "appB_permuted_factors",
        "the reordered product is the product with rows and columns permuted, and sets keep their errors",
        "pairs, 20 sets each",
        (permuted(a, b) for a, b in pairs),
    )

    def repeated(n1, k1, r1, n2, k2, r2):
        A = np.kron(block_diagonal(n1, k1, r1), block_diagonal(n2, k2, r2))
        curve = worst(A)
        return all(close(value, s // (r1 * r2) * r1 * r2 / (n1 * n2)) for s, value in enumerate(curve))

    twice = [
        (*a, *b) for a, b in product(REPETITIONS[:4] + ((3, 3, 3), (2, 2, 1)), repeat=2) if a[0] * b[0] <= 16
    ]
    yield counting.counted(
        "theorem3",
        "the worst error of FRC x FRC is floor(s / (r1 r2)) r1 r2 / (n1 n2)",
        "pairs up to 16 workers, every s",
        (repeated(*given) for given in twice),
    )

    def is_repetition(n1, k1, r1, n2, k2, r2):
        A = np.kron(block_diagonal(n1, k1, r1), block_diagonal(n2, k2, r2))
        blocks = {tuple(row) for row in A.astype(int)}
        apart = all(not (np.array(x) & np.array(y)).any() for x, y in combinations(blocks, 2))
        return apart and np.ptp(A.sum(0)) == np.ptp(A.sum(1)) == 0

    yield counting.counted(
        "frc_product_is_frc",
        "FRC x FRC is an FRC up to permutation: its rows are equal or disjoint, and all weights are equal",
        "pairs up to 16 workers",
        (is_repetition(*given) for given in twice),
    )
    mixed = [
        ((4, 4, 2), "complete-3-2"),
        ((4, 2, 2), "complete-3-2"),
        ((2, 2, 1), "complete-5-3"),
        ((2, 2, 2), "pg-2-2"),
        ((4, 4, 2), "complete-4-2"),
        ((3, 3, 1), "complete-4-3"),
    ]
    curves = {
        (given, name): (worst(np.kron(block_diagonal(*given), incidence(name))), named_design(name).params)
        for given, name in mixed
    }
    for name in ("theorem4", "eq6_extended", "theorem4_worst_pattern"):
        yield counting.counted(
            name,
            "the worst error of FRC x BIBD is err_FRC(s / n2), at a real argument, plus (r1/n1) err_BIBD of the "
            "columns lost in one further block",
            "(FRC, design, s)",
            (
                close(
                    value,
                    np.floor(s / n2 / r1 + 1e-12) * r1 / n1
                    + (r1 / n1 * theory.bibd_error(design, s % (r1 * n2) // r1) if s < n1 * n2 else 0),
                )
                for ((n1, _, r1), _), (curve, design) in curves.items()
                for n2 in [design[0]]
                for s, value in enumerate(curve)
            ),
        )

    def decomposed(given, name):
        (n1, _, r1), (n2, *_), A = (
            given,
            named_design(name).params,
            np.kron(block_diagonal(*given), incidence(name)),
        )
        heard = every(n1 * n2) if n1 * n2 <= 12 else random_sets(n1 * n2, n1 * n2 // 2, 300, seed)
        there = heard.reshape(len(heard), n1 // r1, r1, n2).any(2).sum(2)
        return close(
            errors(A, heard), r1 / n1 * theory.bibd_error(named_design(name).params, n2 - there).sum(1)
        )

    yield counting.counted(
        "theorem4_decomposition",
        "the error of every set of FRC x BIBD is the sum over blocks of the BIBD's at the columns lost altogether",
        "(FRC, design), all sets or 300",
        (decomposed(*given) for given in mixed),
    )
    matrices = [*small[:2], *random_matrices(15, seed + 4)]
    yield counting.counted(
        "lemma6",
        "t copies of every row: t times the squared error, the same normalised error",
        "designs and random matrices, t = 2, 3, all sets",
        (
            close(errors(np.kron(np.ones((t, 1)), A)) * t * len(A), t * (errors(A) * len(A)))
            for A in matrices
            for t in (2, 3)
        ),
    )
    copied = [(A, t) for A in matrices for t in (2, 3) if A.shape[1] * t <= 12]
    yield counting.counted(
        "lemma7",
        "t copies of every worker: the worst error at s is that of the single code at floor(s/t)",
        "designs and random matrices, t = 2, 3, every s",
        (
            close(worst(np.kron(np.ones((1, t)), A)), worst(A)[np.arange(t * A.shape[1] + 1) // t])
            for A, t in copied
        ),
    )

    def best_copy(A, t):
        n = A.shape[1]
        heard = random_sets(t * n, t * n // 2, 50, seed)
        copies = heard.reshape(len(heard), t, n)
        best = errors(A, copies[np.arange(len(heard)), copies.sum(2).argmax(1)])
        upper = bool((errors(np.kron(np.ones((1, t)), A), heard) <= best + _SAME).all())
        same = close(errors(np.kron(np.ones((1, t)), A), np.tile(every(n), t)), errors(A))
        return upper and same

    yield counting.counted(
        "appE_best_copy",
        "the copy with the fewest stragglers bounds the error; equal sets in all copies attain that of the single code",
        "designs and random matrices, t = 2, 3",
        (best_copy(A, t) for A, t in copied),
    )
    yield counting.counted(
        "appE_monotone",
        "the worst error does not fall when s grows",
        "designs, repetition codes, random matrices",
        (
            bool((np.diff(worst(A)) >= -_SAME).all())
            for A in (*map(incidence, DESIGNS), *repetition, *random_matrices(30, seed + 5))
        ),
    )

    def diagonal(a, b):
        both = np.block([[a, np.zeros((len(a), b.shape[1]))], [np.zeros((len(b), a.shape[1])), b]])
        heard = every(both.shape[1])
        left, right = heard[:, : a.shape[1]], heard[:, a.shape[1] :]
        return close(errors(both) * len(both), errors(a, left) * len(a) + errors(b, right) * len(b))

    yield counting.counted(
        "lemma8",
        "the squared errors of the blocks of a block-diagonal code add up",
        "pairs, all sets",
        (diagonal(a, b) for a, b in zip(matrices[:-1], matrices[1:], strict=True)),
    )
    yield from _products_of_designs(draws, seed)


def _products_of_designs(draws: int, seed: int) -> Iterator[dict]:
    names = [
        ("complete-3-2", "complete-3-2"),
        ("complete-3-2", "complete-4-3"),
        ("complete-3-2", "complete-4-2"),
    ]
    large = [*names, ("pg-2-2", "pg-2-3"), ("ag_dual-2-3", "pg-2-2")]
    design = {name: theory.Parameters(*named_design(name).params) for pair in large for name in pair}

    def gram(first, second):
        A = np.kron(incidence(first), incidence(second))
        return A.T @ A

    def counts(first, second):
        a, b, G = design[first], design[second], gram(first, second)
        expected = np.kron(
            (a.load - a.intersection) * np.eye(a.n) + a.intersection, np.ones((b.n, b.n))
        ) * np.kron(np.ones((a.n, a.n)), (b.load - b.intersection) * np.eye(b.n) + b.intersection)
        return close(G, expected)

    yield counting.counted(
        "appH_block_class_counts",
        "two workers share l1 l2, l1 lambda2 (same block), lambda1 l2 (same class) or lambda1 lambda2 partitions",
        "products of designs, all pairs",
        (counts(*pair) for pair in large),
    )
    yield counting.counted(
        "product_not_bibd",
        "intersections of two workers are not constant, so the product is no BIBD",
        "products of designs",
        (len(_distinct(G[~np.eye(len(G), dtype=bool)])) > 1 for G in (gram(*pair) for pair in large)),
    )
    yield counting.counted(
        "theorem5_column_weight",
        "every column of the product has l1 l2 ones",
        "products of designs",
        (close(gram(*pair).diagonal(), design[pair[0]].load * design[pair[1]].load) for pair in large),
    )

    def survivors(first, second):
        n = design[first].n * design[second].n
        if n <= 12:
            return every(n)[1:]
        return np.concatenate([random_sets(n, s, max(2, draws // 2000), seed) for s in range(0, n, 5)])

    def sizes(first, second):
        a, b, heard = design[first], design[second], survivors(first, second)
        table = heard.reshape(-1, a.n, b.n)
        block, cls = table.sum(2), table.sum(1)
        totals = close(block.sum(1), heard.sum(1)) and close(cls.sum(1), heard.sum(1))
        return totals and block.max() <= b.n and cls.max() <= a.n

    yield counting.counted(
        "appH_block_class_sizes",
        "a block holds at most n2 survivors, a class at most n1, and both add up to m",
        "products of designs, sets",
        (sizes(*pair) for pair in large),
    )

    def entries(first, second):
        heard = survivors(first, second).astype(float)
        total = np.einsum("ui,ij,uj->u", heard, gram(first, second), heard)
        return bool((total <= theory.product_gram(design[first], design[second], heard.sum(1)) + _SAME).all())

    yield counting.counted(
        "lemma10",
        "the sum of all entries of the survivors' Gram matrix is at most m Q(m), as restored",
        "products of designs, sets",
        (entries(*pair) for pair in large),
    )
    curves = {pair: worst(np.kron(*map(incidence, pair))) for pair in names}
    yield counting.counted(
        "theorem5",
        "the worst error is at most 1 - (l1 l2)^2 m / (k1 k2 Q(m))",
        "products of small designs, every s",
        (
            bool(
                (
                    curve
                    <= theory.product_upper_bound(design[one], design[two], np.arange(len(curve))) + _SAME
                ).all()
            )
            for (one, two), curve in curves.items()
        ),
    )
    factor = {name: theory.bibd_error(design[name], np.arange(design[name].n + 1)) for name in design}
    yield counting.counted(
        "theorem6",
        "the worst error is at least that of every product set with no fewer survivors",
        "products of small designs, every s",
        (
            bool(
                (
                    theory.product_lower_bound(factor[one], factor[two], np.arange(len(curve)))
                    <= curve + _SAME
                ).all()
            )
            for (one, two), curve in curves.items()
        ),
    )

    def minimiser(first, second, m):
        a, b = design[first], design[second]
        k, load, sum_ = a.k * b.k, a.load * b.load, theory.product_gram(a, b, m)
        best = theory.product_constant_weight(a, b, m)
        w = best * np.linspace(0.5, 1.5, 101)
        bound = 1 - 2 * w * load * m / k + w**2 * sum_ / k
        least = theory.product_upper_bound(a, b, a.n * b.n - m)
        return close(bound[50], least) and bool((bound >= least - 1e-12).all())

    yield counting.counted(
        "theorem5_minimising_constant",
        "w = l1 l2 / Q(m) minimises the quadratic bound, whose least value is Theorem 5",
        "products of designs, m",
        (
            minimiser(*pair, m)
            for pair in large
            for m in range(1, design[pair[0]].n * design[pair[1]].n + 1, 7)
        ),
    )

    def boxed(A, B):
        """Product sets of survivors."""
        left, right = every(A.shape[1]), every(B.shape[1])
        e1, e2 = errors(A)[:, None], errors(B)
        heard = (left[:, None, :, None] & right[None, :, None, :]).reshape(len(left) * len(right), -1)
        return close(errors(np.kron(A, B), heard).reshape(len(left), -1), e1 + e2 - e1 * e2)

    yield counting.counted(
        "theorem6_product_set",
        "a product set of survivors has the error e1 + e2 - e1 e2",
        "products of small designs, all product sets",
        (boxed(*map(incidence, pair)) for pair in names),
    )
    matrices = [*random_matrices(16, seed + 6), SoftBIBD(4, 5, 2, seed=1).assignment.T.astype(float)]
    yield counting.counted(
        "remark2",
        "the same for a product of any two codes, realisations of random ones too",
        "random matrices, a Soft BIBD; all product sets",
        (
            boxed(a, b)
            for a, b in zip(matrices[:-1], matrices[1:], strict=True)
            if a.shape[1] + b.shape[1] <= 9
        ),
    )
    big = Kronecker(BlockDesign(7, "pg-2-2"), BlockDesign(13, "pg-2-3"))
    a, b = design["pg-2-2"], design["pg-2-3"]
    stragglers = (13, 26, 45, 60, 78)
    best, plainly, bound = [], [], theory.product_upper_bound(a, b, stragglers)
    for s in stragglers:
        heard = random_sets(91, s, max(20, draws // 100), seed)
        best.append(errors_of(big, heard))
        plainly.append(errors_of(big, heard, "constant"))
    yield counting.counted(
        "product_constant_may_be_suboptimal",
        "the constant vector l1 l2 / Q(m) has a larger mean error than the optimal one",
        "pg(2,2) x pg(2,3), random sets, s = 13, 26, 45, 60, 78",
        (c.mean() > o.mean() for o, c in zip(best, plainly, strict=True)),
    )
    yield counting.counted(
        "product_constant_reasonable",
        "its mean error is at most 2.2 times the optimal one, and below Theorem 5",
        "pg(2,2) x pg(2,3), random sets, s = 13, 26, 45, 60, 78",
        (
            c.mean() <= 2.2 * o.mean() and c.max() <= t + _SAME
            for o, c, t in zip(best, plainly, bound, strict=True)
        ),
    )
    yield counting.counted(
        "four_product_bounds",
        "closed form or bound: FRC x FRC, FRC x BIBD exact, BIBD x BIBD between its two bounds",
        "one product each, every s",
        (
            close(
                worst(np.kron(block_diagonal(4, 4, 2), block_diagonal(3, 3, 3))),
                theory.frc_product_error(4, 2, 3, 3, range(13)),
            ),
            close(
                worst(np.kron(block_diagonal(4, 4, 2), incidence("complete-3-2"))),
                theory.frc_bibd_error(4, 2, design["complete-3-2"], range(13)),
            ),
            bool(
                (
                    curves[names[0]]
                    <= theory.product_upper_bound(design["complete-3-2"], design["complete-3-2"], range(10))
                    + _SAME
                ).all()
            ),
        ),
    )
    yield counting.counted(
        "concl_scalable",
        "the product of an n1- and an n2-worker design is a code of n1 n2 workers and density rho1 rho2",
        "products of designs",
        (
            A.shape[1] == design[x].n * design[y].n
            and close(A.mean(), design[x].redundancy * design[y].redundancy / (design[x].n * design[y].n))
            for x, y in large
            for A in [np.kron(incidence(x), incidence(y))]
        ),
    )


def _soft_products(draws: int, seed: int) -> Iterator[dict]:
    """Theorem 7, by all 27 x 27 pairs of soft codes with n = k = 3."""
    pairs = [np.kron(A, B) for A in three() for B in three()]
    mean = np.mean([A.T @ A for A in pairs], axis=0)
    yield counting.counted(
        "theorem7_column_weight",
        "on average each column has l1 l2 = 4 ones",
        "27 x 27 pairs, all columns",
        (close(weight, 4) for weight in mean.diagonal()),
    )
    expected = np.kron(np.eye(3) + 1, np.eye(3) + 1)
    yield counting.counted(
        "theorem7_intersections",
        "the expected intersections are l1 l2, l1 lambda2, lambda1 l2 and lambda1 lambda2, as for BIBDs",
        "27 x 27 pairs, all pairs of workers",
        (close(x, y) for x, y in zip(mean.ravel(), expected.ravel(), strict=True)),
    )
    params = (3, 3, 2, 2, 1)
    heard = every(9)[1:][:: max(1, 2**9 // 60)]
    lost = 9 - heard.sum(1)
    weights = heard * theory.product_constant_weight(params, params, heard.sum(1))[:, None]
    constant = np.mean([((weights @ A.T - 1) ** 2).mean(1) for A in pairs], axis=0)
    optimal = np.mean([errors(A, heard) for A in pairs], axis=0)
    bound = theory.product_upper_bound(params, params, lost)
    yield counting.counted(
        "theorem7",
        "at every fixed set the expected error is at most the expression of Theorem 5 in the expected parameters",
        "27 x 27 pairs, fixed sets",
        (c <= t + _SAME and o <= t + _SAME for o, c, t in zip(optimal, constant, bound, strict=True)),
    )
    yield counting.counted(
        "theorem7_suboptimal_decoder",
        "the mean error of the constant decoder lies between the optimal mean and the bound",
        "27 x 27 pairs, fixed sets",
        (o <= c + _SAME and c <= t + _SAME for o, c, t in zip(optimal, constant, bound, strict=True)),
    )
