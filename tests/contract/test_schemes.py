"""What every scheme preset, waiting rule and delay model keeps: each option of the groups `scheme`, `wait`, `delay`.

A new option needs no edit here: it is found, and run with a delay model that its waiting and placement rules can use.
"""

from __future__ import annotations

import inspect
import pickle
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from gcexp import timeline as timeline_module
from gcexp.codes.base import RESIDUAL_BOUND
from gcexp.delays import Draws
from gcexp.errors import UserError
from gcexp.run import stages
from gcexp.run.build import build, locate
from gcexp.run.compose import compose
from gcexp.run.options import option_file, options, read_yaml
from gcexp.schemes import Fewest, Restart
from gcexp.timeline import Game

ITERATIONS, SEEDS = 20, (0, 1)
LENGTH = [f"iterations={ITERATIONS}", f"seeds={SEEDS[0]}-{SEEDS[-1]}"]

each_scheme = pytest.mark.parametrize("preset", options("scheme"))
each_wait = pytest.mark.parametrize("rule", options("wait"))
each_delay = pytest.mark.parametrize("model", options("delay"))


def delay_for(config: dict) -> list[str]:
    """A delay model that suits: states for a placement, counts of epochs for restarts."""
    if config.get("placement") is not None:
        return ["delay=markov"]
    if issubclass(locate(config["wait"]["_target_"], "wait"), Restart):
        return ["delay=epochs", "delay.p=0.3"]
    return ["delay=pareto", "delay.persistence=1"]


@cache
def run(*overrides: str) -> SimpleNamespace:
    """A run as a job makes it: its config, its timeline, and the scheme and draws of each part."""
    config = compose([*overrides, *delay_for(compose(list(overrides))), *LENGTH])
    parts = []
    with pytest.MonkeyPatch.context() as patch:
        inner = timeline_module.simulate
        patch.setattr(timeline_module, "simulate", lambda *given: parts.append(given) or inner(*given))
        timeline = stages.simulated(config, stages.length_of(config))
    return SimpleNamespace(config=config, timeline=timeline, parts=parts)


#: Waiting rules that not every code can use, with one that can.
CODES = {Restart: ["scheme=agc"], Fewest: ["scheme=lb"]}


def waiting(rule: str) -> SimpleNamespace:
    kind = locate(read_yaml(option_file("wait", rule))["_target_"], "wait")
    return run(*CODES.get(kind, []), f"wait={rule}")


# --- scheme presets ---------------------------------------------------------------------------------------------


@each_scheme
def test_preset_says_what_it_is(preset):
    text = option_file("scheme", preset).read_text()
    first, second = text.splitlines()[:2]
    assert first == "# @package _global_" and second.startswith("# ") and len(second) > 20
    assert isinstance(compose([f"scheme={preset}"])["exact"], bool)


@each_scheme
def test_preset_runs(preset):
    found = run(f"scheme={preset}")
    timeline, n = found.timeline, found.config["n"]
    U, k = timeline.coefficients.shape
    assert timeline.duration.shape == timeline.pattern.shape == (len(SEEDS), ITERATIONS)
    assert np.isfinite(timeline.duration).all() and (timeline.duration > 0).all()
    assert timeline.patterns.shape == (U, n) and timeline.residual.shape == (U,)
    assert np.isfinite(timeline.coefficients).all()
    assert set(timeline.pattern.ravel()) == set(range(U))  # each pattern occurs
    for scheme, _ in found.parts:
        assert scheme.code.n == n and scheme.code.k == k
    assert timeline.coefficients.any()  # not every update is skipped


@each_scheme
def test_exact_is_exact(preset):
    found = run(f"scheme={preset}")
    if found.config["exact"]:
        assert (found.timeline.coefficients == 1).all()
        assert found.timeline.residual.max() <= RESIDUAL_BOUND
        assert all(
            (scheme.code.decode(scheme.code.messages).coefficients == 1).all() for scheme, _ in found.parts
        )


@each_scheme
def test_patterns_are_messages_that_arrived(preset):
    """What a decode uses was there when the master stopped."""
    found = run(f"scheme={preset}")
    timeline, start = found.timeline, 0
    for scheme, draws in found.parts:
        if scheme.placement is not None:
            draws = draws.seated(scheme.placement.seat(draws.is_slow, draws.seeds, Game(scheme, draws)))
        code, rows = scheme.code, slice(start, start + len(draws.seeds))
        start = rows.stop
        heard, time = timeline.patterns[timeline.pattern[rows]], timeline.duration[rows] - scheme.overhead
        assert (heard <= code.messages).all()
        for r in range(1, int(code.messages.max()) + 1):
            at = draws.arrival(code.work(r) / code.k, np.minimum(r, code.messages) * code.length)
            assert (at <= time[..., None] * (1 + 1e-12))[heard >= r].all()


