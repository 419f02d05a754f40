"""A table as balls in bins: workers, some of them slow, in their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from gcexp.errors import UserError
from gcexp.figures import rows, style
from gcexp.figures.plots import ClustersPlot

if TYPE_CHECKING:
    import pandas as pd

_RADIUS, _GAP = 0.36, 0.8
_LINE = 0.13  # inches: a line of text
_AROUND = 0.75  # inches: title, legend and note
# Red and pale grey differ in brightness too: grey print tells them apart.
_MARKED = {"facecolor": "#B22222", "edgecolor": "black"}
_PLAIN = {"facecolor": "#E8EEF4", "edgecolor": "black"}


def draw(frame: pd.DataFrame, plot: ClustersPlot, title: str = "", note: str = "") -> Figure:
    """Bins of one figure, each with its balls; a ball without a bin lies at the right.

    Parameters
    ----------
    frame : DataFrame
        One row per panel and ball.
    plot : ClustersPlot
        What the figure file says.
    title, note : str
        Above and below the bins.
    """
    rows.known(frame, plot.bin, plot.ball, plot.marked, plot.panel, plot.moved, plot.caption)
    panels = [(str(name), part) for name, part in rows.parts(frame, plot.panel)]
    columns, width = min(2, len(panels)), style.WIDTHS["wide"]
    bins = rows.numbers(frame, plot.bin)
    if not np.isfinite(bins).any():
        raise UserError(f"column {plot.bin!r} has no number; there is no bin to draw")
    count = int(np.nanmax(bins)) + 1
    places = count + bool(np.isnan(bins).any())
    tallest = max(
        int(part[plot.bin].value_counts().max()) for _, part in panels if part[plot.bin].notna().any()
    )
    inches = (width - 0.3) / columns
    captions = [_caption(part, plot, inches) for _, part in panels]
    lines = max(map(len, captions))
    unit = inches / (places + 0.1)
    above, below = (_LINE / unit * rise for rise in (bool(plot.panel) + 0.3, lines + 1.3))
    high = unit * (tallest * _GAP + 0.2 + above + below) + 0.05
    figure, all_axes = style.panels(width, high + _AROUND / -(-len(panels) // columns), len(panels), columns)
    for axes, (name, part), caption in zip(all_axes, panels, captions, strict=True):
        _draw_panel(axes, part, plot, count, tallest)
        axes.set_axis_off()
        axes.set(xlim=(-0.55, places - 0.45), ylim=(-below, tallest * _GAP + 0.2 + above), aspect="equal")
        words = {"ha": "left", "va": "top", "fontsize": 6}
        for number, line in enumerate(caption):
            axes.text(-0.45, -0.06 - (number + 1.1) * _LINE / unit, style.plain(line), **words)
        if plot.panel:
            axes.text(-0.45, tallest * _GAP + 0.2, style.plain(name), ha="left", va="bottom", fontsize=7)
    ball = {"linestyle": "none", "marker": "o", "markersize": 7, "markeredgecolor": "black"}
    fills = {plot.marked_label: _MARKED, plot.plain_label: _PLAIN}
    handles = [
        Line2D([], [], label=style.plain(text), markerfacecolor=look["facecolor"], **ball)
        for text, look in fills.items()
    ]
    if plot.moved:
        ring = {"markerfacecolor": "none", "markeredgewidth": 1.8}
        handles.append(Line2D([], [], label=style.plain(plot.moved_label), **ball, **ring))
    style.arrange(figure, title, note, handles, beside=False)
    return figure


def _caption(part: pd.DataFrame, plot: ClustersPlot, inches: float) -> list[str]:
    return style.wrapped(str(part[plot.caption].iloc[0]), inches - 0.15, 6) if plot.caption else []


def _draw_panel(axes, part: pd.DataFrame, plot: ClustersPlot, count: int, tallest: int) -> None:
    bins, top = rows.numbers(part, plot.bin), tallest * _GAP + 0.1
    for x in range(count + 1):  # the last place is for balls without a bin
        here = part[np.isnan(bins) if x == count else bins == x]
        if x < count:
            edge = {"color": "black", "linewidth": 0.9, "linestyle": "-", "marker": "none"}
            axes.plot([x - 0.43, x - 0.43, x + 0.43, x + 0.43], [top, 0, 0, top], **edge)
        if x < count or len(here):
            name = f"{plot.bin} {x}" if x < count else "left over"
            axes.text(x, -0.06, style.plain(name), ha="center", va="top", fontsize=6)
        for height, (_, ball) in enumerate(here.iterrows()):
            marked = _true(ball[plot.marked])
            moved = bool(plot.moved) and _true(ball[plot.moved])
            centre = x, 0.05 + (height + 0.5) * _GAP
            look = _MARKED if marked else _PLAIN
            axes.add_patch(Circle(centre, _RADIUS, linewidth=1.8 if moved else 0.6, **look))
            colour = "white" if marked else "black"
            place = {"ha": "center", "va": "center_baseline"}
            axes.text(*centre, style.plain(ball[plot.ball]), fontsize=7, color=colour, **place)


def _true(value: object) -> bool:
    return str(value) == "True" or value == 1
