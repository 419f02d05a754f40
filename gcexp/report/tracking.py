"""MLflow as a view of finished figures: one parent run per figure and scheme, one child per trained seed.

Nothing reads MLflow back: a tracking database can be deleted and filled again from the tables of the figures.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from gcexp.errors import UserError
from gcexp.figures.tables import read_table
from gcexp.files import write_text
from gcexp.report.comparison import comparison
from gcexp.report.figure import Figure
from gcexp.report.mlflow_store import (
    LEVELS,
    MOST_RUNS,
    PARENT,
    PARENT_TAG,
    Point,
    Store,
    curves_of,
    params_of,
    tags_of,
)
from gcexp.run.provenance import read_provenance
from gcexp.run.run import Run
from gcexp.run.tokens import PARTS

if TYPE_CHECKING:  # pandas takes a second to import
    from pandas import DataFrame

    from gcexp.report.mlflow_store import MlflowRun

#: Tag that is set last: an MLflow run with it is complete, and shows the result that has this digest.
DIGEST = "gcexp.digest"
#: Tag that names the preset and figure that an MLflow run shows; runs without it are a person's own.
KEY = "gcexp.key"
#: Tag with the time of an import, in milliseconds.
IMPORTED = "gcexp.imported"
_MOST_MS_OF_AN_IMPORT = 600_000
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 8

_POINTS = 75  # of a curve: a point costs 0.1 ms


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import the runs of every finished figure into MLflow, and write down what was imported, there, or not made.

    An experiment is a paper, a parent run one scheme in one figure with medians and artifacts, its children the seeds
    of a training. Time stamps are the simulated clock, and step t is what holds after t iterations. A figure whose
    table and runs did not change is left alone. In any other figure the run of a scheme is brought up to date, so
    that its notes, tags and links stay, and the children of its seeds are made anew.
    """
    figures = [figure for figure in figures if figure.runs]
    finished = [figure for figure in figures if Path(figure.table).is_file()]
    if figures and not finished:
        raise UserError(f"no run is finished: {figures[0].table} does not exist; make the figures first")
    store = Store(uri)
    found: dict[str, Any] = {"uri": store.shown, "database_made": store.made_at}
    found |= {"imported": [], "already_there": []}
    for figure in finished:
        with store.lock():
            new = _import_figure(store, figure)
        found["imported" if new else "already_there"].append(figure.target)
    found["unfinished"] = [figure.target for figure in figures if figure not in finished]
    write_text(output, json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} figures imported, {len(found['already_there'])} already there"
    print(f"MLflow at {store.shown}: {counts}; listed in {output}")


# --- One figure --------------------------------------------------------------------------------------------------


def _import_figure(store: Store, figure: Figure) -> bool:
    """Bring the runs of a figure up to date; return False if MLflow has all of them already."""
    experiment = store.experiment(figure.paper)
    digest = _digest(figure)
    # The same run may stand in a figure twice under one label, with other columns of the figure's own.
    places = {(run.label, run.id): place for place, run in enumerate(figure.runs)}
    stored = _Stored.of(store, experiment, figure)
    if stored.complete(digest).keys() == places.keys():
        return False
    frame = read_table(figure.table)
    compared = comparison(figure, frame, more=LEVELS).drop(columns=["label", "run"])
    compared = compared.rename(columns={"seeds": "number_of_seeds"})  # `seeds` is the param that says which
    for name, place in places.items():
        run = figure.runs[place]
        rows = frame[(frame["run"] == run.id) & (frame["label"] == run.label)]
        earlier = stored.earlier(name, run.config)
        if earlier is not None:
            stored.delete_children(earlier)
        imported = str(round(time.time() * 1000))
        parent = _create_parent(
            store,
            experiment,
            figure,
            run,
            rows,
            dict(compared.loc[place]),
            imported=imported,
            earlier=earlier,
        )
        # Where another importer has begun to bring the same run up to date, it is the one that completes it.
        if store.client.get_run(parent).data.tags[IMPORTED] == imported:
            store.client.set_tag(parent, DIGEST, digest, synchronous=True)
    # Another importer may have written to the same server meanwhile.
    _Stored.of(store, experiment, figure).tidy(digest, places)
    return True


