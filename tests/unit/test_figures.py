"""Tables and plots: the same bytes every time, and a sentence for what does not fit."""

import itertools
from argparse import ArgumentParser

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from gcexp.command import job
from gcexp.command.main import main
from gcexp.errors import DataError
from gcexp.figures import draw, overlap, parse, plots, read_table, rows, save, style, typeset, write_table
from gcexp.figures.compose import draw_on
from gcexp.figures.lines import GRID, drawing, middle
from gcexp.report import figurefile
from gcexp.report.figure import RenderOptions
from gcexp.report.published import published_table
from gcexp.report.targets import target_files
from tests.conftest import Project


def curves(labels=("a", "b"), seeds=3, iterations=20):
    rows = [(p, l, s, i) for p, l in enumerate(labels) for s in range(seeds) for i in range(iterations + 1)]
    frame = pd.DataFrame(rows, columns=["place", "label", "seed", "iteration"])
    time = frame["iteration"] * (1 + 0.1 * frame["seed"] + frame.pop("place")) / iterations
    score = 0.1 + 0.8 * (1 - np.exp(-5 * time))
    return frame.assign(run=frame["label"], simulated_time_s=time, test_accuracy=score, test_loss=1 - score)


def timings():
    seeds = [(p, l, s) for p, l in enumerate("abc") for s in (0, 1)]
    rows = [(l, s, 1e-3 * (p + 1 + 0.1 * s)) for p, l, s in seeds]
    return pd.DataFrame(rows, columns=["label", "seed", "mean_iteration_time_s"])


def running(iterations=(1, 10, 100), seeds=4):
    """Bars and lines of one table: a mean per label, seed and iteration."""
    keys = itertools.product(enumerate(("GC", "GC-SC", "bound")), iterations, range(seeds))
    rows = [(l, s, t, 10.0 * (p + 1) + s + np.log10(t)) for (p, l), t, s in keys]
    return pd.DataFrame(rows, columns=["label", "seed", "iteration", "time"])


def grid(**columns):
    """A row for each combination of some values, `y` equal to `x`."""
    frame = pd.DataFrame(itertools.product(*columns.values()), columns=list(columns))
    return frame.assign(y=frame["x"])


LINES = {"kind": "lines"}
BARS_PART = {"kind": "bars", "y": "time", "where": {"iteration": 100}}
LINES_PART = LINES | {"x": "iteration", "y": "time", "band": "interval", "dashed": ["bound"], "xscale": "log"}
XY = LINES | {"x": "x", "y": "y"}


def panel(frame, plot):
    """Axes with a plot of one panel: laying out what stands around it takes most of the time of a figure."""
    axes = Figure().subplots()
    draw_on(axes, frame, parse(plot))
    return axes


# Lines, bars and a table.
FORMATS = {
    "adaptive_fig3": (".pdf",),
    "dynamic_clustering_fig3": (".png",),
    "dynamic_clustering_recoverable": (".md", ".tex"),
}


