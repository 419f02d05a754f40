"""What will a preset cost? Jobs, CPU hours, memory and disk before anything is submitted: behind ``gcexp plan``."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from gcexp.errors import UserError, unknown
from gcexp.report.figurefile import PRESETS, Figure, figures
from gcexp.report.publish import table_of
from gcexp.run import paths
from gcexp.run.options import search_dirs
from gcexp.run.provenance import provenance_file
from gcexp.run.run import Run

#: Where a number comes from: the same job's provenance, a rate of ``costs.csv`` times its size, or nowhere.
MEASURED, ESTIMATED, UNKNOWN = "measured", "estimated", "unknown"


@dataclass(frozen=True)
class Rate:
    """Cost of a kind of job in ``costs.csv``: a start, and so much for each unit of its size.

    Attributes
    ----------
    start_s, unit_s : float
        CPU seconds; a unit is an iteration of a seed, times the workers for a timeline.
    memory_mib : float
    unit_bytes : float
        Of its result on disk.
    """

    start_s: float
    unit_s: float
    memory_mib: float
    unit_bytes: float


@dataclass(frozen=True)
class Cost:
    """Cost of one job: CPU seconds, peak memory in MiB, bytes on disk, and how they are known."""

    job: str
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
        Figures or papers; by default all of the preset, with the page.

    Returns
    -------
    list of Cost
        By kind of job, in the order in which they run. A run that ends at its horizon is counted with all its
        iterations.

    Raises
    ------
    UserError
        For an unknown preset or target.
    """
    if preset not in PRESETS:
        raise UserError(unknown("preset", preset, PRESETS))
    all_figures = figures(preset)
    known = {name for one in all_figures for name in (one.target, one.paper)}
    for target in targets:
        if target not in known:
            raise UserError(unknown("target", target, known))
    chosen = [one for one in all_figures if not targets or {one.target, one.paper} & set(targets)]
    runs = {(run.id, run.task): run for one in chosen for run in one.runs}
    found = [
        *_jobs({_data(run): run for run in runs.values() if run.task}, _of_data),
        *_jobs({run.timeline: run for run in runs.values()}, _of_timeline),
        *_jobs({run.trajectory: run for run in runs.values() if run.task}, _of_training),
        *_jobs({r.verification: r for r in runs.values() if r.task and r.exact}, _of_replay),
        *_jobs({one.table: one for one in chosen}, _of_table),
        *_jobs({one.claims: one for one in chosen}, lambda path, one: _rated("drawing", "*", 1)),
    ]
    if not targets and not Path(paths.PAGE.format(preset=preset)).exists():
        found += [_rated("page", "*", 1)]
    return found


def _jobs(outputs: dict, cost: Callable[[str, Any], Cost]) -> list[Cost]:
    return [cost(path, what) for path, what in outputs.items() if not Path(path).exists()]


def _data(run: Run) -> str:
    return paths.DATA.format(dataset=run.config["task"]["dataset"])


def _of_data(path: str, run: Run) -> Cost:
    return _rated("data", run.config["task"]["dataset"], 1)


def _of_timeline(path: str, run: Run) -> Cost:
    workers = run.config["n"] or 1
    return _rated("timeline", _option(run.scheme), _iterations(run) * workers)


def _of_training(path: str, run: Run) -> Cost:
    return _rated("training", _option(run.task), _iterations(run))


def _of_replay(path: str, run: Run) -> Cost:
    kept = 1 + run.iterations // run.config["task"].get("verify_every", 100)
    return _rated("replay", _option(run.task), kept * len(run.seed_list))


def _of_table(path: str, one: Figure) -> Cost:
    """Measured where the table is published, with its cost beside it."""
    with suppress(UserError, OSError, ValueError, KeyError, TypeError):
        table = table_of(one)
        record = json.loads(provenance_file(table).read_text("utf-8"))
        size = table.stat().st_size
        return Cost("table", float(record["cpu_s"]), float(record["peak_memory_mib"]), size, MEASURED)
    return _rated("table", "*" if one.runs else "analysis", 1)


def _iterations(run: Run) -> int:
    return run.iterations * len(run.seed_list)


def _option(token: str | None) -> str:
    return str(token).partition("+")[0]


def _rated(job: str, option: str, size: float) -> Cost:
    rate = costs().get((job, option)) or costs().get((job, "*"))
    if rate is None:
        return Cost(job, 0.0, 0.0, 0.0, UNKNOWN)
    cpu = rate.start_s + rate.unit_s * size
    return Cost(job, cpu, rate.memory_mib, rate.unit_bytes * size, ESTIMATED)


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
                numbers = [float(row[name]) for name in ("start_s", "unit_s", "memory_mib", "unit_bytes")]
                found[row["job"], row["option"]] = Rate(*numbers)
    return found


def as_text(found: Sequence[Cost], preset: str) -> str:
    """A line for every kind of job, their sum, and how much of it is measured.

    Examples
    --------
    >>> print(
    ...     as_text(
    ...         [Cost("timeline", 1800, 100, 2**20, ESTIMATED), Cost("table", 600, 50, 0, MEASURED)], "paper"
    ...     )
    ... )
    job           jobs  CPU hours  longest job   memory      disk
    timeline         1      0.500     30.0 min  100 MiB     1 MiB  estimated
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
