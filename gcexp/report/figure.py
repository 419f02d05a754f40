"""What is a figure? The fields of its file, its runs, the files that it makes, and what each of them depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from gcexp.errors import UserError
from gcexp.figures.plots import inches
from gcexp.figures.stylefiles import OWN_LOOKS
from gcexp.report.columns import Passages, Timings, key_columns
from gcexp.report.placeholders import fill_in
from gcexp.run import paths
from gcexp.run.benchmark_schemes import played_schemes, schemes_fingerprint
from gcexp.run.compose import composed_codes
from gcexp.run.declarations import Declaration, declaration_of, scores_of_task
from gcexp.run.dependencies import (
    digest_of,
    dotted_names,
    lines_of_values,
    names_of_run,
    stage_fingerprint,
)
from gcexp.run.options import conf_dir
from gcexp.run.result_columns import CURVE
from gcexp.run.run import Run
from gcexp.schema import fitted, typed


@dataclass(frozen=True)
class FigureFile:
    """The fields of <paper>/figures/<target>.yaml.

    Attributes
    ----------
    title, source : str
        Heading, and the figure or section of the paper.
    kind : {"curves", "timings", "analysis"}
        How the table comes about: scores against the clock, statistics of timelines, or a named function.
    study : bool
        Whether it is a study of ours and does not stand in the paper: ``snakemake everything`` makes it.
    common : dict
        Keys of every run.
    runs : list of dict
        One per curve or bar; a list as value is swept, and ``each``, a list of mappings, says several keys at once:
        the entry is run with each of them. Every key becomes a column of the table, and ``columns.NAME``
        is one of the figure's own, such as the panel a run stands in; ``{key}`` in it, or in a label, is the value of
        a key of the run. A label may repeat over a sweep, and in tables of kind timings.
    timings : dict
        What the rows of kind timings are: see `gcexp.report.columns.Timings`.
    passages : dict, optional
        For kind curves: the table keeps the first passages alone, see `gcexp.report.columns.Passages`.
    analysis : dict
        ``function`` (dotted name) and its arguments, for kind analysis.
    quick : dict
        What the quick preset sets instead: keys of a run, or arguments of the analysis; ``level`` and ``note`` of the
        figure, and fields of its ``plot``.
    plot : dict
        ``kind`` and options of the drawing.
    shows : str
        One sentence on what is seen, for the page.
    paper_shows : str
        What the paper's own figure or table shows, as its text and printed values say, to be read beside `shows`.
    note : str
        Sentences under the figure on what is assumed; ``{key}`` in it is the value of a key that all runs share.
    level : float, optional
        Score whose first passage `gcexp compare` and MLflow compare.
    tolerances : dict of str to float
        Column to the share of its numbers by which a fresh table may differ from the published one: rounding errors
        have no digits in common. See `gcexp.report.agreement`.
    """

    title: str
    source: str
    kind: Literal["curves", "timings", "analysis"]
    study: bool = False
    common: dict = field(default_factory=dict)
    runs: list[dict] = field(default_factory=list)
    timings: Timings = Timings()
    passages: Passages | None = None
    analysis: dict = field(default_factory=dict)
    quick: dict = field(default_factory=dict)
    plot: dict = field(default_factory=dict)
    note: str = ""
    shows: str = ""
    paper_shows: str = ""
    level: float | None = None
    tolerances: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RenderOptions:
    """How to draw: with title and note or without, since a paper says both in its caption, and how wide, in inches.

    Without a width, drawings are as wide as the figure's file says.
    """

    title: bool = True
    note: bool = True
    width: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, object], prefix: str = "") -> RenderOptions:
        """What settings ask for: ``true`` or ``false`` for title and note; a width by its name or in inches."""
        flags = {}
        for name in ("title", "note"):
            word = str(given.get(prefix + name, True))
            flags[name] = fitted(bool, typed(word), f"{prefix}{name}")
        width = str(given.get(prefix + "width") or "")
        return cls(**flags, width=inches(width) if width else None)

    @property
    def arguments(self) -> list[str]:
        """Options of ``gcexp job plot`` that ask for this; none where a drawing is as its file says."""
        options = []
        if not self.title:
            options.append("--title=false")
        if not self.note:
            options.append("--note=false")
        if self.width:
            options.append(f"--width={self.width}")
        return options


def style_file() -> Path:
    """The style file of all figures."""
    return conf_dir() / "style" / "paper.mplstyle"


@dataclass(frozen=True)
class Figure:
    """One target under one preset, ready to be planned, and how its drawing is wanted."""

    paper: str
    name: str
    preset: str
    file: FigureFile
    runs: tuple[Run, ...]
    render: RenderOptions = RenderOptions()

    @property
    def target(self) -> str:
        """Rule name, ``<paper>_<target>``."""
        return f"{self.paper}_{self.name}"

    @property
    def labels(self) -> list[str]:
        """Labels of the runs, in order."""
        return list(dict.fromkeys(run.label for run in self.runs))

    @property
    def raw_arguments(self) -> dict:
        """Arguments of the analysis function under this preset, as they stand in the file."""
        given = dict(self.file.analysis)
        given.pop("function", None)
        return given | self.file.quick

    @cached_property
    def arguments(self) -> dict:
        """Arguments of the analysis function, in which codes are composed: see `gcexp.run.compose.composed_codes`."""
        return composed_codes(self.raw_arguments)

    @property
    def heading(self) -> str:
        """What stands over the drawing: nothing on a copy for a paper, which has a caption."""
        return self.file.title if self.render.title else ""

    @property
    def note(self) -> str:
        """Line under the figure: the file's own with values in the place of ``{key}``, and which data stand in."""
        configs = [run.config for run in self.runs] or [self.raw_arguments]
        texts: dict[str, None] = {}
        for config in configs:
            texts[str(fill_in(self.file.note, config, "note"))] = None
        own, *others = texts
        if others:
            raise UserError(f"note {self.file.note!r} names a key whose value differs between the runs")
        sentences = [own] if own else []
        if self.datasets:
            sentences.append(f"Data: {', '.join(self.datasets)} ({self.preset} preset).")
        return " ".join(sentences)

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets on which its runs train."""
        return sorted({run.dataset for run in self.runs if run.trains})

    @property
    def footnote(self) -> str:
        """What stands under the drawing: nothing where a paper's text says it."""
        return self.note if self.render.note else ""

    @property
    def inputs(self) -> list[str]:
        """Files the table is made of."""
        files: dict[str, None] = {}
        for run in self.runs:
            files |= dict.fromkeys(run.inputs)
        return list(files)

    @property
    def data(self) -> list[str]:
        """Prepared data on which the table replays exact schemes."""
        files: dict[str, None] = {}
        for run in self.runs:
            files |= dict.fromkeys(run.replayed_on)
        return list(files)

    @property
    def table(self) -> str:
        """The CSV of the plotted numbers."""
        return paths.TABLE.format(preset=self.preset, target=self.target)

    @property
    def is_table(self) -> bool:
        """Whether it is typeset as a table and not drawn."""
        return self.file.plot.get("kind") == "table"

    @property
    def label(self) -> str:
        """What LaTeX refers to its table by."""
        return f"tab:{self.target}"

    @property
    def drawings(self) -> list[str]:
        """PDF and PNG, or a table's Markdown and LaTeX."""
        patterns = paths.TYPESET if self.is_table else paths.DRAWN
        return [pattern.format(preset=self.preset, target=self.target) for pattern in patterns]

    @cached_property
    def declaration(self) -> Declaration:
        """What the function of a figure of kind analysis declares."""
        return declaration_of(self.file.analysis["function"], self.arguments)

    @cached_property
    def columns(self) -> list[str] | None:
        """Columns of the table before it is made; None where an analysis, or a task its scores, declares none."""
        if self.file.kind == "analysis":
            return self.declaration.columns
        if self.file.kind == "timings":
            return [*self.identifying_columns, *self.file.timings.columns]
        if self.file.passages:
            return [*self.identifying_columns, *self.file.passages.columns]
        columns = [*self.identifying_columns, *CURVE]
        for run in self.runs:
            scores = scores_of_task(run.config["task"])
            if scores is None:
                return None
            columns += scores
        return list(dict.fromkeys(columns))

    @property
    def identifying_columns(self) -> list[str]:
        """Columns of a table of runs that say which run a row is of."""
        return list(dict.fromkeys(["label", "run", *self.own_columns, *key_columns(self.runs)]))

    @property
    def own_columns(self) -> list[str]:
        """Columns of the figure's own, which its file sets for some runs or all."""
        names: dict[str, None] = {}
        for run in self.runs:
            names |= dict.fromkeys(name for name, _ in run.columns)
        return list(names)

    @property
    def table_fingerprint(self) -> list[str]:
        """What decides the table beside its input files."""
        names = set[str]()
        for run in self.runs:
            names |= names_of_run(self.file.kind, run.config)
        names.update(dotted_names([self.file.analysis, self.arguments]))
        if self.file.timings.exact:
            names.add(self.file.timings.exact)
        played = None
        configs = None
        if self.file.kind == "analysis" and self.declaration.plays_schemes:
            played = played_schemes(self.arguments.get("schemes"))
            configs = [config for _, config in played]
        found = stage_fingerprint(self.file.kind, names=names, played=configs)
        for run in self.runs:
            parts = [f"{run.label} = {run.id}"]
            for name, value in run.columns:
                parts.append(f"{name}={value}")
            parts.append(digest_of(lines_of_values(run.config, "")))
            found.append("; ".join(parts))
        if self.file.analysis:
            found.append(f"function={self.file.analysis.get('function')}")
        found += [str(self.file.timings), str(self.file.passages)]
        found += lines_of_values(self.arguments, "analysis")
        if played is not None:
            found += schemes_fingerprint(played)
        return found

    @property
    def drawing_fingerprint(self) -> list[str]:
        """What decides the drawing beside the table."""
        found = [*lines_of_values(self.file.plot, "plot"), self.heading, self.footnote]
        if self.render.width is not None:
            found.append(f"width={self.render.width:g}")
        if self.is_table:
            return [*stage_fingerprint("typeset"), *found, self.label]
        names = dotted_names(self.file.plot)
        return [*stage_fingerprint("draw", names=names), *found, *self._lines_of_style]

    @property
    def _lines_of_style(self) -> list[str]:
        """The lines of the style file and of the looks, without comments: a changed comment changes no drawing."""
        files = [self.style, self.style.with_name("looks.toml")]
        if OWN_LOOKS.is_file():
            files.append(OWN_LOOKS)
        lines = []
        for path in files:
            for line in path.read_text().splitlines():
                if line and not line.startswith("#"):
                    lines.append(line)
        return lines

    @property
    def style(self) -> Path:
        """The style file it is drawn with, which counts by its lines, as the looks beside it do."""
        return style_file()

    @property
    def products(self) -> list[str]:
        """Everything a reader gets: a deleted file is rebuilt only if it is listed."""
        return [self.table, *self.drawings]
