"""Which scheme reaches a score first on a recorded trace? Screened by the clock, then trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gcexp.advice.remedies import Remedy
from gcexp.errors import UserError
from gcexp.run.measurement import HomeTrainings, Measurement
from gcexp.run.result import Result
from gcexp.run.run import Run

if TYPE_CHECKING:
    from gcexp.advice.advise import Advice
    from gcexp.timeline import Timeline

ITERATIONS = 200
_TRAINED, _BEST = 6, 5
_BIASED = 0.05
_SURE = 0.05


@dataclass(frozen=True)
class Trained:
    """The answer to "which is fastest to this level?", with all that were screened or trained.

    ``runs`` has a row for each scheme, the fastest first: ``screen``, the time of all iterations over the mean
    coefficient, what the level may take; ``least_recovered``, the mean coefficient of the partition recovered least;
    ``may_win``, whether that is often enough; ``median``, empty where it was not trained, of ``reached``, the times at
    which the seeds reach the level, inf where one never does.
    """

    task: str
    level: float
    runs: pd.DataFrame = field(repr=False)

    @property
    def ranked(self) -> pd.DataFrame:
        """Those that were trained and may win, the fastest first."""
        return self.runs[self.runs["median"].notna() & self.runs["may_win"]]

    @property
    def p(self) -> float:
        """Paired sign test of the first two, over the seeds."""
        from scipy.stats import binomtest  # slow to import

        if len(self.ranked) < 2:
            return 1.0
        first, second = self.ranked["reached"].iloc[:2]
        better, worse = int((first < second).sum()), int((first > second).sum())
        return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0

    @property
    def sentence(self) -> str:
        """Who is first, and whether that is sure."""
        score = f"{self.level:g} on {self.task}"
        found = list(self.ranked.itertuples())
        if not found or not np.isfinite(found[0].median):
            return f"No scheme reaches {score} within {ITERATIONS} iterations in most of the seeds."
        first, *others = found
        took = f"First to {score}: {first.scheme}, after {first.median:.5g} of simulated time (median)"
        if not others:
            return f"{took}."
        told = f"{others[0].scheme} ({others[0].median:.5g})"
        if self.p > _SURE:
            return f"{took}, or {told}; the seeds cannot separate them."
        wins = int((first.reached < others[0].reached).sum())
        return f"{took}, before {told} in {wins} of {len(first.reached)} seeds."

    def as_dict(self) -> dict[str, Any]:
        """What stands in ``advice.json``."""
        told = {"task": self.task, "level": self.level, "sentence": self.sentence, "p": self.p}
        fastest = self.ranked["scheme"].tolist()[: 1 if self.p <= _SURE else 2]
        return told | {"fastest": fastest, "runs": self.runs.to_dict("records")}


def fastest_to(advice: Advice, task: str, level: float, seeds: int, allow_bias: bool) -> Trained:
    """Train the schemes that may be first to a score on the trace, each seed from a row of its own.

    Waiting for all and ignoring 1, ..., n/2 workers are always among the candidates; then the best exact remedies, as
    learned from the first tenth of the trace, which is not played, and fractional repetition with the fastest workers.
    """
    if not advice.recorded.source:
        raise UserError("task and level replay a file: write the times as CSV and name it")
    given = ["delay.skip=prefix", "delay.start=random", f"task={task}", f"iterations={ITERATIONS}"]
    measurements = {}
    trainings = HomeTrainings(progress=False)
    for label, scheme in _candidates(advice):
        run = Run.of([*scheme, *given, f"seeds={seeds}"], label=label)
        measurements[label] = Measurement(run, trainings)
    timelines = {label: measurement.timeline for label, measurement in measurements.items()}
    runs = pd.DataFrame([_screened(label, timeline) for label, timeline in timelines.items()])
    runs["may_win"] = runs["least_recovered"].ge(_BIASED) | allow_bias
    chosen = {0, *runs[runs["may_win"]].sort_values("screen", kind="stable").index[:_TRAINED]}
    reached: list[np.ndarray] = [np.empty(0)] * len(runs)
    for place in sorted(chosen):
        label = runs["scheme"][place]
        times = Result(measurements[label].curve).time_to(level, per_seed=True)
        reached[place] = times.iloc[:, -1].to_numpy()
    runs["median"] = [np.median(one) if one.size else np.nan for one in reached]
    runs["reached"] = reached
    return Trained(task, level, runs.sort_values(["median", "screen"], kind="stable", ignore_index=True))


def _screened(label: str, timeline: Timeline) -> dict[str, Any]:
    c = timeline.coefficients.astype(float)
    used = np.bincount(timeline.pattern.ravel(), minlength=len(c)) / timeline.pattern.size @ c
    screen = float(timeline.duration.mean()) * ITERATIONS / max(float(used.mean()), 1e-12)
    return {"scheme": label, "screen": screen, "least_recovered": float(used.min())}


def _candidates(advice: Advice) -> Iterator[tuple[str, list[str]]]:
    """Labels of the schemes, and overrides that play them on the trace."""
    compared, x = advice.comparison, advice.recorded.x
    n = compared.n
    waiting = Remedy("wait").learned(x)
    usual = advice.replayed(waiting)
    yield "wait for all", advice.playing(waiting)
    for s in range(1, n // 2 + 1):
        yield f"ignore {s}", ["scheme=forget", f"s={s}", *usual]
    best: dict[tuple, Remedy] = {}  # of those that differ in their order only
    for one in sorted(compared.plans, key=lambda one: compared.judged(one, advice.main.phi).ratio):
        if one.kind != "wait":
            best.setdefault((one.kind, one.size, one.s), one)
    for one in list(best.values())[:_BEST]:
        size, order = one.size, f" ({one.order})" if one.kind != "exclude" else ""
        named = {"exclude": f"exclude {size}", "rebalance": "rebalance", "chunks": f"chunks, load {size}"}
        label = named.get(one.kind, f"groups of {size}, s = {one.s}") + order
        yield label, advice.playing(one.learned(x[: max(len(x) // 10, 1)], compared.seed))
    for d in (d for d in range(2, int(compared.d_max) + 1) if n % d == 0 and d < n):
        for s in sorted({d, n // 2}):
            scheme = ["scheme=frc", f"code.d={d}", f"s={s}", "exact=false", *usual]
            yield f"FRC, d = {d}, fastest {n - s}", scheme
