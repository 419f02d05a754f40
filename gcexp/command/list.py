"""``gcexp list``: names of everything that has one, each with a phrase."""

from __future__ import annotations

from gcexp.command.catalogue import LISTED, listed


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument(
        "kind",
        nargs="?",
        help="only codes, schemes, waits, placements, delays, tasks, optimizers, datasets, papers or targets",
    )


def run(arguments) -> None:
    """Print names, each with a phrase."""
    if arguments.kind:
        print(*_columns(listed(arguments.kind), ""), sep="\n")
    else:
        print(*(line for kind in LISTED for line in (f"{kind}:", *_columns(listed(kind), "  "))), sep="\n")


def _columns(found: dict[str, str], indent: str) -> list[str]:
    width = max(map(len, found), default=0)
    return [f"{indent}{name:{width}}  {phrase}".rstrip() for name, phrase in found.items()]
