"""Drawings by a named function, for figures that are neither lines, bars nor tables."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from gcexp.errors import UserError, require_known
from gcexp.figures.panels import Drawing, Panel, Place, panels_of
from gcexp.figures.plots import WIDTHS, FunctionPlot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def drawing(frame: pd.DataFrame, plot: FunctionPlot) -> Drawing:
    """Panels drawn by the function that the plot names."""
    module, _, name = plot.function.rpartition(".")
    try:
        found = import_module(module)
    except ImportError as error:
        raise UserError(f"plot.function: cannot import {module!r} ({error})") from None
    public = [one for one in dir(found) if callable(getattr(found, one)) and not one.startswith("_")]
    require_known(f"function in {module}", name, public, "plot.function")
    handles: dict = {}

    def drawn(rows: pd.DataFrame, axes: Axes, place: Place) -> None:
        getattr(found, name)(axes, rows)
        if axes.get_legend() is None:  # labelled artists go into the legend of the figure
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)

    parts = panels_of(frame, plot, xlabel="", ylabel="")
    panels = [Panel(partial(drawn, rows), *words) for rows, *words in parts]
    least = WIDTHS[plot.width] / plot.columns if plot.least is None else plot.least
    return Drawing(panels, lambda inches, names: plot.height, handles, "", plot.columns, least, plot.width)
