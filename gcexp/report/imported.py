"""Is what was imported into MLflow still in its database? A plan asks this, of SQLite files and without MLflow."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from gcexp.run import records
from gcexp.run.contents import short_hash

#: How the URI of a SQLite file begins.
SQLITE = "sqlite:///"


def database_file(uri: str) -> Path | None:
    """The file of a SQLite database; None for a URI of something else.

    >>> database_file("sqlite:///results/mlflow/mlflow.db?timeout=3"), database_file("http://127.0.0.1:5000")
    (PosixPath('results/mlflow/mlflow.db'), None)
    """
    if not uri.startswith(SQLITE):
        return None
    return Path(uri.removeprefix(SQLITE).partition("?")[0])


def made_at(database: Path) -> int | None:
    """When the tables of a SQLite database were made, in milliseconds; None where it cannot be asked now.

    MLflow makes an experiment with the number 0 together with the tables. A file that is no such database gives 0.
    """
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            row = opened.execute("SELECT creation_time FROM experiments WHERE experiment_id = 0").fetchone()
    except sqlite3.OperationalError as error:
        return 0 if "no such table" in str(error) else None
    except sqlite3.DatabaseError:  # damaged
        return 0
    return int(row[0] or 0) if row else 0


def import_state_of(pattern: str) -> Callable[[dict], str]:
    """The `gcexp.run.records.state_of` a rule that imports; it also changes where the database was lost since."""
    return lambda wildcards: _state(Path(pattern.format(**wildcards)))


def _state(listed: Path) -> str:
    """What a plan says of an import by the file that lists what was imported."""
    planned = records.state(listed)
    if _is_lost(listed):
        return short_hash(f"{planned}, database lost".encode())
    return planned


def _is_lost(listed: Path) -> bool:
    """Whether the database that an import filled was deleted, or is another one now."""
    try:
        found = json.loads(listed.read_text("utf-8"))
        database, made = database_file(found["uri"]), found["database_made"]
    except (OSError, ValueError, TypeError, KeyError):  # not made, or damaged: other states say so
        return False
    if database is None:
        return False
    if not database.is_file():
        return True
    now = made_at(database)
    return now is not None and now != made
