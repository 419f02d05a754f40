"""Import into MLflow: what a run carries, once and completely, or a sentence."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from gcexp.errors import UserError
from gcexp.report.figurefile import Figure, FigureFile
from gcexp.report.tracking import DIGEST, params_of, track
from gcexp.run.provenance import provenance_file
from gcexp.run.run import run_of_path
from gcexp.run.stages import run_timeline
from gcexp.tasks.training import Trajectory

T, SEEDS = 12, (0, 1)
TRAINED = {
    "task": "digits_mlp",
    "optimizer": "gradient_descent",
    "delay": "pareto",
    "seeds": "0-1",
    "length": f"T{T}",
}
CGC = run_of_path({"scheme": "cgc+.n@6+.s@2", **TRAINED}, "CGC")
FORGET = run_of_path({"scheme": "forget+.n@6+.s@2", **TRAINED}, "Forget-2")
LONG = run_of_path({"scheme": "uncoded+.n@4", "delay": "pareto", "length": "T600", "seeds": "3"}, "uncoded")


def figure(*runs, name="fig1", paper="partial_recovery"):
    return Figure(paper, name, "quick", FigureFile(name, "test", "curves"), runs)


def fake_training(run, offset=0.0):
    """Trajectory and verification of a run, nothing trained."""
    evaluated = np.arange(0, T + 1, 3)
    accuracy = offset + np.linspace([0.1, 0.2], [0.8, 0.9], len(evaluated), axis=1)
    scores = {"test_accuracy": accuracy, "test_loss": 1 - accuracy}
    steps, parameters = np.full(2, T), np.zeros((2, 1, 3), dtype=np.float32)
    Trajectory(np.array(SEEDS), steps, evaluated, scores, np.array([0]), parameters, np.zeros(2, int)).save(
        run.trajectory
    )
    record = {"commit": "c0ffee", "dirty": True, "wall_s": 5.0}
    provenance_file(run.trajectory).write_text(json.dumps(record))
    checks = [
        {
            "seed": seed,
            "iteration": t,
            "skipped": t == 6,
            "decoded_error": (seed + 1) * 1e-15,
            "weighted_error": 2e-15,
        }
        for seed in SEEDS
        for t in (0, 6)
    ]
    Path(run.verification).parent.mkdir(parents=True, exist_ok=True)
    Path(run.verification).write_text(json.dumps({"decoded_error": 2e-15, "checks": checks}))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder with three finished runs, of which two were imported to where MLflow keeps them by default."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setattr("gcexp.report.tracking._METRICS_PER_CALL", 10)  # so that each run takes several calls
        for run in (CGC, FORGET, LONG):
            run_timeline(run.config, Path(run.timeline))
        fake_training(CGC)
        fake_training(FORGET)
        track([figure(CGC), figure(CGC, LONG, name="fig2")], Path("results/mlflow/quick.imported"), None)
    return folder


@pytest.fixture
def project(finished, tmp_path, monkeypatch):
    """Copy of that folder to change, and the way to import from it."""
    copy = shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(copy)

    def importing(*figures):
        track(
            list(figures), Path("results/mlflow/quick.imported"), f"sqlite:///{copy}/results/mlflow/mlflow.db"
        )
        return marker()

    return importing


def marker():
    return json.loads(Path("results/mlflow/quick.imported").read_text())


def stored(paper="partial_recovery", uri=None, deleted=False):
    """Client, and runs by label and seed; a database is opened by its full path, since MLflow keeps it open."""
    from mlflow import MlflowClient
    from mlflow.entities import ViewType

    client = MlflowClient(uri or f"sqlite:///{os.getcwd()}/results/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name(paper)
    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    runs = client.search_runs([experiment.experiment_id], run_view_type=view)
    found = {(run.data.tags["label"], int(run.data.tags["seed"])): run for run in runs}
    assert len(found) == len(runs), "a run and seed stands twice"
    return client, found


def test_the_default_database_keeps_everything_in_results_mlflow(project, finished):
    client, runs = stored()
    assert sorted(runs) == [("CGC", 0), ("CGC", 1), ("uncoded", 3)]
    experiment = client.get_experiment_by_name("partial_recovery")
    assert experiment.artifact_location == (finished / "results/mlflow/artifacts/partial_recovery").as_uri()
    assert not Path("mlruns").exists()
    found = marker()
    assert (
        found["uri"] == "sqlite:///results/mlflow/mlflow.db"
        and found["already_there"] == found["unfinished"] == []
    )
    assert found["imported"][0] == {"experiment": "partial_recovery", "run": CGC.id, "seed": 0}
    assert len(found["imported"]) == 3


def test_names_tags_and_params(project):
    _, runs = stored()
    run = runs["CGC", 1]
    assert run.info.run_name == "CGC, seed 1" and run.info.status == "FINISHED"
    expected = {
        "run": CGC.id,
        "seed": "1",
        "label": "CGC",
        "figures": "partial_recovery_fig1,partial_recovery_fig2",
        "scheme": "cgc",
        "delay": "pareto",
        "task": "digits_mlp",
        "optimizer": "gradient_descent",
        "exact": "true",
        "commit": "c0ffee",
        "dirty": "true",
    }
    assert expected.items() <= run.data.tags.items()
    assert run.data.params["n"] == "6" and run.data.params["code._target_"].startswith("gcexp.codes.")
    assert run.data.params == dict(params_of(CGC.config))
    assert "task" not in runs["uncoded", 3].data.tags


def test_times_are_those_of_the_files(project):
    _, runs = stored()
    info = runs["CGC", 0].info
    newest = max(Path(path).stat().st_mtime for path in CGC.inputs)
    assert info.end_time == int(newest * 1000)
    assert 5000 <= info.end_time - info.start_time < 60_000  # 5 s of training and what the timeline took


def test_curves_have_the_iteration_as_step_and_the_clock_beside_them(project):
    client, runs = stored()
    run = runs["CGC", 1]

    def history(name):
        return {m.step: m.value for m in client.get_metric_history(run.info.run_id, name)}

    with np.load(CGC.timeline) as timeline:
        clock, mean = np.cumsum(timeline["duration"][1]), timeline["duration"][1].mean()
    assert history("test_accuracy") == pytest.approx(
        dict(zip(range(0, T + 1, 3), np.linspace(0.2, 0.9, 5), strict=True))
    )
    assert history("simulated_time_s") == pytest.approx(dict(enumerate([0.0, *clock])))
    assert history("recovered_fraction") == {t: 1.0 for t in range(1, T + 1)}
    assert run.data.metrics["test_loss"] == pytest.approx(0.1)
    assert run.data.metrics["mean_iteration_time_s"] == pytest.approx(mean)
    assert run.data.metrics["mean_recovered_fraction"] == 1.0
    assert (
        run.data.metrics["decoded_error"] == 2e-15 and runs["CGC", 0].data.metrics["decoded_error"] == 1e-15
    )
    assert run.data.metrics["weighted_error"] == 2e-15


def test_a_clock_without_a_task_has_statistics_only(project):
    client, runs = stored()
    run = runs["uncoded", 3]
    assert set(run.data.metrics) == {"mean_iteration_time_s", "mean_recovered_fraction"}
    assert client.get_metric_history(run.info.run_id, "simulated_time_s") == []


def test_a_second_import_adds_nothing(project):
    _, before = stored()
    found = project(figure(CGC), figure(CGC, LONG, name="fig2"))
    assert found["imported"] == [] and len(found["already_there"]) == 3
    _, after = stored()
    assert {key: run.info.run_id for key, run in after.items()} == {
        key: run.info.run_id for key, run in before.items()
    }
    assert after["CGC", 0].data.tags == before["CGC", 0].data.tags


def test_a_changed_result_replaces_the_old_one(project):
    _, before = stored()
    fake_training(CGC, offset=0.05)
    found = project(figure(CGC), figure(CGC, LONG, name="fig2"))
    assert [entry["seed"] for entry in found["imported"]] == [0, 1] and len(found["already_there"]) == 1
    _, after = stored()
    assert sorted(after) == sorted(before)
    assert after["CGC", 1].data.metrics["test_accuracy"] == pytest.approx(0.95)
    assert after["uncoded", 3].info.run_id == before["uncoded", 3].info.run_id
    assert len(stored(deleted=True)[1]) == 2


def test_a_new_label_or_figure_is_written_to_the_run_that_is_there(project):
    _, before = stored()
    renamed = run_of_path({"scheme": "cgc+.n@6+.s@2", **TRAINED}, "CGC, β = 6")
    found = project(figure(renamed, name="fig3"))
    assert found["imported"] == []
    _, after = stored()
    run = after["CGC, β = 6", 0]
    assert run.info.run_id == before["CGC", 0].info.run_id and run.info.run_name == "CGC, β = 6, seed 0"
    assert run.data.tags["figures"].split(",") == [f"partial_recovery_fig{i}" for i in (1, 2, 3)]


@pytest.mark.parametrize("method", ["log_batch", "set_terminated", "set_tag"])
def test_an_interrupted_import_is_finished_by_the_next(project, monkeypatch, method):
    from mlflow import MlflowClient

    calls, original = [], getattr(MlflowClient, method)

    def interrupted(*arguments, **more):
        calls.append(method)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    Path("results/mlflow/quick.imported").unlink()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(MlflowClient, method, interrupted)
        project(figure(CGC, FORGET))
    assert not Path("results/mlflow/quick.imported").exists()
    found = project(figure(CGC, FORGET))
    assert len(found["imported"]) + len(found["already_there"]) == 4 and found["imported"]
    _, runs = stored()
    for seed in SEEDS:
        assert runs["Forget-2", seed].info.status == "FINISHED"
        assert len(runs["Forget-2", seed].data.tags[DIGEST]) == 64
        assert {"test_accuracy", "recovered_fraction", "decoded_error"} <= runs[
            "Forget-2", seed
        ].data.metrics.keys()


def test_a_run_of_two_papers_stands_in_both_experiments(project):
    project(figure(CGC, paper="adaptive"))
    assert sorted(stored("adaptive")[1]) == [("CGC", 0), ("CGC", 1)]


def test_what_is_not_finished_is_listed_and_imported_later(project):
    saved = Path(FORGET.verification).read_text()
    Path(FORGET.verification).unlink()
    found = project(figure(CGC, FORGET))
    assert found["unfinished"] == [{"experiment": "partial_recovery", "run": FORGET.id}]
    with pytest.raises(UserError, match="no run is finished"):
        project(figure(FORGET))
    Path(FORGET.verification).write_text(saved)
    assert len(project(figure(CGC, FORGET))["imported"]) == 2


def test_figures_without_runs_leave_an_empty_list(project):
    assert project(figure())["imported"] == []


def test_the_environment_names_the_store_and_nothing_is_noisy(project, tmp_path, monkeypatch, capfd):
    uri = f"sqlite:///{tmp_path}/new/other.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    track([figure(CGC)], Path("results/mlflow/paper.imported"), None)
    assert sorted(stored(uri=uri)[1]) == [("CGC", 0), ("CGC", 1)]
    out, err = capfd.readouterr()
    assert err == "" and out.count("\n") == 1 and "2 runs imported" in out


def test_a_deleted_experiment_is_not_quietly_filled(project):
    client, _ = stored()
    experiment = client.get_experiment_by_name("partial_recovery")
    client.delete_experiment(experiment.experiment_id)
    with pytest.raises(UserError, match=f"was deleted in MLflow.*restore -x {experiment.experiment_id}"):
        project(figure(CGC))


@pytest.mark.parametrize(
    "uri, words",
    [
        ("./mlruns", "MLflow cannot use the tracking URI ./mlruns"),
        ("sqlite:///:memory:", "names no file"),
        ("http://127.0.0.1:9", "Connection refused"),
        ("http://user:secret@127.0.0.1:9", "Connection refused"),
        ("postgresql+nodriver://user:secret@localhost/db", "postgresql"),
        ("sqlite:///damaged.db", "file is not a database"),
        ("sqlite:////proc/none/mlflow.db", "/proc/none: cannot be written"),
    ],
)
def test_a_useless_uri_is_one_sentence(project, monkeypatch, uri, words):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Path("damaged.db").write_text("not a database" * 100)
    before = dict(os.environ)
    with pytest.raises(UserError) as caught:
        track([figure(CGC)], Path("results/new.imported"), uri)
    sentence = str(caught.value)
    assert words in sentence and "\n" not in sentence and "secret" not in sentence and len(sentence) < 500
    assert not Path("results/new.imported").exists()
    assert {key: os.environ.get(key) for key in before} == before
