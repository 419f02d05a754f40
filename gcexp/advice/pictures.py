"""One picture of what `gcexp fit` found, and one of what `gcexp advise` compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from gcexp.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gcexp.advice.advise import Advice
    from gcexp.advice.fit import Fit

_WIDTH, _HEIGHT = 6.5, 2.4
_PHIS = np.linspace(0, 1, 21)
_COLUMNS = 300  # iterations of an image, at most
_LOOKS = {
    "exclude": ("excluding", "C1", "o"),
    "rebalance": ("rebalancing", "C0", "s"),
    "grouped": ("groups", "C2", "^"),
    "chunks": ("chunks", "C3", "D"),
}
_SETTINGS = {"timeout": ("C4", "o"), "quorum": ("C5", "s")}


def of_fit(fit: Fit) -> Figure:
    """Times over the median of all, the workers' effects, decoded slow states, and quantiles of the rest."""
    with style.applied():
        figure = style.blank(_WIDTH, 2 * _HEIGHT)
        times, effects, states, rest = figure.subplots(2, 2).ravel()
        x, _ = fit.recorded.usual()
        labels, found = fit.recorded.labels, fit.found_in
        every = max(1, -(-len(x) // _COLUMNS))
        mean = np.exp(_blocks(np.log(x / np.median(x)), every))
        limit = max(float(mean.max()), float(1 / mean.min()), 1.01)
        times.imshow(
            mean.T,
            aspect="auto",
            norm=LogNorm(1 / limit, limit),
            cmap="RdBu_r",
            extent=_extent(x),
            rasterized=True,
        )
        times.set(title=f"time over median (red: up to {limit:.2g})", xlabel="iteration", ylabel="worker")
        _named(times, labels)
        effects.plot(np.exp(found.worker_effect - found.worker_effect.mean()), "o", color="C0")
        effects.axhline(1, color="0.7", linewidth=0.6, zorder=0)
        effects.set(title="workers when they are not slow", xlabel="worker", ylabel="factor")
        if len(labels) <= 16:
            effects.set_xticks(range(len(labels)), labels, rotation=0 if max(map(len, labels)) < 3 else 90)
        slow = found.states.slow if found.states else np.zeros(x.shape, bool)
        shown = _blocks(slow.astype(float), every)
        states.imshow(
            shown.T, aspect="auto", cmap="Greys", vmin=0, vmax=1, extent=_extent(x), rasterized=True
        )
        title = "slow states" if found.states else "no slow states"
        states.set(title=title, xlabel="iteration", ylabel="worker")
        _named(states, labels)
        from scipy.stats import norm  # slow to import

        places = (np.arange(200) + 0.5) / 200
        rest.plot(norm.ppf(places), np.quantile(found.rest, places), ".", color="C0", markersize=3)
        rest.set(title="the rest against a normal law", xlabel="normal quantile", ylabel="log of the rest")
        for image in (times, states):
            image.grid(False)
        style.arrange(figure, fit.page().title, " ".join(fit.sentences[:2]), [], beside=False)
    return figure


def of_advice(advice: Advice) -> Figure:
    """Left: the best remedy of each kind over phi, and the bound. Right: what settings save, and whom they drop."""
    with style.applied():
        figure = style.blank(_WIDTH, _HEIGHT)
        left, right = figure.subplots(1, 2)
        compared, terms = advice.comparison, advice.terms
        waiting = compared.waiting.mean()
        handles = []
        for kind, (name, colour, _) in _LOOKS.items():
            some = [one for one in compared.offered if one.kind == kind]
            if some:
                best = [
                    min(compared.times(one, phi).mean() + compared.extra(one, terms) for one in some)
                    / waiting
                    for phi in _PHIS
                ]
                left.plot(_PHIS, best, color=colour, linestyle="-", marker="")
                handles.append(Line2D([], [], color=colour, label=name))
        left.plot(_PHIS, [compared.floor(phi) for phi in _PHIS], color="black", linestyle=":", marker="")
        handles.append(Line2D([], [], color="black", linestyle=":", label="bound"))
        left.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        for answer in advice.answers:
            left.plot(answer.phi, answer.pick.ratio, "o", color="black", markersize=4, zorder=5)
        top = max(1.3, min(2.0, left.get_ylim()[1]))
        left.set(
            xlim=(-0.02, 1.02),
            ylim=(0, top),
            xlabel="φ, share of fixed time",
            ylabel="time / waiting for all",
        )
        for kind, (colour, marker) in _SETTINGS.items():
            for one in advice.table[advice.table["setting"] == kind].itertuples():
                face = colour if one.fits else "white"
                right.plot(one.time, one.least_used_worker, marker, color=colour, markerfacecolor=face)
            handles.append(Line2D([], [], color=colour, marker=marker, linestyle="", label=kind))
        right.axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
        right.set(
            ylim=(-0.05, 1.05), xlabel="time / waiting for all", ylabel="data used of the worker heard least"
        )
        note = (
            "Left: the best of each kind, black dots: what was picked. Right: settings chosen on the first half and "
            "judged on the second; white: breaks its promise, or hardly ever uses some worker's data."
        )
        style.arrange(figure, advice.page().title, note, handles, beside=False)
    return figure


def _blocks(values: np.ndarray, every: int) -> np.ndarray:
    """Means of so many rows each."""
    return np.array([values[first : first + every].mean(0) for first in range(0, len(values), every)])


def _extent(x: np.ndarray) -> tuple[float, float, float, float]:
    return 0, len(x), x.shape[1] - 0.5, -0.5


def _named(axes: Axes, labels: tuple[str, ...]) -> None:
    if len(labels) <= 16:
        axes.set_yticks(range(len(labels)), labels)
