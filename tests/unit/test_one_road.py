"""Every simulated time comes from scheme x delay -> timeline: nobody else draws delays or runs a clock."""

import ast
from pathlib import Path

import pytest

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
