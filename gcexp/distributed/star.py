"""The star: every rank sends its message to rank 0, which decodes from the first sufficient ones and answers all."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from math import inf
from multiprocessing.connection import Connection

import numpy as np

from gcexp.distributed import wire
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.door import Door

_BLOCK = 65536  # numbers that are decoded at a time in double precision
_FAREWELL = 1.0  # seconds for which rank 0 waits until the others know why a step has failed


class Collector:
    """Rank 0's end of the star, with a thread for each other rank; when all are there, nobody else is heard.

    Its address is in the process group's store.

    A rank sends the message of a step when it has the answer of the step before. Whichever thread brings what satisfies
    the waiting rule decodes. All ranks get the same bytes, which are kept until every rank that takes part has them.
    """

    words: tuple[bytes, ...] = ()  # that a rank may send besides its message

    def __init__(self, store, decisions: Decisions, seat: wire.Seat):
        self._decisions = decisions
        self._seat = seat
        self._n = decisions.code.n
        self.latest = -1  # newest decided step
        self.decided: dict[int, tuple[tuple[bool, ...], float]] = {}  # who was heard, seconds; for rank 0
        self.busy: list[float] = []  # seconds of receiving, decoding and sending
        self._failure = ""  # why there is no further step
        self._all_are_told = False  # whether ranks that are still computing shall hear that, too
        self._connected: set[int] = set()
        self._ended: dict[int, str] = {}  # ranks that take no further part, and why
        self._next = [0] * self._n  # the step whose answer each rank takes next
        self._kept: dict[int, tuple[wire.Content, set[int]]] = {}  # answers, and who has them anyway
        self._tasks: dict[int, wire.Said] = {}  # what ranks are to do before there is an answer
        self._messages: dict[int, wire.Content] = {}  # of the step that is not decided yet
        self._batches: dict[int, str] = {}  # of which global batch each of them is
        self._at = np.full(self._n, inf)  # when they arrived, since the step before was decided
        self._receiving = np.zeros(self._n)
        self._began = time.monotonic()
        self._changed = threading.Condition()
        self._door = Door(seat, self._serve)
        host, port = self._door.address
        store.set("address", f"{host} {port}")

    def exchange(self, step: int, message: wire.Content | None, batch: str = "", rank: int = 0) -> wire.Said:
        """What a rank is told of a step, for its message, or for None where it knows that the step is decided.

        `batch` says of which global batch the message is: of another than the others' it would be decoded to garbage.
        """
        with self._changed:
            if message is not None:
                self._compare_batches(rank, step, batch)
                self._take(rank, step, message)
            while not self._can_be_told(rank, step):
                now = time.monotonic() - self._began
                longest = self._consider(now)
                self._changed.wait(longest)
            failed = step > self.latest and rank not in self._tasks
            if failed and rank == 0:  # this process may end now: the others shall hear why
                longest = self._seat.patience if self._all_are_told else _FAREWELL
                self._changed.wait_for(self._others_know, longest)
            if failed or rank in self._ended:
                raise RuntimeError(self._ended.get(rank) or self._failure)
            if rank in self._tasks:
                return self._tasks.pop(rank)
            answer, have = self._kept[step]
            self._next[rank] = step + 1
            self._forget()
            return wire.Said(b"" if rank in have else answer, latest=self.latest)

    def _can_be_told(self, rank: int, step: int) -> bool:
        """Whether a rank need not wait any longer."""
        decided = step <= self.latest
        return decided or rank in self._tasks or bool(self._failure) or rank in self._ended

    def _others_know(self) -> bool:
        """Whether all ranks that have sent a message of a failed step, or all there are, were told why it failed."""
        waiting = {*range(self._n)} if self._all_are_told else {*self._messages}
        return waiting - {0} <= {*self._ended}

    def _take(self, rank: int, step: int, message: wire.Content) -> None:
        """A message has arrived."""
        if step > self.latest:
            self._messages[rank] = message
            self._at[rank] = time.monotonic() - self._began

    def _compare_batches(self, rank: int, step: int, batch: str) -> None:
        """Fail where the messages of a step are of different global batches."""
        if step <= self.latest:
            return
        self._batches[rank] = batch
        first = next(iter(self._batches))
        if batch != self._batches[first]:
            self._all_are_told = True
            self._fail(different_batches(first, self._batches[first], rank, batch))

    def _serve(self, connection: Connection, rank: int) -> None:
        """Talk to a rank until it ends, or sends what no rank sends."""
        with self._changed:
            if not 0 < rank < self._n or rank in self._connected:
                return
            self._connected.add(rank)
            if len(self._connected) == self._n - 1:
                self._door.close()
        step = 0
        try:
            wire.welcome(connection)
            while True:
                batch, message = self._received(connection, rank)
                if not self._expected(message, step):
                    break
                said = self.exchange(step, message or None, batch, rank)
                wire.tell(connection, said)
                if said.decided:
                    step += 1
        except RuntimeError as error:  # the step, or this rank's part in it, has failed
            wire.tell(connection, wire.Said(str(error).encode(), failed=True))
        finally:
            with self._changed:
                self._ended.setdefault(rank, f"rank {rank} is gone")
                self._forget()
                self._changed.notify_all()

    def _received(self, connection: Connection, rank: int) -> tuple[str, bytes | None]:
        """A rank's next message and its batch, and how long it takes to come in once it has begun."""
        connection.poll(None)
        began = time.monotonic()
        batch, message = wire.asked(connection, 4 * self._seat.length) or ("", None)
        self._receiving[rank] = time.monotonic() - began
        return batch, message

    def _expected(self, message: bytes | None, step: int) -> bool:
        """Whether a rank may send this: numbers, a word, or nothing for a step that is decided."""
        if message is None:
            return False
        if len(message) == 4 * self._seat.length or message in self.words:
            return True
        return not message and step <= self.latest

    def _consider(self, now: float) -> float:
        """Decide the step if the rule has stopped; else the seconds after which to look again if nothing happens."""
        try:
            stop, heard = self._decisions.stop(self._at)
            if stop <= now:
                self._stopped(heard, now)
                return 0.0
            pending = np.flatnonzero(np.isinf(self._at)).tolist()
            gone = [rank for rank in pending if rank in self._ended]
            silent = [rank for rank in pending if rank not in self._ended]
            if not self._can_stop(silent, now):
                they = f"rank {gone[0]} is" if len(gone) == 1 else f"ranks {gone} are"
                self._fail(f"{they} gone and {self._decisions.code!r} cannot be decoded from the others")
            patience_ends = self._at.min() + self._seat.patience
            end = min(stop, patience_ends)
            if now >= end:
                self._fail(f"ranks {silent} have been silent for {self._seat.patience:g} s")
        except Exception as error:  # of the rule or the decoder: every rank is told, none waits for ever
            self._fail(str(error))
        return 0.0 if self._failure else end - now

    def _can_stop(self, silent: list[int], now: float) -> bool:
        """Whether the rule would ever stop if all ranks that are silent, and not gone, sent their messages now."""
        at = self._at.copy()
        at[silent] = now
        stop, _ = self._decisions.stop(at)
        return stop < inf

    def _stopped(self, heard: tuple[bool, ...], now: float) -> None:
        """The rule has stopped: decode, and settle the step."""
        answer = self._decoded(heard)
        receiving = self._receiving[[*heard]].max(initial=0.0)
        decoding = time.monotonic() - self._began - now
        self.busy.append(2 * receiving + decoding)  # sending takes as long as receiving
        self._decisions.stop(self._at, final=True)
        self._settle(heard, answer, set())

    def _decoded(self, heard: tuple[bool, ...]) -> np.ndarray:
        """The sum of weight times message, in double precision: for all ranks the same float32 numbers (length,)."""
        weights, _, _ = self._decisions.decoded(heard)
        used = []
        for rank in np.flatnonzero(weights):
            message = np.frombuffer(self._messages[rank], np.float32)
            used.append((weights[rank], message))
        answer = np.zeros(self._seat.length, np.float32)
        if used:
            for first in range(0, len(answer), _BLOCK):
                part = slice(first, first + _BLOCK)
                answer[part] = sum(weight * message[part].astype(np.float64) for weight, message in used)
        return answer

    def _settle(self, heard: tuple[bool, ...], answer: wire.Content, have: set[int]) -> None:
        """The step is decided."""
        now = time.monotonic()
        self.latest += 1
        self._kept[self.latest] = answer, have
        self.decided[self.latest] = heard, now - self._began
        self._messages = {}
        self._batches = {}
        self._began = now
        self._at[:] = inf
        while len(self._kept) > self._seat.most_answers:  # who is furthest behind is told so when it asks
            there = {*range(self._n)} - {*self._ended}
            last = min(there, key=self._next.__getitem__)
            behind = self.latest + 1 - self._next[last]
            self._ended[last] = f"rank {last} is {behind} steps behind, more than most_kept allows"
            self._forget()
        self._changed.notify_all()

    def _fail(self, sentence: str) -> None:
        """There is no further step; the first reason counts."""
        if not self._failure:
            self._failure = f"step {self.latest + 1}: {sentence}"
        self._changed.notify_all()

    def _forget(self) -> None:
        """Keep the answers that somebody has not taken yet."""
        awaited = [self._next[rank] for rank in range(self._n) if rank not in self._ended]
        first = min(awaited, default=inf)
        self._kept = {step: kept for step, kept in self._kept.items() if step >= first}

    def close(self, linger: float) -> None:
        """Answer late ranks until all have ended, at most `linger` seconds."""
        with self._changed:
            self._ended[0] = "rank 0 has ended"
            self._forget()
            self._changed.notify_all()
            self._changed.wait_for(self._all_have_ended, linger)
            self._fail("rank 0 has ended")
        self._door.close()

    def _all_have_ended(self) -> bool:
        return self._connected <= {*self._ended}


