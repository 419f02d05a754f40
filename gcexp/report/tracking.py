"""MLflow as a view of finished figures: one parent run per figure and scheme, one child per trained seed.

Nothing reads MLflow back: a tracking database can be deleted and filled again from the tables of the figures.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError
from gcexp.figures.tables import read_table, scores_of
from gcexp.files import writable, written
from gcexp.report.comparison import comparison
from gcexp.report.figure import Figure
from gcexp.run import paths
from gcexp.run.provenance import finished_provenance
from gcexp.run.run import Run

if TYPE_CHECKING:  # MLflow and pandas take seconds to import
    from mlflow import MlflowClient
    from pandas import DataFrame

DEFAULT_URI = f"sqlite:///{paths.TRACKED}"
#: Tag that is set last: an MLflow run with it is complete, and shows the result that has this digest.
DIGEST = "gcexp.digest"
#: Tag that names the preset and figure that an MLflow run shows; runs without it are a person's own.
KEY = "gcexp.key"
#: Bump when the same files give other params, tags or metrics, so that everything is imported anew.
VERSION = 4

_PARTS = ("scheme", "delay", "task", "optimizer")
_SQLITE = "sqlite:///"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_LEVELS = (0.8, 0.9)  # that figures are compared at beside their own
_POINTS = 75  # of a curve: a point costs 0.1 ms
_MOST_RUNS = 50_000  # that MLflow finds at once
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # two lines for every run
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # a server that does not answer is reported within seconds
}


def track(figures: list[Figure], output: Path, uri: str | None) -> None:
    """Import the runs of every finished figure into MLflow and write down which figures were imported.

    An experiment is a paper. A parent run is one scheme in one figure: medians over its seeds, and the figure's drawing
    and its own rows of the table as artifacts. Its children are the seeds of a training. The time stamps of a curve are
    the simulated clock, so that MLflow's relative time is simulated time; step t is what holds after t iterations.
    A figure whose table and runs did not change is left alone; the runs of any other figure are replaced.

    Parameters
    ----------
    figures : list of Figure
    output : Path
        JSON file with the figures that were imported, were already there, and have no table yet.
    uri : str, optional
        Tracking URI; default $MLFLOW_TRACKING_URI, else a SQLite file in results/mlflow.

    Raises
    ------
    UserError
        If no figure has its table, or MLflow cannot use the URI.
    """
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    figures = [figure for figure in figures if figure.runs]
    finished = [figure for figure in figures if Path(figure.table).is_file()]
    if figures and not finished:
        raise UserError(f"no run is finished: {figures[0].table} does not exist; make the figures first")
    found: dict[str, Any] = {"uri": _masked(uri), "imported": [], "already_there": []}
    with _sentences(uri):
        client = connect(uri)
        for figure in finished:
            new = _bring(client, _experiment(client, figure.paper, uri), figure)
            found["imported" if new else "already_there"].append(figure.target)
    found["unfinished"] = [figure.target for figure in figures if figure not in finished]
    with written(output) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n")
    counts = f"{len(found['imported'])} figures imported, {len(found['already_there'])} already there"
    print(f"MLflow at {_masked(uri)}: {counts}; listed in {output}")


# --- One figure --------------------------------------------------------------------------------------------------


def _bring(client: MlflowClient, experiment: str, figure: Figure) -> bool:
    """Bring the runs of a figure up to date; False if MLflow has all of them already."""
    key, digest = f"{figure.preset}/{figure.target}", _digest(figure)
    runs = list({(run.label, run.id): run for run in figure.runs}.values())
    stored = client.search_runs([experiment], f"tags.`{KEY}` = '{key}'", max_results=_MOST_RUNS)
    if sum(one.data.tags.get(DIGEST) == digest for one in stored) == len(runs):
        return False
    for one in stored:
        client.delete_run(one.info.run_id)
    frame = read_table(figure.table)
    compared = comparison(figure, frame, more=_LEVELS)
    for run in runs:
        parent = _create(client, experiment, figure, run, frame, compared)
        client.set_tag(parent, DIGEST, digest, synchronous=True)
    return True


def _create(
    client: MlflowClient, experiment: str, figure: Figure, run: Run, frame: DataFrame, compared: DataFrame
) -> str:
    """The parent run of a scheme with its children and artifacts; its id."""
    mine = frame[(frame["run"] == run.id) & (frame["label"] == run.label)]
    row = compared[(compared["run"] == run.id) & (compared["label"] == run.label)].iloc[0]
    medians = row.drop(["label", "run"]).items()
    summary = [(name, float(value), 0.0, 0) for name, value in medians if math.isfinite(value)]
    common = tags_of(figure, run)
    parent = _run(client, experiment, figure, run, run.label, common | {"kind": "scheme"}, summary)
    if run.task:
        replays = finished_provenance(figure.table).get("replays", {}).get(run.id, {})
        for seed in run.seed_list:
            tags = common | {"kind": "seed", "seed": str(seed), "mlflow.parentRunId": parent}
            points = _curves(mine[mine["seed"] == seed], scores_of(frame))
            points += [(name, value, 0.0, 0) for name, value in replays.get(str(seed), {}).items()]
            _run(client, experiment, figure, run, f"{run.label}, seed {seed}", tags, points)
    for drawing in figure.drawings:
        if Path(drawing).is_file():
            client.log_artifact(parent, drawing)
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / f"{figure.target}.csv"
        mine.to_csv(own, index=False)
        client.log_artifact(parent, str(own))
    return parent


def _run(
    client: MlflowClient, experiment: str, figure: Figure, run: Run, name: str, tags: dict, points: list
) -> str:
    """One finished MLflow run; a point is (metric, value, simulated seconds, step)."""
    from mlflow.entities import Metric, Param

    start = int(Path(figure.table).stat().st_mtime * 1000)
    made = client.create_run(experiment, start_time=start, tags=tags, run_name=name[:250]).info.run_id
    client.set_terminated(made, "FINISHED", start)  # first: afterwards it would read every point again
    params = [Param(key, value) for key, value in params_of(run.config)]
    metrics = [Metric(metric, value, start + round(1000 * at), step) for metric, value, at, step in points]
    client.log_batch(made, params=params, metrics=metrics, synchronous=True)
    return made


def _curves(rows: DataFrame, scores: list[str]) -> list[tuple[str, float, float, int]]:
    """Points of a seed's scores and of its clock, at most 75 of each curve."""
    if not scores:
        return []
    kept = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(_POINTS, len(rows))).astype(int))]
    times, steps = kept["simulated_time_s"].tolist(), kept["iteration"].tolist()
    return [
        (name, *point)
        for name in (*scores, "simulated_time_s")
        for point in zip(kept[name].tolist(), times, steps, strict=True)
    ]


