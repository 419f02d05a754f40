"""The floors of the contracts are those of the design, and light commands import nothing heavy.

Who may import whom is said by the contracts of import-linter in pyproject.toml, which `make lint` holds.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_floors_are_those_of_the_design():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["type"] == "layers")
    floors = {
        name: floor for floor, names in enumerate(reversed(layers), 1) for name in re.split(" [|:] ", names)
    }
    rows = re.findall(r"^\| (\d) \| (.+?) \|", (ROOT / "docs" / "design.md").read_text(), re.M)
    assert floors == {name: int(floor) for floor, rooms in rows for name in re.findall(r"`(\w+)[/.]", rooms)}


def imported_at_once(module: str) -> set[str]:
    """First names of what a module imports at its top."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    found = {name for node in tree.body if isinstance(node, ast.ImportFrom) for name in [node.module or ""]}
    found |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    return {name.partition(".")[0] for name in found} - {"__future__"}


def test_handing_a_command_over_imports_little():
    """A job may be shorter than more."""
    found = [imported_at_once(f"gcexp.command.{name}") for name in ("entry", "forkserver")]
    light = {"contextlib", "marshal", "os", "socket", "struct", "sys", "time"}
    assert set().union(*found) - {"gcexp"} == light


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
def test_a_clock_loads_nothing_heavy(tmp_path):
    code = "from gcexp.run.compose import compose\nfrom gcexp.run.stages import length_of, simulated\n"
    code += (
        "config = compose(['scheme=cgc', 'n=6', 's=2', 'iterations=5'])\nsimulated(config, length_of(config))"
    )
    assert loaded(code, tmp_path) == set()


@pytest.mark.slow
def test_reading_every_figure_file_loads_neither_torch_nor_drawings(tmp_path):
    code = "from gcexp.report.figurefile import figures\nassert figures('quick')"
    assert loaded(code, tmp_path) <= {"pandas", "networkx"}  # of analyses, which say what their columns are
