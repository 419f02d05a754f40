"""``gcexp trace``: say what a log of workers' times holds, or import it as a clean file for delay=trace."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from gcexp.command.arguments import keywords, new_file
from gcexp.delays.trace_loads import loads_of
from gcexp.errors import DataError, UserError, require
from gcexp.traces.missing import SAMPLED, Absent
from gcexp.traces.record import TraceFile
from gcexp_adviser.diagnosis.check import check
from gcexp_adviser.logs.how import How, how_of

#: What is told of missing rows that `absent` names.
_TAKEN = {
    "late": "missing rows were made late ones",
    "skip": "iterations with missing rows were left out",
    SAMPLED: "missing rows are those of workers that were not asked, and stay missing: absent=sampled, when it is read",
}


def add(parser) -> None:
    """Its arguments."""
    parser.epilog = "example: gcexp trace check bytedance-AR-dp"
    parser.add_argument("what", choices=["check", "import"])
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SOURCE [KEY=VALUE ...]",
        help="a log of any form (CSV, JSON, Parquet, .npy, packed or not), a folder of logs, several files of one log, "
        "or the name of a bundled trace. Keys say how it is read, as "
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
        checked = check(sources if len(sources) > 1 else sources[0], **keywords(options, check))
        print(checked.text)
        if checked.can_be_advised:
            print(f"what to set, in one sentence: {shlex.join(['gcexp', 'advise', *sources, *options])}")
        return
    from gcexp_adviser.logs.reading import trace_of

    given = keywords(options, trace_of)
    absent = given.pop("absent", None)
    timeout = given.pop("timeout", None)
    how = how_of(given, trace_of)
    for line in import_log(sources, how, arguments.output, arguments.warm_up, absent, timeout):
        print(line)


def import_log(
    sources: list[str],
    how: How,
    output: Path | None = None,
    warm_up: int | None = None,
    absent: Absent | None = None,
    timeout: float | None = None,
) -> list[str]:
    """Read a log and write it as a clean file where one is named; a line for everything that was decided.

    Missing rows stay missing unless `absent` says what they are taken for.
    """
    from gcexp.traces.clean import write_clean
    from gcexp.traces.missing import described, resolved
    from gcexp_adviser.diagnosis.recorded import ways_to_advise
    from gcexp_adviser.diagnosis.sampled import may_be_sampled
    from gcexp_adviser.logs.reading import read

    require(timeout is None or absent is not None, f"timeout={timeout} goes with absent=late")
    if output is not None:
        require(not output.exists(), f"{output} is there already; name a new file")
    source = sources if len(sources) > 1 else sources[0]
    trace = read(source, how, warm_up)
    _check_loads(trace)
    iterations, workers = trace.values["time"].shape
    origin = sources[0] if len(sources) == 1 else f"{len(sources)} files"
    lines = [f"read {iterations} iterations of {workers} workers from {origin}", *trace.decisions]
    missing = described(trace)
    if missing is not None:
        lines += missing.sentences
    taken_later: Absent | None = absent if absent == SAMPLED else None
    if absent not in (None, SAMPLED):
        trace = resolved(trace, absent, timeout)
    doubt = may_be_sampled(trace) if absent is None else ""
    if doubt:
        lines.append(doubt)
    if absent is not None and missing is not None:
        lines.append(_TAKEN[absent])
    if output is None:
        lines.append("nothing was written; -o clean.csv keeps this as a file")
        return lines
    lines += [f"wrote {path}" for path in write_clean(trace, output)]
    commands = [
        shlex.join(["gcexp", "advise", str(output), *words]) for words in ways_to_advise(trace, taken_later)
    ]
    if commands:
        lines.append(f"what to set, in one sentence: {' or '.join(commands)}")
    return lines


def _check_loads(trace: TraceFile) -> None:
    """Raise `DataError` for loads that no other command would take."""
    try:
        loads_of(trace)
    except DataError as error:
        raise DataError(f"{error}; where that column is no load: columns=load:none") from None
