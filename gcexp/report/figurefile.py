"""What a figure needs: its file read and checked, its runs, and the path of every file it makes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from gcexp.errors import UserError, unknown
from gcexp.figures.plots import parse as parse_plot
from gcexp.figures.plots import with_level
from gcexp.report import claims as claim_rules
from gcexp.report.columns import CURVE, Timings, key_columns
from gcexp.report.expected import expected_claims
from gcexp.report.expected import path_of as expected_file
from gcexp.report.statements import Statement, read_statements
from gcexp.run import paths
from gcexp.run.checks import check, check_call, check_named, declared_scores, once
from gcexp.run.dependencies import STAGES, targets, tracked, values
from gcexp.run.named_codes import composed_codes
from gcexp.run.options import conf_dir, option_file, options, read_yaml, search_dirs
from gcexp.run.run import PARTS, Run, check_count, check_horizon, seed_range
from gcexp.run.scheme import refuse_bound
from gcexp.run.tokens import SHARED, token
from gcexp.schema import fill, fitted

PRESETS = ("quick", "paper")
#: Names of rules: no folder or target can be called so.
RULES = (
    *("all", "quick", "mlflow", "tracking", "scorecard", "page", "data", "table", "draw", "typeset"),
    *("timeline", "trajectory_exact", "trajectory_approximate", "replay"),
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
RUN_KEYS = ("label", "iterations", "horizon", "seeds")


@dataclass(frozen=True)
class FigureFile:
    """The fields of conf/figure/<paper>/<target>.yaml.

    Attributes
    ----------
    title, source : str
        Heading, and the figure or section of the paper.
    kind : {"curves", "timings", "analysis"}
        How the table comes about: scores against the clock, statistics of timelines, or a named function.
    common : dict
        Keys of every run.
    runs : list of dict
        One per curve or bar; a list as value is swept, and ``each``, a list of mappings, says several keys at once:
        the entry is run with each of them. Every key becomes a column of the table, and ``columns.NAME``
        is one of the figure's own, such as the panel a run stands in; ``{key}`` in it, or in a label, is the value of
        a key of the run. A label may repeat over a sweep, and in tables of kind timings.
    timings : dict
        What the rows of kind timings are: see `gcexp.report.columns.Timings`.
    analysis : dict
        ``function`` (dotted name) and its arguments, for kind analysis.
    quick : dict
        What the quick preset sets instead: keys of a run, or arguments of the analysis.
    plot : dict
        ``kind`` and options of the drawing.
    claims : list of dict
        What is claimed about the table; those of ``<target>.expected.csv`` follow.
    note : str
        Line under the figure.
    level : float, optional
        Score whose first passage the claims compare; also a line in the plot.
    tolerances : dict of str to float
        Column to the share of its numbers by which a fresh table may differ from the published one: rounding errors
        have no digits in common. See `gcexp.report.agreement`.
    """

    title: str
    source: str
    kind: Literal["curves", "timings", "analysis"]
    common: dict = field(default_factory=dict)
    runs: list = field(default_factory=list)
    timings: dict = field(default_factory=dict)
    analysis: dict = field(default_factory=dict)
    quick: dict = field(default_factory=dict)
    plot: dict = field(default_factory=dict)
    claims: list = field(default_factory=list)
    note: str = ""
    level: float | None = None
    tolerances: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """One target under one preset, ready to be planned; its drawing without its title where that is not wanted."""

    paper: str
    name: str
    preset: str
    file: FigureFile
    runs: tuple[Run, ...]
    titled: bool = True

    @property
    def target(self) -> str:
        """Rule name, ``<paper>_<target>``."""
        return f"{self.paper}_{self.name}"

    @property
    def labels(self) -> list[str]:
        """Labels of the runs, in order."""
        return list(dict.fromkeys(run.label for run in self.runs))

    @property
    def written(self) -> dict:
        """Arguments of the analysis function under this preset, as they stand in the file."""
        given = {k: v for k, v in self.file.analysis.items() if k != "function"}
        return given | (self.file.quick if self.preset == "quick" else {})

    @cached_property
    def arguments(self) -> dict:
        """The same with codes composed: see `gcexp.run.named_codes`."""
        return composed_codes(self.written)

    @property
    def heading(self) -> str:
        """What stands over the drawing: nothing on a copy for a paper, which has a caption."""
        return self.file.title if self.titled else ""

    @property
    def note(self) -> str:
        """Line under the figure: the file's own, and which data stand in for a paper's."""
        datasets = sorted({run.config["task"]["dataset"] for run in self.runs if run.task})
        stand_in = f"{self.preset} preset, data: {', '.join(datasets)}" if datasets else ""
        return "; ".join(part for part in (self.file.note, stand_in) if part)

    @property
    def inputs(self) -> list[str]:
        """Files the table is made of."""
        return list(dict.fromkeys(itertools.chain.from_iterable(run.inputs for run in self.runs)))

    def _file(self, pattern: str) -> str:
        return pattern.format(preset=self.preset, target=self.target)

    @property
    def table(self) -> str:
        """The CSV of the plotted numbers."""
        return self._file(paths.TABLE)

    @property
    def is_table(self) -> bool:
        """Whether it is typeset as a table and not drawn."""
        return self.file.plot.get("kind") == "table"

    @property
    def drawings(self) -> list[str]:
        """PDF and PNG, or a table's Markdown and LaTeX."""
        return [self._file(pattern) for pattern in (paths.TYPESET if self.is_table else paths.DRAWN)]

    @cached_property
    def columns(self) -> list[str] | None:
        """Columns of the table before it is made; None where an analysis, or a task its scores, declares none."""
        if self.file.kind == "analysis":
            return check_call(self.file.analysis["function"], self.arguments, "analysis")
        if self.file.kind == "timings":
            return [*self.told_apart, *self.timings.columns]
        scores = [declared_scores(run.config["task"]) for run in self.runs]
        known = [names for names in scores if names is not None]
        every = itertools.chain(self.told_apart, CURVE, *known)
        return list(dict.fromkeys(every)) if len(known) == len(scores) else None

    @property
    def told_apart(self) -> list[str]:
        """Columns of a table of runs that say which run a row is of."""
        own = [name for run in self.runs for name, _ in run.columns]
        return list(dict.fromkeys(["label", "run", *own, *key_columns(self.runs)]))

    @property
    def timings(self) -> Timings:
        """What the rows are, for kind timings."""
        return fill(Timings, self.file.timings, "timings")

    @property
    def claims(self) -> str:
        """The checked claims."""
        return self._file(paths.CLAIMS)

    @property
    def tracked_table(self) -> list[str]:
        """What decides the table beside its input files."""
        built = STAGES[self.file.kind].keys
        code = {target for run in self.runs for key in built for target in targets(run.config[key])}
        code |= set(targets(self.arguments))
        functions = (self.file.analysis.get("function"), self.file.timings.get("exact"))
        code |= {function for function in functions if function}
        runs = [
            "; ".join([f"{run.label} = {run.id}", *(f"{k}={v}" for k, v in run.columns)]) for run in self.runs
        ]
        given = values(self.file.timings, "timings") + values(self.arguments, "analysis")
        return tracked(self.file.kind, None, *code) + runs + given

    @property
    def tracked_plot(self) -> list[str]:
        """What decides the drawing beside the table."""
        said = [*values(self.file.plot, "plot"), self.heading, self.note]
        if self.is_table:
            return tracked("typeset") + said
        style = conf_dir() / "style" / "paper.mplstyle"
        looks = [line for line in style.read_text().splitlines() if line and not line.startswith("#")]
        return tracked("draw", None, *targets(self.file.plot)) + said + looks

    @property
    def tracked_claims(self) -> list[str]:
        """What decides the claims beside the table."""
        return tracked("claims") + values(self.file.claims, "claims")

    @property
    def tracked_page(self) -> list[str]:
        """What the page says about the figure, beside its files."""
        return [
            self.target,
            self.file.title,
            self.note,
            self.file.source,
            *values(self.file.common, "common"),
        ]

    @property
    def products(self) -> list[str]:
        """Everything a reader gets: a deleted file is rebuilt only if it is listed."""
        return [self.table, *self.drawings, self.claims]


