"""``gcexp run``: one run without Snakemake, start to end, or every combination of several."""

from __future__ import annotations

from math import isfinite

import yaml

from gcexp.command.arguments import add_folder, add_format, add_overrides, suggest_multirun
from gcexp.errors import UserError
from gcexp.run.compose import compose


def add(parser) -> None:
    """Add the arguments of the command."""
    add_overrides(parser)
    add_folder(parser, "for the results (default: results/run/<run id>)")
    parser.add_argument(
        "-m", "--multirun", action="store_true", help="every combination of scheme=cgc,frc s=1,4; one table"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=1, help="with -m: processes side by side (default: 1)"
    )
    parser.add_argument(
        "--submit",
        metavar="PROFILE",
        help="with -m: make the points as jobs of Snakemake's under this profile, as slurm or profiles/slurm",
    )
    parser.add_argument(
        "--queued",
        choices=("wait", "cancel"),
        help="with --submit: what to do with jobs that a command that was killed left in the queue",
    )
    parser.add_argument(
        "--level", type=float, help="score whose first passage is told (default: halfway to a perfect one)"
    )
    parser.add_argument(
        "--cfg", choices=["job"], help="print the configuration of the run as YAML, and run nothing"
    )
    parser.add_argument(
        "--mlflow",
        action="store_true",
        help="log the run in MLflow while it trains; tracking_uri=URI says where"
        " (default: $MLFLOW_TRACKING_URI, else results/mlflow/mlflow.db)",
    )
    add_format(parser)


def run(arguments) -> None:
    """Run."""
    if arguments.level is not None and not isfinite(arguments.level):
        raise UserError(f"--level is a score, got {arguments.level}")
    if arguments.submit is not None and not arguments.multirun:
        raise UserError("--submit makes the points of a sweep as jobs; add -m")
    if arguments.queued is not None and arguments.submit is None:
        raise UserError("--queued says what becomes of jobs that --submit made; add --submit")
    given, uri = _without_uri(arguments.overrides, arguments.mlflow)
    if arguments.cfg:
        with suggest_multirun(given):
            config = compose(given)
        print(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), end="")
        return
    if arguments.multirun and arguments.folder is not None:
        raise UserError(
            "-o is the folder of one run, and a sweep prints one table: take --format csv > FILE in its place"
        )
    if arguments.multirun and uri is not None:
        raise UserError("MLflow logs one run while it trains; --mlflow and tracking_uri= do not go with -m")
    from gcexp.command.runs import multirun, single_run

    if arguments.multirun:
        table = multirun(
            given,
            jobs=arguments.jobs,
            form=arguments.format,
            level=arguments.level,
            submit=arguments.submit,
            queued=arguments.queued,
        )
        print(table, end="")
        return
    with suggest_multirun(given):
        single_run(given, folder=arguments.folder, level=arguments.level, uri=uri)


def _without_uri(overrides: list[str], logged: bool) -> tuple[list[str], str | None]:
    """The overrides of the run, and where MLflow logs it: empty where it usually does, None where nowhere."""
    uris = []
    rest = []
    for text in overrides:
        key, _, value = text.partition("=")
        if key == "tracking_uri" and "=" in text:
            uris.append(value)
        else:
            rest.append(text)
    if len(uris) > 1:
        raise UserError(f"tracking_uri is given twice, as {uris[0]} and {uris[1]}")
    if uris:
        return rest, uris[0]
    if logged:
        return rest, ""
    return rest, None
