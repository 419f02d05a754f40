"""Numbers in README, in the papers' pages and in what figures are said to show are those of the published tables.

What the sentences conclude from the numbers is judged by the papers' claims.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from gcexp.analysis.claims import sign_interval
from gcexp.figures import read_table
from gcexp.report.figurefile import target_files
from gcexp.report.published import published_table
from gcexp.report.statements import committed

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8").partition("## What reproduces")[2].partition("\n## ")[0]


@cache
def table(target: str) -> pd.DataFrame:
    return read_table(published_table(target))


def means(target: str, by: list[str], column: str = "mean_iteration_time_s", **where) -> pd.Series:
    """Mean of a column at the last iteration that is kept."""
    frame = table(target)
    if "iteration" in frame:
        frame = frame[frame["iteration"] == frame["iteration"].max()]
    for name, value in where.items():
        frame = frame[frame[name] == value]
    return frame.groupby(by if len(by) > 1 else by[0])[column].mean()


# Each function gives targets and the sentences that are said of them, written anew from the tables.


def adaptive():
    cells = table("adaptive_condition").groupby(["matrices", "s"])["exponent"].first()["drawn"]
    yield (
        "adaptive_condition",
        f"about {cells[0]:.1f} (s = 0), {cells[1]:.1f} (s = 1) and {cells[2]:.1f} (s = 2)",
    )
    tried = yaml.safe_load(target_files()["adaptive_condition"].read_text())["analysis"]["realisations"]
    yield "adaptive_condition", f"The best of {tried} drawn E"
    time = table("adaptive_table6").pivot(index=["scheme", "p"], columns="convention", values="time_s")
    agrees = (time[["formula", "paper"]].sub(time["printed"], axis=0).abs() < 0.0051).sum()
    assert agrees["paper"] == len(time) > 2 * agrees["formula"]
    yield "adaptive_table6", f"agrees with {agrees['formula']} of the {len(time)} printed cells; all of them"


def comm_efficient():
    saved = table("comm_efficient_map").groupby(["label", "delay.transmit_shift"])["saved_share"].mean()
    share = saved["m = 3, s = 1"]
    low, high = sorted([share[share < 0].index.max(), share[share > 0].index.min()])
    yield "comm_efficient_map", f"more than about {low} to {high} of computing"
    d, m = table("comm_efficient_table3").set_index(["d", "m"])["expected_time_s"].idxmin()
    yield "comm_efficient_table3", f"that of d = {d}, m = {m}"


def partial_recovery():
    for target in ("partial_recovery_example3", "partial_recovery_table3"):
        yield target, f"which of the {table(target)['partitions'].iloc[0]} partitions"
    messages = table("partial_recovery_fig2_communication").groupby("n")["messages"]
    assert (np.log10(messages.last() / messages.first()).round() == 2).all()
    yield "partial_recovery_fig2_communication", "rises by two orders of magnitude"
    # Two schemes run with ten seeds; all share five.
    assert table("partial_recovery_fig4_fixed_s").groupby("label")["seed"].nunique().min() == 5
    yield "partial_recovery_fig4_fixed_s", "five seeds cannot separate all curves"


def stragglers():
    assert 0.01 < table("stragglers_advice").groupby("rows")["regret"].max()[300] <= 0.02
    yield "stragglers_advice", "With 300 iterations"
    yield "stragglers_advice", "at most two per cent"
    traces = table("stragglers_overview")["trace"].drop_duplicates()
    assert len(traces) == 16 and traces.str.partition("-")[0].nunique() == 3
    yield "stragglers_overview", "Sixteen traces of three sources"


@pytest.mark.parametrize(
    "sentences",
    [
        pytest.param(one, marks=pytest.mark.paper(one.__name__))
        for one in (adaptive, comm_efficient, partial_recovery, stragglers)
    ],
)
def test_figures_are_said_to_show_what_they_show(sentences):
    for target, words in sentences():
        shown = yaml.safe_load(target_files()[target].read_text("utf-8"))["shows"]
        assert words in " ".join(shown.split()), target


#: What README says, and the statements whose outcome decides it.
OUTCOMES = {
    "partial_recovery": {
        "attain the bound of Theorem 1 for certain fractions only": ("thm2_tight", "partly"),
        "five seeds are too few to separate all of them": ("ix_a_cyclic_best", "undecided"),
    },
    "dynamic_clustering": {"not that of larger groups": ("fig4_cause", "partly")},
    "adaptive": {
        "AGC is not faster than G-CGC(1)": ("fig5_agc_best", "partly"),
        "Two curves of Fig. 3 cross at another point": ("fig3_best1_gcgc", "not reproduced"),
        "the condition number grows faster than linearly": ("thm2_linear", "not reproduced"),
        "but gradually": ("stability_n24", "partly"),
    },
    "comm_efficient": {
        "for most of the tested parameters, but not for all": ("stability_up_to_20", "partly")
    },
    "soft_bibd": {"so a block design cannot be better there": ("bibd_better_than_frc", "partly")},
}


@pytest.mark.parametrize("paper", [pytest.param(one, marks=pytest.mark.paper(one)) for one in OUTCOMES])
def test_readme_says_what_came_out(paper):
    found = {one.id: one.outcome for one in committed() if one.paper == paper}
    text = " ".join(README.split())
    for words, (statement, outcome) in OUTCOMES[paper].items():
        assert words in text and found[statement] == outcome


# Each function gives sentences of a paper's page, written anew from the tables.


def clustering_map_page():
    saved = 100 * means("dynamic_clustering_map", ["simulation", "delay.mu_s", "delay.p"], "saved_share")
    slow, slower = saved[:, 0.1, 0.01], saved[:, 1.0, 0.01]
    yield f"GC-DC saves {slow[2]:.0f} % (simulation 2) and {slow[1]:.0f} % (simulation 1) where"
    yield f"with a rate of 1 it saves {slower[2]:.0f} and {slower[1]:.0f} %"
    yield f"it saves {saved[:, 5.0].max():.0f} % at most"
    keys = ["simulation", "delay.p", "delay.mu_s", "seed"]
    runs = table("dynamic_clustering_map").pivot_table("mean_iteration_time_s", keys, "scheme")
    ratio = (runs["gc_dc"] / runs["gc_sc"])[1, 0.5, 0.1].to_numpy()
    slower, low, high = (100 * one - 100 for one in (np.median(ratio), *sign_interval(ratio, ratio)))
    yield f"GC-DC is {slower:.1f} % slower than GC-SC (interval {low:.1f} to {high:.1f} %)"
    assert (runs["gc_sc"] < runs["gc"]).all()  # "Everywhere tried"


SCHEMES = ("GC", "GC-SC", "GC-DC", "LB")


def clustering_page():
    for target, name in (("fig3", "Fig. 3"), ("fig4", "Fig. 4"), ("fig5", "Fig. 5 (states known)")):
        frame = table(f"dynamic_clustering_{target}")
        frame = frame[frame["iteration"] == frame["iteration"].max()]
        of = frame.groupby("label")["mean_iteration_time_s"].agg(["mean", "sem"]).T
        reach = stats.t.ppf(0.975, frame["seed"].nunique() - 1)
        cells = [f"{of[one]['mean']:.2f} ± {reach * of[one]['sem']:.2f}" for one in SCHEMES]
        saved = 1 - of["GC-DC"]["mean"] / of["GC-SC"]["mean"]
        yield f"| {name} | {' | '.join(cells)} | {100 * saved:.1f} % |"
        if target == "fig3":
            yield f"({100 * (1 - of['GC-SC']['mean'] / of['GC']['mean']):.1f} % of GC's time)"
    share = 100 * means("dynamic_clustering_sensitivity", ["setting", "choice"], "saved_share")
    one, two = share["simulation 1"], share["simulation 2"]
    plain, even = "as elsewhere", "most even placement"
    yield (
        f"saves {one[even]:.1f} % instead of {one[plain]:.1f} % in simulation 1, {two[even]:.1f} % instead of "
        f"{two[plain]:.1f} % in simulation 2, and {two[f'known: {even}']:.1f} % instead of "
        f"{two[f'known: {plain}']:.1f} % with known states"
    )
    late, limit = "slow: late last time", "slow: over a limit"
    yield f"for slow, GC-DC saves {one[late]:.1f} % and {two[late]:.1f} % only"
    yield f"if late results are timed, {one[limit]:.1f} % and {two[limit]:.1f} %"
    known = means("dynamic_clustering_ablation", ["setting", "known"], "saved_share")
    share, twenty = 100 * known[:, "previous state"], "n = 20, P = 5, r ="
    small, large = share["n = 12, P = 4, r = 2, m = 2"], share[f"{twenty} 2, m = 2"]
    yield f"falls from {small:.1f} % (n = 12, clusters of 3) to {large:.1f} % (n = 20, clusters of 4)"
    yield f"and to {share[f'{twenty} 2, m = 3']:.1f} % with a third membership"
    two, three = (share[f"{twenty} 3, m = {m}"] for m in (2, 3))
    yield f"({two:.1f} % with two, {three:.1f} % with three)"


def adaptive_page():
    from_s = table("adaptive_constant").groupby("p")["agc_first_from_s"].first()
    yield (f"ahead of every CGC from {from_s[0.05]:.1f} s (p = 0.05) and {from_s[0.1]:.1f} s (p = 0.1) on")
    cells = table("adaptive_condition").pivot_table(index=["s", "n"], columns="matrices", values="condition")
    ratio = cells["drawn"] / cells["best"]
    slope = table("adaptive_condition").groupby(["matrices", "s"])["exponent"].first()
    drawn, best = ([f"n^{slope[kind, s]:.1f}" for s in range(3)] for kind in ("drawn", "best"))
    grows = f"{ratio.min():.0f} to {ratio.max():.0f} times smaller, which grows as {best[0]}, {best[1]} and {best[2]}"
    yield f"has a condition number {grows}"
    yield f"The 0.83-quantile grows about as {drawn[0]}, {drawn[1]} and {drawn[2]} for s = 0, 1, 2"
    cells = table("adaptive_table6").set_index(["scheme", "p", "convention"])
    clock, tie = (
        means("adaptive_fig5b", ["label"]),
        cells["time_s"].loc[["CGC(2)", "uncoded"], 0.1, "formula"],
    )
    yield f"{tie.iloc[0]:.3f} against {tie.iloc[1]:.3f} by the formula"
    yield f"{clock['CGC(2)']:.2f} against {clock['uncoded']:.2f} on the clock"
    clock = means("adaptive_fig5a", ["label"])
    yield f"at p = 0.05 G-CGC(1) takes {clock['G-CGC(1)']:.2f} s and AGC {clock['AGC']:.2f}"
    yield f"{cells['deviation']['G-AGC', 0.1, 'measured']:.1f} % above the printed number"
    score = table("adaptive_fig6").groupby("iteration")["test_accuracy"].first()
    highest, last = 100 * score.max(), 100 * score.iloc[-1]
    yield f"{highest:.1f} % at its highest (iteration {score.idxmax()}) and {last:.1f} % at the end"
    error = table("adaptive_stability").groupby(["method", "n"])["error"].median()["float64"].loc[28:40]
    yield (f"the median error is {error.min():.0e} to {error.max():.1e} at n = 28 to 40".replace("e-0", "e-"))


def partial_recovery_page():
    costs = table("partial_recovery_fig4_costs").set_index("scheme").loc["combinatorial, s = 9, y = 3"]
    yield f"recover {costs['mean_recovered_fraction']:.3f} of the data on average"
    yield f"hence {costs['recovered_fraction_per_s']:.1f} fractions per second each"
    hold = table("partial_recovery_all_parameters").set_index("statement")
    zero = hold.loc["VIII-D: uncoded not slower, δ = 0"]
    yield f"wins for {zero['cases'] - zero['hold']:.0f} of the {zero['cases']:.0f} pairs"
    between = hold.loc["sweep: points with messages between the ends"]
    yield f"it is so for {between['hold']:.0f} of the {between['cases']:.0f} intermediate points"
    yield f"in all {hold.loc['loads: Theorem 1 ≤ combinatorial ≤ cyclic ≤ naive', 'hold']} cases"
    adversarial = table("partial_recovery_adversarial").set_index(["scheme", "stragglers"])
    frc = adversarial.loc["FRC, d = 5", "run, worst"]
    yield f"from {frc['random_mean']:.3f} on average to {frc['recovered_fraction']}"


def soft_bibd_page():
    of = table("soft_bibd_fig2").groupby(["label", "s"])["value"].agg(["mean", "min"])
    names = ("Soft BIBD, n = 16", "BIBD (16, 6, 2)", "Soft BIBD, n = 16, worst set")
    soft, design, worst = (of.loc[name]["mean"] for name in names)
    yield f"{soft[4]:.4f}, {soft[8]:.3f}, {soft[12]:.3f} (n = 16)"
    yield f"against {design[4]:.4f}, {design[8]:.1f}, {design[12]:.2f} of the design"
    yield f"at s = 2 ({worst[2]:.3f} against {design[2]:.3f})"
    yield f"worse from s = 4 on ({worst[4]:.3f} against {design[4]:.3f}"
    yield f"has {of.loc['Soft BIBD, n = 16, worst set', 8]['min']:.2f} against {design[8]:.1f}"
    at = table("soft_bibd_fig3").set_index(["label", "s"])["value"]
    found, bound = at["product: worst set found (ours)", 45], at["product: Theorem 6", 45]
    yield f"s = 45: {found:.3f} against {bound:.3f}"


def stragglers_page():
    of = {name: table(f"stragglers_{name}") for name in ("breakeven", "map", "placement", "late", "training")}
    learned = "FRC, d = 2, learned pairs"
    paired = {name: of[name][of[name]["scheme"] == learned] for name in ("map", "breakeven")}
    ends = paired["breakeven"].query("against == 'rebalancing'").set_index("trace")["bound_from"]
    ends = (100 * ends).round().astype(int)
    few = ends[["PAI 1", "PAI 2", "PAI 3", "AR"]]
    yield f"only if {few.min()} to {few.max()} % of the time is fixed on PAI jobs 1 to 3 and AR"
    yield f"{ends['SE']} % on SE and {ends['PAI 4']} % on PAI job 4"
    (gap,) = paired["map"].query("trace == 'PAI 4' and phi == 0")["gap"]
    yield f"are within {100 * gap:.2f} %"
    seats = of["placement"].query("trace == 'PAI 4'").set_index("scheme")["ratio"]
    best, worst = seats["FRC, d = 2: best"], seats["FRC, d = 2: worst"]
    yield f"placement alone decides between {best:.2f} and {worst:.2f} times"
    jobs = ["PAI 1", "PAI 2", "PAI 3"]
    partial = of["late"].query("scheme == 'partial work, d = 2'").set_index("trace")
    gains = 100 * (1 - partial.query("late == 'stop'")["ratio"][jobs])
    yield f"gains {gains.min():.0f} to {gains.max():.0f} %"
    assert (partial.query("late == 'chunk' and chunks == 8")["ratio"][jobs] > 1).all()
    last = of["training"].query("iteration == 96 and data == 'PAI 4, by label'")
    score = last.groupby("label")["test_accuracy"].median()
    low, high = score["quorum n/2 and grace"], score["wait for all"]
    yield f"ends at a test accuracy of {low:.2f} instead of {high:.2f}"


PAGES = {
    adaptive_page: "adaptive",
    clustering_map_page: "dynamic_clustering",
    clustering_page: "dynamic_clustering",
    partial_recovery_page: "partial_recovery",
    soft_bibd_page: "soft_bibd",
    stragglers_page: "stragglers",
}


@pytest.mark.parametrize(
    ("sentences", "paper"), [pytest.param(*one, marks=pytest.mark.paper(one[1])) for one in PAGES.items()]
)
def test_pages_of_papers_say_what_the_tables_say(sentences, paper):
    page = " ".join((ROOT / "gcexp_papers" / paper / "README.md").read_text("utf-8").split())
    assert not [text for text in sentences() if text not in page]
