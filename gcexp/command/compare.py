"""``gcexp compare``: the schemes of a figure, the fastest first, from its table."""

from __future__ import annotations

from gcexp.command.arguments import form, preset
from gcexp.figures.tables import read_table
from gcexp.report.comparison import comparison, format_comparison, identifying_columns, refuse_without_runs
from gcexp.report.figurefile import figure
from gcexp.report.published import table_of


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("target", help="such as partial_recovery_fig4_fixed_s")
    preset(parser)
    parser.add_argument(
        "--level", type=float, help="score whose first passage counts (default: the figure's)"
    )
    form(parser)


def run(arguments) -> None:
    """Print the comparison."""
    shown = figure(arguments.target, arguments.preset)
    refuse_without_runs(shown)
    found = comparison(shown, read_table(table_of(shown)), arguments.level)
    print(format_comparison(identifying_columns(found, shown), arguments.format), end="")
