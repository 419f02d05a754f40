"""What a coded run cannot work with: each is refused by name, before it could hang or go wrong."""

from __future__ import annotations

import warnings

import torch.distributed as dist
from torch import nn
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parallel import DistributedDataParallel

from gcexp.errors import require, require_known
from gcexp.schemes import Fastest, Scheme

FORMS = ("star", "ring")
LATE = ("finish", "every")


def check_model(model) -> None:
    """Refuse a model whose training needs a collective of all ranks in every step, or has no gradient buckets."""
    require(
        isinstance(model, DistributedDataParallel),
        f"a code takes part in the gradient buckets of DistributedDataParallel, which {type(model).__name__} is not",
    )
    require(
        model.static_graph or not model.find_unused_parameters,
        "find_unused_parameters=True all-reduces which parameters were used, in every step: use static_graph=True",
    )
    require(
        not (model.forward_sync_buffers and any(True for _ in model.module.buffers())),
        "the model has buffers that rank 0 broadcasts in every forward pass: use forward_sync_buffers=False (or "
        "broadcast_buffers=False)",
    )
    require(not model._comm_hooks, "the model has another communication hook already, and takes only one")
    for module in model.modules():
        require(
            not isinstance(module, nn.SyncBatchNorm),
            "SyncBatchNorm exchanges statistics among all ranks in every forward pass",
        )
    devices = {parameter.device.type for parameter in model.parameters()}
    require(devices == {"cpu"}, f"parameters on the CPU are coded so far, these are on {', '.join(sorted(devices))}")
    group, world = model.process_group.size(), dist.get_world_size()
    require(group == world, f"the model's process group has {group} of the world's {world} ranks: all are needed")


def check_scheme(scheme: Scheme, ranks: int, form: str, late: str) -> None:
    """Refuse a scheme that a backward pass cannot follow."""
    code, wait = scheme.code, scheme.wait
    require_known("form", form, FORMS)
    require(late not in ("stop", "chunk"), f"late={late}: a backward pass cannot be stopped; take finish or every")
    require_known("late", late, LATE)
    require(code.n == ranks, f"{code!r} has {code.n} workers, the process group {ranks} ranks")
    require(
        bool((code.messages == 1).all()),
        f"{code!r} has up to {code.messages.max()} messages per worker: a backward pass cannot be cut, so each worker "
        "sends one",
    )
    require(code.blocks == 1, f"{code!r} cuts gradients into blocks, which needs each partition's gradient by itself")
    require(code.encoding.dtype.kind != "c", f"{code!r} has complex messages, and a gradient is real")
    for name in ("placement", "loads"):
        part = getattr(scheme, name)
        require(part is None, f"{name} {part!r} changes what a worker computes, and here every rank keeps its share")
    require(not getattr(wait, "anew", False), "wait=restart starts all workers anew, which running ranks cannot")
    require(not scheme.bound, f"{wait!r} only bounds durations: nothing is decoded from what it hears")
    require(
        form == "star" or isinstance(wait, Fastest),
        f"form=ring waits for a number of ranks, wait=fastest; {wait!r} needs form=star",
    )


def warn_of_mixtures(model, scheme: Scheme) -> None:
    """Warn of layers whose partition gradients are not the same on all ranks that hold the partition."""
    if scheme.code.load.max(initial=0) < 2:
        return
    modules = list(model.modules())
    if any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in modules):
        warnings.warn(
            "BatchNorm normalises over all samples of a rank, so ranks do not compute the same gradient of a shared "
            "partition: what is decoded is near the full gradient, not equal to it",
            stacklevel=3,
        )
    if any(isinstance(module, _DropoutNd) and module.p > 0 for module in modules):
        warnings.warn(
            "dropout draws on each rank by itself, so what is decoded mixes several draws; with coded.generator the "
            "holders of a partition draw the same",
            stacklevel=3,
        )


def refuse_zero(optimizer, *_) -> None:
    """Hook of every optimiser's step: ZeRO's is a collective."""
    names = {kind.__name__ for kind in type(optimizer).__mro__}
    if "ZeroRedundancyOptimizer" in names:
        raise RuntimeError("ZeroRedundancyOptimizer broadcasts parameters among all ranks in every step: a late rank "
                           "would hold all others up")  # fmt: skip


def refuse_join(model, *_) -> None:
    """Hook of every forward pass: in Join's context a rank that has ended shadows the others' collectives."""
    if model._join_config.enable:
        raise RuntimeError("Join shadows the collectives of ranks that have ended, and a coded run has none")
