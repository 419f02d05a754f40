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
    client = store.client
    experiment = store.experiment(figure.paper)
    digest = _digest(figure)
    # The same run may stand in a figure twice under one label, with other columns of the figure's own.
    places = {(run.label, run.id): place for place, run in enumerate(figure.runs)}
    stored = client.search_runs([experiment], f"tags.`{KEY}` = '{_key(figure)}'", max_results=MOST_RUNS)
    complete = [one for one in stored if one.data.tags.get(DIGEST) == digest]
    if len(complete) == len(places):
        return False
    for one in stored:
        client.delete_run(one.info.run_id)
    frame = read_table(figure.table)
    compared = comparison(figure, frame, more=LEVELS).drop(columns=["label", "run"])
    for place in places.values():
        run = figure.runs[place]
        rows = frame[(frame["run"] == run.id) & (frame["label"] == run.label)]
        parent = _create(store, experiment, figure, run, rows, summary=dict(compared.loc[place]))
        client.set_tag(parent, DIGEST, digest, synchronous=True)
    return True


def _key(figure: Figure) -> str:
    """The value of `KEY` at the runs of a figure."""
    return f"{figure.preset}/{figure.target}"


def _create(
    store: Store, experiment: str, figure: Figure, run: Run, rows: DataFrame, summary: dict[str, float]
) -> str:
    """Make the parent run of a scheme, from its rows of the table, with its children and artifacts; its id."""
    tags = {KEY: _key(figure)}
    tags |= tags_of(
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
    data = None
    points = {PARENT: [Point(name, float(value)) for name, value in summary.items()]}
    if run.trains:
        data = finished_provenance(run.trajectory_file).get("data")
        errors = finished_provenance(figure.table).get("replays", {}).get(run.id, {})
        for seed in run.seeds:
            curve = _thinned(rows[rows["seed"] == seed])
            points[str(seed)] = curves_of(curve)
            for name, value in errors.get(str(seed), {}).items():
                points[str(seed)].append(Point(name, value))
    ids = store.new_runs(
        experiment,
        name=run.label,
        tags=tags,
        start=int(Path(figure.table).stat().st_mtime * 1000),
        config=run.config,
        data=data,
        points=points,
        ended=True,
    )
    parent = ids[PARENT]
    for drawing in figure.drawings:
        if Path(drawing).is_file():
            store.client.log_artifact(parent, drawing)
    store.client.log_text(parent, rows.to_csv(index=False), f"{figure.target}.csv")
    return parent


def _thinned(curve: DataFrame) -> DataFrame:
    """At most `_POINTS` rows of a curve, at even distances, with the first and the last."""
    places = np.linspace(0, len(curve) - 1, min(_POINTS, len(curve)))
    return curve.iloc[np.unique(places.astype(int))]


def _digest(figure: Figure) -> str:
    """SHA-256 of a figure's runs, level, table and drawings."""
    about = [VERSION, figure.file.level, [(run.label, run.config) for run in figure.runs]]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for name in (figure.table, *figure.drawings):
        path = Path(name)
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
