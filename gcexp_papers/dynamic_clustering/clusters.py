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
    rows.require_columns(frame, "cluster", "worker", "slow")
    if "moved" not in frame:
        frame = frame.assign(moved=False)
    frame = frame.assign(moved=frame["moved"].astype(bool))
    cluster = rows.numbers(frame, "cluster")
    count = int(np.nanmax(cluster)) + 1
    top = _STEP * frame["cluster"].value_counts().max() + 0.1
    for x in range(count):
        edge: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": "-", "marker": "none"}
        axes.plot([x - 0.43, x - 0.43, x + 0.43, x + 0.43], [top, 0, 0, top], **edge)
        _draw_column(axes, x, f"cluster {x}", frame[cluster == x])
    columns = count
    in_no_cluster = frame[np.isnan(cluster)]
    if not in_no_cluster.empty:
        _draw_column(axes, count, "left over", in_no_cluster)
        columns += 1
    for label, face in _FACES.items():
        _add_to_legend(axes, label, markerfacecolor=face)
    if frame["moved"].any():
        _add_to_legend(axes, "moved", markerfacecolor="none", markeredgewidth=_RIM[True])
    axes.set(aspect="equal", xlim=(-0.5, columns - 0.5), ylim=(-0.4, top + 0.05))
    axes.set_axis_off()


def _draw_column(axes: Axes, x: int, name: str, workers: pd.DataFrame) -> None:
    """Workers as balls on top of each other, and a name below them."""
    from matplotlib.patches import Circle

    axes.text(x, -0.06, name, ha="center", va="top", fontsize=7)
    letters: dict[str, Any] = {"fontsize": 7, "ha": "center", "va": "center_baseline"}
    for place, (_, one) in enumerate(workers.iterrows()):
        y = 0.05 + (place + 0.5) * _STEP
        face = _FACES["slow" if one["slow"] else "fast"]
        ball = {"facecolor": face, "edgecolor": "black", "linewidth": _RIM[bool(one["moved"])]}
        axes.add_patch(Circle((x, y), _RADIUS, **ball))
        colour = "white" if one["slow"] else "black"
        axes.text(x, y, str(one["worker"]), color=colour, **letters)


def _add_to_legend(axes: Axes, label: str, **look: Any) -> None:
    """A ball in the legend."""
    ball: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 7, "markeredgecolor": "black"}
    axes.plot([], [], label=label, **ball, **look)
