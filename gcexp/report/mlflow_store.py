"""How runs get into MLflow: a store, its experiments, runs with their points and inputs, and the tags of all runs.

The only module that imports MLflow, which takes two seconds: only functions do.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import logging
import math
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gcexp.errors import UserError
from gcexp.figures.tables import scores_of
from gcexp.files import writable, written
from gcexp.report.imported import SQLITE, database_file, made_at
from gcexp.report.mlflow_links import DESCRIPTION, SHARED_VIEW, is_our_description
from gcexp.run import paths

if TYPE_CHECKING:
    import pandas as pd
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput
    from mlflow.entities import Run as MlflowRun  # noqa: F401 - for the module of imports

#: Scores that runs are compared at beside their own.
LEVELS = (0.8, 0.9)

#: As many runs MLflow finds at once.
MOST_RUNS = 50_000
#: What stands for the parent beside the seeds of its children.
PARENT = "parent"
#: MLflow's tag of a child.
PARENT_TAG = "mlflow.parentRunId"

#: Tags of every run that `tags_of` writes.
WRITTEN_TAGS = (
    *("mlflow.user", "mlflow.source.name", "mlflow.source.type"),
    *("mlflow.source.git.commit", "mlflow.source.git.repoURL", "exact", "commit", "dirty"),
)
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_DIGEST_LENGTH = 36  # that MLflow stores of a data set's digest
_LONGEST_NAME = 250  # of a run
_MOST_POINTS = 900  # MLflow takes 1000 values at once
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # two lines for every run
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # a server that does not answer is reported within seconds
}


class Point(NamedTuple):
    """One value of a curve: `at` is its time on the simulated clock, in seconds since the run began."""

    name: str
    value: float
    at: float = 0.0
    step: int = 0


class Store:
    """A tracking store that answers. What is done with it stands in a block of `lock`.

    Without a URI it is $MLFLOW_TRACKING_URI, else a SQLite file in results/mlflow; `shown` is it without user name
    and password.
    """

    def __init__(self, uri: str | None):
        uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{paths.TRACKED}"
        self.shown = _mask_passwords(uri)
        self._file = database_file(uri)
        _check_uri(uri)
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        if self._file is not None:
            _, mark, options = uri.partition("?")
            folder = self._file.parent
            with writable(folder):
                folder.mkdir(parents=True, exist_ok=True)
            # MLflow keeps a store by its URI, whatever folder a process changes to.
            uri = f"{SQLITE}{self._file.resolve()}{mark}{options}"
        with self.lock():
            self.client = self._connect(uri)

    @property
    def made_at(self) -> int | None:
        """When a SQLite database was made; None of a server."""
        if self._file is None:
            return None
        return made_at(self._file)

    @property
    def is_shared(self) -> bool:
        """Whether several processes may write at once, as they do to a server."""
        return self._file is None

    def _connect(self, uri: str) -> MlflowClient:
        """A client of a store that answers."""
        from mlflow import MlflowClient

        with _without_remarks(), _without_mlruns():
            if self._file is not None:
                is_new = not self._file.exists() or self._file.stat().st_size == 0
                if is_new:
                    _make_tables(self._file)
            if re.split(r"[+:]", uri)[0] in _DATABASES:  # MLflow would retry for minutes before it gives up
                import sqlalchemy

                engine = sqlalchemy.create_engine(uri)
                sqlalchemy.inspect(engine).get_table_names()
                engine.dispose()
            client = MlflowClient(tracking_uri=uri)
            client.search_experiments(max_results=1)
        return client

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only one of our processes that writes, as a SQLite file demands, and tell errors in one sentence."""
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with ExitStack() as stack:
                if self._file is not None:
                    path = self._file.with_name(f"{self._file.name}.lock")
                    stack.enter_context(writable(path))
                    lock = stack.enter_context(open(path, "a"))
                    fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except (MlflowException, SQLAlchemyError, ImportError) as error:
            raise UserError(self._refusal(str(error))) from error

    def _refusal(self, error: str) -> str:
        """What a person reads where MLflow cannot use the store."""
        words = " ".join(error.split())
        if self._file is not None and "database is locked" in words:
            return (
                f"another program is writing to {self._file}, which takes one writer at a time (database is locked); "
                "end it, or type the same command again when it has finished"
            )
        of_the_system = re.search(r"\[Errno -?\d+\] ([^\"')\]]+)", words)
        reason = of_the_system[1] if of_the_system else _mask_passwords(words[:300])
        advice = "allowed: sqlite:///FILE, http://SERVER:PORT, or another database that MLflow supports"
        if self._file is not None and re.search("malformed|not a database", words):
            advice = f"delete {self._file}, and the next import fills a new one"
        return f"MLflow cannot use the tracking URI {self.shown} ({reason}); {advice}"

    def experiment(self, name: str) -> str:
        """Id of an experiment; a local database keeps its artifacts beside itself, not in ./mlruns."""
        from mlflow.exceptions import MlflowException

        found = self.client.get_experiment_by_name(name)
        if found:
            return found.experiment_id
        place = None
        if self._file is not None:
            place = (self._file.parent / "artifacts" / name).resolve().as_uri()
        # The page opens with the list of runs; MLflow 3.17.2 goes by its own switch GenAI or Model training instead.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        try:
            return self.client.create_experiment(name, artifact_location=place, tags=kind)
        except MlflowException:
            found = self.client.get_experiment_by_name(name)
            if found is None:  # not made by another importer a moment ago, but deleted
                raise
            return found.experiment_id

    def delete_run(self, run: str) -> None:
        """Delete a run, unless another importer has deleted it."""
        from mlflow.exceptions import MlflowException

        try:
            self.client.delete_run(run)
        except MlflowException:
            if not self._is_deleted(run):
                raise

    def delete_tag(self, run: str, name: str) -> None:
        """Delete a tag of a run, unless another importer has deleted the tag or the run."""
        from mlflow.exceptions import MlflowException

        try:
            self.client.delete_tag(run, name)
        except MlflowException:
            if not self._is_deleted(run) and name in self.client.get_run(run).data.tags:
                raise

    def _is_deleted(self, run: str) -> bool:
        """Whether a run is among those that MLflow keeps as deleted."""
        return self.client.get_run(run).info.lifecycle_stage == "deleted"

    def new_runs(
        self,
        experiment: str,
        name: str,
        tags: dict[str, str],
        start: int,
        params: dict[str, str],
        inputs: list[DatasetInput],
        points: dict[str, list[Point]],
        seconds: float | None = None,
        parent: str | None = None,
        carried: dict[str, dict[str, str]] | None = None,
    ) -> dict[str, str]:
        """Ids of a new run and of a child of it for each further seed, by the keys of `points`, `PARENT` first.

        They began at `start`, in milliseconds. With `seconds`, in which their job made them, they have all their
        points, and have ended. With `parent`, the id of a run with the same params, that run is brought up to date in
        place of a new one. `carried` are tags of people at earlier runs, by the same keys.
        """
        ids: dict[str, str] = {}
        for seed, of_run in points.items():
            own = (carried or {}).get(seed, {}) | tags
            began = start
            if seed != PARENT:
                of_seed = {"kind": "seed", "seed": seed, PARENT_TAG: ids[PARENT]}
                run = self._create_run(experiment, f"{name}, seed {seed}", own | of_seed, start)
            elif parent is None:
                run = self._create_run(experiment, name, own, start)
            else:
                run = parent
                began = self.client.get_run(run).info.start_time
                for tag, value in tags.items():
                    self.client.set_tag(run, tag, value, synchronous=True)
            if seconds is not None:  # first: afterwards MLflow would read every point again
                self.client.set_terminated(run, "FINISHED", began + round(1000 * seconds))
            if inputs:
                self.client.log_inputs(run, datasets=inputs)
            self.log(run, start, of_run, params)
            ids[seed] = run
        return ids

    def share_view(self, experiment: str, key: str, view: dict[str, Any]) -> None:
        """Keep a view of the list of runs, as MLflow's button *Share* does."""
        self.client.set_experiment_tag(experiment, f"{SHARED_VIEW}{key}", json.dumps(view))

    def describe(self, experiment: str, text: str) -> None:
        """Give an experiment a description, unless a person wrote one."""
        there = self.client.get_experiment(experiment).tags.get(DESCRIPTION, "")
        if there != text and (not there or is_our_description(there)):
            self.client.set_experiment_tag(experiment, DESCRIPTION, text)

    @property
    def address(self) -> str:
        """Where a browser finds MLflow: the server, or where ``mlflow ui`` shows a local database."""
        if self.shown.startswith("http"):
            return self.shown.rstrip("/") + "/"
        return "http://127.0.0.1:5000/"

    def new_run(self, experiment: str, name: str, tags: dict[str, str], start: int, seconds: float) -> str:
        """Id of a new run without params and points, which ended after so many seconds."""
        run = self._create_run(experiment, name, tags, start)
        self.client.set_terminated(run, "FINISHED", start + round(1000 * seconds))
        return run

    def _create_run(self, experiment: str, name: str, tags: dict[str, str], start: int) -> str:
        """Id of a new run."""
        name = name[:_LONGEST_NAME]
        created = self.client.create_run(experiment, start_time=start, run_name=name, tags=tags)
        return created.info.run_id

    def log(
        self, run: str, start: int, points: Iterable[Point], params: dict[str, str] | None = None
    ) -> None:
        """Write points whose value is finite, and params."""
        from mlflow.entities import Metric, Param

        new_params = [Param(name, value) for name, value in (params or {}).items()]
        metrics = []
        for point in points:
            if math.isfinite(point.value):
                time = start + round(1000 * point.at)
                metrics.append(Metric(point.name, point.value, time, point.step))
        self.client.log_batch(run, params=new_params, metrics=metrics[:_MOST_POINTS], synchronous=True)
        for first in range(_MOST_POINTS, len(metrics), _MOST_POINTS):
            few = metrics[first : first + _MOST_POINTS]
            self.client.log_batch(run, metrics=few, synchronous=True)


