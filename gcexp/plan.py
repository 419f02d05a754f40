"""What a figure needs: its file checked, its runs spelled as paths, before any job starts.

The path of a result is the list of overrides that made it (`gcexp.config.token`), so the plan, the Snakemake rules and
the jobs agree on every file name without a registry.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from gcexp import claims as claim_rules
from gcexp import config as conf
from gcexp.errors import UserError, unknown
from gcexp.figures.plots import parse as parse_plot
from gcexp.figures.plots import with_level

KINDS = ("curves", "timings", "analysis")
PRESETS = ("quick", "paper")
MOST_SEEDS = 100_000  # of one run: a slip of the finger ends in a sentence, not in a full memory
_RUN_KEYS = ("label", "iterations", "horizon", "seeds")
_PARTS = ("scheme", "delay", "task", "optimizer")
_SHARED = ("n", "s", "overhead")


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
        One per curve or bar; a list as value is swept.
    analysis : dict
        ``function`` (dotted name) and its arguments, for kind analysis.
    quick : dict
        What the quick preset sets instead: keys of a run, or arguments of the analysis.
    plot : dict
        ``kind`` and options of the drawing.
    claims : list of dict
        The paper's statements as predicates.
    note : str
        Line under the figure.
    level : float, optional
        Score whose first passage the claims compare; also a line in the plot.
    """

    title: str
    source: str
    kind: str
    common: dict = field(default_factory=dict)
    runs: list = field(default_factory=list)
    analysis: dict = field(default_factory=dict)
    quick: dict = field(default_factory=dict)
    plot: dict = field(default_factory=dict)
    claims: list = field(default_factory=list)
    note: str = ""
    level: float | None = None


@dataclass(frozen=True)
class Run:
    """One scheme under one delay model, with or without a task, all its seeds: the unit of every job."""

    label: str
    scheme: str | None
    delay: str | None
    task: str | None
    optimizer: str | None
    iterations: int
    horizon: float | None
    seeds: str

    @property
    def length(self) -> str:
        """``T600``, or ``T600-h0.8`` with a horizon."""
        return f"T{self.iterations}" + (f"-h{_spelled(self.horizon)}" if self.horizon else "")

    @property
    def id(self) -> str:
        """Name of the run in tables and in MLflow: the part of the path that all its files share."""
        parts = (self.task, self.optimizer, self.scheme, self.delay, self.length, f"seeds{self.seeds}")
        return "/".join(p for p in parts if p)

    @property
    def timeline(self) -> str:
        """File of the timeline."""
        return f"results/timeline/{self.scheme}/{self.delay}/{self.length}/seeds{self.seeds}.npz"

    @property
    def trajectory(self) -> str:
        """File of the trajectory; an exact one names no scheme, delay or horizon."""
        root = f"results/trajectory/{self.task}/{self.optimizer}"
        if self.exact:
            return f"{root}/exact/T{self.iterations}/seeds{self.seeds}.npz"
        return f"{root}/{self.scheme}/{self.delay}/{self.length}/seeds{self.seeds}.npz"

    @property
    def verification(self) -> str:
        """File of the replay of the true encode, drop, decode path; an approximate training writes it itself."""
        if self.exact:
            return f"results/verify/{self.id}.json"
        return self.trajectory.removesuffix(".npz") + ".verified.json"

    @property
    def inputs(self) -> list[str]:
        """Files that must exist before the run can stand in a table."""
        return [self.timeline, *([self.trajectory, self.verification] if self.task else [])]

    @property
    def overrides(self) -> list[str]:
        """Hydra overrides of the whole run."""
        parts = [(g, getattr(self, g)) for g in _PARTS if getattr(self, g)]
        length = [f"iterations={self.iterations}", f"seeds={self.seeds}"]
        length += [f"horizon={_spelled(self.horizon)}"] if self.horizon else []
        return [o for g, t in parts for o in conf.overrides_of(g, t)] + length

    @property
    def config(self) -> dict:
        """Resolved config."""
        return composed(tuple(self.overrides))

    @property
    def exact(self) -> bool:
        """Whether the scheme declares that every coefficient is 1, so that it shares the exact trajectory."""
        return bool(self.config["exact"])


def _spelled(number: float) -> str:
    """Shortest text that is read back as the same number."""
    return repr(float(number)).removesuffix(".0")


@cache
def composed(overrides: tuple[str, ...]) -> dict:
    """Resolved config of some overrides, kept because many jobs share it: do not change it."""
    return conf.compose(list(overrides))


def run_of_path(parts: dict[str, str], label: str = "") -> Run:
    """The run that a path's wildcards spell: scheme, delay, task, optimizer, length or iterations, seeds."""
    iterations, _, horizon = parts.get("length", f"T{parts.get('iterations')}")[1:].partition("-h")
    return Run(
        label,
        *(parts.get(part) for part in _PARTS),
        iterations=int(iterations),
        horizon=float(horizon) if horizon else None,
        seeds=parts["seeds"],
    )


