"""A table as bars: the mean over seeds with its 95 % interval, and marks for what is expected."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from gcexp.errors import UserError, require_known
from gcexp.figures import rows, style
from gcexp.figures.panels import Drawing, Panel, Place, panels_of
from gcexp.figures.plots import BarsPlot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MARK: dict[str, Any] = {
    "linestyle": "-",
    "linewidth": 1.6,
    "marker": "none",
    "color": "#A00000",
    "solid_capstyle": "butt",
}
_BAR: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.5}
_VALUE: dict[str, Any] = {"fontsize": style.LEAST, "ha": "left", "va": "center", "color": "0.2"}
_WHISKER: dict[str, Any] = {"ecolor": "black", "capsize": 2, "elinewidth": 0.9, "capthick": 0.9}


def drawing(frame: pd.DataFrame, plot: BarsPlot) -> Drawing:
    """Bars, lying, so that long labels stay readable; the first label is on top."""
    column = plot.reference if isinstance(plot.reference, str) else None
    rows.known(frame, plot.y, plot.by, plot.panel, column)
    labels = rows.names(frame, plot.by)
    for label in plot.reference if isinstance(plot.reference, dict) else ():
        require_known("label", str(label), labels, "reference")
    found = panels_of(frame, plot, ylabel=style.axis_label(plot.y))
    bars = [rows.names(part, plot.by) for part, *_ in found]
    # Panels with the same bars stand side by side and share their names; others stand below each other.
    shared = all(some == bars[0] for some in bars)
    wide = len(found) > 1 and shared
    given = style.known_looks()
    named = [label for label in labels if label in given]
    looks = style.looks(named) if 2 * len(named) > len(labels) else {}
    drawn = partial(_draw, plot=plot, looks=looks, shared=shared, ticks=3 if wide else 5)
    size = matplotlib.rcParams["ytick.labelsize"]

    def height(inches: float, names: float) -> float:
        lines = max(len(style.wrapped(label, names, size)) for label in labels)
        return 0.5 + max(0.2, lines * size * 1.45 / 72) * max(map(len, bars))

    mark: dict[str, Any] = {"marker": "|", "markersize": 7, "markeredgewidth": 1.6, "linestyle": "none"}
    handle = Line2D([], [], label=style.plain(plot.reference_label), color=_MARK["color"], **mark)
    return Drawing(
        [Panel(partial(drawn, part), *words) for part, *words in found],
        height=height,
        handles={plot.reference_label: handle} if plot.reference else {},
        words=rows.seed_sentence(frame, plot.by, "Bars show the mean", ", whiskers its 95 % interval"),
        columns=3 if shared else 1,
        least=1.8,
        width="double" if wide else plot.width,
    )


def _draw(
    frame: pd.DataFrame,
    axes: Axes,
    place: Place,
    *,
    plot: BarsPlot,
    looks: dict[str, dict],
    shared: bool,
    ticks: int,
) -> None:
    names = rows.names(frame, plot.by)
    # A colour is a name: beside bars that have a look of their own any other bar is grey.
    other = {"color": "0.6"} if looks else next(iter(matplotlib.rcParams["axes.prop_cycle"]))
    for height, (label, part) in enumerate(rows.parts(frame, plot.by)):
        if len(part) > 1 and "seed" not in part.columns:
            raise UserError(f"{str(label)!r} has {len(part)} rows and no seeds; tell them apart by panel")
        mean, half = rows.interval(rows.numbers(part, plot.y))
        look = _BAR | {"facecolor": (looks.get(str(label), other)["color"], 0.55)}
        axes.barh(height, mean, height=0.68, **look)
        if half > 0:
            axes.errorbar(mean, height, xerr=half, fmt="none", zorder=4, **_WHISKER)  # above the marks
        shown = style.plain(f"{float(mean):#.3g}".removesuffix("."))  # three digits, zeros at the end too
        axes.text(1.015, height, shown, transform=axes.get_yaxis_transform(), **_VALUE)
        if isinstance(plot.reference, dict):
            given = {str(name): value for name, value in plot.reference.items()}.get(str(label))
        else:
            given = rows.numbers(part, plot.reference)[0] if plot.reference else None
        if given is not None and np.isfinite(given):
            axes.plot([given] * 2, [height - 0.42, height + 0.42], zorder=3, clip_on=False, **_MARK)
    size = matplotlib.rcParams["ytick.labelsize"]
    written = ["\n".join(style.wrapped(name, place.names, size)) for name in names]
    axes.set_yticks(range(len(names)), [style.plain(name) for name in written])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelleft=place.first or not shared)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(plot.ylim)
    axes.xaxis.set_major_locator(MaxNLocator(ticks))
    # A common power of ten would hide under the label.
    axes.xaxis.set_major_formatter(lambda value, _: style.number(value))
