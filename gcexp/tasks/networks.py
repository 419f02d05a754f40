"""Small torch modules that option files name."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import max_pool2d, relu


class SmallCNN(nn.Module):
    """Two 3 x 3 convolutions of 16 and 32 channels, max pooling, and a linear layer; no normalisation.

    Parameters
    ----------
    channels : int
        Of an image.
    size : int
        Its width and height, even.
    classes : int

    Examples
    --------
    >>> sum(p.numel() for p in SmallCNN(channels=1, size=8).parameters())
    9930
    """

    def __init__(self, channels: int = 1, size: int = 8, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.linear = nn.Linear(32 * (size // 2) ** 2, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, channels, size, size) to (N, classes)."""
        x = max_pool2d(relu(self.conv2(relu(self.conv1(x)))), 2)
        return self.linear(x.flatten(1))
