"""Faults that were recorded: who was down when."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from gcexp.errors import DataError, unknown
from gcexp.failures.lifetimes import Event
from gcexp.files import bundled, rows_of, used
from gcexp.schema import quoted

COLUMNS = ("time", "worker", "event")
DOWN, UP = "down", "up"
_BUNDLED = "data/faults"


@dataclass(frozen=True)
class Faults:
    """Who was down when, from time 0, at which everybody is up, to the last event.

    Attributes
    ----------
    name : str
        What the faults are called in sentences.
    n : int
        Workers.
    events : tuple of Event
        Every change of who is down, in the order of time.
    """

    name: str
    n: int
    events: tuple[Event, ...]

    @property
    def end(self) -> float:
        """Time of the last event, in seconds."""
        return self.events[-1].time


def read_faults(source: Any, n: int) -> Faults:
    """The recorded faults of n workers, from a CSV file, from a bundled one by its name, or from a frame.

    Its columns are ``time`` in seconds from the start of the job on, ``worker`` from 0 to n - 1, and ``event``, which
    is ``down`` or ``up``. Rows may stand in any order; those of one time happen in the order in which they stand. Who
    is down at the end of the file is down until then.

    Raises
    ------
    DataError
        For a file that is not there or has other columns, a time that is no number >= 0, a worker that is not there, an
        up of a worker that is not down, a down of one that is, and faults that end at time 0.

    Examples
    --------
    >>> faults = read_faults("stepfun-hbd", n=400)
    >>> len(faults.events), round(faults.end / 86400, 1)
    (1164, 349.0)
    """
    name, rows = _rows(source)
    events = []
    for place, row in rows:
        events.append((_time(row["time"], place), _worker(row["worker"], n, place), row["event"], place))
    events.sort(key=lambda event: event[0])
    found = []
    dead = 0
    for time, worker, event, place in events:
        bit = 1 << worker
        is_down = bool(dead & bit)
        if event == DOWN:
            if is_down:
                raise DataError(f"{place}: worker {worker} goes down at {time:g} s, but it is down already")
        elif event == UP:
            if not is_down:
                raise DataError(f"{place}: worker {worker} comes up at {time:g} s, but it is not down")
        else:
            raise DataError(f"{place}: {unknown('event', event, [DOWN, UP])}")
        dead ^= bit
        found.append(Event(time, dead, event == DOWN))
    if not found or found[-1].time == 0:
        raise DataError(f"{name}: the faults end at time 0, so that there is no run")
    return Faults(name, n, tuple(found))


def _rows(source: Any) -> tuple[str, Iterable[tuple[str, dict[str, Any]]]]:
    """What faults are called, and their rows with the place of each."""
    if hasattr(source, "columns"):
        columns = [str(column) for column in source.columns]
        if not set(COLUMNS) <= set(columns):
            raise DataError(f"faults: the columns must be {', '.join(COLUMNS)}, got {', '.join(columns)}")
        places = (f"faults: row {i}" for i in range(len(source)))
        return "faults", zip(places, source.to_dict("records"), strict=True)
    path = _located(str(source))
    return path.name, rows_of(path, COLUMNS, more=True)


def _located(source: str) -> Path:
    """The file of recorded faults: one of a person's own, or a bundled one by its name."""
    paths = [Path(source), bundled(source)]
    if Path(source).name == source:
        paths.append(bundled(f"{_BUNDLED}/{source}.csv"))
    for path in paths:
        with suppress(OSError):
            used(path)  # also where nothing is: a file may appear there
            if path.is_file():
                return path
    names = [path.stem for path in bundled(_BUNDLED).glob("*.csv")]
    raise DataError(
        f"there is no file of faults {source}, neither here nor in the project; {unknown('name', source, names)}"
    )


def _time(written: Any, place: str) -> float:
    """A time in seconds."""
    with suppress(TypeError, ValueError):
        time = float(written)
        if 0 <= time < inf:
            return time
    raise DataError(f"{place}: time is a number of seconds >= 0, got {quoted(written)}")


def _worker(written: Any, n: int, place: str) -> int:
    """The number of a worker."""
    with suppress(TypeError, ValueError):
        worker = float(written)
        if worker in range(n):
            return int(worker)
    raise DataError(f"{place}: workers are 0 to {n - 1}, got {quoted(written)}")
