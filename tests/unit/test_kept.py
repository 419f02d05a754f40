"""What costs hours or a second is not made again where its bits cannot change, and is where they can."""

import json
from pathlib import Path

import pytest

from gcexp.run import verification
from gcexp.run.compose import compose
from gcexp.run.datasets import prepared_file
from gcexp.run.run import Run
from gcexp.run.trainings import FiledTrainings, checkpoint_file
from gcexp.tasks import devices as of_torch
from gcexp.tasks import mlp
from tests.conftest import unload, write_files

RUN = ["scheme=cgc", "n=6", "s=2", "delay=pareto", "task=digits_mlp", "iterations=3", "seeds=1"]
LOGISTIC = ["scheme=uncoded", "n=10", "task=access_rows_logistic", "iterations=3", "seeds=1"]


def trained_again(config: dict, output: str):
    """What a run of this config learns, written as a job writes it."""
    return FiledTrainings(Path(output)).trajectory(Run((), config), None)


@pytest.fixture
def trained(here):
    prepared_file("digits")
    config = compose(RUN)
    trained_again(config, "t.npz")
    return config


OWN = {
    "mine_here/__init__.py": "",
    "mine_here/task.py": "from helper_there.sizes import HIDDEN\nfrom gcexp.tasks.mlp import MultilayerPerceptron\n\n\n"
    "class Mine(MultilayerPerceptron):\n    def problem(self, data, seed):\n"
    "        from helper_there.late import factor\n        assert factor\n"
    "        return MultilayerPerceptron(self.dataset, HIDDEN).problem(data, seed)\n",
    "helper_there/__init__.py": "",
    "helper_there/sizes.py": "HIDDEN = 3\n",
    "helper_there/late.py": "factor = 1\n",
}


def test_a_task_of_ones_own_is_trained_again_when_its_helper_changes(here, monkeypatch, forget):
    """The helper is in another package of one's own; one part of it is imported while training."""
    monkeypatch.syspath_prepend(here)
    prepared_file("digits")
    write_files(here, OWN)
    config = compose(RUN)
    config = config | {"task": config["task"] | {"_target_": "mine_here.task.Mine", "inputs": "sizes/*.txt"}}

    def trains():
        unload("mine_here", "helper_there")
        forget()
        path = checkpoint_file(Path("t.npz"))
        before = path.stat().st_mtime_ns if path.is_file() else None
        trained_again(config, "t.npz")
        return path.stat().st_mtime_ns != before

    assert [trains(), trains()] == [True, False]
    for name, text, again in (
        ("sizes", "HIDDEN = 4\n", True),
        ("late", "factor = 2\n", True),
        ("sizes", '"""Why."""\nHIDDEN = 4  # four\n', False),
    ):
        Path(f"helper_there/{name}.py").write_text(text)
        assert [trains(), trains()] == [again, False], name
    write_files(here, {"sizes/one.txt": "5\n"})
    assert [trains(), trains()] == [True, False]
    Path("sizes/one.csv").write_text("5\n")
    assert not trains()
    unload("mine_here", "helper_there")


def test_large_gradients_are_computed_once_for_all_schemes_of_a_training(trained, monkeypatch):
    """They lie in files without names, with the same bits."""
    run, trajectory, data = Run((), trained), trained_again(trained, "t.npz"), prepared_file("digits")
    timeline = run.clock()
    plain, kept = run.replay(timeline, trajectory, data), {}
    monkeypatch.setattr(verification, "LARGE", 0)
    assert run.replay(timeline, trajectory, data, kept) == plain and kept
    monkeypatch.setattr(mlp.PerceptronProblem, "partition_gradients", None)
    assert run.replay(timeline, trajectory, data, kept) == plain
    assert not [*Path("results").rglob("tmp*")]


def test_the_device_that_auto_means_is_recorded_and_decides_a_training(trained, monkeypatch):
    auto = trained | {"task": trained["task"] | {"device": "auto"}}
    trained_again(auto, "auto.npz")
    assert json.loads(Path("auto.provenance.json").read_text())["device"] == "cpu"
    here = Run((), auto).training_fingerprint({})
    monkeypatch.setattr("gcexp.tasks.devices.device_of", lambda name: "cuda")
    assert Run((), auto).training_fingerprint({}) != here


def test_a_task_in_numpy_takes_the_processor_as_its_device(here, refused):
    prepared_file("access_rows")
    plain = compose(LOGISTIC)
    for name in ("auto", "cpu"):
        assert compose([*LOGISTIC, f"task.device={name}"]) == plain  # so that a training that is there stays
    for name in ({*of_torch.DEVICES} - {"auto", "cpu"}) | {"gpu"}:
        refused(name, compose, [*LOGISTIC, f"task.device={name}"])
    trained_again(plain, "numpy.npz")
    assert json.loads(Path("numpy.provenance.json").read_text())["device"] == "cpu"


def test_a_task_whose_option_file_has_no_device_takes_one(tmp_path, monkeypatch):
    """The class decides, not what is written in its file."""
    option = tmp_path / "conf" / "task" / "mine.yaml"
    option.parent.mkdir(parents=True)
    option.write_text("_target_: gcexp.tasks.mlp.MultilayerPerceptron\ndataset: digits\nhidden: 4\n")
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path / "conf"))
    assert compose(["task=mine", "task.device=cuda"])["task"]["device"] == "cuda"
    assert "device" not in compose(["task=mine"])["task"]
