"""What short commands cost: modules that they load, and CPU seconds, user and system, of the whole command."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST, SHOW, SIMULATE = (
    ["list"],
    ["show", "scheme=cgc", "n=8", "s=2"],
    ["simulate", "scheme=cgc", "n=12", "s=2"],
)
MISTAKES = [
    ["lst"],
    ["list", "cods"],
    ["show", "scheme=cgcc"],
    ["show", "scheme=cgc", "s=20"],
    ["simulate", "scheme=frc", "n=7", "s=1"],
    ["run", "scheme=cgc", "task=nobody"],
    ["run", "-m", "scheme=cgc,nobody"],
    ["benchmark", "nobody.csv"],
    ["advise", "nobody.csv"],
    ["fit", "nobody.csv"],
    ["error", "code=nobody"],
    ["theory", "nobody"],
    ["plan", "nobody"],
    ["compare", "nobody"],
    ["data", "fetch", "nobody"],
    ["data", "fetch", "mnist", "--data-dir", "nowhere"],
]
HEAVY = ("pandas", "hydra", "matplotlib", "torch", "sklearn", "numpy.f2py.f2py2e", "numpy.testing._private")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a command as an installed one: its bytecode is kept, and its folder holds nothing."""
    folder = tmp_path_factory.mktemp("startup")
    kept = {
        key: text for key, text in os.environ.items() if not key.startswith(("GCEXP_", "PYTHONDONTWRITE"))
    }

    def called(arguments, *python, code=0):
        command = [sys.executable, *python, "-m", "gcexp.command.entry", *arguments]
        done = subprocess.run(
            command,
            cwd=folder,
            env=kept | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stderr

    return called


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [LIST, SHOW, *MISTAKES], ids=" ".join)
def test_short_commands_load_little(run, arguments):
    told = run(arguments, "-X", "importtime", code=2 if arguments in MISTAKES else 0)
    loaded = {
        line.rpartition("|")[2].strip() for line in told.splitlines() if line.startswith("import time:")
    }
    assert "gcexp.command.main" in loaded
    allowed = {"hydra"} if "-m" in arguments else set()  # its grammar reads what is swept
    assert not {name for name in loaded - allowed if name in HEAVY}


def cpu_s(run, arguments, code):
    """The least of five."""
    found = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(arguments, code=code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "limit"),
    [(LIST, 0.5), (SHOW, 0.5), (SIMULATE, 1.0), (["show", "scheme=cgcc"], 0.5), (["plan", "nobody"], 0.5)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_they_cost(run, arguments, limit):
    assert (
        cpu_s(run, arguments, 2 if arguments in (["show", "scheme=cgcc"], ["plan", "nobody"]) else 0) <= limit
    )


def test_what_is_loaded_later_is_there_when_used():
    program = """
        from gcexp.command import lazy
        lazy.install()
        import numpy, scipy.sparse, sys
        assert "numpy.ma.core" not in sys.modules
        assert int(numpy.ma.masked_equal([1, 2], 2).sum()) == 1
        assert numpy.polynomial.Polynomial([1, 2])(3) == 7
        numpy.testing.assert_array_equal([1], [1])
    """
    lines = "\n".join(line.strip() for line in program.splitlines())
    subprocess.run([sys.executable, "-c", lines], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
