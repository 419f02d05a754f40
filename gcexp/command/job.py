"""What the rules of the workflow call, ``gcexp job VERB``: for each verb its arguments and what it does.

A verb imports what it needs: most jobs are short.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gcexp.command.arguments import new_file, output, overrides, preset
from gcexp.errors import UserError

#: The verbs, each with a phrase.
VERBS = {
    "data": "prepare a data set",
    "train": "train with the coefficients that a scheme decodes, or exactly",
    "point": "measure a point of a sweep",
    "table": "make a figure's table",
    "plot": "draw a figure from its table, or typeset it",
    "page": "write the pages of papers and figures",
    "track": "import finished runs into MLflow",
}


def add_data(parser) -> None:
    """Arguments of ``data``."""
    parser.add_argument("dataset")
    parser.add_argument("--data-dir", help="folder with the raw files (default: $GCEXP_DATA, else download)")
    output(parser)


def data(arguments) -> None:
    """Prepare a data set."""
    from gcexp.data import prepare
    from gcexp.run.datasets import key_of, source_of

    source = source_of(arguments.dataset)
    prepare(source, arguments.output, arguments.data_dir or None, key=key_of(arguments.dataset, source))


def add_train(parser) -> None:
    """Arguments of ``train``."""
    overrides(parser)
    parser.add_argument(
        "--verified",
        type=new_file,
        help="train with the coefficients that the scheme decodes, replay encode, drop and decode, and write here"
        " what the replay finds; without it every coefficient is 1",
    )
    output(parser)


def train(arguments) -> None:
    """Train with the coefficients that a scheme decodes, or exactly."""
    from gcexp.run.compose import compose
    from gcexp.run.stages import length_of, run_training, run_verification, simulated

    if arguments.verified == arguments.output:
        raise UserError(f"--verified and --output are both {arguments.output}; give two files")
    config = compose(arguments.overrides)
    timeline = simulated(config, length_of(config)) if arguments.verified else None
    trajectory = run_training(config, arguments.output, timeline)
    if timeline is not None:
        run_verification(config, timeline, trajectory, arguments.verified)


def add_point(parser) -> None:
    """Arguments of ``point``."""
    overrides(parser)
    parser.add_argument("--rows", default="seeds", help="of a clock, as in gcexp simulate")
    parser.add_argument("--train", action="store_true", help="train with the coefficients that are decoded")
    parser.add_argument("--trained", type=Path, help="the trajectory of exact schemes, where it is there")
    parser.add_argument("--verify", action="store_true", help="replay encode, drop and decode")
    output(parser)


def point(arguments) -> None:
    """Measure a point of a sweep."""
    from gcexp.experiments import measure_point

    given = arguments
    measure_point(given.overrides, given.output, given.rows, given.train, given.trained, given.verify)


def add_table(parser) -> None:
    """Arguments of ``table``."""
    parser.add_argument("target")
    preset(parser)
    output(parser)


def table(arguments) -> None:
    """Make a figure's table."""
    from gcexp.report.figurefile import figure
    from gcexp.report.jobs import make_table

    make_table(figure(arguments.target, arguments.preset), arguments.output)


def add_plot(parser) -> None:
    """Arguments of ``plot``."""
    parser.add_argument("target")
    preset(parser)
    parser.add_argument("--title", default="true", help="false for a paper, where the caption says it")
    parser.add_argument("--note", default="true", help="false for a paper, where the text says it")
    parser.add_argument(
        "--width", default="", help="single, wide, double, or inches (default: the figure's own)"
    )
    parser.add_argument("-i", "--input", type=Path, required=True)
    output(parser, "+")


def plot(arguments) -> None:
    """Draw a figure from its table, or typeset it."""
    from gcexp.report.figure import RenderOptions
    from gcexp.report.figurefile import figure
    from gcexp.report.jobs import make_drawing

    wanted = replace(
        figure(arguments.target, arguments.preset, checks=False), render=RenderOptions.of(vars(arguments))
    )
    make_drawing(wanted, arguments.input, arguments.output)


def add_page(parser) -> None:
    """Arguments of ``page``."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="figures; by default all")
    preset(parser)
    output(parser)


def page(arguments) -> None:
    """Write the pages of papers and figures."""
    from gcexp.report.figurefile import named_figures, page_files
    from gcexp.report.page import write_pages

    figures = named_figures(arguments.targets or page_files(), arguments.preset, checks=False)
    write_pages(arguments.preset, figures, arguments.output)


def add_track(parser) -> None:
    """Arguments of ``track``."""
    parser.add_argument(
        "--uri", help="tracking URI (default: $MLFLOW_TRACKING_URI, else results/mlflow/mlflow.db)"
    )
    add_page(parser)


def track(arguments) -> None:
    """Import finished runs into MLflow."""
    from gcexp.report.figurefile import named_figures
    from gcexp.report.tracking import track

    track(named_figures(arguments.targets, arguments.preset), arguments.output, arguments.uri)
