"""Sakorikar, Wang (arXiv 2105.05231): error curves, soft designs and products against enumeration and its numbers."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from gcexp.codes.base import Code
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.composite import DirectSum, Kronecker
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.soft_bibd import SoftBIBD, sample, weight_law
from gcexp.decoding_error.adversary import Survivors, bad_sets, path
from gcexp.decoding_error.error import error, errors_of
from gcexp.decoding_error.straggler_sets import all_sets, random_sets
from gcexp.decoding_error.subset_errors import rows
from gcexp.designs.block_designs import named_design
from gcexp.errors import ParameterError
from gcexp.theory import errors as theory

PLANE2, PLANE3, PAIR, TRIPLE = (7, 7, 3, 3, 1), (13, 13, 4, 4, 1), (3, 3, 2, 2, 1), (4, 4, 3, 3, 2)


def plain(A) -> Code:
    """Code of an incidence matrix (partitions x workers)."""
    return Code(np.transpose(A).astype(float), promise="least_squares")


def every(n: int) -> np.ndarray:
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


@cache
def by_size(n: int) -> list[np.ndarray]:
    """All survivor sets, by the number of stragglers."""
    return [np.concatenate(list(all_sets(n, s))) for s in range(n + 1)]


def worst_and_mean(code: Code) -> tuple[np.ndarray, np.ndarray]:
    table, lost = rows(code).table, code.n - every(code.n).sum(1)
    found = [table[lost == s] for s in range(code.n + 1)]
    return np.array([e.max() for e in found]), np.array([e.mean() for e in found])


def constant_errors(A, responses, weight) -> np.ndarray:
    """Errors where every survivor has the same weight (U,)."""
    return ((weight[:, None] * (responses @ np.transpose(A)) - 1) ** 2).mean(1)


# --- checks 2-4: designs and fractional repetition ----------------------------------------------------------


@pytest.mark.parametrize("name", ["pg(2,2)", "ag_dual(2,3)", "paley(11)", "complete(5,3)"])
def test_every_set_of_a_design(name):
    """T1: the error and the weights depend only on s."""
    design = named_design(name)
    n, _, l, r, shared = design.params
    code, responses = BlockDesign(n, name), every(n)
    s, decoding = n - responses.sum(1), BlockDesign(n, name).decode(responses)
    expected = theory.bibd_error(design.params, s)
    np.testing.assert_allclose(decoding.error, expected, atol=1e-9)
    np.testing.assert_allclose(errors_of(code, responses), expected, atol=1e-9)
    np.testing.assert_allclose(theory.design_error(n, r, s), expected, atol=1e-12)
    weight = theory.bibd_weight(l, shared, np.maximum(n - s, 1))
    np.testing.assert_allclose(decoding.weights[:, 0], weight[:, None] * responses, atol=1e-12)
    np.testing.assert_allclose(Code.weights(code, responses)[:, 0], decoding.weights[:, 0], atol=1e-9)


def test_biplane_curve():
    curve = theory.bibd_error((16, 16, 6, 6, 2), range(7))
    expected = [0, 0.007353, 0.015625, 0.025, 0.035714, 0.048077, 0.0625]
    np.testing.assert_allclose(curve, expected, atol=1e-6)
    assert [theory.design_error(16, 6, s).item() for s in (0, 16)] == [0, 1]


@pytest.mark.parametrize(
    "names",
    [
        ("pg(2,2)", "complete(7,3)"),
        ("ag_dual(2,3)", "stack(ag_dual(2,3),4)"),
        ("paley2(9)", "complete(9,4)"),
        ("paley2(13)", "complete(13,6)"),
        ("complement(sts(9))", "complete(9,6)"),
    ],
)
def test_only_n_and_r_matter(names):
    params = [named_design(name).params for name in names]
    n, r = params[0][0], params[0][3]
    assert params[1][0] == n and params[1][3] == r and params[0] != params[1]
    for one in params:
        s = range(n + 1)
        np.testing.assert_allclose(theory.bibd_error(one, s), theory.design_error(n, r, s), atol=1e-12)
        assert theory.Parameters(*one).gamma == pytest.approx((n - r) / (r * (n - 1)))


def test_lemma_5_needs_no_design():
    """Constant load and intersection suffice, even where lambda (n-1) != l (r-1): then err(0) > 0."""
    A = np.vstack([np.eye(4), np.ones((2, 4))])  # load 3, intersection 2
    params = (4, 6, 3, 2, 2)
    responses = every(4)
    np.testing.assert_allclose(
        errors_of(plain(A), responses), theory.bibd_error(params, 4 - responses.sum(1)), atol=1e-12
    )
    assert theory.bibd_error(params, 0) > 0.1


@pytest.mark.parametrize("params", [PLANE2, PLANE3, (16, 16, 6, 6, 2), (9, 12, 4, 3, 1)])
def test_lemma_9_convexity(params):
    n = params[0]
    curve = theory.bibd_error(params, range(n + 1))
    assert (np.diff(curve, 2) >= -1e-15).all()
    step = 1e-4
    m = np.arange(1, n + 1)
    _, k, l, _, shared = params

    def err(m):
        return 1 - l * l * m / (k * (l + shared * (m - 1)))

    second = (err(m + step) - 2 * err(m) + err(m - step)) / step**2
    np.testing.assert_allclose(theory.bibd_curvature(params, m), second, atol=1e-6)


def frc_matrix(n: int, k: int, r: int) -> np.ndarray:
    return np.kron(np.eye(n // r), np.ones((k * r // n, r)))


def test_repetition_curve():
    expected = [0, 0, 0, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 1]
    np.testing.assert_array_equal(theory.frc_error(12, 3, range(13)), expected)
    worst, mean = worst_and_mean(plain(frc_matrix(12, 8, 3)))
    np.testing.assert_allclose(worst, expected, atol=1e-9)
    np.testing.assert_allclose(mean, [theory.frc_mean_error(12, 3, s) for s in range(13)], atol=1e-9)
    code = FractionalRepetition(12, 3, k=8)
    np.testing.assert_array_equal(code.encoding.toarray().T, frc_matrix(12, 8, 3))
    assert (code.load == 2).all() and code.length == 1
    decoded = [code.decode(responses.astype(int), partial=True).error.max() for responses in by_size(12)]
    np.testing.assert_array_equal(decoded, expected)
    for n, k, d in ((12, 7, 3), (12, 0, 3)):
        with pytest.raises(ParameterError, match=f"the n/d = 4 groups divide, got k={k}"):
            FractionalRepetition(n, d, k=k)
    assert theory.frc_mean_error(12, 3, 5) == pytest.approx(0.0454545, abs=5e-8)
    assert theory.frc_error(4, 2, 7 / 3) == 0.5 and theory.frc_error(4, 2, 5 / 3) == 0  # real arguments


def test_design_against_repetition():
    bibd = theory.bibd_error((9, 12, 4, 3, 1), range(10))
    frc = theory.frc_error(9, 3, range(10))
    np.testing.assert_allclose(bibd[1:3], [0.0303, 0.0667], atol=5e-5)
    np.testing.assert_allclose(bibd[3:9], [0.1111, 0.1667, 0.2381, 0.3333, 0.4667, 0.6667], atol=5e-5)
    np.testing.assert_allclose(frc[1:9], [0, 0, *[1 / 3] * 3, 2 / 3, 2 / 3, 2 / 3], atol=1e-12)


def test_a_design_beats_repetition_only_from_r_stragglers_on():
    """(g) 2, in exact integers: (n-r) s (n-jr) <= j r^2 (n-1)(n-s), j = floor(s/r), equal at n-1 and n only."""
    for n in range(2, 200):
        for r in (r for r in range(1, n) if n % r == 0):
            s = np.arange(r, n + 1)
            j = s // r
            left, right = (n - r) * s * (n - j * r), j * r * r * (n - 1) * (n - s)
            assert (left <= right).all() or r == 1
            if r >= 2:
                strict = s < n - 1
                assert (left[strict] < right[strict]).all() and (left[~strict] == right[~strict]).all()
            else:
                assert (left == right).all()
    assert (theory.design_error(12, 3, [1, 2]) > theory.frc_error(12, 3, [1, 2])).all()


def test_redundancy_s_plus_1_is_not_enough():
    """(g) 1: the plane has r = 3 and yet loses 1/28 with one straggler."""
    assert error(BlockDesign(7, "pg-2-2"), 1).lower == pytest.approx(1 / 28, abs=1e-12)


# --- checks 5-7: soft designs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "rank"), [(2, 4), (3, 7), (4, 11), (5, 16), (6, 22), (7, 29)])
def test_the_full_system_is_reed_muller(n, rank):
    M = full_system(n)
    assert np.linalg.matrix_rank(M) == rank == len(M)
    rows = [int("".join(map(str, row)), 2) for row in M.astype(int)]
    pivots = 0
    while rows:  # rank over GF(2)
        row = rows.pop()
        if row:
            pivots += 1
            low = row & -row
            rows = [other ^ row if other & low else other for other in rows]
    assert pivots == rank


def full_system(n: int) -> np.ndarray:
    x = every(n)
    pairs = [x[:, i] * x[:, j] for i, j in combinations(range(n), 2)]
    return np.vstack([np.ones(2**n), x.T, pairs])


@pytest.mark.parametrize("n", [3, 4, 5])
def test_region_is_the_full_linear_program(n):
    M = full_system(n)
    for rho, mu in product(np.linspace(0.05, 0.95, 10), np.linspace(0, 0.95, 14)):
        low = theory.soft_smallest_mu(n, rho)
        if min(abs(mu - low), abs(mu - rho)) < 1e-6:
            continue
        right = np.concatenate([[1], np.full(n, rho), np.full(comb(n, 2), mu)])
        full = linprog(np.zeros(2**n), A_eq=M, b_eq=right, method="highs").status == 0
        assert full == (low <= mu <= rho)
        if full:
            law, w = weight_law(n, rho, mu), np.arange(n + 1)
            assert (law >= 0).all()
            np.testing.assert_allclose(
                [law.sum(), law @ w / n, law @ (w * (w - 1)) / (n * (n - 1))], [1, rho, mu], atol=1e-12
            )
        else:
            with pytest.raises(ParameterError, match="Soft BIBD needs .* <= mu <= "):
                weight_law(n, rho, mu)


def test_smallest_mu():
    assert theory.soft_smallest_mu(20, 0.375) == pytest.approx(0.128947, abs=5e-7)
    assert theory.soft_smallest_mu(16, 0.375) == 0.125
    assert theory.soft_smallest_mu(20, 0.375) / 0.375 == pytest.approx(0.34386, abs=5e-6)


def test_designs_lie_on_the_lower_edge():
    for name in ("pg(2,2)", "bent(2)", "stack(bent(2),3)", "sts(13)", "complement(bent(2))"):
        n, k, l, r, shared = named_design(name).params
        assert k * theory.soft_smallest_mu(n, l / k) == pytest.approx(shared, abs=1e-12)
        np.testing.assert_allclose(weight_law(n, l / k, shared / k), np.eye(n + 1)[r], atol=1e-12)


@pytest.mark.parametrize(
    ("given", "law"),
    [
        ((10, 0.33, 0.13), {1: 0.435, 5: 0.525, 6: 0.04}),
        ((16, 0.375, 0.16), {3: 0.48, 8: 0.12, 9: 0.4}),
        ((20, 0.375, theory.soft_smallest_mu(20, 0.375)), {7: 0.5, 8: 0.5}),
        ((4, 0.25, 0.25), {0: 0.75, 4: 0.25}),
        ((6, 1.0, 1.0), {6: 1.0}),
        ((6, 0.0, 0.0), {0: 1.0}),
    ],
)
def test_laws(given, law):
    found = weight_law(*given)
    assert {int(w): round(float(found[w]), 6) for w in np.flatnonzero(found > 1e-9)} == law


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
            np.testing.assert_allclose(
                [law.sum(), law @ w / n, law @ (w * (w - 1)) / (n * (n - 1))], [1, rho, mu], atol=3e-12
            )


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


@pytest.mark.parametrize("mu", [0.16, theory.soft_smallest_mu(16, 0.4)])
def test_sampled_rows(mu):
    n, rho, rows = 16, 0.4, 200_000
    A = sample(weight_law(n, rho, mu), rows, np.random.default_rng(0))
    columns = A.mean(0)
    assert (np.abs(columns - rho) < 4.5 * np.sqrt(rho * (1 - rho) / rows)).all()
    pairs = (A.T.astype(float) @ A)[np.triu_indices(n, 1)] / rows
    assert (np.abs(pairs - mu) < 4.5 * np.sqrt(mu * (1 - mu) / rows)).all()
    if mu != 0.16:
        assert set(A.sum(1)) == {6, 7}


@cache
def three() -> np.ndarray:
    """The 27 matrices with n = k = 3 and all rows of weight 2, each as likely."""
    rows = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    return np.array([rows[list(choice)] for choice in product(range(3), repeat=3)])


@pytest.mark.parametrize(("s", "expected"), enumerate([0, 2 / 81, 1 / 3, 1]))
def test_theorem_2_by_enumeration(s, expected):
    means = [np.mean([errors_of(plain(A), responses)[0] for A in three()]) for responses in by_size(3)[s]]
    np.testing.assert_allclose(means, expected, atol=1e-9)
    assert (np.array(means) <= theory.bibd_error(PAIR, s) + 1e-12).all()
    np.testing.assert_allclose(theory.bibd_error(PAIR, s), [0, 1 / 9, 1 / 3, 1][s], atol=1e-12)


def test_theorem_2_is_an_equality_for_constant_weights():
    for s in range(3):
        responses = by_size(3)[s]
        weight = theory.bibd_weight(2, 1, responses.sum(1))
        means = np.mean([constant_errors(A, responses, weight) for A in three()], axis=0)
        np.testing.assert_allclose(means, theory.bibd_error(PAIR, s), atol=1e-12)


@pytest.mark.parametrize(("s", "expected"), [(4, 0.0357), (8, 0.1), (12, 0.25)])
def test_theorem_2_by_sampling(s, expected):
    responses = np.ones((1, 16), int)
    responses[0, :s] = 0
    codes = [SoftBIBD(16, 16, 6, decoder="constant", seed=seed) for seed in range(300)]
    errors = np.array([code.decode(responses).error[0] for code in codes])
    assert abs(errors.mean() - expected) < 4 * errors.std() / np.sqrt(len(errors)) + 5e-5
    assert theory.bibd_error((16, 16, 6, 6, 2), s) == pytest.approx(expected, abs=5e-5)


@cache
def planes(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Worst and mean errors of realisations with (n, k, l, lambda) = (7, 7, 3, 1), (count, 8)."""
    curves = [worst_and_mean(SoftBIBD(7, 7, 3, seed=seed)) for seed in range(count)]
    return tuple(np.array([curve[i] for curve in curves]) for i in range(2))


