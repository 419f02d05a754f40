"""What is published is what the figure files say: every claim is checked again against its published table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gcexp.figures import read_table
from gcexp.report.claims import check
from gcexp.report.figurefile import figures

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports" / "published"
FIGURES = figures("paper")


def published(path: str) -> Path:
    return PUBLISHED / Path(path).relative_to("reports/paper")


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.target)
def test_claims_follow_from_the_table(figure):
    entries = check(figure.file.claims, read_table(published(figure.table)), figure.paper, figure.name)
    assert json.loads(json.dumps(entries)) == json.loads(published(figure.claims).read_text())


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.target)
def test_every_target_is_published_and_on_its_paper_page(figure):
    for product in figure.products:
        assert published(product).is_file()
    page = (ROOT / "docs" / "papers" / f"{figure.paper}.md").read_text()
    config = f"(../../conf/figure/{figure.paper}/{figure.name}.yaml)"
    table = f"(../../reports/published/data/{figure.target}.csv)"
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{figure.target}` |")]
    assert config in row and table in row


def test_nothing_else_is_published():
    names = {path.name.partition(".")[0] for path in PUBLISHED.rglob("*.*") if path.parent != PUBLISHED}
    assert names == {figure.target for figure in FIGURES}


def test_scorecard_and_readme_count_the_same_claims():
    entries = [entry for figure in FIGURES for entry in json.loads(published(figure.claims).read_text())]
    assert json.loads((PUBLISHED / "scorecard.json").read_text()) == entries
    failed = sum(entry["outcome"] == "not reproduced" for entry in entries)
    (counts,) = re.findall(r"All claims \((\d+), of which (\d+)", (ROOT / "README.md").read_text())
    assert counts == (str(len(entries)), str(failed))


def test_what_is_not_reproduced_has_a_reason():
    for entry in json.loads((PUBLISHED / "scorecard.json").read_text()):
        if entry["outcome"] == "not reproduced":
            assert not entry["reason"].startswith("measured "), entry[
                "id"
            ]  # a sentence, not just the numbers
