"""A table as lines: training curves as step functions of the simulated clock, or any y over x."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.lines import Line2D

from gcexp.errors import UserError, require_known
from gcexp.figures import passages, rows, style
from gcexp.figures.panels import Drawing, Panel, Place, panels_of
from gcexp.figures.plots import Ends, LinesPlot, Scale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GRID = 500
_MARKS = 9  # markers along a curve
_SHARE = 0.7  # of a panel that the axes have at least
_HEIGHT = 2.5  # inches
_PANEL_HEIGHT = 2.0
#: What each band is called, and its percentiles.
_BANDS = {
    "quartiles": (", bands the quartiles", 25, 75),
    "range": (", bands the smallest and the largest value", 0, 100),
    "interval": (", bands its 95 % interval", 50, 50),
    "none": ("", 50, 50),
}
#: How many times longer the slowest line takes than the fastest where the clock's axis becomes logarithmic.
_STRETCHED = 4
#: Lines hide each other that are so near, as a share of the panel's height, at this share of their points.
_NEAR, _MOSTLY = 0.01, 0.9
_MARKER = 0.035  # height of a marker, as a share of the panel's
_MOST_POINTS = 9  # up to so many points of a line all have markers
_WIDER = 1.4  # points by which a line is wider than a line of another colour that hides it
_THRESHOLD: dict[str, Any] = {"color": "#A00000", "linewidth": 1.2, "linestyle": (0, (1, 1))}
_GUIDE: dict[str, Any] = {"color": "0.35", "linewidth": 0.8, "linestyle": (0, (8, 3)), "marker": "none"}
_DASHES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


def step(x: np.ndarray, y: np.ndarray, grid: np.ndarray, end: float) -> np.ndarray:
    """Score of the last finished iteration at each grid point up to `end`; NaN before the first one and behind `end`.

    >>> step(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.5, 0.7]), np.array([-1, 0, 0.9, 1, 2, 2.1]), 2.0)
    array([nan, 0.1, 0.1, 0.5, 0.7, nan])
    """
    order = np.argsort(x, kind="stable")
    place = np.searchsorted(x[order], grid, side="right") - 1
    return np.where((place >= 0) & (grid <= end), y[order][place], np.nan)


def middle(values: np.ndarray, band: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middle over seeds (first axis) and the two ends of the band; NaN wherever a seed is missing."""
    if band == "interval":
        mean, half = rows.interval(values)
        return mean, mean - half, mean + half
    _, low, high = _BANDS[band]
    # A median over the seeds that are there would be a median over a choice: NaN spreads on purpose.
    return tuple(np.percentile(values, q, axis=0) for q in (50, low, high))


def looks(labels: list[str], dashed: tuple[str, ...] = ()) -> dict[str, dict]:
    """Look of every line, in the order of the legend: bounds and references, which are `dashed`, come last."""
    for label in dashed:
        require_known("label", label, labels)
    found = style.looks([label for label in labels if label not in dashed], apart=True)
    for place, label in enumerate(dashed):
        found[label] = {"color": "0.35", "linewidth": 0.8, "linestyle": _DASHES[place % 3], "marker": "none"}
    return found


def drawing(frame: pd.DataFrame, plot: LinesPlot) -> Drawing:
    """Lines over x: step functions of a clock, or values at the same x for all seeds."""
    rows.known(frame, plot.x, plot.y, plot.by, plot.panel, plot.threshold, plot.colour)
    plot = replace(plot, xscale=plot.xscale or scale_of(frame, plot))
    frame = _renamed(frame, plot)
    found = panels_of(frame, plot, xlabel=style.axis_label(plot.x), ylabel=style.axis_label(plot.y))
    shown = looks(rows.names(frame, plot.by), plot.dashed)
    if plot.colour is not None:
        shown |= _coloured(frame, plot, shown)
    handles = _handles(frame, plot, shown)
    panels = [Panel(partial(_draw, part, plot, shown), *words) for part, *words in found]
    columns = 4 if plot.width == "double" and len(found) > 6 else 3
    if plot.time_to is not None:
        named = len(found) == 1
        for part, *words in found:
            _, x, y = words
            label = f"{x} to {y or plot.y} {plot.time_to:g}"
            panels.append(Panel(partial(passages.draw, part, plot, shown, named), "", label))
        columns = len(found) if len(found) > 1 or plot.width == "single" else 2
    return Drawing(
        panels,
        height=lambda inches, names: _HEIGHT if inches > 3 else _PANEL_HEIGHT,
        handles=handles if len(handles) > 1 else {},
        words=_sentences(frame, plot),
        columns=columns,
        width=plot.width,
    )