def test_soft_planes():
    """Random straggling is better than the design's; (g) 3: the worst case is not."""
    worst, mean = planes()
    bibd = theory.bibd_error(PLANE2, range(8))
    assert (np.abs(mean.mean(0)[1:5] - [0.0045, 0.025, 0.076, 0.169]) < [0.001, 0.004, 0.006, 0.008]).all()
    assert (mean.mean(0)[1:5] < bibd[1:5]).all()
    assert (np.abs(worst.mean(0)[1:5] - [0.009, 0.076, 0.273, 0.454]) < [0.003, 0.008, 0.015, 0.015]).all()
    reached = (worst <= bibd + 1e-9).mean(0)
    assert reached[1] > 0.99 and reached[2] == pytest.approx(0.69, abs=0.08)
    assert reached[3] == 0 and reached[4] == 0


def test_a_realisation_above_the_plane_at_one_straggler():
    """Nearly all realisations reach the plane's 1/28 at s = 1, about one in 700 does not."""
    rows = [(1, 4, 5), (2, 3, 4), (0, 2, 5), (1, 2, 3), (0, 2, 4), (0, 1, 2), (0, 2, 4)]
    A = np.zeros((7, 7))
    for row, workers in zip(A, rows, strict=True):
        row[list(workers)] = 1
    assert error(plain(A), 1).lower == pytest.approx(1 / 27, abs=1e-12)


