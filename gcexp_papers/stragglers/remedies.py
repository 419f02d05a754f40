"""Drawings of the study of remedies: fair schemes, late workers, break-evens and placements.

Each takes a table of `gcexp.benchmark` or of `gcexp_adviser.benchmark.break_evens` for one trace and phi, or one
reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows, style
from gcexp_adviser.maps import FONT, column_width, draw_cell, name_columns, write_ratios

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def _looks(frame: pd.DataFrame, size: float, **more: str) -> dict[str, dict]:
    """Look of every scheme, as where it is a line of another figure; an open marker says something else here."""
    schemes = list(dict.fromkeys(frame["scheme"]))
    found = {}
    for name, look in style.looks(schemes).items():
        found[name] = {
            "color": look["color"],
            "linestyle": look["linestyle"],
            "marker": look["marker"],
            "markersize": size,
            "markeredgewidth": 1,
            **more,
        }
    return found


def fair(axes: Axes, frame: pd.DataFrame) -> None:
    """A row for each scheme: time for each unit of progress, and behind it the error of the decoded gradients.

    Filled points are nearly unbiased. The dashed line is the work floor: no scheme is below it that uses the same share
    of the gradient in every iteration, with any loads. One that gives up slow iterations may be: with a row in which
    everybody takes 1 and a row in which everybody takes 100, dropping the second leaves half of the progress at a
    hundredth of the time.
    """
    rows.require_columns(frame, "scheme", "group", "ratio", "ratio_per_used", "error", "bias")
    for floor in frame.loc[frame["group"] == "bounds", "ratio"]:
        axes.axvline(floor, color="black", linewidth=0.8, linestyle="--", label="work floor")
    points = frame[frame["group"] != "bounds"].drop_duplicates("scheme")
    dot = {"marker": "o", "linestyle": "none", "color": "black", "markersize": 4.5, "markeredgewidth": 1}
    for y, row in enumerate(points.itertuples()):
        unbiased = row.error == 0 or row.bias < row.error / 2
        face = "black" if unbiased else "white"
        axes.plot([row.ratio_per_used], [y], **dot, markerfacecolor=face, clip_on=False)
        error = "exact" if row.error == 0 else f"{row.error:#.2g}"
        axes.text(1.02, y, error, transform=axes.get_yaxis_transform(), ha="left", va="center", fontsize=FONT)
    head = {"ha": "left", "va": "center", "fontsize": FONT, "color": "0.25"}
    axes.text(1.02, -1, "error", transform=axes.get_yaxis_transform(), **head)
    axes.plot([], [], **dot, label="bias below half of the error")
    axes.plot([], [], **dot, markerfacecolor="white", label="larger bias")
    axes.set_yticks(range(len(points)), points["scheme"], fontsize=FONT)
    axes.set_ylim(len(points) - 0.4, -0.6)
    axes.set_xlim(0, 1.08 * float(points["ratio_per_used"].max()))
    axes.tick_params(axis="y", length=0)


def late_cells(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios to waiting for all: a row for each remedy, a column for each thing that late workers may do."""
    rows.require_columns(frame, "scheme", "ratio", "late", "chunks")
    case = frame["late"].where(frame["late"] != "chunk", "1/" + frame["chunks"].map("{:g}".format))
    pieces = frame["chunks"].dropna().sort_values(ascending=False).unique()
    cases = ["stop", *(f"1/{piece:g}" for piece in pieces), "finish", "every"]
    schemes = list(dict.fromkeys(frame["scheme"]))
    room = column_width(axes, 0.15 + max(style.inches_of(name, FONT) for name in schemes), len(cases))
    texts = write_ratios(frame["ratio"].tolist(), room)
    for row, column, text in zip(frame.itertuples(), case, texts, strict=True):
        draw_cell(axes, cases.index(column), schemes.index(row.scheme), row.ratio, text)
    axes.set(xlim=(0, len(cases)), ylim=(len(schemes), 0))
    name_columns(axes, np.arange(len(cases)) + 0.5, cases, room)
    axes.set_yticks(np.arange(len(schemes)) + 0.5, schemes, fontsize=FONT)
    axes.tick_params(length=0)
    axes.grid(visible=False)


