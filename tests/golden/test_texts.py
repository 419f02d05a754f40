"""Numbers in running text are those of the published tables: each sentence is written anew from them and looked for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gcexp.figures import read_table
from gcexp.report.published import published
from gcexp.schemes.placement import Best, Greedy

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
    saved = 100 * means("dynamic_clustering_map", ["simulation", "delay.mu_s", "delay.p"], "saved_share")
    last, alike = saved[:, 0.1, 0.01], saved[:, 5.0].groupby("simulation").max()
    yield "README.md", f"(p = 0.01: {last[1]:.0f} and {last[2]:.0f} % in the two simulations)"
    yield "README.md", f"({alike[1]:.0f} to {alike[2]:.0f} % at most)"
    assert saved[1, 0.1, 0.5] < 0 and saved[1, 1.0, 0.5] < 0  # "nothing at p = 0.5 in simulation 1"
    runs = table("dynamic_clustering_map").pivot_table(
        index=["simulation", "delay.p", "delay.mu_s", "seed"],
        columns="scheme",
        values="mean_iteration_time_s",
    )
    ahead = (runs["gc_dc"] < runs["gc_sc"]).groupby(["simulation", "delay.p", "delay.mu_s"]).sum()[1, 0.5]
    page = "gcexp_papers/dynamic_clustering/README.md"
    yield page, f"GC-DC is ahead of GC-SC in only {ahead.min()} to {ahead.max()} of 20 runs of simulation 1"
    yield page, f"it saves {alike.max():.0f} % at most"
    assert (runs["gc_sc"] < runs["gc"]).all() and (runs["lb"] < runs["gc_dc"]).all()  # "Everywhere tried"


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
    yield page, f"for slow saves {one[late]:.1f} % and {two[late]:.1f} % only"
    yield page, f"`observe: threshold`) {one[limit]:.1f} % and {two[limit]:.1f} %"
    share = (
        100 * means("dynamic_clustering_ablation", ["setting", "known"], "saved_share")[:, "previous state"]
    )
    of = {
        key: share[f"{key[0]}, r = {key[1]}, m = 2"]
        for key in (("n = 12, P = 4", 2), ("n = 20, P = 5", 2), ("n = 20, P = 5", 3))
    }
    small, large, loaded = of.values()
    yield page, f"falls from {small:.1f} % (n = 12, clusters of 3) to {large:.1f} % (n = 20, clusters of 4)"
    yield page, f"that gives {loaded:.1f} % (r = 3, m = 2)"
    members = means(
        "dynamic_clustering_sweeps", ["value"], swept="memberships", label="GC-DC, previous state"
    )
    *first, last = (f"{time:.2f}" for time in members)
    yield page, f"({', '.join(first)} and {last} with one to five of them)"


def clustering_twice():
    from gcexp_papers.dynamic_clustering import enumerations

    page, found, changed = "gcexp_papers/dynamic_clustering/README.md", [], []
    for n, P, _, m in enumerations._SETTINGS:
        slow, seeds = enumerations._states(n, 0.05, 40, 400), tuple(range(40))
        even = -(-slow.sum(2) // P)

        def most(rule, slow=slow, P=P, seeds=seeds):
            seated = (
                np.broadcast_to(np.arange(slow.shape[2]), slow.shape)
                if rule is None
                else rule.seat(slow, seeds)
            )
            return enumerations._per_cluster(seated, slow, P).max(2)

        greedy, home = (most(rule) for rule in (Greedy(clusters=P, memberships=m, observe="perfect"), None))
        best = most(Best(clusters=P, memberships=m, observe="perfect"), slow[:, :50]) - even[:, :50]
        before = most(Greedy(clusters=P, memberships=m))
        above = [(one - even).mean() for one in (greedy, home)]
        found.append([before.mean(), home.mean(), (greedy == even).mean(), *above, best.mean()])
    of = list(zip(*found, strict=True))
    for number, what in ((0, "placed by the previous states"), (1, "the same, workers at home")):
        yield page, f"{what} | {of[number][0]:.3f}, {of[number][1]:.3f} |"
    yield page, f"placed by the present states | {of[2][0]:.0%}, {of[2][1]:.0%} |".replace("%", " %")
    for number, what in ((3, "greedy"), (4, "at home"), (5, "most even placement (50 iterations)")):
        yield page, f"{what} | {of[number][0]:.3f}, {of[number][1]:.3f} |"
    for name, same in enumerations.sorted_columns():
        changed += [not same] if name == "sorted_columns_result" else []
    small, large = np.split(np.array(changed), 2)
    yield page, f"under other names, n = 12 | {100 * small.mean():.1f} % |"
    yield page, f"change the counts in {100 * large.mean():.0f} % of the sets with n = 20"
    frozen = {
        count: np.array([enumerations._frozen(mu, count)[:3] for mu in (0.1, 1.0, 5.0)]) for count in (2, 4)
    }
    for count, what in ((2, "μ_s = 0.1, 1, 5"), (4, "four slow workers spread")):
        spread, packed = (
            ", ".join(f"{x:.4f}" for x in frozen[count][:, i] / frozen[count][:, 0]) for i in (1, 2)
        )
        yield page, f"{what} | {spread} |"
        yield page, f"| packed | {packed} |"


def adaptive():
    page = "gcexp_papers/adaptive/README.md"
    from_s = table("adaptive_constant").groupby("p")["agc_first_from_s"].first()
    yield "README.md", f"costs {from_s[0.05]:.1f} s or more (p = 0.05), {from_s[0.1]:.0f} s (p = 0.1)"
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


def communication():
    """Naive is first below 0.3, shorter messages from 0.5 on; between it depends on the random part."""
    time = means("comm_efficient_map", ["delay.transmit_shift", "delay.compute_mean", "label"]).unstack()
    short = time[["m = 3, s = 0", "m = 3, s = 1"]].min(axis=1)
    pays = [(short < time["naive"])[x].all() for x in (0.2, 0.3, 0.5)]
    fails = [(short > time["naive"])[x].all() for x in (0.03, 0.1, 0.2)]
    assert pays == [False, False, True] and all(fails)
    yield (
        "README.md",
        "where sending a gradient takes 0.3 to 0.5 of computing all data or more; below, naive is first",
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
    *((said, "dynamic_clustering") for said in (clustering_map, clustering, clustering_twice)),
    *((adaptive, "adaptive"), (communication, "comm_efficient")),
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
