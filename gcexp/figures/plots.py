"""The keys of ``plot`` in a figure file: one frozen dataclass per kind. Checking them needs no matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gcexp.errors import ParameterError, UserError, require, require_known, unknown
from gcexp.schema import fill, is_number, quoted

Scale = Literal["linear", "log"]
Width = Literal["single", "double"]
WIDTHS = {"single": 3.5, "double": 7.16}  # inches: one column of a paper, and two
_MOST_INCHES = 20  # of a panel's height, or a figure's width
Ends = tuple[float | None, float | None]  # an open end follows the data
Words = str | dict | None  # one text, or one per panel

CLOCK = "simulated_time_s"


@dataclass(frozen=True, kw_only=True)
class Plot:
    """What all kinds have: rows that are chosen, and columns that the table must have."""

    where: dict = field(default_factory=dict)

    def __post_init__(self):
        for column, wanted in self.where.items():
            values = wanted if isinstance(wanted, list) else [wanted]
            plain = all(value is None or isinstance(value, str | int | float) for value in values)
            if not values or not plain:
                raise ParameterError(
                    f"where: {column} must be a value or a list of values, got {quoted(wanted)}"
                )

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that tell rows apart."""
        return (*self._columns_under("by", "colour", "mean_by", "panel", "threshold"), *self.where)

    @property
    def columns_drawn(self) -> tuple[str, ...]:
        """Columns that the table must have."""
        return (*self.keys, *self._columns_under("x", "y", "reference"))

    def _columns_under(self, *fields: str) -> list[str]:
        """The columns that stand under some fields, as far as the kind has them."""
        found = []
        for name in fields:
            value = getattr(self, name, None)
            if isinstance(value, str):
                found.append(value)
        return found


@dataclass(frozen=True, kw_only=True)
class Drawn(Plot):
    """What all kinds but the table have: panels, and a width."""

    panel: str | None = None
    panel_titles: Words = None
    width: Width = "single"

    def __post_init__(self):
        super().__post_init__()
        for name in ("panel_titles", "xlabel", "ylabel"):
            given = getattr(self, name, None)
            _check_words(name, given)
            for_each_panel = isinstance(given, dict) or (name == "panel_titles" and given is not None)
            if for_each_panel and self.panel is None:
                raise ParameterError(f"{name} needs a panel, got {given}")
        titles = self.panel_titles
        if isinstance(titles, str) and titles.count("{}") != 1:
            raise ParameterError(
                f"panel_titles must be a mapping, or a text with one {{}} for the value, got {titles!r}"
            )


def _check_finite(name: str, value: float | None) -> None:
    require(value is None or math.isfinite(value), f"{name} must be finite, got {value}")


def _check_words(name: str, texts: object) -> None:
    """Whether every value of a mapping is a text, or a number that is written as one."""
    if not isinstance(texts, Mapping):
        return
    for key, text in texts.items():
        written = isinstance(text, str | int | float) and not isinstance(text, bool)
        require(written, f"{name}: {key} must be a text, got {text!r}")


def _check_ends(name: str, ends: Ends | None, log: bool = False) -> None:
    """Whether the ends of an axis are finite and rising, and those of a log axis positive."""
    given = [end for end in ends or () if end is not None]
    for end in given:
        _check_finite(name, end)
    if len(given) == 2 and given[0] >= given[1]:
        raise ParameterError(f"{name} must be two rising numbers, got {ends}")
    if log and any(end <= 0 for end in given):
        raise ParameterError(f"{name} of a log axis must be positive numbers, got {ends}")


