"""The preview of costs: which jobs, what they are estimated to cost, what is there already."""

from pathlib import Path

import pytest

from gcexp.command.main import main
from gcexp.report import plan as plans
from gcexp.report.figurefile import figure
from gcexp.report.plan import plan
from gcexp.report.targets import target_files
from gcexp.run import costs as rates
from gcexp.run.costs import Rate, read_rates

pytestmark = pytest.mark.paper("comm_efficient", "dynamic_clustering", "partial_recovery")

TARGET = "partial_recovery_fig4_fixed_s"


@pytest.fixture
def folder(here, monkeypatch):
    """A folder where nothing is made, with one trained figure and one analysis."""
    files = {name: target_files()[name] for name in (TARGET, "partial_recovery_table1")}
    monkeypatch.setattr(plans, "page_files", lambda published: files)


@pytest.mark.slow
def test_every_job_of_a_figure_is_counted_once(folder):
    found = plan("paper", [TARGET])
    runs = figure(TARGET, "paper").runs
    count = {job: sum(cost.job == job for cost in found) for job in dict.fromkeys(c.job for c in found)}
    assert count["training"] == len({run.trajectory_file for run in runs}) < len(runs) + 1
    assert count["table"] == count["drawing"] == count["data"] == 1 and "page" not in count
    assert all(cost.known and cost.cpu_s > 0 and cost.memory_mib > 0 for cost in found)


def test_what_is_there_costs_nothing(folder):
    before = plan("paper", [TARGET])
    made = Path(figure(TARGET, "paper").runs[0].trajectory_file)
    made.parent.mkdir(parents=True)
    made.touch()
    assert len(plan("paper", [TARGET])) == len(before) - 1
    assert len(plan("paper")) > len(before)


#: Rates that give every job another cost; a run of six workers, each of which takes two seconds for its share.
RATES = {
    ("data", "*"): Rate(1, 2, 5, 10),
    ("training", "digits_mlp"): Rate(4, 10, 7, 100, 1e3),
    ("replay", "*"): Rate(3, 1e4, 9, 0),
    ("table", "*"): Rate(6, 7, 8, 20),
    ("clock", "*"): Rate(2, 1e-2, 11, 0),
    ("drawing", "*"): Rate(8, 9, 1, 30),
}
SMALL = """
title: Mine
source: Fig. 1
kind: curves
common: {task: digits_mlp, task.evaluate_every: 2, task.verify_every: 10, delay: trace, delay.file: times.csv,
  n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: exact, scheme: cgc}
  - {label: whole, scheme: forget}
  - {label: cut off, scheme: forget, horizon: 23}
plot: {kind: lines}
"""


def test_every_job_costs_what_its_rates_say(paper, monkeypatch):
    """Two seeds: 30 iterations of an exact run and of one that visits 4 of 6 partitions, and 11.5 to a horizon."""
    (paper / "figures/one.yaml").write_text(SMALL)
    rows = "".join(f"{t},{w},2.0\n" for t in range(30) for w in range(6))
    Path("times.csv").write_text(f"iteration,worker,time\n{rows}")
    monkeypatch.setattr(rates, "read_rates", lambda: RATES)
    trained = [4 + 10 * 60 + 1e3 * (2 + 30)]
    for steps in (60, 23):
        replayed = 3 + 1e4 * (2 + steps / 10) * 4 / 6
        trained.append(4 + 10 * steps * 4 / 6 + 1e3 * (2 + steps / 2) + replayed)
    table = 6 + 7 + 3 + 1e4 * (2 + 60 / 10) + 3 * (2 + 1e-2 * 2 * 30 * 6)
    found = plan("paper")
    assert [cost.job for cost in found] == ["data", *["training"] * 3, "table", "drawing", "page"]
    assert [cost.cpu_s for cost in found] == pytest.approx([1 + 2, *trained, table, 8 + 9, 0])
    assert [cost.memory_mib for cost in found] == [5, 7, 9, 9, 11, 1, 0]
    assert [cost.disk for cost in found] == pytest.approx([10, 100 * 60, 100 * 60, 100 * 23, 20, 30, 0])
    assert [cost.known for cost in found] == [True] * 6 + [False]
    assert [cost.job for cost in plan("paper", ["paper_one"])] == [cost.job for cost in found[:-1]]


def test_the_command(folder, capsys, refused_command):
    assert main(["plan", "preset=paper", "partial_recovery"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split()[:2] == ["job", "jobs"] and "costs.csv" in text
    refused_command("'paper'", "plan", "preset=papr")
    refused_command(("'partial_recovry'", "'partial_recovery'"), "plan", "partial_recovry")
    refused_command("n=3", "plan", "n=3")
    refused_command("preset=paper", "plan", "preset=quick", "preset=paper")


def test_rates_are_positive_and_of_known_jobs():
    jobs = {"data", "clock", "training", "replay", "table", "drawing", "page"}
    for (job, _), rate in read_rates().items():
        assert job in jobs and rate.start_s >= 0 and rate.unit_s >= 0 and rate.memory_mib > 0