@each_scheme
def test_decoded_is_what_the_coefficients_say(preset):
    """Encode, drop, decode real gradients with every pattern that occurs; a skipped update is a row of zeros."""
    found = run(f"scheme={preset}")
    if len(found.parts) > 1:  # one code per seed: the first one's iterations
        used = np.unique(found.timeline.pattern[0])
    else:
        used = np.arange(len(found.timeline.patterns))
    code = found.parts[0][0].code
    g = np.random.default_rng(0).standard_normal((code.k, 7))
    sent, decoding = code.encode(g), code.decode(found.timeline.patterns[used])
    np.testing.assert_array_equal(decoding.coefficients, found.timeline.coefficients[used])
    for weights, c, residual in zip(decoding.weights, decoding.coefficients, decoding.residual, strict=True):
        if residual <= RESIDUAL_BOUND:
            np.testing.assert_allclose(code.combine(sent, weights)[:7], c @ g, rtol=0, atol=1e-5)
        else:
            assert not c.any()


@each_scheme
def test_equal_runs_have_equal_bits(preset):
    once, again = run(f"scheme={preset}"), run.__wrapped__(f"scheme={preset}")
    for name in ("duration", "pattern", "patterns", "coefficients", "residual"):
        np.testing.assert_array_equal(getattr(again.timeline, name), getattr(once.timeline, name))


@each_scheme
def test_seeds_are_independent_runs(preset):
    """A seed's iterations do not depend on the seeds beside it, and seeds differ."""
    both = run(f"scheme={preset}")
    config = compose([f"scheme={preset}", *delay_for(both.config), LENGTH[0], f"seeds={SEEDS[1]}"])
    alone = stages.simulated(config, stages.length_of(config))
    np.testing.assert_array_equal(alone.duration[0], both.timeline.duration[1])
    for field in ("patterns", "coefficients"):
        np.testing.assert_array_equal(
            getattr(alone, field)[alone.pattern[0]], getattr(both.timeline, field)[both.timeline.pattern[1]]
        )
    assert (both.timeline.duration[0] != both.timeline.duration[1]).any()


@each_scheme
def test_draws_know_no_scheme(preset):
    """Common random numbers: every scheme with as many workers prices the same draws."""
    found = run(f"scheme={preset}")
    delay, n = build(found.config, "delay"), found.config["n"]
    assert [seed for _, draws in found.parts for seed in draws.seeds] == list(SEEDS)
    for _, draws in found.parts:
        same_draws(draws, delay.draw(draws.seeds, ITERATIONS, n))


@each_scheme
def test_the_job_checks_the_declaration(preset, tmp_path):
    """A preset that wrongly declares itself exact is an error."""
    found = run(f"scheme={preset}")
    config = found.config | {"exact": True}
    if (found.timeline.coefficients == 1).all():
        stages.run_timeline(config, tmp_path / "timeline.npz")
        assert (tmp_path / "timeline.npz").is_file()
    else:
        with pytest.raises(UserError, match="declares exact: true"):
            stages.run_timeline(config, tmp_path / "timeline.npz")


@pytest.mark.parametrize("preset", ["agc", "g_agc", "cgc", "g_cgc", "uncoded"])
def test_presets_of_the_restart_model(preset):
    """The adaptive paper's schemes restart their stragglers; a table of that paper prices the epochs."""
    more = {"cgc": ["s=2"], "g_cgc": ["s=2"]}.get(preset, [])
    found = run(f"scheme={preset}", "wait=restart", *more)
    prices = found.parts[0][0].wait
    assert (found.timeline.coefficients == 1).all()
    assert set(found.timeline.duration.ravel()) > {prices.first[0]} or len(found.timeline.patterns) == 1
    assert found.timeline.duration.min() >= min(prices.first)


# --- waiting rules ----------------------------------------------------------------------------------------------


@each_wait
def test_wait_names_every_parameter(rule):
    text, values = option_file("wait", rule).read_text(), read_yaml(option_file("wait", rule))
    kind = locate(values.pop("_target_"), "wait")
    assert text.startswith("# ") and inspect.getdoc(kind)
    assert set(values) == set(inspect.signature(kind).parameters)


@each_wait
def test_wait_runs(rule):
    found = waiting(rule)
    timeline = found.timeline
    assert np.isfinite(timeline.duration).all() and (timeline.duration > 0).all()
    assert timeline.patterns.any() and timeline.coefficients.any()
    wait = found.parts[0][0].wait
    assert wait == pickle.loads(pickle.dumps(wait)) == build(found.config, "wait")


@each_wait
def test_wait_decides_each_iteration_alone(rule):
    """All iterations at once, or one after the other; and arrivals that are later never stop it earlier."""
    scheme, draws = waiting(rule).parts[0]
    code = scheme.code

    def arrive(r=None, t=slice(None), factor=1.0):
        sent = code.messages if r is None else np.minimum(r, code.messages)
        work = code.load if r is None else code.work(r)
        return factor * draws.arrival(work / code.k, sent * code.length)[:, t]

    time, heard = scheme.wait.stop(code, arrive)
    assert time.shape == draws.shape[:2] and heard.shape == draws.shape and heard.dtype == np.int16
    assert ((heard >= 0) & (heard <= code.messages)).all()
    for t in range(ITERATIONS):
        one, one_heard = scheme.wait.stop(code, lambda r=None, t=t: arrive(r, slice(t, t + 1)))
        np.testing.assert_array_equal(one, time[:, t : t + 1])
        np.testing.assert_array_equal(one_heard, heard[:, t : t + 1])
    later, _ = scheme.wait.stop(code, lambda r=None: arrive(r, factor=2.0))
    assert (later >= time).all()


