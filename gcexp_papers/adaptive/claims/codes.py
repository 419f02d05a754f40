"""Section V: the adaptive code, its example and the conjecture about it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import lcm, prod

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import all_instances, because, claim
from gcexp.analysis.solving import invertible
from gcexp.codes import adaptive as codes
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.codes.general_v import solve_exactly
from gcexp.seeding import rng

from .. import theory
from .instances import DRAWN, blocks, built, own, rounds_of_own, sizes, small, solved, without

EXAMPLE_3 = [[3, 2, 1, 0], [3, 1, 1, 0], [1, 3, 2, 0], [2, 1, 3, 3], [2, 3, 2, 3], [2, 1, 1, 3]]
M_OF_EXAMPLE_3 = [
    ["1", "1", "1", "0", "0", "0"],
    ["0", "0", "0", "1", "1", "1"],
    ["-3", "-1/2", "-3", "-1", "-3/2", "-2"],
    ["4/3", "-1/2", "7/3", "-1/3", "1/6", "5/3"],
]


@claim("eq_inverse_prob1", "b_cyclic", "ehh_invertible")
def drawn_matrices():
    """For whole E and every partition E[Q_v, L:] is block lower triangular and invertible, and B = E M cyclic.

    Decoding matrices have entries that may be nonzero on the diagonal, and are invertible.
    """
    for n, d, L, drawn in small():
        for E, p in product(drawn, range(n)):
            Q = np.array(without(n, d, L, p), dtype=int)
            stairs = L + (Q // n + 1) * (n - d)
            right_of_stairs = np.arange(E.shape[1]) >= stairs[:, None]
            triangular = not E[Q][right_of_stairs].any()
            yield "eq_inverse_prob1", triangular and invertible(E[Q][:, L:])
        if n * L <= 12:
            for E in drawn:
                B = blocks(E @ solved(E, n, d, L), n, L)
                for entry in B[:, :, ~engine.cyclic(n, d)].ravel():
                    yield "b_cyclic", entry == 0
        for silent in engine.silent_sets(n, d - 1):
            rows = np.array(codes.decode_rows(n, d, L, silent))
            filled = L + (rows // n + 1) * (n - d)
            diagonal = (np.arange(len(rows)) < filled).all()
            yield "ehh_invertible", diagonal and invertible(drawn[0][rows][:, : len(rows)])


@claim("b_cyclic")
def assigned_entries_of_example_3_are_nonzero():
    """The entries of Example 3 at assigned places, the stars of (29), are nonzero."""
    E, M = _example_3()
    assigned = blocks(E @ M, 3, 2)[:, :, engine.cyclic(3, 2)].ravel()
    zeros = int((assigned == 0).sum())
    reason = f"{zeros} of the {assigned.size} places of Example 3 that the paper marks as nonzero are zero."
    return because(all_instances(assigned != 0), reason)


@claim("be_em")
def b_respects_the_storage():
    """B is zero exactly outside the d partitions of a worker: the library's and own codes, n <= 6 and L <= 4."""
    for (n, d), L in product(sizes(6), range(1, 5)):
        held = engine.cyclic(n, d)
        rows = built(n, d, L).encoding.toarray().reshape(L, n, n, L)
        for w in range(n):
            yield not rows[:, w, ~held[w]].any() and rows[:, w, held[w]].any(axis=(0, 2)).all()
        mine = own(n, d, L).reshape(L, n, n, L)
        yield from (mine.any(axis=(0, 3)) == held).all(0)


def _rounds_of(code: codes.Adaptive, s: int) -> int | None:
    """Fewest rounds of a built code's messages that span the sum for every s silent workers, by least squares."""
    rows = code.encoding.toarray().reshape(code.blocks, code.n, -1)
    return next((r for r in range(1, code.blocks + 1) if engine.reach_the_sum(rows[:r], s)), None)


@claim("rs_rounds", "agc_cost_16", "perf_58", "l_extremes")
def costs_of_built_codes():
    """The fewest rounds that span the sum are (51), with the costs (16) and (58), for every n <= 6, L <= 4 and s."""
    for (n, d), L in product(sizes(6), range(1, 5)):
        code = built(n, d, L)
        costs = theory.adaptive_costs(L, d, 2 * L)
        for s in range(d):
            found = _rounds_of(code, s)
            right = found == rounds_of_own(n, d, L, s) == theory.rounds(L, d, s)
            yield "rs_rounds", right
            for name in ("agc_cost_16", "perf_58"):
                yield name, right and found == costs[s] * L
            yield "l_extremes", right and found == theory.optimal_costs(d, L)[s] * L


@claim("columns_vanish")
def signals_that_suffice():
    """Drawn L + (n-d) r_s signals of the first r_s rounds span the sum, and one fewer do not: n <= 6, L <= 4."""
    generator = rng(0, "assignment", 3)
    for (n, d), L in product(sizes(6), range(1, 5)):
        B = own(n, d, L)
        for s in range(d):
            rows = codes.decode_rows(n, d, L, list(range(n - s, n)))
            yield (rows % n < n - s).all() and engine.spans(B.reshape(n * L, -1)[rows], L)
            r = rounds_of_own(n, d, L, s) or 0
            enough = L + (n - d) * r
            received = B[:r, : n - s].reshape(-1, n * L)
            drawn = [generator.permutation(len(received)) for _ in range(3)]
            chosen = np.stack(drawn)[:, :enough]
            fewer = engine.spans(received[chosen[:, 1:]], L)
            yield from engine.spans(received[chosen], L) & ~fewer & (enough == len(rows))


