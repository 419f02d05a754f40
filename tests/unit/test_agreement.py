"""Fresh tables against the published ones: what is compared, with which tolerance, and what is said."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gcexp.command.main import main
from gcexp.figures.tables import read_table, write_table
from gcexp.report.agreement import DIFFERS, EQUAL, NOT, WITHIN, agreement, compared
from gcexp.report.figurefile import read_figure
from gcexp.report.table import assemble

pytestmark = pytest.mark.paper("codes", "comm_efficient", "partial_recovery")

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports/published/data"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with nothing in it; what is published is found beside the package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCEXP_CONF", str(ROOT / "conf"))
    return tmp_path


def made(here, target, preset="paper", change=lambda frame: frame):
    place = here / f"reports/{preset}/data/{target}.csv"
    (published,) = PUBLISHED.glob(f"{target}.csv*")  # packed where it is large
    write_table(change(read_table(published)), place)


def verified(capsys, *arguments):
    code = main(["verify", *arguments])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


def test_one_line_per_figure_and_exit_code_1_where_one_differs(here, capsys):
    made(here, "partial_recovery_table1")
    made(here, "comm_efficient_fig1", change=lambda frame: frame.assign(value=2.5 * frame["value"]))
    code, text = verified(capsys)
    assert code == 1
    bad, good, _, counts = text.splitlines()
    assert bad.split()[:3] == ["comm_efficient_fig1", "paper", "differs:"] and "was published" in bad
    assert good.split() == ["partial_recovery_table1", "paper", "equal"]
    assert counts == "1 equal, 1 differs"
    assert verified(capsys, "partial_recovery_table1") == (0, f"{good}\n\n1 equal\n")


def test_a_large_table_is_compared_with_the_packed_one(here, capsys):
    target = "partial_recovery_fig4_fixed_s_decoder"
    assert not (PUBLISHED / f"{target}.csv").is_file()
    made(here, target)
    assert verified(capsys, target) == (0, f"{target}  paper  equal\n\n1 equal\n")
    made(here, target, change=lambda frame: frame.assign(test_accuracy=frame["test_accuracy"] - 0.1))
    assert verified(capsys, target)[0] == 1


def test_a_table_of_the_quick_preset_is_compared_where_it_is_the_same(here, capsys):
    made(here, "partial_recovery_table1", "quick")  # no smaller in the quick preset
    made(here, "codes_stability", "quick")
    code, text = verified(capsys, "--preset", "quick")
    assert code == 0
    assert "codes_stability          quick  not comparable: quick has other arguments" in text
    assert "partial_recovery_table1  quick  equal" in text
    assert text.endswith("\n1 equal, 1 not comparable\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "make reproduce"),
        (["--preset", "papr"], "'paper'"),
        (["partial_recovery_table9"], "'partial_recovery_table9'"),
        (["partial_recovery_table1"], "snakemake"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(here, capsys, arguments, words):
    code, text = verified(capsys, *arguments)
    assert code == 2 and words in text


def test_a_fresh_table_that_was_edited_by_hand_is_refused(here, capsys):
    made(here, "partial_recovery_table1")
    place = here / "reports/paper/data/partial_recovery_table1"
    place.with_suffix(".provenance.json").write_text('{"sha256": "0"}')
    code, text = verified(capsys)
    assert code == 2 and "partial_recovery_table1" in text


FRAME = pd.DataFrame(
    {"label": ["a", "b"], "test_accuracy": [0.9, 0.8], "test_loss": [0.5, 0.1], "time_s": [1.0, np.nan]}
)


@pytest.mark.parametrize(
    ("column", "values", "outcome", "words"),
    [
        ("time_s", [1.0, np.nan], EQUAL, ""),
        ("time_s", [1 + 1e-8, np.nan], WITHIN, "1e-08 in time_s"),
        ("time_s", [1.001, np.nan], DIFFERS, "1.001 at label a"),
        ("time_s", [1.0, 3.0], DIFFERS, "3 at label b"),
        ("time_s", [1.0, np.inf], DIFFERS, "inf at label b"),
        ("test_accuracy", [0.9, 0.804], WITHIN, "0.005"),
        ("test_accuracy", [0.9, 0.806], DIFFERS, "0.806 at label b"),
        ("test_loss", [0.509, 0.1], WITHIN, "0.01"),
        ("test_loss", [0.52, 0.13], DIFFERS, "0.13 at label b"),
        ("label", ["a", "c"], DIFFERS, "'c' at row 2"),
    ],
)
def test_tolerances(column, values, outcome, words):
    found, about = compared(FRAME.assign(**{column: values}), FRAME)
    assert found == outcome and words in about


def test_a_column_may_have_a_tolerance_of_its_own():
    fresh = FRAME.assign(time_s=[4.0, np.nan])
    assert compared(fresh, FRAME)[0] == DIFFERS
    assert compared(fresh, FRAME, {"time_s": 9})[0] == WITHIN


def test_other_columns_and_rows_differ():
    assert compared(FRAME.assign(new=1), FRAME) == (DIFFERS, "columns: new new")
    assert compared(FRAME.drop(columns="time_s"), FRAME) == (DIFFERS, "columns: missing time_s")
    assert compared(FRAME[:1], FRAME) == (DIFFERS, "1 rows, 2 were published")


CLOCKS = """\
title: Clocks
source: mine
kind: timings
common: {{delay: pareto, n: 6, s: [1, 2], iterations: 20, seeds: 2}}
runs:
  - {{label: "CGC, s = {{s}}", scheme: cgc}}
