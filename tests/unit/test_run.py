"""One noun for what runs: objects built once, one exactness, the same rows whoever asks for them."""

import io
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.command.main import main
from gcexp.errors import UserError
from gcexp.report.figurefile import read_figure
from gcexp.report.table import assemble
from gcexp.run.build import build
from gcexp.run.datasets import prepared_file
from gcexp.run.measurement import Measurement
from gcexp.run.run import Run
from gcexp.run.scheme import build_scheme
from gcexp.run.sweep import Sweep
from gcexp.run.trainings import FiledTrainings, HomeTrainings

CLOCK = {"n": 6, "delay": "pareto", "iterations": 4, "seeds": 2}
WORDS = ["scheme=cgc", "n=6", "s=2", "delay=pareto", "task=digits_mlp", "iterations=3", "seeds=2"]

FIGURE = """
title: A figure
source: Fig. 1
kind: KIND
common: {delay: pareto, n: 6, iterations: 4, seeds: 2 TASK}
runs:
  - {label: "{code._target_}, {s}", scheme: [cgc, forget], s: [1, 2]}
plot: {kind: lines, x: iteration, y: SCORE}
"""


@pytest.fixture
def figure(paper):
    """Makes a figure of that kind with four runs, and what its table is made of."""

    def made(kind, task=""):
        path = Path("paper/figures/target.yaml").resolve()
        score = "test_accuracy" if kind == "curves" else "iteration_time_s"
        text = FIGURE.replace("KIND", kind).replace("TASK", task).replace("SCORE", score)
        path.write_text(text + ("timings: {rows: iterations}\n" if kind == "timings" else ""))
        found = read_figure(path, "paper")
        for run in found.runs:
            if run.trains:
                prepared_file(run.dataset)
                replay = run.replay_file and Path(run.replay_file)
                measurement = Measurement(run, FiledTrainings(Path(run.trajectory_file), replay))
                _ = measurement.trajectory, replay and measurement.report
        return found

    return made


def shell(capsys, *words):
    """The table that a command prints."""
    assert main([*words, "--format", "csv"]) == 0
    return pd.read_csv(io.StringIO(capsys.readouterr().out))


def test_a_figure_a_sweep_and_a_command_give_the_same_clocks(figure, capsys):
    table, _ = assemble(figure("timings"))
    swept = gcexp.sweep({"scheme": ["cgc", "forget"], "s": [1, 2]}, rows="iterations", **CLOCK)
    columns = ["scheme", "s", "seed", "iteration", "simulated_time_s", "iteration_time_s", "heard_workers"]
    pd.testing.assert_frame_equal(table[columns], pd.DataFrame(swept)[columns], check_dtype=False)
    words = [f"{key}={value}" for key, value in CLOCK.items()]
    told = shell(capsys, "run", "-m", "scheme=cgc,forget", "s=1,2", *words)
    means = swept.groupby(["scheme", "s"], sort=False)["iteration_time_s"].mean()
    assert told["mean_iteration_time_s"].tolist() == pytest.approx(means.tolist(), rel=1e-12)


def test_a_figure_a_sweep_and_a_command_give_the_same_curves(figure, capsys):
    table, _ = assemble(figure("curves", ", task: digits_mlp"))
    swept = gcexp.sweep({"scheme": ["cgc", "forget"], "s": [1, 2]}, task="digits_mlp", **CLOCK)
    columns = ["scheme", "s", "seed", "iteration", "simulated_time_s", "test_accuracy", "test_loss"]
    pd.testing.assert_frame_equal(table[columns], pd.DataFrame(swept)[columns], check_dtype=False)
    words = [f"{key}={value}" for key, value in CLOCK.items()]
    told = shell(capsys, "run", "-m", "scheme=cgc,forget", "s=1,2", "task=digits_mlp", *words)
    last = table[table["iteration"] == 4].groupby(["scheme", "s"], sort=False)["test_loss"].median()
    assert told["final_test_loss"].tolist() == pytest.approx(last.tolist(), rel=1e-12)


