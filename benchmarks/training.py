"""B8 and B9: what training costs on the simulated cluster."""

from __future__ import annotations

import time
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.measure import Row, median_cpu
from benchmarks.peers import prepared
from gcexp import codes
from gcexp.data import Dataset, load
from gcexp.delays import Pareto
from gcexp.schemes import Fastest, Scheme
from gcexp.tasks import GradientDescent
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.training import train
from gcexp.timeline import simulate

STEPS, RATE = 3, 0.5  # in one sample


def mnist() -> Dataset:
    """MNIST, or random data of its shape where it is not on this machine."""
    with TemporaryDirectory() as folder:
        if path := prepared("mnist", folder):
            return load(path)
    draw = np.random.default_rng(0)
    x, y = draw.random((70_000, 784), dtype=np.float32), draw.integers(0, 10, 70_000)
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


def coefficients() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Coefficients (U, k) and pattern (1, STEPS) of every line."""
    draws = Pareto(scale=1e-3, shape=1.2, data_time=3e-3).draw((0,), STEPS, 30)
    found = {}
    for name, code in {
        "CGC n=30 s=19, exact": codes.CyclicRepetition(30, 19),
        "cyclic partial n=30 s=19 beta=15": codes.CyclicPartialRecovery(30, 19, 15),
        "FRC n=30 d=5, fastest 11": codes.FractionalRepetition(30, 5),
    }.items():
        timeline = simulate(Scheme(code, Fastest(s=19)), draws)
        found[name] = timeline.coefficients, timeline.pattern
    indicator = (np.random.default_rng(0).random((STEPS, 455)) < 0.5).astype(float)
    found["random indicator k=455"] = indicator, np.arange(STEPS)[None]
    return found


def b8() -> list[Row]:
    """B8: a step of the perceptron 784-25-10 on all 60000 rows of MNIST, evaluation and timelines excluded.

    Floor: a plain torch step on the same rows, before every scheme, so that each ratio compares neighbours in time.
    """
    data = mnist()
    problem = MultilayerPerceptron("mnist").problem(data, 0)  # also sets one thread
    problem.score = lambda parameters: {}
    task = Unscored(problem)
    x, y = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    rows = []
    for name, given in coefficients().items():
        step = partial(train, task, GradientDescent(RATE), data, (0,), (STEPS,), *given, progress=False)
        floor, ours = (seconds / STEPS for seconds in median_cpu(partial(plain_steps, x, y), step))
        most = 1.05 if "exact" in name else 1.10
        bar, peer = f"ours / floor <= {most:.2f}", "92-114 ms (floor)"
        work = f"one step, {data.note or 'MNIST'}: {name}"
        rows.append(Row("B8", work, ours, bar, most * floor, floor=floor, peer=peer))
    return rows


def b9() -> list[Row]:
    """B9: nine exact schemes under three straggling probabilities share one training per seed; each adds a timeline.

    Timed is each of the 27 timelines, draws and decoding included. Floor: the draws of the slowest.
    """
    from gcexp.report.figurefile import figure
    from gcexp.run.build import build
    from gcexp.run.compose import compose
    from gcexp.run.scheme import build_scheme
    from gcexp.run.stages import length_of, simulated

    runs = figure("adaptive_fig6", "paper").runs
    configs = [compose(run.overrides) for run in {tuple(run.overrides): run for run in runs}.values()]
    simulated(configs[0], length_of(configs[0]))  # what it loads is not counted
    seconds = []
    for config in configs:
        start = time.process_time()
        simulated(config, length_of(config))
        seconds.append(time.process_time() - start)
    slowest = configs[int(np.argmax(seconds))]
    length, n = length_of(slowest), build_scheme(slowest).code.n
    (floor,) = median_cpu(lambda: build(slowest, "delay").draw(length.seeds, length.iterations, n))
    trainings = {run.trajectory for run in runs}
    work = f"{len(configs)} curves of one figure, the slowest timeline"
    bar, holds = "1 training per seed, timelines < 1 s each", len(trainings) == len(length.seeds)
    note = f"{len(trainings)} training, {sum(seconds):.2f} s together"
    return [Row("B9", work, max(seconds), bar, 1, holds=holds, floor=floor, peer="27 trainings", note=note)]
