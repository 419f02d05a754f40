"""``gcexp fit``: what makes workers of a recorded trace slow, how sure that is, and a delay model that replays it."""

from __future__ import annotations

import re

from gcexp.command.arguments import keywords, new_folder
from gcexp.traces.places import located


def add(parser) -> None:
    """Its arguments."""
    parser.epilog = "example: gcexp fit bytedance-AR-dp"
    trace(parser, "phi=0.3 absent=late, skip or sampled, timeout=30 barrier=no drift=true seed=0")
    parser.add_argument(
        "-o",
        dest="folder",
        type=new_folder,
        help="folder for fit.html, fit.json, fit.md, fit.png and delay.yaml",
    )


def trace(parser, options: str) -> None:
    """A trace and options of what is done with it."""
    parser.add_argument(
        "file",
        metavar="TRACE",
        help="a log, a folder of logs, a bundled trace's name; or several files of one log",
    )
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help=options)
    parser.set_defaults(rest="options")


def sources_and_options(arguments) -> tuple[list[str], list[str]]:
    """The files of a log, and what is said of it; raise `UserError` for a file that is not there."""
    sources = [arguments.file]
    options = []
    for word in arguments.options:
        if re.match(r"\w+=", word):
            options.append(word)
        else:
            sources.append(word)
    for source in sources:
        located(source)  # a wrong name is reported before pandas is imported
    return sources, options


def run(arguments) -> None:
    """Print it, and write it where a folder is named."""
    sources, options = sources_and_options(arguments)
    from gcexp_adviser.diagnosis.fit import fit

    found = fit(sources if len(sources) > 1 else arguments.file, **keywords(options, fit))
    # Files come first, since what reads the text may close the pipe, as head does
    written = found.write(arguments.folder) if arguments.folder else []
    print(found.page().text(), end="")
    for path in written:
        print(f"wrote {path}")
