"""B8: one training step of the simulated cluster, MNIST perceptron 784-25-10, 60000 rows, full batch.

Work: `gcexp.tasks.training.train` as the workflow calls it, a few steps, divided by their number: look up the
coefficients of the iteration's pattern, one weighted gradient, optimiser, check for finite parameters. The
problem is bound to its data beforehand, scores are empty and parameters are kept only once: evaluation and
verification are excluded. Timelines are made beforehand too.

Floor: one plain full-batch torch step over all 60000 rows (``nn.Sequential``, summed cross-entropy, backward, SGD) on
the same tensors. All are called in turn in one process; a sample is a few steps.

Data: MNIST from $GCEXP_DATA, data/prepared, data/raw or ../shared/data, whichever is there; else random data of the
same shape. The first line says which.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.measure import ROOT, Row, median_cpu
from gcexp import codes
from gcexp.data import Dataset, load
from gcexp.data.prepare import prepare
from gcexp.delays import Pareto
from gcexp.errors import UserError
from gcexp.schemes import Fastest, Scheme
from gcexp.tasks import GradientDescent
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.training import train
from gcexp.timeline import simulate

STEPS = 3  # in one sample
RATE = 0.5
NEVER = 10**9


def mnist() -> tuple[Dataset, str]:
    """MNIST and where it came from, or random data of its shape."""
    prepared = ROOT / "data" / "prepared" / "mnist.npz"
    if prepared.is_file():
        return load(prepared), "MNIST"
    for folder in (os.environ.get("GCEXP_DATA"), ROOT / "data" / "raw", ROOT.parent / "shared" / "data"):
        if folder and Path(folder).is_dir():
            with TemporaryDirectory() as temporary:
                try:
                    prepare("mnist", f"{temporary}/mnist.npz", data_dir=folder)
                except UserError:  # another folder may have it
                    continue
                return load(f"{temporary}/mnist.npz"), "MNIST"
    draw = np.random.default_rng(0)
    x = {
        part: draw.random((size, 784), dtype=np.float32) for part, size in (("train", 60000), ("test", 10000))
    }
    y = {part: draw.integers(0, 10, len(x[part])) for part in x}
    return Dataset("mnist", x["train"], y["train"], x["test"], y["test"], "random"), "random data"


class _Silent:
    """A problem that is never scored."""

    def __init__(self, problem: Any):
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def score(self, parameters: np.ndarray) -> dict[str, float]:
        """No scores: evaluation is not measured."""
        return {}


@dataclass(frozen=True)
class _Prepared:
    """A task whose problem was bound to its data beforehand, never scored and kept once."""

    bound: _Silent
    dataset: str = "mnist"
    evaluate_every: int = NEVER
    verify_every: int = NEVER

    def problem(self, data: Dataset, seed: int) -> _Silent:
        """The same problem every time."""
        return self.bound


def plain(x: torch.Tensor, y: torch.Tensor) -> None:
    """STEPS plain steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(784, 25), torch.nn.ReLU(), torch.nn.Linear(25, 10))
    sgd = torch.optim.SGD(model.parameters(), lr=RATE / len(x))
    for _ in range(STEPS):
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        sgd.step()


def cases() -> list[tuple[str, bool, np.ndarray, np.ndarray]]:
    """Name, whether exact, coefficients (U, k) and pattern (1, STEPS) of every line."""
    delays = Pareto(scale=1e-3, shape=1.2, data_time=3e-3)
    schemes = {
        "CGC n=30 s=19, exact": codes.CyclicRepetition(30, 19),
        "cyclic partial n=30 s=19 beta=15": codes.CyclicPartialRecovery(30, 19, 15),
        "FRC n=30 d=5, fastest 11": codes.FractionalRepetition(30, 5),
    }
    found = []
    for name, code in schemes.items():
        timeline = simulate(Scheme(code, Fastest(s=19)), delays.draw((0,), STEPS, 30))
        found.append((name, "exact" in name, timeline.coefficients, timeline.pattern))
    for density in (0.5, 0.9):
        indicator = (np.random.default_rng(0).random((STEPS, 455)) < density).astype(float)
        name = f"random indicator k=455, {density:.0%} ones"
        found.append((name, False, indicator, np.arange(STEPS)[None]))
    return found


def run() -> list[Row]:
    """One line per scheme, all over the same floor."""
    data, kind = mnist()
    problem = MultilayerPerceptron("mnist").problem(data, 0)  # also sets one thread
    task, optimizer = _Prepared(_Silent(problem)), GradientDescent(RATE)
    # The floor gets the rows in the same order.
    x, y = problem._x, problem._y
    found = cases()
    steps = [
        partial(train, task, optimizer, data, (0,), (STEPS,), coefficients, pattern, progress=False)
        for _, _, coefficients, pattern in found
    ]
    # The floor before every scheme, so that each ratio compares neighbours in time.
    floor = partial(plain, x, y)
    medians = median_cpu(*(call for step in steps for call in (floor, step)))
    rows = []
    for (name, exact, *_), base, ours in zip(found, medians[::2], medians[1::2], strict=True):
        most = 1.05 if exact else 1.10
        rows.append(
            Row(
                *("B8", f"one step, {kind}: {name}", ours / STEPS, f"ours / floor <= {most:.2f}"),
                met=ours <= most * base,
                peer="92-114 ms (floor)",
                floor=base / STEPS,
                limit=most * base / STEPS,
            )
        )
    return rows
