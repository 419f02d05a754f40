"""MLflow as a view of finished runs: one MLflow run per run and seed, each imported once.

Nothing reads MLflow back: a tracking database can be deleted and filled again from the result files. Only one process
writes, because parallel first writers destroy a fresh SQLite store.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError
from gcexp.files import writable, written
from gcexp.report.figurefile import Figure
from gcexp.run.provenance import finished_provenance
from gcexp.run.run import Run, seed_list
from gcexp.timeline import Timeline

if TYPE_CHECKING:  # MLflow and pandas take seconds to import
    from mlflow import MlflowClient
    from mlflow.entities import Metric
    from mlflow.entities import Run as Stored
    from pandas import DataFrame

DEFAULT_URI = "sqlite:///results/mlflow/mlflow.db"
#: Tag that is set last: an MLflow run with it is complete, and holds the result that has this digest.
DIGEST = "gcexp.digest"
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 1

_PARTS = ("scheme", "delay", "task", "optimizer")
_SQLITE = "sqlite:///"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_METRICS_PER_CALL, _PARAMS_PER_CALL = 1000, 100  # what MLflow takes at most
_PARAM_LENGTH, _TAG_LENGTH, _NAME_LENGTH = 6000, 8000, 250  # likewise; SQLite would not complain, others do
_IMPATIENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}


@dataclass(frozen=True)
class Use:
    """A run and the figures of one paper that show it.

    Attributes
    ----------
    paper : str
        Name of the experiment in MLflow.
    run : Run
        With the label of the first figure.
    targets : tuple of str
        The figures.
    """

    paper: str
    run: Run
    targets: tuple[str, ...]

    @property
    def finished(self) -> bool:
        """Whether all result files are there."""
        return all(Path(path).is_file() for path in self.run.inputs)


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import every finished run of some figures into MLflow and write down which ones.

    A run whose result files and config are already there is left alone; one whose result changed is replaced, and so is
    what an interrupted import left behind.

    Parameters
    ----------
    figures : list of Figure
    output : Path
        JSON file with what was imported, what was already there, and what is not finished.
    uri : str, optional
        Tracking URI; default $MLFLOW_TRACKING_URI, else a SQLite file in results/mlflow.

    Raises
    ------
    UserError
        If no run is finished, or MLflow cannot use the URI.
    """
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    every = uses(figures)
    finished = [use for use in every if use.finished]
    if every and not finished:
        raise UserError(f"no run is finished: {every[0].run.timeline} does not exist; make the figures first")
    found: dict[str, Any] = {"uri": _shown(uri), "imported": [], "already_there": []}
    with _only_writer(output), _sentences(uri):
        client = connect(uri)
        for paper, group in itertools.groupby(finished, key=lambda use: use.paper):
            experiment = _experiment(client, paper, uri)
            stored = _stored(client, experiment)
            for use in group:
                for how, seed in _import(client, experiment, use, stored):
                    found[how].append({"experiment": paper, "run": use.run.id, "seed": seed})
    found["unfinished"] = [{"experiment": use.paper, "run": use.run.id} for use in every if not use.finished]
    with written(output) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} runs imported, {len(found['already_there'])} already there"
    print(f"MLflow at {_shown(uri)}: {counts}")


def uses(figures: list[Figure]) -> list[Use]:
    """The runs of some figures, each once per paper, papers one after the other."""
    found: dict[tuple[str, str], Use] = {}
    for figure in figures:
        for run in figure.runs:
            first = found.get((figure.paper, run.id), Use(figure.paper, run, ()))
            targets = tuple(dict.fromkeys([*first.targets, figure.target]))
            found[figure.paper, run.id] = Use(figure.paper, first.run, targets)
    return sorted(found.values(), key=lambda use: use.paper)


# --- One run -----------------------------------------------------------------------------------------------------


def _import(client: MlflowClient, experiment: str, use: Use, stored: dict) -> Iterator[tuple[str, int]]:
    """Bring all seeds of a run up to date, and tell how: ``imported`` or ``already_there``."""
    digest, loaded = _digest(use.run), None
    for row, seed in enumerate(seed_list(use.run.seeds)):
        old = stored.get((use.run.id, str(seed)), [])
        kept = next((run for run in old if run.data.tags.get(DIGEST) == digest), None)
        if kept:
            _refresh(client, kept, use, seed)
        else:
            loaded = loaded or _load(use.run)
            metrics = _metrics(use.run, row, *loaded)
            _create(client, experiment, use, seed, metrics, digest)
        for run in old:  # only now, so that an interruption leaves the old result in place
            if run is not kept:
                client.delete_run(run.info.run_id)
        yield "already_there" if kept else "imported", seed


