"""A project of one's own, outside the clone: a folder with options, figures, code and a Snakefile."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.machinery import PathFinder
from keyword import iskeyword
from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import bundled, written_folder
from gcexp.run.options import PAPERS, PROJECT, paper_folders, project

TEMPLATE = Path(__file__).parent / "template"
_NAME = "mypaper"  # in the template's files and in their paths; .in keeps our own tools away from some


def init(name: str, folder: Path | None = None) -> str:
    """Make a project from the template, a folder and a package with this name, and say what to type next.

    It is made whole or not at all: where the disk is full, nothing stays behind.
    """
    _require_free(name)
    place = (folder or Path()) / name
    if place.exists():
        raise UserError(f"{place} exists; choose another name, or remove it")
    with written_folder(place) as fresh:
        for source in sorted(TEMPLATE.rglob("*")):
            if source.is_file():
                _copy_template(source, fresh, name)
        shutil.copyfile(bundled("docs/figure.schema.json"), fresh / "figure.schema.json")  # for editors
        (fresh / "conf").mkdir()
        (fresh / PROJECT).parent.mkdir()
        shutil.copyfile(bundled(PROJECT), fresh / PROJECT)
        shutil.copytree(bundled("profiles"), fresh / "profiles")  # snakemake takes profiles/default
    return f"{place} is ready: cd {place}, then snakemake {name}_first (its README.md says what is where)"


def _require_free(name: str) -> None:
    """Refuse a name that no package can have, and one that means something already."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UserError(f"a project is named like a package, [a-z][a-z0-9_]*, got {name!r}")
    meaning = _meaning_of(name, Path.cwd())
    if name in ("gcexp", "gcexp_adviser", PAPERS, "conf", "config", "profiles"):
        meaning = "the name of another package"
    elif any(paper.name == name for paper in paper_folders().values()):
        meaning = "a paper of gcexp"
    if meaning:
        raise UserError(f"{name!r} is {meaning}; choose a name of your own")


def _copy_template(source: Path, project: Path, name: str) -> None:
    """Write a file of the template into a project, in whose text and path the project has its own name."""
    inside = source.relative_to(TEMPLATE).as_posix().replace(_NAME, name).removesuffix(".in")
    if inside == "gitignore":
        inside = ".gitignore"
    target = project / inside
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source.read_text("utf-8").replace(_NAME, name), "utf-8")


def _meaning_of(name: str, folder: Path, installed: bool = True) -> str | None:
    """What a name already means to Python; of installed modules those outside of `folder` count."""
    if iskeyword(name):
        return "a keyword of Python"
    if name in sys.stdlib_module_names:
        return "a module of Python's standard library"
    if not installed:
        return None
    elsewhere = []
    for place in sys.path:
        if Path(place or ".").resolve() != folder.resolve():
            elsewhere.append(place)
    spec = PathFinder.find_spec(name, elsewhere)
    if spec is None or spec.origin is None:  # a folder alone shadows nothing
        return None
    return "an installed module"


def refuse_shadows() -> None:
    """Refuse modules of a project that stand in the place of others, because the project comes first on the path."""
    folder = project()
    if folder is None:
        return
    own: dict[Path, bool] = {}  # modules and packages, and whether each is a paper of the project
    for path in folder.glob("*/__init__.py"):
        own[path.parent] = (path.parent / "paper.yaml").exists()
    for path in folder.glob("*.py"):
        own[path] = False
    for path, is_paper in sorted(own.items()):
        if path.stem in ("tests", "conftest"):  # which pytest alone reads
            continue
        meaning = _meaning_of(path.stem, folder, installed=not is_paper)  # a paper may be installed, too
        if meaning:
            raise UserError(
                f"{path.relative_to(folder)}: {path.stem!r} is {meaning}, in whose place it would be imported; give it "
                "another name"
            )


def rules() -> str:
    """The Snakefile with the rules, of the wheel or of the clone, unless a module of the project shadows another."""
    refuse_shadows()
    return str(bundled("workflow/Snakefile"))


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", help="of the folder and of its package, such as mypaper")


def run(arguments) -> None:
    """Make a project, and say what is in it."""
    print(init(arguments.name))
