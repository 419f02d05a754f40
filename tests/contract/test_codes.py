"""What every code keeps: each `_target_` of the config group `code`, on each of its `examples`.

A new family needs no edit here: its YAML file and its class attribute `examples` are found.
"""

from __future__ import annotations

import inspect
import pickle
import re
from functools import cache
from importlib import import_module
from itertools import combinations
from math import ceil, comb, gcd
from pathlib import Path

import numpy as np
import pytest
import yaml

import gcexp.codes
from gcexp.codes import Code
from gcexp.codes.base import RESIDUAL_BOUND
from gcexp.command import catalogue
from gcexp.errors import ParameterError
from gcexp.run.options import option_file, options

CONFIGS = [
    option_file("code", option) for option in options("code")
]  # $GCEXP_SEARCHPATH adds codes from outside
BIBLIOGRAPHY = Path(__file__).parents[2] / "docs" / "references.bib"
SHARED = {"n": 10, "s": 4}  # the top-level keys that the defaults refer to
MOST_PATTERNS = 300  # of one quorum alternative: all of them up to here, else a sample


def target(config: Path) -> type[Code]:
    module, _, name = yaml.safe_load(config.read_text())["_target_"].rpartition(".")
    return getattr(import_module(module), name)


FAMILIES = sorted({target(config) for config in CONFIGS}, key=lambda family: family.__name__)
CASES = [(family, i) for family in FAMILIES for i in range(len(family.examples))]

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
each_case = pytest.mark.parametrize(("family", "example"), CASES, ids=[f"{f.__name__}-{i}" for f, i in CASES])
each_config = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)


@cache
def build(family: type[Code], example: int) -> Code:
    return family(**family.examples[example])


def tightest(code: Code, rng: np.random.Generator) -> np.ndarray:
    """Patterns that just meet every quorum, by each of its alternatives."""
    found = []
    for a in range(max((len(quorum.need) for quorum in code.quorums), default=0)):
        picks = []
        for quorum in code.quorums:
            r, q = quorum.need[min(a, len(quorum.need) - 1)]
            able = [w for w in quorum.workers if code.messages[w] >= r]
            assert len(able) >= q, f"{quorum} can never be met: only {able} send {r} messages"
            if len(code.quorums) == 1 and comb(len(able), q) <= MOST_PATTERNS:
                sets = list(combinations(able, q))
            else:
                sets = [able[:q], able[len(able) - q :]]
                sets += [rng.choice(able, q, replace=False) for _ in range(20)]
            picks.append((r, sets))
        for chosen in zip(*(sets for _, sets in picks), strict=True):
            heard = np.zeros(code.n, dtype=int)
            for (r, _), workers in zip(picks, chosen, strict=True):
                heard[list(workers)] = np.maximum(heard[list(workers)], r)
            found.append(heard)
    return np.array(found, dtype=int).reshape(-1, code.n)


@cache
def heard_and_decoded(family: type[Code], example: int):
    code, rng = build(family, example), np.random.default_rng(0)
    tight = tightest(code, rng)
    assert code.met(tight).all()
    random = rng.integers(0, code.messages + 1, (20, code.n))
    all_or_none = code.messages * rng.integers(0, 2, (20, code.n))
    heard = np.concatenate([[code.messages, 0 * code.messages], random, all_or_none, tight])
    return heard, code.decode(heard)  # raises where a promise is broken


@each_family
def test_is_documented_and_has_examples(family):
    assert issubclass(family, Code) and family.examples
    sections = inspect.getdoc(family)
    assert "Parameters\n---" in sections and "Examples\n---" in sections
    assert "References\n---" in sections


@each_family
def test_fills_its_row_of_the_catalogue(family):
    """Families from outside the package may leave it empty: their sources stand elsewhere."""
    assert set(family.formulas) <= {"k", "load", "messages", "length"}
    if family.__module__.startswith("gcexp."):
        assert family.decoding and family.limit and family.source
        assert set(family.source) <= set(
            re.findall(r"^@\w+\{(\w+),$", BIBLIOGRAPHY.read_text(), re.MULTILINE)
        )


