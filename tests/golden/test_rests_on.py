"""An enumeration that does not see that the library's function is wrong proves nothing about it."""

import ast
import importlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted(path.parent.name for path in (ROOT / "gcexp_papers").glob("*/enumerations.py"))
MODULES = [f"gcexp_papers.{paper}.enumerations" for paper in PAPERS]
CHECKS = [
    (module, name, rests, size)
    for module in MODULES
    for name, (rests, size) in importlib.import_module(module).RESTS_ON.items()
]


def wrong(answer):
    """An answer of the same kind that is not right: every number of it is another one."""
    if isinstance(answer, bool | np.bool):
        return not answer
    if isinstance(answer, int | np.integer):
        return answer + 1
    if isinstance(answer, Fraction):
        return answer * Fraction(11, 10) + Fraction(1, 7)
    if isinstance(answer, float | np.floating):
        return answer * 1.1 + 0.01
    if isinstance(answer, dict):
        return {key: wrong(value) for key, value in answer.items()}
    if isinstance(answer, np.ndarray):
        return np.array([wrong(x) for x in answer.ravel()], dtype=answer.dtype).reshape(answer.shape)
    if isinstance(answer, tuple) and hasattr(answer, "_replace"):
        return type(answer)(*map(wrong, answer))
    if isinstance(answer, tuple | list):
        return type(answer)(map(wrong, answer))
    raise AssertionError(f"no wrong answer of kind {type(answer)}")


def broken(found):
    """The function with wrong answers; the class with the messages of worker 0 unlike what it promises."""
    if not isinstance(found, type):
        return lambda *given, **named: wrong(found(*given, **named))

    class Broken(found):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            rows = self.encoding.toarray()
            mine = self.owner == 0
            scale = 1 + np.arange(rows.shape[1]) / 7
            rows[mine] = np.roll(rows[mine], 1, axis=1) * scale
            self.encoding = sparse.csr_array(rows)

    return Broken


def outcomes(module, name, size):
    """How often each thing tried holds and fails, with nothing kept of earlier calls."""
    for kept in vars(module).values():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()
    found = {}
    for what, holds in getattr(module, name)(**size):
        assert isinstance(holds, bool | np.bool)
        found.setdefault(what, []).append(bool(holds))
    return found


@pytest.mark.parametrize(
    ("module", "name", "rests", "size"), CHECKS, ids=[f"{m}:{f}" for m, f, _, _ in CHECKS]
)
def test_enumeration_sees_what_it_rests_on_break(monkeypatch, module, name, rests, size):
    module = importlib.import_module(module)
    right = outcomes(module, name, size)
    assert right, "no instance"
    for place in rests:
        where, _, attribute = place.partition(":")
        where = importlib.import_module(where)
        with monkeypatch.context() as patched:
            patched.setattr(where, attribute, broken(getattr(where, attribute)))
            try:
                seen = outcomes(module, name, size)
            except Exception:
                continue
        turned = [what for what, holds in right.items() if all(holds) and not all(seen.get(what, [False]))]
        assert turned, f"{name} holds although {place} is wrong"


@pytest.mark.parametrize("module", MODULES)
def test_every_enumeration_says_what_it_rests_on(module):
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    functions = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    assert functions and set(functions) == set(importlib.import_module(module).RESTS_ON)


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
