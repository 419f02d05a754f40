"""``gcexp list``: names of everything that has one, each with a phrase."""

from __future__ import annotations

import re

from gcexp.command.theory import first_line
from gcexp.data.sources import SOURCES
from gcexp.errors import UserError, unknown
from gcexp.report.figurefile import target_files
from gcexp.report.paper import papers
from gcexp.run.build import locate
from gcexp.run.compose import compose
from gcexp.run.options import GROUPS, about_trace, aliases, option_file, options
from gcexp.run.yaml_values import read_text, read_yaml

#: What it knows, by the name a person types; each but the last three is a group of options.
LISTED = (
    *("codes", "schemes", "waits", "placements", "loads", "delays", "tasks", "optimizers"),
    *("datasets", "papers", "targets"),
)
#: The first comment of an option file that is no directive and not indented.
_COMMENT = re.compile(r"^# *(?![@ ])(.+)", re.MULTILINE)


def listed(kind: str) -> dict[str, str]:
    """Names of a kind, each with one phrase."""
    if kind not in LISTED:
        raise UserError(unknown("kind", kind, LISTED))
    if kind == "targets":
        return {name: str(read_yaml(path).get("title", "")) for name, path in target_files().items()}
    if kind == "papers":
        return {name: paper.title for name, paper in papers().items()}
    if kind == "datasets":
        built_in = {name: first_line(source.read) for name, source in SOURCES.items()}
        return dict(sorted((phrases("dataset") | built_in).items()))
    return phrases(group_of(kind))


def group_of(kind: str) -> str:
    """The group of options that a kind lists."""
    return kind if kind in GROUPS else kind.removesuffix("s")


def phrases(group: str) -> dict[str, str]:
    """Options of a group with one phrase each."""
    return {name: _phrase(group, name) for name in options(group)}


def _phrase(group: str, name: str) -> str:
    """The first comment of an option's file, else its class's first docstring line; of a trace its title."""
    path = option_file(group, name)
    if path.suffix == ".csv":
        return about_trace(str(path)).get("title", f"Replay of the trace {path}.")
    comment = _COMMENT.search(read_text(path))
    if comment:
        return comment[1]
    target = read_yaml(path).get("_target_")
    return first_line(locate(target, f"{group}._target_")) if target else ""


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("kind", nargs="?", help=f"only one of {', '.join(LISTED)}")


def run(arguments) -> None:
    """Print names, each with a phrase; a paper's name for a code or a trace with the other name behind it."""
    for kind in [arguments.kind] if arguments.kind else LISTED:
        indent = ""
        if not arguments.kind:
            print(f"{kind}:")
            indent = "  "
        for name, phrase in _with_other_names(kind, listed(kind)):
            print(f"{indent}{name}  {phrase}".rstrip())


def _with_other_names(kind: str, found: dict[str, str]) -> list[tuple[str, str]]:
    """Rows of names of one width, such as ``cgc (cyclic_repetition)``, and phrases."""
    others = aliases(group_of(kind)) if kind in ("schemes", "delays") else {}
    names = [f"{name} ({others[name]})" if name in others else name for name in found]
    width = max(map(len, names), default=0)
    shown = found if kind != "schemes" else {name: f"{said}{_mark(name)}" for name, said in found.items()}
    return [(f"{name:{width}}", phrase) for name, phrase in zip(names, shown.values(), strict=True)]


def _mark(scheme: str) -> str:
    """What stands behind the phrase of a scheme that decodes nothing: a bound, or a clock whose decoder is missing."""
    try:
        config = compose([f"scheme={scheme}"])
    except UserError:  # told where the scheme is used
        return ""
    if config["bound"]:
        return " [bound]"
    return "" if config.get("decodes", True) else " [clock only]"
