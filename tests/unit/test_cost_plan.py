"""The preview of costs: which jobs, what is measured, what is estimated, what is there already."""

from pathlib import Path

import pytest

from gcexp.command.main import main
from gcexp.figures.tables import read_table
from gcexp.report import plan as plans
from gcexp.report.figurefile import figure
from gcexp.report.plan import ESTIMATED, UNKNOWN, Rate, costs, plan
from gcexp.report.published import published_table

pytestmark = pytest.mark.paper("comm_efficient", "dynamic_clustering", "partial_recovery")

ROOT = Path(__file__).resolve().parents[2]
TARGET = "partial_recovery_fig4_fixed_s"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder where nothing is made, with one trained figure and one analysis."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCEXP_CONF", str(ROOT / "conf"))
    names = (TARGET, "partial_recovery_table1")
    monkeypatch.setattr(plans, "figures", lambda preset, published: [figure(name, preset) for name in names])
    return tmp_path


@pytest.mark.slow
def test_every_job_of_a_figure_is_counted_once(here):
    found = plan("paper", [TARGET])
    runs = figure(TARGET, "paper").runs
    count = {job: sum(cost.job == job for cost in found) for job in dict.fromkeys(c.job for c in found)}
    assert count["training"] == len({run.trajectory for run in runs}) < len(runs) + 1
    assert count["table"] == count["drawing"] == count["data"] == 1 and "page" not in count
    (table,) = [cost for cost in found if cost.job == "table"]
    clocks = sum(plans._of_clock(run).cpu_s for run in runs)
    replays = sum(plans._of_replay(run).cpu_s for run in runs if run.exact)
    assert table.known == ESTIMATED and table.cpu_s == pytest.approx(1 + clocks + replays)
    assert {cost.known for cost in found if cost.job == "training"} == {ESTIMATED}


def test_what_is_there_costs_nothing(here):
    before = plan("paper", [TARGET])
    made = Path(figure(TARGET, "paper").runs[0].trajectory)
    made.parent.mkdir(parents=True)
    made.touch()
    assert len(plan("paper", [TARGET])) == len(before) - 1
    assert len(plan("paper")) > len(before)


def test_a_training_costs_its_iterations_and_seeds(here, monkeypatch):
    monkeypatch.setattr(plans, "costs", lambda: {("training", "mnist_mlp"): Rate(5, 2, 700, 10)})
    exact = next(run for run in figure(TARGET, "paper").runs if run.exact)
    cost = plans._of_training(exact)
    assert (cost.cpu_s, cost.memory_mib, cost.disk) == (5 + 2 * 400 * 5, 700, 10 * 400 * 5)
    assert plans._of_clock(exact).known == UNKNOWN


def test_the_command(here, capsys):
    assert main(["plan", "preset=paper", "partial_recovery"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split()[:2] == ["job", "jobs"] and "is measured on these jobs" in text
    for arguments, words in (
        (["preset=papr"], "did you mean 'paper'?"),
        (["partial_recovry"], "unknown target 'partial_recovry'; did you mean 'partial_recovery'?"),
        (["n=3"], "one preset=NAME and names of targets are taken, got n=3"),
        (["preset=quick", "preset=paper"], "got preset=paper"),
    ):
        assert main(["plan", *arguments]) == 2
        assert words in capsys.readouterr().err


def test_rates_are_positive_and_of_known_jobs():
    jobs = {"data", "clock", "training", "replay", "table", "drawing", "page"}
    for (job, _), rate in costs().items():
        assert job in jobs and rate.start_s >= 0 and rate.unit_s >= 0 and rate.memory_mib > 0


def test_a_run_that_ends_at_its_horizon_learns_less(here):
    """Iterations and shares of the data are those of the published run, which was played to its end."""
    published = read_table(published_table(figure(TARGET, "paper")))
    steps = published.groupby(["run", "seed"])["iteration"].max().groupby("run").sum()
    for run in figure(TARGET, "paper").runs:
        found, share = plans._learned(run)
        if run.exact:
            assert (found, share) == (run.iterations * 5, 1)
        else:
            assert found == pytest.approx(steps[run.id], rel=0.1)
            assert found < run.iterations * len(run.seed_list)
        if run.label == "Forget-19":
            assert share == pytest.approx(11 / 30)
