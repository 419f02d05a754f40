"""Sakorikar, Wang (arXiv 2105.05231): error curves, soft designs, products and the adversary of the library.

The paper's theorems are tried in ``gcexp_papers/soft_bibd/claims`` and are not repeated here.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from gcexp.codes.base import Code
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.composite import Kronecker
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.soft_bibd import SoftBIBD, weight_law
from gcexp.decoding_error.adversary import Survivors, bad_sets
from gcexp.decoding_error.error import errors_of
from gcexp.decoding_error.subset_errors import rows
from gcexp.designs.block_designs import named_design
from gcexp.theory import errors as theory
from tests.conftest import refusals

PLANE2 = (7, 7, 3, 3, 1)


def plain(A) -> Code:
    """Code of an incidence matrix (partitions x workers)."""
    return Code(np.transpose(A).astype(float), promise="least_squares")


def every(n: int) -> np.ndarray:
    """All survivor sets, (2^n, n)."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def worst_and_mean(code: Code) -> tuple[np.ndarray, np.ndarray]:
    table, lost = rows(code).table, code.n - every(code.n).sum(1)
    found = [table[lost == s] for s in range(code.n + 1)]
    return np.array([e.max() for e in found]), np.array([e.mean() for e in found])


# --- fractional repetition -----------------------------------------------------------------------------------


def frc_matrix(n: int, k: int, r: int) -> np.ndarray:
    return np.kron(np.eye(n // r), np.ones((k * r // n, r)))


def test_repetition_curve():
    worst, mean = worst_and_mean(plain(frc_matrix(12, 8, 3)))
    np.testing.assert_allclose(worst, theory.frc_error(12, 3, range(13)), atol=1e-9)
    np.testing.assert_allclose(mean, [theory.frc_mean_error(12, 3, s) for s in range(13)], atol=1e-9)
    assert theory.frc_error(4, 2, 7 / 3) == 0.5 and theory.frc_error(4, 2, 5 / 3) == 0  # real arguments


# --- checks 5-7: soft designs -------------------------------------------------------------------------------


def test_designs_lie_on_the_lower_edge():
    for name in ("pg(2,2)", "bent(2)", "stack(bent(2),3)", "sts(13)", "complement(bent(2))"):
        n, k, l, r, shared = named_design(name).params
        assert k * theory.soft_smallest_mu(n, l / k) == pytest.approx(shared, abs=1e-12)
        np.testing.assert_allclose(weight_law(n, l / k, shared / k), np.eye(n + 1)[r], atol=1e-12)


def linear_programs(n: int, rho: float, mu: float) -> np.ndarray:
    """The law as its definition says: two linear programs, solved by another hand."""
    w = np.arange(n + 1)
    moments, right = np.stack([np.ones(n + 1), w / n, w * (w - 1) / (n * (n - 1))]), [1, rho, mu]
    fewest = linprog(w == 0, A_eq=moments, b_eq=right, method="highs").fun
    bounds = [(0, fewest + 1e-12)] + [(0, None)] * n
    return linprog(((w - n * rho) / n) ** 4, A_eq=moments, b_eq=right, bounds=bounds, method="highs").x


@pytest.mark.parametrize("n", [3, 5, 16, 20, 57])
def test_laws_are_those_of_the_linear_programs(n):
    draw, w = np.random.default_rng(n), np.arange(n + 1)
    for rho in draw.uniform(0.02, 0.98, 12):
        low = theory.soft_smallest_mu(n, rho)
        mu = low + (rho - low) * draw.uniform(0.02, 0.98)
        law, other = weight_law(n, rho, mu), linear_programs(n, rho, mu)
        assert law[0] == pytest.approx(other[0], abs=1e-8)
        power = ((w - n * rho) / n) ** 4
        assert law @ power == pytest.approx(other @ power, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 16, 57, 400])
def test_laws_at_the_edges(n):
    """A solver's tolerance is wider than the last 1e-8 of the feasible interval; the closed form has none."""
    draw, w = np.random.default_rng(n), np.arange(n + 1)
    densities = [*draw.uniform(0, 1, 8), *(draw.integers(1, n, 4) / n), 1 - 1e-6, 1e-6]
    for rho, step in product(densities, (0, 1e-13, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)):
        low = theory.soft_smallest_mu(n, rho)
        for mu in (min(low + step, rho), max(rho - step, low)):
            law = weight_law(n, rho, mu)
            assert (law >= 0).all()
            moments = [law.sum(), law @ w / n, law @ (w * (w - 1)) / (n * (n - 1))]
            np.testing.assert_allclose(moments, [1, rho, mu], atol=3e-12)


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ((20, 20, 7.5, 2.5789474), {7, 8}),
        ((16, 16, 6, 2.000001), {5, 6, 7}),
        ((16, 16, 6, 5.9999999), {0, 16}),
    ],
)
def test_codes_at_the_edges(given, weights):
    *given, shared = given
    code = SoftBIBD(*given, intersection=shared)
    assert set(code.assignment.sum(0)) <= weights
    law = weight_law(57, 0.999999, 0.999999)
    np.testing.assert_allclose(law[[0, 57]], [1e-6, 0.999999], atol=1e-12)


