"""Costs of runs by the rates of ``costs.csv``, and what a job asks a cluster for by them."""

from __future__ import annotations

import math
import resource
import time
from dataclasses import dataclass, fields, replace
from functools import cache

from gcexp.errors import DataError
from gcexp.files import rows_of
from gcexp.run.measurement import Measurement
from gcexp.run.options import search_dirs
from gcexp.run.result_columns import clock_columns
from gcexp.run.run import Run
from gcexp.run.trainings import HomeTrainings

_SAMPLED = 100  # iterations from which the length of a run is foretold
_SAMPLED_S = 0.1  # CPU seconds of a clock that tell whether a rate is right
_TRAINED = 3  # iterations from which the training of a task without a rate is foretold
_IMPORTS_S = 2  # CPU seconds in which a training imports and reads what it needs
_measured: dict[str, Rate] = {}  # by task, of this process
_STARTING = 5  # minutes in which a job starts, under a busy file system too
_SNAKEMAKE_MB = 1000  # of the processes around a job
_UNKNOWN_MINUTES, _UNKNOWN_MB = 600, 3000  # of a job without a rate


@dataclass(frozen=True)
class Rate:
    """Cost of a kind of job in ``costs.csv``: a start, and so much for each unit of its size, in CPU seconds.

    A unit of a clock is a worker in an iteration of a seed, of a training a gradient over all data, of a replay a
    kept parameter of a seed; a training is scored besides. A process that trains several times starts once.
    """

    start_s: float
    unit_s: float
    memory_mib: float
    unit_bytes: float
    score_s: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Estimated cost of one job: CPU seconds, peak memory in MiB, bytes on disk, and whether a rate is known.

    `start_s` are those of the CPU seconds that a process spends once, however many of its kind it does.
    """

    job: str
    cpu_s: float
    memory_mib: float
    disk: float
    known: bool = True
    start_s: float = 0.0


def training_cost(run: Run, replayed: bool = True) -> Cost:
    """Gradients over all data and scorings; an approximate training may be replayed by the same job."""
    task = run.config["task"]
    learning = _learning_of(run)
    scores = len(run.seeds) + learning.steps / task.get("evaluate_every", 1)
    cost = cost_by_rate("training", run.option("task"), learning.steps, learning.share, scores)
    if run.exact or not replayed:
        return cost
    return combine_costs(cost, replay_cost(run))


def replay_cost(run: Run) -> Cost:
    """A backward pass for each kept parameter."""
    learning = _learning_of(run)
    kept = len(run.seeds) + learning.steps / run.config["task"].get("verify_every", 100)
    return cost_by_rate("replay", run.option("task"), kept, learning.share)


@dataclass(frozen=True)
class _Learning:
    """Iterations of all seeds in which a run learns, and the share of the data in their gradients."""

    steps: float
    share: float


def _learning_of(run: Run) -> _Learning:
    """How much a run learns; all exact schemes share one training, which ends at no clock."""
    steps: float = run.iterations
    if run.exact:
        return _Learning(steps * len(run.seeds), share=1.0)
    sample = _sample_of(run.overrides)
    if run.horizon:
        steps = min(steps, run.horizon / sample.duration)
    return _Learning(steps * len(run.seeds), sample.share)


@dataclass(frozen=True)
class _Sample:
    """Mean duration of an iteration, and mean share of the partitions in its gradient."""

    duration: float
    share: float


@cache
def _sample_of(overrides: tuple[str, ...]) -> _Sample:
    """What the first iterations of one seed of a run say."""
    whole = Run.of(overrides, checked=False)
    timeline = _shorten(whole, min(_SAMPLED, whole.iterations)).clock()
    used = (timeline.coefficients != 0).mean(1)[timeline.pattern]
    return _Sample(float(timeline.duration.mean()), float(used.mean()))


def clock_cost(run: Run) -> Cost:
    """Workers in the iterations of all seeds."""
    size = run.iterations * len(run.seeds) * (run.config["n"] or 1)
    return cost_by_rate("clock", run.option("scheme"), size)


def measure_clock(run: Run) -> float:
    """CPU seconds of a clock, by its rate and by how long a part of it takes that is large enough to tell."""
    start = cost_by_rate(
        "clock", run.option("scheme"), 0
    ).cpu_s  # to compose a point, and to write what it measures
    iterations, seeds = min(_SAMPLED, run.iterations), 1
    while True:
        part = _shorten(run, iterations, seeds)
        seconds = _seconds_of_clock(part)
        is_whole = iterations == run.iterations and seeds == len(run.seeds)
        if is_whole or seconds >= _SAMPLED_S:
            return clock_cost(run).cpu_s * (start + seconds) / clock_cost(part).cpu_s
        if iterations < run.iterations:
            iterations = min(10 * iterations, run.iterations)
        else:
            seeds = min(10 * seeds, len(run.seeds))


def _seconds_of_clock(run: Run) -> float:
    """CPU seconds in which a point of a sweep simulates the clock of a run."""
    before = time.process_time()
    clock_columns(run, "seeds")
    return time.process_time() - before


def measure_training(run: Run) -> Cost:
    """What a training of a task without a rate should cost, by some iterations made here, once for each task."""
    task = run.option("task") or "default"
    if task not in _measured:
        _train(_shorten(run, 1))  # imports and reads, too
        before = time.process_time()
        _train(_shorten(run, _TRAINED))
        seconds = (time.process_time() - before) / _TRAINED
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        _measured[task] = Rate(_IMPORTS_S, seconds, memory, 0)
    rate = _measured[task]
    seconds = rate.start_s + rate.unit_s * run.iterations * len(run.seeds)
    return Cost("training", seconds, rate.memory_mib, 0, start_s=rate.start_s)


def _shorten(run: Run, iterations: int, seeds: int = 1) -> Run:
    """The first iterations of the first seeds of a run."""
    shorter = {"iterations": iterations, "horizon": None, "seeds": list(run.seeds[:seeds])}
    return replace(run, config=run.config | shorter)


def _train(run: Run) -> None:
    """Train a run on the data of this folder, or of the user's caches, and forget what it learned."""
    _ = Measurement(run, HomeTrainings(progress=False)).trajectory