def test_soft_biplanes():
    """Fig. 2: n = 16 below the design on average, equal at s = 15; above it in the worst case from s = 4 on."""
    bibd = theory.bibd_error((16, 16, 6, 6, 2), range(17))
    codes = [SoftBIBD(16, 16, 6, seed=seed) for seed in range(10)]
    table = {2: 0.0018, 4: 0.0088, 6: 0.0247, 8: 0.0538, 10: 0.108, 12: 0.213, 14: 0.419}
    spread = {2: 0.0006, 4: 0.0011, 6: 0.0021, 8: 0.0028, 10: 0.005, 12: 0.006, 14: 0.008}
    for s, expected in table.items():
        responses = random_sets(16, s, 300)
        means = np.array([errors_of(code, responses).mean() for code in codes])
        assert means.mean() == pytest.approx(
            expected, abs=4 * spread[s] / np.sqrt(len(codes)) + 0.1 * expected
        )
        assert means.max() < bibd[s]
    alone = [errors_of(code, np.eye(16, dtype=int)).mean() for code in codes]
    assert np.mean(alone) == pytest.approx(0.625, abs=4 * np.std(alone) / np.sqrt(10)) and bibd[15] == 0.625
    worst = {s: np.mean([error(code, s).lower for code in codes]) for s in (2, 4)}
    assert worst[2] < bibd[2] and worst[4] > bibd[4]
    assert worst[2] == pytest.approx(0.010, abs=0.004) and worst[4] == pytest.approx(0.047, abs=0.009)


