"""Import into MLflow: what a run carries, once and completely, or a sentence."""

import getpass
import hashlib
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gcexp.command.init import init
from gcexp.command.main import main
from gcexp.errors import UserError
from gcexp.report import imported, tracking
from gcexp.report.figure import Figure, FigureFile
from gcexp.report.figurechecks import _check_labels
from gcexp.report.figurefile import named_figures
from gcexp.report.jobs import make_table
from gcexp.report.mlflow_store import Store, inputs_of
from gcexp.report.tracking import DIGEST, track
from gcexp.run import records
from gcexp.run.provenance import provenance_file
from gcexp.run.run import run_of_path
from gcexp.tasks.training import Trajectory

pytestmark = pytest.mark.slow

T, SEEDS = 12, (0, 1)
TRAINED = {"task": "digits_mlp", "optimizer": "gradient_descent", "delay": "pareto", "seeds": "0-1"}
DIGITS = {"dataset": "digits", "sha256": "cd" * 32, "shapes": {"x_train": [3, 2]}}
CGC = run_of_path({"scheme": "cgc+.n@6+.s@2", "length": f"T{T}", **TRAINED}, "CGC")
FORGET = run_of_path({"scheme": "forget+.n@6+.s@2", "length": f"T{T}", **TRAINED}, "Forget-2")
LONG = run_of_path({"scheme": "uncoded+.n@4", "delay": "pareto", "length": "T600", "seeds": "3"}, "uncoded")
TIMINGS = FigureFile("one", "test", "timings")
MARKER = Path("results/mlflow/quick.imported")


def figure(*runs, name="fig1", paper="partial_recovery", level=0.75):
    """A figure of some runs, with its table where they are finished."""
    kind = "curves" if runs and runs[0].trains else "timings"
    made = Figure(paper, name, "quick", FigureFile(name, "test", kind, level=level), runs)
    if runs and all(Path(path).is_file() for path in made.inputs):
        make_table(made, Path(made.table))
    return made


