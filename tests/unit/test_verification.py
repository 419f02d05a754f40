"""The true path against the weighted pass (check 17), and that it finds what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gcexp.codes import Code, CyclicRepetition, FractionalRepetition, Uncoded
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.data.load import Dataset
from gcexp.delays import Pareto
from gcexp.errors import ParameterError
from gcexp.run.verification import SINGLE, STEP, decoded_vector, failure, verify_decoding
from gcexp.schemes import Fastest, Scheme
from gcexp.tasks import GradientDescent
from gcexp.tasks.mlp import MultilayerPerceptron, PerceptronProblem
from gcexp.tasks.optimizers import AcceleratedGradient, Adam, Momentum
from gcexp.tasks.schedules import StepDecay
from gcexp.tasks.shards import Reshuffled, ShardedPerceptron
from gcexp.tasks.training import train
from gcexp.timeline import joined, simulate

TASK = MultilayerPerceptron("digits", evaluate_every=5, verify_every=3)
SEEDS, T = (0, 1), 7
DESCENT = GradientDescent()
# What load_digits of scikit-learn reads, whose import takes a second; that of `gcexp.data` has another order.
FILE = Path(find_spec("sklearn").origin).parent / "datasets/data/digits.csv.gz"
TABLE = np.loadtxt(FILE, delimiter=",")
X, Y = (TABLE[:, :-1] / 16).astype(np.float32), TABLE[:, -1].astype(np.int64)
DATA = Dataset("digits", X[:400], Y[:400], X[1500:], Y[1500:], "")


class TwoBlocks(Code):
    """Worker i sends block i of both partitions' sum: half a gradient each, 3 workers of which any 2 suffice."""

    def __init__(self):
        super().__init__(np.kron(np.ones(2), [[1.0, 0], [0, 1], [1, 1]]), blocks=2)


def clock(code, s, seeds=SEEDS):
    """Timeline of a code that waits for all but s workers."""
    draws = Pareto(scale=1.0, shape=1.2).draw(seeds, T, code.n)
    return simulate(Scheme(code, Fastest(s=s)), draws)


def trained(timeline, exact=False, task=TASK, rule=DESCENT):
    """Trajectory of a timeline's coefficients."""
    used = () if exact else (timeline.coefficients, timeline.pattern)
    return train(task, rule, DATA, SEEDS, timeline.steps, *used)


def run(code, s, exact=False):
    timeline = clock(code, s)
    return timeline, trained(timeline, exact)


def replayed(code, timeline, trajectory, task=TASK, rule=DESCENT):
    """The report of a code, or of one for each seed."""
    of_seed = code if callable(code) else lambda seed: code
    return verify_decoding(of_seed, timeline, trajectory, task, rule, DATA)


def with_steps(trajectory, verified, kept):
    """A trajectory that kept only some of its steps."""
    return replace(
        trajectory,
        verified=np.asarray(verified),
        parameters=trajectory.parameters[:, kept],
        parameters_after=trajectory.parameters_after[:, kept],
        state={name: values[:, kept] for name, values in trajectory.state.items()},
        state_after={name: values[:, kept] for name, values in trajectory.state_after.items()},
    )


UNCODED = Uncoded(n=6)


@pytest.fixture(scope="module")
def forgotten():
    """Uncoded, two of six workers forgotten."""
    return run(UNCODED, 2)


