"""Times of many workers as strips: one colour per worker and iteration, the same scale for all traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Times over the mean of their trace at both ends of the scale; beyond, the colour stays.
SCALE = (0.5, 2.0)
_COLUMNS, _BAR = 4, 0.05  # strips side by side; the share of the height that the bar takes with its name


def strips(axes: Axes, frame: pd.DataFrame) -> None:
    """All traces of `gcexp_papers.stragglers.numerics.overview`, and the bar of their one scale below.

    Iterations from left to right and workers upwards; where workers are new in every row, workers from left to right
    and a row for each round. Dark is slow.

    Parameters
    ----------
    axes : Axes
        Gives the place.
    frame : DataFrame
        ``trace, what, iteration, worker, value, note``.
    """
    from matplotlib.colors import LogNorm

    rows.known(frame, "trace", "what", "iteration", "worker", "value", "note")
    axes.set_axis_off()
    names = list(dict.fromkeys(frame["trace"]))
    high = (1 - _BAR) / -(-len(names) // _COLUMNS)
    for i, name in enumerate(names):
        row, column = divmod(i, _COLUMNS)
        place = (column / _COLUMNS + 0.055, 1 - (row + 0.72) * high, 1 / _COLUMNS - 0.07, 0.5 * high)
        drawn = _strip(axes.inset_axes(place), name, frame[frame["trace"] == name], LogNorm(*SCALE))
    bar = axes.figure.colorbar(
        drawn, cax=axes.inset_axes((0.25, 0.01, 0.5, 0.012)), orientation="horizontal", extend="both"
    )
    bar.set_label("time / mean of the trace", fontsize=6.5, labelpad=1)
    bar.set_ticks([0.5, 0.7, 1, 1.4, 2], labels=["0.5", "0.7", "1", "1.4", "2"], fontsize=6)
    bar.ax.minorticks_off()


def _strip(axes: Axes, name: str, frame: pd.DataFrame, norm):
    times = frame[frame["what"] == "time"]
    value = frame[frame["what"] != "time"].set_index("what")["value"].to_dict()
    table = times.pivot(index="worker", columns="iteration", values="value")
    across, up = int(value["iterations"]), int(value["workers"])
    words = "iteration", "worker"
    if not value["persistent"]:
        table, across, up, words = table.T, up, across, ("worker", "round")
    extent = (0, across, 0, up)
    shown = {"cmap": "viridis_r", "norm": norm, "interpolation": "none", "origin": "lower", "extent": extent}
    drawn = axes.imshow(table.to_numpy(float), aspect="auto", **shown)
    axes.set_title(name.removesuffix("-dp"), fontsize=6, pad=2)
    axes.set_xlabel(f"{words[0]}\n{_told(value)}", fontsize=6, labelpad=1)
    axes.set_ylabel(words[1], fontsize=6, labelpad=1)
    axes.set_xticks([0, across])
    axes.set_yticks([0, up])
    axes.tick_params(labelsize=6, length=2, pad=1)
    axes.grid(visible=False)
    return drawn


def _told(value: dict[str, float]) -> str:
    """How much times vary, and which share of that is who the worker is."""
    known = value["persistent"] and np.isfinite(value["worker"])
    return f"CoV {value['cov']:.2f}" + f", worker {value['worker']:.2f}" * bool(known)
