"""What is published is what the figure files say: every claim is checked again against its published table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gcexp.figures import lines, parse, read_table, rows, style
from gcexp.figures.plots import LinesPlot
from gcexp.report import publish, scorecard
from gcexp.report.claims import check
from gcexp.report.figurefile import statements, target_files
from gcexp.report.published import published_targets

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports" / "published"
TARGETS = published_targets()


def published(path: str) -> Path:
    return ROOT / publish.published(path)


@pytest.fixture
def figure(request, published_figure):
    return published_figure(request.param)


@pytest.fixture
def all_figures(published_figure):
    return [published_figure(target) for target in TARGETS]


@pytest.mark.parametrize("figure", TARGETS, indirect=True)
def test_claims_follow_from_the_table(figure):
    entries = check(
        figure.file.claims, read_table(published(figure.table)), figure.paper, figure.name, figure.seeds
    )
    assert json.loads(json.dumps(entries)) == json.loads(published(figure.claims).read_text())


@pytest.mark.parametrize("figure", TARGETS, indirect=True)
def test_every_target_is_published_and_on_its_paper_page(figure):
    for product in figure.products:
        assert published(product).is_file()
    page = (ROOT / "gcexp_papers" / figure.paper / "README.md").read_text()
    config = f"(figures/{figure.name}.yaml)"
    table = f"(../../reports/published/data/{published(figure.table).name})"
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{figure.target}` |")]
    assert config in row and table in row


@pytest.mark.parametrize("figure", TARGETS, indirect=True)
def test_a_plan_knows_the_columns_of_the_table(figure):
    assert set(figure.columns) == {*map(str, read_table(published(figure.table)))}


def test_nothing_else_is_published(all_figures):
    found = {path for path in PUBLISHED.rglob("*.*") if path.parent != PUBLISHED}
    wanted = {published(product) for figure in all_figures for product in figure.products}
    wanted |= {PUBLISHED / "data" / f"{figure.target}.provenance.json" for figure in all_figures}
    assert found == wanted


def test_published_tables_can_be_read_where_they_lie(all_figures):
    for figure in all_figures:
        table = published(figure.table)
        assert (table.suffix == ".gz") or table.stat().st_size <= publish.MOST_SHOWN
    page = PUBLISHED / "index.html"  # which holds its drawings once more
    assert sum(path.stat().st_size for path in PUBLISHED.rglob("*.*") if path != page) < 18e6
    assert page.stat().st_size < 9e6


def test_the_scorecard_is_made_of_the_claims(all_figures):
    claims = [entry for figure in all_figures for entry in json.loads(published(figure.claims).read_text())]
    entries = json.loads((PUBLISHED / "scorecard.json").read_text())
    assert (
        entries
        == scorecard.answered(claims, {figure.paper: statements(figure.paper) for figure in all_figures})
        + claims
    )
    assert (PUBLISHED / "scorecard.md").read_text() == scorecard.to_markdown(entries)


def test_every_statement_of_a_paper_is_in_its_scorecard(published_figure):
    stated, _ = scorecard.parts(json.loads((PUBLISHED / "scorecard.json").read_text()))
    later = {
        (figure.paper, name)
        for figure in map(published_figure, target_files())
        if not published(figure.table).is_file()
        for claim in figure.file.claims
        for name in (one.partition("/")[0] for one in claim.get("answers", ()))
    }
    for paper in {published_figure(target).paper for target in TARGETS}:
        mine = [entry for entry in stated if entry["paper"] == paper]
        assert [entry["id"] for entry in mine] == list(statements(paper))
        for entry in mine:
            assert entry["outcome"] == "holds" or entry["reason"]
            waits = (paper, entry["id"]) in later
            assert entry["claims"] or entry["outcome"] == "not checkable" or waits


def test_a_companion_that_fails_says_what_it_contradicts():
    """Perhaps nothing; it never stays beside a statement without a word."""
    _, claims = scorecard.parts(json.loads((PUBLISHED / "scorecard.json").read_text()))
    for entry in claims:
        silent = entry["kind"] == "companion" and entry["outcome"] == "does not hold"
        assert not silent or entry["contradicts"] is not None, entry["id"]


def test_what_does_not_hold_has_a_reason():
    _, claims = scorecard.parts(json.loads((PUBLISHED / "scorecard.json").read_text()))
    for entry in claims:
        if entry["outcome"] == "does not hold":
            assert not entry["reason"].startswith("measured "), entry[
                "id"
            ]  # a sentence, not just the numbers


def test_one_label_has_one_look_in_all_published_figures(all_figures):
    """Every scheme that is drawn as a line has a look of its own, which no other one of its figure has."""
    with style.applied():
        for figure in all_figures:
            plot = parse(figure.file.plot)
            parts = [part for part in getattr(plot, "plots", (plot,)) if isinstance(part, LinesPlot)]
            table = read_table(published(figure.table))
            drawn = [(rows.chosen(table, part.where), part) for part in parts]
            points = {name for part in parts for name in part.points}
            looks = {name: str(look) for name, look in lines.looks(drawn, []).items() if name not in points}
            solid = [name for name in looks if not any(name in part.dashed for part in parts)]
            assert [name for name in solid if len(solid) > 1 and not style.has_look(name)] == []
            assert len(set(looks.values())) == len(looks), figure.target


def test_no_drawn_median_ends_beyond_its_axes(all_figures):
    """The winner is seen: neither the highest nor the last median of a line lies above the end of its axis."""
    for figure in all_figures:
        plot = parse(figure.file.plot)
        for part in getattr(plot, "plots", (plot,)):
            if not isinstance(part, LinesPlot) or part.ylim is None or part.ylim[1] is None:
                continue
            table = rows.chosen(read_table(published(figure.table)), part.where)
            keys = [part.by, part.x, *([part.panel] if part.panel else [])]
            assert table.groupby(keys)[part.y].median().max() <= part.ylim[1], figure.target
