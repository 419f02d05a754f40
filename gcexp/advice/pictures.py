"""One picture of what `gcexp fit` found, and one of what `gcexp advise` compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm

from gcexp.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gcexp.advice.advise import Advice
    from gcexp.advice.fit import Fit

_WIDTH, _HEIGHT = 6.5, 2.4
_PHIS = np.linspace(0, 1, 21)
_COLUMNS = 300  # iterations of an image, at most
_MOST_NAMED = 16  # workers at an axis
_LOOKS = {"exclude": "C1", "rebalance": "C0", "grouped": "C2", "chunks": "C3"}
_SETTINGS = {"timeout": ("C4", "o"), "quorum": ("C5", "s")}


def of_fit(fit: Fit) -> Figure:
    """Times over the median of all, the workers' effects, decoded slow states, and quantiles of the rest."""
    from scipy.stats import probplot  # slow to import

    x, _ = fit.recorded.usual()
    labels, found = fit.recorded.labels, fit.found_in
    every = -(-len(x) // _COLUMNS)
    logs = _blocks(np.log(x / np.median(x)), every)
    limit = max(float(np.exp(np.abs(logs).max())), 1.01)
    with style.applied():
        figure = style.blank(_WIDTH, 2 * _HEIGHT)
        times, effects, states, rest = figure.subplots(2, 2).ravel()
        _image(times, np.exp(logs), x, labels, cmap="RdBu_r", norm=LogNorm(1 / limit, limit))
        times.set(title=f"time over median (red: up to {limit:.2g})")
        effects.plot(np.exp(found.worker_effect - found.worker_effect.mean()), "o", color="C0")
        effects.axhline(1, color="0.7", linewidth=0.6, zorder=0)
        effects.set(title="workers when they are not slow", xlabel="worker", ylabel="factor")
        if len(labels) <= _MOST_NAMED:
            effects.set_xticks(range(len(labels)), labels, rotation=0 if max(map(len, labels)) < 3 else 90)
        slow = found.states.slow.astype(float) if found.states else np.zeros(x.shape)
        _image(states, _blocks(slow, every), x, labels, cmap="Greys", vmin=0, vmax=1)
        states.set(title="slow states" if found.states else "no slow states")
        values = np.sort(found.rest, axis=None)
        rest.plot(*probplot(values[:: -(-values.size // _COLUMNS)], fit=False), ".", color="C0", markersize=3)
        rest.set(title="the rest against a normal law", xlabel="normal quantile", ylabel="log of the rest")
        style.arrange(figure, fit.page().title, " ".join(fit.sentences[:2]), [], beside=False)
    return figure


def _blocks(values: np.ndarray, every: int) -> np.ndarray:
    """Means of so many rows each."""
    return np.array([values[first : first + every].mean(0) for first in range(0, len(values), every)])


def _image(axes: Axes, shown: np.ndarray, x: np.ndarray, labels: tuple[str, ...], **look: Any) -> None:
    """Values of iterations and workers as an image."""
    place = (0, len(x), x.shape[1] - 0.5, -0.5)
    axes.imshow(shown.T, aspect="auto", extent=place, rasterized=True, **look)
    axes.set(xlabel="iteration", ylabel="worker")
    if len(labels) <= _MOST_NAMED:
        axes.set_yticks(range(len(labels)), labels)
    axes.grid(False)


def of_advice(advice: Advice) -> Figure:
    """Left: the best remedy of each kind over phi, and the bound. Right: what settings save, and whom they drop."""
    compared, terms = advice.comparison, advice.terms
    waiting = compared.waiting.mean()
    with style.applied():
        figure = style.blank(_WIDTH, _HEIGHT)
        left, right = figure.subplots(1, 2)
        for kind, colour in _LOOKS.items():
            some = [one for one in compared.offered if one.kind == kind]
            means = [
                [compared.times(one, phi).mean() + compared.extra(one, terms) for one in some]
                for phi in _PHIS
            ]
            if some:
                best = np.min(means, axis=1) / waiting
                left.plot(_PHIS, best, color=colour, linestyle="-", marker="", label=kind)
        floors = [compared.floor(phi) for phi in _PHIS]
        left.plot(_PHIS, floors, color="black", linestyle=":", marker="", label="bound")
        left.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        for answer in advice.answers:
            left.plot(answer.phi, answer.pick.ratio, "o", color="black", markersize=4, zorder=5)
        left.set(
            xlim=(-0.02, 1.02),
            ylim=(0, max(1.3, min(2.0, left.get_ylim()[1]))),
            xlabel="φ, share of fixed time",
            ylabel="time / waiting for all",
        )
        for kind, (colour, marker) in _SETTINGS.items():
            for one in advice.table[advice.table["setting"] == kind].itertuples():
                face = colour if one.fits else "white"
                right.plot(one.time, one.least_used_worker, marker, color=colour, markerfacecolor=face)
            right.plot([], [], marker, color=colour, label=kind)
        right.axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
        right.set(
            ylim=(-0.05, 1.05), xlabel="time / waiting for all", ylabel="data used of the worker heard least"
        )
        note = (
            "Left: the best of each kind, black dots: what was picked. Right: settings chosen on the first half and "
            "judged on the second; white: breaks its promise, or uses some worker's data less than half of the time."
        )
        handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
        style.arrange(figure, advice.page().title, note, handles, beside=False)
    return figure