@each_case
def test_formulas_are_true(family, example):
    code = build(family, example)
    measured = catalogue.sizes(code)
    known = {"ceil": ceil, "comb": comb, "gcd": gcd, "len": len, "map": map, "max": max, "sum": sum}
    for name, formula in type(code).formulas.items():
        value = eval(formula, known | vars(code) | {"load": int(code.load.max())})
        assert value == pytest.approx(measured[name], rel=1e-9), name


@each_config
def test_config_names_every_parameter(config):
    keys = {key for key in yaml.safe_load(config.read_text()) if key != "defaults" and key[0] != "_"}
    assert keys == set(inspect.signature(target(config)).parameters)
    assert config.read_text().startswith("# ")


@each_config
def test_config_defaults_build(config):
    text = config.read_text()
    if unresolved := set(re.findall(r"\$\{([^}]*)\}", text)) - set(SHARED):
        pytest.skip(f"refers to {unresolved}")
    values = yaml.safe_load(re.sub(r"\$\{(\w+)\}", lambda key: str(SHARED[key[1]]), text))
    if any(key == "defaults" or isinstance(value, dict | list) for key, value in values.items()):
        pytest.skip("composed of other configs")
    code = target(config)(**{key: value for key, value in values.items() if not key.startswith("_")})
    assert code.n == SHARED["n"]
    code.decode(np.stack([code.messages, 0 * code.messages]))


@each_case
def test_shapes(family, example):
    code = build(family, example)
    M = len(code.owner)
    assert code.encoding.shape == (M, code.k * code.blocks)
    assert code.encoding.dtype in (np.float64, np.complex128)
    assert np.isfinite(code.encoding.data).all()
    assert code.messages.shape == (code.n,) and code.messages.sum() == M
    assert 0 <= code.recovers <= code.k


@each_case
def test_loads_are_the_assignment(family, example):
    code = build(family, example)
    work = [code.work(r) for r in range(code.messages.max() + 1)]
    assert not work[0].any() and all((a <= b).all() for a, b in zip(work, work[1:], strict=False))
    np.testing.assert_array_equal(work[-1], code.load)
    np.testing.assert_array_equal(code.load, code.assignment.sum(1))
    rows = np.abs(code.encoding.toarray()).reshape(-1, code.k, code.blocks).max(2) > 0
    assert code.assignment[code.owner][rows].all()


@each_case
def test_uses_only_what_was_received(family, example):
    code = build(family, example)
    heard, decoding = heard_and_decoded(family, example)
    assert not (decoding.weights * ~code.received(heard)[:, None]).any()
    assert np.isfinite(decoding.weights).all()
    held = (heard > 0).astype(int) @ code.assignment > 0
    assert (np.abs(decoding.coefficients[~held]) < 1e-9).all()  # nobody can speak for a partition not held


@each_case
def test_coefficients_are_weights_times_encoding(family, example):
    code = build(family, example)
    _, decoding = heard_and_decoded(family, example)
    combined = np.real(decoding.weights @ code.encoding.toarray())
    expected = np.stack([np.kron(c, np.eye(code.blocks)) for c in decoding.coefficients])
    off = np.abs(combined - expected).max((1, 2))
    certain = decoding.residual <= RESIDUAL_BOUND
    assert (off[certain] <= decoding.residual[certain] + 1e-12).all()
    assert not decoding.coefficients[~certain].any()


