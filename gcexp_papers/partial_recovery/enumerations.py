"""Theorems of Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163), on storages, codes and integrals made for it.

Each function is a generator of instances, ``(what, holds)``; see `gcexp.analysis.enumeration` for what decides.
`rests_on` says with which objects of the library it is compared, looked up when called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb

import numpy as np

from gcexp import codes
from gcexp.analysis import enumeration as engine
from gcexp.analysis.checks import check
from gcexp.theory import partial_recovery as theory

Instances = Iterator[tuple[str, bool]]

_THEORY = "gcexp.theory.partial_recovery"
_TWO, _ONE, _SUBSETS = (
    "gcexp.codes:CyclicTwoMessage",
    "gcexp.codes:CyclicPartialRecovery",
    "gcexp.codes:Combinatorial",
)


# --- Theorem 1: every storage -------------------------------------------------------------------------------------


@lru_cache
def _seen(n: int, k: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Every storage: its load, and how many partitions the worst s silent workers leave, s = 0, ..., n-1."""
    found = []
    for held in engine.storages(n, k):
        worst = tuple(
            min(int(held[list(responses)].any(0).sum()) for responses in engine.survivors(n, s))
            for s in range(n)
        )
        found.append((int(held.sum(1).max()), worst))
    return tuple(found)


@check(
    over="all storages n <= 4, k <= 5",
    grade="enumerated",
    answers=("theorem1_independent_of_k_m", "theorem1"),
    rests_on=(f"{_THEORY}:lower_bound",),
    small={"workers": 3, "partitions": 3},
)
def theorem1_independent_of_k_m(workers: int = 4, partitions: int = 5) -> Instances:
    """Theorem 1, from both sides: no storage has less load than the bound for what it leaves, and some have as much.

    Up to `partitions` partitions, one fewer for four workers.
    """
    for n in range(2, workers + 1):
        reached = dict.fromkeys(range(n), False)
        for k in range(1, partitions + (n < 4)):
            for load, worst in _seen(n, k):
                for s, left in enumerate(worst):
                    if left:
                        bound = theory.lower_bound(n, s, Fraction(left, k))
                        yield (
                            "every storage, s: load at least the bound for what is left",
                            Fraction(load, k) >= bound,
                        )
                        reached[s] |= Fraction(load, k) == bound
        for s in reached:
            yield "(n, s): some storage has the load of the bound", reached[s]


def _lost(n: int, s: int, copies: int) -> Fraction:
    """Share of the sets of s silent workers that hide a partition with so many copies: the others fill the set."""
    return Fraction(comb(n - copies, s - copies), comb(n, s)) if copies <= s else Fraction(0)


@check(
    over="n <= 10, s, alpha = beta/n",
    grade="formula",
    answers=("theorem1",),
    rests_on=(f"{_THEORY}:lower_bound",),
    small={"workers": 4},
)
def theorem1_as_linear_programme(workers: int = 10) -> Instances:
    """Theorem 1: the formula is the best vertex of the linear programme in the shares x_j of the data with j copies.

    Least sum j x_j with x >= 0, sum x_j = 1 and sum x_j C(n-j, s-j) / C(n, s) <= 1 - alpha: at most two x_j are not 0.
    """
    for n in range(2, workers + 1):
        for s, i in product(range(n), range(1, n + 1)):
            missing = 1 - Fraction(i, n)
            lost = [_lost(n, s, j) for j in range(n + 1)]
            loads = [Fraction(j) for j in range(n + 1) if lost[j] <= missing]
            for a, b in combinations(range(n + 1), 2):
                if lost[a] > missing > lost[b]:
                    share = (missing - lost[b]) / (lost[a] - lost[b])
                    loads.append(share * a + (1 - share) * b)
            yield (
                "(n, s, alpha): best vertex = formula",
                min(loads) / n == theory.lower_bound(n, s, Fraction(i, n)),
            )


