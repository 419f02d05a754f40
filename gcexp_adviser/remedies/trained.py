"""Which scheme reaches a score first on a recorded trace? Screened by the clock, then trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from gcexp.run.measurement import Measurement
from gcexp.run.result import Result
from gcexp.run.run import Run
from gcexp.run.trainings import HomeTrainings
from gcexp_adviser.diagnosis.classical import p_of_even_odds
from gcexp_adviser.remedies.conclusion import Conclusion
from gcexp_adviser.remedies.remedies import Remedy

ITERATIONS = 200
_TRAINED = 6  # schemes that are trained besides waiting for all
_BEST = 5  # exact remedies that are screened
_BIASED = 0.05  # a scheme that uses a partition less often may not win
_WAITING = "wait for all"
_SURE = 0.05  # largest p of a first that is told apart from the second


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
        if len(self.ranked) < 2:
            return 1.0
        first, second = self.ranked["reached"].iloc[:2]
        better = int((first < second).sum())
        worse = int((first > second).sum())
        if better + worse == 0:
            return 1.0
        return p_of_even_odds(better, better + worse)

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
        not_separated = 1 if self.p <= _SURE else 2
        return {
            "task": self.task,
            "level": self.level,
            "sentence": self.sentence,
            "p": self.p,
            "fastest": self.ranked["scheme"].tolist()[:not_separated],
            "runs": self.runs.to_dict("records"),
        }


def fastest_to(found: Conclusion, task: str, level: float, seeds: int, allow_bias: bool) -> Trained:
    """Train the schemes that may be first to a score on the trace, each seed from a row of its own.

    Waiting for all and ignoring 1, ..., n/2 workers are always among the candidates; then the best exact remedies, as
    learned from the first tenth of the trace, which is not played, and fractional repetition with the fastest workers.
    """
    played = [
        "delay.skip=prefix",
        "delay.start=random",
        f"task={task}",
        f"iterations={ITERATIONS}",
        f"seeds={seeds}",
    ]
    trainings = HomeTrainings(progress=False)  # all exact schemes share one
    measurements = {}
    for label, scheme in _candidates(found):
        run = Run.of([*scheme, *played], label=label)
        measurements[label] = Measurement(run, trainings)
    screened = [_screened(label, measurement) for label, measurement in measurements.items()]
    runs = pd.DataFrame(screened)
    runs["may_win"] = runs["least_recovered"].ge(_BIASED) | allow_bias
    promising = runs[runs["may_win"]].sort_values("screen", kind="stable").index[:_TRAINED]
    waiting = 0
    reached: list[np.ndarray] = [np.empty(0)] * len(runs)
    for place in sorted({waiting, *promising}):
        label = runs["scheme"][place]
        curve = Result(measurements[label].curve)
        times = curve.time_to(level, per_seed=True)
        reached[place] = times.iloc[:, -1].to_numpy()
    runs["median"] = [np.median(times) if times.size else np.nan for times in reached]
    runs["reached"] = reached
    return Trained(task, level, runs.sort_values(["median", "screen"], kind="stable", ignore_index=True))


def _screened(label: str, measurement: Measurement) -> dict[str, Any]:
    """What the level may take a scheme, and how often it uses the partition that it uses least."""
    timeline = measurement.timeline
    c = timeline.coefficients.astype(float)
    share_of_pattern = np.bincount(timeline.pattern.ravel(), minlength=len(c)) / timeline.pattern.size
    used = share_of_pattern @ c
    screen = float(timeline.duration.mean()) * ITERATIONS / max(float(used.mean()), 1e-12)
    return {"scheme": label, "screen": screen, "least_recovered": float(used.min())}


def _candidates(found: Conclusion) -> Iterator[tuple[str, list[str]]]:
    """Labels of the schemes, and overrides that play them on the trace."""
    compared = found.comparison
    x = found.recorded.x
    n = compared.n
    prefix = x[: max(len(x) // 10, 1)]
    plans = {_WAITING: Remedy("wait").learned(x)}
    for remedy in _best_remedies(found):
        plans[_label(remedy)] = remedy.learned(prefix, compared.seed)
    replayed = found.replayed(plans[_WAITING])
    played = {label: found.playing(plan) for label, plan in plans.items()}

    yield _WAITING, played.pop(_WAITING)
    for s in range(1, n // 2 + 1):
        yield f"ignore {s}", ["scheme=forget", f"s={s}", *replayed]
    yield from played.items()
    for d in range(2, min(int(compared.terms.d_max), n - 1) + 1):
        if n % d:
            continue
        for s in sorted({d, n // 2}):
            scheme = ["scheme=frc", f"code.d={d}", f"s={s}", "exact=false", *replayed]
            yield f"FRC, d = {d}, fastest {n - s}", scheme


def _best_remedies(found: Conclusion) -> list[Remedy]:
    """The best exact remedies, one of those that differ in their order only."""
    compared = replace(found.comparison, x=found.recorded.x)  # the whole trace is played
    ranked = sorted(compared.plans, key=lambda remedy: compared.judged(remedy, found.main.phi).ratio)
    best: dict[tuple[str, int, int], Remedy] = {}
    for remedy in ranked:
        if remedy.kind != "wait":
            best.setdefault((remedy.kind, remedy.size, remedy.s), remedy)
    return list(best.values())[:_BEST]


def _label(remedy: Remedy) -> str:
    """What a remedy is called in the table."""
    if remedy.kind == "exclude":
        return f"exclude {remedy.size}"
    if remedy.kind == "rebalance":
        return f"rebalance ({remedy.order})"
    if remedy.kind == "chunks":
        return f"chunks, load {remedy.size} ({remedy.order})"
    return f"groups of {remedy.size}, s = {remedy.s} ({remedy.order})"
