"""Finished runs, imported into MLflow."""

from __future__ import annotations

from gcexp.command.arguments import figures_of, output, preset, targets
from gcexp.report.tracking import track


def add(parser) -> None:
    """Its arguments."""
    parser.add_argument(
        "--uri", help="tracking URI (default: $MLFLOW_TRACKING_URI, else results/mlflow/mlflow.db)"
    )
    targets(parser)
    preset(parser)
    output(parser)


def run(arguments) -> None:
    """Import them."""
    track(figures_of(arguments), arguments.output, arguments.uri)