@dataclass(frozen=True, kw_only=True)
class LinesPlot(Drawn):
    """Lines over a number; over seeds, the median or mean and a band.

    Parameters
    ----------
    x, y : str
        Columns.
    by : str
        Column that names the lines.
    where : mapping
        Column to the value, or list of values, of the rows that are drawn.
    panel : str, optional
        Column whose values become panels side by side.
    panel_titles : str or mapping, optional
        Titles of the panels: a text with ``{}`` for the value, or a text for each value. By default a text stands for
        itself, and a number as ``n = 12``.
    xlim, ylim : (float, float), optional
        Ends of the axes; null leaves one open, so that it follows the data.
    level : float or list of float, optional
        Heights of dashed lines.
    slope : float, optional
        Power of x that a thin guide from the first point of the first line grows with, on two log axes.
    threshold : str, optional
        Column with the places of upright dotted lines, such as one per panel.
    threshold_label : str
        What they are.
    xlabel, ylabel : str or mapping, optional
        Axis labels, the same for all panels or one for each; by default the column's name, with its unit.
    xscale : {"linear", "log"}, optional
        By default linear; where curves over the clock end at very different times, and no `xlim` is given, logarithmic,
        so that the slowest line does not push all others to the left edge.
    yscale : {"linear", "log"}
        Scale.
    steps : bool, optional
        Whether y holds from one x to the next, and seeds have x of their own: curves over a clock. Else all seeds have
        the same x. By default true where x is the simulated clock.
    band : {"quartiles", "range", "interval", "none"}
        What the shade over seeds spans; the line is their mean with the 95 % ``interval`` of the mean, else the median.
    colour : str, optional
        Column whose values have a colour each: lines with equal values differ in dashes and markers only.
    dashed : list of str
        Lines that are bounds or references: thin, dashed, without markers.
    time_to : float, optional
        Score of curves over a clock: further panels show when each line first reaches it, the median over seeds and its
        interval by the sign test, which covers 93.75 % with five seeds. A line that begins above the score, as a loss
        does, has to fall to it.
    names : mapping
        What a line is called on the drawing, where that is not its name in the table.
    width : {"single", "double"}
        One column with the legend below, or two, where the legend of a single panel stands at the right.
    """

    x: str = CLOCK
    y: str = "test_accuracy"
    by: str = "label"
    xlim: Ends | None = None
    ylim: Ends | None = None
    level: float | tuple[float, ...] | None = None
    slope: float | None = None
    threshold: str | None = None
    threshold_label: str = "threshold"
    xlabel: Words = None
    ylabel: Words = None
    xscale: Scale | None = None
    yscale: Scale = "linear"
    steps: bool | None = None
    band: Literal["quartiles", "range", "interval", "none"] = "quartiles"
    colour: str | None = None
    dashed: tuple[str, ...] = ()
    time_to: float | None = None
    names: dict = field(default_factory=dict)

    @property
    def levels(self) -> tuple[float, ...]:
        """Heights of dashed lines."""
        if self.level is None:
            return ()
        if isinstance(self.level, tuple):
            return self.level
        return (self.level,)

    @property
    def curves(self) -> bool:
        """Whether the lines are step functions of a clock."""
        if self.steps is None:
            return self.x == CLOCK
        return self.steps

    def __post_init__(self):
        super().__post_init__()
        _check_finite("slope", self.slope)
        _check_finite("time_to", self.time_to)
        _check_words("names", self.names)
        for level in self.levels:
            _check_finite("level", level)
        two_log_axes = self.xscale == self.yscale == "log"
        if self.slope is not None and not two_log_axes:
            raise ParameterError(f"slope is a guide on two log axes, got slope {self.slope}")
        _check_ends("xlim", self.xlim, log=self.xscale == "log")
        _check_ends("ylim", self.ylim, log=self.yscale == "log")


@dataclass(frozen=True, kw_only=True)
class BarsPlot(Drawn):
    """One lying bar per label: the mean over seeds with its 95 % interval.

    Parameters
    ----------
    y : str
        Column that is drawn.
    by : str
        Column that names the bars.
    where, panel, panel_titles
        As in `LinesPlot`.
    ylim : (float, float), optional
        Ends of the value axis.
    ylabel : str or mapping, optional
        Label of the value axis, the same for all panels or one for each.
    reference : str or mapping, optional
        Column, or value per label, marked on the bars.
    reference_label : str
        What the marks are.
    width : {"single", "double"}
        One column or two.
    """

    y: str = "mean_iteration_time_s"
    by: str = "label"
    ylim: Ends | None = None
    ylabel: Words = None
    reference: str | dict | None = None
    reference_label: str = "paper"

    def __post_init__(self):
        super().__post_init__()
        _check_ends("ylim", self.ylim)
        if isinstance(self.reference, Mapping):
            for label, value in self.reference.items():
                finite = is_number(value) and math.isfinite(value)
                require(finite, f"reference: {label} must be a finite number, got {quoted(value)}")


