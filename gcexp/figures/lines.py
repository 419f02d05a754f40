"""A table as lines: training curves as step functions of the simulated clock, or any y over x."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.lines import Line2D

from gcexp.errors import UserError, require_known
from gcexp.figures import passages, rows, style
from gcexp.figures.overlap import MARKS, equal_lines, marked_points
from gcexp.figures.panels import Drawing, Panel, Place, panel_labels, panel_titles
from gcexp.figures.plots import LinesPlot, Scale
from gcexp.words import joined

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GRID = 500
_SHARE = 0.7  # of a panel that the axes have at least
_HEIGHT = 2.5  # inches
_PANEL_HEIGHT = 2.0
#: How many times longer the slowest line takes than the fastest where the clock's axis becomes logarithmic.
_STRETCHED = 4
_WIDER = 1.4  # points by which a line is wider than a line of another colour that hides it
_LEVEL: dict[str, Any] = {"color": "0.35", "linewidth": 0.8, "linestyle": (0, (4, 2))}
_THRESHOLD: dict[str, Any] = {"color": "#A00000", "linewidth": 1.2, "linestyle": (0, (1, 1))}
_GUIDE: dict[str, Any] = {"color": "0.35", "linewidth": 0.8, "linestyle": (0, (8, 3)), "marker": "none"}
_DASHES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


@dataclass(frozen=True)
class _Band:
    """What a shade over seeds spans: how the note goes on behind the line's middle, and the percentiles of its ends."""

    words: str
    low: int = 50
    high: int = 50


_BANDS = {
    "quartiles": _Band(", bands the quartiles", 25, 75),
    "range": _Band(", bands the smallest and the largest value", 0, 100),
    "interval": _Band(", bands its 95 % interval"),  # of the mean, which has no percentiles
    "none": _Band(""),
}


@dataclass(frozen=True)
class _Line:
    """A line and its band, at each x, over so many seeds."""

    x: np.ndarray
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray
    seeds: int


def step(x: np.ndarray, y: np.ndarray, grid: np.ndarray, end: float) -> np.ndarray:
    """Score of the last finished iteration at each grid point up to `end`; NaN before the first one and behind `end`.

    >>> step(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.5, 0.7]), np.array([-1, 0, 0.9, 1, 2, 2.1]), 2.0)
    array([nan, 0.1, 0.1, 0.5, 0.7, nan])
    """
    order = np.argsort(x, kind="stable")
    place = np.searchsorted(x[order], grid, side="right") - 1
    running = (place >= 0) & (grid <= end)
    return np.where(running, y[order][place], np.nan)


