"""Maps of a benchmark: what every remedy takes on every trace, and in three colours where redundancy pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Faces of a code's cell: it wins, loses, or cannot win, which is proven for all codes of its loads and messages.
#: Three greys in grey print.
FACES = {"wins": "#93d6a4", "loses": "#fbeab8", "cannot win": "#cf7568"}
_BOUND, _PLAIN = "#e2e2e6", "#ffffff"
_FONT = 6  # points: the least that is read in print
_COLUMNS = ("trace", "phi", "late", "chunks")


def map_of(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios to waiting for all: a row for each scheme, a column for each trace, phi and value of `late` that varies.

    Exact codes have the face of their `colour`, against the faster of waiting for all and of rebalancing with the same
    largest load; bounds are grey, hindsight is hatched. A ratio has three digits, two where its column is narrow, and
    none where these do not fit. The share of the gradient that is used stands behind the ratio of a scheme that drops
    some of it; where columns are too narrow, its range stands behind the scheme's name.

    Parameters
    ----------
    axes : Axes
    frame : DataFrame
        Of `gcexp.benchmark`, one row for each cell.
    """
    from matplotlib.patches import Rectangle

    rows.known(frame, "scheme", "group", "ratio", "colour", "hindsight", *_COLUMNS)
    schemes = list(dict.fromkeys(frame["scheme"]))
    varied = [name for name in _COLUMNS if frame[name].astype(str).nunique() > 1] or ["trace"]
    cases = list(dict.fromkeys(frame[varied].astype(object).itertuples(index=False, name=None)))
    groups = frame.drop_duplicates("scheme").set_index("scheme")["group"]
    names, room, texts = _texts(axes, frame, schemes, len(cases))
    for row, text in zip(frame.itertuples(), texts, strict=True):
        x = cases.index(tuple(getattr(row, name) for name in varied)) if len(cases) > 1 else 0
        y = schemes.index(row.scheme)
        face = _BOUND if row.group == "bounds" else FACES.get(row.colour, _PLAIN)
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.6))
        if row.hindsight and row.group != "bounds":
            axes.add_patch(
                Rectangle((x, y), 1, 1, fill=False, edgecolor="#c4c4c4", linewidth=0, hatch="////")
            )
        cell = axes.text(x + 0.5, y + 0.52, text, ha="center", va="center", fontsize=_FONT)
        cell.set_in_layout(False)  # within the axes, which are laid out: none of hundreds is measured
    for y in range(1, len(schemes)):
        if groups[schemes[y]] != groups[schemes[y - 1]]:
            axes.axhline(y, color="black", linewidth=0.6)
    axes.set_xlim(0, len(cases))
    axes.set_ylim(len(schemes), 0)
    _name_columns(axes, np.arange(len(cases)) + 0.5, [_named(varied, case) for case in cases], room)
    axes.set_yticks(np.arange(len(schemes)) + 0.5, names, fontsize=_FONT)
    axes.tick_params(length=0)
    axes.grid(visible=False)


def _texts(
    axes: Axes, frame: pd.DataFrame, schemes: list[str], columns: int
) -> tuple[list[str], float, list[str]]:
    """Names of the schemes, inches of a column, and the text of each row's cell."""
    room = _room(axes, 0.15 + max(style.inches_of(name, _FONT) for name in schemes), columns)
    texts = _fitting(frame["ratio"].tolist(), room)
    used = frame["used_share"].where(frame["exact"] == False) if "used_share" in frame else None  # noqa: E712
    if used is None or used.isna().all():
        return schemes, room, texts
    told = [
        text if share != share else f"{text} {share:.0%}" for text, share in zip(texts, used, strict=True)
    ]
    if all(texts) and max(style.inches_of(text, _FONT) for text in told) < 0.9 * room:
        return schemes, room, told
    ends = {
        name: " to ".join(dict.fromkeys(f"{share:.0%}" for share in (found.min(), found.max())))
        for name, found in used.groupby(frame["scheme"])
        if found.notna().any()
    }
    names = [f"{name}, uses {ends[name]}" if name in ends else name for name in schemes]
    room = _room(axes, 0.15 + max(style.inches_of(name, _FONT) for name in names), columns)
    return names, room, _fitting(frame["ratio"].tolist(), room)


def _room(axes: Axes, left: float, columns: int) -> float:
    """Inches of a column of axes that have so many beside what stands at their left."""
    return (axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols - left) / columns


def _name_columns(axes: Axes, places: np.ndarray, names: list[str], room: float) -> None:
    """Names under columns of that many inches, upright where they would run into each other."""
    axes.set_xticks(places, names, fontsize=_FONT)
    if max(style.inches_of(name, _FONT) for name in names) > 0.9 * room:
        axes.tick_params(axis="x", rotation=90)


def _fitting(ratios: list[float], inches: float) -> list[str]:
    """Ratios as texts of that width, all in the same way.

    Examples
    --------
    >>> [_fitting([0.947, 1.004, 12.6], inches) for inches in (0.3, 0.2, 0.1)]
    [['0.95', '1.00', '13'], ['.95', '1.0', '13'], ['', '', '']]
    """
    three = [f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}" for ratio in ratios]
    tenths = [f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}" for ratio in ratios]
    two = [text[1:] if text[0] == "0" else tenth for text, tenth in zip(three, tenths, strict=True)]
    for texts in (three, two):
        if max(style.inches_of(text, _FONT) for text in texts) < 0.9 * inches:
            return texts
    return [""] * len(ratios)


