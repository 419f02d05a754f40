"""`gcexp run --mlflow`: curves while a run trains, each step once, however often it was interrupted."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from gcexp.command.main import main
from gcexp.report import mlflow_store
from gcexp.tasks.checkpoint import Checkpoint

pytestmark = pytest.mark.slow

T = 2
RUN = ["run", "scheme=forget", "n=6", "s=2", f"iterations={T}", "seeds=2", "-o", "out"]
SHORT = ["run", "scheme=uncoded", "n=2", "iterations=1", "seeds=1", "-o", "out"]


@pytest.fixture
def folder_with_pictures(tmp_path, monkeypatch, empty_store):
    """An empty folder to run in, with a store of its own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_store, tmp_path / "store.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/store.db")
    monkeypatch.setattr(
        Checkpoint, "due", property(lambda self: True)
    )  # every step is kept, and so is logged
    return tmp_path


@pytest.fixture
def folder(folder_with_pictures, monkeypatch):
    """The same, where the picture of a run is an empty file: one test alone looks at it."""

    def empty(curve, score, overrides, folder):
        for suffix in ("pdf", "png"):
            (folder / f"curve.{suffix}").touch()

    monkeypatch.setattr("gcexp.command.runs._plot", empty)
    return folder_with_pictures


def stored(folder, database="store.db"):
    """Client, and MLflow runs by seed; the parent is None."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/{database}")
    experiment = client.get_experiment_by_name("runs")
    runs = client.search_runs([experiment.experiment_id])
    return client, {run.data.tags.get("seed"): run for run in runs if run.info.status != "KILLED"}, len(runs)


def steps(client, run):
    return [metric.step for metric in client.get_metric_history(run.info.run_id, "test accuracy")]


def interrupted(monkeypatch, saves, *overrides):
    """Run until the training has kept its state so many times, and interrupt it; the MLflow runs by seed."""
    count, saved = [], Checkpoint.save

    def save(self, state):
        saved(self, state)
        count.append(1)
        if len(count) == saves:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        assert main([*RUN, *overrides, "--mlflow"]) == 130
    return json.loads(Path("out/mlflow.json").read_text())["runs"]


def test_a_run_has_its_curves_its_summary_and_where_it_came_from(folder_with_pictures, capsys):
    folder = folder_with_pictures
    assert main([*RUN, "--mlflow"]) == 0
    assert "experiment runs at sqlite:///" in capsys.readouterr().out
    client, runs, _ = stored(folder)
    assert set(runs) == {None, "0", "1"}
    parent = runs[None]
    for seed, run in runs.items():
        assert run.info.status == "FINISHED"
        assert run.data.params["n"] == "6" and run.data.tags["delay"] == "pareto"
        assert run.data.tags["mlflow.source.name"].startswith("gcexp run scheme=forget")
        assert run.data.tags["mlflow.user"]
        (data,) = run.inputs.dataset_inputs
        record = json.loads(Path("data/prepared/digits.json").read_text())
        assert data.dataset.name == "digits" and record["sha256"].startswith(data.dataset.digest)
        assert json.loads(data.dataset.profile)["sha256"] == record["sha256"]
        if seed is not None:
            assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
            assert steps(client, run) == [*range(T + 1)]
    with np.load("out/timeline.npz") as timeline:
        clock = np.pad(np.cumsum(timeline["duration"][1]), (1, 0))
    history = client.get_metric_history(runs["1"].info.run_id, "test accuracy")
    stamps = [metric.timestamp - runs["1"].info.start_time for metric in history]
    assert stamps == pytest.approx(1000 * clock, abs=0.5)
    assert {
        "number of seeds",
        "final test accuracy",
        "computation load",
        "decoded error",
    } <= parent.data.metrics.keys()
    assert {"curve.csv", "curve.png"} <= {file.path for file in client.list_artifacts(parent.info.run_id)}


def test_a_resumed_run_continues_its_own(folder, monkeypatch):
    begun = interrupted(monkeypatch, T + 3)  # while the second seed is trained
    client, *_ = stored(folder)
    assert {client.get_run(run_id).info.status for run_id in begun.values()} == {"KILLED"}
    done = len(client.get_metric_history(begun["0"], "test accuracy"))
    assert 0 < done <= T + 1
    for _ in range(2):  # what is finished stays as it is
        assert main([*RUN, "--mlflow"]) == 0
        client, runs, count = stored(folder)
        assert {str(seed or "parent"): run.info.run_id for seed, run in runs.items()} == begun and count == 3
        assert steps(client, runs["0"]) == steps(client, runs["1"]) == [*range(T + 1)]


def test_another_training_in_the_folder_is_another_run(folder, monkeypatch):
    first = interrupted(monkeypatch, 2)
    client, *_ = stored(folder)
    for run_id in first.values():
        client.update_run(run_id, status="RUNNING")  # as a kill -9 leaves it
    second = interrupted(monkeypatch, 2, "optimizer.learning_rate=0.1")
    assert not {*first.values()} & {*second.values()}
    assert {client.get_run(run_id).info.status for run_id in first.values()} == {"KILLED"}
    # It starts over, and is not mixed with what was logged of it.
    for state in Path("results/checkpoints").rglob("*.npz"):
        state.unlink()
    assert main([*RUN, "optimizer.learning_rate=0.1", "--mlflow"]) == 0
    client, runs, count = stored(folder)
    assert count == 9 and steps(client, runs["0"]) == [*range(T + 1)]


def test_a_store_that_fails_while_a_run_trains_stops_nothing(folder, monkeypatch, capsys):
    calls = []

    def log(*arguments, written=mlflow_store.Store.log, **more):
        from mlflow.exceptions import MlflowException

        calls.append(1)
        if 4 <= len(calls) <= 7:
            raise MlflowException("no answer")
        written(*arguments, **more)

    monkeypatch.setattr(mlflow_store.Store, "log", log)
    assert main([*RUN, "--mlflow"]) == 0
    assert capsys.readouterr().err.count("training goes on") == 1
    client, runs, _ = stored(folder)
    assert steps(client, runs["0"]) == steps(client, runs["1"]) == [*range(T + 1)]


def test_the_uri_may_stand_among_the_overrides(folder, refused_command):
    shutil.copy("store.db", "other.db")
    assert main([*SHORT, f"tracking_uri=sqlite:///{folder}/other.db"]) == 0
    assert stored(folder, "other.db")[1].keys() == {None, "0"}
    refused_command("tracking_uri", *RUN, "tracking_uri=a", "tracking_uri=b")
    refused_command("--mlflow", "run", "-m", "scheme=cgc,frc", "--mlflow")
    refused_command("./mlruns", *RUN, "tracking_uri=./mlruns")  # before anything is said of the run


def test_without_the_flag_nothing_is_logged(folder, monkeypatch):
    monkeypatch.setattr(mlflow_store, "Store", lambda uri: pytest.fail(f"connected to {uri}"))
    assert main(SHORT) == 0
    assert not Path("out/mlflow.json").exists()
