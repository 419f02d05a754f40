"""Section VI and the proof of Theorem 4: codes in groups."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import Verdict, all_instances, claim
from gcexp.analysis.solving import invertible
from gcexp.codes import adaptive as codes
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.codes.composite import DirectSum
from gcexp.theory import adaptive as theory

from .codes import EXAMPLE_3
from .instances import grouped, own, sizes

_SIZES = [(n, d) for n in range(1, 50) for d in range(1, n + 1)]


def _example_4() -> DirectSum:
    """Seven workers with d = 2 in groups of 2, 2 and 3."""
    pair = codes.Adaptive(n=2, d=2, E=codes.vandermonde(2, 2, 2, [1, 2, 3, 4]))
    return DirectSum([pair, pair, codes.Adaptive(n=3, d=2, E=EXAMPLE_3)])


@claim("ex4_groups")
def groups_of_example_4() -> Verdict:
    """(66) splits seven workers with d = 2 into groups of 2, 2 and 3 that cost 1/2 or 1 each."""
    return all_instances(
        [
            tuple(theory.group_sizes(7, 2)) == (2, 2, 3),
            theory.adaptive_costs(2, 2, 2) == (Fraction(1, 2), 1),
            [q.need for q in _example_4().quorums] == [((1, 2), (2, 1)), ((1, 2), (2, 1)), ((1, 3), (2, 2))],
        ]
    )


@claim("ex4_robust", "thm3_more_robust", "abstract_more_stragglers")
def patterns_of_example_4() -> Verdict:
    """Example 4 decodes every pattern with at most one straggler in each group, and AGC decodes with one at most."""
    groups, plain = _example_4(), codes.Adaptive(7, 2, search_seeds=2)
    patterns = [F for s in range(4) for F in combinations(range(7), s)]

    def decodes(code: DirectSum | codes.Adaptive, silent: tuple[int, ...]) -> bool:
        responses = np.where(np.isin(np.arange(7), silent), 0, code.messages)
        return bool(code.decode([responses], partial=True).exact)

    return all_instances(
        (not spread or decodes(groups, F)) and decodes(plain, F) == (len(F) <= 1)
        for F in patterns
        for spread in [all(sum(a <= w < b for w in F) <= 1 for a, b in [(0, 2), (2, 4), (4, 7)])]
    )


@claim("group_length_68")
def rounds_of_groups() -> Verdict:
    """The slowest group decides how many rounds are sent, by (68): built codes, n <= 7, d <= 3, every (s_j)."""
    return all_instances(
        max(
            min(r for r, q in quorum.need if q <= len(quorum.workers) - x)
            for quorum, x in zip(code.quorums, s, strict=True)
        )
        * 2
        == theory.group_length(code.blocks, d, s, 2 * code.blocks)
        for n, d in _SIZES
        if n <= 7 and d <= 3
        for s in product(range(d), repeat=len(theory.group_sizes(n, d)))
        for code in [grouped(n, d)]
    )


@claim("group_sum_69")
def sums_of_groups_add_up() -> Verdict:
    """The sums of the groups add up to the gradient, each partition on d workers: built codes, n <= 7, d <= 3."""
    return all_instances(
        grouped(n, d).decode([grouped(n, d).messages]).exact and (grouped(n, d).assignment.sum(0) == d).all()
        for n, d in _SIZES
        if n <= 7 and d <= 3
    )


@claim("group_e_vandermonde")
def vandermonde_rows_are_independent() -> Verdict:
    """Any L rows of a Vandermonde E on d L distinct points are independent: d = 2, 3 and L <= 3, every set."""
    return all_instances(
        invertible(np.array([[a**k for k in range(L)] for a in rows], dtype=object))
        for d in (2, 3)
        for L in (1, 2, 3)
        for rows in combinations(range(1, d * L + 1), L)
    )


# --- G-CGC -----------------------------------------------------------------------------------------------------


@claim("rem5_gcgc_any_n")
def grouped_cgc_for_any_load() -> Verdict:
    """G-CGC is built and decodes for every n <= 8, d <= n and m <= d, with the most stragglers in every group."""
    return all_instances(
        [len(q.workers) for q in code.quorums] == _groups(n, d)
        and code.decode([[int(w not in silent) for w in range(n)]], partial=True).exact
        for n in range(1, 9)
        for d in range(1, n + 1)
        for m in range(1, d + 1)
        for code in [codes.GroupedCGC(n, d, m)]
        for silent in [[w for q in code.quorums for w in q.workers[: d - m]]]
    )


@lru_cache
def _response_sets(n: int, d: int, m: int) -> np.ndarray:
    """Which of the 2^n sets of workers decode from messages of length 1/m of an own cyclic code, boolean."""
    B = own(n, d, m)[0]
    there = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return engine.spans(B * there[:, :, None], m)


def _grouped_sets(n: int, d: int, m: int) -> np.ndarray:
    """The same for groups: a set decodes if its part in each group does."""
    found, first = np.ones(2**n, dtype=bool), 0
    for size in _groups(n, d):
        mine = (np.arange(2**n) >> first) & (2**size - 1)
        found &= _response_sets(size, d, m)[mine]
        first += size
    return found


def _groups(n: int, d: int) -> list[int]:
    """Group sizes as (66) says: as many of d as there are, what is left joins the last."""
    return [d] * (n // d - 1) + [d + n % d]


@claim("rem5_gcgc_vector")
def grouped_cgc_decodes_more_sets() -> Iterator[bool]:
    """G-CGC decodes every set of workers that CGC does and more, by rank and by the library: n <= 9, d = 2, 3."""
    for n, d in product(range(4, 10), (2, 3)):
        for m in range(1, d) if n >= 2 * d else ():
            alone, groups = _response_sets(n, d, m), _grouped_sets(n, d, m)
            yield (groups >= alone).all() and (groups > alone).any()
            responses = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
            built = codes.GroupedCGC(n, d, m).decode(responses, partial=True)
            yield ((built.coefficients == 1).all(1) == groups).all()


@claim("sec2_kadhe_group", assumed=True)
def small_groups_are_simpler_and_more_stable() -> Verdict:
    """G-CGC has CGC's length and stragglers, a cost order not above it, and weights that enlarge errors less.

    Tried for d <= 4 that divides n <= 12 and m < d; the weights are compared over all sets of d - m stragglers.
    """
    cases = [
        (n, d, m) for n in (4, 6, 8, 9, 10, 12) for d in (2, 3, 4) if n % d == 0 < n - d for m in range(1, d)
    ]
    return all_instances(
        group.length == plain.length
        and min(len(q.workers) - q.need[0][1] for q in group.quorums) == plain.s == d - m
        and theory.decode_cost("g_cgc", n, d, d - m, m) <= theory.decode_cost("cgc", n, d, d - m, m)
        and _noise(group, d - m) < _noise(plain, d - m)
        for n, d, m in cases
        for group, plain in [(codes.GroupedCGC(n, d, m), CommunicationEfficient(n, d, m))]
    )


def _noise(code: codes.GroupedCGC | CommunicationEfficient, s: int) -> float:
    """Largest noise gain of the weights over all sets of s stragglers."""
    responses = [[int(w not in F) for w in range(code.n)] for F in combinations(range(code.n), s)]
    return float(code.decode(responses).noise_gain.max())


# --- Theorem 3 -------------------------------------------------------------------------------------------------


@lru_cache
def _group_lengths(size: int, d: int, w: int) -> tuple[int | None, ...]:
    """Least length of an own code of a group for s = 0, ..., d silent workers."""
    B = own(size, d, w)
    return tuple(engine.rounds_needed(B, s) for s in range(d + 1))


@claim("thm3_iff", "thm3_gagc_optimal")
def lengths_of_groups() -> Iterator[bool]:
    """The least length that decodes s_j silent workers in group j is Theorem 3's: own codes, n <= 8, d, w <= 4."""
    for n, d in sizes(8):
        if d > 4:
            continue
        sizes_of_groups = _groups(n, d)
        vectors = {
            (*sorted(first), last)
            for first in combinations_with_replacement(range(d), len(sizes_of_groups) - 1)
            for last in range(d)
        }
        for w, s in product(range(1, 5), sorted(vectors)):
            q = max(_group_lengths(size, d, w)[x] or 0 for size, x in zip(sizes_of_groups, s, strict=True))
            right = theory.group_length(w, d, s, w) == q and theory.group_feasible(d, s, q, w)
            yield right and (q == 1 or not theory.group_feasible(d, s, q - 1, w))