def combine_costs(*parts: Cost) -> Cost:
    """What one job costs that does several things, the first of which says its kind and its place on disk."""
    start = max(part.start_s for part in parts)
    return replace(
        parts[0],
        cpu_s=start + sum(part.cpu_s - part.start_s for part in parts),
        memory_mib=max(part.memory_mib for part in parts),
        known=all(part.known for part in parts),
        start_s=start,
    )


def cost_by_rate(job: str, option: str | None, size: float, share: float = 1.0, scores: float = 0.0) -> Cost:
    """Cost of a job of a kind by the rate of its option, or of any option; unknown without one."""
    rates = read_rates()
    rate = rates.get((job, str(option))) or rates.get((job, "*"))
    if rate is None:
        return Cost(job, 0.0, 0.0, 0.0, known=False)
    cpu = rate.start_s + rate.unit_s * size * share + rate.score_s * scores
    once = rate.start_s if job == "training" else 0.0  # it imports much
    return Cost(job, cpu, rate.memory_mib, rate.unit_bytes * size, start_s=once)


@cache
def read_rates() -> dict[tuple[str, str], Rate]:
    """Rates of ``costs.csv`` of the search path by job and option; ``*`` is any option."""
    names = [one.name for one in fields(Rate)]
    found = {}
    for folder in reversed(search_dirs()):
        for place, row in rows_of(folder / "costs.csv", ["job", "option", *names], more=True):
            numbers = {name: _cost(row, name, place) for name in names}
            found[row["job"], row["option"]] = Rate(**numbers)
    return found


def _cost(row: dict[str, str], name: str, place: str) -> float:
    """A number of a rate, which no job can have below 0."""
    try:
        found = float(row[name])
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise DataError(f"{place}: {name} must be a finite number of at least 0, got {row[name]!r}")
    return found


# --- What a job asks a cluster for


def minutes_asked(cost: Cost, attempt: int) -> int:
    """Minutes for a job, more in each attempt.

    Twice what is expected, since nodes are slower than the machine of the rates, and some minutes to start.

    >>> cost = Cost("training", 1800, 1000, 0)
    >>> minutes_asked(cost, 1), minutes_asked(cost, 2)
    (65, 130)
    """
    expected: float = _UNKNOWN_MINUTES
    if cost.known:
        expected = _STARTING + 2 * cost.cpu_s / 60
    return attempt * math.ceil(expected)


def memory_asked(cost: Cost, attempt: int) -> int:
    """MB of memory for a job, more in each attempt: a quarter more than expected, and as much as Snakemake takes.

    >>> memory_asked(Cost("training", 1800, 1000, 0), 1)
    2250
    """
    expected: float = _UNKNOWN_MB
    if cost.known:
        expected = _SNAKEMAKE_MB + 1.25 * cost.memory_mib
    return attempt * math.ceil(expected)
