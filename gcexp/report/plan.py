"""What will a preset cost? Jobs, CPU hours, memory and disk before anything is submitted: behind ``gcexp plan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from gcexp.errors import UserError, require_known
from gcexp.report.figure import Figure
from gcexp.report.figurefile import PRESETS, named_figures, page_files, paper_of
from gcexp.report.published import table_of
from gcexp.report.statements import committed
from gcexp.run import paths
from gcexp.run.costs import Cost, of_clock, of_replay, of_training, rated, together
from gcexp.run.provenance import provenance_file


def plan(preset: str, targets: Sequence[str] = ()) -> list[Cost]:
    """Cost of every job that some targets need and whose result is not there, in the order in which they run.

    Targets are figures or papers; by default all of the preset, in a project its own, with the page.
    """
    require_known("preset", preset, PRESETS)
    files = page_files(published=bool(targets))
    known = {*files, *map(paper_of, files.values())}
    for target in targets:  # told before any figure is read
        require_known("target", target, known)
    if targets:
        asked = [target for target, path in files.items() if {target, paper_of(path)} & {*targets}]
    else:
        asked = list(files)
    chosen = named_figures(asked, preset)
    if not targets:
        committed()  # which the page shows
    trained = [run for one in chosen for run in one.runs if run.trains]
    data = dict.fromkeys(run.dataset for run in trained)
    trainings = {run.trajectory_file: run for run in trained}
    found = [rated("data", name, 1) for name in data if not Path(paths.DATA.format(dataset=name)).exists()]
    found += [of_training(run) for path, run in trainings.items() if not Path(path).exists()]
    found += [of_table(one) for one in chosen if not Path(one.table).exists()]
    found += [rated("drawing", "*", 1) for one in chosen if not Path(one.drawings[0]).exists()]
    if not targets and not Path(paths.PAGE.format(preset=preset)).exists():
        found.append(rated("page", "*", 1))
    return found


def of_table(one: Figure) -> Cost:
    """Of runs its clocks and the replays of exact schemes; of an analysis what the published table took."""
    if not one.runs:
        made = _as_it_was_made(one)
        if made is not None:
            return made
    parts = [rated("table", "*", 1)]
    parts += [of_replay(run) for run in one.runs if run.trains and run.exact]
    parts += [of_clock(run) for run in one.runs]
    return together(*parts)


def _as_it_was_made(one: Figure) -> Cost | None:
    """What the table of an analysis took, by its provenance; None where that is not told."""
    with suppress(UserError, OSError, ValueError, KeyError, TypeError):
        table = table_of(one)
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
    lines += [_line(job, list(jobs)) for job, jobs in groupby(found, key=lambda cost: cost.job)]
    lines += [_line("all", found), "Estimated from the rates of costs.csv."]
    nameless = sum(not cost.known for cost in found)
    if nameless:
        lines.append(f"{nameless} jobs have no rate in costs.csv and count as nothing.")
    return "\n".join(lines)


def _line(job: str, jobs: Sequence[Cost]) -> str:
    hours = sum(cost.cpu_s for cost in jobs) / 3600
    longest = max(cost.cpu_s for cost in jobs) / 60
    memory = max(cost.memory_mib for cost in jobs)
    disk = sum(cost.disk for cost in jobs) / 2**20
    return f"{job:12}{len(jobs):6}{hours:11.3f}{longest:9.1f} min{memory:5.0f} MiB{disk:6.0f} MiB"
