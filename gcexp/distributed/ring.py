"""The ring: ranks agree through the process group's store on the first sufficient ones, which all-reduce among them."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from datetime import timedelta
from itertools import count

import numpy as np
import torch
import torch.distributed as dist

from gcexp.distributed import wire
from gcexp.distributed.decisions import Decisions, Decoded

_KEYS = 1024  # steps whose keys stay in the store, at most
_DONE = 2**62  # the progress of a rank that has closed
_ASKED = 0.02  # seconds between two looks at who is still late, at the end


class Ring:
    """One rank's part in the ring, for a rule that waits for the first q ranks.

    Every rank appends its number to the step's log in the store; its first q entries are the set. Its members scale
    their messages by their decode weights and all-reduce them in a group of their own. The first of them to write the
    outcome decides whether that counts: ``ok`` with its rank, from which members that failed fetch the answer, or
    ``failed``, after which all try again with a new log. Late ranks fetch the answer from a rank that has it.

    Nobody learns of a death here: what is kept for late ranks is bounded, and a rank that finds its step gone leaves.

    Parameters
    ----------
    store : torch.distributed.TCPStore
        A client that no other thread uses, since a wait blocks it.
    name : str
        Of the keys in the store; no other ring has it.
    decisions : Decisions
    q : int
        Ranks waited for.
    rank, length : int
    token : bytes
    bind : str
    patience, linger : float
    most_kept : int
        As of `gcexp.distributed.star.Collector`; `patience` also bounds a collective.
    """

    def __init__(
        self, store, name, decisions: Decisions, q: int, rank: int, length: int, token: bytes,
        *, bind: str = "127.0.0.1", patience: float = 30.0, linger: float = 30.0, most_kept: int = 2**28,
    ):  # fmt: skip
        self._store, self._name, self._decisions, self._q = store, name, decisions, q
        self.rank, self.n, self._length, self._token = rank, decisions.code.n, length, token
        self._patience, self._linger = patience, linger
        self._most = max(2, most_kept // (4 * length))  # answers that are kept
        self.latest = -1
        self.decided: dict[int, tuple[Decoded, float]] = {}
        self._began = time.monotonic()
        self._failures = 0  # of this rank in collectives; part of a group's name, so that no group is used again
        self._groups: dict[str, dist.ProcessGroupGloo] = {}
        self._broken: list[dist.ProcessGroupGloo] = []  # to end one would wait for what it waits for
        self._kept: dict[int, tuple[tuple[bool, ...], np.ndarray]] = {}
        self._own = -1  # newest step of which this rank has the answer
        self._changed = threading.Condition()
        self._listener = wire.Listener(bind, token, self._serve)
        self._store.set_timeout(timedelta(seconds=patience))
        self._store.set(self._key("at", rank), f"{self._listener.port} {bind}")
        self._store.set(self._key("progress", rank), "-1")
        found = (self._store.get(self._key("at", w)).decode().split(" ", 1) for w in range(self.n))
        self._addresses = [(host, int(port)) for port, host in found]
        self._progress = [-1] * self.n
        self._store.multi_get([self._key("progress", w) for w in range(self.n)])  # all are there

    def _key(self, *parts) -> str:
        return "/".join(map(str, (self._name, *parts)))

    def exchange(self, step: int, message: np.ndarray | None) -> np.ndarray:
        """The answer of a step; see `gcexp.distributed.star.Sender.exchange`."""
        try:
            heard, answer = self._exchanged(step, message)
            self._store.set(self._key("progress", self.rank), str(step))
        except (dist.DistError, dist.DistNetworkError) as error:
            reason = str(error).partition("\n")[0]
            raise RuntimeError(f"step {step}: the process group's store is gone ({reason})") from None
        now = time.monotonic()
        self.decided[step], self._began = (self._decisions.decoded(heard), now - self._began), now
        with self._changed:
            self._kept[step], self._own = (heard, answer), step
            first = max(min(self._progress) + 1, step + 1 - self._most)
            for old in [old for old in self._kept if old < first]:
                del self._kept[old]
            self._changed.notify_all()
        self.latest = max(self.latest, step)
        return answer

    def _exchanged(self, step: int, message: np.ndarray | None) -> tuple[tuple[bool, ...], np.ndarray]:
        """Which ranks were heard, and the answer."""
        self._look()
        if message is None or self.latest >= step:
            return self._fetched(step)
        for attempt in count():
            members = self._agreed(step, attempt)
            if members is None:
                return self._fetched(step)
            outcome = self._key(step, attempt, "outcome")
            if self.rank in members:
                heard = tuple(rank in members for rank in range(self.n))
                answer = self._reduced(members, self._decisions.decoded(heard), message)
                mine = "failed" if answer is None else f"ok {self.rank}"
                found = self._store.compare_set(outcome, "", mine).decode()
                if found == mine and answer is not None:
                    self._delete_keys(step - min(_KEYS, self._most))
                if found != "failed" and answer is not None:
                    return heard, answer
            else:
                found = self._waited(outcome)
            if found != "failed":
                self._look()
                return self._fetched(step, int(found.split()[1]))
        raise AssertionError("counting ends never")

    def _look(self) -> None:
        """See how far each rank is."""
        keys = [self._key("progress", w) for w in range(self.n)]
        self._progress = [int(value) for value in self._store.multi_get(keys)]
        self.latest = max([self.latest, *(step for step in self._progress if step < _DONE)])

    def _agreed(self, step: int, attempt: int) -> dict[int, str] | None:
        """The members of an attempt, each with its number of failures, or None where the step turns out decided."""
        log, go = self._key(step, attempt, "log"), self._key(step, attempt, "go")
        self._store.append(log, f"{self.rank}:{self._failures};")
        arrived = self._arrived(log)
        if len(arrived) < self._q:
            with suppress(dist.DistStoreError):
                self._store.wait([go], timedelta(seconds=self._patience))
            arrived = self._arrived(log)
        elif list(arrived)[self._q - 1] == self.rank:
            self._store.set(go, "")
        if len(arrived) >= self._q:
            return dict(list(arrived.items())[: self._q])
        self._look()
        if self.latest >= step:
            return None
        silent = sorted({*range(self.n)} - {*arrived})
        raise RuntimeError(
            f"step {step}: ranks {silent} have been silent for {self._patience:g} s and {self._decisions.code!r} waits "
            f"for {self._q} ranks"
        )

    def _arrived(self, log: str) -> dict[int, str]:
        entries = self._store.get(log).decode().rstrip(";").split(";")
        return {int(rank): failures for rank, failures in (entry.split(":") for entry in entries)}

    def _waited(self, key: str) -> str:
        try:
            self._store.wait([key], timedelta(seconds=self._patience))
        except dist.DistStoreError:
            raise RuntimeError(f"no outcome of {key} for {self._patience:g} s") from None
        return self._store.get(key).decode()

    def _reduced(self, members: dict[int, str], decoded: Decoded, message: np.ndarray) -> np.ndarray | None:
        """The decoded gradient, or None where the collective failed or took longer than `patience`."""
        weight = decoded.weights[self.rank]
        scaled = message * np.float32(weight) if weight else np.zeros_like(message)  # 0 times NaN is NaN
        if len(members) == 1:
            return scaled
        ranks = sorted(members)
        name = "-".join(f"{rank}.{members[rank]}" for rank in ranks)
        try:
            if name not in self._groups:
                place, most = ranks.index(self.rank), timedelta(seconds=self._patience)
                store = dist.PrefixStore(self._key("group", name), self._store)
                self._groups[name] = dist.ProcessGroupGloo(store, place, len(ranks), most)
            self._groups[name].allreduce([torch.from_numpy(scaled)]).wait()
        except RuntimeError:
            self._failures += 1
            if name in self._groups:
                self._broken.append(self._groups.pop(name))
            return None
        return scaled

    def _fetched(self, step: int, first: int | None = None) -> tuple[tuple[bool, ...], np.ndarray]:
        """The same of a decided step, from `first` or any other rank that has it."""
        heard = bytearray(self.n)
        others = [rank for rank in range(self.n) if rank not in (self.rank, first) and self._progress[rank] >= step]
        told = "no rank that has the answer can be reached"
        for rank in ([] if first is None else [first]) + others:
            with suppress(OSError):
                with wire.connect(self._addresses[rank], self._token, self.rank, step, self._patience) as connection:
                    connection.settimeout(self._patience)
                    wire.fill(connection, memoryview(heard))
                    try:
                        answer, latest = wire.received(connection, self._length)
                    except RuntimeError as error:
                        told = str(error)
                        continue
                self.latest = max(self.latest, latest)
                return tuple(map(bool, heard)), answer
        raise RuntimeError(f"step {step}: {told}")

    def _serve(self, connection: socket.socket, rank: int, step: int) -> None:
        """Give a late rank the answer of a step."""
        connection.settimeout(self._patience)
        with self._changed:
            self._changed.wait_for(lambda: self._own >= step, self._patience)
            found, behind = self._kept.get(step), self._own + 1 - step
        connection.sendall(bytes(found[0] if found else self.n))
        if found:
            wire.send(connection, wire.ANSWER, step, self.latest, wire.raw(found[1]))
        else:
            told = f"rank {rank} is {behind} steps behind, more than most_kept allows, and must leave"
            wire.send(connection, wire.FAILED, step, body=told.encode())

    def _delete_keys(self, step: int) -> None:
        """Delete what the store has of a step that no rank asks for any more."""
        if step < 0:
            return
        for attempt in count():
            if not self._store.delete_key(self._key(step, attempt, "log")):
                return
            self._store.delete_key(self._key(step, attempt, "go"))
            self._store.delete_key(self._key(step, attempt, "outcome"))

    def close(self) -> None:
        """Give late ranks their answers until all have closed or are gone, at most `linger` seconds."""
        end = time.monotonic() + self._linger
        with suppress(RuntimeError):  # the store ends with the rank that has it
            self._store.set(self._key("progress", self.rank), str(_DONE))
            self._look()
            late = {rank for rank, step in enumerate(self._progress) if step < _DONE}
            while late and time.monotonic() < end:
                time.sleep(_ASKED)
                self._look()
                late = {rank for rank in late if self._progress[rank] < _DONE and self._is_there(rank)}
        self._listener.close()

    def _is_there(self, rank: int) -> bool:
        try:
            socket.create_connection(self._addresses[rank], timeout=1.0).close()
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True
