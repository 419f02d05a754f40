"""A table as lines: training curves as step functions of the simulated clock, or any y over x."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gcexp.errors import UserError, unknown
from gcexp.figures import rows, style
from gcexp.figures.plots import LinesPlot

if TYPE_CHECKING:
    import pandas as pd

GRID = 500
_MARKS = 9  # markers along a curve
_HEIGHT = 2.9
_PANEL_HEIGHT = 2.4
_BANDS = {"quartiles": (25, 75), "range": (0, 100)}
_BAND_WORDS = {"quartiles": "quartiles", "range": "smallest to largest"}


def step(x: np.ndarray, y: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Score of the last finished iteration at each grid point; NaN before the first and after the last one.

    Examples
    --------
    >>> step(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.5, 0.7]), np.array([-1, 0, 0.9, 1, 2, 2.1]))
    array([nan, 0.1, 0.1, 0.5, 0.7, nan])
    """
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    place = np.searchsorted(x, grid, side="right") - 1
    return np.where((place >= 0) & (grid <= x[-1]), y[place], np.nan)


def middle(values: np.ndarray, band: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Median over seeds (first axis) and the two ends of the band; NaN wherever a seed is missing.

    Examples
    --------
    >>> [end.tolist() for end in middle(np.array([[1.0], [2.0], [9.0]]), "range")]
    [[2.0], [1.0], [9.0]]
    """
    low, high = _BANDS.get(band, (50, 50))
    # A median over the seeds that last longest would be a median over a choice: NaN spreads on purpose.
    return tuple(np.percentile(values, q, axis=0) for q in (50, low, high))


def draw(frame: pd.DataFrame, plot: LinesPlot, title: str = "", note: str = "") -> Figure:
    """Lines of one figure.

    Parameters
    ----------
    frame : DataFrame
        With `iteration` and `seed` columns: curves, drawn as the median over seeds of step functions. With `seed` only:
        the median at each x. Without: one row per x.
    plot : LinesPlot
        What the figure file says.
    title, note : str
        Above and below the axes.
    """
    rows.known(frame, plot.x, plot.y, plot.by, plot.panel)
    labels = rows.names(frame, plot.by)
    for label in (*plot.dashed, *plot.points):
        if label not in labels:
            raise UserError(unknown("label", label, labels))
    looks = _looks(labels, plot)
    panels = [(str(name), part) for name, part in rows.parts(frame, plot.panel)]
    width = style.WIDTHS[plot.width]
    columns = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    height = _HEIGHT if len(panels) == 1 else _PANEL_HEIGHT
    figure, all_axes = style.panels(width, height, len(panels), columns)
    for place, (axes, (name, part)) in enumerate(zip(all_axes, panels, strict=True)):
        _draw_panel(axes, part, plot, looks)
        if place % columns == 0:
            axes.set_ylabel(style.plain(plot.ylabel or style.axis_label(plot.y)))
        if plot.panel:
            axes.set_title(style.plain(f"{plot.panel} = {name}"))
    handles = [Line2D([], [], label=style.plain(label), **looks[label]) for label in labels]
    level = "" if plot.level is None else f"dashed line: {plot.level:g}"
    words = [_seed_words(frame, plot), level, note]
    beside = plot.width == "wide" and len(panels) == 1
    style.arrange(figure, title, "; ".join(filter(None, words)), handles if len(labels) > 1 else [], beside)
    return figure


def _looks(labels: list[str], plot: LinesPlot) -> dict[str, dict]:
    drawn = [label for label in labels if label not in plot.dashed]
    looks = style.looks(drawn)
    for label in plot.points:
        looks[label] = looks[label] | {"linestyle": "none"}
    dashes = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
    for place, label in enumerate(plot.dashed):
        looks[label] = {"color": "0.35", "linewidth": 0.8, "linestyle": dashes[place % 3], "marker": "none"}
    return looks


def _seed_words(frame: pd.DataFrame, plot: LinesPlot) -> str:
    if not (seeds := rows.several(frame, plot.by)) or seeds == "1 seed":
        return seeds and "1 seed"
    band = f", band: {_BAND_WORDS[plot.band]}" if plot.band != "none" else ""
    return f"Line: median over {seeds}{band}"


def _draw_panel(axes, frame: pd.DataFrame, plot: LinesPlot, looks: dict[str, dict]) -> None:
    curves = {"seed", "iteration"} <= set(frame.columns)
    grid = _grid(frame, plot) if curves else None
    if plot.level is not None:
        axes.axhline(plot.level, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for number, (label, part) in enumerate(rows.parts(frame, plot.by)):
        look = looks[str(label)]
        x, values = _on_grid(part, plot, grid) if curves else _at_points(part, plot, str(label))
        centre, low, high = middle(values, plot.band)
        seen = np.isfinite(centre)
        every = None
        if curves and seen.any():
            # Markers staggered from curve to curve, so that they do not hide each other.
            gap = GRID // _MARKS
            every = (int(np.argmax(seen)) + (number * gap) // max(1, len(looks)), gap)
        if len(values) > 1 and plot.band != "none":
            axes.fill_between(x, low, high, color=look["color"], alpha=0.14, linewidth=0, zorder=1.5)
        axes.plot(x, centre, markevery=every, **look)
    axes.set(xscale=plot.xscale, yscale=plot.yscale, xlim=plot.xlim, ylim=plot.ylim)
    if plot.xscale == "linear" and plot.xlim is None and curves:
        axes.set_xlim(left=0, right=grid[-1])
    if not curves and plot.xscale == "linear" and _whole(rows.numbers(frame, plot.x)):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(style.plain(plot.xlabel or style.axis_label(plot.x)))


def _whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all())


def _grid(frame: pd.DataFrame, plot: LinesPlot) -> np.ndarray:
    x = rows.numbers(frame, plot.x)
    x = x[np.isfinite(x)]
    low, high = plot.xlim or (x[x > 0].min() if plot.xscale == "log" else 0.0, x.max())
    return np.geomspace(low, high, GRID) if plot.xscale == "log" else np.linspace(low, high, GRID)


def _on_grid(part: pd.DataFrame, plot: LinesPlot, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    runs = [
        step(rows.numbers(run, plot.x), rows.numbers(run, plot.y), grid) for _, run in part.groupby("seed")
    ]
    return grid, np.array(runs)


def _at_points(part: pd.DataFrame, plot: LinesPlot, label: str) -> tuple[np.ndarray, np.ndarray]:
    """x, and y of each seed, (seeds, x)."""
    x, place = np.unique(rows.numbers(part, plot.x), return_inverse=True)
    seed = part["seed"].to_numpy() if "seed" in part.columns else np.zeros(len(part), dtype=int)
    seeds, run = np.unique(seed, return_inverse=True)
    values = np.full((len(seeds), len(x)), np.nan)
    values[run, place] = rows.numbers(part, plot.y)
    if len(np.unique(run * len(x) + place)) < len(part):
        raise UserError(f"{label!r} has several rows at one {plot.x}; tell them apart by panel")
    return x, values
