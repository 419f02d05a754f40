"""For artifact reviewers: which command shows a statement, how long it takes, and how far its numbers may be off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gcexp.figures.markdown import grid
from gcexp.files import read_json
from gcexp.report import plan
from gcexp.report import scorecard as cards
from gcexp.report.figure import Figure
from gcexp.run.provenance import finished_provenance, spent

UNKNOWN = "not recorded"
_MOST = 3  # tolerances that are named one by one


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a target from nothing; `computed` where a part is a rate of ``costs.csv`` times its size."""

    cpu_s: float
    computed: bool = False


def page(entries: list[dict], seconds: Mapping[str, Spent | None], titles: Mapping[str, str]) -> str:
    """Targets and statements of every paper, in Markdown.

    Parameters
    ----------
    entries : list of dict
        The published scorecard.
    seconds : mapping
        What each target costs, see `cost`.
    titles : mapping
        Title of each paper.
    """
    stated, claims = cards.parts(entries)
    text = f"{cards.statement_grid(entries)}\n" if stated else ""
    for paper in dict.fromkeys(claim["paper"] for claim in claims):
        mine = [claim for claim in claims if claim["paper"] == paper]
        text += f"## {titles.get(paper, paper)}\n\n{_targets(paper, mine, seconds)}\n"
        if answers := [entry for entry in stated if entry["paper"] == paper]:
            text += _statements(paper, answers, mine, seconds)
    return text


def read(path: Path) -> dict[str, Spent | None]:
    """Costs of targets as `as_json` writes them."""
    return {target: cost and Spent(**cost) for target, cost in read_json(path).items()}


def as_json(costs: Mapping[str, Spent | None]) -> str:
    """Costs of targets, one in a line."""
    lines = (
        f"{json.dumps(target)}: {json.dumps(cost and {'cpu_s': round(cost.cpu_s, 1), 'computed': cost.computed})}"
        for target, cost in sorted(costs.items())
    )
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _targets(paper: str, claims: list[dict], seconds: Mapping[str, Spent | None]) -> str:
    rows = []
    for target in dict.fromkeys(claim["target"] for claim in claims):
        mine = [claim for claim in claims if claim["target"] == target]
        held = sum(claim["outcome"] == cards.HOLDS for claim in mine)
        name = f"{paper}_{target}"
        rows.append([_command(name), minutes(seconds.get(name)), f"{held} of {len(mine)}", tolerances(mine)])
    return grid(("command", "minutes", "claims that hold", "tolerance"), rows, right=(1,))


def _statements(
    paper: str, stated: list[dict], claims: list[dict], seconds: Mapping[str, Spent | None]
) -> str:
    rows = []
    for entry in stated:
        mine = [claim for claim in claims if f"{claim['target']}: {claim['id']}" in entry["claims"]]
        targets = [f"{paper}_{target}" for target in dict.fromkeys(claim["target"] for claim in mine)]
        if targets:
            costs = [seconds.get(target) for target in targets]
            said = f"{entry['source']}: {entry['statement']}"
            rows.append([said, cards.judged_as(entry), _command(*targets), minutes(*costs), tolerances(mine)])
    top = f"A command shows {len(rows)} of {len(stated)} statements, those that do not hold included.\n\n"
    return top + grid(("statement", "outcome", "command", "minutes", "tolerance"), rows, right=(3,)) + "\n"


def _command(*targets: str) -> str:
    return f"snakemake {' '.join(targets)}"


def minutes(*costs: Spent | None) -> str:
    """Some costs together as minutes of one core.

    Examples
    --------
    >>> minutes(Spent(0.4)), minutes(Spent(90.0), Spent(60.0)), minutes(Spent(1.0), None)
    ('0.1', '2.5', 'not recorded')
    >>> minutes(Spent(4790, computed=True), Spent(10.0))
    '80 (computed)'
    """
    there = [cost for cost in costs if cost is not None]
    if len(there) < len(costs):
        return UNKNOWN
    found = max(sum(cost.cpu_s for cost in there) / 60, 0.1)
    text = f"{found:.1f}" if found < 10 else f"{found:.0f}"
    return f"{text} (computed)" if any(cost.computed for cost in there) else text


def tolerances(claims: Iterable[dict]) -> str:
    """How far measured numbers may be from what is expected: bounds, and absolute differences.

    Examples
    --------
    >>> tolerances([{"expected": 1.0, "tolerance": 0.0}, {"expected": 0.5, "tolerance": 0.01}])
    'equal; within 0.01'
    >>> tolerances(
    ...     [{"expected": "<= 1.25", "tolerance": None}, {"expected": "left < right", "tolerance": None}]
    ... )
    'order; <= 1.25'
    """
    bounds: list[str] = []
    within: set[float] = set()
    ordered = False
    for claim in claims:
        expected = str(claim["expected"])
        if claim["tolerance"] is not None:
            within.add(float(claim["tolerance"]))
        elif expected.startswith(("<", ">")):
            bounds.append(expected)
        else:  # which of two numbers is larger; else a text
            ordered |= "left" in expected
            within |= set() if "left" in expected else {0.0}
    told = [word for word, given in (("equal", 0.0 in within), ("order", ordered)) if given]
    far = sorted(within - {0.0})
    if len(far) > _MOST:
        told.append(f"within {far[0]:.2g} to {far[-1]:.2g}")
    else:
        told += [f"within {one:.2g}" for one in far]
    bounds = list(dict.fromkeys(bounds))
    told += bounds if len(bounds) <= _MOST else [f"{len(bounds)} bounds"]
    return "; ".join(told)


def cost(figure: Figure, table: str | Path) -> Spent | None:
    """What a table costs with all that it is made of; None where that is not known of a part.

    A part that is at hand says it itself, else the table's provenance does, else it is computed as `gcexp.report.plan`
    does it.

    Parameters
    ----------
    figure : Figure
        Its `inputs` are timelines, trajectories and replays; a training that several figures share counts for each.
    table : path
        The table, made here or published.
    """
    kept = finished_provenance(table).get("inputs_cpu_s", {})
    parts = {path: spent(path) if spent(path) is not None else kept.get(path) for path in figure.inputs}
    missing = [path for path, seconds in parts.items() if seconds is None]
    computed = plan.rated(figure, missing) if missing else 0.0
    own = spent(table)
    if own is None or computed is None:
        return None
    return Spent(own + computed + sum(part for part in parts.values() if part is not None), bool(missing))
