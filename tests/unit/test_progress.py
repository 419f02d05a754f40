"""Bars of long calls: on a terminal and in a notebook, nowhere else, and without a bit changed."""

import io
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

import gcexp
from gcexp import progress
from gcexp.codes import Uncoded
from gcexp.delays import Pareto
from gcexp.schemes import Fastest, Scheme
from gcexp.timeline import run_clock

SMALL = {"n": 6, "s": 2, "delay": "pareto", "iterations": 4, "seeds": 2}
CALLS = {
    "clock": lambda **shown: gcexp.simulate(scheme="cgc", **SMALL, **shown),
    "training": lambda **shown: gcexp.train(scheme="forget", task="digits_mlp", **SMALL, **shown),
    "timelines": lambda **shown: gcexp.sweep({"scheme": ["cgc", "frc"]}, **SMALL, **shown),
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 0)


@pytest.mark.parametrize("what", CALLS)
def test_a_terminal_and_a_notebook_show_a_bar_and_a_file_none(what, at_once, monkeypatch):
    def shown(stream, **keys):
        monkeypatch.setattr(sys, "stderr", stream)
        tables.append(CALLS[what](**keys))
        return stream.getvalue()

    tables: list[pd.DataFrame] = []
    text = shown(Terminal())
    assert f"{what}: 100%" in text and ("8/8" in text if what != "timelines" else "2/2" in text)
    assert shown(io.StringIO()) == shown(Terminal(), progress=False) == ""
    kernel = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert f"{what}: 100%" in shown(io.StringIO())
    assert shown(io.StringIO(), progress=False) == ""
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


def test_what_is_done_soon_shows_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    CALLS["clock"]()
    assert sys.stderr.getvalue() == ""


def test_a_clock_in_pieces_tells_what_it_played():
    """Piece by piece within a seed, or some seeds at a time: every iteration is counted, once."""
    for chunk, told in ((12, [4, 2, 4, 2]), (18, [6, 6]), (36, [12])):
        moved: list[int] = []
        run_clock(Scheme(Uncoded(3), Fastest(s=1)), Pareto(), (0, 1), 6, chunk, moved.append)
        assert moved == told


def test_a_model_that_is_drawn_whole_moves_its_bar_at_the_end(at_once, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    gcexp.simulate(scheme="cgc", n=3, s=1, delay="pai_job1", iterations=4, seeds=2)
    assert "8/8" in sys.stderr.getvalue()