@dataclass(frozen=True)
class Figure:
    """One target under one preset, ready to be planned."""

    paper: str
    name: str
    preset: str
    file: FigureFile
    runs: tuple[Run, ...]

    @property
    def target(self) -> str:
        """Rule name, ``<paper>_<target>``."""
        return f"{self.paper}_{self.name}"

    @property
    def labels(self) -> list[str]:
        """Labels of the runs, in order."""
        return list(dict.fromkeys(run.label for run in self.runs))

    @property
    def arguments(self) -> dict:
        """Arguments of the analysis function under this preset."""
        given = {k: v for k, v in self.file.analysis.items() if k != "function"}
        return given | (self.file.quick if self.preset == "quick" else {})

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

    def product(self, folder: str, suffix: str) -> str:
        """``reports/<preset>/<folder>/<target><suffix>``."""
        return f"reports/{self.preset}/{folder}/{self.target}{suffix}"

    @property
    def table(self) -> str:
        """The CSV of the plotted numbers."""
        return self.product("data", ".csv")

    @property
    def drawings(self) -> list[str]:
        """PDF and PNG, and the typeset sources of a table."""
        typeset = [".md", ".tex"] if self.file.plot.get("kind") == "table" else []
        folder = "tables" if typeset else "figures"
        return [self.product(folder, suffix) for suffix in (".pdf", ".png", *typeset)]

    @property
    def claims(self) -> str:
        """The checked claims."""
        return self.product("claims", ".json")

    @property
    def tracked_table(self) -> list[str]:
        """What decides the table beside its input files."""
        function = self.file.analysis.get("function")
        source = [f"{function}.source={conf.source_hash(function)}"] if function else []
        runs = [f"{run.label} = {run.id}" for run in self.runs]
        return runs + [f"{k}={v}" for k, v in self.arguments.items()] + source

    @property
    def tracked_plot(self) -> list[str]:
        """What decides the drawing beside the table."""
        style = conf.conf_dir() / "style" / "paper.mplstyle"
        lines = [line for line in style.read_text().splitlines() if line and not line.startswith("#")]
        return [f"{k}={v}" for k, v in self.file.plot.items()] + [self.file.title, self.note, *lines]

    @property
    def tracked_claims(self) -> list[str]:
        """What decides the claims beside the table."""
        return [str(claim) for claim in self.file.claims]

    @property
    def products(self) -> list[str]:
        """Everything a reader gets: a deleted file is rebuilt only if it is listed."""
        return [self.table, *self.drawings, self.claims]


def figure_files() -> list[Path]:
    """All figure files, by paper and name."""
    return sorted((conf.conf_dir() / "figure").glob("*/*.yaml"))


def figures(preset: str) -> list[Figure]:
    """Every figure under `preset`; the first mistake in any figure file is an error with file and key."""
    return [read_figure(path, preset) for path in figure_files()]


def figure(target: str, preset: str) -> Figure:
    """The figure of one target name."""
    paths = {f"{p.parent.name}_{p.stem}": p for p in figure_files()}
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
    shown = Path("conf") / path.relative_to(conf.conf_dir())
    try:
        content = conf.read_yaml(path)
        conf.check_arguments(FigureFile, {str(key): value for key, value in content.items()}, "figure file")
        file = _with_level(FigureFile(**content), preset)
        if file.kind not in KINDS:
            raise UserError(unknown("kind", file.kind, KINDS))
        parse_plot(file.plot)
        runs = tuple(_runs(file, preset))
        conf.check(run.config for run in runs)
        found = Figure(path.parent.name, path.stem, preset, file, runs)
        _check_kind(found)
        claim_rules.validate(file.claims, found.labels if found.runs else None, "claims")
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
    """Whether the figure has what its kind is made of."""
    if figure.file.kind == "analysis":
        if not isinstance(figure.file.analysis.get("function"), str):
            given = figure.file.analysis.get("function")
            raise UserError(
                f"analysis.function is the dotted name of a function in gcexp.analysis, got {given!r}"
            )
        conf.check_call(figure.file.analysis["function"], figure.arguments, "analysis")
    elif not figure.runs:
        raise UserError(f"kind {figure.file.kind} needs runs")
    elif figure.file.kind == "curves" and (idle := [run.label for run in figure.runs if not run.task]):
        raise UserError(f"kind curves needs a task, and run {idle[0]!r} has none")


