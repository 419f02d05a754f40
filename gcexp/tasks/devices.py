"""The device on which a task is trained, the precision of its matrix products, and flat vectors of its tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gcexp.errors import require, require_known

DEVICES = ("auto", "cpu", "cuda", "mps")


def leaves_of(parameters: np.ndarray, shapes: Sequence[tuple[int, ...]], device: str) -> list[torch.Tensor]:
    """Parameters of these shapes, cut from an aligned copy of a flat vector or of a row per seed; all require grad."""
    flat = torch.tensor(parameters, device=device)
    sizes = [int(np.prod(shape)) for shape in shapes]
    *rows, l = flat.shape
    require(l == sum(sizes), f"the model has {sum(sizes)} parameters, got {l}")
    leaves = []
    for part, shape in zip(flat.split(sizes, -1), shapes, strict=True):
        leaf = part.reshape(*rows, *shape).detach()
        leaves.append(leaf.requires_grad_())
    return leaves


def flat_of(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    """Gradients of all parameters, flat (l,)."""
    return torch.cat([g.reshape(-1) for g in gradients])


def device_of(name: str) -> str:
    """The device that an option ``device`` means on this machine, made ready for training and replays.

    A GPU of NVIDIA rounds the factors of float32 products to 10 bits (TF32) unless it is told not to; in convolutions
    that is the default. Replays in float64 would miss such gradients by parts in a hundred, so it is switched off, and
    so are algorithms that do not give equal bits. Where parallelism comes from jobs, torch takes one thread. ``auto``
    is cuda where there is one, else cpu: Apple's GPU (mps) has no float64, so it is taken only by name.
    """
    require_known("task.device", name, DEVICES)
    torch.set_num_threads(1)
    is_there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = "cuda" if is_there["cuda"] else "cpu"
    require(is_there[name], f"task.device={name} is not available on this machine; use auto or cpu")
    if name == "cuda":
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
    return name
