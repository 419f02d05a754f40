"""A check that does not see that what it rests on is wrong proves nothing about it.

Every object named under `rests_on` is broken, and the check called at its smallest size: it must have an instance that
does not hold, or stop. A bound on one side is seen from that side only, so numbers that are too large or too small will
do. Checks that do not hold as they are need not see anything.
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from dataclasses import replace as replaced
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from gcexp.analysis.checks import functions, instances
from gcexp.codes.base import Code
from gcexp.report.claims import BUILT, ENUMERATED, FORMULA

ROOT = Path(__file__).resolve().parents[2]
ENUMERATIONS = [
    f"gcexp_papers.{path.parent.name}.enumerations" for path in ROOT.glob("gcexp_papers/*/enumerations.py")
]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in ROOT.glob("gcexp_papers/*/*.py")
    if "gcexp.analysis.checks" in path.read_text(encoding="utf-8")
)
#: Sizes of checks that have none of their own: enough to tell.
SMALL = {
    **{"draws": 100, "seed": 0, "most": 3, "gc_up_to": 4, "rows": 60},
    **{"cyclic_up_to": 5, "subsets_up_to": 5, "loads_up_to": 6},
}
CHECKS = [(function, one) for function in functions(*MODULES) for one in function.checks]
PAIRS = [(function, one, place) for function, one in CHECKS for place in one.rests_on if not one.reason]


class Unbreakable(Exception):
    """What a check rests on is broken by nothing that is written here."""


def wrong(answer, up=True):
    """An answer of the same kind that is not right: every number of it is larger, or smaller."""
    if isinstance(answer, bool | np.bool):
        return not answer
    if isinstance(answer, int | np.integer):
        return answer + (1 if up else -1)
    if isinstance(answer, Fraction):
        return answer * Fraction(11, 10) + Fraction(1, 7) if up else answer / 2
    if isinstance(answer, float | np.floating):
        return answer * 1.1 + 0.01 if up else answer / 2
    if isinstance(answer, dict):
        return {key: wrong(value, up) for key, value in answer.items()}
    if isinstance(answer, np.ndarray):
        return np.array([wrong(x, up) for x in answer.ravel()], dtype=answer.dtype).reshape(answer.shape)
    if isinstance(answer, tuple) and hasattr(answer, "_replace"):
        return type(answer)(*(wrong(x, up) for x in answer))
    if isinstance(answer, tuple | list | set):
        return type(answer)(wrong(x, up) for x in answer)
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Iterator):
        return (wrong(x, up) for x in answer)
    if is_dataclass(answer):
        kinds = int | float | tuple | np.ndarray
        parts = {one.name: getattr(answer, one.name) for one in fields(answer) if one.init}
        return replaced(
            answer, **{name: wrong(part, up) for name, part in parts.items() if isinstance(part, kinds)}
        )
    raise Unbreakable(f"no wrong answer of kind {type(answer)}")


def broken(found, up):
    """Wrong answers of a function, other messages of a code's worker 0, other numbers for a class."""
    if not isinstance(found, type):
        return lambda *given, **named: wrong(found(*given, **named), up)

    def number(value):
        return isinstance(value, int | float) and not isinstance(value, bool)

    class Broken(found):
        def __init__(self, *given, **named):
            if not issubclass(found, Code):
                given = [wrong(value, up) if number(value) else value for value in given]
                named = {key: wrong(value, up) if number(value) else value for key, value in named.items()}
            super().__init__(*given, **named)
            if issubclass(found, Code):
                rows = self.encoding.toarray()
                mine = self.owner == 0
                rows[mine] = np.roll(rows[mine], 1, axis=1) * (1 + np.arange(rows.shape[1]) / 7)
                self.encoding = sparse.csr_array(rows)

    return Broken


def forget(module):
    """Nothing is kept of earlier calls."""
    for name in (
        module,
        *(
            name
            for name in sys.modules
            if name.startswith(("gcexp.codes", "gcexp.theory", "gcexp.designs", "gcexp.decoding"))
        ),
    ):
        for kept in list(vars(sys.modules[name]).values()):
            if hasattr(kept, "cache_clear"):
                kept.cache_clear()


def replace(patched, place, up):
    """Put something broken in the place of an object, under every name that a module has for it."""
    where, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(where), attribute)
    bad = broken(found, up)
    for name in [name for name in sys.modules if name.startswith(("gcexp.", "gcexp_papers."))]:
        module = sys.modules[name]
        for key in [key for key, value in vars(module).items() if value is found]:
            patched.setattr(module, key, bad)


def small(function, check):
    """Arguments of the smallest size at which a check tells."""
    asked = inspect.signature(function).parameters.values()
    return {one.name: SMALL[one.name] for one in asked if one.default is one.empty} | check.small


@pytest.mark.parametrize(
    ("function", "check", "place"),
    PAIRS,
    ids=[f"{f.__module__.split('.')[1]}:{c.id}:{p}" for f, c, p in PAIRS],
)
def test_a_check_sees_what_it_rests_on_break(monkeypatch, function, check, place):
    def seen(up):
        forget(function.__module__)
        with monkeypatch.context() as patched:
            replace(patched, place, up)
            try:
                return any(
                    name == check.id and not holds
                    for name, holds in instances(function, **small(function, check))
                )
            except Unbreakable:
                raise
            except Exception:
                return True

    found = seen(up=True) or seen(up=False)
    forget(function.__module__)
    assert found, f"{check.id} holds although {place} is wrong"


def test_built_and_enumerated_checks_say_what_they_rest_on():
    for function, one in CHECKS:
        own = function.__module__ in ENUMERATIONS  # what has no object of the library is mathematics alone
        assert one.rests_on or one.grade not in (BUILT, ENUMERATED) or own, one.id


def test_formulas_that_rest_on_nothing_take_nothing_of_the_library():
    """So both derivations are the check's own, or those of what it calls for linear algebra."""
    rooms = re.compile(r"gcexp\.(codes|data|decoding_error|delays|designs|schemes|tasks|theory|timeline)\b")
    alone = {function: one for function, one in CHECKS if one.grade == FORMULA and not one.rests_on}
    for function, check in alone.items():
        taken = set()

        def note(frame, event, argument, taken=taken):
            if event == "call" and rooms.match(name := frame.f_globals.get("__name__", "")):
                taken.add(f"{name}:{frame.f_code.co_qualname}")

        forget(function.__module__)
        sys.setprofile(note)
        try:
            assert all(holds for _, holds in instances(function, **small(function, check))) or check.reason
        finally:
            sys.setprofile(None)
        assert not taken, f"{check.id} takes {sorted(taken)}"


def test_the_engine_takes_nothing_from_what_it_is_compared_with():
    tree = ast.parse((ROOT / "gcexp/analysis/enumeration.py").read_text())
    taken = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not [name for name in taken if name.startswith("gcexp") and name != "gcexp.errors"], taken