def statement_file(paper: str) -> Path:
    """``statements/<paper>.csv`` of the search path, or where it would stand in conf/."""
    places = [folder / "statements" / f"{paper}.csv" for folder in search_dirs()]
    return next((place for place in places if place.is_file()), places[0])


def statements(paper: str) -> dict[str, Statement]:
    """What a paper itself states, by id; nothing for a collection that is no paper."""
    return read_statements(statement_file(paper))


def figure_files() -> list[Path]:
    """All figure files of the search path, by paper and name.

    Raises
    ------
    UserError
        For a name that cannot be a target of Snakemake, or that another file, a folder or a rule has already.
    """
    found = [path for folder in search_dirs() for path in (folder / "figure").glob("*/*.yaml")]
    paths = sorted(found, key=lambda path: path.parts[-2:])
    taken: dict[str, object] = dict.fromkeys(RULES, "a rule of the workflow")
    for path in paths:
        shown = Path("conf", *path.parts[-3:])
        for name in (path.parent.name, path.stem):
            if not _NAME.fullmatch(name):
                raise UserError(
                    f"{shown}: {name!r} cannot name a target (allowed: letters, digits and _ . -)"
                )
        paper = Path("conf/figure") / path.parent.name
        for name, owner in ((path.parent.name, paper), (f"{path.parent.name}_{path.stem}", shown)):
            if taken.setdefault(name, owner) != owner:
                raise UserError(f"{owner}: {name} is already the name of {taken[name]}; rename one of them")
    return paths


