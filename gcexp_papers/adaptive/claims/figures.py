"""What the paper reads off its figures and tables, and what two figures of ours show about Theorem 2 and large n."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import pandas as pd

from gcexp.analysis.claims import Verdict, claim, equals, every, less, number, ratio_within, within

from .times import RESOLUTION

CHANCES = (0.05, 0.1)
CGC, G_CGC = ([f"{family}({s})" for s in range(3)] for family in ("CGC", "G-CGC"))


# --- Theorem 2: condition numbers ------------------------------------------------------------------------------


def _exponents(table: pd.DataFrame, matrices: str) -> Verdict:
    """Whether the quantile of the condition number grows at most as n^1.25 for every s."""
    return every(
        within(number(table, "exponent", {"s": s, "matrices": matrices, "n": 80}), at_most=1.25)
        for s in range(3)
    )


@claim(
    "thm2_order",
    "thm2_linear",
    figure="condition",
    reason="The 0.83-quantile of the condition number grows about as n^1.5, n^2.0 and n^3.6 for s = 0, 1 and 2, from "
    "n = 20 to 160. In the proof, step (102) bounds the smallest eigenvalue by 0 for r_s >= 2, and the exponent "
    "1/(6 eps) comes from (106)(c), which multiplies mu by sigma.",
)
def condition_number_grows_linearly(table: pd.DataFrame) -> Verdict:
    """The fitted exponent of drawn E is at most 1.25 for s = 0, 1, 2."""
    return _exponents(table, "drawn")


@claim(
    "rem2_search",
    figure="condition",
    assumed=True,
    reason="Keeping the best of several E divides the condition number by 2 to 13 but does not change its growth: that "
    "of the best of 16, chosen anew for each n and s, is about n^1.2, n^2.2 and n^3.6.",
)
def search_makes_the_growth_linear(table: pd.DataFrame) -> Verdict:
    """The fitted exponent of the best of 16 E is at most 1.25 for s = 0, 1, 2."""
    return _exponents(table, "best")


@claim("rem2_search", figure=("condition", "stability"), assumed=True)
def search_helps(condition: pd.DataFrame, stability: pd.DataFrame) -> Verdict:
    """The best of 16 E has a smaller condition number for s = 2, and the library's chosen one errs less at n = 20."""

    def quantile(n: int, matrices: str) -> float:
        return number(condition, "condition", {"s": 2, "n": n, "matrices": matrices})

    drawn = number(stability, "error", {"method": "float64", "n": 20}, "median", rows=5)
    chosen = number(stability, "error", {"method": "chosen, refined", "n": 20})
    return every(
        *(less(quantile(n, "best"), quantile(n, "drawn")) for n in (20, 40, 80)), less(chosen, drawn)
    )


# --- Large clusters --------------------------------------------------------------------------------------------

_IN_BOTH_PRECISIONS = (
    "The paper states no precision. In single precision, the default of PyTorch, which it used, the median error of a "
    "decoded gradient is 0.03, 0.07, 0.15, 0.18, 0.83, 2.2, 0.11 and 10.4 for n = 8, 12, 16, 20, 24, 28, 32 and 40: "
    "decoding fails around the size that the authors name, without a sharp step at 24. In double precision it is 2e-6 "
    "to 1.4e-4 for n = 28 to 40, and 0.1 in the worst draw."
)


@claim(
    "stability_n24",
    "agc_large_cluster",
    figure="stability",
    assumed=True,
    post_hoc="the limits of 0.5 and 1 on the error (2026-11-24)",
)
def single_precision_fails_in_large_clusters(table: pd.DataFrame) -> Verdict:
    """In single precision no drawn code errs by more than 0.5 for n <= 20, and some errs by more than 1 for n >= 28."""

    def worst(n: int) -> float:
        return number(table, "error", {"method": "float32", "n": n}, "max", rows=5)

    return every(
        *(within(worst(n), at_most=0.5) for n in (8, 12, 16, 20)),
        *(within(worst(n), above=1) for n in (28, 32, 40)),
    )


@claim("stability_n24", figure="stability", assumed=True, reason=_IN_BOTH_PRECISIONS)
def single_precision_fails_above_24(table: pd.DataFrame) -> Verdict:
    """In single precision the median error is larger for every n above 24 than for every n up to 24."""

    def median(n: int) -> float:
        return number(table, "error", {"method": "float32", "n": n}, "median", rows=5)

    return less(max(median(n) for n in (8, 12, 16, 20, 24)), min(median(n) for n in (28, 32, 40)))


@claim(
    "stability_n24",
    "agc_large_cluster",
    figure="stability",
    assumed=True,
    reason=_IN_BOTH_PRECISIONS,
)
def double_precision_fails_above_24(table: pd.DataFrame) -> Verdict:
    """In double precision the median error is above 1e-2 over n = 28, 32 and 40."""
    large = {"method": "float64", "n": [28, 32, 40]}
    return within(number(table, "error", large, "median", rows=15), above=1e-2)


@claim("gagc_n40", "agc_large_cluster", figure="stability", assumed=True)
def groups_stay_accurate(table: pd.DataFrame) -> Verdict:
    """G-AGC with d = 3 errs by less than 1e-10 for n = 40, and its largest group has 4 workers."""
    here = {"method": "groups", "n": 40}
    return every(
        within(number(table, "error", here), below=1e-10), equals(number(table, "largest_group", here), 4)
    )


# --- Fig. 3: formulas over p -----------------------------------------------------------------------------------

_RANGES = ["wide", "near zero", "beyond"]


def _crossing(table: pd.DataFrame, schemes: str) -> float:
    return number(table, "p", {"range": "crossing", "scheme": schemes})


@claim("fig3_group_better", "fig3_group_equal_s0", "fig3_agc_all", "tuning_needed", figure="fig3")
def order_of_the_curves(table: pd.DataFrame) -> dict[str, Verdict]:
    """At every p > 0 groups are faster for s_max = 1, 2 and AGC, and the adaptive code of a class is the fastest of it.

    For s_max = 0 groups change nothing.
    """

    def extreme(column: str, end: str, rows: int, *schemes: str, **where: int) -> float:
        here = {"range": _RANGES, "scheme": list(schemes), **where}
        return number(table, column, here, end, rows=rows)

    gains = extreme("gain_of_groups_s", "min", 612, "G-CGC(1)", "G-CGC(2)", "G-AGC", positive=1)
    same = [extreme("gain_of_groups_s", end, 206, "G-CGC(0)") for end in ("min", "max")]
    ahead = within(extreme("below_best_cgc_s", "min", 408, "AGC", "G-AGC", positive=1), above=0)
    return {
        "fig3_group_better": within(gains, above=0),
        "fig3_group_equal_s0": every(equals(one, 0, 1e-9) for one in same),
        "fig3_agc_all": ahead,
        "tuning_needed": ahead,
    }


@claim("fig3_gagc_best", "abstract_smallest_time", "fig5_agc_best", figure="fig3")
def grouped_adaptive_code_is_the_fastest(table: pd.DataFrame) -> Verdict:
    """No scheme is faster than G-AGC at any p."""
    here = {"range": _RANGES, "scheme": "G-AGC"}
    return within(number(table, "above_lowest_s", here, "max", rows=206), at_most=1e-9)


@claim("fig3_best0", "fig3_best1_cgc", "fig3_best2_cgc", "fig3_best2_gcgc", "tuning_needed", figure="fig3")
def best_fixed_codes(table: pd.DataFrame) -> dict[str, Verdict]:
    """The best s_max changes from 0 to 1 and from 1 to 2 where the paper says, and is 2 for p from 0.6 to 0.9."""

    def best(family: str, where: str, end: str, rows: int) -> float:
        return number(table, "best_s_max", {"range": where, "scheme": f"{family}(0)"}, end, rows=rows)

    one, one_g = _crossing(table, "CGC(0) and CGC(1)"), _crossing(table, "G-CGC(0) and G-CGC(1)")
    two, two_g = _crossing(table, "CGC(1) and CGC(2)"), _crossing(table, "G-CGC(1) and G-CGC(2)")
    beyond, beyond_g = (equals(best(family, "beyond", "min", 4), 2) for family in ("CGC", "G-CGC"))
    return {
        "fig3_best0": every(equals(one, 0.01, 0.003), equals(one_g, 0.01, 0.003)),
        "fig3_best1_cgc": every(within(one, at_most=0.015), equals(two, 0.3, 0.005)),
        "fig3_best2_cgc": every(equals(two, 0.3, 0.005), beyond),
        "fig3_best2_gcgc": every(within(two_g, at_most=0.23), beyond_g),
        "tuning_needed": every(
            equals(best(family, "wide", end, 101), s)
            for family in ("CGC", "G-CGC")
            for end, s in (("min", 0), ("max", 2))
        ),
    }


@claim(
    "fig3_best1_gcgc",
    figure="fig3",
    reason="By (84) with the groups of (66) s_max = 2 is the best from p = 0.164 on, not from 0.23. With groups of 3, "
    "3 and 5 workers, which reproduce the printed Table VI, it would be the best from 0.220 on.",
)
def one_straggler_is_best_in_groups_up_to_23_per_cent(table: pd.DataFrame) -> Verdict:
    """G-CGC(1) is the best G-CGC from p = 0.01 at the latest up to about 0.23."""
    return every(
        within(_crossing(table, "G-CGC(0) and G-CGC(1)"), at_most=0.01),
        equals(_crossing(table, "G-CGC(1) and G-CGC(2)"), 0.23, 0.01),
    )


# --- Figs. 4 and 5: the simulated clock ------------------------------------------------------------------------


def _clock(table: pd.DataFrame, label: str) -> float:
    """Mean iteration time over the seeds."""
    return number(table, "mean_iteration_time_s", {"label": label}, "mean", rows=table["seed"].nunique())


def _faster(tables: Iterable[pd.DataFrame], label: str, *others: str) -> Verdict:
    """Whether a scheme is faster on the clock than each of some others, in every table."""
    return every(less(_clock(table, label), _clock(table, other)) for table in tables for other in others)


@claim("fig4_smaller_better", "fig4_cgc2_uncoded", "fig4_others_faster", "fig4_agc_cgc0", figure="fig4")
def order_without_stragglers(table: pd.DataFrame) -> dict[str, Verdict]:
    """At p = 0 a smaller s_max is faster, CGC(2) slower than uncoded, and the others faster than it.

    AGC and G-AGC take the time of CGC(0) to 5 %.
    """
    families = [_faster([table], family[s], family[s + 1]) for family in (CGC, G_CGC) for s in (0, 1)]
    others = [_faster([table], label, "uncoded") for label in ("CGC(0)", "CGC(1)", "AGC", "G-AGC")]
    shares = [_clock(table, label) / _clock(table, "CGC(0)") for label in ("AGC", "G-AGC")]
    return {
        "fig4_smaller_better": every(families),
        "fig4_cgc2_uncoded": _faster([table], "uncoded", "CGC(2)"),
        "fig4_others_faster": every(others),
        "fig4_agc_cgc0": every(within(share, above=0.95, below=1.05) for share in shares),
    }


@claim(
    *(
        "fig5_agc_best",
        "abstract_smallest_time",
        "tuning_needed",
        "complexity_acceptable",
        "intro_same_accuracy",
    ),
    *("group_decode_trivial", "fig5_cgc1_best", "fig5_cgc2_uncoded_05", "fig5_cgc0_uncoded_10"),
    figure=("fig5a", "fig5b"),
)
def order_with_stragglers(five: pd.DataFrame, ten: pd.DataFrame) -> dict[str, Verdict]:
    """On the clock at p = 0.05 and 0.1 the adaptive codes are the fastest of their class, and CGC(1) the best CGC.

    G-AGC is faster than AGC, and AGC than the uncoded scheme. The uncoded scheme is faster than CGC(2) at p = 0.05, and
    than CGC(0) and G-CGC(0) at p = 0.1.
    """
    both = (five, ten)
    agc, g_agc = _faster(both, "AGC", *CGC), _faster(both, "G-AGC", *G_CGC)
    best = every(agc, g_agc, _faster(both, "G-AGC", "AGC"), _faster(both, "AGC", "uncoded"))
    return {
        "fig5_agc_best": best,
        "abstract_smallest_time": best,
        "tuning_needed": every(agc, g_agc),
        "complexity_acceptable": agc,
        "intro_same_accuracy": agc,
        "group_decode_trivial": g_agc,
        "fig5_cgc1_best": _faster(both, "CGC(1)", "CGC(0)", "CGC(2)"),
        "fig5_cgc2_uncoded_05": _faster([five], "uncoded", "CGC(2)"),
        "fig5_cgc0_uncoded_10": _faster([ten], "uncoded", "CGC(0)", "G-CGC(0)"),
    }


@claim(
    "fig5_agc_best",
    "abstract_smallest_time",
    figure=("fig5a", "fig5b"),
    reason="G-AGC is the fastest of all schemes, and AGC the fastest without groups. AGC is not faster than G-CGC(1), "
    "neither here nor in Table VI of the paper.",
)
def agc_is_faster_than_g_cgc1(*tables: pd.DataFrame) -> Verdict:
    """On the clock AGC is faster than G-CGC(1), at p = 0.05 and 0.1."""
    return _faster(tables, "AGC", "G-CGC(1)")


# --- Table VI --------------------------------------------------------------------------------------------------


def _calculated(table: pd.DataFrame, scheme: str, p: float, convention: str = "formula") -> float:
    return number(table, "time_s", {"scheme": scheme, "p": p, "convention": convention})


def _as_printed(table: pd.DataFrame, *schemes: str) -> Verdict:
    """Whether the formula gives the printed numbers of some schemes, to half a unit of the last digit."""
    return every(
        equals(_calculated(table, scheme, p), _calculated(table, scheme, p, "printed"), 0.0051)
        for scheme, p in product(schemes, CHANCES)
    )


@claim(
    "table6_values",
    figure="table6",
    assumed=True,
    reason="With the encoding and decoding times of Table IV and the groups of (66) the formula gives 7 of the 18 "
    "numbers to the printed digits. All 18 come out with encoding and decoding times that we fitted, and with groups "
    "of 3, 3 and 5, which are 11 workers and not 20.",
)
def formula_gives_table_6(table: pd.DataFrame) -> Verdict:
    """(91) and (92) as we read them give every printed number."""
    return _as_printed(table, "uncoded", *CGC, *G_CGC, "AGC", "G-AGC")


@claim("modified_aet", figure="table6")
def formula_gives_the_numbers_of_cgc(table: pd.DataFrame) -> Verdict:
    """With 16 + 4 (i-1) s lost before epoch i the formula gives the printed numbers of CGC(0) and CGC(2)."""
    return _as_printed(table, "CGC(0)", "CGC(2)")


@claim(
    *(
        "fig5_agc_best",
        "abstract_smallest_time",
        "fig5_cgc1_best",
        "fig5_cgc2_uncoded_05",
        "fig5_cgc0_uncoded_10",
    ),
    figure="table6",
)
def order_by_formula(table: pd.DataFrame) -> dict[str, Verdict]:
    """By (91) and (92), AGC is the fastest without groups, G-AGC the fastest of all, and CGC(1) the best CGC.

    CGC(2) is slower than uncoded at p = 0.05, CGC(0) and G-CGC(0) are at p = 0.1.
    """

    def faster(scheme: str, *others: str, at: Sequence[float] = CHANCES) -> Verdict:
        pairs = product(others, at)
        return every(less(_calculated(table, scheme, p), _calculated(table, one, p)) for one, p in pairs)

    best = every(faster("AGC", *CGC), faster("G-AGC", "uncoded", *CGC, *G_CGC, "AGC"))
    return {
        "fig5_agc_best": best,
        "abstract_smallest_time": best,
        "fig5_cgc1_best": faster("CGC(1)", "CGC(0)", "CGC(2)"),
        "fig5_cgc2_uncoded_05": faster("uncoded", "CGC(2)", at=[0.05]),
        "fig5_cgc0_uncoded_10": faster("uncoded", "CGC(0)", "G-CGC(0)", at=[0.1]),
    }


@claim(
    "fig5_cgc2_uncoded_10",
    figure="table6",
    reason="The two times are 19.956 s for CGC(2) and 19.960 s for the uncoded scheme, which differ by less than the "
    "printed resolution of 0.01 s; the paper prints 19.96 and 19.95 s.",
)
def cgc2_is_slower_than_uncoded(table: pd.DataFrame) -> Verdict:
    """By (91) CGC(2) is slower than the uncoded scheme at p = 0.1, by more than Table VI resolves."""
    times = (_calculated(table, scheme, 0.1) for scheme in ("uncoded", "CGC(2)"))
    return less(*times, resolution=RESOLUTION)


@claim("fig5_vs_fig3", figure=("fig3", "fig5a", "table6"))
def order_of_cgc0_and_cgc2(fig3: pd.DataFrame, fig5a: pd.DataFrame, table6: pd.DataFrame) -> Verdict:
    """At p = 0.05 CGC(0) is slower than CGC(2) in Fig. 3, and faster in the experiment and in Table VI."""
    formula = (
        number(fig3, "average_time_s", {"range": "wide", "p": 0.05, "scheme": scheme})
        for scheme in ("CGC(2)", "CGC(0)")
    )
    calculated = (_calculated(table6, scheme, 0.05) for scheme in ("CGC(0)", "CGC(2)"))
    return every(less(*formula), _faster([fig5a], "CGC(0)", "CGC(2)"), less(*calculated))


# --- Fig. 6: training ------------------------------------------------------------------------------------------

_EVALUATIONS = 21  # of 2000 iterations
_SCHEMES = ["uncoded", *CGC, *G_CGC, "AGC"]


def _end(table: pd.DataFrame, label: str, p: float) -> float:
    """When the last iteration ends."""
    here = {"label": label, "delay.p": p}
    return number(table, "simulated_time_s", here, "max", rows=_EVALUATIONS)


@claim("fig6_gagc_leftmost", "fig6_consistent", figure="fig6")
def g_agc_is_the_leftmost_curve(table: pd.DataFrame) -> Verdict:
    """G-AGC finishes the same iterations before every other scheme, and at p = 0 no later than AGC."""
    return every(
        less(_end(table, "G-AGC", p), _end(table, label, p), or_equal=(p, label) == (0, "AGC"))
        for p, label in product((0, *CHANCES), _SCHEMES)
    )


@claim("fig6_consistent", figure="fig6")
def curves_are_in_the_order_of_figs_4_and_5(table: pd.DataFrame) -> Verdict:
    """The curves of CGC(0), CGC(1), uncoded and CGC(2) follow each other at p = 0, and those of Fig. 5 for p > 0."""
    ordered = [(0.0, "CGC(0)", "CGC(1)"), (0.0, "CGC(1)", "uncoded"), (0.0, "uncoded", "CGC(2)")]
    for p in CHANCES:
        ordered += [(p, "AGC", "CGC(1)"), (p, "CGC(1)", "CGC(0)"), (p, "CGC(1)", "CGC(2)")]
    return every(less(_end(table, one, p), _end(table, other, p)) for p, one, other in ordered)


@claim("intro_same_accuracy", figure="fig6")
def every_scheme_has_the_same_accuracy(table: pd.DataFrame) -> Verdict:
    """The mean test accuracy of every scheme is that of the uncoded one, at every p."""

    def accuracy(label: str, p: float) -> float:
        here = {"label": label, "delay.p": p}
        return number(table, "test_accuracy", here, "mean", rows=_EVALUATIONS)

    return every(
        equals(accuracy(label, p), accuracy("uncoded", p), 1e-9)
        for p, label in product((0, *CHANCES), [*_SCHEMES, "G-AGC"])
    )


@claim("target_80", figure="fig6", assumed=True)
def training_reaches_80_per_cent(table: pd.DataFrame) -> Verdict:
    """Within 2000 iterations the test accuracy is 80 % once."""
    here = {"label": "uncoded", "delay.p": 0}
    return within(number(table, "test_accuracy", here, "max", rows=_EVALUATIONS), at_least=0.8)


# --- Section I: groups that change -----------------------------------------------------------------------------

_DYNAMIC = "dynamic groups, previous state"


@claim("intro_dynamic_grouping", figure="dynamic_grouping", assumed=True)
def dynamic_groups_save_less_when_stragglers_change(table: pd.DataFrame) -> Verdict:
    """Dynamic groups save less at p = 0.3 than at 0.05, and within 5 % nothing where the state is new, p = 0.5."""

    def saved(p: float) -> float:
        here = {"delay.p": p, "label": _DYNAMIC}
        return number(table, "saved_share", here, "mean", rows=table["seed"].nunique())

    dynamic, static = ({"delay.p": 0.5, "label": label} for label in (_DYNAMIC, "static groups"))
    return every(
        less(saved(0.3), saved(0.05)),
        ratio_within(table, dynamic, static, y="mean_iteration_time_s", seeds=20, above=0.95, below=1.05),
    )
