"""LB of arXiv 2011.01922 as `scheme=lb`: a timeline like any other, and no task that learns from it."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.command.single_run import run
from gcexp.errors import ParameterError, UserError
from gcexp.report.entries import run_of_keys
from gcexp.run import stages
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.scheme import build_scheme
from gcexp.schemes import Fewest

SETTING = [
    "n=12",
    "code.clusters=4",
    "code.d=2",
    "delay=markov",
    "delay.initial_slow=4",
    "iterations=60",
    "seeds=0-3",
]
KEYS = {"n": 12, "code.clusters": 4, "code.d": 2, "delay": "markov", "delay.initial_slow": 4, "label": "LB"}


def test_durations_are_the_bound():
    config = compose(["scheme=lb", *SETTING])
    drawn = build(config, "delay").draw((0, 1, 2, 3), 60, 12)
    found = stages.simulated(config, stages.length_of(config)).duration
    eighth = np.sort(drawn.arrival(2 / 12, 1), axis=2)[
        :, :, 12 - 4 * (2 - 1) - 1
    ]  # no code decodes from fewer
    np.testing.assert_array_equal(found, eighth)
    others = ["scheme=gc_sc"], ["scheme=gc_dc", "placement.memberships=2"]
    for other in others:
        config = compose([*other, *SETTING])
        assert (found <= stages.simulated(config, stages.length_of(config)).duration).all()


def test_no_task_takes_it(tmp_path):
    sentence = "durations without a decode, so no task can be trained"
    with pytest.raises(UserError, match=sentence):
        run_of_keys(KEYS | {"scheme": "lb", "iterations": 60, "seeds": 4, "task": "digits_mlp"})
    with pytest.raises(UserError, match=sentence):
        run(["scheme=lb", *SETTING], tmp_path)
    with pytest.raises(UserError, match=sentence):
        stages.run_training(compose(["scheme=lb", *SETTING]), tmp_path / "trajectory.npz", None)
    assert not list(tmp_path.iterdir())
    for overrides in (["scheme=gc_sc", "bound=true"], ["scheme=gc_sc", "wait=fewest"]):
        with pytest.raises(UserError, match="the scheme declares bound"):
            build_scheme(compose(overrides))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [(CyclicRepetition(n=4, s=1), None), (Uncoded(n=3), None)],
    ids=["cyclic", "uncoded"],
)
def test_one_quorum_is_its_own_bound(code, sentence):
    time, responses = Fewest().stop(code, lambda r=1: np.arange(1.0, code.n + 1)[None, None])
    assert (code.met(responses[0]).all(), time[0, 0]) == (True, responses.sum())


def test_refuses_other_codes():
    config = compose(["scheme=cyclic_two_message", "n=10", "s=4"])
    with pytest.raises(ParameterError, match="disjoint quorums and one message per worker"):
        Fewest().stop(build(config, "code"), lambda r=1: np.ones((1, 1, 10)))
