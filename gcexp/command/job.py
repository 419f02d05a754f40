"""What the rules of the workflow call, ``gcexp job VERB``: for each verb its arguments and a function of its name.

A verb imports what it needs: most jobs are short.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from gcexp.command.arguments import add_overrides, new_file
from gcexp.errors import UserError
from gcexp.files import written

#: The verbs, each with a phrase.
VERBS = {
    "data": "prepare a data set",
    "train": "train with the coefficients that a scheme decodes, or exactly",
    "point": "measure some points of a sweep",
    "table": "make a figure's table",
    "plot": "draw a figure from its table, or typeset it",
    "page": "write the pages of papers and figures",
    "figure_page": "write the page of one figure",
    "track": "import finished runs into MLflow",
}
_PRESET = {"--preset": {"default": "quick", "help": "quick or paper (default: quick)"}}
_PAGES = {
    "targets": {"nargs": "*", "metavar": "TARGET", "help": "figures; a page without them is of all"},
    **_PRESET,
}
_ARGUMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "data": {
        "dataset": {},
        "--data-dir": {"help": "folder with the raw files (default: $GCEXP_DATA, else download)"},
    },
    "train": {
        "--verified": {
            "type": new_file,
            "help": "replay encode, drop and decode, and write here what the replay finds",
        },
    },
    "point": {"plan": {"type": Path, "help": "names the points of the job that makes the output"}},
    "table": {"target": {}, **_PRESET},
    "plot": {
        "target": {},
        **_PRESET,
        "--title": {"default": "true", "help": "false for a paper, where the caption says it"},
        "--note": {"default": "true", "help": "false for a paper, where the text says it"},
        "--width": {"default": "", "help": "single, double, or inches (default: the figure's own)"},
        "-i --input": {"type": Path, "required": True},
    },
    "page": _PAGES,
    "figure_page": {"target": {}, **_PRESET},
    "track": {
        "--uri": {"help": "tracking URI (default: $MLFLOW_TRACKING_URI, else results/mlflow/mlflow.db)"},
        **_PAGES,
    },
}


def add(parser: ArgumentParser, verb: str) -> None:
    """The arguments of a verb."""
    if verb == "train":
        add_overrides(parser)
    for name, kept in _ARGUMENTS[verb].items():
        parser.add_argument(*name.split(), **kept)
    several = "+" if verb == "plot" else None
    parser.add_argument("-o", "--output", type=new_file, nargs=several, required=True)


def data(arguments) -> None:
    """Prepare a data set."""
    from gcexp.data import prepare
    from gcexp.run.datasets import key_of, source_of

    source = source_of(arguments.dataset)
    prepare(source, arguments.output, arguments.data_dir or None, key=key_of(arguments.dataset, source))


def train(arguments) -> None:
    """Train with the coefficients that a scheme decodes, or exactly."""
    from gcexp.run.measurement import Measurement
    from gcexp.run.run import Run
    from gcexp.run.trainings import FiledTrainings

    if arguments.verified == arguments.output:
        raise UserError(f"--verified and --output are both {arguments.output}; give two files")
    run = Run.of(arguments.overrides, checked=False)
    measurement = Measurement(run, FiledTrainings(arguments.output, arguments.verified))
    _ = measurement.trajectory
    if arguments.verified:
        _ = measurement.report


def point(arguments) -> None:
    """Measure some points of a sweep; one that fails does not end the others."""
    from gcexp.command.failure import describe_failure
    from gcexp.submission import measure_points, points_of

    points = points_of(arguments.plan, arguments.output)
    failed = []

    def tell(one, error) -> None:
        failed.append(one)
        sentence, _ = describe_failure(error, sys.argv)
        print(f"gcexp: point {' '.join(one.run)}: {sentence}", file=sys.stderr, flush=True)

    measure_points(points, tell)
    if failed:
        raise UserError(f"{len(failed)} of {len(points)} points failed, see above")
    with written(arguments.output) as temporary:
        temporary.write_text(json.dumps({"measured": len(points)}) + "\n")


def table(arguments) -> None:
    """Make a figure's table."""
    from gcexp.report.figurefile import figure
    from gcexp.report.jobs import make_table

    make_table(figure(arguments.target, arguments.preset), arguments.output)


def plot(arguments) -> None:
    """Draw a figure from its table, or typeset it."""
    from gcexp.report.figure import RenderOptions
    from gcexp.report.figurefile import figure
    from gcexp.report.jobs import make_drawing

    wanted = replace(
        figure(arguments.target, arguments.preset, checks=False), render=RenderOptions.of(vars(arguments))
    )
    make_drawing(wanted, arguments.input, arguments.output)


def page(arguments) -> None:
    """Write the pages of papers and figures."""
    from gcexp.report.figurefile import named_figures
    from gcexp.report.page import write_pages
    from gcexp.report.targets import page_files

    figures = named_figures(arguments.targets or page_files(), arguments.preset, checks=False)
    write_pages(arguments.preset, figures, arguments.output)


def figure_page(arguments) -> None:
    """Write the page of one figure."""
    from gcexp.report.figurefile import figure
    from gcexp.report.page import write_figure_page

    write_figure_page(figure(arguments.target, arguments.preset, checks=False), arguments.output)


def track(arguments) -> None:
    """Import finished runs into MLflow."""
    from gcexp.report.figurefile import named_figures
    from gcexp.report.tracking import track

    track(named_figures(arguments.targets, arguments.preset), arguments.output, arguments.uri)
