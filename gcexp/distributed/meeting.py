"""Before the first step ranks meet in the process group's store: who has not come, or has something else, is named."""

from __future__ import annotations

import itertools
import json
import sys
import time

import torch.distributed as dist

from gcexp.errors import RankError, UserError

_LOOK = 0.1  # seconds between two looks
_FAREWELL = (
    1.0  # seconds for which rank 0, which may serve the store, waits until the others have read its verdict
)
_VERDICT = "verdict"  # the key of it
_AGREED = "agreed"  # the verdict where nothing is wrong
_numbers = itertools.count()  # of meetings: every rank makes them in the same order


class Meeting:
    """A meeting of all ranks; one that is refused something beforehand tells the others why it does not come."""

    def __init__(self) -> None:
        name = f"gcexp meeting {next(_numbers)}"
        self._store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
        self._rank = dist.get_rank()
        self._ranks = dist.get_world_size()

    def leave(self, error: UserError) -> None:
        """Tell the others what this rank was refused; each of them ends with it."""
        self._give_verdict(f"rank {self._rank}: {error}")
        self._let_others_read()

    def wait(self, given: dict[str, str], patience: float) -> None:
        """Wait until all ranks are there, at most `patience` seconds, and compare what they were given.

        Raises
        ------
        RankError
            On every rank that waited, where one has not come, was given something else, or was refused something.
        """
        began = time.monotonic()
        missing = [*range(self._ranks)]
        looked = False
        try:
            self._store.set(_here(self._rank), json.dumps(given))
            while not self._store.check([_VERDICT]):
                missing = [rank for rank in missing if not self._store.check([_here(rank)])]
                looked = True
                if not missing and self._rank == 0:
                    self._give_verdict(self._differences())
                elif missing and time.monotonic() - began >= patience:
                    self._give_verdict(f"{_are(missing)} not come for {patience:g} s")
                else:
                    time.sleep(_LOOK)
            sentence = self._store.get(_VERDICT).decode()
        except RuntimeError:  # of the store, since whoever served it has ended
            sentence = "the process that served the store of the process group has ended"
            if looked and missing:
                sentence += f", and {_are(missing)} not come"
        if sentence != _AGREED:
            self._let_others_read()
            print(f"gcexp: {sentence}", file=sys.stderr)
            raise RankError(sentence)

    def _give_verdict(self, sentence: str) -> None:
        """Say that ranks agree, or why they do not train together; the first verdict counts."""
        self._store.compare_set(_VERDICT, "", sentence)

    def _let_others_read(self) -> None:
        if self._rank == 0 and self._ranks > 1:
            time.sleep(_FAREWELL)

    def _differences(self) -> str:
        """What another rank was given than rank 0, or that they agree."""
        first = self._given_to(0)
        for rank in range(1, self._ranks):
            for what, value in self._given_to(rank).items():
                if value != first[what]:
                    return f"rank {rank} has {what} {value}, rank 0 {first[what]}"
        return _AGREED

    def _given_to(self, rank: int) -> dict[str, str]:
        return json.loads(self._store.get(_here(rank)))


def _here(rank: int) -> str:
    """The key under which a rank says that it is there."""
    return f"rank {rank}"


def _are(ranks: list[int]) -> str:
    """The beginning of a sentence about some ranks.

    >>> _are([3]), _are([2, 3])
    ('rank 3 has', 'ranks [2, 3] have')
    """
    return f"rank {ranks[0]} has" if len(ranks) == 1 else f"ranks {ranks} have"