@dataclass(frozen=True)
class _Stored:
    """The runs that MLflow has of a figure: parents in the order of their import, and their children.

    `left` are parents that no importer has completed, and none is completing any more.
    """

    store: Store
    parents: list[MlflowRun]
    left: list[MlflowRun]
    children: list[MlflowRun]

    @classmethod
    def of(cls, store: Store, experiment: str, figure: Figure) -> _Stored:
        """Ask MLflow for the runs of a figure."""
        query = f"tags.`{KEY}` = '{_key(figure)}'"
        found = store.client.search_runs([experiment], query, max_results=MOST_RUNS)
        children = [one for one in found if PARENT_TAG in one.data.tags]
        parents = [one for one in found if PARENT_TAG not in one.data.tags]
        parents.sort(key=lambda one: (int(one.data.tags.get(IMPORTED, 0)), one.info.run_id))
        # Only one process at a time writes to a file, so that what is incomplete there was left by an import that
        # was interrupted. On a server it may be another importer's, which is given ten minutes.
        oldest = time.time() * 1000
        if store.is_shared:
            oldest -= _MOST_MS_OF_AN_IMPORT
        left = []
        for one in parents:
            if DIGEST not in one.data.tags and int(one.data.tags.get(IMPORTED, 0)) < oldest:
                left.append(one)
        return cls(store, parents, left, children)

    def complete(self, digest: str) -> dict[tuple[str, str], MlflowRun]:
        """The oldest parent of each scheme that shows the result with this digest, by label and id of the run."""
        found: dict[tuple[str, str], MlflowRun] = {}
        for one in self.parents:
            if one.data.tags.get(DIGEST) == digest:
                found.setdefault(_name(one), one)
        return found

    def earlier(self, name: tuple[str, str], config: dict) -> str | None:
        """Id of a parent that can be brought up to date: MLflow refuses to change a param."""
        params = params_of(config)
        for one in self.parents:
            is_idle = DIGEST in one.data.tags or one in self.left
            fits = all(params.get(key) == value for key, value in one.data.params.items())
            if _name(one) == name and is_idle and fits:
                return one.info.run_id
        return None

    def delete_children(self, parent: str) -> None:
        """Delete the runs of a parent's seeds, and its digest first: what is interrupted now is incomplete."""
        for one in self.parents:
            if one.info.run_id == parent and DIGEST in one.data.tags:
                self.store.delete_tag(parent, DIGEST)
        for one in self.children:
            if one.data.tags[PARENT_TAG] == parent:
                self.store.delete_run(one.info.run_id)

    def tidy(self, digest: str, places: Container[tuple[str, str]]) -> None:
        """Keep the oldest complete parent of each scheme in the figure, with the children of its last import."""
        kept = [one for name, one in self.complete(digest).items() if name in places]
        kept_ids = {one.info.run_id for one in kept}
        for one in self.parents:
            is_idle = DIGEST in one.data.tags or one in self.left
            if is_idle and one.info.run_id not in kept_ids:
                self.delete_children(one.info.run_id)
                self.store.delete_run(one.info.run_id)
        imports = {one.info.run_id: one.data.tags.get(IMPORTED) for one in self.parents}
        for one in self.children:
            parent = one.data.tags[PARENT_TAG]
            # Others are without a parent, or of an importer that brought the same parent up to date before.
            if parent not in imports or one.data.tags.get(IMPORTED) != imports[parent]:
                self.store.delete_run(one.info.run_id)


def _name(one: MlflowRun) -> tuple[str, str]:
    """Label and id of the run that an MLflow run shows."""
    return one.data.tags.get("label", ""), one.data.tags.get("run", "")


def _key(figure: Figure) -> str:
    """The value of `KEY` at the runs of a figure."""
    return f"{figure.preset}/{figure.target}"


def _create_parent(
    store: Store,
    experiment: str,
    figure: Figure,
    run: Run,
    rows: DataFrame,
    summary: dict[str, float],
    imported: str,
    earlier: str | None,
) -> str:
    """Make the parent run of a scheme, from its rows of the table, with its children and artifacts; its id.

    `imported` is the time of this import, which tells its runs from those of another importer. `earlier` is the id of
    a parent that is brought up to date instead.
    """
    made = {path: read_provenance(path) for path in (figure.table, *run.inputs)}
    tags = {KEY: _key(figure), IMPORTED: imported}
    tags |= tags_of(
        f"snakemake {figure.target} --config preset={figure.preset}",
        list(made.values()),
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
    summary = summary | _costs("table", made[figure.table])
    if run.trains:
        summary |= _costs("training", made.get(run.trajectory_file, {}))
    points = {PARENT: [Point(name, float(value)) for name, value in summary.items()]}
    if run.trains:
        data = read_provenance(run.trajectory_file).get("data")
        errors = made[figure.table].get("replays", {}).get(run.id, {})
        for seed in run.seeds:
            curve = _thin_out(rows[rows["seed"] == seed])
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
        parent=earlier,
    )
    parent = ids[PARENT]
    store.client.log_text(parent, yaml.safe_dump(run.config, sort_keys=False), "config.yaml")
    store.client.log_text(parent, json.dumps(made, indent=1) + "\n", "provenance.json")
    for drawing in figure.drawings:
        if Path(drawing).is_file():
            store.client.log_artifact(parent, drawing)
    store.client.log_text(parent, rows.to_csv(index=False), f"{figure.target}.csv")
    return parent


def _costs(name: str, made: dict) -> dict[str, float]:
    """What a job took, from the provenance of its file: CPU seconds, and memory at its peak.

    MLflow shows metrics that begin with ``system/`` apart from those of a model.
    """
    costs = {}
    for key in ("cpu_s", "peak_memory_mib"):
        if made.get(key) is not None:
            costs[f"system/{name}_{key}"] = float(made[key])
    return costs


def _thin_out(curve: DataFrame) -> DataFrame:
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
