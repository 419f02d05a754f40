"""A figure, drawn or typeset from its table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gcexp.command.arguments import inputs, output, preset
from gcexp.report.figure import Look
from gcexp.report.figurefile import figure
from gcexp.report.stages import check_claims, make_drawing


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("target")
    preset(parser)
    parser.add_argument("--claims", type=Path, help="check the figure's claims as well, and write them here")
    parser.add_argument("--title", default="true", help="false for a paper, where the caption says it")
    parser.add_argument("--note", default="true", help="false for a paper, where the text says it")
    parser.add_argument(
        "--width", default="", help="single, wide, double, or inches (default: the figure's own)"
    )
    inputs(parser)
    output(parser, "+")


def run(arguments) -> None:
    """Draw, and check the claims where a file for them is named."""
    wanted = replace(figure(arguments.target, arguments.preset), look=Look.of(vars(arguments)))
    make_drawing(wanted, arguments.input, arguments.output)
    if arguments.claims:  # in the same job, which has the table already
        check_claims(wanted, arguments.input, arguments.claims)