def target_files() -> dict[str, Path]:
    """Every figure file by the name of its target; none is read."""
    return {f"{path.parent.name}_{path.stem}": path for path in figure_files()}


def figures(preset: str) -> list[Figure]:
    """Every figure under `preset`; the first mistake in any figure file is an error with file and key."""
    return [read_figure(path, preset) for path in figure_files()]


def figure(target: str, preset: str) -> Figure:
    """The figure of one target name."""
    paths = target_files()
    if target not in paths:
        raise UserError(unknown("figure", target, paths))
    return read_figure(paths[target], preset)


def read_figure(path: Path, preset: str) -> Figure:
    """Read and check one figure file.

    Raises
    ------
    UserError
        For unknown or missing keys, wrong types, unknown options, values outside a code's region, double labels,
        claims about labels that do not exist: one sentence with the file.
    """
    if preset not in PRESETS:
        raise UserError(unknown("preset", preset, PRESETS))
    shown = Path("conf", *path.parts[-3:])
    stand_ins = _stand_ins(preset)
    try:
        content = read_yaml(path)
        file = _with_level(fill(FigureFile, content, "figure file"), preset)
        if expected := expected_claims(expected_file(path)):
            file = replace(file, claims=[*file.claims, *expected])
        parse_plot(file.plot)
        runs = tuple(_runs(file, preset, stand_ins))
        check(run.config for run in runs)
        found = Figure(path.parent.name, path.stem, preset, file, runs)
        _check_kind(found)
        labels = found.labels if found.runs else None
        given = file.claims, labels, "claims", statements(found.paper), found.columns
        once([*tracked("claims"), repr(given)], lambda: claim_rules.validate(*given))
        return found
    except UserError as error:
        sentence = str(error)
        raise UserError(sentence if sentence.startswith(str(path)) else f"{shown}: {sentence}") from None


def _with_level(file: FigureFile, preset: str) -> FigureFile:
    """Hand the preset's level to the plot and to every claim that names none."""
    quick = dict(file.quick)
    level = quick.pop("level", file.level) if preset == "quick" else file.level
    if level is None:
        return replace(file, quick=quick)
    claims = [
        {
            k: {"level": level} | v if isinstance(v, dict) and v.get("of") == "time_to" else v
            for k, v in claim.items()
        }
        if isinstance(claim, dict)
        else claim
        for claim in file.claims
    ]
    return replace(file, quick=quick, level=level, claims=claims, plot=with_level(file.plot, level))


def _check_kind(figure: Figure) -> None:
    """Whether the figure has what its kind is made of, and draws columns that its table will have."""
    file = figure.file
    if file.kind != "timings" and file.timings:
        raise UserError(f"timings are rows of kind timings, got kind {file.kind}")
    if file.kind == "analysis":
        if not isinstance(file.analysis.get("function"), str):
            given = file.analysis.get("function")
            raise UserError(
                f"analysis.function is the dotted name of a function in gcexp.analysis, got {given!r}"
            )
        _check_plot(figure)
        return
    if not figure.runs:
        raise UserError(f"kind {file.kind} needs runs")
    if file.kind == "curves" and (idle := [run.label for run in figure.runs if not run.task]):
        raise UserError(f"kind curves needs a task, and run {idle[0]!r} has none")
    if file.kind == "timings":
        for label in (*figure.timings.against, *figure.timings.against.values()):
            if label not in figure.labels:
                raise UserError(f"timings.against: {unknown('label', label, figure.labels)}")
        if figure.timings.exact is not None:
            check_named(figure.timings.exact, "timings.exact")
    _check_plot(figure)


def _check_plot(figure: Figure) -> None:
    """Whether the plot draws columns that the table will have, by functions that are there."""
    plot, known = parse_plot(figure.file.plot), figure.columns
    drawn: tuple[str, ...] = plot.columns_drawn
    if known is None and figure.runs:  # a task that declares no scores: what tells its runs apart is known
        known, drawn = [*figure.told_apart, *CURVE], plot.keys
    for column in drawn:
        if known is not None and column not in known:
            raise UserError(f"plot: {unknown('column', column, known)}")
    for function in targets(figure.file.plot):
        check_named(function, "plot.function")


def _stand_ins(preset: str) -> dict[str, dict]:
    """What a preset puts in the place of options, by group; a project adds to ours."""
    place = f"conf/preset/{preset}.yaml"
    found: dict[str, dict[str, str]] = {}
    for path in (folder / "preset" / f"{preset}.yaml" for folder in search_dirs()):
        given = fitted(dict[str, dict[str, str]], read_yaml(path), place) if path.is_file() else {}
        for group, replaced in given.items():
            found[group] = found.get(group, {}) | replaced
    for part, replaced in found.items():
        if part not in PARTS:
            raise UserError(f"{place}: {unknown('group', part, PARTS)}")
        for option in replaced.values():
            option_file(part, option)
    return found


