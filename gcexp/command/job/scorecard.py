"""Checked claims of many figures as one scorecard."""

from __future__ import annotations

from gcexp.command.arguments import inputs, output
from gcexp.report.figurefile import statements
from gcexp.report.scorecard import answered, collect, write_json, write_markdown


def add(parser) -> None:
    """Its arguments."""
    inputs(parser, "+")
    output(parser, "+")


def run(arguments) -> None:
    """Collect them."""
    claims = collect(arguments.input)
    entries = answered(claims, {claim["paper"]: statements(claim["paper"]) for claim in claims}) + claims
    for path in arguments.output:
        (write_json if path.suffix == ".json" else write_markdown)(entries, path)
