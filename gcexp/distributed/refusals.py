"""What a coded run cannot work with: each is refused by name, before it could hang or go wrong."""

from __future__ import annotations

import warnings

import torch.distributed as dist
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel

from gcexp.errors import require, require_known
from gcexp.schemes import Fastest, Scheme


def check_model(model) -> None:
    """Refuse a model that needs a collective of all ranks in every step, or has no gradient buckets."""
    require(
        isinstance(model, DistributedDataParallel),
        f"a code works on the gradient buckets of DistributedDataParallel, and the model is a {type(model).__name__}",
    )
    require(
        model.static_graph or not model.find_unused_parameters,
        "find_unused_parameters=True all-reduces which parameters were used, in every step: use static_graph=True",
    )
    require(
        not (model.forward_sync_buffers and any(True for _ in model.module.buffers())),
        "rank 0 broadcasts the model's buffers in every forward pass: use forward_sync_buffers=False, or "
        "broadcast_buffers=False",
    )
    require(not model._comm_hooks, "the model has a communication hook already, and DDP takes only one")
    layers = list(model.modules())
    require(
        not any(isinstance(layer, nn.SyncBatchNorm) for layer in layers),
        "SyncBatchNorm exchanges statistics among all ranks in every forward pass",
    )
    devices = sorted({parameter.device.type for parameter in model.parameters()} - {"cpu"})
    require(not devices, f"only parameters on the CPU are coded so far, and some are on {devices}")
    group, world = model.process_group.size(), dist.get_world_size()
    require(
        group == world, f"the model's process group has {group} of the world's {world} ranks: all are needed"
    )
    if any(isinstance(layer, _BatchNorm) for layer in layers):
        warnings.warn("BatchNorm normalises all samples of a rank together, so that holders of a partition differ and "
                      "the decoded gradient is only near the full one", stacklevel=3)  # fmt: skip


def check_scheme(scheme: Scheme, ranks: int, form: str, late: str) -> None:
    """Refuse a scheme that a backward pass cannot follow."""
    code, wait = scheme.code, scheme.wait
    require_known("form", form, ("star", "ring"))
    require(
        late not in ("stop", "chunk"), f"late={late}: a backward pass cannot be stopped; take finish or every"
    )
    require_known("late", late, ("finish", "every"))
    require(code.n == ranks, f"{code!r} has {code.n} workers, the process group {ranks} ranks")
    require(
        bool((code.messages == 1).all()),
        f"{code!r} has up to {code.messages.max()} messages per worker, and a backward pass gives one",
    )
    require(
        code.blocks == 1,
        f"{code!r} cuts gradients into blocks, which takes each partition's gradient by itself",
    )
    require(code.encoding.dtype.kind != "c", f"{code!r} has complex messages, and a gradient is real")
    for moved in (scheme.placement, scheme.loads):
        require(
            moved is None, f"{moved!r} changes what workers compute, and here every rank keeps its partitions"
        )
    require(
        not getattr(wait, "anew", False), "wait=restart starts all workers anew, which running ranks cannot"
    )
    require(not scheme.bound, f"{wait!r} is a bound of durations: nothing is decoded from what it hears")
    require(
        form == "star" or isinstance(wait, Fastest),
        f"form=ring waits for a number of ranks, with wait=fastest; {wait!r} needs form=star",
    )


def refuse_zero(optimizer, *_) -> None:
    """Hook of every optimiser's step: ZeRO's is a collective."""
    if "ZeroRedundancyOptimizer" in {kind.__name__ for kind in type(optimizer).__mro__}:
        raise RuntimeError("ZeroRedundancyOptimizer broadcasts parameters among all ranks in every step")


def refuse_join(model, *_) -> None:
    """Hook of every forward pass: in Join's context ranks that have ended shadow the others' collectives."""
    if model._join_config.enable:
        raise RuntimeError("Join shadows the collectives of ranks that have ended, and a coded run has none")
