"""Exact remedies that `gcexp advise` compares: what each learns from a trace, and what its iterations then take.

x (T, n) are the times of n workers, each with its own share of the data. A worker that carries `load` shares takes
x g(load), g(load) = phi + (1 - phi) load: the share phi of its time does not grow with the load. Workers stop as soon
as the master has heard enough. All of this has a closed form, which equals the clock of `gcexp.timeline` (tests); a
thousand times of it are looked at for one answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gcexp.seeding import rng

#: From the simplest to the most involved, which decides between remedies that are as fast.
KINDS = ("wait", "exclude", "rebalance", "grouped", "chunks")
_SWAPS, _ROWS = 300, 200  # tried when groups are searched for, and rows on which they are compared
_RECENT = 20  # rows from which loads are learned anew in each iteration


def growth(load, phi: float):
    """How much longer a worker takes with `load` shares in place of one."""
    return phi + (1 - phi) * load


@dataclass(frozen=True)
class Remedy:
    """A candidate: a kind of remedy, its sizes, and by which rule workers are given their seats.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    order : str
        ``home`` (as numbered), ``snake`` and ``search`` of groups, ``alternate`` of chunks, ``recent`` of rebalancing.
    size : int
        Of the groups; or how many workers are excluded; or how many chunks a worker has.
    s : int
        Workers of each group that need not be waited for.
    """

    kind: str
    order: str = "home"
    size: int = 0
    s: int = 0

    def load(self, n: int) -> float:
        """Largest load that a worker must store; 1 where loads only move between workers."""
        return {
            "exclude": n / max(n - self.size, 1),
            "grouped": float(self.s + 1),
            "chunks": float(self.size),
        }.get(self.kind, 1.0)

    def messages(self, n: int) -> int:
        """Messages that the workers send in one iteration."""
        return {"exclude": n - self.size, "chunks": n * self.size}.get(self.kind, n)

    def learned(self, x: np.ndarray, seed: int = 0) -> Plan:
        """Who sits where, or how much each carries, from the times `x` (T, n) of a prefix."""
        mean, n = x.mean(0), x.shape[1]
        slowest_first = np.argsort(-mean, kind="stable")
        workers = np.arange(n)
        if self.kind == "exclude":
            workers = np.sort(slowest_first[self.size :])
        elif self.order == "alternate":
            workers = np.empty(n, int)
            workers[::2], workers[1::2] = slowest_first[: (n + 1) // 2], slowest_first[::-1][: n // 2]
        elif self.kind == "grouped" and self.order != "home":
            groups = dealt(slowest_first, n // self.size)
            if self.order == "search":
                groups = _searched(x, groups, self.size - self.s, seed)
            workers = groups.ravel()
        shares = n / mean / (1 / mean).sum() if self.kind == "rebalance" else np.ones(n)
        if self.kind == "exclude":
            shares = np.where(np.isin(np.arange(n), workers), n / len(workers), 0.0)
        return Plan(self, workers, shares)


@dataclass(frozen=True)
class Plan:
    """A remedy with what it has learned.

    Attributes
    ----------
    remedy : Remedy
    workers : ndarray
        Columns of the trace in the order of their seats: groups one after the other, or around the ring.
    shares : ndarray (n,)
        Load of every worker, where they differ; 1 for codes.
    """

    remedy: Remedy
    workers: np.ndarray
    shares: np.ndarray = field(repr=False)

    @property
    def load(self) -> float:
        """Largest load of a worker."""
        return max(self.remedy.load(len(self.shares)), float(self.shares.max()))

    def options(self) -> dict[str, str] | None:
        """Options of a run that plays the plan; None where the loads change from iteration to iteration."""
        kind, n = self.remedy.kind, len(self.shares)
        if self.remedy.order == "recent":
            return None
        if kind in ("grouped", "chunks"):
            code = "partial_work" if kind == "chunks" else self._code(n)[0]
            return {
                "code": code,
                "wait": "covered" if kind == "chunks" else "decodable",
                "placement": "given",
            }
        chosen = {"code": "uncoded", "wait": "decodable"}
        return chosen if kind == "wait" else chosen | {"loads": "given"}

    def values(self) -> dict[str, dict[str, Any]]:
        """What is set of these options."""
        kind, n = self.remedy.kind, len(self.shares)
        seats = {"placement": {"workers": self.workers.tolist()}}
        if kind == "grouped":
            return {"code": self._code(n)[1]} | seats
        if kind == "chunks":
            return {"code": {"d": self.remedy.size, "q": 1}} | seats
        return {} if kind == "wait" else {"loads": {"shares": self.shares.tolist()}}

    def overrides(self) -> list[str]:
        """The options and their values as `gcexp run` takes them; the loads must last."""
        chosen = [f"{group}={name}" for group, name in (self.options() or {}).items()]
        given = [
            f"{group}.{key}={spelled(value)}"
            for group, some in self.values().items()
            for key, value in some.items()
        ]
        return [*chosen, *given, "exact=true"]

    def _code(self, n: int) -> tuple[str, dict[str, Any]]:
        """The code of groups, by the name of its option, and its parameters."""
        size, s = self.remedy.size, self.remedy.s
        if s == size - 1:
            return "fractional_repetition", {"d": size}
        if size == n:
            return "cyclic_repetition", {"s": s}
        return "clustered", {"clusters": n // size, "d": s + 1, "layout": "column"}

    def on(self, x: np.ndarray, data_bound: bool = False) -> Played:
        """The plan on the rows `x`; data-bound: a share of the data takes its time wherever it is computed."""
        return Played(self, x, data_bound)


@dataclass(frozen=True)
class Played:
    """A plan on some rows; what does not depend on phi is computed once."""

    plan: Plan
    x: np.ndarray = field(repr=False)
    data_bound: bool = False

    def time(self, phi: float) -> np.ndarray:
        """Time (T,) of each iteration, without overhead and messages."""
        remedy, n = self.plan.remedy, self.x.shape[1]
        if remedy.kind == "rebalance":
            return (self.x * growth(self._shares, phi)).max(1)
        if remedy.kind == "chunks":  # the share at seat i is computed there first, and j-th at seat i - j
            return np.minimum.reduce([self._done(j, n, phi) for j in range(remedy.size)]).max(1)
        if self.data_bound and remedy.kind == "grouped":
            return order_statistic(self._done(remedy.s, remedy.size, phi), remedy.size, remedy.s)
        return growth(remedy.load(n), phi) * self._base

    def _done(self, j: int, ring: int, phi: float) -> np.ndarray:
        """When each share is done by the worker j seats before it, after its own and those between, around rings."""
        seated = self.x[:, self.plan.workers].reshape(len(self.x), -1, ring)
        by = np.roll(seated, j, axis=2)
        if not self.data_bound:
            return (growth(j + 1, phi) * by).reshape(self.x.shape)
        work = sum(np.roll(seated, back, axis=2) for back in range(j + 1))
        return (phi * by + (1 - phi) * work).reshape(self.x.shape)

    @cached_property
    def _base(self) -> np.ndarray:
        """Time of each iteration at load 1."""
        remedy, seated = self.plan.remedy, self.x[:, self.plan.workers]
        return order_statistic(seated, remedy.size, remedy.s) if remedy.kind == "grouped" else seated.max(1)

    @cached_property
    def _shares(self) -> np.ndarray:
        if self.plan.remedy.order != "recent":
            return self.plan.shares
        T, n = self.x.shape
        total = np.concatenate([np.zeros((1, n)), np.cumsum(self.x, axis=0)])
        first = np.maximum(np.arange(1, T) - _RECENT, 0)
        speed = 1 / ((total[1:T] - total[first]) / (np.arange(1, T) - first)[:, None])
        return np.concatenate([np.ones((1, n)), n * speed / speed.sum(1, keepdims=True)])


def order_statistic(seated: np.ndarray, size: int, s: int) -> np.ndarray:
    """When every group of `size` neighbours in `seated` (T, n) has all but s of its workers, (T,).

    Examples
    --------
    >>> order_statistic(np.array([[1.0, 9.0, 2.0, 3.0]]), size=2, s=1)
    array([2.])
    """
    groups = seated.reshape(len(seated), -1, size)
    if s == size - 1:
        return groups.min(2).max(1)
    return np.partition(groups, size - s - 1, axis=2)[..., size - s - 1].max(1)


def dealt(workers: np.ndarray, groups: int) -> np.ndarray:
    """Workers dealt to groups back and forth, (groups, n / groups).

    Examples
    --------
    >>> dealt(np.arange(6), 3).tolist()
    [[0, 5], [1, 4], [2, 3]]
    """
    rounds = workers.reshape(-1, groups).copy()
    rounds[1::2] = rounds[1::2, ::-1]
    return rounds.T


def _searched(x: np.ndarray, groups: np.ndarray, awaited: int, seed: int) -> np.ndarray:
    """Groups after random swaps between two of them, each kept if the mean time falls."""
    rows = x[np.unique(np.linspace(0, len(x) - 1, min(len(x), _ROWS)).astype(int))]
    count, size = groups.shape
    if count < 2:
        return groups
    groups = groups.copy()
    done = np.stack([_heard(rows, members, awaited) for members in groups], axis=1)
    best = done.max(1).mean()
    draw = rng(seed, "advice.search")
    first = draw.integers(count, size=_SWAPS)
    second = (first + 1 + draw.integers(count - 1, size=_SWAPS)) % count
    seats = draw.integers(size, size=(_SWAPS, 2))
    for a, b, (i, j) in zip(first, second, seats, strict=True):
        groups[a, i], groups[b, j] = groups[b, j], groups[a, i]
        changed = done.copy()
        changed[:, a], changed[:, b] = (_heard(rows, groups[c], awaited) for c in (a, b))
        if (time := changed.max(1).mean()) < best:
            best, done = time, changed
        else:
            groups[a, i], groups[b, j] = groups[b, j], groups[a, i]
    return groups


def _heard(rows: np.ndarray, members: np.ndarray, awaited: int) -> np.ndarray:
    return np.partition(rows[:, members], awaited - 1, axis=1)[:, awaited - 1]


def remedies(n: int, d_max: float, moves: bool = False) -> Iterator[Remedy]:
    """All candidates for n workers of which none may store more than `d_max` shares.

    Examples
    --------
    >>> [len(list(remedies(n, 4))) for n in (10, 32, 64)]
    [25, 49, 66]
    """
    yield Remedy("wait")
    if n >= 3:
        for many in range(1, max(1, n // 4) + 1):
            if n / (n - many) <= d_max:
                yield Remedy("exclude", size=many)
    if n >= 2:
        yield Remedy("rebalance", "learned")
    if moves:
        yield Remedy("rebalance", "recent")
    for size in (m for m in range(2, n + 1) if n % m == 0):
        for s in range(1, min(size - 1, int(d_max) - 1) + 1):
            for order in ("home",) if size == n else ("home", "snake", "search"):
                yield Remedy("grouped", order, size, s)
    for chunks in range(2, min(int(d_max), n) + 1):
        for order in ("home", "alternate"):
            yield Remedy("chunks", order, chunks)


def spelled(value: Any, joint: str = ",") -> str:
    """A value as an override or an option file spells it."""
    return f"[{joint.join(map(repr, value))}]" if isinstance(value, list) else str(value)
