"""Parameters of the built-in delay models may be one for each worker, and shared with the code."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import gcexp
from gcexp.delays import (
    Composed,
    ComputeTransmit,
    Epochs,
    Pareto,
    Restarts,
    ShiftedExponential,
    TwoStateMarkov,
)
from gcexp.delays.base import of_workers
from gcexp.errors import ParameterError
from gcexp.run.compose import compose
from gcexp.run.run import Run
from gcexp.theory.errors import unbiased_error
from tests.conftest import refusals


@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (Pareto, "scale", (1.0, 2.0, 5.0)),
        (Pareto, "shape", (1.0, 2.0, 5.0)),
        (ShiftedExponential, "shift", (0.0, 2.0, 1.0)),
        (ShiftedExponential, "mean", (0.5, 2.0, 1.0)),
        (Restarts, "p", (0.0, 0.6, 0.3)),
        (Epochs, "p", (0.0, 0.6, 0.3)),
        (ComputeTransmit, "compute_shift", (0.0, 0.6, 0.3)),
        (ComputeTransmit, "compute_mean", (0.0, 0.6, 0.3)),
        (ComputeTransmit, "transmit_shift", (0.0, 0.6, 0.3)),
        (ComputeTransmit, "transmit_mean", (0.0, 0.6, 0.3)),
        (TwoStateMarkov, "p", (0.5, 0.1, 0.3)),
        (TwoStateMarkov, "mu_s", (0.1, 0.2, 3.0)),
        (partial(TwoStateMarkov, spread=0.5), "mu_f", (1.0, 20.0, 0.2)),
        (TwoStateMarkov, "alpha", (0.0, 1.0, 0.2)),
        (partial(TwoStateMarkov, load_model="sum", pieces=6), "alpha", (0.0, 1.0, 0.2)),
        (partial(Composed, factor=3.0), "p01", (0.0, 0.5, 0.2)),
        (partial(Composed, factor=3.0, p01=0.1), "p10", (0.9, 0.5, 0.2)),
        (partial(Composed, p01=0.3), "factor", (1.0, 5.0, 2.0)),
    ],
)
def test_a_parameter_may_be_one_for_each_worker(model, name, values):
    """Each worker has the times that it would have if all had its number, in a list or in a mapping."""
    some = model(**{name: {1: values[1], 2: values[2], "others": values[0]}})
    assert hash(some) == hash(replace(some))
    for_all, for_some = (one.draw((0, 1), 50, 3) for one in (model(**{name: list(values)}), some))
    np.testing.assert_array_equal(for_all.arrival(0.5, 1.0), for_some.arrival(0.5, 1.0))
    seats = np.broadcast_to([2, 0, 1], (2, 50, 3))
    np.testing.assert_array_equal(
        for_all.seated(seats).arrival(0.5, 1.0), for_all.arrival(0.5, 1.0)[..., [2, 0, 1]]
    )
    each = model(**{name: list(values)}).draw((0, 1), 50, 3).arrival(0.5, 1.0)
    for w, value in enumerate(values):
        alike = model(**{name: value}).draw((0, 1), 50, 3).arrival(0.5, 1.0)
        np.testing.assert_array_equal(each[..., w], alike[..., w])
    with pytest.raises(ParameterError, match=f"{name} has 3 numbers.*n=4"):
        model(**{name: list(values)}).draw((0,), 1, 4)
    with pytest.raises(ParameterError, match=name):
        model(**{name: [1.0, -1.0]})


def test_a_mapping_leaves_what_the_other_workers_have():
    """In Python the default of the class, in options what stands below: the file of the option, or another option."""
    assert of_workers("shape", Pareto(shape={1: 3.0}).shape, 3).tolist() == [2.0, 3.0, 2.0]
    config = compose(["delay=pareto", "delay.scale={1: 3.0}"])
    assert config["delay"]["scale"] == {"others": 1e-3, 1: 3.0}
    given = {"delay": "pareto", "delay.scale": {1: 3.0}}
    table = gcexp.simulate(scheme="uncoded", n=3, iterations=20, seeds=1, **given)
    options = gcexp.simulate(
        "delay.scale={1:3.0}", scheme="uncoded", n=3, delay="pareto", iterations=20, seeds=1
    )
    assert table["mean_iteration_time_s"].tolist() == options["mean_iteration_time_s"].tolist()
    assert table["mean_iteration_time_s"][0] > 3


test_what_is_no_parameter_by_worker_is_refused = refusals(
    (lambda: Pareto(shape={"a": 1.0}), "shape.*'a'"),
    (lambda: Pareto(shape={-1: 1.0}), "shape.*-1"),
    (lambda: Pareto(shape={1: 0.0}), "shape"),
    (lambda: Pareto(shape={1: 1.0, "others": -1.0}), "shape"),
    (lambda: Pareto(shape=[]), "shape"),
    (lambda: Pareto(shape={3: 1.0}).draw((0,), 1, 3), "shape.*worker 3.*n=3"),
    (lambda: TwoStateMarkov(mu_s=2.0, mu_f=1.0), "mu_s.*mu_f"),
    (lambda: TwoStateMarkov(mu_f={1: 0.01}).draw((0,), 1, 3), "mu_s.*mu_f"),
    (lambda: Composed(p01={1: 0.9}).draw((0,), 1, 3), r"p01 \+ p10"),
)


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
