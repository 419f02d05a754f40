"""What is published: equal bytes, a wheel that works alone, containers and environments that hold what they need."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.M))
HYDRA = """
from hydra import compose, initialize_config_dir
from sys import argv
with initialize_config_dir(argv[1], version_base="1.3"):
    print(compose("config", ["delay.shape=3"])["delay"]["shape"])
"""
OTHER_PROGRAM = "defaults: [delay: pareto, _self_]\nhydra: {searchpath: ['pkg://gcexp.conf']}\n"
# The first modules that read the clone's own files: git's list of files, workflows of a host, raw traces.
OF_THE_CLONE = ("tests/unit/test_wheel.py", "tests/unit/test_stability.py", "tests/golden/test_versions.py")


def called(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def build(source, folder, *more):
    called([sys.executable, "-m", "hatchling", "build", "-d", str(folder), *more], cwd=source)
    return {path.suffix: path for path in folder.iterdir()}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist, by suffix."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def sdist(built, tmp_path_factory):
    """Folder of the unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built[".gz"]) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"gcexp-{PROJECT['version']}"


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(built, sdist, tmp_path):
    again = build(ROOT, tmp_path / "again")
    assert {kind: digest(path) for kind, path in again.items()} == {k: digest(p) for k, p in built.items()}
    (from_sdist,) = build(sdist, tmp_path / "of_sdist", "-t", "wheel").values()
    assert digest(from_sdist) == digest(built[".whl"])


@pytest.mark.slow
def test_the_wheel_works_without_the_clone(built, tmp_path):
    """In a fresh environment that borrows only the dependencies of this one."""
    called([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "fresh")])
    python = tmp_path / "fresh/bin/python"
    install = ["install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    called([sys.executable, "-m", "pip", "--python", str(python), *install, str(built[".whl"])])
    (packages,) = (tmp_path / "fresh/lib").glob("python*/site-packages")
    borrowed = [place for place in sys.path if place.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    (tmp_path / "empty").mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GCEXP_", "PYTHON"))}
    where = {"cwd": tmp_path / "empty", "env": kept}

    place = called([python, "-c", "import gcexp; print(gcexp.__file__)"], **where)
    assert Path(place.strip()).is_relative_to(packages)
    gcexp = tmp_path / "fresh/bin/gcexp"
    assert "  cgc " in called([gcexp, "list"], **where)
    command = re.search(r"^gcexp (simulate .*)$", (ROOT / "docs/package.md").read_text(), re.M)[1]
    assert called([gcexp, *command.split()], **where).count("cgc") == 5
    assert called([gcexp, "--version"], **where).split()[-1] == PROJECT["version"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/config.yaml").write_text(OTHER_PROGRAM)
    assert called([python, "-c", HYDRA, str(tmp_path / "other")], **where).strip() == "3"


@pytest.mark.slow
def test_tests_of_the_sdist_pass_or_say_why_not(sdist):
    for name in OF_THE_CLONE:
        assert (sdist / name).is_file(), name
    outside = os.environ | {"PYTHONPATH": str(sdist), "GIT_CEILING_DIRECTORIES": str(sdist.parent)}
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-rs", "-p", "no:cacheprovider", "-m", "not slow"]
    said = called([*command, *OF_THE_CLONE], cwd=sdist, env=outside)
    assert all(
        re.search(r"\]? \S+:\d+: \S+", line) for line in said.splitlines() if line.startswith("SKIPPED")
    )


@pytest.mark.slow
def test_containers_are_built_from_what_a_wheel_needs(built, tmp_path):
    """No container runtime is asked for: a wheel of the files that a recipe copies has the bytes of ours."""
    docker = re.findall(r"^COPY (\S+) (\S+)$", (ROOT / "containers/Dockerfile").read_text(), re.M)
    files = re.search(r"%files\n(.*?)\n\n", (ROOT / "containers/gcexp.def").read_text(), re.S)[1]
    apptainer = [tuple(line.split()) for line in files.splitlines()]
    assert docker and all(source == target for source, target in docker)
    assert apptainer == [(source, f"/srv/gcexp/{target}") for source, target in docker]
    for source, target in docker:
        (tmp_path / "image" / target).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, tmp_path / "image" / target)
        else:
            shutil.copy(ROOT / source, tmp_path / "image" / target)
    (wheel,) = build(tmp_path / "image", tmp_path / "dist", "-t", "wheel").values()
    assert digest(wheel) == digest(built[".whl"])


@pytest.mark.parametrize("file", sorted((ROOT / "workflow/envs").glob("*.yaml")), ids=lambda file: file.stem)
def test_environments_have_the_versions_of_the_lock(file):
    python, _, packages = yaml.safe_load(file.read_text())["dependencies"]
    ours, *others = map(Requirement, packages["pip"])
    assert python.startswith("python=3.") and ours.name == "gcexp"
    assert str(ours.specifier) == f"=={PROJECT['version']}"
    for requirement in others:
        assert str(requirement.specifier) == f"=={PINS[requirement.name]}", requirement
    asked = PROJECT["dependencies"] + [
        text for extra in ours.extras for text in PROJECT["optional-dependencies"][extra]
    ]
    assert {Requirement(text).name for text in asked} <= {requirement.name for requirement in others}
