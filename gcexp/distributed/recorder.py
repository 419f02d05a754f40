"""What each rank takes in a step, as a file of its own, and one trace of all ranks' files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gcexp.errors import UserError, require
from gcexp.files import writable, written
from gcexp.traces.record import RECORDED, rank_file

_UNSETTLED = 2  # first steps of DDP, which makes its buckets anew after one


class Recorder:
    """Writes this rank's time per step to ``folder/rank-0003.csv``; ``gcexp trace import`` makes a trace of all ranks'.

    The all-reduce makes all ranks wait for a straggler, so that timers around the backward pass show equal times. This
    one stamps before it. With a DDP model ``time`` goes from the end of the last bucket's all-reduce until the next
    step's last bucket is ready: optimiser, loading, forward and backward pass. ``compute`` is its part from the step's
    first forward pass for training: one under `torch.no_grad` or in evaluation mode is none, unless the step has no
    other in training mode. Steps are synchronised ones; the first two are not written.

    Parameters
    ----------
    folder : path
        Of all ranks' files; one that is there is not written over.
    model : DistributedDataParallel, optional
        On the CPU; without one, put what precedes the collective into ``with recorder.step():``.
    rank : int, optional
        Default: the variable RANK, else that of the process group.
    load : float
        Of a step, where 1 is a share of an uncoded run. It may be set between steps, as to 0.5 for half batches.
    inner : callable, optional
        A communication hook, its state bound, in place of the all-reduce: ``partial(fp16_compress_hook, None)``.

    Raises
    ------
    UserError
        For a model that has a hook or is not on the CPU, an unknown rank, and a file that is there.

    Examples
    --------
    >>> import tempfile
    >>> recorder = Recorder(folder := tempfile.mkdtemp(), rank=0)
    >>> with recorder.step():
    ...     time.sleep(0.001)
    >>> recorder.close()
    >>> len((Path(folder) / "rank-0000.csv").read_text().splitlines())
    2
    """

    def __init__(
        self, folder: Path | str, *, model=None, rank: int | None = None, load: float = 1, inner: Callable | None = None
    ):  # fmt: skip
        self.load = load
        self._iteration = 0
        self._ended = 0.0  # when the last collective did
        self._forward = 0.0  # when the step's first forward pass in training mode began, or 0
        self._evaluated = 0.0  # the same in evaluation mode, in which a loop may train as well
        self._rank = _own_rank() if rank is None else rank
        if model is not None:
            devices = {parameter.device.type for parameter in model.parameters()}
            require(devices == {"cpu"}, "on a GPU use recorder.step() and synchronise at the block's end")
            require(not model._comm_hooks, "the model has a communication hook already; give it as inner=")
        path = Path(folder) / rank_file(self._rank)
        with writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._file = open(path, "x", buffering=1)  # every line is there when a process is killed
            except FileExistsError:
                raise UserError(f"{path} is there already; record into another folder") from None
        self._file.write(",".join(RECORDED) + "\n")
        if model is not None:
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

            self._inner = inner or partial(allreduce_hook, model.process_group)
            model.register_forward_pre_hook(self._begun)
            model.register_comm_hook(None, self._hook)

    @contextmanager
    def step(self) -> Iterator[None]:
        """A step of a loop without DDP: its block ends before the collective, and what is outside is not measured."""
        began = time.perf_counter()
        yield
        self._write(time.perf_counter() - began, "")

    def close(self) -> None:
        """Close the file; a hooked model goes on unrecorded."""
        self._file.close()

    def _begun(self, model, *_) -> None:
        """Hook of every forward pass: one without gradients computes for no step."""
        import torch

        if not torch.is_grad_enabled():
            return
        now = time.perf_counter()
        if model.module.training:
            self._forward = self._forward or now
        else:
            self._evaluated = self._evaluated or now

    def _hook(self, state, bucket):
        """DDP's communication hook: the step's last bucket is ready before its collective begins."""
        if not bucket.is_last():
            return self._inner(bucket)
        now = time.perf_counter()
        if self._iteration >= _UNSETTLED:
            began = self._forward or self._evaluated
            self._write(now - self._ended, now - began)
        else:
            self._iteration += 1
        return self._inner(bucket).then(self._finished)

    def _finished(self, future):
        """The last collective of a step has ended, and the next step begins."""
        self._forward = 0.0
        self._evaluated = 0.0
        self._ended = time.perf_counter()
        return future.value()

    def _write(self, seconds: float, compute: float | str) -> None:
        if not self._file.closed:
            self._file.write(f"{self._iteration},{self._rank},{seconds},{compute},{self.load:g}\n")
        self._iteration += 1


def _own_rank() -> int:
    """The rank of this process: the variable RANK, else that of the process group."""
    if "RANK" in os.environ:
        return int(os.environ["RANK"])
    import torch.distributed as dist

    require(dist.is_initialized(), "no process group nor RANK says which rank this is: give rank=")
    return dist.get_rank()


def join(folder: Path | str, output: Path | str, warm_up: int = 1) -> str:
    """Write the recordings of all ranks as one new trace without its first `warm_up` iterations; what it holds.

    See `gcexp.traces.recordings.joined`, which also says what is refused; an `output` that is there already is, too.
    """
    from gcexp.traces.recordings import joined  # with pandas, which ranks do not need

    require(warm_up >= 0, f"warm-up is a number of iterations >= 0, got {warm_up}")
    output = Path(output)
    require(not output.exists(), f"{output} is there already; name a new file")
    table, told = joined(Path(folder), warm_up)
    with written(output) as temporary:
        table.to_csv(temporary, index=False)
    iterations = table["iteration"].nunique()
    ranks = table["worker"].nunique()
    first = f"{output}: {iterations} iterations of {ranks} workers"
    return "; ".join([first, *told])
