"""Cao, Yan, Tang, Han (arXiv 2006.04845): what the figures' functions share with the library's options and clock."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.codes.adaptive import Adaptive, GroupedAdaptive, GroupedCGC
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.delays import Epochs, Restarts
from gcexp.errors import ParameterError
from gcexp.run.options import conf_dir
from gcexp.run.yaml_values import read_yaml
from gcexp.schemes import Decodable, Restart, Scheme
from gcexp.schemes.restart import phases
from gcexp.timeline import simulate
from gcexp_papers.adaptive import experiment
from gcexp_papers.adaptive.learning import trainings

pytestmark = pytest.mark.slow


def test_phases_of_the_clock_are_those_of_the_tables():
    """conf/wait/phases.yaml holds the numbers of Tables IV and V again: they price the clock as the formulas do."""
    given = {k: v for k, v in read_yaml(conf_dir() / "wait" / "phases.yaml").items() if k != "_target_"}
    for scheme in ("uncoded", "cgc0", "cgc1", "cgc2", "agc"):
        for timing, name in (("measured", "measured"), ("nominal", "formula")):
            found = phases(**given | {"row": scheme, "timing": timing})
            expected = experiment.prices(scheme, name)
            for field in ("first", "later", "lost"):
                np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-12)
    with pytest.raises(ParameterError, match="'measured'"):
        experiment.prices("agc", "measurd")
    with pytest.raises(ParameterError, match="'gcg0'"):
        experiment.prices("gcg0")
    with pytest.raises(ParameterError, match="'agc3'"):
        phases(**given | {"row": "agc3"})
    with pytest.raises(ParameterError, match="'agc'"):
        phases(**given | {"rows": given["rows"] | {"agc": given["rows"]["agc"] | {"length": [0.5, 1.0]}}})


@pytest.mark.parametrize("scheme", ["agc", "g_agc", "g_cgc", "comm_efficient"])
def test_equal_epochs_are_the_restart_model(scheme):
    """Arrivals on a clock of equal epochs, decoded as always, against the table that prices counted epochs."""
    code = {
        "agc": lambda: Adaptive(8, 3, search_seeds=2),
        "g_agc": lambda: GroupedAdaptive(8, 3, search_seeds=2),
        "g_cgc": lambda: GroupedCGC(8, 3, 2),
        "comm_efficient": lambda: CommunicationEfficient(8, 3, 2),
    }[scheme]()
    s_max = 2 if "agc" in scheme else 1
    last = tuple(3 + 13 / (3 - s if "agc" in scheme else 2) for s in range(s_max + 1))
    clock = Restarts(p=0.4, compute=8.0).draw((0, 1), 500, 8)
    counted = Epochs(p=0.4).draw((0, 1), 500, 8)
    found = simulate(Scheme(code, Decodable()), clock)
    expected = simulate(Scheme(code, Restart(last, last, (16.0, 16.0))), counted)
    np.testing.assert_allclose(found.duration, expected.duration, rtol=1e-12)
    assert (found.coefficients == 1).all()


def test_training_with_decoded_gradients_is_that_of_whole_ones():
    """In double precision; in single precision the gradients are off by far more."""
    found = trainings(d=3, L=6, sizes=[8], seeds=1, iterations=20, learning_rate=0.5).set_index("method")
    accuracy = found["last_accuracy"]
    error = found["largest_error"]
    assert accuracy["float64"] == accuracy["whole gradient"] > 0.3
    assert error["whole gradient"] == 0 < error["float64"] < 1e-9 < 1e-6 < error["float32"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_training_that_diverges_ends_with_accuracy_0():
    found = trainings(d=3, L=6, sizes=[8], seeds=1, iterations=60, learning_rate=1e38).set_index("method")
    assert found.loc["float32", "last_accuracy"] == 0
