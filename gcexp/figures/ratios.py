"""A strip under curves: paired ratios, which claims judge, with the intervals of their medians, or times to a level."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gcexp.figures import style
from gcexp.figures.panels import Drawing, Panel, Place

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WORDS = "below: paired ratios over the seeds, median and its interval; shaded: what is claimed"
_RATIO = "ratio of "
_SIZE = 6  # points of a name
_ROW = 0.115  # inches of a line of a name, and of an interval
_MOST = 0.5  # of the width for names
_LOG = 6  # largest over smallest, from which on the axis is one of ratios
_SHADE: dict[str, Any] = {"color": "#009E73", "alpha": 0.16, "linewidth": 0}
_MARKS = (("o", "black"), ("s", "0.4"), ("^", "0.62"))  # no colours: these are names of schemes


def drawing(ratios: pd.DataFrame) -> Drawing:
    """Rows of ratios or times, several levels of a pair below each other.

    Parameters
    ----------
    ratios : DataFrame
        ``pair, of`` (what is compared, such as the ratio of times to a level), ``low, median, high``, and ``above,
        below``: the ends of what is claimed. An end may be infinite.
    """
    judged = np.isfinite(ratios[["above", "below"]].to_numpy(float)).any()
    kinds = list(dict.fromkeys(ratios["of"]))
    looks = {of: _MARKS[place % len(_MARKS)] for place, of in enumerate(kinds)}
    handles: dict = {
        of: Line2D([], [], label=style.plain(of), marker=mark, color=colour, linestyle="-")
        for of, (mark, colour) in looks.items()
    }
    below = kinds[0] if len(kinds) == 1 else _unit(kinds[0])
    return Drawing(
        [Panel(partial(_draw, ratios, looks, below))],
        height=lambda inches, names: 0.55 + sum(_heights(ratios, inches).values()),
        handles=(handles if len(kinds) > 1 else {})
        | ({"claimed": Patch(label="claimed", **_SHADE)} if judged else {}),
        words=WORDS if judged else "",
    )


def _unit(of: str) -> str:
    return "ratio" if of.startswith(_RATIO) else "time (s)"


def _named(inches: float, pairs: list[str]) -> tuple[float, dict[str, list[str]]]:
    """Inches of the names, and the lines of each."""
    most = _MOST * inches
    lines = {pair: style.wrapped(pair, most, _SIZE) for pair in pairs}
    return 0.08 + max(style.inches_of(line, _SIZE) for name in lines.values() for line in name), lines


def _heights(ratios: pd.DataFrame, inches: float) -> dict[str, float]:
    """Inches of each pair's row."""
    several = ratios.groupby("pair", sort=False).size()
    _, lines = _named(inches, list(several.index))
    apart = _are_ratios(ratios)  # intervals would hide each other, points do not
    return {
        pair: _ROW * max(count if apart else 1, len(lines[pair])) + 0.05 for pair, count in several.items()
    }


def _are_ratios(ratios: pd.DataFrame) -> bool:
    return bool(ratios["of"].str.startswith(_RATIO).any())


def _draw(ratios: pd.DataFrame, looks: dict[str, tuple], below: str, host: Axes, place: Place) -> None:
    host.set_axis_off()
    wide = 0.86 * place.inches  # what labels of the panels above leave
    names, lines = _named(place.inches, list(dict.fromkeys(ratios["pair"])))
    share = min(names / wide, 0.6)
    axes = host.inset_axes((share, 0, 1 - share, 1))
    ends = ratios[["low", "median", "high"]].to_numpy(float)
    ratio = _are_ratios(ratios)
    ends = np.r_[ends[np.isfinite(ends) & (ends > 0)], [1.0] if ratio else []]
    log = ends.max() > _LOG * ends.min()
    room = (ends.max() / ends.min()) ** 0.06 if log else 0.06 * (np.ptp(ends) or ends.max())
    low, high = (ends.min() / room, ends.max() * room) if log else (ends.min() - room, ends.max() + room)
    top = 0.0
    for pair, height in _heights(ratios, place.inches).items():
        mine = ratios[ratios["pair"] == pair]
        for number, row in enumerate(mine.itertuples()):
            y = top + height * ((number + 0.5) / len(mine) if ratio else 0.5)
            half = 0.46 * height / len(mine)
            left, right = max(row.above, low), min(row.below, high)
            if ratio and left < right:
                axes.barh(y, right - left, left=left, height=2 * half, zorder=0.5, **_SHADE)
            mark, colour = looks[row.of]
            line: dict[str, Any] = {"color": colour, "linewidth": 1.1, "linestyle": "-", "marker": "none"}
            axes.plot([max(row.low, low), min(row.high, high)], [y, y], solid_capstyle="butt", **line)
            axes.plot([row.median], [y], marker=mark, markersize=3.6, color=colour, linestyle="none")
        words: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": _SIZE, "linespacing": 1.0}
        axes.text(
            -0.02,
            top + height / 2,
            style.plain("\n".join(lines[pair])),
            transform=axes.get_yaxis_transform(),
            **words,
        )
        top += height
    if ratio:
        axes.axvline(1, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    axes.set(xscale="log" if log else "linear", xlim=(low, high), ylim=(top, 0), yticks=[])
    axes.set_xlabel(style.plain(below))
    axes.grid(visible=False, axis="y")
    if log:
        style.plain_decades(axes)
