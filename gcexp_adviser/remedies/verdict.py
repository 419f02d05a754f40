"""Code, rebalance, or do nothing? Candidates are compared on halves of a trace from which they did not learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np

from gcexp.theory import bounds
from gcexp_adviser.diagnosis.logged import has_gaps, longest, usual_number
from gcexp_adviser.diagnosis.resampling import ratio_interval
from gcexp_adviser.remedies.remedies import KINDS, Plan, Remedy, by_number, growth, remedies
from gcexp_adviser.remedies.terms import Terms

NOTHING, REBALANCE, CODE = "do nothing", "rebalance", "code"
DEPENDS, UNKNOWN = "depends on phi", "not enough data"
LEAST_ROWS = 16
_SHORT, _BLOCKS = 40, 8  # fewer rows, or fewer blocks of dependent rows, are a short trace
_OFTEN, _CLEARLY = 0.9, 0.9  # on a short trace: of the iterations, and of the time of waiting
_GRID = np.linspace(0, 1, 201)  # values of phi between which means are interpolated
_COARSE = np.linspace(0, 1, 21)  # the same where times take longer to compute
_FINE = 10_001  # values at which the kind of the pick is asked for
_MOST_PER_MESSAGE = 0.05
_SIMPLICITY = {kind: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True)
class Judged:
    """A remedy that was learned on each half of the trace and priced on the other: its time over waiting for all."""

    remedy: Remedy
    ratio: float
    halves: tuple[float, float]
    times: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """The verdict at one phi."""

    phi: float
    verdict: str
    pick: Judged  # the remedy that was chosen; its gain may be too little, or too unsure, for the verdict
    plan: Plan  # the same, learned from the whole trace
    runner_up: Judged  # the best remedy of another kind
    low: float  # 95 % interval of the pick's ratio
    high: float
    #: No exact scheme whose workers store at most `d_max` shares has a smaller ratio on these rows.
    bound: float
    capacity: float | None  # of a code that sends one message: the same for all such codes of its load
    reason: str = ""  # why there is not enough data, where there is not

    @property
    def ratio(self) -> float:
        """Mean iteration of the pick over that of waiting for all."""
        return self.pick.ratio

    @property
    def remedy(self) -> str:
        """Kind of the pick, one of `KINDS`."""
        return self.pick.remedy.kind

    @property
    def gap(self) -> float:
        """By how much the pick misses the bound."""
        return self.ratio / self.bound - 1

    @property
    def advised(self) -> bool:
        """Whether something is to be done."""
        return self.verdict in (REBALANCE, CODE)


@dataclass(frozen=True)
class Comparison:
    """All remedies on a trace x (T, n): learned on its first half and priced on its second, and the other way.

    Where workers are sampled, x is NaN where one was not asked, and all is priced on those who were.

    What is compared is said in `gcexp.advise`, and by which rules in `terms`.
    """

    x: np.ndarray = field(repr=False)
    terms: Terms = Terms()
    seed: int = 0

    @cached_property
    def n(self) -> int:
        """Workers that are waited for in an iteration: all, or as many as are usually asked."""
        return usual_number(self.x)

    @cached_property
    def are_sampled(self) -> bool:
        """Whether other workers are asked in each iteration."""
        return has_gaps(self.x)

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows that are priced, two halves of the same length."""
        return self.x[: len(self.x) // 2 * 2]

    @cached_property
    def waiting(self) -> np.ndarray:
        """Time of each iteration of waiting for all."""
        return longest(self.rows) + self.extra(Remedy("wait"))

    @cached_property
    def plans(self) -> dict[Remedy, list[tuple[Plan, np.ndarray]]]:
        """Of each candidate what it learns on one half, and the other half."""
        first, second = np.split(self.rows, 2)
        not_offered: set[str] = set()
        if self.terms.data_bound:  # slow data are slow with any worker
            not_offered |= {"exclude", "rebalance"}
        if self.terms.late != "stop":  # who is late goes by blocks
            not_offered.add("chunks")
        found = {}
        for remedy in remedies(self.n, self.terms.d_max, self.terms.moves, self.are_sampled):
            if remedy.kind in not_offered:
                continue
            from_second = remedy.learned(second, self.seed)
            from_first = remedy.learned(first, self.seed)
            found[remedy] = [(from_second, first), (from_first, second)]
        return found

    @property
    def message(self) -> float:
        """Time of one message."""
        return self.terms.per_message * float(longest(self.x).mean())

    def extra(self, remedy: Remedy) -> float:
        """Overhead of an iteration and of its messages."""
        return self.terms.overhead + self.message * remedy.messages(self.n)

    def times(self, remedy: Remedy, phis: np.ndarray) -> np.ndarray:
        """Time (P, T) of each iteration, without overhead and messages."""
        if self._is_growth(remedy):
            return growth(remedy.load(self.n), phis[:, None]) * self._unloaded[remedy]
        halves = [
            plan.times(x, phis, self.terms.late, self.terms.data_bound) for plan, x in self.plans[remedy]
        ]
        return np.hstack(halves)

    def _is_growth(self, remedy: Remedy) -> bool:
        """Whether all workers carry the same load, so that times grow with it as a whole."""
        if self.are_sampled:
            return False
        if remedy.kind == "grouped":
            return self.terms.late == "stop" and not self.terms.data_bound
        return remedy.kind in ("wait", "exclude")

    @cached_property
    def _unloaded(self) -> dict[Remedy, np.ndarray]:
        """Times (T,) of such remedies if workers had a single share each."""
        found = {}
        for remedy, plans in self.plans.items():
            if self._is_growth(remedy):
                found[remedy] = np.hstack([plan.unloaded(x) for plan, x in plans])
        return found

    def means(self, remedy: Remedy, phis: np.ndarray) -> np.ndarray:
        """Means (P,) of `times`; where they do not just grow with the load, interpolated between some values of phi."""
        if self._is_growth(remedy):
            return growth(remedy.load(self.n), phis) * self._unloaded[remedy].mean()
        grid = _GRID
        if remedy.kind == "chunks" or self.terms.data_bound or self.terms.late != "stop":
            grid = _COARSE
        if len(phis) <= len(grid):
            return self.times(remedy, phis).mean(1)
        return np.interp(phis, grid, self.times(remedy, grid).mean(1))

    def judged(self, remedy: Remedy, phi: float) -> Judged:
        """A remedy's ratio to waiting for all, with overhead and messages."""
        took = self.times(remedy, np.array([phi]))[0] + self.extra(remedy)
        of_halves = np.reshape(took, (2, -1)).mean(1)
        waiting_of_halves = np.reshape(self.waiting, (2, -1)).mean(1)
        first, second = (of_halves / waiting_of_halves).tolist()
        ratio = float(took.mean() / self.waiting.mean())
        return Judged(remedy, ratio, (first, second), took)

    def floor(self, phi: float) -> float:
        """Ratio below which no exact scheme within the memory gets on these rows."""
        cap = min(self.terms.d_max, self.n)

        def least(x: np.ndarray) -> np.ndarray:
            if self.terms.data_bound:
                return bounds.shared_work(phi * x, (1 - phi) * x)
            return bounds.work_floor(phi * x, (1 - phi) * x, min(cap, x.shape[1]))

        messages = ceil(self.n / cap - 1e-9)
        fastest = self._of_asked(least).mean()
        return float((fastest + self.terms.overhead + self.message * messages) / self.waiting.mean())

    def _of_asked(self, bound: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A bound (T,) of each row, from the times of those who were asked in it."""
        if not self.are_sampled:
            return bound(self.rows)
        found = np.empty(len(self.rows))
        for rows, columns in by_number(self.rows):
            found[rows] = bound(np.take_along_axis(self.rows[rows], columns, axis=1))
        return found

    def capacity(self, remedy: Remedy, phi: float) -> float | None:
        """The same for exact codes with one message and the load of a block code."""
        if remedy.kind != "grouped" or self.terms.data_bound:
            return None
        load = remedy.load(self.n)

        def least(x: np.ndarray) -> np.ndarray:
            return bounds.capacity(phi * x, (1 - phi) * x, load if x.shape[1] % remedy.size == 0 else 1.0)

        return float((self._of_asked(least).mean() + self.extra(remedy)) / self.waiting.mean())

    def answer(self, phi: float, both_halves: bool = True) -> Answer:
        """The verdict at one phi, by the steps of docs/advice.md; workers are excluded only if both halves ask for it.

        Without `both_halves` a worker may also be excluded for what happened in one half.
        """
        every = [self.judged(one, phi) for one in self.plans if not self.costs_more_than_waiting(one)]
        pick = self._picked(every)
        while (
            both_halves and pick.remedy.kind == "exclude" and not self.asked_by_both_halves(pick.remedy, phi)
        ):
            every.remove(pick)
            pick = self._picked(every)
        others = [one for one in every if one.remedy.kind != pick.remedy.kind]
        runner_up = min(others, key=lambda one: one.ratio, default=pick)
        low = high = 1.0
        blocks = float(len(self.x))
        if pick.remedy.kind != "wait":
            low, high, blocks = ratio_interval(pick.times, self.waiting, self.seed)
        undecided = Answer(
            phi=phi,
            verdict=NOTHING,
            pick=pick,
            plan=pick.remedy.learned(self.x, self.seed),
            runner_up=runner_up,
            low=low,
            high=high,
            bound=self.floor(phi),
            capacity=self.capacity(pick.remedy, phi),
        )
        halves = [min(one.halves) for one in every if one.remedy.kind != "wait"]
        verdict, reason = self._decided(undecided, blocks, min(halves, default=1.0))
        return replace(undecided, verdict=verdict, reason=reason)

    def _picked(self, every: list[Judged]) -> Judged:
        """The simplest of those that are near the best."""
        close = min(one.ratio for one in every) * (1 + self.terms.near)
        near = [one for one in every if one.ratio <= close]
        return min(near, key=lambda one: (_SIMPLICITY[one.remedy.kind], one.ratio))

    def asked_by_both_halves(self, remedy: Remedy, phi: float) -> bool:
        """Whether in each half of the trace it pays to exclude each of the excluded workers beside the others."""
        excluded = np.flatnonzero(remedy.learned(self.x, self.seed).shares == 0)
        for half in np.split(self.rows, 2):
            together = self.mean_without(excluded, half, phi)
            for worker in excluded:
                if together >= self.mean_without(excluded[excluded != worker], half, phi):
                    return False
        return True

    def mean_without(self, excluded: np.ndarray, x: np.ndarray, phi: float) -> float:
        """Mean time of an iteration of x (T, n) in which the workers of some columns are excluded."""
        remedy = Remedy("exclude", size=len(excluded))
        if self.are_sampled:
            shares = np.ones(x.shape[1])
            shares[excluded] = 0
            plan = Plan(remedy, np.arange(x.shape[1]), shares)
            return float(plan.times(x, [phi]).mean() + self.extra(remedy))
        others = np.delete(x, excluded, axis=1).max(1).mean()
        return float(growth(remedy.load(self.n), phi) * others + self.extra(remedy))

    def _decided(self, found: Answer, blocks: float, better_half: float) -> tuple[str, str]:
        """The verdict, and the reason where it is that there is not enough data."""
        pick = found.pick
        T = len(self.x)
        if T < LEAST_ROWS:
            return UNKNOWN, f"the trace has {T} iterations, and {LEAST_ROWS} are the least for any advice"
        short = T < _SHORT or ceil(blocks) < _BLOCKS
        because = f"the {T} iterations are only about {ceil(blocks)} independent stretches"
        if T < _SHORT:
            because = f"the trace has {T} iterations, fewer than {_SHORT}"
        if pick.remedy.kind == "wait" or 1 - pick.ratio < self.terms.least:
            if short and better_half <= 1 - self.terms.least:
                return UNKNOWN, f"{because}, and some remedy gains in one of its halves"
            return NOTHING, ""
        if short:
            faster = np.reshape(pick.times < self.waiting, (2, -1)).mean(1)  # in each half
            often = faster.min() >= _OFTEN
            if not (often and max(pick.halves) <= _CLEARLY):
                return UNKNOWN, f"{because}, too few for a gain that is not clear in each half"
        if found.high >= 1 or max(pick.halves) >= 1:
            return UNKNOWN, "the gain may be chance: its interval or one half reaches 1"
        if pick.remedy.kind not in ("exclude", "rebalance"):
            return CODE, ""
        last = self.x[-max(T // 10, 1) :]  # who was slow may have recovered
        remedied = found.plan.times(last, [found.phi]).mean()
        if remedied > (1 + self.terms.least) * longest(last).mean():
            return UNKNOWN, "in the last tenth of the trace the remedy would be slower than waiting"
        return REBALANCE, ""

    def changes(self, phi: float) -> list[dict[str, str | float | bool]]:
        """What would change its mind: the nearest phi, message cost and memory with a pick of another kind.

        ``at`` is the value of ``what`` from which on the pick is of the kind ``then``, all else unchanged; ``below``
        says whether it is below the one assumed. Of phi the nearest values on both sides are given.
        """
        every = list(self.plans)
        loads = np.array([[one.load(self.n)] for one in every])
        messages = longest(self.x).mean() * np.array([[one.messages(self.n)] for one in every])
        simplicity = np.array([[_SIMPLICITY[one.kind]] for one in every])

        def picked(times: np.ndarray) -> np.ndarray:
            """Place in `KINDS` of the pick at each of several values: of the remedies that are near the best one."""
            near = times <= times.min(0) * (1 + self.terms.near)
            return np.where(near, simplicity, len(KINDS)).min(0)

        usual_cost = self.terms.per_message * messages + self.terms.overhead
        now = np.array([self.means(one, np.array([phi])) for one in every])
        usual = picked(now + usual_cost)

        phis = np.linspace(0, 1, _FINE)
        by_phi = np.full((len(every), _FINE), np.inf)
        for place, one in enumerate(every):
            if not self.costs_more_than_waiting(one):
                by_phi[place] = self.means(one, phis) + usual_cost[place]
        of_phi = _nearest_changes("phi", phi, phis, picked(by_phi), usual)

        costs = np.linspace(0, _MOST_PER_MESSAGE, _FINE)
        of_cost = _nearest_changes(
            "per_message",
            self.terms.per_message,
            costs,
            picked(now + self.terms.overhead + costs * messages),
            usual,
        )

        memory = np.arange(1, int(self.terms.d_max) + 1)
        stored = np.where(loads <= memory + 1e-9, now + usual_cost, np.inf)
        of_memory = _nearest_changes("d_max", self.terms.d_max, memory, picked(stored), usual)
        return [*of_phi, *of_cost[:1], *of_memory[:1]]

    def costs_more_than_waiting(self, remedy: Remedy) -> bool:
        """Whether messages alone take longer than iterations in which all workers are waited for."""
        return self.extra(remedy) > self.waiting.mean() * (1 + self.terms.near)


def _nearest_changes(
    what: str, assumed: float, values: np.ndarray, kinds: np.ndarray, usual: np.ndarray
) -> list[dict[str, str | float | bool]]:
    """The nearest values below and above the assumed one at which the pick is of another kind, the nearer first."""
    differs = kinds != usual
    below = np.flatnonzero(differs & (values < assumed))[-1:]
    above = np.flatnonzero(differs & (values > assumed))[:1]
    found = []
    for place in sorted([*below, *above], key=lambda place: abs(values[place] - assumed)):
        at = float(values[place])
        found.append({"what": what, "at": at, "below": at < assumed, "then": list(KINDS)[kinds[place]]})
    return found
