"""Drawings by a named function, for figures that are neither lines, bars nor tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from gcexp.errors import UserError, require_known
from gcexp.figures import rows
from gcexp.figures.panels import Drawing, Panel, Place, panel_labels, panel_titles
from gcexp.figures.plots import WIDTHS, FunctionPlot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def drawing(frame: pd.DataFrame, plot: FunctionPlot) -> Drawing:
    """Panels drawn by the function that the plot names."""
    draw_rows = _function_of(plot.function)
    handles: dict[str, Artist] = {}

    def draw(part: pd.DataFrame, axes: Axes, place: Place) -> None:
        draw_rows(axes, part)
        if axes.get_legend() is None:  # labelled artists go into the legend of the figure
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)

    parts = rows.parts_by_name(frame, plot.panel)
    titles = panel_titles(frame, plot)
    xlabels = panel_labels("xlabel", plot.xlabel, parts, default="")
    ylabels = panel_labels("ylabel", plot.ylabel, parts, default="")
    panels = []
    for name, part in parts.items():
        panels.append(Panel(partial(draw, part), titles[name], xlabels[name], ylabels[name]))
    least = plot.least
    if least is None:
        least = WIDTHS[plot.width] / plot.columns
    return Drawing(
        panels,
        height=lambda inches, names: plot.height,
        handles=handles,
        columns=plot.columns,
        least=least,
        width=plot.width,
    )


def _function_of(function: str) -> Callable[[Axes, pd.DataFrame], None]:
    """The function of a dotted name."""
    name_of_module, _, name = function.rpartition(".")
    try:
        module = import_module(name_of_module)
    except ImportError as error:
        raise UserError(f"plot.function: cannot import {name_of_module!r} ({error})") from None
    public = []
    for one in dir(module):
        if not one.startswith("_") and callable(getattr(module, one)):
            public.append(one)
    require_known(f"function in {name_of_module}", name, public, "plot.function")
    return getattr(module, name)
