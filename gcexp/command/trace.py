"""``gcexp trace check``: whether a CSV of workers' times is a trace, and what it holds."""

from __future__ import annotations

from gcexp.command.arguments import keywords
from gcexp.delays.trace_file import read_trace, report


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("what", choices=["check"])
    parser.add_argument(
        "file", metavar="FILE", help="CSV with iteration, worker, time; or a bundled trace's name"
    )
    parser.add_argument(
        "options",
        nargs="*",
        metavar="KEY=VALUE",
        help="absent=skip leaves out iterations in which workers are missing",
    )


def run(arguments) -> None:
    """What a trace holds, or its first fault."""
    print(report(read_trace(arguments.file, **keywords(arguments.options, read_trace))))
