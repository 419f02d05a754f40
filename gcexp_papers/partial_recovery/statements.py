"""What Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) state and no figure shows, instance by instance.

Everything is enumerated or computed exactly on small instances with this library's codes, but for sample
paths of the delay model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb, exp, gcd, log, sqrt

import numpy as np
import pandas as pd

from gcexp.analysis.checks import COLUMNS, Check, check, checks, tabulated
from gcexp.analysis.declared import gives
from gcexp.codes.base import Code
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.naive_partial import NaivePartial
from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.repetition import EpsilonFractionalRepetition, FractionalRepetition
from gcexp.codes.subset_designs import (
    DESIGNS,
    Combinatorial,
    CoPrime,
    Intermediate,
    TDesign,
    co_prime_classes,
    intermediate_holders,
)
from gcexp.codes.uncoded import Uncoded
from gcexp.decoding_error.straggler_sets import all_sets
from gcexp.delays.distributions import Pareto
from gcexp.theory import order_statistics
from gcexp.theory import partial_recovery as theory

from . import theory as searches
from .network import network
from .numerics import recovered_partitions

Checks = Iterator[tuple[str, bool | np.bool]]
_EULER = 0.5772156649015329


MODULES = (__name__, f"{__package__}.enumerations")


@gives(*COLUMNS, checks=MODULES)
def statements(cyclic_up_to: int, subsets_up_to: int, loads_up_to: int) -> pd.DataFrame:
    """Every statement that no figure shows, with the number of instances and in how many it holds.

    Parameters
    ----------
    cyclic_up_to : int
        Largest n for cyclic schemes, decoded for all straggler sets.
    subsets_up_to : int
        Largest n for the schemes of Theorems 2, 3 and 10, built and decoded.
    loads_up_to : int
        Largest n for bounds and counts.

    Returns
    -------
    DataFrame
        ``id, what, instances, tried, held, share``.

    Raises
    ------
    ParameterError
        If a check has no instance to try.
    """
    return tabulated(
        *MODULES, cyclic_up_to=cyclic_up_to, subsets_up_to=subsets_up_to, loads_up_to=loads_up_to
    )


def _pairs(up_to: int, least: int = 1) -> Iterator[tuple[int, int]]:
    """(n, s) with s < n <= up_to."""
    return ((n, s) for n in range(least, up_to + 1) for s in range(n))


def _triples(up_to: int) -> Iterator[tuple[int, int, int]]:
    """(n, s, beta) with n - s <= beta <= n <= up_to."""
    return ((n, s, beta) for n, s in _pairs(up_to) for beta in range(n - s, n + 1))


# --- Section I and III: full recovery and the lower bound ---------------------------------------------------


@checks(
    Check(
        id="background_full_recovery_bound",
        what="cyclic repetition has load (s+1)/n, every set decoded",
        over="n <= 9, s",
        grade="built",
        rests_on=("gcexp.codes.cyclic:CyclicRepetition", "gcexp.codes.repetition:FractionalRepetition"),
    ),
    Check(
        id="fractional_repetition_load",
        what="fractional repetition has load (s+1)/n",
        over="n <= 9, s",
        grade="built",
        rests_on=("gcexp.codes.cyclic:CyclicRepetition", "gcexp.codes.repetition:FractionalRepetition"),
        answers=("background_full_recovery_bound",),
    ),
    Check(
        id="cyclic_optimal_full_recovery",
        what="cyclic repetition reaches the bound at α = 1",
        over="n <= 9, s",
        grade="built",
        rests_on=("gcexp.codes.cyclic:CyclicRepetition", "gcexp.codes.repetition:FractionalRepetition"),
    ),
    Check(
        id="discussion_full_recovery_both_minima",
        what="least load with one message at α = 1",
        over="n <= 9, s",
        grade="built",
        rests_on=("gcexp.codes.cyclic:CyclicRepetition", "gcexp.codes.repetition:FractionalRepetition"),
    ),
    Check(
        id="tradeoff_unlike_full_recovery",
        what="least load with one message",
        over="α = 1",
        grade="built",
        rests_on=("gcexp.codes.cyclic:CyclicRepetition", "gcexp.codes.repetition:FractionalRepetition"),
    ),
)
def _full_recovery(cyclic_up_to: int) -> Checks:
    for n, s in _pairs(cyclic_up_to):
        code, bound = CyclicRepetition(n, s), theory.lower_bound(n, s, 1)
        full = (recovered_partitions(code, s) == n).all()
        least = full and Fraction(int(code.load.max()), code.k) == Fraction(s + 1, n) == bound
        both = least and code.messages.max() == 1
        yield "background_full_recovery_bound", least
        if n % (s + 1) == 0:
            groups = FractionalRepetition(n, s + 1)
            full = (recovered_partitions(groups, s) == n).all()
            reached = full and Fraction(int(groups.load.max()), groups.k) == bound
            yield "fractional_repetition_load", reached
        yield "cyclic_optimal_full_recovery", least
        yield "discussion_full_recovery_both_minima", both
        yield "tradeoff_unlike_full_recovery", both


@checks(
    Check(
        id="theorem1_alpha_1",
        what="Theorem 1 at α = 1 is (s+1)/n",
        over="n <= 12, s",
        grade="formula",
        rests_on=("gcexp.theory.partial_recovery:lower_bound",),
    ),
    Check(
        id="abstract_two_optimal_schemes",
        what="Theorem 2 meets Theorem 1 at α = 1 - ρ_y",
        over="n <= 12, s",
        grade="formula",
        rests_on=(
            "gcexp.theory.partial_recovery:lower_bound",
            "gcexp.theory.partial_recovery:combinatorial",
        ),
    ),
)
def _bound(loads_up_to: int) -> Checks:
    for n, s in _pairs(loads_up_to):
        at_one = theory.lower_bound(n, s, 1)
        yield "theorem1_alpha_1", at_one == Fraction(s + 1, n)
        for y in range(1, s + 1):
            alpha = 1 - theory.rho(n, s, y)
            meets = theory.lower_bound(n, s, alpha) == theory.combinatorial(n, y).load
            yield "abstract_two_optimal_schemes", meets


@checks(
    Check(
        id="theorem1",
        what="load at least the bound for what is seen",
        over="every assignment, n ≤ 4",
        grade="enumerated",
        rests_on=("gcexp.theory.partial_recovery:choose", "gcexp.theory.partial_recovery:lower_bound"),
    ),
    Check(
        id="lemma1",
        what="Σ C(n - n_j, s - n_j) ≤ (1 - α) k C(n, s)",
        over="every assignment, n ≤ 4",
        grade="enumerated",
        rests_on=("gcexp.theory.partial_recovery:choose",),
    ),
    Check(
        id="theorem1_copies", what="n l is the mean number of copies", over="equal loads", grade="definition"
    ),
)
def _assignments() -> Checks:
    """Every assignment of k partitions to n workers in which each is held; what nobody heard holds is lost."""
    for n, k in ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 2)):
        cells = np.arange(2 ** (n * k))[:, None] >> np.arange(n * k) & 1
        held = cells.reshape(-1, n, k).astype(bool)
        held = held[np.all(held.any(1), axis=1)]
        load, copies = held.sum(2).max(1), held.sum(1)
        for s in range(n):
            seen = np.stack(
                [held[:, list(left)].any(1).sum(1) for left in combinations(range(n), n - s)], axis=1
            )
            hidden = np.array([theory.choose(n - c, s - c) for c in range(n + 1)])[copies].sum(1)
            for most, worst, lost in zip(load, seen.min(1), hidden, strict=True):
                alpha = Fraction(int(worst), k)
                right = alpha == 0 or Fraction(int(most), k) >= theory.lower_bound(n, s, alpha)
                yield "theorem1", right
                counted = Fraction(int(lost), k * comb(n, s)) <= 1 - alpha
                yield "lemma1", counted
        equal = (held.sum(2) == load[:, None]).all(1)
        for most, each in zip(load[equal], copies[equal], strict=True):
            mean = n * Fraction(int(most), k) == Fraction(int(each.sum()), k)
            yield "theorem1_copies", mean


@checks(
    Check(
        id="claim1",
        what="least where the copies differ by one at most",
        over="n ≤ 8, k ≤ 4",
        grade="enumerated",
        rests_on=("gcexp.theory.partial_recovery:convex_bound",),
    ),
)
def _balance(loads_up_to: int) -> Checks:
    for n, s in _pairs(min(loads_up_to, 8)):
        for k in (1, 2, 3, 4):
            least: dict[int, int] = {}
            for copies in combinations_with_replacement(range(1, n + 1), k):
                hidden = sum(theory.choose(n - c, s - c) for c in copies)
                least[sum(copies)] = min(hidden, least.get(sum(copies), hidden))
            for total, fewest in least.items():
                even = [total // k + (j < total % k) for j in range(k)]
                right = fewest == sum(theory.choose(n - c, s - c) for c in even)
                right &= fewest == theory.convex_bound(total, k, n, s)
                yield "claim1", right


# --- Section II and IV: linear schemes, subsets, designs ----------------------------------------------------


def _built(up_to: int) -> Iterator[tuple[Code, int, int]]:
    """Codes with their stragglers and the partitions that they promise."""
    for n, s, beta in _triples(up_to):
        p = theory.cyclic_load(n, s, beta)
        if beta % p == 0:
            yield CyclicPartialRecovery(n, s, beta), s, beta
        elif p * -(-beta // p) <= n:
            yield CyclicTwoMessage(n, s, beta), s, beta
    for n, s in _pairs(up_to):
        for y in range(1, n + 1):
            for code in (
                Combinatorial(n, s, y),
                *((CoPrime(n, s, y),) if gcd(n, y) == 1 else ()),
                *(Intermediate(n, s, x, y) for x in range(1, y + 1)),
            ):
                yield code, s, code.recovers


@checks(
    Check(
        id="definition_linear_condition",
        what="a 0/1 vector with enough ones is in the span of every n - s workers' rows",
        over="codes with n <= 5",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
        inputs="assumed",
    ),
)
def _linear(subsets_up_to: int) -> Checks:
    for code, s, promised in _built(min(subsets_up_to, 5)):
        rows = code.encoding.toarray()
        right = True
        for responses in all_sets(code.n, s):
            for mask, vector in zip(
                responses, code.decode(responses * code.messages, partial=True).coefficients, strict=True
            ):
                mine = rows[np.asarray(mask, dtype=bool)[code.owner]]
                ones = set(np.unique(vector)) <= {0.0, 1.0} and vector.sum() >= promised
                right &= bool(ones) and searches.spans(mine, vector)
        yield "definition_linear_condition", right


@checks(
    Check(
        id="theorem2",
        what="k = C(n,y), m = C(n-1,y-1), l = y/n",
        over="built",
        grade="built",
        rests_on=("gcexp.theory.partial_recovery:combinatorial",),
    ),
    Check(
        id="theorem3",
        what="k and l of Theorem 2, m = C(n-1,y-1) - C(n,y)/n + 1",
        over="built",
        grade="built",
        rests_on=("gcexp.codes.subset_designs:co_prime_classes",),
    ),
    Check(
        id="theorem10",
        what="load y/n, k = n C(n-y+x-1, x-1) / gcd(x, y)",
        over="built",
        grade="built",
        rests_on=("gcexp.theory.partial_recovery:intermediate",),
    ),
    Check(
        id="theorem10_communication",
        what="m is the number of partitions held",
        over="built",
        grade="definition",
    ),
    Check(
        id="theorem10_number_of_lists",
        what="as many partitions as lists, each worker first equally often",
        over="n <= 6",
        grade="built",
        rests_on=("gcexp.codes.subset_designs:intermediate_holders",),
    ),
    Check(
        id="theorem10_merging",
        what="gcd(x, y) lists are one partition, loads stay equal",
        over="n <= 6",
        grade="built",
        rests_on=("gcexp.codes.subset_designs:intermediate_holders",),
    ),
    Check(
        id="theorem10_worst_case",
        what="no straggler set hides more than s consecutive ones",
        over="n <= 6",
        grade="enumerated",
        rests_on=("gcexp.codes.subset_designs:intermediate_holders",),
    ),
)
def _subsets(subsets_up_to: int) -> Checks:
    for n in range(1, subsets_up_to + 1):
        for y in range(1, n + 1):
            code, cost = Combinatorial(n, 0, y), theory.combinatorial(n, y)
            right = (code.k, set(code.messages), set(code.load)) == (comb(n, y), {cost.m}, {cost.m})
            yield "theorem2", right and cost.m * n == y * code.k
            if gcd(n, y) == 1:
                fewer = CoPrime(n, 0, y)
                m = comb(n - 1, y - 1) - comb(n, y) // n + 1
                right = set(fewer.messages) == {m} and (fewer.k, set(fewer.load)) == (code.k, set(code.load))
                yield "theorem3", right
            for x in range(1, y + 1):
                runs = Intermediate(n, 0, x, y)
                held = [len(set(block)) for block in runs.holders]
                cost = theory.intermediate(n, x, y)
                right = runs.k == cost.k and set(held) == {y}
                yield "theorem10", right
                alone = set(runs.messages) == {cost.m} and set(runs.load) == {cost.m}
                yield "theorem10_communication", alone
                if gcd(x, y) == 1:
                    lists = n * comb(n - y + x - 1, x - 1)
                    first = np.bincount([starts[0] for starts in _lists(n, x, y)], minlength=n)
                    right = lists == runs.k and set(first) == {lists // n}
                    yield "theorem10_number_of_lists", right
                else:
                    merged = len(_lists(n, x, y)) == gcd(x, y) * runs.k and len(set(runs.load)) == 1
                    yield "theorem10_merging", merged
                for s in range(n):
                    gone = [
                        sum(set(block) <= set(left) for block in runs.holders)
                        for left in combinations(range(n), s)
                    ]
                    run = sum(set(block) <= set(range(s)) for block in runs.holders)
                    yield "theorem10_worst_case", max(gone) == run


def _lists(n: int, x: int, y: int) -> list[tuple[int, ...]]:
    """All lists of first workers of x runs of the given lengths that fit around the circle, before any merging."""
    g = gcd(x, y)
    period, total = x // g, y // g
    lengths = [(j + 1) * total // period - j * total // period for j in range(period)] * g
    found = []
    for first in range(n):
        for rest in combinations(range(1, n), x - 1):
            steps = np.diff([0, *rest, n])
            if (steps >= lengths).all():
                found.append(tuple((first + d) % n for d in (0, *rest)))
    return found


@checks(
    Check(
        id="theorem3_balanced_choice",
        what="every worker is chosen equally often, among what it holds",
        over="n <= 11, y",
        grade="built",
        rests_on=("gcexp.codes.subset_designs:co_prime_classes",),
    ),
    Check(
        id="appendix_b_disjoint_sets",
        what="shifted families are disjoint and make all y-subsets",
        over="n <= 11, y",
        grade="built",
        rests_on=("gcexp.codes.subset_designs:co_prime_classes",),
    ),
    Check(
        id="theorem3_slightly_fewer_messages",
        what="fewer messages where C(n,y) > n, same load",
        over="n <= 11, y",
        grade="formula",
        rests_on=("gcexp.theory.partial_recovery:co_prime",),
    ),
)
def _balanced_choice(loads_up_to: int) -> Checks:
    for n in range(2, min(loads_up_to, 11) + 1):
        for y in range(1, n):
            if gcd(n, y) != 1:
                continue
            classes = [
                {tuple(sorted((w + i) % n for w in T)) for T in co_prime_classes(n, y)} for i in range(n)
            ]
            together = set().union(*classes)
            disjoint = sum(map(len, classes)) == len(together) == comb(n, y)
            equal = len(set(map(len, classes))) == 1
            mine = all(i in T for i, one in enumerate(classes) for T in one)
            yield "theorem3_balanced_choice", equal and mine
            yield "appendix_b_disjoint_sets", disjoint and equal and mine
            fewer, all_single = theory.co_prime(n, y), theory.combinatorial(n, y)
            strictly = fewer.m < all_single.m if comb(n, y) > n else fewer.m == all_single.m
            yield "theorem3_slightly_fewer_messages", strictly and fewer.load == all_single.load


def _index(blocks: Iterable[Collection[int]], n: int, t: int) -> set[int]:
    """In how many blocks the t-subsets of n points lie."""
    return {sum(set(T) <= set(block) for block in blocks) for T in combinations(range(n), t)}


@checks(
    Check(
        id="design_parameters",
        what="number of blocks from n, t, block size and index",
        over="four designs",
        grade="enumerated",
        rests_on=("gcexp.codes.subset_designs:hadamard_blocks",),
    ),
    Check(
        id="design_lower_t",
        what="an i-design for every i ≤ t, with its index",
        over="four designs",
        grade="enumerated",
        rests_on=("gcexp.theory.partial_recovery:lower_index",),
    ),
    Check(
        id="design_complement",
        what="the complements are a t-design",
        over="four designs",
        grade="enumerated",
        rests_on=("gcexp.theory.partial_recovery:complement_index",),
    ),
    Check(
        id="designs_same_load_lower_communication",
        what="load of Theorem 2, fewer messages",
        over="four designs",
        grade="built",
        rests_on=("gcexp.codes.subset_designs:hadamard_blocks",),
    ),
)
def _designs() -> Checks:
    for name, build in DESIGNS.items():
        blocks, t = build(), 2 if name == "fano" else 3
        n, size = max(map(max, blocks)) + 1, len(blocks[0])
        (top,) = _index(blocks, n, t)
        count = Fraction(top * comb(n, t), comb(size, t))
        yield "design_parameters", count == len(blocks)
        for i in range(t + 1):
            right = _index(blocks, n, i) == {theory.lower_index(n, t, size, top, i)}
            yield "design_lower_t", right
        others = [set(range(n)) - set(block) for block in blocks]
        right = _index(others, n, t) == {theory.complement_index(n, t, size, top)}
        yield "design_complement", right
        one = TDesign(name, t, n - t)
        fewer = one.messages.max() < theory.combinatorial(n, size).m and set(map(len, one.holders)) == {size}
        yield "designs_same_load_lower_communication", fewer


# --- Section V and appendices C, D: cyclic schemes ----------------------------------------------------------


@checks(
    Check(
        id="theorem5_disjoint_workers",
        what="β/p survivors with disjoint arcs",
        over="every set",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
    Check(
        id="appendix_c_disjoint_choice",
        what="Algorithm 1 completes its choice",
        over="every set",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
    Check(
        id="theorem8_even_cyclic",
        what="load 2/n, one message, every set",
        over="β = n - s + 1 even",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
    Check(
        id="appendix_d_recovery",
        what="⌊β/p⌋ full sums and one short one, disjoint",
        over="every set",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
    Check(
        id="section6_tradeoff",
        what="load 2/n with two messages",
        over="β = n - s + 1 odd",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
    Check(
        id="two_messages_below_full_recovery",
        what="two messages do with p partitions what one cannot",
        over="α < 1",
        grade="built",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
        answers=("tradeoff_unlike_full_recovery",),
    ),
    Check(
        id="theorem6_smaller_load",
        what="n - s in a row see fewer than β",
        over="p - 1 partitions",
        grade="enumerated",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
    Check(
        id="theorem6_equal_coefficients",
        what="the coefficients of a worker must be equal",
        over="n <= 9, s, β",
        grade="enumerated",
        rests_on=(
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
            "gcexp.codes.partial_recovery:CyclicTwoMessage",
        ),
    ),
)
def _cyclic(cyclic_up_to: int) -> Checks:
    for n, s, beta in _triples(cyclic_up_to):
        p = theory.cyclic_load(n, s, beta)
        if beta % p == 0:
            code = CyclicPartialRecovery(n, s, beta, "exact")
            disjoint = True
            for responses in all_sets(n, s):
                found = code.decode(responses)
                used = np.asarray(found.weights).reshape(len(responses), -1)
                disjoint &= bool(((used == 0) | (used == 1)).all() and (used.sum(1) == beta // p).all())
                disjoint &= bool(
                    (found.coefficients.sum(1) == beta).all() and (found.coefficients <= 1).all()
                )
            yield "theorem5_disjoint_workers", disjoint
            longer = CyclicPartialRecovery(n, s, beta, "appendix")
            full = all(
                (longer.decode(responses).coefficients.sum(1) == beta).all() for responses in all_sets(n, s)
            )
            yield "appendix_c_disjoint_choice", full
            if beta == n - s + 1 and beta % 2 == 0:
                even = code.load.max() == 2 and disjoint
                yield "theorem8_even_cyclic", even
        elif p * -(-beta // p) <= n:
            code, right = CyclicTwoMessage(n, s, beta), True
            for responses in all_sets(n, s):
                found = code.decode(2 * responses)
                used = np.asarray(found.weights).reshape(len(responses), n, 2).sum(1)
                right &= bool((used == [beta // p, 1]).all() and (found.coefficients.max(1) == 1).all())
                right &= bool((found.coefficients.sum(1) == beta).all())
            yield "appendix_d_recovery", right
            if beta == n - s + 1:
                both = right and code.load.max() == 2 and code.messages.max() == 2
                yield "section6_tradeoff", both
            if beta < n and n <= 9:
                excluded = searches.cyclic_impossible(n, s, beta)
                yield "two_messages_below_full_recovery", excluded and right
    for n, s, beta in _triples(cyclic_up_to):
        p = theory.cyclic_load(n, s, beta)
        arcs = (np.arange(n)[None] - np.arange(n)[:, None]) % n
        seen = (arcs[: n - s] < p - 1).any(0).sum()
        if p > 1:
            yield "theorem6_smaller_load", seen < beta
        if beta % p and beta < n and n <= 9:
            equal = searches.forced_equal(arcs < p, s, beta, worker=0) == [set(range(p))]
            yield "theorem6_equal_coefficients", equal


@checks(
    Check(
        id="example5",
        what="15, 13, 12 searched, 14 taken beside the group of 12, 15 gradients",
        over="the example",
        grade="built",
        rests_on=("gcexp.codes.partial_recovery:_appendix",),
    ),
    Check(
        id="example6",
        what="14, 13, 8 searched, two more survivors, 15 gradients",
        over="the example",
        grade="built",
        rests_on=("gcexp.codes.partial_recovery:_plain_sums",),
    ),
    Check(
        id="example1_y",
        what="the least y is 2",
        over="n = 5, s = 3, 2/5 < α ≤ 7/10 in thousandths",
        grade="formula",
        rests_on=("gcexp.theory.partial_recovery:minimal_y",),
        inputs="assumed",
        calibrated={"date": "2026-11-22", "what": "s and α; others: least_y_of_neighbours"},
    ),
)
def _examples() -> Checks:
    code = CyclicPartialRecovery(n=18, s=7, beta=15, decoder="appendix")

    def chosen(*stragglers: int) -> list[int]:
        responses = ~np.isin(np.arange(1, 19), stragglers)[None]
        found = code.decode(responses, partial=True)
        workers = np.flatnonzero(np.asarray(found.weights).reshape(-1)) + 1
        return workers.tolist() if found.coefficients.sum() == 15 else []

    for others in product((5, 10), (3, 8), (1, 6, 11), (4, 9)):
        used = chosen(15, 13, 12, *others)
        right = 14 in used and all((w - 12) % 5 == 0 for w in used if w != 14)
        yield "example5", right
    for others in product((1, 6), (2, 7)):
        used = chosen(14, 13, 8, 4, 5, *others)
        yield "example6", len(used) == 3
    for thousandths in range(401, 701):
        least = theory.minimal_y(5, 3, Fraction(thousandths, 1000))
        yield "example1_y", least == 2


@check(
    over="Example 1 (5, 3, 7/10) and Table 4 (7, 4, 5/7), (9, 5, 6/9); s or α one step less and more",
    kind="companion",
    source="Example 1, Table 4 (the neighbours of the s and α chosen)",
    inputs="assumed",
    contradicts=(),
    rests_on=("gcexp.theory.partial_recovery:minimal_y",),
    reason="with one straggler or one step of α more y is 3 or 4, and the messages are not those of Table 4: "
    "what is printed bounds s and α from above, not from below",
)
def least_y_of_neighbours() -> Iterable[bool]:
    """The least y stays 2, and so the pairs of Example 1 and the messages of Table 4, beside the s and α chosen."""
    chosen = ((5, 3, Fraction(7, 10), Fraction(1, 10)), (7, 4, Fraction(5, 7), Fraction(1, 7)))
    for n, s, alpha, step in (*chosen, (9, 5, Fraction(6, 9), Fraction(1, 9))):
        for stragglers, share in ((s - 1, alpha), (s + 1, alpha), (s, alpha - step), (s, alpha + step)):
            yield theory.minimal_y(n, stragglers, share) == 2


# --- Section VI and appendices E, F: one message, k = n -----------------------------------------------------


@checks(
    Check(
        id="lemma2_bound",
        what="at most n - s of n",
        over="load 1/n, every assignment, n ≤ 5",
        grade="definition",
        answers=("lemma2_bound", "contribution_low_load_bound"),
    ),
    Check(
        id="theorem8_even_bound",
        what="load 1/n never suffices, n ≤ 5",
        over="β = n - s + 1 even",
        grade="definition",
    ),
    Check(
        id="lemma2_scheme",
        what="a partition each recovers n - s with one message",
        over="n <= 5",
        grade="built",
        rests_on=("gcexp.codes.uncoded:Uncoded",),
    ),
)
def _load_of_one() -> Checks:
    for n in range(1, 6):
        for held in product(range(n), repeat=n):
            for s in range(n):
                seen = min(len(set(left)) for left in combinations(held, n - s))
                yield "lemma2_bound", seen <= n - s
                if (n - s + 1) % 2 == 0 and s:
                    too_few = seen < n - s + 1
                    yield "theorem8_even_bound", too_few
        for s in range(n):
            code = Uncoded(n)
            right = (recovered_partitions(code, s) == n - s).all()
            right &= code.messages.max() == code.load.max() == 1
            yield "lemma2_scheme", right


@checks(
    Check(
        id="claim2",
        what="both coefficients must be equal",
        over="unions of cycles, n ≤ 8",
        grade="enumerated",
        rests_on=(f"{__package__}.theory:cycle_unions", f"{__package__}.theory:forced_equal"),
    ),
    Check(
        id="appendix_e_paths",
        what="all nodes if the edges are odd, else one less",
        over="sums along a path",
        grade="enumerated",
        rests_on=(f"{__package__}.theory:most_recovered",),
    ),
    Check(
        id="appendix_f_removal",
        what="some s edges leave n - s + 1 nodes",
        over="every multigraph, n ≤ 5",
        grade="enumerated",
        rests_on=(f"{__package__}.theory:least_covered",),
    ),
)
def _paths_and_cycles() -> Checks:
    for n in range(3, 9):
        for held in searches.cycle_unions(n):
            for s, worker in product(range(2, n), range(n)):
                forced = searches.forced_equal(held, s, n - s + 1, worker) == [
                    set(np.flatnonzero(held[worker]).tolist())
                ]
                yield "claim2", forced
    for edges in range(1, 11):
        path = np.eye(edges, edges + 1) + np.eye(edges, edges + 1, 1)
        right = searches.most_recovered(path) == edges + edges % 2
        yield "appendix_e_paths", right
    for n in (3, 4, 5):
        graphs = searches.multigraphs(n)
        for s in range(2, n):
            few = searches.least_covered(graphs, n - s) <= n - s + 1
            for each in few:
                yield "appendix_f_removal", each


@checks(
    Check(
        id="naive_scheme",
        what="every set recovers the kept part; one message, load α (s+1)/n",
        over="n <= 7, s, β",
        grade="built",
        rests_on=("gcexp.codes.naive_partial:NaivePartial",),
    ),
)
def _naive(cyclic_up_to: int) -> Checks:
    for n, s, beta in _triples(min(cyclic_up_to, 7)):
        alpha = Fraction(beta, n)
        code = NaivePartial(n, s, float(alpha))
        right = (recovered_partitions(code, s) == alpha * code.k).all() and code.messages.max() == 1
        right &= Fraction(int(code.load.max()), code.k) == alpha * (s + 1) / n
        yield "naive_scheme", right


# --- Sections I and VII: two classes and what lies between --------------------------------------------------


@checks(
    Check(
        id="two_classes",
        what="load no higher, messages no fewer than cyclic",
        over="combinatorial",
        grade="formula",
        rests_on=(
            "gcexp.theory.partial_recovery:combinatorial",
            "gcexp.theory.partial_recovery:minimal_y",
        ),
    ),
    Check(
        id="growth_of_combinatorial",
        what="C(n,y) partitions grow like n^y",
        over="fixed y",
        grade="definition",
        answers=("abstract_two_optimal_schemes",),
    ),
)
def _classes(loads_up_to: int) -> Checks:
    for n, s, beta in _triples(loads_up_to):
        p = theory.cyclic_load(n, s, beta)
        if not n - s < beta < n or p * -(-beta // p) > n:
            continue
        near, far = (
            theory.cyclic(n, s, beta),
            theory.combinatorial(n, theory.minimal_y(n, s, Fraction(beta, n))),
        )
        yield "two_classes", far.load <= near.load and far.m >= near.m
    for y in (2, 3, 4):
        growth = [theory.combinatorial(n, y).k for n in (50, 100)]
        right = abs(growth[1] / growth[0] / 2**y - 1) < 0.1
        yield "growth_of_combinatorial", right


@checks(
    Check(
        id="remark11_load_between",
        what="loads between combinatorial and cyclic",
        over="n <= 12",
        grade="formula",
        rests_on=(
            "gcexp.theory.partial_recovery:intermediate",
            "gcexp.theory.partial_recovery:sweep",
        ),
    ),
    Check(
        id="contribution_intermediate",
        what="a scheme for every x from 1 to y(x) = x",
        over="n <= 12",
        grade="definition",
    ),
    Check(
        id="lemma3_ratio",
        what="the left side of (3) falls in x, by (s-y+x+1)/(n-y+x)",
        over="n <= 12",
        grade="formula",
        rests_on=(
            "gcexp.theory.partial_recovery:intermediate",
            "gcexp.theory.partial_recovery:intermediate_misses",
        ),
    ),
    Check(
        id="remark11_x_equals_y",
        what="the assignment of Theorem 2",
        over="x = y",
        grade="built",
        rests_on=(
            "gcexp.codes.subset_designs:intermediate_holders",
            "gcexp.theory.partial_recovery:intermediate_misses",
        ),
    ),
    Check(
        id="remark11_x_1",
        what="the cyclic assignment",
        over="x = 1",
        grade="built",
        rests_on=(
            "gcexp.codes.subset_designs:intermediate_holders",
            "gcexp.theory.partial_recovery:intermediate_misses",
        ),
    ),
    Check(
        id="remark11_not_monotone",
        what="messages rise and fall as the load falls",
        over="n = 7, s = 5, β = 6",
        grade="built",
        rests_on=("gcexp.theory.partial_recovery:sweep",),
    ),
)
def _runs(loads_up_to: int) -> Checks:
    for n in range(2, loads_up_to + 1):
        for s in range(1, n):
            for beta in range(n - s, n):
                rows = theory.sweep(n, s, Fraction(beta, n))
                loads = [row["load"] for row in rows]
                low, high = theory.minimal_y(n, s, Fraction(beta, n)), theory.cyclic_load(n, s, beta)
                between = all(Fraction(low, n) <= load <= Fraction(high, n) for load in loads)
                yield "remark11_load_between", between
                yield (
                    "contribution_intermediate",
                    (
                        [row["x"] for row in rows] == list(range(1, len(rows) + 1))
                        and rows[-1]["y"] == len(rows)
                    ),
                )
            for y in range(2, s + 1):
                for x in range(1, y):
                    left, right = (
                        Fraction(theory.intermediate_misses(n, s, v, y), theory.intermediate(n, v, y).k)
                        for v in (x, x + 1)
                    )
                    ratio = left * (s - y + x + 1) == right * (n - y + x) and right <= left
                    yield "lemma3_ratio", ratio
    for n in range(1, min(loads_up_to, 7) + 1):
        for y in range(1, n + 1):
            sets = sorted(intermediate_holders(n, y, y)) == sorted(combinations(range(n), y))
            yield "remark11_x_equals_y", sets
            runs = {frozenset((w + i) % n for i in range(y)) for w in range(n)}
            right = set(map(frozenset, intermediate_holders(n, 1, y))) == runs
            yield "remark11_x_1", right
    rows = theory.sweep(7, 5, Fraction(6, 7))
    codes = [Intermediate(7, 5, row["x"], row["y"]) for row in rows]
    same = all(
        (code.messages == row["m"]).all() and (code.load == row["load"] * code.k).all()
        for code, row in zip(codes, rows, strict=True)
    )
    pairs = [(a["m"], b["m"]) for a, b in product(rows, rows) if a["load"] > b["load"]]
    falls, rises = any(a > b for a, b in pairs), any(a < b for a, b in pairs)
    yield "remark11_not_monotone", falls and rises and same


# --- Sections VIII and IX -----------------------------------------------------------------------------------


@checks(
    Check(
        id="pareto_tail",
        what="every quantile is later for the smaller index",
        over="a grid",
        grade="definition",
    ),
    Check(
        id="pareto_tail_beyond",
        what="P(X > t) is larger for the smaller index",
        over="a grid",
        grade="definition",
        answers=("pareto_tail",),
    ),
    Check(
        id="exponential_tail",
        what="P(X > t) is larger for the larger mean",
        over="a grid",
        grade="definition",
    ),
    Check(
        id="harmonic_log",
        what="H_n is within 1/(2n) of ln n + 0.5772",
        over="a grid",
        grade="formula",
        rests_on=("gcexp.theory.order_statistics:harmonic",),
    ),
)
def _tails() -> Checks:
    unit = np.array([0.5, 1.0, 2.0, 4.0])  # standard exponential times: the law maps one onto the other
    for shape in (0.8, 1.2, 2.5):
        heavier = Pareto(scale=1.0, shape=shape).law(unit) > Pareto(scale=1.0, shape=2 * shape).law(unit)
        yield "pareto_tail", heavier.all()
        for late in (2.0, 10.0, 100.0):
            yield "pareto_tail_beyond", late**-shape > late ** (-2 * shape)
    for mean, late in product((0.5, 1.0, 2.0), (1.0, 3.0, 10.0)):
        yield "exponential_tail", exp(-late / (2 * mean)) > exp(-late / mean)
    for n in (10, 100, 1000, 10_000):
        near = abs(order_statistics.harmonic(n) - log(n) - _EULER) < 1 / (2 * n)
        yield "harmonic_log", near


@checks(
    Check(
        id="scheme1_parameters",
        what="the fastest α n of n workers have the fraction α",
        over="n <= 12",
        grade="built",
        rests_on=("gcexp.codes.uncoded:Uncoded",),
    ),
    Check(
        id="scheme2_parameters",
        what="n - s₂ workers have the fraction α, one fewer not",
        over="n <= 12",
        grade="built",
        rests_on=("gcexp.theory.partial_recovery:most_stragglers",),
    ),
    Check(
        id="scheme2_large_n",
        what="s₂ within 1 of n √(1 - α) at n = 2000 and 4000",
        over="n <= 12",
        grade="formula",
        rests_on=("gcexp.theory.partial_recovery:most_stragglers",),
    ),
)
def _section_8(loads_up_to: int) -> Checks:
    for n in range(1, loads_up_to + 1):
        for i in range(1, n + 1):
            alpha = Fraction(i, n)
            if n <= 8:
                uncoded = Uncoded(n)
                right = uncoded.k == n and (recovered_partitions(uncoded, n - i) >= alpha * n).all()
                yield "scheme1_parameters", right
            if n >= 2:
                s, held = theory.most_stragglers(n, 2, alpha), Combinatorial(n, 0, 2).assignment
                enough, fewer = (held[silent:].any(0).sum() >= alpha * held.shape[1] for silent in (s, s + 1))
                yield "scheme2_parameters", enough and not fewer
    for alpha in (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
        for n in (2_000, 4_000):
            s = theory.most_stragglers(n, 2, alpha)
            yield "scheme2_large_n", abs(s - n * sqrt(1 - alpha)) <= 1


@checks(
    Check(
        id="ix_forget_is_alpha",
        what="β = n - s is the uncoded scheme, every set",
        over="n <= 8",
        grade="built",
        rests_on=(
            "gcexp.codes.cyclic:CyclicRepetition",
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
        ),
    ),
    Check(
        id="ix_cgc_is_full",
        what="β = n with one combination per worker, every set",
        over="n <= 8",
        grade="built",
        rests_on=(
            "gcexp.codes.cyclic:CyclicRepetition",
            "gcexp.codes.partial_recovery:CyclicPartialRecovery",
        ),
    ),
    Check(
        id="ix_delay_model",
        what="fixed time per point plus a Pareto delay kept for 10 iterations, then redrawn",
        over="n <= 8",
        grade="definition",
        inputs="assumed",
    ),
)
def _section_9(cyclic_up_to: int) -> Checks:
    for n, s in _pairs(min(cyclic_up_to, 8), least=2):
        alone, kept = CyclicPartialRecovery(n, s, n - s), Uncoded(n)
        same = (recovered_partitions(alone, s) == recovered_partitions(kept, s)).all()
        same &= alone.load.max() == 1
        yield "ix_forget_is_alpha", same
        full = CyclicRepetition(n, s)
        right = (recovered_partitions(full, s) == n).all() and full.messages.max() == 1
        yield "ix_cgc_is_full", right
    for seed in range(5):
        law = Pareto(scale=1e-3, shape=1.2, data_time=3e-3, persistence=10)
        draws = law.draw((seed,), 40, 30)
        times = draws.arrival(load=1 / 30, length=1)[0]
        twice = draws.arrival(load=2 / 30, length=1)[0]
        kept = (times.reshape(4, 10, 30) == times.reshape(4, 10, 30)[:, :1]).all()
        anew = (np.diff(times[::10], axis=0) != 0).all()
        fixed = np.allclose(twice - times, 3e-3 / 30) and (times >= 3e-3 / 30 + 1e-3).all()
        yield "ix_delay_model", kept and anew and fixed


@check(
    over="size, twelve slopes of the loss, three steps",
    grade="built",
    rests_on=("gcexp.tasks.base:partition_edges", "gcexp.tasks.mlp:_flat"),
)
def ix_network() -> Iterable[tuple[str, bool]]:
    """Two layers with 25 hidden nodes and 19885 weights, cross-entropy, gradient descent with one constant step."""
    return network()


@check(over="n = 30, s = 19, four epsilons", grade="definition", inputs="assumed")
def ix_frc_structure() -> Iterable[bool]:
    """Any two workers hold the same d partitions or none in common, and every partition is held d times."""
    for epsilon in (0.01, 0.05, 0.1, 0.3):
        held = EpsilonFractionalRepetition(30, 19, epsilon).assignment.astype(int)
        d = int(held[0].sum())
        yield bool(np.isin(held @ held.T, (0, d)).all() and (held.sum(0) == d).all())
