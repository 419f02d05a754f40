"""Which figures are there, and is what their files say right? All is checked before the first job."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, require, require_known
from gcexp.figures.plots import parse as parse_plot
from gcexp.report.columns import Timings
from gcexp.report.entries import runs_of, substitutes
from gcexp.report.figure import Figure, FigureFile
from gcexp.run import paths
from gcexp.run.checks import check_named, declared_scores
from gcexp.run.dependencies import targets
from gcexp.run.measured import CURVE
from gcexp.run.options import papers, project, read_yaml, search_dirs
from gcexp.run.records import unrecorded
from gcexp.schema import fill, fitted

PRESETS = ("quick", "paper")
#: Names of rules: no folder or target can be called so.
RULES = (
    *("all", "everything", "quick", "mlflow", "tracking", "tracking_part", "page", "audit", "audit_paper"),
    *("data", "train", "train_exact", "table", "draw", "typeset"),
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PACKAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def paper_of(path: Path) -> str:
    """The paper of a figure file, by the folder that it stands in."""
    return path.parent.parent.name


def target_files() -> dict[str, Path]:
    """The figure files of all papers by the names of their targets, in the order of papers and names; none is read.

    Refused are names that cannot be targets of Snakemake, or that another file, a folder or a rule has already,
    papers that are no packages, and figure files in conf/.
    """
    found: dict[Path, str] = {}
    for package, folder in papers().items():
        if not _PACKAGE.fullmatch(folder.name) or not (folder / "__init__.py").is_file():
            raise UserError(
                f"{_place(package)} has a paper.yaml and is no package: it needs a name of letters, digits and _, and"
                " an __init__.py, which may be empty"
            )
        with unrecorded():  # a figure counts by its values
            found |= dict.fromkeys((folder / "figures").glob("*.yaml"), package)
    for folder in search_dirs():
        for group in ("figure", "paper", "statements"):
            if (folder / group).is_dir() and any(path.is_file() for path in (folder / group).rglob("*")):
                raise UserError(
                    f"{folder / group}: a paper is now a folder of its own, beside conf/, with __init__.py, paper.yaml,"
                    " figures/NAME.yaml and perhaps statements.csv, as gcexp init makes it; move these files there"
                )
    files: dict[str, Path] = {}
    taken: dict[str, object] = dict.fromkeys(RULES, "a rule of the workflow")
    for path in sorted(found, key=lambda path: (paper_of(path), path.name)):
        paper, target = _place(found[path]), f"{paper_of(path)}_{path.stem}"
        place = paper / "figures" / path.name
        named = f"{place}: {path.stem!r} cannot name a target (allowed: letters, digits and _ . -)"
        require(bool(_NAME.fullmatch(path.stem)), named)
        for name, owner in ((paper_of(path), paper), (target, place)):
            if taken.setdefault(name, owner) != owner:
                raise UserError(f"{owner}: {name} is already the name of {taken[name]}; rename one of them")
        files[target] = path
    return files


def _place(package: str) -> Path:
    """How a paper's folder is spelled in sentences."""
    return Path(*package.split("."))


def page_files(published: bool = False, studies: bool = True) -> dict[str, Path]:
    """Figure files that a call without names is about: all, but of a project that has figures its own.

    With `published` a project's call is about those that come with gcexp as well; without `studies` only about
    figures and tables that stand in a paper.
    """
    files, here = target_files(), project()
    own = {target: path for target, path in files.items() if here and path.is_relative_to(here)}
    found = files if published else own or files
    return {target: path for target, path in found.items() if studies or not is_study(path)}


def is_study(path: Path) -> bool:
    """Whether a figure file says ``study: true``, or its paper does: then it does not stand in the paper."""
    return any(read_yaml(file).get("study") is True for file in (path, path.parent.parent / "paper.yaml"))


def is_asked(path: Path, asked: Collection[str]) -> bool:
    """Whether a paper that is asked for by its name has this figure as its own."""
    if (paper := paper_of(path)) not in asked:
        return False
    mine = [other for other in target_files().values() if paper_of(other) == paper]
    return not is_study(path) or all(map(is_study, mine))


def made_files(target: str, preset: str) -> list[str]:
    """What is there of a figure that was drawn, or typeset, before: nothing of one that was not."""
    patterns = (*paths.DRAWN, *paths.TYPESET, paths.TABLE)
    every = [pattern.format(preset=preset, target=target) for pattern in patterns]
    found = [path for path in every if Path(path).is_file()]
    return [] if found == every[-1:] else found


def figures(preset: str, published: bool = False) -> list[Figure]:
    """Every figure of `page_files`; the first mistake in any figure file is an error with file and key."""
    return named_figures(page_files(published), preset)


