"""One call of Snakemake sees an edit of what a job read, whatever it is; the next one has nothing to do."""

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

FIGURE = """\
title: My data
source: mine
kind: curves
common: {task: digits_mlp, task.dataset: mine, delay: mine, n: 4, s: 1, iterations: 3, seeds: 1}
runs: [{label: all, scheme: uncoded}]
plot: {kind: lines, x: simulated_time_s, y: test_loss}
"""
DATA = "path: mine.csv\ntarget: kind\n"
DELAY = """\
from mine_delays.scale import SCALE
from gcexp.delays import ShiftedExponential


class Mine(ShiftedExponential):
    def __post_init__(self):
        object.__setattr__(self, "shift", self.shift * SCALE * float(open("factor").read()))
"""


@pytest.fixture
def mine(fresh):
    rows = [f"{i % 7},{i * i % 11},{i % 3},{i % 2}" for i in range(40)]
    for name, text in {
        "small/figures/data.yaml": FIGURE,
        "conf/dataset/mine.yaml": DATA,
        "conf/delay/mine.yaml": "_target_: mine_delays.Mine\nshift: 1.0\nmean: 1.0\n",
        "mine_delays/__init__.py": DELAY,
        "mine_delays/scale.py": "SCALE = 1\n",
        "factor": "1\n",
        "mine.csv": "\n".join(["a,b,colour,kind", *rows, ""]),
    }.items():
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).write_text(text)
    fresh.variables["PYTHONPATH"] = f"{fresh.folder}:{fresh.environment['PYTHONPATH']}"
    return fresh


def test_the_figure_follows_in_one_call(mine):
    table = mine / "reports/quick/data/small_data.csv"

    def made():
        _, jobs = mine.build("-j2", "small_data")
        assert mine.planned("small_data") == {}  # once, and then nothing
        return table.read_text(), jobs

    first, jobs = made()
    assert jobs["data"] == jobs["trajectory_exact"] == jobs["timeline"] == 1
    mine.edit("conf/dataset/mine.yaml", "kind", "colour")
    learned, jobs = made()
    assert learned != first and "timeline" not in jobs
    (mine / "mine.csv").write_text((mine / "mine.csv").read_text() + "3,3,1,1\n")
    more, jobs = made()
    assert more != learned and jobs["data"] == 1 and "timeline" not in jobs
    mine.edit("mine_delays/scale.py", "1", "2")
    slower, jobs = made()
    assert slower != more and jobs["timeline"] == 1 and "trajectory_exact" not in jobs
    (mine / "factor").write_text("3\n")
    slowest, jobs = made()
    assert slowest != slower and jobs["timeline"] == 1
