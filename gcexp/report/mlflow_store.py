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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gcexp.errors import UserError
from gcexp.figures.tables import scores_of
from gcexp.files import writable, written
from gcexp.run import paths

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities import DatasetInput

#: Scores that runs are compared at beside their own.
LEVELS = (0.8, 0.9)

#: That MLflow finds at once.
MOST_RUNS = 50_000
#: What stands for the parent beside the seeds of its children.
PARENT = "parent"

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


class Store:
    """A tracking store that answers. What is done with it stands in a block of `used`.

    Without a URI it is $MLFLOW_TRACKING_URI, else a SQLite file in results/mlflow; `shown` is it without user name
    and password.
    """

    def __init__(self, uri: str | None):
        uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{paths.TRACKED}"
        self.shown = _masked(uri)
        self._file: Path | None = None
        if re.fullmatch(r"sqlite(:/{0,3}|:///:memory:.*)", uri):
            raise UserError(
                f"the tracking URI {uri} names no file, so that nothing would be kept; allowed: {_SQLITE}FILE"
            )
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        if uri.startswith(_SQLITE):
            file, mark, options = uri.removeprefix(_SQLITE).partition("?")
            self._file = Path(file)
            with writable(folder := self._file.parent):
                folder.mkdir(parents=True, exist_ok=True)
            # MLflow keeps a store by its URI, whatever folder a process changes to.
            uri = f"{_SQLITE}{self._file.resolve()}{mark}{options}"
        with self.used():
            from mlflow import MlflowClient

            if "MLFLOW_LOGGING_LEVEL" not in os.environ:
                for name in ("mlflow", "alembic"):
                    logging.getLogger(name).setLevel(logging.WARNING)
            # The tables of a new file are made whole or not at all: MLflow cannot go on with some of them.
            if self._file is not None and not (self._file.exists() and self._file.stat().st_size):
                from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

                with written(self._file) as temporary:
                    new = SqlAlchemyStore(
                        f"{_SQLITE}{temporary.resolve()}", (folder / "artifacts").resolve().as_uri()
                    )
                    new.engine.dispose()  # type: ignore[attr-defined]
            if re.split(r"[+:]", uri)[0] in _DATABASES:  # MLflow would retry for minutes before it gives up
                import sqlalchemy

                engine = sqlalchemy.create_engine(uri)
                sqlalchemy.inspect(engine).get_table_names()
                engine.dispose()
            self.client = MlflowClient(tracking_uri=uri)
            self.client.search_experiments(max_results=1)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Be the only one of our processes that writes, as a SQLite file demands, and tell errors in one sentence."""
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with ExitStack() as stack:
                if self._file is not None:
                    lock = self._file.with_name(f"{self._file.name}.lock")
                    stack.enter_context(writable(lock))
                    fcntl.flock(stack.enter_context(open(lock, "a")), fcntl.LOCK_EX)
                yield
        except (MlflowException, SQLAlchemyError, ImportError) as error:
            text = " ".join(str(error).split())
            system = re.search(r"\[Errno -?\d+\] ([^\"')\]]+)", text)
            advice = "allowed: sqlite:///FILE, http://SERVER:PORT, or another database that MLflow supports"
            if self._file is not None and re.search("malformed|not a database", text):
                advice = f"delete {self._file}, and the next import fills a new one"
            told = system[1] if system else _masked(text[:300])
            raise UserError(f"MLflow cannot use the tracking URI {self.shown} ({told}); {advice}") from error

    def experiment(self, name: str) -> str:
        """Id of an experiment; a local database keeps its artifacts beside itself, not in ./mlruns."""
        if found := self.client.get_experiment_by_name(name):
            return found.experiment_id
        place = (self._file.parent / "artifacts" / name).resolve().as_uri() if self._file else None
        kind = {"mlflow.experimentKind": "custom_model_development"}  # its page opens with the list of runs
        return self.client.create_experiment(name, artifact_location=place, tags=kind)

    def new_runs(
        self,
        experiment: str,
        name: str,
        tags: dict[str, str],
        start: int,
        config: dict,
        data: dict | None,
        points: dict[str, list[Point]],
        ended: bool = False,
    ) -> dict[str, str]:
        """Ids of a new parent run and of a child of it for each further seed, by the keys of `points`, `PARENT` first.

        They began at `start`, in milliseconds, and with all their points they have ended.
        """
        ids: dict[str, str] = {}
        inputs = inputs_of(config, data)
        for seed, mine in points.items():
            child = {"kind": "seed", "seed": seed, "mlflow.parentRunId": ids[PARENT]} if ids else {}
            own = {"run_name": (f"{name}, seed {seed}" if ids else name)[:250], "tags": tags | child}
            run = self.client.create_run(experiment, start_time=start, **own).info.run_id
            if ended:  # first: afterwards MLflow would read every point again
                self.client.set_terminated(run, "FINISHED", start)
            if inputs:
                self.client.log_inputs(run, datasets=inputs)
            self.log(run, start, mine, config)
            ids[seed] = run
        return ids

    def log(self, run: str, start: int, points: Iterable[Point], config: dict | None = None) -> None:
        """Write points whose value is finite, and a resolved config as params."""
        from mlflow.entities import Metric, Param

        params = [Param(*param) for param in params_of(config).items()] if config else []
        metrics = [
            Metric(point.name, point.value, start + round(1000 * point.at), point.step)
            for point in points
            if math.isfinite(point.value)
        ]
        for first in range(0, max(len(metrics), 1), _MOST_POINTS):
            few = metrics[first : first + _MOST_POINTS]
            self.client.log_batch(run, params=params if first == 0 else [], metrics=few, synchronous=True)


def _masked(text: str) -> str:
    """Text with user names and passwords of addresses masked."""
    return re.sub(r"://[^/@\s]+@", "://***@", text)


def curves_of(rows: pd.DataFrame) -> list[Point]:
    """Points of the scores in a seed's rows of a table, and of its clock; none of another table."""
    if not (scores := scores_of(rows)):
        return []
    times, steps = rows["simulated_time_s"].tolist(), rows["iteration"].tolist()
    return [
        Point(name, *point)
        for name in (*scores, "simulated_time_s")
        for point in zip(rows[name].tolist(), times, steps, strict=True)
    ]


