"""Drawings of the study of remedies: fair schemes, late workers, break-evens and placements.

Each takes a table of `gcexp.benchmark` or of `gcexp.benchmarking.break_evens` for one trace and phi, or one reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows, style
from gcexp.figures.lines import equal_lines
from gcexp.figures.remedies import FACES, FONT, column_width, name_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def _looks(frame: pd.DataFrame, size: float, **more: str) -> dict[str, dict]:
    """Look of every scheme, as where it is a line of another figure; an open marker says something else here."""
    looks = style.looks([*dict.fromkeys(frame["scheme"])])
    own = {"markersize": size, "markeredgewidth": 1} | more
    kept = ("color", "linestyle", "marker")
    return {name: {key: look[key] for key in kept} | own for name, look in looks.items()}


def fair(axes: Axes, frame: pd.DataFrame) -> None:
    """Time for each unit of progress against the error of the decoded gradients; filled markers are nearly unbiased.

    The dashed line is the work floor: no scheme is below it that uses the same share of the gradient in every
    iteration, with any loads. One that gives up slow iterations may be: with a row in which everybody takes 1 and a row
    in which everybody takes 100, dropping the second leaves half of the progress at a hundredth of the time.
    """
    rows.known(frame, "scheme", "group", "ratio", "ratio_per_used", "error", "bias")
    for floor in frame.loc[frame["group"] == "bounds", "ratio"]:
        axes.axhline(floor, color="black", linewidth=0.8, linestyle="--")
    points = frame[frame["group"] != "bounds"]
    for scheme, look in _looks(points, 4.5, linestyle="none").items():
        (row,) = points[points["scheme"] == scheme].itertuples()
        fair_enough = row.error == 0 or row.bias < row.error / 2
        face = look["color"] if fair_enough else "white"
        axes.plot([row.error], [row.ratio_per_used], **look, markerfacecolor=face, clip_on=False)
        axes.plot([], [], **look, label=scheme)  # filled in the legend
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=-0.04 * points["error"].max())


def late_lines(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios to waiting for all from workers that stop at once to those that run every step.

    Lines that nearly lie on each other have their markers at different points, so that each is seen.
    """
    rows.known(frame, "scheme", "ratio", "late", "chunks")
    case = frame["late"].where(frame["late"] != "chunk", "1/" + frame["chunks"].map("{:g}".format))
    heights = frame.assign(case=case).pivot(index="scheme", columns="case", values="ratio")
    pieces = frame["chunks"].dropna().sort_values(ascending=False).unique()
    names = ["stop", *(f"1/{piece:g}" for piece in pieces), "finish", "every"]
    x, looks = np.arange(len(names)), _looks(frame, 3)
    lines = {scheme: (x, heights.loc[scheme, names].to_numpy()) for scheme in looks}
    groups = equal_lines(lines, near=0.07)  # about the size of a marker
    for place, (scheme, group) in enumerate(groups.items()):
        look, above = looks[scheme], 3 - 0.01 * place  # the first on top: dashes are seen over what is solid
        own = slice(group.index(scheme), None, len(group))  # markers where no other line of the group has any
        axes.plot(*lines[scheme], **look, linewidth=0.9, zorder=above, markevery=own, label=scheme)
        axes.plot(x[own], lines[scheme][1][own], **look | {"linestyle": "none"}, zorder=above + 1)
    name_columns(axes, x, names, column_width(axes, 0.5, len(names)))
    axes.set_ylim(0, 1.05 * float(frame["ratio"].max()))


_NEVER = 1.12  # where what never wins is drawn


def break_even_bars(axes: Axes, frame: pd.DataFrame) -> None:
    """Shares phi from which schemes win, and bars up to the first phi at which a code of the same loads might."""
    rows.known(frame, "trace", "scheme", "wins_from", "bound_from")
    traces, looks = list(dict.fromkeys(frame["trace"])), _looks(frame, 3.4, linestyle="none")
    height = 0.8 / len(looks)
    for i, trace in enumerate(traces):
        for j, (scheme, look) in enumerate(looks.items()):
            (row,) = frame[(frame["trace"] == trace) & (frame["scheme"] == scheme)].itertuples()
            y = i + 0.1 + (j + 0.5) * height
            end = 1.0 if row.bound_from != row.bound_from else row.bound_from
            axes.barh(y, end, height=0.9 * height, color=FACES["cannot win"], linewidth=0)
            never = row.wins_from != row.wins_from
            face = "white" if never else look["color"]
            axes.plot([_NEVER if never else row.wins_from], [y], **look, markerfacecolor=face, clip_on=False)
            if i == 0:
                axes.plot([], [], **look, label=scheme)
    axes.axvline(1.0, color="black", linewidth=0.5)
    axes.set_xlim(0, 1.2)
    axes.set_ylim(len(traces), 0)
    axes.set_yticks([i + 0.5 for i in range(len(traces))], traces, fontsize=FONT)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0, _NEVER], ["0", "", "0.5", "", "1", "never"], fontsize=FONT)
    axes.tick_params(length=0)
    axes.grid(visible=False, axis="y")


#: Marker, colour, face and place of seats.
_SEATS = {
    "best": ("<", "black", "white", 0),
    "median": ("|", "black", "black", 0),
    "worst": (">", "black", "white", 0),
    "home": ("o", "#E69F00", "#E69F00", -0.22),
    "learned": ("D", "#0072B2", "#0072B2", 0.22),
}


def placements(axes: Axes, frame: pd.DataFrame) -> None:
    """What who-sits-where is worth: best, median and worst seats in hindsight, home and learned ones, over the bound.

    Schemes are called ``CODE: SEATS``.
    """
    rows.known(frame, "scheme", "ratio", "bound")
    names = frame["scheme"].str.rsplit(": ", n=1)
    codes = list(dict.fromkeys(names.str[0]))
    axes.axvline(1.0, color="#c0392b", linewidth=1.4, label="bound")
    for i, code in enumerate(codes):
        mine = frame[names.str[0] == code]
        over = dict(zip(names[mine.index].str[1], mine["ratio"] / mine["bound"], strict=True))
        ends = [min(over.values()), max(over.values())]
        axes.plot(ends, [i, i], "-", color="#b0b0b0", linewidth=1, marker="none")
        for name, (marker, colour, face, shift) in _SEATS.items():
            if name not in over:
                continue
            mark = {"marker": marker, "linestyle": "none", "color": colour, "markerfacecolor": face}
            said = name if shift else f"{name} (hindsight)"
            axes.plot([over[name]], [i + shift], **mark, markersize=4.5, label=None if i else said)
    axes.set_ylim(len(codes) - 0.4, -0.6)
    axes.set_yticks(range(len(codes)), codes, fontsize=6.5)
    axes.set_xlim(left=1 - 0.04 * (axes.get_xlim()[1] - 1))  # marks on the bound are seen whole
