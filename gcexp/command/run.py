"""``gcexp run``: one run without Snakemake, start to end, or every combination of several."""

from __future__ import annotations

from pathlib import Path

from gcexp.command.arguments import form, one_run, overrides
from gcexp.errors import UserError


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    parser.add_argument(
        *("-o", "--output"),
        dest="folder",
        metavar="OUTPUT",
        type=Path,
        help="folder for the results (default: results/run/<run id>)",
    )
    parser.add_argument(
        "-m", "--multirun", action="store_true", help="every combination of scheme=cgc,frc s=1,4; one table"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=1, help="with -m: processes side by side (default: 1)"
    )
    parser.add_argument(
        "--level", type=float, help="score whose first passage is told (default: halfway to a perfect one)"
    )
    form(parser)


def run(arguments) -> None:
    """Run."""
    if arguments.folder and arguments.folder.exists() and not arguments.folder.is_dir():
        raise UserError(f"{arguments.folder}: the results of a run need a folder, and this is none")
    if arguments.multirun:
        from gcexp.command.multirun import multirun

        print(multirun(arguments.overrides, arguments.jobs, arguments.format, arguments.level), end="")
        return
    from gcexp.command import single_run

    with one_run(arguments.overrides):
        single_run.run(arguments.overrides, arguments.folder, arguments.level)
