"""When curves over a clock first reach a score: a point for each line, with the interval of its seeds."""

from __future__ import annotations

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
_VALUE: dict[str, Any] = {"fontsize": style.LEAST, "ha": "left", "va": "center", "color": "0.2"}


def sentence(frame: pd.DataFrame, plot: LinesPlot) -> str:
    """What the note says of the panels of first passages."""
    seeds = {len(rows.seeds(part)) for _, part in rows.parts(frame, plot.by)}
    where = f"The points say when {plot.time_to:g} is first reached"
    if max(seeds) == 1:
        return f"{where}."
    few = min(seeds) < rows.LEAST_SEEDS
    no_interval = f" (none below {rows.LEAST_SEEDS} seeds)" if few else ""
    told = f"{where}: the median over seeds, with its 95 % interval by the sign test{no_interval}."
    keys = [column for column in (plot.by, plot.panel) if column is not None]
    groups = [part for _, part in frame.groupby(keys, sort=False)]
    never = any(np.isinf(first(part, plot)).any() for part in groups)
    return f"{told} An interval without an end has seeds that never reach it." if never else told


def first(part: pd.DataFrame, plot: LinesPlot) -> np.ndarray:
    """First x of each seed at which the score is reached; infinite where it is not."""
    found = []
    for run in rows.seeds(part):
        run = run.sort_values(plot.x, kind="stable")
        x, y = rows.numbers(run, plot.x), rows.numbers(run, plot.y)
        reached = y <= plot.time_to if y[0] > plot.time_to else y >= plot.time_to
        found.append(x[reached.argmax()] if reached.any() else np.inf)
    return np.array(found)


def draw(
    frame: pd.DataFrame, plot: LinesPlot, looks: dict[str, dict], named: bool, axes: Axes, place: Place
) -> None:
    """One point for each line of a panel, the first line on top, with its value at the right.

    Lines are `named` at the left, and always in the first panel of a row.
    """
    parts = {str(label): part for label, part in rows.parts(frame, plot.by)}
    shown = [label for label in looks if label in parts and label not in plot.dashed]
    found = {label: first(parts[label], plot) for label in shown}
    every = np.concatenate([*found.values(), np.empty(0)])
    edge = 1.1 * max(every[np.isfinite(every)], default=1.0)
    for height, label in enumerate(shown):
        middle = float(np.median(found[label]))
        low, high = rows.sign_interval(found[label], found[label])
        colour = looks[label]["color"]
        if np.isfinite(middle):
            axes.plot([middle], [height], **looks[label] | {"linestyle": "none"})
        if np.isfinite(low) and np.isfinite(high):
            ends = [[middle - low], [high - middle]]
            axes.errorbar([middle], [height], xerr=ends, fmt="none", ecolor=colour, **_WHISKER)
        elif np.isfinite(low):
            axes.plot(
                [low, edge], [height, height], color=colour, linestyle="-", linewidth=0.9, marker="none"
            )
        axes.text(1.015, height, _told(middle), transform=axes.get_yaxis_transform(), **_VALUE)
    size = matplotlib.rcParams["ytick.labelsize"]
    written = ["\n".join(style.wrapped(label, place.names, size)) for label in shown]
    axes.set_yticks(range(len(shown)), [style.plain(name) for name in written])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelleft=named or place.first)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(lambda value, _: style.number(value))
    axes.margins(x=0.08)


def _told(time: float) -> str:
    """A time as it is written beside its point: three digits, and no power of ten.

    >>> [_told(time) for time in (0.17, 66.0, 18300.4, np.inf)]
    ['0.170', '66.0', '18300', 'never']
    """
    if not np.isfinite(time):
        return "never"
    return f"{time:.0f}" if time >= 100 else f"{time:#.3g}"
