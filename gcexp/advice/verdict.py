"""Code, rebalance, or do nothing? Candidates are compared on halves of a trace from which they did not learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np

from gcexp.advice.remedies import KINDS, Plan, Played, Remedy, remedies
from gcexp.advice.resampling import ratio_interval
from gcexp.theory import bounds

NOTHING, REBALANCE, CODE = "do nothing", "rebalance", "code"
DEPENDS, UNKNOWN = "depends on phi", "not enough data"
LEAST_ROWS = 16
_SHORT, _BLOCKS = 40, 8  # fewer rows, or fewer blocks of dependent rows, are a short trace
_OFTEN, _CLEARLY = 0.9, 0.9  # on a short trace: of the iterations, and of the time of waiting
_GRID = 201
#: Shares phi that the clock plays together, and between which it is interpolated.
_CLOCKED = np.linspace(0, 1, 21)
_MOST_PER_MESSAGE = 0.05
_EXACT = 1e-4


@dataclass(frozen=True)
class Terms:
    """What is compared, and by which rules; see `gcexp.advise`."""

    d_max: float = 4.0
    overhead: float = 0.0
    per_message: float = 0.001
    late: str = "stop"
    slowness: str = "worker"
    moves: bool = False
    near: float = 0.01
    least: float = 0.02
    seed: int = 0

    @property
    def data_bound(self) -> bool:
        """Whether a slow time belongs to a share of the data, so that a copy is slow as well."""
        return self.slowness == "data"

    def offers(self, remedy: Remedy) -> bool:
        """Whether a remedy is a candidate: slow data are slow with any worker, and who is late goes by blocks."""
        if self.data_bound and remedy.kind in ("exclude", "rebalance"):
            return False
        return self.late == "stop" or remedy.kind != "chunks"

    def asks_clock(self, remedy: Remedy) -> bool:
        """Whether a remedy has no closed form under these terms: somebody is late, or copies are slow."""
        return remedy.kind in ("grouped", "chunks") and (self.data_bound or self.late != "stop")

    def time(self, played: Played, phi: float) -> np.ndarray:
        """Time (T,) of each iteration, without overhead and messages."""
        plan = played.plan
        if self.asks_clock(plan.remedy):
            return plan.clock(played.x, [phi], self.late, self.data_bound)[0]
        return played.time(phi)


@dataclass(frozen=True)
class Judged:
    """A remedy that was learned on each half of the trace and priced on the other: its time over waiting for all."""

    remedy: Remedy
    ratio: float
    halves: tuple[float, float]
    times: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """The verdict at one phi.

    Attributes
    ----------
    phi : float
    verdict : str
        ``do nothing``, ``rebalance``, ``code`` or ``not enough data``.
    pick : Judged
        The remedy that was chosen; what it gains may be too little, or too unsure, for the verdict.
    plan : Plan
        The same, learned from the whole trace.
    low, high : float
        95 % interval of the pick's ratio.
    floor : float
        No exact scheme whose workers store at most `d_max` shares has a smaller ratio on these rows.
    capacity : float, optional
        Of a code that sends one message: no other such code of its load has a smaller ratio.
    best : dict
        The best remedy of each kind.
    reason : str
        Why there is not enough data, where there is not.
    """

    phi: float
    verdict: str
    pick: Judged
    plan: Plan
    low: float
    high: float
    floor: float
    capacity: float | None
    best: dict[str, Judged] = field(repr=False)
    reason: str = ""

    @property
    def advised(self) -> bool:
        """Whether something is to be done."""
        return self.verdict in (REBALANCE, CODE)

    @property
    def gap(self) -> float:
        """By how much the pick misses the floor."""
        return self.pick.ratio / self.floor - 1

    @property
    def runner_up(self) -> Judged:
        """The best remedy of another kind."""
        others = [one for kind, one in self.best.items() if kind != self.pick.remedy.kind]
        return min(others, key=lambda one: one.ratio, default=self.pick)

    @property
    def wins(self) -> float:
        """Share of the iterations in which the pick is faster than the runner-up."""
        return float((self.pick.times < self.runner_up.times).mean())


class Comparison:
    """All remedies on a trace x (T, n): learned on its first half and priced on its second, and the other way.

    Examples
    --------
    >>> slow = np.exp(0.05 * np.sin(np.arange(600.0)).reshape(100, 6)) * np.array([1, 1, 1, 1, 1, 3.0])
    >>> answer = Comparison(slow, Terms()).answer(0.0)
    >>> answer.verdict, answer.pick.remedy.kind, round(answer.pick.ratio, 2)
    ('rebalance', 'rebalance', 0.4)
    """

    def __init__(self, x: np.ndarray, terms: Terms):
        self.x, self.terms, self.n = x, terms, x.shape[1]
        self.half = len(x) // 2
        self.rows = x[: 2 * self.half]
        self.unit = float(x.max(1).mean())
        self.offered = [one for one in remedies(self.n, terms.d_max, terms.moves) if terms.offers(one)]
        first, second = np.split(self.rows, 2)
        learn = terms.seed
        self._played = {
            one: (one.learned(second, learn).on(first), one.learned(first, learn).on(second))
            for one in self.offered
        }
        self._means: dict[float, dict[Remedy, float]] = {}
        self._clocked: dict[Remedy, np.ndarray] = {}

    def times(self, remedy: Remedy, phi: float) -> np.ndarray:
        """Time of each iteration, without overhead and messages."""
        if self.terms.asks_clock(remedy) and phi in _CLOCKED:
            return self._by_clock(remedy)[_CLOCKED == phi][0]
        return np.concatenate([self.terms.time(played, phi) for played in self._played[remedy]])

    def _by_clock(self, remedy: Remedy) -> np.ndarray:
        """The same by the clock, one row for each phi of `_CLOCKED`."""
        if remedy not in self._clocked:
            how = _CLOCKED.tolist(), self.terms.late, self.terms.data_bound
            each = [played.plan.clock(played.x, *how) for played in self._played[remedy]]
            self._clocked[remedy] = np.concatenate(each, axis=1)
        return self._clocked[remedy]

    def extra(self, remedy: Remedy, terms: Terms) -> float:
        """Overhead of an iteration and of its messages."""
        return terms.overhead + terms.per_message * self.unit * remedy.messages(self.n)

    @cached_property
    def waiting(self) -> np.ndarray:
        """Time of each iteration of waiting for all."""
        return self.rows.max(1) + self.extra(Remedy("wait"), self.terms)

    def _mean(self, remedy: Remedy, phi: float) -> float:
        """Mean of `times`, interpolated in phi where it takes the clock."""
        if self.terms.asks_clock(remedy):
            return float(np.interp(phi, _CLOCKED, self._by_clock(remedy).mean(1)))
        return float(self.times(remedy, phi).mean())

    def chosen(self, phi: float, terms: Terms | None = None) -> Remedy:
        """The simplest of the remedies whose mean time is near the least."""
        terms = terms or self.terms
        if phi not in self._means:
            self._means[phi] = {one: self._mean(one, phi) for one in self.offered}
        means = {
            one: mean + self.extra(one, terms)
            for one, mean in self._means[phi].items()
            if one.load(self.n) <= terms.d_max + 1e-9
        }
        least = min(means.values())
        near = [one for one, mean in means.items() if mean <= least * (1 + terms.near)]
        return min(near, key=lambda one: (KINDS.index(one.kind), means[one]))

    def judged(self, remedy: Remedy, phi: float) -> Judged:
        """A remedy's ratio to waiting for all, with overhead and messages."""
        took = self.times(remedy, phi) + self.extra(remedy, self.terms)
        halves = np.reshape(took, (2, -1)).mean(1) / np.reshape(self.waiting, (2, -1)).mean(1)
        return Judged(
            remedy, float(took.mean() / self.waiting.mean()), (float(halves[0]), float(halves[1])), took
        )

    def floor(self, phi: float) -> float:
        """Ratio below which no exact scheme within the memory gets on these rows."""
        cap = min(self.terms.d_max, self.n)
        parts = phi * self.rows, (1 - phi) * self.rows
        least = bounds.shared_work(*parts) if self.terms.data_bound else bounds.work_floor(*parts, cap)
        sent = self.terms.per_message * self.unit * ceil(self.n / cap - 1e-9)
        return float((least.mean() + self.terms.overhead + sent) / self.waiting.mean())

    def capacity(self, remedy: Remedy, phi: float) -> float | None:
        """The same for exact codes with one message and the load of a block code."""
        if remedy.kind != "grouped" or self.terms.data_bound:
            return None
        least = bounds.capacity(phi * self.rows, (1 - phi) * self.rows, remedy.load(self.n))
        return float((least.mean() + self.extra(remedy, self.terms)) / self.waiting.mean())

    def answer(self, phi: float) -> Answer:
        """The verdict at one phi, by the steps of docs/advice.md."""
        pick = self.judged(self.chosen(phi), phi)
        every = [self.judged(one, phi) for one in self.offered]
        best = {
            kind: min((one for one in every if one.remedy.kind == kind), key=lambda one: one.ratio)
            for kind in dict.fromkeys(one.kind for one in self.offered)
        }
        plan = pick.remedy.learned(self.x, self.terms.seed)
        low = high = 1.0
        blocks = float(len(self.x))
        if pick.remedy.kind != "wait":
            low, high, blocks = ratio_interval(pick.times, self.waiting, self.terms.seed)
        limits = self.floor(phi), self.capacity(pick.remedy, phi)
        found = Answer(phi, NOTHING, pick, plan, low, high, *limits, best)
        better_half = min((min(one.halves) for one in every if one.remedy.kind != "wait"), default=1.0)
        verdict, reason = self._decided(found, blocks, better_half)
        return replace(found, verdict=verdict, reason=reason)

    def _decided(self, found: Answer, blocks: float, better_half: float) -> tuple[str, str]:
        """The verdict, and the reason where it is that there is not enough data."""
        pick, terms, T = found.pick, self.terms, len(self.x)
        if T < LEAST_ROWS:
            return UNKNOWN, f"the trace has {T} iterations, and {LEAST_ROWS} are the least for any advice"
        short = T < _SHORT or ceil(blocks) < _BLOCKS
        because = (
            f"the trace has {T} iterations, fewer than {_SHORT}"
            if T < _SHORT
            else f"the {T} iterations are only about {ceil(blocks)} independent stretches"
        )
        if pick.remedy.kind == "wait" or 1 - pick.ratio < terms.least:
            if short and better_half <= 1 - terms.least:
                return UNKNOWN, f"{because}, and some remedy gains in one of its halves"
            return NOTHING, ""
        if short:
            often = np.reshape(pick.times < self.waiting, (2, -1)).mean(1).min() >= _OFTEN
            if not (often and max(pick.halves) <= _CLEARLY):
                return UNKNOWN, f"{because}, too few for a gain that is not clear in each half"
        if found.high >= 1 or max(pick.halves) >= 1:
            return UNKNOWN, "the gain may be chance: its interval or one half reaches 1"
        if pick.remedy.kind not in ("exclude", "rebalance"):
            return CODE, ""
        last = self.x[-max(T // 10, 1) :]  # who was slow may have recovered
        if found.plan.on(last).time(found.phi).mean() > (1 + terms.least) * last.max(1).mean():
            return UNKNOWN, "in the last tenth of the trace the remedy would be slower than waiting"
        return REBALANCE, ""

    def changes(self, phi: float) -> list[tuple[str, float, bool, Remedy]]:
        """What would change its mind: the nearest phi, message cost and memory with a pick of another kind.

        Returns
        -------
        list of tuple
            ``phi``, ``per_message`` or ``d_max``; the value from which on the pick is of another kind, all else
            unchanged; whether it is below the one assumed; and the new pick. Of phi the nearest values on both sides.
        """
        terms = self.terms
        messages, memory = np.linspace(0, _MOST_PER_MESSAGE, _GRID), np.arange(1, int(terms.d_max) + 1)
        found = [
            *_changes("phi", phi, np.linspace(0, 1, _GRID), self.chosen),
            *_changes(
                "per_message",
                terms.per_message,
                messages,
                lambda cost: self.chosen(phi, replace(terms, per_message=cost)),
            )[:1],
            *_changes(
                "d_max", terms.d_max, memory, lambda limit: self.chosen(phi, replace(terms, d_max=limit))
            )[:1],
        ]
        return found


def _changes(
    what: str, now: float, values: Iterable[float], chosen: Callable[[float], Remedy]
) -> list[tuple[str, float, bool, Remedy]]:
    """The first values on both sides of `now` at which the kind of what is chosen changes, the nearest one first."""
    kind, found = chosen(now).kind, []
    for sign in (-1, 1):
        before = now
        for value in sorted(
            (float(one) for one in values if sign * (one - now) > 0), key=lambda one: sign * one
        ):
            if chosen(value).kind != kind:
                behind = value
                while what != "d_max" and abs(behind - before) > _EXACT / 2:
                    middle = (before + behind) / 2
                    before, behind = (middle, behind) if chosen(middle).kind == kind else (before, middle)
                found.append((what, behind, sign < 0, chosen(behind)))
                break
            before = value
    return sorted(found, key=lambda one: abs(one[1] - now)) if what != "phi" else found
