"""Tables behind the figures of Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) that need no training.

What theory states is computed exactly, and what a code promises is decoded: "worst" means over all straggler sets,
unless a function says otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, gcd
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.codes.base import Code
from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.raptor import BatchRaptor
from gcexp.codes.repetition import FractionalRepetition
from gcexp.codes.subset_designs import (
    DESIGNS,
    BlockAssignment,
    Combinatorial,
    CoPrime,
    Intermediate,
    TDesign,
    co_prime_classes,
)
from gcexp.codes.uncoded import Uncoded
from gcexp.decoding_error.error import error
from gcexp.decoding_error.straggler_sets import all_sets, random_sets, runs
from gcexp.errors import ParameterError, require
from gcexp.theory import order_statistics

from . import impossibility, theory
from .instances import cyclic_cases, pairs, sizes, triples

if TYPE_CHECKING:  # a table of closed forms depends on no scheme and no delay model
    from gcexp.delays import Pareto, ShiftedExponential
    from gcexp.schemes import Fastest, Scheme

MAX_SETS = 200_000  # straggler sets that are enumerated
_SPAN = 1e-12  # rounding of two expected times


def _recovered(code: Code, responses: np.ndarray) -> np.ndarray:
    """Partitions that each set of survivors recovers, (U,)."""
    return (code.decode(responses * code.messages, partial=True).coefficients == 1).sum(1)


def recovered_partitions(code: Code, s: int) -> np.ndarray:
    """Partitions that each set of n - s survivors recovers, (C(n,s),)."""
    return np.concatenate([_recovered(code, responses) for responses in all_sets(code.n, s)])


def _words(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


# --- Tables -------------------------------------------------------------------------------------------------


@columns(
    *("theorem", "condition", "messages", "load_formula", "n", "s", "beta", "p", "load_partitions"),
    *("worst_recovered", "excluded"),
)
def cyclic_schemes(n: int, s: int, divisible: int, other: int):
    """Table 1: what cyclic schemes for n workers and s stragglers need, with an instance of each row that is decoded.

    p = s + beta - n + 1 divides the beta `divisible`, and not the beta `other`. ``excluded`` is 1 where the argument of
    Theorem 6 proves that p partitions per worker do not suffice.
    """
    raised = n - s - 1 + theory.one_message_load(n, s, other)
    for theorem, condition, load, beta, code in (
        ("5", "p divides β", "p/n", divisible, CyclicPartialRecovery(n, s, divisible)),
        (
            "6",
            "p does not divide β < n",
            "≥ (p+1)/n, reached p'/n",
            other,
            CyclicPartialRecovery(n, s, raised),
        ),
        ("7", "p does not divide β, p ⌈β/p⌉ ≤ n", "p/n", other, CyclicTwoMessage(n, s, other)),
    ):
        p, excluded = theory.cyclic_load(n, s, beta), beta < n and impossibility.cyclic_impossible(n, s, beta)
        formulas = f"Theorem {theorem}", condition, int(code.messages.max()), load
        worst = int(recovered_partitions(code, s).min())
        yield *formulas, n, s, beta, p, int(code.load.max()), worst, int(excluded)


@columns("setting", "n", "s", "beta", "scheme", "messages", "load_fraction", "load", "bound")
def costs(settings: list[tuple[int, int, int]]):
    """Table 4: messages and computation load of the naive, cyclic and combinatorial schemes.

    A setting is (n, s, beta): workers, stragglers, and how many of n equal parts of the data are wanted. ``bound`` is
    the load of Theorem 1.
    """
    for n, s, beta in settings:
        bound = float(theory.lower_bound(n, s, Fraction(beta, n)))
        for scheme, cost in theory.comparison(n, s, beta).items():
            fraction = f"{cost.load.numerator}/{cost.load.denominator}"
            yield f"{n}, {s}, {beta}/{n}", n, s, beta, scheme, cost.m, fraction, float(cost.load), bound


@columns(
    *("worker", "in_its_sum", "chosen", "sent_alone", "row", "messages", "partitions", "load"),
    *("worst_recovered", "naive_load", "first_recovered", "first_used"),
)
def co_prime_messages(n: int, s: int, y: int):
    """Table 2: which gradients a worker of the co-prime scheme sums, is chosen for, and sends alone.

    ``naive_load`` is what the naive scheme needs for the fraction ``worst_recovered``. Of the instance in which the
    last s workers straggle, ``first_recovered`` are the partitions, and ``first_used`` the messages that are added or
    subtracted (worker: partitions).
    """
    code = CoPrime(n, s, y)
    worst = int(recovered_partitions(code, s).min())
    naive = float(theory.naive(n, s, Fraction(worst, code.k)).load)
    rows_of = code.encoding.toarray() != 0
    decoding = code.decode([[m if w < n - s else 0 for w, m in enumerate(code.messages)]])
    weights = decoding.weights[0, 0]
    recovered = _words(np.flatnonzero(decoding.coefficients[0]))
    used = ", ".join(
        f"{weights[i]:+g} ({code.owner[i]}: {_words(np.flatnonzero(rows_of[i]))})"
        for i in np.flatnonzero(weights)
    )
    place = {T: j for j, T in enumerate(combinations(range(n), y))}
    for w in range(n):
        chosen = sorted(place[tuple(sorted((v + w) % n for v in T))] for T in co_prime_classes(n, y))
        mine = rows_of[code.owner == w]
        held, alone = np.flatnonzero(mine[0]), np.flatnonzero(mine[1:].any(0))
        words = [_words(held), _words(chosen), _words(alone)]
        sizes = int(code.messages[w]), code.k, len(held) / code.k
        yield w, *words, " | ".join(words), *sizes, worst, naive, recovered, used


def _assigned(codes: list[Callable[[], Code]], stragglers: list[int]) -> list[str]:
    """Columns of an assignment: its partitions, and what each number of stragglers leaves."""
    facts = [f"{name}_{s}" for s in stragglers for name in ("recovered", "best", "bound")]
    return [*(str(j) for make in codes[:1] for j in range(make().k)), *facts]


@columns("worker", "row", "held", "partitions", "messages", "load", "combinatorial_messages", more=_assigned)
def assignment(codes: list[Callable[[], Code]], stragglers: list[int]):
    """Table 3 and Example 3: who holds what of a code whose partitions are sets of workers, in ones and dots.

    Each of the `codes` makes the code for one number of `stragglers`, and every set of so many is decoded.
    ``combinatorial_messages`` are those of Theorem 2 at the same load. For each s, ``recovered_s`` and ``best_s`` are
    the partitions recovered in the worst and in the best set, and ``bound_s`` is the load of Theorem 1 for the worst.
    """
    built = [make() for make in codes]
    first = built[0]
    if not isinstance(first, BlockAssignment):
        raise ParameterError(f"an assignment of sets of workers is wanted, got {first!r}")
    copies = len(first.holders[0])
    facts = {
        "partitions": first.k,
        "messages": int(first.messages.max()),
        "load": copies / first.n,
        "combinatorial_messages": theory.combinatorial(first.n, copies).m,
    }
    for s, one in zip(stragglers, built, strict=True):
        found = recovered_partitions(one, s)
        bound = theory.lower_bound(first.n, s, Fraction(int(found.min()), first.k))
        facts |= {
            f"recovered_{s}": int(found.min()),
            f"best_{s}": int(found.max()),
            f"bound_{s}": float(bound),
        }
    for w in range(first.n):
        marks = {str(j): "1" if w in block else "." for j, block in enumerate(first.holders)}
        row = "".join(marks.values())
        yield {"worker": w, **marks, "row": row, "held": row.count("1"), **facts}


# --- Fig. 2: between the cyclic and the combinatorial scheme ------------------------------------------------


@columns("(n, s, α)", "n", "scheme", "x", "y", "load", "messages", "partitions", "rise", "missed")
def intermediate_sweep(settings: list[tuple[int, int, float]], bounds: bool):
    """Fig. 2: messages and load of the intermediate schemes, from x = 1 (cyclic) to x = y (combinatorial).

    A setting (n, s, alpha) is a panel. With `bounds` the load of the naive scheme and the bound of Theorem 1 are lines
    of the table. ``rise`` is y less the y before, and ``missed`` the worst lost fraction.
    """
    for n, s, alpha in settings:
        panel = f"({n}, {s}, {alpha:g})", n
        found = theory.sweep(n, s, alpha)
        y = [row["y"] for row in found]
        for row, rise in zip(found, np.diff(y, prepend=y[0]), strict=True):
            numbers = row["x"], row["y"], float(row["load"]), row["m"], row["k"]
            yield *panel, "intermediate", *numbers, rise, float(row["missed"])
        lines = {
            "naive scheme, α (s+1)/n": theory.naive(n, s, alpha).load,
            "lower bound, Theorem 1": theory.lower_bound(n, s, alpha),
        }
        for scheme, load in lines.items() if bounds else ():
            for row in found:
                yield *panel, scheme, row["x"], None, float(load), None, None, None, None


# --- Chosen stragglers --------------------------------------------------------------------------------------


@columns(
    *("scheme", "family", "stragglers", "recovered", "recovered_fraction", "most_recovered"),
    *("guaranteed", "at_least", "exact", "random_mean", "cyclic_visible"),
)
def chosen_stragglers(n: int, s: int, repetition: list[int], cyclic: list[int], trials: int, seed: int):
    """Recovered fraction of fractional repetition and of cyclic schemes against consecutive and worst stragglers.

    Groups of fractional repetition have the sizes `repetition`, and cyclic schemes the loads `cyclic`, which divide
    n - s - 1. The worst set is that of `gcexp.decoding_error.error.error` with the code's own decoding: no set leaves
    fewer than ``at_least``, and ``exact`` says whether that set leaves as few. ``guaranteed`` is the formula, and
    ``most_recovered`` is over the starts of consecutive stragglers. ``random_mean`` is the fraction over `trials`
    random sets, and ``cyclic_visible`` the partitions that consecutive stragglers leave visible in the cyclic
    assignment of that load.
    """
    schemes: list[tuple[str, str, FractionalRepetition | CyclicPartialRecovery, int, int]]
    schemes = [(f"FRC, d = {d}", "FRC", FractionalRepetition(n, d), n - d * (s // d), d) for d in repetition]
    for p in cyclic:
        beta = n - s - 1 + p
        schemes.append((f"cyclic, p = {p}", "cyclic scheme", CyclicPartialRecovery(n, s, beta), beta, p))
    apart = (np.arange(n) - np.arange(n)[:, None]) % n
    consecutive, random = runs(n, s), random_sets(n, s, trials, seed)
    for scheme, family, code, guaranteed, load in schemes:
        visible = int((consecutive @ (apart < load)).sum(1).min())
        starts = _recovered(code, consecutive)
        worst = error(code, s, decoding="closed_form", seed=seed)
        found, least_of_all = (round(n * (1 - e)) for e in (worst.lower, worst.upper))
        mean = _recovered(code, random).mean() / n
        for kind, least, most, at_least in (
            ("run, mean", starts.mean(), starts.max(), starts.mean()),
            ("run, worst", starts.min(), starts.max(), starts.min()),
            ("any set", found, found, least_of_all),
        ):
            recovered = float(least), float(least) / n, int(most)
            exact = bool(least == at_least)
            yield scheme, family, kind, *recovered, guaranteed, float(at_least), exact, mean, visible


# --- Section VIII: expected times ---------------------------------------------------------------------------


@columns("model", "alpha", "alpha_from", "scheme", "mean_iteration_time_s", "quotient", "threshold")
def expected_times(n: int, samples: int, models: list[dict[str, Any]], fractions: list[int]):
    """Section VIII: mean iteration times of the uncoded and the combinatorial scheme for n workers, by formula.

    A model has its letter (A to D), a name and the parameters of `theory.expected_times`. Wanted
    is alpha = i/n for every i of `fractions`; the time is the same for all fractions in (alpha_from, alpha].
    ``quotient`` is the time of the combinatorial scheme over that of the uncoded one, and ``threshold`` the alpha above
    which the combinatorial scheme wins for many workers.
    """
    for given in models:
        setting = {key: value for key, value in given.items() if key not in ("model", "name")}
        at = theory.threshold(given["model"], n, samples, **setting)
        for i in fractions:
            times = theory.expected_times(given["model"], n, Fraction(i, n), samples, **setting)
            for scheme, time in zip(("uncoded", "combinatorial, y = 2"), times, strict=True):
                yield given["name"], i / n, (i - 1) / n, scheme, time, times[1] / times[0], at


@columns("model", "n", "settings", "settings_won", "cases", "cases_won", "share_won", "least_alpha_won")
def regimes(models: dict[str, list[dict[str, float]]], sizes: list[int], twentieths: list[int]):
    """Section VIII: on how much of a grid the combinatorial scheme has the smaller expected time, by model and n.

    A model has a letter (A to C) and its settings, the parameters of `theory.expected_times`; a setting has one case
    for each wanted fraction alpha = i/20, i in `twentieths`, and n samples, so that the work is that of all data.
    Equal times are no win.
    ``settings_won`` counts the settings in which the scheme wins for the largest of these fractions and the one before
    it, and so over a range; ``least_alpha_won`` is the least fraction for which it wins in any setting.
    """
    fractions = [Fraction(i, 20) for i in sorted(twentieths)]
    for (model, settings), n in product(models.items(), sizes):
        settings_won, won = 0, []
        for setting in settings:
            here = []
            for alpha in fractions:
                uncoded, combinatorial = theory.expected_times(model, n, alpha, n, **setting)
                here.append(combinatorial < uncoded * (1 - _SPAN))
            settings_won += here[-1] and here[-2]
            won.append(here)
        of_alpha = np.array(won)
        least = float(fractions[int(of_alpha.any(0).argmax())]) if of_alpha.any() else float("nan")
        yield (
            model,
            n,
            len(settings),
            settings_won,
            of_alpha.size,
            int(of_alpha.sum()),
            of_alpha.mean(),
            least,
        )


def expected_iteration_time(scheme: Scheme, delay: Pareto | ShiftedExponential, iterations: int) -> float:
    """Expected iteration time of a scheme that waits for the fastest n - s of equally loaded workers.

    Work is added to the random time (``data``) or multiplied by it (``server``); the number of iterations does not
    matter.
    """
    code, wait = scheme.code, cast("Fastest", scheme.wait)
    (load,) = set((code.load / code.k).tolist())
    r = code.n - wait.s if wait.q is None else wait.q
    X = order_statistics.of_quantile(delay.law, r, code.n)
    return load * delay.data_time + (X if delay.scaling == "data" else load * X)


# --- Statements about all parameters, counted ---------------------------------------------------------------


@columns("statement", "cases", "hold", "share")
def counted(
    schemes_up_to: int,
    designs_up_to: int,
    cyclic_up_to: int,
    excluded_up_to: int,
    loads_up_to: int,
    sweeps_up_to: int,
    model_d_below: int,
):
    """How often the paper's theorems and general statements hold, over all parameters up to a largest n each.

    Theorems 2, 3 and 10 (schemes) and 5 and 7 (cyclic) are decoded for all straggler sets. Formulas are compared for
    all simple t-designs (Theorem 4), for what Theorem 6 excludes, for the order of loads and the messages of Theorem 3,
    for sweeps of Fig. 2, and for model D. A check without an instance is refused.
    """
    cases, hold = Counter[str](), Counter[str]()
    for check in (
        _sets_of_workers(schemes_up_to),
        _designs(),
        _cyclic(cyclic_up_to),
        _excluded(excluded_up_to),
        _graphs(),
        _intermediate(schemes_up_to),
        _loads(loads_up_to),
        _design_messages(designs_up_to),
        _sweeps(sweeps_up_to),
        _model_d(model_d_below),
    ):
        before = cases.total()
        for statement, holds in check:
            cases[statement] += 1
            hold[statement] += bool(holds)
        name = getattr(check, "__name__", "a check").strip("_")  # of a generator: its function's
        require(cases.total() > before, f"{name}: there is no instance to try")
    for statement, tried in cases.items():
        yield statement, tried, hold[statement], hold[statement] / tried


Counted = Iterator[tuple[str, bool]]  # a statement, and whether it holds in one case


def _sets_of_workers(up_to: int) -> Counted:
    for n, y in sizes(up_to):
        for s in range(n):
            visible = comb(n, y) - theory.choose(s, y)
            all_equal = (recovered_partitions(Combinatorial(n, s, y), s) == visible).all()
            yield "Theorem 2: recovered fraction 1 - ρ_y, every set", all_equal
            if gcd(n, y) == 1:
                all_equal = (recovered_partitions(CoPrime(n, s, y), s) == visible).all()
                yield "Theorem 3: co-prime scheme recovers the same", all_equal


def _intermediate(up_to: int) -> Counted:
    for n, y in sizes(up_to):
        for s, x in product(range(n), range(1, y + 1)):
            code = Intermediate(n, s, x, y)
            most = code.k - recovered_partitions(code, s).min()
            yield "Theorem 10: worst loss (x/g) C(s-y+x, x)", most == theory.intermediate_misses(n, s, x, y)


def _designs() -> Counted:
    for name in DESIGNS:
        t = 2 if name == "fano" else 3
        n = TDesign(name, t, 0).n
        for s in range(n - t, n):
            code = TDesign(name, t, s)
            recovered, load = recovered_partitions(code, s), Fraction(len(code.holders[0]), n)
            bound = theory.lower_bound(n, s, Fraction(int(recovered.min()), code.k))
            equal = recovered.min() == recovered.max()
            yield "Theorem 4: design meets Theorem 1, n - s ≤ t", equal and bound == load


def _design_messages(up_to: int) -> Counted:
    for n, size in sizes(up_to):
        most = theory.combinatorial(n, size).m
        for t in range(1, size + 1) if size < n else ():
            # Each t-subset is in at most all C(n-t, size-t) blocks around it: no block comes twice.
            for index in range(1, comb(n - t, size - t) + 1):
                if all(theory.lower_index(n, t, size, index, i).denominator == 1 for i in range(t)):
                    m = theory.t_design(n, t, size, index).m
                    yield "messages: simple t-design ≤ combinatorial", m <= most


def _cyclic(up_to: int) -> Counted:
    for messages, scheme, statement in (
        (1, CyclicPartialRecovery, "Theorem 5: one message where p divides β"),
        (2, CyclicTwoMessage, "Theorem 7: two messages where p ⌈β/p⌉ ≤ n"),
    ):
        for n, s, beta, _ in cyclic_cases(up_to, messages, least=2):
            yield statement, recovered_partitions(scheme(n, s, beta), s).min() >= beta


def _excluded(up_to: int) -> Counted:
    for n, s, beta in triples(up_to, least=2):
        if beta < n and beta % theory.cyclic_load(n, s, beta):
            excluded = impossibility.cyclic_impossible(n, s, beta)
            yield "Theorem 6: one message excluded elsewhere, β < n", excluded


def _graphs() -> Counted:
    """Load 2/n on small n: all multigraphs, workers as edges between partitions."""
    graphs = {n: impossibility.multigraphs(n) for n in (3, 4, 5)}
    for n in (4, 5):
        for good in impossibility.not_contradicted(graphs[n]):
            yield "Theorem 8: β = 3, s = n - 2, load 2/n excluded", not good
    for n in graphs:
        for s in range(2, n):
            for few in impossibility.least_covered(graphs[n], n - s) <= n - s + 1:
                yield "Theorem 9: load 2/n sees ≤ n - s + 1, s ≥ 2", few


def _loads(up_to: int) -> Counted:
    for n, s, beta in triples(up_to, least=2):
        if s:
            alpha = Fraction(beta, n)
            bound, y = n * theory.lower_bound(n, s, alpha), theory.minimal_y(n, s, alpha)
            p, naive = theory.cyclic_load(n, s, beta), n * theory.naive(n, s, alpha).load
            yield "loads: Theorem 1 ≤ combinatorial ≤ cyclic ≤ naive", bound <= y <= p <= naive
    for (n, s), i in product(pairs(up_to, least=2), range(1, 20)):
        alpha = Fraction(i, 20)
        if s and n - s <= alpha * n != int(alpha * n):
            fits = theory.minimal_y(n, s, alpha) <= n * theory.naive(n, s, alpha).load
            yield "loads, α n not whole: combinatorial ≤ naive", fits
    for n, y in sizes(up_to):
        if y < n and gcd(n, y) == 1:
            fewer, most = theory.co_prime(n, y).m, theory.combinatorial(n, y).m
            right = fewer < most if comb(n, y) > n else fewer == most
            yield "messages: co-prime ≤ combinatorial, < where C(n,y) > n", right


def _sweeps(up_to: int) -> Counted:
    for n, s, beta in triples(up_to, least=4):
        if s and beta < n:
            rows = theory.sweep(n, s, Fraction(beta, n))
            y, m = [row["y"] for row in rows], [row["m"] for row in rows]
            low, high = min(m[0], m[-1]), max(m[0], m[-1])
            ends = theory.cyclic_load(n, s, beta), theory.minimal_y(n, s, Fraction(beta, n))
            yield "sweep: load never rises with x", y == sorted(y, reverse=True)
            yield "sweep: ends are the cyclic and the combinatorial load", (y[0], y[-1]) == ends
            for each in m[1:-1]:
                yield "sweep: points with messages between the ends", low <= each <= high
                yield "sweep: points strictly between the ends", low < each < high
            if m[1:-1]:
                yield "sweep: all points between the ends", all(low <= each <= high for each in m)


def _model_d(below: int) -> Counted:
    for words, shift in (("0", 0.0), ("W/12", 1 / 12), ("W/2", 0.5)):
        for n in range(2, below):
            for beta in range(1, n + 1):
                t1, t2 = theory.expected_times("D", n, Fraction(beta, n), n, shift=shift, mean=1.0)
                yield f"VIII-D: uncoded not slower, δ = {words}", t2 >= t1 - _SPAN
                if n >= 4 and words == "W/12":
                    yield f"VIII-D: uncoded not slower, δ = {words}, n ≥ 4", t2 >= t1 - _SPAN


# --- Fig. 4: what the curves cost ---------------------------------------------------------------------------


@columns(
    *("panel", "scheme", "partitions", "messages", "load", "guaranteed", "guaranteed_fraction"),
    *("mean_recovered_fraction", "deterministic_time_s", "mean_iteration_time_s"),
    *("recovered_fraction_per_s", "guaranteed_fraction_per_s", "straggler_sets"),
)
def curve_costs(
    codes: list[dict[str, Any]], data_time: float, scale: float, shape: float, trials: int, seed: int
):
    """Fig. 4: messages, load, guarantee, and expected iteration time and recovered fraction of every curve.

    A curve has its panel, its scheme, how many stragglers there are, and ``of``, which makes the code. All data take
    `data_time` seconds, the random times have a Pareto law of this scale (s) and shape, and where there are too many
    straggler sets to take all, `trials` random ones are taken. Times and means are those of independent workers with
    equal loads, and missing for unequal ones, whose clock prefers the light loads. The guaranteed fraction per second
    is the rate of a decoder that stops at the guarantee.
    """
    for given in codes:
        code, s = given["of"](), given["stragglers"]
        every = comb(code.n, s) <= MAX_SETS
        sets = all_sets(code.n, s) if every else [random_sets(code.n, s, trials, seed)]
        found = np.concatenate([_recovered(code, responses) for responses in sets])
        load = code.load.mean() / code.k
        mean, work = found.mean() / code.k, load * data_time
        if code.load.min() < code.load.max():
            mean = work = np.nan
        time = work + order_statistics.pareto(code.n - s, code.n, scale=scale, shape=shape)
        promised = int(found.min()) if every else _guaranteed(code, s)
        share = promised / code.k
        costs = code.k, int(code.messages.max()), load, promised, share, mean, work, time
        yield (
            given["panel"],
            given["scheme"],
            *costs,
            mean / time,
            share / time,
            "all" if every else str(trials),
        )


def _guaranteed(code: Code, s: int) -> int:
    """Partitions that any n - s workers recover, by formula: 0 where nothing is promised."""
    if isinstance(code, FractionalRepetition):
        return code.n - code.d * (s // code.d)
    if isinstance(code, Uncoded):
        return code.n - s
    if isinstance(code, BatchRaptor):
        return 0
    return code.recovers
