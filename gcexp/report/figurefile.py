"""Which figures are there, and is what their files say right? All is checked before the first job."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from gcexp.errors import ParameterError, UserError, require_known
from gcexp.figures.plots import parse as parse_plot
from gcexp.figures.stylefiles import check_style
from gcexp.report.entries import runs_of, substitutes
from gcexp.report.figure import Figure, FigureFile, style_file
from gcexp.report.figurechecks import check_figure
from gcexp.report.paper import check_paper
from gcexp.report.placeholders import check_texts
from gcexp.run import paths
from gcexp.run.options import paper_folders, project
from gcexp.run.scheme import Codes
from gcexp.run.yaml_values import read_yaml
from gcexp.schema import fill, fitted

PRESETS = ("quick", "paper")
#: Names of rules: no folder or target can be called so.
RULES = (
    *("all", "everything", "quick", "mlflow", "tracking", "tracking_part", "page"),
    *("data", "train", "train_exact", "table", "draw", "typeset"),
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PACKAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What the quick preset may set instead, beside keys of a run or of the analysis.
_OTHER_IN_QUICK: dict = {"level": float, "note": str, "plot": dict}


def paper_of(path: Path) -> str:
    """The paper of a figure file, by the folder that it stands in."""
    return path.parent.parent.name


def target_files() -> dict[str, Path]:
    """The figure files of all papers by the names of their targets, in the order of papers and names; none is read.

    Refused are names that cannot be targets of Snakemake, or that another file, a folder or a rule has already, and
    papers that are no packages.
    """
    files: dict[str, Path] = {}
    owners: dict[str, object] = dict.fromkeys(RULES, "a rule of the workflow")
    for package, folder in sorted(paper_folders().items(), key=lambda item: item[1].name):
        place = _place(package)
        _require_package(folder, place)
        for path in sorted((folder / "figures").glob("*.yaml")):
            figure_place = place / "figures" / path.name
            if not _NAME.fullmatch(path.stem):
                raise ParameterError(
                    f"{figure_place}: {path.stem!r} cannot name a target (allowed: letters, digits and _ . -)"
                )
            target = f"{folder.name}_{path.stem}"
            _take_name(owners, folder.name, place)
            _take_name(owners, target, figure_place)
            files[target] = path
    return files


def _require_package(folder: Path, place: Path) -> None:
    """Refuse a paper whose folder Python cannot import."""
    if not _PACKAGE.fullmatch(folder.name) or not (folder / "__init__.py").is_file():
        raise UserError(
            f"{place} has a paper.yaml and is no package: it needs a name of letters, digits and _, and an __init__.py,"
            " which may be empty"
        )


def _take_name(owners: dict[str, object], name: str, owner: Path) -> None:
    """Note whose name it is; refuse one that something else has."""
    if owners.setdefault(name, owner) != owner:
        raise UserError(f"{owner}: {name} is already the name of {owners[name]}; rename one of them")


def _place(package: str) -> Path:
    """How a paper's folder is spelled in sentences."""
    return Path(*package.split("."))


def page_files(published: bool = False, studies: bool = True) -> dict[str, Path]:
    """Figure files that a call without names is about: all, but of a project that has figures its own.

    With `published` a project's call is about those that come with gcexp as well; without `studies` only about
    figures and tables that stand in a paper.
    """
    files = target_files()
    here = project()
    if here is not None and not published:
        own = {target: path for target, path in files.items() if path.is_relative_to(here)}
        files = own or files
    if studies:
        return files
    return {target: path for target, path in files.items() if not is_study(path)}


def is_study(path: Path) -> bool:
    """Whether a figure file says ``study: true``, or its paper does: then it does not stand in the paper."""
    paper = path.parent.parent / "paper.yaml"
    return read_yaml(path).get("study") is True or read_yaml(paper).get("study") is True


