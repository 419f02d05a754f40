"""What a person writes is checked when it is read: a plan, the command and Python say the same sentence."""

from pathlib import Path

import pytest

from gcexp.command.main import main
from gcexp.errors import UserError
from gcexp.figures import draw
from gcexp.report import figurefile
from gcexp.report.printed import check_statements
from tests.conftest import assert_named, unload, write_files

CURVES = """\
title: A figure
source: Fig. 1
kind: curves
common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: CGC, scheme: cgc}
  - {label: "β = {code.beta}", scheme: cyclic_partial, code.beta: [4, 6]}
plot: {kind: lines}
"""
TIMINGS = """\
title: Bars
source: Fig. 2
kind: timings
common: {delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: CGC, scheme: cgc, columns.panel: left}
  - {label: uncoded, scheme: uncoded, columns.panel: right}
plot: {kind: bars}
"""
TABLE = TIMINGS.replace("{kind: bars}", "{kind: table, columns: [label, n, mean_iteration_time_s]}")
ANALYSIS = """\
title: An analysis
source: Sec. 3
kind: analysis
analysis: {function: .numerics.table, size: 3}
plot: {kind: function, function: .numerics.draw}
"""
NUMERICS = """\
def table(size: int): ...
def draw(axes, rows): ...
table.columns = lambda size: ["x", "y"]
"""
FILES = {
    "paper/figures/curves.yaml": CURVES,
    "paper/figures/timings.yaml": TIMINGS,
    "paper/figures/table.yaml": TABLE,
    "paper/figures/analysis.yaml": ANALYSIS,
    "paper/numerics.py": NUMERICS,
    "paper/paper.yaml": "title: A paper\nurl: https://example.org/a\n",
    "conf/style/looks.toml": "[schemes]\n",
    "conf/dataset/mine.yaml": "path: mine.csv\n",
    "mine.csv": "a,y\n1,0\n",
}


def plotted(more):
    return ("paper/figures/curves.yaml", "{kind: lines}", f"{{kind: lines, {more}}}")


def barred(more):
    return ("paper/figures/timings.yaml", "{kind: bars}", f"{{kind: bars, {more}}}")


def typeset(more):
    return ("paper/figures/table.yaml", "{kind: table, ", f"{{kind: table, {more}, ")


def noted(text):
    return ("paper/figures/curves.yaml", "plot:", f"note: {text}\nplot:")


def said_of(text):
    return ("paper/paper.yaml", FILES["paper/paper.yaml"], text)


def trained_on(text):
    return ("conf/dataset/mine.yaml", "path: mine.csv", text)


#: The file, what stands there, what stands there instead, and what the sentence names.
MISTAKES = [
    (noted('"of {document}"'), ("paper/figures/curves.yaml", "note", "'document'")),
    (noted('"{code.d}"'), ("note", "'code.d'", "code.n")),
    (noted('"{code}"'), ("note", "'code'", "code.n")),
    (noted('"{code.seed} {0}"'), ("note", "'0'")),
    (noted('"a\\0b"'), ("note", "control")),
    (("paper/figures/curves.yaml", "A figure", '"a\\0b"'), ("title", "control")),
    (("paper/figures/curves.yaml", "label: CGC", 'label: "a\\eb"'), ("label", "control")),
    (("paper/figures/curves.yaml", "label: CGC", 'label: "{code}"'), ("label", "'code'", "code.n")),
    (("paper/figures/curves.yaml", "CGC,", 'CGC, columns.x: "{code}",'), ("columns.x", "'code'", "code.n")),
    (("paper/figures/curves.yaml", "CGC,", "CGC, columns.seed: 1,"), ("columns.seed",)),
    (("paper/figures/curves.yaml", "CGC,", "CGC, columns.: 1,"), ("columns.NAME",)),
    (("paper/figures/curves.yaml", "plot:", "level: .inf\nplot:"), ("level", "inf")),
    (("paper/figures/curves.yaml", "plot:", "tolerances: {test_loss: -1}\nplot:"), ("tolerances", "-1")),
    (
        ("paper/figures/curves.yaml", "plot: {kind: lines}", "passages: {levels: []}\nplot: {kind: lines}"),
        ("passages.levels",),
    ),
    (plotted("xlim: [0, .inf]"), ("plot", "xlim", "inf")),
    (plotted("ylim: [-.inf, 1]"), ("plot", "ylim", "inf")),
    (plotted("level: [0.5, .inf]"), ("plot", "level", "inf")),
    (plotted("slope: .inf, xscale: log, yscale: log"), ("plot", "slope", "inf")),
    (plotted("dashed: [CGD]"), ("plot.dashed", "'CGD'", "'CGC'")),
    (("paper/figures/curves.yaml", '"β = {code.beta}"', "partial"), ("'partial'", "{code.d}", "panel")),
    (plotted("where: {label: CGD}"), ("plot.where", "'CGD'", "'CGC'")),
    (plotted("where: {label: []}"), ("where", "label")),
    (plotted("where: {label: {a: b}}"), ("where", "label")),
    (plotted("where: {test_loss: [[1]]}"), ("where", "test_loss")),
    (plotted("x: label"), ("plot.x", "'label'")),
    (plotted("panel: label, panel_titles: {CGD: a}"), ("plot.panel_titles", "'CGD'", "'CGC'")),
    (plotted("panel: label, panel_titles: {CGC: [a]}"), ("panel_titles", "CGC")),
    (plotted("panel: label, xlabel: {CGD: a}"), ("plot.xlabel", "'CGD'", "'CGC'")),
    (barred("reference: {CGD: 1}"), ("plot.reference", "'CGD'", "'CGC'")),
    (barred("reference: {CGC: x}"), ("reference", "CGC", "'x'")),
    (barred("reference: panel"), ("plot.reference", "'panel'")),
    (barred("panel: panel, ylabel: {middle: a}"), ("plot.ylabel", "'middle'", "left")),
    (typeset("formats: {n: '.3'}"), ("formats", "n", "'.3'")),
    (typeset("formats: {n: 3}"), ("formats", "n", "3")),
    (typeset("formats: {n: 1000000000d}"), ("formats", "n")),
    (typeset("headers: {n: {a: b}}"), ("headers", "n")),
    (typeset("headers: {n: null}"), ("headers", "n")),
    (typeset("across: {label: [n]}"), ("across", "label")),
    (("paper/figures/analysis.yaml", "draw}", "draw, height: 1.0e+9}"), ("height",)),
    (("paper/figures/analysis.yaml", ".numerics.draw", ".numerics.drw"), ("plot.function", "'draw'")),
    (("paper/figures/analysis.yaml", "size: 3", "size: x"), ("analysis.size", "'x'")),
    (("paper/numerics.py", '["x", "y"]', "3"), ("columns", "3")),
    (("paper/figures/curves.yaml", "delay: pareto", "delay: trace, delay.file: no.csv"), ("no.csv",)),
    (
        ("paper/figures/timings.yaml", "CGC, scheme: cgc", "'{n}', scheme: t_design, n: [10, 12, 24]"),
        ("TDesign", "10 workers", "n=12"),
    ),
    (("paper/figures/curves.yaml", "digits_mlp", "digits_mlp, task.dataset: mime"), ("'mime'", "'mine'")),
    (("paper/figures/curves.yaml", "digits_mlp", "digits_mlp, task.dataset: 3"), ("task.dataset", "3")),
    (
        ("paper/figures/curves.yaml", "digits_mlp", "digits_mlp, task.evaluate_every: 0"),
        ("evaluate_every", "0"),
    ),
    (
        ("paper/figures/curves.yaml", "digits_mlp", "digits_mlp, task.verify_every: x"),
        ("verify_every", "'x'"),
    ),
    (said_of("title: A\nurl: nope\n"), ("paper.yaml", "url", "'nope'")),
    (said_of("title: A\nurl: https://a b\n"), ("paper.yaml", "url", "'https://a b'")),
    (said_of("title: A\nurls: https://a\n"), ("paper.yaml", "'urls'", "'url'")),
    (said_of("title: ''\n"), ("paper.yaml", "title")),
    (said_of("authors: A\n"), ("paper.yaml", "'title'")),
    (said_of("title: A\nauthors: [A, B]\n"), ("paper.yaml", "authors", "['A', 'B']")),
    (said_of("title: A\ncite: [a]\n"), ("paper.yaml", "cite", "['a']")),
    (said_of("title: A\ncite: nobody\n"), ("paper.yaml", "cite", "'nobody'")),
    (said_of("title: A\nbibtex: a\n"), ("paper.yaml", "bibtex", "cite")),
    (said_of("title: A\npicture: curve\n"), ("paper.yaml", "picture", "'curve'", "'curves'")),
    (said_of("title: A\nheadline: [curve]\n"), ("paper.yaml", "headline", "'curve'", "'curves'")),
    (said_of("title: A\nstudy: 3\n"), ("paper.yaml", "study", "3")),
    (said_of('title: "a\\0b"\n'), ("paper.yaml", "title", "control")),
    (("conf/style/looks.toml", "[schemes]", "[schems]"), ("looks.toml", "'schems'", "'schemes'")),
    (("conf/style/looks.toml", "[schemes]", "[schemes"), ("looks.toml", "line 1")),
    (("conf/style/looks.toml", "[schemes]", "[schemes]\na = 3"), ("looks.toml", "a", "3")),
    (("conf/style/looks.toml", "[schemes]", "[schemes]\na = 'blu'"), ("looks.toml", "'blu'", "'blue'")),
    (("conf/style/looks.toml", "[schemes]", "names = 3"), ("looks.toml", "names", "3")),
]
OF_DATA = [
    (trained_on("path: [a]"), ("mine.yaml", "path")),
    (trained_on("path: no.csv"), ("no.csv",)),
    (trained_on("path: mine.txt"), ("mine.yaml", "'mine.txt'", ".csv")),
    (trained_on("paht: mine.csv"), ("mine.yaml", "'paht'", "'path'")),
    (trained_on("path: mine.csv\ntest: .inf"), ("mine.yaml", "test", "inf")),
    (trained_on("path: mine.csv\nseed: -1"), ("mine.yaml", "seed", "-1")),
    (trained_on("path: mine.csv\nkind: reel"), ("mine.yaml", "kind", "'reel'", "'real'")),
    (trained_on("path: mine.csv\nsha256: 3"), ("mine.yaml", "sha256", "3")),
    (trained_on("path: ["), ("mine.yaml", "line 2")),
]


@pytest.fixture
def written(paper, monkeypatch):
    """Four figures of one paper, whose folder Python finds."""
    write_files(Path(), FILES)
    monkeypatch.syspath_prepend(Path())
    unload("paper")
    yield
    unload("paper")


def edit(file, old, new):
    text = Path(file).read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    Path(file).write_text(text.replace(old, new))


def test_what_is_right_passes(written):
    """Or every refusal below could be one of something else."""
    edit("paper/figures/curves.yaml", "digits_mlp", "digits_mlp, task.dataset: mine")
    assert len(figurefile.figures("quick")) == len(figurefile.figures("paper")) == 4
    assert main(["plan"]) == 0
    for place in (plotted("dashed: [β = 4], where: {code.beta: [4, null]}"), barred("reference: {CGC: 1}")):
        edit(*place)
    edit(*typeset("formats: {n: .0f}, headers: {n: 12}"))
    edit(*noted('"{n}"'))  # a number alone is a text, too
    assert figurefile.figure("paper_curves", "quick").note.startswith("6 ")
    edit("paper/figures/curves.yaml", '"{n}"', '"{n} workers, {0"')
    assert len(figurefile.figures("quick")) == 4


def check_both_doors(refused, refused_command, names):
    """Python's sentence is the command's."""
    sentence = refused(names, figurefile.figures, "quick")
    assert refused_command(names, "plan") == f"gcexp: {sentence}\n"