def _runs(file: FigureFile, preset: str, stand_ins: dict[str, dict]) -> Iterator[Run]:
    entry_of: dict[str, int] = {}
    seen: set[tuple] = set()
    for number, entry in enumerate(file.runs):
        if not isinstance(entry, dict):
            raise UserError(f"runs: expected keys and values, got {entry!r}")
        for keys in _swept(file.common | entry, file.quick if preset == "quick" else {}):
            for part, replaced in stand_ins.items():
                if isinstance(keys.get(part), str):
                    keys[part] = replaced.get(keys[part], keys[part])
            run = _run(keys)
            first = entry_of.setdefault(run.label, number)
            if (file.kind != "timings" and first != number) or (run.label, run.id, run.columns) in seen:
                raise UserError(
                    f"label {run.label!r} stands twice; let it name a swept value, as in {{code.d}}"
                )
            seen.add((run.label, run.id, run.columns))
            yield run


def _swept(entry: dict, quick: dict) -> Iterator[dict]:
    """The keys of every run of an entry: each mapping under `each` in turn, and every value of a list."""
    several = entry.get("each", [{}])
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise UserError(f"each is a list of mappings, one for each time the entry is run, got {several!r}")
    for one in several:
        merged = {k: v for k, v in entry.items() if k != "each"} | one | quick
        swept = [k for k, v in merged.items() if isinstance(v, list)]
        if empty := [k for k in swept if not merged[k]]:
            raise UserError(f"{empty[0]} is swept over nothing, got []")
        for chosen in itertools.product(*(merged[k] for k in swept)):
            yield merged | dict(zip(swept, chosen, strict=True))


def _run(keys: dict[str, Any]) -> Run:
    keys = {str(key): value for key, value in keys.items()}
    own = {k.removeprefix("columns."): keys.pop(k) for k in list(keys) if k.startswith("columns.")}
    lacking = [k for k in ("label", "scheme", "delay", "iterations", "seeds") if k not in keys]
    if lacking:
        raise UserError(f"a run lacks {', '.join(lacking)} (given: {', '.join(keys)})")
    if not isinstance(keys["label"], str | int | float) or keys["label"] == "":
        raise UserError(f"label must be text, got {keys['label']!r}")
    for part in PARTS:
        needed = part in ("scheme", "delay")
        if (needed or keys.get(part) is not None) and keys[part] not in options(part):
            raise UserError(unknown(part, keys[part], options(part)))
    values: dict[str, dict] = {part: {} for part in PARTS}
    for key, value in keys.items():
        if key in RUN_KEYS or key in PARTS:
            continue
        group = key.partition(".")[0]
        owner = "scheme" if group in ("code", "wait", "placement") or key in SHARED else group
        if owner not in values:
            raise UserError(
                unknown("run key", key, [*RUN_KEYS, *PARTS, *SHARED, "code.KEY", "delay.KEY", "columns.NAME"])
            )
        values[owner][key] = value
    tokens = {part: token(part, keys[part], values[part]) if keys.get(part) else None for part in PARTS}
    if tokens["task"] and not tokens["optimizer"]:
        tokens["optimizer"] = token("optimizer", "gradient_descent", values["optimizer"])
    run = Run(
        "",
        tokens["scheme"],
        tokens["delay"],
        tokens["task"],
        tokens["optimizer"],
        iterations=check_count("iterations", keys["iterations"]),
        seeds=seed_range(keys["seeds"]),
        horizon=check_horizon(keys.get("horizon")),
    )
    if run.task:
        refuse_bound(run.config)
    for name, value in own.items():
        fitted(str | int | float | bool | None, value, f"columns.{name}")
    columns = tuple((name, _filled(value, run.config, f"columns.{name}")) for name, value in own.items())
    return replace(run, label=str(_filled(str(keys["label"]), run.config, "label")), columns=columns)


_KEY = re.compile(r"\{([\w.]+)\}")


def _filled(template: Any, config: dict, place: str) -> Any:
    """A text with the run's values in it; the value itself where the text is nothing but its key."""

    def value(match: re.Match) -> Any:
        node: Any = config
        seen: list[str] = []
        for part in match[1].split("."):
            if not isinstance(node, dict) or part not in node:
                names = [".".join([*seen, k]) for k in node] if isinstance(node, dict) else []
                raise UserError(f"{place} {template!r}: {unknown('key', match[1], names)}")
            node = node[part]
            seen.append(part)
        return node

    if not isinstance(template, str):
        return template
    if alone := _KEY.fullmatch(template):
        return value(alone)
    return _KEY.sub(lambda match: str(value(match)), template)
