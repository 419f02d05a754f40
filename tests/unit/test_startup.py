"""What short commands cost: modules that they load, and CPU seconds, user and system, of the whole command."""

import ast
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST, SHOW, SIMULATE = "list", "show scheme=cgc n=8 s=2", "simulate scheme=cgc n=12 s=2"
MISTAKES = [
    "list cods",
    "show scheme=cgcc",
    "show scheme=cgc s=20",
    "simulate scheme=frc n=7 s=1",
    "run scheme=cgc task=nobody",
    "benchmark nobody.csv",
    "advise nobody.csv",
    "fit nobody.csv",
    "error code=nobody",
    "theory nobody",
    "plan nobody",
    "compare nobody",
    "data fetch nobody",
    "data fetch mnist --data-dir nowhere",
    "run -m scheme=cgc,nobody",  # the last one, since it loads Hydra, whose grammar reads what is swept
]
HEAVY = "pandas matplotlib torch sklearn numpy.f2py.f2py2e numpy.testing._private hydra omegaconf mlflow snakemake"
IN_ONE = """
import contextlib, io, json, sys
from gcexp.command import lazy
lazy.install()
from gcexp.command.main import main
heavy, *commands = sys.argv[1:]
found = []
for words in commands:
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(words.split())
    found.append([code, [name for name in heavy.split() if name in sys.modules]])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run Python as for an installed command: its bytecode is kept, and its folder holds nothing."""
    folder = tmp_path_factory.mktemp("startup")
    kept = {
        key: text for key, text in os.environ.items() if not key.startswith(("GCEXP_", "PYTHONDONTWRITE"))
    }
    where = {"cwd": folder, "env": kept | {"PYTHONPATH": str(ROOT)}}

    def called(*arguments, code=0):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **where)
        assert done.returncode == code, done.stderr
        return done.stdout

    return called


@pytest.mark.slow
def test_short_commands_load_little(run):
    """One after the other in one process: what none of them has loaded, each does without."""
    commands = [LIST, SHOW, *MISTAKES]
    found = json.loads(run("-c", IN_ONE, HEAVY, *commands))
    for (code, loaded), words in zip(found, commands, strict=True):
        assert code == (2 if words in MISTAKES else 0), words
        assert set(loaded) <= ({"hydra", "omegaconf"} if "-m" in words else set()), words


PLANNING = "from gcexp.report.figurefile import figures\nassert figures('quick')"
CLOCK = """
from gcexp.run.compose import compose
from gcexp.run.stages import length_of, simulated
config = compose(['scheme=cgc', 'n=6', 's=2', 'iterations=5'])
simulated(config, length_of(config))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        (CLOCK, set()),
        ("import gcexp.figures, gcexp.report.figurefile", set()),
        (PLANNING, {"pandas", "networkx"}),  # of analyses, which say what their columns are
    ],
    ids=["clock", "import", "planning"],
)
def test_neither_clocks_nor_plans_load_what_is_heavy(run, code, allowed):
    names = {name for name in f"{HEAVY} networkx".split() if "." not in name}
    loaded = json.loads(
        run("-c", f"{code}\nimport json, sys\nprint(json.dumps([*sys.modules]))").splitlines()[-1]
    )
    assert names & {*loaded} <= allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "limit"),
    [
        (LIST, 0, 0.5),
        (SHOW, 0, 0.5),
        (SIMULATE, 0, 1.0),
        ("show scheme=cgcc", 2, 0.5),
        ("plan nobody", 2, 0.5),
        ("lst", 2, 0.5),
    ],
)
def test_what_they_cost(run, command, code, limit):
    """CPU seconds of the whole command; on a busy machine the first of five may take longer."""

    def cpu_s():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("-m", "gcexp.command.entry", *command.split(), code=code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert any(cpu_s() <= limit for _ in range(5))


LATER = """
from gcexp.command import lazy
lazy.install()
import numpy, scipy.sparse, sys
assert "numpy.ma.core" not in sys.modules
assert int(numpy.ma.masked_equal([1, 2], 2).sum()) == 1
assert numpy.polynomial.Polynomial([1, 2])(3) == 7
numpy.testing.assert_array_equal([1], [1])
"""


def test_what_is_loaded_later_is_there_when_used(run):
    run("-c", LATER)


def test_handing_a_command_over_imports_little():
    """A job may be shorter than more."""
    found = set()
    for name in ("entry", "forkserver"):
        for node in ast.parse((ROOT / f"gcexp/command/{name}.py").read_text()).body:
            if isinstance(node, ast.ImportFrom):
                found.add(node.module)
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    names = {name.partition(".")[0] for name in found}
    light = {"contextlib", "marshal", "os", "socket", "struct", "sys", "time"}
    assert names - {"__future__", "gcexp"} == light
