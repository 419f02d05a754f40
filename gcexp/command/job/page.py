"""The static report page."""

from __future__ import annotations

from gcexp.command.arguments import figures_of, inputs, output, preset, targets
from gcexp.report.stages import write_page


def add(parser) -> None:
    """Its arguments."""
    targets(parser)
    preset(parser)
    inputs(parser)
    output(parser)


def run(arguments) -> None:
    """Write it."""
    write_page(arguments.preset, figures_of(arguments), arguments.input, arguments.output)
