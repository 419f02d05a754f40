"""Theorem 1 of Ye, Abbe (ICML 2018) and what follows from it, tried on codes and storages made for it.

Each function is a generator of instances, ``(what, holds)``; see `gcexp.analysis.enumeration` for what decides.
`rests_on` says with which objects of the library it is compared, looked up when called.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from gcexp.analysis import enumeration as engine
from gcexp.analysis.checks import check
from gcexp.codes import comm_efficient as codes
from gcexp.seeding import rng
from gcexp.theory import comm_efficient as theory

from .theory import ec2_like

Instances = Iterator[tuple[str, bool]]

_FEASIBLE, _SHORTEST = "gcexp.theory.comm_efficient:feasible", "gcexp.theory.comm_efficient:shortest_message"
_CODE = "gcexp.codes.comm_efficient:CommunicationEfficient"


@lru_cache
def _said(holders: int, m: int) -> int:
    """Rank of what so many workers can say of m numbers of a partition, with one number each."""
    return engine.said(holders, 1, m, rng(0, "assignment", 6)) if holders > 0 else 0


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


@check(
    over="all storages n, k <= 4, every s and m",
    grade="enumerated",
    answers=("theorem1_converse", "tradeoff_three_parameters"),
    rests_on=(_FEASIBLE,),
    small={"most": 3},
)
def theorem1_converse(most: int = 4) -> Instances:
    """Where d / k < (s + m) / n, some s silent workers leave a partition of which too little is said, every storage.

    One number of each holder for every m of the gradient: the rank of what is said is below m.
    """
    for n, k in product(range(1, most + 1), repeat=2):
        for d, left in _left(n, k):
            for s, m in product(range(n), range(1, n + 1)):
                determined = _said(left[s], m) == m
                if not theory.feasible(n, d, s, m, k):
                    yield "every storage with n d < k (s + m): a block of rank below m", not determined
                else:
                    yield "every other storage: (s + m) k <= n d", (s + m) * k <= n * d


def _balanced(n: int, k: int, d: int, m: int) -> np.ndarray:
    """First messages of an own code of m blocks on a balanced storage, (1, n, k m)."""
    thin = engine.thinned(engine.balanced(n, k, d))
    return engine.code(thin, m, rng(0, "assignment", 7, n, k, d, m))[:1]


def _cases(most: int) -> Iterator[tuple[int, int, int]]:
    return ((n, k, d) for n, k in product(range(2, most + 1), repeat=2) for d in range(1, k + 1))


@check(
    over="n, k <= 6, every d, s and m, every set",
    grade="built",
    answers=("theorem1_achievability", "tradeoff_three_parameters"),
    rests_on=(_FEASIBLE,),
    small={"most": 3},
)
def theorem1_achievability(most: int = 6) -> Instances:
    """Where d / k >= (s + m) / n, messages of length 1/m decode from any n - s workers, also for k other than n."""
    for n, k, d in _cases(most):
        copies = engine.least_copies(engine.balanced(n, k, d))
        for m in range(1, copies + 1):
            B = _balanced(n, k, d, m)
            for s in range(n):
                decoded = engine.decodes(B, m, *engine.survivors(n, s))
                what = "(n, k, d, s, m): a code on a balanced storage decodes every set exactly where the theorem says"
                yield what, decoded == theory.feasible(n, d, s, m, k)


@check(over="n, k <= 6, every d and s", grade="built", rests_on=(_SHORTEST,), small={"most": 3})
def message_length_general_k(most: int = 6) -> Instances:
    """Least length 1 / (d n / k - s): a built code reaches it where k divides n d, else the next longer 1 / m."""
    for n, k, d in _cases(most):
        copies = engine.least_copies(engine.balanced(n, k, d))
        for s in range(copies):
            m = copies - s
            decoded = engine.decodes(_balanced(n, k, d, m), m, *engine.survivors(n, s))
            least = theory.shortest_message(n, d, s, k)
            reached = abs(least - 1 / m) < 1e-9 if n * d % k == 0 else 1 / (m + 1) < least < 1 / m
            yield "(n, k, d, s): length of a built code's messages, and the least one", decoded and reached


def _decodes(code, s: int) -> bool:
    """Whether all blocks of the sum are combinations of any n - s workers' messages, by least squares."""
    rows, m = code.encoding.toarray(), code.blocks
    responses = np.stack([rows[list(left)] for left in engine.survivors(code.n, s)])
    wanted = engine.total(code.k, m).astype(float)
    return bool(np.abs(wanted - wanted @ np.linalg.pinv(responses, rcond=1e-11) @ responses).max() < 1e-7)


