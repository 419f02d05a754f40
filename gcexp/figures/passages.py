"""When curves over a clock first reach a score: a point for each line, with the interval of its seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.ticker import MaxNLocator

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gcexp.figures.panels import Place
    from gcexp.figures.plots import LinesPlot

_WHISKER: dict[str, Any] = {"capsize": 2, "elinewidth": 0.9, "capthick": 0.9}
_OPEN: dict[str, Any] = {"linestyle": "-", "linewidth": 0.9, "marker": "none"}  # an interval without an end


def sentence(frame: pd.DataFrame, plot: LinesPlot) -> str:
    """What the note says of the panels of first passages."""
    about_points = f"The points say when {plot.time_to:g} is first reached"
    seeds = [len(rows.seeds(part)) for _, part in rows.parts(frame, plot.by)]
    if max(seeds) == 1:
        return f"{about_points}."
    covered = rows.coverage_in_words(seeds)
    about_intervals = "without an interval"
    if covered:
        about_intervals = f"with its interval by the sign test, which covers {covered}"
    if covered and min(seeds) < rows.LEAST_SEEDS:
        about_intervals += f" (none below {rows.LEAST_SEEDS} seeds)"
    text = f"{about_points}: the median over seeds, {about_intervals}."
    if _some_seed_never_reaches_it(frame, plot):
        text += " An interval without an end has seeds that never reach it."
    return text


def _some_seed_never_reaches_it(frame: pd.DataFrame, plot: LinesPlot) -> bool:
    keys = [column for column in (plot.by, plot.panel) if column is not None]
    for _, part in frame.groupby(keys, sort=False):
        if np.isinf(first_passages(part, plot)).any():
            return True
    return False


def first_passages(part: pd.DataFrame, plot: LinesPlot) -> np.ndarray:
    """First x of each seed at which the score is reached; infinite where it is not."""
    assert plot.time_to is not None  # else no panel would ask
    found = []
    for run in rows.seeds(part):
        run = run.sort_values(plot.x, kind="stable")
        x = rows.numbers(run, plot.x)
        y = rows.numbers(run, plot.y)
        found.append(rows.first_reached(x, y, plot.time_to, falling=y[0] > plot.time_to))
    return np.array(found)


def draw(
    frame: pd.DataFrame,
    plot: LinesPlot,
    look_of: dict[str, dict],
    ends: tuple[float, float],
    named: bool,
    axes: Axes,
    place: Place,
) -> None:
    """One point for each line of a panel, the first line on top, with its value at the right.

    The axis is that of the curves: it has their scale and their two `ends`, and is longer only where an interval is.
    Lines are `named` at the left, and always in the first panel of a row.
    """
    part_of = rows.parts_by_name(frame, plot.by)
    labels = []
    for label in look_of:
        if label in part_of and label not in plot.dashed:
            labels.append(label)
    times_of = {label: first_passages(part_of[label], plot) for label in labels}
    edge = _right_edge(times_of.values())
    shown = [*ends]
    for height, label in enumerate(labels):
        times = times_of[label]
        median = float(np.median(times))
        look = look_of[label]
        if np.isfinite(median):
            axes.plot([median], [height], **look | {"linestyle": "none"})
        low, high = rows.sign_interval(times, times)
        shown += [time for time in (low, median, high) if np.isfinite(time)]
        if np.isfinite(low) and np.isfinite(high):
            ends = [[median - low], [high - median]]
            axes.errorbar([median], [height], xerr=ends, fmt="none", ecolor=look["color"], **_WHISKER)
        elif np.isfinite(low):
            axes.plot([low, edge], [height, height], color=look["color"], **_OPEN)
            shown.append(edge)
        style.write_beside(axes, height, _time_in_words(median))
    style.name_rows(axes, labels, place.names, shown=named or place.first)
    low, high = min(shown), max(shown)
    if plot.xscale == "log":
        margin = (high / low) ** matplotlib.rcParams["axes.xmargin"]  # as the curves have it
        axes.set(xscale="log", xlim=(low / margin, high * margin))
        style.plain_decades(axes)
    else:
        axes.set_xlim(low, high)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(lambda value, _: style.number(value))


def _right_edge(times: Iterable[np.ndarray]) -> float:
    """Where intervals without an end stop: a little behind the last time at which a seed reaches the score."""
    every = np.concatenate([*times, np.empty(0)])
    return 1.1 * max(every[np.isfinite(every)], default=1.0)


def _time_in_words(time: float) -> str:
    """A time as it is written beside its point: three digits, and no power of ten.

    >>> [_time_in_words(time) for time in (0.17, 66.0, 18300.4, np.inf)]
    ['0.170', '66.0', '18300', 'never']
    """
    if not np.isfinite(time):
        return "never"
    if time >= 100:
        return f"{time:.0f}"
    return f"{time:#.3g}"
