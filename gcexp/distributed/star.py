"""The star: every rank sends its message to rank 0, which decodes from the first sufficient ones and answers all."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from itertools import count
from math import inf
from multiprocessing.connection import Connection

import numpy as np

from gcexp.distributed import wire
from gcexp.distributed.decisions import Decisions, Decoded


def star(store, decisions: Decisions, seat: wire.Seat) -> Collector | Sender:
    """A rank's end of the star, connected; rank 0 leaves its address in the store."""
    key = f"{seat.name}/address"
    if seat.rank:
        port, host = store.get(key).decode().split()
        return Sender((host, int(port)), seat)
    collector = Collector(decisions, seat)
    store.set(key, f"{collector.listener.port} {seat.bind}")
    return collector


class Collector:
    """Rank 0's end of the star, with a thread for each other rank; when all are there, nobody else is heard.

    A rank sends the message of a step when it has the answer of the step before. Whichever thread brings what satisfies
    the waiting rule decodes. All ranks get the same bytes, which are kept until every rank that takes part has them.
    """

    def __init__(self, decisions: Decisions, seat: wire.Seat):
        self._decisions, self._seat, self._n = decisions, seat, decisions.code.n
        self.latest = -1  # newest decided step
        self.decided: dict[
            int, tuple[Decoded, float]
        ] = {}  # of steps that rank 0 has not taken yet, with seconds
        self.busy: deque[float] = deque(
            maxlen=64
        )  # seconds of receiving, decoding and sending, of the last steps
        self._failure = ""  # why there is no further step
        self._connected: set[int] = set()
        self._ended: dict[int, str] = {}  # ranks that take no further part, and why
        self._next = [0] * self._n  # the step whose answer each rank takes next
        self._kept: dict[int, np.ndarray] = {}
        self._messages: dict[int, np.ndarray] = {}  # of the step that is not decided yet
        self._at = np.full(self._n, inf)  # when they arrived, since the step before was decided
        self._receiving = np.zeros(self._n)
        self._began = time.monotonic()
        self._changed = threading.Condition()
        self.listener = wire.Listener(seat, self._serve)

    def exchange(self, step: int, message: np.ndarray | None, rank: int = 0) -> np.ndarray:
        """The answer of a step, for a rank's message, or for None where it knows that the step is decided."""
        now = time.monotonic()
        with self._changed:
            if message is not None and step > self.latest:
                self._messages[rank], self._at[rank] = message, now - self._began
            while self.latest < step and not self._failure and rank not in self._ended:
                self._changed.wait(self._consider())
            if rank == 0 and self.latest < step:  # this process may end now: those that wait shall hear why
                self._changed.wait_for(lambda: {*self._messages} - {0} <= {*self._ended}, 1.0)
            if rank in self._ended or self.latest < step:
                raise RuntimeError(self._ended.get(rank) or self._failure)
            answer = self._kept[step]
            self._next[rank] = step + 1
            self._forget()
            return answer

    def _serve(self, connection: Connection, rank: int, step: int) -> None:
        """Talk to a rank until it says goodbye, is gone, or sends what no rank sends."""
        with self._changed:
            if not 0 < rank < self._n or rank in self._connected:
                return
            self._connected.add(rank)
            if len(self._connected) == self._n - 1:
                self.listener.close()
        size = 4 * self._seat.length
        try:
            for at in count():
                connection.poll(None)
                began = time.monotonic()
                sent = connection.recv_bytes(size)
                self._receiving[rank] = time.monotonic() - began
                if len(sent) != size and not (len(sent) == 0 and at <= self.latest):
                    break  # a goodbye, or what no rank sends
                answer = self.exchange(at, np.frombuffer(sent, np.float32) if sent else None, rank)
                wire.send_answer(connection, answer, self.latest)
        except RuntimeError as error:  # the step, or this rank's part in it, has failed
            wire.send_failure(connection, str(error))
        finally:
            with self._changed:
                self._ended.setdefault(rank, f"rank {rank} is gone")
                self._forget()
                self._changed.notify_all()

    def _consider(self) -> float | None:
        """Decide the step if the rule has stopped; else the seconds after which to look again if nothing happens."""
        now = time.monotonic() - self._began
        try:
            stop, heard = self._decisions.stop(self._at)
            if stop <= now:
                self._publish(heard, now)
                return 0.0
            pending = np.flatnonzero(np.isinf(self._at)).tolist()
            ended = [rank for rank in pending if rank in self._ended]
            silent = [rank for rank in pending if rank not in self._ended]
            hopeful = self._at.copy()
            hopeful[silent] = now
            if self._decisions.stop(hopeful)[0] == inf:
                they = f"rank {ended[0]} is" if len(ended) == 1 else f"ranks {ended} are"
                self._fail(f"{they} gone and {self._decisions.code!r} cannot be decoded from the others")
            end = min(stop, self._at.min() + self._seat.patience)
            if now >= end:
                self._fail(f"ranks {silent} have been silent for {self._seat.patience:g} s")
        except Exception as error:  # of the rule or the decoder: every rank is told, none waits for ever
            self._fail(str(error))
        return 0.0 if self._failure else end - now

    def _publish(self, heard: tuple[bool, ...], now: float) -> None:
        self._decisions.stop(self._at, final=True)
        decoded = self._decisions.decoded(heard)
        answer = decoded.combine(self._messages, self._seat.length)
        ready = time.monotonic()
        self.latest += 1
        self._kept[self.latest], self.decided[self.latest] = answer, (decoded, ready - self._began)
        receiving = self._receiving[decoded.heard].max(initial=0.0)  # and as long to send
        self.busy.append(2 * receiving + ready - self._began - now)
        self._messages, self._began = {}, ready
        self._at[:] = inf
        while len(self._kept) > self._seat.most_answers:  # who is furthest behind is told so when it asks
            last = min(
                (rank for rank in range(self._n) if rank not in self._ended), key=self._next.__getitem__
            )
            behind = self.latest + 1 - self._next[last]
            self._ended[last] = f"rank {last} is {behind} steps behind, more than most_kept allows"
            self._forget()
        self._changed.notify_all()

    def _fail(self, sentence: str) -> None:
        self._failure = self._failure or f"step {self.latest + 1}: {sentence}"
        self._changed.notify_all()

    def _forget(self) -> None:
        first = min((self._next[rank] for rank in range(self._n) if rank not in self._ended), default=inf)
        self._kept = {step: answer for step, answer in self._kept.items() if step >= first}

    def close(self) -> None:
        """Answer late ranks until all have said goodbye or are gone, at most `linger` seconds."""
        with self._changed:
            self._ended[0] = "rank 0 has ended"
            self._forget()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._connected <= {*self._ended}, self._seat.linger)
            self._fail("rank 0 has ended")
        self.listener.close()


class Sender:
    """Another rank's end of the star: a message to rank 0, an answer back."""

    def __init__(self, address: tuple[str, int], seat: wire.Seat):
        self._seat, self.latest = seat, -1
        self._silence = 1.5 * seat.patience  # rank 0 names silent ranks before it is called silent itself
        self._connection = wire.connect(address, seat, self._silence)

    def exchange(self, step: int, message: np.ndarray | None) -> np.ndarray:
        """See `Collector.exchange`."""
        try:
            self._connection.send_bytes(b"" if message is None else memoryview(message).cast("B"))
            answer, self.latest, _ = wire.receive_answer(self._connection, self._seat.length)
        except BlockingIOError:
            raise RuntimeError(f"step {step}: rank 0 has been silent for {self._silence:g} s") from None
        except (OSError, EOFError):
            raise RuntimeError(f"step {step}: rank 0, which collects the messages, is gone") from None
        return answer

    def close(self) -> None:
        """Say goodbye."""
        with suppress(OSError), self._connection:
            self._connection.send_bytes(wire.GOODBYE)