def _create(client, experiment: str, use: Use, seed: int, metrics: list[Metric], digest: str) -> None:
    from mlflow.entities import Param

    start, end = _times(use.run)
    tags = {key: _cut(value, _TAG_LENGTH) for key, value in tags_of(use, seed).items()}
    run = client.create_run(experiment, start_time=start, tags=tags, run_name=_name(use, seed)).info.run_id
    params = [
        Param(_cut(key, _NAME_LENGTH), _cut(value, _PARAM_LENGTH)) for key, value in params_of(use.run.config)
    ]
    for part in _batches(params, _PARAMS_PER_CALL):
        client.log_batch(run, params=part, synchronous=True)
    for part in _batches(metrics, _METRICS_PER_CALL):
        client.log_batch(run, metrics=part, synchronous=True)
    client.set_terminated(run, "FINISHED", end)
    client.set_tag(run, DIGEST, digest, synchronous=True)


def _refresh(client: MlflowClient, stored: Stored, use: Use, seed: int) -> None:
    """Labels and figures may change while the result does not; another preset's figures stay."""
    before = [target for target in stored.data.tags.get("figures", "").split(",") if target]
    targets = sorted({*before, *use.targets})
    for key, value in {"figures": ",".join(targets), "label": use.run.label}.items():
        if stored.data.tags.get(key) != (value := _cut(value, _TAG_LENGTH)):
            client.set_tag(stored.info.run_id, key, value)
    if stored.info.run_name != _name(use, seed):
        client.update_run(stored.info.run_id, name=_name(use, seed))


def _name(use: Use, seed: int) -> str:
    return _cut(f"{use.run.label}, seed {seed}", _NAME_LENGTH)


def tags_of(use: Use, seed: int) -> dict[str, str]:
    """What runs are grouped and filtered by; ``run`` and ``seed`` together name one."""
    run = use.run
    facts = [finished_provenance(path) for path in run.inputs]
    commits = sorted({fact["commit"] for fact in facts if fact.get("commit")})
    options = {part: getattr(run, part).partition("+")[0] for part in _PARTS if getattr(run, part)}
    return {
        "run": run.id,
        "seed": str(seed),
        "label": run.label,
        "figures": ",".join(sorted(use.targets)),
        **options,
        "exact": _text(run.exact),
        "commit": ",".join(commits) or "unknown",
        "dirty": _text(any(fact.get("dirty") for fact in facts)),
    }


def params_of(config: dict, prefix: str = "") -> list[tuple[str, str]]:
    """Flat names and texts of a resolved config.

    Examples
    --------
    >>> params_of({"n": 30, "code": {"_target_": "gcexp.codes.Uncoded", "q": None}})
    [('n', '30'), ('code._target_', 'gcexp.codes.Uncoded'), ('code.q', 'null')]
    """
    flat = []
    for key, value in config.items():
        flat += (
            params_of(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, _text(value))]
        )
    return flat


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _load(run: Run) -> tuple[Timeline, DataFrame | None]:
    """Timeline of a run, and its scores where it has a task."""
    timeline = Timeline.load(run.timeline)
    if not run.task:
        return timeline, None
    from gcexp.report.table import scored
    from gcexp.tasks.training import Trajectory

    return timeline, scored(timeline, Trajectory.load(run.trajectory), run.label, run.id)


def _metrics(run: Run, row: int, timeline: Timeline, scores: DataFrame | None) -> list[Metric]:
    """Curves of one seed by iteration, step t being what holds after t of them, and single numbers of the whole run.

    The simulated clock is a metric of its own: MLflow's charts take any metric as the horizontal axis.
    """
    from mlflow.entities import Metric

    seed, T = timeline.seeds[row], timeline.steps[row]
    duration = timeline.duration[row, :T]
    recovered = (timeline.coefficients == 1).mean(1)[timeline.pattern[row, :T]]
    single = {"mean_iteration_time_s": duration.mean(), "mean_recovered_fraction": recovered.mean()}
    curves = {}
    if scores is not None:  # a clock without a task is a matter of its statistics, not of thousands of points
        curves["simulated_time_s"] = (range(T + 1), np.pad(timeline.clock[row, :T], (1, 0)))
        curves["recovered_fraction"] = (range(1, T + 1), recovered)
        mine = scores[scores["seed"] == seed]
        names = scores.columns.drop(["label", "run", "seed", "iteration", "simulated_time_s"])
        curves |= {name: (mine["iteration"], mine[name]) for name in names}
        single |= _verification(run, seed)
    _, end = _times(run)
    found = [Metric(name, float(value), end, 0) for name, value in single.items()]
    for name, (steps, values) in curves.items():
        found += [Metric(name, float(value), end, int(t)) for t, value in zip(steps, values, strict=True)]
    return found