def fake_training(run, offset=0.0):
    """Trajectory and verification of a run, nothing trained."""
    evaluated = np.arange(0, T + 1, 3)
    accuracy = offset + np.linspace([0.1, 0.2], [0.8, 0.9], len(evaluated), axis=1)
    scores = {"test_accuracy": accuracy, "test_loss": 1 - accuracy}
    steps, parameters = np.full(2, T), np.zeros((2, 1, 3), dtype=np.float32)
    found = (
        np.array(SEEDS),
        steps,
        evaluated,
        scores,
        np.array([0]),
        parameters,
        parameters,
        {},
        {},
        np.zeros(2, int),
    )
    Trajectory(*found).save(run.trajectory_file)
    package = {"version": "0.1.0", "commit": "c0ffee", "dirty": True, "sha256": "ab" * 32}
    record = {
        "commit": "c0ffee",
        "dirty": True,
        "wall_s": 5.0,
        "data": DIGITS,
        "packages": {"gcexp": package},
    }
    provenance_file(run.trajectory_file).write_text(json.dumps(record))
    checks = [
        {"seed": seed, "iteration": t, "skipped": t == 6, "decoded_error": (seed + 1) * 1e-15}
        for seed in SEEDS
        for t in (0, 6)
    ]
    checks = [check | {"weighted_error": 2e-15} for check in checks]
    if not run.exact:
        Path(run.replay_file).write_text(json.dumps({"decoded_error": 2e-15, "checks": checks}))
    return {"checks": checks, "passed": True}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, empty_store):
    """Folder with three finished runs, of which two were imported to where MLflow keeps them by default."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "results/mlflow").mkdir(parents=True)
    shutil.copy(empty_store, folder / "results/mlflow/mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        fake_training(FORGET)
        found = fake_training(CGC)
        patch.setattr("gcexp.run.run.Run.replay", lambda *_: found)
        track([figure(CGC), figure(LONG, name="fig2")], MARKER, None)
    return folder


@pytest.fixture
def looked_at(finished, monkeypatch):
    """That folder itself, only to be looked at."""
    monkeypatch.chdir(finished)


@pytest.fixture
def project(finished, tmp_path, monkeypatch):
    """Copy of that folder to change, and the way to import from it."""
    copy = shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(copy)
    monkeypatch.setattr("gcexp.run.run.Run.replay", lambda *_: fake_training(CGC))

    def importing(*figures):
        track(list(figures), MARKER, f"sqlite:///{copy}/results/mlflow/mlflow.db")
        return json.loads(MARKER.read_text())

    return importing


def stored(paper="partial_recovery", uri=None, deleted=False):
    """Client, and runs by figure, label and seed (None: the parent); a database is opened by its full path."""
    from mlflow import MlflowClient
    from mlflow.entities import ViewType

    client = MlflowClient(uri or f"sqlite:///{os.getcwd()}/results/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name(paper)
    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    runs = client.search_runs([experiment.experiment_id], run_view_type=view)
    runs = [run for run in runs if run.data.tags["kind"] != "figure"]

    def name(run):
        tags = run.data.tags
        return tags["figure"].rpartition("_")[2], tags["label"], int(tags["seed"]) if "seed" in tags else None

    found = {name(run): run for run in runs}
    assert len(found) == len(runs), "a run and seed stands twice"
    return client, found


FAMILY = [("fig1", "CGC", None), ("fig1", "CGC", 0), ("fig1", "CGC", 1)]
CLOCK = ("fig2", "uncoded", None)


def ids(runs):
    return {name: run.info.run_id for name, run in runs.items()}


def test_the_default_database_keeps_everything_in_results_mlflow(looked_at, finished):
    client, runs = stored()
    assert set(runs) == {*FAMILY, CLOCK}
    experiment = client.get_experiment_by_name("partial_recovery")
    assert experiment.artifact_location == (finished / "results/mlflow/artifacts/partial_recovery").as_uri()
    assert not (finished / "mlruns").exists()
    found = json.loads(MARKER.read_text())
    assert found["uri"] == "sqlite:///results/mlflow/mlflow.db"
    assert found["already_there"] == found["unfinished"] == []
    assert found["imported"] == ["partial_recovery_fig1", "partial_recovery_fig2"]


def test_a_run_says_what_it_is_who_made_it_how_and_from_what(looked_at):
    _, runs = stored()
    expected = {
        "paper": "partial_recovery",
        "figure": "partial_recovery_fig1",
        "preset": "quick",
        "run": CGC.id,
    }
    expected |= {"label": "CGC", "scheme": "cgc", "delay": "pareto", "task": "digits_mlp"}
    expected |= {"optimizer": "gradient_descent", "exact": "true", "dirty": "true"}
    expected["mlflow.user"] = getpass.getuser()
    expected["mlflow.source.name"] = "snakemake partial_recovery_fig1 --config preset=quick"
    made = json.loads(provenance_file("reports/quick/data/partial_recovery_fig1.csv").read_text())
    parent = runs[FAMILY[0]].info.run_id
    for name in FAMILY:
        run, seed = runs[name], name[2]
        of_seed = {"kind": "seed", "seed": str(seed), "mlflow.parentRunId": parent}
        more = {"kind": "scheme"} if seed is None else of_seed
        assert (run.info.status, run.info.run_name) == (
            "FINISHED",
            "CGC" if seed is None else f"CGC, seed {seed}",
        )
        assert (expected | more).items() <= run.data.tags.items()
        assert run.data.tags.get("mlflow.source.git.commit") == made["commit"]
        assert "c0ffee" in run.data.tags["commit"].split(",")
        assert run.data.params == {}, "nothing differs in a figure of one scheme"
        (data,) = run.inputs.dataset_inputs
        assert (data.dataset.name, data.dataset.digest) == ("digits", ("cd" * 32)[:36])
        assert json.loads(data.dataset.profile)["sha256"] == "cd" * 32
        assert {tag.key: tag.value for tag in data.tags} == {"mlflow.data.context": "training"}
    assert "task" not in runs[CLOCK].data.tags and not runs[CLOCK].inputs.dataset_inputs


def test_a_replayed_trace_is_an_input(tmp_path):
    trace = tmp_path / "times.csv"
    trace.write_text("iteration,worker,time\n0,0,1.0\n")
    (one,) = inputs_of({"delay": {"_target_": "gcexp.delays.Trace", "file": str(trace)}}, None)
    digest = hashlib.sha256(trace.read_bytes()).hexdigest()
    assert (one.dataset.name, one.dataset.digest) == ("times", digest[:36])
    assert json.loads(one.dataset.profile)["sha256"] == digest
    assert [tag.value for tag in one.tags] == ["delays"]
    assert inputs_of({"delay": {"_target_": "gcexp.delays.Pareto", "file": "none"}}, None) == []


def test_the_example_of_the_page_ranks_within_one_figure(project, capsys):
    project(figure(CGC, FORGET))
    page = (Path(__file__).resolve().parents[2] / "docs/mlflow.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    shown = example.replace("fig4_fixed_s", "fig1").replace("time to 0.9", "time to 0.75")
    exec(shown.replace("sqlite:///", f"sqlite:///{Path.cwd()}/"), {})
    out = capsys.readouterr().out
    assert "CGC" in out and "Forget-2" in out and "0.75" in out and "uncoded" not in out


def test_a_parent_answers_which_scheme_is_fastest(looked_at):
    client, runs = stored()
    found = runs[FAMILY[0]].data.metrics
    clock = np.cumsum(CGC.clock().duration, axis=1)
    # seed 0 passes 0.75 with its last score, of iteration 12, seed 1 with that of iteration 12 or 9
    reached = [np.linspace(low, high, 5) >= 0.75 for low, high in ((0.1, 0.8), (0.2, 0.9))]
    times = [clock[seed, 3 * row.argmax() - 1] for seed, row in enumerate(reached)]
    assert found["time to 0.75 in s"] == pytest.approx(np.median(times))
    assert found["seeds reached"] == found["number of seeds"] == 2
    assert found["final test accuracy"] == pytest.approx(0.85)
    assert found["mean iteration time in s"] == pytest.approx(clock[:, -1].mean() / T)
    assert found["computation load"] == pytest.approx(3 / 6) and found["communication load"] == 1
    artifacts = [item.path for item in client.list_artifacts(runs[FAMILY[0]].info.run_id)]
    assert "partial_recovery_fig1.csv" in artifacts


def test_relative_time_is_the_simulated_clock(looked_at):
    client, runs = stored()
    run = runs[FAMILY[2]]
    made = Path("reports/quick/data/partial_recovery_fig1.csv").stat().st_mtime
    assert run.info.start_time == int(1000 * made)
    clock = np.pad(np.cumsum(CGC.clock().duration[1]), (1, 0))
    for name in ("test accuracy", "simulated time in s"):
        history = client.get_metric_history(run.info.run_id, name)
        assert [metric.step for metric in history] == list(range(0, T + 1, 3))
        stamps = [metric.timestamp - run.info.start_time for metric in history]
        assert stamps == pytest.approx([1000 * clock[t] for t in range(0, T + 1, 3)], abs=0.5)
    assert run.data.metrics["test loss"] == pytest.approx(0.1)
    assert run.data.metrics["decoded error"] == 2e-15 and run.data.metrics["weighted error"] == 2e-15
    assert runs[FAMILY[1]].data.metrics["decoded error"] == 1e-15
    metrics = runs[CLOCK].data.metrics  # a clock without a task has statistics alone
    assert {"mean iteration time in s", "mean recovered fraction", "computation load"} <= {*metrics}
    assert "simulated time in s" not in metrics


def test_a_second_import_adds_nothing(project):
    """Not of a run at several places either: sweeps show a scheme without what is swept at every place."""
    places = [replace(LONG, columns=(("p", p),)) for p in (0.1, 0.2, 0.3)]
    figures = [figure(CGC), figure(LONG, name="fig2"), figure(*places, name="sweeps")]
    assert project(*figures)["imported"] == ["partial_recovery_sweeps"]
    _, before = stored()
    found = project(*figures)
    assert found["imported"] == [] and len(found["already_there"]) == 3
    _, after = stored()
    assert ids(after) == ids(before) and not stored(deleted=True)[1]
    assert after[FAMILY[0]].data.tags == before[FAMILY[0]].data.tags


def test_a_changed_result_brings_its_run_up_to_date(project):
    client, before = stored()
    parent = before[FAMILY[0]].info.run_id
    client.set_tag(parent, "mlflow.note.content", "the run of the talk")
    fake_training(CGC, offset=0.05)
    found = project(figure(CGC), figure(LONG, name="fig2"))
    assert len(found["imported"]) == len(found["already_there"]) == 1
    _, after = stored()
    assert set(after) == set(before)
    assert after[FAMILY[2]].data.metrics["test accuracy"] == pytest.approx(0.95)
    assert after[CLOCK].info.run_id == before[CLOCK].info.run_id
    assert after[FAMILY[0]].info.run_id == parent
    assert after[FAMILY[0]].data.tags["mlflow.note.content"] == "the run of the talk"
    assert after[FAMILY[0]].data.metrics["final test accuracy"] == pytest.approx(0.9)
    assert set(stored(deleted=True)[1]) == set(FAMILY[1:])


NOTE = "mlflow.note.content"


def annotated(client, runs, *names):
    """Notes and tags of a person at some runs."""
    for name in names:
        client.set_tag(runs[name].info.run_id, NOTE, f"note of {name[1:]}")
        client.set_tag(runs[name].info.run_id, "talk", "May")


def assert_annotated(runs, *names):
    for name, before in names:
        tags = runs[name].data.tags
        assert (tags[NOTE], tags["talk"]) == (f"note of {before[1:]}", "May")


def test_notes_and_tags_stay_when_settings_change(project, capsys):
    """Of the scheme and of its seeds, where MLflow can bring the run up to date and where it cannot."""
    project(figure(CGC, FORGET))
    client, before = stored()
    annotated(client, before, *FAMILY)
    client.update_run(before[FAMILY[0]].info.run_id, name="the one of the talk")
    for s in (3, 4):
        scheme = {"scheme": f"cgc+.n@6+.s@{s}", "length": f"T{T}", **TRAINED}
        changed = run_of_path(scheme, "CGC")
        fake_training(changed)
        capsys.readouterr()
        project(figure(changed, FORGET))
        said = capsys.readouterr().out
        assert "'CGC'" in said and f"s@{s}" in said and "'Forget-2'" not in said
        _, after = stored()
        assert_annotated(after, *zip(FAMILY, FAMILY, strict=True))
        assert {name for name in after if name[0] == "fig1"} == {name for name in before if name[0] == "fig1"}
        assert after[FAMILY[0]].data.tags["run"] == changed.id
        assert after[FAMILY[0]].info.run_name == "the one of the talk"
        assert after[FAMILY[0]].data.params["scheme"] == "cgc"


def test_a_database_of_an_older_version_is_taken_over_once(project, monkeypatch, capsys):
    """Its runs had every value of the config as a param, no name, and other names of metrics."""
    client, runs = stored()
    parent = runs[FAMILY[0]].info.run_id
    client.log_param(parent, "code.d", "3")
    client.log_metric(parent, "time_to_0.75", 1.0)
    annotated(client, runs, *FAMILY)
    for name in FAMILY:
        client.delete_tag(runs[name].info.run_id, tracking.NAME)
    for name in (FAMILY[0], CLOCK):
        client.set_tag(runs[name].info.run_id, DIGEST, "that of another version")
    capsys.readouterr()
    assert len(project(figure(CGC), figure(LONG, name="fig2"))["imported"]) == 2
    assert "changed" not in capsys.readouterr().out
    client, after = stored()
    assert set(after) == {*FAMILY, CLOCK}
    assert_annotated(after, *zip(FAMILY, FAMILY, strict=True))
    assert after[FAMILY[0]].data.params == {} and "time_to_0.75" not in after[FAMILY[0]].data.metrics
    assert project(figure(CGC), figure(LONG, name="fig2"))["imported"] == []


def test_an_older_run_whose_settings_changed_since_is_taken_over(project):
    """It is known by its label, and a number that is written no more is not kept."""
    client, runs = stored()
    client.log_metric(runs[FAMILY[0]].info.run_id, "time_to_0.75", 1.0)
    annotated(client, runs, *FAMILY)
    for name in FAMILY:
        client.delete_tag(runs[name].info.run_id, tracking.NAME)
    changed = run_of_path({"scheme": "cgc+.n@6+.s@3", "length": f"T{T}", **TRAINED}, "CGC")
    fake_training(changed)
    project(figure(changed))
    _, after = stored()
    assert set(after) == {*FAMILY, CLOCK}
    assert_annotated(after, *zip(FAMILY, FAMILY, strict=True))
    assert "time_to_0.75" not in after[FAMILY[0]].data.metrics


def test_options_that_changed_behind_their_names_are_told(project, capsys):
    client, runs = stored()
    for tag in (tracking.SETTINGS, DIGEST):
        client.set_tag(runs[FAMILY[0]].info.run_id, tag, "that of other options")
    capsys.readouterr()
    project(figure(CGC))
    assert "options that 'CGC' is made of changed" in capsys.readouterr().out


def test_a_renamed_label_is_told_and_keeps_its_notes(project, capsys):
    client, before = stored()
    annotated(client, before, *FAMILY)
    renamed = replace(CGC, label="cyclic")
    capsys.readouterr()
    project(figure(renamed))
    assert "'CGC' is 'cyclic' now" in capsys.readouterr().out
    _, after = stored()
    names = [("fig1", "cyclic", name[2]) for name in FAMILY]
    assert {*after} == {*names, CLOCK} and after[names[0]].info.run_name == "cyclic"
    assert_annotated(after, *zip(names, FAMILY, strict=True))


def test_a_scheme_with_notes_that_left_its_figure_is_told(project, capsys):
    project(figure(CGC, FORGET))
    client, before = stored()
    annotated(client, before, FAMILY[0])
    capsys.readouterr()
    project(figure(FORGET))
    assert before[FAMILY[0]].info.run_id in capsys.readouterr().out
    assert client.get_run(before[FAMILY[0]].info.run_id).info.lifecycle_stage == "deleted"


def test_the_duration_is_that_of_the_job(project):
    for offset in (0.05, 0.1):  # made anew, and brought up to date
        fake_training(CGC, offset=offset)
        project(figure(CGC))
        _, runs = stored()
        for name in FAMILY:
            info = runs[name].info
            assert info.end_time - info.start_time == 5000, "wall_s of the training"


def test_a_figure_is_a_run_with_its_table_and_a_link_to_its_schemes(project):
    found = project(figure(CGC, FORGET))
    client, runs = stored()
    experiment = client.get_experiment_by_name("partial_recovery")
    (whole,) = client.search_runs(
        [experiment.experiment_id], "tags.figure LIKE '%fig1' and tags.kind = 'figure'"
    )
    schemes = [run for name, run in runs.items() if name[0] == "fig1" and name[2] is None]
    assert {run.data.tags["mlflow.parentRunId"] for run in schemes} == {whole.info.run_id}
    artifacts = [item.path for item in client.list_artifacts(whole.info.run_id)]
    assert artifacts == ["partial_recovery_fig1.csv"]
    link = found["links"]["partial_recovery_fig1"]
    key = re.search("viewStateShareKey=([^&]+)", link)[1]
    view = json.loads(experiment.tags[f"mlflow.sharedViewState.{key}"])
    seen = client.search_runs(
        [experiment.experiment_id], view["searchFilter"], order_by=[f"{view['orderByKey']} ASC"]
    )
    assert {run.info.run_id for run in seen} == {run.info.run_id for run in schemes}
    known = {f"metrics.`{name}`" for run in seen for name in run.data.metrics}
    known |= {f"params.`{name}`" for run in seen for name in run.data.params}
    assert {*view["selectedColumns"]} - {"metrics.`low`", "metrics.`high`"} <= known


def test_the_description_of_an_experiment_lists_its_figures(project):
    """Those of one import and those of another, until a person writes a description of their own."""
    client, _ = stored()

    def described():
        return client.get_experiment_by_name("partial_recovery").tags[NOTE]

    assert re.findall(r"\[(\w+)\]\(#", described()) == ["fig1", "fig2"]
    project(figure(CGC, name="fig3"))
    assert re.findall(r"\[(\w+)\]\(#", described()) == ["fig1", "fig2", "fig3"]
    own = f"Read this first.\n\n{described()}"
    experiment = client.get_experiment_by_name("partial_recovery").experiment_id
    client.set_experiment_tag(experiment, NOTE, own)
    project(figure(CGC, name="fig4"))
    assert described() == own


def test_few_links_are_printed(project, capsys):
    """Of many figures the list of the import has them."""
    names = ["fig1", "fig2", "fig3", "fig4"]
    for some in (names[:1], names):
        capsys.readouterr()
        links = project(*(figure(CGC, name=name) for name in some))["links"]
        said = capsys.readouterr().out
        assert all((link in said) == (len(some) == 1) for link in links.values())


def test_two_runs_of_one_label_are_refused(refused):
    longer = run_of_path({"scheme": "cgc+.n@6+.s@2", "length": f"T{2 * T}", **TRAINED}, "CGC")
    refused(("CGC", CGC.id, longer.id), _check_labels, Figure("p", "f", "quick", TIMINGS, (CGC, longer)))
    _check_labels(Figure("p", "f", "quick", TIMINGS, (CGC, CGC, replace(longer, label="long"))))


def test_runs_of_one_label_are_told_apart_by_what_is_swept():
    labels = [
        run_of_path({"scheme": f"cgc+.n@6+.s@{s}", "length": f"T{T}", **TRAINED}, "CGC") for s in (1, 2)
    ]
    assert tracking.names_in_figure(figure(*labels, FORGET)) == ["CGC, s=1", "CGC, s=2", "Forget-2"]


def twice(method):
    """A method of a client that another importer calls a moment before."""

    def called(client, *arguments, **more):
        method(client, *arguments, **more)
        return method(client, *arguments, **more)

    return called


def test_two_importers_at_once_make_one_experiment(project, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setattr("mlflow.MlflowClient.create_experiment", twice(MlflowClient.create_experiment))
    store = Store(f"sqlite:///{os.getcwd()}/results/mlflow/mlflow.db")
    made = store.experiment("new")
    assert made == store.client.get_experiment_by_name("new").experiment_id


def test_two_importers_at_once_leave_one_set_of_runs(project, monkeypatch):
    """The other importer writes the same figure to the same server while this one reads its table, and tidies up."""
    from mlflow import MlflowClient

    monkeypatch.setattr("gcexp.report.mlflow_store.Store.is_shared", True)
    fresh = figure(CGC, name="fig4")
    read = tracking.read_table
    begun = []

    def meanwhile(table):
        if not begun:
            begun.append(True)
            track([fresh], Path("results/mlflow/other.imported"), None)
        return read(table)

    monkeypatch.setattr(tracking, "read_table", meanwhile)
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    for name in ("delete_run", "delete_tag"):
        monkeypatch.setattr(f"mlflow.MlflowClient.{name}", twice(getattr(MlflowClient, name)))
    assert project(fresh)["imported"] == ["partial_recovery_fig4"]
    _, runs = stored()
    assert {name for name in runs if name[0] == "fig4"} == {("fig4", *rest) for _, *rest in FAMILY}


def test_two_importers_of_a_changed_figure_leave_one_set_of_seeds(project, monkeypatch):
    """The other importer brings the same run up to date while this one has made its children."""
    monkeypatch.setattr("gcexp.report.mlflow_store.Store.is_shared", True)
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    one = figure(CGC, name="fig4")
    project(one)
    before = ids(stored()[1])
    with open(one.table, "a") as table:
        table.write("\n")  # another digest
    new_runs, begun = Store.new_runs, []

    def meanwhile(store, *arguments, **more):
        made = new_runs(store, *arguments, **more)
        if not begun:
            begun.append(True)
            track([one], Path("results/mlflow/other.imported"), None)
        return made

    monkeypatch.setattr(Store, "new_runs", meanwhile)
    assert project(one)["imported"] == ["partial_recovery_fig4"]
    after = ids(stored()[1])
    assert after.keys() == before.keys(), "no seed stands twice"
    assert after["fig4", "CGC", None] == before["fig4", "CGC", None]
    assert after["fig4", "CGC", 0] != before["fig4", "CGC", 0]


@pytest.mark.parametrize(("method", "call"), [("log_batch", 2), ("set_terminated", 2), ("set_tag", 1)])
def test_an_interrupted_import_is_finished_by_the_next(project, monkeypatch, method, call):
    from mlflow import MlflowClient

    calls, original = [], getattr(MlflowClient, method)

    def interrupted(*arguments, **more):
        calls.append(method)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    MARKER.unlink()
    changed = figure(CGC, level=0.6)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(MlflowClient, method, interrupted)
        project(changed)
    assert not MARKER.exists()
    assert project(changed)["imported"] == ["partial_recovery_fig1"]
    _, runs = stored()
    assert len(runs[FAMILY[0]].data.tags[DIGEST]) == 64
    for name in FAMILY[1:]:
        run = runs[name]
        assert run.info.status == "FINISHED"
        assert {"test accuracy", "decoded error"} <= run.data.metrics.keys()


def test_a_run_of_two_papers_stands_in_both_experiments(project):
    project(figure(CGC, paper="adaptive"))
    assert set(stored("adaptive")[1]) == set(FAMILY)


def test_what_is_not_finished_is_listed_and_imported_later(project):
    fresh = figure(CGC, name="fig3")
    saved = Path(fresh.table).read_text()
    Path(fresh.table).unlink()
    assert project(figure(LONG, name="fig2"), fresh)["unfinished"] == ["partial_recovery_fig3"]
    with pytest.raises(UserError):
        project(fresh)
    Path(fresh.table).write_text(saved)
    assert project(fresh)["imported"] == ["partial_recovery_fig3"]
    assert project(figure())["imported"] == []  # a figure without runs


def test_the_command_imports_what_is_there(project, monkeypatch, capsys, forget):
    """As `gcexp job track` is typed in a project of one's own."""
    init("mine", Path.cwd().parent)
    shutil.copytree("results", "../mine/results")
    monkeypatch.chdir("../mine")
    keys = "task: digits_mlp, optimizer: gradient_descent, delay: pareto, n: 6, iterations: 12, seeds: 2"
    text = f"title: Mine\nsource: Fig. 1\nkind: curves\nruns: [{{label: CGC, scheme: cgc, s: 2, {keys}}}]\n"
    Path("mine/figures/one.yaml").write_text(text + "plot: {kind: lines, y: test_accuracy}\n")
    forget()
    (one,) = named_figures(["mine_one"], "quick")
    make_table(one, Path(one.table))
    store = f"sqlite:///{Path.cwd()}/results/mlflow/mlflow.db"
    assert main(["job", "track", "mine_one", "--uri", store, "-o", "results/mlflow/mine.imported"]) == 0
    assert "1 figures imported" in capsys.readouterr().out
    assert set(stored("mine")[1]) == {("one", "CGC", None), ("one", "CGC", 0), ("one", "CGC", 1)}


