"""Numbers in running text are those of the published tables: each sentence is written anew from them and looked for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gcexp.analysis.claims import sign_interval
from gcexp.figures import read_table
from gcexp.report.published import published

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@cache
def table(target: str) -> pd.DataFrame:
    return read_table(ROOT / published(f"reports/paper/data/{target}.csv"))


def means(target: str, by: list[str], column: str = "mean_iteration_time_s", **where) -> pd.Series:
    """Mean of a column at the last iteration that is kept."""
    frame = table(target)
    if "iteration" in frame:
        frame = frame[frame["iteration"] == frame["iteration"].max()]
    for name, value in where.items():
        frame = frame[frame[name] == value]
    return frame.groupby(by if len(by) > 1 else by[0])[column].mean()


def clustering_map():
    page = "gcexp_papers/dynamic_clustering/README.md"
    saved = 100 * means("dynamic_clustering_map", ["simulation", "delay.mu_s", "delay.p"], "saved_share")
    slow, slower = saved[:, 0.1, 0.01], saved[:, 1.0, 0.01]
    yield page, f"GC-DC saves {slow[2]:.0f} % (simulation 2) and {slow[1]:.0f} % (simulation 1) where"
    yield page, f"with a rate of 1 it saves {slower[2]:.0f} and {slower[1]:.0f} %"
    yield page, f"it saves {saved[:, 5.0].max():.0f} % at most"
    runs = table("dynamic_clustering_map").pivot_table(
        index=["simulation", "delay.p", "delay.mu_s", "seed"],
        columns="scheme",
        values="mean_iteration_time_s",
    )
    ratio = (runs["gc_dc"] / runs["gc_sc"])[1, 0.5, 0.1].to_numpy()
    low, high = sign_interval(ratio, ratio)
    yield (
        page,
        (
            f"GC-DC is {100 * np.median(ratio) - 100:.1f} % slower than GC-SC "
            f"(interval {100 * low - 100:.1f} to {100 * high - 100:.1f} %)"
        ),
    )
    assert (runs["gc_sc"] < runs["gc"]).all()  # "Everywhere tried"


def clustering():
    page = "gcexp_papers/dynamic_clustering/README.md"
    for target, name in (("fig3", "Fig. 3"), ("fig4", "Fig. 4"), ("fig5", "Fig. 5 (states known)")):
        frame = table(f"dynamic_clustering_{target}")
        frame = frame[frame["iteration"] == frame["iteration"].max()]
        of = frame.groupby("label")["mean_iteration_time_s"].agg(["mean", "sem"]).T
        reach = stats.t.ppf(0.975, frame["seed"].nunique() - 1)
        cells = [
            f"{of[one]['mean']:.2f} ± {reach * of[one]['sem']:.2f}" for one in ("GC", "GC-SC", "GC-DC", "LB")
        ]
        saved = 1 - of["GC-DC"]["mean"] / of["GC-SC"]["mean"]
        yield page, f"| {name} | {' | '.join(cells)} | {100 * saved:.1f} % |"
        if target == "fig3":
            yield page, f"({100 * (1 - of['GC-SC']['mean'] / of['GC']['mean']):.1f} % of GC's time)"
    share = 100 * means("dynamic_clustering_sensitivity", ["setting", "choice"], "saved_share")
    one, two = share["simulation 1"], share["simulation 2"]
    plain, even = "as elsewhere", "most even placement"
    yield (
        page,
        (
            f"saves {one[even]:.1f} % instead of {one[plain]:.1f} % in simulation 1, {two[even]:.1f} % instead of "
            f"{two[plain]:.1f} % in simulation 2, and {two[f'known: {even}']:.1f} % instead of "
            f"{two[f'known: {plain}']:.1f} % with known states"
        ),
    )
    late, limit = "slow: late last time", "slow: over a limit"
    yield page, f"for slow, GC-DC saves {one[late]:.1f} % and {two[late]:.1f} % only"
    yield page, f"if late results are timed, {one[limit]:.1f} % and {two[limit]:.1f} %"
    share = (
        100 * means("dynamic_clustering_ablation", ["setting", "known"], "saved_share")[:, "previous state"]
    )
    small, large, third = (
        share[f"{one}, r = 2, m = {m}"]
        for one, m in (("n = 12, P = 4", 2), ("n = 20, P = 5", 2), ("n = 20, P = 5", 3))
    )
    yield page, f"falls from {small:.1f} % (n = 12, clusters of 3) to {large:.1f} % (n = 20, clusters of 4)"
    yield page, f"and to {third:.1f} % with a third membership"
    two, three = (share[f"n = 20, P = 5, r = 3, m = {m}"] for m in (2, 3))
    yield page, f"({two:.1f} % with two, {three:.1f} % with three)"


def adaptive():
    page = "gcexp_papers/adaptive/README.md"
    from_s = table("adaptive_constant").groupby("p")["agc_first_from_s"].first()
    yield (
        page,
        f"ahead of every CGC from {from_s[0.05]:.1f} s (p = 0.05) and {from_s[0.1]:.1f} s (p = 0.1) on",
    )
    cells = table("adaptive_condition").pivot_table(index=["s", "n"], columns="matrices", values="condition")
    ratio = cells["drawn"] / cells["best"]
    slope = table("adaptive_condition").groupby(["matrices", "s"])["exponent"].first()
    drawn, best = ([f"n^{slope[kind, s]:.1f}" for s in range(3)] for kind in ("drawn", "best"))
    grows = f"{ratio.min():.0f} to {ratio.max():.0f} times smaller, which grows as {best[0]}, {best[1]} and {best[2]}"
    yield page, f"has a condition number {grows}"
    yield page, f"The 0.83-quantile grows about as {drawn[0]}, {drawn[1]} and {drawn[2]} for s = 0, 1, 2"
    clock, formula = (
        means("adaptive_fig5b", ["label"]),
        table("adaptive_table6").set_index(["scheme", "p", "convention"])["time_s"],
    )
    tie = [formula[name, 0.1, "formula"] for name in ("CGC(2)", "uncoded")]
    yield page, f"{tie[0]:.3f} against {tie[1]:.3f} by the formula"
    yield page, f"{clock['CGC(2)']:.2f} against {clock['uncoded']:.2f} on the clock"
    clock = means("adaptive_fig5a", ["label"])
    yield page, f"at p = 0.05 G-CGC(1) takes {clock['G-CGC(1)']:.2f} s and AGC {clock['AGC']:.2f}"
    measured = table("adaptive_table6").set_index(["scheme", "p", "convention"])["deviation"]
    yield page, f"{measured['G-AGC', 0.1, 'measured']:.1f} % above the printed number"
    score = table("adaptive_fig6").groupby("iteration")["test_accuracy"].first()
    yield (
        page,
        f"{score.max():.1%} at its highest (iteration {score.idxmax()}) and {score.iloc[-1]:.1%} at the end".replace(
            "%", " %"
        ),
    )
    error = table("adaptive_stability").groupby(["method", "n"])["error"].median()["float64"].loc[28:40]
    yield (
        page,
        f"the median error is {error.min():.0e} to {error.max():.1e} at n = 28 to 40".replace("e-0", "e-"),
    )


def partial_recovery():
    page = "gcexp_papers/partial_recovery/README.md"
    costs = table("partial_recovery_fig4_costs").set_index("scheme").loc["combinatorial, s = 9, y = 3"]
    yield page, f"recover {costs['mean_recovered_fraction']:.3f} of the data on average"
    yield page, f"hence {costs['recovered_fraction_per_s']:.1f} fractions per second each"
    hold = table("partial_recovery_all_parameters").set_index("statement")
    zero = hold.loc["VIII-D: uncoded not slower, δ = 0"]
    yield page, f"wins for {zero['cases'] - zero['hold']:.0f} of the {zero['cases']:.0f} pairs"
    between = hold.loc["sweep: points with messages between the ends"]
    yield page, f"it is so for {between['hold']:.0f} of the {between['cases']:.0f} intermediate points"
    yield page, f"in all {hold.loc['loads: Theorem 1 ≤ combinatorial ≤ cyclic ≤ naive', 'hold']} cases"
    frc = (
        table("partial_recovery_adversarial")
        .set_index(["scheme", "stragglers"])
        .loc["FRC, d = 5", "run, worst"]
    )
    yield page, f"from {frc['random_mean']:.3f} on average to {frc['recovered_fraction']}"


def soft_bibd():
    page = "gcexp_papers/soft_bibd/README.md"
    of = table("soft_bibd_fig2").groupby(["label", "s"])["value"].agg(["mean", "min"])
    soft, design, worst = (
        of.loc[f"{name}"]["mean"]
        for name in ("Soft BIBD, n = 16", "BIBD (16, 6, 2)", "Soft BIBD, n = 16, worst set")
    )
    yield page, f"{soft[4]:.4f}, {soft[8]:.3f}, {soft[12]:.3f} (n = 16)"
    yield page, f"against {design[4]:.4f}, {design[8]:.1f}, {design[12]:.2f} of the design"
    yield page, f"at s = 2 ({worst[2]:.3f} against {design[2]:.3f})"
    yield page, f"worse from s = 4 on ({worst[4]:.3f} against {design[4]:.3f}"
    yield page, f"has {of.loc['Soft BIBD, n = 16, worst set', 8]['min']:.2f} against {design[8]:.1f}"
    at = table("soft_bibd_fig3").set_index(["label", "s"])["value"]
    yield (
        page,
        f"s = 45: {at['product: worst set found (ours)', 45]:.3f} against {at['product: Theorem 6', 45]:.3f}",
    )


PAGES = [
    *((said, "dynamic_clustering") for said in (clustering_map, clustering)),
    (adaptive, "adaptive"),
    *((partial_recovery, "partial_recovery"), (soft_bibd, "soft_bibd")),
]


@pytest.mark.parametrize(("said", "paper"), PAGES)
def test_texts_say_what_the_tables_say(said, paper):
    if not (ROOT / "gcexp_papers" / paper).is_dir():
        pytest.skip("this paper is not here")
    lacking = [
        (page, text) for page, text in said() if text not in " ".join((ROOT / page).read_text().split())
    ]
    assert not lacking
