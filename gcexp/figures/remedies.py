"""Maps of a benchmark: what every remedy takes on every trace, and in three colours where redundancy pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Faces of a code's cell: it wins, loses, or cannot win, which is proven for all codes of its loads and messages.
FACES = {"wins": "#8fd3a0", "loses": "#f6d98a", "cannot win": "#e39a92"}
_BOUND, _PLAIN = "#e2e2e6", "#ffffff"
_COLUMNS = ("trace", "phi", "late", "chunks")


def map_of(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios to waiting for all: a row for each scheme, a column for each trace, phi and value of `late` that varies.

    Exact codes have the face of their `colour`, against rebalancing with the same largest load; bounds are grey,
    hindsight is hatched.

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
    for row in frame.itertuples():
        x = cases.index(tuple(getattr(row, name) for name in varied)) if len(cases) > 1 else 0
        y = schemes.index(row.scheme)
        face = _BOUND if row.group == "bounds" else FACES.get(row.colour, _PLAIN)
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.6))
        if row.hindsight and row.group != "bounds":
            axes.add_patch(
                Rectangle((x, y), 1, 1, fill=False, edgecolor="#c4c4c4", linewidth=0, hatch="////")
            )
        size = 5.2 if len(cases) <= 9 else 4.3
        axes.text(x + 0.5, y + 0.52, _short(row.ratio), ha="center", va="center", fontsize=size)
    for y in range(1, len(schemes)):
        if groups[schemes[y]] != groups[schemes[y - 1]]:
            axes.axhline(y, color="black", linewidth=0.6)
    axes.set_xlim(0, len(cases))
    axes.set_ylim(len(schemes), 0)
    axes.set_xticks(np.arange(len(cases)) + 0.5, [_named(varied, case) for case in cases], fontsize=5.2)
    if max(len(_named(varied, case)) for case in cases) > 7:
        axes.tick_params(axis="x", rotation=35)
        for label in axes.get_xticklabels():
            label.set_ha("right")
    axes.set_yticks(np.arange(len(schemes)) + 0.5, schemes, fontsize=5.2)
    axes.tick_params(length=0)
    axes.grid(visible=False)


def _short(ratio: float) -> str:
    """Three digits at most, as there is room for."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


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
