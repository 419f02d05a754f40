"""Scorecard and page: fixed order and bytes, nothing that people write becomes markup."""

import base64
import html.parser
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from gcexp.errors import DataError, UserError
from gcexp.report.claims import FIELDS
from gcexp.report.figure_view import figure_view, papers
from gcexp.report.figurefile import figures, statements
from gcexp.report.page import FigureView, Paper, embedded, words_under, write_report
from gcexp.report.scorecard import (
    COLUMNS,
    STATEMENT_FIELDS,
    answered,
    claim_counts,
    collect,
    judged_as,
    parts,
    summary,
    tally,
    to_markdown,
    write_json,
    write_markdown,
)
from gcexp.report.statements import read_statements
from gcexp.schema import fill

NASTY = "a | b\n<script>alert('x')</script> & *c* [d](javascript:e) $m$"


def entry(paper="adaptive", target="fig3", outcome="holds", inputs="paper", **more):
    words = {
        "id": "c",
        "kind": "companion",
        "answers": [],
        "source": "Fig. 3",
        "statement": "G-AGC is fastest",
        "measured": {"b / a": 1.25, "c / a": "inf"},
    }
    rest = {"expected": "> 1", "tolerance": None, "reason": "" if outcome == "holds" else "measured 1"}
    rest |= {"contradicts": None, "grade": "built", "seeds": 5, "calibrated": "", "check": "c"}
    found = {"paper": paper, "target": target, "outcome": outcome, "inputs": inputs} | words | rest | more
    return {name: found[name] for name in FIELDS}


def files(folder, *lists):
    folder.mkdir(exist_ok=True)
    for place, entries in enumerate(lists):
        (folder / f"{place}.json").write_text(json.dumps(entries))
    return [folder / f"{place}.json" for place in range(len(lists))]


def test_collect_sorts_by_paper_and_target_and_keeps_claims_in_order(tmp_path):
    lists = [
        [entry("soft_bibd", "fig1", id="z"), entry("soft_bibd", "fig1", id="a")],
        [entry(target="fig4")],
        [entry()],
    ]
    paths = files(tmp_path, *lists)
    found = collect(paths)
    assert [(e["paper"], e["target"], e["id"]) for e in found] == [
        *(("adaptive", "fig3", "c"), ("adaptive", "fig4", "c")),
        *(("soft_bibd", "fig1", "z"), ("soft_bibd", "fig1", "a")),
    ]
    assert collect(reversed(paths)) == found


