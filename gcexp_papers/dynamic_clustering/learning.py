"""Learning without a clock: how much a result depends on the data drawn."""

from __future__ import annotations

from gcexp.analysis.declared import columns
from gcexp.data.load import Dataset
from gcexp.data.readers import mixture
from gcexp.seeding import rng
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.optimizers import GradientDescent
from gcexp.tasks.training import train


@columns("draw", "iteration", "train_loss", "test_loss")
def losses_by_data(draws: int, iterations: int, learning_rate: float):
    """Last losses of the linear regression for data sets of one law; draw 0 is the one that is stored.

    So many `iterations` of gradient descent have the whole gradient.
    """
    task = LinearRegression("drawn", evaluate_every=iterations)
    optimizer = GradientDescent(learning_rate)
    for draw in range(draws):
        data = Dataset(name="drawn", note="", **mixture(rng(draw, "data")))
        scores = train(task, optimizer, data, [0], [iterations], progress=False).scores
        yield draw, iterations, float(scores["train_loss"][0, -1]), float(scores["test_loss"][0, -1])
