"""Which scheme reaches a score first on a recorded trace? Screened by the clock, then trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.advice.remedies import Plan
from gcexp.errors import UserError
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.datasets import prepared
from gcexp.run.stages import length_of, simulated

if TYPE_CHECKING:
    from gcexp.advice.advise import Advice
    from gcexp.timeline import Timeline

ITERATIONS = 200
_TRAINED, _BEST = 6, 5
_BIASED = 0.05
_SURE = 0.05


@dataclass(frozen=True)
class Run:
    """A scheme on the trace.

    Attributes
    ----------
    label : str
    least : float
        Mean coefficient of the partition that is recovered least.
    screen : float
        Time of all iterations over the mean coefficient: what the level may take.
    reached : ndarray (seeds,)
        Time at which each seed reaches the level, inf where it never does; empty where it was not trained.
    """

    label: str
    least: float
    screen: float
    reached: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def median(self) -> float:
        """Median time to the level."""
        return float(np.median(self.reached)) if self.reached.size else np.inf


@dataclass(frozen=True)
class Trained:
    """The answer to "which is fastest to this level?", with all that were screened or trained."""

    task: str
    level: float
    runs: list[Run]
    allow_bias: bool

    @property
    def ranked(self) -> list[Run]:
        """Those that were trained and may win, the fastest first."""
        able = [one for one in self.runs if one.reached.size and (self.allow_bias or one.least >= _BIASED)]
        return sorted(able, key=lambda one: one.median)

    @property
    def p(self) -> float:
        """Paired sign test of the first two, over the seeds."""
        from scipy.stats import binomtest  # slow to import

        if len(self.ranked) < 2:
            return 1.0
        first, second = (one.reached for one in self.ranked[:2])
        better, worse = int((first < second).sum()), int((first > second).sum())
        return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0

    @property
    def sentence(self) -> str:
        """Who is first, and whether that is sure."""
        score = f"{self.level:g} on {self.task}"
        if not self.ranked or not np.isfinite(self.ranked[0].median):
            return f"No scheme reaches {score} within {ITERATIONS} iterations in most of the seeds."
        first, *others = self.ranked
        took = f"{first.median:.5g} of simulated time (median)"
        if not others:
            return f"First to {score}: {first.label}, after {took}."
        second = others[0]
        told = f"{second.label} ({second.median:.5g})"
        if self.p <= _SURE:
            wins = int((first.reached < second.reached).sum())
            seeds = len(first.reached)
            return f"First to {score}: {first.label}, after {took}, before {told} in {wins} of {seeds} seeds."
        return f"First to {score}: {first.label}, after {took}, or {told}; the seeds cannot separate them."

    @property
    def heading(self) -> str:
        """Of the table."""
        return f"Time to {self.level:g} on {self.task}"

    header = ("scheme", "screen", "least recovered", "median time", "seeds that arrive", "remark")

    @property
    def rows(self) -> list[list[str]]:
        """All runs, by the median time and then by the screen."""
        found = []
        for one in sorted(self.runs, key=lambda one: (one.median, one.screen)):
            remark = "" if one.reached.size else "not trained"
            if one.least < _BIASED and not self.allow_bias:
                remark = "hardly ever uses some data: allow_bias=true"
            arrived = f"{np.isfinite(one.reached).sum()} of {one.reached.size}" if one.reached.size else ""
            median = f"{one.median:.5g}" if np.isfinite(one.median) else "never" if one.reached.size else ""
            found.append([one.label, f"{one.screen:.5g}", f"{one.least:.2f}", median, arrived, remark])
        return found

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``advice.json``."""
        runs = [
            {
                "scheme": one.label,
                "screen": one.screen,
                "least_recovered": one.least,
                "reached": one.reached.tolist(),
            }
            for one in self.runs
        ]
        return {
            "task": self.task,
            "level": self.level,
            "sentence": self.sentence,
            "fastest": [one.label for one in self.ranked[: 1 if self.p <= _SURE else 2]],
            "p": self.p,
            "runs": runs,
        }


