"""One iteration as a picture: what is drawn is what the clock says."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gcexp
from gcexp.codes import CyclicRepetition, CyclicTwoMessage
from gcexp.command.main import main
from gcexp.delays import ShiftedExponential
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.timeline import first_iteration, simulate

CYCLIC = Scheme(CyclicRepetition(n=6, s=2), Fastest(s=2))
TWO = Scheme(CyclicTwoMessage(n=6, s=2, beta=5), Decodable())


@pytest.mark.parametrize("scheme", [CYCLIC, TWO])
def test_the_iteration_is_the_first_of_the_timeline(scheme):
    draws = ShiftedExponential(shift=1.0).draw(seeds=(3,), iterations=4, n=6)
    seen, timeline = first_iteration(scheme, draws), simulate(scheme, draws)
    assert seen.stop == timeline.duration[0, 0]
    assert (seen.responses == timeline.patterns[timeline.pattern[0, 0]]).all()
    for w, count in enumerate(seen.responses):
        assert (seen.arrived[:count, w] <= seen.stop).all()
    assert (seen.computed <= seen.arrived).all() and (np.diff(seen.arrived, axis=0) >= 0).all()


def test_the_figure_shows_stop_and_rows():
    figure = gcexp.show(scheme="cgc", n=6, s=2, delay="pareto")
    strips, matrix = figure.axes
    stop = next(line.get_xdata()[0] for line in strips.lines if line.get_color() == "#A00000")
    table = gcexp.simulate(scheme="cgc", n=6, s=2, delay="pareto", iterations=1)
    assert stop == table["mean_iteration_time_s"][0]
    used, unused = (len(cells.get_paths()) for cells in matrix.collections)
    assert (used, unused) == (4 * 3, 2 * 3)
    title = figure.texts[0].get_text()
    assert "4 of 6" in title and "6 of 6" in title


def test_from_the_shell(tmp_path, capsys):
    assert main(["show", "scheme=frc", "n=6", "s=1", "--figure", str(tmp_path / "one.png")]) == 0
    assert (tmp_path / "one.png").stat().st_size > 1000 and "workers:" in capsys.readouterr().out
    assert main(["show", "scheme=frc", "n=6", "s=1", "--figure", str(tmp_path / "one.doc")]) == 2


def test_keys_are_explained_also_those_of_options_below(capsys):
    """An option that sets less than the one it builds on; a key of a group that is not chosen is not told."""
    assert main(["show", "scheme=gc_dc", "delay=ec2_like", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["keys"]
    assert {"code.d", "placement.observe", "placement.swap_rule", "delay.transmit_mean"} <= set(told)
    assert "delay.shape" not in told and not any(key.startswith(("task.", "optimizer.")) for key in told)
    assert main(["show", "scheme=cgc"]) == 0 and "code.construction" in capsys.readouterr().out
