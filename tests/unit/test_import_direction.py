"""Arrows between modules point one way, and light commands import nothing heavy."""

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "gcexp").rglob("*.py"))
NAMES = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for p in MODULES}


def path_of(module: str) -> Path:
    base = ROOT.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(node: ast.AST, top_level: bool) -> set[str]:
    """Modules that run when the code does; not those for type checkers."""
    found = set()
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            found |= {alias.name for alias in child.names}
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "relative import"
            names = {f"{child.module}.{alias.name}" for alias in child.names}
            found |= {name if name in NAMES else child.module for name in names}
        elif not (top_level and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)):
            found |= imported(child, top_level)
    return found


@cache
def imports(module: str, top_level: bool = False) -> frozenset[str]:
    return frozenset(imported(ast.parse(path_of(module).read_text()), top_level) - {"__future__"})


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def part(*packages: str) -> list[str]:
    return sorted(name for name in NAMES if any(inside(name, f"gcexp.{package}") for package in packages))


def reached(module: str) -> set[str]:
    """The package's modules that a module imports, directly or not."""
    found, waiting = set(), [module]
    while waiting:
        for name in imports(waiting.pop()):
            if inside(name, "gcexp") and name not in found:
                found.add(name)
                waiting.append(name)
    return found - {module}


def outside(module: str) -> set[str]:
    """First names of third-party packages."""
    firsts = {name.partition(".")[0] for name in imports(module)}
    return firsts - set(sys.stdlib_module_names) - {"gcexp"}


MATHEMATICS = {"numpy", "scipy", "networkx", "galois"}
FLOORS = {  # a room imports only from its own and from lower floors, and rooms of one floor do not know each other
    "gcexp.errors": 1,
    **dict.fromkeys(
        ["gcexp.theory", "gcexp.designs", "gcexp.seeding", "gcexp.schema", "gcexp.files", "gcexp.progress"], 2
    ),
    **dict.fromkeys(["gcexp.codes", "gcexp.delays", "gcexp.figures", "gcexp.data"], 3),
    **dict.fromkeys(["gcexp.schemes", "gcexp.tasks", "gcexp.decoding_error"], 4),
    "gcexp.timeline": 5,
    **dict.fromkeys(["gcexp.run", "gcexp.analysis"], 6),
    "gcexp.report": 7,
    **dict.fromkeys(["gcexp.experiments", "gcexp.testing"], 8),
    "gcexp.command": 9,
}


def room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_floors_are_those_of_the_design():
    rows = re.findall(r"^\| (\d) \| (.+?) \|", (ROOT / "docs" / "design.md").read_text(), re.M)
    planned = {
        f"gcexp.{name}": int(floor) for floor, rooms in rows for name in re.findall(r"`(\w+)[/.]", rooms)
    }
    assert planned == FLOORS
    assert {room(module) for module in NAMES - {"gcexp"}} == set(FLOORS)


def arrows(modules, refused) -> list[str]:
    """Imports that `refused(module, imported)` names, each as one line: what a failed test shows."""
    return [
        f"{module} imports {name}"
        for module in sorted(modules)
        for name in sorted(imports(module))
        if inside(name, "gcexp") and refused(module, name)
    ]


def test_imports_run_down():
    assert not arrows(
        NAMES - {"gcexp"},
        lambda module, name: (
            name != "gcexp" and room(name) != room(module) and FLOORS[room(name)] >= FLOORS[room(module)]
        ),
    )


def circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Modules that reach themselves, those of each circle together."""

    def reach(start: str) -> set[str]:
        found, waiting = set(), [start]
        while waiting:
            for name in graph[waiting.pop()] - found:
                found.add(name)
                waiting.append(name)
        return found

    reaches = {name: reach(name) for name in graph}
    return sorted({tuple(sorted(b for b in reaches[a] if a in reaches[b])) for a in graph if a in reaches[a]})


@pytest.mark.parametrize("room_of", sorted(FLOORS))
def test_modules_of_one_room_import_each_other_in_no_circle(room_of):
    """Imports inside functions counted: they hide a circle and do not open it."""
    mine = {name for name in NAMES if room(name) == room_of}
    graph = {name: {other for other in imports(name) if other in mine and other != name} for name in mine}
    assert circles(graph) == []


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == [("a", "b", "c")]


def test_mathematics_stands_alone():
    modules = part("codes", "delays", "designs", "theory")
    more = {
        "gcexp.codes.soft_bibd": {"gcexp.theory.errors"},  # which laws there are
        "gcexp.codes.adaptive": {"gcexp.theory.adaptive"},  # sizes of the groups
        "gcexp.delays.trace_file": {"gcexp.files"},  # where the bundled traces lie
    }
    allowed = {"gcexp.errors", "gcexp.seeding", "gcexp.schema"}
    assert not arrows(
        modules,
        lambda module, name: (
            not (inside(name, room(module)) or inside(name, "gcexp.designs"))
            and name not in allowed | more.get(module, set())
        ),
    )
    assert {module: strange for module in modules if (strange := outside(module) - MATHEMATICS)} == {}
    first = {
        module: {name.partition(".")[0] for name in imports(module, top_level=True)} for module in modules
    }
    assert not [module for module, names in first.items() if "galois" in names]


def test_schemes_know_codes_only():
    modules = part("schemes")
    allowed = {"gcexp.errors", "gcexp.seeding"}
    assert not arrows(
        modules,
        lambda _, name: not (inside(name, "gcexp.schemes") or inside(name, "gcexp.codes") or name in allowed),
    )
    assert {module: strange for module in modules if (strange := outside(module) - {"numpy", "scipy"})} == {}


def test_timeline_joins_schemes_and_delays():
    assert not {"gcexp.tasks", "gcexp.tasks.training", "gcexp.data"} & reached("gcexp.timeline")
    direct = {name for name in imports("gcexp.timeline") if inside(name, "gcexp")}
    allowed = ("gcexp.schemes", "gcexp.delays", "gcexp.errors", "gcexp.files", "gcexp.schemes.survivors")
    assert not [name for name in direct if not any(inside(name, room) for room in allowed)]


def test_learning_knows_no_workers():
    forbidden = {*part("codes", "delays", "schemes", "timeline", "run", "theory")}
    assert {m: known for m in part("tasks", "data") if (known := reached(m) & forbidden)} == {}


def test_figures_and_claims_read_tables():
    forbidden = {*part("codes", "delays", "schemes", "timeline", "tasks", "run")}
    modules = part("figures", "report.claims", "report.scorecard", "report.page")
    assert modules and {m: known for m in modules if (known := reached(m) & forbidden)} == {}


def test_only_verification_imports_codes_and_tasks():
    both = [
        module
        for module in sorted(NAMES)
        if any(inside(name, "gcexp.codes") for name in imports(module))
        and any(inside(name, "gcexp.tasks") for name in imports(module))
    ]
    assert both == ["gcexp.run.verification"]


def test_who_may_import_what():
    def users(*packages):
        return {m for m in NAMES if any(inside(name, p) for name in imports(m) for p in packages)}

    assert users("hydra", "omegaconf") == {"gcexp.run.compose"}
    assert users("mlflow") <= {"gcexp.report.tracking"}
    assert users("snakemake", "snakemake_interface_common") == {"gcexp.command.snakemake_inside"}
    assert all(inside(module, "gcexp.tasks") for module in users("torch"))
    assert users("torch") and not users("torch") & {
        "gcexp.tasks",
        "gcexp.tasks.base",
        "gcexp.tasks.optimizers",
    }


def test_command_line_is_light_at_top_level():
    ours = {
        name for name in imports("gcexp.command.main", top_level=True) if name.partition(".")[0] == "gcexp"
    }
    assert ours <= {"gcexp", "gcexp.errors", "gcexp.files"}
    assert not outside("gcexp.command.main")
    assert outside("gcexp.command.forkserver") <= {"pandas"}  # the server draws a figure, for all its forks
    ours = {f"gcexp.command.{name}" for name in ("entry", "bytecode", "forkserver")}
    handing_over = {name for module in ours for name in imports(module, top_level=True)}
    light = {"contextlib", "importlib", "os", "select", "signal", "socket", "struct", "sys", "time", "types"}
    others = handing_over - ours - {"gcexp", "gcexp.command"}
    assert {name.partition(".")[0] for name in others} == light  # a job may be shorter than more


HEAVY = ("torch", "hydra", "omegaconf", "mlflow", "pandas", "matplotlib", "sklearn", "snakemake", "networkx")


def loaded(code: str, folder: Path) -> set[str]:
    """Heavy packages that a fresh interpreter has after `code`."""
    ask = f"{code}\nimport json, sys\nprint(json.dumps(sorted(set(sys.modules) & set({HEAVY!r}))))"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "GCEXP_CONF": str(ROOT / "conf")}
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_command_loads_nothing_heavy(tmp_path):
    assert loaded("import gcexp.command.main", tmp_path) == set()


@pytest.mark.slow
def test_a_timeline_job_loads_nothing_heavy(tmp_path):
    run = "import gcexp.command.main\nassert gcexp.command.main.main({}) == 0"
    arguments = ["job", "timeline", "scheme=cgc", "n=6", "s=2", "iterations=5", "-o", "clock.npz"]
    assert "hydra" in loaded(
        run.format(arguments), tmp_path
    )  # the first one composes and keeps what it composed
    assert loaded(run.format(arguments), tmp_path) == set()


@pytest.mark.slow
def test_reading_every_figure_file_loads_nothing_heavy(knowing):
    code = "from gcexp.report.figurefile import figures\nassert figures('quick')"
    loaded(code, knowing)  # the first one keeps what it found out
    assert loaded(code, knowing) == set()
