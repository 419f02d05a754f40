"""``gcexp trace check`` and ``gcexp trace join``: whether a CSV of workers' times is a trace; one from recordings."""

from __future__ import annotations

from gcexp.command.arguments import keywords, new_file
from gcexp.delays.trace_report import report
from gcexp.errors import UserError
from gcexp.traces.reading import read_trace


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument("what", choices=["check", "join"])
    parser.add_argument(
        "file",
        metavar="FILE",
        help="check: CSV with iteration, worker, time, or a bundled trace's name; join: folder",
    )
    parser.add_argument(
        "options",
        nargs="*",
        metavar="KEY=VALUE",
        help="of check, absent=skip leaves out iterations in which workers are missing",
    )
    parser.add_argument("-o", "--output", type=new_file, help="join: the new CSV file")
    parser.add_argument("--warm-up", type=int, default=1, help="join: first iterations left out (default: 1)")


def run(arguments) -> None:
    """What a trace holds, or its first fault; or the recordings of a folder as one trace."""
    if arguments.what == "check":
        if arguments.output is not None:
            raise UserError("gcexp trace check writes no file: leave out -o, or join a folder")
        print(report(read_trace(arguments.file, **keywords(arguments.options, read_trace))))
        return
    from gcexp.distributed.recorder import join

    if arguments.options:
        raise UserError(f"gcexp trace join takes no {arguments.options[0]}, which is for gcexp trace check")
    if arguments.output is None:
        raise UserError("gcexp trace join writes a new file: give its name, -o jobs.csv")
    print(join(arguments.file, arguments.output, arguments.warm_up))