def _check_uri(uri: str) -> None:
    """Refuse a store that keeps nothing, or that MLflow keeps no longer."""
    if re.fullmatch(r"sqlite(:/{0,3}|:///:memory:.*)", uri):
        raise UserError(
            f"the tracking URI {uri} names no file, so that nothing would be kept; allowed: {SQLITE}FILE"
        )
    if re.match(r"file:|(?!databricks)[^:]*$", uri):
        raise UserError(
            f"the tracking URI {uri} is a folder, and MLflow has given up to keep runs in folders; "
            f"allowed: {SQLITE}FILE, http://SERVER:PORT, or another database that MLflow supports"
        )


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Keep back what MLflow and alembic say of a database beside warnings, unless a person asks for it.

    Older releases of MLflow, such as 3.6, configure all loggers anew when they make tables: levels are set afterwards.
    """
    if "MLFLOW_LOGGING_LEVEL" in os.environ:
        yield
        return
    disabled = logging.root.manager.disable
    logging.disable(max(disabled, logging.INFO))
    try:
        yield
    finally:
        logging.disable(disabled)
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def _without_mlruns() -> Iterator[None]:
    """Take away the empty folder ./mlruns that older releases of MLflow, such as 3.6, make beside any database."""
    folder = Path("mlruns")
    if folder.exists():
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):  # not made, or somebody uses it
            folder.rmdir()


def _make_tables(file: Path) -> None:
    """Make the tables of a new database whole or not at all: MLflow cannot go on with some of them."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    artifacts = (file.parent / "artifacts").resolve().as_uri()
    with written(file) as temporary:
        new = SqlAlchemyStore(f"{SQLITE}{temporary.resolve()}", artifacts)
        new.engine.dispose()  # type: ignore[attr-defined]


