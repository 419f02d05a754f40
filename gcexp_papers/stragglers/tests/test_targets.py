"""The tables behind the targets."""

from pathlib import Path

import pytest

from gcexp.figures import read_table
from gcexp.report.figurefile import figure
from gcexp_papers.stragglers.numerics import overview


def test_overview_shows_every_matrix():
    shown = figure("stragglers_overview", "quick")
    files = shown.file.analysis["files"]
    table = overview(files[3:6] + files[8:9], bins=40)
    strip = table[table["what"] == "time"]
    assert strip.groupby("trace").size().to_dict() == {
        "pai-job4": 400,
        "bytedance-AR-dp": 160,
        "bytedance-SE-dp": 32 * 40,
        "faas-aws-2048mb": 350,
    }
    assert strip.groupby("trace")["value"].mean().to_numpy() == pytest.approx(1, abs=0.05)
    assert len(files) == 16


LEARNED = "FRC, d = 2, learned pairs"


def published(name):
    return read_table(Path(f"reports/published/data/stragglers_{name}.csv"))


def test_numbers_of_the_page_are_those_of_the_tables():
    """The answer in its first sentences is read off what is published."""
    page = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())
    ends = published("breakeven").query("against == 'rebalancing' and scheme == @LEARNED")
    ends = (100 * ends.set_index("trace")["bound_from"]).round().astype(int)
    few = ends[["PAI 1", "PAI 2", "PAI 3", "AR"]]
    assert (
        f"unless {few.min()} to {few.max()} % of the time is fixed (PAI jobs 1 to 3, AR), {ends['SE']} % (SE)"
        in page
    )
    assert f"{ends['PAI 4']} % (PAI job 4)" in page
    (gap,) = published("map").query("trace == 'PAI 4' and phi == 0 and scheme == @LEARNED")["gap"]
    seats = published("placement").query("trace == 'PAI 4'").set_index("scheme")["ratio"]
    best, worst = seats["FRC, d = 2: best"], seats["FRC, d = 2: worst"]
    assert f"come within {100 * gap:.2f} %" in page
    assert f"placement alone spans {best:.2f} to {worst:.2f} of waiting for all" in page
    late = published("late").query("scheme == 'partial work, d = 2' and late == 'chunk' and chunks == 8")
    assert "every eighth of a share it loses on jobs 1 to 3" in page
    assert (late.set_index("trace")["ratio"][["PAI 1", "PAI 2", "PAI 3"]] > 1).all()
