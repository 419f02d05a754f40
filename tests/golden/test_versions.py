"""Results of equal configs change only together with the version of their stage (gcexp.run.dependencies.STAGES).

A failure here means: bump the version of the stage, so that results made before are made again, and then the numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.data import load, prepare
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.dependencies import STAGES
from gcexp.run.stages import length_of, simulated
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
def test_timeline_version(overrides, durations, coefficients):
    assert STAGES["timeline"].version == 2
    config = compose([*overrides, "iterations=6", "seeds=0-1"])
    timeline = simulated(config, length_of(config))
    assert np.allclose(timeline.duration.sum(1), durations, rtol=1e-12)
    assert timeline.coefficients[timeline.pattern].sum((1, 2)).tolist() == list(coefficients)


def test_prepare_and_trajectory_version(tmp_path):
    assert STAGES["prepare"].version == STAGES["trajectory"].version == 1
    prepare("digits", tmp_path / "digits.npz")
    data = load(tmp_path / "digits.npz")
    assert data.x_train.sum(dtype=float) == pytest.approx(29168.3125) and data.y_train[:5].tolist() == [
        7,
        6,
        3,
        9,
        3,
    ]
    for task in ("digits_mlp", "digits_together"):
        config = compose([f"task={task}"])
        trajectory = train(
            build(config, "task"), build(config, "optimizer"), data, (0, 1), (5, 5), progress=False
        )
        assert np.allclose(
            trajectory.scores["test_loss"][:, -1], (2.219115972518921, 2.1401596069335938), rtol=1e-5
        )
        assert np.allclose(
            trajectory.scores["test_accuracy"][:, -1], (0.2966666666666667, 0.41), atol=1 / 300
        )
