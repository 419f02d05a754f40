"""What will a preset cost? Jobs, CPU hours, memory and disk before anything is submitted: behind ``gcexp plan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import groupby
from pathlib import Path

from gcexp.errors import UserError, require_known
from gcexp.report.figure import Figure
from gcexp.report.figurefile import PRESETS, figures, page_files, paper_of
from gcexp.report.published import table_of
from gcexp.report.statements import rows_of
from gcexp.run import paths
from gcexp.run.options import search_dirs
from gcexp.run.provenance import provenance_file
from gcexp.run.run import Run

_SAMPLED = 100  # iterations from which the length of a run is foretold


@dataclass(frozen=True)
class Rate:
    """Cost of a kind of job in ``costs.csv``: a start, and so much for each unit of its size, in CPU seconds.

    A unit of a clock is a worker in an iteration of a seed, of a training a gradient over all data, of a replay a
    kept parameter of a seed; a training is scored besides.
    """

    start_s: float
    unit_s: float
    memory_mib: float
    unit_bytes: float
    score_s: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Estimated cost of one job: CPU seconds, peak memory in MiB, bytes on disk, and whether a rate is known."""

    job: str
    cpu_s: float
    memory_mib: float
    disk: float
    known: bool = True


def plan(preset: str, targets: Sequence[str] = ()) -> list[Cost]:
    """Cost of every job that some targets need and whose result is not there, in the order in which they run.

    Targets are figures or papers; by default all of the preset, in a project its own, with the page.
    """
    require_known("preset", preset, PRESETS)
    files = page_files(published=bool(targets))
    known = {*files, *map(paper_of, files.values())}
    for target in targets:  # told before any figure is read
        require_known("target", target, known)
    all_figures = figures(preset, published=bool(targets))
    chosen = [one for one in all_figures if not targets or {one.target, one.paper} & set(targets)]
    trained = [run for one in chosen for run in one.runs if run.trains]
    data = dict.fromkeys(run.dataset for run in trained)
    trainings = {run.trajectory_file: run for run in trained}
    found = [_rated("data", name, 1) for name in data if not Path(paths.DATA.format(dataset=name)).exists()]
    found += [_of_training(run) for path, run in trainings.items() if not Path(path).exists()]
    found += [_of_table(one) for one in chosen if not Path(one.table).exists()]
    found += [_rated("drawing", "*", 1) for one in chosen if not Path(one.drawings[0]).exists()]
    if not targets and not Path(paths.PAGE.format(preset=preset)).exists():
        found.append(_rated("page", "*", 1))
    return found


def _of_training(run: Run) -> Cost:
    """Gradients over all data and scorings; an approximate training is replayed by the same job."""
    task = run.config["task"]
    steps, share = _learned(run)
    scores = len(run.seeds) + steps / task.get("evaluate_every", 1)
    cost = _rated("training", run.option("task"), steps, share, scores)
    return cost if run.exact else _together(cost, _of_replay(run))


def _of_replay(run: Run) -> Cost:
    steps, share = _learned(run)
    kept = len(run.seeds) + steps / run.config["task"].get("verify_every", 100)
    return _rated("replay", run.option("task"), kept, share)


def _learned(run: Run) -> tuple[float, float]:
    """Iterations of all seeds in which a run learns, and the share of the data in their gradients."""
    most, seeds = run.iterations, len(run.seeds)
    if run.exact:  # one training for all exact schemes: it ends at no clock
        return most * seeds, 1.0
    duration, share = _sampled(run.overrides)
    return seeds * (min(most, run.horizon / duration) if run.horizon else most), share


@cache
def _sampled(overrides: tuple[str, ...]) -> tuple[float, float]:
    """Mean duration of an iteration and mean share of partitions in its gradient, over the first of one seed."""
    whole = Run.of(overrides, checked=False)
    shorter = {"iterations": min(_SAMPLED, whole.iterations), "horizon": None, "seeds": list(whole.seeds[:1])}
    timeline = replace(whole, config=whole.config | shorter).clock()
    used = (timeline.coefficients != 0).mean(1)[timeline.pattern]
    return float(timeline.duration.mean()), float(used.mean())


