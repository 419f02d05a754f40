"""The page for artifact reviewers has a command for every statement that a claim answers, as the scorecard has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gcexp.report import artifact, publish, shown
from gcexp.report import scorecard as cards

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"


def claim(target, answers, **more):
    about = {"paper": "p", "target": target, "id": target, "kind": "statement", "answers": answers}
    return about | {"outcome": "holds", "expected": 1.0, "tolerance": 0.0} | more


def statement(name, claims):
    entry = {"paper": "p", "id": name, "source": "Sec. 1", "statement": f"it is {name}", "conditions": ""}
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
    page = artifact.page(entries, {"p_a": 30.0, "p_b": 600.0}, {"p": "A paper"})
    assert "## A paper" in page and "2 of 3 statements are shown by a command; 1 can" in page
    assert "| Sec. 1: it is quick | holds | snakemake p\\_a | 0.5 | within 0.25 |" in page
    assert "| Sec. 1: it is slow | holds | snakemake p\\_a p\\_b | 10 | within 0.25; &lt;= 2 |" in page
    assert artifact.UNKNOWN in artifact.page(entries, {"p_a": 30.0}, {})


def test_a_cost_is_that_of_all_parts(tmp_path):
    class Figure:
        inputs = [str(tmp_path / "timeline.npz"), str(tmp_path / "trajectory.npz")]

    for name, spent in (("table", 1.0), ("timeline", 2.0), ("trajectory", 60.0)):
        assert artifact.cost(Figure, tmp_path / "table.csv") is None
        (tmp_path / f"{name}.provenance.json").write_text(json.dumps({"cpu_s": spent}))
    assert artifact.cost(Figure, tmp_path / "table.csv") == pytest.approx(63)


def test_the_page_is_that_of_the_published_scorecard(monkeypatch):
    monkeypatch.chdir(ROOT)
    entries = json.loads((PUBLISHED / "scorecard.json").read_text())
    costs = json.loads((PUBLISHED / "costs.json").read_text())
    titles = {name: paper.title for name, paper in shown.papers().items()}
    assert artifact.page(entries, costs, titles) in (ROOT / "docs" / "artifact.md").read_text()
    assert set(publish.published_targets()) == set(costs)
