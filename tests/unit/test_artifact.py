"""The page for artifact reviewers has a command for every statement that a claim answers, as the scorecard has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gcexp.report import artifact, figure_view, published
from gcexp.report import scorecard as cards
from gcexp.report.artifact import Spent
from gcexp.report.figurefile import target_files

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"


def claim(target, answers, **more):
    about = {"paper": "p", "target": target, "id": target, "kind": "statement", "answers": answers}
    about |= {"inputs": "paper", "check": target}
    return about | {"outcome": "holds", "expected": 1.0, "tolerance": 0.0} | more


def statement(name, claims):
    entry = {"paper": "p", "id": name, "source": "Sec. 1", "statement": f"it is {name}", "conditions": ""}
    entry |= {"grade": "built", "assumed": False, "calibrated": "", "parts": {}, "contradicted_by": []}
    return {
        key: (entry | {"outcome": "holds", "claims": claims, "reason": ""})[key]
        for key in cards.STATEMENT_FIELDS
    }


def test_a_statement_has_its_commands_minutes_and_tolerances():
    entries = [
        statement("quick", ["a: a"]),
        statement("slow", ["a: a", "b: b"]),
        statement("silent", []),
        claim("a", ["quick", "slow"], tolerance=0.25),
        claim("b", ["slow"], expected="<= 2", tolerance=None),
    ]
    page = artifact.page(entries, {"p_a": Spent(30.0), "p_b": Spent(600.0)}, {"p": "A paper"})
    assert "## A paper" in page and "A command shows 2 of 3 statements" in page
    assert "| Sec. 1: it is quick | holds, built | snakemake p\\_a | 0.5 | within 0.25 |" in page
    assert "| Sec. 1: it is slow | holds, built | snakemake p\\_a p\\_b | 10 | within 0.25; &lt;= 2 |" in page
    assert artifact.UNKNOWN in artifact.page(entries, {"p_a": Spent(30.0)}, {})


def test_a_cost_is_that_of_all_parts(tmp_path, monkeypatch):
    """What is at hand says its cost; the table's provenance keeps that of what is not; the rest is computed."""

    class Figure:
        inputs = [str(tmp_path / "timeline.npz"), str(tmp_path / "trajectory.npz")]

    def record(name, **more):
        (tmp_path / f"{name}.provenance.json").write_text(json.dumps(more))

    table = tmp_path / "table.csv"
    monkeypatch.setattr(artifact.plan, "rated", lambda figure, files: 100.0 * len(files))
    assert artifact.cost(Figure, table) is None
    record("table", cpu_s=1.0)
    assert artifact.cost(Figure, table) == Spent(201, computed=True)
    record("timeline", cpu_s=2.0)
    assert artifact.cost(Figure, table) == Spent(103, computed=True)
    record("trajectory", cpu_s=60.0, cpu_s_before=40.0)  # resumed once
    assert artifact.cost(Figure, table) == Spent(103)
    record("trajectory", cpu_s=60.0, cpu_s_before=None)  # by a version that did not keep it
    assert artifact.cost(Figure, table) == Spent(103, computed=True)
    record("table", cpu_s=1.0, inputs_cpu_s=dict.fromkeys(Figure.inputs, 7.0))
    assert artifact.cost(Figure, table) == Spent(10)
    monkeypatch.setattr(artifact.plan, "rated", lambda figure, files: None)
    record("table", cpu_s=1.0)
    assert artifact.cost(Figure, table) is None


def test_costs_are_read_as_they_were_written(tmp_path):
    costs = {"a": Spent(1.5), "b": Spent(7000.0, computed=True), "c": None}
    (tmp_path / "costs.json").write_text(artifact.as_json(costs))
    assert artifact.read(tmp_path / "costs.json") == costs


@pytest.mark.usefixtures("clone")
def test_no_published_target_lacks_its_minutes():
    costs = artifact.read(PUBLISHED / "costs.json")
    assert set(costs) == set(target_files()) and all(costs.values())
    slow = {target.partition("_fig")[0] for target, cost in costs.items() if cost.computed}
    assert slow <= {"partial_recovery", "adaptive"}  # MNIST and CIFAR-10 alone


@pytest.mark.usefixtures("clone")
def test_the_page_is_that_of_the_published_scorecard(monkeypatch):
    monkeypatch.chdir(ROOT)
    entries = json.loads((PUBLISHED / "scorecard.json").read_text())
    costs = artifact.read(PUBLISHED / "costs.json")
    titles = {name: paper.title for name, paper in figure_view.papers().items()}
    assert artifact.page(entries, costs, titles) in (ROOT / "docs" / "artifact.md").read_text()
    assert set(published.published_targets()) == set(costs)
