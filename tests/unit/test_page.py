"""The pages of papers and figures: their parts and order, equal bytes, and nothing that people write becomes markup."""

import html.parser
import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from gcexp.command.main import main
from gcexp.errors import DataError
from gcexp.report import end_message, page, statements
from gcexp.report.evidence import FirstPassage, FirstPassages
from gcexp.report.figurefile import named_figures
from gcexp.report.page import write_pages
from gcexp.report.paper import Paper, read_papers
from gcexp.report.statements import Outcome, committed_outcomes
from gcexp.report.targets import target_files
from gcexp.schema import fill
from tests.conftest import write_files

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
NASTY = "a | b\n<script>alert('x')</script> & *c*"
TARGETS = ("adaptive_table1", "adaptive_fig3", "adaptive_constant", "soft_bibd_fig3")


class Page(html.parser.HTMLParser):
    """What a browser would see."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.open, self.text = [], [], [], text
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


COLUMNS = [field.name for field in fields(Outcome)]


def row(**more):
    given = {"paper": "adaptive", "id": "a", "outcome": "reproduced"}
    return Outcome(**dict.fromkeys(COLUMNS, "") | given | more)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder with drawings, and a function that writes the pages about them and reads them."""
    for folder in ("figures", "tables", "data"):
        (tmp_path / folder).mkdir()
    for target in TARGETS:
        kind = "tables/{}.md" if target.endswith("table1") else "figures/{}.png"
        (tmp_path / kind.format(target)).touch()
        (tmp_path / "data" / f"{target}.csv").write_text("scheme,s,fraction\n2 < 3,1,1/2\n")

    def written(stated=(), targets=TARGETS, preset="paper"):
        monkeypatch.setattr(page, "committed_outcomes", lambda: list(stated))
        write_pages(preset, named_figures(targets, preset), tmp_path / "index.html")
        return {path.stem: Page(path.read_text("utf-8")) for path in tmp_path.glob("*.html")}

    return written


@pytest.mark.paper("adaptive")
def test_a_card_for_each_paper_and_its_figures_in_the_papers_order(site, tmp_path):
    pages = site()
    assert set(pages) == {"index", "adaptive", "soft_bibd"}
    index, paper = pages["index"], pages["adaptive"]
    assert {"adaptive.html", "soft_bibd.html", "figures/adaptive_fig3.png"} <= set(index.links)
    assert ">2 figures and tables, 1 study of our own<" in index.text
    order = [paper.text.index(f'id="{target}"') for target in ("adaptive_fig3", "adaptive_table1")]
    assert order == sorted(order)
    assert paper.text.index("Our own studies") < paper.text.index('id="adaptive_constant"')
    assert "2 &lt; 3</th>" in paper.text and "1/2</td>" in paper.text
    assert "snakemake adaptive_fig3 --config preset=paper" in paper.text
    assert "Main statements" not in paper.text
    assert {"figures/adaptive_fig3.png", "data/adaptive_fig3.csv", "index.html"} <= set(paper.links)
    anchors = {link[1:] for link in paper.links if link.startswith("#")}
    assert all(f'id="{anchor}"' in paper.text for anchor in anchors)
    first = {path.name: path.read_bytes() for path in tmp_path.glob("*.html")}
    site()
    assert first == {path.name: path.read_bytes() for path in tmp_path.glob("*.html")}


@pytest.mark.paper("adaptive")
def test_statements_stand_on_their_paper_and_in_their_figure(site):
    stated = [
        row(statement="main says", main="yes", outcome="partly", assumed="yes", reason="the reason"),
        row(id="b", statement="shown says", target="adaptive_fig3", post_hoc="yes"),
        row(id="c", statement="elsewhere says", paper="soft_bibd", main="yes"),
    ]
    pages = site(stated)
    text = pages["adaptive"].text
    table = text[text.index('<h2 id="statements"') : text.index("<h2>Contents")]
    assert "1 partly" in table and "main says" in table and "the reason" in table
    assert "inputs that we assumed" in table and "shown says" not in table
    article = text[text.index('id="adaptive_fig3"') : text.index('id="adaptive_table1"')]
    assert "shown says" in article and "chosen after the numbers had been seen" in article
    assert "elsewhere says" not in text and "elsewhere says" in pages["soft_bibd"].text


@pytest.mark.paper("adaptive")
def test_outcomes_name_the_published_table_that_they_rest_on(site):
    stated = [row(statement="main says", main="yes", target="adaptive_fig3")]
    paper = site(stated)["adaptive"].text
    article = paper[paper.index('id="adaptive_fig3"') : paper.index('id="adaptive_table1"')]
    commit = json.loads((PUBLISHED / "data/adaptive_fig3.provenance.json").read_text())["commit"]
    assert f"commit {commit[:10]}" in article and "published table" in article
    assert "Outcomes rest on the published tables" in paper and "not on the picture" not in paper
    quick = site(stated, preset="quick")["adaptive"].text
    assert "not on the picture above" in quick and "the quick preset made" in quick


