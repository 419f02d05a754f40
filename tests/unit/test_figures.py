"""Tables and plots: the same bytes every time, and a sentence for what does not fit."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb

from gcexp.errors import DataError, UserError
from gcexp.figures import draw, parse, read_table, save, style, write_table
from gcexp.figures.lines import middle, step
from gcexp.figures.typeset import MOST_ROWS


def curves(labels=("a", "b"), seeds=3, iterations=20):
    rows = []
    for place, label in enumerate(labels):
        for seed in range(seeds):
            time = np.arange(iterations + 1) * (1 + 0.1 * seed + place) / iterations
            score = 0.1 + 0.8 * (1 - np.exp(-5 * time))
            part = {"label": label, "run": f"run{place}", "seed": seed, "iteration": range(iterations + 1)}
            rows.append(
                pd.DataFrame(
                    part | {"simulated_time_s": time, "test_accuracy": score, "test_loss": 1 - score}
                )
            )
    return pd.concat(rows, ignore_index=True)


def timings():
    rows = [
        {"label": l, "seed": s, "mean_iteration_time_s": 1e-3 * (p + 1 + 0.1 * s)}
        for p, l in enumerate("abc")
        for s in (0, 1)
    ]
    return pd.DataFrame(rows)


LINES = {"kind": "lines"}
PLOTS = {
    "lines": (curves(), {"xlim": [0, 0.8], "level": 0.5}),
    "bars": (timings(), {"reference": {"a": 0.001}}),
    "table": (timings(), {"formats": {"mean_iteration_time_s": ".4f"}}),
}


def drawn(kind, folder):
    frame, plot = PLOTS[kind]
    paths = [
        folder / f"{kind}{suffix}"
        for suffix in (".pdf", ".png", *([".md", ".tex"] if kind == "table" else []))
    ]
    save(draw(frame, {"kind": kind} | plot, "A title with $5 and β", "simulated clock"), paths)
    return b"".join(path.read_bytes() for path in paths)


@pytest.mark.parametrize("kind", PLOTS)
def test_equal_figures_are_equal_bytes(kind, tmp_path):
    first = drawn(kind, tmp_path / "one")
    with pyplot.rc_context({"font.size": 30, "lines.linewidth": 9}):  # a user's own settings change nothing
        assert drawn(kind, tmp_path / "two") == first
    assert str(tmp_path).encode() not in first


def test_equal_bytes_in_other_processes(tmp_path):
    """Hash seeds, temporary names and the clock differ between processes."""
    script = (
        "import sys, importlib.util; from pathlib import Path\n"
        "spec = importlib.util.spec_from_file_location('t', sys.argv[1]); t = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(t)\n"
        "[t.drawn(kind, Path(sys.argv[2])) for kind in t.PLOTS]; t.write_table(t.curves(), Path(sys.argv[2]) / 't.csv')"
    )
    for seed in "12":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", script, __file__, tmp_path / seed], check=True, env=environment)
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert len(names) == 9
    assert all((tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes() for name in names)


def test_pdf_embeds_truetype_and_no_date(tmp_path):
    drawn("lines", tmp_path)
    pdf = (tmp_path / "lines.pdf").read_bytes()
    assert b"/Subtype /CIDFontType2" in pdf or b"/Subtype /TrueType" in pdf
    assert b"/Type3" not in pdf and b"CreationDate" not in pdf


def test_pyplot_holds_no_figure(tmp_path):
    drawn("lines", tmp_path)
    assert pyplot.get_fignums() == []


# Tables on disk


def test_csv_round_trip(tmp_path):
    values = {
        "label": ["NA", "12", "a,b"],
        "x": [1 / 3, np.inf, np.nan],
        "mixed": [0.1, "text", None],
        "n": [1, 2, 3],
    }
    frame = pd.DataFrame(values)
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
def test_damaged_table(content, tmp_path):
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"t\.csv") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


# Lines


def test_step_holds_the_last_finished_score():
    x, y = np.array([0.0, 2.0, 1.0, 1.0]), np.array([0.0, 0.9, 0.4, 0.5])
    assert step(x, y, np.array([0.99, 1.0, 1.99, 2.0])).tolist() == [0.0, 0.5, 0.5, 0.9]
    assert np.isnan(step(x, y, np.array([-0.1, 2.1]))).all()


def test_band():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [9.0]])
    assert [part.item() for part in middle(values, "quartiles")] == [3, 2, 4]
    assert [part.item() for part in middle(values, "range")] == [3, 1, 9]
    assert np.isnan(
        middle(np.array([[1.0], [np.nan]]), "range")[0]
    ).all()  # one seed has ended: no median of the rest


def curve_lines(figure):
    return [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]


def test_curve_is_the_median_and_ends_with_its_first_seed():
    lines = curve_lines(draw(curves(seeds=3), LINES | {"xlim": [0, 2]}))
    x, y = lines[0].get_data()
    assert x[np.isfinite(y)].max() == pytest.approx(1.0, abs=0.01)  # seeds end at 1.0, 1.1, 1.2
    assert y[0] == pytest.approx(0.1)
    x, y = curve_lines(draw(curves(seeds=1), LINES))[0].get_data()
    assert y[np.searchsorted(x, 0.5) + 1] == pytest.approx(0.1 + 0.8 * (1 - np.exp(-2.5)))


def test_seven_curves_differ_in_colour_dash_and_marker():
    labels = [f"scheme {i}" for i in range(20)]
    figure = draw(curves(labels[:7], seeds=2), LINES)
    lines = curve_lines(figure)
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 7
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels[:7]
    with style.applied():
        looks = [str(sorted(look.items(), key=str)) for look in style.looks(labels).values()]
        assert len(set(looks)) == 20
        with pytest.raises(UserError, match="at most 20 lines apart, got 21"):
            style.looks([*labels, "one more"])


def test_nothing_overlaps():
    labels = ["Forget-19", "cyclic, β = 12", "a label that is rather long for a legend", "CGC"]
    for width in ("single", "wide"):
        figure = draw(curves(labels, 2), LINES | {"width": width}, "A long title " * 9, "a long note " * 20)
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        boxes = [figure.axes[0].get_tightbbox(renderer), figure.legends[0].get_window_extent(renderer)]
        boxes += [text.get_window_extent(renderer) for text in figure.texts]
        for place, box in enumerate(boxes):
            assert (
                box.x0 >= -1
                and box.y0 >= -1
                and box.x1 <= figure.bbox.x1 + 1
                and box.y1 <= figure.bbox.y1 + 1
            )
            assert not any(box.overlaps(other) for other in boxes[place + 1 :]), (width, place)
        assert figure.get_size_inches()[0] == style.WIDTHS[width]


def test_analysis_lines_panels_bounds_and_log_axes():
    rows = [
        {"label": l, "x": x, "m": 10.0**x, "n": n}
        for n in (12, 15)
        for l in ("code", "bound")
        for x in (1, 2, 3)
    ]
    figure = draw(
        pd.DataFrame(rows), LINES | {"x": "x", "y": "m", "yscale": "log", "panel": "n", "dashed": ["bound"]}
    )
    assert [axes.get_title() for axes in figure.axes] == ["n = 12", "n = 15"]
    code, bound = figure.axes[0].lines
    assert code.get_ydata().tolist() == [10, 100, 1000] and bound.get_marker() == "none"
    assert figure.axes[0].get_yscale() == "log" and figure.axes[0].get_xlabel() == "x"


def test_note_says_what_line_and_band_are():
    words = {
        band: draw(curves(), LINES | {"band": band}, note="digits").texts[-1].get_text()
        for band in ("range", "none")
    }
    assert words["range"] == "Line: median over 3 seeds, band: smallest to largest; digits"
    assert words["none"] == "Line: median over 3 seeds; digits"


def test_grey_tells_the_first_curves_apart():
    """No two curves share both the marker and the grey of their colour."""
    with style.applied():
        looks = style.looks([str(i) for i in range(10)]).values()
    greys = [np.dot(to_rgb(look["color"]), (0.299, 0.587, 0.114)) for look in looks]
    assert len({look["marker"] for look in looks}) == 10 and max(greys) < 0.7  # all dark enough on white


# Bars


def test_bars_are_means_with_intervals_and_marks():
    figure = draw(timings(), {"kind": "bars", "reference": {"b": 0.003}}, note="simulated clock")
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([1.05e-3, 2.05e-3, 3.05e-3])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c"]
    whisker = axes.containers[1].lines[2][0].get_segments()[0]
    assert np.ptp(whisker[:, 0]) == pytest.approx(
        2 * 12.7062 * 0.05e-3, rel=1e-4
    )  # t(1) = 12.7062, s / sqrt 2 = 0.05e-3
    assert [
        line.get_xdata()[0] for line in axes.lines if line.get_marker() == "|" and line.get_markersize() > 9
    ] == [0.003]
    assert (
        figure.texts[-1].get_text().startswith("Bar: mean over 2 seeds, whisker: 95 % interval of the mean")
    )


def test_bars_reference_column_and_panels():
    frame = pd.concat([timings().assign(n=n, paper=0.002) for n in (10, 15)])
    figure = draw(frame, {"kind": "bars", "reference": "paper", "panel": "n", "reference_label": "Table VI"})
    assert [axes.get_title() for axes in figure.axes] == ["n = 10", "n = 15"]
    assert figure.legends[0].get_texts()[0].get_text() == "Table VI"


# Typeset tables


def test_table_in_three_forms():
    frame = pd.DataFrame({"code": ["a|b & <i>", "c_1"], "load": [1 / 3, np.nan], "ok": [True, False]})
    plot = {
        "kind": "table",
        "columns": ["code", "ok", "load"],
        "headers": {"load": "load $l$"},
        "formats": {"load": ".3f"},
    }
    figure = draw(frame, plot, "Table_1", "assumed")
    assert figure.sources[".md"] == (
        "**Table\\_1**\n\n| code | ok | load \\$l\\$ |\n| --- | --- | ---: |\n"
        "| a\\|b &amp; &lt;i&gt; | yes | 0.333 |\n| c\\_1 | no | – |\n\nassumed\n"
    )
    tex = figure.sources[".tex"]
    assert tex.startswith("% assumed\n") and r"\toprule" in tex and r"\begin{tabular}{llr}" in tex
    assert r"a|b \& <i> & yes & 0.333 \\" in tex and r"load \$l\$" in tex and r"\caption{Table\_1}" in tex
    assert "a|b & <i>" in [text.get_text() for text in figure.texts]


def test_long_table_is_cut_in_the_drawing_only():
    figure = draw(pd.DataFrame({"x": range(MOST_ROWS + 40)}), {"kind": "table"})
    assert "40 more rows in the CSV file" in [text.get_text() for text in figure.texts]
    assert figure.sources[".md"].count("\n") == MOST_ROWS + 42


# Sentences


@pytest.mark.parametrize(
    ("plot", "sentence"),
    [
        ({}, r"^plot: wants a kind \(lines, bars, table, clusters\), got \{\}$"),
        (["lines"], "wants a kind"),
        ({"kind": "line"}, r"unknown kind of plot 'line'; did you mean 'lines'\?"),
        (
            {"kind": "lines", "xlims": [0, 1]},
            r"^plot: unknown key 'xlims'; did you mean 'xlim'\? \(allowed: band",
        ),
        ({"kind": "bars", "references": "a"}, r"unknown key 'references'; did you mean 'reference'\?"),
        ({"kind": "table", "format": {}}, r"unknown key 'format'; did you mean 'formats'\?"),
        ({"kind": "lines", "xlim": [1, 0]}, "xlim wants two rising numbers"),
        ({"kind": "lines", "xlim": [0, 1, 2]}, r"^plot: xlim wants 2 numbers or nothing, got \[0, 1, 2\]$"),
        ({"kind": "lines", "ylim": [0, 1], "yscale": "log"}, "ylim of a log axis wants positive numbers"),
        ({"kind": "bars", "ylim": [0, 1], "yscale": "log"}, "ylim of a log axis wants positive numbers"),
        ({"kind": "lines", "level": "0.88 "}, "level wants number or nothing, got '0.88 '"),
        ({"kind": "lines", "level": True}, "level wants number or nothing, got True"),
        ({"kind": "lines", "band": "quartile"}, r"unknown choice 'quartile'; did you mean 'quartiles'\?"),
        ({"kind": "lines", "dashed": "bound"}, "dashed wants a list of texts, got 'bound'"),
        ({"kind": "table", "formats": {"x": ".3q"}}, r"formats: x: '\.3q' is not a number format"),
    ],
)
def test_plot_sentences(plot, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        parse(plot)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "plot", "sentence"),
    [
        (
            curves(),
            LINES | {"y": "test_acuracy"},
            r"unknown column 'test_acuracy'; did you mean 'test_accuracy'\?",
        ),
        (curves(), LINES | {"y": "run"}, "column 'run' holds text"),
        (curves(), LINES | {"dashed": ["c"]}, r"unknown label 'c' \(allowed: a, b\)"),
        (curves().iloc[:0], LINES, "the table has no rows"),
        (
            pd.DataFrame({"label": "a", "x": [1, 1], "y": [1, 2]}),
            LINES | {"x": "x", "y": "y"},
            "several rows at one x",
        ),
        (
            pd.DataFrame({"label": "a", "y": [1, 2]}),
            {"kind": "bars", "y": "y"},
            "'a' has 2 rows and no seeds",
        ),
        (timings(), {"kind": "bars", "reference": {"d": 1}}, "reference: unknown label 'd'"),
        (timings(), {"kind": "bars", "reference": "papers"}, "unknown column 'papers'"),
        (timings(), {"kind": "table", "columns": ["sed"]}, r"unknown column 'sed'; did you mean 'seed'\?"),
        (timings(), {"kind": "table", "headers": {"x": "y"}}, "unknown column 'x'"),
    ],
)
def test_table_sentences(frame, plot, sentence):
    with pytest.raises(UserError, match=sentence):
        draw(frame, plot)


def test_format_and_style_sentences(tmp_path):
    figure = draw(curves(), LINES)
    with pytest.raises(UserError, match=r"unknown format of a plot '\.md'"):
        save(figure, [tmp_path / "x.md"])
    with pytest.raises(UserError, match="style file .* does not exist"):
        draw(curves(), LINES, style=tmp_path / "none.mplstyle")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file.x\.png"):
        save(figure, [tmp_path / "file" / "x.png"])


def test_checking_a_plot_needs_no_matplotlib():
    code = "import sys, gcexp.figures, gcexp.claims; print({'matplotlib', 'pandas'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )
