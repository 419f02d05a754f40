"""The drawing of which scheme has the largest goodput."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Faces of the schemes, from light to dark, so that they differ in grey too, and what is written on each.
_FACES = {
    "checkpoints alone": ("#f0f0f0", "black"),
    "respread": ("#bcd9ea", "black"),
    "FRC, d = 2": ("#e69f00", "black"),
    "FRC, d = 3": ("#0b4f79", "white"),
    "partial work, d = 2": ("#009e73", "white"),
}
_OTHER = ("white", "black")


def best_cells(axes: Axes, frame: pd.DataFrame) -> None:
    """A cell for each job MTBF and restart: the scheme with the largest goodput by its face, and that goodput."""
    from matplotlib.patches import Rectangle

    rows.require_columns(frame, "mtbf", "restart", "scheme", "goodput")
    between = sorted(frame["mtbf"].unique())
    restarts = sorted(frame["restart"].unique())
    for row in frame.itertuples():
        face, ink = _FACES.get(row.scheme, _OTHER)
        x = between.index(row.mtbf)
        y = restarts.index(row.restart)
        axes.add_artist(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.6))
        text = f"{row.goodput:.2f}"
        axes.text(x + 0.5, y + 0.48, text, ha="center", va="center", fontsize=style.LEAST, color=ink)
    for scheme in [name for name in _FACES if name in set(frame["scheme"])]:
        face, _ = _FACES[scheme]
        look = {"marker": "s", "markersize": 6, "color": face, "markeredgecolor": "0.5", "linestyle": "none"}
        axes.plot([], [], **look, label=scheme)
    axes.set_xlim(0, len(between))
    axes.set_ylim(0, len(restarts))
    axes.set_xticks(np.arange(len(between)) + 0.5, [f"{one:g}" for one in between], fontsize=style.LEAST)
    axes.set_yticks(np.arange(len(restarts)) + 0.5, [f"{one:g}" for one in restarts], fontsize=style.LEAST)
    axes.tick_params(length=0)
    axes.grid(visible=False)