@pytest.mark.parametrize(
    ("code", "s", "exact"),
    [
        (Uncoded(n=6), 2, False),
        (Uncoded(n=7), 0, True),
        (FractionalRepetition(n=6, d=2), 3, False),
        (FractionalRepetition(n=6, d=3), 2, True),
        (CyclicRepetition(n=6, s=2), 2, True),
        (CyclicRepetition(n=6, s=2), 4, False),
        (TwoBlocks(), 0, True),
    ],
    ids=repr,
)
def test_true_path_and_weighted_pass_agree(code, s, exact):
    timeline, trajectory = run(code, s, exact)
    report = replayed(code, timeline, trajectory)
    assert report["passed"] and not report["failures"]
    kept = trajectory.verified.tolist()
    assert [0, 3, 6] == kept if exact else {0, 3, 6} < {*kept}  # and the first at which others are heard
    asked = [(seed, t) for seed in SEEDS for t in kept]
    assert [(check["seed"], check["iteration"]) for check in report["checks"]] == asked
    assert report["decoded_error"] < 1e-10
    assert report["weighted_error"] < 1e-10
    # These few samples have no unit at its kink.
    assert report["rounding_error"] < 1e-5 < report["rounding_bound"]
    assert report["step_error"] == 0 < report["step_bound"]
    assert report["noise_gain"] > 0
    if exact:
        assert all(c["recovered"] == 1 for c in report["checks"])
    assert json.loads(json.dumps(report)) == report


def test_codes_drawn_per_seed():
    codes = {seed: CyclicRepetition(n=6, s=2, seed=seed) for seed in SEEDS}
    # One worker too few: what is recovered depends on the code that was drawn.
    timeline = joined(clock(codes[seed], 3, (seed,)) for seed in SEEDS)
    trajectory = trained(timeline)
    assert replayed(codes.get, timeline, trajectory)["passed"]
    other = replayed(codes[0], timeline, trajectory)
    assert not other["passed"] and other["decoded_error"] > 1e-6


def test_an_exact_trajectory_may_be_longer_and_hold_more_seeds():
    code = CyclicRepetition(n=6, s=2)
    trajectory = train(TASK, GradientDescent(), DATA, (5, 1, 0), [3, 20, 11])
    report = replayed(code, replace(clock(code, 2), steps=np.array([7, 4])), trajectory)
    assert report["passed"]
    assert [(c["seed"], c["iteration"]) for c in report["checks"]] == [(0, 0), (0, 3), (0, 6), (1, 0), (1, 3)]


def test_a_trajectory_that_does_not_cover_the_timeline_is_refused(refused, forgotten):
    timeline, trajectory = forgotten
    seeds = replace(timeline, seeds=np.array([0, 9]))
    refused("seed 9", replayed, UNCODED, seeds, trajectory, error=ParameterError)
    short = train(TASK, GradientDescent(), DATA, SEEDS, [T, 3])
    refused(("seed 1", "3", "7"), replayed, UNCODED, timeline, short, error=ParameterError)


def test_skipped_updates_are_listed(forgotten):
    timeline, trajectory = forgotten
    nobody = timeline.pattern[0, 3]
    patterns, c = timeline.patterns.copy(), timeline.coefficients.copy()
    patterns[nobody], c[nobody] = 0, 0
    empty = replace(timeline, patterns=patterns, coefficients=c)
    assert not replayed(UNCODED, empty, trajectory)["passed"]  # it moved all the same
    report = replayed(UNCODED, empty, trained(empty))
    assert report["passed"]
    assert {"seed": 0, "iteration": 3, "skipped": True, "recovered": 0.0} in report["checks"]


def test_nothing_compared_does_not_pass(forgotten):
    timeline, trajectory = forgotten
    report = replayed(UNCODED, timeline, replace(trajectory, verified=np.array([], dtype=int)))
    assert not report["passed"] and report["checks"] == []
    empty = replace(timeline, patterns=timeline.patterns * 0, coefficients=timeline.coefficients * 0)
    assert not replayed(UNCODED, empty, trajectory)["passed"]