def tags_of(figure: Figure, run: Run) -> dict[str, str]:
    """What runs are grouped and filtered by."""
    facts = [finished_provenance(path) for path in (figure.table, *run.inputs)]
    commits = sorted({fact["commit"] for fact in facts if fact.get("commit")})
    return {
        KEY: f"{figure.preset}/{figure.target}",
        "paper": figure.paper,
        "figure": figure.target,
        "preset": figure.preset,
        "run": run.id,
        "label": run.label,
        **{part: getattr(run, part).partition("+")[0] for part in _PARTS if getattr(run, part)},
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
    flat: list[tuple[str, str]] = []
    for key, value in config.items():
        inner = isinstance(value, dict)
        flat += params_of(value, f"{prefix}{key}.") if inner else [(prefix + key, _text(value))]
    return flat


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _digest(figure: Figure) -> str:
    """SHA-256 of a figure's runs, level, table and drawings."""
    about = [VERSION, figure.file.level, [(run.label, run.config) for run in figure.runs]]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for path in filter(Path.is_file, map(Path, (figure.table, *figure.drawings))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


# --- The store ---------------------------------------------------------------------------------------------------


def connect(uri: str) -> MlflowClient:
    """Client of a store that answers."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if re.fullmatch(r"sqlite(:/{0,3}|:///:memory:.*)", uri):
        raise UserError(
            f"the tracking URI {uri} names no file, so that nothing would be kept; allowed: {_SQLITE}FILE"
        )
    if uri.startswith(_SQLITE):
        with writable(folder := _folder(uri)):
            folder.mkdir(parents=True, exist_ok=True)
    if re.split(r"[+:]", uri)[0] in _DATABASES:  # MLflow would retry for minutes before it gives up
        import sqlalchemy

        engine = sqlalchemy.create_engine(uri)
        sqlalchemy.inspect(engine).get_table_names()
        engine.dispose()
    from mlflow import MlflowClient

    if "MLFLOW_LOGGING_LEVEL" not in os.environ:
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
    client = MlflowClient(tracking_uri=uri)
    client.search_experiments(max_results=1)
    return client


def _folder(uri: str) -> Path:
    """Folder of a SQLite file."""
    return Path(uri.removeprefix(_SQLITE).partition("?")[0]).parent


def _experiment(client: MlflowClient, paper: str, uri: str) -> str:
    """Id of a paper's experiment; a local database keeps its artifacts beside itself, not in ./mlruns."""
    if found := client.get_experiment_by_name(paper):
        return found.experiment_id
    kind = {"mlflow.experimentKind": "custom_model_development"}  # else MLflow shows prompts and traces
    place = (_folder(uri) / "artifacts" / paper).resolve().as_uri() if uri.startswith(_SQLITE) else None
    return client.create_experiment(paper, artifact_location=place, tags=kind)


@contextmanager
def _sentences(uri: str) -> Iterator[None]:
    """Turn what MLflow and databases raise into one sentence without passwords."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, ImportError) as error:
        text = " ".join(str(error).split())
        system = re.search(r"\[Errno -?\d+\] ([^\"')\]]+)", text)
        raise UserError(
            f"MLflow cannot use the tracking URI {_masked(uri)} ({system[1] if system else _masked(text[:300])}); "
            "allowed: sqlite:///FILE, http://SERVER:PORT, or another database that MLflow supports"
        ) from error


def _masked(text: str) -> str:
    """Text with user names and passwords of addresses masked."""
    return re.sub(r"://[^/@\s]+@", "://***@", text)
