"""Training of Buyukates et al. (arXiv 2011.01922): one trajectory for all schemes, and its losses."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.data import load, prepare
from gcexp.report.figurefile import figure
from gcexp.run.build import build
from gcexp.tasks.training import train

#: Loss after 1, 10, 100 and 400 iterations, of the specification's data.
REFERENCE = {1: 366.0, 10: 55.2, 100: 0.443, 400: 2.9e-4}


@pytest.fixture(scope="module")
def runs():
    return figure("dynamic_clustering_training", "paper").runs


@pytest.fixture(scope="module")
def trained(runs, tmp_path_factory):
    """Scores of the target's training for a seed and a number of iterations, every so many of these."""
    path = tmp_path_factory.mktemp("data") / "linear_mixture.npz"
    prepare("linear_mixture", path)
    data = load(path)
    config = runs[0].config

    def scores(seed, iterations, evaluate_every):
        task = build(config | {"task": config["task"] | {"evaluate_every": evaluate_every}}, "task")
        return train(task, build(config, "optimizer"), data, (seed,), (iterations,), progress=False).scores

    return scores


def test_the_target_verifies_twenty_iterations_of_every_seed(runs):
    for run in runs:
        assert run.config["task"]["verify_every"] == 20 and run.config["exact"] is True
    assert len({run.trajectory_file for run in runs}) == 1  # trained once


def test_losses(trained):
    """The target's data: golden numbers, and the specification's up to its factor, where one data set can tell.

    The order of the samples is all that a seed changes, and the whole gradient does not depend on it.
    """
    first = trained(7, 10, evaluate_every=1)
    scores = trained(0, 400, evaluate_every=10)
    losses = scores["train_loss"][0]
    at = {1: first["train_loss"][0, 1], 10: losses[1], 100: losses[10], 400: losses[40]}
    golden = {1: 344.4811278, 10: 57.5560737, 100: 0.5380018131, 400: 6.113858692e-4}
    assert at == pytest.approx(golden, rel=1e-8)
    assert scores["test_loss"][0, 40] == pytest.approx(6.172485160e-3, rel=1e-8)
    for t in (1, 10, 100):
        assert 1 / 1.5 < at[t] / REFERENCE[t] < 1.5
    assert at[400] < 1e-3  # check 15
    assert (np.diff(first["train_loss"][0]) < 0).all() and (np.diff(losses) < 0).all()
    for name, values in first.items():
        np.testing.assert_allclose(values[0, [0, 10]], scores[name][0, :2], rtol=1e-10)
