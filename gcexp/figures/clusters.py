"""A table as balls in bins: workers, some of them slow, in their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from gcexp.errors import UserError
from gcexp.figures import rows, style
from gcexp.figures.panels import Drawing, Panel, Place
from gcexp.figures.plots import ClustersPlot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RADIUS, _GAP = 0.36, 0.8
_LINE = 0.13  # inches: a line of text
_SIDES = 0.15  # inches: left and right of a panel
# Red and pale grey differ in brightness too: grey print tells them apart.
_MARKED: dict[str, Any] = {"facecolor": "#B22222", "edgecolor": "black"}
_PLAIN: dict[str, Any] = {"facecolor": "#E8EEF4", "edgecolor": "black"}


def drawing(frame: pd.DataFrame, plot: ClustersPlot) -> Drawing:
    """Bins, each with its balls; a ball without a bin lies at the right.

    Parameters
    ----------
    frame : DataFrame
        One row per panel and ball.
    plot : ClustersPlot
        What the figure file says.
    """
    rows.known(frame, plot.bin, plot.ball, plot.marked, plot.panel, plot.moved)
    parts = [(str(name), part) for name, part in rows.parts(frame, plot.panel)]
    bins = rows.numbers(frame, plot.bin)
    if not np.isfinite(bins).any():
        raise UserError(f"column {plot.bin!r} has no number; there is no bin to draw")
    count = int(np.nanmax(bins)) + 1
    room = _Room(
        count,
        beside=bool(np.isnan(bins).any()),
        tallest=max(
            int(part[plot.bin].value_counts().max()) for _, part in parts if part[plot.bin].notna().any()
        ),
        titled=bool(plot.panel),
    )
    return Drawing(
        [Panel(partial(_draw, name, part, plot, room)) for name, part in parts],
        height=room.height,
        handles=_handles(plot),
        columns=2,
        least=2.4,
    )


@dataclass(frozen=True)
class _Room:
    """What all panels of a drawing have room for, in units of a bin's width."""

    bins: int
    beside: bool
    tallest: int
    titled: bool

    @property
    def places(self) -> int:
        return self.bins + self.beside

    @property
    def top(self) -> float:
        return self.tallest * _GAP + 0.2

    def unit(self, inches: float) -> float:
        """Inches of a bin."""
        return (inches - _SIDES) / (self.places + 0.1)

    def above(self, inches: float) -> float:
        return _LINE / self.unit(inches) * (self.titled + 0.3)

    def below(self, inches: float) -> float:
        return _LINE / self.unit(inches) * 1.3

    def height(self, inches: float, names: float) -> float:
        """Inches of a panel."""
        return self.unit(inches) * (self.top + self.above(inches) + self.below(inches)) + 0.15


def _handles(plot: ClustersPlot) -> dict[str, Line2D]:
    ball: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 7, "markeredgecolor": "black"}
    fills = {plot.marked_label: _MARKED, plot.plain_label: _PLAIN}
    looks: dict[str, dict[str, Any]] = {
        text: {"markerfacecolor": fill["facecolor"]} for text, fill in fills.items()
    }
    if plot.moved:
        looks[plot.moved_label] = {"markerfacecolor": "none", "markeredgewidth": 1.8}
    return {text: Line2D([], [], label=style.plain(text), **ball, **look) for text, look in looks.items()}


def _draw(name: str, part: pd.DataFrame, plot: ClustersPlot, room: _Room, axes: Axes, place: Place) -> None:
    inches = place.inches
    _draw_bins(axes, part, plot, room)
    axes.set_axis_off()
    ends = {"xlim": (-0.55, room.places - 0.45), "ylim": (-room.below(inches), room.top + room.above(inches))}
    axes.set(aspect="equal", **ends)
    if plot.panel:
        axes.text(-0.45, room.top, style.plain(name), ha="left", va="bottom", fontsize=7)


def _draw_bins(axes: Axes, part: pd.DataFrame, plot: ClustersPlot, room: _Room) -> None:
    bins, count, top = rows.numbers(part, plot.bin), room.bins, room.top - 0.1
    for x in range(count + 1):  # the last place is for balls without a bin
        here = part[np.isnan(bins) if x == count else bins == x]
        if x < count:
            edge: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": "-", "marker": "none"}
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
            place: dict[str, Any] = {"ha": "center", "va": "center_baseline"}
            axes.text(*centre, style.plain(ball[plot.ball]), fontsize=7, color=colour, **place)


def _true(value: object) -> bool:
    return str(value) == "True" or value == 1
