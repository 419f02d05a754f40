"""One picture of what `gcexp fit` found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm

from gcexp.figures import style
from gcexp_adviser.diagnosis.diagnosis import Diagnosis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.5, 2.4
_COLUMNS = 300  # iterations of an image, at most
_MOST_NAMED = 16  # workers at an axis
_LONGEST_LEVEL = 2  # letters of a name that stands upright


def of_fit(found: Diagnosis, title: str, caption: str) -> Figure:
    """Times over the median of all, with what was taken for slow states, and the workers' effects."""
    labels = found.recorded.trace.labels
    with style.use_style():
        figure = style.blank(WIDTH, HEIGHT)
        times, effects = figure.subplots(1, 2)
        _draw_times(times, found)
        effects.plot(np.exp(found.worker_effect - found.worker_effect.mean()), "o", color="C0")
        effects.axhline(1, color="0.7", linewidth=0.6, zorder=0)
        effects.set(title="workers when they are not slow", xlabel="worker", ylabel="factor")
        if len(labels) <= _MOST_NAMED:
            longest = max(len(label) for label in labels)
            rotation = 0 if longest <= _LONGEST_LEVEL else 90
            times.set_yticks(range(len(labels)), labels)
            effects.set_xticks(range(len(labels)), labels, rotation=rotation)
        style.arrange(figure, title, caption, [], beside=False)
    return figure


def _draw_times(axes: Axes, found: Diagnosis) -> None:
    """Logged times over the median of all as an image, means of many iterations, and dots for slow states."""
    x = found.recorded.logged
    step = -(-len(x) // _COLUMNS)
    firsts = range(0, len(x), step)
    logs = np.log(x / np.nanmedian(x))
    counts = np.add.reduceat(~np.isnan(logs), firsts, dtype=int)
    with np.errstate(invalid="ignore"):  # white, where nothing was logged
        logs = np.add.reduceat(np.nan_to_num(logs), firsts) / counts
    limit = max(float(np.exp(np.nanmax(np.abs(logs)))), 1.01)
    axes.imshow(
        np.exp(logs).T,
        aspect="auto",
        extent=(0, len(x), x.shape[1] - 0.5, -0.5),
        cmap="OrRd",  # the slower, the darker, also without colours
        norm=LogNorm(1 / limit, limit),
        rasterized=True,
    )
    if found.states:
        axes.plot(*np.nonzero(found.states.slow & ~np.isnan(x)), ".", color="black", markersize=1)
    title = f"time over median (dark: up to {limit:.2g})"
    if found.states:
        title = f"{title.removesuffix(')')}; dots: slow states)"
    axes.set(title=title, xlabel="iteration", ylabel="worker")
    axes.grid(False)
