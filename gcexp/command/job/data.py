"""Prepare a data set."""

from __future__ import annotations

from gcexp.command.arguments import output
from gcexp.data import prepare
from gcexp.run.datasets import key_of, source_of


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("dataset")
    parser.add_argument("--data-dir", help="folder with the raw files (default: $GCEXP_DATA, else download)")
    output(parser)


def run(arguments) -> None:
    """Prepare it."""
    source = source_of(arguments.dataset)
    prepare(source, arguments.output, arguments.data_dir or None, key=key_of(arguments.dataset, source))