@claim("thm3_iff")
def too_many_stragglers_in_a_group() -> Verdict:
    """No length decodes with d silent workers in one group: own codes, n <= 8, d <= 4."""
    return all_instances(
        _group_lengths(size, d, 2)[d] is None and not theory.group_feasible(d, [0] * (n // d - 1) + [d], 2, 2)
        for n, d in sizes(8)
        if d <= 4 and n != d
        for size in sorted(set(_groups(n, d)))
    )


# --- Theorem 4 -------------------------------------------------------------------------------------------------


def _survived(n: int, d: int) -> int:
    """Most silent workers with which some pattern decodes all groups from all that own codes send, by rank."""
    return sum(
        max(
            size - len(responses)
            for some in range(1, size + 1)
            for responses in combinations(range(size), some)
            if engine.decodes(own(size, d, 2), 2, responses)
        )
        for size in _groups(n, d)
    )


_GROUPED = [(n, d) for d in (2, 3, 4) for n in range(d, 10)]


@claim("thm4_bound")
def groups_survive_more_than_the_bound() -> Verdict:
    """G-AGC survives more than n - ceil(n/d) - d + 1 stragglers, by rank: 2 <= d <= 4 and n <= 9."""
    return all_instances(
        survived == theory.survivable(n, d)
        and bound == theory.survivable_bound(n, d)
        and survived > bound - d + 1
        for n, d in _GROUPED
        for survived, bound in [(_survived(n, d), n - _smallest_cover(n, d))]
    )


@claim("thm4_bound", reason="For d = 1, which the paper does not exclude, the inequality reads 0 > 0.")
def groups_of_one_survive_more_than_the_bound() -> Verdict:
    """The inequality of Theorem 4 holds for d = 1: n < 50."""
    return all_instances(theory.survivable(n, 1) > theory.survivable_bound(n, 1) for n in range(1, 50))


@claim("thm4_equality")
def groups_reach_the_bound() -> Verdict:
    """G-AGC reaches the bound where d divides n or n - 1: d <= n < 50."""
    return all_instances(
        theory.survivable(n, d) == theory.survivable_bound(n, d)
        for n, d in _SIZES
        if n % d == 0 or (n - 1) % d == 0
    )


@claim("thm4_gagc_total")
def groups_survive_in_all() -> Verdict:
    """G-AGC survives floor(n/d)(d-1) stragglers, short of the bound by lambda - ceil(lambda/d): by rank, n <= 9."""
    return all_instances(
        survived == n // d * (d - 1) == theory.survivable(n, d)
        and theory.survivable_bound(n, d) - survived == rest - -(-rest // d) < d - 1
        for n, d in _GROUPED
        for survived, rest in [(_survived(n, d), n % d)]
    )


def _smallest_cover(n: int, d: int) -> int:
    """Fewest workers that hold everything, of n with d copies and equal loads: each holds the share d / n of it."""
    return next(size for size in range(1, n + 1) if size * d >= n)


@claim("thm4_upper_126")
def no_assignment_beats_the_bound() -> Iterator[bool]:
    """Every assignment of equal loads to n_i <= 5 workers, k <= 6, d <= 4, needs ceil(n_i/d) active workers.

    Some assignment of every (n_i, d) needs no more.
    """

    def cover(held: np.ndarray) -> int:
        """Fewest workers that together hold every partition."""
        return next(
            size
            for size in range(1, len(held) + 1)
            for some in combinations(range(len(held)), size)
            if held[list(some)].any(0).all()
        )

    for n, d in [(1, 1), *((n, d) for n, d in sizes(5) if d <= 4)]:
        found, most = [], theory.survivable_bound(n, d)
        for k in (k for k in range(1, 7) if k * d % n == 0):
            for each in combinations_with_replacement(list(combinations(range(n), d)), k):
                held = np.zeros((n, k), dtype=bool)
                held[np.array(each), np.arange(k)[:, None]] = True
                if (held.sum(1) == k * d // n).all():
                    found.append(n - cover(held))
        yield from (silent <= most for silent in found)
        yield most in found
