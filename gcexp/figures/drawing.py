"""From what a figure file says about a plot to a figure, and from a figure to its files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.figures.plots import TablePlot, parse
from gcexp.figures.tables import Typeset

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def draw(
    frame: pd.DataFrame,
    plot: dict,
    title: str = "",
    note: str = "",
    style: Path | str | None = None,
    label: str = "",
    width: float | None = None,
) -> Figure | Typeset:
    """Draw a table, or set it as text where the plot's kind is table.

    Parameters
    ----------
    frame : DataFrame
        The figure's table.
    plot : mapping
        What the figure file says about the plot: ``kind`` (lines, bars, table or function), and the
        fields of `gcexp.figures.plots.KINDS[kind]`.
    title : str
        Above the plot.
    note : str
        Sentences below the plot: what is assumed, which data stand in for the paper's.
    style : path, optional
        A style file other than ``conf/style/paper.mplstyle``.
    label : str
        What LaTeX refers to a typeset table by.
    width : float, optional
        Inches of a drawing in print; by default what the plot says. Letters keep their size.

    Raises
    ------
    UserError
        For an unknown kind, key, column or label.
    """
    wanted = parse(plot)
    if isinstance(wanted, TablePlot):
        from gcexp.figures import typeset

        return typeset.typeset(frame, wanted, title, note, label)
    from gcexp.figures import compose
    from gcexp.figures import style as looks

    with looks.use_style(style):
        return compose.figure_of(frame, wanted, title, note, width)


def save(figure: Figure | Typeset, paths: Iterable[Path | str], style: Path | str | None = None) -> None:
    """Write a drawn figure, each file whole or not at all, equal figures as equal bytes.

    Parameters
    ----------
    figure : Figure
        From `draw`.
    paths : iterable of paths
        The suffix is the format: ``.pdf``, ``.png`` or ``.svg``, for a table ``.md`` or ``.tex``.
    style : path, optional
        The style file it was drawn with.

    Raises
    ------
    UserError
        For a format that the figure does not have, and a folder that cannot be written.
    """
    if isinstance(figure, Typeset):
        return figure.save(paths)
    from gcexp.figures import style as looks

    return looks.save(figure, paths, style)
