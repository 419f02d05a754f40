"""Is what the files of figures say right? All is checked before the first job."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, require_known
from gcexp.figures.plots import parse as parse_plot
from gcexp.figures.stylefiles import check_style
from gcexp.report.entries import runs_of, substitutes
from gcexp.report.figure import Figure, FigureFile, style_file
from gcexp.report.figurechecks import check_figure
from gcexp.report.paper import check_paper
from gcexp.report.placeholders import check_texts
from gcexp.report.targets import page_files, paper_of, place_of, target_files
from gcexp.run.options import paper_folders
from gcexp.run.scheme import Codes
from gcexp.run.yaml_values import read_yaml
from gcexp.schema import fill, fitted

PRESETS = ("quick", "paper")
#: What the quick preset may set instead, beside keys of a run or of the analysis.
_OTHER_IN_QUICK: dict = {"level": float, "note": str, "plot": dict}


def figures(preset: str, published: bool = False) -> list[Figure]:
    """Every figure of `page_files`; the first mistake in any figure file is an error with file and key."""
    return named_figures(page_files(published), preset)


def named_figures(targets: Collection[str], preset: str, checks: bool = True) -> list[Figure]:
    """The figures of some target names, see `read_figure`; with `checks` what their papers say is checked, too."""
    files = target_files()
    for target in targets:
        require_known("figure", target, files)
    if checks and targets:
        check_style(style_file())
        for folder in dict.fromkeys(files[target].parent.parent for target in targets):
            check_paper(folder)
    codes = Codes()
    return [read_figure(files[target], preset, checks, codes) for target in targets]


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
    shown = place_of(package) / "figures" / path.name
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
