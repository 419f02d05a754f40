"""One iteration as a strip per worker: when it computed and sent, when the master stopped, and what it decoded with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle

from gcexp.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COMPUTE, _SEND = "#0072B2", "#56B4E9"
_CUT: dict[str, Any] = {"facecolor": "white", "edgecolor": "0.6", "hatch": "////", "linewidth": 0.4}
_MOST = 64  # workers and partitions up to which the matrix is drawn
_BEYOND = 1.25  # of the stop: what comes later is told by the hatching alone


def strips(
    computed: np.ndarray,
    arrived: np.ndarray,
    stop: float,
    responses: np.ndarray,
    supports: list[list[np.ndarray]],
    partitions: int,
    title: str = "",
    note: str = "",
) -> Figure:
    """Gantt strips of one iteration beside the matrix of the code, which has so many partitions.

    `computed` and `arrived` (R, n) say when each worker's r-th message was computed and when it arrived, `stop` when
    the master stopped, `responses` (n,) how many messages of each worker are used, and `supports` which partitions
    are in each of its messages.
    """
    n = len(responses)
    matrix = max(n, partitions) <= _MOST
    figure = style.blank(style.SCREEN, 0.7 + 0.16 * min(n, _MOST))
    grid = figure.add_gridspec(1, 2 if matrix else 1, width_ratios=[3, 2] if matrix else None)
    left = figure.add_subplot(grid[0, 0])
    _workers(left, computed, arrived, stop, responses)
    if matrix:
        _matrix(figure.add_subplot(grid[0, 1], sharey=left), responses, supports, partitions)
    handles = [
        Patch(facecolor=_COMPUTE, label="computes"),
        Patch(facecolor=_SEND, label="sends"),
        Patch(label="not waited for", **_CUT),
    ]
    style.arrange(figure, title, note, handles, beside=False)
    return figure


def _workers(
    axes: Axes, computed: np.ndarray, arrived: np.ndarray, stop: float, responses: np.ndarray
) -> None:
    end = max(_BEYOND * stop, min(float(arrived.max()), 1.5 * stop))
    for w in range(len(responses)):
        begin = 0.0
        for done, there in zip(computed[:, w], arrived[:, w], strict=True):
            for until, colour in ((done, _COMPUTE), (there, _SEND)):
                used, late = min(until, stop), min(until, end)
                if used > begin:
                    axes.barh(w, used - begin, left=begin, height=0.7, color=colour, linewidth=0)
                if late > max(begin, stop):
                    axes.barh(w, late - max(begin, stop), left=max(begin, stop), height=0.7, **_CUT)
                begin = max(begin, until)
            axes.plot([there], [w], marker="|", markersize=5, color="black" if there <= stop else "0.6")
    axes.axvline(stop, color="#A00000", linewidth=1.2)
    axes.set(xlim=(0, end), ylim=(len(responses) - 0.4, -0.6))
    axes.set(xlabel="time (s)", ylabel="worker", title="who is heard")
    if len(responses) <= _MOST // 2:
        axes.set_yticks(range(len(responses)))
    axes.xaxis.set_major_formatter(lambda value, _: style.number(value))
    axes.grid(visible=False, axis="y")


def _matrix(axes: Axes, responses: np.ndarray, supports: list[list[np.ndarray]], partitions: int) -> None:
    cells: dict[bool, list[Rectangle]] = {True: [], False: []}
    for w, messages in enumerate(supports):
        high = 0.84 / max(1, len(messages))
        for r, support in enumerate(messages):
            for i in support:
                cells[bool(r < responses[w])].append(
                    Rectangle((i - 0.42, w - 0.42 + r * high), 0.84, high * 0.92)
                )
    for used, patches in cells.items():
        axes.add_collection(PatchCollection(patches, facecolor=_COMPUTE if used else "0.85", linewidth=0))
    axes.set(xlim=(-0.6, partitions - 0.4), xlabel="partition", title="what is decoded with")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(labelleft=False)
    axes.grid(visible=False)
