"""``gcexp list``: names of everything that has one, each with a phrase."""

from __future__ import annotations

import re

from gcexp.command.theory import first_line
from gcexp.data.sources import SOURCES
from gcexp.errors import UserError, unknown
from gcexp.report.paper import read_papers
from gcexp.report.targets import target_files
from gcexp.run.build import locate
from gcexp.run.compose import compose
from gcexp.run.options import GROUPS, Folders, about_trace, aliases, option_file, option_names, search_path
from gcexp.run.yaml_values import read_text, read_yaml

#: What it knows, by the name a person types; each but the last three is a group of options.
LISTED = (
    "codes",
    "schemes",
    "waits",
    "placements",
    "loads",
    "delays",
    "tasks",
    "optimizers",
    "datasets",
    "papers",
    "targets",
)
#: The first comment of an option file that is no directive and not indented.
_COMMENT = re.compile(r"^# *(?![@ ])(.+)", re.MULTILINE)


def list_names(kind: str) -> dict[str, str]:
    """Names of a kind, each with one phrase."""
    if kind not in LISTED:
        raise UserError(unknown("kind", kind, LISTED))
    if kind == "targets":
        title_of = {}
        for name, path in target_files().items():
            title_of[name] = str(read_yaml(path).get("title", ""))
        return title_of
    if kind == "papers":
        return {name: paper.title for name, paper in read_papers().items()}
    if kind == "datasets":
        built_in = {name: first_line(source.read) for name, source in SOURCES.items()}
        return dict(sorted((phrases("dataset") | built_in).items()))
    return phrases(group_of(kind))


def group_of(kind: str) -> str:
    """The group of options that a kind lists."""
    if kind in GROUPS:
        return kind
    return kind.removesuffix("s")


def phrases(group: str) -> dict[str, str]:
    """Options of a group with one phrase each."""
    folders = search_path()
    return {name: _phrase(group, name, folders) for name in option_names(group, folders)}


def _phrase(group: str, name: str, folders: Folders) -> str:
    """The first comment of an option's file, else its class's first docstring line; of a trace its title."""
    path = option_file(group, name, folders)
    if path.suffix == ".csv":
        return about_trace(str(path)).get("title", f"Replay of the trace {path}.")
    comment = _COMMENT.search(read_text(path))
    if comment:
        return comment[1]
    target = read_yaml(path).get("_target_")
    if not target:
        return ""
    return first_line(locate(target, f"{group}._target_"))


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("kind", nargs="?", help=f"only one of {', '.join(LISTED)}")


def run(arguments) -> None:
    """Print names, each with a phrase; a paper's name for a code or a trace with the other name behind it."""
    if arguments.kind:
        for line in _lines(arguments.kind):
            print(line)
        return
    for kind in LISTED:
        print(f"{kind}:")
        for line in _lines(kind):
            print(f"  {line}")


def _lines(kind: str) -> list[str]:
    """Names of a kind, such as ``cgc (cyclic_repetition)``, in a column, and their phrases."""
    found = list_names(kind)
    other_names = {}
    if kind in ("schemes", "delays"):
        other_names = aliases(group_of(kind))
    phrase_of = {}
    for name, phrase in found.items():
        if kind == "schemes":
            phrase += _mark(name)
        if name in other_names:
            name = f"{name} ({other_names[name]})"
        phrase_of[name] = phrase
    width = max(map(len, phrase_of), default=0)
    return [f"{name:{width}}  {phrase}".rstrip() for name, phrase in phrase_of.items()]


def _mark(scheme: str) -> str:
    """What stands behind the phrase of a scheme that decodes nothing: a bound, or a clock whose decoder is missing."""
    try:
        config = compose([f"scheme={scheme}"])
    except UserError:  # told where the scheme is used
        return ""
    if config["bound"]:
        return " [bound]"
    if not config.get("decodes", True):
        return " [clock only]"
    return ""
