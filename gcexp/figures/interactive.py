"""Lines that answer: the panels of a figure as Vega-Lite charts, with one look per scheme as in the drawing.

What is drawn comes from `gcexp.figures.lines`; altair checks what Vega-Lite is told, and vl-convert has its library.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

from gcexp.figures import lines, rows, style
from gcexp.figures.panels import titled
from gcexp.figures.plots import LinesPlot, PanelsPlot, Scale, parse

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_POINTS = 200  # of a curve
_HEIGHT = 300  # pixels
_MARKS = 9  # markers along a curve
_NOTHING: dict[str, Any] = {"dash": [1, 0], "shape": "circle"}  # of what is not drawn
_SIZE = 50  # square pixels of a marker
# Markers of matplotlib as shapes of Vega; two as paths in a square from -1 to 1.
_SHAPES = {
    **{"o": "circle", "s": "square", "D": "diamond", "P": "cross", "^": "triangle-up", "v": "triangle-down"},
    **{"<": "triangle-left", ">": "triangle-right"},
    "X": "M-.9-.5L-.5-.9 0-.4.5-.9.9-.5.4 0 .9.5.5.9 0 .4-.5.9-.9.5-.4 0Z",
    "h": "M0-1L.87-.5.87.5 0 1-.87.5-.87-.5Z",
}


def charts(frame: pd.DataFrame, plot: dict, style_file: Path | None = None) -> dict | None:
    """Charts of a figure whose panels are all lines, else None.

    Parameters
    ----------
    frame : DataFrame
        The figure's table.
    plot : mapping
        What the figure file says about the plot.
    style_file : path, optional
        As in `gcexp.figures.draw`.

    Returns
    -------
    dict
        ``names``: for each line, in the order of the legend, its colour, dashes (pixels on and off), shape of its
        markers and their fill. ``charts``: a Vega-Lite chart per panel; its parameter ``shown`` lists the names that
        are drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"label": ["a", "a", "b", "b"], "n": [1, 2, 1, 2], "time_s": [1.0, 2.0, 2.0, 3.0]}
    ... )
    >>> made = charts(table, {"kind": "lines", "x": "n", "y": "time_s", "band": "none"})
    >>> list(made["names"]), next(iter(made["charts"][0]["datasets"].values())).splitlines()[:2]
    (['a', 'b'], ['label,x,y,low,high,mark', '0,1,1,,,1'])
    >>> charts(table, {"kind": "bars", "y": "time_s"}) is None
    True
    """
    wanted = parse(plot)
    parts = wanted.plots if isinstance(wanted, PanelsPlot) else (wanted,)
    lined = [(rows.chosen(frame, part.where), part) for part in parts if isinstance(part, LinesPlot)]
    if len(lined) < len(parts):
        return None
    with style.applied(style_file):
        looks = lines.looks(lined, [])
    names = {name: _look(look) for name, look in looks.items()}
    return {
        "names": names,
        "charts": [
            _chart(panel, part, title, names, value)
            for chosen, part in lined
            for value, title, panel in titled(chosen, part)
        ],
    }


def _look(look: dict[str, Any]) -> dict[str, Any]:
    """A look of matplotlib in the words of Vega."""
    colour = matplotlib.colors.to_hex(look["color"])
    pattern = look.get("linestyle", "-")
    dashes = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1, 1.6), ":": (1, 1.65), "none": None}
    found = dashes[pattern] if isinstance(pattern, str) else pattern[1]
    solid = found == ()
    return {
        "colour": colour,
        "dash": None if found is None else [1, 0] if solid else [2 * length for length in found],
        "shape": _SHAPES.get(look.get("marker", "none"), ""),
        "fill": "#ffffff" if look.get("markerfacecolor") == "white" else colour,
    }


def _chart(
    frame: pd.DataFrame, plot: LinesPlot, title: str, names: dict[str, dict], value: str
) -> dict[str, Any]:
    """One panel: a band, a line and markers per name, the level, and what is said where the pointer stands."""
    import altair as alt

    known = list(names)

    def scaled(channel: Any, key: str) -> Any:
        values: list[Any] = [names[name][key] or _NOTHING[key] for name in known]
        return channel("name:N", scale=alt.Scale(domain=known, range=values), legend=None)

    below = _title(plot.xlabel, plot.x, value)
    left = _title(plot.ylabel, plot.y, value)
    x = alt.X("x:Q", title=below, scale=_scale(plot.xscale, plot.xlim, _ends(frame, plot)))
    y = alt.Y("y:Q", title=left, scale=_scale(plot.yscale, plot.ylim, (None, None)))
    colour = scaled(alt.Color, "colour")
    data = alt.InlineData(values=_table(frame, plot, names), format=alt.CsvDataFormat(type="csv"))
    every = (
        alt.Chart(data)
        .transform_calculate(
            name=f"{json.dumps(known)}[datum.label]", at="isValid(datum.y) ? datum.y : datum.mark"
        )
        .transform_filter("indexof(shown, datum.name) >= 0")
    )
    pointed = alt.selection_point(
        name="pointed", on="pointerover", nearest=True, empty=False, clear="pointerout"
    )
    said = [
        alt.Tooltip("name:N", title="line"),
        alt.Tooltip("x:Q", title=below, format=".4~g"),
        alt.Tooltip("at:Q", title=left, format=".4~g"),
    ]
    layers = [
        every.mark_area(opacity=0.14, clip=True).encode(
            x=x, y=alt.Y("low:Q", title=left), y2="high:Q", color=colour
        ),
        *_references(frame, plot),
        every.mark_line(strokeWidth=1.6, clip=True).encode(
            x=x, y=y, color=colour, strokeDash=scaled(alt.StrokeDash, "dash")
        ),
        every.mark_point(size=_SIZE, opacity=1, strokeWidth=1.2, clip=True).encode(
            x=x,
            y=alt.Y("mark:Q", title=left),
            stroke=scaled(alt.Stroke, "colour"),
            fill=scaled(alt.Fill, "fill"),
            shape=scaled(alt.Shape, "shape"),
        ),
        every.mark_point(size=2 * _SIZE, filled=True, clip=True)
        .encode(
            x=x,
            y=alt.Y("at:Q", title=left),
            color=colour,
            tooltip=said,
            opacity=alt.condition(pointed, alt.value(1), alt.value(0)),
        )
        .add_params(pointed),
    ]
    chart = alt.layer(*layers).properties(width="container", height=_HEIGHT, title=title)
    chart = chart.add_params(alt.param(name="shown", value=known)).interactive()
    return chart.configure(background="white", font="system-ui, sans-serif").to_dict()


def _references(frame: pd.DataFrame, plot: LinesPlot) -> list[Any]:
    """Levels, thresholds and the slope to compare with, as in the drawing."""
    import altair as alt

    found = []
    if plot.levels:
        levels = alt.InlineData(values=[{"y": level} for level in plot.levels])
        found.append(alt.Chart(levels).mark_rule(strokeDash=[4, 2], color="#595959").encode(y="y:Q"))
    if plot.threshold:
        at = np.unique(rows.numbers(frame, plot.threshold))
        places = alt.InlineData(values=[{"x": float(x)} for x in at[np.isfinite(at)]])
        found.append(alt.Chart(places).mark_rule(strokeDash=[1, 1], color="#A00000").encode(x="x:Q"))
    if plot.slope is not None:
        name, part = next(iter(rows.parts(frame, plot.by)))
        x, values = lines.points(part, plot, np.empty(0), str(name))
        start = lines.middle(values, plot.band)[0][0]
        ends = [{"x": float(at), "y": float(start * (at / x[0]) ** plot.slope)} for at in (x[0], x[-1])]
        guide = alt.Chart(alt.InlineData(values=ends)).mark_line(strokeDash=[1, 2], color="#595959")
        found.append(guide.encode(x="x:Q", y="y:Q"))
    return found


def _table(frame: pd.DataFrame, plot: LinesPlot, names: dict[str, dict]) -> str:
    """Points of all lines as CSV; `label` is the place of the name, `mark` the height of a marker where one stands."""
    grid = lines.clock_grid(frame, plot) if plot.curves else np.empty(0)
    grid = grid[np.linspace(0, len(grid) - 1, min(_POINTS, len(grid))).astype(int)]
    parts = {str(label): part for label, part in rows.parts(frame, plot.by)}
    text = ["label,x,y,low,high,mark"]
    for place, (name, look) in enumerate(names.items()):
        if name not in parts:
            continue
        x, values = lines.points(parts[name], plot, grid, name)
        centre, low, high = lines.middle(values, plot.band)
        seen = np.isfinite(centre)
        marked = np.zeros(len(x), dtype=bool)
        gap = max(1, len(x) // _MARKS) if plot.curves or len(x) > 3 * _MARKS else 1
        marked[int(np.argmax(seen)) + (place * gap) // len(names) :: gap] = bool(look["shape"])
        line = centre if look["dash"] is not None else np.full(len(x), np.nan)
        bottom = plot.ylim[0] if plot.yscale == "log" and plot.ylim else None
        if bottom:  # an exact zero is a mark at the lower end, as in the drawing
            lost = centre <= bottom
            line, centre = np.where(lost, np.nan, line), np.where(lost, bottom, centre)
            marked |= lost
        banded = len(values) > 1 and plot.band != "none" and look["dash"] is not None
        for row in np.flatnonzero(seen):
            ends = (low[row], high[row]) if banded else (np.nan, np.nan)
            cells = (x[row], line[row], *ends, centre[row] if marked[row] else np.nan)
            text.append(",".join([str(place), *map(_cell, cells)]))
    return "\n".join(text) + "\n"


def _cell(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ""


def _title(given: str | dict | None, column: str, panel: str) -> str:
    words = given.get(panel) if isinstance(given, dict) else given
    return style.axis_label(column) if words is None else words


def _ends(frame: pd.DataFrame, plot: LinesPlot) -> tuple[float | None, float | None]:
    """Ends of the horizontal axis where the plot gives none."""
    if not plot.curves:
        return None, None
    grid = lines.clock_grid(frame, plot)
    return float(grid[0]), float(grid[-1])


def _scale(kind: Scale, given: tuple | None, default: tuple) -> Any:
    import altair as alt

    low, high = (
        one if one is not None else other for one, other in zip(given or (None, None), default, strict=True)
    )
    ends = {"domainMin": low, "domainMax": high}
    return alt.Scale(
        type=kind,
        zero=False,
        nice=False,
        padding=8,
        **{name: end for name, end in ends.items() if end is not None},
    )


@cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed as one script, which sets ``window.vegaEmbed``."""
    from vl_convert import javascript_bundle

    return javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
