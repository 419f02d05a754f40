"""Tables of runs: the columns they have, rows of kind timings, and paired differences between schemes."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gcexp.analysis.declared import columns
from gcexp.figures import read_table, write_table
from gcexp.report.columns import Passages
from gcexp.report.figurefile import read_figure
from gcexp.report.run_table import passage_rows
from gcexp.report.table import assemble
from gcexp.run.result_columns import marks

TIMED = """
title: A figure
source: Fig. 1
kind: timings
common: {delay: markov, delay.initial_slow: 2, n: 6, code.d: 2, iterations: 13, seeds: 3}
runs:
  - {label: GC, scheme: gc, delay.p: [0.1, 0.3]}
  - {label: GC-SC, scheme: gc_sc, code.clusters: 3, delay.p: [0.1, 0.3]}
  - {label: GC-DC, scheme: gc_dc, code.clusters: 3, placement.memberships: [1, 2], delay.p: [0.1, 0.3]}
  - {label: LB, scheme: lb, code.clusters: 3, columns.what: bound, columns.chance: "{delay.p}"}
timings: {rows: seeds, against: {GC-SC: GC, GC-DC: GC-SC}}
plot: {kind: lines, x: delay.p, y: mean_iteration_time_s}
"""


@pytest.fixture(autouse=True)
def elsewhere(paper):
    """All of these tests work in a project with one paper."""


def read(text):
    path = Path("paper/figures/target.yaml").resolve()
    path.write_text(text)
    return read_figure(path, "paper")


@cache
def table(*edits):
    """The table of the figure file above after some edits; only to be looked at."""
    text = TIMED
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    write_table(assemble(read(text))[0], Path("table.csv"))
    return read_table("table.csv")


@columns("n", "time_s")
def timed_otherwise(n: int, time: str = "time_s"):
    """A table of the test below."""
    return pd.DataFrame({"n": [n], time: [1.0]})


def test_an_analysis_keeps_what_it_declares(refused):
    text = f"title: A\nsource: B\nkind: analysis\nanalysis: {{function: {__name__}.timed_otherwise, n: 3}}\n"
    assert list(assemble(read(f"{text}plot: {{kind: table, columns: [n]}}"))[0]) == ["n", "time_s"]
    other = f"{text.replace('n: 3', 'n: 3, time: hours')}plot: {{kind: table}}"
    refused(("timed_otherwise", "hours"), lambda: assemble(read(other)))


@pytest.mark.slow
def test_every_key_of_a_run_is_a_column():
    frame = table()
    assert list(frame) == read(TIMED).columns
    keys = ["scheme", "n", "code.d", "code.clusters", "placement.memberships", "delay", "delay.initial_slow"]
    assert list(frame)[:12] == ["label", "run", "what", "chance", *keys, "delay.p"]
    assert frame["what"].dropna().unique().tolist() == ["bound"]
    assert (frame["chance"].dropna() == 0.05).all()
    row = frame[(frame["label"] == "GC-DC") & (frame["seed"] == 2)].iloc[-1]
    assert (row["placement.memberships"], row["delay.p"], row["code.clusters"]) == (2, 0.3, 3)
    gc = frame[frame["label"] == "GC"]
    assert (gc["code.clusters"] == 1).all() and gc["placement.memberships"].isna().all()  # default, and none
    assert len(frame) == 3 * (2 + 2 + 4 + 1)


def test_differences_are_paired():
    frame = table()
    own = {"GC": ["delay.p"], "GC-SC": ["delay.p"], "GC-DC": ["delay.p", "placement.memberships"]}
    time = {
        label: frame[frame["label"] == label].set_index([*keys, "seed"])["mean_iteration_time_s"]
        for label, keys in own.items()
    }
    for label, other in {"GC-SC": "GC", "GC-DC": "GC-SC"}.items():
        for _, row in frame[frame["label"] == label].iterrows():
            base = time[other].loc[row["delay.p"]]
            gain = base.loc[row["seed"]] - row["mean_iteration_time_s"]
            assert row["saved_time_s"] == pytest.approx(gain, rel=1e-7)
            assert row["saved_share"] == pytest.approx(gain / base.mean(), rel=1e-7)
    assert frame.loc[frame["label"].isin(["GC", "LB"]), "saved_time_s"].isna().all()
    one = frame[(frame["label"] == "GC-DC") & (frame["placement.memberships"] == 1)]
    assert (one["saved_time_s"].abs() < 1e-12).all()  # one membership is static clustering


def test_rows_of_iterations_and_running_means():
    seeds = table()
    running = table(("rows: seeds", "rows: running"))
    every = table(("rows: seeds", "rows: iterations"), ("y: mean_iteration_time_s", "y: iteration_time_s"))
    assert sorted(running["iteration"].unique()) == marks(13, "running") == [1, 2, 5, 10, 13]
    last = running[running["iteration"] == 13].reset_index(drop=True)
    for column in ("run", "seed", "mean_iteration_time_s", "saved_share", "stored_partitions"):
        np.testing.assert_array_equal(last[column], seeds[column])
    each = every.groupby(["run", "seed"], sort=False)["iteration_time_s"]
    np.testing.assert_allclose(each.mean(), seeds["mean_iteration_time_s"], rtol=1e-8)
    ends = every["simulated_time_s"][every["iteration"] == 13]
    np.testing.assert_allclose(ends, 13 * seeds["mean_iteration_time_s"], rtol=1e-7)
    assert (every["recovered_fraction"][every["label"] != "LB"] == 1).all()
    assert every["recovered_fraction"][every["label"] == "LB"].isna().all()
    (first,) = (run for run in read(TIMED).runs if run.id == seeds["run"][0])
    times = every["iteration_time_s"][:39].to_numpy().reshape(3, 13)
    np.testing.assert_allclose(times, first.clock().duration, rtol=1e-8)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("x: delay.p", "x: delay.pp", ("plot", "'delay.pp'", "'delay.p'")),
        ("x: delay.p", "x: delay.p, where: {sceme: gc}", ("'sceme'", "'scheme'")),
        ("x: delay.p", "x: delay.p, by: labl", ("'labl'", "'label'")),
        ("y: mean_iteration_time_s", "y: iteration_time_s", ("'iteration_time_s'",)),
        ("GC-DC: GC-SC", "GC-DC: GC-S", ("timings.against", "'GC-S'", "'GC-SC'")),
        ("GC-DC: GC-SC", "GC-DCC: GC-SC", ("timings.against", "'GC-DCC'")),
        ("rows: seeds", "rows: seed", ("timings", "rows")),
        ("rows: seeds", "row: seeds", ("timings", "'row'", "'rows'")),
        ("{delay.p}", "{delay.q}", ("columns.chance", "'delay.q'")),
        ("label: GC-SC, scheme: gc_sc, code.clusters: 3,", "label: GC, scheme: gc,", "'GC'"),
        ("kind: timings", "kind: curves", ("timings", "curves")),
    ],
)
def test_mistakes_are_told_before_the_first_job(refused, old, new, named):
    assert old in TIMED
    refused(named, lambda: read(TIMED.replace(old, new, 1)))


def test_a_comparison_without_a_partner_is_refused(refused):
    refused(("'GC'", "'GC-SC'"), table, ("scheme: gc, delay.p: [0.1, 0.3]", "scheme: gc, delay.p: 0.1"))


def test_a_label_repeats_within_a_sweep_of_curves_only(refused):
    rows = "timings: {rows: seeds, against: {GC-SC: GC, GC-DC: GC-SC}}\n"
    text = re.sub(".*LB.*\n", "", TIMED.replace(rows, "").replace("kind: timings", "kind: curves"))
    text = text.replace("delay: markov", "task: digits_mlp, delay: markov")
    text = text.replace("y: mean_iteration_time_s", "y: test_accuracy")
    assert read(text).labels == ["GC", "GC-SC", "GC-DC"]
    refused("'GC'", lambda: read(text.replace("label: GC-SC", "label: GC")))


CURVES = """
title: A figure
source: Fig. 1
kind: curves
common: {task: digits_mlp, delay: pareto, n: 6, s: 1, iterations: 20, seeds: 2}
runs: [{label: CGC, scheme: cgc}]
passages: {levels: [0.5, 0.9]}
plot: {kind: lines, x: level, y: reached_s}
"""


def test_first_passages_of_each_seed_and_level():
    curves = pd.DataFrame(
        {"label": "a", "run": "r", "seed": [3, 3, 3, 5, 5], "iteration": [0, 1, 2, 0, 1]}
        | {"simulated_time_s": [0.0, 0.5, 1.0, 0.0, 2.0], "test_accuracy": [0.1, 0.7, 0.9, 0.2, 0.8]}
    )
    found = passage_rows(curves, Passages((0.7, 0.9)))
    assert found[["seed", "level"]].to_numpy().tolist() == [[3, 0.7], [3, 0.9], [5, 0.7], [5, 0.9]]
    assert found["reached_s"].to_numpy(dtype=float)[:3].tolist() == [0.5, 1.0, 2.0]
    assert np.isnan(found["reached_s"].iloc[3]), "never reached"


def test_first_passages_are_checked_while_planning(refused):
    assert read(CURVES).columns[-3:] == ["seed", "level", "reached_s"]
    names = ("passages.y", "'test_acuracy'", "'test_accuracy'")
    refused(names, lambda: read(CURVES.replace("0.9]", "0.9], y: test_acuracy")))
    refused(("passages", "timings"), lambda: read(TIMED + "passages: {levels: [0.9]}\n"))
