"""Classic codes: cyclic MDS, Reed-Solomon, expander, Bernoulli, regular, stochastic, graph and circulant codes.

Checks 11, 12 and 14 of the specification of arXiv 2105.05231, and each closed form against linear algebra.
"""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest

from gcexp.codes.approximate import ApproximateCode
from gcexp.codes.base import Code
from gcexp.codes.bernoulli import BernoulliCode, RegularizedBernoulliCode
from gcexp.codes.circulant import CirculantMultiMessage
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.cyclic_mds import CyclicMDS
from gcexp.codes.expander import ExpanderCode, RandomRegularCode
from gcexp.codes.graph_code import GraphCode, edge_weights
from gcexp.codes.iterative import iterate
from gcexp.codes.reed_solomon import ReedSolomon
from gcexp.codes.regular_bipartite import RegularBipartiteCode, random_biregular
from gcexp.codes.stochastic import StochasticGradientCode
from gcexp.decoding_error.straggler_sets import all_sets, random_sets
from gcexp.designs.graphs import circulant, margulis, paley, random_regular, second_eigenvalue
from gcexp.seeding import rng
from gcexp.theory.classic_codes import bernoulli_error, expander_bound, graph_error, stochastic_error
from tests.conftest import refusals


def survivors(n: int, s: int) -> np.ndarray:
    """All sets of n - s workers, boolean (C(n, s), n)."""
    return np.concatenate([*all_sets(n, s)])


def least_squares_error(code: Code, responses: np.ndarray) -> np.ndarray:
    rows = [code.encoding.toarray()[row > 0] for row in responses]
    c = [np.linalg.lstsq(B.T, np.ones(code.k), rcond=None)[0] @ B for B in rows]
    return (np.abs(np.array(c) - 1) ** 2).mean(1)


# --- exact codes (check 11) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 9))
def test_all_small_parameters_are_exact(n):
    for s in range(n):
        codes = [CyclicMDS(n, s), ReedSolomon(n, s), ReedSolomon(n, s, mask="cyclic")]
        if (n - s) % 2 or s == 0:
            codes.append(CyclicMDS(n, s, "real"))
        for code in codes:
            decoding = code.decode(survivors(n, s))
            assert decoding.residual.max() < 1e-10 and (decoding.coefficients == 1).all()
            assert (code.assignment.sum(0) == s + 1).all()  # every partition on exactly s+1 workers


def test_cyclic_mds_rows_are_shifts_of_one_polynomial():
    for code in (CyclicMDS(9, 3), CyclicMDS(9, 4, "real")):
        B = code.encoding.toarray()
        for w in range(9):
            np.testing.assert_allclose(B[w], np.roll(B[0], w), atol=1e-15)
        spectrum = np.abs(np.fft.fft(B[0]))  # 1 is a codeword of the dual, s roots
        assert spectrum[0] > 0.1 and (spectrum < 1e-12).sum() == code.s
        assert code.length == (2 if code.field == "complex" else 1)


