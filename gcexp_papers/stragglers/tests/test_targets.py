"""The page says what the tables say."""

from pathlib import Path

from gcexp.figures import read_table

LEARNED = "FRC, d = 2, learned pairs"


def published(name):
    (path,) = Path("reports/published/data").glob(f"stragglers_{name}.csv*")
    return read_table(path)


def test_numbers_of_the_page_are_those_of_the_tables():
    page = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())
    ends = published("breakeven").query("against == 'rebalancing' and scheme == @LEARNED")
    ends = (100 * ends.set_index("trace")["bound_from"]).round().astype(int)
    few = ends[["PAI 1", "PAI 2", "PAI 3", "AR"]]
    assert f"only if {few.min()} to {few.max()} % of the time is fixed on PAI jobs 1 to 3 and AR" in page
    assert f"{ends['SE']} % on SE and {ends['PAI 4']} % on PAI job 4" in page
    (gap,) = published("map").query("trace == 'PAI 4' and phi == 0 and scheme == @LEARNED")["gap"]
    seats = published("placement").query("trace == 'PAI 4'").set_index("scheme")["ratio"]
    best, worst = seats["FRC, d = 2: best"], seats["FRC, d = 2: worst"]
    assert f"are within {100 * gap:.2f} %" in page
    assert f"placement alone decides between {best:.2f} and {worst:.2f} times" in page
    jobs = ["PAI 1", "PAI 2", "PAI 3"]
    partial = published("late").query("scheme == 'partial work, d = 2'").set_index("trace")
    gains = 100 * (1 - partial.query("late == 'stop'")["ratio"][jobs])
    assert f"gains {gains.min():.0f} to {gains.max():.0f} %" in page
    assert (partial.query("late == 'chunk' and chunks == 8")["ratio"][jobs] > 1).all()
    last = published("training").query("iteration == 96 and data == 'PAI 4, by label'")
    score = last.groupby("label")["test_accuracy"].median()
    low, high = score["quorum n/2 and grace"], score["wait for all"]
    assert f"ends at a test accuracy of {low:.2f} instead of {high:.2f}" in page
