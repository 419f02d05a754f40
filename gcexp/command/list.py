"""``gcexp list``: names of everything that has one, each with a phrase."""

from __future__ import annotations

import re

from gcexp.command.theory import first_line
from gcexp.data.sources import SOURCES
from gcexp.errors import UserError, unknown
from gcexp.report.figurefile import target_files
from gcexp.report.paper import papers
from gcexp.run.build import locate
from gcexp.run.options import GROUPS, option_file, options, read_yaml

#: What it knows, by the name a person types; each but the last three is a group of options.
LISTED = (
    *("codes", "schemes", "waits", "placements", "loads", "delays", "tasks", "optimizers"),
    *("datasets", "papers", "targets"),
)


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
    return phrases(kind if kind in GROUPS else kind.removesuffix("s"))


def phrases(group: str) -> dict[str, str]:
    """Options of a group with one phrase each: the first comment of the file, else its class's first docstring line."""
    found = {}
    for name in options(group):
        path = option_file(group, name)
        comments = re.findall(r"^# *(?![@ ])(.+)", path.read_text("utf-8"), flags=re.MULTILINE)
        target = None if comments else read_yaml(path).get("_target_")
        documented = first_line(locate(target, f"{group}._target_")) if target else ""
        found[name] = comments[0] if comments else documented
    return found


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("kind", nargs="?", help=f"only one of {', '.join(LISTED)}")


def run(arguments) -> None:
    """Print names, each with a phrase."""
    for kind in [arguments.kind] if arguments.kind else LISTED:
        found, indent = listed(kind), "" if arguments.kind else "  "
        if indent:
            print(f"{kind}:")
        width = max(map(len, found), default=0)
        for name, phrase in found.items():
            print(f"{indent}{name:{width}}  {phrase}".rstrip())
