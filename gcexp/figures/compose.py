"""From a plot, or several of different kinds, to one figure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from gcexp.figures import bars, clusters, function, lines, rows, style
from gcexp.figures.panels import Drawing, Panel, Place
from gcexp.figures.plots import WIDTHS, BarsPlot, ClustersPlot, FunctionPlot, LinesPlot, PanelsPlot

if TYPE_CHECKING:
    import pandas as pd

_KINDS: dict[type, Callable[..., Drawing]] = {
    LinesPlot: lines.drawing,
    BarsPlot: bars.drawing,
    ClustersPlot: clusters.drawing,
    FunctionPlot: function.drawing,
}
_NAMES = 0.3  # share of a figure's width that names of bars may take; with other kinds beside them less
_NAMES_BESIDE = 0.2


def figure_of(
    frame: pd.DataFrame,
    plot: LinesPlot | BarsPlot | ClustersPlot | FunctionPlot | PanelsPlot,
    title: str = "",
    note: str = "",
    width: float | None = None,
) -> Figure:
    """Figure of one plot, or of several as panels: a plot alone is a figure with one part.

    Parameters
    ----------
    frame : DataFrame
        The figure's table.
    plot : LinesPlot, BarsPlot, ClustersPlot, FunctionPlot or PanelsPlot
        What the figure file says.
    title, note : str
        Above and below the panels.
    width : float, optional
        Inches; by default what the plot says.
    """
    panels = plot if isinstance(plot, PanelsPlot) else None
    plots = plot.plots if isinstance(plot, PanelsPlot) else (plot,)
    several = panels is not None
    parts = [(rows.chosen(frame, part.where), part) for part in plots]
    lined = [(part, wanted) for part, wanted in parts if isinstance(wanted, LinesPlot)]
    barred = [name for part, wanted in parts if isinstance(wanted, BarsPlot) for name in _bars(part, wanted)]
    looks = lines.looks(lined, barred)
    drawings = [_KINDS[type(wanted)](part, wanted, looks) for part, wanted in parts]
    placed = [(drawing, panel) for drawing in drawings for panel in drawing.panels]
    columns = _side_by_side(len(placed), 3 if several else drawings[0].columns)
    if panels:
        columns = min(len(placed), panels.columns or columns)
    own = WIDTHS[panels.width if panels else drawings[0].width]
    width = own if width is None else width
    if width < own:
        columns = max(1, min(columns, int(width // max(drawing.least for drawing in drawings))))
    figure = _figure(placed, width, columns, (_NAMES_BESIDE if several else _NAMES) * width)
    handles = {name: handle for drawing in drawings for name, handle in drawing.handles.items()}
    legend = sorted(handles, key=lambda name: [*looks, name].index(name))  # lines, in their order, then marks
    sentences = [*dict.fromkeys(drawing.words for drawing in drawings), _levels(drawings), note]
    beside = len(placed) == 1 and width >= WIDTHS["wide"]
    handles_shown = [handles[name] for name in legend]
    style.arrange(figure, title, " ".join(filter(None, sentences)), handles_shown, beside)
    return figure


def _levels(drawings: list[Drawing]) -> str:
    """The sentence about dashed lines across the panels."""
    levels = [f"{level:g}" for level in sorted({level for drawing in drawings for level in drawing.levels})]
    if not levels:
        return ""
    if len(levels) == 1:
        return f"The dashed line marks {levels[0]}."
    return f"The dashed lines mark {', '.join(levels[:-1])} and {levels[-1]}."


def _bars(frame: pd.DataFrame, plot: BarsPlot) -> list[str]:
    rows.known(frame, plot.by)
    return rows.names(frame, plot.by)


def _side_by_side(count: int, most: int) -> int:
    return min(count, most, 2 if count == 4 else 3)


def _figure(placed: list[tuple[Drawing, Panel]], width: float, columns: int, names: float) -> Figure:
    """Figure of that width with all panels drawn, each row as high as its highest one."""
    inches = width / columns
    by_row = [placed[start : start + columns] for start in range(0, len(placed), columns)]
    heights = [max(drawing.height(inches, names) for drawing, _ in row) for row in by_row]
    figure = style.blank(width, sum(heights))
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    axes_of = {}
    for number, row in enumerate(by_row):
        left = [True, *(one is not two for (one, _), (two, _) in pairwise(row))]
        for column, ((_, panel), first) in enumerate(zip(row, left, strict=True)):
            axes = figure.add_subplot(grid[number, column])
            panel.draw(axes, Place(inches, names, first))
            axes_of[number, column] = axes, panel, first
    _write_words(figure, axes_of)
    return figure


def _write_words(figure: Figure, axes_of: dict) -> None:
    """Titles and labels of all axes, wrapped to the room that they have; the figure grows by further lines."""
    for axes, panel, first in axes_of.values():  # as single letters, to find out how large the axes will be
        axes.set(
            title=panel.title and "T", xlabel=panel.below and "x", ylabel=panel.left and first and "y" or ""
        )
    figure.set_layout_engine("constrained")
    figure.get_layout_engine().execute(figure)
    more: dict[int, int] = {}
    alone = len({column for _, column in axes_of}) == 1
    for (row, _), (axes, panel, first) in axes_of.items():
        box = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        wide = figure.get_figwidth() - box.x0 if alone else box.width
        size = {name: matplotlib.rcParams[f"axes.{name}size"] for name in ("title", "label")}
        title = style.wrapped(panel.title, wide, size["title"])
        below = style.wrapped(panel.below, wide, size["label"])
        left = style.wrapped(panel.left, box.height, size["label"]) if first else []
        axes.set_title(style.plain("\n".join(title)))
        axes.set_xlabel(style.plain("\n".join(below)))
        axes.set_ylabel(style.plain("\n".join(left)))
        more[row] = max(more.get(row, 0), max(0, len(title) - 1) + max(0, len(below) - 1))
    figure.set_figheight(figure.get_figheight() + sum(more.values()) * style.LINE)
