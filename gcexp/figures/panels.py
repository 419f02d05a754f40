"""A plot before it is drawn: its panels, their words, and the sizes that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gcexp.errors import require_known
from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from gcexp.figures.plots import Drawn, Words


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
    #: Inches of a panel, by its width and by what names at its left may take.
    height: Callable[[float, float], float]
    handles: Mapping[str, Artist] = field(default_factory=dict)  # of the legend, by name
    words: str = ""  # what the note says of means, medians, bands and dashed lines
    columns: int = 3  # most panels side by side
    least: float = 1.6  # inches below which a panel is not read: narrower figures have fewer side by side
    width: str = "single"  # of a figure with this plot alone


def panel_titles(frame: pd.DataFrame, plot: Drawn) -> dict[str, str]:
    """The title of each panel by its name: of the plot's own titles, or what its value is."""
    given = plot.panel_titles
    if isinstance(given, str):
        pattern = given
    elif plot.panel is None:
        pattern = ""
    elif frame[plot.panel].dtype.kind == "O":  # texts
        pattern = "{}"
    else:
        pattern = f"{plot.panel} = {{}}"
    names = rows.parts_by_name(frame, plot.panel)
    titles = {name: pattern.replace("{}", name) for name in names}
    if isinstance(given, dict):
        titles |= _by_name("panel_titles", given, names)
    return titles


def panel_labels(key: str, given: Words, names: Iterable[str], default: str) -> dict[str, str]:
    """The label of an axis in each panel: what the plot says under `key`, of all panels or of some, or the default."""
    if isinstance(given, str):
        return dict.fromkeys(names, given)
    labels = dict.fromkeys(names, default)
    if given is not None:
        labels |= _by_name(key, given, labels)
    return labels


def _by_name(key: str, given: dict, names: Iterable[str]) -> dict[str, str]:
    """The texts that a mapping gives to some panels, each of which must be there."""
    texts = {str(name): str(text) for name, text in given.items()}
    for name in texts:
        require_known("panel", name, names, key)
    return texts