@pytest.mark.parametrize(
    "tampered",
    [
        lambda row: np.where(np.arange(row.size) == (row == 0).argmax(), 1, row),
        lambda row: row * (1 + 1e-4),
        lambda row: row * 0,
        lambda row: np.where(np.arange(row.size) == 0, np.nan, row),
    ],
    ids=["one more", "scaled", "skipped", "NaN"],
)
def test_tampered_coefficients_are_found(forgotten, tampered):
    timeline, trajectory = forgotten
    c = timeline.coefficients.astype(float)
    c[timeline.pattern[1, 3]] = tampered(c[timeline.pattern[1, 3]])
    report = replayed(UNCODED, replace(timeline, coefficients=c), trajectory)
    assert not report["passed"]
    assert any("seed 1, iteration 3" in sentence for sentence in report["failures"])


def test_an_exact_iteration_has_coefficients_of_exactly_one():
    code = CyclicRepetition(n=6, s=2)
    timeline, trajectory = run(code, 2)
    c = timeline.coefficients.astype(float)
    c[timeline.pattern[0, 0], 4] -= 1e-12  # far below every bound on errors
    report = replayed(code, replace(timeline, coefficients=c), trajectory)
    assert not report["passed"] and report["failures"] and report["decoded_error"] < 1e-10


def test_scaled_weights_are_found():
    class Scaled(FractionalRepetition):
        """Decodes and certifies honestly, but hands out weights that are not those it certified."""

        def decode(self, responses, partial=False):
            honest = super().decode(responses, partial)
            return replace(honest, weights=honest.weights * 1.001)

    report = replayed(Scaled(n=6, d=2), *run(FractionalRepetition(n=6, d=2), 3))
    assert not report["passed"] and report["decoded_error"] > 1e-4 and report["weighted_error"] < 1e-10


def test_weights_on_what_was_not_heard_are_found():
    class Peeking(Uncoded):
        trusted = Code.trusted  # or the clock would see that the coefficients are not those heard

        def weights(self, responses):
            return np.ones(responses.shape)

        def _refuse_unheard(self, weights, responses):
            """Say nothing, or the clock would refuse the weights."""

    timeline, trajectory = run(Peeking(n=6), 2)
    assert (timeline.coefficients == 1).all()  # to the certificate all is well
    report = replayed(Peeking(n=6), timeline, trajectory)
    assert not report["passed"] and report["weighted_error"] < 1e-10


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_a_wrong_weighted_pass_is_found(forgotten, monkeypatch, precision):
    plain = PerceptronProblem.gradient

    def wrong(self, parameters, coefficients, iteration):
        shifted = np.roll(coefficients, 1) if parameters.dtype == precision else coefficients
        return plain(self, parameters, shifted, iteration)

    monkeypatch.setattr(PerceptronProblem, "gradient", wrong)
    report = replayed(UNCODED, *forgotten)
    name = "weighted" if precision == np.float64 else "rounding"
    assert not report["passed"] and report["decoded_error"] < 1e-10
    assert report[f"{name}_error"] > report[f"{name}_bound"]


# --- What the loop of a training may do wrong ---------------------------------------------------------------------


class Clipped(GradientDescent):
    """Only the direction of a gradient counts."""

    def update(self, gradient, *rest):
        return super().update(gradient * (50 / np.linalg.norm(gradient)), *rest)


def partition_left_out(timeline):
    c = timeline.coefficients.astype(float)
    c[:, 4] = 0
    return replace(timeline, coefficients=c)


def coefficients_of_the_iteration_before(timeline):
    return replace(timeline, pattern=np.roll(timeline.pattern, 1, axis=1))


RULES = {
    "descent": DESCENT,
    "momentum": Momentum(0.1, weight_decay=0.01),
    "nesterov": Momentum(0.1, nesterov=True, schedule=StepDecay(every=2)),
    "accelerated": AcceleratedGradient(0.5, l2=0.1),
    "adam": Adam(0.01),
    "adamw": Adam(0.01, weight_decay=0.1, decoupled=True),
    "clipped": Clipped(),
}