def test_one_run_builds_each_object_once(here, monkeypatch):
    built = Counter()

    def counting(config, key):
        built[key] += 1
        return build(config, key)

    monkeypatch.setattr("gcexp.run.parts.build", counting)
    monkeypatch.setattr("gcexp.run.scheme.build", counting)
    assert main(["run", *WORDS, "-o", "out"]) == 0
    wanted = ("code", "wait", "task", "delay", "optimizer")
    assert {key: built[key] for key in wanted} == dict.fromkeys(wanted, 1)


def test_a_run_that_exists_can_run(here):
    for words, named in (
        (["scheme=cgcc"], "'cgc'"),
        (["n=6", "s=9"], "s=9"),
        (["iterations=0"], "iterations"),
        (["seeds=x"], "seeds"),
        (["horizon=-1"], "horizon"),
        (["delay.scale=-1"], "scale"),
        (["optimizer.learning_rate=x"], "learning_rate"),
        (["scheme=lb"], "bound"),
        (["scheme=frc", "decodes=false"], "decodes: false"),
        (["task._target_=3"], "task._target_"),
    ):
        with pytest.raises(UserError) as told:
            Run.of(words)
        assert named in str(told.value), words


def test_a_scheme_that_wrongly_declares_itself_exact_is_told_by_label_before_a_training(figure, monkeypatch):
    monkeypatch.setattr("gcexp.tasks.training.train", lambda *_, **__: pytest.fail("it trained"))
    with pytest.raises(UserError, match="scheme=forget, s=2: .*exact=false"):
        gcexp.sweep({"scheme": ["cgc", "forget"], "s": [2]}, task="digits_mlp", exact=True, **CLOCK)
    with pytest.raises(UserError, match="'gcexp.codes.uncoded.Uncoded, 1'|Uncoded, 1.*exact: false"):
        figure("curves", ", task: digits_mlp, exact: true")


def test_a_figure_file_may_say_exact(figure):
    """What the sentence about a wrong declaration recommends works where it is read."""
    found = figure("timings", ", exact: false")
    assert [run.exact for run in found.runs] == [False] * 4
    assert found.runs[0].id == "cgc+.exact@false+.n@6+.s@1/pareto/T4/seeds0-1"


def test_all_exact_runs_of_a_task_share_a_training_and_no_other_does(here):
    grid = {"scheme": ["cgc", "frc", "forget"], "s": [1, 2]}
    runs = Sweep.of([], CLOCK | {"task": "digits_mlp"}, grid, trains=True).runs
    keys = [run.training_key for run in runs]
    assert len(set(keys[:4])) == 1 and len(set(keys)) == 3
    longer = Run.of([*WORDS, "optimizer.learning_rate=0.2"])
    assert longer.training_key not in keys


def test_a_run_goes_to_another_process_without_its_parts(here):
    run = Run.of(WORDS)
    again = pickle.loads(pickle.dumps(run))
    assert "scheme" in vars(run) and "scheme" not in vars(again)
    assert again.id == run.id and (again.clock().duration == run.clock().duration).all()


def test_a_code_drawn_for_each_seed_is_that_of_the_seed(here):
    run = Run.of(["scheme=bgc", "n=8", "s=2", "delay=pareto", "iterations=3", "seeds=2-4"], trains=False)
    assert [seeds for _, seeds in run.schemes()] == [(2,), (3,), (4,)]
    for scheme, (seed,) in run.schemes():
        alone = build_scheme(run.config, seed).code
        assert np.array_equal(scheme.code.assignment, alone.assignment)
    assert run.loads()["computation_load_largest"] >= run.loads()["computation_load"]


def test_a_measurement_makes_each_step_when_it_is_asked_for(here, monkeypatch):
    asked = []
    for name in ("clock", "train", "replay"):
        original = getattr(Run, name)
        monkeypatch.setattr(
            Run, name, lambda *a, name=name, original=original, **k: asked.append(name) or original(*a, **k)
        )
    exact = Measurement(Run.of(WORDS), HomeTrainings(progress=False))
    assert exact.trajectory.steps.tolist() == [3, 3] and asked == ["train"]  # an exact one needs no clock
    assert exact.report["passed"] and exact.report["passed"]
    assert asked == ["train", "clock", "replay"]