# --- delay models -----------------------------------------------------------------------------------------------

#: Other values of an option, each with the same promises.
VARIANTS = {
    "pareto": [["delay.scaling=server"], ["delay.persistence=1"]],
    "shifted_exponential": [["delay.scaling=server", "delay.persistence=7"]],
    "markov": [
        ["delay.load_model=sum"],
        ["delay.spread=0.3"],
        ["delay.initial_slow=3", "delay.subset=first"],
    ],
    "epochs": [["delay.p=0.5"], ["delay.p=0.0"]],
}
MODELS = [(model, more) for model in options("delay") for more in ([], *VARIANTS.get(model, []))]
each_model = pytest.mark.parametrize(
    ("model", "more"), MODELS, ids=["+".join([m, *(v[6:] for v in more)]) for m, more in MODELS]
)


def built(model: str, more: list[str]):
    """The model; where its unit of work is a share of n by default, the unit is set, since n varies here."""
    config = compose([f"delay={model}", *more])
    if "pieces" in config["delay"]:
        config = compose([f"delay={model}", *more, "delay.pieces=10"])
    return build(config, "delay")


def prices(draws: Draws) -> np.ndarray:
    """Arrivals for two loads and two lengths, (4, S, T, n)."""
    return np.stack([draws.arrival(load, length) for load in (0.1, 0.4) for length in (0.25, 1.0)])


def same_draws(one: Draws, other: Draws, part: tuple = (...,)) -> None:
    """The first are the wanted part (seeds, iterations, workers) of the others."""
    np.testing.assert_array_equal(prices(one), prices(other)[(slice(None), *part)])
    assert (one.is_slow is None) == (other.is_slow is None)
    if one.is_slow is not None:
        np.testing.assert_array_equal(one.is_slow, other.is_slow[part])


@each_delay
def test_delay_names_every_parameter(model):
    text, values = option_file("delay", model).read_text(), read_yaml(option_file("delay", model))
    kind = locate(values.pop("_target_"), "delay")
    assert text.startswith("# ") and inspect.getdoc(kind)
    assert set(values) == set(inspect.signature(kind).parameters)


@each_model
def test_delays_are_times(model, more):
    delay = built(model, more)
    draws = delay.draw(SEEDS, ITERATIONS, 10)
    assert draws.seeds == SEEDS and draws.shape == (len(SEEDS), ITERATIONS, 10)
    times = prices(draws)
    assert np.isfinite(times).all() and (times >= 0).all()
    more_work, longer = times[2:] >= times[:2], times[1::2] >= times[::2]
    assert more_work.all() and longer.all()
    assert hash(delay) == hash(pickle.loads(pickle.dumps(delay)))
    load = np.linspace(0, 1, 10)  # each worker its own
    for w in (0, 4, 9):
        np.testing.assert_array_equal(draws.arrival(load, 1.0)[..., w], draws.arrival(load[w], 1.0)[..., w])


@each_model
def test_delays_do_not_depend_on_what_else_is_drawn(model, more):
    """More iterations, workers or seeds change no earlier draw, and the same call gives the same bits."""
    delay = built(model, more)
    draws = delay.draw(SEEDS, ITERATIONS, 10)
    same_draws(draws, delay.draw(SEEDS, ITERATIONS, 10))
    same_draws(draws, delay.draw(SEEDS, 3 * ITERATIONS + 1, 10), (slice(None), slice(ITERATIONS)))
    same_draws(draws, delay.draw(SEEDS, ITERATIONS, 23), (slice(None), slice(None), slice(10)))
    same_draws(draws, delay.draw((5, *SEEDS, 9), ITERATIONS, 10), (slice(1, 3),))
    same_draws(delay.draw((1, 0), ITERATIONS, 10), draws, (slice(None, None, -1),))


@each_model
def test_seeds_and_workers_differ(model, more):
    draws = built(model, more).draw((0, 1, 2), 200, 10)
    times = draws.arrival(0.3, 1.0)
    if times.any():
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert (times[a] != times[b]).any() and (times[:, :, a] != times[:, :, b]).any()


@each_model
def test_relabelled_draws_are_the_workers_own(model, more):
    draws = built(model, more).draw(SEEDS, ITERATIONS, 10)
    seats = np.random.default_rng(0).permuted(np.tile(np.arange(10), (*draws.shape[:2], 1)), axis=-1)
    expected = np.take_along_axis(prices(draws), np.broadcast_to(seats, (4, *seats.shape)), axis=-1)
    np.testing.assert_array_equal(prices(draws.seated(seats)), expected)
    np.testing.assert_array_equal(prices(draws.at(3)), prices(draws)[:, :, 3:4])
