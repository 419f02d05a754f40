"""Which figures there are, and which of them a call is about: their files by the names of targets."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from gcexp.errors import ParameterError, UserError
from gcexp.run import paths
from gcexp.run.options import packages_without_paper, paper_folders, project
from gcexp.run.yaml_values import read_yaml

#: Names of rules: no folder or target can be called so.
RULES = (
    *("all", "everything", "quick", "mlflow", "tracking", "tracking_part", "page", "figure_page"),
    *("data", "train", "train_exact", "table", "draw", "typeset"),
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PACKAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def paper_of(path: Path) -> str:
    """The paper of a figure file, by the folder that it stands in."""
    return path.parent.parent.name


def target_files() -> dict[str, Path]:
    """The figure files of all papers by the names of their targets, in the order of papers and names; none is read.

    Refused are names that cannot be targets of Snakemake, or that another file, a folder or a rule has already, papers
    that are no packages, and packages with figure files that are no papers.
    """
    _require_papers()
    files: dict[str, Path] = {}
    owners: dict[str, object] = dict.fromkeys(RULES, "a rule of the workflow")
    for package, folder in sorted(paper_folders().items(), key=lambda item: item[1].name):
        place = place_of(package)
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


def _require_papers() -> None:
    """Refuse a package whose figure files nobody would find."""
    for package in packages_without_paper():
        place = place_of(package)
        raise UserError(
            f"{place / 'figures'} has figure files, and {place} has no paper.yaml, which makes it a paper: write"
            " one with a title, or move the files"
        )


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


def place_of(package: str) -> Path:
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
