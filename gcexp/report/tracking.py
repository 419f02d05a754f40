"""MLflow as a view of finished figures: one parent run per figure and scheme, one child per trained seed.

Nothing reads MLflow back: a tracking database can be deleted and filled again from the result files. Only one process
writes, because parallel first writers destroy a fresh SQLite store.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import logging
import math
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError
from gcexp.figures.tables import read_table, scores_of
from gcexp.files import writable, written
from gcexp.report import table
from gcexp.report.comparison import comparison
from gcexp.report.figure import Figure
from gcexp.run import paths
from gcexp.run.provenance import finished_provenance
from gcexp.run.run import Run

if TYPE_CHECKING:  # MLflow and pandas take seconds to import
    from mlflow import MlflowClient
    from mlflow.entities import Run as Stored
    from pandas import DataFrame

    from gcexp.timeline import Timeline

DEFAULT_URI = f"sqlite:///{paths.TRACKED}"
#: Tag that is set last: an MLflow run with it is complete, and holds the result that has this digest.
DIGEST = "gcexp.digest"
#: Tag that names what an MLflow run shows; runs without it are a person's own.
KEY = "gcexp.key"
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 3

_PARTS = ("scheme", "delay", "task", "optimizer")
_SQLITE = "sqlite:///"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_METRICS_PER_CALL, _PARAMS_PER_CALL = 1000, 100  # what MLflow takes at most
_PARAM_LENGTH, _TAG_LENGTH, _NAME_LENGTH = 6000, 8000, 250  # likewise; SQLite would not complain, others do
_LEVELS = (0.8, 0.9)  # that figures are compared at beside their own
_POINTS = 75  # of a curve: a point costs 0.1 ms
_IMPATIENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}


@dataclass(frozen=True)
class Use:
    """A run in a figure: one line of a comparison."""

    figure: Figure
    run: Run

    @property
    def inputs(self) -> list[str]:
        """Files that an MLflow run is made of."""
        return [self.figure.table, *self.run.inputs]

    @property
    def finished(self) -> bool:
        """Whether all of them are there."""
        return all(Path(path).is_file() for path in self.inputs)

    @property
    def key(self) -> str:
        """What a parent run is known by."""
        return f"{self.figure.preset}/{self.figure.target}/{self.run.label}/{self.run.id}"


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import every finished run of some figures into MLflow and write down which ones.

    An experiment is a paper. A parent run is one scheme in one figure: medians over its seeds, and the figure's drawing
    and its own rows of the table as artifacts. Its children are the seeds of a training. The time stamps of a curve are
    the simulated clock, so that MLflow's relative time is simulated time; step t is what holds after t iterations.
    A run whose files and config are already there is left alone; one whose result changed is replaced, and so is what
    an interrupted import left behind.

    Parameters
    ----------
    figures : list of Figure
    output : Path
        JSON file with what was imported, what was already there, what is not finished, and for each figure the link
        to its schemes in MLflow, the fastest first (behind the server's address).
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
        missing = next(path for path in every[0].inputs if not Path(path).is_file())
        raise UserError(f"no run is finished: {missing} does not exist; make the figures first")
    found: dict[str, Any] = {"uri": _shown(uri), "imported": [], "already_there": []}
    with _only_writer(output), _sentences(uri):
        client = connect(uri)
        papers = sorted({use.figure.paper for use in every})  # finished or not: their numbers stand in links
        experiments = {paper: _experiment(client, paper, uri) for paper in papers}
        for paper, experiment in experiments.items():
            stored = _stored(client, experiment)
            for figure in (figure for figure in figures if figure.paper == paper):
                mine = [use for use in finished if use.figure is figure]
                _bring(client, experiment, mine, stored, found)
    found["unfinished"] = [use.key for use in every if not use.finished]
    with written(output) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} runs imported, {len(found['already_there'])} already there"
    print(f"MLflow at {_shown(uri)}: {counts}; links to the sorted comparisons: {output}")


def uses(figures: list[Figure]) -> list[Use]:
    """The runs of some figures; a run stands once in each figure that shows it, in however many of its places."""
    found: dict[str, Use] = {}
    for figure in figures:
        for run in figure.runs:
            use = Use(figure, run)
            found.setdefault(use.key, use)
    return list(found.values())


# --- One run -----------------------------------------------------------------------------------------------------


def _bring(
    client: MlflowClient,
    experiment: str,
    mine: list[Use],
    stored: dict[str, list[Stored]],
    found: dict[str, Any],
) -> None:
    """Bring the finished schemes of a figure up to date, and note how under ``imported`` or ``already_there``."""
    digests = {use.key: _digest(use) for use in mine}
    kept = {
        use.key: next(
            (r for r in stored.get(use.key, []) if r.data.tags.get(DIGEST) == digests[use.key]), None
        )
        for use in mine
    }
    if new := [use for use in mine if kept[use.key] is None]:
        frame = read_table(mine[0].figure.table)
        compared = comparison(mine[0].figure, frame, more=_LEVELS)
        for use in new:
            _create(client, experiment, use, digests[use.key], frame, compared)
    for use in mine:
        old = kept[use.key]
        family = old.info.run_id if old else ""
        for run in stored.get(
            use.key, []
        ):  # only now, so that an interruption leaves the old result in place
            if family not in (run.info.run_id, run.data.tags.get("mlflow.parentRunId")):
                client.delete_run(run.info.run_id)
        found["imported" if old is None else "already_there"].append(use.key)


def _create(
    client: MlflowClient, experiment: str, use: Use, digest: str, frame: DataFrame, compared: DataFrame
) -> None:
    mine = frame[(frame["run"] == use.run.id) & (frame["label"] == use.run.label)]
    start, end = _times(use)
    which = (compared["run"] == use.run.id) & (compared["label"] == use.run.label)
    row = compared[which].iloc[0].drop(["label", "run"])
    summary = {name: (float(value), start, 0) for name, value in row.items() if math.isfinite(value)}
    parent = _run(client, experiment, use, use.run.label, {"kind": "scheme"}, summary, (start, end))
    if use.run.task:
        clock, replays = table.clock(use.run), finished_provenance(use.figure.table).get("replays", {})
        for place, seed in enumerate(use.run.seed_list):
            tags = {"kind": "seed", "seed": str(seed), "mlflow.parentRunId": parent}
            curves = _curves(clock, place, mine[mine["seed"] == seed], scores_of(frame))
            points = {name: _stamped(curve, start) for name, curve in curves.items()}
            checks = {
                name: (value, start, 0)
                for name, value in replays.get(use.run.id, {}).get(str(seed), {}).items()
            }
            _run(
                client, experiment, use, f"{use.run.label}, seed {seed}", tags, points | checks, (start, end)
            )
    _artifacts(client, parent, use, mine)
    client.set_tag(parent, DIGEST, digest, synchronous=True)


def _run(
    client, experiment: str, use: Use, name: str, tags: dict, points: dict, times: tuple[int, int]
) -> str:
    """One finished MLflow run with its tags, params and points; a value is one point or a list of them."""
    from mlflow.entities import Metric, Param

    tags = {key: _cut(value, _TAG_LENGTH) for key, value in (tags_of(use) | tags).items()}
    run = client.create_run(
        experiment, start_time=times[0], tags=tags, run_name=_cut(name, _NAME_LENGTH)
    ).info.run_id
    client.set_terminated(run, "FINISHED", times[1])  # first: afterwards it would read every point again
    params = [Param(_cut(k, _NAME_LENGTH), _cut(v, _PARAM_LENGTH)) for k, v in params_of(use.run.config)]
    metrics = [
        Metric(metric, float(value), stamp, step)
        for metric, curve in points.items()
        for value, stamp, step in (curve if isinstance(curve, list) else [curve])
    ]
    parts = itertools.zip_longest(_batches(params, _PARAMS_PER_CALL), _batches(metrics, _METRICS_PER_CALL))
    for some_params, some_metrics in parts:
        client.log_batch(run, params=some_params or (), metrics=some_metrics or (), synchronous=True)
    return run


def _artifacts(client: MlflowClient, parent: str, use: Use, rows: DataFrame) -> None:
    """The figure's drawings, and the rows of its table that belong to this scheme."""
    for drawing in use.figure.drawings:
        if Path(drawing).is_file():
            client.log_artifact(parent, drawing)
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / f"{use.figure.target}.csv"
        rows.to_csv(own, index=False)
        client.log_artifact(parent, str(own))