@pytest.mark.parametrize(("edited", "names"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_mistake_is_told_when_it_is_read(written, refused, edited, names):
    edit(*edited)
    refused(names, figurefile.figures, "quick")


@pytest.mark.parametrize(("edited", "names"), OF_DATA, ids=lambda value: str(value)[:60])
def test_a_wrong_description_of_data_is_told_when_it_is_read(written, refused, edited, names):
    edit("paper/figures/curves.yaml", "digits_mlp", "digits_mlp, task.dataset: mine")
    edit(*edited)
    refused(names, figurefile.figures, "quick")


def test_the_command_says_the_same_of_a_mistake_in_each_file(written, refused, refused_command):
    mistake_in = {edited[0]: (edited, names) for edited, names in MISTAKES}
    assert mistake_in.keys() <= FILES.keys() and len(mistake_in) == 7
    for file, (edited, names) in mistake_in.items():
        right = Path(file).read_text()
        edit(*edited)
        check_both_doors(refused, refused_command, names)
        Path(file).write_text(right)
        unload("paper")


@pytest.mark.parametrize("file", ["paper/paper.yaml", "paper/figures/curves.yaml", "conf/style/looks.toml"])
def test_a_file_that_is_no_text(written, refused, file):
    Path(file).write_bytes(b"\xff\xfe")
    refused((file, "utf-8"), figurefile.figures, "quick")


def test_a_mistake_in_another_paper_stops_nobody(written):
    edit(*said_of("title: A\nurl: nope\n"))
    write_files(Path("other"), {"paper.yaml": "title: B\n", "__init__.py": "", "figures/one.yaml": CURVES})
    assert figurefile.figure("other_one", "quick").paper == "other"
    assert main(["plan", "other_one"]) == 0


def test_a_style_with_a_mistake(own_conf, refused):
    """What matplotlib alone knows is told where the figure is drawn, what a line must be already in the plan."""
    style = own_conf / "style/paper.mplstyle"
    right = style.read_text()
    for old, new, names in (
        ("font.size:", "font.sise:", ("line 10", "'font.sise'", "'font.size'")),
        ("font.size: ", "font.size ", ("line 10", "font.size")),
    ):
        style.write_text(right.replace(old, new))
        refused((str(style), *names), figurefile.check_style, style)
    style.write_text(right.replace("font.size:              8", "font.size: big"))
    figurefile.check_style(style)
    refused((str(style), "font.size", "big"), draw, None, {"kind": "lines"}, "", "", style)


STATEMENTS = (
    "id,where,kind,statement,conditions,target,checkable,main\none,Sec. 1,number,It is 3.,,analysis,yes,yes\n"
)
PRINTED = "x,column,expected,tolerance,source,assumed,answers,reason\n3,y,3,0,Sec. 3,,one,\n"
OF_STATEMENTS = [
    ("statements.csv", "yes,yes", "maybe,yes", ("statements.csv: line 2", "checkable", "'maybe'")),
    ("statements.csv", "yes,yes", "no: lost,yes", ("statements.csv: line 2", "no (text lost)", "'no: lost'")),
    ("statements.csv", "yes,yes", "yes,no", ("statements.csv: line 2", "main", "'no'")),
    ("statements.csv", "yes,yes", "yes", ("statements.csv: line 2", "cells")),
    ("statements.csv", "id,where", "name,where", ("statements.csv", "id", "name")),
    ("statements.csv", "one,", ",", ("statements.csv: line 2", "id")),
    ("statements.csv", "It is 3.", '"It is', ("statements.csv", "CSV")),
    ("figures/analysis.expected.csv", ",one,", ",two,", ("analysis.expected.csv", "'two'", "one")),
    ("figures/analysis.expected.csv", "3,0,", "3,-1,", ("analysis.expected.csv: line 2", "tolerance", "-1")),
    ("figures/analysis.expected.csv", "3,0,", "3,x,", ("analysis.expected.csv: line 2", "tolerance", "'x'")),
    (
        "figures/analysis.expected.csv",
        "Sec. 3,,",
        "Sec. 3,no,",
        ("analysis.expected.csv: line 2", "assumed", "'no'"),
    ),
    ("figures/analysis.expected.csv", "source", "sorce", ("analysis.expected.csv", "source", "sorce")),
    ("figures/analysis.expected.csv", "x,column", "column,column", ("analysis.expected.csv", "'column'")),
]


@pytest.mark.parametrize(("file", "old", "new", "names"), OF_STATEMENTS, ids=lambda value: str(value)[:40])
def test_statements_and_printed_numbers(written, refused, refused_command, file, old, new, names):
    """Both are read by `gcexp audit` alone, which tells a mistake before it judges anything."""
    write_files(Path("paper"), {"statements.csv": STATEMENTS, "figures/analysis.expected.csv": PRINTED})
    check_statements(Path("paper"))
    edit(f"paper/{file}", old, new)
    sentence = refused(names, check_statements, Path("paper").resolve())
    assert refused_command(names, "audit", "paper") == f"gcexp: {sentence}\n"


def test_printed_numbers_of_a_figure_that_is_not_there(written, refused):
    write_files(Path("paper"), {"statements.csv": STATEMENTS, "figures/analisis.expected.csv": PRINTED})
    refused(("'analisis'", "'analysis'"), check_statements, Path("paper"))


@pytest.mark.parametrize("cost", ["x", "-1", "nan", "inf", ""])
def test_a_wrong_cost(written, cost):
    Path("conf/costs.csv").write_text(
        f"job,option,start_s,unit_s,memory_mib,unit_bytes,score_s\ntable,*,{cost},0,0,0,0\n"
    )
    from gcexp.run.costs import read_rates

    with pytest.raises(UserError) as caught:
        read_rates()
    assert_named(("costs.csv: line 2", "start_s", repr(cost)), str(caught.value))
