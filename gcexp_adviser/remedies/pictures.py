"""One picture of what `gcexp advise` compared."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import style
from gcexp_adviser.diagnosis.pictures import HEIGHT, WIDTH
from gcexp_adviser.remedies.conclusion import Conclusion
from gcexp_adviser.remedies.remedies import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("-", "--", "-.", (0, (6, 1, 1, 1, 1, 1)))  # lines that differ without their colours too
_SETTINGS = (("timeout", "C4", "o"), ("quorum", "C5", "s"))  # with colour and marker


def of_advice(found: Conclusion, title: str) -> Figure:
    """Left: the best remedy of each kind over phi, and the bound. Right: what settings save, and whom they drop."""
    with style.use_style():
        figure = style.blank(WIDTH, HEIGHT)
        left, right = figure.subplots(1, 2)
        _draw_remedies(left, found)
        _draw_settings(right, found)
        note = (
            "Left: the best of each kind, black dots: what was picked. Right: settings chosen on the first half and "
            "judged on the second; white: breaks its promise, uses some worker's data less than half of the time, or "
            "needs workers that can draw any data."
        )
        of_left, _ = left.get_legend_handles_labels()
        of_right, _ = right.get_legend_handles_labels()
        style.arrange(figure, title, note, [*of_left, *of_right], beside=False)
    return figure


def _draw_remedies(axes: Axes, found: Conclusion) -> None:
    """The best remedy of each kind and the bound over phi, and what was picked."""
    compared = found.comparison
    grid = np.linspace(0, 1, 201)
    dashes = cycle(_DASHES)
    for kind, words in KINDS.items():
        if kind == "wait":
            continue
        of_kind = [remedy for remedy in compared.plans if remedy.kind == kind]
        if of_kind:
            best = np.min([compared.means(one, grid) + compared.extra(one) for one in of_kind], axis=0)
            axes.plot(grid, best / compared.waiting.mean(), linestyle=next(dashes), marker="", label=words)
    phis = np.linspace(0, 1, 21)
    bound = [compared.floor(phi) for phi in phis]
    axes.plot(phis, bound, ":", color="black", marker="", label="lower bound")
    axes.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    for answer in found.answers:
        axes.plot(answer.phi, answer.pick.ratio, "o", color="black", markersize=4, zorder=5)
    _, highest = axes.get_ylim()
    axes.set(xlim=(-0.02, 1.02), ylim=(0, max(1.3, min(2.0, highest))))
    axes.set(xlabel="φ, share of fixed time", ylabel="time / waiting for all")


def _draw_settings(axes: Axes, found: Conclusion) -> None:
    """What timeouts and quorums save, and how much of the data of the worker that is heard least they use."""
    for kind, colour, marker in _SETTINGS:
        for one in found.table[found.table["setting"] == kind].itertuples():
            face = "white" if one.remark else colour
            axes.plot(one.time, one.least_used_worker, marker, color=colour, markerfacecolor=face)
        axes.plot([], [], marker, color=colour, label=kind)
    axes.axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
    axes.set(ylim=(-0.05, 1.05), xlabel="time / waiting for all")
    axes.set_ylabel("data used of the worker heard least")
