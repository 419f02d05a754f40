"""Theorem 1 and what follows from it, on codes and storages that are made here and decided by ranks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.claims import Verdict, all_instances, claim
from gcexp.codes import comm_efficient as codes
from gcexp.seeding import rng
from gcexp.theory import comm_efficient as theory


@lru_cache
def _said(holders: int, m: int) -> int:
    """Rank of what so many workers can say of m numbers of a partition, with one number each."""
    return engine.message_rank(holders, 1, m, rng(0, "assignment", 6)) if holders > 0 else 0


@lru_cache
def _left(n: int, k: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Every storage: its load, and the fewest holders of a partition after any s silent workers, s = 0, ..., n-1."""
    found = []
    for held in engine.storages(n, k):
        left = tuple(
            min(int(held[list(responses)].sum(0).min()) for responses in engine.survivors(n, s))
            for s in range(n)
        )
        found.append((int(held.sum(1).max()), left))
    return tuple(found)


@claim("theorem1_converse", "tradeoff_three_parameters", assumed=True)
def too_little_load_leaves_a_rank_deficit() -> Iterator[bool]:
    """Where d/k < (s+m)/n some s silent workers leave too little said of a partition: every storage, n, k <= 4.

    One number of each holder for every m of the gradient has a rank below m, for every s and m.
    """
    for n, k in product(range(1, 5), repeat=2):
        for d, left in _left(n, k):
            for s, m in product(range(n), range(1, n + 1)):
                feasible = theory.feasible(n, d, s, m, k)
                yield (s + m) * k <= n * d if feasible else _said(left[s], m) < m


def _balanced(n: int, k: int, d: int, m: int) -> np.ndarray:
    """First messages of an own code of m blocks on a balanced storage, (1, n, k m)."""
    thin = engine.thinned(engine.balanced(n, k, d))
    return engine.code(thin, m, rng(0, "assignment", 7, n, k, d, m))[:1]


#: (n, k, d), and copies of the rarest partition of a balanced storage.
_CASES = [
    (n, k, d, engine.least_copies(engine.balanced(n, k, d)))
    for n, k in product(range(2, 7), repeat=2)
    for d in range(1, k + 1)
]


@claim("theorem1_achievability", "tradeoff_three_parameters", assumed=True)
def enough_load_decodes() -> Verdict:
    """A code on a balanced storage decodes every set exactly where d/k >= (s+m)/n: n, k <= 6, every d, s and m."""
    return all_instances(
        engine.decodes(B, m, *engine.survivors(n, s)) == theory.feasible(n, d, s, m, k)
        for n, k, d, copies in _CASES
        for m in range(1, copies + 1)
        for B in [_balanced(n, k, d, m)]
        for s in range(n)
    )


@claim("message_length_general_k", assumed=True)
def least_length_of_a_message() -> Iterator[bool]:
    """Codes reach the length 1/(d n/k - s) where k divides n d, else the next longer 1/m: n, k <= 6, every d and s."""
    for n, k, d, copies in _CASES:
        for s in range(copies):
            m = copies - s
            least = theory.shortest_message(n, d, s, k)
            reached = abs(least - 1 / m) < 1e-9 if n * d % k == 0 else 1 / (m + 1) < least < 1 / m
            yield reached and engine.decodes(_balanced(n, k, d, m), m, *engine.survivors(n, s))


def _decodes(code: codes.CommunicationEfficient, s: int) -> bool:
    """Whether all blocks of the sum are combinations of any n - s workers' messages, by least squares."""
    rows, m = code.encoding.toarray(), code.blocks
    responses = np.stack([rows[list(left)] for left in engine.survivors(code.n, s)])
    wanted = engine.total(code.k, m).astype(float)
    return bool(np.abs(wanted - wanted @ np.linalg.pinv(responses, rcond=1e-11) @ responses).max() < 1e-7)


_SIZES = [(n, d) for n in range(2, 8) for d in range(1, n + 1)]


@claim("scheme_meets_equality")
def built_codes_meet_the_limit() -> Verdict:
    """The library's codes have load d = s + m, one message of length 1/m, and decode any n - s: n <= 7, every set."""
    return all_instances(
        (code.encoding.toarray().reshape(n, n, m).any(2) <= engine.cyclic(n, d)).all()
        and (code.load == d).all()
        and (code.messages == 1).all()
        and code.blocks == m
        and _decodes(code, d - m)
        for n, d in _SIZES
        for m in range(1, d + 1)
        for code in [codes.CommunicationEfficient(n, d, m)]
    )


@claim("generalises_m1")
def whole_messages_are_straggler_coding() -> Verdict:
    """With m = 1 codes send whole messages with load s + 1, and decode any s silent workers but not s + 1: n <= 7."""
    return all_instances(
        (code.load == d).all()
        and code.length == 1
        and _decodes(code, d - 1)
        and not (d < n and _decodes(code, d))
        for n, d in _SIZES
        for code in [codes.CommunicationEfficient(n, d, 1)]
    )


@claim("tandon_bound", assumed=True)
def most_stragglers_with_whole_messages() -> Iterator[bool]:
    """Over all storages with n = k <= 4 and load d, d - 1 silent workers are the most, and a built code bears them."""
    for n in range(2, 5):
        survived: dict[int, int] = {}
        for d, left in _left(n, n):
            survived[d] = max(survived.get(d, -1), sum(one > 0 for one in left) - 1)
        for d, most in survived.items():
            allowed = [theory.feasible(n, d, s, 1) for s in range(n)]
            right = most == d - 1 and allowed == [s <= most for s in range(n)]
            yield right and _decodes(codes.CommunicationEfficient(n, d, 1), most)
