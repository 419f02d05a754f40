"""Drawings by a named function, for figures that are neither lines, bars nor tables."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from gcexp.errors import UserError, require_known
from gcexp.figures.panels import Drawing, Panel, Place, panels_of
from gcexp.figures.plots import WIDTHS, FunctionPlot

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes


def drawing(frame: pd.DataFrame, plot: FunctionPlot) -> Drawing:
    """Panels drawn by the function that the plot names."""
    draw = located(plot.function)
    handles: dict = {}

    def drawn(rows: pd.DataFrame, axes: Axes, place: Place) -> None:
        draw(axes, rows)
        if axes.get_legend() is None:  # labelled artists go into the legend of the figure
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)

    found = panels_of(frame, plot, xlabel="", ylabel="")
    panels = [Panel(partial(drawn, rows), *words) for rows, *words in found]
    least = WIDTHS[plot.width] / plot.columns if plot.least is None else plot.least
    return Drawing(panels, lambda inches, names: plot.height, handles, "", plot.columns, least, plot.width)


def located(name: str) -> Callable:
    """Function of a dotted name."""
    module, _, last = name.rpartition(".")
    try:
        found = import_module(module)
    except ImportError as error:
        raise UserError(f"plot.function: cannot import {module!r} ({error})") from None
    public = [name for name in dir(found) if callable(getattr(found, name)) and not name.startswith("_")]
    require_known(f"function in {module}", last, public, "plot.function")
    return getattr(found, last)