@claim("rem4_rank_rounds")
def rank_grows_with_the_rounds():
    """Where n - s answer, the rank of what was received after r rounds is L + (n-d) r: drawn E, n <= 6, every r."""
    for n, d in DRAWN:
        L = lcm(*range(1, d + 1))
        E = codes.random_matrix(n, d, L, rng(1, "assignment", n, d)).reshape(L, n, -1)
        for s, most in enumerate(codes.rounds_needed(L, d)):
            for r in range(1, most + 1):
                received = E[:r, : n - s].reshape(r * (n - s), -1)
                yield np.linalg.matrix_rank(received) == min((n - s) * r, L + (n - d) * r)


@claim("rem4_cgc_size")
def fixed_codes_need_a_fixed_number():
    """CGC decodes from any n - s_max answers and from no fewer, and always sends w/q: n <= 6, every set."""
    for n, d in sizes(6):
        for m in range(1, d + 1):
            code = CommunicationEfficient(n, d, m)
            sets = engine.silent_sets(n, min(d - m + 1, n - 1))
            answers = np.ones((len(sets), n), dtype=int)
            for place, silent in enumerate(sets):
                answers[place, list(silent)] = 0
            all_partitions = (code.decode(answers, partial=True).coefficients == 1).all(1)
            for silent, exact in zip(sets, all_partitions, strict=True):
                yield code.s == d - m and code.length == 1 / m and exact == (len(silent) <= d - m)


# --- Example 3 -------------------------------------------------------------------------------------------------


def _example_3() -> tuple[np.ndarray, np.ndarray]:
    """E and M of Example 3."""
    E = np.array(EXAMPLE_3, dtype=object)
    return E, solved(E, 3, 2, 2)


@claim("ex3_matrices", "ex3_no_straggler", "ex3_one_straggler")
def example_3():
    """M follows from E, the first row of B = E M is the signal of Example 1, and received rows of E give both sums."""
    E, M = _example_3()
    for one in (M == np.vectorize(Fraction, otypes=[object])(M_OF_EXAMPLE_3)).ravel():
        yield "ex3_matrices", one
    yield "ex3_matrices", (E @ M)[0].tolist() == [0, Fraction(5, 2), 0, 1, Fraction(1, 2), 0]
    total = np.kron(np.eye(2, dtype=int), np.ones((1, 3), dtype=int))
    for silent in engine.silent_sets(3, 1):
        rows = codes.decode_rows(3, 2, 2, silent)
        x, determinant = solve_exactly(E[rows][:, : len(rows)], np.eye(len(rows), dtype=int))
        sums = (x * Fraction(1, int(determinant)))[:2] @ (E @ M)[rows]
        yield "ex3_one_straggler" if silent else "ex3_no_straggler", (sums == total).all()


# --- Remark 3 --------------------------------------------------------------------------------------------------


@claim("rem3_conj_i")
def vandermonde_condition_1():
    """The determinant of E[Q_v, L:] is the product of those of its blocks, Vandermonde matrices with scaled rows.

    So it is not 0 for any distinct nonzero points. 30 sets of points of both signs are tried for each of four codes.
    """
    generator = rng(0, "monte_carlo", 8)
    for (n, d, L), _ in product(((3, 2, 2), (4, 2, 2), (4, 3, 2), (5, 3, 2)), range(30)):
        values = generator.choice(np.arange(1, 60), n * L, replace=False)
        alphas = (values * generator.choice([-1, 1], n * L)).tolist()
        E = np.array(codes.vandermonde(n, d, L, alphas), dtype=object)
        for p in range(n):
            Q = without(n, d, L, p)
            expected = 1
            for r in range(L):
                of_round = [alphas[row] for row in Q if row // n == r]
                differences = [b - a for a, b in combinations(of_round, 2)]
                expected *= prod(of_round) ** (L + r * (n - d))
                expected *= prod(differences)
            _, determinant = solve_exactly(E[Q][:, L:], np.zeros((len(Q), 0), dtype=int))
            yield determinant == expected != 0


def _vandermonde_decodes(points: list[int]) -> list[bool]:
    """Whether the decoding matrix of a Vandermonde-like E with n = 3 is invertible, for every set of stragglers."""
    E = np.array(codes.vandermonde(3, 2, 2, points), dtype=object)
    found = []
    for silent in engine.silent_sets(3, 1):
        rows = codes.decode_rows(3, 2, 2, silent)
        found.append(invertible(E[rows][:, : len(rows)]))
    return found


@claim("rem3_conj_ii")
def vandermonde_condition_2():
    """The decoding matrix of a Vandermonde-like E is invertible, whoever straggles: 42 sets of points, n = 3."""
    generator = rng(0, "monte_carlo", 7)
    drawn = []
    for _ in range(40):
        points = generator.choice(np.arange(1, 60), 6, replace=False)
        drawn.append(_vandermonde_decodes(sorted(points.tolist())))
    constructed = [_vandermonde_decodes([4, -4, 1, 5, 2, -2]), _vandermonde_decodes([2, 4, 1, 7, 14, 3])]
    pass_drawn = sum(all(one) for one in drawn)
    fail_constructed = sum(not all(one) for one in constructed)
    reason = (
        f"{pass_drawn} of {len(drawn)} drawn sets of positive points pass, and {fail_constructed} of "
        f"{len(constructed)} constructed ones are exact counterexamples: the points (4, -4, 1; 5, 2, -2) without "
        "worker 0 and (2, 4, 1; 7, 14, 3) without worker 2 have determinant 0."
    )
    return because(all_instances(np.concatenate(drawn + constructed)), reason)
