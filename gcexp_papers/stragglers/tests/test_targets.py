"""The tables behind the targets."""

import pytest

from gcexp.report.figurefile import figure
from gcexp_papers.stragglers.numerics import overview


def test_overview_shows_every_matrix():
    shown = figure("stragglers_overview", "quick")
    files = shown.file.analysis["files"]
    table = overview(files[3:6] + files[8:9], bins=40)
    strip = table[table["what"] == "time"]
    assert strip.groupby("trace").size().to_dict() == {
        "pai-job4": 400,
        "bytedance-AR-dp": 160,
        "bytedance-SE-dp": 32 * 40,
        "faas-aws-2048mb": 350,
    }
    assert strip.groupby("trace")["value"].mean().to_numpy() == pytest.approx(1, abs=0.05)
    assert len(files) == 16