def test_selection_keeps_the_best():
    for select, place in (("best_worst", 0), ("best_random", 1)):
        drawn = [SoftBIBD(8, 8, 3, select=select, realisations=r, s=3) for r in (1, 2, 4, 8)]
        found = [round(worst_and_mean(code)[place][3], 9) for code in drawn]
        assert found == sorted(found, reverse=True) and found[0] > found[-1]
        assert (drawn[0].encoding != SoftBIBD(8, 8, 3).encoding).nnz == 0  # realisation 0 is `first`


@pytest.mark.parametrize("decoder", ["optimal", "constant"])
def test_rescaled_coefficients_have_mean_one(decoder):
    """(h), `rescale: none | unit_mean`: the direction stays, and what nobody sent no longer shortens the step."""
    plain_code = SoftBIBD(7, 9, 2.5, decoder=decoder, seed=3)
    code = SoftBIBD(7, 9, 2.5, decoder=decoder, rescale="unit_mean", seed=3)
    assert code.promise == "linear" and (code.encoding != plain_code.encoding).nnz == 0
    responses = every(7)
    before, c = plain_code.decode(responses).coefficients, code.decode(responses).coefficients
    mean = before.mean(1, keepdims=True)
    some = mean[:, 0] > 0  # not where nobody, or only workers without a partition, were heard
    assert 100 < some.sum() < 128 and mean[some].min() < 0.5
    np.testing.assert_allclose(c[some], before[some] / mean[some], atol=1e-9)
    np.testing.assert_allclose(c[some].mean(1), 1, atol=1e-9)
    assert not c[~some].any()


def test_empty_workers_and_rows_stay():
    law = weight_law(4, 0.25, 0.2)
    assert law[0] > 0.1
    codes = [SoftBIBD(4, 4, 1, 0.8, seed=seed) for seed in range(20)]
    assert any((code.load == 0).any() for code in codes)
    for code in codes:
        decoding = code.decode([1, 1, 1, 1])
        assert code.n == 4 and not decoding.weights[0, 0][code.load == 0].any()
        assert not decoding.coefficients[0][code.assignment.sum(0) == 0].any()


# --- check 13: adversary ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", [FractionalRepetition(6, 3), SoftBIBD(6, 4, 2), SoftBIBD(6, 9, 4), CyclicRepetition(6, 2)]
)
def test_deletion_identity_for_dependent_messages(code):
    for responses in every(6)[1:]:
        without = responses * (1 - np.eye(6, dtype=int))  # each worker in turn
        rises = code.k * (errors_of(code, without) - errors_of(code, responses)[0])
        np.testing.assert_allclose(Survivors(rows(code), responses).rises(), rises, atol=1e-8)


