"""What will a preset cost? Jobs, CPU hours, memory and disk before anything is submitted: behind ``gcexp plan``."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path

from gcexp.errors import UserError, unknown
from gcexp.report.figure import Figure
from gcexp.report.figurefile import PRESETS, page_files, paper_of, read_figures
from gcexp.report.published import table_of
from gcexp.run import paths
from gcexp.run.options import search_dirs
from gcexp.run.provenance import provenance_file, spent
from gcexp.run.run import Run, composed, seed_list
from gcexp.run.stages import Length, simulated

#: Where a number comes from: the same job's provenance, a rate of ``costs.csv`` times its size, or nowhere.
MEASURED, ESTIMATED, UNKNOWN = "measured", "estimated", "unknown"
_SAMPLED = 100  # iterations from which the length of a run is foretold


@dataclass(frozen=True)
class Rate:
    """Cost of a kind of job in ``costs.csv``: a start, and so much for each unit of its size.

    Attributes
    ----------
    start_s, unit_s, score_s : float
        CPU seconds. A unit of a clock is a worker in an iteration of a seed, of a training a gradient over all data,
        of a replay a kept parameter of a seed; a training is scored besides.
    memory_mib : float
    unit_bytes : float
        Of its result on disk.
    """

    start_s: float
    unit_s: float
    memory_mib: float
    unit_bytes: float
    score_s: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Cost of one job: CPU seconds, peak memory in MiB, bytes on disk, and how they are known."""

    job: str
    option: str
    cpu_s: float
    memory_mib: float
    disk: float
    known: str


def plan(preset: str, targets: Sequence[str] = ()) -> list[Cost]:
    """Cost of every job that some targets need and whose result is not there.

    Parameters
    ----------
    preset : str
    targets : sequence of str
        Figures or papers; by default all of the preset, in a project its own, with the page.

    Returns
    -------
    list of Cost
        By kind of job, in the order in which they run. How many iterations a run has time for before its horizon, and
        which share of the data they visit, is taken from the first iterations of its clock.

    Raises
    ------
    UserError
        For an unknown preset or target.
    """
    if preset not in PRESETS:
        raise UserError(unknown("preset", preset, PRESETS))
    files = page_files(published=bool(targets))
    known = {*files, *map(paper_of, files.values())}
    for target in targets:
        if target not in known:  # told before any figure is read
            raise UserError(unknown("target", target, known))
    all_figures = read_figures(files.values(), preset)
    chosen = [one for one in all_figures if not targets or {one.target, one.paper} & set(targets)]
    faster = _corrections(_jobs_of(run for one in all_figures for run in one.runs))
    found = [
        replace(cost, cpu_s=cost.cpu_s * faster.get((cost.job, cost.option), 1.0))
        for path, cost in _jobs_of(run for one in chosen for run in one.runs)
        if not Path(path).exists()
    ]
    found += [_of_table(one) for one in chosen if not Path(one.table).exists()]
    found += [_rated("drawing", "*", 1) for one in chosen if not Path(one.drawings[0]).exists()]
    if not targets and not Path(paths.PAGE.format(preset=preset)).exists():
        found.append(_rated("page", "*", 1))
    return found


def rated(figure: Figure, files: Iterable[str]) -> float | None:
    """CPU seconds of some files that a table is made of, by the rates alone; None where a job has no rate."""
    costs = dict(_jobs_of(figure.runs))
    wanted = [costs[path] for path in files if path in costs]  # an approximate training replays itself
    return None if any(cost.known == UNKNOWN for cost in wanted) else sum(cost.cpu_s for cost in wanted)


def _jobs_of(runs: Iterable[Run]) -> list[tuple[str, Cost]]:
    """What makes every file of some runs, in the order in which they are made, and its cost by the rates."""
    trained = [run for run in {(run.id, run.task): run for run in runs}.values() if run.task]
    kinds: list[tuple[Callable[[Run], str], Callable[[Run], Cost]]] = [
        (_data, _of_data),
        (lambda run: run.trajectory, _of_training),
    ]
    unique = [({path(run): run for run in trained}, cost) for path, cost in kinds]
    return [(path, cost(run)) for made, cost in unique for path, run in made.items()]