@pytest.mark.paper("partial_recovery")
def test_a_run_that_tells_another_story_stands_beside_the_published_one(site, tmp_path, monkeypatch):
    target = "partial_recovery_fig4_fixed_s"
    (tmp_path / "figures" / f"{target}.png").touch()
    first, second = (
        FirstPassage((), name, time, time - 0.1, time + 0.1, 5, 5) for name, time in (("A", 1), ("B", 2))
    )
    late = replace(first, median=3.0, high=math.inf)
    monkeypatch.setattr(
        page,
        "published_first_passages",
        lambda target: FirstPassages(0.8, "test_accuracy", (), (first, second)),
    )
    for here, told in ((first, False), (late, True)):
        found = FirstPassages(0.9, "test_accuracy", (), (here, second))
        monkeypatch.setattr(page, "first_passages", lambda *given, found=found: found)
        text = site(targets=[target], preset="quick")["partial_recovery"].text
        assert ("another story" in text) == told and ("A comes after B" in text) == told
        assert ("Published (paper preset" in text) == told
        assert "The paper&#39;s: " in text or "The paper's: " in text


@pytest.mark.paper("adaptive")
def test_consistent_statements_count_apart(site):
    text = site([row(main="yes"), row(id="b", main="yes", outcome="consistent")])["adaptive"].text
    assert "1 reproduced, 1 consistent" in text and 'class="outcome consistent"' in text


@pytest.mark.paper("adaptive")
def test_what_people_write_is_no_markup(site, monkeypatch):
    known = {"adaptive": Paper(NASTY, NASTY, NASTY, "https://example.org/", bibtex=NASTY, summary=NASTY)}
    monkeypatch.setattr(page, "read_papers", lambda names: known)
    pages = site([row(statement=NASTY, main="yes", reason=NASTY)], TARGETS[:1])
    for one in pages.values():
        assert "script" not in one.tags and "&lt;script&gt;" in one.text
    external = [link for one in pages.values() for link in one.links if link.startswith(("/", "http"))]
    assert external == ["https://example.org/"]  # the paper's own address: nothing is loaded from it


@pytest.mark.paper("adaptive")
def test_a_figure_that_is_not_drawn_is_left_out(site, tmp_path):
    (tmp_path / "figures" / "adaptive_constant.png").unlink()
    assert "adaptive_constant" not in site()["adaptive"].text


def test_a_page_without_names_is_about_all_figures(paper):
    text = "title: A\nsource: B\nkind: timings\ncommon: {delay: pareto, n: 4, iterations: 3, seeds: 1}\n"
    (paper / "figures/one.yaml").write_text(
        text + "runs: [{label: all, scheme: uncoded}]\nplot: {kind: bars}\n"
    )
    write_files(
        Path("reports/quick"), {"figures/paper_one.png": "", "data/paper_one.csv": "label,run\nall,a\n"}
    )
    assert main(["job", "page", "-o", "reports/quick/index.html"]) == 0
    assert "paper_one" in Path("reports/quick/paper.html").read_text()


def test_outcomes_are_none_before_they_are_judged_and_refused_with_other_columns(here, refused, monkeypatch):
    monkeypatch.setattr(statements, "bundled", lambda name: here / "nowhere")
    assert committed_outcomes() == []
    place = here / statements.COMMITTED
    place.parent.mkdir(parents=True)
    place.write_text("paper,id\nadaptive,a\n")
    refused("outcome", committed_outcomes, error=DataError)
    place.write_text(f"{','.join(COLUMNS)}\n{','.join(vars(row()).values())}\n")
    assert committed_outcomes() == [row()]


@pytest.mark.slow
def test_the_published_pages_are_small_and_their_links_lead_somewhere(tmp_path):
    for folder in ("figures", "tables", "data"):
        (tmp_path / folder).symlink_to(PUBLISHED / folder)
    figures = named_figures([*target_files()], "paper", checks=False)  # as the job reads them
    made = write_pages("paper", figures, tmp_path / "index.html")
    for path in made:
        shown = Page(path.read_text("utf-8"))
        local = {link for link in shown.links if not link.startswith(("#", "http", "data:"))}
        inside = {link for link in local if not link.startswith("..")}
        assert inside and not [link for link in inside if not (tmp_path / link).exists()]
        assert path.stat().st_size < (300_000 if path.stem == "index" else 1_000_000)


@pytest.mark.slow
def test_every_paper_says_what_it_is_about():
    known = read_papers()
    for name, paper in known.items():
        assert paper.summary and (paper.study or (paper.authors and paper.url and paper.bibtex))
        drawn = {target.removeprefix(f"{name}_") for target in target_files() if target.startswith(name)}
        assert {paper.picture, *paper.headline} <= drawn
    assert [paper.study for paper in known.values()] == sorted(paper.study for paper in known.values())


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "JavaScript://x", "data:text/html,x", "https:///x", "ieee.org"]
)
def test_a_link_that_is_no_address_is_refused(refused, url):
    refused(("url", "https://"), fill, Paper, {"title": "A", "url": url}, "a/paper.yaml")
    assert Paper("A", url="https://doi.org/10.1/x").url


