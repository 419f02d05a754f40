"""MLflow as a view of finished figures: a run for each figure, in it one for each scheme, in these one for each seed.

Nothing reads MLflow back but what people wrote there: a database can be filled again from the tables of the figures. A
run is known by its figure, its preset and its name in the figure, which is its label. When its settings change, the
run is brought up to date, and notes and tags of people stay.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from gcexp.errors import UserError
from gcexp.figures.tables import read_table
from gcexp.files import write_text
from gcexp.report.columns import key_columns
from gcexp.report.comparison import comparison
from gcexp.report.figure import Figure
from gcexp.report.mlflow_links import description_of, schemes_link, view_key, view_of
from gcexp.report.mlflow_store import (
    LEVELS,
    MOST_RUNS,
    PARENT,
    PARENT_TAG,
    WRITTEN_TAGS,
    Point,
    Store,
    curves_of,
    inputs_of,
    points_of,
    spoken,
    tags_of,
    text_of,
)
from gcexp.run.dependencies import digest_of
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
#: Tag with the name of a run in its figure.
NAME = "gcexp.name"
#: Tag with a digest of a run's whole config.
SETTINGS = "gcexp.settings"
#: Tag with the time of an import, in milliseconds.
IMPORTED = "gcexp.imported"
_MOST_MS_OF_AN_IMPORT = 600_000
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 8

#: Tags that imports write; all others are people's.
_OWN_TAGS = (
    *(DIGEST, KEY, NAME, SETTINGS, IMPORTED, PARENT_TAG, "mlflow.runName", *WRITTEN_TAGS, *PARTS),
    *("kind", "seed", "seeds", "paper", "figure", "preset", "run", "label"),
)
_POINTS = 75  # of a curve: a point costs 0.1 ms
_MOST_LINKS = 3  # that are printed


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import the runs of every finished figure into MLflow, and write down what was imported, there, or not made.

    An experiment is a paper. A run is a figure with its table and drawings, or one scheme in it with medians, or a seed
    of a scheme's training with its curves. Time stamps of curves are the simulated clock, and step t is what holds
    after t iterations. A figure whose table and runs did not change is left alone. In any other figure the runs are
    brought up to date. MLflow changes no param: a scheme whose params changed gets a new run in place of the old one,
    which takes over notes and tags of people. What became of runs under other names is told.
    """
    figures = [figure for figure in figures if figure.runs]
    finished = [figure for figure in figures if Path(figure.table).is_file()]
    if figures and not finished:
        raise UserError(f"no run is finished: {figures[0].table} does not exist; make the figures first")
    store = Store(uri)
    found: dict[str, Any] = {"uri": store.shown, "database_made": store.made_at}
    found |= {"imported": [], "already_there": [], "links": {}}
    told: list[str] = []
    experiments: dict[str, str] = {}
    for figure in finished:
        with store.lock():
            experiment = store.experiment(figure.paper)
            new = _import_figure(store, experiment, figure, told)
            found["links"][figure.target] = store.address + _share_view(store, experiment, figure)
            experiments[figure.paper] = experiment
        found["imported" if new else "already_there"].append(figure.target)
    for paper, experiment in experiments.items():
        with store.lock():
            _describe(store, experiment, paper)
    found["unfinished"] = [figure.target for figure in figures if figure not in finished]
    write_text(output, json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} figures imported, {len(found['already_there'])} already there"
    for sentence in told:
        print(sentence)
    print(f"MLflow at {store.shown}: {counts}; listed in {output}")
    if len(finished) <= _MOST_LINKS:
        for target, link in found["links"].items():
            print(f"{target}: {link}")


# --- One figure --------------------------------------------------------------------------------------------------


def _import_figure(store: Store, experiment: str, figure: Figure, told: list[str]) -> bool:
    """Bring the runs of a figure up to date; return False if MLflow has all of them already."""
    digest = _digest(figure)
    # The same run may stand in a figure twice under one label, with other columns of the figure's own.
    places = {name: place for place, name in enumerate(names_in_figure(figure))}
    stored = _Stored.of(store, experiment, figure)
    if stored.complete(digest).keys() == places.keys() and stored.figures:
        return False
    frame = read_table(figure.table)
    compared = comparison(figure, frame, more=LEVELS).drop(columns=["label", "run"])
    compared = compared.rename(columns={"seeds": "number_of_seeds"})  # `seeds` is the tag that says which
    params = params_in_figure(figure)
    whole = _figure_run(store, experiment, figure, stored)
    for name, place in places.items():
        run = figure.runs[place]
        rows = frame[(frame["run"] == run.id) & (frame["label"] == run.label)]
        earlier = stored.earlier(name, run, places)
        imported = str(round(time.time() * 1000))
        one = _Scheme(
            store, experiment, figure, whole, run, name, rows, params[place], dict(compared.loc[place])
        )
        parent = one.write(imported, earlier, stored.children, told)
        # Where another importer has begun to bring the same run up to date, it is the one that completes it.
        if store.client.get_run(parent).data.tags[IMPORTED] == imported:
            store.client.set_tag(parent, DIGEST, digest, synchronous=True)
    # Another importer may have written to the same server meanwhile.
    _Stored.of(store, experiment, figure).tidy(digest, places, told)
    return True


