"""Every simulated time comes from scheme x delay -> timeline: nobody else draws delays or runs a clock; and every name
of a code is its option file: no module keeps a list of its own.
"""

import ast
from pathlib import Path

import pytest

import gcexp.codes  # noqa: F401  # so that every family is known
from gcexp.codes.base import Code

PACKAGE = Path(__file__).resolve().parents[2] / "gcexp"
#: What a second simulator would have to call; a figure is drawn by a plain function, or a method of its panels.
CLOCK = {
    "gcexp.timeline.simulate",
    ".simulate",
    ".draw",
    ".standard_exponential",
    "held_exponentials",
    ".stop",
}
#: The clock itself, the models that draw, the rules that wait, the panels; and what asks models and rules one by one
#: whether they keep their contracts.
ROAD = ("timeline.py", "delays/", "schemes/", "figures/", "testing.py")

#: Statements of the papers about a delay law itself: they look at its draws, and no time comes from them.
LAWS = ("analysis/dynamic_clustering_statements.py", "analysis/partial_recovery_statements.py")


def calls(source: str) -> set[str]:
    """Names of what is called, methods with a dot before them, and of what is imported."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            found |= {name, f".{name}" if isinstance(node.func, ast.Attribute) else name}
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.slow
def test_the_clock_runs_in_one_place():
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    own = {name: calls(path.read_text()) & CLOCK for name, path in sorted(modules.items())}
    assert ".stop" in own["timeline.py"] and "run_clock" in calls((PACKAGE / "run" / "stages.py").read_text())
    for name in LAWS:
        assert own.pop(name) == {".draw"}
    assert {name: found for name, found in own.items() if found and not name.startswith(ROAD)} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from gcexp.timeline import simulate",
        "timeline.simulate(s, d)",
        "TwoStateMarkov().draw((0,), 3, 4)",
        "rule.stop(code, at)",
    ],
)
def test_a_second_simulator_would_be_seen(source):
    assert calls(source) & CLOCK


def registries(source: str) -> list[str]:
    """Mappings at the top of a module to codes: to classes, calls of them, or functions that build them."""
    tree = ast.parse(source)
    makers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and CODES & calls_in(node)}
    found = []
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        values = [value for one in ast.walk(node.value) for value in mapped(one)]
        if (CODES | makers) & set().union(*map(names_in, values)):
            found.append(ast.unparse(node).partition("=")[0].strip())
    return found


def mapped(node: ast.AST) -> list[ast.AST]:
    """Values of a mapping, however it is spelled."""
    if isinstance(node, ast.Dict):
        return [*node.values]
    if isinstance(node, ast.DictComp):
        return [node.value, *node.generators]
    if isinstance(node, ast.Call) and called(node) == "dict":
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return []


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def calls_in(node: ast.AST) -> set[str]:
    return {called(one) for one in ast.walk(node) if isinstance(one, ast.Call)}


def names_in(node: ast.AST) -> set[str]:
    return {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node)}


def classes_of(kind: type) -> set[type]:
    below = set(kind.__subclasses__())
    return below.union(*map(classes_of, below))


CODES = {cls.__name__ for cls in classes_of(Code) if cls.__module__.startswith("gcexp.")}


@pytest.mark.slow
def test_a_code_is_named_by_its_option_alone():
    assert len(CODES) > 25
    found = {
        path.relative_to(PACKAGE).as_posix(): registries(path.read_text()) for path in PACKAGE.rglob("*.py")
    }
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        'CODES = {"uncoded": Uncoded}',
        'MINE: dict = {"a": codes.CyclicMDS, "b": 3}',
        'EXACT = {"cyclic MDS, real": (_fifth, lambda n, s: codes.CyclicMDS(n, s, "real"))}',
        'def repeated(n, s):\n    return FractionalRepetition(n, s + 1)\nEXACT = {"repetition": repeated}',
        "EXACT = dict(cyclic=partial(CyclicRepetition, n=6))",
        'EXACT = {field: partial(CyclicMDS, field=field) for field in ("real", "complex")}',
        'EXACT = MappingProxyType({"a": [ReedSolomon(6, 2)]})',
    ],
)
def test_a_second_registry_would_be_seen(source):
    assert registries(source)


@pytest.mark.parametrize(
    "source",
    [
        'COSTS = {"decode": cost}\ndef cost(code: CyclicMDS):\n    return code.n',
        "FAMILIES = (CyclicMDS, ReedSolomon)",
        'NAMES = {FractionalRepetition: "FRC"}',
    ],
)
def test_what_only_asks_about_codes_is_no_registry(source):
    assert not registries(source)
