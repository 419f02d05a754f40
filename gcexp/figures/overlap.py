"""Which lines of a panel hide each other, and which of their points have a marker."""

from __future__ import annotations

import numpy as np

from gcexp.figures.plots import Ends, Scale

MARKS = 9  # markers along a line of many points
#: Lines hide each other that are so near, as a share of the panel's height, at this share of their points.
_NEAR, _MOSTLY = 0.01, 0.9
_MARKER = 0.035  # height of a marker, as a share of the panel's
_MOST_POINTS = 9  # up to so many points of a line all have markers

#: A line of a panel: x and y of its points.
Line = tuple[np.ndarray, np.ndarray]


def equal_lines(
    lines: dict[str, Line], yscale: Scale = "linear", ylim: Ends | None = None
) -> dict[str, list[str]]:
    """The lines that lie on each line, or so near within the axes that they hide it, in the order of drawing.

    Lines are near each other that differ by at most one per cent of the height of all of them.
    """
    heights = _heights(lines, yscale, ylim)
    tolerance = _NEAR * _spread(heights)

    def hide_each_other(one: str, other: str) -> bool:
        if not np.array_equal(lines[one][0], lines[other][0]):
            return False
        near = np.isclose(heights[one], heights[other], rtol=0, atol=tolerance, equal_nan=True)
        return bool(near.mean() >= _MOSTLY)

    group_of: dict[str, list[str]] = {}
    for name in lines:
        group: list[str] = []
        for earlier in group_of:
            if hide_each_other(earlier, name):
                group = group_of[earlier]
                break
        group.append(name)
        group_of[name] = group
    return group_of


def marked_points(
    lines: dict[str, Line], yscale: Scale = "linear", ylim: Ends | None = None
) -> dict[str, list[int]]:
    """The points of each line that have a marker, so that no marker hides another one.

    Where several lines meet, the one with the smallest share of its markers has it. Lines of many points take turns.

    >>> x = np.arange(3.0)
    >>> marked_points({"a": (x, x), "b": (x, x), "c": (x, x + 9)})
    {'a': [0, 2], 'b': [1], 'c': [0, 1, 2]}
    """
    heights = _heights(lines, yscale, ylim)
    apart = _MARKER * _spread(heights)
    marked: dict[str, list[int]] = {name: [] for name in lines}

    def share_marked(name: str) -> tuple[float, int]:
        count = len(lines[name][0])
        return len(marked[name]) / count, count

    every_x = np.unique(np.concatenate([x for x, _ in lines.values()]))
    for x in every_x:
        points = _points_to_mark(lines, heights, x)
        taken: list[float] = []
        for name in sorted(points, key=share_marked):
            height = heights[name][points[name]]
            if all(abs(height - other) >= apart for other in taken):
                taken.append(height)
                marked[name].append(points[name])
    return marked


def _points_to_mark(lines: dict[str, Line], heights: dict[str, np.ndarray], x: float) -> dict[str, int]:
    """The point at x of each line that has one whose turn it is."""
    found = {}
    for number, (name, (places, _)) in enumerate(lines.items()):
        point = int(np.searchsorted(places, x))
        if point == len(places) or places[point] != x:
            continue
        turns = _turns(len(places), len(lines))
        its_turn = point % turns == number % turns
        if its_turn and np.isfinite(heights[name][point]):
            found[name] = point
    return found


def _turns(points: int, lines: int) -> int:
    """Every how many points a line has a marker."""
    if points <= _MOST_POINTS:
        return 1
    return max(lines, -(-points // MARKS))


def _heights(lines: dict[str, Line], yscale: Scale, ylim: Ends | None) -> dict[str, np.ndarray]:
    """Where the points of each line stand in the axes, up to a factor."""
    low, high = ylim or (None, None)
    heights = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, (_, y) in lines.items():
            heights[name] = np.clip(y, low, high)
            if yscale == "log":
                heights[name] = np.log(heights[name])
    return heights


def _spread(heights: dict[str, np.ndarray]) -> float:
    """From the lowest to the highest point of all lines."""
    every = np.concatenate([*heights.values(), np.empty(0)])
    finite = every[np.isfinite(every)]
    if not len(finite):
        return 0.0
    return float(np.ptp(finite))