@check(
    over="all storages n, k <= 4", grade="enumerated", rests_on=(f"{_THEORY}:lower_bound",), small={"most": 3}
)
def background_linear_in_s(most: int = 4) -> Instances:
    """Full recovery: the least load of all storages that leave every partition after any s silent ones is (s+1)/n."""
    for n in range(2, most + 1):
        for s in range(n):
            least = min(
                Fraction(load, k) for k in range(1, most + 1) for load, worst in _seen(n, k) if worst[s] == k
            )
            right = least == Fraction(s + 1, n) == theory.lower_bound(n, s, Fraction(1))
            yield "(n, s): least load of all storages = (s + 1) / n", right


# --- Loads of the schemes -----------------------------------------------------------------------------------------


def _copies(n: int, s: int, alpha: Fraction) -> int:
    """Fewest copies y >= 1 for which all y-subsets of workers leave the share alpha: C(s, y) of C(n, y) are lost."""
    return next(y for y in range(1, s + 2) if Fraction(comb(s, y), comb(n, y)) <= 1 - alpha)


@check(
    over="n <= 15, s, y",
    grade="enumerated",
    answers=("thm2_tight/matching_alpha",),
    rests_on=(f"{_THEORY}:minimal_y", f"{_THEORY}:lower_bound"),
    small={"most": 4},
)
def thm2_tight_matching_alpha(most: int = 15) -> Instances:
    """Theorem 2 meets Theorem 1 where alpha = 1 - C(s, y) / C(n, y)."""
    for n in range(2, most + 1):
        for s in range(1, n):
            for y in range(1, s + 2):
                alpha = 1 - Fraction(comb(s, y), comb(n, y))
                if alpha:
                    right = theory.minimal_y(n, s, alpha) == _copies(n, s, alpha) == y
                    right &= theory.lower_bound(n, s, alpha) == Fraction(y, n)
                    yield "(n, s, y), alpha = 1 - C(s,y)/C(n,y): bound = y / n", right


@check(
    over="n <= 15, s, alpha = beta/n",
    grade="enumerated",
    answers=("thm2_tight/every_alpha",),
    reason="at alpha = beta/n the two are equal in 317 of 1120 cases; elsewhere y is rounded up, and "
    "the load is above the bound",
    rests_on=(f"{_THEORY}:minimal_y", f"{_THEORY}:lower_bound"),
    small={"most": 4},
)
def thm2_tight_every_alpha(most: int = 15) -> Instances:
    """For alpha = beta / n the least whole y is on the bound in 317 cases of 1120, and above it in the others."""
    for n in range(2, most + 1):
        for s in range(1, n):
            for beta in range(1, n + 1):
                alpha = Fraction(beta, n)
                y, bound = theory.minimal_y(n, s, alpha), theory.lower_bound(n, s, alpha)
                yield (
                    "(n, s, beta): the library's y is the least one, never below the bound",
                    (y == _copies(n, s, alpha) and Fraction(y, n) >= bound),
                )
                yield "(n, s, beta): bound = y / n", Fraction(y, n) == bound


def _whole(most: int) -> Iterator[tuple[int, int, int, int]]:
    """(n, s, beta, y) with 1 <= s < n and n - s <= beta <= n."""
    for n in range(2, most + 1):
        for s in range(1, n):
            for beta in range(n - s, n + 1):
                yield n, s, beta, _copies(n, s, Fraction(beta, n))


@check(
    over="n <= 24, s, alpha n whole",
    grade="enumerated",
    answers=("cyclic_slightly_higher_load/order",),
    rests_on=(f"{_THEORY}:minimal_y", f"{_THEORY}:cyclic_load"),
    small={"most": 5},
)
def cyclic_load_order(most: int = 24) -> Instances:
    """The cyclic load s + beta - n + 1 is never below the combinatorial one (order of `cyclic_slightly_higher_load`).

    It is the least arc of which n - s in a row cover beta. Median of the ratio 1.5; at most 1.25 in 44 % of the cases.
    """
    for n, s, beta, y in _whole(most):
        arc = next(p for p in range(1, n + 1) if min(n, n - s + p - 1) >= beta)
        right = theory.cyclic_load(n, s, beta) == arc and theory.minimal_y(n, s, Fraction(beta, n)) == y
        yield "(n, s, beta): cyclic load at least the combinatorial one", right and arc >= y


