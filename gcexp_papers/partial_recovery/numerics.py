"""Tables behind the figures of Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) that need no training.

Every function returns a tidy table. What theory states is computed exactly, and what a code promises is decoded:
"worst" means over all straggler sets, unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, gcd
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from gcexp.analysis.counting import collected
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
from gcexp.errors import ParameterError
from gcexp.theory import order_statistics
from gcexp.theory import partial_recovery as theory

from . import theory as searches
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
    """Partitions that each set of n - s survivors recovers, (C(n,s),).

    Examples
    --------
    >>> recovered_partitions(Uncoded(3), s=1)
    array([2, 2, 2])
    """
    return np.concatenate([_recovered(code, responses) for responses in all_sets(code.n, s)])


def _words(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


# --- Tables -------------------------------------------------------------------------------------------------


@columns(
    *("theorem", "condition", "messages", "load_formula", "n", "s", "beta", "p", "load_partitions"),
    *("worst_recovered", "excluded"),
)
def cyclic_schemes(n: int, s: int, divisible: int, other: int) -> pd.DataFrame:
    """Table 1: what cyclic schemes need, with one instance of each row that is built and decoded.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers.
    divisible, other : int
        A beta that p = s + beta - n + 1 divides, and one that it does not.

    Returns
    -------
    DataFrame
        ``theorem, condition, messages, load_formula``; of the instance ``beta, p, load_partitions, worst_recovered``;
        ``excluded`` is 1 where the argument of Theorem 6 proves that p partitions per worker do not suffice.
    """
    raised = theory.one_message_load(n, s, other)
    cases = [
        ("Theorem 5", "p divides β", "p/n", divisible, CyclicPartialRecovery(n, s, divisible)),
        (
            "Theorem 6",
            "p does not divide β < n",
            "≥ (p+1)/n, reached p'/n",
            other,
            CyclicPartialRecovery(n, s, n - s - 1 + raised),
        ),
        (
            "Theorem 7",
            "p does not divide β, p ⌈β/p⌉ ≤ n",
            "p/n",
            other,
            CyclicTwoMessage(n, s, other),
        ),
    ]
    rows = []
    for theorem, condition, load, beta, code in cases:
        rows.append(
            {
                "theorem": theorem,
                "condition": condition,
                "messages": int(code.messages.max()),
                "load_formula": load,
                "n": n,
                "s": s,
                "beta": beta,
                "p": theory.cyclic_load(n, s, beta),
                "load_partitions": int(code.load.max()),
                "worst_recovered": int(recovered_partitions(code, s).min()),
                "excluded": int(beta < n and searches.cyclic_impossible(n, s, beta)),
            }
        )
    return pd.DataFrame(rows)


@columns("setting", "n", "s", "beta", "scheme", "messages", "load_fraction", "load", "bound")
def costs(settings: list[tuple[int, int, int]]) -> pd.DataFrame:
    """Table 4: messages and computation load of the naive, cyclic and combinatorial schemes.

    Parameters
    ----------
    settings : list of (n, s, beta)
        Workers, stragglers, and how many of n equal parts of the data are wanted.

    Returns
    -------
    DataFrame
        ``setting, n, s, beta, scheme, messages, load, load_fraction`` and ``bound``, the load of Theorem 1.
    """
    rows = []
    for n, s, beta in settings:
        bound = theory.lower_bound(n, s, Fraction(beta, n))
        for scheme, cost in theory.comparison(n, s, beta).items():
            rows.append(
                {
                    "setting": f"{n}, {s}, {beta}/{n}",
                    "n": n,
                    "s": s,
                    "beta": beta,
                    "scheme": scheme,
                    "messages": cost.m,
                    "load_fraction": f"{cost.load.numerator}/{cost.load.denominator}",
                    "load": float(cost.load),
                    "bound": float(bound),
                }
            )
    return pd.DataFrame(rows)


@columns(
    *("worker", "in_its_sum", "chosen", "sent_alone", "row", "messages", "partitions", "load"),
    *("worst_recovered", "naive_load", "first_recovered", "first_used"),
)
def co_prime_messages(n: int, s: int, y: int) -> pd.DataFrame:
    """Table 2: which gradients a worker of the co-prime scheme sums, is chosen for, and sends alone.

    Returns
    -------
    DataFrame
        ``worker, in_its_sum, chosen, sent_alone`` (partitions in words), ``row`` with the three of them, ``messages,
        partitions, load``; ``worst_recovered``, and ``naive_load``, what the naive scheme needs for that fraction;
        of the instance in which the last s workers straggle ``first_recovered``, the partitions, and ``first_used``,
        the messages that are added or subtracted (worker: partitions).
    """
    code = CoPrime(n, s, y)
    worst = int(recovered_partitions(code, s).min())
    rows_of = code.encoding.toarray() != 0
    decoding = code.decode([[m if w < n - s else 0 for w, m in enumerate(code.messages)]])
    weights = decoding.weights[0, 0]
    facts = {
        "worst_recovered": worst,
        "naive_load": float(theory.naive(n, s, Fraction(worst, code.k)).load),
        "first_recovered": _words(np.flatnonzero(decoding.coefficients[0])),
        "first_used": ", ".join(
            f"{weights[i]:+g} ({code.owner[i]}: {_words(np.flatnonzero(rows_of[i]))})"
            for i in np.flatnonzero(weights)
        ),
    }
    place = {T: j for j, T in enumerate(combinations(range(n), y))}
    rows = []
    for w in range(n):
        chosen = sorted(place[tuple(sorted((v + w) % n for v in T))] for T in co_prime_classes(n, y))
        mine = rows_of[code.owner == w]
        held, alone = np.flatnonzero(mine[0]), np.flatnonzero(mine[1:].any(0))
        words = [_words(held), _words(chosen), _words(alone)]
        rows.append(
            {
                "worker": w,
                **dict(zip(("in_its_sum", "chosen", "sent_alone"), words, strict=True)),
                "row": " | ".join(words),
                "messages": int(code.messages[w]),
                "partitions": code.k,
                "load": len(held) / code.k,
                **facts,
            }
        )
    return pd.DataFrame(rows)


def _assigned(codes: list[Callable[[], Code]], stragglers: list[int]) -> list[str]:
    """Columns of an assignment: its partitions, and what each number of stragglers leaves."""
    facts = [f"{name}_{s}" for s in stragglers for name in ("recovered", "best", "bound")]
    return [*(str(j) for make in codes[:1] for j in range(make().k)), *facts]


@columns("worker", "row", "held", "partitions", "messages", "load", "combinatorial_messages", more=_assigned)
def assignment(codes: list[Callable[[], Code]], stragglers: list[int]) -> pd.DataFrame:
    """Table 3 and Example 3: who holds what, as a picture of ones and dots.

    Parameters
    ----------
    codes : list of callable
        Each makes the code, whose partitions are sets of workers, for a number of stragglers.
    stragglers : list of int
        These numbers, for which every straggler set is decoded.

    Returns
    -------
    DataFrame
        ``worker``, one column per partition (1 or a dot), ``row`` with all of them, ``held``, how many ones that
        are, ``partitions, messages, load``,
        ``combinatorial_messages`` of Theorem 2 at that load, and for each s ``recovered_s`` and ``best_s``: partitions
        recovered in the worst and in the best straggler set, and ``bound_s``, the load of Theorem 1 for the worst.
    """
    built = [make() for make in codes]
    first = built[0]
    if not isinstance(first, BlockAssignment):
        raise ParameterError(f"an assignment of sets of workers is wanted, got {first!r}")
    facts = {
        "partitions": first.k,
        "messages": int(first.messages.max()),
        "load": len(first.holders[0]) / first.n,
        "combinatorial_messages": theory.combinatorial(first.n, len(first.holders[0])).m,
    }
    for s, one in zip(stragglers, built, strict=True):
        found = recovered_partitions(one, s)
        bound = theory.lower_bound(first.n, s, Fraction(int(found.min()), first.k))
        facts |= {
            f"recovered_{s}": int(found.min()),
            f"best_{s}": int(found.max()),
            f"bound_{s}": float(bound),
        }
    rows = []
    for w in range(first.n):
        marks = ["1" if w in block else "." for block in first.holders]
        rows.append(
            {"worker": w}
            | {str(j): mark for j, mark in enumerate(marks)}
            | {"row": "".join(marks), "held": marks.count("1")}
            | facts
        )
    return pd.DataFrame(rows)


# --- Fig. 2: between the cyclic and the combinatorial scheme ------------------------------------------------


@columns("(n, s, α)", "n", "scheme", "x", "y", "load", "messages", "partitions", "rise", "missed")
def intermediate_sweep(settings: list[tuple[int, int, float]], bounds: bool) -> pd.DataFrame:
    """Fig. 2: messages and load of the intermediate schemes, from x = 1 (cyclic) to x = y (combinatorial).

    Parameters
    ----------
    settings : list of (n, s, alpha)
        One panel each.
    bounds : bool
        Whether the load of the naive scheme and the bound of Theorem 1 are lines of the table.

    Returns
    -------
    DataFrame
        ``(n, s, α), scheme, x, y, load, messages, partitions``; ``rise``, y less the y before; ``missed``, the worst
        lost fraction.
    """
    rows = []
    for n, s, alpha in settings:
        panel = {"(n, s, α)": f"({n}, {s}, {alpha:g})", "n": n}
        found = theory.sweep(n, s, alpha)
        before = found[0]["y"]
        for row in found:
            numbers = {"x": row["x"], "y": row["y"], "load": float(row["load"]), "messages": row["m"]}
            more = {"partitions": row["k"], "rise": row["y"] - before, "missed": float(row["missed"])}
            rows.append(panel | {"scheme": "intermediate"} | numbers | more)
            before = row["y"]
        if bounds:
            lines = {
                "naive scheme, α (s+1)/n": theory.naive(n, s, alpha).load,
                "lower bound, Theorem 1": theory.lower_bound(n, s, alpha),
            }
            for scheme, load in lines.items():
                rows += [panel | {"scheme": scheme, "x": row["x"], "load": float(load)} for row in found]
    return pd.DataFrame(rows)


# --- Chosen stragglers --------------------------------------------------------------------------------------


_FAMILIES = {FractionalRepetition: "FRC", CyclicPartialRecovery: "cyclic scheme"}


@columns(
    *("scheme", "family", "stragglers", "recovered", "recovered_fraction", "most_recovered"),
    *("guaranteed", "at_least", "exact", "random_mean", "cyclic_visible"),
)
def chosen_stragglers(
    n: int, s: int, repetition: list[int], cyclic: list[int], trials: int, seed: int
) -> pd.DataFrame:
    """Recovered fraction of fractional repetition and of cyclic schemes against consecutive and worst stragglers.

    The worst set is that of `gcexp.decoding_error.error.error` with the code's own decoding. Fractional repetition:
    exact, by its groups. Cyclic: a set that was decoded, and the beta partitions that Theorem 5 guarantees; where the
    two differ the table says so.

    Parameters
    ----------
    n, s : int
        Workers (= partitions) and stragglers.
    repetition : list of int
        Group sizes d.
    cyclic : list of int
        Loads p that divide n - s - 1.
    trials : int
        Random straggler sets for the mean.
    seed : int
        Their seed.

    Returns
    -------
    DataFrame
        Per scheme and kind of stragglers: ``scheme, family, stragglers, recovered, recovered_fraction``,
        ``most_recovered`` (over the starts), ``random_mean`` (fraction over random straggler sets), ``guaranteed`` (by
        formula), ``at_least`` (no set leaves fewer), ``exact`` (whether that is reached by the set),
        ``cyclic_visible``: partitions that consecutive stragglers leave visible in the cyclic assignment of that load.
    """
    schemes: list[tuple[str, FractionalRepetition | CyclicPartialRecovery, int, int]]
    schemes = [(f"FRC, d = {d}", FractionalRepetition(n, d), n - d * (s // d), d) for d in repetition]
    schemes += [
        (f"cyclic, p = {p}", CyclicPartialRecovery(n, s, n - s - 1 + p), n - s - 1 + p, p) for p in cyclic
    ]
    apart = (np.arange(n) - np.arange(n)[:, None]) % n
    consecutive, random = runs(n, s), random_sets(n, s, trials, seed)
    rows = []
    for scheme, code, guaranteed, load in schemes:
        arcs = apart < load  # row w: the partitions of worker w
        visible = int((consecutive @ arcs).sum(1).min())
        starts = _recovered(code, consecutive)
        worst = error(code, s, decoding="closed_form", seed=seed)
        found, least_of_all = (round(n * (1 - e)) for e in (worst.lower, worst.upper))
        kinds = {
            "run, mean": (starts.mean(), starts.max(), starts.mean()),
            "run, worst": (starts.min(), starts.max(), starts.min()),
            "any set": (found, found, least_of_all),
        }
        mean = _recovered(code, random).mean() / n
        for kind, (least, most, at_least) in kinds.items():
            rows.append(
                {
                    "scheme": scheme,
                    "family": _FAMILIES[type(code)],
                    "stragglers": kind,
                    "recovered": float(least),
                    "recovered_fraction": float(least) / n,
                    "most_recovered": int(most),
                    "guaranteed": guaranteed,
                    "at_least": float(at_least),
                    "exact": bool(least == at_least),
                    "random_mean": mean,
                    "cyclic_visible": visible,
                }
            )
    return pd.DataFrame(rows)


# --- Section VIII: expected times ---------------------------------------------------------------------------

_SCHEMES = ("uncoded", "combinatorial, y = 2")


@columns("model", "alpha", "alpha_from", "scheme", "mean_iteration_time_s", "quotient", "threshold")
def expected_times(n: int, samples: int, models: list[dict[str, Any]], fractions: list[int]) -> pd.DataFrame:
    """Section VIII: mean iteration times of the uncoded and the combinatorial scheme, by formula.

    Parameters
    ----------
    n, samples : int
        Workers and data samples.
    models : list of dict
        ``model`` (A to D), ``name`` and the parameters of `gcexp.theory.partial_recovery.expected_times`.
    fractions : list of int
        Wanted fractions alpha = i/n.

    Returns
    -------
    DataFrame
        ``model, alpha, alpha_from, scheme, mean_iteration_time_s``: the time is the same for all wanted fractions in
        (alpha_from, alpha]; ``quotient``, that of the combinatorial scheme over that of the
        uncoded one; ``threshold``, the alpha above which the combinatorial scheme wins for many workers.
    """
    rows = []
    for given in models:
        setting = {key: value for key, value in given.items() if key not in ("model", "name")}
        at = theory.threshold(given["model"], n, samples, **setting)
        for i in fractions:
            times = theory.expected_times(given["model"], n, Fraction(i, n), samples, **setting)
            shared = {"model": given["name"], "alpha": i / n, "alpha_from": (i - 1) / n}
            more = {"quotient": times[1] / times[0], "threshold": at}
            for scheme, time in zip(_SCHEMES, times, strict=True):
                rows.append(shared | {"scheme": scheme, "mean_iteration_time_s": time} | more)
    return pd.DataFrame(rows)


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
) -> pd.DataFrame:
    """How often the paper's theorems and general statements hold.

    Parameters
    ----------
    schemes_up_to : int
        Largest n for which Theorems 2, 3 and 10 are decoded, for all their parameters and straggler sets.
    designs_up_to : int
        Largest n for the messages of Theorem 4, over all parameters that a simple t-design may have.
    cyclic_up_to : int
        Largest n for Theorems 5 and 7, decoded for all 0 <= s < n, n - s <= beta <= n and straggler sets.
    excluded_up_to : int
        Largest n for which one message is excluded by Theorem 6.
    loads_up_to : int
        Largest n for the order of the loads (1 <= s < n, n - s <= beta <= n) and for the messages of Theorem 3.
    sweeps_up_to : int
        Largest n for the sweeps of Fig. 2 (4 <= n, 1 <= s < n, n - s <= beta < n).
    model_d_below : int
        Model D is asked for all 2 <= n < this and 1 <= beta <= n.

    Returns
    -------
    DataFrame
        ``statement, cases, hold, share``.

    Raises
    ------
    ParameterError
        If a check has no instance to try.
    """
    checks = (
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
    )
    frame = collected(checks, ["statement"])
    return frame.assign(share=frame["hold"] / frame["cases"])


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
            right = most == theory.intermediate_misses(n, s, x, y)
            yield "Theorem 10: worst loss (x/g) C(s-y+x, x)", right


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
    for n in range(2, up_to + 1):
        for size in range(1, n):
            most = theory.combinatorial(n, size).m
            for t in range(1, size + 1):
                # Each t-subset is in at most all C(n-t, size-t) blocks around it: no block comes twice.
                for index in range(1, comb(n - t, size - t) + 1):
                    if all(theory.lower_index(n, t, size, index, i).denominator == 1 for i in range(t)):
                        m = theory.t_design(n, t, size, index).m
                        yield "messages: simple t-design ≤ combinatorial", m <= most


def _cyclic(up_to: int) -> Counted:
    for n, s, beta, _ in cyclic_cases(up_to, 1, least=2):
        least = recovered_partitions(CyclicPartialRecovery(n, s, beta), s).min()
        yield "Theorem 5: one message where p divides β", least >= beta
    for n, s, beta, _ in cyclic_cases(up_to, 2, least=2):
        least = recovered_partitions(CyclicTwoMessage(n, s, beta), s).min()
        yield "Theorem 7: two messages where p ⌈β/p⌉ ≤ n", least >= beta


def _excluded(up_to: int) -> Counted:
    for n, s, beta in triples(up_to, least=2):
        if beta < n and beta % theory.cyclic_load(n, s, beta):
            excluded = searches.cyclic_impossible(n, s, beta)
            yield "Theorem 6: one message excluded elsewhere, β < n", excluded


def _graphs() -> Counted:
    """Load 2/n on small n: all multigraphs, workers as edges between partitions."""
    for n in (4, 5):
        graphs = searches.multigraphs(n)
        yield from (
            ("Theorem 8: β = 3, s = n - 2, load 2/n excluded", not good)
            for good in searches.not_contradicted(graphs)
        )
    for n in (3, 4, 5):
        graphs = searches.multigraphs(n)
        for s in range(2, n):
            few = searches.least_covered(graphs, n - s) <= n - s + 1
            yield from (("Theorem 9: load 2/n sees ≤ n - s + 1, s ≥ 2", each) for each in few)


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
) -> pd.DataFrame:
    """Fig. 4: messages, load, guarantee, and expected iteration time and recovered fraction of every curve.

    Parameters
    ----------
    codes : list of dict
        ``panel, scheme, stragglers`` and ``of``, which makes the code.
    data_time : float
        Time to compute all data (s).
    scale, shape : float
        Pareto law of the random times.
    trials, seed : int
        Random straggler sets where there are too many to take all.

    Returns
    -------
    DataFrame
        ``panel, scheme, partitions, messages, load, guaranteed, guaranteed_fraction, mean_recovered_fraction,
        deterministic_time_s, mean_iteration_time_s, recovered_fraction_per_s, guaranteed_fraction_per_s,
        straggler_sets``. Times and means are those of independent workers with equal loads, and missing for unequal
        ones, whose clock prefers the light loads. The guaranteed fraction per second is the rate of a decoder that
        stops at the guarantee.
    """
    rows = []
    for given in codes:
        code, s = given["of"](), given["stragglers"]
        every = comb(code.n, s) <= MAX_SETS
        sets = all_sets(code.n, s) if every else [random_sets(code.n, s, trials, seed)]
        found = np.concatenate([_recovered(code, responses) for responses in sets])
        equal = code.load.min() == code.load.max()
        load = code.load.mean() / code.k
        mean = found.mean() / code.k if equal else np.nan
        wait = order_statistics.pareto(code.n - s, code.n, scale=scale, shape=shape)
        time = load * data_time + wait if equal else np.nan
        promised = int(found.min()) if every else _guaranteed(code, s)
        rows.append(
            {
                "panel": given["panel"],
                "scheme": given["scheme"],
                "partitions": code.k,
                "messages": int(code.messages.max()),
                "load": load,
                "guaranteed": promised,
                "guaranteed_fraction": promised / code.k,
                "mean_recovered_fraction": mean,
                "deterministic_time_s": load * data_time if equal else np.nan,
                "mean_iteration_time_s": time,
                "recovered_fraction_per_s": mean / time,
                "guaranteed_fraction_per_s": promised / code.k / time,
                "straggler_sets": "all" if every else str(trials),
            }
        )
    return pd.DataFrame(rows)


def _guaranteed(code: Code, s: int) -> int:
    """Partitions that any n - s workers recover, by formula: 0 where nothing is promised."""
    if isinstance(code, FractionalRepetition):
        return code.n - code.d * (s // code.d)
    if isinstance(code, Uncoded):
        return code.n - s
    if isinstance(code, BatchRaptor):
        return 0
    return code.recovers
