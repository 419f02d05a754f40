"""Equal configs give equal results in every release: a failure here means that results made before are other ones."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.data import load, prepare
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.run import Run
from gcexp.tasks.training import train


@pytest.mark.parametrize(
    ("overrides", "durations", "coefficients"),
    [
        (
            ["scheme=cyclic_partial", "n=30", "s=19", "code.beta=15"],
            (0.0109721228566671, 0.01177211920604895),
            (120, 120),
        ),
        (["scheme=epsilon_brc", "n=30", "s=19"], (0.01676539918015754, 0.014451247377617915), (180, 150)),
        (
            ["scheme=cgc", "n=6", "s=2", "delay=shifted_exponential"],
            (0.02025731226432395, 0.019511535377527436),
            (36, 36),
        ),
    ],
)
def test_timelines(overrides, durations, coefficients):
    timeline = Run.of([*overrides, "iterations=6", "seeds=0-1"]).clock()
    assert np.allclose(timeline.duration.sum(1), durations, rtol=1e-12)
    assert timeline.coefficients[timeline.pattern].sum((1, 2)).tolist() == list(coefficients)


def test_data_and_trajectories(tmp_path):
    prepare("digits", tmp_path / "digits.npz")
    data = load(tmp_path / "digits.npz")
    assert data.x_train.sum(dtype=float) == pytest.approx(29168.3125)
    assert "".join(map(str, data.y_train[:5])) == "76393"
    for task in ("digits_mlp", "digits_together"):
        config = compose([f"task={task}"])
        found = train(build(config, "task"), build(config, "optimizer"), data, (0, 1), (5, 5), progress=False)
        assert np.allclose(found.scores["test_loss"][:, -1], (2.219116, 2.1401596), rtol=1e-5)
        assert np.allclose(found.scores["test_accuracy"][:, -1], (0.29667, 0.41), atol=1 / 300)
