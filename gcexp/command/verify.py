"""``gcexp verify``: fresh tables held against the published ones."""

from __future__ import annotations

from gcexp.report.agreement import DIFFERS, as_text, verify


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="figures (default: all that were made)")
    parser.add_argument("--preset", help="quick or paper (default: both)")


def run(arguments) -> int:
    """One line per table; exit code 1 where one differs."""
    found = verify(arguments.targets, arguments.preset)
    print(as_text(found))
    return int(any(one.outcome == DIFFERS for one in found))
