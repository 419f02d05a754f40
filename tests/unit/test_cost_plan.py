"""The preview of costs: which jobs, what is measured, what is estimated, what is there already."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from gcexp.command.main import main
from gcexp.figures.tables import read_table
from gcexp.report import artifact
from gcexp.report import plan as plans
from gcexp.report.figure import Figure, FigureFile
from gcexp.report.figurefile import figure
from gcexp.report.plan import ESTIMATED, MEASURED, UNKNOWN, Rate, costs, plan
from gcexp.report.published import published_table
from gcexp.report.stages import make_table
from gcexp.run.provenance import provenance_file, spent
from gcexp.run.resumed import Resumed
from gcexp.run.run import run_of_path
from gcexp.run.stages import run_timeline
from gcexp.tasks.checkpoint import Checkpoint

pytestmark = pytest.mark.paper("comm_efficient", "dynamic_clustering", "partial_recovery")

ROOT = Path(__file__).resolve().parents[2]
TARGET = "partial_recovery_fig4_fixed_s"
#: Published targets of runs whose parts were all measured when they were made.
MEASURED_TARGETS = (
    "comm_efficient_fig4_n10",
    "dynamic_clustering_fig3",
    "partial_recovery_fig4_fixed_s_timing",
)


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
    assert count["timeline"] == len({run.timeline for run in runs})
    assert count["training"] == len({run.trajectory for run in runs}) < len(runs) + 1
    assert count["replay"] == len({run.verification for run in runs if run.exact})
    assert count["table"] == count["drawing"] == count["data"] == 1 and "page" not in count
    (table,) = [cost for cost in found if cost.job == "table"]
    assert table.known == MEASURED and table.cpu_s == 0.195  # as its published provenance says
    assert {cost.known for cost in found if cost.job == "training"} == {ESTIMATED}


def test_what_is_there_costs_nothing(here):
    before = plan("paper", [TARGET])
    made = Path(figure(TARGET, "paper").runs[0].timeline)
    made.parent.mkdir(parents=True)
    made.touch()
    assert len(plan("paper", [TARGET])) == len(before) - 1
    assert len(plan("paper")) > len(before)


def test_a_training_costs_its_iterations_and_seeds(here, monkeypatch):
    monkeypatch.setattr(plans, "costs", lambda: {("training", "mnist_mlp"): Rate(5, 2, 700, 10)})
    exact = next(run for run in figure(TARGET, "paper").runs if run.exact)
    cost = plans._of_training(exact)
    assert (cost.cpu_s, cost.memory_mib, cost.disk) == (5 + 2 * 400 * 5, 700, 10 * 400 * 5)
    assert plans._of_timeline(exact).known == UNKNOWN


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
    jobs = {"data", "timeline", "training", "replay", "table", "drawing", "page"}
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


@pytest.mark.usefixtures("clone")
def test_published_costs_are_what_the_rates_say(here):
    """Of every published target whose parts were measured: within a factor of three, and all together of 1.5."""
    pairs = []
    for target, cost in artifact.read(ROOT / "reports" / "published" / "costs.json").items():
        if target in MEASURED_TARGETS:
            assert not cost.computed
            one = figure(target, "paper")
            pairs.append((cost.cpu_s, plans.rated(one, one.inputs), target))
            assert 1 / 3 < pairs[-1][0] / pairs[-1][1] < 3, pairs[-1]
    assert len(pairs) == len(MEASURED_TARGETS)
    assert 2 / 3 < sum(cost for cost, *_ in pairs) / sum(rated for _, rated, _ in pairs) < 3 / 2


def test_what_is_made_here_says_how_fast_it_is_here(here):
    """A timeline that is there took half of what its rate says: so will the others of its scheme."""

    def clocks():
        return [cost.cpu_s for cost in plan("paper", [TARGET]) if cost.option == "cyclic_partial"]

    before = clocks()
    one = next(run for run in figure(TARGET, "paper").runs if run.scheme.startswith("cyclic_partial"))
    Path(one.timeline).parent.mkdir(parents=True)
    Path(one.timeline).touch()
    provenance_file(one.timeline).write_text(json.dumps({"cpu_s": plans._of_timeline(one).cpu_s / 2}))
    assert len(before) >= 2 and clocks() == pytest.approx([cost / 2 for cost in before[1:]])


def test_a_training_that_was_interrupted_costs_what_all_its_processes_did(tmp_path):
    output = tmp_path / "run.npz"
    for record, total in (
        ({"cpu_s": 2.0}, 2.0),
        ({"cpu_s": 2.0, "cpu_s_before": 5.0}, 7.0),
        ({"cpu_s": 2.0, "cpu_s_before": None}, None),
        ({}, None),
    ):
        provenance_file(output).write_text(json.dumps(record))
        assert spent(output) == total


def test_a_table_keeps_the_cost_of_what_it_is_made_of(here):
    """So that it is known wherever the table goes without its timelines."""
    run = run_of_path({"scheme": "uncoded+.n@4", "delay": "pareto", "length": "T9", "seeds": "3"}, "uncoded")
    one = Figure("p", "clocks", "quick", FigureFile("Clocks", "test", "timings"), (run,))
    run_timeline(run.config, Path(run.timeline))
    make_table(one, Path(one.table))
    before = artifact.cost(one, one.table)
    assert before is not None and not before.computed
    provenance_file(run.timeline).unlink()
    assert artifact.cost(one, one.table) == before


def test_a_resumed_training_counts_the_time_before(tmp_path):
    with (first := Resumed(tmp_path / "run.npz", {})).held():
        assert first.load() is None and first.before == 0
        first.save({"step": np.array(1)})
    with (second := Resumed(tmp_path / "run.npz", {})).held():
        assert second.load()["step"] == 1 and 0 < second.before < time.process_time()
    with (old := Checkpoint(tmp_path / "run.npz", {})).held():
        old.save({"step": np.array(2)})
    with (third := Resumed(tmp_path / "run.npz", {})).held():
        assert third.load()["step"] == 2 and third.before is None
