"""Drawing of the codes of recent years: time for each unit of progress, time alone, and the error behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from gcexp.figures import rows, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOT = {"marker": "o", "linestyle": "none", "color": "black", "markersize": 4.5, "markeredgewidth": 1}
_BOUND = {"marker": "|", "linestyle": "none", "color": "#A00000", "markersize": 8, "markeredgewidth": 1.6}


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """A row for each scheme, with medians over the draws and lines from the smallest to the largest.

    A filled point is the time for each unit of progress, an open one the time alone where it differs, and a mark the
    lower bound of the time. Behind them stands the error of the decoded gradients.
    """
    rows.require_columns(frame, "scheme", "ratio", "ratio_per_used", "error", "bound")
    schemes = rows.names(frame, "scheme")
    for y, (_, part) in enumerate(rows.parts(frame, "scheme")):
        progress = part["ratio_per_used"]
        axes.plot(
            [progress.min(), progress.max()],
            [y, y],
            color="black",
            linestyle="-",
            linewidth=1.2,
            marker="none",
        )
        if (part["error"] > 0).any():
            axes.plot([part["ratio"].median()], [y], **_DOT, markerfacecolor="white")
        axes.plot([progress.median()], [y], **_DOT)
        axes.plot([part["bound"].median()], [y], **_BOUND)
        _write_behind(axes, y, _error_in_words(part["error"]))
    _write_behind(axes, -1, "error")
    axes.plot([], [], **_DOT, label="time per unit of progress")
    axes.plot([], [], **_DOT, markerfacecolor="white", label="time alone")
    axes.plot([], [], **_BOUND, label="lower bound of the time, for codes of these loads")
    axes.set_yticks(range(len(schemes)), schemes, fontsize=style.LEAST)
    axes.set_ylim(len(schemes) - 0.4, -0.6)
    axes.set_xlim(0, 1.08 * float(frame["ratio_per_used"].max()))
    axes.tick_params(axis="y", length=0)


def _error_in_words(errors: pd.Series) -> str:
    """The median error, and the range over several draws."""
    if (errors == 0).all():
        return "exact"
    if len(errors) == 1:
        return f"{errors.iloc[0]:.2g}"
    return f"{errors.median():.2g} ({errors.min():.2g}–{errors.max():.2g})"


def _write_behind(axes: Axes, y: float, text: str) -> None:
    """Text behind a row."""
    place = axes.get_yaxis_transform()
    axes.text(1.02, y, text, transform=place, ha="left", va="center", fontsize=style.LEAST)
