"""How does a figure look? The style file, print sizes, and where title, legend and note stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from gcexp.errors import UserError, require, unknown
from gcexp.files import written

STYLE = Path(__file__).resolve().parents[2] / "conf" / "style" / "paper.mplstyle"
WIDTHS = {"single": 3.5, "wide": 5.0}  # inches: one column, one and a half
NOTE = {"fontsize": 6, "color": "0.25"}
# No dates and no versions in the bytes.
_METADATA = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}


@contextmanager
def applied(style: Path | str | None = None) -> Iterator[None]:
    """Matplotlib's own defaults and the style file, whatever the user's matplotlibrc says."""
    style = Path(style or STYLE)
    if not style.is_file():
        raise UserError(f"the style file {style} does not exist")
    with matplotlib.rc_context(fname=style):
        yield


class TableFigure(Figure):
    """A drawn table that carries its text forms: suffix to text."""

    sources: dict[str, str]


def blank(width: float, height: float, cls: type[Figure] = Figure) -> Figure:
    """Empty figure of that many inches, outside pyplot's global list."""
    figure = cls(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def plain(text: object) -> str:
    r"""Text as it is written: a dollar sign starts no formula.

    Examples
    --------
    >>> print(plain("costs $5, or $6"))
    costs \$5, or \$6
    """
    return str(text).replace("$", r"\$")


def axis_label(column: str) -> str:
    """Label of a column, with its unit.

    Examples
    --------
    >>> axis_label("simulated_time_s"), axis_label("mean_iteration_time_s"), axis_label("load")
    ('simulated time (s)', 'mean iteration time (s)', 'load')
    """
    words = column[:-2] + " (s)" if column.endswith("_s") else column
    return words.replace("_", " ")


def looks(names: list[str]) -> dict[str, dict]:
    """Colour, line style and marker of each name, from the style's cycle; the second round has open markers.

    Raises
    ------
    UserError
        If there are more names than can be told apart.
    """
    cycle = list(matplotlib.rcParams["axes.prop_cycle"])
    most = 2 * len(cycle)
    require(len(names) <= most, f"a plot tells at most {most} lines apart, got {len(names)}; split by panel")
    found = {}
    for place, name in enumerate(names):
        look = dict(cycle[place % len(cycle)])
        again = place >= len(cycle)
        # A white rim keeps markers apart where curves run into each other.
        rim = {"markerfacecolor": "white", "markeredgecolor": look["color"], "markeredgewidth": 0.9}
        found[name] = look | (rim if again else {"markeredgecolor": "white"})
    return found


def wrapped(text: str, inches: float, points: float) -> list[str]:
    """Lines of `text` that fit, by measured width; a word that does not fit alone stands alone.

    Examples
    --------
    >>> wrapped("one two three", 0.6, 8)
    ['one two', 'three']
    """
    inches *= 0.97  # letters are moved to whole pixels when drawn
    lines = []
    for part in text.splitlines():
        line = ""
        for word in part.split():
            longer = f"{line} {word}" if line else word
            if line and inches_of(longer, points) > inches:
                lines.append(line)
                longer = word
            line = longer
        if line:
            lines.append(line)
    return lines


def inches_of(text: str, points: float) -> float:
    """Width of the longest line of `text` at that font size."""
    font, measure = FontProperties(size=points), TextToPath().get_text_width_height_descent
    return max(measure(line, font, ismath=False)[0] / 72 for line in text.split("\n"))


def panels(width: float, height: float, count: int, columns: int) -> tuple[Figure, list]:
    """Figure of that width with `count` axes, each row of that height, so many columns."""
    rows = math.ceil(count / columns)
    figure = blank(width, height * rows)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[count:]:
        axes.remove()
    return figure, list(grid[:count])


def arrange(figure: Figure, title: str, note: str, handles: list, beside: bool) -> None:
    """Put title above, note below, legend at the right or below, and the axes into what is left.

    Everything is measured, so that nothing overlaps and the print size stays what it is.

    Parameters
    ----------
    figure : Figure
        With its axes drawn.
    title, note : str
        May be empty.
    handles : list of artists
        What the legend shows; none: no legend.
    beside : bool
        Legend at the right; else below the axes.
    """
    width, height = figure.get_size_inches()
    pad = 0.03
    top, bottom, right = height - pad, pad, width - pad
    size = matplotlib.rcParams["axes.titlesize"]
    lines = wrapped(title, width - 2 * pad, size)
    if lines:
        figure.text(pad / width, top / height, plain("\n".join(lines)), fontsize=size, ha="left", va="top")
        top -= len(lines) * size * 1.3 / 72 + pad
    lines = wrapped(note, width - 2 * pad, NOTE["fontsize"])
    if lines:
        figure.text(pad / width, bottom / height, plain("\n".join(lines)), ha="left", va="bottom", **NOTE)
        bottom += len(lines) * NOTE["fontsize"] * 1.35 / 72 + pad
    if handles:
        renderer = figure.canvas.get_renderer()
        for columns in (1,) if beside else (4, 3, 2, 1):
            legend = figure.legend(handles=handles, loc="upper left", ncols=columns, borderpad=0)
            box = legend.get_window_extent(renderer)
            if beside or columns == 1 or box.width / figure.dpi <= width - 2 * pad:
                break
            legend.remove()
        wide, high = box.width / figure.dpi + 2 * pad, box.height / figure.dpi + 2 * pad
        corner = (right - wide, top) if beside else ((width - wide) / 2, bottom + high)
        legend.set_bbox_to_anchor((corner[0] / width, corner[1] / height), figure.transFigure)
        if beside:
            right -= wide
        else:
            bottom += high
    rect = (pad / width, bottom / height, (right - pad) / width, (top - bottom) / height)
    figure.set_layout_engine("constrained", rect=rect, w_pad=0.02, h_pad=0.02)


def save(figure: Figure, paths: Iterable[Path | str], style: Path | str | None = None) -> None:
    """Write a figure in the formats that the suffixes say; see `gcexp.figures.save`."""
    sources = getattr(figure, "sources", {})
    with applied(style):
        for path in map(Path, paths):
            if path.suffix not in (*_METADATA, *sources):
                raise UserError(f"{path}: {unknown('format of a plot', path.suffix, (*_METADATA, *sources))}")
            with written(path) as temporary:
                if path.suffix in sources:
                    temporary.write_text(sources[path.suffix], encoding="utf-8", newline="\n")
                else:
                    figure.savefig(temporary, format=path.suffix[1:], metadata=_METADATA[path.suffix])
