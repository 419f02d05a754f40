"""The graphs of Appendix E (Figs. 5 to 8): nodes are partitions, edges are workers, and a stroke marks a straggler.

The drawings are lost in the copy at hand. What the proofs say of them is enough to draw them again: each edge sends the
plain sum of its two ends, and a node is seen if an edge at it is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.figures import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Place = tuple[float, float]


@dataclass(frozen=True)
class Graph:
    """A multigraph with a place for each node, and what is written at its edges.

    Attributes
    ----------
    places : dict
        Place of each node.
    edges : list of pairs of nodes
        Two equal ones are drawn as two arcs.
    labels : dict
        What is written at edges, by their numbers.
    names : dict
        Places of what is written beside: the names of parts.
    """

    places: dict[int, Place]
    edges: list[tuple[int, int]]
    labels: dict[int, str] = field(default_factory=dict)
    names: dict[str, Place] = field(default_factory=dict)

    def seen(self, struck: Iterable[int]) -> set[int]:
        """The nodes at which an edge is left when some edges are struck."""
        gone = set(struck)
        nodes = set[int]()
        for number, ends in enumerate(self.edges):
            if number not in gone:
                nodes.update(ends)
        return nodes


def circle(nodes: list[int], centre: Place, radius: float, first: float = pi / 2) -> dict[int, Place]:
    """Places of nodes on a circle, the first one at an angle, the others clockwise behind it."""
    places = {}
    for number, node in enumerate(nodes):
        angle = first - 2 * pi * number / len(nodes)
        places[node] = (centre[0] + radius * cos(angle), centre[1] + radius * sin(angle))
    return places


def cycle(nodes: list[int]) -> list[tuple[int, int]]:
    """The edges of a cycle through some nodes; through two of them it has two equal edges."""
    return list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))


# --- The four drawings ---------------------------------------------------------------------------------------------

_A, _B, _C = [0, 1, 2, 3, 4], [5, 6, 7], [8, 9]
_OF_A, _OF_B, _OF_C = range(5), range(5, 8), range(8, 10)  # numbers of the edges


def three_cycles(labels: dict[int, str]) -> Graph:
    """Fig. 5: n = 10 partitions and workers in a cycle of five, a triangle, and two nodes with two edges."""
    places = circle(_A, (0, 0), 1) | circle(_B, (2.5, -0.1), 0.8) | {8: (4.1, 0.6), 9: (4.1, -0.6)}
    edges = cycle(_A) + cycle(_B) + cycle(_C)
    return Graph(places, edges, labels, {"A": (0, 0), "B": (2.5, -0.1), "C": (4.1, 0)})


def path(edges: int) -> Graph:
    """Figs. 6 and 7: a path of surviving workers W1, W2, ..."""
    places = {node: (float(node), 0.0) for node in range(edges + 1)}
    labels = {edge: f"W{edge + 1}" for edge in range(edges)}
    return Graph(places, [(edge, edge + 1) for edge in range(edges)], labels)


#: Fig. 8: the edges in the order in which they are removed, and the triangle that stays.
REMOVED = [(0, 1), (1, 2), (2, 3), (4, 5), (2, 4), (6, 7), (4, 6)]
REMOVED += [(13, 10), (12, 13), (14, 15), (12, 14), (11, 12), (10, 11), (9, 16)]
STAYS = [(8, 9), (9, 10), (10, 8)]


def removal() -> Graph:
    """Fig. 8: a tree on 8 nodes, and a component of 9 nodes with a triangle, n = 17 partitions and workers."""
    places: dict[int, tuple[float, float]] = {
        0: (0, 2),
        1: (0.9, 2),
        2: (1.8, 2),
        3: (1.8, 3),
        4: (2.7, 2),
        5: (2.7, 3),
        6: (3.6, 2),
        7: (4.5, 2),
    }
    places |= {8: (0.2, -0.6), 9: (0.2, 0.5), 10: (1.2, 0), 11: (2.1, 0.6), 12: (3.0, 0), 13: (2.1, -0.6)}
    places |= {14: (3.9, 0), 15: (4.8, 0), 16: (-0.7, 0.5)}
    labels = {number: str(number + 1) for number in range(len(REMOVED))}
    return Graph(places, REMOVED + STAYS, labels)


# --- Tables --------------------------------------------------------------------------------------------------------

_COLUMNS = (
    "panel",
    "what",
    "number",
    "x",
    "y",
    "to_x",
    "to_y",
    "bend",
    "label",
    "struck",
    "seen",
    "nodes_seen",
)


@columns(*_COLUMNS)
def figure_5() -> Iterator[tuple]:
    """Two sets of four stragglers in one graph, which leave seven partitions to be seen each time."""
    left = [number for number in _OF_A if number != 0]
    yield from _drawn("left: all edges of A but e", three_cycles({0: "e"}), left)
    right = [*_OF_B, 9]
    yield from _drawn("right: all edges of B, and one of C", three_cycles({8: "e"}), right)


@columns(*_COLUMNS)
def figures_6_and_7(edges: int) -> Iterator[tuple]:
    """A path of workers that answer, without any that is struck."""
    yield from _drawn(f"a path of {edges} workers", path(edges), [])


@columns(*_COLUMNS)
def figure_8() -> Iterator[tuple]:
    """The graph with its edges numbered as they are removed, and how many nodes are seen after each removal."""
    graph = removal()
    yield from _drawn("order of removal", graph, [])
    for removed in range(len(REMOVED) + 1):
        count = len(graph.seen(range(removed)))
        yield "nodes seen", "count", removed, removed, count, None, None, 0.0, "", False, True, count


def _drawn(panel: str, graph: Graph, struck: list[int]) -> Iterator[tuple]:
    """Rows of the edges and the nodes of a graph, with the number of nodes that are seen."""
    seen = graph.seen(struck)
    for number, (one, other) in enumerate(graph.edges):
        bend = 0.0
        if graph.edges.count((one, other)) + graph.edges.count((other, one)) > 1:
            bend = 0.35
        label = graph.labels.get(number, "")
        ends = *graph.places[one], *graph.places[other]
        yield panel, "edge", number, *ends, bend, label, number in struck, True, len(seen)
    for node, (x, y) in graph.places.items():
        yield panel, "node", node, x, y, None, None, 0.0, "", False, node in seen, len(seen)
    for number, (name, (x, y)) in enumerate(graph.names.items()):
        yield panel, "name", number, x, y, None, None, 0.0, name, False, True, len(seen)


# --- Drawing -------------------------------------------------------------------------------------------------------


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """One panel: a graph, or the number of nodes that are seen."""
    rows.require_columns(frame, "what", "x", "y", "to_x", "to_y", "bend", "label", "struck", "seen")
    counts = frame[frame["what"] == "count"]
    if len(counts):
        _draw_counts(axes, counts)
        return
    for _, edge in frame[frame["what"] == "edge"].iterrows():
        _draw_edge(axes, edge)
    nodes = frame[frame["what"] == "node"]
    for seen, look, label in ((True, "0.2", "partition, seen"), (False, "white", "partition, not seen")):
        of_kind = nodes[nodes["seen"].astype(bool) == seen]
        if len(of_kind):
            places = of_kind[["x", "y"]].to_numpy(float).T
            dot: dict[str, Any] = {
                "marker": "o",
                "markersize": 6,
                "markeredgecolor": "black",
                "linestyle": "none",
            }
            axes.plot(*places, color=look, label=label, zorder=3, **dot)
    for _, name in frame[frame["what"] == "name"].iterrows():
        axes.text(name["x"], name["y"], name["label"], ha="center", va="center", fontsize=9)
    axes.set(aspect="equal")
    axes.margins(0.12)
    if np.ptp(nodes["y"]) == 0:  # a path, which leaves no room above it
        axes.set(ylim=(-0.3, 0.5))
    axes.set_axis_off()


def _draw_edge(axes: Axes, edge: pd.Series) -> None:
    """A worker as a line between its two partitions, with a stroke across it if it straggles."""
    start = np.array([edge["x"], edge["y"]], dtype=float)
    end = np.array([edge["to_x"], edge["to_y"]], dtype=float)
    along = end - start
    across = np.array([-along[1], along[0]]) / np.hypot(*along)
    share = np.linspace(0, 1, 21)[:, None]
    curve = start + share * along + 4 * edge["bend"] * share * (1 - share) * across
    struck = bool(edge["struck"])
    line: dict[str, Any] = {
        "color": "0.55" if struck else "black",
        "linewidth": 1.2,
        "linestyle": "-",
        "marker": "none",
    }
    axes.plot(*curve.T, **line)
    middle = curve[10]
    if struck:
        stroke = np.stack([middle - 0.16 * across, middle + 0.16 * across])
        axes.plot(*stroke.T, color="#B22222", linewidth=2, linestyle="-", marker="none", label="straggler")
    label = edge["label"]
    if isinstance(label, str) and label:
        axes.text(*(middle + 0.2 * across), label, ha="center", va="center", fontsize=8)


def _draw_counts(axes: Axes, counts: pd.DataFrame) -> None:
    """How many nodes are seen after each removal, and the number that the proof allows."""
    removed = rows.numbers(counts, "x")
    seen = rows.numbers(counts, "y")
    n = seen[0]
    axes.plot(removed, n - removed + 1, color="0.5", linestyle=(0, (4, 2)), marker="none", label="n − k + 1")
    axes.plot(removed, seen, color="black", linestyle="-", marker="o", markersize=3, label="nodes seen")