def tags_of(use: Use) -> dict[str, str]:
    """What runs are grouped and filtered by."""
    run, figure = use.run, use.figure
    facts = [finished_provenance(path) for path in use.inputs]
    commits = sorted({fact["commit"] for fact in facts if fact.get("commit")})
    options = {part: getattr(run, part).partition("+")[0] for part in _PARTS if getattr(run, part)}
    return {
        KEY: use.key,
        "paper": figure.paper,
        "figure": figure.target,
        "preset": figure.preset,
        "run": run.id,
        "label": run.label,
        **options,
        "exact": _text(run.exact),
        "commit": ",".join(commits) or "unknown",
        "dirty": _text(any(fact.get("dirty") for fact in facts)),
        **_packages(facts),
    }


def _packages(facts: list[dict]) -> dict[str, str]:
    """Each package that took part, with version, commit, dirtiness and content: ``package.mylab``."""
    found: dict[str, set[str]] = {}
    for fact in facts:
        for name, package in fact.get("packages", {}).items():
            about = [package.get("version", ""), package.get("commit") or "no commit"]
            about += ["dirty"] if package.get("dirty") else []
            found.setdefault(f"package.{name}", set()).add(
                " ".join([*filter(None, about), f"sha256:{package.get('sha256', '')[:16]}"])
            )
    return {name: ", ".join(sorted(texts)) for name, texts in found.items()}


