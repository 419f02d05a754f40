"""Learning without a clock: how much a result depends on the data drawn."""

from __future__ import annotations

import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.data.load import Dataset
from gcexp.data.readers import mixture
from gcexp.seeding import rng
from gcexp.tasks.linear_regression import LinearRegression
from gcexp.tasks.optimizers import GradientDescent
from gcexp.tasks.training import train


@columns("draw", "iteration", "train_loss", "test_loss")
def losses_by_data(draws: int, iterations: int, learning_rate: float) -> pd.DataFrame:
    """Last losses of the linear regression for data sets of one law; draw 0 is the one that is stored.

    Parameters
    ----------
    draws : int
        Data sets.
    iterations : int
        Of gradient descent with the whole gradient.
    learning_rate : float

    Returns
    -------
    DataFrame
        ``draw, iteration, train_loss, test_loss``.
    """
    task, optimizer = LinearRegression("drawn", evaluate_every=iterations), GradientDescent(learning_rate)
    found = []
    for draw in range(draws):
        data = Dataset(name="drawn", note="", **mixture(rng(draw, "data")))
        scores = train(task, optimizer, data, [0], [iterations], progress=False).scores
        last = {name: float(values[0, -1]) for name, values in scores.items()}
        found.append({"draw": draw, "iteration": iterations} | last)
    return pd.DataFrame(found)
