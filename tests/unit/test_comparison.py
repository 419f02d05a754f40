"""The comparison of a figure's schemes, from a published table."""

import io
import math

import numpy as np
import pandas as pd
import pytest

from gcexp.command.main import main
from gcexp.figures.rows import time_to
from gcexp.figures.tables import read_table
from gcexp.report.comparison import add_identifying_columns, comparison, format_comparison
from gcexp.report.evidence import first_passages
from gcexp.report.figurefile import figure
from gcexp.report.published import table_of
from gcexp.run.compose import compose
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme

pytestmark = pytest.mark.paper("dynamic_clustering", "partial_recovery")

TARGET = "partial_recovery_fig4_fixed_s"


@pytest.fixture(scope="module")
def shown(published_figure):
    made = published_figure(TARGET)
    return made, read_table(table_of(made))


def test_medians_of_first_passages(shown):
    made, frame = shown
    found = comparison(made, frame, 0.9).set_index("label")
    rows = frame[frame["label"] == "CGC, β = 30"]
    times = [time_to(seed, "test_accuracy", 0.9) for _, seed in rows.groupby("seed")]
    assert found.loc["CGC, β = 30", "time_to_0.9"] == pytest.approx(pd.Series(times).median())
    assert found.loc["CGC, β = 30", "computation_load"] == pytest.approx(20 / 30)  # d = s + 1 of n
    assert found["time_to_0.9"].is_monotonic_increasing
    assert set(found["seeds"]) == {5}  # two schemes have ten: only equal seeds are compared


def test_loads_of_a_code_drawn_per_seed_are_told_over_the_seeds():
    """It was the busiest worker of one draw."""
    config = compose(["scheme=bgc", "n=20", "seeds=8"])
    drawn = [build_scheme(config, seed).code for seed in range(8)]
    each = [code.load.max() / code.k for code in drawn]
    assert len(set(each)) > 1
    found = Run((), config).loads()
    assert found["computation_load"] == pytest.approx(np.mean(each))
    assert found["computation_load_largest"] == max(each)
    one = Run.of(["scheme=cgc", "n=20", "s=3", "seeds=8"]).loads()
    assert one["computation_load"] == one["computation_load_largest"] == 0.2


def test_a_level_that_nobody_reaches_and_further_levels(shown):
    found = comparison(*shown, 0.999, more=(0.8, 0.9))
    assert found["time_to_0.999"].map(math.isinf).all() and (found["seeds_reached"] == 0).all()
    times = [name for name in found if name.startswith("time_to_")]
    assert times == ["time_to_0.999", "time_to_0.8", "time_to_0.9"]
    assert (found["time_to_0.8"] < found["time_to_0.9"]).all()
    assert found["time_to_0.8"].is_monotonic_increasing


def test_from_the_shell(shown, capsys):
    assert main(["compare", TARGET, "--preset", "paper", "--level", "0.9", "--format", "csv"]) == 0
    read = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert read["label"].tolist() == comparison(*shown, 0.9)["label"].tolist()
    assert main(["compare", TARGET, "--preset", "paper", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("| label | seeds | time\\_to\\_0.88 |")


def test_a_page_shows_the_medians_of_the_comparison(shown):
    made, frame = shown
    compared = comparison(made, frame).set_index("label")
    on_page = first_passages(made, table_of(made))
    assert [row.label for row in on_page.rows] == [run.label for run in made.runs]
    for row in on_page.rows:
        times = compared.loc[row.label, [f"time_to_{on_page.level:g}", "low", "high", "seeds_reached"]]
        assert [row.median, row.low, row.high, row.reached] == times.tolist()


def test_rows_with_one_label_are_told_apart(published_figure):
    """By the columns of the figure's own where they do, and by no more than it takes."""
    made = published_figure("dynamic_clustering_ablation")
    frame = read_table(table_of(made))
    found = add_identifying_columns(comparison(made, frame[frame["seed"] < 3]), made)
    read = pd.read_csv(io.StringIO(format_comparison(found, "csv")))
    assert list(read)[:5] == ["label", "run", "setting", "known", "seeds"]
    assert not read.duplicated(["label", "setting", "known"]).any() and read["label"].duplicated().any()
    assert "| GC-SC | n = 12, P = 4, r = 2, m = 2 | – | 3 |" in format_comparison(found, "markdown")


def test_a_swept_label_is_told_apart_by_its_key():
    made = figure("dynamic_clustering_sweeps", "quick", checks=False)
    found = pd.DataFrame({"label": [run.label for run in made.runs], "run": [run.id for run in made.runs]})
    apart = add_identifying_columns(found, made)
    assert not apart.drop(columns="run").duplicated().any()


def test_a_figure_without_runs_is_refused_before_its_table_is_looked_for(refused_command):
    refused_command("dynamic_clustering_matrices", "compare", "dynamic_clustering_matrices")


def test_a_missing_table_says_how_to_make_it(here, monkeypatch, refused_command, shown):
    monkeypatch.setattr("gcexp.report.figurefile.figure", lambda *_: shown[0])
    # Nothing is published either.
    monkeypatch.setattr("gcexp.report.published.bundled", lambda name: here / name)
    refused_command(f"snakemake {TARGET} --config preset=paper", "compare", TARGET)


def test_ratios_are_paired_seed_by_seed(shown):
    made, frame = shown
    found = comparison(made, frame, 0.9, against="CGC, β = 30").set_index("label")
    times = {}
    for label in ("CGC, β = 30", "Forget-19"):
        rows = frame[(frame["label"] == label) & (frame["seed"] < 5)]
        times[label] = np.array([time_to(seed, "test_accuracy", 0.9) for _, seed in rows.groupby("seed")])
    ratios = times["Forget-19"] / times["CGC, β = 30"]
    told = found.loc["Forget-19", ["ratio", "ratio_low", "ratio_high"]].tolist()
    assert told == pytest.approx([np.median(ratios), ratios.min(), ratios.max()])
    assert found.loc["CGC, β = 30", ["ratio", "ratio_low", "ratio_high"]].tolist() == [1, 1, 1]
    first = comparison(made, frame, 0.9)
    assert first["ratio"].iloc[0] == 1 and (first["ratio"].iloc[1:] > 1).all()


def test_a_label_that_nobody_has_is_refused(shown, refused_command):
    refused_command(
        ("CGC, β = 3", "CGC, β = 30"), "compare", TARGET, "--preset", "paper", "--against", "CGC, β = 3"
    )


def test_each_panel_has_a_first_run_of_its_own(published_figure):
    made = published_figure("adaptive_fig6_seeds")
    frame = read_table(table_of(made))
    found = add_identifying_columns(comparison(made, frame), made)
    panel = made.file.plot["panel"]
    assert (found.groupby(panel)["ratio"].first() == 1).all() and found[panel].nunique() == 3
    fastest = found.loc[found.groupby(panel)[f"time_to_{made.file.level:g}"].idxmin()]
    assert (fastest["ratio"] == 1).all()