@dataclass(frozen=True, kw_only=True)
class TablePlot(Plot):
    """A typeset table.

    Parameters
    ----------
    columns : list of str, optional
        Columns shown, in this order; default all.
    where : mapping
        Column to the value, or list of values, of the rows that are shown.
    headers : mapping
        Text over a column, where not its name.
    formats : mapping
        Python format of a column's numbers, as ``.3f``; default five digits.
    mean_by : str, optional
        Rows with equal values in this column, such as the seeds of a label, become one row of means.
    across : mapping
        ``{column: cells}``: every value of the first column becomes a column, filled from the second; the other columns
        shown tell the rows apart. So a tidy table, one row per number, is set as a grid.
    once : list of str
        Columns in which a cell that repeats the one above is left empty, as long as the columns before it in this list
        repeat too: groups of rows.
    """

    columns: tuple[str, ...] | None = None
    mean_by: str | None = None
    across: dict = field(default_factory=dict)
    once: tuple[str, ...] = ()
    headers: dict = field(default_factory=dict)
    formats: dict = field(default_factory=dict)

    @property
    def columns_drawn(self) -> tuple[str, ...]:
        shown = (*self.keys, *(self.columns or ()))
        if self.across:  # it makes columns of values, which the other fields may name
            return (*shown, *self.across, *self.across.values())
        return (*shown, *self.once, *self.headers, *self.formats)

    def __post_init__(self):
        super().__post_init__()
        _check_words("headers", self.headers)
        for column, cells in self.across.items():
            require(isinstance(cells, str), f"across: {column} must name a column of cells, got {cells!r}")
        require(len(self.across) < 2, f"across must be one column and its cells, got {self.across}")
        if self.across and self.columns is None:
            raise ParameterError("across needs columns, which tell the rows apart")
        for column, spec in self.formats.items():
            if not _is_format(spec):
                raise UserError(
                    f"formats: {column}: {quoted(spec)} is not a number format such as '.3f', of at most"
                    f" {_MOST_LETTERS} letters"
                )


#: Letters of a number in a cell of a typeset table: `1000000000d` would fill the memory.
_MOST_LETTERS = 100


def _is_format(spec: object) -> bool:
    """Whether whole and decimal numbers can be written so, in not too many letters."""
    if not isinstance(spec, str):
        return False
    widths = re.findall(r"\d+", spec)
    if any(int(width) > _MOST_LETTERS for width in widths):
        return False
    try:
        return bool(format(1.5, spec) and format(1, spec))
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class FunctionPlot(Drawn):
    """A drawing of its own: a named function draws each panel's rows onto its axes.

    Parameters
    ----------
    function : str
        Dotted name of a function of axes and rows (a DataFrame).
    where, panel, panel_titles
        As in `LinesPlot`.
    xlabel, ylabel : str
        Axis labels of every panel.
    height : float
        Inches of a panel, title included.
    columns : int
        Most panels side by side.
    least : float, optional
        Inches below which a panel is no longer read: a narrower figure has fewer side by side. By default what they
        have at the figure's own width.
    width : {"single", "double"}
        One column or two.
    """

    function: str
    xlabel: str = ""
    ylabel: str = ""
    height: float = 2.0
    columns: int = 1
    least: float | None = None

    def __post_init__(self):
        super().__post_init__()
        module, _, name = self.function.rpartition(".")
        require(bool(module and name), f"function must be a dotted name, got {self.function!r}")
        fits = 0 < self.height <= _MOST_INCHES
        require(fits, f"height is in inches, > 0 and at most {_MOST_INCHES}, got {self.height:g}")
        require(self.columns >= 1, f"columns must be at least 1, got {self.columns}")
        _check_finite("least", self.least)
        require(self.least is None or self.least > 0, f"least is in inches, > 0, got {self.least}")


def inches(width: str | float) -> float:
    """Print width by its name or in inches, from 2 to 20."""
    if width in WIDTHS:
        return WIDTHS[str(width)]
    try:
        found = float(width)
    except ValueError:
        raise UserError(f"{unknown('width', width, WIDTHS)}, or inches") from None
    require(2 <= found <= _MOST_INCHES, f"a width is 2 to {_MOST_INCHES} inches, got {found:g}")
    return found


KINDS: dict[str, type[Plot]] = {
    "lines": LinesPlot,
    "bars": BarsPlot,
    "table": TablePlot,
    "function": FunctionPlot,
}


def parse(plot: dict, where: str = "plot") -> Plot:
    """The dataclass of the plot's ``kind``, filled from a figure file's mapping.

    Parameters
    ----------
    plot : mapping
        ``kind`` (lines, bars, table or function) and the fields of `KINDS[kind]`.
    where : str
        Where it was written, for the sentence.

    Raises
    ------
    UserError
        For an unknown kind or key, or a value of the wrong kind.

    Examples
    --------
    >>> parse({"kind": "lines", "xlim": [0, 0.8]}).xlim
    (0.0, 0.8)
    >>> parse({"kind": "lines", "xlims": [0, 0.8]})
    Traceback (most recent call last):
    gcexp.errors.UserError: plot: unknown key 'xlims'; did you mean 'xlim'? (allowed: band, by, ...)
    """
    if not isinstance(plot, Mapping) or "kind" not in plot:
        raise UserError(f"{where} needs a kind ({', '.join(KINDS)}), got {plot!r}")
    rest = {key: value for key, value in plot.items() if key != "kind"}
    require_known("kind of plot", plot["kind"], KINDS, where)
    return fill(KINDS[plot["kind"]], rest, where)
