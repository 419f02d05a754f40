"""CIFAR-10 with a residual network of 18 layers, as the adaptive gradient coding paper trains it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, relu

from gcexp.errors import require, require_known
from gcexp.tasks.base import Settings
from gcexp.tasks.devices import DEVICES
from gcexp.tasks.torch_problem import TorchProblem

if TYPE_CHECKING:
    from gcexp.data import Dataset

#: Weights of the network, counted in the paper: w = 11,173,962.
PARAMETERS = 11_173_962
#: Pixels of padding of a random crop.
_PAD = 4


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut; the first one may halve the image."""

    def __init__(self, channels_in: int, channels: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, channels_in, h, w) to (N, channels, h / stride, w / stride)."""
        y = relu(self.norm1(self.conv1(x)))
        return relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """ResNet-18 (He et al., CVPR 2016) for images of 32 x 32: a 3 x 3 stem without pooling; 11,173,962 parameters."""

    def __init__(self, classes: int = 10):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(64)
        blocks, channels_in = [], 64
        for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [BasicBlock(channels_in, channels, stride), BasicBlock(channels, channels, 1)]
            channels_in = channels
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(512, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, 3, 32, 32) to (N, classes)."""
        x = self.blocks(relu(self.norm(self.conv(x))))
        return self.linear(x.mean((2, 3)))


@dataclass(frozen=True)
class CifarResNet18(Settings):
    """ResNet-18 on random crops and flips of CIFAR-10 in mini-batches, each partition normalised by itself.

    Parameters
    ----------
    dataset : str
        Name of the data set: images of 3 x 32 x 32 in ten classes.
    batch : int
        Images of an iteration.
    partitions : int
        Partitions of a batch, k. The trajectory depends on it, since each partition has its own mean and variance.
    passes : int
        Parts of a batch computed one after the other.
    device : {"auto", "cpu", "cuda", "mps"}
        See `gcexp.tasks.devices.device_of`. Equal bits are promised on one device only.
    evaluate_every, verify_every : int
        See `gcexp.tasks.Task`.

    Raises
    ------
    ParameterError
        Unless all numbers are >= 1 and partitions <= batch.
    """

    scores = ("test_accuracy", "test_loss")
    counts = ("batch", "partitions", "passes", *Settings.counts)

    dataset: str
    batch: int = 180
    partitions: int = 20
    passes: int = 1
    device: str = "auto"
    evaluate_every: int = 100
    verify_every: int = 100

    def __post_init__(self):
        super().__post_init__()
        require(
            self.partitions <= self.batch,
            f"task.partitions must be at most task.batch={self.batch}, got {self.partitions}",
        )
        require_known("task.device", self.device, DEVICES)

    def problem(self, data: Dataset, seed: int) -> TorchProblem:
        """The network on the seed's batches."""
        self.require_data(data)
        moments = channel_moments(data.x_train)
        mean = torch.from_numpy(moments[0])[:, None, None]
        std = torch.from_numpy(moments[1])[:, None, None]

        def inputs(images: np.ndarray) -> torch.Tensor:
            x = (torch.from_numpy(images).float() - mean) / std
            return x.contiguous(memory_format=torch.channels_last)

        problem = TorchProblem(
            partial(ResNet18, int(data.y_train.max()) + 1),
            partial(cross_entropy, reduction="none"),
            data,
            seed,
            partitions=self.partitions,
            batch=self.batch,
            inputs=inputs,
            augment=cropped,
            passes=self.passes,
            device=self.device,
            precision=np.float32,
        )
        found = len(problem.initial())
        require(
            found == PARAMETERS,
            f"the network of the paper has {PARAMETERS} parameters (ten classes), this one {found}",
        )
        return problem


def channel_moments(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel of uint8 images (N, channels, h, w), float32 (channels,).

    Examples
    --------
    >>> mean, std = channel_moments(np.array([[[[0, 2]], [[5, 5]]]], np.uint8))
    >>> mean.tolist(), std.tolist()
    ([1.0, 5.0], [1.0, 0.0])
    """
    values = np.arange(256.0)
    counts = np.stack([np.bincount(images[:, c].ravel(), minlength=256) for c in range(images.shape[1])])
    mean = counts @ values / counts.sum(1)
    variance = counts @ values**2 / counts.sum(1) - mean**2
    return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)


def cropped(image: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """A random crop of the image padded by 4 black pixels, mirrored with probability 1/2: (channels, h, w)."""
    _, h, w = image.shape
    top = draw.integers(2 * _PAD + 1)
    left = draw.integers(2 * _PAD + 1)
    flip = draw.integers(2)
    padded = np.pad(image, ((0, 0), (_PAD, _PAD), (_PAD, _PAD)))
    crop = padded[:, top : top + h, left : left + w]
    return crop[:, :, ::-1] if flip else crop
