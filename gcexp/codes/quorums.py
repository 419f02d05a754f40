"""From whom must be heard so that a code decodes: one set of workers of whom enough, or many equal ones as an array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from gcexp.errors import require
from gcexp.schema import checked

Need = tuple[tuple[int, int], ...]


def _pairs_of(size: int, need: Iterable[Iterable[int]]) -> Need:
    """Pairs (messages, workers) that a group of some size can meet."""
    pairs = tuple((int(r), int(q)) for r, q in need)
    rounds = [r for r, _ in pairs]
    require(size > 0, "a quorum needs at least one worker")
    require(
        bool(rounds) and rounds == sorted(set(rounds)),
        f"a quorum needs pairs (messages, workers) with increasing numbers of messages, got {rounds}",
    )
    for _, q in pairs:
        require(
            0 <= q <= size, f"a quorum of {size} workers hears from 0 to {size} of them, got {q} in {pairs}"
        )
    return pairs


_SMALL = 64  # workers of a group up to which whole columns are added, one to the other


def _met(mine: np.ndarray, need: Need) -> np.ndarray:
    """Whether enough of the last axis sent enough, for responses (..., workers)."""
    count_type, axis = np.min_scalar_type(mine.shape[-1]), -1  # a small one adds four times as fast
    if mine.shape[-1] <= _SMALL and mine.shape[-2] > 1:
        mine, axis = np.ascontiguousarray(np.moveaxis(mine, -1, 0)), 0
    options = []
    for r, q in need:
        sent_enough = (mine >= r).view(np.uint8)
        options.append(sent_enough.sum(axis, dtype=count_type) >= q)
    return np.logical_or.reduce(options)


@dataclass(frozen=True)
class Quorum:
    """Workers of which enough must be heard: met when, for one pair (r, q), q of them delivered r messages.

    Parameters
    ----------
    workers : iterable of int
        The workers that count.
    need : iterable of (int, int)
        Pairs (messages r, workers q) with r rising: any one of them suffices.

    Examples
    --------
    >>> Quorum(range(4), [(1, 3)])
    Quorum(workers=(0, 1, 2, 3), need=((1, 3),))
    """

    workers: tuple[int, ...]
    need: tuple[tuple[int, int], ...]

    @checked
    def __init__(self, workers: Iterable[int], need: Iterable[Iterable[int]]):
        object.__setattr__(self, "workers", tuple(int(w) for w in workers))
        object.__setattr__(self, "need", _pairs_of(len(self.workers), need))

    @cached_property
    def index(self) -> slice | np.ndarray:
        """The workers as a slice where they are consecutive (no copy), else as an array."""
        first = self.workers[0]
        size = len(self.workers)
        if self.workers == tuple(range(first, first + size)):
            return slice(first, first + size)
        return np.array(self.workers)

    def of(self, values: np.ndarray) -> np.ndarray:
        """What belongs to its workers, (..., 1, workers), of values (..., n)."""
        return values[..., None, self.index]

    def put(self, values: np.ndarray, mine: np.ndarray) -> None:
        """Write in place into values (..., n) what belongs to its workers."""
        values[..., self.index] = mine[..., 0, :]

    def met(self, responses: np.ndarray) -> np.ndarray:
        """Whether the quorum is met, for responses (..., n)."""
        return _met(responses[..., self.index], self.need)


@dataclass(frozen=True, eq=False)
class Quorums(Sequence[Quorum]):
    """Quorums of disjoint groups of equally many workers, each with the same need: an array instead of many objects.

    Parameters
    ----------
    groups : array_like of int (Q, size)
        The workers of each.
    need : iterable of (int, int)
        As of `Quorum`.

    Examples
    --------
    >>> quorums = Quorums([[0, 1], [2, 3]], [(1, 1)])
    >>> len(quorums), quorums[1]
    (2, Quorum(workers=(2, 3), need=((1, 1),)))
    >>> quorums.met(np.array([[1, 0, 0, 1], [1, 1, 0, 0]]))
    array([ True, False])
    """

    groups: np.ndarray
    need: Need

    def __init__(self, groups: Any, need: Iterable[tuple[int, int]]):
        groups = np.asarray(groups)
        require(
            groups.ndim == 2 and len({*groups.flat}) == groups.size,
            f"quorums are of disjoint groups, an array (groups, workers of each), got shape {groups.shape}",
        )
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "need", _pairs_of(groups.shape[1], need))

    def __len__(self) -> int:
        return len(self.groups)

    @overload
    def __getitem__(self, i: int) -> Quorum: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Quorum, ...]: ...
    def __getitem__(self, i):
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        return Quorum(self.groups[i].tolist(), self.need)

    @cached_property
    def _order(self) -> str:
        """Whether worker after worker is in group after group, or dealt out to them: then values need no copy."""
        workers = np.arange(self.groups.size)
        if (self.groups.ravel() == workers).all():
            return "filled"
        if (self.groups.T.ravel() == workers).all():
            return "dealt"
        return ""

    def of(self, values: np.ndarray) -> np.ndarray:
        """What belongs to the workers of each group, (..., Q, size), of values (..., n)."""
        order = self._order if values.shape[-1] == self.groups.size else ""
        if order == "filled":
            return values.reshape(*values.shape[:-1], *self.groups.shape)
        if order == "dealt":
            return values.reshape(*values.shape[:-1], *self.groups.T.shape).swapaxes(-1, -2)
        return np.take(values, self.groups, axis=-1)  # three times as fast as an index

    def put(self, values: np.ndarray, mine: np.ndarray) -> None:
        """Write in place into values (..., n) what belongs to the workers of each group."""
        order = self._order if values.shape[-1] == self.groups.size else ""
        if order == "filled":
            values[...] = mine.reshape(values.shape)
        elif order == "dealt":
            values[...] = mine.swapaxes(-1, -2).reshape(values.shape)
        else:
            values[..., self.groups] = mine

    def each_met(self, responses: np.ndarray) -> np.ndarray:
        """Which quorums are met, (..., Q), for responses (..., n)."""
        return _met(self.of(responses), self.need)

    def met(self, responses: np.ndarray) -> np.ndarray:
        """Whether all quorums are met, for responses (..., n)."""
        return np.logical_and.reduce(self.each_met(responses), axis=-1)
