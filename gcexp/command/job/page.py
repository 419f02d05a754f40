"""The static report page."""

from __future__ import annotations

from gcexp.command.arguments import inputs, output, preset
from gcexp.report.figurefile import figures
from gcexp.report.stages import write_page


def add(parser) -> None:
    """Its arguments."""
    preset(parser)
    inputs(parser)
    output(parser)


def run(arguments) -> None:
    """Write it."""
    write_page(arguments.preset, figures(arguments.preset), arguments.input, arguments.output)
