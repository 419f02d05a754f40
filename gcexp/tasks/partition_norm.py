"""Batch normalisation of a batch that holds several partitions: each is normalised by its own mean and variance.

Only so is the gradient of a partition the same whether it is computed alone, by a worker, or in one pass with others.
"""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import nn
from torch.nn.functional import batch_norm

from gcexp.errors import require


class Blocks:
    """How the batch now passing is cut into partitions, and what their means and variances were."""

    def __init__(self):
        self.sizes: list[int] = []  # samples of each partition, in order
        #: Of each module (means, unbiased variances), one pair per partition seen.
        self.gathered: dict[nn.Module, list[tuple[torch.Tensor, torch.Tensor]]] = defaultdict(list)


class PartitionNorm(nn.Module):
    """In training, `torch.nn.BatchNorm2d` (or 1d, 3d) of each block of samples by itself; in evaluation as usual.

    `norm` gives weights and running statistics; all layers of a module share `blocks`.
    """

    def __init__(self, norm: nn.modules.batchnorm._BatchNorm, blocks: Blocks):
        super().__init__()
        require(
            norm.affine and norm.track_running_stats and norm.momentum is not None,
            "batch normalisation needs weights, running statistics and a momentum that is a number",
        )
        self.weight = norm.weight
        self.bias = norm.bias
        self.register_buffer("running_mean", norm.running_mean)
        self.register_buffer("running_var", norm.running_var)
        self.eps = norm.eps
        self.momentum = norm.momentum
        self.num_features = norm.num_features
        self._blocks = blocks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, features, ...) to the same shape."""
        if not self.training:
            return batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        outputs = []
        for block in x.split(self._blocks.sizes):
            # With a momentum of 1, torch leaves the block's own mean and unbiased variance here.
            mean = torch.zeros_like(self.running_mean)
            variance = torch.ones_like(self.running_var)
            mean = mean.to(x.dtype)
            variance = variance.to(x.dtype)
            outputs.append(batch_norm(block, mean, variance, self.weight, self.bias, True, 1.0, self.eps))
            self._blocks.gathered[self].append((mean, variance))
        return torch.cat(outputs)


def by_partition(module: nn.Module, blocks: Blocks) -> nn.Module:
    """Replace every batch normalisation in `module` by that of each partition; the same module is returned."""
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        return PartitionNorm(module, blocks)
    for name, child in module.named_children():
        setattr(module, name, by_partition(child, blocks))
    return module