@cache
def honest(rule):
    """The report of a training in which nothing is wrong."""
    timeline = clock(UNCODED, 2)
    return replayed(UNCODED, timeline, trained(timeline, rule=rule), rule=rule)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_step_by_other_coefficients_is_found(rule):
    assert honest(rule)["step_error"] == 0
    timeline = clock(UNCODED, 2)
    for wrong in (partition_left_out, coefficients_of_the_iteration_before):
        report = replayed(UNCODED, timeline, trained(wrong(timeline), rule=rule), rule=rule)
        assert not report["passed"] and report["step_error"] > STEP
        assert report["rounding_error"] < SINGLE  # the pass itself is right


def test_late_coefficients_of_persistent_delays_are_found(monkeypatch):
    """They are right but where a draw gives way to the next, which a grid of every so many iterations may miss."""
    draws = Pareto(scale=1.0, shape=1.2, persistence=5).draw(SEEDS, T, UNCODED.n)
    timeline, rare = simulate(Scheme(UNCODED, Fastest(s=2)), draws), replace(TASK, verify_every=100)
    assert replayed(UNCODED, timeline, trained(timeline, task=rare), rare)["passed"]
    plain, before = PerceptronProblem.gradient, {}

    def late(self, parameters, coefficients, iteration):
        used, before[self] = before.get(self, coefficients), coefficients
        return plain(self, parameters, used, iteration)

    with monkeypatch.context() as patched:  # while it trains, and not while it is replayed
        patched.setattr(PerceptronProblem, "gradient", late)
        trajectory = trained(timeline, task=rare)
    assert trajectory.verified.tolist() == [0, 5]
    report = replayed(UNCODED, timeline, trajectory, rare)
    assert not report["passed"] and all("iteration 5: step" in sentence for sentence in report["failures"])


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_step_of_another_length_is_found(rule):
    timeline = clock(UNCODED, 2)
    longer = replace(rule, learning_rate=1.1 * rule.learning_rate)
    assert not replayed(UNCODED, timeline, trained(timeline, rule=longer), rule=rule)["passed"]


def forgets_what_update_returned(rule, trajectory_of):
    """A loop that goes on with the state with which it began."""

    class Forgetful(type(rule)):
        def update(self, gradient, state, *rest):
            new, _ = super().update(gradient, state, *rest)
            return new, state

    return trajectory_of(Forgetful(**vars(rule)))


def begins_anew(rule, trajectory_of):
    """A loop that makes a new state before each step."""

    class Anew(type(rule)):
        def update(self, gradient, state, parameters, *rest):
            new, _ = super().update(gradient, self.init(parameters), parameters, *rest)
            return new, self.init(new)

    return trajectory_of(Anew(**vars(rule)))


STATEFUL = {name: rule for name, rule in RULES.items() if rule.init(np.zeros(1))}


@pytest.mark.parametrize("dropped", [forgets_what_update_returned, begins_anew])
@pytest.mark.parametrize("rule", STATEFUL.values(), ids=STATEFUL)
def test_a_dropped_state_is_found(rule, dropped):
    assert honest(rule)["passed"] and honest(rule)["state_error"] == 0
    timeline = clock(UNCODED, 2)
    trajectory = dropped(rule, lambda wrong: trained(timeline, rule=wrong))
    report = replayed(UNCODED, timeline, trajectory, rule=rule)
    assert not report["passed"] and report["state_error"] > STEP
    assert any("iteration 0: state" in sentence for sentence in report["failures"])


@pytest.mark.parametrize("rule", STATEFUL.values(), ids=STATEFUL)
def test_a_dropped_state_is_found_without_a_counter_of_updates(rule):
    timeline = clock(UNCODED, 2)
    trajectory = forgets_what_update_returned(rule, lambda wrong: trained(timeline, rule=wrong))
    counted = {"updates": trajectory.state["updates"] + 1}
    report = replayed(
        UNCODED, timeline, replace(trajectory, state_after=trajectory.state_after | counted), rule=rule
    )
    assert not report["passed"] and report["state_error"] > STEP


