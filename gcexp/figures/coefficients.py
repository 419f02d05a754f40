"""A code as a matrix of numbers: one row per message, one column per coordinate of a partition, and how to decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_HELD = ("#CFE3F3", "#EEF5FA")  # pale, alternating from partition to partition
_FONT = style.LEAST
_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """The rows of one code of `gcexp.analysis.coefficients.table`.

    Shaded are the coordinates of the partitions that a message's worker holds; the lines below are the decoded sums.
    """
    rows.known(frame, "what", "worker", "round", "partition", "coordinate", "silent", "fraction")
    cells = frame[frame["what"] == "coefficient"]
    messages = list(dict.fromkeys(zip(cells["round"].astype(int), cells["worker"].astype(int), strict=True)))
    messages.sort()
    several = len({r for r, _ in messages}) > 1
    blocks = int(cells["coordinate"].max()) + 1
    partitions = int(cells["partition"].max()) + 1
    place = {message: y for y, message in enumerate(messages)}
    wide = partitions * blocks
    inches = axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols - 0.2
    widest = max(style.inches_of(style.plain(text), _FONT) for text in cells["fraction"])
    for named in (True, False):
        names = -1.6 if not several else -2.6 if named else -1.0
        left = names * max(1.0, wide / 8)
        roomy = 1.1 * widest < inches / (max(wide, 4) - left)
        if roomy:
            break
    weight = "bold" if roomy else "normal"
    for _, cell in cells.iterrows():
        i, u = int(cell["partition"]), int(cell["coordinate"])
        x, y = i * blocks + u, place[int(cell["round"]), int(cell["worker"])]
        face = _HELD[i % 2]
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8))
        look: dict[str, Any] = {"color": "0.6"} if cell["fraction"] == "0" else {"weight": weight}
        text = style.plain(cell["fraction"])
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=_FONT, **look)
    head: dict[str, Any] = {"ha": "center", "va": "bottom"}
    for i in range(partitions):
        high = -0.85 if blocks > 1 else -0.2
        axes.text((i + 0.5) * blocks, high, f"g{i}".translate(_LOW), fontsize=_FONT, **head)
        for u in range(blocks if blocks > 1 else 0):
            axes.text(i * blocks + u + 0.5, -0.12, f"({u})", fontsize=_FONT, color="0.25", **head)
    for (r, worker), y in place.items():
        short = several and not named
        name = _message(worker, r, several) if short else f"worker {worker}" + f", round {r}" * several
        axes.text(-0.15, y + 0.5, name, ha="right", va="center", fontsize=_FONT)
        if r and not worker:
            axes.axhline(y, color="0.3", linewidth=0.8)
    lines = [part for line in decoded(frame, several) for part in style.wrapped(line, inches, _FONT)]
    for number, line in enumerate(lines):
        place_of: dict[str, Any] = {"ha": "left", "va": "top", "fontsize": _FONT}
        drawn = axes.text(left, len(messages) + 0.45 + 0.62 * number, style.plain(line), **place_of)
        drawn.set_in_layout(False)  # else a long line would narrow the axes
    bottom = len(messages) + 0.45 + 0.62 * len(lines)
    axes.set(xlim=(left, max(wide, 4)), ylim=(bottom, -1.6 if blocks > 1 else -0.9))
    axes.set_axis_off()


def decoded(frame: pd.DataFrame, several: bool) -> list[str]:
    """The sums over partitions as combinations of messages, one text per silent set and coordinate."""
    weights = frame[(frame["what"] == "weight") & (frame["fraction"] != "0")]
    blocks = int(weights["coordinate"].max()) + 1
    lines = []
    for (silent, u), part in weights.groupby(["silent", "coordinate"], sort=False):
        text = ""
        for _, row in part.iterrows():
            size = row["fraction"].removeprefix("-")
            text += " + " if size == row["fraction"] else " − "
            text += ("" if size == "1" else f"{size} ") + _message(
                int(row["worker"]), int(row["round"]), several
            )
        text = text.removeprefix(" + ") if text.startswith(" + ") else "−" + text.removeprefix(" − ")
        sum_of = f"sum ({int(u)})" if blocks > 1 else "sum"
        lines.append(f"{'all answer' if silent == 'none' else f'without {silent}'}: {sum_of} = {text}")
    return lines


def _message(worker: int, r: int, several: bool) -> str:
    return f"X{worker},{r}".translate(_LOW) if several else f"f{worker}".translate(_LOW)
