"""Training with the gradients that a drawn adaptive code decodes, in single or in double precision.

Coefficients of partitions cannot say what rounding does to a decoded gradient. So the problem itself encodes the
gradients of its partitions, drops what stragglers would send, and decodes; the training is that of the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from gcexp.codes.adaptive import decode_rows
from gcexp.data.load import Dataset, load
from gcexp.data.prepare import prepare
from gcexp.errors import ParameterError
from gcexp.seeding import rng
from gcexp.tasks.mlp import MultilayerPerceptron, PerceptronProblem
from gcexp.tasks.optimizers import GradientDescent
from gcexp.tasks.training import train

from .numerics import plain_code

_PRECISION = {"float32": np.float32, "float64": np.float64}


@dataclass(frozen=True)
class CodedPerceptron(MultilayerPerceptron):
    """A perceptron whose gradients are decoded from the messages of a drawn code for n workers.

    Parameters
    ----------
    n, d, rounds : int
        Workers, load, and L.
    precision : {"float32", "float64"}
        In which messages are made and solved for the sum.
    errors : list of float
        Receives the relative error of each gradient that is decoded.
    """

    n: int = 20
    d: int = 3
    rounds: int = 6
    precision: str = "float32"
    errors: list[float] = field(default_factory=list, compare=False)

    def problem(self, data: Dataset, seed: int) -> CodedProblem:
        self.require_data(data)
        return CodedProblem(self, data, seed)


class CodedProblem(PerceptronProblem):
    """The perceptron on one seed's data, with the code that is drawn for this seed."""

    def __init__(self, task: CodedPerceptron, data: Dataset, seed: int):
        super().__init__(task, data, seed)
        self._task = task
        self._seed = seed
        self._E, self._B = plain_code(
            task.n, task.d, task.rounds, rng(seed, "assignment", task.n, task.d, task.rounds)
        )

    def gradient(self, parameters: np.ndarray, coefficients: np.ndarray, iteration: int) -> np.ndarray:
        """What is decoded from the workers that do not straggle in this iteration, all of the partitions' sum."""
        task = self._task
        kind = _PRECISION[task.precision]
        stragglers = rng(self._seed, "states", task.n, iteration)
        silent = stragglers.choice(task.n, stragglers.integers(task.d), replace=False)
        heard = decode_rows(task.n, task.d, task.rounds, silent)

        gradients = self.partition_gradients(parameters, task.n, iteration)
        wanted = gradients.sum(0)
        missing = -gradients.shape[1] % task.rounds
        parts = np.pad(gradients, ((0, 0), (0, missing))).reshape(task.n * task.rounds, -1)
        sent = self._B[heard].astype(kind) @ parts.astype(kind)
        A = self._E[heard, : len(heard)].astype(kind)
        decoded = np.linalg.solve(A, sent)[: task.rounds].reshape(-1)[: len(wanted)]
        task.errors.append(float(np.linalg.norm(decoded - wanted) / np.linalg.norm(wanted)))
        return decoded.astype(parameters.dtype)


def trained(
    n: int, d: int, rounds: int, seed: int, method: str, iterations: int, learning_rate: float
) -> tuple[float, float, float]:
    """Test accuracy at the end, and median and largest error of the gradients.

    `method` is a precision, or ``whole gradient`` for a training without a code.
    """
    task = MultilayerPerceptron("digits")
    errors = [0.0]
    if method in _PRECISION:
        errors = []
        task = CodedPerceptron("digits", n=n, d=d, rounds=rounds, precision=method, errors=errors)
    optimizer = GradientDescent(learning_rate)
    try:
        scores = train(task, optimizer, _digits(), [seed], [iterations], progress=False).scores
        accuracy = float(scores["test_accuracy"][0, -1])
    except ParameterError:
        if len(errors) in (0, iterations):  # it did not end early, with parameters that are no longer finite
            raise
        accuracy = 0.0
    return accuracy, float(np.median(errors)), max(errors)


@cache
def _digits() -> Dataset:
    """Scikit-learn's digits as every figure has them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "digits.npz"
        prepare("digits", path)
        return load(path)
