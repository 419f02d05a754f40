"""The floors of the contracts are those of the design, and light commands import nothing heavy.

Who may import whom is said by the contracts of import-linter in pyproject.toml, which `make lint` holds.
"""

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
def test_reading_every_figure_file_loads_nothing_heavy(tmp_path):
    """Once the first process has kept what it found out; in a folder of its own, where no other test keeps anything."""
    code = "from gcexp.report.figurefile import figures\nassert figures('quick')"
    loaded(code, tmp_path)
    assert loaded(code, tmp_path) == set()
