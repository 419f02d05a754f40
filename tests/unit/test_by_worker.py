"""Parameters of the built-in delay models may be one for each worker, and shared with the code."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.delays import Epochs, Pareto, Restarts, ShiftedExponential
from gcexp.errors import ParameterError
from gcexp.run.run import Run
from gcexp.theory.errors import unbiased_error


@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (Pareto, "scale", (1.0, 2.0, 5.0)),
        (ShiftedExponential, "shift", (0.0, 2.0, 1.0)),
        (ShiftedExponential, "mean", (0.5, 2.0, 1.0)),
        (Restarts, "p", (0.0, 0.6, 0.3)),
        (Epochs, "p", (0.0, 0.6, 0.3)),
    ],
)
def test_a_parameter_may_be_one_for_each_worker(model, name, values):
    """Each worker has the times that it would have if all had its number."""
    each = model(**{name: list(values)}).draw((0, 1), 50, 3).arrival(0.5, 1.0)
    for w, value in enumerate(values):
        alike = model(**{name: value}).draw((0, 1), 50, 3).arrival(0.5, 1.0)
        np.testing.assert_array_equal(each[..., w], alike[..., w])
    with pytest.raises(ParameterError, match=f"{name} has 3 numbers.*n=4"):
        model(**{name: list(values)}).draw((0,), 1, 4)
    with pytest.raises(ParameterError, match=name):
        model(**{name: [1.0, -1.0]})


def test_code_and_delay_model_may_share_a_key():
    shared = ["scheme=oagc", "n=3", "delay=restarts", "code.p=[0.1,0.2,0.4]", "delay.p=${code.p}"]
    run = Run.of([*shared, "wait=deadline", "wait.time=30", "iterations=4000", "seeds=1"])
    assert run.delay_model.p == (0.1, 0.2, 0.4)
    timeline = run.clock()
    c = timeline.coefficients[timeline.pattern[0]]
    error = ((c - 1) ** 2).mean(1)
    (scheme, _), *_ = run.schemes()
    expected = unbiased_error(scheme.code.encoding, [0.1, 0.2, 0.4])
    assert error.mean() == pytest.approx(expected, abs=5 * error.std() / 4000**0.5)
