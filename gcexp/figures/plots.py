"""What may a figure file say about its plot? One frozen dataclass per kind; matplotlib is not needed to check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gcexp.errors import UserError, require, unknown
from gcexp.given import fill

Scale = Literal["linear", "log"]
Width = Literal["single", "wide"]


def _rising(name: str, pair: tuple[float, float] | None) -> None:
    require(pair is None or pair[0] < pair[1], f"{name} wants two rising numbers, got {pair}")


def _positive(name: str, pair: tuple[float, float] | None) -> None:
    require(pair is None or pair[0] > 0, f"{name} of a log axis wants positive numbers, got {pair}")


@dataclass(frozen=True)
class LinesPlot:
    """Lines over a number; over seeds, the median and a band.

    Parameters
    ----------
    x, y : str
        Columns.
    by : str
        Column that names the lines.
    panel : str, optional
        Column whose values become panels side by side.
    xlim, ylim : (float, float), optional
        Ends of the axes.
    level : float, optional
        Height of a dashed line.
    xlabel, ylabel : str, optional
        Axis labels; known columns have theirs, with units.
    xscale, yscale : {"linear", "log"}
        Scales.
    band : {"quartiles", "range", "none"}
        What the shade over seeds spans.
    dashed : list of str
        Lines that are bounds or references: thin, dashed, without markers.
    points : list of str
        Lines drawn as markers only, for Monte Carlo beside a formula.
    width : {"wide", "single"}
        1.5 columns with the legend at the right, or one column with the legend below.
    """

    x: str = "simulated_time_s"
    y: str = "test_accuracy"
    by: str = "label"
    panel: str | None = None
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    level: float | None = None
    xlabel: str | None = None
    ylabel: str | None = None
    xscale: Scale = "linear"
    yscale: Scale = "linear"
    band: Literal["quartiles", "range", "none"] = "quartiles"
    dashed: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    width: Width = "wide"

    def __post_init__(self):
        _rising("xlim", self.xlim)
        _rising("ylim", self.ylim)
        for axis in "xy":
            limits = getattr(self, f"{axis}lim")
            log = getattr(self, f"{axis}scale") == "log"
            _positive(f"{axis}lim", limits if log else None)


@dataclass(frozen=True)
class BarsPlot:
    """One lying bar per label: the mean over seeds with its 95 % interval.

    Parameters
    ----------
    y : str
        Column that is drawn.
    by : str
        Column that names the bars.
    panel : str, optional
        Column whose values become panels side by side.
    ylim : (float, float), optional
        Ends of the value axis.
    ylabel : str, optional
        Label of the value axis.
    yscale : {"linear", "log"}
        Scale of the value axis.
    reference : str or mapping, optional
        Column, or value per label, marked on the bars.
    reference_label : str
        What the marks are.
    width : {"single", "wide"}
        One or 1.5 columns.
    """

    y: str = "mean_iteration_time_s"
    by: str = "label"
    panel: str | None = None
    ylim: tuple[float, float] | None = None
    ylabel: str | None = None
    yscale: Scale = "linear"
    reference: str | dict | None = None
    reference_label: str = "paper"
    width: Width = "single"

    def __post_init__(self):
        _rising("ylim", self.ylim)
        _positive("ylim", self.ylim if self.yscale == "log" else None)


@dataclass(frozen=True)
class TablePlot:
    """A typeset table.

    Parameters
    ----------
    columns : list of str, optional
        Columns shown, in this order; default all.
    headers : mapping
        Text over a column, where not its name.
    formats : mapping
        Python format of a column's numbers, as ``.3f``; default five digits.
    mean_by : str, optional
        Rows with equal values in this column, such as the seeds of a label, become one row of means.
    """

    columns: tuple[str, ...] | None = None
    mean_by: str | None = None
    headers: dict = field(default_factory=dict)
    formats: dict = field(default_factory=dict)

    def __post_init__(self):
        for column, spec in self.formats.items():
            try:
                format(1.0, spec)
            except (TypeError, ValueError):
                raise UserError(f"formats: {column}: {spec!r} is not a number format such as '.3f'") from None


@dataclass(frozen=True)
class ClustersPlot:
    """Balls in bins: workers in clusters, some of them marked; a ball without a bin lies beside them.

    Parameters
    ----------
    bin : str
        Column with the number of a ball's bin, from 0; empty: in none.
    ball : str
        Column that names the balls.
    marked : str
        Column of truth values: which balls are red.
    moved : str, optional
        Column of truth values: which balls have a thick rim.
    panel : str, optional
        Column whose values become panels, two side by side.
    caption : str, optional
        Column whose text, of a panel's first row, stands under the panel.
    marked_label, plain_label, moved_label : str
        The legend.
    """

    bin: str = "cluster"
    ball: str = "worker"
    marked: str = "slow"
    moved: str | None = None
    panel: str | None = None
    caption: str | None = None
    marked_label: str = "slow"
    plain_label: str = "fast"
    moved_label: str = "moved"


KINDS = {"lines": LinesPlot, "bars": BarsPlot, "table": TablePlot, "clusters": ClustersPlot}


def parse(plot: dict, where: str = "plot"):
    """The dataclass of the plot's ``kind``, filled from a figure file's mapping.

    Parameters
    ----------
    plot : mapping
        ``kind`` (lines, bars, table or clusters) and the fields of `KINDS[kind]`.
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
        raise UserError(f"{where}: wants a kind ({', '.join(KINDS)}), got {plot!r}")
    rest = {key: value for key, value in plot.items() if key != "kind"}
    if plot["kind"] not in KINDS:
        raise UserError(f"{where}: {unknown('kind of plot', plot['kind'], KINDS)}")
    return fill(KINDS[plot["kind"]], rest, where)
