"""The events of one PyTorch profiler trace that say when a step began, computed and reduced its gradients.

A file is read as a stream, since a trace of some hundred steps may have a gigabyte. A few numbers are kept for each
event of these kinds.
"""

from __future__ import annotations

import gzip
import re
import zlib
from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import IO

import numpy as np

from gcexp.errors import DataError
from gcexp.files import used
from gcexp.schema import quoted
from gcexp_adviser.profiler.json_stream import members

_HEAD = 2**16  # bytes by which a trace is recognised
_GZIP = b"\x1f\x8b"
_SIGNS = (b'"traceEvents"', b'"distributedInfo"', b'"deviceProperties"')
_OF_OTHERS = b'"highres-ticks"'  # which programs of XLA and Chrome write beside their events
_STEP = re.compile(r"ProfilerStep#(\d{1,15})")
#: Categories of events that are not on the CPU, or no operation of torch's; as torch 1.8 to 2.13 write them.
_ELSEWHERE = frozenset(
    (
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "gpu_user_annotation",
        "cuda_runtime",
        "cuda_driver",
        "python_function",
    )
    + ("Kernel", "Memcpy", "Memset", "Runtime", "Trace")
)
_ON_GPU = frozenset(("kernel", "Kernel"))
_FLOWS = frozenset(("fwdbwd", "forward_backward"))  # from a forward operation to that of the backward pass
_BACKWARD = "autograd::engine::evaluate_function"
_FORWARD = ("DistributedDataParallel.forward", "FullyShardedDataParallel.forward")
_NOT_COMPUTING = ("Optimizer.", "enumerate(DataLoader)")
_UPDATE = "Optimizer.step#"
#: Who writes the launch of a collective, the outermost first: the operator, its record, and the backend's annotation.
OPERATOR, RECORD, ANNOTATION = range(3)
_OPERATORS = ("c10d", "_c10d_functional", "c10d_functional")
_BACKENDS = ("nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "cncl")
_ON_CPU = ("gloo:", "mpi:")
_NO_COLLECTIVES = ("wait", "init", "end", "coalesced")  # of those that they name


@dataclass(frozen=True)
class Launch:
    """The launch of a collective: begin and end in microseconds, and which kind of event tells of it."""

    began: float
    ended: float
    kind: str
    written_by: int
    on_cpu: bool = (
        False  # whether it lasts until the backend has moved the data, for which a forward pass waits
    )

    @property
    def of_gradients(self) -> bool:
        """Whether gradients are summed by collectives of its kind."""
        return self.kind.startswith(("allreduce", "reducescatter")) or self.kind == "reduce"


@dataclass
class Events:
    """What a file holds: the rank that wrote it, and events of its CPU in the order of the file, in microseconds."""

    path: Path
    rank: int = 0
    world_size: int = 0
    steps: list[tuple[int, float, float]] = field(default_factory=list)  # number, begin and end
    launches: list[Launch] = field(default_factory=list)
    forward: list[float] = field(default_factory=list)  # begins of forward passes of a wrapped model
    not_computing: list[tuple[float, float]] = field(default_factory=list)
    updates: list[float] = field(default_factory=list)  # ends of steps of an optimiser
    flows: array = field(
        default_factory=lambda: array("d")
    )  # begins of forward operations that have a backward one
    operations: array = field(default_factory=lambda: array("d"))  # begins
    backward_begins: array = field(default_factory=lambda: array("d"))
    backward_ends: array = field(default_factory=lambda: array("d"))
    has_gpu: bool = False


def is_trace(path: Path) -> bool:
    """Whether a file begins as a profiler trace does; packed or not, whatever it is called."""
    head = head_of(path)
    return head.lstrip()[:1] == b"{" and any(sign in head for sign in _SIGNS) and _OF_OTHERS not in head


def is_damaged(path: Path) -> bool:
    """Whether a file that is called a JSON file has no beginning of one."""
    return ".json" in path.suffixes[-2:] and head_of(path).lstrip()[:1] not in (b"{", b"[")


@lru_cache(maxsize=4096)
def _head_of(path: Path, *_when: int) -> bytes:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(_GZIP):
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    return head


def head_of(path: Path) -> bytes:
    """The first bytes of a file, unpacked; none where it cannot be read or unpacked."""
    try:
        stat = path.stat()
        return _head_of(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, zlib.error):
        return b""


def read_events(path: Path) -> Events:
    """The events of a profiler trace.

    Raises
    ------
    DataError
        For a file that is cut off or damaged, and one that does not say its rank.
    """
    used(path)
    events = Events(path)
    info = None
    try:
        with _opened(path) as file:
            for key, value in members(file, "traceEvents"):
                if key == "distributedInfo":
                    info = value
                elif key == "traceEvents" and isinstance(value, dict):
                    _keep(events, value)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataError(
            f"{path.name} cannot be read to its end ({reason}): it is cut off or damaged, as where the rank was ended "
            "while it wrote; copy it again, or leave this rank's files out"
        ) from None
    events.rank, events.world_size = _rank_of(info, path)
    return events


def _rank_of(info: object, path: Path) -> tuple[int, int]:
    """The rank that wrote the file and the number of ranks; the second is 0 where it does not stand there."""
    if not isinstance(info, dict) or not _is_count(info.get("rank")):
        raise DataError(
            f"{path.name} does not say which rank wrote it: it has no distributedInfo with a rank, which torch writes "
            "where the process group is initialised before the profiler starts"
        )
    rank = info["rank"]
    world_size = info.get("world_size", 0)
    if not _is_count(world_size) or 0 < world_size <= rank:
        raise DataError(
            f"{path.name} is damaged: its distributedInfo names rank {rank} of {quoted(world_size)} ranks"
        )
    return rank, world_size


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _opened(path: Path) -> IO[str]:
    """The text of a file; names in it that are no UTF-8 do not matter."""
    opened = gzip.open if _begins_as_gzip(path) else open
    return opened(path, "rt", encoding="utf-8", errors="replace")


def _begins_as_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _keep(events: Events, event: dict) -> None:
    """Keep what an event says."""
    category = event.get("cat")
    if category in _ELSEWHERE:
        events.has_gpu |= category in _ON_GPU
        return
    if category in _FLOWS:
        if event.get("ph") == "s":
            events.flows.append(_span(events, event)[0])
        return
    name = event.get("name")
    if event.get("ph") != "X" or not isinstance(name, str):
        return
    if name.startswith("aten::"):  # most of all events
        events.operations.append(_span(events, event)[0])
    elif name.startswith(_BACKWARD):
        began, ended = _span(events, event)
        events.backward_begins.append(began)
        events.backward_ends.append(ended)
    elif name.startswith("ProfilerStep#"):
        step = _STEP.fullmatch(name)
        if step:
            events.steps.append((int(step[1]), *_span(events, event)))
    elif name in _FORWARD:
        events.forward.append(_span(events, event)[0])
    elif name.startswith(_NOT_COMPUTING):
        span = _span(events, event)
        events.not_computing.append(span)
        if name.startswith(_UPDATE):
            events.updates.append(span[1])
    else:
        kind, written_by = _collective(name)
        if written_by == RECORD:
            kind = _recorded_kind(event)
        if kind:
            events.launches.append(Launch(*_span(events, event), kind, written_by, name.startswith(_ON_CPU)))


def _span(events: Events, event: dict) -> tuple[float, float]:
    """Begin and end of an event; raise `DataError` if they are no times."""
    began = _number(events, event, event.get("ts"))
    took = _number(events, event, event.get("dur", 0))
    return began, began + took


def _number(events: Events, event: dict, value: object) -> float:
    if not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise DataError(
            f"{events.path.name} is damaged: its event {quoted(event.get('name'), 80)} has no time"
        )
    return float(value)


@lru_cache(maxsize=4096)
def _collective(name: str) -> tuple[str, int]:
    """Kind of the collective that an event of this name launches, or empty, and who writes it."""
    if name == "record_param_comms":
        return "", RECORD
    library, colon, operation = name.partition(":")
    if not colon or library not in (*_OPERATORS, *_BACKENDS):
        return "", ANNOTATION
    return _kind(operation.lstrip(":")), OPERATOR if library in _OPERATORS else ANNOTATION


def _recorded_kind(event: dict) -> str:
    """Kind of the collective of a ``record_param_comms``; empty for older ones, which do not name it."""
    arguments = event.get("args")
    named = arguments.get("Collective name") if isinstance(arguments, dict) else None
    return _kind(named) if isinstance(named, str) else ""


def _kind(operation: str) -> str:
    """Kind of a collective, or empty: ``allreduce`` for ``allreduce_`` and ``all_reduce``.

    Examples
    --------
    >>> _kind("all_reduce"), _kind("allreduce_"), _kind("_reduce_scatter_base"), _kind("wait_tensor")
    ('allreduce', 'allreduce', 'reducescatterbase', '')
    """
    kind = operation.replace("_", "").lower()
    return "" if kind.startswith(_NO_COLLECTIVES) else kind


def sorted_array(numbers: array | list[float]) -> np.ndarray:
    """Numbers as an array, rising."""
    return np.sort(np.asarray(numbers, dtype=float))