def test_the_environment_names_the_store_and_nothing_is_noisy(
    project, empty_store, tmp_path, monkeypatch, capfd
):
    uri = f"sqlite:///{shutil.copy(empty_store, tmp_path / 'other.db')}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    track([figure(CGC)], Path("results/mlflow/paper.imported"), None)
    assert set(stored(uri=uri)[1]) == set(FAMILY)
    out, err = capfd.readouterr()
    assert err == "" and out.count("\n") == 2 and "1 figures imported" in out


def test_a_deleted_experiment_is_not_quietly_filled(project):
    client, _ = stored()
    experiment = client.get_experiment_by_name("partial_recovery")
    client.delete_experiment(experiment.experiment_id)
    with pytest.raises(UserError):
        project(figure(CGC))


@pytest.mark.parametrize(
    ("uri", "named"),
    [
        ("./mlruns", "./mlruns"),
        ("sqlite:///:memory:", ":memory:"),
        ("http://user:secret@127.0.0.1:9", "127.0.0.1:9"),
        ("postgresql+nodriver://user:secret@localhost/db", "postgresql"),
        ("sqlite:///damaged.db", ("delete", "damaged.db")),
        ("sqlite:////proc/none/mlflow.db", "/proc/none"),
    ],
)
def test_a_useless_uri_is_one_sentence(project, refused, monkeypatch, uri, named):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Path("damaged.db").write_text("not a database" * 100)
    before = dict(os.environ)
    assert "secret" not in refused(named, track, [figure(CGC)], Path("results/new.imported"), uri)
    assert not Path("results/new.imported").exists()
    assert {key: os.environ.get(key) for key in before} == before


