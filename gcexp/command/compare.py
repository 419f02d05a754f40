"""``gcexp compare``: the schemes of a figure, the fastest first, from its table."""

from __future__ import annotations

from gcexp.command.arguments import add_format
from gcexp.experiments import compare
from gcexp.report.comparison import format_comparison


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("target", help="such as partial_recovery_fig4_fixed_s")
    parser.add_argument("--preset", default="quick", help="quick or paper (default: quick)")
    parser.add_argument(
        "--level", type=float, help="score whose first passage counts (default: the figure's)"
    )
    parser.add_argument(
        "--against", metavar="LABEL", help="scheme to which ratios are told (default: the fastest)"
    )
    add_format(parser)


def run(arguments) -> None:
    """Print the comparison."""
    found = compare(arguments.target, arguments.level, arguments.preset, against=arguments.against)
    print(format_comparison(found, arguments.format), end="")
