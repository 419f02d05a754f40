"""Equal configs give equal results in every release: a failure here means that results made before are other ones."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.data import load, prepare
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.tasks.training import train


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
