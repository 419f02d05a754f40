"""A table set as LaTeX, and whether plain pdfLaTeX takes it."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from gcexp.figures import draw

ROOT = Path(__file__).resolve().parents[2]


def test_signs_become_formulas():
    frame = pd.DataFrame({"α ≤ β²": ["⌈n/d⌉ – μₛ", "a < b | 50 %"]})
    text = draw(frame, {"kind": "table"}).sources[".tex"]
    assert r"\ensuremath{\alpha} \ensuremath{\le} \ensuremath{\beta}\ensuremath{^{2}}" in text
    assert r"\ensuremath{\lceil}n/d\ensuremath{\rceil} -- \ensuremath{\mu}\ensuremath{_{s}}" in text
    assert r"a \ensuremath{<} b \ensuremath{|} 50 \%" in text


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="there is no pdflatex here (Debian: texlive-latex-base)"
)
def test_published_tables_compile_with_plain_pdflatex(tmp_path):
    tables = sorted((ROOT / "reports" / "published" / "tables").glob("*.tex"))
    assert tables
    # Alone, each in its turn, and as wide as it likes: a table of a paper is placed by its author.
    pages = "".join(f"\\input{{{path}}}\\clearpage\n" for path in tables)
    before = "\\documentclass{article}\n\\usepackage{booktabs,longtable}\n\\begin{document}\n"
    source = f"{before}{pages}\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, errors="replace"
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in done.stdout
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
