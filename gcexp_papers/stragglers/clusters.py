"""Does the advice of `gcexp advise` hold on clusters whose truth is known? Generated ones, known and unknown to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.analysis.declared import columns
from gcexp_adviser.remedies.advise import advise
from gcexp_adviser.remedies.remedies import Remedy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PHIS = (0.0, 0.25, 0.5, 0.75, 0.9)
SIZES = (8, 10, 12, 16)
KINDS = (
    ("noise", ()),
    ("bad node", ("bad",)),
    ("slow state", ("slow",)),
    ("shock", ("shock",)),
    ("speeds", ("speeds",)),
    ("heavy tail", ("tail",)),
    ("drift", ("drift",)),
    ("bad node and slow state", ("bad", "slow")),
    ("speeds and shock", ("speeds", "shock")),
    ("slow state and shock", ("slow", "shock")),
)
UNKNOWN = ("maintenance", "slow start", "degrading worker", "alternating workers", "heavy shocks")


def times(parts: tuple[str, ...], rows: int, n: int, draw: np.random.Generator) -> np.ndarray:
    """Times (rows, n) of a cluster made of mechanisms, with parameters drawn at random."""
    y = draw.uniform(0.03, 0.3) * draw.standard_normal((rows, n))
    if "bad" in parts:
        y[:, draw.integers(n)] += np.log(draw.uniform(1.3, 4))
    if "slow" in parts:
        p01 = draw.uniform(0.003, 0.04)
        p10 = draw.uniform(0.05, 0.3)
        factor = draw.uniform(1.5, 6)
        y += np.log(factor) * chain(p01, p10, rows, n, draw)
    if "shock" in parts:
        y += draw.uniform(0.05, 0.3) * draw.standard_normal((rows, 1))
    if "speeds" in parts:
        y += draw.uniform(0.1, 0.4) * draw.standard_normal(n)
    if "tail" in parts:
        y = draw.standard_exponential((rows, n)) / draw.uniform(1.5, 4)
    if "drift" in parts:
        y += 0.3 * np.linspace(-0.5, 0.5, rows)[:, None]
    return np.exp(y)


def chain(p01: float, p10: float, rows: int, n: int, draw: np.random.Generator) -> np.ndarray:
    """States (rows, n) of stationary chains, 1 for slow."""
    chance = draw.random((rows, n))
    states = np.empty((rows, n), bool)
    states[0] = chance[0] < p01 / (p01 + p10)
    for t in range(1, rows):
        states[t] = np.where(states[t - 1], chance[t] >= p10, chance[t] < p01)
    return states


def unknown_times(kind: str, rows: int, n: int, draw: np.random.Generator) -> np.ndarray:
    """Times of a cluster with a mechanism that the adviser has no estimator for."""
    x = np.exp(draw.uniform(0.03, 0.2) * draw.standard_normal((rows, n)))
    t = np.arange(rows)
    one, other = draw.permutation(n)[:2]
    factor = draw.uniform(1.5, 4)
    if kind == "maintenance":
        period = int(draw.integers(20, 120))
        since_last = (t + draw.integers(period)) % period
        x[since_last < max(2, period // 10), one] *= factor
    elif kind == "slow start":
        x[t < draw.uniform(0.1, 0.45) * rows] *= factor
        x[t < draw.uniform(0.1, 0.45) * rows, one] *= factor
    elif kind == "degrading worker":
        x[:, one] *= 1 + (factor - 1) * t / rows
    elif kind == "alternating workers":
        turn = t // int(draw.integers(10, 100)) % 2
        x[turn == 0, one] *= factor
        x[turn == 1, other] *= factor
    else:
        x *= (1 + draw.pareto(draw.uniform(1.2, 3), rows))[:, None]
    return x


_COLUMNS = (
    *("workers", "phi", "rows", "verdict", "ratio", "low", "high", "later", "regret"),
    *("cluster", "kind"),
)


@columns(*_COLUMNS)
def regret(clusters: int, rows: list[int], first: int = 0, later: int = 20_000):
    """What following the advice costs in the long run, over the best candidate, on clusters of known mechanisms.

    Of so many clusters from number `first` on, kinds in turn, advice is taken from traces of each of the numbers of
    `rows`, and judged on `later` further iterations. ``later`` is the time of what is advised over that of waiting for
    all, and ``regret`` that over the best candidate's, minus one.
    """
    for cluster in range(first, first + clusters):
        kind, parts = KINDS[cluster % len(KINDS)]
        for T in rows:
            drawn = _draw_cluster(2026, cluster)
            x = times(parts, T + later, drawn.n, drawn.generator)
            yield _row(x, T, drawn.phi) | {"cluster": cluster, "kind": kind}


@columns(*_COLUMNS)
def harm(clusters: int, rows: int = 300, first: int = 0):
    """What following the advice costs on mechanisms that the adviser does not know, judged on as many further rows."""
    for cluster in range(first, first + clusters):
        kind = UNKNOWN[cluster % len(UNKNOWN)]
        drawn = _draw_cluster(2027, cluster)
        x = unknown_times(kind, 2 * rows, drawn.n, drawn.generator)
        yield _row(x, rows, drawn.phi) | {"cluster": cluster, "kind": kind}


@dataclass(frozen=True)
class _Cluster:
    """A cluster: what its times are drawn from, its number of workers, and its share of fixed time."""

    generator: np.random.Generator
    n: int
    phi: float


def _draw_cluster(seed: int, number: int) -> _Cluster:
    """The cluster of a number."""
    generator = np.random.default_rng([seed, number])
    n = int(generator.choice(SIZES))
    phi = float(generator.choice(PHIS))
    return _Cluster(generator, n, phi)


def _row(x: np.ndarray, rows: int, phi: float) -> dict:
    """Advice from the first rows, and what it takes on the others, where the best candidate is known in hindsight."""
    advice = advise(x[:rows], phi, barrier="no")
    comparison = advice.comparison
    answer = advice.main
    time_of = {}
    for remedy in comparison.plans:
        scheme = remedy.learned(comparison.x, comparison.seed)  # what holds now, as advice learns it
        time = float(scheme.times(x[rows:], [answer.phi]).mean())
        time_of[remedy] = time + comparison.extra(remedy)
    waiting = time_of[Remedy("wait")]
    advised = waiting
    if answer.advised:
        advised = time_of[answer.pick.remedy]
    return {
        "workers": x.shape[1],
        "phi": phi,
        "rows": rows,
        "verdict": answer.verdict,
        "ratio": answer.pick.ratio,
        "low": answer.low,
        "high": answer.high,
        "later": advised / waiting,
        "regret": advised / min(time_of.values()) - 1,
    }


def dots(axes: Axes, frame: pd.DataFrame) -> None:
    """Each cluster as a dot: time of the best candidate, and of what was advised, both over waiting for all."""
    frame = frame.assign(best=frame["later"] / (1 + frame["regret"]))
    unsure = frame["verdict"] == "not enough data"
    low = 0.9 * float(frame["best"].min())
    axes.plot([low, 1], [low, 1], color="0.6", linewidth=0.7, marker="", zorder=1)
    dot = {"marker": "o", "linestyle": "none", "color": "C0", "markersize": 3}
    axes.plot("best", "later", data=frame[~unsure], **dot, label="advised")
    axes.plot("best", "later", data=frame[unsure], **dot, markerfacecolor="white", label="not enough data")
    axes.set(xlim=(low, 1.03), ylim=(low, 1.03))
