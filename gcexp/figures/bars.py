"""A table as bars: the mean over seeds with its 95 % interval, and marks for what is expected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from gcexp.errors import UserError, require_known
from gcexp.figures import rows, style
from gcexp.figures.panels import Drawing, Panel, Place, panel_labels, panel_titles
from gcexp.figures.plots import BarsPlot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RED = "#A00000"
_MARK: dict[str, Any] = {
    "linestyle": "-",
    "linewidth": 1.6,
    "marker": "none",
    "color": _RED,
    "solid_capstyle": "butt",
}
_MARK_IN_LEGEND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "|",
    "markersize": 7,
    "markeredgewidth": 1.6,
    "color": _RED,
}
_BAR: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.5}
_WHISKER: dict[str, Any] = {"ecolor": "black", "capsize": 2, "elinewidth": 0.9, "capthick": 0.9}
_GREY = "0.6"


@dataclass(frozen=True)
class _Common:
    """What the bars of all panels have in common."""

    colours: dict[str, str]  # by name; those of bars without a look of their own are grey beside them
    share_names: bool  # panels with the same bars stand side by side, and others below each other
    ticks: int


def drawing(frame: pd.DataFrame, plot: BarsPlot) -> Drawing:
    """Bars, lying, so that long labels stay readable; the first label is on top."""
    _check_columns(frame, plot)
    labels = rows.names(frame, plot.by)
    bars_of_panels = []
    for part in rows.parts_by_name(frame, plot.panel).values():
        bars_of_panels.append(rows.names(part, plot.by))
    share_names = all(bars == bars_of_panels[0] for bars in bars_of_panels)
    side_by_side = share_names and len(bars_of_panels) > 1
    most_bars = max(len(bars) for bars in bars_of_panels)
    common = _Common(_colours(labels), share_names, ticks=3 if side_by_side else 5)
    handles = {}
    if plot.reference:
        text = style.plain(plot.reference_label)
        handles[plot.reference_label] = Line2D([], [], label=text, **_MARK_IN_LEGEND)
    return Drawing(
        _panels(frame, plot, common),
        height=partial(_height, labels, most_bars),
        handles=handles,
        words=rows.seed_sentence(frame, plot.by, "Bars show the mean", ", whiskers its 95 % interval"),
        columns=3 if share_names else 1,
        least=1.8,
        width="double" if side_by_side else plot.width,
    )


def _check_columns(frame: pd.DataFrame, plot: BarsPlot) -> None:
    """Whether the columns of the plot are there, and the bars to which it gives a reference."""
    column = plot.reference if isinstance(plot.reference, str) else None
    rows.require_columns(frame, plot.y, plot.by, plot.panel, column)
    if isinstance(plot.reference, dict):
        labels = rows.names(frame, plot.by)
        for label in plot.reference:
            require_known("label", str(label), labels, "reference")


def _panels(frame: pd.DataFrame, plot: BarsPlot, common: _Common) -> list[Panel]:
    """The panels, one for each value of the plot's panel column."""
    parts = rows.parts_by_name(frame, plot.panel)
    titles = panel_titles(frame, plot)
    labels = panel_labels("ylabel", plot.ylabel, parts, style.axis_label(plot.y))
    panels = []
    for name, part in parts.items():
        draw = partial(_draw, part, plot=plot, common=common)
        panels.append(Panel(draw, titles[name], below=labels[name]))
    return panels


def _colours(labels: list[str]) -> dict[str, str]:
    """Colours of bars by their names, where most of them have a look of their own; else none, and all are equal."""
    known = style.known_looks()
    named = [label for label in labels if label in known]
    if 2 * len(named) <= len(labels):
        return {}
    return {name: look["color"] for name, look in style.looks(named).items()}


def _height(labels: list[str], most_bars: int, inches: float, names: float) -> float:
    """Inches of a panel with so many bars, whose names may take `names` inches beside it."""
    size = matplotlib.rcParams["ytick.labelsize"]
    most_lines = max(len(style.wrap(label, names, size)) for label in labels)
    of_a_bar = max(0.2, most_lines * size * 1.45 / 72)
    return 0.5 + of_a_bar * most_bars


def _draw(frame: pd.DataFrame, axes: Axes, place: Place, *, plot: BarsPlot, common: _Common) -> None:
    """Draw one panel."""
    for height, (label, part) in enumerate(rows.parts(frame, plot.by)):
        if len(part) > 1 and "seed" not in part.columns:
            raise UserError(f"{str(label)!r} has {len(part)} rows and no seeds; tell them apart by panel")
        mean, half = rows.interval(rows.numbers(part, plot.y))
        face = (_colour(str(label), common.colours), 0.55)
        axes.barh(height, mean, height=0.68, facecolor=face, **_BAR)
        if half > 0:
            axes.errorbar(mean, height, xerr=half, fmt="none", zorder=4, **_WHISKER)  # above the marks
        value = f"{float(mean):#.3g}".removesuffix(".")  # three digits, zeros at the end too
        style.write_beside(axes, height, style.plain(value))
        expected = _expected(str(label), part, plot)
        if expected is not None and np.isfinite(expected):
            ends = [height - 0.42, height + 0.42]
            axes.plot([expected, expected], ends, zorder=3, clip_on=False, **_MARK)
    names = rows.names(frame, plot.by)
    style.name_rows(axes, names, place.names, shown=place.first or not common.share_names)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(plot.ylim)
    axes.xaxis.set_major_locator(MaxNLocator(common.ticks))
    # A common power of ten would hide under the label.
    axes.xaxis.set_major_formatter(lambda value, _: style.number(value))


def _colour(label: str, colours: dict[str, str]) -> str:
    """A colour is a name: beside bars that have a look of their own any other bar is grey."""
    if colours:
        return colours.get(label, _GREY)
    return next(iter(matplotlib.rcParams["axes.prop_cycle"]))["color"]


def _expected(label: str, part: pd.DataFrame, plot: BarsPlot) -> float | None:
    """Where the mark of a bar stands, as the plot says by its name, or the table in a column; None for no mark."""
    if isinstance(plot.reference, dict):
        values = {str(name): value for name, value in plot.reference.items()}
        return values.get(label)
    if plot.reference:
        return rows.numbers(part, plot.reference)[0]
    return None