quick: {quick}
plot: {{kind: bars, y: mean_iteration_time_s, by: label}}
"""


@pytest.mark.parametrize(
    ("quick", "change", "outcome", "words"),
    [
        ("{s: [2]}", 1, EQUAL, "2 of 4 rows"),
        ("{s: [2]}", 2, DIFFERS, "2 of 4 rows: mean_iteration_time_s is"),
        ("{}", 1, EQUAL, ""),
        ("{seeds: 1}", 1, EQUAL, "2 of 4 rows"),
        ("{seeds: 1}", 2, DIFFERS, "2 of 4 rows: mean_iteration_time_s is"),
        ("{seeds: 3-4}", 1, NOT, "quick has other runs"),
        ("{iterations: 10}", 1, NOT, "quick has other runs"),
        ("{n: 7}", 1, NOT, "quick has other runs"),
    ],
)
def test_of_a_smaller_preset_the_runs_that_both_make_are_compared(tmp_path, quick, change, outcome, words):
    place = tmp_path / "mine" / "figures" / "clocks.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(CLOCKS.format(quick=quick))
    small, paper = (read_figure(place, preset) for preset in ("quick", "paper"))

    def table(one):
        rows = [
            (run.label, run.id, seed, run.config["s"] + seed / 10)
            for run in one.runs
            for seed in run.seed_list
        ]
        return pd.DataFrame(rows, columns=["label", "run", "seed", "mean_iteration_time_s"])

    published, fresh = table(paper), table(small)
    fresh["mean_iteration_time_s"] *= change
    found = agreement(small, fresh, paper, published)
    assert found.outcome == outcome and found.about.startswith(words)


@pytest.mark.parametrize(
    ("rows", "change", "outcome", "words"),
    [
        ("running", {}, EQUAL, "6 of 10 rows"),
        ("running", {"mean_iteration_time_s": 9.0}, DIFFERS, "6 of 10 rows: mean_iteration_time_s is 9"),
        ("seeds", {}, NOT, "quick has other runs"),
    ],
)
def test_of_fewer_iterations_the_rows_of_those_are_compared(
    tmp_path, monkeypatch, rows, change, outcome, words
):
    place = tmp_path / "figure" / "mine" / "clocks.yaml"
    place.parent.mkdir(parents=True)
    text = CLOCKS.format(quick="{iterations: 5}").replace("s: [1, 2]", "s: 2")
    place.write_text(f"{text}timings: {{rows: {rows}}}\n")
    small, paper = (read_figure(place, preset) for preset in ("quick", "paper"))

    monkeypatch.chdir(tmp_path)
    tables = []
    for one in (small, paper):
        tables.append(assemble(one)[0])
    found = agreement(small, tables[0].assign(**change), paper, tables[1])
    assert found.outcome == outcome and found.about.startswith(words), found
