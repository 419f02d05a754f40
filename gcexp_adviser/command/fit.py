"""``gcexp fit``: what makes workers of a recorded trace slow, how sure that is, and a delay model that replays it."""

from __future__ import annotations

from gcexp.command.arguments import keywords, new_folder
from gcexp_adviser.logs.reading import located


def add(parser) -> None:
    """Its arguments."""
    parser.epilog = "example: gcexp fit bytedance-AR-dp"
    trace(parser, "phi=0.3 absent=late or skip, timeout=30 barrier=no drift=true seed=0")
    parser.add_argument(
        "-o",
        dest="folder",
        type=new_folder,
        help="folder for fit.html, fit.json, fit.md, fit.png and delay.yaml",
    )


def trace(parser, options: str) -> None:
    """A trace and options of what is done with it."""
    parser.add_argument(
        "file", metavar="TRACE", help="CSV with iteration, worker, time; or a bundled trace's name"
    )
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help=options)
    parser.set_defaults(rest="options")


def run(arguments) -> None:
    """Print it, and write it where a folder is named."""
    located(arguments.file)  # a wrong name is reported before pandas is imported
    from gcexp_adviser.diagnosis.fit import fit

    found = fit(arguments.file, **keywords(arguments.options, fit))
    # Files come first, since what reads the text may close the pipe, as head does
    written = found.write(arguments.folder) if arguments.folder else []
    print(found.page().text(), end="")
    for path in written:
        print(f"wrote {path}")
