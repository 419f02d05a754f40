"""The pages of papers and figures."""

from __future__ import annotations

from gcexp.command.arguments import figures_of, output, preset, targets
from gcexp.report.page import write_pages


def add(parser) -> None:
    """Its arguments."""
    targets(parser)
    preset(parser)
    output(parser)


def run(arguments) -> None:
    """Write them."""
    write_pages(arguments.preset, figures_of(arguments, checks=False), arguments.output)