def test_soft_designs_where_no_design_exists():
    """Fig. 2 (ii): n = 20, l = 7.5."""
    code = SoftBIBD(20, 20, 7.5)
    assert set(code.assignment.sum(0)) == {7, 8}
    mean = (20, 20, 7.5, 7.5, 20 * theory.soft_smallest_mu(20, 0.375))
    assert mean[4] == pytest.approx(2.57895, abs=5e-6)
    bound = theory.bibd_error(mean, [2, 5, 8, 10, 12, 15, 18, 0])
    expected = [0.01397, 0.03251, 0.05906, 0.08419, 0.11946, 0.21067, 0.44191, 0.0044]
    assert (np.abs(bound - expected) < [1e-5] * 7 + [5e-5]).all()
    table = {
        2: (0.0013, 0.0004),
        5: (0.0080, 0.0012),
        10: (0.0445, 0.0044),
        15: (0.172, 0.007),
        18: (0.427, 0.007),
    }
    for s, (value, sd) in table.items():
        assert errors_of(code, random_sets(20, s, 1000)).mean() == pytest.approx(value, abs=4 * sd)


def test_the_mean_approaches_the_bound_with_k():
    means = []
    for k in (16, 64, 256):
        responses = random_sets(16, 8, 100)
        codes = [SoftBIBD(16, k, 0.375 * k, seed=seed) for seed in range(10)]
        means.append(np.mean([errors_of(code, responses).mean() for code in codes]))
    np.testing.assert_allclose(means, [0.055, 0.091, 0.097], atol=0.003)


def test_feasible_parameters():
    """F1: n = 16, rho = 0.375, l <= 20: every k has a Soft BIBD, also with non-integer l; a design needs 8 | k."""
    for k in range(1, 54):
        SoftBIBD(16, k, 0.375 * k)
        SoftBIBD(16, k, 0.375 * k, 0.375 * k)
    possible = [k for k in range(1, 54) if 16 * 0.375 * k % 16 == 0 and 2 * k % 16 == 0 and k >= 16]
    assert possible == [16, 24, 32, 40, 48]


