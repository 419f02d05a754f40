"""MLflow as a view of finished figures: one parent run per figure and scheme, one child per trained seed.

Nothing reads MLflow back: a tracking database can be deleted and filled again from the tables of the figures.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError
from gcexp.figures.tables import read_table, scores_of
from gcexp.files import written
from gcexp.report import mlflow_store as store
from gcexp.report.comparison import comparison
from gcexp.report.figure import Figure
from gcexp.report.mlflow_store import Point, params_of, text_of
from gcexp.run.provenance import finished_provenance
from gcexp.run.run import Run

if TYPE_CHECKING:  # MLflow and pandas take seconds to import
    from mlflow import MlflowClient
    from pandas import DataFrame

#: Tag that is set last: an MLflow run with it is complete, and shows the result that has this digest.
DIGEST = "gcexp.digest"
#: Tag that names the preset and figure that an MLflow run shows; runs without it are a person's own.
KEY = "gcexp.key"
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 5

_PARTS = ("scheme", "delay", "task", "optimizer")
_POINTS = 75  # of a curve: a point costs 0.1 ms
_MOST_RUNS = 50_000  # that MLflow finds at once


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import the runs of every finished figure into MLflow and write down which figures were imported.

    An experiment is a paper. A parent run is one scheme in one figure: medians over its seeds, and the figure's drawing
    and its own rows of the table as artifacts. Its children are the seeds of a training. The time stamps of a curve are
    the simulated clock, so that MLflow's relative time is simulated time; step t is what holds after t iterations.
    A figure whose table and runs did not change is left alone; the runs of any other figure are replaced.

    Parameters
    ----------
    figures : list of Figure
    output : Path
        JSON file with the figures that were imported, were already there, and have no table yet.
    uri : str, optional
        Tracking URI; default $MLFLOW_TRACKING_URI, else a SQLite file in results/mlflow.

    Raises
    ------
    UserError
        If no figure has its table, or MLflow cannot use the URI.
    """
    uri = store.chosen_uri(uri)
    figures = [figure for figure in figures if figure.runs]
    finished = [figure for figure in figures if Path(figure.table).is_file()]
    if figures and not finished:
        raise UserError(f"no run is finished: {figures[0].table} does not exist; make the figures first")
    found: dict[str, Any] = {"uri": store.masked(uri), "imported": [], "already_there": []}
    with store.sentences(uri):
        client = store.connect(uri)
        for figure in finished:
            with store.alone(uri):
                new = _bring(client, store.experiment(client, figure.paper, uri), figure)
            found["imported" if new else "already_there"].append(figure.target)
    found["unfinished"] = [figure.target for figure in figures if figure not in finished]
    with written(output) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} figures imported, {len(found['already_there'])} already there"
    print(f"MLflow at {store.masked(uri)}: {counts}; listed in {output}")


# --- One figure --------------------------------------------------------------------------------------------------


def _bring(client: MlflowClient, experiment: str, figure: Figure) -> bool:
    """Bring the runs of a figure up to date; False if MLflow has all of them already."""
    key, digest = f"{figure.preset}/{figure.target}", _digest(figure)
    runs = list({(run.label, run.id): run for run in figure.runs}.values())
    stored = client.search_runs([experiment], f"tags.`{KEY}` = '{key}'", max_results=_MOST_RUNS)
    if sum(one.data.tags.get(DIGEST) == digest for one in stored) == len(runs):
        return False
    for one in stored:
        client.delete_run(one.info.run_id)
    frame = read_table(figure.table)
    compared = comparison(figure, frame, more=store.LEVELS)
    for run in runs:
        parent = _create(client, experiment, figure, run, frame, compared)
        client.set_tag(parent, DIGEST, digest, synchronous=True)
    return True


def _create(
    client: MlflowClient, experiment: str, figure: Figure, run: Run, frame: DataFrame, compared: DataFrame
) -> str:
    """The parent run of a scheme with its children and artifacts; its id."""
    mine = frame[(frame["run"] == run.id) & (frame["label"] == run.label)]
    row = compared[(compared["run"] == run.id) & (compared["label"] == run.label)].iloc[0]
    summary = [Point(name, float(value)) for name, value in row.drop(["label", "run"]).items()]
    common = tags_of(figure, run)
    inputs = _inputs(run)
    parent = _run(client, experiment, figure, run, run.label, common | {"kind": "scheme"}, summary, inputs)
    if run.task:
        replays = finished_provenance(figure.table).get("replays", {}).get(run.id, {})
        for seed in run.seed_list:
            tags = common | {"kind": "seed", "seed": str(seed), "mlflow.parentRunId": parent}
            points = _curves(mine[mine["seed"] == seed], scores_of(frame))
            points += [Point(name, value) for name, value in replays.get(str(seed), {}).items()]
            _run(client, experiment, figure, run, f"{run.label}, seed {seed}", tags, points, inputs)
    for drawing in figure.drawings:
        if Path(drawing).is_file():
            client.log_artifact(parent, drawing)
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / f"{figure.target}.csv"
        mine.to_csv(own, index=False)
        client.log_artifact(parent, str(own))
    return parent


def _run(
    client: MlflowClient,
    experiment: str,
    figure: Figure,
    run: Run,
    name: str,
    tags: dict[str, str],
    points: list[Point],
    inputs: list[store.Input],
) -> str:
    """One finished MLflow run."""
    start = int(Path(figure.table).stat().st_mtime * 1000)
    made = store.new_run(client, experiment, name, tags, start)
    client.set_terminated(made, "FINISHED", start)  # first: afterwards it would read every point again
    store.log_inputs(client, made, inputs)
    store.log(client, made, start, points, params_of(run.config))
    return made


def _curves(rows: DataFrame, scores: list[str]) -> list[Point]:
    """Points of a seed's scores and of its clock, at most 75 of each curve."""
    if not scores:
        return []
    kept = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(_POINTS, len(rows))).astype(int))]
    times, steps = kept["simulated_time_s"].tolist(), kept["iteration"].tolist()
    return [
        Point(name, *point)
        for name in (*scores, "simulated_time_s")
        for point in zip(kept[name].tolist(), times, steps, strict=True)
    ]


def _inputs(run: Run) -> list[store.Input]:
    """The data and the trace behind a run."""
    data = finished_provenance(run.trajectory).get("data") if run.task else None
    return store.inputs_of(run.config, data)


def tags_of(figure: Figure, run: Run) -> dict[str, str]:
    """What runs are grouped and filtered by."""
    facts = [finished_provenance(path) for path in (figure.table, *run.inputs)]
    commits = sorted({fact["commit"] for fact in facts if fact.get("commit")})
    command = f"snakemake {figure.target} --config preset={figure.preset}"
    return {
        KEY: f"{figure.preset}/{figure.target}",
        **store.origin_tags(command, facts[0]),
        "paper": figure.paper,
        "figure": figure.target,
        "preset": figure.preset,
        "run": run.id,
        "label": run.label,
        **{part: getattr(run, part).partition("+")[0] for part in _PARTS if getattr(run, part)},
        "exact": text_of(run.exact),
        "commit": ",".join(commits) or "unknown",
        "dirty": text_of(any(fact.get("dirty") for fact in facts)),
    }


def _digest(figure: Figure) -> str:
    """SHA-256 of a figure's runs, level, table and drawings."""
    about = [VERSION, figure.file.level, [(run.label, run.config) for run in figure.runs]]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for path in filter(Path.is_file, map(Path, (figure.table, *figure.drawings))):
        digest.update(path.read_bytes())
    return digest.hexdigest()
