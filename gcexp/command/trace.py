"""``gcexp trace check`` and ``gcexp trace import``: what a log of workers' times holds, and a clean file of it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from gcexp.command.arguments import keywords, new_file
from gcexp.delays.trace_report import report
from gcexp.errors import UserError, require
from gcexp.traces.missing import Absent

#: What is told of missing rows that `absent` names.
_TAKEN = {"late": "missing rows were made late ones", "skip": "iterations with missing rows were left out"}
_RECORDING = "rank-0000.csv"  # of gcexp.distributed.Recorder


def add(parser) -> None:
    """Its arguments."""
    parser.epilog = "example: gcexp trace check bytedance-AR-dp"
    parser.add_argument("what", choices=["check", "import"])
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SOURCE [KEY=VALUE ...]",
        help="a log of any form (CSV, JSON, Parquet, .npy, packed or not), a folder of logs, or the name of a bundled "
        "trace; import takes several files. Keys say how it is read, as "
        "columns=iteration:step,worker:host,time:ms_per_step unit=ms absent=late timeout=30",
    )
    parser.set_defaults(rest="words")
    parser.add_argument("-o", "--output", type=new_file, help="import: the new CSV file")
    parser.add_argument(
        "--warm-up",
        type=int,
        help="import: first iterations left out (default: 0, of recordings of gcexp.distributed.Recorder 1)",
    )


def run(arguments) -> None:
    """What a log holds, or its first fault; or the log as a clean file, and a line for all that was decided."""
    sources = [word for word in arguments.words if not re.match(r"\w+=", word)]
    options = [word for word in arguments.words if word not in sources]
    if not sources:
        raise UserError(f"gcexp trace {arguments.what} reads a log: name a file or a folder")
    if arguments.what == "check":
        if arguments.output is not None:
            raise UserError(f"gcexp trace check writes no file; gcexp trace import {sources[0]} -o FILE does")
        if len(sources) > 1:
            raise UserError(
                f"gcexp trace check takes one file or folder, not {len(sources)}; gcexp trace import makes one file of "
                "several"
            )
        print(report(sources[0], **keywords(options, report)))
        return
    output, warm_up = arguments.output, arguments.warm_up
    if len(sources) == 1 and (Path(sources[0]) / _RECORDING).is_file():
        if options:
            raise UserError(
                f"the recordings of a folder need no {options[0]}; import the file that is made of them"
            )
        print(_joined(sources[0], output, 1 if warm_up is None else warm_up))
        return
    from gcexp.traces.reading import trace_of

    for line in imported(sources, output, warm_up or 0, **keywords(options, trace_of)):
        print(line)


def _joined(folder: str, output: Path | None, warm_up: int) -> str:
    """Make one trace of the recordings of all ranks; a sentence of what it holds."""
    from gcexp.distributed.recorder import join

    if output is not None:
        return join(folder, output, warm_up)
    with TemporaryDirectory() as place:
        name = Path(place) / "trace.csv"
        return join(folder, name, warm_up).replace(str(name), folder)


def imported(
    sources: list[str],
    output: Path | None = None,
    warm_up: int = 0,
    *,
    columns: str | None = None,
    unit: str | None = None,
    absent: Absent | None = None,
    timeout: float | None = None,
) -> list[str]:
    """Read a log and write it as a clean file where one is named; a line for everything that was decided.

    Missing rows stay missing unless `absent` says what they are taken for.
    """
    from gcexp.traces.cleaned import write_clean
    from gcexp.traces.missing import described, resolved, without_first
    from gcexp.traces.reading import trace_with_gaps

    require(warm_up >= 0, f"warm-up is a number of iterations >= 0, got {warm_up}")
    require(timeout is None or absent is not None, f"timeout={timeout} goes with absent=late")
    if output is not None:
        require(not output.exists(), f"{output} is there already; name a new file")
    trace = trace_with_gaps(sources if len(sources) > 1 else sources[0], columns=columns, unit=unit)
    trace = without_first(trace, warm_up)
    iterations, workers = trace.values["time"].shape
    origin = sources[0] if len(sources) == 1 else f"{len(sources)} files"
    lines = [f"read {iterations} iterations of {workers} workers from {origin}", *trace.decisions]
    if warm_up:
        lines.append(f"left out the first {warm_up} iterations")
    missing = described(trace)
    if missing is not None:
        lines += missing.sentences
    if absent is not None:
        trace = resolved(trace, absent, timeout)
        if missing is not None:
            lines.append(_TAKEN[absent])
    if output is None:
        lines.append("nothing was written; -o clean.csv keeps this as a file")
        return lines
    paths = write_clean(trace, output)
    return [
        *lines,
        *(f"wrote {path}" for path in paths),
        f"what to set, in one sentence: gcexp advise {output}",
    ]
