"""What will a preset cost? Jobs, CPU hours, memory and disk before anything is submitted: behind ``gcexp plan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from gcexp.errors import UserError, require_known
from gcexp.report.figure import Figure
from gcexp.report.figurefile import PRESETS, named_figures
from gcexp.report.published import table_of
from gcexp.report.statements import committed_outcomes
from gcexp.report.targets import page_files, paper_of
from gcexp.run import paths
from gcexp.run.costs import Cost, clock_cost, combine_costs, cost_by_rate, replay_cost, training_cost
from gcexp.run.provenance import provenance_file
from gcexp.run.run import Run


def plan(preset: str, targets: Sequence[str] = ()) -> list[Cost]:
    """Cost of every job that some targets need and whose result is not there, in the order in which they run.

    Targets are figures or papers; by default all of the preset, in a project its own, with the page.
    """
    require_known("preset", preset, PRESETS)
    asked = _targets_asked(targets)
    figures = named_figures(asked, preset)
    if not targets:
        committed_outcomes()  # which the page shows
    found = _training_costs(figures)
    for figure in figures:
        if not Path(figure.table).exists():
            found.append(table_cost(figure))
    for figure in figures:
        if not Path(figure.drawings[0]).exists():
            found.append(cost_by_rate("drawing", "*", 1))
    if not targets and not Path(paths.PAGE.format(preset=preset)).exists():
        found.append(cost_by_rate("page", "*", 1))
    return found


def _targets_asked(targets: Sequence[str]) -> list[str]:
    """Targets of the figures that are asked for, by themselves or by their paper; all of them by default."""
    files = page_files(published=bool(targets))
    if not targets:
        return list(files)
    known = {*files, *map(paper_of, files.values())}
    for target in targets:  # told before any figure is read
        require_known("target", target, known)
    asked = []
    for target, path in files.items():
        if target in targets or paper_of(path) in targets:
            asked.append(target)
    return asked


def _training_costs(figures: Sequence[Figure]) -> list[Cost]:
    """Costs of the data sets and of the trainings of some figures that are not there, each once."""
    trajectories: dict[str, Run] = {}
    for figure in figures:
        for run in figure.runs:
            if run.trains:
                trajectories[run.trajectory_file] = run
    found = []
    for dataset in dict.fromkeys(run.dataset for run in trajectories.values()):
        if not Path(paths.DATA.format(dataset=dataset)).exists():
            found.append(cost_by_rate("data", dataset, 1))
    for file, run in trajectories.items():
        if not Path(file).exists():
            found.append(training_cost(run))
    return found


def table_cost(figure: Figure) -> Cost:
    """Cost of the table of a figure.

    A figure of runs simulates their clocks and replays exact schemes; an analysis should take what its published table
    took.
    """
    if not figure.runs:
        made = _cost_by_provenance(figure)
        if made is not None:
            return made
    parts = [cost_by_rate("table", "*", 1)]
    for run in figure.runs:
        if run.trains and run.exact:
            parts.append(replay_cost(run))
    parts += [clock_cost(run) for run in figure.runs]
    return combine_costs(*parts)


def _cost_by_provenance(figure: Figure) -> Cost | None:
    """What the table of an analysis took, by its provenance; None where that is not told."""
    with suppress(UserError, OSError, ValueError, KeyError, TypeError):
        table = table_of(figure)
        record = json.loads(provenance_file(table).read_text("utf-8"))
        return Cost("table", record["cpu_s"], record["peak_memory_mib"], table.stat().st_size)
    return None


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
    for job, jobs in groupby(found, key=lambda cost: cost.job):
        lines.append(_line(job, list(jobs)))
    lines.append(_line("all", found))
    lines.append("Estimated from the rates of costs.csv.")
    nameless = sum(not cost.known for cost in found)
    if nameless:
        lines.append(f"{nameless} jobs have no rate in costs.csv and count as nothing.")
    return "\n".join(lines)


def _line(job: str, jobs: Sequence[Cost]) -> str:
    """The line of some jobs: how many they are, their sums of hours and disk, the longest, and the largest memory."""
    hours = sum(cost.cpu_s for cost in jobs) / 3600
    longest = max(cost.cpu_s for cost in jobs) / 60
    memory = max(cost.memory_mib for cost in jobs)
    disk = sum(cost.disk for cost in jobs) / 2**20
    return f"{job:12}{len(jobs):6}{hours:11.3f}{longest:9.1f} min{memory:5.0f} MiB{disk:6.0f} MiB"