@pytest.mark.paper("adaptive")
def test_a_build_ends_with_what_was_made_and_what_comes_next(here, monkeypatch):
    targets = [target for target in target_files() if target.startswith("adaptive_")]
    figures = named_figures(targets, "quick", checks=False)
    monkeypatch.setattr(end_message, "project", lambda: None)
    for path in map(
        Path, [*(path for figure in figures for path in figure.drawings), "reports/quick/index.html"]
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    whole, one, all_named = (
        end_message.ending("quick", *given) for given in ((), (figures[:1],), (figures,))
    )
    assert f"{len(figures)} figures" in whole.splitlines()[0]
    assert "reports/quick/index.html" in whole and "make verify" in whole
    assert f"{figures[0].target}: reports/quick/figures/{figures[0].target}.png" in one
    assert max(len(text.splitlines()) for text in (whole, all_named)) <= 10


@pytest.mark.paper("partial_recovery", "dynamic_clustering", "adaptive", "comm_efficient", "soft_bibd")
def test_papers_stand_in_the_order_of_the_readme():
    readme = (PUBLISHED.parents[1] / "README.md").read_text("utf-8")
    names = [name for name, paper in read_papers().items() if not paper.study]
    counted = readme[readme.index("<!-- outcomes -->") :]
    places = [counted.index(f"gcexp_papers/{name}/README.md") for name in names]
    assert names[0] == "partial_recovery" and places == sorted(places)


def test_the_readme_counts_the_outcomes_that_are_committed():
    readme = (PUBLISHED.parents[1] / "README.md").read_text("utf-8")
    every = committed_outcomes()
    assert f"All together: {statements.outcomes_in_words(every)}." in readme
    for name in {outcome.paper for outcome in every}:
        counted = statements.outcomes_in_words(outcome for outcome in every if outcome.paper == name)
        assert f"gcexp_papers/{name}/README.md): {counted}." in readme
    untested = [outcome for outcome in every if outcome.outcome == "not testable here"]
    assert untested and all(outcome.ground in statements.GROUNDS for outcome in untested)


@pytest.mark.paper("adaptive")
def test_main_statements_come_first_sorted_by_what_was_found(site):
    stated = [
        row(id="a", main="yes", outcome="not reproduced", statement="fails", target="adaptive_fig3"),
        row(id="b", main="yes", statement="holds on assumed", assumed="yes", target="adaptive_fig3"),
        row(id="c", main="yes", statement="holds alone", target="adaptive_fig3"),
        row(id="d", outcome="not testable here", reason="Text lost. The number is lost."),
    ]
    text = site(stated)["adaptive"].text
    places = [text.index(words) for words in ("holds alone", "holds on assumed", "fails", "<h2>Contents")]
    assert places == sorted(places) and places[-1] < text.index('id="adaptive_fig3"')
    table = text[: places[-1]]
    assert table.count('href="#adaptive_fig3"') == 3
    assert "2 reproduced (1 of them on assumed inputs), 1 not reproduced" in table
    assert "1 text lost" in table


@pytest.mark.paper("adaptive")
def test_every_drawing_has_its_numbers_beside_it(site):
    pages = site()
    before_the_details = pages["adaptive"].text.partition("<details")[0]
    assert 'href="data/adaptive_fig3.csv"' in before_the_details
    assert "data/adaptive_fig3.csv" in pages["index"].links


@pytest.mark.paper("partial_recovery")
def test_a_figure_has_a_page_of_its_own(site, tmp_path):
    target = "partial_recovery_fig4_fixed_s"
    (tmp_path / "figures" / f"{target}.png").touch()
    (tmp_path / "data" / f"{target}.csv").write_text("label,run,seed\nall,a,0\n")
    (figure,) = named_figures([target], "quick")
    page.write_figure_page(
        replace(figure, file=replace(figure.file, level=None)), tmp_path / f"{target}.html"
    )
    shown = Page((tmp_path / f"{target}.html").read_text("utf-8"))
    assert {f"figures/{target}.png", f"data/{target}.csv"} <= set(shown.links)
    assert not [link for link in shown.links if link.endswith(".html") and not link.startswith("http")]


def test_a_table_of_first_passages_says_which_seeds_it_takes():
    rows = (FirstPassage((), "A", 1.0, 0.9, 1.1, 5, 5),)
    passages = FirstPassages(0.9, "test_accuracy", (), rows, more_seeds=("A",))
    assert "5 seeds" in passages.about_seeds and "of A" in passages.about_seeds
    assert "93.75 %" in passages.about_seeds
    assert "of A" not in replace(passages, more_seeds=()).about_seeds