def _mask_passwords(text: str) -> str:
    """Text with user names and passwords of addresses masked."""
    return re.sub(r"://[^/@\s]+@", "://***@", text)


def spoken(name: str) -> str:
    """A column's name as MLflow shows it; names with a slash are MLflow's own.

    >>> spoken("mean_iteration_time_s"), spoken("time_to_0.9"), spoken("final_test_accuracy")
    ('mean iteration time in s', 'time to 0.9 in s', 'final test accuracy')
    """
    if "/" in name:
        return name
    words = name.removesuffix("_s").replace("_", " ")
    is_time = name.endswith("_s") or name.startswith("time_to_")
    return f"{words} in s" if is_time else words


def points_of(summary: dict[str, Any]) -> list[Point]:
    """The numbers of a whole run as points, under the names that people read."""
    return [Point(spoken(name), float(value)) for name, value in summary.items()]


def curves_of(rows: pd.DataFrame) -> list[Point]:
    """Points of the scores in a seed's rows of a table, and of its clock; none of another table."""
    scores = scores_of(rows)
    if not scores:
        return []
    times = rows["simulated_time_s"].tolist()
    steps = rows["iteration"].tolist()
    points = []
    for name in (*scores, "simulated_time_s"):
        for value, at, step in zip(rows[name].tolist(), times, steps, strict=True):
            points.append(Point(spoken(name), value, at, step))
    return points


