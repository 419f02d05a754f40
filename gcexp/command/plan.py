"""``gcexp plan``: what is still to be made, and what it will cost."""

from __future__ import annotations

from gcexp.errors import UserError
from gcexp.report.plan import format_plan, plan
from gcexp.run.yaml_values import read_value


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="preset=quick or paper, figures, papers")


def run(arguments) -> None:
    """Print the preview."""
    presets = [text for text in arguments.targets if text.startswith("preset=")]
    other = [text for text in arguments.targets if "=" in text and text not in presets[:1]]
    if other:
        raise UserError(f"one preset=NAME and names of targets are taken, got {other[0]}")
    preset = str(read_value(presets[0])) if presets else "quick"
    print(format_plan(plan(preset, [text for text in arguments.targets if text not in presets]), preset))
