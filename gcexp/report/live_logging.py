"""MLflow while a single run trains: its curves appear step by step, and a run that is resumed continues its own.

What is logged follows the checkpoint: whenever the training keeps its state, the scores in it are logged. A resumed
training goes on from that state, so that each step is logged once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.figures.tables import scores_of
from gcexp.files import write_text
from gcexp.report.comparison import medians
from gcexp.report.mlflow_store import (
    LEVELS,
    MOST_RUNS,
    PARENT,
    Point,
    Store,
    curves_of,
    inputs_of,
    params_of,
    points_of,
    tags_of,
)
from gcexp.run.measurement import Measurement
from gcexp.run.options import conf_dir
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.provenance import read_provenance
from gcexp.run.records import Seen
from gcexp.run.result_columns import curve_of
from gcexp.run.tokens import PARTS
from gcexp.run.yaml_values import read_yaml
from gcexp.tasks.checkpoint import stamp
from gcexp.tasks.training import Trajectory

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from gcexp.report.mlflow_store import MlflowRun

#: Beside the results of a run: which MLflow run shows it.
FILE = "mlflow.json"
_EXPERIMENT = "runs"  # beside those of the papers
_EVERY = 2.0  # seconds of wall time between two looks at what is new


class LiveRun:
    """A single run as MLflow shows it: a parent with its summary, and a child with the curves of each seed.

    As a context it tells MLflow how the run ended. The time stamps of its curves are those of the simulated clock.
    `folder` is where the results of the run lie, and `data` the record of the prepared data that it trains on.
    """

    def __init__(self, store: Store, measurement: Measurement, folder: Path, data: dict):
        self._store = store
        self._run = measurement.run
        self._timeline = measurement.timeline
        self._folder = folder
        self._data = data
        self._ids: dict[str, str] = {}  # of the parent, and of the children by their seed
        self._start = 0
        self._logged: dict[tuple[str, str], int] = {}  # last step by seed and name
        self._warned = False  # whether a person knows that MLflow does not answer

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            status = "FINISHED"
        elif kind is KeyboardInterrupt:
            status = "KILLED"
        else:
            status = "FAILED"
        with ExitStack() as stack:
            if kind is not None:
                stack.enter_context(suppress(UserError))  # the first mistake is the one that is told
            stack.enter_context(self._store.lock())
            for run in self._ids.values():
                self._store.client.set_terminated(run, status)

    def checkpoint(self, path: Path, config: list[str], seen: Seen) -> OwnCheckpoint:
        """The checkpoint of the training, which logs what it keeps."""
        return _LoggedCheckpoint(path, config, seen, self)

    @property
    def place(self) -> str:
        """Where a person finds the run."""
        return f"experiment {_EXPERIMENT} at {self._store.shown}"

    # --- Beginning and continuing

    def begin(self, key: str, state: dict[str, np.ndarray] | None) -> None:
        """Continue the MLflow run that shows the training with this key from a state, or start one."""
        key = stamp({"config": self._run.config, "training": key})
        with self._store.lock():
            experiment = self._store.experiment(_EXPERIMENT)
            curves = self._curves(state) if state else {}
            if not self._continue_runs(experiment, key, curves):
                self._create(experiment)
        write_text(self._folder / FILE, json.dumps({"key": key, "runs": self._ids}, indent=1) + "\n")
        if state:
            self.keep(state)

    def _continue_runs(self, experiment: str, key: str, curves: dict[str, list[Point]]) -> bool:
        """Take up the MLflow run of the folder; False if there is none, or it shows another training."""
        try:
            known = json.loads((self._folder / FILE).read_text("utf-8"))
            self._ids = dict(known["runs"])
            agrees = known["key"] == key
        except (OSError, ValueError, TypeError, KeyError):  # there is no such file, or it is damaged
            return False
        runs = self._runs_of_mlflow(experiment)
        if len(runs) < len(self._ids):
            return False
        self._start = runs[self._ids[PARENT]].info.start_time
        self._logged = {}
        if agrees:
            for seed in self._ids.keys() - {PARENT}:
                names = runs[self._ids[seed]].data.metrics
                if not self._take_up_seed(seed, names, curves.get(seed, [])):
                    agrees = False
        for run_id, run in runs.items():
            if agrees:
                self._store.client.update_run(run_id, status="RUNNING")
            elif run.info.status == "RUNNING":  # it was killed, and nothing goes on from it
                self._store.client.set_terminated(run_id, "KILLED")
        return agrees

    def _runs_of_mlflow(self, experiment: str) -> dict[str, MlflowRun]:
        """The runs that MLflow still has of those that this folder names, by their ids."""
        ids = ", ".join(f"'{run}'" for run in self._ids.values())
        found = self._store.client.search_runs(
            [experiment], f"attributes.run_id IN ({ids})", max_results=MOST_RUNS
        )
        return {run.info.run_id: run for run in found}

    def _take_up_seed(self, seed: str, names: Iterable[str], curve: list[Point]) -> bool:
        """Note the last step that MLflow has of each score of a seed; False if it has other values than the curve."""
        agrees = True
        kept = {(point.name, point.step): point.value for point in curve}
        for name in names:
            history = self._store.client.get_metric_history(self._ids[seed], name)
            for metric in history:
                if kept.get((name, metric.step)) != metric.value:
                    agrees = False
            self._logged[seed, name] = max(metric.step for metric in history)
        return agrees

    def _create(self, experiment: str) -> None:
        """Make a parent, and a child for each seed."""
        self._start = round(time.time() * 1000)
        self._logged = {}
        overrides = " ".join(self._run.overrides)
        options = self._options()
        tags = tags_of(
            f"gcexp run {overrides}",
            [read_provenance(self._folder / "timeline.npz")],
            self._run.config,
            kind="scheme",
            run=self._folder.name,
            label=self._run.name,
            **{part: options.get(part) for part in PARTS},
        )
        names = [PARENT, *map(str, self._timeline.seeds)]
        no_points: dict[str, list[Point]] = {name: [] for name in names}
        self._ids = self._store.new_runs(
            experiment,
            name=overrides or "default run",
            tags=tags,
            start=self._start,
            params=params_of(self._run.config),
            inputs=inputs_of(self._run.config, self._data),
            points=no_points,
        )

    def _options(self) -> dict[str, str]:
        """The option of each group: as it was given, or by default."""
        found: dict[str, str] = {}
        for default in read_yaml(conf_dir() / "run.yaml")["defaults"]:
            if isinstance(default, dict):
                found |= default
        for override in self._run.overrides:
            key, _, value = override.partition("=")
            found[key] = value
        return found

    # --- Steps, and the end

    def keep(self, state: dict[str, np.ndarray]) -> None:
        """Log what is new in a kept state; where MLflow does not answer, that is told once and tried again later."""
        try:
            self._log(self._curves(state))
        except UserError as error:
            if not self._warned:
                print(f"{error}; training goes on, and what is missing is logged later", file=sys.stderr)
            self._warned = True

    def _log(self, curves: dict[str, list[Point]]) -> None:
        with self._store.lock():
            for seed, points in curves.items():
                new = [point for point in points if self._is_new(seed, point)]
                if new:
                    self._store.log(self._ids[seed], self._start, new)
                for point in new:
                    self._logged[seed, point.name] = point.step

    def _is_new(self, seed: str, point: Point) -> bool:
        return point.step > self._logged.get((seed, point.name), -1)

    def _curves(self, state: dict[str, np.ndarray]) -> dict[str, list[Point]]:
        """Points of each seed's scores and of its clock by step, as far as a training is."""
        frame = curve_of(self._timeline, Trajectory.from_arrays(state))
        return {str(seed): curves_of(rows) for seed, rows in frame.groupby("seed")}

    def finish(self, trajectory: Trajectory, frame: pd.DataFrame, level: float | None) -> None:
        """Log what is still missing of the curves, and the summary of the whole run."""
        self._log(self._curves(trajectory.arrays()))
        seeds = [rows for _, rows in frame.groupby("seed")]
        summary: dict[str, float] = {"number_of_seeds": len(seeds)}
        summary |= medians(seeds, scores_of(frame), level, LEVELS)
        summary |= self._run.loads()
        self.add(summary)

    def add(self, summary: dict[str, float], files: Iterable[Path] = ()) -> None:
        """Log numbers and files of the whole run."""
        with self._store.lock():
            self._store.log(self._ids[PARENT], self._start, points_of(summary))
            for file in files:
                self._store.client.log_artifact(self._ids[PARENT], str(file))


class _LoggedCheckpoint(OwnCheckpoint):
    """A checkpoint that logs the scores in each state that it keeps."""

    def __init__(self, path: Path, config: list[str], seen: Seen, run: LiveRun):
        super().__init__(path, config, seen, every=_EVERY)
        self._run = run

    def load(self) -> dict[str, np.ndarray] | None:
        state = super().load()
        self._run.begin(self._stamp, state)
        return state

    def save(self, state: dict[str, np.ndarray]) -> None:
        super().save(state)
        self._run.keep(state)
