"""The wheel holds all that the commands read, runs without the extras, and the lock pins what the extras ask for."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gcexp.errors import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GIVEN = {"base": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
DISTRIBUTION = {
    "sklearn": "scikit-learn",
}  # imported under another name than installed


def names(requirements) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Folder with the unpacked wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.usefixtures("clone")
def test_it_holds_what_lies_beside_the_package(wheel):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]
    beside = [path for path in tracked if path.parts[0] in ("conf", "workflow", "profiles")]
    traces = [path for path in tracked if path.match("data/traces/*.csv") or path.match("licenses/*.txt")]
    published = [path for path in tracked if path.match("reports/published/data/*.csv")]
    assert len(beside) > 140 and len(traces) > 20 and published
    lacking = [path for path in [*beside, *traces, *published] if not (wheel / "gcexp" / path).is_file()]
    assert not lacking
    for path in (path for path in tracked if path.parts[0] in ("gcexp", "gcexp_papers")):
        assert (wheel / path).is_file() != ("gcexp_papers" in path.parts and "tests" in path.parts), path
    found = [path.relative_to(wheel) for path in wheel.rglob("*") if path.is_file()]
    assert {path.parts[0].partition("-")[0] for path in found} == {"gcexp", "gcexp_papers"}
    assert not [path for path in found if path.suffix == ".pyc" or "raw" in path.parts]


def test_its_extras_are_those_of_which_the_commands_speak(wheel):
    (file,) = wheel.glob("*.dist-info/METADATA")
    asked = [Requirement(text) for text in message_from_string(file.read_text()).get_all("Requires-Dist")]
    for extra, packages in EXTRAS.items():
        brought = {
            canonicalize_name(r.name) for r in asked if r.marker and r.marker.evaluate({"extra": extra})
        }
        assert {DISTRIBUTION.get(name, name) for name in packages} <= brought
    base = {canonicalize_name(r.name) for r in asked if not r.marker}
    assert base == names(GIVEN["base"]) and "torch" not in base


# As in an environment without the extras: what they bring cannot be imported.
ALONE = f"""
import sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {sorted(name for packages in EXTRAS.values() for name in packages)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import gcexp
from gcexp.command.main import main
assert gcexp.__file__.startswith(sys.argv[1]), gcexp.__file__
for line in sys.argv[2:]:
    print(">", line, flush=True)
    print("<", main(line.split()), flush=True)
"""


@pytest.mark.paper("partial_recovery")
@pytest.mark.slow
def test_it_runs_without_the_extras(wheel, tmp_path):
    lines = [
        "simulate scheme=cgc n=6 s=1 delay=pareto iterations=20 seeds=1",
        "simulate scheme=cgc n=10 s=1 delay=pai_job1 iterations=20 seeds=1",
        "list",
        "theory partial_recovery.lower_bound n=15 s=9 alpha=2/3",
        "error code=cyclic_repetition n=6 s=0..2 kind=worst",
        "show scheme=frc n=6 s=1",
        "init mine",
        "compare partial_recovery_fig4_fixed_s_timing --preset paper",
        "run scheme=cgc n=4 s=1",
        "schema figure",
    ]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(wheel), *lines],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        check=False,
    )
    codes = [int(code) for code in re.findall(r"^< (\d+)$", done.stdout, re.MULTILINE)]
    assert codes == [0] * 8 + [2] * 2, done.stdout[-2000:] + done.stderr
    learn, workflow = done.stderr.strip().splitlines()
    assert "torch is not installed" in learn and "pip install 'gcexp[learn]'" in learn
    assert workflow == (
        "gcexp: pydantic is not installed; it comes with the extra workflow: pip install 'gcexp[workflow]'"
    )
    schema = (ROOT / "docs/figure.schema.json").read_bytes()
    assert (tmp_path / "mine" / "figure.schema.json").read_bytes() == schema
    assert (tmp_path / "mine" / "Snakefile").is_file() and not (tmp_path / "logs").exists()


def test_the_lock_pins_all_that_is_asked_for():
    locks = ("requirements.lock", "requirements-docs.lock")
    lines = [line for name in locks for line in (ROOT / name).read_text().splitlines()]
    pins = dict(line.split()[0].split("==") for line in lines if not line.startswith("#"))
    asked = [Requirement(text) for extra in GIVEN.values() for text in extra]
    for requirement in asked:
        if requirement.name != PROJECT["name"]:
            assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement
