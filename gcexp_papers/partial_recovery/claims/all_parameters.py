"""Theorems and general statements whose cases the table `all_parameters` counts."""

from __future__ import annotations

import pandas as pd

from gcexp.analysis.claims import Verdict, claim, equals, number, within

#: Statement of the table, and what it is evidence for. The largest n of each stands in the figure file.
_COUNTED = {
    "loads: Theorem 1 ≤ combinatorial ≤ cyclic ≤ naive": "theorem1 cyclic_slightly_higher_load far_lower_than_naive",
    "Theorem 2: recovered fraction 1 - ρ_y, every set": "theorem2 theorem2_hidden_count",
    "Theorem 3: co-prime scheme recovers the same": "theorem3 theorem3_recovers_all_visible",
    "messages: co-prime ≤ combinatorial, < where C(n,y) > n": "theorem3_slightly_fewer_messages",
    "Theorem 4: design meets Theorem 1, n - s ≤ t": "theorem4 abstract_two_optimal_schemes",
    "messages: simple t-design ≤ combinatorial": "designs_same_load_lower_communication",
    "Theorem 5: one message where p divides β": "theorem5",
    "Theorem 6: one message excluded elsewhere, β < n": "theorem6",
    "Theorem 7: two messages where p ⌈β/p⌉ ≤ n": "theorem7",
    "Theorem 8: β = 3, s = n - 2, load 2/n excluded": "theorem8_odd contribution_low_load_bound",
    "Theorem 9: load 2/n sees ≤ n - s + 1, s ≥ 2": "theorem9 contribution_low_load_bound appendix_f_removal",
    "Theorem 10: worst loss (x/g) C(s-y+x, x)": "theorem10 theorem10_worst_case",
    "sweep: load never rises with x": "remark11_load_decreases remark11_load_between contribution_intermediate",
    "sweep: ends are the cyclic and the combinatorial load": (
        "remark11_load_decreases remark11_load_between contribution_intermediate"
    ),
}


def in_every_case(table: pd.DataFrame, statement: str) -> Verdict:
    """Whether a statement of the table holds in all cases that were tried."""
    hold, cases = (number(table, column, {"statement": statement}) for column in ("hold", "cases"))
    return equals(hold, cases)


@claim(*dict.fromkeys(" ".join(_COUNTED.values()).split()), figure="all_parameters", assumed=True)
def statements_hold_in_every_counted_case(table):
    for statement, answered in _COUNTED.items():
        for name in answered.split():
            yield name, in_every_case(table, statement)


@claim("remark11_communication_typically_between", figure="all_parameters", assumed=True)
def messages_are_between_the_ends_for_most_points(table):
    """For n <= 20 more than half of the intermediate points send a number of messages between those of the ends."""
    statement = {"statement": "sweep: points with messages between the ends"}
    return within(number(table, "share", statement), above=0.5)


@claim(
    "far_lower_than_naive",
    figure="all_parameters",
    assumed=True,
    reason="With whole alpha n the combinatorial load is never above the naive one. Where alpha n is not whole y is "
    "rounded up, and the naive load can be the lower one, as at n = 5, s = 1, alpha = 9/10.",
)
def combinatorial_load_is_never_above_the_naive_one_where_alpha_n_is_not_whole(table):
    """For n <= 24, s and alpha = i/20 with alpha n not whole the combinatorial load is at most the naive one."""
    return in_every_case(table, "loads, α n not whole: combinatorial ≤ naive")
