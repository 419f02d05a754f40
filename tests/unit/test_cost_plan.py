"""The preview of costs: which jobs, what they are estimated to cost, what is there already."""

from pathlib import Path

import pytest

from gcexp.command.main import main
from gcexp.report import plan as plans
from gcexp.report.figurefile import figure
from gcexp.report.plan import costs, plan

pytestmark = pytest.mark.paper("comm_efficient", "dynamic_clustering", "partial_recovery")

TARGET = "partial_recovery_fig4_fixed_s"


@pytest.fixture
def folder(here, monkeypatch):
    """A folder where nothing is made, with one trained figure and one analysis."""
    names = (TARGET, "partial_recovery_table1")
    monkeypatch.setattr(plans, "figures", lambda preset, published: [figure(name, preset) for name in names])


@pytest.mark.slow
def test_every_job_of_a_figure_is_counted_once(folder):
    found = plan("paper", [TARGET])
    runs = figure(TARGET, "paper").runs
    count = {job: sum(cost.job == job for cost in found) for job in dict.fromkeys(c.job for c in found)}
    assert count["training"] == len({run.trajectory for run in runs}) < len(runs) + 1
    assert count["table"] == count["drawing"] == count["data"] == 1 and "page" not in count
    assert all(cost.known and cost.cpu_s > 0 and cost.memory_mib > 0 for cost in found)


def test_what_is_there_costs_nothing(folder):
    before = plan("paper", [TARGET])
    made = Path(figure(TARGET, "paper").runs[0].trajectory)
    made.parent.mkdir(parents=True)
    made.touch()
    assert len(plan("paper", [TARGET])) == len(before) - 1
    assert len(plan("paper")) > len(before)


def test_a_training_costs_its_iterations_and_seeds(folder):
    found = [cost.cpu_s for cost in plan("paper", [TARGET]) if cost.job == "training"]
    exact = next(run for run in figure(TARGET, "paper").runs if run.exact)
    gradients = exact.iterations * len(exact.seed_list)
    wanted = pytest.approx(costs()["training", "mnist_mlp"].unit_s * gradients, rel=0.1)
    assert any(cost == wanted for cost in found)
    assert min(found) < max(found)  # other runs end at their horizon, or visit a share of the data


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
    for (job, _), rate in costs().items():
        assert job in jobs and rate.start_s >= 0 and rate.unit_s >= 0 and rate.memory_mib > 0
