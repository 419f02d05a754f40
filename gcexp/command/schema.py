"""``gcexp schema figure``: the JSON Schema of figure files, for editors (docs/figure.schema.json)."""

from __future__ import annotations

from gcexp.command.arguments import give, maybe_output
from gcexp.report.figureschema import document


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("kind", choices=("figure",))
    maybe_output(parser)


def run(arguments) -> None:
    """Print or write it."""
    give(document(), arguments.output)
