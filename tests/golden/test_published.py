"""What is published is what the figure files say, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcexp.figures import lines, parse, read_table, rows, style
from gcexp.figures.plots import LinesPlot
from gcexp.report import audit, publish
from gcexp.report.targets import target_files

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports" / "published"
TARGETS = [target for target in target_files() if any(PUBLISHED.glob(f"data/{target}.csv*"))]


def published(path: str) -> Path:
    return ROOT / publish.published_file(path)


@pytest.fixture
def all_figures(published_figure):
    return [published_figure(target) for target in TARGETS]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_published_with_the_columns_that_a_plan_knows(target, published_figure):
    figure = published_figure(target)
    assert published(figure.drawings[0 if figure.is_table else 1]).is_file()
    page = (ROOT / "gcexp_papers" / figure.paper / "README.md").read_text()
    config = f"(figures/{figure.name}.yaml)"
    table = f"(../../reports/published/data/{published(figure.table).name})"
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{figure.target}` |")]
    assert config in row and table in row
    assert set(figure.columns) == {*map(str, read_table(published(figure.table)))}


def test_nothing_else_is_published(all_figures):
    found = {path for path in PUBLISHED.rglob("*.*") if path.parent != PUBLISHED}
    wanted = {published(figure.table) for figure in all_figures}
    wanted |= {published(figure.drawings[0 if figure.is_table else 1]) for figure in all_figures}
    wanted |= {PUBLISHED / "data" / f"{figure.target}.provenance.json" for figure in all_figures}
    wanted |= {PUBLISHED / "statements" / f"{folder.name}.md" for folder in audit.papers().values()}
    assert found == wanted


def test_published_tables_can_be_read_where_they_lie(all_figures):
    for figure in all_figures:
        table = published(figure.table)
        assert (table.suffix == ".gz") or table.stat().st_size <= publish.MOST_SHOWN
    assert sum(path.stat().st_size for path in PUBLISHED.rglob("*.*")) < 14e6


def test_one_label_has_one_look_in_all_published_figures(all_figures):
    """Every scheme that is drawn as a line has a look of its own, which no other one of its figure has."""
    with style.use_style():
        for figure in all_figures:
            plot = parse(figure.file.plot)
            if not isinstance(plot, LinesPlot):
                continue
            table = rows.choose_rows(read_table(published(figure.table)), plot.where)
            names = rows.names(table, plot.by)
            solid, given = [name for name in names if name not in plot.dashed], style.known_looks()
            assert [name for name in solid if len(solid) > 1 and name not in given] == []
            looks = {name: str(look) for name, look in lines.looks(names, plot.dashed).items()}
            assert len(set(looks.values())) == len(looks), figure.target


def test_no_drawn_median_ends_beyond_its_axes(all_figures):
    """The winner is seen: neither the highest nor the last median of a line lies above the end of its axis."""
    for figure in all_figures:
        plot = parse(figure.file.plot)
        if not isinstance(plot, LinesPlot) or plot.ylim is None or plot.ylim[1] is None:
            continue
        table = rows.choose_rows(read_table(published(figure.table)), plot.where)
        keys = [plot.by, plot.x, *([plot.panel] if plot.panel else [])]
        assert table.groupby(keys)[plot.y].median().max() <= plot.ylim[1], figure.target
