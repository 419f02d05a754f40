"""The look of figures: the style file, print sizes, and the places of title, legend and note."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.ticker import LogFormatter
from PIL import Image

from gcexp.errors import UserError, require, require_known
from gcexp.figures.signs import minus
from gcexp.figures.stylefiles import STYLE, Look, known_looks
from gcexp.files import written
from gcexp.schema import quoted

LEAST = 7  # points of a letter: smaller ones are not read in print
SCREEN = 5.0  # inches of a figure that is shown, not printed
NOTE: dict[str, Any] = {"fontsize": LEAST, "color": "0.25"}
PAD = 0.03  # inches around words
LINE = 0.14  # inches: a further line of a title or label
# Formats; no dates and no versions in the bytes.
_METADATA = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
    ".png": {},
}


@contextmanager
def use_style(style: Path | str | None = None) -> Iterator[None]:
    """Matplotlib's own defaults and the style file, whatever the user's matplotlibrc says."""
    style = Path(style or STYLE)
    require(style.is_file(), f"the style file {style} does not exist")
    try:
        # Without this check matplotlib would leave out what it does not understand.
        matplotlib.rc_params_from_file(style, fail_on_error=True, use_default_template=False)
    except (ValueError, TypeError) as error:
        raise UserError(f"{style}: {' '.join(str(error).split())}") from None
    with matplotlib.rc_context(fname=style):
        yield


class Shown(Figure):
    """A figure that a notebook shows as the last value of a cell, though pyplot knows nothing of it."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


def blank(width: float, height: float) -> Figure:
    """Empty figure of that many inches, outside pyplot's global list."""
    figure = Shown(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def plain(text: object) -> str:
    """Text as it is written: a dollar sign starts no formula, and what means minus is a minus sign."""
    return minus(text).replace("$", r"\$")


def number(value: float) -> str:
    """A number at an axis, as short as it is read, with a minus sign and no hyphen."""
    return minus(f"{value:g}")


def axis_label(column: str) -> str:
    """Label of a column, with its unit: mean iteration time (s)."""
    if column.endswith("_s"):
        column = f"{column.removesuffix('_s')} (s)"
    return column.replace("_", " ")


def looks(names: list[str], apart: bool = False) -> dict[str, dict]:
    """Colour, line style and marker of each name: one look per scheme, the same in every figure.

    A name without one in ``looks.toml`` gets it by a hash of its text, or the next free one if that is taken. With
    `apart` names to which ``looks.toml`` gives one look are told apart, and the first one keeps it.
    """
    cycle = list(matplotlib.rcParams["axes.prop_cycle"])
    every = []
    for is_open in (False, True):
        every += [Look(place, is_open) for place in range(len(cycle))]
    most = len(every)
    require(len(names) <= most, f"a plot tells at most {most} lines apart, got {len(names)}; split by panel")
    known = known_looks()
    look_of: dict[str, Look] = {}
    for name in names:
        if name not in known:
            continue
        is_taken = known[name] in look_of.values()
        if not (apart and is_taken):
            look_of[name] = known[name]
    for name in names:
        if name not in look_of:
            look_of[name] = _free_look(name, every, taken=list(look_of.values()))
    return {name: _arguments_of(look_of[name], cycle) for name in names}


def _free_look(name: str, every: list[Look], taken: list[Look]) -> Look:
    """The first look from a hash of the name on that is free; one with a filled marker and a free colour before all."""
    first = int.from_bytes(sha256(name.encode()).digest()[:4]) % len(every)
    in_turn = every[first:] + every[:first]
    free = [look for look in in_turn if look not in taken]
    colours = {look.place for look in taken}
    for look in free:
        if look.place not in colours and not look.is_open:
            return look
    return free[0]


def _arguments_of(look: Look, cycle: list[dict]) -> dict[str, Any]:
    """What a look is in matplotlib's words."""
    found = dict(cycle[look.place % len(cycle)])
    if look.is_open:
        rim = {"markerfacecolor": "white", "markeredgecolor": found["color"], "markeredgewidth": 0.9}
        return found | rim
    return found | {"markeredgecolor": "white"}  # which keeps markers apart where curves run into each other


def wrap(text: str, inches: float, points: float) -> list[str]:
    """Lines of `text` that fit, by measured width; a word that does not fit alone stands alone.

    A line never ends inside a short formula such as ``P = 5`` or ``n - s``, a unit such as ``(time units)``, nor
    before a per cent sign.
    """
    inches *= 0.95  # letters are moved to whole pixels when drawn
    space = inches_of(" ", points)
    lines = []
    for part in text.splitlines():
        line: list[str] = []
        length = 0.0  # with a space behind each word
        for word in _join_formulas(part.split()):
            width = inches_of(word, points)
            if line and length + width > inches:
                lines.append(" ".join(line))
                line, length = [], 0.0
            line.append(word)
            length += width + space
        if line:
            lines.append(" ".join(line))
    return lines


_SIGNS = ("=", "<", ">", "≤", "≥", "+", "-", "%")
_SHORT = 6  # letters of a side of a formula, with comma or bracket


def _join_formulas(words: list[str]) -> list[str]:
    """Words, with those joined that belong to one short formula or unit."""
    joined: list[str] = []
    before = ""
    for word in words:
        sign_behind_a_short_word = word.rstrip(",;.:)") in _SIGNS and len(before) <= _SHORT
        short_word_behind_a_sign = before in _SIGNS and len(word) <= _SHORT
        in_brackets = bool(joined) and _is_open(joined[-1])
        if joined and (sign_behind_a_short_word or short_word_behind_a_sign or in_brackets):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
        before = word
    return joined


def _is_open(text: str) -> bool:
    """Whether a text opens a bracket, is short, and does not close it."""
    return text.startswith("(") and ")" not in text and len(text) <= _SHORT


def write_beside(axes: Axes, height: float, text: str) -> None:
    """Write a small text at the right of the axes, at a height of their own."""
    look: dict[str, Any] = {"fontsize": LEAST, "ha": "left", "va": "center", "color": "0.2"}
    axes.text(1.015, height, text, transform=axes.get_yaxis_transform(), **look)


def name_rows(axes: Axes, names: list[str], inches: float, shown: bool) -> None:
    """Set rows from top to bottom, with their names at the left, wrapped to so many inches, if they are shown."""
    size = matplotlib.rcParams["ytick.labelsize"]
    texts = [plain("\n".join(wrap(name, inches, size))) for name in names]
    axes.set_yticks(range(len(names)), texts)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelleft=shown)


