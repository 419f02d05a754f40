"""Sec. III: for which parameters a Soft BIBD exists, and its expected error."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np

from gcexp.analysis.claims import all_instances, claim
from gcexp.codes.soft_bibd import SoftBIBD, sample, weight_law
from gcexp.seeding import rng
from gcexp.theory.errors import bibd_error, soft_smallest_mu

from ..numerics import law_of_weights_exists
from ..theory import soft_paper_smallest_mu
from .instances import ROUNDING, close, errors, survivor_sets, worst

DRAWS = 20_000  # rows that are sampled from a law


# The linear system


@cache
def _system(n):
    """Monomials of degree at most 2, evaluated on {0,1}^n: the rows of (12)."""
    bits = survivor_sets(n).T.astype(float)
    pairs = [one * other for one, other in combinations(bits, 2)]
    return np.stack([np.ones(2**n), *bits, *pairs])


def _right_side(n, rho, mu):
    return np.array([1] + [rho] * n + [mu] * comb(n, 2))


def _binary_rank(M):
    """Rank over GF(2), of rows that are numbers with a bit for each column."""
    rows = [int("".join(map(str, row)), 2) for row in M.astype(int)]
    rank = 0
    while rows:
        pivot = rows.pop()
        if pivot:
            rank += 1
            low = pivot & -pivot
            rows = [row ^ pivot if row & low else row for row in rows]
    return rank


@claim("theorem1_full_rank", "lemma1_reed_muller")
def system_is_a_reed_muller_generator():
    """The values of all monomials of degree at most 2 have rank 1 + n + C(n, 2) over the reals and over GF(2)."""
    for n in range(2, 8):
        size = 1 + n + comb(n, 2)
        yield "theorem1_full_rank", np.linalg.matrix_rank(_system(n)) == size
        yield "lemma1_reed_muller", _binary_rank(_system(n)) == size


def _laws():
    """n, rho, mu and the library's law of the row weight."""
    for n, rho in product((3, 5, 7), (0.2, 0.5, 0.8)):
        for mu in np.linspace(soft_smallest_mu(n, rho), rho, 4):
            yield n, rho, mu, weight_law(n, rho, mu)


@claim("eq8_load_on_average", "eq9_intersections_on_average", "linear_system", assumed=True)
def laws_solve_the_system():
    """The library's laws, spread over {0,1}^n, have P(x_j = 1) = l/k and P(x_i = x_j = 1) = lambda/k."""
    for n, rho, mu, law in _laws():
        weight = survivor_sets(n).sum(1)
        vectors_of_weight = [comb(n, w) for w in range(n + 1)]
        chance_of_each = law / vectors_of_weight
        left = _system(n) @ chance_of_each[weight]
        yield "eq8_load_on_average", close(left[1 : n + 1], rho)
        yield "eq9_intersections_on_average", close(left[n + 1 :], mu)
        yield "linear_system", close(left, _right_side(n, rho, mu)) and law.min() >= 0


@claim("soft_only_on_average", "rows_iid_joint_law")
def sampled_rows_follow_the_law():
    """Loads and intersections are right on average, and weights of two rows independent, to some standard errors."""
    random = rng(0, "monte_carlo", 14)
    for n, rho, mu, law in _laws():
        rows = sample(law, DRAWS, random).astype(float)
        pairs = (rows.T @ rows / DRAWS)[np.triu_indices(n, 1)]
        near_rho = 4 * np.sqrt(rho * (1 - rho) / DRAWS)
        near_mu = 4 * np.sqrt(mu * (1 - mu) / DRAWS) + 1e-12
        yield "soft_only_on_average", close(rows.mean(0), rho, near_rho) and close(pairs, mu, near_mu)
        first, second = np.split(rows.sum(1).astype(int), 2)
        joint = np.zeros((n + 1, n + 1))
        expected = np.outer(law, law)
        np.add.at(joint, (first, second), 1 / len(first))
        apart = np.abs(joint - expected) - 4.5 * np.sqrt(expected / len(first))
        yield "rows_iid_joint_law", apart.max() <= 1e-12


# Existence


def _points(sizes, count, stream):
    """Numbers of workers n, and random (rho, mu) with mu < rho for each."""
    for n in sizes:
        for rho, height in rng(stream, "monte_carlo", 13, n).random((count, 2)):
            yield n, rho, rho * height


