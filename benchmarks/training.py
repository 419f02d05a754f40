"""B8 and B9: what training costs on the simulated cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.measure import Row, median_cpu
from gcexp.data import Dataset
from gcexp.report.figurefile import figure
from gcexp.tasks import GradientDescent
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.training import train

STEPS, RATE = 3, 0.5  # in one sample


def mnist() -> Dataset:
    """Random data of MNIST's shape: the time of a step depends on no value."""
    draw = np.random.default_rng(0)
    x = draw.random((70_000, 784), dtype=np.float32)
    y = draw.integers(0, 10, 70_000)
    return Dataset("mnist", x[:60_000], y[:60_000], x[60_000:], y[60_000:], "random")


class Unscored:
    """A task whose problem was bound to its data beforehand, is never scored, and whose parameters are kept once."""

    dataset, evaluate_every, verify_every = "mnist", 10**9, 10**9

    def __init__(self, bound: Any):
        self.problem = lambda data, seed: bound


def plain_steps(x: torch.Tensor, y: torch.Tensor) -> None:
    """STEPS plain full-batch steps, as anyone would write them in torch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(784, 25), torch.nn.ReLU(), torch.nn.Linear(25, 10))
    sgd = torch.optim.SGD(model.parameters(), lr=RATE / len(x))
    for _ in range(STEPS):
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        sgd.step()


def b8() -> Iterator[Row]:
    """B8: a step of the perceptron 784-25-10 on 60000 rows, as many as MNIST has; no evaluation, no timelines.

    A training knows nothing of a scheme but its coefficients: they are 1 where it is exact, else random.
    Floor: a plain torch step on the same rows, before every scheme, so that each ratio compares neighbours in time.
    """
    data = mnist()
    problem = MultilayerPerceptron("mnist").problem(data, 0)  # also sets one thread
    problem.score = lambda parameters: {}
    plain = partial(plain_steps, torch.from_numpy(data.x_train), torch.from_numpy(data.y_train))
    draw = np.random.default_rng(0)
    for name, k, most in (("exact", 30, 1.05), ("approximate", 30, 1.10), ("approximate", 455, 1.10)):
        kept = np.ones((STEPS, k)) if name == "exact" else draw.random((STEPS, k))
        given = GradientDescent(RATE), data, (0,), (STEPS,), kept, np.arange(STEPS)[None]
        step = partial(train, Unscored(problem), *given, progress=False)
        floor, ours = (seconds / STEPS for seconds in median_cpu(plain, step))
        work, bar = f"one step, 60000 rows, {k} partitions, {name}", f"ours / floor <= {most:.2f}"
        yield Row("B8", work, ours, bar, most * floor, floor=floor, peer="92-114 ms (floor)")


def b9() -> Iterator[Row]:
    """B9: nine exact schemes under three straggling probabilities share one training per seed; each adds a timeline.

    Timed is each of the 27 timelines, draws and decoding included. Floor: the draws of the slowest.
    """
    runs = figure("adaptive_fig6", "paper").runs
    distinct = list({run.id: run for run in runs}.values())
    distinct[0].clock()  # what it loads is not counted
    seconds = []
    for run in distinct:
        start = time.process_time()
        run.clock()
        seconds.append(time.process_time() - start)
    slowest = distinct[int(np.argmax(seconds))]
    n = slowest.scheme.code.n
    (floor,) = median_cpu(lambda: slowest.delay_model.draw(slowest.seeds, slowest.iterations, n))
    trainings = {run.trajectory_file for run in runs}
    work = f"{len(distinct)} curves of one figure, the slowest timeline"
    bar, holds = "1 training per seed, timelines < 1 s each", len(trainings) == 1
    note = f"{len(trainings)} training, {sum(seconds):.2f} s together"
    yield Row("B9", work, max(seconds), bar, 1, holds=holds, floor=floor, peer="27 trainings", note=note)
