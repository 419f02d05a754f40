"""The look of figures: the style file, print sizes, and the places of title, legend and note."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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
from gcexp.figures.stylefiles import STYLE, known_looks
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
def applied(style: Path | str | None = None) -> Iterator[None]:
    """Matplotlib's own defaults and the style file, whatever the user's matplotlibrc says."""
    style = Path(style or STYLE)
    require(style.is_file(), f"the style file {style} does not exist")
    try:  # else matplotlib would leave out what it does not understand
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
    words = column[:-2] + " (s)" if column.endswith("_s") else column
    return words.replace("_", " ")


def looks(names: list[str], apart: bool = False) -> dict[str, dict]:
    """Colour, line style and marker of each name: one look per scheme, the same in every figure.

    A name without one in ``looks.toml`` gets it by a hash of its text, or the next free one if that is taken. With
    `apart` names to which ``looks.toml`` gives one look are told apart, and the first one keeps it.
    """
    cycle, table = list(matplotlib.rcParams["axes.prop_cycle"]), known_looks()
    every = [(look, again) for again in (False, True) for look in range(len(cycle))]
    most = len(every)
    require(len(names) <= most, f"a plot tells at most {most} lines apart, got {len(names)}; split by panel")
    found: dict[str, tuple[int, bool]] = {}
    for name in names:
        if name in table and not (apart and table[name] in found.values()):
            found[name] = table[name]
    for name in names:
        if name not in found:
            first = int.from_bytes(sha256(name.encode()).digest()[:4]) % most
            free = [look for look in every[first:] + every[:first] if look not in found.values()]
            seen = {colour for colour, _ in found.values()}
            found[name] = next((look for look in free if look[0] not in seen and not look[1]), free[0])
    looks = {}
    for name in names:
        place, again = found[name]
        look = dict(cycle[place % len(cycle)])
        # A white rim keeps markers apart where curves run into each other.
        rim = {"markerfacecolor": "white", "markeredgecolor": look["color"], "markeredgewidth": 0.9}
        looks[name] = look | (rim if again else {"markeredgecolor": "white"})
    return looks


def wrapped(text: str, inches: float, points: float) -> list[str]:
    """Lines of `text` that fit, by measured width; a word that does not fit alone stands alone.

    A line never ends inside a short formula such as ``P = 5`` or ``n - s``, a unit such as ``(time units)``, nor
    before a per cent sign.
    """
    inches *= 0.95  # letters are moved to whole pixels when drawn
    lines = []
    for part in text.splitlines():
        line = ""
        for word in _unbroken(part.split()):
            longer = f"{line} {word}" if line else word
            if line and inches_of(longer, points) > inches:
                lines.append(line)
                longer = word
            line = longer
        if line:
            lines.append(line)
    return lines


_SIGNS = ("=", "<", ">", "≤", "≥", "+", "-", "%")
_SHORT = 6  # letters of a side of a formula, with comma or bracket


def _unbroken(words: list[str]) -> list[str]:
    """Words, with those joined that belong to one short formula or unit."""
    joined: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        sign_here = word.rstrip(",;.:)") in _SIGNS and len(before) <= _SHORT
        sign_before = before in _SIGNS and len(word) <= _SHORT
        opened = bool(joined) and joined[-1].startswith("(") and ")" not in joined[-1]
        if joined and (sign_here or sign_before or (opened and len(joined[-1]) <= _SHORT)):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined


def plain_decades(axes: Axes) -> None:
    """Write 1, 10, 100 at a log axis, not powers of ten, as long as these are short."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        if axis.get_scale() == "log" and low >= 1e-3 and high < 1e5:
            axis.set_major_formatter(lambda value, _: number(value))
            axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.5)))  # within a decade


def inches_of(text: str, points: float) -> float:
    """Width of the longest line of `text` at that font size."""
    font, measure = FontProperties(size=points), TextToPath().get_text_width_height_descent
    return max(measure(line, font, ismath=False)[0] / 72 for line in text.split("\n"))