@check(over="codes with n <= 7, every set", grade="built", rests_on=(_CODE,), small={"most": 4})
def scheme_meets_equality(most: int = 7) -> Instances:
    """The library's codes: load d = s + m, one message of length 1/m, and every set of n - s decodes."""
    for n in range(2, most + 1):
        for d in range(1, n + 1):
            for m in range(1, d + 1):
                code = codes.CommunicationEfficient(n, d, m)
                inside = (code.encoding.toarray().reshape(n, n, m).any(2) <= engine.cyclic(n, d)).all()
                right = (
                    bool(inside)
                    and (code.load == d).all()
                    and (code.messages == 1).all()
                    and code.blocks == m
                )
                yield (
                    "(n, d, m): load s + m, one message, every set of d - m decodes",
                    bool(right) and _decodes(code, d - m),
                )


@check(over="codes with m = 1, n <= 7, every set", grade="built", rests_on=(_CODE,), small={"most": 4})
def generalises_m1(most: int = 7) -> Instances:
    """The library's codes with m = 1: whole messages, load s + 1, every s silent workers, not s + 1."""
    for n in range(2, most + 1):
        for d in range(1, n + 1):
            code = codes.CommunicationEfficient(n, d, 1)
            right = bool((code.load == d).all()) and code.length == 1 and _decodes(code, d - 1)
            what = "(n, s), m = 1: load s + 1 decodes every set of s, and not s + 1"
            yield what, right and not (d < n and _decodes(code, d))


@check(over="all storages n <= 4, k = n", grade="enumerated", rests_on=(_FEASIBLE, _CODE), small={"most": 3})
def tandon_bound(most: int = 4) -> Instances:
    """With whole messages s silent workers are survived if and only if d >= s + 1: every storage, k = n."""
    for n in range(2, most + 1):
        survived: dict[int, int] = {}
        for d, left in _left(n, n):
            survived[d] = max(survived.get(d, -1), sum(one > 0 for one in left) - 1)
        for d, most_silent in survived.items():
            code = codes.CommunicationEfficient(n, d, 1)
            right = _decodes(code, most_silent)
            right &= [theory.feasible(n, d, s, 1) for s in range(n)] == [s <= most_silent for s in range(n)]
            yield (
                "(n, d), m = 1: most silent workers over all storages = d - 1, and the library's code bears them",
                right,
            )


def _decoding(rows: int, each: int, numbers: int) -> Iterator[bool]:
    """Whether a decode takes less than 1 % of a worker's multiplications, for two codes each of n = 10, 15 and 20.

    A decode combines the n - s messages of l / m numbers with m weights each; a worker's d / n of the rows cost `each`.
    """
    for n in (10, 15, 20):
        chosen = theory.best_choices(**ec2_like(n))
        for name in ("straggler_only", "best"):
            choice = chosen[name]
            assert choice is not None, "n is above 1"
            d, m, s = choice[:3]
            yield d == m + s and (n - s) * m * (numbers / m) < 0.01 * d / n * rows * each


@check(
    over="six codes, dense rows and 10^8 one-hot rows",
    grade="formula",
    rests_on=("gcexp.theory.comm_efficient:best_choices",),
)
def decoding_negligible(numbers: int = 343_474) -> Instances:
    """Section 4: decoding counts for nothing where there are many rows, as there are with dense ones in any case."""
    for holds in _decoding(26_220, numbers, numbers):
        yield "codes: dense rows, as many as in the experiment", holds
    for holds in _decoding(100_000_000, 44, numbers):
        yield "codes: one-hot rows with 44 ones, 10^8 of them", holds


@check(
    over="six codes, 26220 one-hot rows",
    kind="companion",
    source="Section 4, with the rows of the experiment",
    contradicts=(),
    reason="with 44 ones in a row and 26220 rows a decode takes 5 to 23 times a worker's "
    "multiplications; the paper speaks of N of hundreds of millions",
)
def decoding_negligible_sparse(numbers: int = 343_474) -> Instances:
    """The same for the experiment's 26220 one-hot rows: a decode takes 5 to 23 times a worker's multiplications."""
    for holds in _decoding(26_220, 44, numbers):
        yield "codes: one-hot rows, as many as in the experiment", holds
