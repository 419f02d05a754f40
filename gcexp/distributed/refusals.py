"""What a coded run cannot work with: each is refused by name, before it could hang or go wrong."""

from __future__ import annotations

import warnings

import torch
import torch.distributed as dist
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parallel import DistributedDataParallel

from gcexp.codes import Code
from gcexp.codes.accuracy import require_accurate
from gcexp.errors import require, require_known
from gcexp.schema import quoted
from gcexp.schemes import Fastest, Scheme
from gcexp.schemes.limits import is_relative


def check_model(model) -> None:
    """Refuse a model that needs a collective of all ranks in every step, or has no gradient buckets."""
    wrapped = isinstance(model, DistributedDataParallel)
    require(wrapped, f"a code is for DistributedDataParallel, got a {type(model).__name__}")
    unused = model.find_unused_parameters and not model.static_graph
    require(not unused, "find_unused_parameters=True is an all-reduce in every step: use static_graph=True")
    has_buffers = any(True for _ in model.module.buffers())
    # Torch has renamed the option, and newer versions still answer to the old attribute.
    option = "forward_sync_buffers" if hasattr(model, "forward_sync_buffers") else "broadcast_buffers"
    synced = model.broadcast_buffers and has_buffers
    require(not synced, f"buffers are broadcast in every forward pass: use {option}=False")
    require(not model._comm_hooks, "the model has a communication hook already, and DDP takes only one")
    devices = sorted({parameter.device.type for parameter in model.parameters()} - {"cpu"})
    require(not devices, f"only parameters on the CPU are coded so far, and some are on {devices}")
    group = model.process_group.size()
    world = dist.get_world_size()
    require(group == world, f"all ranks are needed: the model's process group has {group} of {world}")
    if any(isinstance(layer, _BatchNorm) for layer in model.modules()):
        told = "BatchNorm makes holders of a partition differ: the decoded gradient is near the full one"
        warnings.warn(told, stacklevel=3)


def check_scheme(scheme: Scheme, ranks: int, form: str, late: str) -> None:
    """Refuse a scheme that a backward pass cannot follow."""
    is_built = isinstance(scheme, Scheme)
    require(is_built, f"a model is coded by an object as Scheme(code, wait), got {quoted(scheme)}")
    code, wait = scheme.code, scheme.wait
    require_known("form", form, ("star", "ring"))
    if form == "ring":
        copies = hasattr(dist.Store, "clone")
        told = f"form=ring copies torch's store, which torch {torch.__version__} cannot; take form=star"
        require(copies, told)
    stops = late in ("stop", "chunk")
    require(not stops, f"late={late}: a backward pass cannot be stopped; take finish or every")
    require_known("late", late, ("finish", "every"))
    require(code.n == ranks, f"{code!r} has {code.n} workers, the process group {ranks} ranks")
    least = code.messages.min()
    most = code.messages.max()
    require(least == most == 1, f"{code!r} has {most} messages per worker, a backward pass gives one")
    require(code.blocks == 1, f"{code!r} cuts gradients into blocks, and a backward pass sums whole ones")
    require(code.encoding.dtype.kind != "c", f"{code!r} has complex messages, and a gradient is real")
    mover = scheme.placement or scheme.loads
    require(not mover, f"{mover!r} changes what workers compute, and here every rank keeps its partitions")
    anew = getattr(wait, "anew", False)
    require(not anew, "wait=restart starts all workers anew, which running ranks cannot")
    require(not scheme.bound, f"{wait!r} is a bound of durations: nothing is decoded from what it hears")
    clock_only = "the scheme declares decodes: false, so nothing is decoded from what the master hears"
    require(scheme.decodes, clock_only)
    require(not scheme.lag, f"{wait!r} decodes in later steps, but here each step ends with its own gradient")
    relative = f"{wait!r} has a limit that is a multiple of a median time, and before they run real workers have none"
    require(not is_relative(wait), f"{relative}: give seconds")
    counts = form == "star" or isinstance(wait, Fastest)
    require(counts, f"form=ring waits for a number of ranks, wait=fastest; {wait!r} needs form=star")


def check_rounding(code: Code) -> None:
    """Refuse a code that the rounding of float32 messages spoils at its size, and warn of one that it makes inexact."""
    require_accurate(code, unit=2.0**-24)


def warn_of_dropout(code: Code, model) -> None:
    """Warn where ranks that hold the same partition would draw different masks."""
    is_shared = code.assignment.sum(0).max() > 1
    if is_shared and any(_drops(layer) for layer in model.modules()):
        told = (
            "dropout draws another mask on each rank that holds a partition, so that what is decoded is not the sum "
            "of the partitions' gradients: draw the masks of a partition from coded.generator(partition)"
        )
        warnings.warn(told, stacklevel=3)


def _drops(layer: torch.nn.Module) -> bool:
    """Whether a layer draws masks while it trains."""
    if isinstance(layer, _DropoutNd):
        return layer.p > 0
    share = getattr(layer, "dropout", 0)  # of recurrent layers and attention
    return isinstance(share, float) and share > 0


def refuse_zero(optimizer, *_) -> None:
    """Hook of every optimiser's step: ZeRO's is a collective."""
    if "ZeroRedundancyOptimizer" in {kind.__name__ for kind in type(optimizer).__mro__}:
        raise RuntimeError("ZeroRedundancyOptimizer broadcasts parameters among all ranks in every step")


def refuse_join(model, *_) -> None:
    """Hook of every forward pass: in Join's context ranks that have ended shadow the others' collectives."""
    if model._join_config.enable:
        raise RuntimeError("Join shadows the collectives of ranks that have ended, and a coded run has none")
