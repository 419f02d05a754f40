"""A figure, drawn or typeset from its table."""

from __future__ import annotations

from dataclasses import replace

from gcexp.command.arguments import inputs, output, preset
from gcexp.report.figure import RenderOptions
from gcexp.report.figurefile import figure
from gcexp.report.jobs import make_drawing


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("target")
    preset(parser)
    parser.add_argument("--title", default="true", help="false for a paper, where the caption says it")
    parser.add_argument("--note", default="true", help="false for a paper, where the text says it")
    parser.add_argument(
        "--width", default="", help="single, wide, double, or inches (default: the figure's own)"
    )
    inputs(parser)
    output(parser, "+")


def run(arguments) -> None:
    """Draw."""
    wanted = replace(
        figure(arguments.target, arguments.preset, checks=False), render=RenderOptions.of(vars(arguments))
    )
    make_drawing(wanted, arguments.input, arguments.output)