def different_batches(first: int, batch_of_first: str, other: int, batch_of_other: str) -> str:
    """Sentence for two ranks whose messages are of different global batches.

    >>> different_batches(0, "epoch=1, seed=0", 3, "epoch=1, seed=3").partition(";")[0]
    'rank 3 takes its samples from another batch (seed=3) than rank 0 (seed=0)'
    """
    parts_of_first = batch_of_first.split(", ")
    parts_of_other = batch_of_other.split(", ")
    has_first = ", ".join(part for part in parts_of_first if part not in parts_of_other)
    has_other = ", ".join(part for part in parts_of_other if part not in parts_of_first)
    return (
        f"rank {other} takes its samples from another batch ({has_other}) than rank {first} ({has_first}); all ranks "
        "give coded.batches the same arguments, and loop over it alike"
    )


class Sender:
    """Another rank's end of the star: a message to rank 0, an answer back."""

    def __init__(self, store, seat: wire.Seat):
        host, port = store.get("address").decode().split()
        self.latest = -1  # newest decided step that this rank knows of
        self._size = 4 * seat.length
        self._silence = 1.5 * seat.patience  # rank 0 names silent ranks before it is called silent itself
        self._connection = wire.connect((host, int(port)), seat, self._silence)

    def exchange(self, step: int, message: wire.Content | None, batch: str = "") -> wire.Said:
        """See `Collector.exchange`."""
        try:
            wire.ask(self._connection, batch, b"" if message is None else message)
            said = wire.listen(self._connection, self._size)
        except BlockingIOError:
            raise RuntimeError(f"step {step}: rank 0 has been silent for {self._silence:g} s") from None
        except (OSError, EOFError):
            raise RuntimeError(f"step {step}: rank 0, which collects the messages, is gone") from None
        self.latest = said.latest
        return said

    def close(self, linger: float = 0.0) -> None:
        """Say goodbye, since worker processes of a DataLoader may keep the connection open."""
        with suppress(OSError), self._connection:
            self._connection.send_bytes(b"goodbye")  # as long as no message
