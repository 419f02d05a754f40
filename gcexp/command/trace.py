"""``gcexp trace check``: whether a CSV of workers' times is a trace, and what it holds."""

from __future__ import annotations

from gcexp.delays.trace_file import report


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("what", choices=["check"])
    parser.add_argument("file", metavar="FILE", help="CSV with the columns iteration, worker, time")


def run(arguments) -> None:
    """What a trace holds, or its first fault."""
    print(report(arguments.file))
