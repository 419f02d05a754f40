"""A table as bars: the mean over seeds with its 95 % interval, and marks for what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.special import stdtrit

from gcexp.errors import UserError, unknown
from gcexp.figures import rows, style
from gcexp.figures.plots import BarsPlot

if TYPE_CHECKING:
    import pandas as pd

_MARK = {"linestyle": "none", "marker": "|", "markersize": 13, "markeredgewidth": 1.6, "color": "#D55E00"}
_WHISKER = {"ecolor": "black", "capsize": 2, "elinewidth": 0.9, "capthick": 0.9}


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval by Student's t; NaN for a single value.

    Examples
    --------
    >>> mean, half = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(mean, 6), round(half, 4)
    (2.0, 2.4841)
    """
    n = len(values)
    if n < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n))


def draw(frame: pd.DataFrame, plot: BarsPlot, title: str = "", note: str = "") -> Figure:
    """Bars of one figure, lying, so that long labels stay readable; the first label is on top.

    Parameters
    ----------
    frame : DataFrame
        One row per label and seed, or per label.
    plot : BarsPlot
        What the figure file says.
    title, note : str
        Above and below the axes.
    """
    column = plot.reference if isinstance(plot.reference, str) else None
    rows.known(frame, plot.y, plot.by, plot.panel, column)
    labels = rows.names(frame, plot.by)
    for label in plot.reference if isinstance(plot.reference, dict) else ():
        if str(label) not in labels:
            raise UserError(f"reference: {unknown('label', label, labels)}")
    panels = [(str(name), part) for name, part in rows.parts(frame, plot.panel)]
    each = [rows.names(part, plot.by) for _, part in panels]
    # Panels with the same bars stand side by side and share their names; others stand below each other.
    columns = min(3, len(panels)) if all(names == each[0] for names in each) else 1
    width = style.WIDTHS["wide" if columns > 1 else plot.width]
    figure, all_axes = style.panels(width, 1.0 + 0.21 * max(map(len, each)), len(panels), columns)
    axis = style.wrapped(plot.ylabel or style.axis_label(plot.y), 0.75 * width / columns, 8)
    for place, (axes, (name, part)) in enumerate(zip(all_axes, panels, strict=True)):
        _draw_panel(axes, part, plot, ticks=5 if columns == 1 else 3)
        axes.set_xlabel(style.plain("\n".join(axis)))
        if place % columns:
            axes.tick_params(labelleft=False)
        if plot.panel:
            axes.set_title(style.plain(f"{plot.panel} = {name}"))
    seeds = rows.several(frame, plot.by)
    alone = seeds in ("", "1 seed")
    words = seeds if alone else f"Bar: mean over {seeds}, whisker: 95 % interval of the mean"
    handles = [Line2D([], [], label=style.plain(plot.reference_label), **_MARK)] if plot.reference else []
    style.arrange(figure, title, "; ".join(filter(None, [words, note])), handles, beside=False)
    return figure


def _draw_panel(axes, frame: pd.DataFrame, plot: BarsPlot, ticks: int) -> None:
    colour = next(iter(matplotlib.rcParams["axes.prop_cycle"]))["color"]
    names = rows.names(frame, plot.by)
    for place, (label, part) in enumerate(rows.parts(frame, plot.by)):
        if len(part) > 1 and "seed" not in part.columns:
            raise UserError(f"{str(label)!r} has {len(part)} rows and no seeds; tell them apart by panel")
        mean, half = interval(rows.numbers(part, plot.y))
        axes.barh(place, mean, height=0.68, color=colour, alpha=0.55, edgecolor="black", linewidth=0.5)
        if half > 0:
            axes.errorbar(mean, place, xerr=half, fmt="none", **_WHISKER)
        if isinstance(plot.reference, dict):
            given = {str(name): value for name, value in plot.reference.items()}.get(str(label))
        else:
            given = rows.numbers(part, plot.reference)[0] if plot.reference else None
        if given is not None and np.isfinite(given):
            axes.plot([given], [place], zorder=3, clip_on=False, **_MARK)
    axes.set_yticks(range(len(names)), [style.plain(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set(xscale=plot.yscale, xlim=plot.ylim)
    if plot.yscale == "linear":
        axes.xaxis.set_major_locator(MaxNLocator(ticks))
        # A common power of ten would hide under the label.
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
