"""Tables behind the figures of Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) that need no training.

What theory states is computed exactly, and what a code promises is decoded: "worst" means over all straggler sets,
unless a function says otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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


def _count_recovered(code: Code, responses: np.ndarray) -> np.ndarray:
    """Partitions that each set of survivors recovers, (U,)."""
    return (code.decode(responses * code.messages, partial=True).coefficients == 1).sum(1)


def recovered_partitions(code: Code, s: int) -> np.ndarray:
    """Partitions that each set of n - s survivors recovers, (C(n,s),)."""
    return np.concatenate([_count_recovered(code, responses) for responses in all_sets(code.n, s)])


def _words(numbers: Iterable[int]) -> str:
    """Numbers as a cell of a table lists them."""
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
    one_message = CyclicPartialRecovery(n, s, divisible)
    raised_load = CyclicPartialRecovery(n, s, raised)
    two_messages = CyclicTwoMessage(n, s, other)
    for theorem, condition, load, beta, code in (
        ("5", "p divides β", "p/n", divisible, one_message),
        ("6", "p does not divide β < n", "≥ (p+1)/n, reached p'/n", other, raised_load),
        ("7", "p does not divide β, p ⌈β/p⌉ ≤ n", "p/n", other, two_messages),
    ):
        excluded = beta < n and impossibility.cyclic_impossible(n, s, beta)
        yield {
            "theorem": f"Theorem {theorem}",
            "condition": condition,
            "messages": int(code.messages.max()),
            "load_formula": load,
            "n": n,
            "s": s,
            "beta": beta,
            "p": theory.cyclic_load(n, s, beta),
            "load_partitions": int(code.load.max()),
            "worst_recovered": int(recovered_partitions(code, s).min()),
            "excluded": int(excluded),
        }


@columns("setting", "n", "s", "beta", "scheme", "messages", "load_fraction", "load", "bound")
def costs(settings: list[tuple[int, int, int]]):
    """Table 4: messages and computation load of the naive, cyclic and combinatorial schemes.

    A setting is (n, s, beta): workers, stragglers, and how many of n equal parts of the data are wanted. ``bound`` is
    the load of Theorem 1.
    """
    for n, s, beta in settings:
        bound = float(theory.lower_bound(n, s, Fraction(beta, n)))
        for scheme, cost in theory.comparison(n, s, beta).items():
            yield {
                "setting": f"{n}, {s}, {beta}/{n}",
                "n": n,
                "s": s,
                "beta": beta,
                "scheme": scheme,
                "messages": cost.m,
                "load_fraction": f"{cost.load.numerator}/{cost.load.denominator}",
                "load": float(cost.load),
                "bound": bound,
            }


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
    is_in_message = code.encoding.toarray() != 0
    responses = np.array(code.messages)
    responses[n - s :] = 0
    decoding = code.decode(responses[None])
    weights = decoding.weights[0, 0]
    first_used = []
    for message in np.flatnonzero(weights):
        partitions = _words(np.flatnonzero(is_in_message[message]))
        first_used.append(f"{weights[message]:+g} ({code.owner[message]}: {partitions})")
    for worker in range(n):
        own = is_in_message[code.owner == worker]
        held = np.flatnonzero(own[0])
        in_its_sum = _words(held)
        chosen = _words(_chosen_for(worker, n, y))
        sent_alone = _words(np.flatnonzero(own[1:].any(0)))
        yield {
            "worker": worker,
            "in_its_sum": in_its_sum,
            "chosen": chosen,
            "sent_alone": sent_alone,
            "row": f"{in_its_sum} | {chosen} | {sent_alone}",
            "messages": int(code.messages[worker]),
            "partitions": code.k,
            "load": len(held) / code.k,
            "worst_recovered": worst,
            "naive_load": naive,
            "first_recovered": _words(np.flatnonzero(decoding.coefficients[0])),
            "first_used": ", ".join(first_used),
        }


def _chosen_for(worker: int, n: int, y: int) -> list[int]:
    """Partitions for which a worker of the co-prime scheme is chosen: one of each class of rotated sets of workers."""
    partition_of = {holders: partition for partition, holders in enumerate(combinations(range(n), y))}
    chosen = []
    for holders in co_prime_classes(n, y):
        rotated = sorted((other + worker) % n for other in holders)
        chosen.append(partition_of[tuple(rotated)])
    return sorted(chosen)


def _columns_of_assignment(codes: list[Callable[[], Code]], stragglers: list[int]) -> list[str]:
    """Columns of an assignment: its partitions, and what each number of stragglers leaves."""
    names = []
    for make in codes[:1]:
        names += [str(partition) for partition in range(make().k)]
    for s in stragglers:
        names += [f"recovered_{s}", f"best_{s}", f"bound_{s}"]
    return names


@columns(
    *("worker", "row", "held", "partitions", "messages", "load", "combinatorial_messages"),
    more=_columns_of_assignment,
)
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
    for s, code in zip(stragglers, built, strict=True):
        recovered = recovered_partitions(code, s)
        worst = int(recovered.min())
        facts[f"recovered_{s}"] = worst
        facts[f"best_{s}"] = int(recovered.max())
        facts[f"bound_{s}"] = float(theory.lower_bound(first.n, s, Fraction(worst, first.k)))
    for worker in range(first.n):
        marks = {}
        for partition, holders in enumerate(first.holders):
            marks[str(partition)] = "1" if worker in holders else "."
        row = "".join(marks.values())
        yield {"worker": worker, **marks, "row": row, "held": row.count("1"), **facts}


# --- Fig. 2: between the cyclic and the combinatorial scheme ------------------------------------------------


@columns("(n, s, α)", "n", "scheme", "x", "y", "load", "messages", "partitions", "rise", "missed")
def intermediate_sweep(settings: list[tuple[int, int, float]], bounds: bool):
    """Fig. 2: messages and load of the intermediate schemes, from x = 1 (cyclic) to x = y (combinatorial).

    A setting (n, s, alpha) is a panel. With `bounds` the load of the naive scheme and the bound of Theorem 1 are lines
    of the table. ``rise`` is y less the y before, and ``missed`` the worst lost fraction.
    """
    for n, s, alpha in settings:
        panel = {"(n, s, α)": f"({n}, {s}, {alpha:g})", "n": n}
        schemes = theory.sweep(n, s, alpha)
        y_before = schemes[0]["y"]
        for scheme in schemes:
            yield panel | {
                "scheme": "intermediate",
                "x": scheme["x"],
                "y": scheme["y"],
                "load": float(scheme["load"]),
                "messages": scheme["m"],
                "partitions": scheme["k"],
                "rise": scheme["y"] - y_before,
                "missed": float(scheme["missed"]),
            }
            y_before = scheme["y"]
        lines = {}
        if bounds:
            lines["naive scheme, α (s+1)/n"] = theory.naive(n, s, alpha).load
            lines["lower bound, Theorem 1"] = theory.lower_bound(n, s, alpha)
        for name, load in lines.items():
            for scheme in schemes:
                yield panel | {"scheme": name, "x": scheme["x"], "load": float(load)}


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
    schemes = [_Scheme("FRC", FractionalRepetition(n, d), n - d * (s // d), d) for d in repetition]
    for p in cyclic:
        beta = n - s - 1 + p
        schemes.append(_Scheme("cyclic scheme", CyclicPartialRecovery(n, s, beta), beta, p))
    apart = (np.arange(n) - np.arange(n)[:, None]) % n
    consecutive = runs(n, s)
    random = random_sets(n, s, trials, seed)
    for scheme in schemes:
        visible = consecutive @ (apart < scheme.load)
        starts = _count_recovered(scheme.code, consecutive)
        worst = error(scheme.code, s, decoding="closed_form", seed=seed)
        in_worst_set = round(n * (1 - worst.lower))
        in_any_set = round(n * (1 - worst.upper))
        mean = _count_recovered(scheme.code, random).mean() / n
        for stragglers, recovered, most, at_least in (
            ("run, mean", starts.mean(), starts.max(), starts.mean()),
            ("run, worst", starts.min(), starts.max(), starts.min()),
            ("any set", in_worst_set, in_worst_set, in_any_set),
        ):
            yield {
                "scheme": scheme.name,
                "family": scheme.family,
                "stragglers": stragglers,
                "recovered": float(recovered),
                "recovered_fraction": float(recovered) / n,
                "most_recovered": int(most),
                "guaranteed": scheme.guaranteed,
                "at_least": float(at_least),
                "exact": bool(recovered == at_least),
                "random_mean": mean,
                "cyclic_visible": int(visible.sum(1).min()),
            }


@dataclass(frozen=True)
class _Scheme:
    """A scheme with its load, of which any s stragglers leave so many partitions as are guaranteed."""

    family: str
    code: FractionalRepetition | CyclicPartialRecovery
    guaranteed: int
    load: int

    @property
    def name(self) -> str:
        """What the table calls it."""
        if self.family == "FRC":
            return f"FRC, d = {self.load}"
        return f"cyclic, p = {self.load}"


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
        setting = dict(given)
        model = setting.pop("model")
        name = setting.pop("name")
        threshold = theory.threshold(model, n, samples, **setting)
        for i in fractions:
            uncoded, combinatorial = theory.expected_times(model, n, Fraction(i, n), samples, **setting)
            for scheme, time in (("uncoded", uncoded), ("combinatorial, y = 2", combinatorial)):
                yield {
                    "model": name,
                    "alpha": i / n,
                    "alpha_from": (i - 1) / n,
                    "scheme": scheme,
                    "mean_iteration_time_s": time,
                    "quotient": combinatorial / uncoded,
                    "threshold": threshold,
                }


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
        wins = np.zeros((len(settings), len(fractions)), dtype=bool)
        for row, setting in enumerate(settings):
            for column, alpha in enumerate(fractions):
                uncoded, combinatorial = theory.expected_times(model, n, alpha, n, **setting)
                wins[row, column] = combinatorial < uncoded * (1 - _SPAN)
        settings_won = wins[:, -1] & wins[:, -2]
        won_somewhere = wins.any(0)
        least_alpha_won = float("nan")
        if won_somewhere.any():
            least_alpha_won = float(fractions[int(won_somewhere.argmax())])
        yield {
            "model": model,
            "n": n,
            "settings": len(settings),
            "settings_won": int(settings_won.sum()),
            "cases": wins.size,
            "cases_won": int(wins.sum()),
            "share_won": wins.mean(),
            "least_alpha_won": least_alpha_won,
        }


def expected_iteration_time(scheme: Scheme, delay: Pareto | ShiftedExponential, iterations: int) -> float:
    """Expected iteration time of a scheme that waits for the fastest n - s of equally loaded workers.

    Work is added to the random time (``data``) or multiplied by it (``server``); the number of iterations does not
    matter.
    """
    code = scheme.code
    wait = cast("Fastest", scheme.wait)
    (load,) = set((code.load / code.k).tolist())
    heard = wait.q
    if heard is None:
        heard = code.n - wait.s
    random_time = order_statistics.of_quantile(delay.law, heard, code.n)
    if delay.scaling == "server":
        random_time *= load
    return load * delay.data_time + random_time


# --- Statements about all parameters, counted ---------------------------------------------------------------


@columns("statement", "cases", "hold", "share")
def count_cases(
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
    cases = Counter[str]()
    hold = Counter[str]()
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
            if holds:
                hold[statement] += 1
        name = getattr(check, "__name__", "a check").strip("_")  # of a generator: its function's
        require(cases.total() > before, f"{name}: there is no instance to try")
    for statement, tried in cases.items():
        yield statement, tried, hold[statement], hold[statement] / tried


Cases = Iterator[tuple[str, bool]]  # a statement, and whether it holds in one case


def _sets_of_workers(up_to: int) -> Cases:
    for n, y in sizes(up_to):
        for s in range(n):
            visible = comb(n, y) - theory.choose(s, y)
            all_equal = (recovered_partitions(Combinatorial(n, s, y), s) == visible).all()
            yield "Theorem 2: recovered fraction 1 - ρ_y, every set", all_equal
            if gcd(n, y) == 1:
                all_equal = (recovered_partitions(CoPrime(n, s, y), s) == visible).all()
                yield "Theorem 3: co-prime scheme recovers the same", all_equal


def _intermediate(up_to: int) -> Cases:
    for n, y in sizes(up_to):
        for s, x in product(range(n), range(1, y + 1)):
            code = Intermediate(n, s, x, y)
            most = code.k - recovered_partitions(code, s).min()
            yield "Theorem 10: worst loss (x/g) C(s-y+x, x)", most == theory.intermediate_misses(n, s, x, y)


def _designs() -> Cases:
    for name in DESIGNS:
        t = 2 if name == "fano" else 3
        n = TDesign(name, t, 0).n
        for s in range(n - t, n):
            code = TDesign(name, t, s)
            load = Fraction(len(code.holders[0]), n)
            recovered = recovered_partitions(code, s)
            bound = theory.lower_bound(n, s, Fraction(int(recovered.min()), code.k))
            all_equal = recovered.min() == recovered.max()
            yield "Theorem 4: design meets Theorem 1, n - s ≤ t", all_equal and bound == load


def _design_messages(up_to: int) -> Cases:
    for n, size in sizes(up_to):
        if size == n:
            continue
        most = theory.combinatorial(n, size).m
        for t in range(1, size + 1):
            # Each t-subset is in at most all C(n-t, size-t) blocks around it: no block comes twice.
            for index in range(1, comb(n - t, size - t) + 1):
                lower_indices = [theory.lower_index(n, t, size, index, i) for i in range(t)]
                if all(lower.denominator == 1 for lower in lower_indices):
                    m = theory.t_design(n, t, size, index).m
                    yield "messages: simple t-design ≤ combinatorial", m <= most


def _cyclic(up_to: int) -> Cases:
    for messages, scheme, statement in (
        (1, CyclicPartialRecovery, "Theorem 5: one message where p divides β"),
        (2, CyclicTwoMessage, "Theorem 7: two messages where p ⌈β/p⌉ ≤ n"),
    ):
        for n, s, beta, _ in cyclic_cases(up_to, messages, least=2):
            yield statement, recovered_partitions(scheme(n, s, beta), s).min() >= beta


def _excluded(up_to: int) -> Cases:
    for n, s, beta in triples(up_to, least=2):
        if beta < n and beta % theory.cyclic_load(n, s, beta):
            excluded = impossibility.cyclic_impossible(n, s, beta)
            yield "Theorem 6: one message excluded elsewhere, β < n", excluded


def _graphs() -> Cases:
    """Load 2/n on small n: all multigraphs, workers as edges between partitions."""
    graphs = {n: impossibility.multigraphs(n) for n in (3, 4, 5)}
    for n in (4, 5):
        for good in impossibility.not_contradicted(graphs[n]):
            yield "Theorem 8: β = 3, s = n - 2, load 2/n excluded", not good
    for n in graphs:
        for s in range(2, n):
            for few in impossibility.least_covered(graphs[n], n - s) <= n - s + 1:
                yield "Theorem 9: load 2/n sees ≤ n - s + 1, s ≥ 2", few


def _loads(up_to: int) -> Cases:
    for n, s, beta in triples(up_to, least=2):
        if s:
            alpha = Fraction(beta, n)
            bound = n * theory.lower_bound(n, s, alpha)
            combinatorial = theory.minimal_y(n, s, alpha)
            cyclic = theory.cyclic_load(n, s, beta)
            naive = n * theory.naive(n, s, alpha).load
            in_order = bound <= combinatorial <= cyclic <= naive
            yield "loads: Theorem 1 ≤ combinatorial ≤ cyclic ≤ naive", in_order
    for (n, s), i in product(pairs(up_to, least=2), range(1, 20)):
        alpha = Fraction(i, 20)
        is_whole = (alpha * n).denominator == 1
        if s and n - s <= alpha * n and not is_whole:
            fits = theory.minimal_y(n, s, alpha) <= n * theory.naive(n, s, alpha).load
            yield "loads, α n not whole: combinatorial ≤ naive", fits
    for n, y in sizes(up_to):
        if y < n and gcd(n, y) == 1:
            fewer = theory.co_prime(n, y).m
            most = theory.combinatorial(n, y).m
            if comb(n, y) > n:
                holds = fewer < most
            else:
                holds = fewer == most
            yield "messages: co-prime ≤ combinatorial, < where C(n,y) > n", holds


def _sweeps(up_to: int) -> Cases:
    for n, s, beta in triples(up_to, least=4):
        if s == 0 or beta == n:
            continue
        alpha = Fraction(beta, n)
        schemes = theory.sweep(n, s, alpha)
        loads = [scheme["y"] for scheme in schemes]
        yield "sweep: load never rises with x", loads == sorted(loads, reverse=True)
        cyclic = theory.cyclic_load(n, s, beta)
        combinatorial = theory.minimal_y(n, s, alpha)
        ends_are_right = loads[0] == cyclic and loads[-1] == combinatorial
        yield "sweep: ends are the cyclic and the combinatorial load", ends_are_right
        messages_of = [scheme["m"] for scheme in schemes]
        low = min(messages_of[0], messages_of[-1])
        high = max(messages_of[0], messages_of[-1])
        between = messages_of[1:-1]
        for messages in between:
            yield "sweep: points with messages between the ends", low <= messages <= high
            yield "sweep: points strictly between the ends", low < messages < high
        if between:
            yield "sweep: all points between the ends", all(low <= messages <= high for messages in between)


def _model_d(below: int) -> Cases:
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
        code = given["of"]()
        s = given["stragglers"]
        if comb(code.n, s) <= MAX_SETS:
            straggler_sets = "all"
            recovered = recovered_partitions(code, s)
            guaranteed = int(recovered.min())
        else:
            straggler_sets = str(trials)
            recovered = _count_recovered(code, random_sets(code.n, s, trials, seed))
            guaranteed = _guarantee_of(code, s)
        load = code.load.mean() / code.k
        mean = recovered.mean() / code.k
        work = load * data_time
        if code.load.min() < code.load.max():
            mean = work = np.nan
        time = work + order_statistics.pareto(code.n - s, code.n, scale=scale, shape=shape)
        yield {
            "panel": given["panel"],
            "scheme": given["scheme"],
            "partitions": code.k,
            "messages": int(code.messages.max()),
            "load": load,
            "guaranteed": guaranteed,
            "guaranteed_fraction": guaranteed / code.k,
            "mean_recovered_fraction": mean,
            "deterministic_time_s": work,
            "mean_iteration_time_s": time,
            "recovered_fraction_per_s": mean / time,
            "guaranteed_fraction_per_s": guaranteed / code.k / time,
            "straggler_sets": straggler_sets,
        }


def _guarantee_of(code: Code, s: int) -> int:
    """Partitions that any n - s workers recover, by formula: 0 where nothing is promised."""
    if isinstance(code, FractionalRepetition):
        return code.n - code.d * (s // code.d)
    if isinstance(code, Uncoded):
        return code.n - s
    if isinstance(code, BatchRaptor):
        return 0
    return code.recovers
