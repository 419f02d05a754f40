"""MLflow while a single run trains: its curves appear step by step, and a run that is resumed continues its own.

What is logged follows the checkpoint: whenever the training keeps its state, the scores in it are logged. A resumed
training goes on from that state, so that each step is logged once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import UserError
from gcexp.figures.tables import scores_of
from gcexp.files import written
from gcexp.report import mlflow_store as store
from gcexp.report.comparison import medians
from gcexp.report.mlflow_store import LEVELS, Point, params_of, text_of
from gcexp.run.options import conf_dir, read_yaml
from gcexp.run.own_checkpoint import OwnCheckpoint
from gcexp.run.provenance import finished_provenance
from gcexp.run.records import Seen, unrecorded
from gcexp.run.scheme import loads
from gcexp.tasks.checkpoint import stamp
from gcexp.tasks.training import Trajectory

if TYPE_CHECKING:
    import pandas as pd
    from mlflow import MlflowClient
    from mlflow.entities import Run

    from gcexp.timeline import Timeline

#: Beside the results of a run: which MLflow run shows it.
FILE = "mlflow.json"
_EVERY = 2.0  # seconds of wall time between two looks at what is new
_PARTS = ("scheme", "delay", "task", "optimizer")
_PARENT, _CLOCK = "parent", "simulated_time_s"


class LiveRun:
    """A single run as MLflow shows it: a parent with its summary, and a child with the curves of each seed.

    Parameters
    ----------
    client : MlflowClient
    uri : str
    config : dict
        Composed run.
    overrides : list of str
        What a person gave.
    folder : Path
        Where the results of the run lie.
    data : dict
        Record of the prepared data.
    timeline : Timeline
        The clock of the run: time stamps of its curves are simulated.
    """

    experiment = "runs"  # beside those of the papers

    def __init__(
        self,
        client: MlflowClient,
        uri: str,
        config: dict,
        overrides: list[str],
        folder: Path,
        data: dict,
        timeline: Timeline,
    ):
        self._client, self._uri, self._config, self._overrides = client, uri, config, overrides
        self._folder, self._data, self._timeline = folder, data, timeline
        self._ids: dict[str, str] = {}  # of the children by their seed, and of the parent
        self._start = 0
        self._logged: dict[tuple[str, str], int] = {}  # last step by seed and score
        self._told = False

    def checkpoint(self, path: Path, config: list[str], seen: Seen) -> OwnCheckpoint:
        """The checkpoint of the training, which logs what it keeps."""
        return _LoggedCheckpoint(path, config, seen, self)

    @property
    def place(self) -> str:
        """The tracking URI without passwords."""
        return store.masked(self._uri)

    # --- Beginning and continuing

    def begin(self, key: str, state: dict[str, np.ndarray] | None) -> None:
        """Continue the MLflow run that shows this training, or start one.

        Parameters
        ----------
        key : str
            What the training belongs to.
        state : dict of ndarray, optional
            From where it goes on.
        """
        key = stamp({"config": self._config, "training": key})
        with store.sentences(self._uri), store.alone(self._uri):
            if not self._continued(key, state):
                self._created()
        with written(self._folder / FILE) as temporary:
            temporary.write_text(json.dumps({"key": key, "runs": self._ids}, indent=1) + "\n")
        self.log(state)

    def _continued(self, key: str, state: dict[str, np.ndarray] | None) -> bool:
        """Take up the MLflow run of the folder; False if there is none, or it shows another training."""
        try:
            known = json.loads((self._folder / FILE).read_text("utf-8"))
            self._ids = {str(name): str(run_id) for name, run_id in known["runs"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):  # none, or damaged
            return False
        runs = store.found_runs(self._client, self._ids.values())
        if not runs:
            return False
        self._start = runs[0].info.start_time
        if known["key"] == key and self._agrees(runs, state):
            for run_id in self._ids.values():
                self._client.update_run(run_id, status="RUNNING")
            return True
        for run in runs:
            if run.info.status == "RUNNING":  # it was killed, and nothing goes on from it
                self._client.set_terminated(run.info.run_id, "KILLED")
        return False

    def _agrees(self, runs: list[Run], state: dict[str, np.ndarray] | None) -> bool:
        """Whether all that was logged is what the training kept, and how far that was."""
        kept = {(seed, name): dict(steps) for seed, name, steps in _scores(state)}
        self._logged.clear()
        for seed, run in zip(self._ids, runs, strict=True):
            for name in run.data.metrics.keys() - {_CLOCK} if seed != _PARENT else ():
                for metric in self._client.get_metric_history(run.info.run_id, name):
                    if kept.get((seed, name), {}).get(metric.step) != metric.value:
                        return False
                    self._logged[seed, name] = max(metric.step, self._logged.get((seed, name), -1))
        return True

    def _created(self) -> None:
        """A parent and a child for each seed."""
        client, overrides = self._client, " ".join(self._overrides)
        experiment = store.experiment(client, self.experiment, self._uri)
        inputs = store.inputs_of(self._config, self._data)
        self._start, self._logged = round(time.time() * 1000), {}
        named = _default_options() | dict(text.partition("=")[::2] for text in self._overrides)
        label = self._config["code"]["_target_"].rpartition(".")[2]
        made = finished_provenance(self._folder / "timeline.npz")
        common = {
            **store.origin_tags(f"gcexp run {overrides}", made),
            "run": self._folder.name,
            "label": label,
            **{part: named[part] for part in _PARTS if named.get(part)},
            "exact": text_of(bool(self._config["exact"])),
            "commit": made.get("commit") or "unknown",
            "dirty": text_of(bool(made.get("dirty"))),
        }
        name = overrides or "default run"
        tags = common | {"kind": "scheme"}
        self._ids = {_PARENT: store.new_run(client, experiment, name, tags, self._start)}
        for seed in map(str, self._timeline.seeds.tolist()):
            tags = common | {"kind": "seed", "seed": seed, "mlflow.parentRunId": self._ids[_PARENT]}
            self._ids[seed] = store.new_run(client, experiment, f"{name}, seed {seed}", tags, self._start)
        for run_id in self._ids.values():
            store.log_inputs(client, run_id, inputs)
            store.log(client, run_id, self._start, [], params_of(self._config))

    # --- Steps, and the end

    def log(self, state: dict[str, np.ndarray] | None) -> None:
        """Log what is new in a kept state; where MLflow does not answer, that is told once and tried again later."""
        if state is None:
            return
        try:
            self._log(state)
        except UserError as error:
            if not self._told:
                print(f"{error}; training goes on, and what is missing is logged later", file=sys.stderr)
            self._told = True

    def _log(self, state: dict[str, np.ndarray]) -> None:
        timeline = self._timeline
        clocks = dict(
            zip(map(str, timeline.seeds.tolist()), np.pad(timeline.clock, ((0, 0), (1, 0))), strict=True)
        )
        ends = dict(zip(clocks, timeline.steps.tolist(), strict=True))
        new: dict[str, dict[Point, None]] = {seed: {} for seed in clocks}
        for seed, name, steps in _scores(state):
            last = self._logged.get((seed, name), -1)
            for step, value in steps:
                if last < step <= ends[seed]:  # an exact training may be longer than the clock
                    at = float(clocks[seed][step])
                    new[seed] |= {Point(name, value, at, step): None, Point(_CLOCK, at, at, step): None}
        with store.sentences(self._uri), store.alone(self._uri):
            for seed, points in new.items():
                if points:
                    store.log(self._client, self._ids[seed], self._start, points)
                self._logged |= {(seed, point.name): point.step for point in points}

    def finish(self, trajectory: Trajectory, frame: pd.DataFrame, level: float | None) -> None:
        """Log what is still missing of the curves, and the summary of the whole run."""
        self._log(trajectory.arrays())
        seeds = [rows for _, rows in frame.groupby("seed")]
        found = {
            "seeds": len(seeds),
            **medians(seeds, scores_of(frame), level, LEVELS),
            **loads(self._config),
        }
        self.add({name: float(value) for name, value in found.items()})

    def add(self, summary: dict[str, float], files: Iterable[Path] = ()) -> None:
        """Log numbers and files of the whole run."""
        with store.sentences(self._uri), store.alone(self._uri):
            points = [Point(name, value) for name, value in summary.items()]
            store.log(self._client, self._ids[_PARENT], self._start, points)
            for file in files:
                self._client.log_artifact(self._ids[_PARENT], str(file))

    def end(self, status: str) -> None:
        """Say how the run ended; a resumed one is running again."""
        with store.sentences(self._uri), store.alone(self._uri):
            for run_id in self._ids.values():
                self._client.set_terminated(run_id, status)


class _LoggedCheckpoint(OwnCheckpoint):
    """A checkpoint that logs the scores in each state that it keeps."""

    def __init__(self, path: Path, config: list[str], seen: Seen, run: LiveRun):
        super().__init__(path, config, seen, every=_EVERY)
        self._run = run

    def load(self) -> dict[str, np.ndarray] | None:
        """As of any checkpoint; then the MLflow run is known."""
        state = super().load()
        with unrecorded():  # the training reads nothing of it
            self._run.begin(self._stamp, state)
        return state

    def save(self, state: dict[str, np.ndarray]) -> None:
        """As of any checkpoint; then what is new in it is logged."""
        super().save(state)
        with unrecorded():
            self._run.log(state)


def _scores(
    state: dict[str, np.ndarray] | None,
) -> Iterator[tuple[str, str, list[tuple[int, float]]]]:
    """Of each seed and score that a training has so far, steps and values."""
    if state is None:
        return
    trajectory = Trajectory.from_arrays({name: state[name] for name in state if not name.startswith("at_")})
    for name, values in trajectory.scores.items():
        for seed, row in zip(map(str, trajectory.seeds.tolist()), values, strict=True):
            there = np.isfinite(row)
            yield (
                seed,
                name,
                list(zip(trajectory.evaluated[there].tolist(), row[there].tolist(), strict=True)),
            )


def _default_options() -> dict[str, str]:
    """The option of each group that a run has where nothing else is said."""
    return {
        group: option
        for one in read_yaml(conf_dir() / "run.yaml")["defaults"]
        if isinstance(one, dict)
        for group, option in one.items()
    }


def connect(uri: str | None) -> tuple[MlflowClient, str]:
    """Client of the store that is meant, and its URI."""
    uri = store.chosen_uri(uri)
    with store.sentences(uri):
        return store.connect(uri), uri


@contextmanager
def ended(run: LiveRun) -> Iterator[None]:
    """Whatever ends the block, MLflow says how it ended."""
    try:
        yield
    except BaseException as error:
        with suppress(UserError):  # the first mistake is the one that is told
            run.end("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        raise
    run.end("FINISHED")