def _corrections(jobs: Iterable[tuple[str, Cost]]) -> Mapping[tuple[str, str], float]:
    """How much longer than their rates jobs took whose results are here, by kind and option."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for path, cost in jobs:
        with suppress(UserError, TypeError):
            if Path(path).exists() and cost.cpu_s and (took := spent(path)) is not None:
                mine = sums[cost.job, cost.option]
                mine[0], mine[1] = mine[0] + took, mine[1] + cost.cpu_s
    return {kind: took / expected for kind, (took, expected) in sums.items()}


def _data(run: Run) -> str:
    return paths.DATA.format(dataset=run.config["task"]["dataset"])


def _of_data(run: Run) -> Cost:
    return _rated("data", run.config["task"]["dataset"], 1)


def _of_clock(run: Run) -> Cost:
    workers = run.config["n"] or 1
    return _rated("clock", _option(run.scheme), run.iterations * len(run.seed_list) * workers)


def _of_training(run: Run) -> Cost:
    """Gradients over all data and scorings; an approximate training is replayed by the same job."""
    task = run.config["task"]
    steps, share = _learned(run)
    scores = len(run.seed_list) + steps / task.get("evaluate_every", 1)
    cost = _rated("training", _option(run.task), steps, share, scores)
    if run.exact:
        return cost
    replay = _of_replay(run, steps, share)
    return replace(cost, cpu_s=cost.cpu_s + replay.cpu_s, memory_mib=max(cost.memory_mib, replay.memory_mib))


def _of_replay(run: Run, steps: float | None = None, share: float = 1.0) -> Cost:
    steps = run.iterations * len(run.seed_list) if steps is None else steps
    kept = len(run.seed_list) + steps / run.config["task"].get("verify_every", 100)
    return _rated("replay", _option(run.task), kept, share)


def _learned(run: Run) -> tuple[float, float]:
    """Iterations of all seeds in which a run learns, and the share of the data in their gradients."""
    most, seeds = run.iterations, len(run.seed_list)
    if run.exact:  # one training for all exact schemes: it ends at no clock
        return most * seeds, 1.0
    duration, share = _sampled(tuple(run.overrides))
    return seeds * (min(most, run.horizon / duration) if run.horizon else most), share


@cache
def _sampled(overrides: tuple[str, ...]) -> tuple[float, float]:
    """Mean duration of an iteration and mean share of partitions in its gradient, over the first of one seed."""
    config = composed(overrides)
    some = Length(min(_SAMPLED, config["iterations"]), None, seed_list(config["seeds"])[:1])
    timeline = simulated(config, some)
    used = (timeline.coefficients != 0).mean(1)[timeline.pattern]
    return float(timeline.duration.mean()), float(used.mean())


def _of_table(one: Figure) -> Cost:
    """Of runs its clocks and the replays of exact schemes; of an analysis what the published table took."""
    if one.runs:
        rows = _rated("table", "*", 1)
        parts = [_of_clock(run) for run in one.runs]
        parts += [_of_replay(run) for run in one.runs if run.task and run.exact]
        memory = max(part.memory_mib for part in (rows, *parts))
        known = UNKNOWN if any(part.known == UNKNOWN for part in parts) else ESTIMATED
        return replace(rows, cpu_s=sum(part.cpu_s for part in (rows, *parts)), memory_mib=memory, known=known)
    with suppress(UserError, OSError, ValueError, KeyError, TypeError):
        table = table_of(one)
        record = json.loads(provenance_file(table).read_text("utf-8"))
        size = table.stat().st_size
        return Cost("table", "*", float(record["cpu_s"]), float(record["peak_memory_mib"]), size, MEASURED)
    return _rated("table", "analysis", 1)


def _option(token: str | None) -> str:
    return str(token).partition("+")[0]


def _rated(job: str, option: str, size: float, share: float = 1.0, scores: float = 0.0) -> Cost:
    rate = costs().get((job, option)) or costs().get((job, "*"))
    if rate is None:
        return Cost(job, option, 0.0, 0.0, 0.0, UNKNOWN)
    cpu = rate.start_s + rate.unit_s * size * share + rate.score_s * scores
    return Cost(job, option, cpu, rate.memory_mib, rate.unit_bytes * size, ESTIMATED)


@cache
def costs() -> dict[tuple[str, str], Rate]:
    """Rates of ``costs.csv`` of the search path by job and option; ``*`` is any option.

    Examples
    --------
    >>> costs()["training", "mnist_mlp"].memory_mib > 100
    True
    """
    found: dict[tuple[str, str], Rate] = {}
    for folder in reversed(search_dirs()):
        if (path := folder / "costs.csv").is_file():
            for row in csv.DictReader(path.read_text("utf-8").splitlines()):
                numbers = [
                    float(row[name]) for name in ("start_s", "unit_s", "memory_mib", "unit_bytes", "score_s")
                ]
                found[row["job"], row["option"]] = Rate(*numbers)
    return found


def format_plan(found: Sequence[Cost], preset: str) -> str:
    """A line for every kind of job, their sum, and how much of it is measured.

    Examples
    --------
    >>> print(
    ...     format_plan(
    ...         [
    ...             Cost("training", "mnist_mlp", 1800, 100, 2**20, ESTIMATED),
    ...             Cost("table", "*", 600, 50, 0, MEASURED),
    ...         ],
    ...         "paper",
    ...     )
    ... )
    job           jobs  CPU hours  longest job   memory      disk
    training         1      0.500     30.0 min  100 MiB     1 MiB  estimated
    table            1      0.167     10.0 min   50 MiB     0 MiB  measured
    all              2      0.667     30.0 min  100 MiB     1 MiB
    25 % of the CPU time is measured on these jobs, 75 % is estimated from rates of costs.csv
    """
    if not found:
        return f"nothing to be made: every result of the {preset} preset that was asked for is there"
    kinds = {job: list(jobs) for job, jobs in groupby(found, key=lambda cost: cost.job)}
    lines = [f"{'job':12}{'jobs':>6}{'CPU hours':>11}{'longest job':>13}{'memory':>9}{'disk':>10}"]
    lines += [f"{_line(job, jobs)}  {_known(jobs)}" for job, jobs in kinds.items()]
    lines.append(_line("all", found))
    total = sum(cost.cpu_s for cost in found)
    share = sum(cost.cpu_s for cost in found if cost.known == MEASURED) / total if total else 0.0
    told = f"{share:.0%}".replace("%", " %"), f"{1 - share:.0%}".replace("%", " %")
    lines.append(
        f"{told[0]} of the CPU time is measured on these jobs, {told[1]} is estimated from rates of costs.csv"
    )
    if nameless := sum(cost.known == UNKNOWN for cost in found):
        lines.append(f"{nameless} jobs have no rate in costs.csv and count as nothing")
    return "\n".join(lines)


def _line(job: str, jobs: Sequence[Cost]) -> str:
    hours, longest = sum(cost.cpu_s for cost in jobs) / 3600, max(cost.cpu_s for cost in jobs) / 60
    memory, disk = max(cost.memory_mib for cost in jobs), sum(cost.disk for cost in jobs) / 2**20
    return f"{job:12}{len(jobs):6}{hours:11.3f}{longest:9.1f} min{memory:5.0f} MiB{disk:6.0f} MiB"


def _known(jobs: Sequence[Cost]) -> str:
    counts = {known: sum(cost.known == known for cost in jobs) for known in (MEASURED, ESTIMATED, UNKNOWN)}
    there = {known: count for known, count in counts.items() if count}
    return (
        next(iter(there))
        if len(there) == 1
        else ", ".join(f"{count} {known}" for known, count in there.items())
    )