@each_case
@pytest.mark.parametrize("length", [1, 7, 12])
def test_decodes_real_gradients(family, example, length):
    code = build(family, example)
    _, decoding = heard_and_decoded(family, example)
    g = np.random.default_rng(1).standard_normal((code.k, length))
    sent = code.encode(g)
    assert sent.shape == (len(code.owner), -(-length // code.blocks))
    for u in np.flatnonzero(decoding.residual <= RESIDUAL_BOUND):
        answer = code.combine(sent, decoding.weights[u])
        np.testing.assert_allclose(answer[:length], decoding.coefficients[u] @ g, rtol=0, atol=1e-5)
        np.testing.assert_allclose(answer[length:], 0, atol=1e-5)  # the padding


@each_case
def test_keeps_its_promise(family, example):
    code = build(family, example)
    heard, decoding = heard_and_decoded(family, example)
    met = code.met(heard)
    assert met[0], "hearing everything must meet every quorum"
    c = decoding.coefficients[met]
    if code.promise == "indicator":
        assert np.isin(c, (0, 1)).all() and (c.sum(1) >= code.recovers).all()
        combined = np.real(decoding.weights[met] @ code.encoding.toarray())
        exact = np.stack([np.kron(row, np.eye(code.blocks)) for row in c])
        np.testing.assert_allclose(combined, exact, rtol=0, atol=1e-9)  # rounding hides nothing
    if code.promise == "least_squares":
        best = (Code.weights(code, heard).reshape(len(heard), code.blocks, -1)[:, 0] @ code.encoding)[met]
        np.testing.assert_allclose(decoding.error[met], ((best - 1) ** 2).mean(1), atol=1e-9)


@each_case
def test_decodes_each_pattern_alone(family, example):
    """A batch is only a batch: a pattern's answer does not depend on its neighbours."""
    code = build(family, example)
    heard, decoding = heard_and_decoded(family, example)
    for u in range(0, len(heard), max(1, len(heard) // 10)):
        alone = code.decode(heard[u]).weights[0]
        np.testing.assert_allclose(alone, decoding.weights[u], rtol=1e-6, atol=1e-9)


@each_case
def test_equal_parameters_give_equal_codes(family, example):
    code, again = build(family, example), family(**family.examples[example])
    assert (code.encoding != again.encoding).nnz == 0
    np.testing.assert_array_equal(code.owner, again.owner)
    heard, decoding = heard_and_decoded(family, example)
    np.testing.assert_array_equal(again.decode(heard).weights, decoding.weights)


@each_family
def test_redrawn_codes_depend_on_the_seed(family):
    if family.redrawn:
        built = [family(**{**family.examples[0], "seed": seed}).encoding for seed in range(5)]
        assert any((built[0] != other).nnz for other in built[1:])


@each_case
def test_survives_pickling(family, example):
    heard, decoding = heard_and_decoded(family, example)
    copy = pickle.loads(pickle.dumps(build(family, example)))
    np.testing.assert_array_equal(copy.decode(heard).coefficients, decoding.coefficients)


@each_case
def test_encodes_in_double_precision(family, example):
    code = build(family, example)
    g = np.random.default_rng(2).standard_normal((code.k, 5)).astype(np.float32)
    sent = code.encode(g)
    assert sent.dtype == code.encoding.dtype
    np.testing.assert_array_equal(sent, code.encode(g.astype(np.float64)))


@each_case
def test_refuses_bad_gradients(family, example):
    code = build(family, example)
    g = np.ones((code.k, 3))
    for bad in (g[1:], g[0], g[None], g * [1, np.nan, 1], g * [1, np.inf, 1]):
        with pytest.raises(ParameterError):
            code.encode(bad)


@each_case
def test_refuses_bad_patterns(family, example):
    code = build(family, example)
    good = code.messages[None]
    for bad in (good.astype(float), np.ones((1, code.n + 1), dtype=int), good + 1, good - good.max() - 1):
        with pytest.raises(ParameterError):
            code.decode(bad)


@each_case
def test_repr_is_the_constructor_call(family, example):
    code, text = build(family, example), repr(build(family, example))
    assert text.startswith(f"{family.__name__}(")
    for name, value in family.examples[example].items():
        if isinstance(value, int | float | str):
            assert f"{name}={value!r}" in text
    names = {**vars(gcexp.codes), family.__name__: family, "array": np.array}
    assert (eval(text, names).encoding != code.encoding).nnz == 0