def test_a_locked_database_is_told_by_its_file_and_by_what_to_do(project, refused, monkeypatch):
    import sqlite3

    other = sqlite3.connect("results/mlflow/mlflow.db")
    other.execute("BEGIN EXCLUSIVE")
    uri = "sqlite:///results/mlflow/mlflow.db?timeout=0.1"
    named = ("results/mlflow/mlflow.db", "locked")
    sentence = refused(named, track, [figure(CGC)], Path("new.imported"), uri)
    assert "http://" not in sentence
    assert not is_planned_anew(MARKER), "nobody knows whether it is another one"
    other.close()


def is_planned_anew(listed):
    """Whether a plan would import again, since the database is not the one that was filled."""
    return imported._state(listed) != records.state(listed)


@pytest.mark.parametrize("loss", ["deleted", "emptied", "damaged", "another"])
def test_a_lost_database_is_planned_anew(project, loss):
    assert not is_planned_anew(MARKER)
    database = Path("results/mlflow/mlflow.db")
    database.unlink()
    if loss == "emptied":
        database.touch()
    elif loss == "damaged":
        database.write_text("not a database" * 100)
    elif loss == "another":
        Store(f"sqlite:///{database.resolve()}")
    assert is_planned_anew(MARKER)
    if loss in ("deleted", "emptied"):
        project(figure(CGC), figure(LONG, name="fig2"))
        assert set(stored()[1]) == {*FAMILY, CLOCK} and not is_planned_anew(MARKER)


def test_a_database_that_was_not_finished_is_not_there(tmp_path, monkeypatch, empty_store, capfd):
    """A disk that is full, or a kill, between two tables: MLflow could not go on from them."""
    import sqlalchemy

    folder = tmp_path / "new"
    uri = f"sqlite:///{folder}/mlflow.db"
    count = []

    def failing(self, *arguments, execute=sqlalchemy.engine.Connection.execute, **more):
        count.append(1)
        if len(count) == 30:
            raise sqlalchemy.exc.OperationalError("insert", {}, Exception("database or disk is full"))
        return execute(self, *arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(sqlalchemy.engine.Connection, "execute", failing)
        with pytest.raises(UserError):
            Store(uri)
    assert [path.name for path in folder.iterdir()] == ["mlflow.db.lock"]
    shutil.copy(empty_store, folder / "mlflow.db")
    assert Store(uri).client.search_experiments()
    assert capfd.readouterr().err == ""