@check(
    over="n <= 24, s, alpha n whole",
    grade="enumerated",
    answers=("far_lower_than_naive/whole",),
    rests_on=(f"{_THEORY}:minimal_y", f"{_THEORY}:naive"),
    small={"most": 5},
)
def far_lower_than_naive_whole(most: int = 24) -> Instances:
    """With alpha n whole the combinatorial load is at most the naive one, alpha (s + 1) / n (`far_lower_than_naive`).

    Median of the ratio 2.2; at least 2 in 55 % of the cases.
    """
    for n, s, beta, y in _whole(most):
        naive = Fraction(beta, n) * (s + 1) / n
        right = (
            theory.minimal_y(n, s, Fraction(beta, n)) == y
            and theory.naive(n, s, Fraction(beta, n)).load == naive
        )
        yield "(n, s, beta): combinatorial load at most the naive one", right and Fraction(y, n) <= naive


@check(
    over="n <= 12, s, alpha n halfway between whole numbers",
    grade="enumerated",
    answers=("far_lower_than_naive/not_whole",),
    reason="where alpha n is not whole y is rounded up, and the naive load is lower in some cases, "
    "as at n = 5, s = 1, alpha = 9/10",
    small={"most": 5},
)
def far_lower_than_naive_not_whole(most: int = 12) -> Instances:
    """The same for alpha n halfway between whole numbers: a counterexample as at n = 5, s = 1, alpha = 9/10."""
    for n in range(2, most + 1):
        for s in range(1, n):
            for beta in range(n - s, n):
                alpha = Fraction(2 * beta + 1, 2 * n)
                naive = alpha * (s + 1) / n
                yield (
                    "(n, s, alpha n + 1/2): combinatorial load at most the naive one",
                    (Fraction(_copies(n, s, alpha), n) <= naive),
                )


@check(
    over="n = 15, s = 9, alpha = 2/3",
    grade="enumerated",
    inputs="assumed",
    answers=("ix_b_combinatorial_least_load/load",),
    reason="a mixture of all pairs and triples of workers has load 131/950 = 0.1379, the scheme 1/5; "
    "the bound is 89/648 = 0.1373",
    rests_on=(f"{_THEORY}:lower_bound", _SUBSETS),
)
def least_load_of_panel_2(n: int = 15, s: int = 9) -> Instances:
    """Whether the load of Fig. 4's combinatorial scheme, alpha = 2/3, is the least (`ix_b_combinatorial_least_load`).

    59 copies of every pair of workers and one of every triple lose less than 1/3, with load 131/950 instead of 1/5.
    """
    alpha = Fraction(2, 3)
    y = _copies(n, s, alpha)
    built = codes.Combinatorial(n, s, y)
    held = built.encoding.toarray() != 0
    each = {int(held[built.owner == w].any(0).sum()) for w in range(n)}
    copies = {len({int(built.owner[r]) for r in np.flatnonzero(column)}) for column in held.T}
    right = held.shape[1] == comb(n, y) and copies == {y} and each == {comb(n - 1, y - 1)}
    yield "the built scheme: all C(n, y) partitions, each on y workers, load y / n", right
    count, lost, total = (
        59 * comb(n, 2) + comb(n, 3),
        59 * comb(s, 2) + comb(s, 3),
        59 * 2 * comb(n, 2) + 3 * comb(n, 3),
    )
    mixture = Fraction(total, n * count)
    yield "a mixture of all pairs and triples leaves 2/3 as well", Fraction(lost, count) <= 1 - alpha
    bound = theory.lower_bound(n, s, alpha)
    yield "the bound is below the mixture's load, and close", bound <= mixture < bound * Fraction(101, 100)
    yield (
        f"load {Fraction(y, n)} of the scheme is the least: at most {mixture} of the mixture",
        Fraction(y, n) <= mixture,
    )


# --- Built codes --------------------------------------------------------------------------------------------------


