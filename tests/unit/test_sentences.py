"""Sentences and pages of the adviser come from templates, which escape, refuse gaps and count as modules do."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

import gcexp
from gcexp.run import closure
from gcexp_adviser.page import Page, paragraphs, phrase

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("page", "diagnosis", "remedies", "goodput")


def test_a_page_has_the_same_parts_on_a_terminal_and_in_markdown():
    page = Page(
        "Advice",
        ["One."],
        {"Numbers": pd.DataFrame({"what": ["a"], "half_life": [0.5]})},
        ["Last."],
        {"B": ["Two."]},
    )
    assert page.text() == "One.\n\nB:\nTwo.\n\nNumbers:\n  half life\na       0.5\n\nLast.\n"
    assert page.markdown("a.png").startswith(
        "# Advice\n\nOne.\n\n## B\n\nTwo.\n\n![Advice](a.png)\n\n## Numbers\n\n| what"
    )
    assert page.markdown("a.png").endswith(" |\n\n* Last.\n")
    assert page.markdown(level=2).startswith("## Advice\n\nOne.\n\n### B\n")


def test_a_fact_that_is_not_given_is_a_defect():
    with pytest.raises(UndefinedError, match="told"):
        paragraphs("diagnosis/templates/check.j2", notes=[])
    with pytest.raises(UndefinedError, match="spells"):
        phrase("remedies/templates/phrases.j2", "events", object())


def test_names_that_look_like_markup_are_shown_as_they_are():
    x = np.exp(np.random.default_rng(1).normal(0, 0.03, (60, 4)))
    x[:, 1] *= 2
    times = pd.DataFrame(x, columns=["<b>a</b>", "c|d & 'e'", "*f*", "g"])
    times = (
        times.rename_axis("iteration").reset_index().melt("iteration", var_name="worker", value_name="time")
    )
    page = gcexp.advise(times, phi=0.5).page()
    assert "worker c|d & 'e' is slow throughout" in page.text()
    assert "worker c\\|d &amp; 'e' is slow throughout" in page.markdown()
    for shown in (page.html(), page.whole_html([b"picture"])):
        assert "worker c|d &amp; &#39;e&#39; is slow throughout" in shown and "<li>" in shown
        assert "<b>a" not in shown and "{" not in shown.partition("</style>")[2]


def test_a_changed_template_is_seen(tmp_path, monkeypatch):
    for room in ROOMS:
        shutil.copytree(
            ROOT / f"gcexp_adviser/{room}/templates", tmp_path / f"gcexp_adviser/{room}/templates"
        )
    place = closure._place_of_data
    monkeypatch.setattr(
        closure, "_place_of_data", lambda file: str(tmp_path / file) if "adviser" in file else place(file)
    )
    found = closure.closure_of(frozenset({"gcexp_adviser.remedies.advise.advise"}), frozenset())
    before = found.lines
    for room in ("page", "diagnosis", "remedies"):
        template = next((tmp_path / f"gcexp_adviser/{room}/templates").glob("*.j2"))
        template.write_text(template.read_text() + "{# more #}\n")
        changed = {line.partition("=")[0] for line in set(found.lines) - set(before)}
        assert changed == {f"gcexp_adviser/{room}/templates"}
        before = found.lines