def names_in_figure(figure: Figure) -> list[str]:
    """The name of each run in its figure: its label, and behind it what tells several runs of that label apart."""
    keys = key_columns(figure.runs)
    names = []
    for run in figure.runs:
        alike = [other for other in figure.runs if other.label == run.label]
        name = run.label
        for key, values in keys.items():
            if len({text_of(values[other.id]) for other in alike}) > 1:
                name += f", {key}={text_of(values[run.id])}"
        names.append(name)
    return names


def params_in_figure(figure: Figure) -> list[dict[str, str]]:
    """The params of each run: those of its keys whose values differ within the figure. MLflow compares runs by them."""
    keys = key_columns(figure.runs)
    differing = []
    for key, values in keys.items():
        if len(set(map(text_of, values.values()))) > 1:
            differing.append(key)
    found = []
    for run in figure.runs:
        values_of_run = {key: keys[key][run.id] for key in differing}
        found.append({key: text_of(value) for key, value in values_of_run.items() if value is not None})
    return found


def _figure_run(store: Store, experiment: str, figure: Figure, stored: _Stored) -> str:
    """Id of the run of the whole figure, with its table and drawings; made where there is none."""
    made = read_provenance(figure.table)
    tags = {KEY: _key(figure), "kind": "figure", "paper": figure.paper, "figure": figure.target}
    tags |= {"preset": figure.preset, "label": figure.file.title}
    if stored.figures:
        run = stored.figures[0].info.run_id
    else:
        start = int(Path(figure.table).stat().st_mtime * 1000)
        run = store.new_run(experiment, figure.target, tags, start, float(made.get("wall_s") or 0))
    for file in (figure.table, *figure.drawings):
        if Path(file).is_file():
            store.client.log_artifact(run, file)
    return run


def _share_view(store: Store, experiment: str, figure: Figure) -> str:
    """The part of an address that opens the list of a figure's schemes, the fastest first, with what they cost."""
    settings: dict[str, None] = {}  # each once, in the order of the runs
    for of_run in params_in_figure(figure):
        settings.update(dict.fromkeys(of_run))
    query = f"tags.kind = 'scheme' and tags.`{KEY}` = '{_key(figure)}'"
    store.share_view(experiment, view_key(_key(figure)), view_of(query, _compared_metrics(figure), settings))
    return schemes_link(experiment, _key(figure))


def _compared_metrics(figure: Figure) -> list[str]:
    """What the schemes of a figure are compared by; they are sorted by the first."""
    shown = ["mean_iteration_time_s", "computation_load"]
    if figure.runs[0].trains:
        level = LEVELS[0] if figure.file.level is None else figure.file.level
        shown = [f"time_to_{level:g}", "low", "high", *shown]
    return [spoken(name) for name in shown]


def _describe(store: Store, experiment: str, paper: str) -> None:
    """Let the description of a paper's experiment list its figures, each with the link to its schemes."""
    found = store.client.search_runs([experiment], "tags.kind = 'figure'", max_results=MOST_RUNS)
    figures = {one.data.tags[KEY] for one in found}
    store.describe(experiment, description_of(experiment, paper, figures))


