"""What every scheme preset, waiting rule and delay model keeps: each option of the groups `scheme`, `wait`, `delay`.

A new option needs no edit here: it is found, and run with a delay model that its waiting and placement rules can use.
"""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from gcexp.codes.base import RESIDUAL_BOUND
from gcexp.command.list import phrases
from gcexp.delays import Trace
from gcexp.errors import UserError
from gcexp.run.build import build, locate
from gcexp.run.compose import compose
from gcexp.run.measurement import Measurement
from gcexp.run.options import option_names
from gcexp.run.run import Run
from gcexp.run.trainings import HomeTrainings, write_timeline
from gcexp.schemes import Capacity, Covered, DropCompute, Fewest, PrefixDeadline, Reordering, Restart
from gcexp.testing import checks
from gcexp.timeline import Game
from gcexp.timeline import clock as timeline_module
from gcexp.traces.clean import read_record

ITERATIONS, SEEDS = 20, (0, 1)
LENGTH = [f"iterations={ITERATIONS}", f"seeds={SEEDS[0]}-{SEEDS[-1]}"]

each_scheme = pytest.mark.parametrize("preset", option_names("scheme"))
each_wait = pytest.mark.parametrize("rule", option_names("wait"))


def composed(overrides: list[str], *length: str) -> dict:
    """With a delay model that suits: states for a placement, counts of epochs for restarts."""
    config = compose([*overrides, "delay=pareto", "delay.persistence=1", *length])
    if config.get("placement") is not None:
        return compose([*overrides, "delay=markov", *length])
    if isinstance(build(config, "wait"), PrefixDeadline | DropCompute):  # they learn before the run
        trace = ["delay=pai_job1", "delay.skip=prefix", "delay.start=random"]
        return compose([*overrides, *trace, *length])
    if isinstance(build(config, "wait"), Restart):
        return compose([*overrides, "delay=epochs", "delay.p=0.3", *length])
    return config


#: Schemes whose table of measured phases has one row for no straggler.
PRICED = {f"scheme={name}": ["s=0", "code.m=3"] for name in ("cgc_restart", "g_cgc_restart")}


@cache
def run(*overrides: str) -> SimpleNamespace:
    """A run as a job makes it: its config, its timeline, and the scheme and draws of each part."""
    config = composed([*overrides, *(more for given in overrides for more in PRICED.get(given, []))], *LENGTH)
    parts = []
    with pytest.MonkeyPatch.context() as patch:
        played = timeline_module.played_chunks

        def kept(scheme, pieces, *more):
            pieces = list(pieces)
            parts.extend((scheme, draws) for _, _, draws, _ in pieces)
            return played(scheme, pieces, *more)

        patch.setattr(timeline_module, "played_chunks", kept)
        timeline = Run((), config).clock()
    return SimpleNamespace(config=config, timeline=timeline, parts=parts)


#: Waiting rules that not every code can use, with one that can.
CODES = {
    Restart: ["scheme=agc"],
    Fewest: ["scheme=lb"],
    Capacity: ["scheme=capacity"],
    Covered: ["scheme=partial_work"],
    DropCompute: ["scheme=dropcompute"],
    Reordering: ["scheme=spare"],
}


def waiting(rule: str) -> SimpleNamespace:
    kind = type(build(compose([f"wait={rule}"]), "wait"))
    return run(*CODES.get(kind, []), f"wait={rule}")


@pytest.mark.parametrize(
    ("group", "option"),
    [(group, option) for group in ("code", "wait", "delay") for option in option_names(group)],
)
def test_an_option_names_every_parameter_of_its_class(group, option):
    values = dict(compose([f"{group}={option}"])[group])
    kind = locate(values.pop("_target_"), group)
    assert phrases(group)[option].endswith(".") and inspect.getdoc(kind)
    assert set(values) == set(inspect.signature(kind).parameters)


# --- scheme presets ---------------------------------------------------------------------------------------------


@each_scheme
def test_preset_says_what_it_is(preset):
    assert phrases("scheme")[preset].endswith(".")
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
    assert timeline.coefficients.any() != found.config["bound"]  # a bound decodes nothing


@each_scheme
def test_exact_is_exact(preset):
    found = run(f"scheme={preset}")
    if found.config["exact"]:
        assert (found.timeline.coefficients == 1).all()
        assert np.nanmax(found.timeline.residual) <= RESIDUAL_BOUND
        for code in (scheme.code for scheme, _ in found.parts):
            assert (code.decode(code.messages).coefficients == 1).all()


