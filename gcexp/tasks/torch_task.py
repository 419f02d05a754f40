"""A task from an option file: any torch module and loss, on any data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from gcexp.errors import require
from gcexp.tasks.base import Settings
from gcexp.tasks.torch_problem import TorchProblem

if TYPE_CHECKING:
    from gcexp.data import Dataset


@dataclass(frozen=True)
class TorchTask(Settings):
    """Any torch module, by its ``_target_``.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    module : callable
        Builds the module without arguments: ``_partial_: true`` beside its ``_target_``, so that each seed of a run
        builds its own, with its own initial weights.
    loss : callable
        One number per sample from outputs and targets: a torch loss with ``reduction: none``.
    shape : list of int or None
        Shape that the module takes a sample in, for example [1, 8, 8]; None: as it is stored. uint8 samples become
        floats in [0, 1].
    batch : int or None
        Samples of an iteration; None: all.
    partitions : int or None
        k, needed where the module has batch normalisation.
    device : {"auto", "cpu", "cuda", "mps"}
        See `gcexp.tasks.devices.device_of`.
    evaluate_every, verify_every : int
        See `gcexp.tasks.Task`.

    Raises
    ------
    ParameterError
        Unless all numbers are >= 1.
    """

    scores = ("test_accuracy", "test_loss")
    scores_of_labels = ("test_accuracy",)  # real targets have none
    counts = ("batch", "partitions", *Settings.counts)

    dataset: str
    module: Callable
    loss: Callable
    shape: tuple[int, ...] | None = None
    batch: int | None = None
    partitions: int | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    evaluate_every: int = 1
    verify_every: int = 100

    def __post_init__(self):
        super_post_init = getattr(super(), "__post_init__", None)
        if super_post_init:
            super_post_init()
        is_built = hasattr(self.module, "parameters")  # a module can be called, too
        require(
            not is_built,
            f"task.module is a {type(self.module).__name__} that is built already, and each seed builds its own: write "
            "_partial_: true beside its _target_",
        )

    def problem(self, data: Dataset, seed: int) -> TorchProblem:
        """The module on the seed's data."""
        self.require_data(data)
        stored = data.x_train.shape[1:]
        shape = tuple(self.shape or stored)
        require(
            np.prod(shape) == np.prod(stored),
            f"task.shape has {np.prod(shape)} numbers, but a sample of {data.name!r} has {'x'.join(map(str, stored))}",
        )
        largest = 255.0 if data.x_train.dtype == np.uint8 else 1.0

        def inputs(x: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(x)).float().div(largest).reshape(-1, *shape)

        return TorchProblem(
            self.module, self.loss, data, seed, self.partitions, self.batch, inputs, device=self.device
        )