def _of_table(one: Figure) -> Cost:
    """Of runs its clocks and the replays of exact schemes; of an analysis what the published table took."""
    rows = _rated("table", "*", 1)
    with suppress(UserError, OSError, ValueError, KeyError, TypeError):
        if not one.runs:
            record = json.loads(provenance_file(table := table_of(one)).read_text("utf-8"))
            return Cost("table", record["cpu_s"], record["peak_memory_mib"], table.stat().st_size)
    parts = [rows, *(_of_replay(run) for run in one.runs if run.trains and run.exact)]
    for run in one.runs:
        size = run.iterations * len(run.seeds) * (run.config["n"] or 1)
        parts.append(_rated("clock", run.option("scheme"), size))
    return _together(*parts)


def _together(*parts: Cost) -> Cost:
    """What one job costs that does several things, the first of which says its kind and its place on disk."""
    memory, known = max(part.memory_mib for part in parts), all(part.known for part in parts)
    return replace(parts[0], cpu_s=sum(part.cpu_s for part in parts), memory_mib=memory, known=known)


def _rated(job: str, option: str | None, size: float, share: float = 1.0, scores: float = 0.0) -> Cost:
    rate = costs().get((job, str(option))) or costs().get((job, "*"))
    if rate is None:
        return Cost(job, 0.0, 0.0, 0.0, known=False)
    cpu = rate.start_s + rate.unit_s * size * share + rate.score_s * scores
    return Cost(job, cpu, rate.memory_mib, rate.unit_bytes * size)


@cache
def costs() -> dict[tuple[str, str], Rate]:
    """Rates of ``costs.csv`` of the search path by job and option; ``*`` is any option."""
    names, found = [one.name for one in fields(Rate)], {}
    for folder in reversed(search_dirs()):
        for _, row in rows_of(folder / "costs.csv", ["job", "option", *names], more=True):
            found[row["job"], row["option"]] = Rate(**{name: float(row[name]) for name in names})
    return found


def format_plan(found: Sequence[Cost], preset: str) -> str:
    """A line for every kind of job, and their sum.

    >>> print(format_plan([Cost("training", 1800, 100, 2**20), Cost("table", 600, 50, 0)], "paper"))
    job           jobs  CPU hours  longest job   memory      disk
    training         1      0.500     30.0 min  100 MiB     1 MiB
    table            1      0.167     10.0 min   50 MiB     0 MiB
    all              2      0.667     30.0 min  100 MiB     1 MiB
    Estimated from the rates of costs.csv.
    """
    if not found:
        return f"nothing to be made: every result of the {preset} preset that was asked for is there"
    lines = [f"{'job':12}{'jobs':>6}{'CPU hours':>11}{'longest job':>13}{'memory':>9}{'disk':>10}"]
    lines += [_line(job, list(jobs)) for job, jobs in groupby(found, key=lambda cost: cost.job)]
    lines += [_line("all", found), "Estimated from the rates of costs.csv."]
    if nameless := sum(not cost.known for cost in found):
        lines.append(f"{nameless} jobs have no rate in costs.csv and count as nothing.")
    return "\n".join(lines)


def _line(job: str, jobs: Sequence[Cost]) -> str:
    hours, longest = sum(cost.cpu_s for cost in jobs) / 3600, max(cost.cpu_s for cost in jobs) / 60
    memory, disk = max(cost.memory_mib for cost in jobs), sum(cost.disk for cost in jobs) / 2**20
    return f"{job:12}{len(jobs):6}{hours:11.3f}{longest:9.1f} min{memory:5.0f} MiB{disk:6.0f} MiB"
