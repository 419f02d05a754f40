"""A code as a matrix of numbers: one row per message, one column per coordinate of a partition, and how to decode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_HELD = ("#CFE3F3", "#EEF5FA")  # pale, alternating from partition to partition
_FONT = style.LEAST
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LEAST_COLUMNS = 4  # that the axes have room for
_LINE = 0.62  # rows that a line of text below the matrix takes
_LETTERS: dict[str, Any] = {"fontsize": _FONT, "va": "center"}
_HEAD: dict[str, Any] = {"fontsize": _FONT, "ha": "center", "va": "bottom"}


@dataclass(frozen=True)
class _Message:
    """The message that a worker sends in a round."""

    round: int
    worker: int


@dataclass(frozen=True)
class _Matrix:
    """The rows and columns of a code: a row for each message, a column for each coordinate of each partition."""

    messages: list[_Message]
    partitions: int
    blocks: int

    @property
    def columns(self) -> int:
        return self.partitions * self.blocks

    @property
    def several_rounds(self) -> bool:
        return len({message.round for message in self.messages}) > 1


@dataclass(frozen=True)
class _Room:
    """How matrix and names share the width of the axes, in columns of the matrix."""

    left: float  # where the names begin, left of zero
    full_names: bool  # of messages, else short ones
    bold: bool  # whether bold numbers fit into the cells


def draw(axes: Axes, frame: pd.DataFrame) -> None:
    """The rows of one code of `gcexp.analysis.coefficients.table`.

    Shaded are the coordinates of the partitions that a message's worker holds; the lines below are the decoded sums.
    """
    rows.require_columns(frame, "what", "worker", "round", "partition", "coordinate", "silent", "fraction")
    cells = frame[frame["what"] == "coefficient"]
    matrix = _matrix_of(cells)
    inches = axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols - 0.2
    room = _room(matrix, cells, inches)
    _draw_cells(axes, cells, matrix, room)
    _write_heads(axes, matrix)
    _write_names(axes, matrix, room)
    bottom = _write_sums(axes, decoded_sums(frame, matrix.several_rounds), matrix, room, inches)
    top = -1.6 if matrix.blocks > 1 else -0.9
    axes.set(xlim=(room.left, max(matrix.columns, _LEAST_COLUMNS)), ylim=(bottom, top))
    axes.set_axis_off()


def decoded_sums(frame: pd.DataFrame, several_rounds: bool) -> list[str]:
    """The sums over partitions as combinations of messages, one text per silent set and coordinate."""
    weights = frame[(frame["what"] == "weight") & (frame["fraction"] != "0")]
    blocks = int(weights["coordinate"].max()) + 1
    lines = []
    for (silent, block), terms in weights.groupby(["silent", "coordinate"], sort=False):
        case = "all answer" if silent == "none" else f"without {silent}"
        sum_of = f"sum ({int(block)})" if blocks > 1 else "sum"
        lines.append(f"{case}: {sum_of} = {_combination(terms, several_rounds)}")
    return lines


def _combination(terms: pd.DataFrame, several_rounds: bool) -> str:
    """A sum of messages with their weights, as in 2 f₀ − f₁."""
    text = ""
    for _, term in terms.iterrows():
        weight = term["fraction"]
        size = weight.removeprefix("-")
        message = _short_name(_Message(int(term["round"]), int(term["worker"])), several_rounds)
        product = message if size == "1" else f"{size} {message}"
        is_negative = size != weight
        if text and is_negative:
            text += f" − {product}"
        elif text:
            text += f" + {product}"
        elif is_negative:
            text = f"−{product}"
        else:
            text = product
    return text


def _short_name(message: _Message, several_rounds: bool) -> str:
    """A message as formulas write it."""
    name = f"f{message.worker}"
    if several_rounds:
        name = f"X{message.worker},{message.round}"
    return name.translate(_SUBSCRIPTS)


def _matrix_of(cells: pd.DataFrame) -> _Matrix:
    """The messages in the order of rounds and workers, and the columns."""
    pairs = zip(cells["round"].astype(int), cells["worker"].astype(int), strict=True)
    messages = [_Message(number, worker) for number, worker in sorted(set(pairs))]
    partitions = int(cells["partition"].max()) + 1
    blocks = int(cells["coordinate"].max()) + 1
    return _Matrix(messages, partitions, blocks)


def _room(matrix: _Matrix, cells: pd.DataFrame, inches: float) -> _Room:
    """Full names of messages where bold numbers fit beside them, else short ones."""
    widest = max(style.inches_of(style.plain(text), _FONT) for text in cells["fraction"])
    for full_names in (True, False):
        if not matrix.several_rounds:
            names = -1.6
        elif full_names:
            names = -2.6
        else:
            names = -1.0
        left = names * max(1.0, matrix.columns / 8)
        inches_of_a_cell = inches / (max(matrix.columns, _LEAST_COLUMNS) - left)
        bold = 1.1 * widest < inches_of_a_cell
        if bold:
            break
    return _Room(left, full_names, bold)


def _draw_cells(axes: Axes, cells: pd.DataFrame, matrix: _Matrix, room: _Room) -> None:
    """A shaded square with its coefficient for each that the table has; zeros are pale."""
    row_of = {message: row for row, message in enumerate(matrix.messages)}
    for _, cell in cells.iterrows():
        partition = int(cell["partition"])
        x = partition * matrix.blocks + int(cell["coordinate"])
        y = row_of[_Message(int(cell["round"]), int(cell["worker"]))]
        face = _HELD[partition % 2]
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8))
        if cell["fraction"] == "0":
            look: dict[str, Any] = {"color": "0.6"}
        else:
            look = {"weight": "bold" if room.bold else "normal"}
        axes.text(x + 0.5, y + 0.5, style.plain(cell["fraction"]), ha="center", **_LETTERS, **look)


def _write_heads(axes: Axes, matrix: _Matrix) -> None:
    """The gradient of a partition over its columns, and the coordinate over each column."""
    several_blocks = matrix.blocks > 1
    y = -0.85 if several_blocks else -0.2
    for partition in range(matrix.partitions):
        name = f"g{partition}".translate(_SUBSCRIPTS)
        axes.text((partition + 0.5) * matrix.blocks, y, name, **_HEAD)
        if several_blocks:
            for block in range(matrix.blocks):
                x = partition * matrix.blocks + block + 0.5
                axes.text(x, -0.12, f"({block})", color="0.25", **_HEAD)


def _write_names(axes: Axes, matrix: _Matrix, room: _Room) -> None:
    """The name of each message at the left of its row, and a line between rounds."""
    for row, message in enumerate(matrix.messages):
        if not matrix.several_rounds:
            name = f"worker {message.worker}"
        elif room.full_names:
            name = f"worker {message.worker}, round {message.round}"
        else:
            name = _short_name(message, several_rounds=True)
        axes.text(-0.15, row + 0.5, name, ha="right", **_LETTERS)
        if message.round and not message.worker:
            axes.axhline(row, color="0.3", linewidth=0.8)


def _write_sums(axes: Axes, sums: list[str], matrix: _Matrix, room: _Room, inches: float) -> float:
    """The decoded sums below the matrix, wrapped to the width of the axes; return where they end."""
    lines: list[str] = []
    for text in sums:
        lines += style.wrap(text, inches, _FONT)
    y = len(matrix.messages) + 0.45
    for number, line in enumerate(lines):
        place = y + _LINE * number
        text = axes.text(room.left, place, style.plain(line), ha="left", va="top", fontsize=_FONT)
        text.set_in_layout(False)  # else a long line would narrow the axes
    return y + _LINE * len(lines)
