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
    figure = style.blank(style.SCREEN, 0.7 + 0.16 * min(n, _MOST))
    if max(n, partitions) <= _MOST:
        grid = figure.add_gridspec(1, 2, width_ratios=[3, 2])
        left = figure.add_subplot(grid[0, 0])
        _workers(left, computed, arrived, stop, responses)
        right = figure.add_subplot(grid[0, 1], sharey=left)
        _matrix(right, responses, supports, partitions)
    else:
        _workers(figure.add_subplot(), computed, arrived, stop, responses)
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
    """A strip for each worker: for each message a bar of computing, a bar of sending, and a mark where it arrives."""
    end = max(_BEYOND * stop, min(float(arrived.max()), 1.5 * stop))
    for worker in range(len(responses)):
        begin = 0.0
        for done, there in zip(computed[:, worker], arrived[:, worker], strict=True):
            _draw_span(axes, worker, begin, done, stop, end, _COMPUTE)
            begin = max(begin, done)
            _draw_span(axes, worker, begin, there, stop, end, _SEND)
            begin = max(begin, there)
            colour = "black" if there <= stop else "0.6"
            axes.plot([there], [worker], marker="|", markersize=5, color=colour)
    axes.axvline(stop, color="#A00000", linewidth=1.2)
    axes.set(xlim=(0, end), ylim=(len(responses) - 0.4, -0.6))
    axes.set(xlabel="time (s)", ylabel="worker", title="who is heard")
    if len(responses) <= _MOST // 2:
        axes.set_yticks(range(len(responses)))
    axes.xaxis.set_major_formatter(lambda value, _: style.number(value))
    axes.grid(visible=False, axis="y")


def _draw_span(
    axes: Axes, worker: int, begin: float, until: float, stop: float, end: float, colour: str
) -> None:
    """What a worker does from `begin` to `until`: in colour before the master stops, hatched from there to `end`."""
    used = min(until, stop)
    if used > begin:
        axes.barh(worker, used - begin, left=begin, height=0.7, color=colour, linewidth=0)
    cut_from = max(begin, stop)
    cut_to = min(until, end)
    if cut_to > cut_from:
        axes.barh(worker, cut_to - cut_from, left=cut_from, height=0.7, **_CUT)


def _matrix(axes: Axes, responses: np.ndarray, supports: list[list[np.ndarray]], partitions: int) -> None:
    """A cell for each partition in each message, coloured where the message is decoded with."""
    used: list[Rectangle] = []
    unused: list[Rectangle] = []
    for worker, messages in enumerate(supports):
        height = 0.84 / max(1, len(messages))
        for number, support in enumerate(messages):
            cells = used if number < responses[worker] else unused
            for partition in support:
                corner = (partition - 0.42, worker - 0.42 + number * height)
                cells.append(Rectangle(corner, 0.84, height * 0.92))
    axes.add_collection(PatchCollection(used, facecolor=_COMPUTE, linewidth=0))
    axes.add_collection(PatchCollection(unused, facecolor="0.85", linewidth=0))
    axes.set(xlim=(-0.6, partitions - 0.4), xlabel="partition", title="what is decoded with")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(labelleft=False)
    axes.grid(visible=False)
