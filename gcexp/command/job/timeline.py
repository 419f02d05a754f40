"""The clock and the coefficients of one scheme."""

from __future__ import annotations

from gcexp.command.arguments import output, overrides
from gcexp.run.compose import compose
from gcexp.run.stages import run_timeline


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    output(parser)


def run(arguments) -> None:
    """Simulate."""
    run_timeline(compose(arguments.overrides), arguments.output)
