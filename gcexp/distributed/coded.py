"""A code in a loop with `torch.nn.parallel.DistributedDataParallel`."""

from __future__ import annotations

import hashlib
import secrets
import statistics
import time
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gcexp.distributed import refusals
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.ring import Ring
from gcexp.distributed.star import Collector, Sender
from gcexp.errors import require
from gcexp.schemes import Scheme
from gcexp.seeding import rng

_THIN = 2  # samples of a batch that only moves the loop on; batch normalisation refuses one
_JUDGED = 20  # steps after which computing and exchanging are compared
_TOKEN, _DIGEST, _ADDRESS = 32, 32, 64  # bytes that rank 0 broadcasts at the start


@dataclass(frozen=True)
class Step:
    """One step as a rank saw it.

    Attributes
    ----------
    step : int
    samples : int
        Samples that this rank computed; 0 where it replayed an update that was decided without it.
    seconds : float
        Since the step before; on rank 0 of the star between decisions, which is the clock's duration of an iteration.
    heard : ndarray (n,), optional
        Ranks whose messages were used; this and what follows on rank 0 only.
    coefficients : ndarray (k,), optional
        The update used sum_i coefficients[i] g_i.
    noise_gain : float, optional
        How much rounding in a message grew.
    """

    step: int
    samples: int
    seconds: float
    heard: np.ndarray | None = None
    coefficients: np.ndarray | None = None
    noise_gain: float | None = None