def plain_decades(axes: Axes) -> None:
    """Write 1, 10, 100 at a log axis, not powers of ten, as long as these are short."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        if axis.get_scale() == "log" and low >= 1e-3 and high < 1e5:
            axis.set_major_formatter(lambda value, _: number(value))
            axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.5)))  # within a decade


def inches_of(text: str, points: float) -> float:
    """Width of the longest line of `text` at that font size."""
    font = FontProperties(size=points)
    measure = TextToPath().get_text_width_height_descent
    widths = [measure(line, font, ismath=False)[0] / 72 for line in text.split("\n")]
    return max(widths)


def arrange(figure: Figure, title: str, note: str, handles: list, beside: bool) -> None:
    """Put title above, note below, and the legend at the right or below; the figure grows by what these need.

    Everything is measured, so that nothing overlaps and the print width stays what it is. A legend stands `beside`
    the axes unless it takes more than a third of the width. A figure with a letter below `LEAST` is refused.
    """
    width, height = figure.get_size_inches()
    title_size = matplotlib.rcParams["axes.titlesize"]
    title_lines = wrap(title, width - 2 * PAD, title_size)
    note_lines = wrap(note, width - 2 * PAD, NOTE["fontsize"])
    above = PAD + _height_of(title_lines, title_size, spacing=1.3)
    for_note = PAD + _height_of(note_lines, NOTE["fontsize"], spacing=1.35)
    legend = None
    if handles:
        legend = _add_legend(figure, handles, beside)
    below = for_note
    right = 0.0
    if legend is not None and legend.beside:
        right = legend.width + 2 * PAD
        height = max(height, legend.height)
    elif legend is not None:
        below += legend.height + 2 * PAD
    height = above + below + height
    figure.set_size_inches(width, height)
    left = PAD / width
    top = 1 - PAD / height
    bottom = PAD / height
    if title_lines:
        text = plain("\n".join(title_lines))
        figure.text(left, top, text, fontsize=title_size, ha="left", va="top")
    if note_lines:
        text = plain("\n".join(note_lines))
        figure.text(left, bottom, text, ha="left", va="bottom", **NOTE)
    if legend is not None:
        x = width - right
        y = height - above
        if not legend.beside:
            x = (width - legend.width) / 2
            y = for_note + legend.height + PAD
        legend.artist.set_bbox_to_anchor((x / width, y / height), figure.transFigure)
    rect = (PAD / width, below / height, (width - right - 2 * PAD) / width, (height - above - below) / height)
    figure.set_layout_engine("constrained", rect=rect, w_pad=0.02, h_pad=0.05)
    check_letters(figure)


def _height_of(lines: list[str], points: float, spacing: float) -> float:
    """Inches of words and of the pad behind them; none where there are no words."""
    if not lines:
        return 0.0
    return len(lines) * points * spacing / 72 + PAD


def check_letters(figure: Figure) -> None:
    """Raise for a text that is too small for print."""
    for text in figure.findobj(Text):
        shown = text.get_visible() and text.get_text().strip()
        if shown and text.get_fontsize() < LEAST:
            raise UserError(
                f"the text {quoted(text.get_text())} of a figure has {text.get_fontsize():g} points, and print needs at"
                f" least {LEAST}: make it larger in the style file, or in the function that draws it"
            )


@dataclass(frozen=True)
class _SizedLegend:
    """A legend of a figure, its inches, and whether it stands beside the axes or below them."""

    artist: Legend
    width: float
    height: float
    beside: bool


def _add_legend(figure: Figure, handles: list, beside: bool) -> _SizedLegend:
    """A legend beside the axes if that is wanted and it fits; else below them, in as few rows as fit, evenly filled."""
    width = figure.get_figwidth()
    if beside:
        legend = _legend_of_columns(figure, handles, columns=1, beside=True)
        if legend.width <= width / 3:
            return legend
        legend.artist.remove()
    for rows in range(math.ceil(len(handles) / 4), len(handles)):
        legend = _legend_of_columns(figure, handles, columns=math.ceil(len(handles) / rows))
        if legend.width <= width - 2 * PAD:
            return legend
        legend.artist.remove()
    return _legend_of_columns(figure, handles, columns=1)


def _legend_of_columns(figure: Figure, handles: list, columns: int, *, beside: bool = False) -> _SizedLegend:
    """A legend of so many columns at the upper left, with its size."""
    artist = figure.legend(handles=handles, loc="upper left", ncols=columns, borderpad=0, borderaxespad=0)
    box = artist.get_window_extent(figure.canvas.get_renderer())
    return _SizedLegend(artist, box.width / figure.dpi, box.height / figure.dpi, beside)


def save(figure: Figure, paths: Iterable[Path | str], style: Path | str | None = None) -> None:
    """Write a figure in the formats that the suffixes say; see `gcexp.figures.save`."""
    with use_style(style):
        _settle(figure)
        for path in map(Path, paths):
            require_known("format of a plot", path.suffix, _METADATA, str(path))
            with written(path) as temporary:
                if path.suffix == ".png":
                    _save_png(figure, temporary)
                else:
                    figure.savefig(temporary, format=path.suffix[1:], metadata=_METADATA[path.suffix])


def _save_png(figure: Figure, path: Path) -> None:
    """Store the 256 colours that fit the pixels best: a third of the bytes, and no difference that is seen."""
    own_dpi = figure.dpi
    dpi = matplotlib.rcParams["savefig.dpi"]
    if dpi != "figure":
        figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    few = drawn.quantize(256, dither=Image.Dither.NONE)
    few.save(path, format="PNG", optimize=True, dpi=(figure.dpi, figure.dpi))
    figure.set_dpi(own_dpi)


def _settle(figure: Figure) -> None:
    """Lay the axes out for good, in millionths of the figure.

    The solver behind the layout orders its variables by address, so that its last bits differ from process to process,
    and now and then a pixel with them.
    """
    engine = figure.get_layout_engine()
    if engine is None:  # saved before
        return
    engine.execute(figure)
    figure.set_layout_engine(None)  # "none" would draw once more before every file, to lay nothing out
    for axes in figure.axes:
        bounds = axes.get_position(original=True).bounds
        axes.set_position([round(float(edge), 6) for edge in bounds])
