"""What every code keeps: each `_target_` of the config group `code`, on each of its `examples`.

A new family needs no edit here: its YAML file and its class attribute `examples` are found.
"""

from __future__ import annotations

import inspect
import re
from functools import cache, partial
from importlib import import_module
from math import ceil, comb, gcd
from pathlib import Path

import numpy as np
import pytest
import yaml

import gcexp.codes
from gcexp.codes import Code
from gcexp.run.options import option_file, options
from gcexp.testing import checks

CONFIGS = [
    option_file("code", option) for option in options("code")
]  # $GCEXP_SEARCHPATH adds codes from outside
BIBLIOGRAPHY = Path(__file__).parents[2] / "docs" / "references.bib"


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


@each_case
def test_contract(family, example, hold):
    hold(checks(codes=[partial(family, **family.examples[example])]))


@each_family
def test_is_documented_and_has_examples(family):
    """Ours are; how families from outside the package are documented is their own affair."""
    assert issubclass(family, Code) and family.examples
    if not family.__module__.startswith("gcexp."):
        return
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
    load = int(code.load.max())
    measured = {"k": code.k, "load": load, "messages": int(code.messages.max()), "length": code.length}
    known = {"ceil": ceil, "comb": comb, "gcd": gcd, "len": len, "map": map, "max": max, "sum": sum}
    for name, formula in type(code).formulas.items():
        value = eval(formula, known | vars(code) | {"load": load})
        assert value == pytest.approx(measured[name], rel=1e-9), name


@each_config
def test_config_names_every_parameter(config):
    keys = {key for key in yaml.safe_load(config.read_text()) if key != "defaults" and key[0] != "_"}
    assert keys == set(inspect.signature(target(config)).parameters)
    assert config.read_text().startswith("# ")


@each_family
def test_redrawn_codes_depend_on_the_seed(family):
    if family.redrawn:
        built = [family(**{**family.examples[0], "seed": seed}).encoding for seed in range(5)]
        assert any((built[0] != other).nnz for other in built[1:])


@each_case
def test_repr_is_the_constructor_call(family, example):
    code, text = build(family, example), repr(build(family, example))
    assert text.startswith(f"{family.__name__}(")
    for name, value in family.examples[example].items():
        if isinstance(value, int | float | str):
            assert f"{name}={value!r}" in text
    names = {**vars(gcexp.codes), family.__name__: family, "array": np.array}
    assert (eval(text, names).encoding != code.encoding).nnz == 0