def _solvable(size, **constraints):
    """Whether a linear program in so many variables has a solution."""
    from scipy.optimize import linprog  # slow to import

    return linprog(np.zeros(size), method="highs", **constraints).success


@cache
def _law_exists():
    """n, rho, mu, and whether a law on {0,1}^n exists: a non-negative solution of the system."""
    found = []
    for n, rho, mu in _points((3, 4, 5), 25, 0):
        exists = _solvable(2**n, A_eq=_system(n), b_eq=_right_side(n, rho, mu))
        found.append(((n, rho, mu), exists))
    return found


@claim("theorem1_symmetric_reduction", assumed=True)
def laws_by_weight_suffice():
    """A law on {0,1}^n exists exactly where one of the row weights does."""
    return all_instances(law_of_weights_exists(*point) == exists for point, exists in _law_exists())


@claim("lemma2_farkas")
def solution_or_separating_vector():
    """Either a solution exists or a vector y with M^T y >= 0 and right^T y = -1, and never both."""
    for point, exists in _law_exists():
        M = _system(point[0])
        right = _right_side(*point)
        below = {"A_ub": -M.T, "b_ub": np.zeros(M.shape[1]), "bounds": (None, None)}
        yield _solvable(len(M), A_eq=right[None], b_eq=[-1], **below) != exists


@claim("theorem1", "theorem1_region17", assumed=True)
def law_exists_in_the_region_of_theorem_1():
    """A law exists wherever (25) and (26) hold for some index, and lambda <= l."""
    for n, rho, mu in _points((3, 5, 8, 16, 20), 200, 1):
        if mu >= soft_paper_smallest_mu(n, rho):
            yield law_of_weights_exists(n, rho, mu)


@claim("theorem1_explicit_region", assumed=True)
def three_kinds_of_rows_suffice():
    """Where n (l - lambda) + lambda <= k a law with rows of weight 0, 1 and n only is non-negative."""
    for n, rho, mu in _points((3, 5, 8), 200, 2):
        if n * (rho - mu) + mu <= 1:
            w = np.array([0, 1, n])
            moments = np.stack([np.ones(3), w / n, w * (w - 1) / (n * (n - 1))])
            yield np.linalg.solve(moments, [1, rho, mu]).min() >= -ROUNDING


@claim("fig1_noninteger")
def codes_with_fractional_loads():
    """Each row has one of the two weights next to n rho."""
    for n, k, l in ((20, 20, 7.5), (10, 7, 2.5), (16, 11, 4.1)):
        for seed in range(10):
            weights = SoftBIBD(n, k, l, seed=seed).assignment.sum(0)
            yield np.abs(weights - n * l / k).max() < 1


# Expected errors, over the 27 equally likely matrices of n = k = 3, l = 2, lambda = 1


THREE = (3, 3, 2, 2, 1)  # n, k, l, r, lambda


@cache
def three():
    """All 27 matrices whose rows have weight 2."""
    rows = np.ones((3, 3)) - np.eye(3)
    return tuple(rows[list(chosen)] for chosen in product(range(3), repeat=3))


@claim(
    "theorem2", "theorem2_every_set", "soft_expected_error_lower", "theorem2_constant_decoder", assumed=True
)
def expected_error_of_every_set():
    """The expected error is at most (27), smaller at s = 1, and equal to it with the constant vector of Lemma 3."""
    expected_errors = np.mean([errors(A) for A in three()], axis=0)
    for answered, expected in zip(survivor_sets(3), expected_errors, strict=True):
        m = answered.sum()
        bound = float(bibd_error(THREE, 3 - m))
        yield "theorem2", expected <= bound + ROUNDING
        yield "theorem2_every_set", expected <= bound + ROUNDING
        slack = -ROUNDING if m == 2 else ROUNDING
        yield "soft_expected_error_lower", expected <= bound + slack
        weights = answered * 2 / (1 + m)
        with_constant = np.stack(three()) @ weights
        constant = ((with_constant - 1) ** 2).mean()
        yield "theorem2_constant_decoder", close(constant, bound)


@claim("soft_performance_per_realisation")
def worst_error_depends_on_the_realisation():
    """With s = 1 and 2 stragglers the largest error is not the same for the 27 matrices."""
    return all_instances(np.ptp([worst(A)[1:3] for A in three()], axis=0) > ROUNDING)
