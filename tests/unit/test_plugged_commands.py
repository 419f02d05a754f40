"""Commands that other packages add, and the library without the adviser, which is one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
MODULE = '''"""``gcexp greet``: say hello to somebody.

More about it.
"""
from gcexp.errors import UserError

print("imported")


def add(parser):
    parser.add_argument("name")
    parser.add_argument("--loudly", action="store_true")


def run(arguments):
    if arguments.name == "nobody":
        raise UserError("there is nobody to greet")
    print("hello", arguments.name)
'''
ENTRIES = "[gcexp.commands]\ngreet = lab_tools.greet\nlist = lab_tools.greet\n"


@pytest.fixture
def gcexp(tmp_path):
    """The command with a distribution ``lab_tools`` that adds ``greet``, and tries to replace ``list``."""
    package = tmp_path / "site/lab_tools"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "greet.py").write_text(MODULE)
    about = tmp_path / "site/lab_tools-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: lab_tools\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}"}

    def called(*words):
        command = [sys.executable, "-m", "gcexp", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return called


@pytest.mark.slow
def test_a_package_adds_a_command(gcexp, tmp_path):
    said = gcexp("greet", "you")
    assert (said.returncode, said.stdout.split()) == (0, ["imported", "hello", "you"]), said.stderr
    mistaken = gcexp("greet", "nobody")
    assert mistaken.returncode == 2 and mistaken.stderr == "gcexp: there is nobody to greet\n"
    helped = gcexp("--help").stdout
    assert (
        "say hello to somebody" in helped and "imported" not in helped and "where redundancy pays" in helped
    )
    assert "greet" in gcexp("completion", "words", "--", "gr").stdout.split()
    assert "--loudly" in gcexp("completion", "words", "--", "greet", "--l").stdout.split()
    assert "'greet'" in gcexp("gret", "you").stderr
    assert "imported" not in gcexp("list", "codes").stdout
    shutil.rmtree(tmp_path / "site/lab_tools")
    gone = gcexp("greet", "you")
    assert gone.returncode == 2 and "lab_tools" in gone.stderr and gone.stderr.count("\n") == 1
    assert gcexp("--help").returncode == 0


WITHOUT = """
import sys
import gcexp
from gcexp.command.main import main
from gcexp.errors import UserError
for name in ("advise", "benchmark", "fit", "goodput"):
    try:
        getattr(gcexp, name)
    except UserError as error:
        print("face", name, "gcexp_adviser" in str(error))
for command in ("advise pai-job1", "fit pai-job1", "trace check pai-job1", "benchmark pai-job1"):
    print("command", main(command.split()))
print("core", main("simulate scheme=cgc n=10 s=1 delay=pai_job1 iterations=20 seeds=1".split()))
print("core", main(["list", "papers"]))
print("adviser", any(name.startswith("gcexp_adviser") for name in sys.modules))
"""


@pytest.fixture
def without_adviser(tmp_path):
    """A clone whose folder ``gcexp_adviser`` was deleted, and a Python that finds no other one."""
    parts = ("Snakefile", "workflow", "profiles", "conf", "config", "data/traces", "gcexp", "gcexp_papers")
    for name in parts:
        source = ROOT / name
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if source.is_dir():
            unneeded = shutil.ignore_patterns("__pycache__", "raw")
            shutil.copytree(source, tmp_path / name, ignore=unneeded)
        else:
            shutil.copy2(source, tmp_path / name)
    libraries = Path(numpy.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{libraries}"}

    def called(*words):
        # -S: the clone that this environment is made of is not found
        command = [sys.executable, "-S", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return called


@pytest.mark.slow
def test_the_library_works_without_the_adviser(without_adviser):
    said = without_adviser("-c", WITHOUT)
    lines = [
        line for line in said.stdout.splitlines() if line.startswith(("face", "command", "core", "adviser"))
    ]
    faces = [f"face {name} True" for name in ("advise", "benchmark", "fit", "goodput")]
    assert lines == [*faces, *["command 2"] * 4, "core 0", "core 0", "adviser False"], said.stderr
    sentences = said.stderr.splitlines()
    assert len([line for line in sentences if "gcexp_adviser, which is not there" in line]) == 4, sentences


@pytest.mark.workflow
@pytest.mark.slow
def test_the_five_papers_are_planned_without_the_adviser(without_adviser):
    planned = without_adviser(BIN / "snakemake", "-n", "--cores", "1")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert "table" in planned.stdout + planned.stderr
    refused = without_adviser(BIN / "snakemake", "-n", "--cores", "1", "stragglers")
    assert refused.returncode != 0 and "gcexp_adviser" in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