@dataclass(frozen=True)
class _Stored:
    """The runs that MLflow has of a figure: its own, those of schemes in the order of their import, those of seeds.

    `left` are runs of schemes that no importer has completed, and none is completing any more.
    """

    store: Store
    figures: list[MlflowRun]
    parents: list[MlflowRun]
    left: list[MlflowRun]
    children: list[MlflowRun]

    @classmethod
    def of(cls, store: Store, experiment: str, figure: Figure) -> _Stored:
        """Ask MLflow for the runs of a figure."""
        query = f"tags.`{KEY}` = '{_key(figure)}'"
        found = store.client.search_runs([experiment], query, max_results=MOST_RUNS)
        by_kind: dict[str, list[MlflowRun]] = {"figure": [], "scheme": [], "seed": []}
        for one in found:
            by_kind[one.data.tags["kind"]].append(one)
        parents = by_kind["scheme"]
        parents.sort(key=lambda one: (int(one.data.tags.get(IMPORTED, 0)), one.info.run_id))
        figures = sorted(by_kind["figure"], key=lambda one: (one.info.start_time, one.info.run_id))
        # Only one process at a time writes to a file, so that what is incomplete there was left by an import that
        # was interrupted. On a server it may be another importer's, which is given ten minutes.
        oldest = time.time() * 1000
        if store.is_shared:
            oldest -= _MOST_MS_OF_AN_IMPORT
        left = []
        for one in parents:
            if DIGEST not in one.data.tags and int(one.data.tags.get(IMPORTED, 0)) < oldest:
                left.append(one)
        return cls(store, figures, parents, left, by_kind["seed"])

    def complete(self, digest: str) -> dict[str, MlflowRun]:
        """The oldest run of each scheme that shows the result with this digest, by its name in the figure."""
        found: dict[str, MlflowRun] = {}
        for one in self.parents:
            if one.data.tags.get(DIGEST) == digest:
                found.setdefault(one.data.tags.get(NAME, ""), one)
        return found

    def earlier(self, name: str, run: Run, names: dict[str, int]) -> MlflowRun | None:
        """The run that showed a scheme before: by its name, else as an older version knew it, or by another label."""
        idle = [one for one in self.parents if DIGEST in one.data.tags or one in self.left]
        of_label = [
            one for one in idle if NAME not in one.data.tags and one.data.tags.get("label") == run.label
        ]
        same_run = [one for one in idle if one.data.tags.get("run") == run.id]
        unnamed = [one for one in same_run if one.data.tags.get(NAME, "") not in names]
        candidates = [one for one in idle if one.data.tags.get(NAME) == name]
        candidates += [one for one in of_label if one in same_run]
        if len(of_label) == 1 and name == run.label:
            candidates += of_label
        candidates += unnamed
        return candidates[0] if candidates else None

    def delete_children(self, parent: str) -> None:
        """Delete the runs of a scheme's seeds, and its digest first: what is interrupted now is incomplete."""
        for one in self.parents:
            if one.info.run_id == parent and DIGEST in one.data.tags:
                self.store.delete_tag(parent, DIGEST)
        for one in self.children:
            if one.data.tags[PARENT_TAG] == parent:
                self.store.delete_run(one.info.run_id)

    def tidy(self, digest: str, names: dict[str, int], told: list[str]) -> None:
        """Keep the oldest complete run of each scheme in the figure, with the children of its last import."""
        kept = [one for name, one in self.complete(digest).items() if name in names]
        kept_ids = {one.info.run_id for one in kept}
        for one in self.parents:
            is_idle = DIGEST in one.data.tags or one in self.left
            if is_idle and one.info.run_id not in kept_ids:
                name = one.data.tags.get(NAME, one.data.tags.get("label", ""))
                if name not in names and tags_of_people(one):
                    told.append(
                        f"{one.data.tags['figure']} has no scheme {name!r} any more; its run {one.info.run_id} with "
                        "notes or tags of people is among the deleted runs of MLflow"
                    )
                self.delete_children(one.info.run_id)
                self.store.delete_run(one.info.run_id)
        imports = {one.info.run_id: one.data.tags.get(IMPORTED) for one in self.parents}
        for one in self.children:
            parent = one.data.tags[PARENT_TAG]
            # Others are without a parent, or of an importer that brought the same parent up to date before.
            if parent not in imports or one.data.tags.get(IMPORTED) != imports[parent]:
                self.store.delete_run(one.info.run_id)
        for one in kept:
            if one.data.tags.get(PARENT_TAG) != self.figures[0].info.run_id:
                self.store.client.set_tag(one.info.run_id, PARENT_TAG, self.figures[0].info.run_id)
        for one in self.figures[1:]:
            self.store.delete_run(one.info.run_id)


def tags_of_people(one: MlflowRun) -> dict[str, str]:
    """The tags of a run that no import wrote, its note among them."""
    return {name: value for name, value in one.data.tags.items() if name not in _OWN_TAGS}


def _key(figure: Figure) -> str:
    """The value of `KEY` at the runs of a figure."""
    return f"{figure.preset}/{figure.target}"


