"""Where codes exist: a shaded region of loads and intersections, and designs as markers beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MARKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "design": ("this n and density", {"marker": "o", "color": "black", "markersize": 6}),
    "other design": (
        "other n, similar density",
        {"marker": "^", "markerfacecolor": "white", "markeredgecolor": "#D55E00", "markersize": 5},
    ),
    "not constructed": (
        "not ruled out, not constructed",
        {"marker": "s", "markerfacecolor": "none", "markeredgecolor": "0.35", "markersize": 5.5},
    ),
}


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """One panel of `gcexp_papers.soft_bibd.numerics.existence`."""
    rows.require_columns(frame, "what", "load", "intersection", "design_n")
    x, low = _line(frame, "edge")
    _, high = _line(frame, "top")
    axes.fill_between(x, low, high, color="#56B4E9", alpha=0.3, linewidth=0, label="Soft BIBD (exact)")
    for edge in (low, high):
        axes.plot(x, edge, color="#0072B2", linewidth=1.2, linestyle="-", marker="none")
    dashed: dict[str, Any] = {"color": "black", "linewidth": 1, "linestyle": (0, (4, 2)), "marker": "none"}
    axes.plot(*_line(frame, "union"), label="Theorem 1 (lower edge)", **dashed)
    right = float(x.max())
    for what, (label, look) in _MARKERS.items():
        cells = frame[frame["what"] == what].sort_values(["intersection", "load", "design_n"])
        if cells.empty:
            continue
        places = cells.drop_duplicates(["load", "intersection"])[["load", "intersection"]]
        axes.plot(*places.to_numpy(float).T, linestyle="none", label=f"BIBD: {label}", **look)
        if what != "other design":
            continue
        for (load, shared), same in cells.groupby(["load", "intersection"]):
            # Workers of the designs at a place, one below the other so that neighbours do not meet: beside the lower
            # edge, on the side where no line is.
            below = shared < 1.01 * load * low[-1] / right
            axes.annotate(
                "\n".join(f"{n:.0f}" for n in same["design_n"]),
                (load, shared),
                xytext=(0, -3.5 if below else 3.5),
                textcoords="offset points",
                fontsize=7,
                linespacing=0.95,
                ha="center",
                va="top" if below else "bottom",
                color="#8A3C00",
            )
    axes.set(xlim=(0, right), ylim=(0, 0.5 * right))


def _line(frame: pd.DataFrame, what: str) -> np.ndarray:
    """Loads and intersections of a line, (2, points)."""
    points = frame[frame["what"] == what].sort_values("load")
    return points[["load", "intersection"]].to_numpy(float).T
