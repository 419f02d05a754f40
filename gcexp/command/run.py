"""``gcexp run``: one run without Snakemake, start to end, or every combination of several."""

from __future__ import annotations

from math import isfinite

import yaml

from gcexp.command.arguments import form, maybe_folder, one_run, overrides
from gcexp.errors import UserError
from gcexp.run.compose import compose


def add(parser) -> None:
    """Its arguments."""
    overrides(parser)
    maybe_folder(parser, "for the results (default: results/run/<run id>)")
    parser.add_argument(
        "-m", "--multirun", action="store_true", help="every combination of scheme=cgc,frc s=1,4; one table"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=1, help="with -m: processes side by side (default: 1)"
    )
    parser.add_argument(
        "--level", type=float, help="score whose first passage is told (default: halfway to a perfect one)"
    )
    parser.add_argument(
        "--cfg", choices=["job"], help="print the configuration of the run as YAML, and run nothing"
    )
    form(parser)


def run(arguments) -> None:
    """Run."""
    if arguments.level is not None and not isfinite(arguments.level):
        raise UserError(f"--level is a score, got {arguments.level}")
    if arguments.cfg:
        with one_run(arguments.overrides):
            config = compose(arguments.overrides)
        print(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), end="")
        return
    if arguments.multirun:
        from gcexp.command.multirun import multirun

        print(multirun(arguments.overrides, arguments.jobs, arguments.format, arguments.level), end="")
        return
    from gcexp.command import single_run

    with one_run(arguments.overrides):
        single_run.run(arguments.overrides, arguments.folder, arguments.level)
