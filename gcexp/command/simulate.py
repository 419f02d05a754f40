"""``gcexp simulate``: the clock of one scheme as a table, without training."""

from __future__ import annotations

from gcexp.command.arguments import add_format, add_overrides, suggest_multirun
from gcexp.command.library_warnings import print_warnings
from gcexp.experiments import simulate
from gcexp.report.comparison import format_comparison
from gcexp.run.result_columns import ERROR

_SAME = 1e-9  # errors closer than this to the share of partitions that are missing say nothing else


def add(parser) -> None:
    """Add the arguments of the command."""
    add_overrides(parser)
    parser.add_argument(
        "--rows", default="seeds", help="seeds, running or iterations: one row for each (default: seeds)"
    )
    add_format(parser)


def run(arguments) -> None:
    """Print the clock."""
    with suggest_multirun(arguments.overrides), print_warnings():
        table = simulate(*arguments.overrides, rows=arguments.rows)
    if ERROR in table.attrs and table["mean_recovered_fraction"].notna().all():
        missing = 1 - table["mean_recovered_fraction"]
        says_more = (missing - table.attrs[ERROR]).abs() > _SAME
        if says_more.any():  # coefficients other than 0 and 1
            table.insert(table.columns.get_loc("mean_recovered_fraction"), ERROR, table.attrs[ERROR])
    print(format_comparison(table, arguments.format), end="")