@pytest.mark.parametrize("code", [SoftBIBD(9, 7, 3), SoftBIBD(9, 12, 4, seed=1), CyclicRepetition(9, 3)])
def test_losing_and_swapping_keep_the_inverse(code):
    """Rank-one updates end where a fresh inverse begins, through dependent messages too."""
    mine, random = rows(code), np.random.default_rng(3)
    state, weight = Survivors(mine, np.ones(9, dtype=bool)), np.ones(9, dtype=int)
    for j in random.permutation(9)[:5]:
        state.lose(int(j))
        fresh = Survivors(mine, state.responses)
        np.testing.assert_allclose(state.inverse, fresh.inverse, atol=1e-8)
        np.testing.assert_allclose(state.w, fresh.w, atol=1e-8)
        assert state.total / code.k == pytest.approx(errors_of(code, state.responses)[0], abs=1e-9)
    before = state.total
    while state.swap(weight):
        assert state.responses.sum() == 4 and state.total > before
        before = state.total
        np.testing.assert_allclose(state.w, Survivors(mine, state.responses).w, atol=1e-8)


@pytest.mark.parametrize(
    "code",
    [
        SoftBIBD(9, 9, 3),
        Kronecker(*[BlockDesign(3, "complete-3-2")] * 2),
        BlockDesign(9, "ag_dual-2-3"),
        FractionalRepetition(6, 3),
    ],
    ids=repr,
)
def test_adversary_is_below_the_worst_case(code):
    one = np.ones(code.n, dtype=int)
    found, sets = bad_sets(rows(code), one, range(code.n + 1), np.random.default_rng(0))
    np.testing.assert_array_equal(sets.sum(1), code.n - np.arange(code.n + 1))
    np.testing.assert_allclose(found, errors_of(code, sets), atol=1e-12)
    worst, mean = worst_and_mean(code)
    assert (found <= worst + 1e-9).all() and (found >= mean - 1e-9).all()


def test_adversary_does_not_stall_on_copies():
    mine = rows(plain(frc_matrix(12, 8, 3)))
    found, _ = bad_sets(mine, np.ones(12, dtype=int), (3, 4, 5, 6), np.random.default_rng(0))
    np.testing.assert_allclose(found, [0.25, 0.25, 0.25, 0.5], atol=1e-9)


# --- check 14: edges ----------------------------------------------------------------------------------------


test_refuses = refusals(
    (lambda: SoftBIBD(7, 7, 8), "0 < d <= k, got d=8, k=7"),
    (lambda: SoftBIBD(7, 7, 3, 3.5), "needs 1 <= intersection <= 3, got 3.5"),
    (lambda: SoftBIBD(1, 7, 3), "n=1"),
    (lambda: SoftBIBD(7, 7, 3, decoder="optimum"), "'optimal'"),
    (lambda: SoftBIBD(7, 7, 3, rescale="unit"), "'unit_mean'"),
    (lambda: SoftBIBD(7, 7, 3, select="best"), "'best'"),
    (lambda: SoftBIBD(7, 7, 3, select="best_worst", realisations=3), "needs realisations >= 1 and s"),
    (lambda: SoftBIBD(7, 7, 3, realisations=3), "select=first takes realisations=1"),
    (lambda: SoftBIBD(7, 7, 3, select="best_worst", realisations=3, s=7), "0 <= s < n"),
    (lambda: FractionalRepetition(12, 3, 7), "the n/d = 4 groups divide, got k=7"),
    (lambda: FractionalRepetition(12, 3, 0), "the n/d = 4 groups divide, got k=0"),
    (lambda: theory.frc_error(12, 5, 1), "n=12.*r=5"),
    (lambda: theory.bibd_error(PLANE2, 8), "0 <= s <= n = 7, got 8"),
    (lambda: theory.soft_smallest_mu(5, 1.2), r"n=5.*rho=1\.2"),
    (lambda: weight_law(20, 0.375, 0.12), r"mu=0\.12"),
)
