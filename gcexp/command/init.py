"""A project of one's own, outside the clone: a folder with options, figures, code and a Snakefile."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.machinery import PathFinder
from keyword import iskeyword
from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import bundled, writable
from gcexp.run.options import PAPERS, PROJECT, papers, project

TEMPLATE = Path(__file__).parent / "template"
_NAME = "mypaper"  # in the template's files and in their paths; .in keeps our own tools away from some


def init(name: str, folder: Path | None = None) -> str:
    """Make a project from the template, a folder and a package with this name, and say what to type next."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UserError(f"a project is named like a package, [a-z][a-z0-9_]*, got {name!r}")
    kind = _taken(name, Path.cwd())
    if name in ("gcexp", PAPERS, "conf", "config", "profiles"):
        kind = "the name of another package"
    elif name in {folder.name for folder in papers().values()}:
        kind = "a paper of gcexp"
    if kind:
        raise UserError(f"{name!r} is {kind}; choose a name of your own")
    place = (folder or Path()) / name
    if place.exists():
        raise UserError(f"{place} exists; choose another name, or remove it")
    with writable(place):
        for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file()):
            inside = source.relative_to(TEMPLATE).as_posix().replace(_NAME, name).removesuffix(".in")
            target = place / (".gitignore" if inside == "gitignore" else inside)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text("utf-8").replace(_NAME, name), "utf-8")
        shutil.copyfile(bundled("docs/figure.schema.json"), place / "figure.schema.json")  # for editors
        (place / "conf").mkdir()
        (place / PROJECT).parent.mkdir()
        shutil.copyfile(bundled(PROJECT), place / PROJECT)
        shutil.copytree(bundled("profiles"), place / "profiles")  # snakemake takes profiles/default
    return f"{place} is ready: cd {place}, then snakemake {name}_first (its README.md says what is where)"


def _taken(name: str, folder: Path, installed: bool = True) -> str | None:
    """What a name already means to Python; of installed modules those outside of `folder` count."""
    if iskeyword(name):
        return "a keyword of Python"
    if name in sys.stdlib_module_names:
        return "a module of Python's standard library"
    elsewhere = [place for place in sys.path if Path(place or ".").resolve() != folder.resolve()]
    found = PathFinder.find_spec(name, elsewhere) if installed else None
    return "an installed module" if found and found.origin else None  # a folder alone shadows nothing


def refuse_shadows() -> None:
    """Refuse modules of a project that stand in the place of others, because the project comes first on the path."""
    if not (folder := project()):
        return
    packages = {path.parent: (path.parent / "paper.yaml").exists() for path in folder.glob("*/__init__.py")}
    for path, own in sorted((packages | dict.fromkeys(folder.glob("*.py"), False)).items()):
        # A paper's own package may be installed, too; and pytest alone reads the other two.
        if path.stem not in ("tests", "conftest") and (kind := _taken(path.stem, folder, installed=not own)):
            raise UserError(
                f"{path.relative_to(folder)}: {path.stem!r} is {kind}, in whose place it would be imported; give it "
                "another name"
            )


def rules() -> str:
    """The Snakefile with the rules, of the wheel or of the clone, unless a module of the project shadows another."""
    refuse_shadows()
    return str(bundled("workflow/Snakefile"))


def add(parser) -> None:
    """Arguments of the command."""
    parser.add_argument("name", help="of the folder and of its package, such as mypaper")


def run(arguments) -> None:
    """Make a project, and say what is in it."""
    print(init(arguments.name))
