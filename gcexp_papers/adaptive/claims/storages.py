"""Sections II to IV: what any code can cost, tried on every small storage by ranks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import lcm
from typing import NamedTuple

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import Verdict, all_instances, claim
from gcexp.seeding import rng
from gcexp.theory import adaptive as theory
from gcexp.theory import comm_efficient as converse

WORKERS, PARTITIONS, LENGTH = 4, 3, 3


class _Tried(NamedTuple):
    """A storage with s silent workers and `sent` of `length` numbers from each other one."""

    n: int
    copies: int  # of the partition that fewest workers hold
    s: int
    length: int
    sent: int
    determined: bool  # what is said of each partition, by any s silent workers, has full rank
    decoded: bool  # a code built on the storage decodes for every s silent workers


@lru_cache
def _storages(workers: int, partitions: int, length: int) -> tuple[_Tried, ...]:
    generator, said, built = rng(0, "assignment", 1), {}, {}
    found = []
    for n, k in product(range(2, workers + 1), range(1, partitions + 1)):
        for held in engine.storages(n, k):
            copies, thin = engine.least_copies(held), engine.thinned(held)
            for L in range(1, length + 1):
                support = (L, thin.tobytes(), n)
                if support not in built:
                    B = engine.code(thin, L, generator)
                    built[support] = [
                        [engine.decodes(B[:q], L, *engine.survivors(n, s)) for q in range(1, L + 1)]
                        for s in range(n)
                    ]
                for s in range(n):
                    left = min(
                        int(held[list(responses)].sum(0).min()) for responses in engine.survivors(n, s)
                    )
                    for q in range(1, L + 1):
                        if (left, q, L) not in said:
                            said[left, q, L] = engine.message_rank(left, q, L, generator) == L
                        decoded = built[support][s][q - 1]
                        found.append(_Tried(n, copies, s, L, q, said[left, q, L], decoded))
    return tuple(found)


@claim("thm1_iff", "converse_equations")
def lengths_that_decode() -> Iterator[tuple[str, bool]]:
    """Compare (10) with the rank of what is said of a partition and with a built code, for all s, q and w <= 3.

    This is done on every storage of n <= 4 workers and k <= 3 partitions. The code decodes every set of n - s workers.
    """
    for one in _storages(WORKERS, PARTITIONS, LENGTH):
        formula = theory.feasible(one.copies, [one.length] * one.s + [one.sent], one.length)
        yield "thm1_iff", formula == one.determined == one.decoded
        yield "converse_equations", formula == one.determined


@claim("sec2_max_stragglers")
def most_stragglers_of_a_storage() -> Verdict:
    """The most silent workers with which a built code decodes are the least copies less one, n <= 4 and k <= 3."""
    most: dict[int, list[_Tried]] = {}
    for i, one in enumerate(_storages(WORKERS, PARTITIONS, 1)):
        most.setdefault(i - one.s, []).append(one)  # the rows of a storage follow each other, by s
    return all_instances(
        max(one.s for one in rows if one.decoded) == copies - 1
        and theory.feasible(copies, [1] * copies, 1)
        and not theory.feasible(copies, [1] * (copies + 1), 1)
        for rows in most.values()
        for copies in [rows[0].copies]
    )


@claim("optimality_bound")
def shortest_lengths() -> Verdict:
    """The least length with which any storage decodes is (11), and less determines nothing: every (n, d, s, w)."""
    lengths: dict[tuple[int, int, int, int], list[_Tried]] = {}
    for one in _storages(WORKERS, PARTITIONS, LENGTH):
        if one.s < one.copies:
            lengths.setdefault((one.n, one.copies, one.s, one.length), []).append(one)
    return all_instances(
        theory.optimal_costs(d, w)[s] * w == shortest
        and not any(one.determined for one in tried if one.sent < shortest)
        for (_, d, s, w), tried in lengths.items()
        for shortest in [min(one.sent for one in tried if one.decoded)]
    )


@claim("thm1_optimal", "optimality_bound")
def optimum_beats_every_vector() -> Verdict:
    """The vector (11) is superior to every vector with d <= 3 and w <= 5 that satisfies (10)."""
    tiny = [
        (d, w, q)
        for d in range(1, 4)
        for w in range(1, 6)
        for s_max in range(d)
        for q in product(range(1, w + 1), repeat=s_max + 1)
        if theory.feasible(d, q, w)
    ]
    return all_instances(
        theory.superior(theory.optimal_costs(d, w), [Fraction(x, w) for x in q]) for d, w, q in tiny
    )


@claim("rem1_superior_cgc", "table1_best")
def optimum_beats_every_cgc() -> Iterator[tuple[str, bool]]:
    """The vector (11) is superior to the costs of every CGC with d <= 6, w <= 24 and q that divides w.

    For d >= 2 every CGC also costs more or fails for some s.
    """
    for d, w in product(range(1, 7), range(1, 25)):
        best = theory.optimal_costs(d, w)
        for q in (q for q in range(1, w + 1) if w % q == 0 and w // q <= d):
            cgc = theory.fixed_costs(d, q, w)
            yield "rem1_superior_cgc", theory.superior(best, cgc)
            if 2 <= d <= w:
                pairs = list(zip(best, cgc, strict=False))
                worse = len(cgc) < d or any(a < b for a, b in pairs)
                yield "table1_best", worse and all(a <= b for a, b in pairs)


@claim("lcm_exact")
def least_common_multiple() -> Verdict:
    """With L = lcm(1..d) and w = L, 2 L and 7 L the costs of AGC are 1/d, ..., 1 and optimal, d <= 6."""
    return all_instances(
        theory.adaptive_costs(L, d, f * L)
        == theory.optimal_costs(d, f * L)
        == tuple(Fraction(1, d - s) for s in range(d))
        for d in range(1, 7)
        for L in [lcm(*range(1, d + 1))]
        for f in (1, 2, 7)
    )


@lru_cache
def _most_copies(n: int, k: int, d: int) -> int:
    """Most copies that the rarest partition can have, over all storages of load d."""
    return max(map(engine.least_copies, engine.loads(n, k, d)))


def _promised(n: int, k: int, d: int) -> int:
    """The same by the library's condition: stragglers that it allows with whole messages, and one more."""
    return max((s + 1 for s in range(n) if converse.feasible(n, d, s, 1, k)), default=0)


@claim("converse_average", "k_equals_n")
def copies_of_the_rarest_partition() -> Iterator[tuple[str, bool]]:
    """Over all storages with n, k <= 4 and load d the rarest partition has at most floor(n d / k) copies.

    Some storage has as many, and with k = n at the same share of the data it has no fewer.
    """
    for n, k in product(range(2, 5), repeat=2):
        for d in range(1, k + 1):
            best, same = _most_copies(n, k, d), n * d // k
            yield "converse_average", best == same == _promised(n, k, d)
            yield "k_equals_n", best <= _most_copies(n, n, same) == _promised(n, n, same)
