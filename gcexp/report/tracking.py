"""MLflow as a view of finished figures: one parent run per figure and scheme, one child per trained seed.

Nothing reads MLflow back: a tracking database can be deleted and filled again from the tables of the figures.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError
from gcexp.figures.tables import read_table
from gcexp.files import write_text
from gcexp.report.comparison import comparison
from gcexp.report.figure import Figure
from gcexp.report.mlflow_store import LEVELS, MOST_RUNS, PARENT, Point, Store, curves_of, tags_of
from gcexp.run.provenance import finished_provenance
from gcexp.run.run import Run
from gcexp.run.tokens import PARTS

if TYPE_CHECKING:  # pandas takes a second to import
    from pandas import DataFrame

#: Tag that is set last: an MLflow run with it is complete, and shows the result that has this digest.
DIGEST = "gcexp.digest"
#: Tag that names the preset and figure that an MLflow run shows; runs without it are a person's own.
KEY = "gcexp.key"
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 5

_POINTS = 75  # of a curve: a point costs 0.1 ms


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import the runs of every finished figure into MLflow, and write down what was imported, there, or not made.

    An experiment is a paper, a parent run one scheme in one figure with medians and artifacts, its children the seeds
    of a training. Time stamps are the simulated clock, and step t is what holds after t iterations. A figure whose
    table and runs did not change is left alone; the runs of any other figure are replaced.
    """
    figures = [figure for figure in figures if figure.runs]
    finished = [figure for figure in figures if Path(figure.table).is_file()]
    if figures and not finished:
        raise UserError(f"no run is finished: {figures[0].table} does not exist; make the figures first")
    store = Store(uri)
    found: dict[str, Any] = {"uri": store.shown, "imported": [], "already_there": []}
    for figure in finished:
        with store.used():
            new = _bring(store, figure)
        found["imported" if new else "already_there"].append(figure.target)
    found["unfinished"] = [figure.target for figure in figures if figure not in finished]
    write_text(output, json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} figures imported, {len(found['already_there'])} already there"
    print(f"MLflow at {store.shown}: {counts}; listed in {output}")


# --- One figure --------------------------------------------------------------------------------------------------


def _bring(store: Store, figure: Figure) -> bool:
    """Bring the runs of a figure up to date; False if MLflow has all of them already."""
    client, experiment = store.client, store.experiment(figure.paper)
    digest = _digest(figure)
    runs = {(run.label, run.id): (place, run) for place, run in enumerate(figure.runs)}
    mine = f"tags.`{KEY}` = '{figure.preset}/{figure.target}'"
    stored = client.search_runs([experiment], mine, max_results=MOST_RUNS)
    if sum(one.data.tags.get(DIGEST) == digest for one in stored) == len(runs):
        return False
    for one in stored:
        client.delete_run(one.info.run_id)
    frame = read_table(figure.table)
    compared = comparison(figure, frame, more=LEVELS).drop(columns=["label", "run"])
    for place, run in runs.values():
        mine = frame[(frame["run"] == run.id) & (frame["label"] == run.label)]
        parent = _create(store, experiment, figure, run, mine, dict(compared.loc[place]))
        client.set_tag(parent, DIGEST, digest, synchronous=True)
    return True


def _create(
    store: Store, experiment: str, figure: Figure, run: Run, mine: DataFrame, summary: dict[str, float]
) -> str:
    """The parent run of a scheme, from its rows of the table, with its children and artifacts; its id."""
    key = {KEY: f"{figure.preset}/{figure.target}"}
    tags = key | tags_of(
        f"snakemake {figure.target} --config preset={figure.preset}",
        [finished_provenance(path) for path in (figure.table, *run.inputs)],
        run.config,
        kind="scheme",
        paper=figure.paper,
        figure=figure.target,
        preset=figure.preset,
        run=run.id,
        label=run.label,
        **{part: run.option(part) or "" for part in PARTS},
    )
    data = finished_provenance(run.trajectory_file).get("data") if run.trains else None
    replays = finished_provenance(figure.table).get("replays", {}).get(run.id, {})
    points = {PARENT: [Point(name, float(value)) for name, value in summary.items()]}
    for seed in run.seeds if run.trains else ():
        rows = mine[mine["seed"] == seed]
        kept = np.unique(np.linspace(0, len(rows) - 1, min(_POINTS, len(rows))).astype(int))
        checked = [Point(name, value) for name, value in replays.get(str(seed), {}).items()]
        points[str(seed)] = curves_of(rows.iloc[kept]) + checked
    start = int(Path(figure.table).stat().st_mtime * 1000)
    parent = store.new_runs(experiment, run.label, tags, start, run.config, data, points, ended=True)[PARENT]
    for drawing in figure.drawings:
        if Path(drawing).is_file():
            store.client.log_artifact(parent, drawing)
    store.client.log_text(parent, mine.to_csv(index=False), f"{figure.target}.csv")
    return parent


def _digest(figure: Figure) -> str:
    """SHA-256 of a figure's runs, level, table and drawings."""
    about = [VERSION, figure.file.level, [(run.label, run.config) for run in figure.runs]]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for path in filter(Path.is_file, map(Path, (figure.table, *figure.drawings))):
        digest.update(path.read_bytes())
    return digest.hexdigest()
