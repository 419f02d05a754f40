"""A project of one's own, outside the clone: a folder with options, figures, code and a Snakefile."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from gcexp.errors import UserError
from gcexp.files import bundled, writable
from gcexp.run.options import PAPERS, conf_dir, papers

TEMPLATE = Path(__file__).parent / "template"
_NAME = "mypaper"  # in the template's files and in their paths; .in keeps our own tools away from some


def init(name: str, folder: Path | None = None) -> str:
    """Make a project from the template.

    Parameters
    ----------
    name : str
        Of its folder and its package.
    folder : Path, optional
        Where; default this folder.

    Returns
    -------
    str
        What to type next.

    Raises
    ------
    UserError
        If the name is no name of a Python package, is taken by one, or if there is such a folder.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UserError(f"a project is named like a package, [a-z][a-z0-9_]*, got {name!r}")
    if name in sys.stdlib_module_names or name in ("gcexp", PAPERS, "conf", "profiles"):
        raise UserError(f"{name!r} is the name of another package; choose one of your own")
    if name in {folder.name for folder in papers().values()}:
        raise UserError(f"{name!r} is a paper of gcexp; choose a name of your own")
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
        shutil.copyfile(conf_dir() / "workflow.yaml", place / "conf" / "workflow.yaml")
        shutil.copytree(bundled("profiles"), place / "profiles")  # snakemake takes profiles/default
    return f"{place} is ready: cd {place}, then snakemake {name}_first (its README.md says what is where)"


def rules() -> str:
    """The Snakefile with the rules: that of the wheel, or of the clone.

    Examples
    --------
    >>> Path(rules()).name
    'Snakefile'
    """
    return str(bundled("workflow/Snakefile"))


def add(parser) -> None:
    """Arguments of the command."""
    parser.add_argument("name", help="of the folder and of its package, such as mypaper")


def run(arguments) -> None:
    """Make a project, and say what is in it."""
    print(init(arguments.name))
