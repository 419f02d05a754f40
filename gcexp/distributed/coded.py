"""A code in a loop with `torch.nn.parallel.DistributedDataParallel`."""

from __future__ import annotations

import hashlib
import secrets
import time
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gcexp.distributed import refusals
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.ring import Referee, Ring
from gcexp.distributed.star import Collector, Sender
from gcexp.distributed.wire import Seat
from gcexp.errors import require
from gcexp.schemes import Scheme
from gcexp.seeding import rng

_THIN = 2  # samples of a batch that only moves the loop on; batch normalisation refuses one
_JUDGED = 20  # steps after which computing and exchanging are compared


@dataclass(frozen=True)
class Step:
    """One step as a rank saw it; on rank 0 also who was `heard` (n,), and `coefficients` (k,) and `noise_gain`.

    Of `samples` a rank computes 0 where it replays an update that was decided without it. `seconds` go from step to
    step, on rank 0 from decision to decision: an iteration's duration as the simulated clock has it.
    """

    step: int
    samples: int
    seconds: float
    heard: np.ndarray | None = None
    coefficients: np.ndarray | None = None
    noise_gain: float | None = None


class Coded:
    """A coded gradient hook on a DDP model; every rank makes one, before the first forward pass.

    After ``backward`` every rank's ``.grad`` is sum_i c_i g_i over the partitions i of the global batch: g_i is the
    gradient of the partition's part of the mean loss, c what the code decodes from the first ranks that satisfy the
    waiting rule. An exact code has c = 1. Messages are float32, and all ranks get the same bytes: replicas stay equal.

    Parameters
    ----------
    model : DistributedDataParallel
    scheme : Scheme
        A real code with one message per worker and as many workers as ranks, and a waiting rule.
    form : {"star", "ring"}
        Messages to rank 0, for every rule; or for `Fastest` an all-reduce of the ranks that are heard: large models.
    late : {"finish", "every"}
        A rank that is behind computes nothing for steps that are decided already, or computes every step.
    bind : str
        Address of this host on which ranks listen.
    patience, linger : float
        Seconds of silence after which an error names the silent ranks, and for which `close` waits for late ranks.
    most_kept : int
        Bytes of answers that are kept for late ranks; one that is further behind must leave.

    Raises
    ------
    ParameterError
        For a model or a scheme with which this cannot work.
    RuntimeError
        From ``backward``, where ranks are gone or silent and the rule cannot be satisfied without them.

    References
    ----------
    Tandon, Lei, Dimakis, Karampatziakis: Gradient coding, 2017.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> from gcexp.schemes import Fastest, Scheme
    >>> Coded(torch.nn.Linear(2, 1), Scheme(CyclicRepetition(n=4, s=1), Fastest(s=1)))
    Traceback (most recent call last):
    gcexp.errors.ParameterError: a code is for DistributedDataParallel, got a Linear
    """

    def __init__(
        self, model, scheme: Scheme, *, form: str = "star", late: str = "finish", bind: str = "127.0.0.1",
        patience: float = 30.0, linger: float = 30.0, most_kept: int = 2**28,
    ):  # fmt: skip
        refusals.check_model(model)
        refusals.check_scheme(scheme, model.process_group.size(), form, late)
        self.steps: list[Step] = []
        self._code, self._late, self._seed = scheme.code, late, 0
        self._issued: deque[np.ndarray] = deque()  # weights of the samples of batches, this step's first
        self._taken = 0  # of the first of them
        self._buckets: list[tuple[torch.Tensor, torch.futures.Future]] = []
        self._ended = time.monotonic()
        self._computing: list[float] = []
        self._rank, group, self._linger = dist.get_rank(), model.process_group, linger
        length = sum(p.numel() for p in model.parameters() if p.requires_grad)
        same = repr((scheme.code, scheme.wait, length, form, scheme.code.encoding.toarray().tolist()))
        digest = hashlib.sha256(same.encode()).digest()
        sent = torch.tensor(list(secrets.token_bytes(32) + digest), dtype=torch.uint8)
        dist.broadcast(sent, 0, group=group)
        token, told = bytes(sent[:32].tolist()), bytes(sent[32:].tolist())
        require(told == digest, f"rank {self._rank} has not the scheme, form and model of rank 0")
        seat = Seat(self._rank, length, token, bind, patience, max(2, most_kept // (4 * length)))
        name = f"gcexp/{hashlib.sha256(token).hexdigest()[:16]}"  # of keys that no other exchange has
        store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
        self._decisions = decisions = Decisions(scheme)
        rank_0 = Collector if form == "star" else Referee
        self._end = Sender(store, seat) if self._rank else rank_0(store, decisions, seat)
        answering = self._end if form == "star" else Ring(store, decisions, seat, self._end)
        self._exchange = answering.exchange
        dist.barrier(group=group)  # or rank 0 might end before the others have found it
        before_forward = model.register_forward_pre_hook(refusals.refuse_join)
        self._hooks = before_forward, register_optimizer_step_pre_hook(refusals.refuse_zero)
        model.register_comm_hook(None, self._hook)

    def batches(
        self, samples: int, batch_size: int, *, seed: int = 0, shuffle: bool = True, drop_last: bool = False
    ) -> Batches:
        """A batch sampler for a DataLoader: this rank's samples of every global batch; each pass is the next epoch.

        A global batch is cut by `numpy.array_split` into k partitions, and a rank gets those that its code gives it, in
        order. A last batch of at least k samples is used, with weights by its own size; a smaller one is dropped.
        """
        k = self._code.k
        inside = k <= batch_size <= samples
        require(inside, f"batch_size is from k={k} to samples={samples}, got {batch_size}")
        self._seed = seed
        return Batches(self, samples, batch_size, seed, shuffle, drop_last)

    def loss(self, per_sample: torch.Tensor) -> torch.Tensor:
        """The weighted sum of some samples' losses (N,), whose gradient is this rank's message.

        Samples come in the sampler's order: all of a step's at once, or in parts where gradients are accumulated.
        """
        shape, count = tuple(per_sample.shape), per_sample.numel()
        require(len(shape) == 1, f"the loss takes one number per sample, (N,), got {shape}")
        left = self._issued[0][self._taken :] if self._issued else np.zeros(0)
        told = f"step {len(self.steps)}: the loss sees {count} samples, {len(left)} of coded.batches are left"
        require(count <= len(left), told)
        self._taken += count
        kind = torch.promote_types(per_sample.dtype, torch.float32)
        return (torch.from_numpy(left[:count]).to(kind) * per_sample.to(kind)).sum()

    def generator(self, partition: int) -> torch.Generator:
        """Random numbers of a partition in this step, the same on all ranks that hold it: for dropout, augmentation."""
        stream = rng(self._seed, "gcexp.distributed", len(self.steps), partition)
        return torch.Generator().manual_seed(int(stream.integers(2**63)))

    def close(self) -> None:
        """End after the last step; late ranks get their answers for `linger` seconds."""
        for hook in self._hooks:
            hook.remove()
        self._end.close(self._linger)

    def _issue(self, step: int, batch: np.ndarray) -> list[int]:
        """Samples of a global batch for this rank; their weights wait for `loss`."""
        code = self._code
        shares = code.encoding[[int(np.argsort(code.owner)[self._rank])]].toarray()[0] / len(batch)
        parts, mine = np.array_split(batch, code.k), np.flatnonzero(code.assignment[self._rank])
        chosen, weights = batch[:_THIN], np.zeros(len(batch[:_THIN]))
        if len(mine) and not (self._late == "finish" and step <= self._end.latest):
            chosen = np.concatenate([parts[i] for i in mine])
            weights = np.concatenate([np.full(len(parts[i]), shares[i]) for i in mine])
        self._issued.append(weights)
        return chosen.tolist()

    def _hook(self, state, bucket):
        """DDP's communication hook: buckets wait for the last one, then one message has all of them."""
        future: torch.futures.Future = torch.futures.Future()
        self._buckets.append((bucket.buffer(), future))
        if bucket.is_last():
            self._send()
        return future

    def _send(self) -> None:
        buckets, self._buckets = self._buckets, []
        step, began = len(self.steps), self._ended
        self._computing.append(time.monotonic() - began)
        weights = self._issued.popleft() if self._issued else np.zeros(0)
        taken, self._taken = self._taken, 0
        if taken != len(weights) or not taken:
            raise RuntimeError(f"step {step}: the loss saw {taken} of this rank's {len(weights)} samples")
        message = None
        if step > self._end.latest:
            message = torch.cat([buffer.flatten().to(torch.float32) for buffer, _ in buckets]).numpy()
        # A copy, since torch wants to be able to write to what it gets.
        answer = np.frombuffer(self._exchange(step, message).content, np.float32).copy()
        parts = torch.from_numpy(answer).split([buffer.numel() for buffer, _ in buckets])
        for (buffer, future), part in zip(buckets, parts, strict=True):
            future.set_result(buffer.copy_(part.view_as(buffer)))
        self._ended = time.monotonic()
        samples = len(weights) if weights.any() else 0
        if not isinstance(self._end, Collector):
            self.steps.append(Step(step, samples, self._ended - began))
            return
        heard, seconds = self._end.decided.pop(step)
        _, coefficients, gain = self._decisions.decoded(heard)
        self.steps.append(Step(step, samples, seconds, np.array(heard), coefficients, gain))
        busy = self._end.busy
        if step == _JUDGED and busy and median(busy) > median(self._computing):
            told = f"messages take {median(busy):.3g} s of a step, computing {median(self._computing):.3g} s"
            warnings.warn(f"{told}: form='ring' moves less through rank 0", stacklevel=2)


class Batches:
    """Samples of every global batch for this rank; see `Coded.batches`."""

    def __init__(self, coded: Coded, samples: int, size: int, seed: int, shuffle: bool, drop_last: bool):
        self._coded, self._size, self._seed, self._shuffle, self._epoch = coded, size, seed, shuffle, 0
        rest = samples % size
        self._samples, self._used = samples, samples - rest * (drop_last or rest < coded._code.k)

    def __len__(self) -> int:
        return -(-self._used // self._size)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        self._coded._issued.clear()  # what was fetched ahead of an earlier pass counts no more
        first, order = len(self._coded.steps), np.arange(self._samples)
        if self._shuffle:
            order = rng(self._seed, "data_order", epoch).permutation(self._samples)
        for place, start in enumerate(range(0, self._used, self._size)):
            batch = order[start : min(start + self._size, self._used)]
            yield self._coded._issue(first + place, batch)
