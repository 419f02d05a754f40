"""Times of many workers as strips: one colour per worker and iteration, the same scale for all traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm
    from matplotlib.image import AxesImage

#: Times over the mean of their trace at both ends of the scale; beyond, the colour stays.
SCALE = (0.5, 2.0)
_WIDE, _HIGH, _BAR, _FONT = 1.4, 1.25, 0.45, 7  # inches of a strip and of the bar with their words; points


def strips(axes: Axes, frame: pd.DataFrame) -> None:
    """All traces of `gcexp_papers.stragglers.numerics.overview`, and the bar of their one scale below.

    Iterations from left to right and workers upwards; where workers are new in every row, workers from left to right
    and a row for each round. Dark is slow.
    """
    from matplotlib.colors import LogNorm

    rows.require_columns(frame, "trace", "what", "iteration", "worker", "value", "note")
    axes.set_axis_off()
    names = list(dict.fromkeys(frame["trace"]))
    figure = axes.figure
    width = figure.get_figwidth()
    columns = max(1, int(width // _WIDE))
    height = _HIGH * -(-len(names) // columns) + _BAR
    figure.set_figheight(height)  # a strip is as large in one column as in two: the figure is higher
    for i, name in enumerate(names):
        row, column = divmod(i, columns)
        bottom = 1 - (_HIGH * row + 0.7) / height
        place = (column / columns + 0.28 / width, bottom, 1 / columns - 0.36 / width, 0.55 / height)
        drawn = _strip(axes.inset_axes(place), name, frame[frame["trace"] == name], LogNorm(*SCALE))
    scale = axes.inset_axes((0.25, 0.28 / height, 0.5, 0.06 / height))
    bar = figure.colorbar(drawn, cax=scale, orientation="horizontal", extend="both")
    bar.set_label("time / mean of the trace", fontsize=_FONT, labelpad=1)
    bar.set_ticks([0.5, 0.7, 1, 1.4, 2], labels=["0.5", "0.7", "1", "1.4", "2"], fontsize=_FONT)
    bar.ax.minorticks_off()


def _strip(axes: Axes, name: str, frame: pd.DataFrame, norm: LogNorm) -> AxesImage:
    """Draw one trace, and return what the bar of the scale is made of."""
    times = frame[frame["what"] == "time"]
    value = frame[frame["what"] != "time"].set_index("what")["value"].to_dict()
    table = times.pivot(index="worker", columns="iteration", values="value")
    across = int(value["iterations"])
    up = int(value["workers"])
    xlabel, ylabel = "iteration", "worker"
    if not value["persistent"]:
        table = table.T
        across, up = up, across
        xlabel, ylabel = "worker", "round"
    extent = (0, across, 0, up)
    shown = {"cmap": "viridis_r", "norm": norm, "interpolation": "none", "origin": "lower", "extent": extent}
    drawn = axes.imshow(table.to_numpy(float), aspect="auto", **shown)
    axes.set_title(name.removesuffix("-dp"), fontsize=_FONT, pad=4)
    axes.set_xlabel(f"{xlabel}\n{_variation_in_words(value)}", fontsize=_FONT, labelpad=1)
    axes.set_ylabel(ylabel, fontsize=_FONT, labelpad=1)
    axes.set_xticks([0, across])
    axes.set_yticks([0, up])
    axes.tick_params(labelsize=_FONT, length=2, pad=1)
    axes.grid(visible=False)
    return drawn


def _variation_in_words(value: dict[str, float]) -> str:
    """How much times vary, and which share of that is who the worker is."""
    words = f"CoV {value['cov']:.2f}"
    if value["persistent"] and np.isfinite(value["worker"]):
        words += f", worker {value['worker']:.2f}"
    return words
