"""An interrupted training ends with the bits of one that was never interrupted."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits
from torch import nn

from gcexp.data.load import Dataset
from gcexp.errors import UserError
from gcexp.run.compose import compose
from gcexp.run.stages import decided_by
from gcexp.tasks import GradientDescent
from gcexp.tasks.checkpoint import Checkpoint
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.logistic_regression import LogisticRegression
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.optimizers import AcceleratedGradient, Momentum
from gcexp.tasks.together import TogetherPerceptron
from gcexp.tasks.torch_task import TorchTask
from gcexp.tasks.training import train

TASK = MultilayerPerceptron("digits", evaluate_every=2, verify_every=3)
CONFIG = {"task": "digits", "version": 1}
LONG = 300  # seconds, after which something hangs
SEEDS, STEPS = [0, 1], [8, 5]
COEFFICIENTS = np.array([[1.0, 1, 1], [0, 0.5, 2], [0, 0, 0]])
PATTERN = np.random.default_rng(0).integers(3, size=(2, 8))


def digits() -> Dataset:
    x, y = load_digits(return_X_y=True)
    x = np.ascontiguousarray(x / 16, dtype=np.float32)
    return Dataset("digits", x[:300], y[:300], x[1500:], y[1500:], "")


def failing(at=0, rule=None):
    """A rule, by default gradient descent, that fails at its n-th update."""
    rule = rule or GradientDescent()

    class Failing(type(rule)):
        def update(self, *arguments):
            taken.append(1)
            if len(taken) == at:
                raise InterruptedError
            return super().update(*arguments)

    return Failing(**vars(rule))


taken: list[int] = []


@pytest.fixture(autouse=True)
def _no_steps_taken():
    taken.clear()


def run(checkpoint=None, optimizer=None, coefficients=COEFFICIENTS):
    return train(
        TASK, optimizer or GradientDescent(), digits(), SEEDS, STEPS, coefficients, PATTERN, checkpoint
    )


def assert_equal(one, other):
    assert one.arrays().keys() == other.arrays().keys()
    for name, values in one.arrays().items():
        assert values.tobytes() == other.arrays()[name].tobytes(), name


@pytest.mark.slow
def test_resuming_after_any_step_gives_equal_bits(tmp_path):
    whole = run()
    assert whole.skipped.sum() > 0
    updates = sum(STEPS) - int(whole.skipped.sum())
    for at in range(1, updates + 1):
        checkpoint = Checkpoint(tmp_path / f"{at}.npz", CONFIG, every=0)
        taken.clear()
        with pytest.raises(InterruptedError):
            run(checkpoint, failing(at=at))
        taken.clear()
        assert_equal(run(checkpoint, failing()), whole)
        assert len(taken) == updates - (at - 1)  # no step is repeated


def categories() -> Dataset:
    draw = np.random.default_rng(0)
    rows, labels = draw.integers(0, 5, (60, 9)).astype(np.int32), draw.integers(0, 2, 60)
    return Dataset("small", rows, labels, rows[:0], labels[:0], "")


def targets() -> Dataset:
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((60, 11)).astype(np.float32), draw.standard_normal(60)
    return Dataset("made", x, y, x, y, "")


def images() -> Dataset:
    draw = np.random.default_rng(0)
    x, y = draw.integers(0, 256, (60, 3, 8, 8)).astype(np.uint8), draw.integers(0, 3, 60)
    return Dataset("noise", x, y, x, y, "")


NORMALISED = TorchTask(
    "noise",
    lambda: nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(192, 3)),
    nn.CrossEntropyLoss(reduction="none"),
    batch=20,
    partitions=3,
    device="cpu",
    verify_every=3,
)


@pytest.mark.parametrize(
    ("task", "rule", "data"),
    [
        (LinearRegression("made", verify_every=3), GradientDescent(0.1), targets),  # in float64
        (LogisticRegression("small", 44), AcceleratedGradient(1.0), categories),  # a rule with a state
        (NORMALISED, GradientDescent(0.1), images),  # a problem with statistics, and batches
    ],
    ids=["float64", "state", "statistics"],
)
def test_a_resumed_training_has_equal_bits(tmp_path, task, rule, data):
    given = data(), (0, 1), (8, 5)
    whole = train(task, rule, *given, progress=False)
    with pytest.raises(InterruptedError):
        train(task, failing(11, rule=rule), *given, checkpoint=Checkpoint(tmp_path / "c.npz", {}, every=0))
    assert_equal(train(task, rule, *given, checkpoint=Checkpoint(tmp_path / "c.npz", {})), whole)


@pytest.mark.parametrize("at", [1, 4])
def test_seeds_together_resume_with_equal_bits(tmp_path, at):
    given = digits(), SEEDS, [6, 6]
    task, rule = TogetherPerceptron("digits", evaluate_every=2, verify_every=3), Momentum(0.2)
    whole = train(task, rule, *given)
    checkpoint = Checkpoint(tmp_path / "run.npz", CONFIG, every=0)
    with pytest.raises(InterruptedError):
        train(task, failing(2 * at, rule=rule), *given, checkpoint=checkpoint)
    taken.clear()
    assert_equal(train(task, failing(rule=rule), *given, checkpoint=checkpoint), whole)
    assert len(taken) == 2 * (6 - at + 1)  # a seed's update each; no step is repeated


def test_resuming_from_an_old_checkpoint_repeats_the_steps_since(tmp_path):
    whole = run()
    checkpoint = Checkpoint(tmp_path / "run.npz", CONFIG, every=3600)
    with pytest.raises(InterruptedError):
        run(checkpoint, failing(at=sum(STEPS) - int(whole.skipped.sum())))
    with checkpoint.held(np.array(SEEDS), np.array(STEPS), COEFFICIENTS, PATTERN):
        assert checkpoint.load()["at_row"] == 1  # saved after each seed all the same
    assert_equal(run(checkpoint), whole)


def test_a_finished_run_is_adopted_without_a_step(tmp_path):
    whole = run(Checkpoint(tmp_path / "run.npz", CONFIG))
    again = run(Checkpoint(tmp_path / "run.npz", CONFIG), failing(at=1))
    assert_equal(again, whole)
    assert not taken


@pytest.mark.parametrize("stale", ["config", "coefficients"])
def test_a_checkpoint_of_another_run_is_not_used(tmp_path, capsys, stale):
    other = COEFFICIENTS * 2
    config = CONFIG | {"version": 2} if stale == "config" else CONFIG
    run(Checkpoint(tmp_path / "run.npz", config), coefficients=COEFFICIENTS if stale == "config" else other)
    assert_equal(run(Checkpoint(tmp_path / "run.npz", CONFIG)), run())
    assert "belongs to another configuration" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "no stamp", "array", "method"])
def test_a_damaged_checkpoint_is_not_used(tmp_path, capsys, damage):
    path = tmp_path / "run.npz"
    run(Checkpoint(path, CONFIG))
    content = path.read_bytes()
    if damage == "no stamp":
        with open(path, "wb") as file:
            np.savez(file, other=np.ones(1))
    elif damage == "array":
        with open(path, "wb") as file:
            np.save(file, np.ones(1))
    else:
        middle, method = len(content) // 2, content.index(b"PK\x01\x02") + 10  # of compression
        flipped = bytes(b ^ 255 for b in content[middle : middle + 8])
        bad = {
            "cut": content[:middle],
            "flipped": content[:middle] + flipped + content[middle + 8 :],
            "empty": b"",
            "text": b"no zip",
            "method": content[:method] + b"\x63" + content[method + 1 :],
        }
        path.write_bytes(bad[damage])
    assert_equal(run(Checkpoint(path, CONFIG)), run())
    assert "cannot be read" in capsys.readouterr().err


def test_a_training_is_found_again_however_its_seeds_were_spelled():
    """The stamps of one seed and of several are those of the names in its path, as they have always been."""
    task = ["task=digits_mlp", "iterations=3"]
    for spelled, name in (("[0]", "0"), ("0-0", "0"), ("1", "0"), ("5-5", "5"), ("2", "0-1"), ("0-1", "0-1")):
        assert f"seeds={name}" in decided_by(compose([*task, f"seeds={spelled}"]), {})


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
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".npz"] == ["run.npz"]


def waiting(capsys):
    """What was said until one said that it waits."""
    said, end = "", time.monotonic() + LONG
    while "waiting for it" not in said:
        assert time.monotonic() < end, said
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


def test_a_second_process_waits_and_says_so(tmp_path, capsys):
    entered = []

    def second():
        with Checkpoint(tmp_path / "run.npz", CONFIG).held() as checkpoint:
            entered.append(checkpoint.load())

    with Checkpoint(tmp_path / "run.npz", CONFIG).held() as first:
        thread = threading.Thread(target=second)
        thread.start()
        error = waiting(capsys)
        assert thread.is_alive() and not entered
        first.save({"step": np.array(5)})
    thread.join()
    assert entered == [{"step": np.array(5)}]
    assert (error + capsys.readouterr().err).count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"), Checkpoint(tmp_path / "file" / "run.npz", {}).held():
        pass
