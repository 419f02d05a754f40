"""The checks for code from outside: a stranger's subjects pass, and each broken promise is caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from gcexp.codes import BernoulliCode, Code, CyclicRepetition, Quorum, Uncoded
from gcexp.data import Dataset
from gcexp.delays import Draws
from gcexp.schemes import Decodable, Scheme
from gcexp.testing import checks, parametrize_with_checks

# What a stranger would write: no base class but Code, no docstrings, no examples, one code of a fixed size.


class Triangle(Code):
    def __init__(self):
        super().__init__([[0.5, 1, 0], [0, 1, -1], [0.5, 0, 1]], quorums=[Quorum(range(3), [(1, 2)])])

    def weights(self, responses):
        best = super().weights(responses)
        best[(responses > 0).sum(1) < 2] = 0
        return best


@dataclass(frozen=True)
class HalfAfterFirst:
    factor: float = 1.5

    def stop(self, code, arrive):
        at = arrive()
        time = np.maximum(np.median(at, axis=-1), self.factor * at.min(-1))
        return time, ((at <= time[..., None]) * code.messages).astype(np.int16)


@dataclass(frozen=True)
class LessAfterLong:
    """Wait for four of five workers, and after an iteration longer than 1.5 for two: later times, earlier stops."""

    def begin(self, lead):
        return None

    def stop(self, code, arrive, state):
        at = np.sort(arrive(), axis=-1)
        was_long = np.zeros(at.shape[:2], bool) if state is None else state
        time = np.where(was_long, at[..., 1], at[..., 3])
        return time, ((arrive() <= time[..., None]) * code.messages).astype(np.int16), time > 1.5


@dataclass(frozen=True)
class Ramp:
    """Not random at all: worker w takes w + 1 for all data, every third iteration twice as long."""

    def draw(self, seeds, iterations, n):
        slow = 1.0 + (np.arange(iterations) % 3 == 0)[:, None]
        return Draws(tuple(seeds), (len(seeds), iterations, n), compute=slow * np.arange(1.0, n + 1))


@dataclass(frozen=True)
class Mean:
    dataset: str = "points"
    evaluate_every: int = 1
    verify_every: int = 1

    def problem(self, data, seed):
        return MeanProblem(np.random.default_rng(seed).permutation(data.x_train), data.x_test)


class MeanProblem:
    def __init__(self, x, test):
        self.x, self.test, self.n_samples = x, test, len(x)

    def initial(self):
        return np.zeros(self.x.shape[1])

    def partition_gradients(self, parameters, k, iteration):
        return np.stack([(parameters - part).sum(0) for part in np.array_split(self.x, k)])

    def gradient(self, parameters, coefficients, iteration):
        return coefficients @ self.partition_gradients(parameters, len(coefficients), iteration)

    def recovered_samples(self, coefficients):
        parts = np.array_split(self.x, len(coefficients))
        return sum(len(part) for part, c in zip(parts, coefficients, strict=True) if c)

    def score(self, parameters):
        return {"test_loss": float(((self.test - parameters) ** 2).mean())}


def points() -> Dataset:
    x = np.random.default_rng(5).random((23, 4))
    return Dataset("points", x, np.zeros(23), x[:5], np.zeros(5), "")


@parametrize_with_checks(
    codes=[Triangle],
    waits=[
        Scheme(CyclicRepetition(n=5, s=2), HalfAfterFirst()),
        Scheme(CyclicRepetition(n=5, s=2), LessAfterLong()),
        (Scheme(Triangle(), Decodable()), Ramp()),
    ],
    delays=[Ramp(), (Ramp(), 3)],
    tasks=[(Mean(), points(), 5)],
)
def test_a_strangers_subjects_pass(check):
    check()


def test_names_say_who_and_what():
    names = [str(check) for check in checks(codes=[Triangle, partial(Uncoded, n=2)])]
    assert names[0] == "Triangle-has_shapes_that_fit" and "Uncoded(n=2)-keeps_its_promise" in names
    assert len(names) == len(set(names)) >= 20


# --- and what is broken is caught ------------------------------------------------------------------------------


def variant(base, **changed):
    """The class with other methods or attributes."""
    return type(base.__name__, (base,), changed)


def deaf(self, responses):
    everybody = np.linalg.lstsq(self.encoding.toarray().T, np.ones(3))[0]
    return np.tile(everybody, (len(responses), 1))


def batched(self, responses):
    return Triangle.weights(self, responses) * (len(responses) > 1)


def overpromising():
    code = Triangle()
    code.quorums = (Quorum(range(3), [(1, 1)]),)
    return code


def unpicklable():
    code = Triangle()
    code.rule = lambda: None
    return code


def moody():
    return Code(np.eye(3) * np.random.default_rng().random(3), promise="linear")


def eager(self, code, arrive):
    time, responses = HalfAfterFirst.stop(self, code, arrive)
    return time, np.broadcast_to(code.messages, responses.shape).astype(np.int16)


def oracle(self, code, arrive):
    time, responses = HalfAfterFirst.stop(self, code, arrive)
    return time + arrive().max(), responses


def impatient(self, code, arrive, state):
    """Less for whoever takes long in this very iteration."""
    at = np.sort(arrive(), axis=-1)
    time = np.where(at[..., 3] > 1.5, at[..., 1], at[..., 3])
    return time, ((arrive() <= time[..., None]) * code.messages).astype(np.int16), state


def of_one_stream(self, seeds, iterations, n):
    """More workers change every draw."""
    start = np.stack([np.random.default_rng(seed).random((iterations, n)) for seed in seeds])
    return Draws(tuple(seeds), start.shape, start=start)


def backwards(self, seeds, iterations, n):
    return Draws(tuple(seeds), (len(seeds), iterations, n), start=5.0 * np.arange(1, n + 1), compute=-1.0)


class Leaky(MeanProblem):
    """Its gradient is not the sum of these."""

    def partition_gradients(self, parameters, k, iteration):
        return super().partition_gradients(parameters, k, iteration) + self.x.sum()

    def gradient(self, parameters, coefficients, iteration):
        return coefficients @ MeanProblem.partition_gradients(self, parameters, len(coefficients), iteration)


def leaky(self, data, seed):
    return Leaky(data.x_train, data.x_test)


CODE = CyclicRepetition(n=5, s=2)


@pytest.mark.parametrize(
    ("subjects", "caught"),
    [
        ({"codes": [variant(Triangle, weights=deaf)]}, "uses_only_what_was_received"),
        ({"codes": [variant(Triangle, weights=batched)]}, "decodes_each_pattern_alone"),
        ({"codes": [overpromising]}, "keeps_its_promise"),
        ({"codes": [moody]}, "equal_parameters_give_equal_codes"),
        ({"codes": [partial(variant(BernoulliCode, redrawn=False), n=6, d=2)]}, "is_drawn_by_its_seed"),
        ({"codes": [unpicklable]}, "survives_pickling"),
        ({"waits": [Scheme(CODE, variant(HalfAfterFirst, stop=eager)())]}, "hears_only_what_arrived"),
        ({"waits": [Scheme(CODE, variant(HalfAfterFirst, stop=oracle)())]}, "decides_each_iteration_alone"),
        (
            {"waits": [Scheme(CODE, variant(LessAfterLong, stop=impatient)())]},
            "later_arrivals_never_stop_it_earlier",
        ),
        ({"delays": [variant(Ramp, draw=of_one_stream)()]}, "does_not_depend_on_what_else_is_drawn"),
        ({"delays": [variant(Ramp, draw=backwards)()]}, "more_work_takes_no_less"),
        ({"tasks": [(variant(Mean, scores=("auc",))(), points(), 5)]}, "scores_are_those_declared"),
        ({"tasks": [(variant(Mean, problem=leaky)(), points(), 5)]}, "gradient_is_the_sum_of_its_partitions"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_broken_is_caught(subjects, caught):
    broken = {}
    for check in checks(**subjects):
        try:
            check()
        except Exception as error:
            broken[check.name] = error
    assert caught in broken, broken
    said = "\n".join([str(broken[caught]), *getattr(broken[caught], "__notes__", ())])
    assert f"-{caught}: " in said and "Cure: " in said


def test_every_check_says_what_has_to_hold_and_the_cure():
    subjects = {"codes": [Triangle], "waits": [Scheme(CODE, Decodable())], "delays": [Ramp()]}
    found = list(checks(**subjects, tasks=[(Mean(), points(), 5)]))
    assert len(found) > 30 and all("Cure: " in check.meaning for check in found)


@dataclass(frozen=True)
class Limit:
    """Stop after so many seconds, whoever has answered."""

    seconds: float

    def stop(self, code, arrive):
        time = np.full(arrive().shape[:2], self.seconds)
        return time, ((arrive() <= self.seconds) * code.messages).astype(np.int16)


@pytest.mark.parametrize("seconds", [1.0, 2e-3])
def test_a_limit_of_milliseconds_keeps_its_contract(seconds):
    for check in checks(waits=[Scheme(CODE, Limit(seconds))]):
        check()


def test_a_rule_that_hears_nobody_is_told_so():
    (check,) = [
        one for one in checks(waits=[Scheme(CODE, Limit(1e-9))]) if one.name == "gives_times_and_counts"
    ]
    with pytest.raises(AssertionError, match="nobody is heard(.|\n)*"):
        check()
