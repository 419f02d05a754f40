"""What Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922) say of clusters, tried on codes, states and integrals.

Each function is a generator of instances, ``(what, holds)``; see `gcexp.analysis.enumeration` for what decides.
`rests_on` says with which objects of the library it is compared, looked up when called.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from gcexp import codes
from gcexp.analysis import enumeration as engine
from gcexp.analysis.checks import Check, check, checks
from gcexp.schemes import placement
from gcexp.seeding import rng
from gcexp.theory import dynamic_clustering as theory

Instances = Iterator[tuple[str, bool]]

_SETS, _TIME = (
    "gcexp.theory.dynamic_clustering:recoverable_sets",
    "gcexp.theory.dynamic_clustering:expected_time",
)
_GREEDY = "gcexp.schemes.placement:greedy_clusters"
#: (n, P, r, m) of Figs. 3 and 4.
_SETTINGS = ((12, 4, 2, 2), (20, 5, 3, 3))


# --- What clusters tolerate, by rank ------------------------------------------------------------------------------


@lru_cache
def _tolerated(size: int, r: int) -> tuple[int, ...]:
    """Sets of s = 0, ..., size silent workers of a cluster from which an own cyclic code of load r decodes."""
    B = engine.code(engine.cyclic(size, r), 1, rng(0, "assignment", 11, size, r))[0]
    counts = []
    for s in range(size + 1):
        responses = engine.survivors(size, s)
        counts.append(int(engine.spans(np.stack([B[list(left)] for left in responses]), 1).sum()))
    return tuple(counts)


def _side_by_side(clusters: int, size: int, r: int) -> list[int]:
    """The same for several clusters: a set is tolerated if its part in each is."""
    counts = [1]
    for _ in range(clusters):
        more = [0] * (len(counts) + size)
        for a, first in enumerate(counts):
            for b, second in enumerate(_tolerated(size, r)):
                more[a + b] += first * second
        counts = more
    return counts


@check(
    over="P <= 4, l <= 5, every r, all patterns by rank",
    grade="enumerated",
    rests_on=(_SETS,),
    small={"clusters": 2, "size": 3},
)
def best_case_formula(clusters: int = 4, size: int = 5) -> Instances:
    """At best P (r - 1) stragglers are tolerated, r - 1 of each cluster: by the ranks of all patterns."""
    for P in range(1, clusters + 1):
        for l in range(1, size + 1):
            for r in range(1, l + 1):
                counts = _side_by_side(P, l, r)
                most = max(s for s, count in enumerate(counts) if count)
                right = counts == theory.recoverable_sets(P * l, P, r).tolist()
                yield (
                    "(P, l, r): most that are tolerated by rank = P (r - 1), and how many sets",
                    right and most == P * (r - 1),
                )


@check(
    over="P <= 4, l <= 5, every r, all patterns by rank",
    grade="enumerated",
    rests_on=(_SETS,),
    small={"clusters": 2, "size": 3},
)
def tolerance_scales_with_clusters(clusters: int = 4, size: int = 5) -> Instances:
    """The most stragglers that are tolerated grow with the number of clusters, for r >= 2; one tolerates r - 1."""
    for l in range(2, size + 1):
        for r in range(2, l + 1):
            most = [max(np.flatnonzero(_side_by_side(P, l, r))) for P in range(1, clusters + 1)]
            library = [
                max(np.flatnonzero(theory.recoverable_sets(P * l, P, r))) for P in range(1, clusters + 1)
            ]
            right = most == library and most == sorted(set(most)) and most[0] == r - 1
            yield "(l, r): the most by rank grows with P", bool(right)


@check(
    over="n = 12, P = 4, r = 2: sets of five and of four",
    grade="enumerated",
    inputs="assumed",
    rests_on=(_SETS,),
)
def static_fails_for_most() -> Instances:
    """The running example: none of the 792 sets of five stragglers can be recovered, by rank, and 81 of 495 of four."""
    n, P, r = 12, 4, 2
    cluster = engine.code(engine.cyclic(n // P, r), 1, rng(0, "assignment", 12))[0]
    B = np.kron(np.eye(P, dtype=np.int64), cluster)
    for s, expected in ((5, 0), (4, 81)):
        spans = engine.spans(np.stack([B[list(left)] for left in engine.survivors(n, s)]), 1)
        if s == 5:
            for one in spans:
                yield "sets of five: not recovered", not one
        right = int(spans.sum()) == expected == theory.recoverable_sets(n, P, r)[s]
        yield f"sets of {s}: as many recovered as counted", bool(right)


# --- Frozen states ------------------------------------------------------------------------------------------------


def _mean(
    slow: list[list[int]], spare: int, mu_s: float, load: int = 2, alpha: float = 0.01, mu_f: float = 10.0
) -> float:
    """Mean time until all but `spare` of each group are done: an integral over all sets of those who are not."""
    u = np.linspace(-30, np.log(60 / mu_s), 3001)
    t = np.exp(u)
    done = np.ones_like(t)
    for group in slow:
        late = [np.exp(-(mu_s if one else mu_f) * t) for one in group]
        met = np.zeros_like(t)
        for missing in range(spare + 1):
            for some in combinations(range(len(group)), missing):
                met += np.prod([late[w] if w in some else 1 - late[w] for w in range(len(group))], axis=0)
        done *= met
    return load * (alpha + float(((1 - done) * t).sum() * (u[1] - u[0])))


def _frozen(mu_s: float, count: int) -> tuple[float, float, float, bool]:
    """Times of GC, of GC-SC with the slow workers spread and packed, and whether the library finds the same."""
    spread = np.zeros((4, 3), dtype=int)
    spread.T.flat[:count] = 1  # one in each cluster
    packed = np.zeros((4, 3), dtype=int)
    packed.flat[:count] = 1  # the first cluster first
    everybody = packed.reshape(1, 12)
    own = [_mean(one.tolist(), 1, mu_s) for one in (everybody, spread, packed)]
    found = [
        theory.expected_time(one, 1, load=2, alpha=0.01, mu_s=mu_s, mu_f=10)
        for one in (everybody, spread, packed)
    ]
    return own[0], own[1], own[2], bool(np.allclose(own, found, rtol=1e-6))


@check(over="mu_s = 0.1, 1, 5 with 2 and 4 slow workers", grade="built", inputs="assumed", rests_on=(_TIME,))
def advantage_of_clusters_diminishes() -> Instances:
    """GC-SC over GC in fixed states, n = 12, P = 4, r = 2: the less even the slow workers lie, the less it gains."""
    for mu_s in (0.1, 1.0, 5.0):
        for count in (2, 4):
            alone, spread, packed, agrees = _frozen(mu_s, count)
            yield "mu_s, slow workers: integral = formula, to 1e-6", agrees
            shares = f"{spread / alone:.3f} of GC's time spread, {packed / alone:.3f} packed"
            what = f"mu_s = {mu_s}, {count} slow: GC-SC takes {shares}"
            yield what, spread < packed <= alone


@check(over="mu_s = 0.1, 1, 5 with 2 and 4 slow workers", grade="built", inputs="assumed", rests_on=(_TIME,))
def persistence_hurts() -> Instances:
    """GC-SC with the slow workers packed into clusters over GC-SC with them spread, while that state lasts."""
    for mu_s in (0.1, 1.0, 5.0):
        for count in (2, 4):
            _, spread, packed, agrees = _frozen(mu_s, count)
            yield "mu_s, slow workers: integral = formula, to 1e-6", agrees
            yield (
                f"mu_s = {mu_s}, {count} slow: packed takes {packed / spread:.2f} times as long",
                packed > spread,
            )


# --- The greedy rule ----------------------------------------------------------------------------------------------


def _states(n: int, p: float, seeds: int, iterations: int) -> np.ndarray:
    """States (S, T, n): a third of the workers starts slow, each changes with probability p before every iteration."""
    slow = np.empty((seeds, iterations, n), dtype=bool)
    for seed in range(seeds):
        generator = rng(seed, "states", 13, n)
        changes = generator.integers(0, 10**6, (iterations, n)) < p * 10**6
        changes[0] = generator.permutation(n) < n // 3
        slow[seed] = np.cumsum(changes, axis=0) % 2
    return slow


def _rotations(n: int, P: int, m: int, trial: int) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    """Drawn rotations of each row, and the clusters that they open to each worker, boolean (n, P), as defined."""
    generator = rng(trial, "placement", 14, n)
    shifts = tuple(tuple((1 + generator.permutation(P - 1)[: m - 1]).tolist()) for _ in range(n // P))
    allowed = np.zeros((n, P), dtype=bool)
    for w in range(n):
        row, column = divmod(w, P)
        allowed[w, [(column + by) % P for by in (0, *shifts[row])]] = True
    return shifts, allowed


def _inside(seated: np.ndarray, allowed: np.ndarray) -> bool:
    """Whether every seat is taken once, and by a worker to whom its cluster is open; seat j belongs to j mod P."""
    n, P = allowed.shape
    once = np.bincount(seated.ravel(), minlength=n).min() == seated.size // n and (seated < n).all()
    return bool(once and allowed[seated, np.arange(n) % P].all())


def _per_cluster(seated: np.ndarray, slow: np.ndarray, P: int) -> np.ndarray:
    """Slow workers in each cluster, (S, T, P)."""
    S, T, n = seated.shape
    return np.take_along_axis(slow, seated.astype(int), axis=2).reshape(S, T, n // P, P).sum(2)


@check(
    over="n = 12 and 20, 20 seeds of 200 iterations",
    grade="built",
    inputs="assumed",
    rests_on=(_GREEDY,),
    small={"seeds": 2, "iterations": 100},
)
def regulates_stragglers_per_cluster(seeds: int = 20, iterations: int = 200) -> Instances:
    """Mean of the most slow workers in a cluster, placed by the previous states, against clusters at home, p = 0.05."""
    for n, P, _, m in _SETTINGS:
        slow = _states(n, 0.05, seeds, iterations)
        shifts, allowed = _rotations(n, P, m, 0)
        seated = placement.Greedy(clusters=P, memberships=m, shifts=shifts).seat(slow, tuple(range(seeds)))
        yield f"n = {n}: everybody plays in a cluster of its own", _inside(seated, allowed)
        home = np.broadcast_to(np.arange(n), slow.shape)
        placed, static = (_per_cluster(one, slow, P).max(2).mean(1) for one in (seated, home))
        for one, other in zip(placed, static, strict=True):
            yield f"n = {n}: seeds with fewer than at home", bool(one < other)


def _excess(seeds: int, iterations: int) -> Iterator[tuple[int, bool, np.ndarray, np.ndarray, np.ndarray]]:
    """Slow workers of the fullest cluster above the even share: greedy, at home, and the most even placement.

    By setting, with whether the greedy rule keeps to the memberships.
    """
    for n, P, _, m in _SETTINGS:
        slow, names = _states(n, 0.05, seeds, iterations), tuple(range(seeds))
        shifts, allowed = _rotations(n, P, m, 0)
        how: dict[str, Any] = {"clusters": P, "memberships": m, "shifts": shifts, "observe": "perfect"}
        seated = placement.Greedy(**how).seat(slow, names)
        home = np.broadcast_to(np.arange(n), slow.shape)
        even = -(-slow.sum(2) // P)
        greedy, static, least = (
            _per_cluster(one, slow, P).max(2) - even
            for one in (seated, home, placement.Best(**how).seat(slow, names))
        )
        yield n, _inside(seated, allowed), greedy, static, least


@check(
    over="n = 12 and 20, 10 seeds of 100 iterations",
    grade="built",
    inputs="assumed",
    answers=("as_uniform_as_possible/more_even",),
    rests_on=(_GREEDY,),
    small={"seeds": 2, "iterations": 50},
)
def as_uniform_as_possible_more_even(seeds: int = 10, iterations: int = 100) -> Instances:
    """The greedy placement is more even than the clusters at home, on the states that it goes by."""
    for n, inside, greedy, static, _ in _excess(seeds, iterations):
        yield f"n = {n}: everybody plays in a cluster of its own", inside
        for one, other in zip(greedy.mean(1), static.mean(1), strict=True):
            yield f"n = {n}: seeds with less above the even share than at home", bool(one < other)


@check(
    over="n = 12 and 20, 10 seeds of 100 iterations",
    grade="built",
    inputs="assumed",
    answers=("as_uniform_as_possible/most_even",),
    reason="in 4 % of the states the memberships would allow a more even placement",
    rests_on=(_GREEDY,),
    small={"seeds": 2, "iterations": 50},
)
def as_uniform_as_possible_most_even(seeds: int = 10, iterations: int = 100) -> Instances:
    """The greedy placement is as even as any that the memberships allow: not always, in most states."""
    for n, inside, greedy, _, least in _excess(seeds, iterations):
        yield f"n = {n}: everybody plays in a cluster of its own", inside
        for one, other in zip(greedy.ravel(), least.ravel(), strict=True):
            yield f"n = {n}: as even as possible", bool(one == other)


def _placed(matrices: int, states: int) -> Iterator[tuple[int, int, int, np.ndarray, np.ndarray, np.ndarray]]:
    """Drawn rotations and slow sets, and who plays whom: n, P, r, memberships (n, P), slow sets and seats (U, n)."""
    for n, P, r, m in _SETTINGS:
        for trial in range(matrices):
            shifts, allowed = _rotations(n, P, m, trial)
            slow = rng(trial, "states", 15, n).integers(0, 2, (states, n)).astype(bool)
            rule = placement.Greedy(clusters=P, memberships=m, shifts=shifts, observe="perfect")
            yield n, P, r, allowed, slow, rule.seat(slow[None], (0,))[0].astype(int)


@check(
    over="drawn memberships and slow sets, n = 12 and 20",
    grade="built",
    inputs="assumed",
    answers=("feasible_data_assignment", "worker_replacement"),
    rests_on=(_GREEDY, "gcexp.codes:Clustered"),
    small={"matrices": 2, "states": 10},
)
def feasible_data_assignment(matrices: int = 20, states: int = 100) -> Instances:
    """A worker is placed in clusters of its own, every cluster is full, and it stores what its codeword needs.

    (`worker_replacement`.) A worker stores the mini-batches of its clusters. Seat j of the built code is row
    floor(j / P) of cluster j mod P and combines r mini-batches of the cluster from its row on.
    """
    for n, P, r, allowed, _, seated in _placed(matrices, states):
        support = codes.Clustered(n, P, r).encoding.toarray() != 0
        size = n // P
        needed = np.zeros((n, n), dtype=bool)
        for j in range(n):
            needed[j, [j % P * size + (j // P + i) % size for i in range(r)]] = True
        yield "codes: the codeword of each seat", bool((support == needed).all())
        stores = np.repeat(allowed, size, axis=1)
        for who in seated:
            yield "placements: every seat taken once, by a worker of its cluster", _inside(who, allowed)
            yield "placements: everybody stores what its codeword needs", not (support & ~stores[who]).any()


@checks(
    Check(
        id="sorted_columns_sets",
        what="under other names everybody plays in a cluster of its own",
        over="drawn memberships and slow sets, n = 12 and 20",
        grade="built",
        inputs="assumed",
        answers=("sorted_columns/sets",),
        rests_on=(_GREEDY,),
        small={"matrices": 2, "states": 50},
    ),
    Check(
        id="sorted_columns_result",
        what="clusters have as many slow workers as under other names",
        over="drawn memberships and slow sets, n = 12 and 20",
        grade="built",
        inputs="assumed",
        answers=("sorted_columns/result",),
        rests_on=(_GREEDY,),
        small={"matrices": 2, "states": 50},
        reason="counts per cluster change in 17 % of the slow sets: the greedy rule goes by the "
        "workers' order",
    ),
)
def sorted_columns(matrices: int = 10, states: int = 200) -> Instances:
    """Whether the greedy rule's result depends on the workers' order: slow workers per cluster under other names."""
    for n, P, _, allowed, slow, seated in _placed(matrices, states):
        names = rng(0, "placement", 16, n).permutation(n)  # worker w is called names[w]
        renamed, marked = np.empty_like(allowed), np.empty_like(slow)
        renamed[names], marked[:, names] = allowed, slow
        cluster = placement.greedy_clusters(np.broadcast_to(renamed.T, (len(slow), P, n)), marked)
        yield "sorted_columns_sets", _inside(seated, allowed)
        before = np.take_along_axis(slow, seated, axis=1).reshape(len(slow), n // P, P).sum(1)
        after = np.stack([(marked & (cluster == q)).sum(1) for q in range(P)], axis=1)
        for one, other in zip(before, after, strict=True):
            yield "sorted_columns_result", sorted(one) == sorted(other)