_NEVER = 1.12  # where what never wins is drawn
_CANNOT = "no exact code of this load can win"


def break_even_bars(axes: Axes, frame: pd.DataFrame) -> None:
    """Shares phi from which schemes win, and bars up to the first phi at which a code of the same loads might."""
    rows.require_columns(frame, "trace", "scheme", "wins_from", "bound_from")
    traces = list(dict.fromkeys(frame["trace"]))
    looks = _looks(frame, 3.4, linestyle="none")
    height = 0.8 / len(looks)
    bar = {"height": 0.9 * height, "color": "0.8", "linewidth": 0}
    for i, trace in enumerate(traces):
        for j, (scheme, look) in enumerate(looks.items()):
            (row,) = frame[(frame["trace"] == trace) & (frame["scheme"] == scheme)].itertuples()
            y = i + 0.1 + (j + 0.5) * height
            end = 1.0
            if not np.isnan(row.bound_from):
                end = row.bound_from
            is_first = i == 0 and j == 0
            axes.barh(y, end, **bar, label=_CANNOT if is_first else None)
            if np.isnan(row.wins_from):
                place, face = _NEVER, "white"
            else:
                place = row.wins_from
                face = look["color"]
            axes.plot([place], [y], **look, markerfacecolor=face, clip_on=False)
            if i == 0:
                axes.plot([], [], **look, label=scheme)
    axes.axvline(1.0, color="black", linewidth=0.5)
    axes.set_xlim(0, 1.2)
    axes.set_ylim(len(traces), 0)
    axes.set_yticks([i + 0.5 for i in range(len(traces))], traces, fontsize=FONT)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0, _NEVER], ["0", "", "0.5", "", "1", "never"], fontsize=FONT)
    axes.tick_params(length=0, pad=5)
    axes.grid(visible=False, axis="y")


@dataclass(frozen=True)
class _Mark:
    """How the mark of some seats looks, and how far it stands above the row of its code."""

    marker: str
    colour: str
    face: str
    shift: float = 0.0  # of those in hindsight none


_SEATS = {
    "best": _Mark("<", "black", "white"),
    "median": _Mark("|", "black", "black"),
    "worst": _Mark(">", "black", "white"),
    "home": _Mark("o", "#E69F00", "#E69F00", shift=-0.22),
    "learned": _Mark("D", "#0072B2", "#0072B2", shift=0.22),
}


def placements(axes: Axes, frame: pd.DataFrame) -> None:
    """What who-sits-where is worth: best, median and worst seats in hindsight, home and learned ones, over the bound.

    Schemes are called ``CODE: SEATS``.
    """
    rows.require_columns(frame, "scheme", "ratio", "bound")
    names = frame["scheme"].str.rsplit(": ", n=1)
    codes = list(dict.fromkeys(names.str[0]))
    axes.axvline(1.0, color="#c0392b", linewidth=1.4, label="bound")
    for i, code in enumerate(codes):
        of_code = frame[names.str[0] == code]
        over_bound = of_code["ratio"] / of_code["bound"]
        ratio_of = dict(zip(names[of_code.index].str[1], over_bound, strict=True))
        ends = [min(ratio_of.values()), max(ratio_of.values())]
        axes.plot(ends, [i, i], "-", color="#b0b0b0", linewidth=1, marker="none")
        for name, mark in _SEATS.items():
            if name not in ratio_of:
                continue
            look = {"marker": mark.marker, "color": mark.colour, "markerfacecolor": mark.face}
            label = None
            if i == 0:
                label = name if mark.shift else f"{name} (hindsight)"
            place = [ratio_of[name]], [i + mark.shift]
            axes.plot(*place, **look, linestyle="none", markersize=4.5, label=label)
    axes.set_ylim(len(codes) - 0.4, -0.6)
    axes.set_yticks(range(len(codes)), codes, fontsize=FONT)
    axes.set_xlim(left=1 - 0.04 * (axes.get_xlim()[1] - 1))  # marks on the bound are seen whole
