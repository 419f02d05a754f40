"""Clusters whose times are known, and files that hold them: what `benchmarks.log_kinds` makes its logs of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

DIGITS = 5  # of seconds, so that no file says more or less than the truth, whatever its unit
LAWS = ("lognormal", "exponential", "gamma")
#: Columns of durations, and how many of their unit are a second; where no unit is named, it is the second.
TIME_COLUMNS = {
    "time": 1,
    "step_time": 1,
    "elapsed": 1,
    "fit_time": 1,
    "time_s": 1,
    "duration_s": 1,
    "time_ms": 1000,
    "iter_time_ms": 1000,
    "latency_us": 1_000_000,
}
STEP_COLUMNS = ("step", "iteration", "round", "iter")
WORKER_COLUMNS = ("worker", "rank", "client", "host", "worker_id")
NAMES = ("{}", "w{}", "gpu{}", "host-{}")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")

Row = dict[str, str]


@dataclass(frozen=True)
class Cluster:
    """Times of each worker in each iteration, in seconds, of shape (iterations, workers)."""

    times: np.ndarray
    names: tuple[str, ...]
    slow: int | None  # the worker that is slow throughout
    factor: float
    law: str

    @property
    def shape(self) -> tuple[int, int]:
        """Iterations and workers."""
        iterations, workers = self.times.shape
        return iterations, workers

    @property
    def level(self) -> float:
        """The typical time."""
        return float(np.median(self.times))

    def with_times(self, times: np.ndarray) -> Cluster:
        """The same workers with other times."""
        return replace(self, times=np.round(times, DIGITS))


@dataclass(frozen=True)
class Truth:
    """What a reader of a log should say, and which outcomes are acceptable."""

    mechanism: str
    cluster: Cluster
    acceptable: tuple[str, ...] = ("value",)  # of value, ask, refuse, doubt
    words: str = "(?!)"  # a regular expression; a sentence with it tells the doubt that this log deserves
    misleading: str = "(?!)"  # a question with it asks for what would spoil the log
    waiting: tuple[
        float, ...
    ] = ()  # mean time of waiting for all, and other right values; none: as the times say
    iterations: tuple[int, int] | None = None  # least and most; None: as the times say
    runs: int = 1
    phi: float | None = None
    compute: np.ndarray | None = None
    same_verdict: bool = True  # whether the verdict must be that of the true times

    def as_dict(self) -> dict[str, object]:
        """All of it as JSON holds it; a missing time is null."""
        entries = asdict(self)
        cluster = entries.pop("cluster")
        rows, workers = self.cluster.shape
        slow = self.cluster.slow
        return {
            **entries,
            "law": cluster["law"],
            "names": cluster["names"],
            "slow": None if slow is None else self.cluster.names[slow],
            "factor": 1.0 if slow is None else self.cluster.factor,
            "workers": workers,
            "iterations": self.iterations or (rows, rows),
            "waiting": self.waiting or (waiting(self.cluster.times),),
            "times": _plain(self.cluster.times),
            "compute": None if self.compute is None else _plain(self.compute),
        }


def _plain(times: np.ndarray) -> list[list[float | None]]:
    """An array as lists, in which a missing time is None."""
    return np.where(np.isnan(times), None, np.round(times, DIGITS)).tolist()


def waiting(times: np.ndarray) -> float:
    """Mean time per iteration of waiting for all workers that have a row in it."""
    return float(np.nanmax(times, axis=1).mean())


def cluster(rng: np.random.Generator, *, common: float | None = None, must_be_slow: bool = False) -> Cluster:
    """A cluster of 4 to 16 workers in 40 to 300 iterations; in seven of ten, one worker is slow throughout.

    Parameters
    ----------
    rng : numpy.random.Generator
    common : float, optional
        Standard deviation of the logarithm of what all times of an iteration share; else 0, .1 or .3.
    must_be_slow : bool
        Whether one worker is slow in any case.
    """
    workers = int(rng.integers(4, 17))
    iterations = int(40 * 7.5 ** rng.random())
    law = str(rng.choice(LAWS))
    level = 10 ** rng.uniform(-0.5, 1.2)
    shared = rng.choice([0, 0.1, 0.3]) if common is None else common
    times = level * noise(rng, law, (iterations, workers)) * np.exp(shared * rng.normal(size=(iterations, 1)))
    factor = rng.uniform(1.3, 3)
    slow = None
    if rng.random() < 0.7 or must_be_slow:
        slow = int(rng.integers(workers))
        times[:, slow] *= factor
    pattern = str(rng.choice(NAMES))
    first = int(rng.integers(2))
    names = tuple(pattern.format(first + worker) for worker in range(workers))
    return Cluster(np.round(times, DIGITS), names, slow, float(factor), law)


def noise(rng: np.random.Generator, law: str, shape: tuple[int, ...]) -> np.ndarray:
    """Noise of mean (for the lognormal: median) 1 and a standard deviation of .04 to .2."""
    sd = rng.uniform(0.04, 0.2)
    if law == "lognormal":
        return np.exp(sd * rng.normal(size=shape))
    if law == "exponential":
        return 1 - sd + sd * rng.exponential(size=shape)
    return rng.gamma(1 / sd**2, sd**2, shape)


def in_unit(seconds: float, column: str) -> str:
    """A time as it stands in a column of `TIME_COLUMNS`.

    Examples
    --------
    >>> in_unit(0.25, "time_ms")
    '250.00'
    """
    scale = TIME_COLUMNS[column]
    decimals = max(0, DIGITS + 1 - len(str(scale)))
    return f"{seconds * scale:.{decimals}f}"


@dataclass(frozen=True)
class Style:
    """Names of the columns, and the form of the file."""

    step: str
    worker: str
    time: str
    separator: str  # of CSV; empty: lines of JSON
    by_worker: bool  # whether each worker has its own file
    first: int  # number of the first iteration


def style(rng: np.random.Generator, *, by_worker: bool | None = None, lines_of_json: bool = True) -> Style:
    """Names and form of a log, drawn at random as far as they are not given."""
    separators = [",", ",", ",", ";", "\t"]
    if lines_of_json:
        separators += ["", ""]
    drawn = bool(rng.random() < 0.25)
    return Style(
        step=str(rng.choice(STEP_COLUMNS)),
        worker=str(rng.choice(WORKER_COLUMNS)),
        time=str(rng.choice(list(TIME_COLUMNS))),
        separator=str(rng.choice(separators)),
        by_worker=drawn if by_worker is None else by_worker,
        first=int(rng.integers(2)),
    )


def rows(known: Cluster, look: Style, extra: dict[str, np.ndarray] | None = None) -> list[Row]:
    """One row for each worker and iteration that has a time, iteration by iteration.

    Parameters
    ----------
    known : Cluster
    look : Style
    extra : dict of str and array
        More columns; each broadcasts to the shape of the times.
    """
    iterations, workers = known.shape
    more = {name: np.broadcast_to(values, known.shape) for name, values in (extra or {}).items()}
    table = []
    for step in range(iterations):
        for worker in range(workers):
            if np.isnan(known.times[step, worker]):
                continue
            row = {
                look.step: str(look.first + step),
                look.worker: known.names[worker],
                look.time: in_unit(known.times[step, worker], look.time),
            }
            for name, values in more.items():
                row[name] = str(values[step, worker])
            table.append(row)
    return table


def write_rows(path: Path, table: Sequence[Row], separator: str) -> None:
    """A CSV file with a header, or lines of JSON where there is no separator."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if separator:
        lines = [separator.join(table[0])]
        lines += [separator.join(row.values()) for row in table]
    else:
        lines = [_as_json(row) for row in table]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _as_json(row: Row) -> str:
    """A line of JSON, with numbers as numbers of any length."""
    cells = []
    for name, text in row.items():
        value = text if _NUMBER.fullmatch(text) else json.dumps(text)
        cells.append(f"{json.dumps(name)}: {value}")
    return "{" + ", ".join(cells) + "}"


def write_log(folder: Path, table: Iterable[Row], look: Style) -> None:
    """Rows in one file, or in a file for each worker, whose name then stands only in that of the file."""
    ending = "jsonl" if not look.separator else "tsv" if look.separator == "\t" else "csv"
    if not look.by_worker:
        write_rows(folder / f"log.{ending}", list(table), look.separator)
        return
    of_worker: dict[str, list[Row]] = {}
    for row in table:
        rest = {name: text for name, text in row.items() if name != look.worker}
        of_worker.setdefault(row[look.worker], []).append(rest)
    for worker, own in of_worker.items():
        name = f"rank{worker}" if worker.isdigit() else worker
        write_rows(folder / f"{name}.{ending}", own, look.separator)
