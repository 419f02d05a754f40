"""A figure's table."""

from __future__ import annotations

from gcexp.command.arguments import output, preset
from gcexp.report.figurefile import figure
from gcexp.report.jobs import make_table


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("target")
    preset(parser)
    output(parser)


def run(arguments) -> None:
    """Make it."""
    make_table(figure(arguments.target, arguments.preset), arguments.output)
