"""How runs get into MLflow: connecting to a store, an experiment, runs with their points, inputs and common tags.

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gcexp.errors import UserError
from gcexp.files import writable, written
from gcexp.run import paths

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

DEFAULT_URI = f"sqlite:///{paths.TRACKED}"

#: Scores that runs are compared at beside their own.
LEVELS = (0.8, 0.9)

_SQLITE = "sqlite:///"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_DIGEST_LENGTH = 36  # that MLflow stores of a data set's digest
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


class Input(NamedTuple):
    """A file that a run was made from, as MLflow shows it among the data sets; `facts` are told beside it."""

    name: str
    sha256: str
    source: str
    context: str
    facts: dict[str, Any]


def chosen_uri(uri: str | None) -> str:
    """The tracking URI that is used: the given one, else $MLFLOW_TRACKING_URI, else a SQLite file in results/mlflow."""
    return uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


# --- The store ---------------------------------------------------------------------------------------------------


def connect(uri: str) -> MlflowClient:
    """Client of a store that answers."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if re.fullmatch(r"sqlite(:/{0,3}|:///:memory:.*)", uri):
        raise UserError(
            f"the tracking URI {uri} names no file, so that nothing would be kept; allowed: {_SQLITE}FILE"
        )
    from mlflow import MlflowClient

    if "MLFLOW_LOGGING_LEVEL" not in os.environ:
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
    if uri.startswith(_SQLITE):
        with writable(folder := _folder(uri)):
            folder.mkdir(parents=True, exist_ok=True)
        with alone(uri):
            _make_database(_file(uri))
    if re.split(r"[+:]", uri)[0] in _DATABASES:  # MLflow would retry for minutes before it gives up
        import sqlalchemy

        engine = sqlalchemy.create_engine(uri)
        sqlalchemy.inspect(engine).get_table_names()
        engine.dispose()
    client = MlflowClient(tracking_uri=_absolute(uri))
    client.search_experiments(max_results=1)
    return client


def _make_database(file: Path) -> None:
    """Make the tables of a new SQLite file, whole or not at all: MLflow cannot go on with some of them."""
    if file.exists() and file.stat().st_size:
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    with written(file) as temporary:
        made = SqlAlchemyStore(
            f"{_SQLITE}{temporary.resolve()}", (file.parent / "artifacts").resolve().as_uri()
        )
        made.engine.dispose()  # type: ignore[attr-defined]


def _folder(uri: str) -> Path:
    """Folder of a SQLite file."""
    return _file(uri).parent


def _file(uri: str) -> Path:
    return Path(uri.removeprefix(_SQLITE).partition("?")[0])


def _absolute(uri: str) -> str:
    """MLflow keeps a store by its URI, whatever folder a process changes to."""
    if not uri.startswith(_SQLITE):
        return uri
    _, mark, options = uri.partition("?")
    return f"{_SQLITE}{_file(uri).resolve()}{mark}{options}"


@contextmanager
def alone(uri: str) -> Iterator[None]:
    """Write as the only one of our processes: a SQLite file takes one writer at a time, a server any number."""
    if not uri.startswith(_SQLITE):
        yield
        return
    place = _file(uri).with_name(f"{_file(uri).name}.lock")
    with writable(place), open(place, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system gives it back when the process ends
        yield


def experiment(client: MlflowClient, name: str, uri: str) -> str:
    """Id of an experiment; a local database keeps its artifacts beside itself, not in ./mlruns."""
    if found := client.get_experiment_by_name(name):
        return found.experiment_id
    kind = {"mlflow.experimentKind": "custom_model_development"}  # the page then opens with the list of runs
    place = (_folder(uri) / "artifacts" / name).resolve().as_uri() if uri.startswith(_SQLITE) else None
    return client.create_experiment(name, artifact_location=place, tags=kind)


@contextmanager
def sentences(uri: str) -> Iterator[None]:
    """Turn what MLflow and databases raise into one sentence without passwords."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, ImportError) as error:
        text = " ".join(str(error).split())
        system = re.search(r"\[Errno -?\d+\] ([^\"')\]]+)", text)
        advice = "allowed: sqlite:///FILE, http://SERVER:PORT, or another database that MLflow supports"
        if uri.startswith(_SQLITE) and re.search("malformed|not a database", text):
            advice = f"delete {_file(uri)}, and the next import fills a new one"
        told = system[1] if system else masked(text[:300])
        raise UserError(f"MLflow cannot use the tracking URI {masked(uri)} ({told}); {advice}") from error


def masked(text: str) -> str:
    """Text with user names and passwords of addresses masked."""
    return re.sub(r"://[^/@\s]+@", "://***@", text)


# --- Runs --------------------------------------------------------------------------------------------------------


def new_run(client: MlflowClient, experiment_id: str, name: str, tags: dict[str, str], start: int) -> str:
    """Id of a new MLflow run that began at `start`, in milliseconds."""
    return client.create_run(experiment_id, start_time=start, tags=tags, run_name=name[:250]).info.run_id


def found_runs(client: MlflowClient, run_ids: Iterable[str]) -> list[Run]:
    """The runs of these ids; none unless all are there and not deleted."""
    from mlflow.exceptions import MlflowException

    found = []
    for run_id in run_ids:
        try:
            run = client.get_run(run_id)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return []
        if run.info.lifecycle_stage != "active":
            return []
        found.append(run)
    return found


def log(
    client: MlflowClient,
    run_id: str,
    start: int,
    points: Iterable[Point],
    params: Iterable[tuple[str, str]] = (),
) -> None:
    """Write params, and points whose value is finite."""
    from mlflow.entities import Metric, Param

    written = [Param(key, value) for key, value in params]
    metrics = [
        Metric(point.name, point.value, start + round(1000 * point.at), point.step)
        for point in points
        if math.isfinite(point.value)
    ]
    for first in range(0, max(len(metrics), 1), _MOST_POINTS):
        few = metrics[first : first + _MOST_POINTS]
        client.log_batch(run_id, params=written if first == 0 else [], metrics=few, synchronous=True)


def log_inputs(client: MlflowClient, run_id: str, inputs: Iterable[Input]) -> None:
    """Name what a run was made from: the digest is the beginning of the file's sha256, which its profile has whole."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    found = [
        DatasetInput(
            Dataset(
                name=one.name,
                digest=one.sha256[:_DIGEST_LENGTH],
                source_type="local",
                source=json.dumps({"uri": one.source}),
                profile=json.dumps({"sha256": one.sha256, **one.facts}),
            ),
            [InputTag("mlflow.data.context", one.context)],
        )
        for one in inputs
    ]
    if found:
        client.log_inputs(run_id, datasets=found)


def inputs_of(config: dict, data: dict | None) -> list[Input]:
    """The prepared data of a run, by their record, and the trace that its delay model replays."""
    found = []
    if data and "sha256" in data:
        facts = {key: data[key] for key in ("bytes", "shapes", "raw") if key in data}
        place = paths.DATA.format(dataset=data["dataset"])
        found.append(Input(data["dataset"], data["sha256"], place, "training", facts))
    delay = config.get("delay")
    if isinstance(delay, dict) and delay.get("_target_") == "gcexp.delays.Trace":
        from gcexp.data.checksum import sha256
        from gcexp.delays.trace_file import located

        if (trace := located(delay["file"])).is_file():
            found.append(Input(trace.stem, sha256(trace), trace.name, "delays", {}))
    return found


def origin_tags(command: str, made: dict) -> dict[str, str]:
    """Who made a run, by which command, and at which commit, under the names that MLflow's page shows.

    Parameters
    ----------
    command : str
        What a person types for it.
    made : dict
        Provenance of a file of the run.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # as in a container whose user has no name
        user = "unknown"
    commit = made.get("commit")
    return {
        "mlflow.user": user,
        "mlflow.source.name": command,
        "mlflow.source.type": "LOCAL",
        **({"mlflow.source.git.commit": commit} if commit else {}),
    }


def params_of(config: dict, prefix: str = "") -> list[tuple[str, str]]:
    """Flat names and texts of a resolved config.

    Examples
    --------
    >>> params_of({"n": 30, "code": {"_target_": "gcexp.codes.Uncoded", "q": None}})
    [('n', '30'), ('code._target_', 'gcexp.codes.Uncoded'), ('code.q', 'null')]
    """
    flat: list[tuple[str, str]] = []
    for key, value in config.items():
        inner = isinstance(value, dict)
        flat += params_of(value, f"{prefix}{key}.") if inner else [(prefix + key, text_of(value))]
    return flat


def text_of(value: Any) -> str:
    """A value as a tag or a param has it."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
