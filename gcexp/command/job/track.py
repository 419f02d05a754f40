"""Finished runs, imported into MLflow."""

from __future__ import annotations

from gcexp.command.arguments import output, preset
from gcexp.report.figurefile import figures
from gcexp.report.tracking import track


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument(
        "--uri", help="tracking URI (default: $MLFLOW_TRACKING_URI, else results/mlflow/mlflow.db)"
    )
    preset(parser)
    output(parser)


def run(arguments) -> None:
    """Import them."""
    track(figures(arguments.preset), arguments.output, arguments.uri)
