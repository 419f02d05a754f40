"""Fresh tables against the published ones: what is compared, with which tolerance, and what is said."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gcexp.command.main import main
from gcexp.figures.tables import read_table, write_table
from gcexp.report.agreement import (
    DIFFERS,
    EQUAL,
    NOT,
    WITHIN,
    compare_presets,
    compare_tables,
    compare_with_published,
)
from gcexp.report.figurefile import read_figure
from gcexp.report.table import assemble

pytestmark = pytest.mark.paper("codes", "comm_efficient", "partial_recovery")

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports/published/data"


def made(here, target, preset="paper", change=lambda frame: frame):
    place = here / f"reports/{preset}/data/{target}.csv"
    (published,) = PUBLISHED.glob(f"{target}.csv*")  # packed where it is large
    write_table(change(read_table(published)), place)


def outcomes(*targets, preset=None):
    return {one.target: one.outcome for one in compare_with_published(targets, preset)}


def test_one_line_per_figure_and_exit_code_1_where_one_differs(here, capsys):
    made(here, "partial_recovery_table1")
    made(here, "comm_efficient_fig1", change=lambda frame: frame.assign(value=2.5 * frame["value"]))
    assert outcomes() == {"comm_efficient_fig1": DIFFERS, "partial_recovery_table1": EQUAL}
    assert main(["verify"]) == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[:2]] == [*outcomes()]
    assert main(["verify", "partial_recovery_table1"]) == 0


def test_a_large_table_is_compared_with_the_packed_one(here):
    target = "partial_recovery_fig4_fixed_s_decoder"
    assert not (PUBLISHED / f"{target}.csv").is_file()
    made(here, target)
    assert outcomes(target) == {target: EQUAL}
    made(here, target, change=lambda frame: frame.assign(test_accuracy=frame["test_accuracy"] - 0.1))
    assert outcomes(target) == {target: DIFFERS}


def test_a_table_of_the_quick_preset_is_compared_where_it_is_the_same(here):
    made(here, "partial_recovery_table1", "quick")  # no smaller in the quick preset
    made(here, "codes_stability", "quick")
    assert outcomes(preset="quick") == {"codes_stability": NOT, "partial_recovery_table1": EQUAL}
    assert main(["verify"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "make reproduce"),
        (["--preset", "papr"], "'paper'"),
        (["partial_recovery_table9"], "'partial_recovery_table9'"),
        (["partial_recovery_table1"], "snakemake"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(here, refused_command, arguments, words):
    refused_command(words, "verify", *arguments)


def test_a_fresh_table_that_was_edited_by_hand_is_refused(here, refused):
    made(here, "partial_recovery_table1")
    place = here / "reports/paper/data/partial_recovery_table1"
    place.with_suffix(".provenance.json").write_text('{"sha256": "0"}')
    refused("partial_recovery_table1", outcomes)


FRAME = pd.DataFrame({"label": ["a", "b"], "test_accuracy": [0.9, 0.8], "test_loss": [0.5, 0.1]})
FRAME["time_s"] = [1.0, np.nan]


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
    found = compare_tables(FRAME.assign(**{column: values}), FRAME)
    assert found.outcome == outcome and words in found.about


def test_other_columns_rows_and_tolerances():
    for other in (FRAME.assign(new=1), FRAME.drop(columns="time_s"), FRAME[:1]):
        assert compare_tables(other, FRAME).outcome == DIFFERS
    fresh = FRAME.assign(time_s=[4.0, np.nan])
    assert compare_tables(fresh, FRAME).outcome == DIFFERS
    assert compare_tables(fresh, FRAME, {"time_s": 9}).outcome == WITHIN


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
    ("quick", "rows", "outcome", "share"),
    [
        ("{s: [2]}", "seeds", EQUAL, "2 of 4"),
        ("{}", "seeds", EQUAL, ""),
        ("{seeds: 1}", "seeds", EQUAL, "2 of 4"),
        ("{seeds: 3-4}", "seeds", NOT, ""),
        ("{iterations: 5}", "seeds", NOT, ""),
        ("{iterations: 5}", "running", EQUAL, "12 of 20"),  # the rows of fewer iterations
        ("{n: 7}", "seeds", NOT, ""),
    ],
)
def test_of_a_smaller_preset_the_rows_that_both_make_are_compared(here, quick, rows, outcome, share):
    place = here / "mine" / "figures" / "clocks.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(f"{CLOCKS.format(quick=quick)}timings: {{rows: {rows}}}\n")
    small, paper = (read_figure(place, preset) for preset in ("quick", "paper"))
    fresh, published = (assemble(one)[0] for one in (small, paper))
    found = compare_presets(small, fresh, paper, published)
    assert found.outcome == outcome and (outcome == NOT or found.about.startswith(share))
    changed = fresh.assign(mean_iteration_time_s=9.0)
    assert compare_presets(small, changed, paper, published).outcome == (NOT if outcome == NOT else DIFFERS)
