"""Exact remedies that `gcexp advise` compares: what each learns from a trace, and what its iterations then take.

x (T, n) are the times of n workers, each with its own share of the data. A worker that carries `load` shares takes
x g(load), g(load) = phi + (1 - phi) load: the share phi of its time does not grow with the load. Where workers stop as
soon as the master has heard enough, all of this has a closed form, which equals the clock of `gcexp.timeline` (tests)
and is looked at a thousand times for one answer. Everything else asks the clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from gcexp.delays.trace import TraceDraws
from gcexp.schemes.loads import Recent
from gcexp.seeding import rng
from gcexp_adviser.diagnosis.logged import has_gaps, mean, usual_number

#: From the simplest to the most involved, which decides between remedies that are as fast.
KINDS = {
    "wait": "waiting for all",
    "exclude": "excluding slow workers",
    "rebalance": "rebalancing",
    "grouped": "redundancy in groups",
    "chunks": "redundancy in chunks",
}
_PIECES = (1, 2, 4, 8)  # chunks of a share that are tried
_SWAPS, _ROWS = 300, 200  # tried when groups are searched for, and rows on which they are compared
_TOGETHER = 32  # swaps that are tried together


def growth(load, phi):
    """How much longer a worker takes with `load` shares in place of one."""
    return phi + (1 - phi) * load


@dataclass(frozen=True)
class Remedy:
    """A candidate: a kind of remedy, its sizes, and by which rule workers are given their seats.

    Orders are ``home`` (as numbered), ``snake`` and ``search`` of groups, ``alternate`` of chunks, ``recent`` of
    rebalancing.
    """

    kind: str  # one of `KINDS`
    order: str = "home"
    size: int = (
        0  # of the groups; or how many workers are excluded; or how many shares a worker computes in chunks
    )
    s: int = 0  # workers of each group that need not be waited for
    pieces: int = 1  # chunks of each share

    def load(self, n: int) -> float:
        """Largest load that a worker must store; 1 where loads only move between workers."""
        if self.kind == "exclude":
            return n / max(n - self.size, 1)
        if self.kind == "grouped":
            return self.s + 1.0
        if self.kind == "chunks":
            return float(self.size)
        return 1.0

    def messages(self, n: int) -> int:
        """Messages that the workers send in one iteration."""
        if self.kind == "exclude":
            return n - self.size
        if self.kind == "chunks":
            return n * self.size * self.pieces
        return n

    def learned(self, x: np.ndarray, seed: int = 0) -> Plan:
        """Who sits where, or how much each carries, from the times `x` (T, n) of a prefix."""
        mean = _usual_times(x)
        n = x.shape[1]
        slowest_first = np.argsort(-mean, kind="stable")
        workers = np.arange(n)
        shares = np.ones(n)
        if self.kind == "exclude":
            shares[slowest_first[: self.size]] = 0
            asked = usual_number(x)
            shares *= asked / (asked - self.size)
        elif self.kind == "rebalance":
            shares = n / mean / (1 / mean).sum()
        elif self.order == "alternate":
            workers[::2] = slowest_first[: (n + 1) // 2]
            workers[1::2] = slowest_first[::-1][: n // 2]
        elif self.order in ("snake", "search"):
            groups = dealt(slowest_first, n // self.size)
            if self.order == "search":
                groups = _searched(x, groups, self.size - self.s, seed)
            workers = groups.ravel()
        return Plan(self, workers, shares)


@dataclass(frozen=True)
class Plan:
    """A remedy with what it has learned."""

    remedy: Remedy
    workers: np.ndarray  # (n,): columns of the trace by their seats, group after group or around the ring
    shares: np.ndarray = field(repr=False)  # (n,): load of every worker, where they differ; 1 for codes

    def options(self, data_bound: bool = False) -> dict[str, tuple[str, dict[str, Any]]]:
        """Options of a run that plays the plan, by their groups: a name, and what is set of it.

        Data-bound seats do not go into a scheme: the data move with their workers, in ``delay.workers``.
        """
        remedy = self.remedy
        n = len(self.shares)
        size = self.remedy.size
        s = self.remedy.s
        code: tuple[str, dict[str, Any]] = ("uncoded", {})
        if remedy.kind == "chunks":
            code = "partial_work", {"d": size, "q": remedy.pieces}
        elif remedy.kind == "grouped" and s == size - 1:
            code = "fractional_repetition", {"d": size}
        elif remedy.kind == "grouped" and size == n:
            code = "cyclic_repetition", {"s": s}
        elif remedy.kind == "grouped":
            code = "clustered", {"clusters": n // size, "d": s + 1, "layout": "column"}
        wait = "covered" if remedy.kind == "chunks" else "decodable"
        found: dict[str, tuple[str, dict[str, Any]]] = {"code": code, "wait": (wait, {})}
        if remedy.kind in ("grouped", "chunks") and not data_bound:
            found["placement"] = "given", {"workers": self.workers.tolist()}
        if remedy.kind in ("exclude", "rebalance"):
            found["loads"] = "given", {"shares": self.shares.tolist()}
        if remedy.order == "recent":
            found["loads"] = "recent", {}
        return found

    def overrides(self, data_bound: bool = False) -> list[str]:
        """The options and their values as `gcexp run` takes them."""
        options = self.options(data_bound)
        chosen = [f"{group}={name}" for group, (name, _) in options.items()]
        for group, (_, keys) in options.items():
            chosen += [f"{group}.{key}={value}".replace(" ", "") for key, value in keys.items()]
        return [*chosen, "exact=true"]

    def times(
        self, x: np.ndarray, phis: Sequence[float], late: str = "stop", data_bound: bool = False
    ) -> np.ndarray:
        """Time (P, T) of each iteration of x (T, n) at several phi, without overhead and messages.

        `late` is what workers do whose work was not waited for, see `gcexp.schemes.late`. With `data_bound` the part of
        a time that grows follows the share of the data, wherever it is computed.

        Where times are NaN, other workers were asked in each iteration (`_times_of_asked`).
        """
        if has_gaps(x):
            return self._times_of_asked(x, phis)
        remedy = self.remedy
        n = x.shape[1]
        phi = np.asarray(phis, float)[:, None]
        if remedy.kind in ("grouped", "chunks") and (late != "stop" or data_bound):
            return self._clock(x, phi[..., None], late, data_bound)
        if remedy.kind == "rebalance":
            loads = self.shares
            if remedy.order == "recent":
                draws = TraceDraws((0,), (1, *x.shape), compute=n * x[None])
                loads = Recent().start(n, None)(draws)[0]
            return np.array([(x * growth(loads, share)).max(1) for share in phis])
        if remedy.kind == "chunks":
            return _last_chunk(x[:, self.workers], remedy, np.asarray(phis, float))
        return growth(remedy.load(n), phi) * self.unloaded(x)

    def _times_of_asked(self, x: np.ndarray, phis: Sequence[float]) -> np.ndarray:
        """The same where workers are sampled: times (T, n) of those who were not asked in an iteration are NaN.

        Those who were asked sit side by side in the order of their seats. Of c workers of which m are excluded the
        others carry c / (c - m) shares. Where a code does not fit so many workers, and where all who were asked are
        excluded, all are waited for.
        """
        found = np.empty((len(phis), len(x)))
        phi = np.asarray(phis, float)[:, None]
        for rows, asked in by_number(x[:, self.workers]):
            columns = self.workers[asked]
            seated = np.take_along_axis(x[rows], columns, axis=1)
            found[:, rows] = self._of_seated(seated, self.shares[columns], phi)
        return found

    def _of_seated(self, seated: np.ndarray, shares: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Times (P, R) of iterations in which as many workers were asked, from their times and shares (R, c)."""
        remedy = self.remedy
        c = seated.shape[1]
        waiting = np.broadcast_to(seated.max(1), (len(phi), len(seated)))
        if remedy.kind == "exclude":
            kept = shares > 0
            kept[~kept.any(axis=1)] = True
            return growth(c / kept.sum(1), phi) * np.where(kept, seated, 0.0).max(1)
        if remedy.kind == "rebalance":
            loads = shares / shares.mean(axis=1, keepdims=True)
            return np.array([(seated * growth(loads, share)).max(1) for share in phi.ravel()])
        if remedy.kind == "grouped" and c % remedy.size == 0:
            groups = seated.reshape(len(seated), -1, remedy.size)
            return growth(remedy.load(c), phi) * _heard(groups, remedy.size - remedy.s).max(1)
        if remedy.kind == "chunks" and remedy.size <= c:
            return _last_chunk(seated, remedy, phi.ravel())
        return waiting

    def unloaded(self, x: np.ndarray) -> np.ndarray:
        """Time (T,) of each iteration of x (T, n) if workers had one share each; of remedies with one load for all."""
        remedy = self.remedy
        if remedy.kind != "grouped":
            return x[:, self.shares > 0].max(1)
        seated = x[:, self.workers].reshape(len(x), -1, remedy.size)
        return _heard(seated, remedy.size - remedy.s).max(1)

    def _clock(self, x: np.ndarray, phi: np.ndarray, late: str, data_bound: bool) -> np.ndarray:
        """The same by the clock, for phi (P, 1, 1)."""
        from gcexp.run.compose import compose
        from gcexp.run.scheme import build_scheme
        from gcexp.timeline import simulate

        n = x.shape[1]
        if data_bound:  # the data move with their workers
            x = x[:, self.workers]
        fixed = phi * x
        growing = (1 - phi) * x
        parts: dict[str, Any] = {"compute": n * growing}
        if data_bound:
            parts = {"chunks": growing[..., None], "data_bound": True}
        draws = TraceDraws((0,) * len(phi), growing.shape, start=fixed, **parts)
        scheme = build_scheme(compose([*self.overrides(data_bound), f"n={n}", f"late={late}"]), 0)
        return simulate(scheme, draws).duration


