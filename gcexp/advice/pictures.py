"""One picture of what `gcexp fit` found, and one of what `gcexp advise` compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm

from gcexp.advice.remedies import KINDS
from gcexp.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gcexp.advice.advise import Advice
    from gcexp.advice.fit import Fit

_WIDTH, _HEIGHT = 6.5, 2.4
_COLUMNS = 300  # iterations of an image, at most
_MOST_NAMED = 16  # workers at an axis


def of_fit(fit: Fit) -> Figure:
    """Times over the median of all, with what was taken for slow states, and the workers' effects."""
    x, labels = fit.recorded.x, fit.recorded.trace.labels
    firsts = range(0, len(x), -(-len(x) // _COLUMNS))
    logs = np.add.reduceat(np.log(x / np.median(x)), firsts) / np.diff([*firsts, len(x)])[:, None]
    limit = max(float(np.exp(np.abs(logs).max())), 1.01)
    with style.applied():
        figure = style.blank(_WIDTH, _HEIGHT)
        times, effects = figure.subplots(1, 2)
        place = (0, len(x), x.shape[1] - 0.5, -0.5)
        look = {"cmap": "RdBu_r", "norm": LogNorm(1 / limit, limit), "rasterized": True}
        times.imshow(np.exp(logs).T, aspect="auto", extent=place, **look)
        if fit.states:
            times.plot(*np.nonzero(fit.states.slow), ".", color="black", markersize=1)
        told = f"time over median (red: up to {limit:.2g}; dots: slow)"
        times.set(title=told, xlabel="iteration", ylabel="worker")
        times.grid(False)
        effects.plot(np.exp(fit.worker_effect - fit.worker_effect.mean()), "o", color="C0")
        effects.axhline(1, color="0.7", linewidth=0.6, zorder=0)
        effects.set(title="workers when they are not slow", xlabel="worker", ylabel="factor")
        if len(labels) <= _MOST_NAMED:
            times.set_yticks(range(len(labels)), labels)
            effects.set_xticks(range(len(labels)), labels, rotation=0 if max(map(len, labels)) < 3 else 90)
        style.arrange(figure, fit.page().title, " ".join(fit.sentences[:2]), [], beside=False)
    return figure


def of_advice(advice: Advice) -> Figure:
    """Left: the best remedy of each kind over phi, and the bound. Right: what settings save, and whom they drop."""
    compared, phis = advice.comparison, np.linspace(0, 1, 21)
    grid, means = compared.means
    with style.applied():
        figure = style.blank(_WIDTH, _HEIGHT)
        left, right = figure.subplots(1, 2)
        for kind in (kind for kind in KINDS if kind != "wait"):
            every = zip(compared.plans, means, strict=True)
            if some := [row + compared.extra(one) for one, row in every if one.kind == kind]:
                left.plot(grid, np.min(some, axis=0) / compared.waiting.mean(), "-", marker="", label=kind)
        left.plot(phis, [compared.floor(phi) for phi in phis], ":", color="black", marker="", label="bound")
        left.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        for answer in advice.answers:
            left.plot(answer.phi, answer.pick.ratio, "o", color="black", markersize=4, zorder=5)
        left.set(xlim=(-0.02, 1.02), ylim=(0, max(1.3, min(2.0, left.get_ylim()[1]))))
        left.set(xlabel="φ, share of fixed time", ylabel="time / waiting for all")
        for kind, colour, marker in (("timeout", "C4", "o"), ("quorum", "C5", "s")):
            for one in advice.table[advice.table["setting"] == kind].itertuples():
                face = "white" if one.remark else colour
                right.plot(one.time, one.least_used_worker, marker, color=colour, markerfacecolor=face)
            right.plot([], [], marker, color=colour, label=kind)
        right.axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
        right.set(ylim=(-0.05, 1.05), xlabel="time / waiting for all")
        right.set_ylabel("data used of the worker heard least")
        note = (
            "Left: the best of each kind, black dots: what was picked. Right: settings chosen on the first half and "
            "judged on the second; white: breaks its promise, or uses some worker's data less than half of the time."
        )
        handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
        style.arrange(figure, advice.page().title, note, handles, beside=False)
    return figure
