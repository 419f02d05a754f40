"""What every code keeps: each `_target_` of the config group `code`, on each of its `examples`.

A new family needs no edit here: its YAML file and its class attribute `examples` are found.
"""

from __future__ import annotations

import inspect
from functools import cache, partial
from math import ceil, comb, gcd
from pathlib import Path

import numpy as np
import pytest

import gcexp.codes
from gcexp.codes import Code
from gcexp.run.build import locate
from gcexp.run.options import option_file, option_names
from gcexp.run.yaml_values import read_yaml
from gcexp.testing import checks

BIBLIOGRAPHY = Path(__file__).parents[2] / "docs" / "references.bib"
TARGETS = {read_yaml(option_file("code", option))["_target_"] for option in option_names("code")}
FAMILIES = [locate(target, "code") for target in sorted(TARGETS)]  # $GCEXP_SEARCHPATH adds codes from outside
CASES = [(family, i) for family in FAMILIES for i in range(len(family.examples))]

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
each_case = pytest.mark.parametrize(("family", "example"), CASES, ids=[f"{f.__name__}-{i}" for f, i in CASES])


@cache
def build(family: type[Code], example: int) -> Code:
    return family(**family.examples[example])


@each_case
def test_contract(family, example, hold):
    hold(checks(codes=[partial(family, **family.examples[example])]))


@each_family
def test_is_documented_and_fills_its_row_of_the_catalogue(family):
    """Ours are; how families from outside the package are documented is their own affair."""
    assert issubclass(family, Code) and family.examples
    assert set(family.formulas) <= {"k", "load", "messages", "length"}
    if family.__module__.startswith("gcexp."):
        assert all(
            f"{name}\n---" in inspect.getdoc(family) for name in ("Parameters", "Examples", "References")
        )
        assert family.decoding and family.limit and family.source
        assert all(f"{{{source}," in BIBLIOGRAPHY.read_text() for source in family.source)


@each_case
def test_formulas_are_true(family, example):
    code = build(family, example)
    load = int(code.load.max())
    measured = {"k": code.k, "load": load, "messages": int(code.messages.max()), "length": code.length}
    known = {"ceil": ceil, "comb": comb, "gcd": gcd, "len": len, "map": map, "max": max, "sum": sum}
    for name, formula in type(code).formulas.items():
        value = eval(formula, known | vars(code) | {"load": load})
        assert value == pytest.approx(measured[name], rel=1e-9), name


@each_case
def test_repr_is_the_constructor_call(family, example):
    code, text = build(family, example), repr(build(family, example))
    assert text.startswith(f"{family.__name__}(")
    for name, value in family.examples[example].items():
        if isinstance(value, int | float | str):
            assert f"{name}={value!r}" in text
    names = {**vars(gcexp.codes), family.__name__: family, "array": np.array}
    assert (eval(text, names).encoding != code.encoding).nnz == 0
