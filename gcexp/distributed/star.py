"""The star: every rank sends its message to rank 0, which decodes from the first sufficient ones and answers all."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from itertools import count
from math import inf

import numpy as np

from gcexp.distributed import wire
from gcexp.distributed.decisions import Decisions, Decoded


class Collector:
    """Collects messages in rank 0: a thread for each other rank, and one that asks the waiting rule.

    A rank sends the message of a step when it has the answer of the step before, so one buffer for each rank suffices.
    An answer is made once, and all ranks get the same bytes. It is kept until every rank that still takes part has it.

    Parameters
    ----------
    decisions : Decisions
    length : int
        Numbers in a message.
    token : bytes
        What a rank must present; see `gcexp.distributed.wire.Listener`.
    bind : str
        Address on which it listens.
    patience : float
        Seconds from the first message of a step until the silent ranks are named in an error.
    linger : float
        Seconds for which `close` waits for ranks that are late.
    most_kept : int
        Bytes of kept answers above which the rank that is furthest behind must leave.
    """

    def __init__(
        self,
        decisions: Decisions,
        length: int,
        token: bytes,
        *,
        bind: str = "127.0.0.1",
        patience: float = 30.0,
        linger: float = 30.0,
        most_kept: int = 2**28,
    ):
        self._decisions, self._length, self.n = decisions, length, decisions.code.n
        self._patience, self._linger, self._most_kept = patience, linger, most_kept
        self.latest = -1  # newest decided step
        self.failure = ""  # why there is no further step
        self.decided: dict[int, tuple[Decoded, float]] = {}  # of steps that rank 0 has not taken yet, with seconds
        self.busy: deque[float] = deque(maxlen=64)  # seconds of receiving, decoding and sending, of the last steps
        self.lost: set[int] = set()  # ranks whose connection ended without a goodbye
        self._ended: dict[int, str] = {}  # ranks that take no further part, and why
        self._connections: dict[int, socket.socket] = {}
        self._next = [0] * self.n  # the step whose answer each rank takes next
        self._kept: dict[int, np.ndarray] = {}
        self._messages: dict[int, np.ndarray] = {}  # of the step that is not decided yet
        self._at = np.full(self.n, inf)  # their times of arrival
        self._receiving = np.zeros(self.n)
        self._began = time.monotonic()
        self._closing = False
        self._changed = threading.Condition()
        self._listener = wire.Listener(bind, token, self._serve)
        self.port = self._listener.port
        self._decider = threading.Thread(target=self._decide, daemon=True)
        self._decider.start()

    def wait_for_ranks(self) -> None:
        """Wait until all other ranks have connected, then accept no more."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._connections) == self.n - 1, self._patience)
            missing = sorted({*range(1, self.n)} - {*self._connections})
        self._listener.close()
        if missing:
            raise RuntimeError(f"ranks {missing} have not connected to rank 0 for {self._patience:g} s")
        self._began = time.monotonic()

    def exchange(self, step: int, message: np.ndarray | None) -> np.ndarray:
        """The answer of a step for rank 0, which gives its own message, or None where it knows the step is decided."""
        return self._taken(0, step, message)

    def _taken(self, rank: int, step: int, message: np.ndarray | None) -> np.ndarray:
        now = time.monotonic()
        with self._changed:
            if message is not None and step > self.latest:
                self._messages[rank], self._at[rank] = message, now
                self._changed.notify_all()
            self._changed.wait_for(lambda: self.latest >= step or self.failure or rank in self._ended)
            if rank in self._ended:
                raise RuntimeError(self._ended[rank])
            if self.latest < step:
                if rank == 0:  # this process may end now, and the others shall hear why
                    self._changed.wait_for(lambda: {*self._messages} - {0} <= {*self._ended}, 1.0)
                raise RuntimeError(self.failure)
            answer = self._kept[step]
            self._next[rank] = step + 1
            self._forget()
            return answer

    def _serve(self, connection: socket.socket, rank: int, step: int) -> None:
        """Talk to one rank until it says goodbye, is lost or sends what no rank sends."""
        with self._changed:
            if not 0 < rank < self.n or rank in self._connections:
                return
            self._connections[rank] = connection
            self._changed.notify_all()
        connection.settimeout(None)
        reason = "is gone"
        try:
            wire.send(connection, wire.ANSWER, -1)  # it is admitted
            self._talk(connection, rank)
            reason = "has ended"
        except OSError:
            pass
        except RuntimeError as error:  # the step, or this rank's part in it, has failed
            with suppress(OSError):
                wire.send(connection, wire.FAILED, -1, body=str(error).encode()[: wire.MOST_TEXT])
        finally:
            with self._changed:
                if reason == "is gone" and rank not in self._ended:
                    self.lost.add(rank)
                self._ended.setdefault(rank, f"rank {rank} {reason}")
                self._forget()
                self._changed.notify_all()

    def _talk(self, connection: socket.socket, rank: int) -> None:
        buffer = np.empty(self._length, np.float32)
        for step in count():
            kind, at, _, size = wire.receive(connection)
            if kind == wire.GOODBYE:
                return
            # The answer of a step that is not decided is asked for with a message only.
            allowed = {4 * self._length} | ({0} if step <= self.latest else set())
            if (kind, at) != (wire.MESSAGE, step) or size not in allowed:
                raise wire.BrokenTalk(f"rank {rank} sent what no rank sends")
            began = time.monotonic()
            if size:
                wire.fill(connection, wire.raw(buffer))
            self._receiving[rank] = time.monotonic() - began
            answer = self._taken(rank, step, buffer if size else None)
            wire.send(connection, wire.ANSWER, step, self.latest, wire.raw(answer))

    def _decide(self) -> None:
        with self._changed:
            while not (self._closing or self.failure):
                try:
                    self._changed.wait(self._considered())
                except Exception as error:  # of the rule or the decoder: every rank is told, none waits for ever
                    self._fail(f"step {self.latest + 1}: {error}")

    def _considered(self) -> float | None:
        """Decide the next step if the rule has stopped; the seconds after which to look again if nothing arrives."""
        now = time.monotonic()
        at = self._at - self._began
        stop, heard = self._decisions.stop(at)
        if stop <= now - self._began:
            self._publish(at, heard, now)
            return 0.0
        step, pending = self.latest + 1, np.isinf(at)
        silent = [rank for rank in np.flatnonzero(pending).tolist() if rank not in self._ended]
        ended = [rank for rank in np.flatnonzero(pending).tolist() if rank in self._ended]
        hopeful = np.where(pending, np.inf, at)
        hopeful[silent] = now - self._began
        if self._decisions.stop(hopeful)[0] == inf:
            is_gone = "rank {} is" if len(ended) == 1 else "ranks {} are"
            told = is_gone.format(ended[0] if len(ended) == 1 else ended)
            self._fail(f"step {step}: {told} gone and {self._decisions.code!r} cannot be decoded from the others")
            return 0.0
        if pending.all():
            return None if stop == inf else stop - (now - self._began)
        end = at.min() + self._patience
        if now - self._began >= end:
            self._fail(f"step {step}: ranks {silent} have been silent for {self._patience:g} s")
            return 0.0
        return min(stop, end) - (now - self._began)

    def _publish(self, at: np.ndarray, heard: tuple[bool, ...], now: float) -> None:
        self._decisions.stop(at, final=True)
        decoded = self._decisions.decoded(heard)
        messages = self._messages or {0: np.zeros(self._length, np.float32)}  # a deadline may hear nobody
        self._kept[self.latest + 1] = decoded.combine(messages)
        ready = time.monotonic()
        used = np.flatnonzero(decoded.heard)
        self.busy.append(2 * self._receiving[used].max(initial=0.0) + ready - now)  # as long to send as to receive
        self.latest += 1
        self.decided[self.latest] = decoded, ready - self._began
        self._messages, self._began = {}, ready
        self._at[:] = inf
        self._drop_the_last()
        self._changed.notify_all()

    def _fail(self, sentence: str) -> None:
        self.failure = sentence
        self._changed.notify_all()

    def _drop_the_last(self) -> None:
        """Above `most_kept` bytes the rank that is furthest behind takes no further part; it is told when it asks."""
        while len(self._kept) * 4 * self._length > self._most_kept:
            taking = [rank for rank in range(self.n) if rank not in self._ended]
            last = min(taking, key=lambda rank: self._next[rank])
            behind = self.latest + 1 - self._next[last]
            if behind < 2:  # nobody is late: answers are as long as that
                return
            self._ended[last] = f"rank {last} is {behind} steps behind, more than most_kept allows, and must leave"
            self._forget()

    def _forget(self) -> None:
        first = min((self._next[rank] for rank in range(self.n) if rank not in self._ended), default=inf)
        for step in [step for step in self._kept if step < first]:
            del self._kept[step]

    def close(self) -> None:
        """Answer late ranks until all have said goodbye or are gone, at most `linger` seconds."""
        with self._changed:
            self._ended[0] = "rank 0 has ended"
            self._forget()
            self._changed.wait_for(lambda: {*self._connections} <= {*self._ended}, self._linger)
            self._closing = True
            self.failure = self.failure or "rank 0 has ended"
            self._changed.notify_all()
        self._listener.close()
        for connection in self._connections.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._decider.join()