def params_of(config: dict, prefix: str = "") -> list[tuple[str, str]]:
    """Flat names and texts of a resolved config.

    Examples
    --------
    >>> params_of({"n": 30, "code": {"_target_": "gcexp.codes.Uncoded", "q": None}})
    [('n', '30'), ('code._target_', 'gcexp.codes.Uncoded'), ('code.q', 'null')]
    """
    flat: list[tuple[str, str]] = []
    for key, value in config.items():
        flat += (
            params_of(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, _text(value))]
        )
    return flat


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _curves(clock: Timeline, place: int, rows: DataFrame, scores: list[str]) -> dict[str, list[tuple]]:
    """Curves of one seed as (iteration, simulated time, value): scores, clock, and what each iteration recovered.

    What iteration t + 1 recovers stands at the time at which it begins.
    """
    T = int(clock.steps[place])
    times = np.pad(clock.clock[place, :T], (1, 0))
    recovered = (clock.coefficients == 1).mean(1)[clock.pattern[place, :T]]
    own = {
        name: (rows["iteration"].to_numpy(), rows["simulated_time_s"].to_numpy(), rows[name].to_numpy())
        for name in scores
    }
    own["simulated_time_s"] = (np.arange(T + 1), times, times)
    own["recovered_fraction"] = (np.arange(T), times[:-1], recovered)
    found = {}
    for name, columns in own.items():
        every = np.unique(np.linspace(0, len(columns[0]) - 1, min(_POINTS, len(columns[0]))).astype(int))
        found[name] = list(zip(*(column[every].tolist() for column in columns), strict=True))
    return found


def _stamped(curve: list[tuple], start: int) -> list[tuple[float, int, int]]:
    """Points of a curve as (value, time stamp in ms, step): one simulated second is one second of MLflow's clock."""
    return [(value, start + round(1000 * time), step) for step, time, value in curve]


def _times(use: Use) -> tuple[int, int]:
    """Start and end in ms: when the last file was written, and as long before as its jobs took (all seeds)."""
    end = max(Path(path).stat().st_mtime for path in use.inputs)
    took = sum(finished_provenance(path).get("wall_s", 0.0) for path in use.inputs)
    return int((end - took) * 1000), int(end * 1000)


def _digest(use: Use) -> str:
    """SHA-256 of config, label and files."""
    about = [VERSION, use.run.config, use.figure.file.level]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for path in [*use.inputs, *use.figure.drawings]:
        if Path(path).is_file():
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
    if uri == DEFAULT_URI:  # not a database of the user's own, which may hold what cannot be made again
        _do_not_wait_for_the_disk()
    from mlflow import MlflowClient

    if "MLFLOW_LOGGING_LEVEL" not in os.environ:
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
    with _environment(_IMPATIENT):
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    return client


def _do_not_wait_for_the_disk() -> None:
    """SQLite would, seven times per run; a store made of this folder's results need not survive a power cut."""
    from sqlalchemy import Engine, event

    if not event.contains(Engine, "connect", _relaxed):
        event.listen(Engine, "connect", _relaxed)


def _relaxed(connection: Any, _record: Any) -> None:
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA synchronous = OFF")


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
        kind = {"mlflow.experimentKind": "custom_model_development"}  # else MLflow shows prompts and traces
        place = (_folder(uri) / "artifacts" / paper).resolve().as_uri() if uri.startswith(_SQLITE) else None
        return client.create_experiment(paper, artifact_location=place, tags=kind)
    if found.lifecycle_stage != "active":
        raise UserError(
            f"experiment {paper!r} was deleted in MLflow: bring it back with `mlflow experiments restore -x "
            f"{found.experiment_id}`, or remove it for good with `mlflow gc --experiment-ids {found.experiment_id}`"
        )
    return found.experiment_id


def _stored(client: MlflowClient, experiment: str) -> dict[str, list[Stored]]:
    """MLflow runs by key, parents and children; a person's own runs may stand beside ours."""
    found: dict[str, list[Stored]] = {}
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        for run in page:
            if KEY in run.data.tags:
                found.setdefault(run.data.tags[KEY], []).append(run)
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
