"""Who may do what in the library: the floors of the design, and one road to every simulated time.

Simulated times come from scheme x delay -> timeline. Whoever else runs the clock, draws from a delay model, prices its
draws or lets a rule wait is named here, with the reason. Who may import whom is said by the contracts of import-linter
in pyproject.toml, which `make lint` holds: a paper imports no clock at all.
"""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gcexp"
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

#: The clock itself, the models that draw and the rules that wait: what follows is about every other module.
ROAD = ("timeline.py", "summary.py", "delays/", "schemes/")
CLOCKS = {
    "gcexp.timeline": {"run_clock", "simulate", "drawn_chunks", "played_chunks", "*"},
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


def test_floors_are_those_of_the_design():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["type"] == "layers")
    floors = {
        name: floor for floor, names in enumerate(reversed(layers), 1) for name in re.split(" [|:] ", names)
    }
    rows = re.findall(r"^\| (\d) \| (.+?) \|", (ROOT / "docs" / "design.md").read_text(), re.M)
    assert floors == {name: int(floor) for floor, rooms in rows for name in re.findall(r"`(\w+)[/.]", rooms)}