def arrange(figure: Figure, title: str, note: str, handles: list, beside: bool) -> None:
    """Put title above, note below, and the legend at the right or below; the figure grows by what these need.

    Everything is measured, so that nothing overlaps and the print width stays what it is. A legend stands `beside`
    the axes unless it takes more than a third of the width. A figure with a letter below `LEAST` is refused.
    """
    width, height = figure.get_size_inches()
    size = matplotlib.rcParams["axes.titlesize"]
    head = wrapped(title, width - 2 * PAD, size)
    foot = wrapped(note, width - 2 * PAD, NOTE["fontsize"])
    above = PAD + (len(head) * size * 1.3 / 72 + PAD if head else 0)
    noted = PAD + (len(foot) * NOTE["fontsize"] * 1.35 / 72 + PAD if foot else 0)
    legend, wide, high, beside = _legend(figure, handles, beside) if handles else (None, 0, 0, False)
    right = wide + 2 * PAD if beside else 0
    below = noted + (high + 2 * PAD if legend and not beside else 0)
    height = above + below + max(height, high if beside else 0)
    figure.set_size_inches(width, height)
    if head:
        look: dict[str, Any] = {"fontsize": size, "ha": "left", "va": "top"}
        figure.text(PAD / width, 1 - PAD / height, plain("\n".join(head)), **look)
    if foot:
        figure.text(PAD / width, PAD / height, plain("\n".join(foot)), ha="left", va="bottom", **NOTE)
    if legend:
        corner = (width - right, height - above) if beside else ((width - wide) / 2, noted + high + PAD)
        legend.set_bbox_to_anchor((corner[0] / width, corner[1] / height), figure.transFigure)
    rect = (PAD / width, below / height, (width - right - 2 * PAD) / width, (height - above - below) / height)
    figure.set_layout_engine("constrained", rect=rect, w_pad=0.02, h_pad=0.05)
    check_letters(figure)


def check_letters(figure: Figure) -> None:
    """Raise for a text that is too small for print."""
    for text in figure.findobj(Text):
        shown = text.get_visible() and text.get_text().strip()
        if shown and text.get_fontsize() < LEAST:
            raise UserError(
                f"the text {quoted(text.get_text())} of a figure has {text.get_fontsize():g} points, and print needs at"
                f" least {LEAST}: make it larger in the style file, or in the function that draws it"
            )


def _legend(figure: Figure, handles: list, beside: bool) -> tuple[Legend, float, float, bool]:
    """Legend, its inches, and whether it stands beside the axes; below them, as few rows as fit, evenly filled."""
    width = figure.get_figwidth()

    def made(columns: int) -> tuple[Legend, float, float]:
        legend = figure.legend(handles=handles, loc="upper left", ncols=columns, borderpad=0, borderaxespad=0)
        box = legend.get_window_extent(figure.canvas.get_renderer())
        return legend, box.width / figure.dpi, box.height / figure.dpi

    if beside:
        legend, wide, high = made(1)
        if wide <= width / 3:
            return legend, wide, high, True
        legend.remove()
    for rows in range(math.ceil(len(handles) / 4), len(handles) + 1):
        legend, wide, high = made(math.ceil(len(handles) / rows))
        if wide <= width - 2 * PAD or rows == len(handles):
            break
        legend.remove()
    return legend, wide, high, False


def save(figure: Figure, paths: Iterable[Path | str], style: Path | str | None = None) -> None:
    """Write a figure in the formats that the suffixes say; see `gcexp.figures.save`."""
    with applied(style):
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
    own, dpi = figure.dpi, matplotlib.rcParams["savefig.dpi"]
    figure.set_dpi(own if dpi == "figure" else dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    few = drawn.quantize(256, dither=Image.Dither.NONE)
    few.save(path, format="PNG", optimize=True, dpi=(figure.dpi, figure.dpi))
    figure.set_dpi(own)


def _settle(figure: Figure) -> None:
    """Lay the axes out for good, in millionths of the figure.

    The solver behind the layout orders its variables by address, so that its last bits differ from process to process,
    and now and then a pixel with them.
    """
    if (engine := figure.get_layout_engine()) is None:
        return  # saved before
    engine.execute(figure)
    figure.set_layout_engine(None)  # "none" would draw once more before every file, to lay nothing out
    for axes in figure.axes:
        axes.set_position([round(float(edge), 6) for edge in axes.get_position(original=True).bounds])
