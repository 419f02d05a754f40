"""``gcexp publish``: reports/paper becomes reports/published, to be committed."""

from __future__ import annotations

from gcexp.report.publish import publish


def add(parser) -> None:
    """Add the arguments of the command, which has none."""


def run(arguments) -> None:
    """Copy, and say what was copied."""
    print(publish())
