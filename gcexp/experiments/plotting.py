"""A table of runs as a figure in the house style, or in somebody's own axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gcexp.errors import ExtraError, UserError, lacking, unknown
from gcexp.experiments.plot_defaults import (
    MOST_LINES,
    common_ends,
    key_of_panels,
    keys_of,
    line_names,
    most_lines,
    usual_plot,
    usual_x,
    usual_y,
    varied_keys,
)
from gcexp.schema import quoted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def plot(
    table: pd.DataFrame,
    x: str | None = None,
    y: str | None = None,
    line: str | None = None,
    *,
    ax: Axes | None = None,
    **options: Any,
) -> Any:
    """Draw a table in the house style, as a figure of its own or into axes of yours.

    Parameters
    ----------
    table : DataFrame
        From `simulate`, `train` or `sweep`, or any tidy table.
    x, y : str, optional
        Columns. By default scores over the simulated clock; without a clock the mean iteration time over the first
        number that was swept, or as bars with their intervals where no number was.
    line : str, optional
        Column whose values are the lines or bars; by default every other key that takes several values. Lines are named
        by these keys, and a scheme keeps its colour. Where more than eight lines would stand in a panel, a key gets
        panels of its own.
    ax : matplotlib.axes.Axes, optional
        Axes that are drawn into: they get the lines or bars, labels, `title` and a legend, and keep their fonts and
        size. A `note` stands on figures only.
    **options
        Further fields of `gcexp.figures.plots.LinesPlot` or `BarsPlot`, and `title` and `note` of the figure.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure, which a notebook shows as the last value of a cell; or `ax`, where it is given.

    Raises
    ------
    UserError
        For an unknown column or option, for something else than a table or axes, and for several panels in one `ax`.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.sweep(
    ...     {"scheme": ["cgc", "frc"], "s": [1, 2]}, n=6, delay="pareto", iterations=20, seeds=2
    ... )
    >>> figure = gcexp.plot(table, x="s")
    >>> figure.axes[0].get_xlabel()
    's'

    Beside a drawing of one's own:

    >>> from matplotlib import pyplot
    >>> mine, (left, right) = pyplot.subplots(1, 2)
    >>> gcexp.plot(table, x="s", ax=right, title="pareto") is right
    True
    >>> [text.get_text() for text in right.get_legend().get_texts()]
    ['cgc', 'frc']
    >>> pyplot.close(mine)
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise UserError(f"plot takes a table of simulate, train or sweep, got {table!r}")
    varied = varied_keys(table)
    if x is None:
        x = usual_x(table, varied)
    if y is None:
        y = usual_y(table)
    for name in (x, y, line):
        if name is not None and name not in table:
            raise UserError(unknown("column", name, table.columns))
    title = options.pop("title", "")
    note = options.pop("note", "The clock is simulated.")
    if line is not None:
        line_keys = [line]
    else:
        line_keys = [key for key in varied if key not in (x, options.get("panel"))]
        if x is not None and ax is None and "panel" not in options:
            panel = key_of_panels(table, line_keys)
            if panel is not None:
                line_keys.remove(panel)
                options["panel"] = panel
    if not line_keys and "scheme" in keys_of(table):
        line_keys = ["scheme"]
    with_lines = table.assign(line=line_names(table, line_keys))
    if x is not None:
        most = most_lines(with_lines, options.get("panel"))
        if most > MOST_LINES:
            note += f" {most} lines in a panel: choose some by where={{KEY: VALUES}}, or spread them by panel=KEY."
    fields = usual_plot(x, y, line_keys)
    if "panel" in options and options["panel"] in table:
        fields["ylim"] = common_ends(table, y, log=options.get("yscale") == "log")
    fields |= options
    try:
        return _draw(with_lines, fields, ax, title=title, note=note)
    except ModuleNotFoundError as error:
        sentence = lacking(error)
        if sentence:
            raise ExtraError(sentence) from None
        raise


def _draw(table: pd.DataFrame, fields: dict[str, Any], ax: Axes | None, *, title: str, note: str) -> Any:
    """A figure of its own, or the axes that were drawn into; `fields` are those of a plot."""
    from gcexp.figures import draw, parse
    from gcexp.figures.compose import draw_on
    from gcexp.figures.style import SCREEN

    if ax is None:
        width = None if "width" in fields else SCREEN
        return draw(table, fields, title, note, width=width)
    if not callable(getattr(ax, "get_window_extent", None)):
        raise UserError(f"ax is a pair of matplotlib's axes, got {quoted(ax)}")
    draw_on(ax, table, parse(fields), title)
    return ax
