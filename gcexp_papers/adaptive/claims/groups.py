"""Section VI and the proof of Theorem 4: codes in groups."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import all_instances, because, claim
from gcexp.analysis.solving import invertible
from gcexp.codes import adaptive as codes
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.codes.composite import DirectSum

from .. import theory
from .codes import EXAMPLE_3
from .instances import grouped, own, rounds_of_own, sizes

#: (n, d) of the groups that are built.
_BUILT = [(1, 1), *(size for size in sizes(7) if size[1] <= 3)]


def _answers(n: int, silent: tuple[int, ...] | list[int]) -> np.ndarray:
    """Which workers answer: all but the silent ones."""
    answers = np.ones(n, dtype=bool)
    answers[list(silent)] = False
    return answers


def _example_4() -> DirectSum:
    """Seven workers with d = 2 in groups of 2, 2 and 3."""
    pair = codes.Adaptive(n=2, d=2, E=codes.vandermonde(2, 2, 2, [1, 2, 3, 4]))
    return DirectSum([pair, pair, codes.Adaptive(n=3, d=2, E=EXAMPLE_3)])


@claim("ex4_groups")
def groups_of_example_4():
    """(66) splits seven workers with d = 2 into groups of 2, 2 and 3 that cost 1/2 or 1 each."""
    yield tuple(theory.group_sizes(7, 2)) == (2, 2, 3)
    yield theory.adaptive_costs(2, 2, 2) == (Fraction(1, 2), 1)
    yield [q.need for q in _example_4().quorums] == [((1, 2), (2, 1)), ((1, 2), (2, 1)), ((1, 3), (2, 2))]


@claim("ex4_robust", "thm3_more_robust", "abstract_more_stragglers")
def patterns_of_example_4():
    """Example 4 decodes every pattern with at most one straggler in each group, and AGC decodes with one at most."""
    groups = _example_4()
    plain = codes.Adaptive(7, 2, search_seeds=2)
    for silent in engine.silent_sets(7, 3):
        answers = _answers(7, silent)
        by_groups = groups.decode([groups.messages * answers], partial=True).exact
        by_plain = plain.decode([plain.messages * answers], partial=True).exact
        silent_in_groups = (~answers[:2]).sum(), (~answers[2:4]).sum(), (~answers[4:]).sum()
        spread = max(silent_in_groups) <= 1
        yield (not spread or by_groups) and by_plain == (len(silent) <= 1)


@claim("group_length_68")
def rounds_of_groups():
    """The slowest group decides how many rounds are sent, by (68): built codes, n <= 7, d <= 3, every (s_j)."""
    for n, d in _BUILT:
        code = grouped(n, d)
        for s in product(range(d), repeat=len(code.quorums)):
            rounds = []
            for quorum, silent in zip(code.quorums, s, strict=True):
                answering = len(quorum.workers) - silent
                enough = [r for r, q in quorum.need if q <= answering]
                rounds.append(min(enough))
            yield 2 * max(rounds) == theory.group_length(code.blocks, d, s, 2 * code.blocks)


@claim("group_sum_69")
def sums_of_groups_add_up():
    """The sums of the groups add up to the gradient, each partition on d workers: built codes, n <= 7, d <= 3."""
    for n, d in _BUILT:
        code = grouped(n, d)
        yield code.decode([code.messages]).exact and (code.assignment.sum(0) == d).all()


@claim("group_e_vandermonde")
def vandermonde_rows_are_independent():
    """Any L rows of a Vandermonde E on d L distinct points are independent: d = 2, 3 and L <= 3, every set."""
    for d, L in product((2, 3), (1, 2, 3)):
        for rows in combinations(range(1, d * L + 1), L):
            yield invertible(np.vander(np.array(rows, dtype=object), L, increasing=True))


# --- G-CGC -----------------------------------------------------------------------------------------------------


@claim("rem5_gcgc_any_n")
def grouped_cgc_for_any_load():
    """G-CGC is built and decodes for every n <= 8, d <= n and m <= d, with the most stragglers in every group."""
    for n, d in [(1, 1), *sizes(8)]:
        for m in range(1, d + 1):
            code = codes.GroupedCGC(n, d, m)
            silent: list[int] = []
            for quorum in code.quorums:
                silent += quorum.workers[: d - m]
            right = [len(q.workers) for q in code.quorums] == _groups(n, d)
            yield right and code.decode([_answers(n, silent)], partial=True).exact


@cache
def _response_sets(n: int, d: int, m: int) -> np.ndarray:
    """Which of the 2^n sets of workers decode from messages of length 1/m of an own cyclic code, boolean."""
    return engine.spans(own(n, d, m)[0] * _all_responses(n)[:, :, None], m)


def _all_responses(n: int) -> np.ndarray:
    """Set number i has the workers that are bits of i, (2^n, n)."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def _grouped_sets(n: int, d: int, m: int) -> np.ndarray:
    """The same for groups: a set decodes if its part in each group does."""
    found, first = np.ones(2**n, dtype=bool), 0
    for size in _groups(n, d):
        found &= _response_sets(size, d, m)[(np.arange(2**n) >> first) & (2**size - 1)]
        first += size
    return found


