"""Code, rebalance, or do nothing? Candidates are compared on halves of a trace from which they did not learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np

from gcexp.advice.remedies import KINDS, Plan, Remedy, remedies
from gcexp.advice.resampling import ratio_interval
from gcexp.theory import bounds

NOTHING, REBALANCE, CODE = "do nothing", "rebalance", "code"
DEPENDS, UNKNOWN = "depends on phi", "not enough data"
LEAST_ROWS = 16
_SHORT, _BLOCKS = 40, 8  # fewer rows, or fewer blocks of dependent rows, are a short trace
_OFTEN, _CLEARLY = 0.9, 0.9  # on a short trace: of the iterations, and of the time of waiting
_GRID = 201
_MOST_PER_MESSAGE = 0.05
_EXACT = 1e-4


@dataclass(frozen=True)
class Terms:
    """What is compared, and by which rules.

    Attributes
    ----------
    d_max : float
        Shares of the data that a worker can store.
    overhead : float
        Time that every iteration takes besides, in the trace's unit.
    per_message : float
        Time that each sent message takes, as a share of the mean iteration of waiting for all.
    slowness : {"worker", "data"}
        Whether a slow time belongs to the worker, or to its share of the data, so that a copy is slow as well.
    moves : bool
        Whether data may move between workers from one iteration to the next.
    near : float
        Remedies are as good as the best within this share of its time; the simplest of them is chosen.
    least : float
        A smaller gain is none.
    seed : int
    """

    d_max: float = 4.0
    overhead: float = 0.0
    per_message: float = 0.001
    slowness: str = "worker"
    moves: bool = False
    near: float = 0.01
    least: float = 0.02
    seed: int = 0


@dataclass(frozen=True)
class Judged:
    """A remedy that was learned on each half of the trace and priced on the other."""

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
    wins : float
        Share of the iterations in which the pick is faster than the runner-up.
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
    mean_as_written: float = 0.0
    wins: float = 1.0

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
        half = len(x) // 2
        self.half = half
        parts = x[:half], x[half : 2 * half]
        self.rows = x[: 2 * half]
        self.plain = self.rows.max(1)  # waiting for all, without overhead and messages
        self.unit = float(x.max(1).mean())
        offered = remedies(self.n, terms.d_max, terms.moves)
        if terms.slowness == "data":  # a share is as slow wherever it is computed
            offered = (one for one in offered if one.kind not in ("exclude", "rebalance"))
        self.offered = list(offered)
        data = terms.slowness == "data"
        self._played = {
            one: [one.learned(parts[1 - i], terms.seed).on(parts[i], data) for i in (0, 1)]
            for one in self.offered
        }
        self._times: dict[tuple[Remedy, float], np.ndarray] = {}

    def times(self, remedy: Remedy, phi: float) -> np.ndarray:
        """Time of each iteration, without overhead and messages."""
        return np.concatenate([played.time(phi) for played in self._played[remedy]])

    def extra(self, remedy: Remedy, terms: Terms) -> float:
        """Overhead of an iteration and of its messages."""
        return terms.overhead + terms.per_message * self.unit * remedy.messages(self.n)

    @cached_property
    def _means(self) -> Callable[[float], dict[Remedy, float]]:
        kept: dict[float, dict[Remedy, float]] = {}

        def means(phi: float) -> dict[Remedy, float]:
            if phi not in kept:
                kept[phi] = {one: float(self.times(one, phi).mean()) for one in self.offered}
            return kept[phi]

        return means

    def chosen(self, phi: float, terms: Terms | None = None) -> Remedy:
        """The simplest of the remedies whose mean time is near the least."""
        terms = terms or self.terms
        means = {
            one: mean + self.extra(one, terms)
            for one, mean in self._means(phi).items()
            if one.load(self.n) <= terms.d_max + 1e-9
        }
        least = min(means.values())
        near = [one for one, mean in means.items() if mean <= least * (1 + terms.near)]
        return min(near, key=lambda one: (KINDS.index(one.kind), means[one]))

    def judged(self, remedy: Remedy, phi: float) -> Judged:
        """A remedy's ratio to waiting for all, with overhead and messages."""
        took = self.times(remedy, phi) + self.extra(remedy, self.terms)
        every = self.waiting
        first, second = (
            float(took[some].mean() / every[some].mean())
            for some in (slice(self.half), slice(self.half, None))
        )
        return Judged(remedy, float(took.mean() / every.mean()), (first, second), took)

    @property
    def waiting(self) -> np.ndarray:
        """Time of each iteration of waiting for all."""
        return self.plain + self.extra(Remedy("wait"), self.terms)

    def floor(self, phi: float) -> float:
        """Ratio below which no exact scheme within the memory gets on these rows."""
        cap = min(self.terms.d_max, self.n)
        if self.terms.slowness == "data":
            least = bounds.shared_work(phi * self.rows, (1 - phi) * self.rows)
        else:
            least = bounds.work_floor(phi * self.rows, (1 - phi) * self.rows, cap)
        sent = self.terms.per_message * self.unit * ceil(self.n / cap - 1e-9)
        return float((least.mean() + self.terms.overhead + sent) / self.waiting.mean())

    def capacity(self, remedy: Remedy, phi: float) -> float | None:
        """The same for exact codes with one message and the load of a block code."""
        if remedy.kind != "grouped" or self.terms.slowness == "data":
            return None
        least = bounds.capacity(phi * self.rows, (1 - phi) * self.rows, remedy.load(self.n))
        return float((least.mean() + self.extra(remedy, self.terms)) / self.waiting.mean())

    def answer(self, phi: float) -> Answer:
        """The verdict at one phi, by the steps of docs/advice.md."""
        terms = self.terms
        pick = self.judged(self.chosen(phi), phi)
        every = {one: self.judged(one, phi) for one in self.offered}
        best = {
            kind: min((every[one] for one in self.offered if one.kind == kind), key=lambda one: one.ratio)
            for kind in dict.fromkeys(one.kind for one in self.offered)
        }
        plan = pick.remedy.learned(self.x, terms.seed)
        low = high = 1.0
        blocks = float(len(self.x))
        if pick.remedy.kind != "wait":
            low, high, blocks = ratio_interval(pick.times, self.waiting, terms.seed)
        found = Answer(
            phi,
            NOTHING,
            pick,
            plan,
            low,
            high,
            self.floor(phi),
            self.capacity(pick.remedy, phi),
            best,
            mean_as_written=float(plan.on(self.x, terms.slowness == "data").time(phi).mean()),
        )
        runner = found.runner_up
        found = replace(found, wins=float((pick.times < runner.times).mean()))
        others = [one for kind, one in best.items() if kind != "wait"]
        better_half = min((min(every[one].halves) for one in self.offered if one.kind != "wait"), default=1.0)
        return replace(found, **self._decided(found, others, blocks, better_half))

    def _decided(self, found: Answer, others: list[Judged], blocks: float, better_half: float) -> dict:
        pick, terms = found.pick, self.terms
        if len(self.x) < LEAST_ROWS:
            few = f"the trace has {len(self.x)} iterations, and {LEAST_ROWS} are the least for any advice"
            return {"verdict": UNKNOWN, "reason": few}
        short = len(self.x) < _SHORT or ceil(blocks) < _BLOCKS
        because = (
            f"the trace has {len(self.x)} iterations, fewer than {_SHORT}"
            if len(self.x) < _SHORT
            else f"the {len(self.x)} iterations are only about {ceil(blocks)} independent stretches"
        )
        if pick.remedy.kind == "wait" or 1 - pick.ratio < terms.least:
            if short and better_half <= 1 - terms.least:
                return {
                    "verdict": UNKNOWN,
                    "reason": f"{because}, and some remedy gains in one of its halves",
                }
            return {"verdict": NOTHING}
        if short:
            faster = pick.times < self.waiting
            often = min(faster[: self.half].mean(), faster[self.half :].mean()) >= _OFTEN
            if not (often and max(pick.halves) <= _CLEARLY):
                return {
                    "verdict": UNKNOWN,
                    "reason": f"{because}, too few for a gain that is not clear in each half",
                }
        if found.high >= 1 or max(pick.halves) >= 1:
            return {
                "verdict": UNKNOWN,
                "reason": "the gain may be chance: its interval or one half reaches 1",
            }
        if pick.remedy.kind not in ("exclude", "rebalance"):
            return {"verdict": CODE}
        last = self.x[-max(len(self.x) // 10, 1) :]  # who was slow may have recovered
        if found.plan.on(last).time(found.phi).mean() > (1 + terms.least) * last.max(1).mean():
            return {
                "verdict": UNKNOWN,
                "reason": "in the last tenth of the trace the remedy would be slower than waiting",
            }
        return {"verdict": REBALANCE}

    # --- What would change its mind ---------------------------------------------------------------------------

    def change_of_phi(self, phi: float) -> list[tuple[float, Remedy]]:
        """Where, going away from `phi`, the kind of the pick changes first: below and above, and to what."""
        kind, found = self.chosen(phi).kind, []
        for end in (0.0, 1.0):
            grid = [value for value in np.linspace(0, 1, _GRID) if (value - phi) * (end - phi) > 0]
            before = phi
            for value in sorted(grid, key=lambda value: abs(value - phi)):
                if self.chosen(float(value)).kind != kind:
                    found.append(_bisected(lambda at: self.chosen(at), before, float(value)))
                    break
                before = float(value)
        return found

    def change_per_message(self, phi: float) -> tuple[float, Remedy] | None:
        """The cost of a message, nearest to the one assumed, at which the kind of the pick changes, and to what."""

        def chosen(cost: float) -> Remedy:
            return self.chosen(phi, replace(self.terms, per_message=cost))

        now = self.terms.per_message
        kind = chosen(now).kind
        before = {True: now, False: now}
        for cost in sorted(
            np.linspace(0, _MOST_PER_MESSAGE, _GRID).tolist(), key=lambda cost: abs(cost - now)
        ):
            if chosen(cost).kind != kind:
                return _bisected(chosen, before[cost > now], cost)
            before[cost > now] = cost
        return None

    def change_of_memory(self, phi: float) -> tuple[int, Remedy] | None:
        """The whole load limit, nearest to the one assumed, at which the kind of the pick changes, and to what."""
        kind, now = self.chosen(phi).kind, self.terms.d_max
        for limit in sorted(range(1, int(now) + 1), key=lambda limit: abs(limit - now)):
            remedy = self.chosen(phi, replace(self.terms, d_max=limit))
            if remedy.kind != kind:
                return limit, remedy
        return None


def _bisected(chosen: Callable[[float], Remedy], before: float, behind: float) -> tuple[float, Remedy]:
    """Where the kind of what is chosen changes between two values, to 1e-4, and to what."""
    kind = chosen(before).kind
    while abs(behind - before) > _EXACT / 2:
        middle = (before + behind) / 2
        if chosen(middle).kind == kind:
            before = middle
        else:
            behind = middle
    return behind, chosen(behind)