def inputs_of(config: dict, data: dict | None) -> list[DatasetInput]:
    """The prepared data of a run, by their record, and the trace that its delay model replays, as MLflow's data sets.

    A digest is the beginning of the file's sha256, which the profile of the data set has whole.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    found: list[DatasetInput] = []

    def add(name: str, place: str, context: str, facts: dict) -> None:
        about = {"source_type": "local", "source": json.dumps({"uri": place}), "profile": json.dumps(facts)}
        data = Dataset(name, facts["sha256"][:_DIGEST_LENGTH], **about)
        found.append(DatasetInput(data, [InputTag("mlflow.data.context", context)]))

    if data and "sha256" in data:
        facts = {key: data[key] for key in ("sha256", "bytes", "shapes", "raw") if key in data}
        add(data["dataset"], paths.DATA.format(dataset=data["dataset"]), "training", facts)
    delay = config.get("delay")
    if isinstance(delay, dict) and delay.get("_target_") == "gcexp.delays.Trace":
        from gcexp.data.checksum import sha256
        from gcexp.delays.trace_file import located

        if (trace := located(delay["file"])).is_file():
            add(trace.stem, trace.name, "delays", {"sha256": sha256(trace)})
    return found


def tags_of(command: str, made: list[dict], config: dict, **more: str | None) -> dict[str, str]:
    """Tags of every run: who made it, by which command, at which commit, and what it is filtered by.

    `made` is the provenance of its files; MLflow's page shows the commit of the first. Tags that are None or empty
    are left out.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # as in a container whose user has no name
        user = "unknown"
    tags = {
        "mlflow.user": user,
        "mlflow.source.name": command,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": made[0].get("commit"),
        "exact": text_of(bool(config["exact"])),
        "commit": ",".join(sorted({one["commit"] for one in made if one.get("commit")})) or "unknown",
        "dirty": text_of(any(one.get("dirty") for one in made)),
        **more,
    }
    return {name: value for name, value in tags.items() if value}


def params_of(config: dict) -> dict[str, str]:
    """Flat names and texts of a resolved config."""
    from pandas import json_normalize

    (flat,) = json_normalize(config).to_dict("records")
    return {str(name): text_of(value) for name, value in flat.items()}


def text_of(value: Any) -> str:
    """A value as a tag or a param has it."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