class Sender:
    """The other ranks' end of the star: a message to rank 0, an answer back.

    Parameters
    ----------
    address : (str, int)
        Where rank 0 listens.
    token : bytes
    rank, length : int
    patience : float
        As of the `Collector`; an answer that takes longer by half means that rank 0 is silent.
    """

    def __init__(self, address: tuple[str, int], token: bytes, rank: int, length: int, patience: float):
        self._length, self._patience, self.latest = length, patience, -1
        try:
            self._connection = wire.connect(address, token, rank, 0, patience)
            self._connection.settimeout(1.5 * patience)  # rank 0 names the silent ranks before
            wire.receive(self._connection)
        except OSError as error:
            raise RuntimeError(f"rank 0 cannot be reached at {address[0]} ({error})") from None

    def exchange(self, step: int, message: np.ndarray | None) -> np.ndarray:
        """The answer of a step, for this rank's message, or for None where it knows that the step is decided."""
        body = b"" if message is None else wire.raw(message)
        try:
            wire.send(self._connection, wire.MESSAGE, step, body=body)
            answer, self.latest = wire.received(self._connection, self._length)
        except TimeoutError:
            raise RuntimeError(f"step {step}: rank 0 has been silent for {1.5 * self._patience:g} s") from None
        except OSError:
            raise RuntimeError(f"step {step}: rank 0, which collects the messages, is gone") from None
        return answer

    def close(self) -> None:
        """Say goodbye."""
        with suppress(OSError), self._connection:
            wire.send(self._connection, wire.GOODBYE, -1)
