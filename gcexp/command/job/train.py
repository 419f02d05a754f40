"""Training with a timeline's coefficients, or exactly."""

from __future__ import annotations

from pathlib import Path

from gcexp.command.arguments import output, overrides
from gcexp.errors import UserError
from gcexp.run.compose import compose
from gcexp.run.stages import run_training, run_verification


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    parser.add_argument("--timeline", type=Path, help="coefficients; without it every coefficient is 1")
    parser.add_argument(
        "--verified", type=Path, help="replay as well, and write what it finds here (with --timeline)"
    )
    output(parser)


def run(arguments) -> None:
    """Train."""
    if arguments.verified and not arguments.timeline:
        raise UserError("--verified replays a timeline, so it needs --timeline; got none")
    if arguments.verified == arguments.output:
        raise UserError(f"--verified and --output are both {arguments.output}; give two files")
    config = compose(arguments.overrides)
    run_training(config, arguments.output, arguments.timeline)
    if arguments.verified:  # in the same job: most of a short one is the import of torch
        run_verification(config, arguments.timeline, arguments.output, arguments.verified)
