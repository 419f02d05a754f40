"""One call of Snakemake sees an edit of what a job depends on, whatever it is; the next one has nothing to do.

An edit of the library that changes no training is one of `test_plans.py`.
"""

import numpy as np
import pandas as pd
import pytest

from tests.conftest import write_files

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
from helper_there.scale import SCALE
from gcexp.delays import ShiftedExponential


class Mine(ShiftedExponential):
    def __post_init__(self):
        object.__setattr__(self, "shift", self.shift * SCALE * float(open("factor").read()))
"""
TABLE = "reports/quick/data/small_data.csv"


@pytest.fixture
def mine(fresh):
    rows = [f"{i % 7},{i * i % 11},{i % 3},{i % 2}" for i in range(40)]
    files = {
        "small/figures/data.yaml": FIGURE,
        "conf/dataset/mine.yaml": DATA,
        "conf/delay/mine.yaml": "_target_: mine_delays.Mine\nshift: 1.0\nmean: 1.0\ninputs: factor\n",
        "mine_delays/__init__.py": DELAY,
        "helper_there/__init__.py": "",
        "helper_there/scale.py": "SCALE = 1\n",
        "factor": "1\n",
        "mine.csv": "\n".join(["a,b,colour,kind", *rows, ""]),
    }
    write_files(fresh.folder, files)
    fresh.variables["PYTHONPATH"] = f"{fresh.folder}:{fresh.environment['PYTHONPATH']}"
    return fresh


def test_the_table_follows_in_one_call(mine):
    """Two edits of the data, then two of the delay model: each is planned, both together have changed the numbers."""

    def made():
        code, output = mine.snakemake("-j1", TABLE)
        assert code == 0, output
        return pd.read_csv(mine / TABLE).set_index("iteration")

    def plans(path, text, jobs):
        """The edit alone, which is undone."""
        before = (mine / path).read_text()
        (mine / path).write_text(text)
        assert mine.planned(TABLE) == jobs
        (mine / path).write_text(before)

    first = made()
    learning = {"data": 1, "train_exact": 1, "table": 1}
    more = (mine / "mine.csv").read_text() + "3,3,1,1\n"
    plans("mine.csv", more, learning)
    mine.edit("conf/dataset/mine.yaml", "kind", "colour")
    assert mine.planned(TABLE) == learning
    (mine / "mine.csv").write_text(more)
    learned = made()
    assert mine.planned(TABLE) == {}  # once, and then nothing
    with np.load(mine / "data/prepared/mine.npz") as data:
        labels = np.concatenate([data["y_train"], data["y_test"]])
    assert len(labels) == 41 and set(labels) == {0, 1, 2}
    assert (learned["test_loss"] != first["test_loss"]).all()
    assert (learned["simulated_time_s"] == first["simulated_time_s"]).all()

    timing = {"table": 1}
    plans("factor", "3\n", timing)
    mine.edit("helper_there/scale.py", "1", "2")
    assert mine.planned(TABLE) == timing
    (mine / "factor").write_text("3\n")
    slower = made()
    assert mine.planned(TABLE) == {}
    assert (slower["test_loss"] == learned["test_loss"]).all()
    waited = slower["simulated_time_s"] - learned["simulated_time_s"]
    assert waited.tolist() == pytest.approx([(2 * 3 - 1) * t for t in learned.index], abs=1e-6)