def middle(values: np.ndarray, band: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middle over seeds (first axis) and the two ends of the band; NaN wherever a seed is missing."""
    if band == "interval":
        mean, half = rows.interval(values)
        return mean, mean - half, mean + half
    # A median over the seeds that are there would be a median over a choice: NaN spreads on purpose.
    median = np.percentile(values, 50, axis=0)
    low = np.percentile(values, _BANDS[band].low, axis=0)
    high = np.percentile(values, _BANDS[band].high, axis=0)
    return median, low, high


def looks(labels: list[str], dashed: tuple[str, ...] = ()) -> dict[str, dict]:
    """Look of every line, in the order of the legend: bounds and references, which are `dashed`, come last."""
    for label in dashed:
        require_known("label", label, labels)
    solid = [label for label in labels if label not in dashed]
    found = style.looks(solid, apart=True)
    for number, label in enumerate(dashed):
        dashes = _DASHES[number % len(_DASHES)]
        found[label] = {"color": "0.35", "linewidth": 0.8, "linestyle": dashes, "marker": "none"}
    return found


def drawing(frame: pd.DataFrame, plot: LinesPlot) -> Drawing:
    """Curves as step functions of a clock, or values at the same x for all seeds."""
    rows.require_columns(frame, plot.x, plot.y, plot.by, plot.panel, plot.threshold, plot.colour)
    plot = replace(plot, xscale=plot.xscale or scale_of(frame, plot))
    frame = _rename_lines(frame, plot)
    look_of = looks(rows.names(frame, plot.by), plot.dashed)
    if plot.colour is not None:
        look_of |= _colour_looks(frame, plot, look_of)
    handles = _handles(frame, plot, look_of)
    if len(handles) == 1:  # there is nothing to tell apart
        handles = {}
    return Drawing(
        _panels(frame, plot, look_of),
        height=lambda inches, names: _HEIGHT if inches > 3 else _PANEL_HEIGHT,
        handles=handles,
        words=_sentences(frame, plot),
        columns=_most_columns(frame, plot),
        width=plot.width,
    )


def scale_of(frame: pd.DataFrame, plot: LinesPlot) -> Scale:
    """Scale of the horizontal axis where the figure file names none."""
    if not plot.curves or plot.xlim is not None:
        return "linear"
    ends = _ends(frame, plot)
    if max(ends) > _STRETCHED * min(ends) > 0:
        return "log"
    return "linear"


def _rename_lines(frame: pd.DataFrame, plot: LinesPlot) -> pd.DataFrame:
    """The table with the names of lines that the plot writes instead of its own."""
    if not plot.names:
        return frame
    known = rows.names(frame, plot.by)
    for label in plot.names:
        require_known("label", label, known, "names")
    written = {label: str(name) for label, name in plot.names.items()}
    return frame.assign(**{plot.by: frame[plot.by].astype(str).replace(written)})


def _colour_looks(frame: pd.DataFrame, plot: LinesPlot, look_of: dict[str, dict]) -> dict[str, dict]:
    """Looks with one colour for each value of a column; lines of one colour have dashes and markers of their own."""
    value_of = frame.drop_duplicates(plot.by).set_index(plot.by)[plot.colour].astype(str)
    looks_of_values = style.looks(list(dict.fromkeys(value_of)))
    forms = list(matplotlib.rcParams["axes.prop_cycle"])
    lines_so_far: dict[str, int] = {}  # of each value
    found = {}
    for label, value in value_of.items():
        if label in plot.dashed:
            continue
        number = lines_so_far.get(value, 0)
        lines_so_far[value] = number + 1
        form = forms[number % len(forms)]
        look = dict(look_of[str(label)])
        look.pop("markerfacecolor", None)
        look["color"] = looks_of_values[value]["color"]
        look["markeredgecolor"] = "white"
        look["linestyle"] = form["linestyle"]
        look["marker"] = form["marker"]
        found[str(label)] = look
    return found


def _handles(frame: pd.DataFrame, plot: LinesPlot, look_of: dict[str, dict]) -> dict[str, Line2D]:
    """Entries of the legend: every line, a mark alone where a line has one point, the guide and the threshold."""
    part_of = rows.parts_by_name(frame, plot.by)
    handles = {}
    for label, look in look_of.items():
        if part_of[label][plot.x].nunique() == 1:
            look = look | {"linestyle": "none"}
        handles[label] = Line2D([], [], label=style.plain(label), **look)
    if plot.slope is not None:
        handles["slope"] = Line2D([], [], label=f"slope {plot.slope:g}", **_GUIDE)
    if plot.threshold:
        text = style.plain(plot.threshold_label)
        handles[plot.threshold_label] = Line2D([], [], label=text, **_THRESHOLD)
    return handles


def _panels(frame: pd.DataFrame, plot: LinesPlot, look_of: dict[str, dict]) -> list[Panel]:
    """The panels with lines, and behind them those that say when the lines reach a score."""
    parts = rows.parts_by_name(frame, plot.panel)
    titles = panel_titles(frame, plot)
    xlabels = panel_labels("xlabel", plot.xlabel, parts, style.axis_label(plot.x))
    ylabels = panel_labels("ylabel", plot.ylabel, parts, style.axis_label(plot.y))
    panels = []
    for name, part in parts.items():
        draw = partial(_draw, part, plot, look_of)
        panels.append(Panel(draw, titles[name], below=xlabels[name], left=ylabels[name]))
    if plot.time_to is None:
        return panels
    for name, part in parts.items():
        draw = partial(passages.draw, part, plot, look_of, clock_ends(part, plot), len(parts) == 1)
        label = f"{xlabels[name]} to {ylabels[name] or plot.y} {plot.time_to:g}"
        panels.append(Panel(draw, below=label))
    return panels


def _most_columns(frame: pd.DataFrame, plot: LinesPlot) -> int:
    """Most panels side by side; first passages stand below the lines of several panels."""
    count = len(rows.parts_by_name(frame, plot.panel))
    if plot.time_to is not None:
        beside_its_lines = count == 1 and plot.width == "double"
        return 2 if beside_its_lines else count
    if plot.width == "double" and count > 6:
        return 4
    return 3


def _sentences(frame: pd.DataFrame, plot: LinesPlot) -> str:
    """What the note says of medians, bands, the guide and dashed lines."""
    statistic = "mean" if plot.band == "interval" else "median"
    sentences = [rows.seed_sentence(frame, plot.by, f"Lines show the {statistic}", _BANDS[plot.band].words)]
    levels = [f"{level:g}".replace("e-0", "e-") for level in sorted(plot.levels)]
    if len(levels) == 1:
        sentences.append(f"The dashed line marks {levels[0]}.")
    elif levels:
        sentences.append(f"The dashed lines mark {joined(levels)}.")
    if plot.time_to is not None:
        sentences.append(passages.sentence(frame, plot))
    return " ".join(filter(None, sentences))


# --- One panel ------------------------------------------------------------------------------------------------------


def _draw(frame: pd.DataFrame, plot: LinesPlot, look_of: dict[str, dict], axes: Axes, place: Place) -> None:
    """Draw one panel."""
    grid = clock_grid(frame, plot) if plot.curves else np.empty(0)
    lines = _lines(frame, plot, look_of, grid)
    _draw_levels_and_thresholds(frame, plot, axes)
    _draw_lines(lines, plot, look_of, axes)
    axes.set(xscale=plot.xscale, yscale=plot.yscale, xlim=plot.xlim, ylim=plot.ylim)
    if plot.curves and plot.xscale == "linear" and plot.xlim is None:
        axes.set_xlim(left=0, right=grid[-1])
    style.plain_decades(axes)
    if not plot.curves:
        _place_ticks(frame, plot, axes, place)


def _lines(
    frame: pd.DataFrame, plot: LinesPlot, look_of: dict[str, dict], grid: np.ndarray
) -> dict[str, _Line]:
    """The lines of a panel by their labels, in the order of the legend."""
    part_of = rows.parts_by_name(frame, plot.by)
    lines = {}
    for label in look_of:
        if label not in part_of:
            continue
        x, values = points(part_of[label], plot, grid, label)
        centre, low, high = middle(values, plot.band)
        lines[label] = _Line(x, centre, low, high, seeds=len(values))
    return lines


def _draw_levels_and_thresholds(frame: pd.DataFrame, plot: LinesPlot, axes: Axes) -> None:
    """Dashed lines across the panel, and dotted ones up it."""
    for level in plot.levels:
        axes.axhline(level, zorder=1, **_LEVEL)
    if not plot.threshold:
        return
    places = np.unique(rows.numbers(frame, plot.threshold))
    for x in places[np.isfinite(places)]:
        axes.axvline(x, zorder=1, **_THRESHOLD)


def _draw_lines(lines: dict[str, _Line], plot: LinesPlot, look_of: dict[str, dict], axes: Axes) -> None:
    """The lines with their bands and markers, and the guide from the first one."""
    coordinates = {label: (line.x, line.middle) for label, line in lines.items()}
    groups = equal_lines(coordinates, plot.yscale, plot.ylim)
    if plot.curves:
        markers = _markers_of_curves(lines, len(look_of))
    else:
        markers = dict(marked_points(coordinates, plot.yscale, plot.ylim))
    first_label = next(iter(lines))
    for label, line in lines.items():
        look = _wide_enough(label, groups[label], look_of)
        if line.seeds > 1 and plot.band != "none":
            shade: dict[str, Any] = {"color": look["color"], "alpha": 0.14, "linewidth": 0}
            axes.fill_between(line.x, line.low, line.high, zorder=1.5, **shade)
        if plot.yscale == "log" and plot.ylim and plot.ylim[0]:
            line = _without_lost_points(line, plot.ylim[0], look, axes)
        axes.plot(line.x, line.middle, markevery=markers[label], **look)
        if plot.slope is not None and label == first_label:
            guide = line.middle[0] * (line.x / line.x[0]) ** plot.slope
            axes.plot(line.x, guide, zorder=1, **_GUIDE)


def _markers_of_curves(lines: dict[str, _Line], count: int) -> dict[str, Any]:
    """First point with a marker and the step to the next, so that each of `count` lines has places of its own."""
    markers = {}
    gap = GRID // MARKS
    for number, (label, line) in enumerate(lines.items()):
        first_seen = int(np.argmax(np.isfinite(line.middle)))
        markers[label] = (first_seen + (number * gap) // count, gap)
    return markers


def _wide_enough(label: str, group: list[str], look_of: dict[str, dict]) -> dict:
    """Look of a line of a group that lies in one place: wider for each other colour that is drawn on it."""
    look = look_of[label]
    drawn_later = group[group.index(label) + 1 :]
    others = {look_of[name]["color"] for name in drawn_later} - {look["color"]}
    if not others:
        return look
    width = look.get("linewidth", matplotlib.rcParams["lines.linewidth"])
    return look | {"linewidth": width + _WIDER * len(others)}


def _without_lost_points(line: _Line, floor: float, look: dict, axes: Axes) -> _Line:
    """The line without what a log axis from `floor` cannot show, such as an exact zero.

    Such points are marks at the lower end of the axis that no line leads to.
    """
    lost = line.middle <= floor
    if not lost.any():
        return line
    mark = look | {"clip_on": False, "zorder": 3, "linestyle": "none"}
    axes.plot(line.x[lost], np.full(int(lost.sum()), floor), **mark)
    return replace(line, middle=np.where(lost, np.nan, line.middle))


def _place_ticks(frame: pd.DataFrame, plot: LinesPlot, axes: Axes, place: Place) -> None:
    """Ticks at the values that there are: all of them on a log axis, whole numbers for whole numbers."""
    values = np.unique(rows.numbers(frame, plot.x))
    if plot.xscale == "log" and _fit(values, _SHARE * place.inches):
        axes.set_xticks(values, [style.number(value) for value in values])
        axes.set_xticks([], minor=True)
    if plot.xscale == "linear" and (values % 1 == 0).all():
        axes.xaxis.get_major_locator().set_params(integer=True)


def _fit(values: np.ndarray, inches: float) -> bool:
    """Whether every value can be written at a log axis of that length."""
    size = matplotlib.rcParams["xtick.labelsize"]
    widths = np.array([style.inches_of(f" {style.number(value)} ", size) for value in values])
    length = max(np.log(values[-1] / values[0]), 1e-9)
    apart = np.diff(np.log(values)) * inches / length
    return bool((apart >= (widths[1:] + widths[:-1]) / 2).all())


# --- The points of a line -------------------------------------------------------------------------------------------


def clock_ends(frame: pd.DataFrame, plot: LinesPlot) -> tuple[float, float]:
    """Where the clock of a panel begins and ends."""
    low, high = plot.xlim or (None, None)
    if low is None:
        low = _clock_begin(frame, plot)
    if high is None:
        high = max(_ends(frame, plot))
    return low, high


def clock_grid(frame: pd.DataFrame, plot: LinesPlot) -> np.ndarray:
    """`GRID` places at which the step functions of a panel are drawn."""
    low, high = clock_ends(frame, plot)
    if plot.xscale == "log":
        return np.geomspace(low, high, GRID)
    return np.linspace(low, high, GRID)


def _clock_begin(frame: pd.DataFrame, plot: LinesPlot) -> float:
    """Where the clock's axis begins: at zero, or at the first time that a log axis can show."""
    if plot.xscale != "log":
        return 0.0
    times = rows.numbers(frame, plot.x)
    return times[np.isfinite(times) & (times > 0)].min()


def _ends(frame: pd.DataFrame, plot: LinesPlot) -> list[float]:
    """Where each line ends in its median seed: what lies beyond is the tail of a few seeds."""
    ends = []
    for _, part in rows.parts(frame, plot.by):
        ends_of_seeds = [np.nanmax(rows.numbers(run, plot.x)) for run in rows.seeds(part)]
        ends.append(float(np.median(ends_of_seeds)))
    return ends


def points(
    part: pd.DataFrame, plot: LinesPlot, grid: np.ndarray, label: str
) -> tuple[np.ndarray, np.ndarray]:
    """Where a line is drawn: x, and y of each seed, (seeds, x)."""
    if plot.curves:
        return _points_of_curves(part, plot, grid, label)
    return _points_of_values(part, plot, label)


def _points_of_curves(
    part: pd.DataFrame, plot: LinesPlot, grid: np.ndarray, label: str
) -> tuple[np.ndarray, np.ndarray]:
    """Step functions at the places of the grid."""
    if "run" in part.columns and part["run"].nunique() > 1:
        raise UserError(f"{label!r} has several runs on one clock; tell them apart by panel or where")
    runs = rows.seeds(part)
    # A run that has ended keeps what it learned, for as long as another seed of the line goes on.
    last = max(rows.numbers(run, plot.x).max() for run in runs)
    # The end of the longest is drawn at the grid's next point: few evaluations would else lose the last one.
    end = grid[min(np.searchsorted(grid, last), len(grid) - 1)]
    values = []
    for run in runs:
        x = rows.numbers(run, plot.x)
        y = rows.numbers(run, plot.y)
        values.append(step(x, y, grid, end))
    return grid, np.array(values)


def _points_of_values(part: pd.DataFrame, plot: LinesPlot, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Values at the x that there are, of which all seeds have the same."""
    x, place = np.unique(rows.numbers(part, plot.x), return_inverse=True)
    if "seed" in part.columns:
        seed = part["seed"].to_numpy()
    else:
        seed = np.zeros(len(part), dtype=int)
    seeds, run = np.unique(seed, return_inverse=True)
    values = np.full((len(seeds), len(x)), np.nan)
    values[run, place] = rows.numbers(part, plot.y)
    if len(np.unique(run * len(x) + place)) < len(part):
        raise UserError(f"{label!r} has several rows at one {plot.x}; tell them apart by panel")
    return x, values