def _named(varied: list[str], case: tuple) -> str:
    """A column's name: values of what varies."""
    told = []
    for name, value in zip(varied, case, strict=True):
        if value is None or value != value:  # no value, as NaN is
            continue
        told.append(
            f"φ = {value:g}" if name == "phi" else f"{value:g}" if isinstance(value, float) else str(value)
        )
    return " ".join(told).replace("bytedance-", "").replace("-dp", "")


def _looks(frame: pd.DataFrame, size: float) -> dict[str, dict]:
    """Look of every scheme, as where it is a line of another figure; an open marker says something else here."""
    names = dict.fromkeys(frame["scheme"])
    kept = ("color", "linestyle", "marker")
    return {
        name: {key: look[key] for key in kept} | {"markersize": size, "markeredgewidth": 1}
        for name, look in style.looks([*names]).items()
    }


def _marks(frame: pd.DataFrame, size: float) -> dict[str, dict]:
    """The same without lines."""
    return {name: look | {"linestyle": "none"} for name, look in _looks(frame, size).items()}


def fair(axes: Axes, frame: pd.DataFrame) -> None:
    """Time for each unit of progress against the error of the decoded gradients; filled markers are nearly unbiased.

    The dashed line is the work floor: no scheme is below it that uses the same share of the gradient in every
    iteration, with any loads. One that gives up slow iterations may be: with a row in which everybody takes 1 and a row
    in which everybody takes 100, dropping the second leaves half of the progress at a hundredth of the time.

    Parameters
    ----------
    axes : Axes
    frame : DataFrame
        Of `gcexp.benchmark`, one trace and phi, with the bound of any loads.
    """
    rows.known(frame, "scheme", "group", "ratio", "ratio_per_used", "error", "bias")
    for floor in frame.loc[frame["group"] == "bounds", "ratio"]:
        axes.axhline(floor, color="black", linewidth=0.8, linestyle="--")
    points = frame[frame["group"] != "bounds"]
    for scheme, look in _marks(points, 4.5).items():
        (row,) = points[points["scheme"] == scheme].itertuples()
        fair_enough = row.error == 0 or row.bias < row.error / 2
        face = look["color"] if fair_enough else "white"
        axes.plot([row.error], [row.ratio_per_used], **look, markerfacecolor=face, clip_on=False)
        axes.plot([], [], **look, label=scheme)  # filled in the legend
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=-0.04 * points["error"].max())


def late_lines(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios to waiting for all from workers that stop at once to those that run every step.

    Parameters
    ----------
    axes : Axes
    frame : DataFrame
        Of `gcexp.benchmark`, one trace and phi.
    """
    rows.known(frame, "scheme", "ratio", "late", "chunks")
    pieces = sorted(frame.loc[frame["late"] == "chunk", "chunks"].unique(), reverse=True)
    cases = [("stop", None), *(("chunk", c) for c in pieces), ("finish", None), ("every", None)]
    names = [late if c is None else f"1/{c:g}" for late, c in cases]
    for scheme, look in _looks(frame, 3).items():
        mine = frame[frame["scheme"] == scheme]
        heights = []
        for late, c in cases:
            found = mine[
                (mine["late"] == late) & (mine["chunks"].isna() if c is None else mine["chunks"] == c)
            ]
            heights.append(float(found["ratio"].iloc[0]))
        above = 3 - 0.01 * len(axes.lines)  # the first on top, so that dashes are seen over what is solid
        axes.plot(range(len(cases)), heights, **look, linewidth=0.9, zorder=above, label=scheme)
    _name_columns(axes, np.arange(len(cases)), names, _room(axes, 0.5, len(cases)))
    axes.set_ylim(0, 1.05 * float(frame["ratio"].max()))


_NEVER = 1.12  # where what never wins is drawn


def break_even_bars(axes: Axes, frame: pd.DataFrame) -> None:
    """Shares phi from which schemes win, and bars up to the first phi at which a code of the same loads might.

    Parameters
    ----------
    axes : Axes
    frame : DataFrame
        Of `gcexp.benchmarking.break_evens`, against one reference.
    """
    rows.known(frame, "trace", "scheme", "wins_from", "bound_from")
    traces, looks = list(dict.fromkeys(frame["trace"])), _marks(frame, 3.4)
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
    axes.set_yticks([i + 0.5 for i in range(len(traces))], traces, fontsize=_FONT)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0, _NEVER], ["0", "", "0.5", "", "1", "never"], fontsize=_FONT)
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

    Parameters
    ----------
    axes : Axes
    frame : DataFrame
        Of `gcexp.benchmark`, one trace and phi, schemes called ``CODE: SEATS``.
    """
    rows.known(frame, "scheme", "ratio", "bound")
    names = frame["scheme"].str.rsplit(": ", n=1)
    codes = list(dict.fromkeys(names.str[0]))
    axes.axvline(1.0, color="#c0392b", linewidth=1.4, label="bound")
    for i, code in enumerate(codes):
        mine = frame[names.str[0] == code]
        over = dict(zip(names[mine.index].str[1], mine["ratio"] / mine["bound"], strict=True))
        axes.plot(
            [min(over.values()), max(over.values())], [i, i], "-", color="#b0b0b0", linewidth=1, marker="none"
        )
        for name, (marker, colour, face, shift) in _SEATS.items():
            if name in over:
                said = f"{name} (hindsight)" if shift == 0 else name
                axes.plot(
                    [over[name]],
                    [i + shift],
                    marker,
                    color=colour,
                    markerfacecolor=face,
                    markersize=4.5,
                    label=said if i == 0 else None,
                )
    axes.set_ylim(len(codes) - 0.4, -0.6)
    axes.set_yticks(range(len(codes)), codes, fontsize=6.5)
    axes.set_xlim(left=1 - 0.04 * (axes.get_xlim()[1] - 1))  # marks on the bound are seen whole
