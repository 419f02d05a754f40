"""From a plot to a figure: panels side by side, each row as high as it must be, words and legend around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from gcexp.errors import UserError
from gcexp.figures import bars, function, lines, rows, style
from gcexp.figures.panels import Drawing, Place
from gcexp.figures.plots import WIDTHS, BarsPlot, Drawn, FunctionPlot, LinesPlot, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_KINDS: dict[type, Callable[..., Drawing]] = {
    LinesPlot: lines.drawing,
    BarsPlot: bars.drawing,
    FunctionPlot: function.drawing,
}
_NAMES = 0.3  # share of a figure's width that names of bars may take


def figure_of(
    frame: pd.DataFrame, plot: Plot, title: str = "", note: str = "", width: float | None = None
) -> Figure:
    """Figure of a plot, of so many inches, by default as many as the plot says."""
    drawing = _KINDS[type(plot)](rows.chosen(frame, plot.where), plot)
    own = WIDTHS[drawing.width]
    width = own if width is None else width
    count = len(drawing.panels)
    columns = min(drawing.columns, 2 if count == 4 else count)
    if width < own:
        columns = max(1, min(columns, int(width // drawing.least)))
    inches, names, rows_of = width / columns, _NAMES * width, -(-count // columns)
    figure = style.blank(width, rows_of * drawing.height(inches, names))
    grid = figure.add_gridspec(rows_of, columns)
    axes_of = {}
    for number, panel in enumerate(drawing.panels):
        row, column = divmod(number, columns)
        axes = figure.add_subplot(grid[row, column])
        panel.draw(axes, Place(inches, names, column == 0))
        axes_of[row, column] = axes, panel, column == 0
    _write_words(figure, axes_of)
    words, handles = " ".join(filter(None, [drawing.words, note])), [*drawing.handles.values()]
    style.arrange(figure, title, words, handles, beside=count == 1 and width >= style.SCREEN)
    return figure


def draw_on(axes: Axes, frame: pd.DataFrame, plot: Plot, title: str = "") -> None:
    """Draw a plot of one panel into axes that are there already, which keep their letters, ticks and frame."""
    if not isinstance(plot, Drawn):
        raise UserError("a table is text and is not drawn into axes: leave ax or kind=table away")
    with style.applied():
        drawing = _KINDS[type(plot)](rows.chosen(frame, plot.where), plot)
        if len(drawing.panels) > 1:
            raise UserError(
                f"ax is one pair of axes, and panel={plot.panel} has {len(drawing.panels)} panels"
            )
        panel, inches = drawing.panels[0], axes.get_window_extent().width / axes.figure.dpi
        panel.draw(axes, Place(inches, _NAMES * inches, first=True))
    axes.set(title=style.plain(title), xlabel=style.plain(panel.below), ylabel=style.plain(panel.left))
    if drawing.handles:
        axes.legend(handles=[*drawing.handles.values()])


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