def test_selection_keeps_the_best():
    first = [SoftBIBD(8, 8, 3, select="best_worst", realisations=r, s=3) for r in (1, 2, 4, 8)]
    worst = [round(error(code, 3).lower, 9) for code in first]
    assert worst == sorted(worst, reverse=True) and worst[0] > worst[-1]
    assert (first[0].encoding != SoftBIBD(8, 8, 3).encoding).nnz == 0  # realisation 0 is `first`
    drawn = [SoftBIBD(8, 8, 3, select="best_random", realisations=r, s=3) for r in (1, 2, 4, 8)]
    means = [round(errors_of(code, by_size(8)[3]).mean(), 9) for code in drawn]
    assert means == sorted(means, reverse=True)


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"d": 8}, "0 < d <= k, got d=8, k=7"),
        ({"intersection": 0.5}, "needs 1 <= intersection <= 3, got 0.5"),
        ({"intersection": 3.5}, "needs 1 <= intersection <= 3, got 3.5"),
        ({"n": 1}, "n >= 2 and k >= 1, got n=1"),
        ({"decoder": "optimum"}, "did you mean 'optimal'"),
        ({"rescale": "unit"}, "did you mean 'unit_mean'"),
        ({"select": "best"}, "unknown select 'best'"),
        ({"select": "best_worst", "realisations": 3}, "needs realisations >= 1 and s"),
        ({"realisations": 3}, "select=first takes realisations=1"),
        ({"select": "best_worst", "realisations": 3, "s": 7}, "0 <= s < n"),
    ],
)
def test_soft_bibd_refuses(given, message):
    with pytest.raises(ParameterError, match=message):
        SoftBIBD(**{"n": 7, "k": 7, "d": 3, **given})


# --- checks 8-10: products ----------------------------------------------------------------------------------

DESIGN_PAIR = BlockDesign(3, "complete-3-2")


def test_repetition_times_design():
    """Check 8, Theorem 4: every set in closed form, the worst exactly; and the same in the other order."""
    expected = [0, 0, 1 / 18, 1 / 18, 1 / 6, 1 / 6, 0.5, 0.5, 5 / 9, 5 / 9, 2 / 3, 2 / 3, 1]
    np.testing.assert_allclose(theory.frc_bibd_error(4, 2, PAIR, range(13)), expected, atol=1e-12)
    codes = [Kronecker(*pair) for pair in permuted(FractionalRepetition(4, 2), DESIGN_PAIR)]
    for code in codes:
        worst, _ = worst_and_mean(code)
        np.testing.assert_allclose(worst, expected, atol=1e-9)
        responses = every(12)[::7]
        np.testing.assert_allclose(code.decode(responses).error, errors_of(code, responses), atol=1e-9)


def permuted(a: Code, b: Code):
    return [(a, b), (b, a)]


def test_repetition_times_a_larger_design():
    code = Kronecker(FractionalRepetition(4, 2), BlockDesign(4, "complete-4-3"))
    responses = every(16)
    errors, s = code.decode(responses).error, 16 - responses.sum(1)
    worst = [errors[s == i].max() for i in range(17)]
    np.testing.assert_allclose(worst, theory.frc_bibd_error(4, 2, TRIPLE, range(17)), atol=1e-9)
    some = np.random.default_rng(0).choice(2**16, 3000, replace=False)
    np.testing.assert_allclose(errors[some], errors_of(code, responses[some]), atol=1e-9)


def test_theorem_3():
    code = Kronecker(FractionalRepetition(4, 2), FractionalRepetition(3, 3))
    worst, mean = worst_and_mean(code)
    np.testing.assert_allclose(worst, theory.frc_product_error(4, 2, 3, 3, range(13)), atol=1e-9)
    np.testing.assert_allclose(mean, [theory.frc_mean_error(12, 6, s) for s in range(13)], atol=1e-9)


def test_product_of_two_designs():
    code = Kronecker(DESIGN_PAIR, DESIGN_PAIR)
    worst, _ = worst_and_mean(code)
    expected = [0, 1 / 81, 0.0370, 0.1111, 0.1358, 0.2099, 0.3333, 0.4074, 0.5556, 1]
    np.testing.assert_allclose(worst, expected, atol=1e-4)
    s = range(10)
    factor = theory.bibd_error(PAIR, range(4))
    upper = theory.product_upper_bound(PAIR, PAIR, s)
    np.testing.assert_allclose(
        upper, [0, 0.0519, 0.1111, 0.1795, 0.2593, 0.3535, 0.4667, 0.6049, 0.7778, 1], atol=1e-4
    )
    assert (theory.product_lower_bound(factor, factor, s) <= worst + 1e-9).all()
    for bound in (
        upper,
        theory.product_upper_bound(PAIR, PAIR, s, tight=True),
        theory.product_spectral_bound(PAIR, PAIR, s),
    ):
        assert (worst <= bound + 1e-9).all()


@pytest.mark.parametrize(("a", "b"), [(PAIR, PAIR), (PAIR, TRIPLE)])
def test_lemma_10_by_enumeration(a, b):
    """Both forms bound 1^T G_F 1; the constant decoder keeps Theorem 5."""
    A = np.kron(*(named_design(f"complete-{n}-{r}").incidence.astype(float) for n, _, _, r, _ in (a, b)))
    responses = every(A.shape[1])[1:].astype(float)
    m = responses.sum(1).astype(int)
    gram = ((responses @ A.T) ** 2).sum(1)
    tight = theory.product_gram(a, b, m, tight=True)
    assert (gram <= tight + 1e-9).all() and (tight <= theory.product_gram(a, b, m)).all()
    errors = constant_errors(A, responses, theory.product_constant_weight(a, b, m))
    assert (errors <= theory.product_upper_bound(a, b, A.shape[1] - m) + 1e-9).all()