def test_a_state_that_outlives_its_seed_is_found():
    class Lasting(Momentum):
        def init(self, parameters):
            return {"velocity": np.full_like(parameters, 0.01), "updates": np.array(0)}

    timeline, rule = clock(UNCODED, 2), Momentum(0.1)
    report = replayed(UNCODED, timeline, trained(timeline, rule=Lasting(0.1)), rule=rule)
    assert {sentence.partition(":")[0] for sentence in report["failures"]} >= {
        f"seed {s}, iteration 0" for s in SEEDS
    }


def test_steps_in_float64_are_known_to_float32():
    """Kept parameters are rounded; where they are large beside a step, that is no defect."""
    x, target = np.random.default_rng(0).normal(size=(60, 4)), 1000.0

    class Rows:
        n_samples = 60

        def initial(self):
            return np.full(4, target)

        def gradient(self, w, c, t):
            return x.T @ (np.repeat(c, 60 // len(c)) * (x @ (w - target - 1e-3)))

        def partition_gradients(self, w, k, t):
            return np.stack([self.gradient(w.astype(float), one, t) for one in np.eye(k)])

        def recovered_samples(self, c):
            return 60

        def score(self, w):
            return {"test_loss": 0.0}

    task = SimpleNamespace(problem=lambda data, seed: Rows(), evaluate_every=5, verify_every=3)
    for rule in (DESCENT, Momentum(0.1), AcceleratedGradient(0.3, l2=0)):
        trajectory = trained(clock(UNCODED, 0), exact=True, task=task, rule=rule)
        report = replayed(UNCODED, clock(UNCODED, 0), trajectory, task, rule)
        assert report["passed"] and report["step_error"] > 1e-5


# --- What float32 may do, and what it may not ---------------------------------------------------------------------


AT_A_KINK = 55


@pytest.fixture(scope="module")
def kinked():
    """An exact run in which one unit of one sample falls on the other side of its kink at an iteration."""
    data, seed, iterations = replace(DATA, x_train=X[:1500], y_train=Y[:1500]), (34,), AT_A_KINK + 1
    code, rare = CyclicRepetition(n=10, s=4), replace(TASK, evaluate_every=10**6, verify_every=AT_A_KINK)
    timeline = simulate(Scheme(code, Fastest(s=4)), Pareto(1.0, 1.2).draw(seed, iterations, code.n))
    trajectory = train(rare, GradientDescent(), data, seed, (iterations,), progress=False)
    assert trajectory.verified.tolist() == [0, AT_A_KINK]
    return lambda seed: code, timeline, trajectory, rare, DESCENT, data


def test_a_unit_at_its_kink_raises_no_alarm(kinked):
    report = verify_decoding(*kinked)
    assert report["passed"] and report["rounding_bound"] == SINGLE
    assert report["checks"][0]["rounding_error"] < 1e-5


def test_a_jump_as_large_as_that_of_a_kink_raises_no_alarm(kinked, monkeypatch):
    """On some processors the unit falls on the same side; a coefficient off by a hundredth is as large a jump."""
    plain, single = PerceptronProblem.gradient, np.float32
    jump = 1 + 0.01 * (np.arange(10) == 6)

    def jumping(self, w, c, t):
        return plain(self, w, c * jump if w.dtype == single and t == AT_A_KINK else c, t)

    monkeypatch.setattr(PerceptronProblem, "gradient", jumping)
    report = verify_decoding(*kinked)
    assert report["passed"] and 1e-4 < report["rounding_error"] < SINGLE


def one_message_for_another(c):
    c = c.copy()
    c[[3, 6]] = 0, 2
    return c


#: What a pass makes of the coefficients of ten partitions.
DEFECTS = {
    "a partition left out": lambda c: c * (np.arange(10) != 6),
    "one message for another": one_message_for_another,
    "a coefficient off by a tenth": lambda c: c * (1 + 0.1 * (np.arange(10) == 6)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_the_training_alone_is_found(kinked, monkeypatch, defect):
    """In float64 all is well, so that the tolerance of float32 decides."""
    plain = PerceptronProblem.gradient

    def spoilt(self, w, c, t):
        return plain(self, w, DEFECTS[defect](c) if w.dtype == np.float32 else c, t)

    monkeypatch.setattr(PerceptronProblem, "gradient", spoilt)
    report = verify_decoding(*kinked)
    assert not report["passed"] and report["weighted_error"] < 1e-10
    assert report["rounding_error"] > SINGLE


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_stale_coefficients_are_found(forgotten, monkeypatch, precision):
    """The pass uses what the iteration before recovered."""
    plain, before = PerceptronProblem.gradient, {}

    def stale(self, parameters, coefficients, iteration):
        used = coefficients
        if parameters.dtype == precision:
            used, before[self] = before.get(self, coefficients), coefficients
        return plain(self, parameters, used, iteration)

    monkeypatch.setattr(PerceptronProblem, "gradient", stale)
    report = replayed(UNCODED, *forgotten)
    assert not report["passed"] and report["decoded_error"] < 1e-10


def test_float32_messages_of_an_ill_conditioned_code_are_found(monkeypatch):
    code = CommunicationEfficient(n=20, d=6, m=5, theta_order="ascending")
    run_of_code = run(code, 1, exact=True)
    assert replayed(code, *run_of_code)["passed"]
    plain = CommunicationEfficient.encode
    monkeypatch.setattr(
        CommunicationEfficient, "encode", lambda self, gradients: plain(self, gradients).astype(np.float32)
    )
    report = replayed(code, *run_of_code)
    assert not report["passed"] and report["decoded_error"] > 1e-3


def test_near_an_optimum_rounding_is_no_defect():
    """A float32 gradient that vanishes is mostly rounding, of terms that are as large as at the start."""
    draw = np.random.default_rng(0)
    x = (draw.standard_normal((60, 3)) + 30).astype(np.float32)
    y = (x @ [1.0, 2.0, 3.0]).astype(np.float32)
    best = np.linalg.lstsq(x.astype(float), y.astype(float))[0].astype(np.float32)

    class LeastSquares:
        n_samples = 60

        def gradient(self, w, c, t):
            weights = np.repeat(c, 60 // len(c)).astype(w.dtype)
            x_, y_ = x.astype(w.dtype), y.astype(w.dtype)
            return x_.T @ (weights * (x_ @ w - y_))

        def partition_gradients(self, w, k, t):
            return np.stack([self.gradient(w.astype(float), one, t) for one in np.eye(k)])

        def recovered_samples(self, c):
            return 60

    code = Uncoded(n=6)
    timeline, trajectory = clock(code, 0), trained(clock(code, 0), exact=True)
    kept = np.stack([0 * best, best])[None].repeat(2, axis=0)
    after = kept.copy()
    for place, step in np.ndindex(kept.shape[:2]):
        gradient = LeastSquares().gradient(kept[place, step], np.ones(6), 0)
        after[place, step], _ = DESCENT.update(gradient, {}, kept[place, step], 60, 60)
    trajectory = replace(trajectory, verified=np.array([0, 3]), parameters=kept, parameters_after=after)
    task = SimpleNamespace(problem=lambda data, seed: LeastSquares())
    assert replayed(code, timeline, trajectory, task)["passed"]
    alone = with_steps(trajectory, [3], [1])
    assert replayed(code, timeline, alone, task)["rounding_error"] > SINGLE


def test_a_task_in_float32_is_replayed_in_float32():
    class Single(PerceptronProblem):
        precision = np.float32

        def partition_gradients(self, parameters, k, iteration):
            return np.stack([self.gradient(parameters, one, iteration) for one in np.eye(k)])

    code = Uncoded(5)
    timeline, trajectory = run(code, 0, exact=True)
    wrapped = SimpleNamespace(problem=lambda data, seed: Single(TASK, data, seed))
    report = replayed(code, timeline, trajectory, wrapped)
    assert report["passed"] and report["weighted_error"] == 0 < report["rounding_error"] < 1e-5
    plain = Single.gradient
    Single.gradient = lambda self, w, c, t: plain(self, w, c * [1, 1, 1, 1.1, 1] if c.all() else c, t)
    assert not replayed(code, timeline, trajectory, wrapped)["passed"]


def test_every_seed_that_failed_is_named():
    sentences = [f"seed {s}, iteration {t}: too large" for s in (2, 7, 9) for t in (0, 100)]
    told = failure(sentences)
    assert all(f"seed {s}, iteration 0" in told for s in (2, 7, 9)) and told.count("and 1 more") == 3


@pytest.mark.parametrize("l", [1, 2, 9, 10, 31, 2**18 + 3])
def test_chunks_keep_blocks_apart(l):
    for code, heard in ((TwoBlocks(), [1, 1, 1]), (CyclicRepetition(n=5, s=2), [1, 0, 1, 0, 1])):
        gradients = np.random.default_rng(l).normal(size=(code.k, l))
        responses = np.array([heard])
        weights = code.decode(responses).weights[0]
        found = decoded_vector(code, gradients, code.received(responses)[0], weights)
        np.testing.assert_allclose(found, gradients.sum(0), atol=1e-10)


# --- Where the samples lie ------------------------------------------------------------------------------------------


def test_samples_at_random_have_the_bits_of_the_plain_task():
    parameters, coefficients = TASK.problem(DATA, 0).initial(), np.array([1.0, 0.0, 2.0])
    plain, sharded = (
        kind("digits").problem(DATA, 0).gradient(parameters, coefficients, 0)
        for kind in (MultilayerPerceptron, ShardedPerceptron)
    )
    assert plain.tobytes() == sharded.tobytes()


def test_by_label_a_lost_partition_is_a_lost_label():
    task = ShardedPerceptron("digits", shards="by_label")
    assert (np.diff(DATA.y_train[task.order(DATA.y_train, 0)]) >= 0).all()
    problem = task.problem(DATA, 0)
    last = problem.partition_gradients(problem.initial(), 10, 0)[:, -10:]  # of the biases of the classes
    assert (last[:, 0].argmin() == 0) and (last[:, 9].argmin() == 9)  # a bias grows where its label lies


def test_dealt_anew_the_true_path_is_followed_and_a_wrong_deal_is_found(monkeypatch):
    code = Uncoded(n=7)
    timeline = clock(code, 3)
    task = ShardedPerceptron("digits", shards="by_label", reshuffle=True, evaluate_every=5, verify_every=3)
    trajectory, fixed = (trained(timeline, task=one) for one in (task, replace(task, reshuffle=False)))
    assert replayed(code, timeline, trajectory, task)["passed"]
    assert not np.array_equal(trajectory.parameters, fixed.parameters)
    dealt = Reshuffled.partition_gradients

    def undealt(self, parameters, k, t):
        return dealt(self, parameters, k, t)[self.place(k, t)]

    monkeypatch.setattr(Reshuffled, "partition_gradients", undealt)
    assert not replayed(code, timeline, trajectory, task)["passed"]


def test_a_deal_moves_every_partition_to_every_place():
    dealt = Reshuffled(TASK.problem(DATA, 0), seed=1)
    places = np.array([dealt.place(4, t) for t in range(200)])
    assert (np.sort(places, axis=1) == np.arange(4)).all()
    counts = np.array([(places == j).mean(0) for j in range(4)])
    assert counts == pytest.approx(0.25, abs=0.1)


def test_shards_that_are_none(refused):
    names = ("task.shards", "'by_lable'", "'by_label'")
    refused(names, lambda: ShardedPerceptron("digits", shards="by_lable"), error=ParameterError)
