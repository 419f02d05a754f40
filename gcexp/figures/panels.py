"""A plot before it is drawn: its panels, their words, and the sizes that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gcexp.errors import require_known
from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from gcexp.figures.plots import Drawn


@dataclass(frozen=True)
class Place:
    """Where a panel stands."""

    inches: float  # its width, labels included
    names: float  # inches that names at its left may take
    first: bool  # in its row, which alone shows names and the label of the vertical axis


@dataclass(frozen=True)
class Panel:
    """One pair of axes, which `draw` fills; long titles and labels are wrapped to the room that they have."""

    draw: Callable[[Axes, Place], None]
    title: str = ""
    below: str = ""  # label of the horizontal axis
    left: str = ""  # of the vertical one


@dataclass(frozen=True)
class Drawing:
    """A plot, ready to be drawn."""

    panels: list[Panel]
    height: Callable[
        [float, float], float
    ]  # inches of a panel, by its width and what names at its left may take
    handles: Mapping[str, Artist] = field(default_factory=dict)  # of the legend, by name
    words: str = ""  # what the note says of means, medians, bands and dashed lines
    columns: int = 3  # most panels side by side
    least: float = 1.6  # inches below which a panel is not read: narrower figures have fewer side by side
    width: str = "single"  # of a figure with this plot alone


def panels_of(
    frame: pd.DataFrame, plot: Drawn, **labels: str
) -> list[tuple[pd.DataFrame, str, *tuple[str, ...]]]:
    """Rows, title and labels of each panel.

    `labels` are fields of the plot that hold labels, each with the text where the plot gives none.
    """
    parts = list(rows.parts(frame, plot.panel))
    names = [str(value) for value, _ in parts]
    own, pattern = plot.panel_titles, ""
    if isinstance(own, str):
        pattern = own
    elif plot.panel is not None:
        pattern = "{}" if frame[plot.panel].dtype.kind == "O" else f"{plot.panel} = {{}}"
    titles = {name: pattern.replace("{}", name) for name in names}
    words = [_each("panel_titles", own if isinstance(own, dict) else None, titles)]
    words += [_each(key, getattr(plot, key), dict.fromkeys(names, text)) for key, text in labels.items()]
    return [(part, *(text[name] for text in words)) for name, (_, part) in zip(names, parts, strict=True)]


def _each(key: str, given: str | dict | None, default: dict[str, str]) -> dict[str, str]:
    """Text of each panel: one for all, or by the panel's value; where none is given, the default."""
    if not isinstance(given, dict):
        return default if given is None else dict.fromkeys(default, given)
    given = {str(name): str(text) for name, text in given.items()}
    for name in given:
        require_known("panel", name, default, key)
    return default | given
