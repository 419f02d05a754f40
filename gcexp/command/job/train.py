"""Training with the coefficients that a scheme decodes, or exactly."""

from __future__ import annotations

from pathlib import Path

from gcexp.command.arguments import output, overrides
from gcexp.errors import UserError
from gcexp.run.compose import compose
from gcexp.run.stages import length_of, run_training, run_verification, simulated


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    parser.add_argument(
        "--verified",
        type=Path,
        help="train with the coefficients that the scheme decodes, replay encode, drop and decode, and write here"
        " what the replay finds; without it every coefficient is 1",
    )
    output(parser)


def run(arguments) -> None:
    """Train."""
    if arguments.verified == arguments.output:
        raise UserError(f"--verified and --output are both {arguments.output}; give two files")
    config = compose(arguments.overrides)
    timeline = simulated(config, length_of(config)) if arguments.verified else None
    trajectory = run_training(config, arguments.output, timeline)
    if timeline is not None:
        run_verification(config, timeline, trajectory, arguments.verified)