@each_scheme
def test_patterns_are_messages_that_arrived(preset):
    """What a decode uses was there when the master stopped."""
    found = run(f"scheme={preset}")
    timeline, start = found.timeline, 0
    # Of a bound nothing is decoded; where loads are given, those of the code are not the price.
    if found.config["bound"] or found.config.get("loads"):
        return
    for scheme, draws in found.parts:
        if scheme.placement is not None:
            draws = draws.seated(scheme.placement.seat(draws.is_slow, draws.seeds, Game(scheme, draws)))
        code, rows = scheme.code, slice(start, start + len(draws.seeds))
        start = rows.stop
        responses, time = timeline.patterns[timeline.pattern[rows]], timeline.duration[rows] - scheme.overhead
        assert (responses <= code.messages).all()
        for r in range(1, int(code.messages.max()) + 1):
            at = draws.arrival(code.work(r) / code.k, np.minimum(r, code.messages) * code.length)
            assert (at <= time[..., None] * (1 + 1e-12))[responses >= r].all()


@each_scheme
def test_seeds_are_independent_runs(preset):
    """A seed's iterations do not depend on the seeds beside it, and seeds differ."""
    both = run(f"scheme={preset}")
    given = [f"scheme={preset}", *PRICED.get(f"scheme={preset}", [])]
    config = composed(given, LENGTH[0], f"seeds={SEEDS[1]}-{SEEDS[1]}")
    alone = Run((), config).clock()
    np.testing.assert_array_equal(alone.duration[0], both.timeline.duration[1])
    for field in ("patterns", "coefficients"):
        mine, theirs = getattr(alone, field), getattr(both.timeline, field)
        np.testing.assert_array_equal(mine[alone.pattern[0]], theirs[both.timeline.pattern[1]])
    assert (both.timeline.duration[0] != both.timeline.duration[1]).any()


@each_scheme
def test_draws_know_no_scheme(preset):
    """Common random numbers: every scheme with as many workers prices the same draws."""
    found = run(f"scheme={preset}")
    delay, n = build(found.config, "delay"), found.config["n"]
    assert [seed for _, draws in found.parts for seed in draws.seeds] == list(SEEDS)
    for _, draws in found.parts:
        alone = delay.draw(draws.seeds, ITERATIONS, n)
        for price in ((0.1, 0.25), (0.4, 1.0)):
            np.testing.assert_array_equal(draws.arrival(*price), alone.arrival(*price))


@each_scheme
def test_the_job_checks_the_declaration(preset, tmp_path):
    """A preset that wrongly declares itself exact is an error."""
    found = run(f"scheme={preset}")
    truly = (found.timeline.coefficients == 1).all()
    with nullcontext() if truly else pytest.raises(UserError, match="exact: true"):
        declared = Run((), found.config | {"exact": True})
        write_timeline(Measurement(declared, HomeTrainings()), tmp_path / "timeline.npz")
    assert (tmp_path / "timeline.npz").is_file() == truly


# --- waiting rules ----------------------------------------------------------------------------------------------


@each_wait
def test_wait_keeps_the_contract(rule, hold):
    scheme, _ = waiting(rule).parts[0]
    delay = build(waiting(rule).config, "delay")
    hold(checks(waits=[(scheme, delay)]))


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
    "pai_job1": [["delay.start=random"], ["delay.workers=random", "delay.phi=0.5"], ["delay.skip=prefix"]],
}
MODELS = []
for model in option_names("delay"):
    if model != "trace":  # which has no file of its own; the bundled traces stand for it
        MODELS += [(model, more) for more in ([], *VARIANTS.get(model, []))]
each_model = pytest.mark.parametrize(
    ("model", "more"), MODELS, ids=["+".join([m, *(v[6:] for v in more)]) for m, more in MODELS]
)


def built(model: str, more: list[str]):
    """The model; where its unit of work is a share of n by default, the unit is set, since n varies here."""
    config = compose([f"delay={model}", *more])
    if "pieces" in config["delay"]:
        config = compose([f"delay={model}", *more, "delay.pieces=10"])
    return build(config, "delay")


@each_model
def test_delay_keeps_the_contract(model, more, hold):
    delay = built(model, more)
    n = min(10, len(read_record(delay.file).workers)) if isinstance(delay, Trace) else 10
    hold(checks(delays=[(delay, n)]))