def test_same_bytes(tmp_path):
    entries = [entry(statement="β ≥ 2"), entry(outcome="does not hold", inputs="assumed")]
    for name in "ab":
        write_json(entries, tmp_path / f"{name}.json")
        write_markdown(entries, tmp_path / f"{name}.md")
    for suffix in (".json", ".md"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == entries
    assert "β ≥ 2" in (tmp_path / "a.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [None, "[", "{}", "[1]", '[{"paper": "a"}]'])
def test_damaged_claims(content, tmp_path):
    path = tmp_path / "c.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=r"c\.json"):
        collect([path])
    path.write_text(json.dumps([entry(outcome="fine")]))
    with pytest.raises(DataError, match="not a list of checked claims"):
        collect([path])


def test_counts_and_markdown():
    claims = [
        entry(kind="number"),
        entry(outcome="does not hold", inputs="assumed", kind="number"),
        entry("soft_bibd", kind="number"),
        entry(outcome="undecided"),
    ]
    assert claim_counts(claims, "number")["adaptive"]["does not hold"] == {
        "paper": 0,
        "assumed": 1,
    }
    text = to_markdown(claims)
    assert "| adaptive | 2 | 1 | 0 | 0 | 1 | 0 | 0 |\n" in text
    assert "| all | 3 | 2 | 0 | 0 | 1 | 0 | 0 |\n" in text
    assert text.index("claims: numbers") < text.index("claims: companions")
    assert "\n## soft\\_bibd\n" in text and "b / a: 1.25, c / a: inf" in text
    assert summary(claims) == "2 of 3 numbers and 0 of 1 companions hold."
    assert to_markdown([]).startswith("# Scorecard\n") and summary([]) == "No claim is made."


HEADER = "id,where,kind,statement,conditions,target,checkable,parts\n"
STATED = """a,Sec. I,remark,says a,,fig3,yes,
b,Sec. II,remark,says b,,fig3,yes,one two
c,Sec. III,remark,says c,,fig3,"partly: the number is lost",
d,Sec. IV,remark,says d,lost,fig3,no,
"""


@pytest.fixture
def stated(tmp_path):
    """A paper with four statements, the second of two parts."""
    (tmp_path / "adaptive.csv").write_text(HEADER + STATED)
    return tmp_path / "adaptive.csv"


FAILS, OPEN = {"outcome": "does not hold", "reason": "why"}, {"outcome": "undecided", "reason": "few seeds"}


@pytest.mark.parametrize(
    ("claims", "outcome", "grade", "reason"),
    [
        ([{}, {"grade": "definition"}], "holds", "built", ""),  # the strongest of its claims
        ([{"grade": "definition"}], "holds", "definition", ""),
        ([{"answers": ["b/one"]}, {"answers": ["b/two"], "grade": "formula"}], "holds", "formula", ""),
        ([{"answers": ["b/one"]}, {"answers": ["b/two"], "grade": "definition"}], "holds", "built", ""),
        ([{}, FAILS], "does not hold", "", "one: why; two: why"),
        ([{}, OPEN], "tie or undecided", "", "one: few seeds; two: few seeds"),
        ([OPEN, FAILS], "does not hold", "", "one: why; two: why"),
        ([{"answers": ["b/one"]}], "holds in part", "built", "two: no claim answers it"),
        ([{"answers": ["b/one"]}, FAILS | {"answers": ["b/two"]}], "holds in part", "built", "two: why"),
        (
            [{"answers": ["b/one"], "grade": "definition"}, FAILS | {"answers": ["b/two"]}],
            *("does not hold", "definition", "two: why"),  # a definition makes nothing "in part"
        ),
        ([FAILS | {"inputs": "assumed"}], "not under our assumptions", "", "one: why; two: why"),
        ([{}, FAILS | {"inputs": "assumed"}], "tie or undecided", "", "one: why; two: why"),
        ([{"inputs": "assumed"}, FAILS | {"inputs": "assumed"}], "not under our assumptions", "", None),
        ([FAILS, FAILS | {"inputs": "assumed"}], "does not hold", "", None),
        ([{}, {"kind": "companion", "answers": []} | FAILS], "holds", "built", ""),
        (
            [{}, {"kind": "companion", "answers": [], "contradicts": ["b/two"]} | FAILS],
            *("holds in part", "built", "two: why"),
        ),
        (
            [{}, {"kind": "companion", "answers": [], "contradicts": ["b"], "inputs": "assumed"} | FAILS],
            *("tie or undecided", "", "one: why; two: why"),
        ),
        (
            [{}, {"kind": "companion", "answers": [], "contradicts": ["b/two"]} | OPEN],
            *("holds in part", "built", "two: few seeds"),
        ),
        ([{}, {"kind": "companion", "answers": [], "contradicts": ["b/two"]}], "holds", "built", ""),
    ],
)
def test_a_statement_is_judged_part_by_part(stated, claims, outcome, grade, reason):
    """What fails under the paper's inputs fails; a failing companion blocks "holds"; half is not the whole."""
    about = {"kind": "statement", "answers": ["b"]}
    made = [entry(id=str(number), **(about | one)) for number, one in enumerate(claims)]
    _, found, *_ = answered(made, {"adaptive": read_statements(stated)})
    assert tuple(found) == STATEMENT_FIELDS
    assert (found["outcome"], found["grade"]) == (outcome, grade)
    assert reason is None or found["reason"] == reason


@pytest.mark.parametrize(
    ("second", "outcome"),
    [({}, "holds"), (FAILS, "tie or undecided"), (FAILS | {"inputs": "assumed"}, "tie or undecided")],
)
def test_readings_that_differ_leave_a_statement_undecided(stated, second, outcome):
    """The paper means one of them, and does not say which."""
    stated.write_text(stated.read_text().replace("one two", "one or two"))
    about = {"kind": "statement", "inputs": "assumed"}
    made = [
        entry(id="1", answers=["b/one"], **about),
        entry(id="2", **about | {"answers": ["b/two"]} | second),
    ]
    _, found, *_ = answered(made, {"adaptive": read_statements(stated)})
    assert (found["outcome"], set(found["parts"])) == (outcome, {"one", "two"})
    assert found["reason"] == ("two: why" if second else "")


def test_statements_are_counted_once_and_checks_are_distinct(stated):
    claims = [
        entry(id="1", kind="statement", answers=["a", "b/one"]),
        entry(id="2", kind="statement", answers=["b/two"], inputs="assumed"),
        entry(id="3", kind="statement", answers=["b"], check="d"),
        entry(id="4", kind="statement", answers=["c"], calibrated="2026-11-21: level", check="e"),
        entry("soft_bibd", kind="companion", check="f"),
    ]
    found = answered(claims, {"adaptive": read_statements(stated)})
    count = tally(found + claims)
    assert dict(zip(COLUMNS, count.rows["adaptive"][1:], strict=True)) == dict.fromkeys(COLUMNS, 0) | {
        **{"with evidence": 2, "of these assumed": 1, "calibrated": 1, "not checkable": 1},
    }
    assert count.sentence == "2 statements with evidence rest on 2 distinct checks."
    assert [judged_as(one) for one in found] == [
        *("holds, built", "holds, built (assumed)", "holds, built (calibrated)", "not checkable"),
    ]
    assert found[1]["parts"] == {"one": "holds", "two": "holds"} and found[3]["reason"] == "lost"
    assert parts(found + claims) == (found, claims)
    text = to_markdown(found + claims)
    assert text.index("### Statements") < text.index("### Claims: statements") < text.index("## soft")
    assert "| adaptive | 4 | 2 | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 1 |\n\n2 statements with" in text
    assert "chosen after seeing, 2026-11-21: level" in text
    assert summary(found + claims).startswith(
        "Of 1 paper 2 of 4 statements with evidence (1 of these assumed); 1 calibrated, 1 not checkable. 2 st"
    )
    assert "hold" not in count.header and not any(name.startswith("holds") for name in count.header)


@pytest.mark.parametrize(
    "content",
    [
        "id,where\n",
        HEADER + "a,b\n",
        HEADER + STATED[: STATED.index("b,")] * 2,
        HEADER + "a,b,c,d,e,f,maybe,\n",
        HEADER + "a,b,c,d,e,f,yes,one one\n",
    ],
)
def test_damaged_statements(stated, content):
    stated.write_text(content)
    with pytest.raises(DataError, match=r"adaptive\.csv"):
        read_statements(stated)


def test_markdown_escapes():
    text = to_markdown([entry(statement=NASTY, reason=NASTY, outcome="does not hold")])
    row = next(line for line in text.splitlines() if "alert" in line)
    assert (
        "<script" not in text
        and "a \\| b &lt;script&gt;" in row
        and "\\*c\\* \\[d\\](javascript:e) \\$m\\$" in row
    )
    cells = row.replace("\\|", "").count("|")
    assert (
        cells == len(FIELDS) - 2
    )  # one bar more than columns; paper and kind are headings, check is a digest


class Page(html.parser.HTMLParser):
    """What a browser would see."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in ("meta", "img", "br", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(paper="adaptive", name="fig3", title="Expected time", source="Fig. 3", **more):
    target = f"{paper}_{name}"
    files = {"PDF": f"figures/{target}.pdf", "CSV": f"data/{target}.csv"}
    return FigureView(paper, name, title, source, **{"files": files, "image": f"figures/{target}.png"} | more)


@pytest.fixture
def drawn(tmp_path):
    """A folder with the drawings of the figures."""
    (tmp_path / "figures").mkdir()
    for name in ("adaptive_fig3", "adaptive_fig6", "soft_bibd_fig1"):
        Image.linear_gradient("L").resize((2000, 300)).save(tmp_path / "figures" / f"{name}.png")
    return tmp_path


PAPERS = {
    "adaptive": Paper(
        "Adaptive Gradient Coding", "A. Author", "arXiv", "https://example.org/", headline=("fig6",)
    )
}


def test_page(drawn):
    tmp_path = drawn
    entries = [entry(), entry(outcome="does not hold", reason="measured 1, expected > 1", tolerance="10 %")]
    table = (("a", "b"), ("1", "2 < 3"))
    figures = [
        shown(claims=tuple(entries), schemes=("cgc", "frc"), about=(("data", "digits"),)),
        shown("soft_bibd", "fig1"),
        shown(name="fig6", alt="Lines of accuracy over time", source="Fig. 6"),
        shown("codes", "stability", image="", table=table, source="Sec. 2"),
    ]
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, "quick", PAPERS, figures, entries)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.html").read_text(encoding="utf-8")
    page = Page(text)
    assert {"header", "nav", "main", "footer", "form"} <= set(page.tags) and 'name="viewport"' in text
    assert set(page.links) >= {
        "figures/adaptive_fig3.pdf",
        "data/adaptive_fig3.csv",
    }
    images = [link for link in page.links if link.startswith("data:image/png;base64,")]
    assert len(images) == page.tags.count("img") == 6  # each as a small one that leads to it, and large
    sizes = []
    for address in images:
        with Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as image:
            sizes.append(image.size)
    assert sizes == [(320, 48)] * 3 + [(1600, 240)] * 3
    external = [link for link in page.links if link.startswith(("/", "http", "file:"))]
    assert external == ["https://example.org/"]  # the paper's own address: nothing is loaded from it
    anchors = {link[1:] for link in page.links if link.startswith("#")}
    assert all(f'id="{anchor}"' in text for anchor in anchors)
    assert "1 of 2 claims hold, 1 does not hold" in text and "expected &gt; 1 ± 10 %" in text
    assert 'data-schemes="cgc frc"' in text and 'data-outcomes="does-not-hold holds"' in text
    for pattern in ('href="#{}"', 'id="{}"'):
        order = [
            text.index(pattern.format(target))
            for target in ("adaptive_fig3", "adaptive_fig6", "codes_stability")
        ]
        assert order == sorted(order), "by paper, in the paper's order"
    assert 'alt="Lines of accuracy over time"' in text and "<td>2 &lt; 3</td>" in text
    assert '<th scope="row">data</th><td>digits</td>' in text
    assert '<span class="label">Fig. 6</span>' in text


def test_page_escapes(drawn):
    tmp_path = drawn
    bad = entry(
        statement=NASTY, reason=NASTY, outcome="does not hold", measured={NASTY: 1.0}, paper="adaptive"
    )
    files = {"PDF": "javascript:alert(1)"}
    named = shown(title=NASTY, claims=(bad,), files=files, alt=NASTY)
    papers = {"adaptive": Paper(NASTY, NASTY, NASTY, "https://example.org/", bibtex=NASTY)}
    write_report(tmp_path / "index.html", NASTY, papers, [named], [bad])
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("script") == 1 and "&lt;script&gt;" in text  # the page's own
    assert not any(link.startswith("javascript:") for link in page.links) and 'onerror="' not in text


def test_lines_that_answer_have_their_library_once_and_end_no_script(drawn):
    """What is drawn is what the drawing has; a name that people write closes no script."""
    import pandas as pd

    from gcexp.figures import interactive

    name = "</script><b>&"
    times, score = [0.0, 1.0, 2.0], [0.1, 0.8, 0.9]
    table = pd.concat(
        pd.DataFrame({"label": label, "seed": seed, "simulated_time_s": times, "test_accuracy": score})
        for label in (name, "CGC")
        for seed in (0, 1)
    )
    plot = {"kind": "panels", "parts": [{"kind": "lines", "level": 0.8}, {"kind": "lines", "xscale": "log"}]}
    made = interactive.charts(table, plot)
    assert list(made["names"]) == [name, "CGC"] and len(made["charts"]) == 2
    assert made["names"]["CGC"]["colour"] != made["names"][name]["colour"]
    first = made["charts"][0]
    assert {"name": "shown", "value": [name, "CGC"]} in first["params"]
    points = next(text for text in first["datasets"].values() if isinstance(text, str)).splitlines()
    assert points[0] == "label,x,y,low,high,mark" and points[-1].startswith("1,2,0.9,0.9,0.9")
    assert [{"y": 0.8}] in first["datasets"].values()
    assert (
        interactive.charts(table, {"kind": "panels", "parts": [{"kind": "lines"}, {"kind": "bars"}]}) is None
    )
    write_report(drawn / "a.html", "quick", {}, [shown(charts=made), shown(name="fig6", charts=made)], [])
    page = Page((drawn / "a.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 4 and "b" not in page.tags[page.tags.index("main") :]
    assert (drawn / "a.html").read_text(encoding="utf-8").count("window.vegaEmbed=") == 1


def test_page_without_claims(drawn):
    tmp_path = drawn
    write_report(tmp_path / "index.html", "quick", {}, [shown()], [])
    assert "No claim is made" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_what_does_not_hold_leads_to_its_figure_number_and_reason(drawn, stated):
    claims = [
        entry(id="1", kind="statement", answers=["a"]),
        entry(id="2", kind="statement", answers=["b/one"], **FAILS, measured=1.25),
        entry(id="3", outcome="undecided", reason="few seeds"),
    ]
    found = answered(claims, {"adaptive": read_statements(stated)})
    write_report(drawn / "a.html", "quick", PAPERS, [shown(claims=tuple(claims))], found + claims)
    text = (drawn / "a.html").read_text(encoding="utf-8")
    fails = text[text.index('id="fails"') : text.index('aria-label="Counts"')]
    lines = [line for line in fails.splitlines() if "href=" in line]
    assert len(lines) == 2 and "says a" not in fails and "says d" not in fails
    assert '<a href="#adaptive_fig3.2">Fig. 3</a>: does not hold' in lines[0] and "measured 1.25" in lines[0]
    assert "why" in lines[0] and "says b" in fails and "few seeds" in lines[1]
    figure = text[text.index("<article") :]
    assert figure.index("says a") < figure.index("1 of 1 claims hold") < figure.index("says b")
    assert "1 of 1 claims do not hold" in figure and 'id="adaptive_fig3.2"' in figure
    assert '<a href="#adaptive-statements" data-counted="with-evidence">1</a>' in text
    assert 'data-counted="with-evidence"><td>a</td>' in text
    assert '<span class="held">1 built</span>' in text and '<span class="missed">1 undecided</span>' in text


def test_title_and_note_stand_on_the_page_once(drawn):
    """A drawing says where it is without its words, and what they are; the page shows one and writes the others."""
    import pandas as pd

    from gcexp.figures import draw, save

    place = drawn / "figures" / "adaptive_fig3.png"
    table = pd.DataFrame({"label": ["a", "b"], "seed": [0, 0], "mean_iteration_time_s": [1.0, 2.0]})
    save(draw(table, {"kind": "bars"}, "Costs $1", "words " * 40), [place])
    with Image.open(place) as image:
        top, bottom = map(int, image.info["Drawing"].split())
        assert image.info["Title"] == "Costs $1" and 0 < top < bottom < image.height
        whole = image.convert("L").point(lambda value: 255 * (value < 250))
        assert whole.crop((0, 0, image.width, top)).getbbox(), "the title is above"
        assert whole.crop((0, bottom, image.width, image.height)).getbbox(), "the note is below"
    assert words_under(place).endswith("words words") and "\n" not in words_under(place)
    with Image.open(io.BytesIO(base64.b64decode(embedded(place).partition(",")[2]))) as image:
        ink = image.convert("L").point(lambda value: 255 * (value < 250)).getbbox()
        assert image.height < bottom and ink[1] > 0 and ink[3] < image.height, "no line is cut"


@pytest.mark.slow
def test_every_paper_with_figures_has_a_title_and_every_headline_a_figure():
    known = papers()
    for one in figures("quick"):
        assert one.paper in known
    for name, paper in known.items():
        assert bool(statements(name)) == bool(paper.bibtex and paper.authors and paper.url)


@pytest.mark.usefixtures("clone")
def test_the_published_page_is_one_file():
    path = Path(__file__).parents[2] / "reports/published/index.html"
    page = Page(path.read_text(encoding="utf-8"))
    images = [link for link in page.links if link.endswith(".png") or link.startswith("data:image")]
    assert len(images) == page.tags.count("img") > 60
    assert all(link.startswith("data:image/png;base64,") for link in images)


@pytest.mark.paper("partial_recovery")
@pytest.mark.slow
def test_a_figure_as_the_page_shows_it(tmp_path, monkeypatch):
    one = next(one for one in figures("paper") if one.target == "partial_recovery_fig4_fixed_s")
    page = Path("reports/published/index.html")
    found = figure_view(one, page)
    assert found.image == "figures/partial_recovery_fig4_fixed_s.png"
    assert (page.parent / found.files["config"]).is_file() and (
        page.parent / found.files["provenance"]
    ).is_file()
    assert dict(found.about)["data"] == "mnist" and "epsilon_frc" in found.schemes
    assert "from the start" in found.alt
    assert "the highest test accuracy first: ε-FRC, ε = 0.1 0.936" in found.alt and "Forget-19" in found.alt


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "JavaScript://x", "data:text/html,x", "https:///x", "ieee.org"]
)
def test_a_link_that_is_no_address_is_refused(url):
    with pytest.raises(
        UserError, match="conf/paper/a.yaml: url begins with https:// or http:// and a host, got"
    ):
        fill(Paper, {"title": "A", "url": url}, "conf/paper/a.yaml")
    assert Paper("A", url="https://doi.org/10.1/x").url