def named_figures(targets: Collection[str], preset: str, checks: bool = True) -> list[Figure]:
    """The figures of some target names, see `read_figure`."""
    paths = target_files()
    for target in targets:
        require_known("figure", target, paths)
    return [read_figure(paths[target], preset, checks) for target in targets]


def figure(target: str, preset: str, checks: bool = True) -> Figure:
    """The figure of one target name, see `read_figure`."""
    return named_figures([target], preset, checks)[0]


def read_figure(path: Path, preset: str, checks: bool = True) -> Figure:
    """Read and check one figure file; the first mistake is a sentence with the file and the key.

    Without `checks` nothing that its runs name is built, and its plot is not held against its columns: jobs that only
    draw or show a table import no codes, and the plan has checked the figure.
    """
    require_known("preset", preset, PRESETS)
    package = next((name for name, place in papers().items() if place == path.parent.parent), paper_of(path))
    shown = _place(package) / "figures" / path.name
    instead = substitutes(preset)  # a mistake there is none of this figure
    try:
        content = _absolute(read_yaml(path), package)
        if old := [key for key in ("claims", "claim") if key in content]:
            raise UserError(
                f"{old[0]}: what a paper says about a figure is a function in {_place(package) / 'claims.py'},"
                f" decorated with gcexp.analysis.claims.claim; move it there and remove {old[0]}"
            )
        file = _under(fill(FigureFile, content, "figure file"), preset)
        parse_plot(file.plot)
        runs = tuple(runs_of(file, instead, checks))
        found = Figure(paper_of(path), path.stem, preset, file, runs)
        if checks:
            _check_kind(found)
        return found
    except UserError as error:
        sentence = str(error)
        raise UserError(sentence if sentence.startswith(str(path)) else f"{shown}: {sentence}") from None


def _absolute(node: Any, package: str, key: str = "") -> Any:
    """The content of a figure file in which a function whose name begins with a dot is in the paper's package."""
    if isinstance(node, dict):
        return {name: _absolute(value, package, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_absolute(value, package) for value in node]
    named = key in ("function", "exact") and isinstance(node, str) and node.startswith(".")
    return f"{package}{node}" if named else node


def _under(file: FigureFile, preset: str) -> FigureFile:
    """The file under a preset: with what the quick preset sets instead, which no other preset knows."""
    quick = dict(file.quick) if preset == "quick" else {}
    own = {
        name: fitted(kind, quick.pop(name), f"quick.{name}") for name, kind in _OWN.items() if name in quick
    }
    if "plot" in own:
        own["plot"] = file.plot | own["plot"]
    return replace(file, quick=quick, **own)


#: What the quick preset may set instead, beside keys of a run or of the analysis.
_OWN: dict = {"level": float, "note": str, "plot": dict}


def _check_kind(figure: Figure) -> None:
    """Whether the figure has what its kind is made of, and draws columns that its table will have."""
    file = figure.file
    for key, kind, given in (
        ("timings", "timings", file.timings != Timings()),
        ("passages", "curves", file.passages),
    ):
        require(file.kind == kind or not given, f"{key} are rows of kind {kind}, got kind {file.kind}")
    if file.kind == "analysis":
        function = file.analysis.get("function")
        told = "the dotted name of a function, as .numerics.table of the paper"
        require(isinstance(function, str), f"analysis.function is {told}, got {function!r}")
    else:
        require(bool(figure.runs), f"kind {file.kind} needs runs")
    if file.kind == "curves" and (idle := [run.label for run in figure.runs if not run.trains]):
        raise UserError(f"kind curves needs a task, and run {idle[0]!r} has none")
    if file.passages:
        for run in figure.runs:
            scores = declared_scores(run.config["task"])
            if scores is not None:
                require_known("score", file.passages.y, scores, "passages.y")
    if file.kind == "timings":
        for label in (*file.timings.against, *file.timings.against.values()):
            require_known("label", label, figure.labels, "timings.against")
        if file.timings.exact is not None:
            check_named(file.timings.exact, "timings.exact")
    _check_plot(figure)


def _check_plot(figure: Figure) -> None:
    """Whether plot and tolerances are about columns that the table will have, and functions are there."""
    plot, known = parse_plot(figure.file.plot), figure.columns
    drawn: tuple[str, ...] = plot.columns_drawn
    if known is None and figure.runs:  # a task that declares no scores: what tells its runs apart is known
        known, drawn = [*figure.identifying_columns, *CURVE], plot.keys
    for place, columns in (("plot", drawn), ("tolerances", figure.file.tolerances if figure.columns else ())):
        for column in columns if known is not None else ():
            require_known("column", column, known or (), place)
    for function in targets(figure.file.plot):
        check_named(function, "plot.function")