def inputs_of(config: dict, data: dict | None) -> list[DatasetInput]:
    """The prepared data of a run, by their record, and the trace that its delay model replays, as MLflow's data sets.

    A digest is the beginning of the file's sha256, which the profile of the data set has whole.
    """
    found = []
    if data and "sha256" in data:
        name = data["dataset"]
        facts = {key: data[key] for key in ("sha256", "bytes", "shapes", "raw") if key in data}
        found.append(_input(name, paths.DATA.format(dataset=name), context="training", facts=facts))
    delay = config.get("delay")
    if isinstance(delay, dict) and delay.get("_target_") == "gcexp.delays.Trace":
        from gcexp.data.checksum import sha256
        from gcexp.traces.places import located

        trace = located(delay["file"])
        if trace.is_file():
            facts = {"sha256": sha256(trace)}
            found.append(_input(trace.stem, trace.name, context="delays", facts=facts))
    return found


def _input(name: str, place: str, *, context: str, facts: dict) -> DatasetInput:
    """One of MLflow's data sets, of which `facts` are known."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(
        name,
        facts["sha256"][:_DIGEST_LENGTH],
        source_type="local",
        source=json.dumps({"uri": place}),
        profile=json.dumps(facts),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", context)])


def tags_of(command: str, made: list[dict], config: dict, **more: str | None) -> dict[str, str]:
    """Tags of every run: who made it, by which command, at which commit, and what it is filtered by.

    `made` is the provenance of its files; MLflow's page shows the commit of the first. Tags that are None or empty
    are left out.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # as in a container whose user has no name
        user = "unknown"
    commits = {one["commit"] for one in made if one.get("commit")}
    tags = {
        "mlflow.user": user,
        "mlflow.source.name": command,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": made[0].get("commit"),
        "mlflow.source.git.repoURL": _repository(),
        "exact": text_of(bool(config["exact"])),
        "commit": ",".join(sorted(commits)) or "unknown",
        "dirty": text_of(any(one.get("dirty") for one in made)),
        **more,
    }
    return {name: value for name, value in tags.items() if value}


def _repository() -> str | None:
    """Address of the repository that this folder was cloned from, without user name and password."""
    try:
        asked = ["git", "config", "--get", "remote.origin.url"]
        ran = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return re.sub(r"://[^/@\s]+@", "://", ran.stdout.strip())


def params_of(config: dict) -> dict[str, str]:
    """Flat names and texts of a resolved config."""
    from pandas import json_normalize

    (flat,) = json_normalize(config).to_dict("records")
    return {str(name): text_of(value) for name, value in flat.items()}


def text_of(value: Any) -> str:
    """A value as a tag or a param has it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)
