"""What each rank takes in a step, as a file of its own, and one trace of all ranks' files."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path

from gcexp.errors import DataError, UserError, require
from gcexp.files import writable, written

_UNSETTLED = 2  # first steps of DDP, which makes its buckets anew after one
_COLUMNS = ("iteration", "worker", "time", "compute", "load")


def _rank_file(folder: Path | str, rank: int) -> Path:
    return Path(folder) / f"rank-{rank:04}.csv"


def _own_rank() -> int:
    if "RANK" in os.environ:
        return int(os.environ["RANK"])
    import torch.distributed as dist

    require(dist.is_initialized(), "neither a process group nor RANK says which rank this is: give rank=")
    return dist.get_rank()


class Recorder:
    """Writes this rank's time per step to ``folder/rank-0003.csv``; ``gcexp trace join`` makes a trace of all ranks'.

    The all-reduce makes all ranks wait for a straggler, so that timers around the backward pass show equal times. This
    one stamps before it. With a DDP model ``time`` goes from the end of the last bucket's all-reduce until the next
    step's last bucket is ready: optimiser, loading, forward and backward pass. ``compute`` is its part from the step's
    first forward pass. Steps are synchronised ones; the first two are not written.

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
        self.load, self._iteration = load, 0
        self._ended = 0.0  # when the last collective did
        self._forward = 0.0  # when the step's first forward pass began, or 0
        self._rank = _own_rank() if rank is None else rank
        if model is not None:
            devices = {parameter.device.type for parameter in model.parameters()}
            require(devices == {"cpu"}, "on a GPU use recorder.step() and synchronise at the block's end")
            require(not model._comm_hooks, "the model has a communication hook already; give it as inner=")
        path = _rank_file(folder, self._rank)
        with writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._file = open(path, "x", buffering=1)  # every line is there when a process is killed
            except FileExistsError:
                raise UserError(f"{path} is there already; record into another folder") from None
        self._file.write(",".join(_COLUMNS) + "\n")
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

    def _begun(self, *_) -> None:
        self._forward = self._forward or time.perf_counter()

    def _hook(self, state, bucket):
        if not bucket.is_last():
            return self._inner(bucket)
        now = time.perf_counter()
        if self._iteration >= _UNSETTLED:
            self._write(now - self._ended, now - self._forward)
        else:
            self._iteration += 1
        return self._inner(bucket).then(self._finished)

    def _finished(self, future):
        self._ended, self._forward = time.perf_counter(), 0.0
        return future.value()

    def _write(self, seconds: float, compute: float | str) -> None:
        if not self._file.closed:
            self._file.write(f"{self._iteration},{self._rank},{seconds},{compute},{self.load:g}\n")
        self._iteration += 1


def join(folder: Path | str, output: Path | str, warm_up: int = 1) -> str:
    """Write the recordings of all ranks as one new trace without its first `warm_up` iterations; what it holds.

    What follows the last iteration that every rank has is dropped and counted: a rank may have been killed. The column
    ``compute`` is kept if every row has it.

    Raises
    ------
    DataError
        For missing ranks or iterations, a time or load that is no number > 0, and loads that differ in an iteration.
    UserError
        If `output` is there, or for a `warm_up` below 0.
    """
    folder, output = Path(folder), Path(output)
    files = sorted(folder.glob("rank-*.csv"))
    for rank, file in enumerate(files or [folder]):
        if file != _rank_file(folder, rank):
            raise DataError(f"{folder} lacks the recording of rank {rank}, {_rank_file(folder, rank).name}")
    require(warm_up >= 0, f"warm-up is a number of iterations >= 0, got {warm_up}")
    if output.exists():
        raise UserError(f"{output} is there already; name a new file")
    ranks = [_rows(rank, file) for rank, file in enumerate(files)]
    first, last = min(min(rows) for rows in ranks), min(max(rows) for rows in ranks)
    kept = range(first + warm_up, last + 1)
    if not kept:
        raise DataError(f"all ranks in {folder} have {last + 1 - first} iterations, warm-up is {warm_up}")
    for t in kept:
        if lacking := [rank for rank, rows in enumerate(ranks) if t not in rows]:
            raise DataError(f"{files[lacking[0]]} lacks iteration {t}")
        if len({rows[t][-1] for rows in ranks}) > 1:
            raise DataError(f"{folder}: the ranks' loads differ in iteration {t}")
    computed = all(rows[t][1] for rows in ranks for t in kept)
    columns = [name for name in _COLUMNS if name != "compute" or computed]
    with written(output) as temporary, open(temporary, "w", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for number, t in enumerate(kept):
            for worker, rows in enumerate(ranks):
                table.writerow(dict(zip(_COLUMNS, (number, worker, *rows[t]), strict=True)))
    dropped = sum(t > last for rows in ranks for t in rows)
    return f"{output}: {len(kept)} iterations of {len(files)} workers; {dropped} rows behind the last are dropped"


def _rows(rank: int, file: Path) -> dict[int, list[str]]:
    """Time, compute and load of each iteration; a last line that was cut when the rank was killed is dropped."""
    try:
        head, *lines = file.read_text("utf-8").rpartition("\n")[0].split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read ({error})") from None
    rows: dict[int, list[str]] = {}
    for number, line in enumerate(lines, start=2):
        try:
            iteration, worker, *cells = line.split(",")
            times = [float(cell) for cell in cells if cell]
            fine = len(cells) == 3 and cells[0] and int(worker) == rank and int(iteration) not in rows
            rows[int(iteration)] = cells
        except ValueError:
            fine = False
        if not (fine and all(0 < time < inf for time in times)):
            wanted = f"a new iteration of rank {rank} with numbers > 0"
            raise DataError(f"{file}: line {number} is {line!r}, wanted is {wanted}: {','.join(_COLUMNS)}")
    if head != ",".join(_COLUMNS) or not rows:
        raise DataError(f"{file} is no recording with columns {','.join(_COLUMNS)} and an iteration")
    return rows
