"""The ring: ranks agree through the process group's store on the first q of them, which all-reduce among them."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from datetime import timedelta
from errno import ECONNREFUSED
from itertools import count
from multiprocessing.connection import Connection

import numpy as np
import torch
import torch.distributed as dist

from gcexp.distributed import wire
from gcexp.distributed.decisions import Decisions, Decoded
from gcexp.errors import require

Heard = tuple[bool, ...]
_KEYS = 1024  # steps whose keys stay in the store, at most
_CLOSED = 2**62  # the progress of a rank that has closed
_PAUSE = 0.02  # seconds between two looks at who is still late, at the end


class Ring:
    """A rank's part in the ring, for a rule that waits for the first q ranks.

    Every rank appends its number to the step's log in the store; the first q entries are the set. Its members scale
    their messages by their decode weights and all-reduce them in a group of their own. The first of them that writes
    the outcome settles whether that counts: ``ok`` with its rank, from which members that failed fetch the answer, or
    ``failed``, after which all try again with a new log. Late ranks fetch the answer from a rank that has it.

    Nobody learns of a death here. So what is kept for late ranks is bounded, and who finds its step gone must leave.
    """

    def __init__(self, store, decisions: Decisions, seat: wire.Seat):
        while hasattr(store, "underlying_store"):
            store = store.underlying_store
        require(isinstance(store, dist.TCPStore), f"form=ring needs a TCPStore, got a {type(store).__name__}")
        self._store = store.clone()  # a client of its own, since a wait blocks all threads that share one
        self._decisions, self._seat, self._n = decisions, seat, decisions.code.n
        self._patience = timedelta(seconds=seat.patience)
        self._q = sum(decisions.stop(np.arange(float(self._n)))[1])
        self.latest = -1  # newest step that is known to be decided
        self.decided: dict[int, tuple[Decoded, float]] = {}
        self._began = time.monotonic()
        self._groups: dict[str, dist.ProcessGroupGloo] = {}
        self._broken: list[dist.ProcessGroupGloo] = []  # to end one would take as long as what it waits for
        self._kept: dict[int, tuple[Heard, np.ndarray]] = {}
        self._own = -1  # newest step of which this rank has the answer
        self._changed = threading.Condition()
        self._listener = wire.Listener(seat, self._serve)
        self._store.set_timeout(self._patience)
        self._store.set(self._key("address", seat.rank), f"{self._listener.port} {seat.bind}")
        self._store.set(self._key("progress", seat.rank), "-1")
        told = (self._store.get(self._key("address", rank)).decode().split() for rank in range(self._n))
        self._addresses = [(host, int(port)) for port, host in told]
        self._store.set_timeout(self._patience / 4)  # of a group that is made with a rank that has died
        self._look()

    def _key(self, *parts: object) -> str:
        return "/".join(map(str, (self._seat.name, *parts)))

    def _look(self) -> None:
        """See how far each rank is."""
        found = self._store.multi_get([self._key("progress", rank) for rank in range(self._n)])
        self._progress = [int(step) for step in found]
        self.latest = max([self.latest, *(step for step in self._progress if step < _CLOSED)])

    def exchange(self, step: int, message: np.ndarray | None) -> np.ndarray:
        """The answer of a step; see `gcexp.distributed.star.Collector.exchange`."""
        try:
            self._look()
            heard, answer = self._exchanged(step, message)
            self._store.set(self._key("progress", self._seat.rank), str(step))
        except dist.DistError as error:
            told = type(error).__name__
            raise RuntimeError(f"step {step}: the process group's store is gone ({told})") from None
        now = time.monotonic()
        self.decided = {step: (self._decisions.decoded(heard), now - self._began)}
        self._began = now
        with self._changed:
            first = max(min(self._progress) + 1, step + 1 - self._seat.most_answers)
            self._kept = {old: found for old, found in self._kept.items() if old >= first}
            self._kept[step], self._own = (heard, answer), step
            self.latest = max(self.latest, step)
            self._changed.notify_all()
        return answer

    def _exchanged(self, step: int, message: np.ndarray | None) -> tuple[Heard, np.ndarray]:
        """Which ranks were heard, and the answer."""
        if message is None or self.latest >= step:
            return self._fetched(step)
        for attempt in count():
            generation, *members = self._agreed(step, attempt)
            outcome = self._key(step, attempt, "outcome")
            heard = tuple(rank in members for rank in range(self._n))
            if heard[self._seat.rank]:
                weight = self._decisions.decoded(heard).weights[self._seat.rank]
                answer = self._reduced(generation, sorted(members), weight, message)
                mine = "failed" if answer is None else f"ok {self._seat.rank}"
                settled = self._store.compare_set(outcome, "", mine).decode()
                if settled == mine != "failed":
                    self._delete_keys(step - min(_KEYS, self._seat.most_answers))
                if settled != "failed" and answer is not None:
                    return heard, answer
            elif not (settled := self._wait_for(outcome)):
                raise self._silent(step, members)
            if settled != "failed":
                self._look()
                return self._fetched(step, int(settled.split()[1]))
        raise AssertionError("it ends by an answer or an error")

    def _agreed(self, step: int, attempt: int) -> list[int]:
        """How many collectives have failed so far, and the members of an attempt."""
        log, go = self._key(step, attempt, "log"), self._key(step, attempt, "go")
        self._store.append(log, f"{self._seat.rank} ")
        arrived = self._store.get(log).decode().split()
        if len(arrived) >= self._q:  # the first that sees it says so, and late ones if that one has died
            failures = self._store.add(self._key("failures"), 0)
            said = self._store.compare_set(go, "", " ".join([str(failures), *arrived[: self._q]])).decode()
        elif not (said := self._wait_for(go)):
            arrived = self._store.get(log).decode().split()
            raise self._silent(step, {*range(self._n)} - {*map(int, arrived)})
        return [int(number) for number in said.split()]

    def _wait_for(self, key: str) -> str:
        """What stands under a key, at most `patience` seconds from now; nothing if it never appears."""
        with suppress(dist.DistStoreError):
            self._store.wait([key], self._patience)
            return self._store.get(key).decode()
        return ""

    def _silent(self, step: int, ranks) -> RuntimeError:
        told = f"ranks {sorted(ranks)} have been silent for {self._seat.patience:g} s"
        return RuntimeError(f"step {step}: {told}")

    def _reduced(self, generation: int, ranks: list[int], weight: float, message) -> np.ndarray | None:
        """The decoded gradient, or None where the collective failed, or took a quarter of `patience`.

        To give up making a group takes gloo five times its timeout. So a member that fails is back before the others
        call it silent.
        """
        scaled = message * np.float32(weight) if weight else np.zeros_like(message)  # 0 times NaN is NaN
        # No group is met again after a failure: the next one would find stale addresses under its name.
        name = f"{generation}-" + ".".join(map(str, ranks))
        try:
            if name not in self._groups:
                store = dist.PrefixStore(self._key("group", name), self._store)
                place = ranks.index(self._seat.rank)
                self._groups[name] = dist.ProcessGroupGloo(store, place, len(ranks), self._patience / 8)
            options = dist.AllreduceOptions()
            options.timeout = self._patience / 4
            self._groups[name].allreduce([torch.from_numpy(scaled)], options).wait()
        except RuntimeError:
            self._store.add(self._key("failures"), 1)
            self._broken += [self._groups.pop(name)] if name in self._groups else []
            return None
        return scaled

    def _fetched(self, step: int, first: int | None = None) -> tuple[Heard, np.ndarray]:
        """Who was heard and the answer of a decided step, from `first` or any other rank that has it."""
        end = time.monotonic() + self._seat.patience
        while time.monotonic() < end:  # those that have it may be about to say so, and `first` may have died
            ranks = [rank for rank in range(self._n) if rank == first or self._progress[rank] >= step]
            for rank in sorted(ranks, key=lambda rank: rank != first):
                with suppress(OSError, EOFError):
                    with wire.connect(
                        self._addresses[rank], self._seat, self._seat.patience, step
                    ) as connection:
                        answer, latest, heard = wire.receive_answer(connection, self._seat.length)
                    self.latest = max(self.latest, latest)
                    return tuple(map(bool, heard)), answer
            time.sleep(_PAUSE)
            self._look()
        raise RuntimeError(f"step {step}: of the ranks {ranks} none gives the answer")

    def _serve(self, connection: Connection, rank: int, step: int) -> None:
        """Give a late rank the answer of a step, or the reason why it is gone."""
        with self._changed:
            self._changed.wait_for(lambda: self._own >= step, self._seat.patience)
            found, behind = self._kept.get(step), self._own + 1 - step
        if found:
            wire.send_answer(connection, found[1], self.latest, bytes(found[0]))
        else:
            wire.send_failure(connection, f"rank {rank} is {behind} steps behind, more than most_kept allows")

    def _delete_keys(self, step: int) -> None:
        """Delete what the store has of a step that no rank asks for any more."""
        for attempt in count() if step >= 0 else ():
            if not self._store.delete_key(self._key(step, attempt, "log")):
                return
            for name in ("go", "outcome"):
                self._store.delete_key(self._key(step, attempt, name))

    def close(self) -> None:
        """Give late ranks their answers until all have closed or are gone, at most `linger` seconds."""
        end = time.monotonic() + self._seat.linger
        with suppress(RuntimeError):  # the store ends with the process that has it
            self._store.set(self._key("progress", self._seat.rank), str(_CLOSED))
            late = {*range(self._n)}
            while late and time.monotonic() < end:
                self._look()
                late = {rank for rank in late if self._progress[rank] < _CLOSED and self._is_there(rank)}
                time.sleep(_PAUSE)
        self._listener.close()

    def _is_there(self, rank: int) -> bool:
        """Whether a rank's process lives: the system refuses connections to one that has ended."""
        with socket.socket() as probe:
            probe.settimeout(1.0)
            return probe.connect_ex(self._addresses[rank]) != ECONNREFUSED
