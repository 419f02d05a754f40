"""What MLflow's pages read and its interface does not describe: the views of a figure's runs, as tags of an experiment.

Everything of this kind stands here. Another version may ignore it; the runs and their numbers do not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gcexp.report.comparison import sorted_by
from gcexp.report.figure import Figure

if TYPE_CHECKING:
    from pandas import DataFrame

#: Version whose pages were looked at (`make test-browser`).
TRIED = "3.17"
#: Tag of an experiment; without it the page is about prompts and traces.
KIND = {"mlflow.experimentKind": "custom_model_development"}

_WIDTH = 170  # of a column in pixels, so that its name is seen
_OVER_TIME = {"xAxisKey": "time-relative", "lineSmoothness": 0, "selectedXAxisMetricKey": ""}
_SECTION = {"uuid": "scores", "name": "Scores over simulated time", "display": True, "isReordered": False}


def views_of(figure: Figure, compared: DataFrame, scores: list[str]) -> dict[str, dict[str, Any]]:
    """What MLflow's page of runs shows under two links: a figure's schemes, the fastest first, and its curves.

    MLflow keeps such a view as a tag of the experiment, with the filter, the order and the columns of the table; these
    are the tags, by name.
    """
    names = dict.fromkeys([*sorted_by(compared), *compared.columns.drop(["label", "run"])])
    measured = [f"metrics.`{name}`" for name in names]
    mine = f"tags.figure = '{figure.target}' and tags.preset = '{figure.preset}'"
    common = {
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": measured,
    }
    table = {
        "searchFilter": f"tags.kind = 'scheme' and {mine}",
        "orderByKey": measured[0],
        "orderByAsc": True,
        "columnOrder": measured,
        "columnWidths": dict.fromkeys(measured, _WIDTH),
    }
    curves = {
        "searchFilter": f"tags.kind = 'seed' and {mine}",
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "runsHiddenMode": "SHOW_ALL",
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": "label"}]},
        "compareRunSections": [_SECTION],
        "compareRunCharts": [_chart(score) for score in scores],
        "globalLineChartConfig": _OVER_TIME,
    }
    views = {_view(figure): common | table} | ({f"{_view(figure)}-curves": common | curves} if scores else {})
    return {f"mlflow.sharedViewState.{name}": view for name, view in views.items()}


def _chart(score: str) -> dict[str, Any]:
    """A card with one score over the simulated clock."""
    about = {"type": "LINE", "uuid": score, "metricSectionId": _SECTION["uuid"], "metricKey": score}
    shown = {"selectedMetricKeys": [score], "displayName": score, "deleted": False, "isGenerated": False}
    return about | shown | _OVER_TIME | {"useGlobalXaxisKey": False, "scaleType": "linear"}


def link(figure: Figure, experiment: str) -> str:
    """Where a figure's schemes stand, behind the server's address."""
    return f"#/experiments/{experiment}/runs?viewStateShareKey={_view(figure)}"


def _view(figure: Figure) -> str:
    """Name of a figure's view, in its link."""
    return f"{figure.target}-{figure.preset}"
