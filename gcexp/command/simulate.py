"""``gcexp simulate``: the clock of one scheme as a table, without training."""

from __future__ import annotations

from gcexp.command.arguments import form, one_run, overrides
from gcexp.experiments import simulate
from gcexp.report.comparison import format_comparison


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    parser.add_argument(
        "--rows", default="seeds", help="seeds, running or iterations: one row for each (default: seeds)"
    )
    form(parser)


def run(arguments) -> None:
    """Print the clock."""
    with one_run(arguments.overrides):
        table = simulate(*arguments.overrides, rows=arguments.rows)
    print(format_comparison(table, arguments.format), end="")