@pytest.mark.slow
@pytest.mark.paper("adaptive", "dynamic_clustering")
def test_equal_figures_are_equal_bytes_in_another_process(tmp_path, monkeypatch):
    """Hash seeds, temporary names, the clock and a user's own settings differ between processes."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    elsewhere = Project(there).guarded()
    monkeypatch.chdir(here)
    for target, suffixes in FORMATS.items():
        names = [f"drawing{suffix}" for suffix in suffixes]
        table = str(published_table(target))
        command = ["job", "plot", target, "--preset", "paper", "-i", table, "-o", *names]
        code, output = elsewhere.begin("gcexp", *command).ended()
        assert code == 0, output
        with pyplot.rc_context({"font.size": 30, "lines.linewidth": 9}):
            assert main(command) == 0
    for suffix in itertools.chain(*FORMATS.values()):
        text = (here / f"drawing{suffix}").read_bytes()
        assert text == (there / f"drawing{suffix}").read_bytes() and str(tmp_path).encode() not in text
        if suffix == ".pdf":  # vectors with fonts that may be edited, and no date
            assert b"/Subtype /CIDFontType2" in text or b"/Subtype /TrueType" in text
            assert not any(word in text for word in (b"/Type3", b"CreationDate", b"/Subtype /Image"))
    assert pyplot.get_fignums() == []  # pyplot holds no figure


def test_layout_does_not_depend_on_addresses():
    """The solver orders variables by address, so that its last bits differ: places are rounded."""
    figure = draw(grid(label="ab", panel=(1, 2), x=(1, 2)), XY | {"panel": "panel"})
    save(figure, [])
    edges = [edge for axes in figure.axes for edge in axes.get_position().bounds]
    assert edges == pytest.approx(np.round(edges, 6), abs=1e-12)


# Tables on disk


def test_csv_round_trip(tmp_path):
    values = {"label": ["NA", "12", "a,b"], "x": [1 / 3, np.inf, np.nan], "mixed": [0.1, "text", None]}
    frame = pd.DataFrame(values | {"n": [1, 2, 3]})
    write_table(frame, tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_bytes()
    assert text == b'label,x,mixed,n\nNA,0.333333333,0.1,1\n12,inf,text,2\n"a,b",,,3\n'
    back = read_table(tmp_path / "t.csv")
    assert back["label"].tolist() == ["NA", "12", "a,b"]
    assert back["x"].tolist()[:2] == [0.333333333, np.inf] and np.isnan(back["x"][2])
    write_table(back, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == text
    assert list(frame["mixed"])[0] == 0.1  # the caller's table is left alone


@pytest.mark.parametrize("content", [None, b"", b'a,b\n1,2\n3,"4\n', b"a\n1,2\n3,4,5\n", b"a\n\xff\xfe\n"])
def test_damaged_table(refused, content, tmp_path):
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content)
    refused("t.csv", read_table, path, error=DataError)


# Lines


def test_the_middle_of_seeds_that_are_missing():
    assert np.isnan(middle(np.array([[1.0], [np.nan]]), "range")[0]).all()
    one = middle(np.array([[1.0]]), "interval")
    assert one[0] == 1 and np.isnan(one[1:]).all()


def curve_lines(axes):
    return [line for line in axes.lines if len(line.get_xdata()) > 2]


def test_curve_is_the_median_and_goes_on_while_any_seed_runs():
    x, y = curve_lines(panel(curves(seeds=3), LINES | {"xlim": [0, 2]}))[0].get_data()
    # seeds end at 1.0, 1.1, 1.2 and keep their score
    assert x[np.isfinite(y)].max() == pytest.approx(1.2, abs=0.01)
    assert y[0] == pytest.approx(0.1)
    x, y = curve_lines(panel(curves(seeds=1), LINES))[0].get_data()
    assert y[np.searchsorted(x, 0.5) + 1] == pytest.approx(0.1 + 0.8 * (1 - np.exp(-2.5)))


def test_curves_differ_in_colour_dash_and_marker(refused):
    labels = [f"scheme {i}" for i in range(20)]
    for names in (
        labels[:7],
        ["fractional repetition", "uncoded"],
    ):  # the last two are both black in the table
        axes = panel(curves(names, seeds=2), LINES)
        lines = curve_lines(axes)
        assert len({line.get_color() for line in lines}) == len(names)
        assert len({line.get_marker() for line in lines}) == len(names)
        assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    with style.use_style():
        assert len({str(sorted(look.items(), key=str)) for look in style.looks(labels).values()}) == 20
        first = [*style.looks(labels[:10]).values()]
        greys = [np.dot(to_rgb(look["color"]), (0.299, 0.587, 0.114)) for look in first]
        assert len({look["marker"] for look in first}) == 10 and max(greys) < 0.7  # dark enough on white
        refused(("20", "21"), style.looks, [*labels, "one more"])


def test_a_scheme_looks_the_same_beside_any_other(refused, tmp_path, monkeypatch):
    with style.use_style():
        alone = style.looks(["GC-DC", "mine"])
        assert style.looks(["GC", "GC-SC", "mine", "GC-DC"])["GC-DC"] == alone["GC-DC"]
        assert style.looks(["mine"])["mine"] == alone["mine"]
        monkeypatch.chdir(tmp_path)
        own = tmp_path / "conf" / "style" / "looks.toml"
        own.parent.mkdir(parents=True)
        own.write_text('[schemes]\nmine = "green, open"\n')
        assert style.looks(["mine"])["mine"]["color"] == alone["GC-DC"]["color"]
        own.write_text('[schemes]\nmine = "gren"\n')
        refused("green", style.looks, ["mine"])


LONG = "a title of a panel that must be wrapped, with n = 20 and P = 5"
THREE = curves(("Forget-19", "a label that is rather long for a legend", "CGC"), 2)
PARTS = timings().assign(part=lambda frame: frame["label"] + LONG)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "plot", "inches"),
    [
        (THREE, LINES, 3.5),
        (THREE, LINES | {"width": "double"}, 7.16),
        (running(), BARS_PART | {"ylabel": LONG}, 3.5),
        (running(), LINES_PART | {"xlabel": LONG}, 3.5),
        (PARTS, {"kind": "bars", "panel": "seed", "by": "part", "panel_titles": LONG + " {}"}, 7.16),
    ],
)
def test_nothing_overlaps(frame, plot, inches):
    figure = draw(frame, plot, "A long title " * 9, "a long note " * 20)
    assert_words_are_apart(figure)
    assert figure.get_figwidth() == inches


@pytest.mark.slow
def test_words_do_not_shrink_the_axes():
    """The figure grows by title, note and legend; two figures with equal axes are comparable."""
    few, many = (draw(curves(), LINES | {"width": "single"}, "A title", "note " * count) for count in (1, 60))
    for figure in (few, many):
        figure.draw_without_rendering()
    heights = [figure.axes[0].get_window_extent().height for figure in (few, many)]
    assert many.get_figheight() > few.get_figheight() + 0.2
    assert heights[0] == pytest.approx(heights[1], abs=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "beside"), [("short", True), ("a label that is rather long for a legend", False)]
)
def test_legend_is_beside_the_axes_only_if_they_keep_most_of_the_width(label, beside):
    figure = draw(curves((label, "b")), LINES, width=5)
    figure.draw_without_rendering()
    legend, axes = (part.get_window_extent() for part in (figure.legends[0], figure.axes[0]))
    assert (legend.x0 > axes.x1, legend.y1 < axes.y0) == (beside, not beside)


def test_legend_is_filled_evenly():
    labels = ["GC", "GC-SC", "GC-DC, previous state", "GC-DC, perfect state", "LB"]
    figure = draw(grid(label=labels, x=(1, 2)), XY | {"width": "single"})
    figure.draw_without_rendering()
    columns = {round(text.get_window_extent().x0) for text in figure.legends[0].get_texts()}
    assert len(columns) == 3  # 2 + 2 + 1, where four columns would be 2 + 1 + 1 + 1


def test_analysis_lines_panels_bounds_and_log_axes():
    frame = grid(n=(12, 15), label=("code", "bound"), x=(1, 2, 3)).assign(y=lambda rows: 10.0 ** rows["x"])
    figure = draw(frame, XY | {"yscale": "log", "panel": "n", "dashed": ["bound"]})
    assert [axes.get_title() for axes in figure.axes] == ["n = 12", "n = 15"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()][1:-1] == ["10", "100", "1000"]
    code, bound = figure.axes[0].lines
    assert code.get_ydata().tolist() == [10, 100, 1000] and bound.get_marker() == "none"
    assert figure.axes[0].get_yscale() == "log" and figure.axes[0].get_xlabel() == "x"


def test_the_note_says_how_many_seeds_each_line_has():
    frame = curves(("a", "b", "c"))
    frame = frame[(frame["label"] != "c") | (frame["seed"] == 0)]

    def said(**plot):
        with style.use_style():
            return drawing(frame, parse(LINES | plot)).words

    for band, word in (("range", "smallest"), ("quartiles", "quartiles"), ("none", "median")):
        assert "3 seeds (1 of c)" in said(band=band) and word in said(band=band)
    assert "0.3" in said(level=[0.3, 0.5]) and "0.5" in said(level=[0.3, 0.5])
    note = draw(frame, LINES, note="Digits.").texts[-1].get_text()
    assert " ".join(note.split()) == f"{said()} Digits."
    seeds = {"cgc": 5, "cyclic": 10, "frc": 5, "brc": 10, "forget": 5}
    many = pd.DataFrame({"label": [name for name, count in seeds.items() for _ in range(count)]})
    many["seed"] = many.groupby("label").cumcount()
    assert "5 seeds (10 of cyclic and brc)" in rows.seed_sentence(many, "label", "Lines", "")


def test_equal_lines_are_told_apart():
    frame = grid(label="abcd", x=range(1, 6))
    frame["y"] *= frame["label"].map({"a": 1, "b": 1.0001, "c": 2, "d": 1})
    lines = panel(frame, XY).lines
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] > widths[1] > widths[3] == widths[2]  # those drawn first are seen beside the others
    assert [line.get_markevery() for line in lines] == [[0, 3], [1, 4], [0, 1, 2, 3, 4], [2]]


def test_no_marker_hides_another_one():
    """Where lines meet at single points, one of them has the marker, and none is left without."""
    x = np.arange(5.0)
    near = {"a": (x, x), "b": (x, x + 0.01), "c": (x, 4 - x), "d": (x[:1], x[:1])}
    marked = overlap.marked_points(near)
    taken = [(point, round(near[name][1][point])) for name, points in marked.items() for point in points]
    assert len(taken) == len(set(taken)) == 9 and min(map(len, marked.values())) >= 1


def test_the_time_to_a_score_stands_beside_the_curves():
    frame = curves(seeds=5)
    slow = frame[frame["label"] == "a"].assign(label="slow", test_accuracy=0.2)
    plot = LINES | {"time_to": 0.5, "names": {"a": "fast"}}
    figure = draw(pd.concat([frame, slow]), plot)
    beside = figure.axes[1]
    assert [text.get_text() for text in beside.get_yticklabels()] == ["fast", "b", "slow"]
    told = [text.get_text() for text in beside.texts]
    fast = frame[frame["label"] == "a"].groupby("seed")
    middle = fast.apply(rows.time_to, "test_accuracy", 0.5).median()
    assert told[0] == f"{middle:#.3g}" and told[2] == "never"
    assert "never reach" in " ".join(figure.texts[-1].get_text().split())
    assert len(beside.containers) == 2  # intervals of five seeds
    assert not draw(curves(seeds=4), plot).axes[1].containers


@pytest.mark.parametrize("key", ["xtick.labelsize", "legend.fontsize", "axes.titlesize"])
def test_letters_that_are_too_small_for_print_are_refused(refused, key, tmp_path):
    small = tmp_path / "small.mplstyle"
    small.write_text(f"{style.STYLE.read_text()}\n{key}: 6.5\n")
    frame = grid(label="ab", panel=(1, 2), x=(1, 2))
    refused(("6.5", "7"), lambda: draw(frame, XY | {"panel": "panel"}, style=small))


def test_a_letter_that_a_function_draws_too_small_is_refused(refused):
    plot = {"kind": "function", "function": f"{__name__}.too_small"}
    refused(("'tiny'", "6"), draw, pd.DataFrame({"value": [1]}), plot)


def too_small(axes, rows):
    axes.text(0, 0, "tiny", fontsize=6)


def test_a_slow_line_does_not_push_the_others_to_the_edge():
    frame = curves()
    slow = frame["label"] == "b"
    frame.loc[slow, "simulated_time_s"] *= 20
    assert panel(frame, LINES).get_xscale() == "log"
    assert panel(frame, LINES | {"xscale": "linear"}).get_xscale() == "linear"
    assert panel(frame, LINES | {"xlim": [0, 2]}).get_xscale() == "linear"
    assert panel(curves(), LINES).get_xscale() == "linear"


def test_iterations_are_points_and_clocks_are_steps():
    """A table with seeds and iterations is a curve only over a clock."""
    frame, plot = running(), LINES | {"x": "iteration", "y": "time"}
    line = panel(frame, plot | {"band": "none"}).lines[0]
    assert line.get_xdata().tolist() == [1, 10, 100] and line.get_ydata() == pytest.approx([11.5, 12.5, 13.5])
    one = frame[frame["seed"] == 0].drop(columns="seed")  # a clock without seeds is one seed
    for stepped in (frame, one):
        assert len(panel(stepped, plot | {"steps": True}).lines[0].get_xdata()) == GRID
    clocked = panel(curves(), LINES | {"steps": False, "where": {"seed": 0}}).lines[0]
    assert len(clocked.get_xdata()) == 21


def test_mean_with_its_interval():
    plot = LINES | {"x": "iteration", "y": "time", "band": "interval"}
    figure = draw(running(seeds=3), plot, note="digits")
    axes = figure.axes[0]
    assert axes.lines[0].get_ydata() == pytest.approx([11, 12, 13])
    band = axes.collections[0].get_paths()[0].vertices
    at_10 = band[band[:, 0] == 10, 1]
    half = 4.30265 / np.sqrt(3)  # t(2) and a standard deviation of 1
    assert (at_10.min(), at_10.max()) == pytest.approx((12 - half, 12 + half), rel=1e-5)
    words = figure.texts[-1].get_text()
    assert "3 seeds" in words and "95 %" in words and words.endswith("digits")


def test_a_threshold_stands_in_every_panel():
    frame = grid(label="ab", m="AB", x=(1, 2)).assign(at=lambda rows: rows["m"].map({"A": 1.5}))
    figure = draw(frame, XY | {"panel": "m", "threshold": "at", "threshold_label": "a wins"})
    one, other = figure.axes
    assert len(other.lines) == 2 and len(one.lines) == 3 and set(one.lines[0].get_xdata()) == {1.5}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "a wins"]


def test_words_of_panels():
    frame, plot = grid(label="a", swept="mp", x=(1, 2)), XY | {"panel": "swept"}
    given = {"panel_titles": {"m": ""}, "xlabel": {"p": "probability"}, "ylabel": "time"}
    for more, words in (
        ({}, [("m", "x", "y"), ("p", "x", "y")]),
        (given, [("", "x", "time"), ("p", "probability", "time")]),
        ({"panel_titles": "swept {}"}, [("swept m", "x", "y"), ("swept p", "x", "y")]),
    ):
        with style.use_style():
            panels = drawing(frame, parse(plot | more)).panels
        assert [(one.title, one.below, one.left) for one in panels] == words
    axes = draw(frame, plot | given).axes
    found = [(one.get_title(), one.get_xlabel(), one.get_ylabel()) for one in axes]
    assert found == [("", "x", "time"), ("p", "probability", "")]  # one label at the left of a row


@pytest.mark.parametrize(
    "text",
    ["a title: n = 20, P = 5", "any n - s workers", "saves 95 % of it", "time (time units)", "α ≤ 0.5"],
)
def test_formulas_are_not_broken(text):
    for inches in np.arange(0.05, 1.5, 0.05):
        lines = style.wrap(text, inches, 8)
        assert " ".join(lines) == text
        assert not any(line.split()[-1] in {"=", "-", "≤", "(time"} for line in lines)
        assert not any(line.split()[0] in {"=", "-", "≤", "%", "units)"} for line in lines)


# Bars


def test_bars_are_means_with_intervals_and_marks():
    figure = draw(timings(), {"kind": "bars", "reference": {"b": 0.003}}, note="simulated clock")
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([1.05e-3, 2.05e-3, 3.05e-3])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c"]
    whisker = axes.containers[1].lines[2][0].get_segments()[0]
    # t(1) = 12.7062, s / sqrt 2 = 0.05e-3
    assert np.ptp(whisker[:, 0]) == pytest.approx(2 * 12.7062 * 0.05e-3, rel=1e-4)
    (mark,) = [line for line in axes.lines if line.get_linewidth() > 1.5]
    assert list(mark.get_xdata()) == [0.003] * 2 and mark.get_ydata() == pytest.approx([1 - 0.42, 1 + 0.42])
    assert "2 seeds" in figure.texts[-1].get_text()
    frame = pd.concat([timings().assign(n=n, paper=0.002) for n in (10, 15)])
    figure = draw(frame, {"kind": "bars", "reference": "paper", "panel": "n", "reference_label": "Table VI"})
    assert [axes.get_title() for axes in figure.axes] == ["n = 10", "n = 15"]
    assert figure.legends[0].get_texts()[0].get_text() == "Table VI"
    numbers = pd.DataFrame({"label": [*"abcd"], "y": [7.756, 11, 123.4, -0.5]})
    texts = panel(numbers, {"kind": "bars", "y": "y"}).texts
    assert [text.get_text() for text in texts] == ["7.76", "11.0", "123", "−0.500"]


# Typeset tables


def test_table_in_two_forms():
    frame = pd.DataFrame({"code": ["a|b & <i>", "c_1"], "load": [1 / 3, np.nan], "ok": [True, False]})
    plot = {"kind": "table", "columns": ["code", "ok", "load"], "headers": {"load": "load $l$"}}
    plot |= {"formats": {"load": ".3f"}}
    figure = draw(frame, plot, "Table_1", "assumed")
    assert figure.sources[".md"] == (
        "**Table\\_1**\n\n| code | ok | load \\$l\\$ |\n| --- | --- | ---: |\n"
        "| a\\|b &amp; &lt;i&gt; | yes | 0.333 |\n| c\\_1 | no | – |\n\nassumed\n"
    )
    tex = figure.sources[".tex"]
    assert "assumed" in tex and r"\toprule" in tex and r"\begin{tabular}{llr}" in tex
    assert r"a\ensuremath{|}b \& \ensuremath{<}i\ensuremath{>} & yes & 0.333 \\" in tex
    assert r"load \$l\$" in tex and r"\caption{Table\_\allowbreak{}1}" in tex


# Mistakes


@pytest.mark.parametrize(
    ("plot", "named"),
    [
        ({}, ("kind", "lines", "function")),
        ({"kind": "line"}, ("'line'", "'lines'")),
        ({"kind": "lines", "xlims": [0, 1]}, ("'xlims'", "'xlim'")),
        ({"kind": "lines", "xlim": [1, 0]}, ("xlim",)),
        ({"kind": "lines", "ylim": [0, 1], "yscale": "log"}, ("ylim", "log")),
        ({"kind": "lines", "level": "0.88 "}, ("level", "'0.88 '")),
        ({"kind": "lines", "band": "quartile"}, ("'quartile'", "'quartiles'")),
        ({"kind": "lines", "dashed": "bound"}, ("dashed", "'bound'")),
        ({"kind": "lines", "slope": 1}, ("slope", "log")),
        ({"kind": "table", "formats": {"x": ".3q"}}, ("formats", "x", ".3q")),
        ({"kind": "bars", "panel_titles": {"a": "A"}}, ("panel_titles", "panel")),
        ({"kind": "lines", "xlabel": {"a": "A"}}, ("xlabel", "panel")),
        ({"kind": "bars", "panel": "n", "panel_titles": "n"}, ("panel_titles", "{}")),
        ({"kind": "function", "function": "a.b", "columns": 0}, ("columns", "0")),
    ],
)
def test_a_mistake_in_a_plot_names_the_key_and_what_is_allowed(refused, plot, named):
    refused(named, parse, plot)


@pytest.mark.parametrize(
    ("frame", "plot", "named"),
    [
        (curves(), LINES | {"y": "test_acuracy"}, ("'test_acuracy'", "'test_accuracy'")),
        (curves(), LINES | {"y": "run"}, ("'run'",)),
        (curves(), LINES | {"dashed": ["c"]}, ("'c'", "a, b")),
        (curves().iloc[:0], LINES, ("rows",)),
        (pd.DataFrame({"label": "a", "x": [1, 1], "y": [1, 2]}), LINES | {"x": "x", "y": "y"}, ("'a'", "x")),
        (pd.DataFrame({"label": "a", "y": [1, 2]}), {"kind": "bars", "y": "y"}, ("'a'", "seeds")),
        (timings(), {"kind": "bars", "reference": {"d": 1}}, ("reference", "'d'")),
        (timings(), {"kind": "bars", "reference": "papers"}, ("'papers'",)),
        (timings(), {"kind": "table", "columns": ["sed"]}, ("'sed'", "'seed'")),
        (timings(), {"kind": "table", "headers": {"x": "y"}}, ("'x'",)),
        (timings(), {"kind": "table", "once": ["x"]}, ("'x'",)),
        (timings(), {"kind": "table", "where": {"seed": 9}}, ("where", "'9'", "0, 1")),
        (running(), BARS_PART | {"where": {"iteration": 99}}, ("where", "'99'", "1, 10, 100")),
        (running(), BARS_PART | {"where": {"iterations": 1}}, ("'iterations'", "'iteration'")),
        (timings(), {"kind": "bars", "panel": "seed", "panel_titles": {2: "x"}}, ("panel_titles", "0, 1")),
    ],
)
def test_a_plot_that_does_not_fit_its_table_names_what_does_not(refused, frame, plot, named):
    refused(named, draw, frame, plot)


@pytest.mark.slow
def test_files_and_styles_that_cannot_be(refused, tmp_path):
    figure = draw(curves(), LINES, width=2)
    refused("'.md'", save, figure, [tmp_path / "x.md"])
    refused("none.mplstyle", lambda: draw(curves(), LINES, style=tmp_path / "none.mplstyle"))
    (tmp_path / "file").write_text("")
    refused("file/x.png", save, figure, [tmp_path / "file" / "x.png"])
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    save(figure, [one])
    save(figure, [two])
    assert one.read_bytes() == two.read_bytes()  # a figure can be saved again


# --- Tables across and drawings by a function


def test_a_tidy_table_is_set_as_a_grid(refused):
    frame = pd.DataFrame({"m": [1, 1, 2], "d": [1, 2, 2], "time": [3.0, 2.5, 1.0]})
    plot = parse({"kind": "table", "columns": ["m"], "across": {"d": "time"}, "formats": {"2": ".1f"}})
    cells = typeset.cells(frame, plot)
    assert cells.header == ["m", "1", "2"] and cells.body == [["1", "3", "2.5"], ["2", "–", "1.0"]]
    assert cells.numbers == [0, 1, 2]
    grouped = typeset.cells(frame, parse({"kind": "table", "once": ["m"]}))
    assert [row[0] for row in grouped.body] == ["1", "", "2"]
    refused(("across", "m = 1, d = 1"), typeset.cells, pd.concat([frame, frame[:1]]), plot)
    refused(("across", "columns"), parse, {"kind": "table", "across": {"d": "time"}})


def test_a_drawing_by_a_function(refused):
    frame = pd.DataFrame({"panel": ["a", "b"], "value": [1, 2]})
    plot = {"kind": "function", "function": f"{__name__}.mark", "panel": "panel", "columns": 2}
    figure = draw(frame, plot, "title")
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["1", "2"]
    assert [axes.get_title() for axes in figure.axes] == ["a", "b"]
    for function, names in (
        ("style.plane", ("'plane'", "'plain'")),
        ("nowhere.mark", "gcexp.figures.nowhere"),
    ):
        refused(names, draw, frame, plot | {"function": f"gcexp.figures.{function}"})


def mark(axes, rows):
    axes.text(0, 0, str(rows["value"].iloc[0]))


# --- In one column


def words(figure):
    """Every text that is drawn; an axis keeps ticks that it does not draw."""
    figure.draw_without_rendering()
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in itertools.chain.from_iterable((one, *one.child_axes) for one in figure.axes):
        found += axes.texts
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = (*axis.get_major_ticks(), *axis.get_minor_ticks())
            found += [axis.label, *(tick.label1 for tick in ticks if low <= tick.get_loc() <= high)]
        found.append(axes.title)
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def assert_words_are_apart(figure):
    """Every word is large enough, inside the figure and on no other one; how many there are."""
    found = words(figure)  # which lays the figure out, most of the time of a test
    assert min(text.get_fontsize() for text in found) >= style.LEAST
    boxes = np.array([text.get_window_extent().extents for text in found])
    inside = (boxes[:, :2] > -1).all(1) & (boxes[:, 2:] < figure.bbox.max + 1).all(1)
    assert inside.all(), [text.get_text() for text, is_in in zip(found, inside, strict=True) if not is_in]
    low, high = boxes[:, :2], boxes[:, 2:]
    both = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    pairs = np.argwhere(np.triu((both >= 2).all(-1), 1))
    assert not len(pairs), [(found[one].get_text(), found[other].get_text()) for one, other in pairs]
    return len(found)


NARROW = {
    *("adaptive_fig2", "codes_stability", "comm_efficient_fig1", "comm_efficient_map"),
    "dynamic_clustering_ablation",
}
LINES_OF_STUDY = {"stragglers_training"}  # its other figures have functions of their own, which draw them
OF_STUDY = {one for one in target_files() if one.startswith("stragglers_")} - LINES_OF_STUDY
TARGETS = [one for one in target_files() if one in NARROW | OF_STUDY]


@pytest.mark.parametrize("target", filter(published_table, TARGETS))
def test_a_published_figure_is_read_in_one_column(target):
    one = figurefile.figure(target, "paper", checks=False)
    frame = read_table(published_table(target))
    figure = draw(frame, one.file.plot, one.heading, one.footnote, width=plots.inches("single"))
    assert assert_words_are_apart(figure) > 10 and figure.get_figwidth() == 3.5
    assert min(axes.get_position().width for axes in figure.axes) * 3.5 > 0.75  # panels move below each other


@pytest.mark.parametrize(
    ("key", "word", "named"),
    [
        ("plot_width", "singel", "'single'"),
        ("plot_width", "1", "2 to 20"),
        ("plot_note", "perhaps", "plot_note"),
    ],
)
def test_render_options_that_are_none(refused, key, word, named):
    refused((named, word), RenderOptions.of, {key: word}, "plot_")


def test_render_options_are_handed_to_the_job_that_draws():
    parser = ArgumentParser()
    job.add(parser, "plot")
    look = RenderOptions.of({"plot_note": False, "plot_width": 3.5}, "plot_")
    told = parser.parse_args(["fig", "-i", "table", "-o", "drawing", *look.arguments])
    assert RenderOptions.of(vars(told)) == look and look.width == 3.5


def test_the_panel_of_first_passages_has_the_axis_of_the_curves():
    frame = curves(seeds=5)
    frame.loc[frame["label"] == "b", "simulated_time_s"] *= 20
    above, beside = draw(frame, LINES | {"time_to": 0.5}).axes[:2]
    assert above.get_xscale() == beside.get_xscale() == "log"
    assert beside.get_xlim() == pytest.approx(above.get_xlim(), rel=0.01)
    above, beside = draw(curves(seeds=5), LINES | {"time_to": 0.5, "xlim": [0, 9]}).axes[:2]
    assert beside.get_xlim() == (0, 9) == above.get_xlim()