def test_lemma_4_order_of_the_factors():
    pairs = [(DESIGN_PAIR, FractionalRepetition(4, 2)), (FractionalRepetition(4, 2), DESIGN_PAIR)]
    curves = [worst_and_mean(Kronecker(*pair)) for pair in pairs]
    np.testing.assert_allclose(curves[0], curves[1], atol=1e-9)


def test_lemmas_6_to_8():
    A = np.random.default_rng(1).standard_normal((4, 5))
    code, responses = plain(A), every(5)
    repeated = plain(np.repeat(A, 3, axis=0))  # Lemma 6
    np.testing.assert_allclose(errors_of(repeated, responses), errors_of(code, responses), atol=1e-9)
    some = responses[[30, 7, 21]]
    np.testing.assert_allclose(repeated.decode(some).weights, code.decode(some).weights, atol=1e-9)
    worst, _ = worst_and_mean(code)  # Lemma 7
    copied, _ = worst_and_mean(plain(np.kron(np.ones((1, 2)), A)))
    np.testing.assert_allclose(copied, theory.copies_error(worst, 2, range(11)), atol=1e-9)
    parts = [code, plain(np.random.default_rng(2).standard_normal((3, 4)))]  # Lemma 8
    both, _ = worst_and_mean(DirectSum(parts))
    each = [worst_and_mean(part)[0] for part in parts]
    np.testing.assert_allclose(both, theory.direct_sum_errors(each, [4, 3]), atol=1e-9)


FIGURE_3 = {  # s: Theorem 6, spectral, tight Lemma 10, Theorem 5
    7: (0.01538, 0.01818, 0.02262, 0.02976),
    13: (0.03571, 0.03571, 0.05613, 0.05780),
    23: (0.05325, 0.06991, 0.10087, 0.11071),
    30: (0.08163, 0.09852, 0.14066, 0.15327),
    45: (0.15604, 0.17857, 0.24484, 0.26474),
    60: (0.25400, 0.30075, 0.38878, 0.41601),
    70: (0.38462, 0.42553, 0.52656, 0.55094),
    80: (0.58556, 0.61776, 0.69315, 0.72802),
    90: (0.86813, 0.95238, 0.86813, 0.97070),
}


def figure_3() -> np.ndarray:
    s = np.arange(92)
    factors = [theory.bibd_error(p, range(p[0] + 1)) for p in (PLANE2, PLANE3)]
    return np.stack(
        [
            theory.product_lower_bound(*factors, s),
            theory.product_spectral_bound(PLANE2, PLANE3, s),
            theory.product_upper_bound(PLANE2, PLANE3, s, tight=True),
            theory.product_upper_bound(PLANE2, PLANE3, s),
        ],
        axis=1,
    )


def test_figure_3():
    table = figure_3()
    np.testing.assert_allclose(table[list(FIGURE_3)], list(FIGURE_3.values()), atol=1e-5)
    expected = [0.05780, 0.12833, 0.21633, 0.32919, 0.47920, 0.68831]
    np.testing.assert_allclose(table[13:79:13, 3], expected, atol=1e-5)
    plane2, plane3 = (theory.bibd_error(p, range(p[0] + 1)) for p in (PLANE2, PLANE3))
    np.testing.assert_allclose(
        plane2, [0, 0.03571, 0.08163, 0.14286, 0.22857, 0.35714, 0.57143, 1], atol=1e-5
    )
    curve = [0, 0.01538, 0.03297, 0.05325, 0.07692, 0.10490, 0.13846, 0.17949]
    curve += [0.23077, 0.29670, 0.38462, 0.50769, 0.69231, 1]
    np.testing.assert_allclose(plane3, curve, atol=1e-5)
    np.testing.assert_allclose(table[::13, 0], plane2, atol=1e-12)  # exact at s = 13 j
    np.testing.assert_allclose(table[::13, 1], plane2, atol=1e-12)


def test_figure_3_claims():
    """F3: the spectral bound stays below the worse factor, Theorem 5 does not; where which bound is smaller."""
    table, s = figure_3(), np.arange(92)
    worse = np.maximum(
        *(
            np.interp(s / 91, np.arange(p[0] + 1) / p[0], theory.bibd_error(p, range(p[0] + 1)))
            for p in (PLANE2, PLANE3)
        )
    )
    assert (table[:, 1] <= worse + 1e-12).all()
    excess = table[:, 3] - worse
    assert (excess[1:91] > 0).all() and excess.argmax() == 65
    assert excess.max() == pytest.approx(0.122, abs=5e-4)
    smaller = np.flatnonzero(table[:, 2] < table[:, 1] - 1e-12)
    assert smaller.tolist() == [1, 2, 3, 4, 5, 86, 87, 88, 89, 90]
    assert (table[:, 1] <= table[:, 3] + 1e-12).all()
    a, b = (theory.Parameters(*p) for p in (PLANE2, PLANE3))
    assert (a @ b)[:4] == (91, 91, 12, 12) and max(a.gamma, b.gamma) == pytest.approx(0.2222, abs=5e-5)
    assert theory.design_error(91, 12, 1).item() == pytest.approx(0.0731 / 90 / (1 + 0.0731 / 90), abs=1e-6)


def test_a_product_of_designs_is_no_design():
    """T3: intersections 1, 3 and 4; the spectral bound uses sigma_2 of the product."""
    A = np.kron(named_design("pg-2-2").incidence, named_design("pg-2-3").incidence).astype(int)
    gram = A.T @ A
    assert set(gram[~np.eye(91, dtype=bool)]) == {1, 3, 4}
    sigma = np.linalg.svd(A, compute_uv=False)[1]
    s = np.arange(92)
    np.testing.assert_allclose(
        theory.spectral_bound(91, 91, 12, sigma**2, s),
        theory.product_spectral_bound(PLANE2, PLANE3, s),
        atol=1e-12,
    )


def test_constant_weights_for_products():
    """T4: mean optimal <= mean constant <= Theorem 5."""
    code = Kronecker(BlockDesign(7, "pg-2-2"), BlockDesign(13, "pg-2-3"))
    expected = {
        13: (0.0083, 0.0141, 0.0578),
        26: (0.0204, 0.0386, 0.1283),
        45: (0.0515, 0.1082, 0.2647),
        60: (0.105, 0.221, 0.416),
        78: (0.289, 0.517, 0.688),
    }
    for s, (best, plainly, bound) in expected.items():
        responses = random_sets(91, s, 100)
        optimal = errors_of(code, responses)
        weight = theory.product_constant_weight(PLANE2, PLANE3, np.full(len(responses), 91 - s))
        constant = constant_errors(rows(code).B.T, responses, weight)
        assert optimal.mean() == pytest.approx(best, rel=0.05)
        assert constant.mean() == pytest.approx(plainly, rel=0.05)
        assert (optimal <= constant + 1e-9).all()
        assert constant.max() <= theory.product_upper_bound(PLANE2, PLANE3, s) + 1e-9
        assert theory.product_upper_bound(PLANE2, PLANE3, s) == pytest.approx(bound, abs=5e-4)


@pytest.mark.slow
def test_theorem_7():
    """27 x 27 pairs with n1 = n2 = 3; then the example of two soft codes on the lower edge."""
    matrices = three()
    pairs = [np.kron(A, B) for A in matrices[::2] for B in matrices[::2]]
    everyone = [np.kron(A, B) for A in matrices for B in matrices]
    for s in (1, 4, 6):
        responses = np.ones((1, 9))
        responses[0, :s] = 0
        weight = theory.product_constant_weight(PAIR, PAIR, np.array([9 - s]))
        mean = np.mean([constant_errors(A, responses, weight)[0] for A in everyone])
        bound = theory.product_upper_bound(PAIR, PAIR, s)
        assert mean <= bound + 1e-12
        assert np.mean([errors_of(plain(A), responses)[0] for A in pairs]) <= bound
    a, b = (
        (5, 5, 2.5, 2.5, 5 * theory.soft_smallest_mu(5, 0.5)),
        (4, 6, 3, 2, 6 * theory.soft_smallest_mu(4, 0.5)),
    )
    assert a[4] == pytest.approx(1) and b[4] == pytest.approx(1)
    bound = theory.product_upper_bound(a, b, [0, 5, 10, 15])
    np.testing.assert_allclose(bound, [0.038462, 0.172794, 0.353448, 0.609375], atol=1e-6)
    responses = (np.arange(20) >= np.array([0, 5, 10, 15])[:, None]).astype(float)
    weight = theory.product_constant_weight(a, b, responses.sum(1).astype(int))
    draws = [
        np.kron(SoftBIBD(5, 5, 2.5, seed=i).assignment.T, SoftBIBD(4, 6, 3, seed=10**6 + i).assignment.T)
        for i in range(500)
    ]
    errors = np.array([constant_errors(A, responses, weight) for A in draws])
    slack = 4 * errors.std(0) / np.sqrt(len(draws))
    assert abs(errors[:, 0].mean() - bound[0]) < slack[0]
    assert (errors.mean(0) <= bound + slack).all()


def test_soft_codes_are_positive_at_no_stragglers():
    a = (20, 20, 7.5, 7.5, 20 * theory.soft_smallest_mu(20, 0.375))
    assert theory.bibd_error(a, 0) == pytest.approx(0.0044, abs=5e-5)


# --- check 13: adversary ------------------------------------------------------------------------------------


def rises(code: Code, responses) -> np.ndarray:
    before, after = errors_of(code, responses)[0], np.zeros(code.n)
    for j in np.flatnonzero(responses):
        less = np.array(responses)
        less[j] = 0
        after[j] = code.k * (errors_of(code, less)[0] - before)
    return after