def is_asked(path: Path, asked: Collection[str]) -> bool:
    """Whether a paper that is asked for by its name has this figure as its own."""
    paper = paper_of(path)
    if paper not in asked:
        return False
    figures_of_paper = [other for other in target_files().values() if paper_of(other) == paper]
    return not is_study(path) or all(map(is_study, figures_of_paper))


def made_files(target: str, preset: str) -> list[str]:
    """What is there of a figure that was drawn, or typeset, before: nothing of one that was not."""
    made = []
    for pattern in (*paths.DRAWN, *paths.TYPESET):
        drawing = pattern.format(preset=preset, target=target)
        if Path(drawing).is_file():
            made.append(drawing)
    table = paths.TABLE.format(preset=preset, target=target)
    if made and Path(table).is_file():
        made.append(table)
    return made


def figures(preset: str, published: bool = False) -> list[Figure]:
    """Every figure of `page_files`; the first mistake in any figure file is an error with file and key."""
    return named_figures(page_files(published), preset)


def named_figures(targets: Collection[str], preset: str, checks: bool = True) -> list[Figure]:
    """The figures of some target names, see `read_figure`; with `checks` what their papers say is checked, too."""
    paths = target_files()
    for target in targets:
        require_known("figure", target, paths)
    if checks and targets:
        check_style(style_file())
        for folder in dict.fromkeys(paths[target].parent.parent for target in targets):
            check_paper(folder)
    codes = Codes()
    return [read_figure(paths[target], preset, checks, codes) for target in targets]


def figure(target: str, preset: str, checks: bool = True) -> Figure:
    """The figure of one target name, see `read_figure`."""
    return named_figures([target], preset, checks)[0]


def read_figure(path: Path, preset: str, checks: bool = True, codes: Codes | None = None) -> Figure:
    """Read and check one figure file; the first mistake is a sentence with the file and the key.

    Without `checks` nothing that its runs name is built, and its plot is not held against its columns: jobs that only
    draw or show a table import no codes, and the plan has checked the figure. `codes` are those of several figures,
    which often share them.
    """
    require_known("preset", preset, PRESETS)
    package = _package_of(path)
    shown = _place(package) / "figures" / path.name
    instead = substitutes(preset)  # a mistake there is none of this figure
    try:
        content = read_yaml(path)
        check_texts(content)
        file = fill(FigureFile, _absolute(content, package), "figure file")
        file = _with_preset(file, preset)
        parse_plot(file.plot)
        runs = tuple(runs_of(file, instead, checks, codes))
        found = Figure(paper_of(path), path.stem, preset, file, runs)
        if checks:
            check_figure(found)
        return found
    except UserError as error:
        sentence = str(error)
        if not sentence.startswith(str(path)):
            sentence = f"{shown}: {sentence}"
        raise UserError(sentence) from None


def _package_of(path: Path) -> str:
    """The dotted name of the package of a figure file's paper; the name of its folder where that is no paper."""
    for package, folder in paper_folders().items():
        if folder == path.parent.parent:
            return package
    return paper_of(path)


def _absolute(node: Any, package: str, key: str = "") -> Any:
    """The content of a figure file in which a function whose name begins with a dot is in the paper's package."""
    if isinstance(node, dict):
        return {name: _absolute(value, package, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_absolute(value, package) for value in node]
    if key in ("function", "exact") and isinstance(node, str) and node.startswith("."):
        return f"{package}{node}"
    return node


def _with_preset(file: FigureFile, preset: str) -> FigureFile:
    """The file under a preset: with what the quick preset sets instead, which no other preset knows."""
    if preset != "quick":
        return replace(file, quick={})
    quick = dict(file.quick)
    own: dict[str, Any] = {}
    for name, kind in _OTHER_IN_QUICK.items():
        if name in quick:
            own[name] = fitted(kind, quick.pop(name), f"quick.{name}")
    if "plot" in own:
        own["plot"] = file.plot | own["plot"]
    return replace(file, quick=quick, **own)
