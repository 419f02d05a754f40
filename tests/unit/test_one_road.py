"""Every simulated time comes from scheme x delay -> timeline: whoever else of the library runs the clock, draws from a
delay model, prices its draws or lets a rule wait is named here, with the reason. (A paper imports no clock at all: see
the contracts in pyproject.toml.)
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "gcexp"
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

#: The clock itself, the models that draw and the rules that wait: what follows is about every other module.
ROAD = ("timeline.py", "summary.py", "delays/", "schemes/")
CLOCKS = {
    "gcexp.timeline": {"run_clock", "simulate", "Played", "*"},
    "gcexp.summary": {"summarise", "*"},
    "gcexp.run.stages": {"simulated", "summarised", "*"},
}
STEPS = {"draw", "arrival", "stop", "law", *set().union(*CLOCKS.values())}
MAY = {
    # From a run's config to its timeline: the one place; and who asks for it.
    "run/stages.py": {"run_clock", "summarise"},
    "experiments.py": {
        "simulated",
        "summarised",
        ".draw",
        ".stop",
    },  # from Python; a first iteration as a picture
    # And as a table; what a clock costs; bounds in closed form look at draws.
    "benchmarking.py": {"simulate", "summarise", ".draw"},
    "command/job.py": {"simulated"},  # coefficients to train with
    "report/table.py": {"simulated"},  # the runs of a figure
    "report/plan.py": {"simulated"},  # what a figure will cost
    # Whether models and rules keep their contracts is asked one by one.
    "testing.py": {"simulate", ".draw", ".arrival", ".stop"},
    # A fitted model beside its trace; schemes that are screened before some are trained.
    "advice/fit.py": {".draw", ".arrival"},
    "advice/trained.py": {"simulated"},
    "advice/remedies.py": {"simulate"},  # candidates, which are priced on the trace
    # Times that real ranks took decide when a real step ends; nothing is simulated.
    **dict.fromkeys(("distributed/decisions.py", "distributed/star.py"), {".stop"}),
    "figures/compose.py": {".draw"},  # a panel
    "figures/style.py": {".draw"},  # a canvas
}


def clocks(source: str) -> set[str]:
    """What a module has of a clock: names that it imports from one, and methods of draws and rules behind a dot."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names} & CLOCKS.get(node.module or "", set())
        if isinstance(node, ast.Attribute) and node.attr in STEPS:
            found.add(f".{node.attr}")
    return found


def test_nobody_else_does():
    found = {name: clocks(path.read_text()) for name, path in MODULES.items() if not name.startswith(ROAD)}
    assert {name: used for name, used in found.items() if used} == MAY


@pytest.mark.parametrize(
    "source",
    [
        "def f(s, draws):\n    from gcexp.timeline import simulate as run\n    return run(s, draws)",
        "from gcexp import timeline\ndef f(s, d): return timeline.run_clock(s, d, (0,), 9)",
        "from gcexp.run import stages\ndef f(c, l): return stages.simulated(c, l)",
        "TwoStateMarkov().draw((0,), 3, 4)",
        "def f(draws): return draws.arrival(0.1, 1)",
        "def f(delay, u): return map(delay.law, u)",
    ],
)
def test_a_second_simulator_would_be_seen(source):
    assert clocks(source)