def _runs(file: FigureFile, preset: str) -> Iterator[Run]:
    stand_ins = conf.read_yaml(conf.conf_dir() / "preset" / f"{preset}.yaml")
    seen: dict[str, dict] = {}
    for entry in file.runs:
        if not isinstance(entry, dict):
            raise UserError(f"runs: expected keys and values, got {entry!r}")
        merged = file.common | entry | (file.quick if preset == "quick" else {})
        for part, replaced in stand_ins.items():
            merged |= {part: replaced[merged[part]]} if merged.get(part) in replaced else {}
        swept = [k for k, v in merged.items() if isinstance(v, list)]
        if empty := [k for k in swept if not merged[k]]:
            raise UserError(f"{empty[0]} is swept over nothing, got []")
        for values in itertools.product(*(merged[k] for k in swept)):
            keys = merged | dict(zip(swept, values, strict=True))
            run = _run(keys)
            if run.label in seen:
                raise UserError(
                    f"label {run.label!r} stands twice; let it name a swept value, as in {{code.d}}"
                )
            seen[run.label] = keys
            yield run


def _run(keys: dict[str, Any]) -> Run:
    keys = {str(key): value for key, value in keys.items()}
    lacking = [k for k in ("label", "scheme", "delay", "iterations", "seeds") if k not in keys]
    if lacking:
        raise UserError(f"a run lacks {', '.join(lacking)} (given: {', '.join(keys)})")
    if not isinstance(keys["label"], str | int | float) or keys["label"] == "":
        raise UserError(f"label must be text, got {keys['label']!r}")
    for part in _PARTS:
        needed = part in ("scheme", "delay")
        if (needed or keys.get(part) is not None) and keys[part] not in conf.options(part):
            raise UserError(unknown(part, keys[part], conf.options(part)))
    values: dict[str, dict] = {part: {} for part in _PARTS}
    for key, value in keys.items():
        if key in _RUN_KEYS or key in _PARTS:
            continue
        group = key.partition(".")[0]
        owner = "scheme" if group in ("code", "wait", "placement") or key in _SHARED else group
        if owner not in values:
            raise UserError(unknown("run key", key, [*_RUN_KEYS, *_PARTS, *_SHARED, "code.KEY", "delay.KEY"]))
        values[owner][key] = value
    tokens = {part: conf.token(part, keys[part], values[part]) if keys.get(part) else None for part in _PARTS}
    if tokens["task"] and not tokens["optimizer"]:
        tokens["optimizer"] = conf.token("optimizer", "gradient_descent", values["optimizer"])
    length = {"iterations": check_count("iterations", keys["iterations"]), "seeds": seed_range(keys["seeds"])}
    run = Run("", **tokens, **length, horizon=check_horizon(keys.get("horizon")))
    if run.task:
        conf.refuse_bound(run.config)
    return replace(run, label=_label(str(keys["label"]), run.config))


def check_horizon(horizon: Any) -> float | None:
    """A horizon that is a simulated time, or None."""
    number = isinstance(horizon, int | float) and not isinstance(horizon, bool) and 0 < horizon < float("inf")
    if horizon is not None and not number:
        raise UserError(f"horizon must be a simulated time > 0 or null, got {horizon!r}")
    return horizon


def check_count(key: str, value: Any) -> int:
    """An integer of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{key} must be an integer >= 1, got {value!r}")
    return value


def _label(template: str, config: dict) -> str:
    def value(match: re.Match) -> str:
        node: Any = config
        seen: list[str] = []
        for part in match[1].split("."):
            if not isinstance(node, dict) or part not in node:
                names = [".".join([*seen, k]) for k in node] if isinstance(node, dict) else []
                raise UserError(f"label {template!r}: {unknown('key', match[1], names)}")
            node = node[part]
            seen.append(part)
        return str(node)

    return re.sub(r"\{([\w.]+)\}", value, template)


def seed_range(seeds: int | str) -> str:
    """Spelling of a set of seeds: a count, a single ``3`` in quotes or a range ``0-4``.

    Examples
    --------
    >>> seed_range(5), seed_range("3"), seed_range("2-4")
    ('0-4', '3', '2-4')
    """
    if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds >= 1:
        return f"0-{seeds - 1}" if seeds > 1 else "0"
    if isinstance(seeds, str):
        found = seed_list(seeds)
        return f"{found[0]}-{found[-1]}" if len(found) > 1 else str(found[0])
    raise UserError(f"seeds must be a number of seeds >= 1 or a range such as 0-4, got {seeds!r}")


def seed_list(seeds: int | str) -> tuple[int, ...]:
    """Seeds of a spelling.

    Examples
    --------
    >>> seed_list("2-4"), seed_list("3")
    ((2, 3, 4), (3,))
    """
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(seeds))
    if not found or (found[2] and int(found[2]) < int(found[1])):
        raise UserError(f"seeds must be a seed such as 3 or a range such as 0-4, got {seeds!r}")
    first, last = int(found[1]), int(found[2] or found[1])
    if last - first >= MOST_SEEDS:
        raise UserError(f"seeds {seeds} are {last - first + 1} seeds (allowed: up to {MOST_SEEDS})")
    return tuple(range(first, last + 1))
