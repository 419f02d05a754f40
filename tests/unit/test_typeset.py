"""A table set as LaTeX, and whether plain pdfLaTeX takes it."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from gcexp.figures import draw, latex
from gcexp.report.figurefile import named_figures
from gcexp.report.jobs import make_drawing
from gcexp.report.targets import page_files
from tests.conftest import LONG

PUBLISHED = Path(__file__).resolve().parents[2] / "reports" / "published" / "data"


def test_signs_become_formulas():
    frame = pd.DataFrame({"α ≤ β²": ["⌈n/d⌉ – μₛ", "a < b | 50 %"]})
    text = draw(frame, {"kind": "table"}).sources[".tex"]
    assert r"\ensuremath{\alpha} \ensuremath{\le} \ensuremath{\beta}\ensuremath{^{2}}" in text
    assert r"\ensuremath{\lceil}n/d\ensuremath{\rceil} -- \ensuremath{\mu}\ensuremath{_{s}}" in text
    assert r"a \ensuremath{<} b \ensuremath{|} 50 \%" in text


def test_a_wide_table_is_shrunk_to_the_line_and_long_texts_are_wrapped():
    prose = "what a statement says, in several words that are no formula, " * 3
    names = {f"a long head of the number {number}": [1234.5, -0.25] for number in range(9)}
    frame = pd.DataFrame({"id": ["a_name", "b"], "what": [prose, "b"]} | names)
    said = {"title": "Loads", "note": "delays are assumed", "label": "tab:loads"}
    text = draw(frame, {"kind": "table"}, **said).sources[".tex"]
    for part in (r"\label{tab:loads}", "delays are assumed", r"max width=\linewidth", r"\ensuremath{-}0.25"):
        assert part in text
    assert text.count(r"p{0.60\linewidth}") == 1 and "rrrrrrrrr}" in text  # numbers are never wrapped


def test_a_long_table_goes_on_on_the_next_page():
    rows = [f"[{number}]" for number in range(latex.LINES + 1)]
    long = draw(pd.DataFrame({"n": rows}), {"kind": "table"}, note="assumed").sources[".tex"]
    short = draw(pd.DataFrame({"n": rows[1:]}), {"kind": "table"}).sources[".tex"]
    assert r"\begin{longtable}{l}" in long and "assumed" in long.partition(r"\end{longtable}")[2]
    assert r"\begin{longtable}" not in short and r"\begin{table}" in short
    assert "\n{[}1]" in short  # else an argument of the line break before it


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="there is no pdflatex here (Debian: texlive-latex-extra)"
)
def test_published_tables_fit_the_page_of_an_article(tmp_path):
    shown = [
        one for one in named_figures(page_files(), "paper", checks=False) if one.file.plot["kind"] == "table"
    ]
    if not shown:
        pytest.skip("no paper here has tables")
    tables = [tmp_path / f"{one.target}.tex" for one in shown]
    for one, path in zip(shown, tables, strict=True):
        make_drawing(one, PUBLISHED / f"{one.target}.csv", [path])
    pages = "".join(f"\\input{{{path}}}\\clearpage\n" for path in tables)
    wanted = {
        line for path in tables for line in path.read_text("utf-8").splitlines() if "usepackage" in line
    }
    packages = "".join(f"{line.removeprefix('% ')}\n" for line in sorted(wanted))
    source = f"\\documentclass{{article}}\n{packages}\\begin{{document}}\n{pages}\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    for _ in range(2):  # a table of several pages learns its widths from the first run
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=LONG, errors="replace"
        )
    assert done.returncode == 0, done.stdout[-2000:]
    for fault in ("Missing character", "Overfull", "too large for page", "multiply defined"):
        assert fault not in done.stdout
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