def test_deletion_identity():
    code = Kronecker(DESIGN_PAIR, BlockDesign(4, "complete-4-3"))
    random = np.random.default_rng(0)
    for _ in range(20):
        responses = np.zeros(12, dtype=int)
        responses[random.choice(12, 8, replace=False)] = 1
        np.testing.assert_allclose(
            Survivors(rows(code), responses).rises(), rises(code, responses), atol=1e-8
        )


@pytest.mark.parametrize(
    "code", [FractionalRepetition(6, 3), SoftBIBD(6, 4, 2), SoftBIBD(6, 9, 4), CyclicRepetition(6, 2)]
)
def test_deletion_identity_for_dependent_messages(code):
    for responses in every(6)[1:]:
        np.testing.assert_allclose(
            Survivors(rows(code), responses).rises(), rises(code, responses), atol=1e-8
        )


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


def test_set_errors_are_the_pseudoinverse():
    for code in (FractionalRepetition(6, 3), SoftBIBD(6, 4, 2), CyclicRepetition(6, 2), DESIGN_PAIR):
        best = Code(code.encoding, promise="least_squares").decode(every(code.n)).error
        np.testing.assert_allclose(errors_of(code, every(code.n)), best, atol=1e-9)
        table = rows(code).table
        np.testing.assert_allclose(table, best, atol=1e-9)  # bit j is worker j


def test_adversary_is_below_the_worst_case():
    for code in (SoftBIBD(9, 9, 3), Kronecker(DESIGN_PAIR, DESIGN_PAIR), BlockDesign(9, "ag_dual-2-3")):
        one = np.ones(code.n, dtype=int)
        found, sets = bad_sets(rows(code), one, range(code.n + 1), np.random.default_rng(0))
        np.testing.assert_array_equal(sets.sum(1), code.n - np.arange(code.n + 1))
        np.testing.assert_allclose(found, errors_of(code, sets), atol=1e-12)
        assert (found <= worst_and_mean(code)[0] + 1e-9).all()
        assert (found >= worst_and_mean(code)[1] - 1e-9).all()


def test_adversary_does_not_stall_on_copies():
    found, _ = bad_sets(
        rows(plain(frc_matrix(12, 8, 3))), np.ones(12, dtype=int), (3, 4, 5, 6), np.random.default_rng(0)
    )
    np.testing.assert_allclose(found, [0.25, 0.25, 0.25, 0.5], atol=1e-9)


@pytest.mark.slow
def test_figure_3_bracket():
    """The bracket lies between Theorem 6 and the best bound; greedy alone is far below Theorem 6 at s = 80."""
    code = Kronecker(BlockDesign(7, "pg-2-2"), BlockDesign(13, "pg-2-3"))
    chosen = (13, 45, 80, 90)
    theorem6, spectral, tight, _ = figure_3()[list(chosen)].T
    found = error(code, chosen)
    lower, upper = (np.array([getattr(e, end) for e in found]) for end in ("lower", "upper"))
    assert (lower >= theorem6 - 1e-9).all()
    np.testing.assert_allclose(upper, np.minimum(spectral, tight), atol=1e-9)
    assert [e.exact for e in found] == [True, False, False, True]
    for e in found:
        assert len(e.stragglers) == e.s
        assert error(code, [], "set", stragglers=e.stragglers).error == pytest.approx(e.lower, abs=1e-9)
    on_the_way = list(path(rows(code), np.ones(91, dtype=int), 80, np.random.default_rng(0)))
    responses, said = (np.array(part) for part in zip(*on_the_way, strict=True))
    np.testing.assert_allclose(
        said, rows(code).errors(responses), atol=1e-9
    )  # kept up to date, not computed anew
    alone = responses[-1]
    assert errors_of(code, alone)[0] < 0.5 < theorem6[2]


# --- check 14: edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        BlockDesign(7, "pg-2-2"),
        FractionalRepetition(6, 3),
        Kronecker(DESIGN_PAIR, DESIGN_PAIR),
        Kronecker(FractionalRepetition(4, 2), DESIGN_PAIR),
        Kronecker(CyclicRepetition(3, 1), CyclicRepetition(3, 1)),
    ],
    ids=lambda code: type(code).__name__,
)
def test_nobody_and_everybody(code):
    decoding = code.decode(np.array([[1] * code.n, [0] * code.n]), partial=True)
    np.testing.assert_allclose(decoding.error, [0, 1], atol=1e-9)
    assert not decoding.weights[1].any()
    nobody, everybody = error(code, [0, code.n])
    assert nobody.exact and everybody.exact
    np.testing.assert_allclose([nobody.upper, everybody.lower], [0, 1], atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.frc_error(12, 5, 1), "r to divide n, got n=12, r=5"),
        (lambda: theory.frc_bibd_error(5, 2, PAIR, 1), "r to divide n, got n=5, r=2"),
        (lambda: theory.bibd_error(PLANE2, 8), "0 <= s <= n = 7, got 8"),
        (lambda: theory.product_upper_bound(PAIR, PAIR, -1), "0 <= s <= n = 9"),
        (lambda: theory.soft_smallest_mu(5, 1.2), "0 <= rho <= 1, got n=5, rho=1.2"),
        (lambda: weight_law(20, 0.375, 0.12), "0.128947 <= mu <= 0.375, got mu=0.12"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
