"""Sentences of README about the papers, and what figures are said to show, are true of the published tables."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from gcexp.figures import read_table
from gcexp.report.figurefile import target_files
from gcexp.report.published import published_table
from gcexp.report.statements import committed

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8").partition("## What reproduces")[2].partition("\n## ")[0]


@cache
def table(target: str) -> pd.DataFrame:
    return read_table(published_table(target))


@cache
def shown(target: str) -> str:
    return yaml.safe_load(target_files()[target].read_text("utf-8")).get("shows", "")


def mean_times(target: str) -> pd.Series:
    """Mean iteration time of each scheme, over its seeds, when all its iterations are over."""
    frame = table(target)
    if "iteration" in frame:
        frame = frame[frame["iteration"] == frame["iteration"].max()]
    return frame.groupby("label")["mean_iteration_time_s"].mean()


def toy_codes(target: str) -> tuple[list[int], list[int]]:
    """How many stragglers each code survives, and the most numbers that a worker sends."""
    codes = table(target).groupby("code", sort=False)
    largest = [part.groupby("what")["value"].max() for _, part in codes]
    return [int(one["survived"]) for one in largest], [int(one["scalars"]) for one in largest]


# Each function gives triples: a target (or README), words of its sentence, and whether they are true.


def adaptive():
    cells = table("adaptive_condition").groupby(["matrices", "s"])["exponent"].first()["drawn"]
    slopes = f"about {cells[0]:.1f} (s = 0), {cells[1]:.1f} (s = 1) and {cells[2]:.1f} (s = 2)"
    yield "adaptive_condition", slopes, (cells > 1).all()
    tried = yaml.safe_load(target_files()["adaptive_condition"].read_text())["analysis"]["realisations"]
    yield "adaptive_condition", f"The best of {tried} drawn E", True

    curves = table("adaptive_fig3").query("range == 'wide'")
    wide = curves.pivot(index="p", columns="scheme", values="average_time_s")
    later, others = wide[wide.index > 0], wide.columns.drop("G-AGC")
    plain = later[[name for name in wide if name.startswith("CGC")]].min(axis=1)
    yield "adaptive_fig3", "AGC is faster than every CGC", (later["AGC"] < plain).all()
    fastest = (later["G-AGC"] < later[others].min(axis=1)).all()
    yield "adaptive_fig3", "G-AGC is the fastest of all for p > 0", fastest
    same = np.allclose(wide["G-CGC(0)"], wide["CGC(0)"])
    yield "adaptive_fig3", "G-CGC(0) is the same as CGC(0)", same

    time = table("adaptive_table6").pivot(index=["scheme", "p"], columns="convention", values="time_s")
    agrees = (time[["formula", "paper"]].sub(time["printed"], axis=0).abs() < 0.0051).sum()
    sentence = f"agrees with {agrees['formula']} of the {len(time)} printed cells; all of them"
    yield "adaptive_table6", sentence, agrees["paper"] == len(time)
    formula = time["formula"]
    slower = all(formula["AGC", p] > formula["G-CGC(1)", p] for p in (0.05, 0.1))
    yield README, "AGC is not faster than G-CGC(1)", slower
    yield (
        README,
        "most entries of Table VI match only with times that we fitted",
        2 * agrees["formula"] < len(time),
    )


def comm_efficient():
    saved = table("comm_efficient_map").groupby(["label", "delay.transmit_shift"])["saved_share"].mean()
    share = saved["m = 3, s = 1"]
    low, high = share[share < 0].index.max(), share[share > 0].index.min()
    low, high = min(low, high), max(low, high)
    yield "comm_efficient_map", f"more than about {low} to {high} of computing", True
    first = table("comm_efficient_table3").set_index(["d", "m"])["expected_time_s"].idxmin()
    yield "comm_efficient_table3", f"that of d = {first[0]}, m = {first[1]}", True
    survived, scalars = toy_codes("comm_efficient_fig1")
    code, halved = "a code against one straggler", "a code whose messages are half as long"
    yield "comm_efficient_fig1", code, survived == [0, 1, 0]
    yield "comm_efficient_fig1", halved, scalars == [2, 2, 1]
    survived, scalars = toy_codes("comm_efficient_fig2")
    both = "one code survives two stragglers, the other one straggler with messages half as long"
    yield "comm_efficient_fig2", both, (survived, scalars) == ([2, 1], [2, 1])
    times = table("comm_efficient_fig3").groupby(["n", "label"])["mean_iteration_time_s"].mean()
    for _, each in times.groupby("n"):
        ranked = each.droplevel("n").sort_values().index
        yield "comm_efficient_fig3", "two best codes", all("m = 1" not in one for one in ranked[:2])


def dynamic_clustering():
    clusters = table("dynamic_clustering_fig1").groupby("panel")
    slow = [part.groupby("cluster")["slow"].sum().max() for _, part in clusters]
    waits = [part["gc_sc"].iloc[0] > 10 * part["lb"].iloc[0] for _, part in clusters]
    words = "With one straggler in each cluster nothing waits; with two in one cluster that cluster must wait"
    yield "dynamic_clustering_fig1", words, (slow, waits) == ([1, 2], [False, True])
    third, fourth, fifth = (mean_times(f"dynamic_clustering_fig{number}") for number in (3, 4, 5))
    for target, times in (("fig3", third), ("fig4", fourth), ("fig5", fifth)):
        ranked = times.drop("GC-DC, previous state", errors="ignore").sort_values()
        ordered = list(ranked.index) == ["LB", "GC-DC", "GC-SC", "GC"]
        yield README, "the order of the schemes in Figs. 3 to 5", ordered
        yield f"dynamic_clustering_{target}", "GC-DC", ordered
    saved = [1 - times["GC-DC"] / times["GC-SC"] for times in (third, fourth)]
    larger = "a larger share of the time of static clusters (GC-SC) than in simulation 1"
    yield "dynamic_clustering_fig4", larger, saved[1] > saved[0]
    yield "dynamic_clustering_fig5", "faster than in simulation 2", fifth["GC-DC"] < fourth["GC-DC"]


def partial_recovery():
    messages = table("partial_recovery_fig2_communication").groupby("n")["messages"]
    orders = np.log10(messages.last() / messages.first()).round()
    yield "partial_recovery_fig2_communication", "rises by two orders of magnitude", (orders == 2).all()
    falls = messages.apply(lambda each: (each.diff() < 0).any())
    yield "partial_recovery_fig2_communication", "not always monotonically", falls.any()
    for target in ("partial_recovery_example3", "partial_recovery_table3"):
        yield target, f"which of the {table(target)['partitions'].iloc[0]} partitions", True
    frame = table("partial_recovery_fig4_fixed_s")
    last = frame[frame["simulated_time_s"] <= 0.8].sort_values("iteration").groupby(["label", "seed"]).last()
    ends = last["test_accuracy"].groupby("label").median().sort_values(ascending=False)
    ordered = ends.index[0].startswith("ε-FRC") and ends.index[-1].startswith("Forget-19")
    yield "partial_recovery_fig4_fixed_s", "ε-FRC is ahead, the cyclic scheme with β = 15 follows", ordered
    yield "partial_recovery_fig4_fixed_s", "(Forget-19) ends lowest", ordered
    # Two schemes run with ten seeds; all share five.
    seeds = frame.groupby("label")["seed"].nunique().min() == 5
    yield "partial_recovery_fig4_fixed_s", "five seeds cannot separate all curves", seeds
    yield README, "five seeds are too few to separate all of them", seeds
    quotients = table("partial_recovery_section8").query("model.str.startswith('D')")["quotient"]
    yield "partial_recovery_section8", "in model D it never does", (quotients >= 1).all()


def soft_bibd():
    errors = table("soft_bibd_fig2").groupby(["label", "s"])["value"].mean()
    soft, design = errors["Soft BIBD, n = 16"], errors["BIBD (16, 6, 2)"]
    smaller = (soft <= design + 1e-9)[1:15].all()
    yield "soft_bibd_fig2", "that of the Soft BIBD is the smaller one on average", smaller
    of = table("soft_bibd_fig3").groupby(["label", "s"])["value"].mean()
    worst = of["product: worst set found (ours)"]
    low, high = (of[f"product: Theorem {number}"].reindex(worst.index) for number in (6, 5))
    between = (low <= worst + 1e-9).all() and (worst <= high + 1e-9).all()
    yield "soft_bibd_fig3", "lies between the two bounds", between


def stragglers():
    regret = table("stragglers_advice").groupby("rows")["regret"].max()[300]
    yield "stragglers_advice", "With 300 iterations", True
    yield "stragglers_advice", "at most two per cent", 0.01 < regret <= 0.02
    traces = table("stragglers_overview")["trace"].drop_duplicates()
    counted = len(traces) == 16 and traces.str.partition("-")[0].nunique() == 3
    yield "stragglers_overview", "Sixteen traces of three sources", counted


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
        "up to 20 workers for most of the tested parameters, but not for all": (
            "stability_up_to_20",
            "partly",
        )
    },
    "soft_bibd": {"so a block design cannot be better there": ("bibd_better_than_frc", "partly")},
}
SENTENCES = [adaptive, comm_efficient, dynamic_clustering, partial_recovery, soft_bibd, stragglers]
#: Names of things, whose numbers are no findings.
NAMES = re.compile(
    r"(Figs?\.|Table|Theorem|simulation) \w+( to \d)?|(G-)?A?CGC\(\d\)|AGC|Forget-19|β = \d+|float\d+|CIFAR-10"
    r"|from 0|The two errors|\((s|m) [=>] \d\)|m = 1|α near 1|([Aa]bove|below) [01]|p > 0|one message|\(CGC\)"
)
NUMBER = re.compile(r"\d|\b(two|three|four|five|ten|sixteen|half|twice|per cent)\b", re.IGNORECASE)


@pytest.mark.parametrize(
    "sentences", [pytest.param(one, marks=pytest.mark.paper(one.__name__)) for one in SENTENCES]
)
def test_sentences_are_true(sentences):
    for place, words, holds in sentences():
        text = README if place is README else shown(place)
        assert words in " ".join(text.split()), f"{words!r} stands there no more"
        assert holds, words


def test_every_number_that_a_figure_is_said_to_show_is_checked():
    unchecked = {}
    words = {target: [] for target in target_files()}
    for one in SENTENCES:
        if (ROOT / "gcexp_papers" / one.__name__).is_dir():
            for place, text, _ in one():
                words.setdefault(place, []).append(text)
    for target in target_files():
        left = " ".join(shown(target).split())
        for text in words[target]:
            left = left.replace(text, "")
        if NUMBER.search(left := NAMES.sub("", left)):
            unchecked[target] = left
    assert not unchecked


@pytest.mark.parametrize("paper", [pytest.param(one, marks=pytest.mark.paper(one)) for one in OUTCOMES])
def test_readme_says_what_came_out(paper):
    found = {one.id: one.outcome for one in committed() if one.paper == paper}
    text = " ".join(README.split())
    for words, (statement, outcome) in OUTCOMES[paper].items():
        assert words in text and found[statement] == outcome
