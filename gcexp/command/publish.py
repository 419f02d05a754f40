"""``gcexp publish``: reports/paper becomes reports/published, to be committed."""

from __future__ import annotations

from gcexp.report.publish import publish


def add(parser) -> None:
    """It takes no arguments."""


def run(arguments) -> None:
    """Copy, and say what was copied."""
    print(publish())
