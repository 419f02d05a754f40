"""A plot before it is drawn: its panels, their words, and the sizes that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gcexp.errors import UserError, unknown
from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from gcexp.figures.plots import BarsPlot, FunctionPlot, LinesPlot


@dataclass(frozen=True)
class Place:
    """Where a panel stands.

    Parameters
    ----------
    inches : float
        Width of the panel, labels included.
    names : float
        Inches that names at its left may take.
    first : bool
        Whether it is the leftmost panel of its row, which alone shows names and the label of the vertical axis.
    """

    inches: float
    names: float
    first: bool


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    draw : function of axes and `Place`
        Draws the content, without title and axis labels.
    title, below, left : str
        Title, and labels of the horizontal and the vertical axis; long ones are wrapped to the room that they have.
    """

    draw: Callable[[Axes, Place], None]
    title: str = ""
    below: str = ""
    left: str = ""


@dataclass(frozen=True)
class Drawing:
    """A plot, ready to be drawn.

    Parameters
    ----------
    panels : list of Panel
    height : function
        Inches of a panel, labels included, of a panel's width in inches and those that names at its left may take.
    handles : mapping
        Name to artist, for the legend.
    words : str
        What the note says of means, medians and bands.
    levels : tuple of float
        Heights of dashed lines, which the note names.
    columns : int
        Most panels side by side.
    least : float
        Inches below which a panel is no longer read; narrower figures have fewer panels side by side.
    width : {"single", "wide", "double"}
        Of a figure with this plot alone.
    """

    panels: list[Panel]
    height: Callable[[float, float], float]
    handles: Mapping[str, Artist] = field(default_factory=dict)
    words: str = ""
    levels: tuple[float, ...] = ()
    columns: int = 3
    least: float = 1.6
    width: str = "wide"


def titled(
    frame: pd.DataFrame, plot: LinesPlot | BarsPlot | FunctionPlot
) -> list[tuple[str, str, pd.DataFrame]]:
    """Value, title and rows of each panel.

    Raises
    ------
    UserError
        For a title of a panel that does not exist.
    """
    parts = list(rows.parts(frame, plot.panel))
    if plot.panel is None:
        return [("", "", frame)]
    own, names = plot.panel_titles, [str(value) for value, _ in parts]
    text = frame[plot.panel].dtype.kind == "O"
    pattern = own if isinstance(own, str) else "{}" if text else f"{plot.panel} = {{}}"
    default = {name: pattern.replace("{}", name) for name in names}
    titles = each("panel_titles", own, names, default) if isinstance(own, dict) else default
    return [(name, titles[name], part) for name, (_, part) in zip(names, parts, strict=True)]


def each(key: str, given: str | dict | None, names: Iterable[str], default: dict[str, str]) -> dict[str, str]:
    """Text of each panel: one for all, or by the panel's value; where none is given, the default.

    Examples
    --------
    >>> each("xlabel", {"p": "probability"}, ["p", "m"], {"p": "value", "m": "value"})
    {'p': 'probability', 'm': 'value'}

    Raises
    ------
    UserError
        For a text for a panel that does not exist.
    """
    names = list(names)
    if not isinstance(given, dict):
        return default if given is None else dict.fromkeys(names, given)
    given = {str(name): str(text) for name, text in given.items()}
    for name in given:
        if name not in names:
            raise UserError(f"{key}: {unknown('panel', name, names)}")
    return {name: given.get(name, default[name]) for name in names}
