"""``gcexp advise``: what to set on a cluster whose times were recorded: code, rebalance or nothing, timeouts."""

from __future__ import annotations

import shlex
from pathlib import Path

from gcexp.command.arguments import keywords, new_folder
from gcexp_adviser.command.fit import sources_and_options, trace
from gcexp_adviser.logs.how import OF_A_LOG


def add(parser) -> None:
    """Its arguments."""
    parser.epilog = "example: gcexp advise bytedance-AR-dp"
    trace(
        parser,
        "phi=0.5 or low,high; d_max=4 per_message=0.001 overhead=0 late=every slowness=data moves=true task=digits_mlp "
        "level=0.9 absent=late, skip or sampled, timeout=30",
    )
    parser.add_argument(
        "-o",
        dest="folder",
        type=new_folder,
        help="folder for advice.html, advice.json, advice.md, advice.png",
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="scheme option to write: conf/scheme/advised.yaml"
    )


def run(arguments) -> None:
    """Print it, and write it where a folder or an option file is named."""
    sources, options = sources_and_options(arguments)
    from gcexp.traces.missing import SAMPLED
    from gcexp_adviser.remedies.advise import CLEAN, advise

    found = advise(sources if len(sources) > 1 else arguments.file, **keywords(options, advise))
    line = found.write_scheme(arguments.write) if arguments.write else None
    # Files come first, since what reads the text may close the pipe, as head does
    written = found.write(arguments.folder) if arguments.folder else []
    print(found.page().text(), end="")
    of_log = [word for word in options if word.partition("=")[0] in OF_A_LOG]
    said = [word for word in options if word.startswith(("absent=", "timeout=", "barrier="))]
    benchmark = ["gcexp", "benchmark", *sources, *of_log, *said]
    imported = ["gcexp", "trace", "import", *sources, *of_log, "-o", CLEAN]
    if found.recorded.absent != SAMPLED:  # a replay has all workers in each iteration
        print(f"All schemes and bounds on these times: {shlex.join(benchmark)}")
    for path in written:
        print(f"wrote {path}")
    if line:
        if not found.recorded.trace.replayable:
            print(f"for replaying these times: {shlex.join(imported)}")
        it = "it"
        if arguments.write.parent.parts[-2:] != ("conf", "scheme"):
            it = "in conf/scheme of a project it"
        print(f"wrote {arguments.write}; {it} runs with: {line}")