def fastest_to(advice: Advice, task: str, level: float, seeds: int, allow_bias: bool) -> Trained:
    """Train the schemes that may be first to a score on the trace, each seed from a row of its own.

    Waiting for all and ignoring 1, ..., n/2 workers are always among the candidates; then the best exact remedies, as
    learned from the first tenth of the trace, which is not played, and fractional repetition with the fastest workers.
    """
    if not advice.recorded.is_file:
        raise UserError("task and level replay a file: write the times as CSV and name it")
    replayed = [*advice.replayed, "delay.skip=prefix", "delay.start=random", f"task={task}"]
    length = [f"iterations={ITERATIONS}", f"seeds={seeds}"]
    configs = {label: compose([*scheme, *replayed, *length]) for label, scheme in _candidates(advice)}
    timelines = {label: simulated(config, length_of(config)) for label, config in configs.items()}
    runs = [_screened(label, timeline) for label, timeline in timelines.items()]
    able = [one for one in runs if allow_bias or one.least >= _BIASED]
    chosen = {one.label for one in sorted(able, key=lambda one: one.screen)[:_TRAINED]} | {runs[0].label}
    exact: np.ndarray | None = None  # all exact schemes share one trajectory
    for place, one in enumerate(runs):
        if one.label not in chosen:
            continue
        timeline = timelines[one.label]
        shared = bool((timeline.coefficients == 1).all())
        steps = exact if shared and exact is not None else _steps(configs[one.label], timeline, level)
        exact = steps if shared else exact
        clock = np.hstack([np.zeros((seeds, 1)), timeline.clock, np.full((seeds, 1), np.inf)])
        runs[place] = replace(one, reached=np.take_along_axis(clock, steps[:, None], axis=1)[:, 0])
    return Trained(task, level, runs, allow_bias)


def _screened(label: str, timeline: Timeline) -> Run:
    c = timeline.coefficients.astype(float)
    used = np.bincount(timeline.pattern.ravel(), minlength=len(c)) / timeline.pattern.size @ c
    screen = float(timeline.duration.mean()) * ITERATIONS / max(float(used.mean()), 1e-12)
    return Run(label, float(used.min()), screen)


def _steps(config: dict, timeline: Timeline, level: float) -> np.ndarray:
    """Iteration at which each seed reaches the level; one more than there are where it never does."""
    from gcexp.data import load
    from gcexp.tasks.training import train

    task, optimizer = build(config, "task"), build(config, "optimizer")
    data = load(prepared(task.dataset, config["data_dir"], home=True))
    coefficients = timeline.coefficients.astype(float)
    seeds, steps = length_of(config).seeds, timeline.steps.tolist()
    learned = train(task, optimizer, data, seeds, steps, coefficients, timeline.pattern, progress=False)
    score = next(iter(learned.scores.values()))
    arrived = score >= level
    first = learned.evaluated[arrived.argmax(1)]
    return np.where(arrived.any(1), first, ITERATIONS + 1)


def _candidates(advice: Advice) -> Iterator[tuple[str, list[str]]]:
    x, n = advice.comparison.x, advice.recorded.x.shape[1]
    yield "wait for all", ["code=uncoded", "wait=decodable", "exact=true"]
    for s in range(1, n // 2 + 1):
        yield f"ignore {s}", ["scheme=forget", f"s={s}"]
    prefix = x[: max(len(x) // 10, 1)]
    phi = advice.main.phi
    best: dict[tuple, Any] = {}
    for one in advice.comparison.offered:
        ratio = advice.comparison.judged(one, phi).ratio
        key = one.kind, one.size, one.s
        if one.kind != "wait" and one.order != "recent" and (key not in best or ratio < best[key][0]):
            best[key] = ratio, one
    for _, one in sorted(best.values(), key=lambda pair: pair[0])[:_BEST]:
        plan: Plan = one.learned(prefix, advice.terms.seed)
        name = {"grouped": f"groups of {one.size}, s = {one.s}", "chunks": f"chunks, load {one.size}"}.get(
            one.kind
        )
        yield f"{name or one.kind} ({one.order})", plan.overrides()
    for d in (d for d in range(2, int(advice.terms.d_max) + 1) if n % d == 0 and d < n):
        for s in sorted({d, n // 2}):
            yield f"FRC, d = {d}, fastest {n - s}", ["scheme=frc", f"code.d={d}", f"s={s}", "exact=false"]
