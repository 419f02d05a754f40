"""Statements of Cao, Yan, Tang, Han (arXiv 2006.04845) that no figure shows, held against every small instance.

Costs, lengths, ranks of given codes and determinants are exact; what is said "with probability 1" is tried on random
draws, and expected times are sums over the restart chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, lcm, prod

import numpy as np
import pandas as pd

from gcexp.analysis import coefficients, counting
from gcexp.analysis.counting import counted
from gcexp.analysis.declared import gives
from gcexp.analysis.solving import PRIME, eliminate, interpolate, invertible
from gcexp.codes.adaptive import (
    Adaptive,
    GroupedAdaptive,
    GroupedCGC,
    decode_rows,
    random_matrix,
    rounds_needed,
    vandermonde,
)
from gcexp.codes.base import Code
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.codes.composite import DirectSum
from gcexp.codes.general_v import solve_exactly
from gcexp.codes.uncoded import Uncoded
from gcexp.errors import require
from gcexp.seeding import rng
from gcexp.theory import adaptive as theory

EXAMPLE_3 = [[3, 2, 1, 0], [3, 1, 1, 0], [1, 3, 2, 0], [2, 1, 3, 3], [2, 3, 2, 3], [2, 1, 1, 3]]
M_OF_EXAMPLE_3 = [
    ["1", "1", "1", "0", "0", "0"],
    ["0", "0", "0", "1", "1", "1"],
    ["-3", "-1/2", "-3", "-1", "-3/2", "-2"],
    ["4/3", "-1/2", "7/3", "-1/3", "1/6", "5/3"],
]
#: (n, d) of codes whose E is drawn, with d < n.
DRAWN = [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (6, 3)]


@gives(*counting.COLUMNS)
def statements(draws: int) -> pd.DataFrame:
    """What the paper says about costs, codes, groups and expected times.

    Parameters
    ----------
    draws : int
        Random matrices, for what holds with probability 1.

    Returns
    -------
    DataFrame
        ``id, what, instances, tried, held, share``: in which share of the instances a statement holds.
    """
    parts = (
        _storage(),
        _costs(),
        _codes(draws),
        _example_3(),
        _groups(),
        _decoding(),
        _times(),
        _appendix(draws),
    )
    return counting.table(row for part in parts for row in part)


# --- Sections II to IV: storage and costs ---------------------------------------------------------------------


def _storage() -> Iterator[dict]:
    small = [(n, d) for n in range(1, 5) for d in range(1, n + 1)]
    assignments = [(n, d, held) for n, d in small for held in product(combinations(range(n), d), repeat=n)]
    yield counted(
        "sec2_memory_range",
        "mu < 1/n: all workers together hold less than the data once; mu > 1: one could hold more than all",
        "n <= 8 and mu = j/24",
        (
            (n * Fraction(j, 24) < 1) == (Fraction(j, 24) < Fraction(1, n))
            and (Fraction(j, 24) > 1) == (j > 24)
            for n in range(1, 9)
            for j in range(1, 30)
        ),
    )
    yield counted(
        "sec2_max_stragglers",
        "with d of n partitions on each worker some partition has at most d holders, so d stragglers are too many",
        "assignments with n <= 4",
        (np.bincount(np.ravel(held), minlength=n).min() <= d for n, d, held in assignments),
    )
    averages = [
        (n, k, mu, d)
        for n in range(1, 9)
        for k in range(1, 9)
        for mu in range(1, 13)
        for d in range(1, k + 1)
        if Fraction(d, k) <= Fraction(mu, 12)
    ]
    yield counted(
        "converse_average",
        "floor(n d / k) <= floor(n mu) wherever d / k <= mu",
        "n, k <= 8, mu = j/12 and d",
        (n * d // k <= n * mu // 12 for n, k, mu, d in averages),
    )
    yield counted(
        "k_equals_n",
        "k = n and d = floor(n mu) give the largest floor(n d / k) of all k",
        "n <= 8 and mu = j/12",
        (
            max((n * (k * mu // 12) // k for k in range(1, 25)), default=0) <= n * mu // 12
            for n in range(1, 9)
            for mu in range(1, 13)
        ),
    )
    yield counted(
        "converse_equations",
        "q_s (d - s) >= w for the lengths of AGC, every partition having d holders",
        "d <= 5, w <= 12, L <= w and s < d",
        (
            theory.rounds(L, d, s) * -(-w // L) * (d - s) >= w
            for d in range(1, 6)
            for w in range(1, 13)
            for L in range(1, w + 1)
            for s in range(d)
        ),
    )


def _costs() -> Iterator[dict]:
    sizes = [(d, w) for d in range(1, 7) for w in range(1, 25)]
    fixed = [(d, w, q) for d, w in sizes for q in range(1, w + 1) if w % q == 0 and w // q <= d]

    def achievable(d: int, w: int) -> Iterator[tuple[int, ...]]:
        """All lengths (q_0, ..., q_smax) that satisfy (10), w small."""
        for s_max in range(d):
            yield from (q for q in product(range(1, w + 1), repeat=s_max + 1) if theory.feasible(d, q, w))

    tiny = [(d, w, q) for d in range(1, 4) for w in range(1, 6) for q in achievable(d, w)]
    for statement in ("thm1_optimal", "optimality_bound"):
        yield counted(
            statement,
            "c* is superior to every vector that satisfies (10)",
            "vectors with d <= 3, w <= 5",
            (theory.superior(theory.optimal_costs(d, w), [Fraction(x, w) for x in q]) for d, w, q in tiny),
        )
    yield counted(
        "thm1_iff",
        "achieved by AGC with L = w, and (10) fails for anything shorter: c* is feasible and nothing below it is",
        "d <= 6, w <= 24 and s < d",
        (
            theory.feasible(d, best, w)
            and (best[s] == 1 or not theory.feasible(d, [q - (i == s) for i, q in enumerate(best)], w))
            for d, w in sizes
            for best in [[int(c * w) for c in theory.adaptive_costs(w, d, w)]]
            for s in range(d)
        ),
    )
    yield counted(
        "rem1_superior_cgc",
        "c* is superior to the costs of every CGC",
        "d <= 6, w <= 24 and q | w",
        (theory.superior(theory.optimal_costs(d, w), theory.fixed_costs(d, q, w)) for d, w, q in fixed),
    )
    yield counted(
        "table1_best",
        "for every s AGC costs no more than any CGC that survives it, and every CGC costs more or fails for some s",
        "d, w, q with d >= 2",
        (
            all(a <= b for a, b in zip(best, cgc, strict=False))
            and (len(cgc) < d or any(a < b for a, b in zip(best, cgc, strict=True)))
            for d, w, q in fixed
            if d >= 2 and w >= d
            for best, cgc in [(theory.optimal_costs(d, w), theory.fixed_costs(d, q, w))]
        ),
    )
    yield counted(
        "perf_58",
        "AGC with L rounds costs ceil(L / (d-s)) ceil(w / L) / w: the quorums of the codes that are built",
        "codes with n <= 6, L <= 6",
        (
            [r for r, _ in code.quorums[0].need] == sorted({theory.rounds(L, d, s) for s in range(d)})
            for n, d in DRAWN
            for L in range(1, 7)
            for code in [Adaptive(n, d, L, search_seeds=1)]
        ),
    )
    yield counted(
        "agc_cost_16",
        "r_s rounds of ceil(w/L) numbers carry the sum: at least ceil(w / (d-s)) numbers, and all L at s = d - 1",
        "d <= 6, w <= 24, L <= w",
        (
            costs[-1] * w == L * -(-w // L) and all(c * w >= -(-w // (d - s)) for s, c in enumerate(costs))
            for d, w in sizes
            for L in range(1, w + 1)
            for costs in [theory.adaptive_costs(L, d, w)]
        ),
    )
    yield counted(
        "l_extremes",
        "L = 1 costs 1 for every s, L = w gives c*",
        "d <= 6, w <= 24",
        (
            theory.adaptive_costs(1, d, w) == (1,) * d
            and theory.adaptive_costs(w, d, w) == theory.optimal_costs(d, w)
            for d, w in sizes
        ),
    )
    yield counted(
        "lcm_exact",
        "L = lcm(1..d) gives c* = (1/d, ..., 1) where it divides w",
        "d <= 6, w = L, 2 L, 7 L",
        (
            theory.adaptive_costs(L, d, f * L)
            == theory.optimal_costs(d, f * L)
            == tuple(Fraction(1, d - s) for s in range(d))
            for d in range(1, 7)
            for L in [lcm(*range(1, d + 1))]
            for f in (1, 2, 7)
        ),
    )
    yield counted(
        "lcm_padding",
        "zeros appended to a multiple of L = lcm(1..d) cost less than L / w",
        "d <= 6, w <= 200",
        (
            c - Fraction(1, d - s) < Fraction(L, w)
            for d in range(1, 7)
            for L in [lcm(*range(1, d + 1))]
            for w in range(1, 201)
            for s, c in enumerate(theory.adaptive_costs(L, d, w))
        ),
    )


# --- Section V: the codes -------------------------------------------------------------------------------------


def _without(n: int, d: int, L: int, p: int) -> list[int]:
    """Q_p: rows of E of the workers that do not hold partition p.

    An independent second computation, on purpose not that of `Adaptive`: it is held against the size that the paper
    states, and `_solved` stands on it.
    """
    return [r * n + j for r in range(L) for j in range(n) if (p - j) % n >= d]


def _solved(E: np.ndarray, n: int, d: int, L: int) -> np.ndarray:
    """M of an integer E, exactly, (44) and (50); columns m n + i as in the paper.

    An independent second computation, on purpose not that of `Adaptive`: it is held against the M that Example 3 prints
    and against the zeros that B = E M must have.
    """
    M = np.zeros(((n - d + 1) * L, n * L), dtype=object)
    for m in range(L):
        M[m, m * n : (m + 1) * n] = 1
    for v in range(n * L):
        Q = _without(n, d, L, v % n)
        x, determinant = solve_exactly(E[Q][:, L:], -(E[Q][:, :L] @ M[:L, v])[:, None])
        M[L:, v] = [Fraction(int(a), int(determinant)) for a in x[:, 0]]
    return M


def _whole(n: int, d: int, L: int, trial: int) -> np.ndarray:
    """A drawn E of whole numbers, nonzero wherever E may be."""
    generator = rng(0, "assignment", n, d, L, trial)
    drawn = np.rint(1000 * random_matrix(n, d, L, generator)).astype(int)
    staircase = np.arange((n - d + 1) * L) < (L + (np.arange(n * L) // n + 1) * (n - d))[:, None]
    return np.where(staircase & (drawn == 0), 1, drawn).astype(object)


def _codes(draws: int) -> Iterator[dict]:
    small = [(n, d, L) for n, d in DRAWN[:5] for L in range(1, lcm(*range(1, d + 1)) + 1)]
    drawn = [(n, d, L, _whole(n, d, L, t)) for n, d, L in small for t in range(draws)]
    yield counted(
        "qv_size",
        "Q_v has n - d rows in each of the L blocks",
        "(n, d, L) and partitions",
        (
            len(Q) == (n - d) * L and all(sum(q // n == r for q in Q) == n - d for r in range(L))
            for n, d, L in small
            for p in range(n)
            for Q in [_without(n, d, L, p)]
        ),
    )
    yield counted(
        "eq_inverse_prob1",
        "E[Q_v, L:] is block lower triangular with square n - d blocks, and invertible for drawn whole numbers",
        "drawn E and partitions",
        (
            invertible(E[Q][:, L:]) and all(not E[q, L + (q // n + 1) * (n - d) :].any() for q in Q)
            for n, d, L, E in drawn
            for p in range(n)
            for Q in [_without(n, d, L, p)]
        ),
    )
    products = [(n, d, L, E @ _solved(E, n, d, L)) for n, d, L, E in drawn if n * L <= 12]
    for statement, what in (
        ("be_em", "B = E M is 0, exactly, on every partition that a worker does not hold"),
        ("b_cyclic", "row j of every block is nonzero only in columns j, ..., j+d-1"),
    ):
        yield counted(
            statement,
            what,
            "drawn E with n L <= 12",
            (
                all(
                    not B[r * n + j, m * n + i]
                    for r in range(L)
                    for j in range(n)
                    for m in range(L)
                    for i in range(n)
                    if (i - j) % n >= d
                )
                for n, d, L, B in products
            ),
        )
    built = [(code, s) for n, d in DRAWN for code in [Adaptive(n, d, search_seeds=4)] for s in range(d)]
    yield counted(
        "rs_rounds",
        "ceil(L / (d-s)) rounds of any n - s workers decode",
        "codes with L = lcm(1..d), s, all sets of s stragglers",
        (
            code.decode([_heard(code, silent)], partial=True).exact
            for code, s in built
            for silent in combinations(range(code.n), s)
        ),
    )
    sets = [(n, d, L, s, F) for n, d, L in small for s in range(d) for F in combinations(range(n), s)]
    yield counted(
        "columns_vanish",
        "after r_s rounds E is 0 beyond column L + (n-d) r_s, and (n-s) r_s >= L + (n-d) r_s",
        "(n, d, L) and s",
        (
            not random_matrix(n, d, L, rng(0, "assignment", n, d, L))[: n * r, L + (n - d) * r :].any()
            and (n - s) * r >= L + (n - d) * r
            for n, d, L in small
            for s, r in enumerate(rounds_needed(L, d))
        ),
    )
    yield counted(
        "ehh_invertible",
        "the decoding matrix has only entries that may be nonzero on its diagonal, and is invertible for drawn E",
        "(n, d, L), sets of stragglers, drawn E",
        (
            all(k < L + (row // n + 1) * (n - d) for k, row in enumerate(rows))
            and invertible(_whole(n, d, L, 0)[rows][:, : len(rows)])
            for n, d, L, s, F in sets
            for rows in [decode_rows(n, d, L, F)]
        ),
    )
    yield counted(
        "rem4_rank_rounds",
        "where n - s answer, the rank of what was received grows to L + (n-d) r after r rounds, until that is reached",
        "(n, d), L = lcm, s and r <= r_s",
        (
            np.linalg.matrix_rank(E[np.repeat(np.arange(r) * n, n - s) + np.tile(np.arange(n - s), r)])
            == min((n - s) * r, L + (n - d) * r)
            for n, d in DRAWN
            for L in [lcm(*range(1, d + 1))]
            for E in [random_matrix(n, d, L, rng(1, "assignment", n, d))]
            for s, most in enumerate(rounds_needed(L, d))
            for r in range(1, most + 1)
        ),
    )


def _heard(code: Code, silent: tuple[int, ...]) -> np.ndarray:
    return coefficients.rounds_heard(code, silent)


def _example_3() -> Iterator[dict]:
    E = np.array(EXAMPLE_3, dtype=object)
    M = _solved(E, 3, 2, 2)
    expected = [[Fraction(x) for x in row] for row in M_OF_EXAMPLE_3]
    yield counted(
        "ex3_matrices", "M follows from E by (44)", "entries of M", (M == expected).ravel().tolist()
    )
    yield counted(
        "ex3_matrices",
        "the first row of B = E M is the signal of Example 1",
        "rows",
        [(E @ M)[0].tolist() == [0, Fraction(5, 2), 0, 1, Fraction(1, 2), 0]],
    )
    held = [
        (r * 3 + j, m * 3 + i)
        for r in range(2)
        for j in range(3)
        for m in range(2)
        for i in range(3)
        if (i - j) % 3 < 2
    ]
    yield counted(
        "b_cyclic_nonzero",
        "the entries at assigned places, the stars of (29), are nonzero",
        "assigned entries of Example 3",
        [(E @ M)[place] != 0 for place in held],
    )
    total = np.kron(np.eye(2, dtype=int), np.ones((1, 3), dtype=int))
    for statement, silents in (("ex3_no_straggler", [()]), ("ex3_one_straggler", [(0,), (1,), (2,)])):
        yield counted(
            statement,
            "the first two rows of the inverse of the received rows of E give both sums",
            "sets of stragglers",
            (
                (_inverse(E, decode_rows(3, 2, 2, F)) @ (E @ M)[decode_rows(3, 2, 2, F)] == total).all()
                for F in silents
            ),
        )


def _inverse(E: np.ndarray, rows: np.ndarray) -> np.ndarray:
    A = E[rows][:, : len(rows)]
    x, determinant = solve_exactly(A, np.eye(len(rows), dtype=int))
    return (x * Fraction(1, int(determinant)))[:2]


# --- Section VI: groups ---------------------------------------------------------------------------------------


def _groups() -> Iterator[dict]:
    every = [(n, d) for n in range(1, 50) for d in range(1, n + 1)]
    pair = Adaptive(n=2, d=2, E=vandermonde(2, 2, 2, [1, 2, 3, 4]))
    toy = DirectSum([pair, pair, Adaptive(n=3, d=2, E=EXAMPLE_3)])
    bounds, ends = [(0, 2), (2, 4), (4, 7)], (2, 4, 7)
    patterns = [F for s in range(8) for F in combinations(range(7), s)]
    spread = [F for F in patterns if all(sum(a <= w < b for w in F) <= 1 for a, b in bounds)]
    yield counted(
        "ex4_groups",
        "(66) splits seven workers with d = 2 into {0,1}, {2,3}, {4,5,6}, each with costs (1/2, 1)",
        "Example 4",
        [
            tuple(np.cumsum(theory.group_sizes(7, 2))) == ends,
            theory.adaptive_costs(2, 2, 2) == (Fraction(1, 2), 1),
            [q.need for q in toy.quorums] == [((1, 2), (2, 1)), ((1, 2), (2, 1)), ((1, 3), (2, 2))],
        ],
    )
    for statement in ("ex4_robust", "thm3_more_robust", "abstract_more_stragglers"):
        yield counted(
            statement,
            "every pattern with at most one straggler in each group decodes, three in all; AGC survives one",
            "patterns",
            (toy.decode([_heard(toy, F)], partial=True).exact for F in spread),
        )
    yield counted(
        "group_partition",
        "floor(n/d) groups of consecutive workers, all of d, the last one of n - m d",
        "d <= n < 50",
        (
            len(sizes) == n // d and sum(sizes) == n and all(x == d for x in sizes[:-1])
            for n, d in every
            for sizes in [theory.group_sizes(n, d)]
        ),
    )
    yield counted(
        "gagc_group_size",
        "no group has more than 2 d - 1 workers",
        "d <= n < 50",
        (max(theory.group_sizes(n, d)) <= 2 * d - 1 for n, d in every),
    )
    grouped = [(n, d) for n, d in every if n <= 7]
    combos = [(n, d, s) for n, d in grouped for s in product(range(d), repeat=len(theory.group_sizes(n, d)))]
    yield counted(
        "group_length_68",
        "rounds ceil(L / (d - s_j)) of group j, the longest decides: the quorums of the codes that are built",
        "n <= 7, d, s_j",
        (
            max(
                min(r for r, q in quorum.need if q <= len(quorum.workers) - x)
                for quorum, x in zip(code.quorums, s, strict=True)
            )
            * 2
            == theory.group_length(code.blocks, d, s, 2 * code.blocks)
            for n, d, s in combos
            if d <= 3
            for code in [_grouped(n, d)]
        ),
    )
    yield counted(
        "group_sum_69",
        "the groups' partitions are disjoint and make up all, so that the sums of the groups add up to the gradient",
        "codes with n <= 7, d <= 3",
        (
            _grouped(n, d).decode([_grouped(n, d).messages]).exact
            and (_grouped(n, d).assignment.sum(0) == d).all()
            for n, d in grouped
            if d <= 3
        ),
    )
    for statement in ("thm3_gagc_optimal", "thm3_iff"):
        yield counted(
            statement,
            "G-AGC with L = w sends ceil(w / (d - max s_j)), and by Theorem 3 nothing shorter is achievable",
            "n <= 7, d, s_j, w = 1, 4, 6",
            (
                q == -(-w // (d - max(s)))
                and theory.group_feasible(d, s, q, w)
                and not (q > 1 and theory.group_feasible(d, s, q - 1, w))
                for n, d, s in combos
                for w in (1, 4, 6)
                for q in [theory.group_length(w, d, s, w)]
            ),
        )
    yield counted(
        "thm4_bound",
        "G-AGC survives more than s* - d + 1 stragglers, s* at most the bound (126)",
        "2 <= d <= n < 50",
        (theory.survivable(n, d) > theory.survivable_bound(n, d) - d + 1 for n, d in every if d >= 2),
    )
    yield counted(
        "thm4_bound_d1",
        "the same for d = 1, which the paper does not exclude",
        "n < 50",
        (theory.survivable(n, 1) > theory.survivable_bound(n, 1) for n in range(1, 50)),
    )
    yield counted(
        "thm4_equality",
        "equality with the bound where d divides n or n - 1",
        "d <= n < 50",
        (
            theory.survivable(n, d) == theory.survivable_bound(n, d)
            for n, d in every
            if n % d == 0 or (n - 1) % d == 0
        ),
    )
    yield counted(
        "thm4_upper_126",
        "groups of n_i >= d workers leave at least sum ceil(n_i / d) >= ceil(n / d) active",
        "partitions of n <= 12 into groups of at least d",
        (
            n - sum(-(-x // d) for x in sizes) <= theory.survivable_bound(n, d)
            for n in range(1, 13)
            for d in range(1, n + 1)
            for sizes in _partitions(n, d)
        ),
    )
    yield counted(
        "thm4_gagc_total",
        "floor(n/d) (d-1) stragglers in all; the bound is larger by lambda - ceil(lambda/d) < d - 1, lambda = n mod d",
        "2 <= d <= n < 50",
        (
            theory.survivable(n, d) == n // d * (d - 1)
            and theory.survivable_bound(n, d) - theory.survivable(n, d) == n % d - -(-(n % d) // d) < d - 1
            for n, d in every
            if d >= 2
        ),
    )
    yield counted(
        "rem5_gcgc_any_n",
        "G-CGC is built and decodes for every d <= n, also where d does not divide n",
        "n <= 8, d <= n, m <= d, one pattern of most stragglers each",
        (
            code.decode([[int(w not in silent) for w in range(n)]], partial=True).exact
            for n in range(1, 9)
            for d in range(1, n + 1)
            for m in range(1, d + 1)
            for code in [GroupedCGC(n, d, m)]
            for silent in [[w for q in code.quorums for w in q.workers[: d - m]]]
        ),
    )
    yield counted(
        "rem5_gcgc_vector",
        "a group sends as much as CGC, and G-CGC survives every pattern that CGC survives, and more for s_max >= 1",
        "n = 4 to 8, d = 2, 3, m <= d",
        (
            code.length == 1 / m and (most == d - m if d == m or n // d == 1 else most > d - m)
            for n in range(4, 9)
            for d in (2, 3)
            for m in range(1, d + 1)
            for code in [GroupedCGC(n, d, m)]
            for most in [sum(len(q.workers) - q.need[0][1] for q in code.quorums)]
        ),
    )
    yield counted(
        "group_e_vandermonde",
        "any L rows of a Vandermonde E on d L distinct points are independent",
        "d = 2, 3, L <= 3, sets of L rows",
        (
            invertible(np.array([[a**k for k in range(L)] for a in rows], dtype=object))
            for d in (2, 3)
            for L in (1, 2, 3)
            for rows in combinations(range(1, d * L + 1), L)
        ),
    )
    conditions = {n: _worst_condition(GroupedAdaptive(n, 3)) for n in (6, 20, 41)}
    yield counted(
        "group_condition_l",
        "the condition numbers in the groups of d do not depend on n",
        "n = 20 and 41 against 6, d = 3",
        (conditions[n] == conditions[6] for n in (20, 41)),
    )


def _grouped(n: int, d: int) -> GroupedAdaptive:
    return GroupedAdaptive(n, d, search_seeds=2)


def _worst_condition(code: GroupedAdaptive) -> float:
    """Of any L rows of the E of the first group, whose workers hold everything."""
    first = code.parts[0]
    E = first.encoding.toarray()[:, : first.blocks]
    rows = np.array(list(combinations(range(len(E)), first.blocks)))
    return float(np.linalg.cond(E[rows]).max())


def _partitions(n: int, least: int) -> Iterator[list[int]]:
    """Partitions of n into parts of at least `least`, in falling order."""

    def below(rest: int, most: int) -> Iterator[list[int]]:
        if rest == 0:
            yield []
        for part in range(min(rest, most), least - 1, -1):
            yield from ([part, *more] for more in below(rest - part, part))

    return below(n, n)


# --- decoding costs -------------------------------------------------------------------------------------------


def _decoding() -> Iterator[dict]:
    cases = [(n, d, w) for n in range(1, 31) for d in range(1, n + 1) for w in (d, 24) if w >= d]
    yield counted(
        "complexity_agc_gt_cgc",
        "with L = w the cost order of AGC is not below that of CGC",
        "n <= 30, d, w = d or 24, s",
        (
            theory.decode_cost("agc", n, d, s, w) >= theory.decode_cost("cgc", n, d, s, w)
            for n, d, w in cases
            for s in range(d)
        ),
    )
    yield counted(
        "complexity_n3",
        "the decoding matrix has L + (n-d) ceil(L/(d-s)) rows, and its cube grows as n^3: 8 times for twice as many",
        "d <= 4, L = lcm, s, n = 4096",
        (
            len(decode_rows(6, d, L, tuple(range(s)))) == theory.decode_size(6, d, L, s)
            and abs(theory.decode_cost("agc", 8192, d, s, L) / theory.decode_cost("agc", 4096, d, s, L) - 8)
            < 0.05
            for d in range(1, 5)
            for L in [lcm(*range(1, d + 1))]
            for s in range(d)
        ),
    )
    for statement in ("table2_orders", "group_same_order"):
        yield counted(
            statement,
            "with groups the costs grow as n: twice as much for twice as many workers, for both kinds",
            "d <= 4, s, n = 4096 d",
            (
                abs(
                    theory.decode_cost(kind, 8192 * d, d, s, L) / theory.decode_cost(kind, 4096 * d, d, s, L)
                    - 2
                )
                < 0.05
                for kind in ("g_agc", "g_cgc")
                for d in range(1, 5)
                for L in [lcm(*range(1, d + 1))]
                for s in range(d)
            ),
        )
    yield counted(
        "group_motivation",
        "groups make decoding cheaper, as soon as there are two",
        "n <= 30, d <= 4, n >= 2 d, s",
        (
            theory.decode_cost(f"g_{kind}", n, d, s, L) <= theory.decode_cost(kind, n, d, s, L)
            for kind in ("agc", "cgc")
            for d in range(2, 5)
            for n in range(2 * d, 31)
            for L in [lcm(*range(1, d + 1))]
            for s in range(d)
        ),
    )
    dense = {n: _eliminated(n, 2, 2, 1) for n in (8, 16, 32)}
    thin = {n: interpolate(range(1, n), range(1, n))[1] for n in (8, 16, 32)}  # n - s_max answers, s_max = 1
    yield counted(
        "complexity_inversion",
        "twice the size of the matrix takes 2^3 times the operations by elimination (drawn E of AGC), 2^2 times by "
        "divided differences (Vandermonde matrix of CGC): rounded exponents",
        "n = 8, 16, 32 from one to the next, d = 2, s = 1, both codes",
        [
            *(round(_exponent(dense[n], dense[2 * n])) == 3 for n in (8, 16)),
            *(round(_exponent((n - 1, thin[n]), (2 * n - 1, thin[2 * n]))) == 2 for n in (8, 16)),
        ],
    )
    yield counted(
        "complexity_inversion_in_the_experiment",
        "the cube (AGC) or square (CGC) of the matrix exceeds the w x size operations that combine the messages",
        "n = 20, d = 3, L = 6, w = 11173962, s = 0, 1, 2, both codes",
        (
            theory.decode_cost(kind, 20, 3, s, 6) > 11_173_962 * size
            for s in range(3)
            for kind, size in (("agc", theory.decode_size(20, 3, 6, s)), ("cgc", 20 - s))
        ),
    )
    yield counted(
        "group_vandermonde_fast",
        "divided differences solve the Vandermonde system of a group, exactly, with fewer operations than elimination",
        "groups of d = 3, 4, 5 workers, L = lcm(1..d) rows of the d L, first and last ones",
        (
            by_differences == by_elimination == x and fewer < more
            for d in (3, 4, 5)
            for L in [lcm(*range(1, d + 1))]
            for points in (list(range(1, L + 1)), list(range(d * L - L + 1, d * L + 1)))
            for V in [[[pow(a, k, PRIME) for k in range(L)] for a in points]]
            for x in [list(range(1, L + 1))]
            for b in [[sum(v * y for v, y in zip(row, x, strict=True)) for row in V]]
            for (by_differences, fewer), (by_elimination, more) in [(interpolate(points, b), eliminate(V, b))]
        ),
    )
    fixed = [
        CommunicationEfficient(n, d, m) for n in range(2, 7) for d in range(1, n + 1) for m in range(1, d + 1)
    ]
    yield counted(
        "rem4_cgc_size",
        "any n - s_max answers decode and no fewer do; where more answer, each still sends w/q as before",
        "n <= 6, d, q = w/m, sets of stragglers",
        (
            (code.s == d - m and code.length == 1 / m)
            and (code.decode([[int(w not in F) for w in range(n)]], partial=True).exact == (len(F) <= d - m))
            for code in fixed
            for n, d, m in [(code.n, int(code.load.max()), code.blocks)]
            for s in range(min(d - m + 2, n))
            for F in combinations(range(n), s)
        ),
    )
    grouped = [
        (n, d, m) for n in (4, 6, 8, 9, 10, 12) for d in (2, 3, 4) if n % d == 0 < n - d for m in range(1, d)
    ]
    yield counted(
        "sec2_kadhe_group",
        "same length and stragglers as CGC, cost order of decoding not above it, and weights that enlarge errors less",
        "d | n <= 12, d <= 4, m < d; weights over all sets of d - m stragglers",
        (
            group.length == plain.length
            and min(len(q.workers) - q.need[0][1] for q in group.quorums) == plain.s == d - m
            and theory.decode_cost("g_cgc", n, d, d - m, m) <= theory.decode_cost("cgc", n, d, d - m, m)
            and _noise(group, d - m) < _noise(plain, d - m)
            for n, d, m in grouped
            for group, plain in [(GroupedCGC(n, d, m), CommunicationEfficient(n, d, m))]
        ),
    )
    yield counted(
        "uncoded_load",
        "a worker of CGC and AGC computes three of twenty partitions, of the uncoded scheme one",
        "codes of the experiment",
        [
            (Uncoded(n=20).load == 1).all(),
            *((CommunicationEfficient(n=20, d=3, m=m).load == 3).all() for m in (1, 2, 3)),
            (_grouped(20, 3).load == 3).all(),
        ],
    )


def _eliminated(n: int, d: int, L: int, s: int) -> tuple[int, int]:
    """Size of the decoding matrix of AGC, and the operations of an elimination that found what was encoded."""
    rows = decode_rows(n, d, L, tuple(range(s)))
    A, x = _whole(n, d, L, 0)[rows][:, : len(rows)], list(range(1, len(rows) + 1))
    found, operations = eliminate(A.tolist(), (A @ np.array(x, dtype=object)).tolist())
    require(found == x, "elimination did not find what was encoded")
    return len(rows), operations


def _exponent(small: tuple[int, int], large: tuple[int, int]) -> float:
    return float(np.log(large[1] / small[1]) / np.log(large[0] / small[0]))


def _noise(code: GroupedCGC | CommunicationEfficient, s: int) -> float:
    """Largest noise gain of the weights over all sets of s stragglers."""
    heard = [[int(w not in F) for w in range(code.n)] for F in combinations(range(code.n), s)]
    return float(code.decode(heard).noise_gain.max())


# --- Section VII: expected times ------------------------------------------------------------------------------


def _times() -> Iterator[dict]:
    chain = [(u, s_max, p) for u in range(1, 6) for s_max in range(min(u, 3)) for p in (0.1, 0.6)]
    yield counted(
        "h_81",
        "the chain gives the multi-sum (81), to 1e-12",
        "u <= 5, s_max, p, epochs up to 3, s",
        (
            abs(h[i, s] - _multi_sum(u, i, s, s_max, p)) < 1e-12
            for u, s_max, p in chain
            for h in [np.pad(theory.first_epoch(u, p, s_max), ((0, 4), (0, 0)))]
            for i in range(4)
            for s in range(s_max + 1)
        ),
    )
    yield counted(
        "restart_chain",
        "first successes with P(G >= i) = p^i give S_0 binomial and S_1 thinned by p: all outcomes enumerated",
        "u <= 4, p, (S_0, S_1)",
        (
            abs(
                _outcomes(u, a, b, p)
                - comb(u, a) * p**a * (1 - p) ** (u - a) * comb(a, b) * p**b * (1 - p) ** (a - b)
            )
            < 1e-12
            for u in range(1, 5)
            for p in (0.1, 0.6)
            for a in range(u + 1)
            for b in range(a + 1)
        ),
    )
    yield counted(
        "joint_90",
        "Pr(Y = i, S = s) of groups by (90), completed by the appendix, is that of all outcomes of their chains",
        "groups (2), (2, 3), (3, 3, 2), s_max <= 1, p, i <= 3, s",
        (
            abs(found[i, s] - _joint(sizes, i, s, s_max, p)) < 1e-12
            for sizes in ((2,), (2, 3), (3, 3, 2))
            for s_max in (0, 1)
            for p in (0.1, 0.6)
            for found in [np.pad(theory.last_epoch(sizes, p, s_max), ((0, 4), (0, 0)))]
            for i in range(4)
            for s in range(s_max + 1)
        ),
    )
    grid = [
        (n, d, t_cm, t_cp, p)
        for (n, d), (t_cm, t_cp), p in product(
            [(8, 2), (10, 4), (12, 5), (20, 3)], [(13, 3), (1, 15), (8, 8)], [0.01, 0.1, 0.3, 0.6, 0.9]
        )
    ]
    for prefix, grouped in (("aet_agc", False), ("aet_g", True)):
        for last, most in (("obvious", True), ("numeric", False)):
            yield counted(
                f"{prefix}_{last}",
                f"the adaptive scheme is faster on average than the fixed one with s_max {'=' if most else '<'} d - 1",
                "(n, d), (t_cm, t_cp), p",
                (
                    theory.average_time(n, d, p, None, grouped, t_cp, t_cm)
                    < theory.average_time(n, d, p, s, grouped, t_cp, t_cm)
                    for n, d, t_cm, t_cp, p in grid
                    for s in ([d - 1] if most else range(d - 1))
                ),
            )
    yield counted(
        "prob_s0_or_gt2",
        "the probability of no or more than two stragglers is 43.4 % at p = 0.05 and 44.5 % at p = 0.1",
        "p",
        (
            abs(1 - sum(comb(20, s) * p**s * (1 - p) ** (20 - s) for s in (1, 2)) - expected) < 5e-4
            for p, expected in ((0.05, 0.434), (0.1, 0.445))
        ),
    )
    usual = [
        (n, p / 100) for n, first in (([20], 30), (theory.group_sizes(20, 3), 23)) for p in range(first, 100)
    ]
    yield counted(
        "fig3_large_p",
        "more often than not there is more than one straggler: among all 20 from p = 0.3 on (CGC), in some group "
        "from p = 0.23 on (G-CGC)",
        "p in steps of 0.01",
        (1 - prod((1 - p) ** u + u * p * (1 - p) ** (u - 1) for u in sizes) > 0.5 for sizes, p in usual),
    )
    yield counted(
        "fig3_mismatch",
        "given S_0 = s, every CGC that is built for another number of stragglers takes longer than the one for s",
        "n = 20, d = 3, t_cm = 13, t_cp = 3, t = 16, s, s_max, p",
        (
            _given(s, built, p) > _given(s, s, p)
            for p in (0.01, 0.1, 0.3, 0.6, 0.9)
            for s in range(3)
            for built in range(3)
            if built != s
        ),
    )
    yield counted(
        "fig5_vs_fig3_reason",
        "with later epochs as long as the first, CGC(0) is slower than CGC(2) at p = 0.05; with those measured, faster",
        "later epochs",
        [
            _mean("cgc0", later=False) > _mean("cgc2", later=False),
            _mean("cgc0", later=True) < _mean("cgc2", later=True),
        ],
    )
    yield counted(
        "complexity_acceptable",
        "in the formula with measured decoding times AGC is faster than every CGC, and so is G-AGC than every G-CGC",
        "p and s_max",
        (
            theory.modified_average_time(f"{group}agc", p) < theory.modified_average_time(f"{group}cgc{s}", p)
            for p in (0.05, 0.1)
            for group in ("", "g_")
            for s in range(3)
        ),
    )


def _given(s: int, s_max: int, p: float) -> float:
    """Mean time of CGC with d = 3 when s workers straggle in the first epoch: they begin anew until s_max are left."""
    later = 0.0
    if s > s_max:
        chances = theory.first_epoch(s, p, s_max).sum(1)
        later = 1 + float(chances @ np.arange(len(chances)))
    return 3 + 13 / (3 - s_max) + 16 * later


def _multi_sum(u: int, i: int, s: int, s_max: int, p: float) -> float:
    """(81): over all numbers s_0 >= ... >= s_{i-1} > s_max of stragglers in the epochs before i."""
    total = 0.0
    for path in product(range(s_max + 1, u + 1), repeat=i):
        steps = (u, *path, s)
        if all(a >= b for a, b in zip(steps, steps[1:], strict=False)):
            total += prod(
                comb(a, b) * p**b * (1 - p) ** (a - b) for a, b in zip(steps, steps[1:], strict=False)
            )
    return total


def _outcomes(u: int, a: int, b: int, p: float) -> float:
    """Probability that a of u workers straggle in epoch 0 and b of them in epoch 1 too, over all their outcomes."""
    chance = (1 - p, p * (1 - p), p * p)  # success in epoch 0, in epoch 1, later
    return sum(
        prod(chance[x] for x in outcome)
        for outcome in product(range(3), repeat=u)
        if sum(x > 0 for x in outcome) == a and sum(x > 1 for x in outcome) == b
    )


def _joint(sizes: tuple[int, ...], i: int, s: int, s_max: int, p: float) -> float:
    """Probability that the last group is decoded in epoch i with at most s left there, less that with at most s - 1."""
    chances = [
        [[_multi_sum(u, e, x, s_max, p) for x in range(s_max + 1)] for e in range(i + 1)] for u in sizes
    ]
    total = 0.0
    for outcome in product(product(range(i + 1), range(s_max + 1)), repeat=len(sizes)):
        last = max(e for e, _ in outcome)
        left = max(x for e, x in outcome if e == last)
        if (last, left) == (i, s):
            total += prod(chances[g][e][x] for g, (e, x) in enumerate(outcome))
    return total


def _mean(scheme: str, later: bool, p: float = 0.05) -> float:
    """Mean time of the experiment, with the later epochs that were measured or as long as the first."""
    cost = theory.prices(scheme)
    chances = theory.last_epoch([theory.N], p, theory.most_stragglers(scheme))
    if later:
        return theory.mean_time(chances, *cost)
    return theory.mean_time(chances, cost.first, cost.first, [theory.LOST[0]] * 2)


# --- Remark 3 and the appendix --------------------------------------------------------------------------------


def _appendix(draws: int) -> Iterator[dict]:
    generator = rng(0, "monte_carlo", 7)
    positive = [sorted(generator.choice(np.arange(1, 60), 6, replace=False).tolist()) for _ in range(40)]
    points = [*positive, [4, -4, 1, 5, 2, -2], [2, 4, 1, 7, 14, 3]]  # the last two: exact counterexamples
    yield counted(
        "rem3_conj_i",
        "E[Q_v, L:] is invertible for a Vandermonde-like E on distinct nonzero points",
        "40 drawn sets of points and two chosen ones, partitions; n = 3, d = L = 2",
        (
            invertible(np.array(vandermonde(3, 2, 2, a), dtype=object)[_without(3, 2, 2, p)][:, 2:])
            for a in points
            for p in range(3)
        ),
    )
    yield counted(
        "rem3_conj_ii",
        "the decoding matrix of such an E is invertible for every set of stragglers",
        "the same points, sets of stragglers",
        (
            invertible(np.array(vandermonde(3, 2, 2, a), dtype=object)[rows][:, : len(rows)])
            for a in points
            for s in range(2)
            for F in combinations(range(3), s)
            for rows in [decode_rows(3, 2, 2, F)]
        ),
    )
    sizes = [(n, d, L, s) for n in (6, 9, 12) for d in (2, 3, 4) for L in range(1, 13) for s in range(d)]

    def blocks(n: int, d: int, L: int, s: int) -> list[int]:
        """Rows of each round in the decoding matrix."""
        rows = decode_rows(n, d, L, tuple(range(s)))
        return np.bincount(rows // n).tolist()

    yield counted(
        "app_last_block",
        "the last block of the decoding matrix has n - s - L + r_s (d-s) rows",
        "n = 6, 9, 12, d = 2, 3, 4, L <= 12, s",
        (blocks(n, d, L, s)[-1] == n - s - L + theory.rounds(L, d, s) * (d - s) for n, d, L, s in sizes),
    )
    yield counted(
        "app_last_block_sign",
        "it has n - s + L - r_s (d-s) rows, where that is positive",
        "n = 6, 9, 12, d = 2, 3, 4, L <= 12, s",
        (
            blocks(n, d, L, s)[-1] == n - s + L - theory.rounds(L, d, s) * (d - s)
            for n, d, L, s in sizes
            if n - s + L - theory.rounds(L, d, s) * (d - s) > 0
        ),
    )
    yield counted(
        "app_y_limit",
        "rows over columns of the last block tend to 1 / r_s: less than 1 % away at n = 100000",
        "d = 2, 3, 4, L <= 12, s",
        (
            abs((n - s + L - r * (d - s)) / (L + (n - d) * r) * r - 1) < 0.01
            for n in [100_000]
            for d in (2, 3, 4)
            for L in range(1, 13)
            for s in range(d)
            for r in [theory.rounds(L, d, s)]
        ),
    )
    yield counted(
        "app_uc_ur",
        "every block has at least as many columns as rows",
        "n = 6, 9, 12, d = 2, 3, 4, L <= 12, s, blocks",
        (L + (r + 1) * (n - d) >= rows for n, d, L, s in sizes for r, rows in enumerate(blocks(n, d, L, s))),
    )
    yield counted(
        "app_uc_ur_lcm",
        "every block has at least as many columns as rows, for L = lcm(1..d)",
        "n = 6, 9, 12, d = 2, 3, 4, s, blocks",
        (
            L + (r + 1) * (n - d) >= rows
            for n, d, L, s in sizes
            if lcm(*range(1, d + 1)) == L
            for r, rows in enumerate(blocks(n, d, L, s))
        ),
    )
    matrices = []
    for n, d, L, s in [(8, 3, 6, 0), (8, 3, 6, 1), (8, 3, 6, 2), (8, 2, 2, 1), (10, 3, 6, 2)]:
        for t in range(draws):
            rows = decode_rows(n, d, L, tuple(range(s)))
            A = random_matrix(n, d, L, rng(t, "assignment", n, d, L, s))[rows, : len(rows)]
            matrices.append((A, [A[rows // n == r] for r in range(theory.rounds(L, d, s))]))
    yield counted(
        "app_gram_100",
        "the Gram matrix is the sum of those of the row blocks",
        "drawn decoding matrices",
        (np.allclose(A.T @ A, sum(b.T @ b for b in parts), rtol=0, atol=1e-10) for A, parts in matrices),
    )
    yield counted(
        "app_lmax_101",
        "its largest eigenvalue is at most the sum of theirs",
        "drawn decoding matrices",
        (
            np.linalg.norm(A, 2) ** 2 <= sum(np.linalg.norm(b, 2) ** 2 for b in parts) * (1 + 1e-12)
            for A, parts in matrices
        ),
    )
    yield counted(
        "app_lmin_102",
        "its smallest eigenvalue is at least the smallest of the last block's, which is positive (r_s >= 2)",
        "drawn decoding matrices with two blocks or more",
        (
            0 < np.linalg.eigvalsh(parts[-1].T @ parts[-1])[0] / np.linalg.norm(parts[-1], 2) ** 2 > 1e-12
            for A, parts in matrices
            if len(parts) > 1
        ),
    )
    single = [(n, d, 1, s) for n in (6, 10, 20) for d in (2, 3) for s in range(d)]  # L = 1: r_s = 1
    laws = [_singular_values(*code, 25 * draws) for code in single]
    yield counted(
        "app_markov_103",
        "the bound holds for the law of drawn decoding matrices; r_s = 1, where the last block is not singular",
        "n = 6, 10, 20, d = 2, 3, s, x",
        (
            np.mean(largest / smallest <= x**2)
            >= 1 - (np.log(largest.mean()) - np.log(smallest).mean()) / (2 * np.log(x)) - 1e-12
            for largest, smallest in laws
            for x in (1.5, 5, 20, 100, 1000, 1e5)
        ),
    )
    yield counted(
        "app_final_108",
        "algebra alone: from Lemma 1, (105) and (106)(c) the ratio of the two means is at most 4^(4/3) r_s^2 / "
        "(sqrt(r_s) - 1)^2 (L + r_s (n-d))^(1/3), for r_s >= 2; its power 1/(2 eps) is (108)",
        "n = 20, 200, ..., 2000000, d = 2, 3, 4, L = lcm(1..d), s",
        (
            sum(m ** (1 / 3) * (m - 1.2065) for m in means) * r / ((np.sqrt(r) - 1) ** 2 * N)
            <= 4 ** (4 / 3) * r**2 / (np.sqrt(r) - 1) ** 2 * N ** (1 / 3)
            for n in (20, 200, 2000, 20_000, 200_000, 2_000_000)
            for d in (2, 3, 4)
            for L in [lcm(*range(1, d + 1))]
            for s in range(d)
            for r in [theory.rounds(L, d, s)]
            if r >= 2
            for N in [L + r * (n - d)]
            for means in [[_mu(min(n - s, L + i * (n - d)), L + i * (n - d)) for i in range(1, r + 1)]]
        ),
    )
    yield counted(
        "app_lemma1",
        "E log lambda_min of a Gaussian u x 2u matrix is log(2u) + log(1 - sqrt(1/2))^2, the rest below 0.2",
        "u = 100, 200, mean of draws",
        (
            abs(_log_smallest(u, max(4, draws)) - np.log(2 * u) - 2 * np.log(1 - np.sqrt(0.5))) < 0.2
            for u in (100, 200)
        ),
    )
    yield counted(
        "app_gamma_numbers",
        "46.446 x 0.186054 = 8.6415, and 8.6415 - 9.848 = -1.2065",
        "numbers",
        [abs(46.446 * 0.186054 - 8.6415) < 1e-4, abs(46.446 * 0.186054 - 9.848 + 1.2065) < 1e-4],
    )
    yield counted(
        "app_sigma_105",
        "sigma = sqrt(mu) (1/sqrt(u_r - 1/2) + 1/sqrt(u_c - 1/2))^(1/3) equals mu^(1/3)",
        "(u_r, u_c)",
        (abs(_sigma(a, b) - _mu(a, b) ** (1 / 3)) < 1e-6 for a, b in ((20, 40), (50, 50), (100, 300))),
    )
    yield counted(
        "app_mean_106c",
        "the mean of the largest eigenvalue is sigma (mean of the scaled variable + mu), by Lemma 2 to 20 %",
        "u_r x 2 u_r matrices, mean of draws",
        (
            abs(_mean_largest(u, max(4, draws)) / (_sigma(u, 2 * u) * (-1.2065 + _mu(u, 2 * u))) - 1) < 0.2
            for u in (50, 100)
        ),
    )
    yield counted(
        "app_mean_lemma2",
        "it is sigma x mean of the scaled variable + mu, to 5 %",
        "u_r x 2 u_r matrices, mean of draws",
        (
            abs(_mean_largest(u, max(4, draws)) / (_sigma(u, 2 * u) * -1.2065 + _mu(u, 2 * u)) - 1) < 0.05
            for u in (50, 100)
        ),
    )


def _singular_values(n: int, d: int, L: int, s: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest and smallest eigenvalue of the Gram matrix of drawn decoding matrices, (draws,) each."""
    rows = decode_rows(n, d, L, tuple(range(s)))
    drawn = [
        random_matrix(n, d, L, rng(t, "assignment", n, d, L, s))[rows, : len(rows)] for t in range(draws)
    ]
    values = np.linalg.svd(drawn, compute_uv=False) ** 2
    return values[:, 0], values[:, -1]


def _mu(u_r: int, u_c: int) -> float:
    return (np.sqrt(u_r - 0.5) + np.sqrt(u_c - 0.5)) ** 2


def _sigma(u_r: int, u_c: int) -> float:
    return np.sqrt(_mu(u_r, u_c)) * (1 / np.sqrt(u_r - 0.5) + 1 / np.sqrt(u_c - 0.5)) ** (1 / 3)


def _log_smallest(u: int, draws: int) -> float:
    values = [
        np.linalg.svd(rng(t, "monte_carlo", u).standard_normal((u, 2 * u)), compute_uv=False)[-1]
        for t in range(draws)
    ]
    return float(np.mean(2 * np.log(values)))


def _mean_largest(u: int, draws: int) -> float:
    values = [
        np.linalg.norm(rng(t, "monte_carlo", u, 1).standard_normal((u, 2 * u)), 2) ** 2 for t in range(draws)
    ]
    return float(np.mean(values))
