"""From a plot to a figure: panels side by side, each row as high as it must be, words and legend around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from gcexp.errors import UserError
from gcexp.figures import bars, function, lines, rows, style
from gcexp.figures.panels import Drawing, Panel, Place
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


@dataclass(frozen=True)
class _DrawnPanel:
    """A panel in its axes, without its words."""

    panel: Panel
    axes: Axes
    row: int
    first: bool  # in its row


def figure_of(
    frame: pd.DataFrame, plot: Plot, title: str = "", note: str = "", width: float | None = None
) -> Figure:
    """Figure of a plot, of so many inches, by default as many as the plot says."""
    drawing = _drawing_of(frame, plot)
    if width is None:
        width = WIDTHS[drawing.width]
    count = len(drawing.panels)
    columns = _columns(drawing, width)
    rows_of_panels = math.ceil(count / columns)
    inches = width / columns
    names = _NAMES * width
    figure = style.blank(width, rows_of_panels * drawing.height(inches, names))
    grid = figure.add_gridspec(rows_of_panels, columns)
    panels = []
    for number, panel in enumerate(drawing.panels):
        row, column = divmod(number, columns)
        axes = figure.add_subplot(grid[row, column])
        panel.draw(axes, Place(inches, names, first=column == 0))
        panels.append(_DrawnPanel(panel, axes, row, first=column == 0))
    _write_words(figure, panels, one_column=columns == 1)
    sentences = " ".join(filter(None, [drawing.words, note]))
    legend_beside = count == 1 and width >= style.SCREEN
    style.arrange(figure, title, sentences, list(drawing.handles.values()), beside=legend_beside)
    return figure


def _drawing_of(frame: pd.DataFrame, plot: Plot) -> Drawing:
    """The panels of a plot, of the rows that it chooses."""
    plan_panels = _KINDS[type(plot)]
    return plan_panels(rows.choose_rows(frame, plot.where), plot)


def _columns(drawing: Drawing, width: float) -> int:
    """How many panels stand side by side in a figure of that width."""
    count = len(drawing.panels)
    columns = min(drawing.columns, count)
    if count == 4:  # two rows of two
        columns = min(columns, 2)
    if width >= WIDTHS[drawing.width]:
        return columns
    readable = int(width // drawing.least)
    return max(1, min(columns, readable))


def draw_on(axes: Axes, frame: pd.DataFrame, plot: Plot, title: str = "") -> None:
    """Draw a plot of one panel into axes that are there already, which keep their letters, ticks and frame."""
    if not isinstance(plot, Drawn):
        raise UserError("a table is text and is not drawn into axes: leave ax or kind=table away")
    with style.use_style():
        drawing = _drawing_of(frame, plot)
        count = len(drawing.panels)
        if count > 1:
            raise UserError(f"ax is one pair of axes, and panel={plot.panel} has {count} panels")
        panel = drawing.panels[0]
        inches = axes.get_window_extent().width / axes.figure.dpi
        panel.draw(axes, Place(inches, _NAMES * inches, first=True))
    axes.set(title=style.plain(title), xlabel=style.plain(panel.below), ylabel=style.plain(panel.left))
    if drawing.handles:
        axes.legend(handles=list(drawing.handles.values()))


def _write_words(figure: Figure, panels: list[_DrawnPanel], *, one_column: bool) -> None:
    """Titles and labels of all axes, wrapped to the room that they have; the figure grows by further lines."""
    _lay_out_with_single_letters(figure, panels)
    more_lines: dict[int, int] = {}  # by row
    title_size = matplotlib.rcParams["axes.titlesize"]
    label_size = matplotlib.rcParams["axes.labelsize"]
    for drawn in panels:
        box = drawn.axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        room = box.width
        if one_column:
            room = figure.get_figwidth() - box.x0
        title = style.wrap(drawn.panel.title, room, title_size)
        below = style.wrap(drawn.panel.below, room, label_size)
        left: list[str] = []
        if drawn.first:
            left = style.wrap(drawn.panel.left, box.height, label_size)
        drawn.axes.set_title(style.plain("\n".join(title)))
        drawn.axes.set_xlabel(style.plain("\n".join(below)))
        drawn.axes.set_ylabel(style.plain("\n".join(left)))
        more = max(0, len(title) - 1) + max(0, len(below) - 1)
        more_lines[drawn.row] = max(more, more_lines.get(drawn.row, 0))
    figure.set_figheight(figure.get_figheight() + sum(more_lines.values()) * style.LINE)


def _lay_out_with_single_letters(figure: Figure, panels: list[_DrawnPanel]) -> None:
    """Find out how large the axes will be, with a letter in the place of every title and label."""
    for drawn in panels:
        title = "T" if drawn.panel.title else ""
        below = "x" if drawn.panel.below else ""
        left = "y" if drawn.panel.left and drawn.first else ""
        drawn.axes.set(title=title, xlabel=below, ylabel=left)
    figure.set_layout_engine("constrained")
    figure.get_layout_engine().execute(figure)
