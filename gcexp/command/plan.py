"""``gcexp plan``: what is still to be made, and what it will cost."""

from __future__ import annotations

from gcexp.errors import UserError
from gcexp.report.plan import format_plan, plan
from gcexp.run.yaml_values import read_value


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="preset=quick or paper, figures, papers")


def run(arguments) -> None:
    """Print the preview."""
    preset = ""
    targets = []
    for word in arguments.targets:
        if "=" not in word:
            targets.append(word)
        elif word.startswith("preset=") and not preset:
            preset = str(read_value(word))
        else:
            raise UserError(f"one preset=NAME and names of targets are taken, got {word}")
    preset = preset or "quick"
    print(format_plan(plan(preset, targets), preset))
