"""Workers as balls in the bins of their clusters, as the paper's Figs. 1 and 2 show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RADIUS, _STEP = 0.36, 0.8  # of a ball, and from ball to ball, in widths of a bin
# Red and pale grey differ in brightness too: grey print tells them apart.
_FACES = {"slow": "#B22222", "fast": "#E8EEF4"}
_RIM = {False: 0.6, True: 1.8}  # points; thick where GC-DC moved the worker


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """The clusters of one placement, a row of the table for each worker; one in no cluster lies beside them."""
    from matplotlib.patches import Circle

    rows.require_columns(frame, "cluster", "worker", "slow")
    cluster = rows.numbers(frame, "cluster")
    count, top = int(np.nanmax(cluster)) + 1, _STEP * frame["cluster"].value_counts().max() + 0.1
    moved = frame["moved"].astype(bool) if "moved" in frame else frame["slow"] & False
    left_over = np.isnan(cluster).any()
    for x in range(count + left_over):  # the last place is for workers in no cluster
        if x < count:
            edge: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": "-", "marker": "none"}
            axes.plot([x - 0.43, x - 0.43, x + 0.43, x + 0.43], [top, 0, 0, top], **edge)
        name = f"cluster {x}" if x < count else "left over"
        axes.text(x, -0.06, name, ha="center", va="top", fontsize=7)
        here = frame[np.isnan(cluster) if x == count else cluster == x]
        for place, (index, one) in enumerate(here.iterrows()):
            centre = x, 0.05 + (place + 0.5) * _STEP
            face = _FACES["slow" if one["slow"] else "fast"]
            ball = {"facecolor": face, "edgecolor": "black", "linewidth": _RIM[bool(moved[index])]}
            axes.add_patch(Circle(centre, _RADIUS, **ball))
            colour = "white" if one["slow"] else "black"
            axes.text(
                *centre, str(one["worker"]), fontsize=7, color=colour, ha="center", va="center_baseline"
            )
    for label, face in _FACES.items():
        _named(axes, label, markerfacecolor=face)
    if moved.any():
        _named(axes, "moved", markerfacecolor="none", markeredgewidth=_RIM[True])
    axes.set(aspect="equal", xlim=(-0.5, count + left_over - 0.5), ylim=(-0.4, top + 0.05))
    axes.set_axis_off()


def _named(axes: Axes, label: str, **look: Any) -> None:
    """A ball in the legend."""
    ball: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 7, "markeredgecolor": "black"}
    axes.plot([], [], label=label, **ball, **look)