def _two_messages(most: int) -> Iterator[tuple[int, int, int, int]]:
    """(n, s, beta, p) of Theorem 7: p does not divide beta, and p ceil(beta / p) <= n."""
    for n in range(1, most + 1):
        for s in range(n):
            for beta in range(n - s, n + 1):
                p = s + beta - n + 1
                if beta % p and p * -(-beta // p) <= n:
                    yield n, s, beta, p


@check(
    over="n <= 8, s, beta with y >= 2",
    grade="built",
    answers=("abstract_cyclic_lower_communication", "optimal_schemes_high_communication"),
    rests_on=(_TWO, _SUBSETS),
    small={"most": 6},
)
def messages_of_both_classes(most: int = 8) -> Instances:
    """Messages of built codes: the cyclic scheme sends fewer in all, the combinatorial one n - 1 or more each.

    (`abstract_cyclic_lower_communication`, `optimal_schemes_high_communication`; where one copy is not enough.)
    """
    for n, s, beta, _ in _two_messages(most):
        y = _copies(n, s, Fraction(beta, n))
        if y < 2 or beta == n:
            continue
        near, far = codes.CyclicTwoMessage(n, s, beta), codes.Combinatorial(n, s, y)
        sent = [np.bincount(c.owner[(c.encoding.toarray() != 0).any(1)], minlength=n) for c in (near, far)]
        left = [_least_left(c, s) for c in (near, far)]
        right = left[0] >= Fraction(beta, n) <= left[1] and sent[1].min() >= n - 1
        yield (
            "(n, s, beta): fewer messages of the cyclic code, n - 1 or more of the combinatorial one",
            bool(right and sent[0].sum() < sent[1].sum()),
        )


def _least_left(code, s: int) -> Fraction:
    """Share of the partitions that the worst s silent workers leave in sight."""
    rows = code.encoding.toarray() != 0
    held = np.array([rows[code.owner == w].any(0) for w in range(code.n)])
    seen = [int(held[list(responses)].any(0).sum()) for responses in engine.survivors(code.n, s)]
    return Fraction(min(seen), code.k)


def _arc_sums(n: int, length: int) -> np.ndarray:
    return engine.cyclic(n, length).astype(float) if length else np.zeros((n, n))


@check(over="n <= 10, s, beta", grade="built", rests_on=(_TWO,), small={"most": 6})
def theorem7_scheme(most: int = 10) -> Instances:
    """Theorem 7: the built code's first messages are sums of p partitions in a row, the second ones of beta mod p."""
    for n, s, beta, p in _two_messages(most):
        code = codes.CyclicTwoMessage(n, s, beta)
        rows = code.encoding.toarray()
        sums = np.stack([_arc_sums(n, p), _arc_sums(n, beta % p)], axis=1).reshape(2 * n, n)
        right = (
            rows.shape == sums.shape and (rows == sums).all() and (code.owner == np.arange(2 * n) // 2).all()
        )
        yield "(n, s, beta): rows of the built code", bool(right)


@check(over="n <= 10, s, beta", grade="built", rests_on=(_TWO, _ONE), small={"most": 5})
def cyclic_at_most_two_messages(most: int = 10) -> Instances:
    """Theorems 5 and 7: n partitions, and one or two plain sums from each worker of the built codes."""
    for n in range(1, most + 1):
        for s in range(n):
            for beta in range(n - s, n + 1):
                p = s + beta - n + 1
                if beta % p == 0:
                    code = codes.CyclicPartialRecovery(n, s, beta)
                    right = np.array_equal(code.encoding.toarray(), _arc_sums(n, p))
                    yield "(n, s, beta), p divides beta: one sum of p partitions each", right
                elif p * -(-beta // p) <= n:
                    code = codes.CyclicTwoMessage(n, s, beta)
                    rows = code.encoding.toarray()
                    plain = np.isin(rows, (0, 1)).all() and (np.bincount(code.owner, minlength=n) == 2).all()
                    inside = (rows[::2] == _arc_sums(n, p)).all() and (rows[1::2] <= rows[::2]).all()
                    yield (
                        "(n, s, beta), else: two sums each, the second of some of the first's",
                        bool(plain and inside),
                    )


@check(
    over="n = 12, s = 7: all sets, ten codes",
    grade="built",
    inputs="assumed",
    rests_on=("gcexp.codes:BatchRaptor",),
    small={"trials": 1},
)
def brc_fits_partial_recovery(n: int = 12, s: int = 7, trials: int = 10) -> Instances:
    """The batch raptor code decodes to plain sums, some of them on average, and has no worst-case guarantee."""
    means, worst = [], []
    responses = np.array([np.isin(np.arange(n), left) for left in engine.survivors(n, s)]).astype(int)
    for trial in range(trials):
        code = codes.BatchRaptor(n, s, epsilon=0.1, seed=trial)
        rows = code.encoding.toarray()
        decoded = code.decode(responses)
        sums = np.asarray(decoded.weights).reshape(len(responses), -1) @ rows
        right = bool(np.isin(sums, (0, 1)).all() and np.isin(rows, (0, 1)).all())
        yield "codes: every set of survivors decodes to coefficients 0 and 1", right
        means.append(sums.mean())
        worst.append(sums.mean(1).min())
    yield "mean over codes and sets: half of the data or more", float(np.mean(means)) > 0.5
    yield "codes: nothing at all for some set, in most of them", sum(one == 0 for one in worst) > trials / 2


# --- Section VIII: expected times by integrals of the law of the k-th worker ---------------------------------------


def _tail(law: str, x: np.ndarray, first: float, second: float) -> np.ndarray:
    """P(X > x): Pareto of scale and tail index, or a shifted exponential of shift and mean."""
    if law == "pareto":
        return np.minimum(1, (first / x) ** second)
    return np.minimum(1, np.exp(-(x - first) / second))


def _kth(law: str, k: int, n: int, first: float, second: float) -> float:
    """E[X_{k:n}]: integral of P(fewer than k of n are done), a sum over how many are, by the trapezoidal rule."""
    start = max(first, 1e-12)
    # in u = log(x - start): smooth at the start, and far enough for tails of index 1 over n - k + 1
    u = np.linspace(-25, 60 if law == "pareto" else 12, 6001)
    x = np.exp(u)
    late = _tail(law, start + x, first, second)
    done = sum(comb(n, i) * (1 - late) ** i * late ** (n - i) for i in range(k))
    return first + float((done * x).sum() * (u[1] - u[0]))


def _waits(n: int, alpha: Fraction) -> tuple[int, int]:
    """Workers that the uncoded scheme and all pairs of workers wait for."""
    silent = max(s for s in range(n) if s * (s - 1) <= (1 - alpha) * n * (n - 1))
    return -(-alpha.numerator * n // alpha.denominator), n - silent


def _order(law: str, k: int, n: int, first: float, second: float) -> float:
    """E[X_{k:n}] as a product over the workers (Pareto) or a sum (exponential), for large n."""
    j = np.arange(n - k + 1, n + 1)
    if law == "pareto":
        return first * float(np.prod(j / (j - 1 / second)))
    return first + second * float((1 / j).sum())


def _times(
    model: str, n: int, alpha: Fraction, work: float, first: float, second: float
) -> tuple[float, float]:
    """Times of both schemes; `work`: seconds of a worker's share of the data (A and B), or its samples (C and D)."""
    law = "pareto" if model in "AC" else "exponential"
    waited = [_order(law, k, n, first, second) for k in _waits(n, alpha)]
    if model in "AB":
        return work + waited[0], 2 * work + waited[1]
    return work * waited[0], 2 * work * waited[1]


#: Tail indices and work (seconds) of model A, work of model B (unit mean), tail indices of model C.
_A = [(shape, work) for shape in (1.2, 1.5, 2.0, 3.0) for work in (0.1, 0.5, 2.0)]
_B, _C = (0.05, 0.2, 0.5, 1.0), (1.0, 1.2, 1.5)


def _grid(grid: int) -> list[Fraction]:
    return [Fraction(i, grid) for i in range(1, grid)]


def _condition(
    model: str, cases: list[tuple[float, float, float]], grid: int, threshold: Callable
) -> Instances:
    """Whether the limit's threshold says who is faster at n = 1000, away from it by more than 0.01."""
    n = 1000
    for work, first, second in cases:
        limit = threshold(work, first, second)
        for alpha in _grid(grid):
            uncoded, pairs = _times(model, n, alpha, work, first, second)
            if abs(float(alpha) - limit) > 0.01:
                yield (
                    "n = 1000, grid: the threshold of the limit says who is faster",
                    (pairs < uncoded) == (alpha > limit),
                )


@check(
    over="n = 20, 100, 1000 on a grid",
    grade="formula",
    inputs="assumed",
    rests_on=(f"{_THEORY}:threshold",),
    small={"grid": 5},
)
def viii_a_condition(grid: int = 20) -> Instances:
    """Section VIII-A: the restored condition for large n against exact order statistics; Pareto, work added."""

    def limit(work: float, scale: float, shape: float) -> float:
        return theory.threshold("A", 1000, 1000, sample_time=work, scale=scale, shape=shape)

    yield from _condition("A", [(work, 1.0, shape) for shape, work in _A], grid, limit)


@check(
    over="n = 20, 100, 1000 on a grid",
    grade="formula",
    inputs="assumed",
    rests_on=(f"{_THEORY}:threshold",),
    small={"grid": 20},
)
def viii_b_condition(grid: int = 20) -> Instances:
    """Section VIII-B: the same for shifted exponential times, work added."""

    def limit(work: float, shift: float, mean: float) -> float:
        return theory.threshold("B", 1000, 1000, sample_time=work, shift=shift, mean=mean)

    yield from _condition("B", [(work, 0.5, 1.0) for work in _B], grid, limit)


@check(
    over="n = 20, 100, 1000 on a grid",
    grade="formula",
    inputs="assumed",
    rests_on=(f"{_THEORY}:threshold",),
    small={"grid": 5},
)
def viii_c_threshold(grid: int = 20) -> Instances:
    """Section VIII-C: the same for Pareto times that multiply the work."""

    def limit(work: float, scale: float, shape: float) -> float:
        return theory.threshold("C", 1000, 1000, scale=scale, shape=shape)

    yield from _condition("C", [(1.0, 1.0, shape) for shape in _C], grid, limit)


@check(
    over="n = 100 on a grid",
    grade="formula",
    inputs="assumed",
    rests_on=(f"{_THEORY}:expected_times",),
    small={"grid": 5},
)
def viii_a_when(grid: int = 20, n: int = 100) -> Instances:
    """Section VIII-A: once redundancy is faster it stays so as alpha rises, the tail index falls or the work does."""

    def faster(shape: float, work: float, alpha: Fraction) -> bool:
        own = _times("A", n, alpha, work, 1.0, shape)
        found = theory.expected_times("A", n, alpha, n, sample_time=work, scale=1.0, shape=shape)
        agrees.append(np.allclose(own, found, rtol=1e-9))
        return own[1] < own[0]

    agrees: list[bool] = []
    shapes, works = sorted({a for a, _ in _A}), sorted({b for _, b in _A})
    won = {(a, b, c): faster(a, b, c) for a in shapes for b in works for c in _grid(grid)}

    def stays(line: list[bool]) -> bool:
        return line == sorted(line)

    for a, b in product(shapes, works):
        yield (
            "index, work: once faster, faster for every higher alpha",
            stays([won[a, b, c] for c in _grid(grid)]),
        )
    for b, c in product(works, _grid(grid)):
        yield (
            "work, alpha: faster for every smaller tail index",
            stays([won[a, b, c] for a in reversed(shapes)]),
        )
    for a, c in product(shapes, _grid(grid)):
        yield "index, alpha: faster for every smaller work", stays([won[a, b, c] for b in reversed(works)])
    for one in agrees:
        yield "grid: the library's times are products over the workers, to 1e-9", bool(one)


def _by_integral(model: str, first: float, second: float) -> Instances:
    """Library's times at n = 20, alpha = 3/4 against an integral over the law of the k-th worker."""
    n, alpha, samples, sample_time = 20, Fraction(3, 4), 2000, 0.01
    law = "pareto" if model in "AC" else "exponential"
    names = ("scale", "shape") if law == "pareto" else ("shift", "mean")
    work = samples / n * (sample_time if model in "AB" else 1)
    found = theory.expected_times(
        model,
        n,
        alpha,
        samples,
        sample_time if model in "AB" else 0.0,
        **dict(zip(names, (first, second), strict=True)),
    )
    for times, k, time in zip((1, 2), _waits(n, alpha), found, strict=True):
        waited = _kth(law, k, n, first, second)
        own = times * work + waited if model in "AB" else times * work * waited
        yield (
            "schemes: integral over the law of the k-th worker = formula, to 1e-6",
            abs(own / time - 1) < 1e-6,
        )


@check(over="n = 20, alpha = 3/4", grade="formula", inputs="assumed", rests_on=(f"{_THEORY}:expected_times",))
def viii_b_times() -> Instances:
    """Section VIII-B: expected times, shifted exponential, work added."""
    for shift, mean in ((0.5, 2.0), (0.1, 0.5), (1.0, 5.0)):
        yield from _by_integral("B", shift, mean)


@check(over="n = 20, alpha = 3/4", grade="formula", inputs="assumed", rests_on=(f"{_THEORY}:expected_times",))
def viii_c_times() -> Instances:
    """Section VIII-C: expected times, Pareto, work multiplied."""
    for scale, shape in ((1.0, 1.5), (0.2, 1.2), (2.0, 3.0)):
        yield from _by_integral("C", scale, shape)


@check(
    over="n = 20 on a grid, models A, B and C",
    grade="formula",
    inputs="assumed",
    rests_on=(f"{_THEORY}:expected_times",),
    small={"grid": 5},
)
def viii_broad_regimes(grid: int = 20, n: int = 20) -> Instances:
    """Section VIII: the redundant scheme is faster on a good part of the grid, for models A, B and C.

    A tenth of each model's grid is meant by "broad" here; of model D the paper says that it never is.
    """
    laws: dict[str, list[tuple[float, float, float]]] = {
        "A": [(work, 1.0, shape) for shape, work in _A],
        "B": [(work, 0.5, 1.0) for work in _B],
        "C": [(1.0, 1.0, shape) for shape in _C],
    }
    for model, cases in laws.items():
        names = ("shift", "mean") if model == "B" else ("scale", "shape")
        won = []
        for (work, *law), alpha in product(cases, _grid(grid)):
            own = _times(model, n, alpha, work, *law)
            named = dict(zip(names, law, strict=True))
            found = theory.expected_times(model, n, alpha, n, 0.0 if model == "C" else work, **named)
            yield "grid: the library's times, to 1e-9", bool(np.allclose(own, found, rtol=1e-9))
            won.append(own[1] < own[0])
        yield "models: faster on a tenth of the grid or more", float(np.mean(won)) >= 0.1


# --- Appendix E ---------------------------------------------------------------------------------------------------


@check(over="connected graphs with as many edges as nodes, at most 5", grade="enumerated", small={"most": 4})
def appendix_e_removal_order(most: int = 5) -> Instances:
    """Appendix E: edges can be taken off so that each step loses a node from view, until only a cycle is left.

    Every connected graph with as many edges as nodes: leaves are taken off until every node has degree 2.
    """
    for n in range(3, most + 1):
        pairs = list(combinations(range(n), 2))
        for chosen in combinations(pairs, n):
            if not _connected(n, chosen):
                continue
            edges, steps = set(chosen), 0
            while leaves := [v for v in range(n) if sum(v in e for e in edges) == 1]:
                edges = {e for e in edges if leaves[0] not in e}
                steps += 1
            degrees = [sum(v in e for e in edges) for v in range(n)]
            right = set(degrees) <= {0, 2} and len(edges) == n - steps == sum(map(bool, degrees))
            yield "connected graphs with as many edges as nodes: what is left are nodes of degree 2", right


def _connected(n: int, edges: tuple[tuple[int, int], ...]) -> bool:
    found, waiting = {0}, [0]
    while waiting:
        v = waiting.pop()
        near = {w for e in edges if v in e for w in e} - found
        found |= near
        waiting += near
    return len(found) == n
