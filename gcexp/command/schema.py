"""``gcexp schema figure``: the JSON Schema of figure files, for editors (docs/figure.schema.json)."""

from __future__ import annotations

from gcexp.command.arguments import new_file
from gcexp.files import write_text
from gcexp.report.figureschema import document


def add(parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("kind", choices=("figure",))
    parser.add_argument("-o", "--output", type=new_file, help="file to write (default: standard output)")


def run(arguments) -> None:
    """Print or write it."""
    if arguments.output is None:
        print(document(), end="")
    else:
        write_text(arguments.output, document())
