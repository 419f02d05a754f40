"""``gcexp claims``: a figure's claims, checked against its table."""

from __future__ import annotations

from gcexp.command.arguments import inputs, output, preset
from gcexp.report.figurefile import figure
from gcexp.report.stages import check_claims


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("target")
    preset(parser)
    inputs(parser)
    output(parser)


def run(arguments) -> None:
    """Check them."""
    check_claims(figure(arguments.target, arguments.preset), arguments.input, arguments.output)