def _verification(run: Run, seed: int) -> dict[str, float]:
    """Largest errors of one seed where the true path was replayed."""
    checks = json.loads(Path(run.verification).read_text())["checks"]
    mine = [check for check in checks if check["seed"] == seed and not check["skipped"]]
    names = ("decoded_error", "weighted_error")
    return {name: max(check[name] for check in mine) for name in names if mine}


def _times(run: Run) -> tuple[int, int]:
    """Start and end in ms: when the last file was written, and as long before as its jobs took (all seeds)."""
    end = max(Path(path).stat().st_mtime for path in run.inputs)
    took = sum(finished_provenance(path).get("wall_s", 0.0) for path in run.inputs)
    return int((end - took) * 1000), int(end * 1000)


def _digest(run: Run) -> str:
    """SHA-256 of config and result files."""
    digest = hashlib.sha256(json.dumps([VERSION, run.config], sort_keys=True, default=str).encode())
    for path in run.inputs:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _batches(entities: list, size: int) -> Iterator[list]:
    for start in range(0, len(entities), size):
        yield entities[start : start + size]


# --- The store ---------------------------------------------------------------------------------------------------


def connect(uri: str) -> MlflowClient:
    """Client of a store that answers."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # an import of local files has nobody to tell
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # two lines for every run
    if re.fullmatch(r"sqlite(:/{0,3}|:///:memory:.*)", uri):
        raise UserError(
            f"the tracking URI {uri} names no file, so that nothing would be kept; allowed: {_SQLITE}FILE"
        )
    if uri.startswith(_SQLITE):
        with writable(folder := _folder(uri)):
            folder.mkdir(parents=True, exist_ok=True)
    if re.split(r"[+:]", uri)[0] in _DATABASES:
        _ask_database(uri)
    from mlflow import MlflowClient

    if "MLFLOW_LOGGING_LEVEL" not in os.environ:
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
    with _environment(_IMPATIENT):
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    return client


def _ask_database(uri: str) -> None:
    """Open a database once: MLflow itself would retry for minutes before it gives up."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(uri)
    sqlalchemy.inspect(engine).get_table_names()
    engine.dispose()


def _folder(uri: str) -> Path:
    """Folder of a SQLite file."""
    return Path(uri.removeprefix(_SQLITE).partition("?")[0]).parent


def _experiment(client: MlflowClient, paper: str, uri: str) -> str:
    """Id of a paper's experiment; a local database keeps its artifacts beside itself, not in ./mlruns."""
    found = client.get_experiment_by_name(paper)
    if found is None:
        place = (_folder(uri) / "artifacts" / paper).resolve().as_uri() if uri.startswith(_SQLITE) else None
        return client.create_experiment(paper, artifact_location=place)
    if found.lifecycle_stage != "active":
        raise UserError(
            f"experiment {paper!r} was deleted in MLflow: bring it back with `mlflow experiments restore -x "
            f"{found.experiment_id}`, or remove it for good with `mlflow gc --experiment-ids {found.experiment_id}`"
        )
    return found.experiment_id


def _stored(client: MlflowClient, experiment: str) -> dict[tuple[str, str], list[Stored]]:
    """MLflow runs by run and seed: normally one, more after an interruption."""
    found: dict[tuple[str, str], list[Stored]] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        for run in page:
            if {"run", "seed"} <= run.data.tags.keys():  # a person's own runs may stand beside ours
                found.setdefault((run.data.tags["run"], run.data.tags["seed"]), []).append(run)
        if not (token := page.token):
            return found


@contextmanager
def _only_writer(output: Path) -> Iterator[None]:
    """Hold a lock beside `output`: imports of two presets wait for each other."""
    path = output.with_name(".tracking.lock")
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: Snakemake still starts one job per preset
            pass
        yield


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set what the user did not set, for a while: only the first question is asked impatiently."""
    unset = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in unset})
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]


@contextmanager
def _sentences(uri: str) -> Iterator[None]:
    """Turn what MLflow and databases raise into one sentence without passwords."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, ImportError) as error:
        raise UserError(
            f"MLflow cannot use the tracking URI {_shown(uri)} ({_reason(error)}); allowed: sqlite:///FILE, "
            "http://SERVER:PORT, or another database that MLflow supports"
        ) from error


def _reason(error: Exception) -> str:
    """The system's own words where there are some, else the first sentence."""
    text = " ".join(str(error).split())
    if system := re.search(r"\[Errno -?\d+\] ([^\"')\]]+)|timed out", text):
        return system[1] or system[0]
    first = re.split(r"(?<=[a-z)'\"])\. |\(Background on|\[SQL", text)[0]
    return _shown(_cut(first.strip(" ."), 300))


def _shown(text: str) -> str:
    """Text with user names and passwords of addresses masked.

    Examples
    --------
    >>> _shown("postgresql://me:secret@host/db")
    'postgresql://***@host/db'
    """
    return re.sub(r"://[^/@\s]+@", "://***@", text)
