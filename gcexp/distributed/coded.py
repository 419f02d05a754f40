"""A code in a loop with `torch.nn.parallel.DistributedDataParallel`."""

from __future__ import annotations

import hashlib
import secrets
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gcexp.distributed import refusals
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.meeting import Meeting
from gcexp.distributed.ring import Referee, Ring
from gcexp.distributed.star import Collector, Sender
from gcexp.distributed.wire import Said, Seat
from gcexp.errors import UserError, require
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
        Seconds of silence after which an error names the silent ranks, or those that have not come when this is made,
        and for which `close` waits for late ranks.
    most_kept : int
        Bytes of answers that are kept for late ranks; one that is further behind must leave.

    Raises
    ------
    ParameterError
        For a model or a scheme with which this cannot work, also where rounding of the messages would move the decoded
        gradient by more than 1 %. From .01 % on it is warned of.
    RankError
        On every rank that waited, where another one has not come for `patience` seconds, has another scheme, form or
        model, or was refused something. Uncaught it ends the process with exit code 2.
    RuntimeError
        If rank 0 does not let this rank in. From ``backward``, where ranks are gone or silent and the rule cannot be
        satisfied without them, where ranks have different batches, and where the loss has not seen the whole batch.

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
        meeting = Meeting() if dist.is_initialized() else None
        try:
            refusals.check_model(model)
            group = model.process_group
            refusals.check_scheme(scheme, group.size(), form, late)
            refusals.check_rounding(scheme.code)
        except UserError as error:
            if meeting:  # where the others are waiting
                meeting.leave(error)
            raise
        refusals.warn_of_dropout(scheme.code, model)
        self.steps: list[Step] = []
        self._code = scheme.code
        self._static_graph = model.static_graph
        self._late = late
        self._linger = linger
        self._seed = 0
        self._rank = dist.get_rank()
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        length = sum(parameter.numel() for parameter in self._parameters)

        # Of the step that is being made, and of batches that were loaded ahead.
        # The weights of each batch's samples and which global batch it is, this step's first.
        self._issued: deque[tuple[np.ndarray, str]] = deque()
        self._taken = 0  # of the samples of the first of them, how many the loss has seen
        # What earlier steps left in each parameter's .grad, and how many samples had been taken before the pass that
        # found it there.
        self._earlier: dict[torch.Tensor, torch.Tensor] = {}
        self._earlier_of: int | None = None
        self._buckets: list[_Bucket] = []  # DDP's, in the order in which they are filled
        self._ended = time.monotonic()  # when the last step's exchange did
        self._computing: list[float] = []  # seconds of each step before its exchange

        if meeting:
            meeting.wait(_spelled(scheme, length, form), patience)
        token = _token_of_rank_0(group)
        most_answers = max(2, most_kept // (4 * length))
        seat = Seat(self._rank, length, token, bind, patience, most_answers)
        keys = f"gcexp/{hashlib.sha256(token).hexdigest()[:16]}"  # which no other exchange has
        store = dist.PrefixStore(keys, dist.distributed_c10d._get_default_store())
        self._decisions = Decisions(scheme)
        self._end: Collector | Sender
        if self._rank:
            self._end = Sender(store, seat)
        elif form == "star":
            self._end = Collector(store, self._decisions, seat)
        else:
            self._end = Referee(store, self._decisions, seat)
        self._exchange: Callable[..., Said] = self._end.exchange
        if form == "ring":
            self._exchange = Ring(store, self._decisions, seat, self._end).exchange
        dist.barrier(group=group)  # or rank 0 might end before the others have found it

        before_forward = model.register_forward_pre_hook(refusals.refuse_join)
        before_update = register_optimizer_step_pre_hook(refusals.refuse_zero)
        self._hooks = before_forward, before_update
        model.register_comm_hook(None, self._hook)

    def batches(
        self, samples: int, batch_size: int, *, seed: int = 0, shuffle: bool = True, drop_last: bool = False
    ) -> Batches:
        """A batch sampler for a DataLoader: this rank's samples of every global batch; each pass is the next epoch.

        A global batch is cut by `numpy.array_split` into k partitions, and a rank gets those that its code gives it, in
        order. A last batch of at least k samples is used, with weights by its own size; a smaller one is dropped. All
        ranks give the same arguments: ``backward`` raises on every rank where a message is of another global batch.
        """
        k = self._code.k
        inside = k <= batch_size <= samples
        require(inside, f"batch_size is from k={k} to samples={samples}, got {batch_size}")
        require(0 <= seed < 2**64, f"seed is a whole number from 0 to 2**64 - 1, got {seed}")
        self._seed = seed
        return Batches(self, samples, batch_size, seed, shuffle, drop_last)

    def loss(self, per_sample: torch.Tensor) -> torch.Tensor:
        """The weighted sum of some samples' losses (N,), whose gradient is this rank's message.

        Samples come in the sampler's order: all of a step's at once, or in parts whose gradients are accumulated in
        ``model.no_sync()``.
        """
        shape = tuple(per_sample.shape)
        require(len(shape) == 1, f"the loss takes one number per sample, (N,), got {shape}")
        taken = self._taken
        count = len(per_sample)
        left = self._issued[0][0][taken:] if self._issued else np.zeros(0)
        told = f"step {len(self.steps)}: the loss sees {count} samples, {len(left)} of coded.batches are left"
        require(count <= len(left), f"{told}; in model.no_sync() it sees parts of one batch")
        self._taken += count
        kind = torch.promote_types(per_sample.dtype, torch.float32)
        weights = torch.from_numpy(left[:count]).to(kind)
        weighted_sum = (weights * per_sample.to(kind)).sum()
        if weighted_sum.requires_grad:
            weighted_sum.register_hook(partial(self._keep_earlier, taken))
        return weighted_sum

    def generator(self, partition: int) -> torch.Generator:
        """Random numbers of a partition in this step, the same on all ranks that hold it: for dropout, augmentation."""
        stream = rng(self._seed, "gcexp.distributed", len(self.steps), partition)
        return torch.Generator().manual_seed(int(stream.integers(2**63)))

    def close(self) -> None:
        """End after the last step; late ranks get their answers for `linger` seconds."""
        for hook in self._hooks:
            hook.remove()
        self._end.close(self._linger)

    def _issue(self, step: int, batch: np.ndarray, name: str) -> list[int]:
        """Samples of a global batch for this rank; their weights wait for `loss`, with the name of the batch."""
        code = self._code
        held = np.flatnonzero(code.assignment[self._rank])
        decided = self._late == "finish" and step <= self._end.latest
        if len(held) and not decided:
            row = int(np.argsort(code.owner)[self._rank])
            shares = code.encoding[[row]].toarray()[0] / len(batch)
            parts = np.array_split(batch, code.k)
            chosen = np.concatenate([parts[i] for i in held])
            weights = np.concatenate([np.full(len(parts[i]), shares[i]) for i in held])
        else:
            chosen = batch[:_THIN]
            weights = np.zeros(len(chosen))
        self._issued.append((weights, name))
        return chosen.tolist()

    def _keep_earlier(self, taken: int, _) -> None:
        """Keep what stands in ``.grad`` when a step's first backward pass begins, before it adds anything.

        A loop that makes several steps without ``zero_grad`` has the sum of the steps before there. It is no part of
        this rank's message: decoded, it would be multiplied by the sum of the weights. `taken` says which part of the
        samples the pass is for. If the same part comes again, nothing was added the first time, since it was
        `torch.autograd.grad` that asked.
        """
        if self._earlier_of not in (None, taken):
            return
        self._earlier_of = taken
        self._earlier = {}
        for parameter in self._parameters:
            gradient = parameter.grad
            if gradient is not None and gradient.any():
                # A copy, because the pass adds to it in place; with gradient_as_bucket_view it is the bucket itself.
                self._earlier[parameter] = gradient.detach().clone()

    def _hook(self, state, bucket):
        """DDP's communication hook: buckets wait for the last one, then one message has all of them."""
        earlier = []
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            if parameter in self._earlier:
                earlier.append((gradient, self._earlier[parameter]))
        done: torch.futures.Future = torch.futures.Future()
        self._buckets.append(_Bucket(bucket.buffer(), earlier, done))
        if bucket.is_last():
            self._finish_step()
        return done

    def _finish_step(self) -> None:
        """Send what this rank has computed, and give DDP the decoded gradient."""
        step = len(self.steps)
        began = self._ended
        self._computing.append(time.monotonic() - began)
        weights, batch = self._checked_weights()
        buckets, self._buckets = self._buckets, []
        self._earlier, self._earlier_of = {}, None

        message = None
        if step > self._end.latest:
            message = torch.cat([bucket.message() for bucket in buckets]).numpy()
        said = self._exchange(step, message, batch)
        # A copy, since torch wants to be able to write to what it gets.
        answer = torch.from_numpy(np.frombuffer(said.content, np.float32).copy())
        sizes = [bucket.flat.numel() for bucket in buckets]
        for bucket, part in zip(buckets, answer.split(sizes), strict=True):
            bucket.settle(part)

        self._ended = time.monotonic()
        samples = len(weights) if weights.any() else 0
        if isinstance(self._end, Collector):
            heard, seconds = self._end.decided.pop(step)
            _, coefficients, gain = self._decisions.decoded(heard)
            self.steps.append(Step(step, samples, seconds, np.array(heard), coefficients, gain))
            if step == _JUDGED:
                self._warn_of_slow_messages(self._end.busy)
        else:
            self.steps.append(Step(step, samples, self._ended - began))

    def _checked_weights(self) -> tuple[np.ndarray, str]:
        """Weights of the step's samples, all of which the loss must have seen, and which global batch it is."""
        weights, batch = self._issued.popleft() if self._issued else (np.zeros(0), "")
        taken, self._taken = self._taken, 0
        if taken != len(weights) or not taken:
            told = f"step {len(self.steps)}: the loss saw {taken} of this rank's {len(weights)} samples"
            parts = ""
            if taken and self._static_graph:
                parts = (
                    "; with static_graph=True parts of a batch cannot be accumulated, in plain DDP neither"
                )
            elif taken:
                parts = "; parts of a batch are accumulated in model.no_sync(), all but the last"
            raise RuntimeError(told + parts)
        return weights, batch

    def _warn_of_slow_messages(self, busy: list[float]) -> None:
        """Warn if the star's messages, which keep rank 0 `busy` for these seconds, take longer than computing."""
        if not busy:
            return
        exchanging = median(busy)
        computing = median(self._computing)
        if exchanging > computing:
            told = f"messages take {exchanging:.3g} s of a step, computing {computing:.3g} s"
            warnings.warn(f"{told}: form='ring' moves less through rank 0", stacklevel=2)


def _spelled(scheme: Scheme, length: int, form: str) -> dict[str, str]:
    """What all ranks must have been given alike, in words."""
    entries = hashlib.sha256(scheme.code.encoding.toarray().tobytes()).hexdigest()
    return {
        "the code": repr(scheme.code),
        "the waiting rule": repr(scheme.wait),
        "form": form,
        "a model whose parameters number": str(length),
        "a code whose entries have the checksum": entries[:16],
    }


def _token_of_rank_0(group) -> bytes:
    """A random token that rank 0 sends to all ranks."""
    sent = torch.tensor(list(secrets.token_bytes(32)), dtype=torch.uint8)
    dist.broadcast(sent, 0, group=group)
    return bytes(sent.tolist())


@dataclass(frozen=True)
class _Bucket:
    """One of DDP's buckets during a step's exchange."""

    #: Gradients of its parameters, one after another: earlier steps' and this one's.
    flat: torch.Tensor
    #: A parameter's part of `flat`, and what earlier steps left in it.
    earlier: list[tuple[torch.Tensor, torch.Tensor]]
    done: torch.futures.Future

    def message(self) -> torch.Tensor:
        """What this step alone has added (length,), in float32."""
        for part, earlier in self.earlier:
            part.sub_(earlier)
        return self.flat.flatten().to(torch.float32)

    def settle(self, decoded: torch.Tensor) -> None:
        """Give DDP the decoded gradient of this step, added to what earlier ones have left."""
        self.flat.copy_(decoded.view_as(self.flat))
        for part, earlier in self.earlier:
            part.add_(earlier)
        self.done.set_result(self.flat)


class Batches:
    """Samples of every global batch for this rank; see `Coded.batches`."""

    def __init__(self, coded: Coded, samples: int, size: int, seed: int, shuffle: bool, drop_last: bool):
        self._coded = coded
        self._size = size
        self._seed = seed
        self._shuffle = shuffle
        self._epoch = 0
        self._samples = samples
        self._used = samples
        self._arguments = (
            f"samples={samples}, batch_size={size}, shuffle={shuffle}, drop_last={drop_last}, seed={seed}"
        )
        rest = samples % size
        if drop_last or rest < coded._code.k:
            self._used -= rest

    def __len__(self) -> int:
        return -(-self._used // self._size)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        epoch = self._epoch
        self._epoch += 1
        self._coded._issued.clear()  # what was fetched ahead of an earlier pass counts no more
        order = np.arange(self._samples)
        if self._shuffle:
            order = rng(self._seed, "data_order", epoch).permutation(self._samples)
        step = len(self._coded.steps)
        for start in range(0, self._used, self._size):
            end = min(start + self._size, self._used)
            name = f"{self._arguments}, epoch={epoch}, first sample={start}"
            yield self._coded._issue(step, order[start:end], name)
            step += 1
