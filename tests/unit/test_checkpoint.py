"""An interrupted training ends with the bits of one that was never interrupted."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
from torch import nn

from gcexp.data import readers
from gcexp.data.load import Dataset
from gcexp.errors import UserError
from gcexp.run.run import Run
from gcexp.tasks import GradientDescent
from gcexp.tasks.checkpoint import Checkpoint
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.logistic_regression import LogisticRegression
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.optimizers import AcceleratedGradient, Momentum
from gcexp.tasks.together import TogetherPerceptron
from gcexp.tasks.torch_task import TorchTask
from gcexp.tasks.training import train
from tests.conftest import wait

TASK = MultilayerPerceptron("digits", evaluate_every=2, verify_every=3)
CONFIG = {"task": "digits", "version": 1}
SEEDS, STEPS = [0, 1], [8, 5]
COEFFICIENTS = np.array([[1.0, 1, 1], [0, 0.5, 2], [0, 0, 0]])
PATTERN = np.random.default_rng(0).integers(3, size=(2, 8))


def data_of(x, y, name="made") -> Dataset:
    return Dataset(name, x, y, x[-200:], y[-200:], "")


images = readers.digits([])
DIGITS = data_of(
    images["x_train"][:500].astype(np.float32) / 16, images["y_train"][:500].astype(np.int64), "digits"
)


def failing(rule, at=0):
    """The rule, failing at its n-th update."""

    class Failing(type(rule)):
        def update(self, *arguments):
            taken.append(1)
            if len(taken) == at:
                raise InterruptedError
            return super().update(*arguments)

    return Failing(**vars(rule))


taken: list[int] = []


def run(checkpoint=None, at=0, coefficients=COEFFICIENTS):
    """A training, in which `taken` gets an entry for each update."""
    taken.clear()
    rule = failing(GradientDescent(), at)
    return train(TASK, rule, DIGITS, SEEDS, STEPS, coefficients, PATTERN, checkpoint)


def assert_equal(one, other):
    assert one.arrays().keys() == other.arrays().keys()
    for name, values in one.arrays().items():
        assert values.tobytes() == other.arrays()[name].tobytes(), name


@pytest.mark.slow
def test_resuming_after_any_step_gives_equal_bits(tmp_path):
    whole = run()
    assert whole.skipped.sum() > 0
    updates = len(taken)
    for at in range(1, updates + 1):
        checkpoint = Checkpoint(tmp_path / f"{at}.npz", CONFIG, every=0)
        with pytest.raises(InterruptedError):
            run(checkpoint, at)
        assert_equal(run(checkpoint), whole)
        assert len(taken) == updates - (at - 1)  # no step is repeated


draw = np.random.default_rng(0)
TARGETS = data_of(draw.standard_normal((60, 11)).astype(np.float32), draw.standard_normal(60))
CATEGORIES = data_of(draw.integers(0, 5, (60, 9)).astype(np.int32), draw.integers(0, 2, 60))
IMAGES = data_of(draw.integers(0, 256, (60, 3, 8, 8)).astype(np.uint8), draw.integers(0, 3, 60))
TOGETHER = TogetherPerceptron("digits", evaluate_every=2, verify_every=3)
NORMALISED = TorchTask(
    "made",
    lambda: nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(192, 3)),
    nn.CrossEntropyLoss(reduction="none"),
    batch=20,
    partitions=3,
    device="cpu",
    verify_every=3,
)


@pytest.mark.parametrize(
    ("task", "rule", "data", "at"),
    [
        (LinearRegression("made", verify_every=3), GradientDescent(0.1), TARGETS, 11),
        (LogisticRegression("made", 44), AcceleratedGradient(1.0), CATEGORIES, 11),
        (NORMALISED, GradientDescent(0.1), IMAGES, 11),
        (TOGETHER, Momentum(0.2), DIGITS, 1),
        (TOGETHER, Momentum(0.2), DIGITS, 7),
    ],
    ids=["float64", "a rule's state", "statistics, and batches", "seeds together", "later"],
)
def test_a_resumed_training_has_equal_bits(tmp_path, task, rule, data, at):
    given = data, (0, 1), (6, 6) if task is TOGETHER else (8, 5)
    whole, place = train(task, rule, *given, progress=False), tmp_path / "c.npz"
    taken.clear()
    with pytest.raises(InterruptedError):
        train(task, failing(rule, at), *given, checkpoint=Checkpoint(place, {}, every=0))
    taken.clear()
    assert_equal(train(task, failing(rule), *given, checkpoint=Checkpoint(place, {})), whole)
    assert len(taken) == sum(given[2]) - (at - 1)  # no step is repeated


def test_resuming_from_an_old_checkpoint_repeats_the_steps_since(tmp_path):
    whole = run()
    checkpoint = Checkpoint(tmp_path / "run.npz", CONFIG, every=3600)
    with pytest.raises(InterruptedError):
        run(checkpoint, at=len(taken))
    with checkpoint.held(np.array(SEEDS), np.array(STEPS), COEFFICIENTS, PATTERN):
        assert checkpoint.load()["at_row"] == 1  # saved after each seed all the same
    assert_equal(run(checkpoint), whole)


def test_a_finished_run_is_adopted_without_a_step(tmp_path):
    whole = run(Checkpoint(tmp_path / "run.npz", CONFIG))
    assert_equal(run(Checkpoint(tmp_path / "run.npz", CONFIG)), whole)
    assert not taken


@pytest.mark.parametrize("other", [{"config": CONFIG | {"version": 2}}, {"coefficients": COEFFICIENTS * 2}])
def test_a_checkpoint_of_another_run_is_not_used(tmp_path, capsys, other):
    path = tmp_path / "run.npz"
    run(Checkpoint(path, other.get("config", CONFIG)), coefficients=other.get("coefficients", COEFFICIENTS))
    assert_equal(run(Checkpoint(path, CONFIG)), run())
    assert "another configuration" in capsys.readouterr().err


def saved(save, array) -> bytes:
    save(file := io.BytesIO(), array)
    return file.getvalue()


def another_compression(content: bytes) -> bytes:
    method = content.index(b"PK\x01\x02") + 10
    return content[:method] + b"\x63" + content[method + 1 :]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(b ^ 255 for b in content[middle : middle + 8]) + content[middle + 8 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        flipped,
        another_compression,
        lambda content: b"",
        lambda content: b"no zip",
        lambda content: saved(np.savez, np.ones(1)),
        lambda content: saved(np.save, np.ones(1)),
    ],
    ids=["cut", "flipped", "method", "empty", "text", "no stamp", "array"],
)
def test_a_damaged_checkpoint_is_not_used(tmp_path, capsys, damage):
    path = tmp_path / "run.npz"
    run(Checkpoint(path, CONFIG))
    path.write_bytes(damage(path.read_bytes()))
    assert_equal(run(Checkpoint(path, CONFIG)), run())
    assert "cannot be read" in capsys.readouterr().err


def test_a_training_is_found_again_however_its_seeds_were_spelled():
    """The stamps of one seed and of several are those of the names in its path, as they have always been."""
    task = ["task=digits_mlp", "iterations=3"]
    for spelled, name in (("[0]", "0"), ("0-0", "0"), ("1", "0"), ("5-5", "5"), ("2", "0-1"), ("0-1", "0-1")):
        assert f"seeds={name}" in Run.of([*task, f"seeds={spelled}"]).training_fingerprint({})


def test_saves_are_spaced_in_time(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("gcexp.tasks.checkpoint.time.monotonic", lambda: now[0])
    checkpoint = Checkpoint(tmp_path / "run.npz", CONFIG, every=15)
    with checkpoint.held():
        assert not checkpoint.due
        now[0] += 15
        assert checkpoint.due
        checkpoint.save({})
        assert not checkpoint.due
        monkeypatch.setattr(np, "savez", lambda *_, **__: now.append(now.pop() + 1))
        checkpoint.save({})  # takes a second: after fifty more
        now[0] += 49
        assert not checkpoint.due
        now[0] += 1
        assert checkpoint.due
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".npz"] == ["run.npz"]


def test_a_second_process_waits_and_says_so(tmp_path, capsys):
    entered = []

    def second():
        with Checkpoint(tmp_path / "run.npz", CONFIG).held() as checkpoint:
            entered.append(checkpoint.load())

    with Checkpoint(tmp_path / "run.npz", CONFIG).held() as first:
        thread = threading.Thread(target=second)
        thread.start()
        said = wait(lambda: capsys.readouterr().err, "sentence")
        assert "waiting for it" in said
        assert thread.is_alive() and not entered
        first.save({"step": np.array(5)})
    thread.join()
    assert entered == [{"step": np.array(5)}]
    assert (said + capsys.readouterr().err).count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"), Checkpoint(tmp_path / "file" / "run.npz", {}).held():
        pass