class Coded:
    r"""A coded gradient hook on a DDP model; every rank makes one, before the first forward pass.

    After ``backward`` every rank's ``.grad`` is the same: sum_i c_i g_i over the partitions i of the global batch, where
    g_i is the gradient of partition i's share of the mean loss and c what the scheme decodes from the first ranks that
    satisfy its waiting rule. An exact code gives c = 1, the gradient of the mean loss. Nobody waits for other ranks.

    Messages are float32, decoding is in double precision, and all ranks get equal bytes, so replicas stay equal.
    Rank 0 of the star is needed throughout; any other rank may end, as long as the rule can be satisfied without it.

    Parameters
    ----------
    model : DistributedDataParallel
    scheme : Scheme
        A real code with one message per worker and as many workers as ranks, and a waiting rule.
    form : {"star", "ring"}
        All messages to rank 0, for every rule; or an all-reduce among the ranks that are heard, for large models and
        for ``Fastest`` only.
    late : {"finish", "every"}
        A rank that is behind computes nothing for steps that are already decided, or computes every step.
    bind : str
        Address on which ranks listen; with several hosts that of this one.
    patience : float
        Seconds of silence after which the silent ranks are named in an error.
    linger : float
        Seconds for which `close` waits for ranks that are late.
    most_kept : int
        Bytes of answers that are kept for late ranks.

    Attributes
    ----------
    steps : list of Step

    Raises
    ------
    ParameterError
        For a model or a scheme with which this cannot work; the sentence says why.
    RuntimeError
        From ``backward``: ranks are gone and the rule cannot be satisfied by the others, or they have been silent for
        `patience`.

    References
    ----------
    Tandon, Lei, Dimakis, Karampatziakis: Gradient coding, 2017.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> from gcexp.schemes import Fastest, Scheme
    >>> Coded(torch.nn.Linear(2, 1), Scheme(CyclicRepetition(n=4, s=1), Fastest(s=1)))
    Traceback (most recent call last):
    gcexp.errors.ParameterError: a code takes part in ... DistributedDataParallel, which Linear is not
    """

    def __init__(
        self, model, scheme: Scheme, *, form: str = "star", late: str = "finish", bind: str = "127.0.0.1",
        patience: float = 30.0, linger: float = 30.0, most_kept: int = 2**28,
    ):  # fmt: skip
        refusals.check_model(model)
        refusals.check_scheme(scheme, model.process_group.size(), form, late)
        refusals.warn_of_mixtures(model, scheme)
        self.steps: list[Step] = []
        self._code, self._late, self._form = scheme.code, late, form
        self._rank = dist.get_rank()
        self._share = scheme.code.encoding[[int(np.argsort(scheme.code.owner)[self._rank])]].toarray()[0]
        self._length = sum(p.numel() for p in model.parameters() if p.requires_grad)
        self._seed = 0
        self._issued: deque[np.ndarray] = deque()  # weights of the samples of batches, the step's own first
        self._taken = 0  # of the first of them
        self._buckets: list[tuple[torch.Tensor, torch.futures.Future]] = []
        self._ended = time.monotonic()
        self._computing: deque[float] = deque(maxlen=_JUDGED)
        self._told_lost: set[int] = set()
        options = {"patience": patience, "linger": linger, "most_kept": most_kept}
        self._exchange = self._connected(model.process_group, scheme, bind, options)
        self._hooks = [
            model.register_forward_pre_hook(refusals.refuse_join),
            register_optimizer_step_pre_hook(refusals.refuse_zero),
        ]
        model.register_comm_hook(None, self._hook)

    def _connected(self, group, scheme: Scheme, bind: str, options: dict):
        """This rank's end of the exchange; token and address come by the process group's own broadcast."""
        decisions, token, digest = Decisions(scheme), secrets.token_bytes(_TOKEN), self._digest(scheme)
        collector = None
        if self._rank == 0 and self._form == "star":
            collector = Collector(decisions, self._length, token, bind=bind, **options)
        port = (collector.port if collector else 0).to_bytes(2)
        told = token + digest + port + bind.encode().ljust(_ADDRESS)
        sent = torch.tensor(list(told), dtype=torch.uint8)
        dist.broadcast(sent, src=0, group=group)
        told = bytes(sent.tolist())
        token, same, told = told[:_TOKEN], told[_TOKEN:][:_DIGEST] == digest, told[_TOKEN + _DIGEST :]
        require(same, f"rank {self._rank} has another scheme or model than rank 0: {scheme.code!r}, {scheme.wait!r}")
        if self._form == "ring":
            store = dist.distributed_c10d._get_default_store()
            while hasattr(store, "underlying_store"):
                store = store.underlying_store
            require(isinstance(store, dist.TCPStore), f"form=ring needs a TCPStore, this is a {type(store).__name__}")
            name, q = f"gcexp/{hashlib.sha256(token).hexdigest()[:16]}", int(sum(decisions.stop(np.arange(float(self._code.n)))[1]))
            return Ring(store.clone(), name, decisions, q, self._rank, self._length, token, bind=bind, **options)
        if collector:
            collector.wait_for_ranks()
            return collector
        address = told[2:].decode().strip(), int.from_bytes(told[:2])
        return Sender(address, token, self._rank, self._length, options["patience"])

    def _digest(self, scheme: Scheme) -> bytes:
        """What has to be the same on all ranks, in short."""
        B = scheme.code.encoding.tocoo()
        parts = [*B.coords, B.data, scheme.code.owner]
        text = f"{B.shape} {scheme.wait!r} {self._length} {self._form}".encode()
        return hashlib.sha256(b"".join([text, *(np.ascontiguousarray(part).tobytes() for part in parts)])).digest()

    def batches(
        self, samples: int, batch_size: int, *, seed: int = 0, shuffle: bool = True, drop_last: bool = False
    ) -> Batches:
        """A batch sampler for a DataLoader: this rank's samples of every global batch, each pass the next epoch.

        A global batch is cut by `numpy.array_split` into k partitions, and a rank gets those that the code assigns to
        it, in order. A last batch of at least k samples is used with weights by its own size, a smaller one is dropped.

        Parameters
        ----------
        samples : int
            Of the data set.
        batch_size : int
            Of the global batch, at least k.
        seed : int
            Of the order, the same on all ranks.
        shuffle, drop_last : bool
        """
        k = self._code.k
        require(k <= batch_size <= samples, f"batch_size is a number from k={k} to samples={samples}, got {batch_size}")
        self._seed = seed
        return Batches(self, samples, batch_size, seed, shuffle, drop_last)

    def loss(self, per_sample: torch.Tensor) -> torch.Tensor:
        """The weighted sum of some samples' losses (N,), whose gradient is this rank's message.

        Samples come in the sampler's order: all of a step's at once, or in parts where gradients are accumulated.
        """
        require(per_sample.dim() == 1, f"one loss for each sample is wanted, (N,), got {tuple(per_sample.shape)}")
        left = self._issued[0][self._taken :] if self._issued else np.zeros(0)
        require(
            len(per_sample) <= len(left),
            f"step {self.step}: the loss sees {len(per_sample)} samples, and {len(left)} of this rank's are left: are "
            "they those of coded.batches?",
        )
        self._taken += len(per_sample)
        kind = torch.promote_types(per_sample.dtype, torch.float32)
        weights = torch.from_numpy(left[: len(per_sample)]).to(kind)
        return (weights * per_sample.to(kind)).sum()

    def generator(self, partition: int) -> torch.Generator:
        """Random numbers of a partition in this step, the same on all ranks that hold it: for dropout, augmentation."""
        stream = rng(self._seed, "gcexp.distributed", self.step, partition)
        return torch.Generator().manual_seed(int(stream.integers(2**63)))

    @property
    def step(self) -> int:
        """The step that this rank is in."""
        return len(self.steps)

    def close(self) -> None:
        """End the exchange after the last step; ranks that are late get their answers for `linger` seconds."""
        for hook in self._hooks:
            hook.remove()
        self._exchange.close()

    def _issue(self, step: int, batch: np.ndarray) -> list[int]:
        """This rank's samples of a global batch, and the weights that `loss` takes."""
        parts, shares = np.array_split(batch, self._code.k), self._share / len(batch)
        mine = np.flatnonzero(self._code.assignment[self._rank])
        chosen, weights = batch[:_THIN], np.zeros(len(batch[:_THIN]))
        if len(mine) and not (self._late == "finish" and step <= self._exchange.latest):
            chosen = np.concatenate([parts[i] for i in mine])
            weights = np.repeat(shares[mine], [len(parts[i]) for i in mine])
        self._issued.append(weights)
        return chosen.tolist()

    def _restart(self) -> None:
        """A new pass over the data: what was fetched ahead of an earlier one counts no more."""
        self._issued.clear()
        self._taken = 0

    def _hook(self, state, bucket):
        """DDP's communication hook: buckets wait for the last one, then one message has all of them."""
        future: torch.futures.Future = torch.futures.Future()
        self._buckets.append((bucket.buffer(), future))
        if bucket.is_last():
            buckets, self._buckets = self._buckets, []
            self._exchanged(buckets)
        return future

    def _exchanged(self, buckets: list[tuple[torch.Tensor, torch.futures.Future]]) -> None:
        step, now = self.step, time.monotonic()
        self._computing.append(now - self._ended)
        weights = self._issued.popleft() if self._issued else np.zeros(0)
        taken, self._taken = self._taken, 0
        if taken != len(weights) or not taken:
            raise RuntimeError(f"step {step}: the loss saw {taken} of this rank's {len(weights)} samples")
        message = None
        if step > self._exchange.latest:
            message = torch.cat([buffer.flatten().to(torch.float32) for buffer, _ in buckets]).numpy()
        answer = torch.from_numpy(self._exchange.exchange(step, message))
        sizes = [buffer.numel() for buffer, _ in buckets]
        for (buffer, future), part in zip(buckets, answer.split(sizes), strict=True):
            future.set_result(buffer.copy_(part.view_as(buffer)))
        before, self._ended = self._ended, time.monotonic()
        self._note(step, len(weights) if weights.any() else 0, self._ended - before)

    def _note(self, step: int, samples: int, seconds: float) -> None:
        if self._rank:
            self.steps.append(Step(step, samples, seconds))
            return
        decoded, seconds = self._exchange.decided.pop(step)
        self.steps.append(Step(step, samples, seconds, decoded.heard, decoded.coefficients, decoded.noise_gain))
        if self._form == "ring":
            return
        if lost := self._exchange.lost - self._told_lost:
            self._told_lost |= lost
            warnings.warn(f"step {step}: ranks {sorted(lost)} are gone, the others go on", stacklevel=2)
        if step + 1 == _JUDGED:
            exchanging, computing = (statistics.median(x) for x in (self._exchange.busy, self._computing))
            if exchanging > computing:
                warnings.warn(
                    f"sending and decoding take {exchanging:.3g} s in a step and computing {computing:.3g} s: "
                    "form='ring' moves less through rank 0",
                    stacklevel=2,
                )


class Batches:
    """This rank's samples of every global batch, for ``DataLoader(batch_sampler=...)``; see `Coded.batches`."""

    def __init__(self, coded: Coded, samples: int, batch_size: int, seed: int, shuffle: bool, drop_last: bool):
        self._coded, self._samples, self._size = coded, samples, batch_size
        self._seed, self._shuffle, self._epoch = seed, shuffle, 0
        rest = samples % batch_size
        self._used = samples - rest * (drop_last or rest < coded._code.k)

    def __len__(self) -> int:
        return -(-self._used // self._size)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        self._coded._restart()
        first = self._coded.step
        order = np.arange(self._samples)
        if self._shuffle:
            order = rng(self._seed, "data_order", epoch).permutation(self._samples)
        for place in range(len(self)):
            batch = order[: self._used][place * self._size : (place + 1) * self._size]
            yield self._coded._issue(first + place, batch)