def by_number(x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of times x (T, n) with as many times, and the columns (R, c) of these.

    >>> x = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, np.nan], [5.0, 6.0, 7.0]])
    >>> [(rows.tolist(), columns.tolist()) for rows, columns in by_number(x)]
    [([0, 1], [[0, 2], [0, 1]]), ([2], [[0, 1, 2]])]
    """
    logged = ~np.isnan(x)
    numbers = logged.sum(1)
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        yield rows, np.nonzero(logged[rows])[1].reshape(len(rows), number)


def _usual_times(x: np.ndarray) -> np.ndarray:
    """Mean times (n,) of the workers; that of all for a worker without any."""
    found = mean(x, axis=0)
    return np.where(np.isnan(found), np.nanmean(found), found)


def _last_chunk(seated: np.ndarray, remedy: Remedy, phis: np.ndarray) -> np.ndarray:
    """When the first copy of every chunk is there, (P, T), from times (T, n) of the workers around the ring.

    The share at seat i is computed first there, in order, and as the (j + 1)-th by the worker at seat i - j, which
    begins with its last chunk. An iteration lasts at least as long as the fastest of the workers that hold a share
    would take for a single one, whatever the share. So only shares count whose own worker takes as long as that.
    """
    T, n = seated.shape
    q = remedy.pieces
    around = np.concatenate([seated[:, n - remedy.size + 1 :], seated], axis=1)
    fastest_holder = seated
    for j in range(remedy.size - 1):
        fastest_holder = np.minimum(fastest_holder, around[:, j : j + n])
    rows, seats = np.nonzero(seated >= fastest_holder.max(1)[:, None])
    holders = [seated[rows, seats - j] for j in range(remedy.size)]
    begins = np.flatnonzero(np.diff(rows, prepend=-1))  # every row has a share that counts
    last = np.empty((len(phis), T))
    for place, phi in enumerate(phis):
        of_shares = np.zeros(len(rows))
        for chunk in range(q):
            first = growth((chunk + 1) / q, phi) * holders[0]
            for j in range(1, remedy.size):
                first = np.minimum(first, growth(j + 1 - chunk / q, phi) * holders[j])
            of_shares = np.maximum(of_shares, first)
        last[place] = np.maximum.reduceat(of_shares, begins)
    return last


def _heard(times: np.ndarray, awaited: int) -> np.ndarray:
    """When so many of the workers along the last axis have finished."""
    return np.partition(times, awaited - 1, axis=-1)[..., awaited - 1]


def dealt(workers: np.ndarray, groups: int) -> np.ndarray:
    """Workers dealt to groups back and forth, (groups, n / groups): of six workers 0, 5 and 1, 4 and 2, 3."""
    rounds = workers.reshape(-1, groups).copy()
    rounds[1::2] = rounds[1::2, ::-1]
    return rounds.T


def _searched(x: np.ndarray, groups: np.ndarray, awaited: int, seed: int) -> np.ndarray:
    """Groups after random swaps between two of them, each kept if the mean time falls.

    Few swaps are kept, so some are tried together on the same groups. Those after the first that is kept are tried
    again.
    """
    count, size = groups.shape
    if count < 2:
        return groups
    spread = np.linspace(0, len(x) - 1, min(len(x), _ROWS)).astype(int)
    rows = x[np.unique(spread)]
    draw = rng(seed, "advice.search")
    one = draw.integers(count, size=_SWAPS)
    other = (one + 1 + draw.integers(count - 1, size=_SWAPS)) % count
    seats = draw.integers(size, size=(_SWAPS, 2))
    swaps = np.column_stack([one, other, seats])

    # What is looked at are a few workers in all rows
    found = _Groups(groups.copy(), awaited, np.ascontiguousarray(rows.T))
    best = found.done.max(0).sum()  # smallest where the mean is, and sooner there
    begin = 0
    while begin < _SWAPS:
        totals = found.totals_after(swaps[begin : begin + _TOGETHER])
        falls = totals < best
        tried = len(totals)
        if falls.any():
            kept = int(falls.argmax())
            found.swap(*swaps[begin + kept])
            best = totals[kept]
            tried = kept + 1
        begin += tried
    return found.groups


class _Groups:
    """Groups of workers, and when each of them has finished, by times `by_worker` (n, R)."""

    def __init__(self, groups: np.ndarray, awaited: int, by_worker: np.ndarray) -> None:
        count, size = groups.shape
        self.groups = groups
        self.by_worker = by_worker
        self._awaited = awaited
        #: Of each group the times of the last worker that is awaited, and of those before and behind it, (count, 3, R).
        self._around = np.empty((count, 3, by_worker.shape[1]))
        self._look_at(np.arange(count))

    @property
    def done(self) -> np.ndarray:
        """When each group has finished, (count, R)."""
        return self._around[:, 1]

    def _look_at(self, some: np.ndarray) -> None:
        """Sort the times of some groups, and say again which groups are the slowest."""
        ordered = np.sort(self.by_worker[self.groups[some]], axis=1)
        never = np.full_like(ordered[:, :1], np.inf)
        ordered = np.concatenate([-never, ordered, never], axis=1)
        self._around[some] = ordered[:, self._awaited - 1 : self._awaited + 2]
        slowest = min(3, len(self.groups))
        self._slowest = np.argpartition(-self.done, slowest - 1, axis=0)[:slowest]  # in no order

    def swap(self, one: int, other: int, seat: int, other_seat: int) -> None:
        """Let two workers of two groups change places."""
        groups = self.groups
        groups[one, seat], groups[other, other_seat] = groups[other, other_seat], groups[one, seat]
        self._look_at(np.array([one, other]))

    def totals_after(self, swaps: np.ndarray) -> np.ndarray:
        """Time (K,) that all rows take together after each of some swaps alone.

        A swap is a row of `swaps` (K, 4): two groups, and the seat of each whose workers change places.
        """
        one, other, seat, other_seat = swaps.T
        of_one = self.by_worker[self.groups[one, seat]]
        of_other = self.by_worker[self.groups[other, other_seat]]
        of_pair = np.maximum(self._done_with(one, of_one, of_other), self._done_with(other, of_other, of_one))
        # One of the three slowest groups of a row is in no pair, where there are that many
        of_others = np.zeros_like(of_pair)
        every = np.arange(self.done.shape[1])
        for group in self._slowest:
            is_in_pair = (group == one[:, None]) | (group == other[:, None])
            of_others = np.maximum(of_others, np.where(is_in_pair, 0.0, self.done[group, every]))
        return np.maximum(of_pair, of_others).sum(1)

    def _done_with(self, group: np.ndarray, leaving: np.ndarray, coming: np.ndarray) -> np.ndarray:
        """When groups (K,) have finished in which one worker has left and another has come, (K, R)."""
        before, done, behind = self._around[group].swapaxes(0, 1)
        # Whoever comes is the last that is awaited, if not earlier or later than these two of those who stay.
        earliest = np.where(leaving <= before, done, before)
        latest = np.where(leaving <= done, behind, done)
        return np.clip(coming, earliest, latest)


def remedies(n: int, d_max: float, moves: bool = False, are_sampled: bool = False) -> Iterator[Remedy]:
    """All candidates for n workers of which none may store more than `d_max` shares.

    Where n others are asked each time, nobody has a seat for good, so that they sit as they are numbered.

    Examples
    --------
    >>> [len(list(remedies(n, 4))) for n in (10, 32, 64)]
    [43, 67, 84]
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
    for size in range(2, n + 1):
        if n % size:
            continue
        orders = ("home",) if size == n or are_sampled else ("home", "snake", "search")
        for s in range(1, min(size - 1, int(d_max) - 1) + 1):
            for order in orders:
                yield Remedy("grouped", order, size, s)
    for size, pieces in product(range(2, min(int(d_max), n) + 1), _PIECES):
        for order in ("home",) if are_sampled else ("home", "alternate"):
            yield Remedy("chunks", order, size, pieces=pieces)
