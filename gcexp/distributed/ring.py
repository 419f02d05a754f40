"""The ring: rank 0 says which ranks were first, and these all-reduce their messages among themselves."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist

from gcexp.distributed import wire
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.star import Collector, Sender

_READY, _DONE, _FAILED = b"?", b"+", b"-"  # a message can be reduced, is reduced, could not be reduced


class Referee(Collector):
    """Rank 0's end of the ring: a star of words, in which only late ranks need the answer.

    When the waiting rule stops, the ranks that it hears are told to reduce. The first of them brings the answer, which
    is kept for late ranks. If one has failed, or the first one is gone, all try again with whoever is ready then.
    """

    words = (_READY, _DONE, _FAILED)
    _reducing: tuple[bool, ...] = ()  # the ranks that were told to reduce
    _told = 0.0  # when
    _failures = 0  # a part of groups' names: after a failure none of them is met again

    def _take(self, rank, step, message):
        failed = message == _FAILED
        if failed:
            self._failures += 1
        goes_on = step > self.latest and not self._failure
        awaited = goes_on and self._reducing and self._reducing[rank]
        if failed and step in self._kept:
            _, have = self._kept[step]
            have.discard(rank)
        elif awaited and failed:
            self._again()
        elif awaited and message != _DONE:  # it is the answer, which all that have reduced have too
            have = {*np.flatnonzero(self._reducing).tolist()}
            self._settle(self._reducing, message, have)
            self._reducing = ()
        super()._take(rank, step, message)

    def _again(self) -> None:
        """Forget who was told to reduce; who has not begun is as ready as before."""
        self._at[[*self._tasks]] = self._told
        self._reducing = ()
        self._tasks = {}

    def _consider(self, now):
        if self._reducing:
            first = self._reducing.index(True)
            left = self._told + self._seat.patience - now
            if first not in self._ended:
                if left <= 0:
                    self._fail(f"ranks {[first]} have been silent for {self._seat.patience:g} s")
                return max(left, 0.0)
            self._again()
        self._at[[*self._ended]] = np.inf
        return super()._consider(now)

    def _stopped(self, heard, now):
        self._reducing = heard
        self._told = now
        content = np.array([self._failures, *heard], np.int32)
        task = wire.Said(content, decided=False, latest=self.latest)
        self._tasks = dict.fromkeys(np.flatnonzero(heard).tolist(), task)
        self._at[[*heard]] = np.inf  # until they are back
        self._changed.notify_all()


class Ring:
    """Scales a rank's message by its decode weight and reduces it with those of the ranks that rank 0 names."""

    def __init__(self, store, decisions: Decisions, seat: wire.Seat, end: Collector | Sender):
        self._decisions = decisions
        self._seat = seat
        self._end = end
        self._patience = timedelta(seconds=seat.patience)
        self._store = store.clone()
        self._store.set_timeout(self._patience / 4)  # of a group that is made with a rank that has died
        # Broken groups stay: to end one takes as long as what it waits for.
        self._groups: dict[str, dist.ProcessGroupGloo] = {}

    def exchange(self, step: int, message: np.ndarray | None, batch: str = "") -> wire.Said:
        """The answer of a step; see `Collector.exchange`."""
        said = self._end.exchange(step, None if message is None else _READY, batch)
        while not said.decided:
            failures, *numbers = np.frombuffer(said.content, np.int32).tolist()
            heard = tuple(map(bool, numbers))
            answer = self._reduced(failures, heard, message)
            word: wire.Content = _DONE
            if answer is None:
                word = _FAILED
            elif heard.index(True) == self._seat.rank:  # the first brings the answer for those that are late
                word = memoryview(answer).cast("B")
            said = self._end.exchange(step, word, batch)
        if not len(said.content):  # it has the answer already
            said = said._replace(content=answer)
        return said

    def _reduced(self, failures: int, heard: tuple[bool, ...], message) -> np.ndarray | None:
        """The decoded gradient, or None where the collective failed, or took a quarter of `patience`.

        To give up making a group takes gloo five times its timeout, so that a rank that fails says so in time.
        """
        ranks = np.flatnonzero(heard).tolist()
        weights, _, _ = self._decisions.decoded(heard)
        weight = weights[self._seat.rank]
        scaled = message * np.float32(weight) if weight else np.zeros_like(message)  # 0 times NaN is NaN
        name = f"{failures}-" + ".".join(map(str, ranks))
        options = dist.AllreduceOptions()
        options.timeout = self._patience / 4
        try:
            group = self._group(name, ranks)
            group.allreduce([torch.from_numpy(scaled)], options).wait()  # in place
        except RuntimeError:
            return None
        return scaled

    def _group(self, name: str, ranks: list[int]) -> dist.ProcessGroupGloo:
        """The group of some ranks, which is made when they reduce for the first time."""
        if name not in self._groups:
            store = dist.PrefixStore(name, self._store)
            place = ranks.index(self._seat.rank)
            self._groups[name] = dist.ProcessGroupGloo(store, place, len(ranks), self._patience / 8)
        return self._groups[name]