def _renamed(frame: pd.DataFrame, plot: LinesPlot) -> pd.DataFrame:
    """The table with the names of lines that the plot writes instead of its own."""
    if not plot.names:
        return frame
    known = rows.names(frame, plot.by)
    for label in plot.names:
        require_known("label", label, known, "names")
    written = {label: str(name) for label, name in plot.names.items()}
    return frame.assign(**{plot.by: frame[plot.by].astype(str).replace(written)})


def _coloured(frame: pd.DataFrame, plot: LinesPlot, shown: dict[str, dict]) -> dict[str, dict]:
    """Looks with one colour for each value of a column; lines of one colour have dashes and markers of their own."""
    of_line = frame.drop_duplicates(plot.by).set_index(plot.by)[plot.colour].astype(str)
    colours = style.looks([*dict.fromkeys(of_line)])
    forms = list(matplotlib.rcParams["axes.prop_cycle"])
    seen: dict[str, int] = {}
    found = {}
    for label, value in of_line.items():
        if label in plot.dashed:
            continue
        place = seen.get(value, 0)
        seen[value] = place + 1
        form = forms[place % len(forms)]
        kept = {key: form[key] for key in ("linestyle", "marker")}
        look = shown[str(label)] | {"color": colours[value]["color"], "markeredgecolor": "white"}
        look.pop("markerfacecolor", None)
        found[str(label)] = look | kept
    return found


def _handles(frame: pd.DataFrame, plot: LinesPlot, shown: dict[str, dict]) -> dict[str, Line2D]:
    """Entries of the legend: every line, a mark alone where a line has one point, the guide and the threshold."""
    handles = {}
    for label, part in rows.parts(frame, plot.by):
        look = shown[str(label)]
        if part[plot.x].nunique() == 1:
            look = look | {"linestyle": "none"}
        handles[str(label)] = Line2D([], [], label=style.plain(label), **look)
    handles = {label: handles[label] for label in shown}
    if plot.slope is not None:
        handles["slope"] = Line2D([], [], label=f"slope {plot.slope:g}", **_GUIDE)
    if plot.threshold:
        text = style.plain(plot.threshold_label)
        handles[plot.threshold_label] = Line2D([], [], label=text, **_THRESHOLD)
    return handles


def scale_of(frame: pd.DataFrame, plot: LinesPlot) -> Scale:
    """Scale of the horizontal axis where the figure file names none."""
    if not plot.curves or plot.xlim is not None:
        return "linear"
    ends = _ends(frame, plot)
    return "log" if max(ends) > _STRETCHED * min(ends) > 0 else "linear"


def _sentences(frame: pd.DataFrame, plot: LinesPlot) -> str:
    """What the note says of medians, bands, the guide and dashed lines."""
    middle = "mean" if plot.band == "interval" else "median"
    said = [rows.seed_sentence(frame, plot.by, f"Lines show the {middle}", _BANDS[plot.band][0])]
    if levels := [f"{level:g}".replace("e-0", "e-") for level in sorted(plot.levels)]:
        lines = "lines mark" if len(levels) > 1 else "line marks"
        said.append(f"The dashed {lines} {rows.listed(levels)}.")
    if plot.time_to is not None:
        said.append(passages.sentence(frame, plot))
    return " ".join(filter(None, said))