def test_reed_solomon_balances_loads_for_any_k():
    for n, s, k in product((5, 6, 7), (1, 2, 4), (1, 4, 9, 15)):
        for mask in ("cyclic", "spread"):
            load = ReedSolomon(n, s, k, mask).load
            assert set(load) <= {k * (s + 1) // n, -(-k * (s + 1) // n)}


def test_spread_supports_are_repetition_where_s_plus_1_divides_n():
    B = ReedSolomon(12, 2).encoding.toarray()
    np.testing.assert_allclose(np.abs(B[B != 0]), 1)
    assert sorted({tuple(np.flatnonzero(row)) for row in B}) == [(i, i + 1, i + 2) for i in (0, 3, 6, 9)]


@pytest.mark.parametrize(
    ("n", "s"),
    [(10, 2), (20, 4), (50, 5), (100, 10), (200, 20), (400, 40), (10, 4), (15, 9), (20, 2), (30, 5)],
)
def test_cyclic_repetition_is_accurate(n, s):
    """Benchmark B1's sizes and patterns, and the papers': below 1e-10 without the help of rounding."""
    neighbours = (np.arange(n) - np.arange(n)[:, None]) % n >= s  # a run of silent ones from everywhere
    responses = np.concatenate([random_sets(n, s, 200, 1), neighbours]).astype(int)
    code = CyclicRepetition(n, s)
    assert np.abs(code.weights(responses) @ code.encoding - 1).max() < 1e-10


@pytest.mark.parametrize("n", [44, 60, 101])
def test_one_worker_decodes_alone_to_the_last_digits(n):
    """s = n - 1: multiplying out the roots one by one was off by 2e-6 at n = 45, by 4e-3 at n = 60."""
    codes = [CyclicMDS(n, n - 1), CyclicMDS(n, n - 1, "real"), ReedSolomon(n, n - 1, mask="cyclic")]
    for code in codes:
        assert code.decode(np.eye(n, dtype=int)).residual.max() < 1e-13


# --- graphs and expander codes (check 12) --------------------------------------------------------------------


def test_graphs_have_the_known_eigenvalues():
    j = np.arange(1, 13) * 2 * np.pi / 13
    known = [(circulant(13, (1, 5)), 4, np.abs(2 * np.cos(j) + 2 * np.cos(5 * j)).max())]
    known += [(paley(q), (q - 1) // 2, (1 + np.sqrt(q)) / 2) for q in (5, 9, 13, 17, 25, 29)]
    for A, d, eigenvalue in known:
        assert (A == A.T).all() and (A.sum(0) == d).all()
        assert second_eigenvalue(A) == pytest.approx(eigenvalue)
    assert known[0][2] == pytest.approx(2.6511, abs=5e-5)
    for A, d, _ in known[1:]:  # strongly regular
        n = len(A)
        shared = d * np.eye(n) + (d // 2 - 1) * A + d // 2 * (1 - np.eye(n) - A)
        np.testing.assert_array_equal(A @ A, shared)
    for m in range(2, 8):
        A = margulis(m * m)
        assert (A == A.T).all() and (A.sum(0) == 8).all()
        assert second_eigenvalue(A) <= 5 * np.sqrt(2) + 1e-9


EXPANDERS = [
    ExpanderCode(13, offsets=(1, 5)),
    ExpanderCode(12, offsets=(1, 3, 6)),
    ExpanderCode(9, graph="paley"),
    ExpanderCode(9, graph="margulis"),
    RandomRegularCode(12, 3, seed=4),
    RegularBipartiteCode(11, 3, seed=1),
    RegularBipartiteCode(9, 7),
]


@pytest.mark.parametrize("code", EXPANDERS, ids=repr)
def test_expander_bound_holds_for_every_straggler_set(code):
    given = {name: getattr(code, name) for name in inspect.signature(type(code)).parameters}
    optimal = type(code)(**given | {"decoder": "optimal"})
    for s in range(code.n):
        responses = survivors(code.n, s) if code.n <= 11 else random_sets(code.n, s, 300, 0)
        bound = expander_bound(code.n, s, code.d, code.eigenvalue)
        one_step, best = code.decode(responses).error, optimal.decode(responses).error
        assert one_step.max() <= bound + 1e-12
        assert (best <= one_step + 1e-9).all()
    assert code.decode(survivors(code.n, code.n)).error == [1] == [expander_bound(code.n, code.n, 1, 0)]


def test_random_graphs_are_regular():
    for seed in range(20):
        A = random_regular(10, 3, np.random.default_rng(seed))
        assert (A == A.T).all() and (A.sum(0) == 3).all() and not np.diag(A).any() and A.max() == 1
    for n in range(1, 10):
        for d in range(n + 1):
            A = random_biregular(n, d, np.random.default_rng(n + d))
            assert (A.sum(0) == d).all() and (A.sum(1) == d).all() and np.isin(A, (0, 1)).all()


def test_biregular_entries_are_equally_likely():
    mean = np.mean([random_biregular(6, 2, np.random.default_rng(seed)) for seed in range(1500)], axis=0)
    assert np.abs(mean - 1 / 3).max() < 4.5 * np.sqrt(2 / 9 / 1500)


# --- optimal decoding in s dimensions ------------------------------------------------------------------------


def test_optimal_decoding_equals_least_squares():
    """Also where rows depend on each other, are zero, or outnumber the columns."""
    random = np.random.default_rng(0)
    for _ in range(60):
        matrix = random.integers(-1, 2, random.integers(2, 13, 2)).astype(float)
        code = ApproximateCode(matrix, "optimal", 1)
        responses = (random.random((25, code.n)) < random.uniform(0.5, 1)).astype(int)
        expected = least_squares_error(code, responses)
        np.testing.assert_allclose(code.decode(responses).error, expected, atol=1e-10)


# --- Bernoulli codes -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bernoulli_mean_error():
    responses = random_sets(40, 10, 1, 0)
    errors = [BernoulliCode(40, 5, seed=seed).decode(responses).error[0] for seed in range(500)]
    assert bernoulli_error(1 / 8, 30) == pytest.approx(0.2333, abs=5e-5)
    spread = np.std(errors) / np.sqrt(len(errors))
    assert np.mean(errors) == pytest.approx(bernoulli_error(1 / 8, 30), abs=4 * spread)


def test_regularized_bernoulli_cuts_only_the_overloaded():
    cut = 0
    for seed in range(20):
        full = BernoulliCode(30, 2, seed=seed).assignment
        kept = RegularizedBernoulliCode(30, 2, seed=seed).assignment
        heavy = full.sum(1) > 4
        assert (kept <= full).all() and (kept[~heavy] == full[~heavy]).all()
        assert (kept[heavy].sum(1) == 2).all()
        cut += heavy.sum()
    assert cut > 10


# --- stochastic gradient coding ------------------------------------------------------------------------------


def test_stochastic_mean_error_by_enumeration():
    code, p = StochasticGradientCode(10, 3, 0.3, layout="cyclic"), 0.3
    responses = np.array([*product((0, 1), repeat=10)])
    probability = (1 - p) ** responses.sum(1) * p ** (10 - responses.sum(1))
    decoding = code.decode(responses)
    assert probability @ decoding.error == pytest.approx(1 / 7, abs=1e-12) == stochastic_error(p, 3)
    np.testing.assert_allclose(probability @ decoding.coefficients, 1)  # unbiased
    assert (code.load == 3).all()


def test_stochastic_holders_are_those_of_a_stream_for_each_partition():
    code = StochasticGradientCode(8, 3, 0.2, seed=5)
    for i in range(8):
        holders = rng(5, "assignment", i).choice(8, size=3, replace=False)
        assert set(np.flatnonzero(code.assignment[:, i])) == set(holders)


@pytest.mark.slow
def test_stochastic_holders_are_balanced_in_pairs():
    copies = (1, 2, 4, 4)
    codes = [StochasticGradientCode(8, copies, 0.2, k=4, seed=seed) for seed in range(800)]
    held = np.array([code.assignment for code in codes])
    assert (held.sum(1) == copies).all()
    shared = np.einsum("swi,swj->ij", held.astype(int), held.astype(int)) / 800
    expected = np.outer(copies, copies) / 8
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(shared[off], expected[off], atol=0.15)


# --- graph codes ---------------------------------------------------------------------------------------------

GRAPH_CODES = [
    GraphCode(30, 3, seed=1),
    GraphCode(24, 4),
    GraphCode(14, 2, graph="circulant", offsets=(1,)),
    GraphCode(16, 4, graph="circulant", offsets=(1, 3)),
    GraphCode(3, 2, graph="circulant", offsets=(1,)),
]


@pytest.mark.parametrize("code", GRAPH_CODES, ids=repr)
def test_component_decoder_is_the_pseudoinverse(code):
    random = np.random.default_rng(0)
    responses = (random.random((300, code.n)) < random.uniform(0.1, 1, (300, 1))).astype(int)
    error = code.decode(responses).error
    np.testing.assert_allclose(error, least_squares_error(code, responses), atol=1e-9)
    ends = np.array([np.flatnonzero(row) for row in code.encoding.toarray()])
    formula = [graph_error(code.k, ends[row > 0]) for row in responses]
    np.testing.assert_allclose(error, formula, atol=1e-12)
    assert (code.load == 2).all() and (code.assignment.sum(0) == code.d).all()


@pytest.mark.slow
def test_a_long_path_decodes_in_linear_time():
    k = 100_001
    ends = np.stack([np.arange(k - 1), np.arange(1, k)], axis=1)[:, ::-1]
    c = np.bincount(ends.ravel(), np.repeat(edge_weights(k, ends), 2), minlength=k)
    assert ((c - 1) ** 2).sum() == pytest.approx(1 / k)


# --- iterative decoding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", [ExpanderCode(13, offsets=(1, 5)), BernoulliCode(12, 3, k=9, seed=3), CyclicMDS(7, 3)], ids=repr
)
def test_iterates_fall_to_the_optimal_error(code):
    responses = np.concatenate([random_sets(code.n, s, 8, 0) for s in (1, 4, code.n)])
    weights, bound = iterate(code, responses, steps=4000)
    optimal = least_squares_error(code, responses)
    assert (bound[:, 0] == 1).all() and (np.diff(bound, axis=1) <= 1e-14).all()
    assert (bound >= optimal[:, None] - 1e-12).all()
    np.testing.assert_allclose(bound[:, -1], optimal, atol=1e-3)
    np.testing.assert_allclose((np.abs(weights @ code.encoding - 1) ** 2).mean(1), bound[:, -1], atol=1e-12)
    assert not weights[~code.received(responses)].any()


def test_iterates_are_the_powers_of_the_definition():
    code = ExpanderCode(9, graph="paley")
    A = code.encoding.toarray()[2:].T
    step = np.eye(9) - A @ A.T / np.linalg.norm(A, 2) ** 2
    u = [np.linalg.matrix_power(step, t) @ np.ones(9) for t in range(6)]
    bound = iterate(code, [[0, 0] + 7 * [1]], steps=5).bound[0]
    np.testing.assert_allclose(bound, [v @ v / 9 for v in u])


# --- circulant multi-message code ----------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 2), (1, 1, 2), (2, 3), (5,)])
def test_circulant_recovers_what_the_span_holds(sizes):
    code = CirculantMultiMessage(6, sizes)
    responses = np.random.default_rng(0).integers(0, len(sizes) + 1, (150, 6))
    coefficients = code.decode(responses).coefficients
    for row, c in zip(responses, coefficients, strict=True):
        B = code.encoding.toarray()[code.received(row[None])[0]]
        rank = np.linalg.matrix_rank(B) if len(B) else 0

        def spans(v, B=B, rank=rank):
            return np.linalg.matrix_rank(np.vstack([B, v])) == rank

        expected = np.ones(6) if spans(np.ones(6)) else [spans(e) for e in np.eye(6)]
        np.testing.assert_array_equal(c, expected)


# --- what is refused -----------------------------------------------------------------------------------------


test_refusals = refusals(
    (lambda: CyclicMDS(5, 5), "n=5, s=5"),
    (lambda: CyclicMDS(8, 4, "real"), "n=8, s=4.*s=5"),
    (lambda: CyclicMDS(8, 4, "reel"), "'reel'.*'real'"),
    (lambda: ReedSolomon(5, -1), "n=5, s=-1"),
    (lambda: ReedSolomon(5, 1, k=0), "k=0"),
    (lambda: ExpanderCode(9, graph="pally"), "'pally'.*'paley'"),
    (lambda: ExpanderCode(9), "offsets"),
    (lambda: ExpanderCode(9, offsets=(1, 1)), r"offsets.*\[1, 1\]"),
    (lambda: ExpanderCode(9, offsets=(5,)), r"n=9 .*\[5\]"),
    (lambda: ExpanderCode(11, graph="paley"), "n=11"),
    (lambda: ExpanderCode(10, graph="margulis"), "n=10"),
    (lambda: RandomRegularCode(5, 3), "n=5, d=3"),
    (lambda: RandomRegularCode(5, 5), "n=5, d=5"),
    (lambda: RegularBipartiteCode(5, 6), "n=5, d=6"),
    (lambda: BernoulliCode(5, 6), "n=5, d=6, k=5"),
    (lambda: StochasticGradientCode(5, 6, 0.1), "n=5, k=5, d=6"),
    (lambda: StochasticGradientCode(5, (1, 2), 0.1), r"d=\(1, 2\)"),
    (lambda: StochasticGradientCode(5, 2, 1.0), "p=1.0"),
    (lambda: GraphCode(10, 3), "n=10, d=3"),
    (lambda: GraphCode(6, 4), "n=6, d=4"),
    (lambda: GraphCode(10, 4, graph="circulant", offsets=(1,)), r"d=4, offsets=\(1,\)"),
    (lambda: CirculantMultiMessage(5, (1, 2, 3)), r"n=5, sizes=\(1, 2, 3\)"),
    (lambda: iterate(ExpanderCode(9, graph="paley"), [9 * [1]], -1), "steps.* -1"),
    (lambda: expander_bound(5, 6, 3, 1), "n=5, s=6"),
    (lambda: expander_bound(5, 1, 3, 4), "eigenvalue"),
    (lambda: bernoulli_error(0, 3), "p"),
    (lambda: stochastic_error(1, 3), "p"),
    (lambda: graph_error(2, [(0, 2)]), r"\(0, 2\)"),
)
