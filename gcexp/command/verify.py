"""``gcexp verify``: fresh tables compared with the published ones."""

from __future__ import annotations

from gcexp.report.agreement import DIFFERS, compare_with_published, format_agreement


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="figures (default: all that were made)")
    parser.add_argument("--preset", help="quick or paper (default: both)")


def run(arguments) -> int:
    """One line per table; exit code 1 where one differs."""
    found = compare_with_published(arguments.targets, arguments.preset)
    print(format_agreement(found))
    return int(any(one.outcome == DIFFERS for one in found))