def _groups(n: int, d: int) -> list[int]:
    """Group sizes as (66) says: as many of d as there are, what is left joins the last."""
    return [d] * (n // d - 1) + [d + n % d]


@claim("rem5_gcgc_vector")
def grouped_cgc_decodes_more_sets():
    """G-CGC decodes every set of workers that CGC does and more, by rank and by the library: n <= 9, d = 2, 3."""
    for n, d in product(range(4, 10), (2, 3)):
        if n < 2 * d:
            continue
        for m in range(1, d):
            alone = _response_sets(n, d, m)
            groups = _grouped_sets(n, d, m)
            yield (groups >= alone).all() and (groups > alone).any()
            built = codes.GroupedCGC(n, d, m).decode(_all_responses(n), partial=True)
            yield ((built.coefficients == 1).all(1) == groups).all()


@claim("sec2_kadhe_group", assumed=True)
def small_groups_are_simpler_and_more_stable():
    """G-CGC has CGC's length and stragglers, a cost order not above it, and weights that enlarge errors less."""
    for n, d in product((4, 6, 8, 9, 10, 12), (2, 3, 4)):
        if n % d != 0 or n == d:
            continue
        for m in range(1, d):
            s = d - m
            group = codes.GroupedCGC(n, d, m)
            plain = CommunicationEfficient(n, d, m)
            survived = min(len(quorum.workers) - quorum.need[0][1] for quorum in group.quorums)
            cost = theory.decode_cost("g_cgc", n, d, s, m)
            plain_cost = theory.decode_cost("cgc", n, d, s, m)
            responses = [_answers(n, silent) for silent in combinations(range(n), s)]
            noise = group.decode(responses).noise_gain.max()
            plain_noise = plain.decode(responses).noise_gain.max()
            same = group.length == plain.length and survived == plain.s == s
            yield same and cost <= plain_cost and noise < plain_noise


# --- Theorem 3 -------------------------------------------------------------------------------------------------


@claim("thm3_iff", "thm3_gagc_optimal")
def lengths_of_groups():
    """The least length that decodes s_j silent workers in group j is Theorem 3's, and with d of them there is none."""
    for n, d in sizes(8):
        if d > 4:
            continue
        groups = _groups(n, d)
        others = combinations_with_replacement(range(d), len(groups) - 1)
        for w, first, last in product(range(1, 5), [*others], range(d)):
            s = (*first, last)
            lengths = [rounds_of_own(size, d, w, silent) or 0 for size, silent in zip(groups, s, strict=True)]
            q = max(lengths)
            right = theory.group_length(w, d, s, w) == q and theory.group_feasible(d, s, q, w)
            if q > 1:
                right = right and not theory.group_feasible(d, s, q - 1, w)
            yield "thm3_iff", right
            yield "thm3_gagc_optimal", right
        if n != d:
            feasible = theory.group_feasible(d, [0] * (n // d - 1) + [d], 2, 2)
            for size in set(groups):
                yield "thm3_iff", rounds_of_own(size, d, 2, d) is None and not feasible


# --- Theorem 4 -------------------------------------------------------------------------------------------------


def _survived(n: int, d: int) -> int:
    """Most silent workers with which some pattern decodes all groups from all that own codes send, by rank."""
    total = 0
    for size in _groups(n, d):
        most = 0
        for silent in engine.silent_sets(size, size - 1):
            heard = np.flatnonzero(_answers(size, silent)).tolist()
            if engine.decodes(own(size, d, 2), 2, heard):
                most = max(most, len(silent))
        total += most
    return total


@claim("thm4_bound", "thm4_gagc_total")
def groups_survive_more_than_the_bound():
    """By rank G-AGC survives floor(n/d)(d-1) stragglers, which is more than n - ceil(n/d) - d + 1."""
    for n, d in product(range(2, 10), (2, 3, 4)):
        if n >= d:
            # Of n workers with d copies and equal loads each holds the share d / n.
            survived = _survived(n, d)
            cover = -(-n // d)
            total = survived == theory.survivable(n, d)
            bound = theory.survivable_bound(n, d)
            yield "thm4_bound", total and n - cover == bound and survived > n - cover - d + 1
            short = bound - survived == n % d - -(-(n % d) // d) < d - 1
            yield "thm4_gagc_total", total and survived == n // d * (d - 1) and short


@claim("thm4_bound")
def groups_of_one_survive_none_and_so_does_the_bound():
    """For d = 1 both sides of the inequality are 0, whatever n < 50: nothing can be survived, by any groups."""
    sides = [(theory.survivable(n, 1), theory.survivable_bound(n, 1)) for n in range(1, 50)]
    remark = (
        "It fails only for d = 1, which the paper does not exclude and where nothing can be survived: there it reads "
        "0 > 0."
    )
    return because(all_instances(pair == (0, 0) for pair in sides), remark)


@claim("thm4_equality")
def groups_reach_the_bound():
    """G-AGC reaches the bound where d divides n or n - 1: d <= n < 50."""
    for n, d in [(1, 1), *sizes(49)]:
        if n % d == 0 or (n - 1) % d == 0:
            yield theory.survivable(n, d) == theory.survivable_bound(n, d)


@claim("thm4_upper_126")
def no_assignment_beats_the_bound():
    """Every assignment of equal loads to n_i workers needs ceil(n_i/d) active ones, and some needs no more."""

    def survived(held: np.ndarray) -> np.ndarray:
        """Most silent workers without whom the others can hold every partition, of storages (..., n, k)."""
        n = held.shape[1]
        most = np.zeros(len(held), dtype=int)
        for s in range(n):
            left = np.array(engine.survivors(n, s))
            everything_is_held = held[:, left].any(2).all(2)  # (storages, sets of survivors)
            most[everything_is_held.any(1)] = s
        return most

    for n, d in [(1, 1), *sizes(5)]:
        found: list[int] = []
        most = theory.survivable_bound(n, d)
        for k in range(1, 7):
            if k * d % n != 0 or d > 4:
                continue
            held = engine.loads(k, n, d).swapaxes(1, 2)  # each partition on d workers
            equal_loads = (held.sum(2) == k * d // n).all(1)
            found += survived(held[equal_loads]).tolist()
        for silent in found:
            yield silent <= most
        if found:
            yield most in found