@dataclass(frozen=True)
class _Scheme:
    """One scheme of a figure, with its rows of the table and what they say of it: as it is written to MLflow."""

    store: Store
    experiment: str
    figure: Figure
    whole: str  #: id of the figure's run
    run: Run
    name: str
    rows: DataFrame
    params: dict[str, str]
    summary: dict[str, float]

    def write(
        self, imported: str, earlier: MlflowRun | None, children: list[MlflowRun], told: list[str]
    ) -> str:
        """Write the run with its children and artifacts; its id.

        `imported` is the time of this import, which tells its runs from those of another importer. `earlier` is the
        run that showed the scheme before, with some of the `children`. It is brought up to date where MLflow can do so.
        """
        run, figure, store = self.run, self.figure, self.store
        made = {path: read_provenance(path) for path in (figure.table, *run.inputs)}
        training = made.get(run.trajectory_file, {}) if run.trains else {}
        summary = self.summary | _costs("table", made[figure.table]) | _costs("training", training)
        points = {PARENT: [point for point in points_of(summary) if np.isfinite(point.value)]}
        if run.trains:
            errors = made[figure.table].get("replays", {}).get(run.id, {})
            for seed in run.seeds:
                curve = _thin_out(self.rows[self.rows["seed"] == seed])
                points[str(seed)] = curves_of(curve)
                for name, value in errors.get(str(seed), {}).items():
                    points[str(seed)].append(Point(spoken(name), value))
        name = self.name
        carried: dict[str, dict[str, str]] = {}
        kept = None
        if earlier is not None:
            name = self._tell(earlier, name, told)
            carried = _carried(earlier, children)
            stored = _Stored(store, [], [earlier], [], children)
            stored.delete_children(earlier.info.run_id)
            if self._fits(earlier, points[PARENT]):
                kept = earlier.info.run_id
                if earlier.info.run_name != name:
                    store.client.update_run(kept, name=name)
        # The page *Compare* begins with the metric that was written first.
        first = _compared_metrics(figure)[0]
        points[PARENT].sort(key=lambda point: point.name != first)
        # MLflow shows the value with the latest time stamp, and a table may be older than the one before.
        points[PARENT] = [point._replace(at=time.time() - self._start / 1000) for point in points[PARENT]]
        ids = store.new_runs(
            self.experiment,
            name=name,
            tags=self._tags(imported, list(made.values())),
            start=self._start,
            params=self.params,
            inputs=inputs_of(run.config, training.get("data")),
            points=points,
            seconds=float((training or made[figure.table]).get("wall_s") or 0),
            parent=kept,
            carried=carried,
        )
        parent = ids[PARENT]
        if earlier is not None and kept is None:
            store.delete_run(earlier.info.run_id)
        store.client.log_text(parent, yaml.safe_dump(run.config, sort_keys=False), "config.yaml")
        store.client.log_text(parent, json.dumps(made, indent=1) + "\n", "provenance.json")
        store.client.log_text(parent, self.rows.to_csv(index=False), f"{figure.target}.csv")
        return parent

    @property
    def _start(self) -> int:
        """When the runs began: when their table was made."""
        return int(Path(self.figure.table).stat().st_mtime * 1000)

    def _tags(self, imported: str, made: list[dict]) -> dict[str, str]:
        """Tags of the run and of its children."""
        figure, run = self.figure, self.run
        found = tags_of(
            f"snakemake {figure.target} --config preset={figure.preset}",
            made,
            run.config,
            kind="scheme",
            paper=figure.paper,
            figure=figure.target,
            preset=figure.preset,
            run=run.id,
            label=run.label,
            seeds=run.seed_range,
            **{part: run.option(part) or "" for part in PARTS},
        )
        more = {KEY: _key(figure), NAME: self.name, IMPORTED: imported, PARENT_TAG: self.whole}
        more[SETTINGS] = digest_of(run.config)
        return more | found

    def _fits(self, earlier: MlflowRun, points: list[Point]) -> bool:
        """Whether MLflow can bring an earlier run up to date: it changes no param, and forgets no number."""
        params = earlier.data.params
        changed = {key for key, value in params.items() if self.params.get(key) != value}
        lost = {*earlier.data.metrics} - {point.name for point in points}
        return not changed and not lost

    def _tell(self, earlier: MlflowRun, name: str, told: list[str]) -> str:
        """Tell what changed since an earlier run; what the run is called now: as a person renamed it, or by `name`."""
        tags = earlier.data.tags
        before = tags.get(NAME, tags.get("label", ""))
        target = self.figure.target
        stay = "notes and tags of people stay"
        if NAME in tags and before != self.name:
            told.append(f"{target}: {before!r} is {self.name!r} now; {stay}")
        if tags.get("run") != self.run.id:
            told.append(
                f"{target}: the settings of {self.name!r} changed from {tags.get('run')} to {self.run.id}; {stay}"
            )
        elif tags.get(SETTINGS, digest_of(self.run.config)) != digest_of(self.run.config):
            told.append(f"{target}: options that {self.name!r} is made of changed; {stay}")
        named_by_a_person = earlier.info.run_name not in (before, tags.get("label"))
        return earlier.info.run_name if named_by_a_person else name


def _carried(earlier: MlflowRun, children: list[MlflowRun]) -> dict[str, dict[str, str]]:
    """Tags of people at an earlier run and at its children, by `PARENT` and by seed."""
    found = {PARENT: tags_of_people(earlier)}
    for one in children:
        if one.data.tags[PARENT_TAG] == earlier.info.run_id:
            found[one.data.tags["seed"]] = tags_of_people(one)
    return found


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
