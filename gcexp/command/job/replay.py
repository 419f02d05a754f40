"""Encode, drop and decode replayed on the parameters that a training saved."""

from __future__ import annotations

from pathlib import Path

from gcexp.command.arguments import output, overrides
from gcexp.run.compose import compose
from gcexp.run.stages import run_verification


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    parser.add_argument("--timeline", type=Path, required=True)
    parser.add_argument("--trajectory", type=Path, required=True)
    output(parser)


def run(arguments) -> None:
    """Replay."""
    run_verification(compose(arguments.overrides), arguments.timeline, arguments.trajectory, arguments.output)