def _draw(frame: pd.DataFrame, plot: LinesPlot, looks: dict[str, dict], axes: Axes, place: Place) -> None:
    grid = clock_grid(frame, plot) if plot.curves else np.empty(0)
    for level in plot.levels:
        axes.axhline(level, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    if plot.threshold:
        at = np.unique(rows.numbers(frame, plot.threshold))
        for x in at[np.isfinite(at)]:
            axes.axvline(x, zorder=1, **_THRESHOLD)
    parts = {str(label): part for label, part in rows.parts(frame, plot.by)}
    shown = [name for name in looks if name in parts]
    found = {label: points(parts[label], plot, grid, label) for label in shown}
    bands = {label: middle(values, plot.band) for label, (_, values) in found.items()}
    centres = {label: (found[label][0], bands[label][0]) for label in shown}
    groups = equal_lines(centres, plot.yscale, plot.ylim)
    marked = {} if plot.curves else marked_points(centres, plot.yscale, plot.ylim)
    for number, label in enumerate(shown):
        look = looks[label]
        x, values = found[label]
        centre, low, high = bands[label]
        rank = groups[label].index(label)
        above = {looks[name]["color"] for name in groups[label][rank + 1 :]} - {look["color"]}
        if above:
            width = look.get("linewidth", matplotlib.rcParams["lines.linewidth"])
            look = look | {"linewidth": width + _WIDER * len(above)}
        every = _marked(np.isfinite(centre), number, len(looks)) if plot.curves else marked[label]
        if len(values) > 1 and plot.band != "none":
            axes.fill_between(x, low, high, color=look["color"], alpha=0.14, linewidth=0, zorder=1.5)
        if plot.yscale == "log" and plot.ylim and plot.ylim[0] and (lost := centre <= plot.ylim[0]).any():
            # What a log axis cannot show, an exact zero, is a mark at its lower end that no line leads to.
            at = {**look, "clip_on": False, "zorder": 3, "linestyle": "none"}
            axes.plot(x[lost], np.full(int(lost.sum()), plot.ylim[0]), **at)
            centre = np.where(lost, np.nan, centre)
        axes.plot(x, centre, markevery=every, **look)
        if plot.slope is not None and number == 0:
            guide = centre[0] * (x / x[0]) ** plot.slope
            axes.plot(x, guide, zorder=1, **_GUIDE)
    axes.set(xscale=plot.xscale, yscale=plot.yscale, xlim=plot.xlim, ylim=plot.ylim)
    if plot.xscale == "linear" and plot.xlim is None and plot.curves:
        axes.set_xlim(left=0, right=grid[-1])
    style.plain_decades(axes)
    if not plot.curves and plot.xscale == "log":
        values = np.unique(rows.numbers(frame, plot.x))
        if _fit(values, _SHARE * place.inches):
            axes.set_xticks(values, [style.number(value) for value in values])
            axes.set_xticks([], minor=True)
    if not plot.curves and plot.xscale == "linear" and (rows.numbers(frame, plot.x) % 1 == 0).all():
        axes.xaxis.get_major_locator().set_params(integer=True)


def equal_lines(
    lines: dict[str, tuple[np.ndarray, np.ndarray]],
    yscale: Scale = "linear",
    ylim: Ends | None = None,
    near: float = _NEAR,
) -> dict[str, list[str]]:
    """The lines that lie on each line, or so near within the axes that they hide it, in the order of drawing.

    Lines are near each other that differ by at most the share `near` of the height of all of them.
    """
    heights = _heights(lines, yscale, ylim)
    tolerance = near * _spread(heights)

    def equal(one: str, other: str) -> bool:
        if not np.array_equal(lines[one][0], lines[other][0]):
            return False
        near = np.isclose(heights[one], heights[other], rtol=0, atol=tolerance, equal_nan=True)
        return bool(near.mean() >= _MOSTLY)

    groups: dict[str, list[str]] = {}
    for name in lines:
        groups[name] = next((group for first, group in groups.items() if equal(first, name)), [])
        groups[name].append(name)
    return groups


def _marked(seen: np.ndarray, number: int, count: int) -> tuple[int, int]:
    """First point of a curve with a marker, and the step, so that line `number` of `count` has its own places."""
    gap = GRID // _MARKS
    return int(np.argmax(seen)) + (number * gap) // count, gap


def marked_points(
    lines: dict[str, tuple[np.ndarray, np.ndarray]], yscale: Scale = "linear", ylim: Ends | None = None
) -> dict[str, list[int]]:
    """The points of each line that have a marker, so that no marker hides another one.

    Where several lines meet, the one with the smallest share of its markers has it. Lines of many points take turns.

    >>> x = np.arange(3.0)
    >>> marked_points({"a": (x, x), "b": (x, x), "c": (x, x + 9)})
    {'a': [0, 2], 'b': [1], 'c': [0, 1, 2]}
    """
    heights = _heights(lines, yscale, ylim)
    near = _MARKER * _spread(heights)
    turns = {
        name: 1 if len(x) <= _MOST_POINTS else max(len(lines), -(-len(x) // _MARKS))
        for name, (x, _) in lines.items()
    }
    found: dict[str, list[int]] = {name: [] for name in lines}

    def marked_so_far(name: str) -> tuple[float, int]:
        count = len(lines[name][0])
        return len(found[name]) / count, count

    for x in np.unique(np.concatenate([x for x, _ in lines.values()])):
        here = {}
        for number, (name, (places, _)) in enumerate(lines.items()):
            point = int(np.searchsorted(places, x))
            there = point < len(places) and places[point] == x
            if there and point % turns[name] == number % turns[name] and np.isfinite(heights[name][point]):
                here[name] = point
        taken: list[float] = []
        for name in sorted(here, key=marked_so_far):
            height = heights[name][here[name]]
            if all(abs(height - other) >= near for other in taken):
                taken.append(height)
                found[name].append(here[name])
    return found


def _heights(
    lines: dict[str, tuple[np.ndarray, np.ndarray]], yscale: Scale, ylim: Ends | None
) -> dict[str, np.ndarray]:
    """Where the points of each line stand in the axes, up to a factor."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = {name: np.clip(y, *(ylim or (None, None))) for name, (_, y) in lines.items()}
        return {name: np.log(y) if yscale == "log" else y for name, y in seen.items()}


def _spread(heights: dict[str, np.ndarray]) -> float:
    """From the lowest to the highest point of all lines."""
    every = np.concatenate([*heights.values(), np.empty(0)])
    every = every[np.isfinite(every)]
    return float(np.ptp(every)) if len(every) else 0.0


def _fit(values: np.ndarray, inches: float) -> bool:
    """Whether every value can be written at a log axis of that length."""
    size = matplotlib.rcParams["xtick.labelsize"]
    wide = np.array([style.inches_of(f" {style.number(value)} ", size) for value in values])
    apart = np.diff(np.log(values)) * inches / max(np.log(values[-1] / values[0]), 1e-9)
    return bool((apart >= (wide[1:] + wide[:-1]) / 2).all())


def clock_grid(frame: pd.DataFrame, plot: LinesPlot) -> np.ndarray:
    """`GRID` places at which the step functions of a panel are drawn."""
    x = rows.numbers(frame, plot.x)
    x = x[np.isfinite(x)]
    low, high = plot.xlim or (None, None)
    low = (x[x > 0].min() if plot.xscale == "log" else 0.0) if low is None else low
    high = max(_ends(frame, plot)) if high is None else high
    return np.geomspace(low, high, GRID) if plot.xscale == "log" else np.linspace(low, high, GRID)


def _ends(frame: pd.DataFrame, plot: LinesPlot) -> list[float]:
    """Where each line ends in its median seed: what lies beyond is the tail of a few seeds."""
    return [
        float(np.median([np.nanmax(rows.numbers(run, plot.x)) for run in rows.seeds(part)]))
        for _, part in rows.parts(frame, plot.by)
    ]


def points(
    part: pd.DataFrame, plot: LinesPlot, grid: np.ndarray, label: str
) -> tuple[np.ndarray, np.ndarray]:
    """Where a line is drawn: x, and y of each seed, (seeds, x)."""
    if not plot.curves:
        return _at_points(part, plot, label)
    if "run" in part.columns and part["run"].nunique() > 1:
        raise UserError(f"{label!r} has several runs on one clock; tell them apart by panel or where")
    each = [(rows.numbers(run, plot.x), rows.numbers(run, plot.y)) for run in rows.seeds(part)]
    # A run that has ended keeps what it learned, for as long as another seed of the line goes on.
    # The end of the longest is drawn at the grid's next point: few evaluations would else lose the last one.
    end = grid[min(np.searchsorted(grid, max(x.max() for x, _ in each)), len(grid) - 1)]
    return grid, np.array([step(x, y, grid, end) for x, y in each])


def _at_points(part: pd.DataFrame, plot: LinesPlot, label: str) -> tuple[np.ndarray, np.ndarray]:
    x, place = np.unique(rows.numbers(part, plot.x), return_inverse=True)
    seed = part["seed"].to_numpy() if "seed" in part.columns else np.zeros(len(part), dtype=int)
    seeds, run = np.unique(seed, return_inverse=True)
    values = np.full((len(seeds), len(x)), np.nan)
    values[run, place] = rows.numbers(part, plot.y)
    if len(np.unique(run * len(x) + place)) < len(part):
        raise UserError(f"{label!r} has several rows at one {plot.x}; tell them apart by panel")
    return x, values
