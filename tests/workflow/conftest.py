"""A small project in a temporary folder: this checkout's workflow and options, one figure of three runs."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PARTS = ("Snakefile", "workflow", "profiles", "conf", "Makefile", "requirements.lock", "pyproject.toml")

FIGURE = """\
title: Three runs
source: Fig. 1
kind: curves
common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 30, seeds: 2}
runs:
  - {label: CGC, scheme: cgc}
  - {label: "cyclic, β = {code.beta}", scheme: cyclic_partial, code.beta: 4}
  - {label: "Forget-{s}", scheme: forget}
plot: {kind: lines, x: simulated_time_s, y: test_accuracy}
claims:
  - id: forget_first
    kind: companion
    source: Sec. 1
    statement: Forget reaches 20 % before CGC
    ordering: {of: time_to, level: 0.2, first: Forget-2, then: CGC, seeds: 5}
    inputs: assumed
"""

# Loaded by every Python that a test starts: the quick preset must do without a network.
GUARD = """\
import socket

def refuse(self, address, *more):
    if self.family != socket.AF_UNIX:
        raise RuntimeError(f"a test reached for the network: {address}")
    return connect(self, address, *more)

connect, socket.socket.connect = socket.socket.connect, refuse
"""


class Project:
    """A folder to work in."""

    figure = "conf/figure/small/three.yaml"

    def __init__(self, folder: Path, code: Path = ROOT):
        self.folder, self.code = Path(folder), code

    def __truediv__(self, path):
        return self.folder / path

    @property
    def environment(self):
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("GCEXP_", "MLFLOW_", "SNAKEMAKE_", "MAKE"))
        }
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        python = os.pathsep.join([str(self / ".guard"), str(self.code)])
        wide = {"COLUMNS": "400"}  # or the logger breaks lines
        return (
            kept | threads | wide | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": python}
        )

    def start(self, *command, output=subprocess.PIPE):
        """A process in the folder, in a group of its own, with both outputs in one."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command, timeout=120):
        """Exit code and output."""
        with self.start(*command) as process:
            try:
                output, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, output

    def snakemake(self, *arguments):
        return self.run(str(BIN / "snakemake"), *arguments)

    def gcexp(self, *arguments):
        return self.run(str(BIN / "gcexp"), *arguments)

    def make(self, *arguments, output=subprocess.PIPE):
        """Start a recipe of the Makefile, with this interpreter's folder as its virtual environment."""
        (self / ".venv").mkdir(exist_ok=True)
        if not (self / ".venv" / "bin").exists():
            (self / ".venv" / "bin").symlink_to(BIN)
        (self / ".venv" / ".installed").write_text(f"{self.folder}\n")
        return self.start("make", *arguments, output=output)

    def build(self, *arguments):
        code, output = self.snakemake(*arguments)
        assert code == 0, output
        return output

    def planned(self, *targets):
        """Jobs of a dry run, by rule."""
        output = self.build("-n", *targets)
        if "Nothing to be done" in output:
            return {}
        table = re.split(r"^ *total +\d+ *$", output.split("Job stats")[1], flags=re.M)[0]
        counts = re.findall(r"^ *(\w[\w ]*?) +(\d+) *$", table, re.M)
        return {rule.replace(" ", "_"): int(count) for rule, count in counts}

    def edit(self, path, old, new):
        text = (self / path).read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        (self / path).write_text(text.replace(old, new))

    def copy(self, folder):
        """The same folder elsewhere, times and Snakemake's records included."""
        subprocess.run(["cp", "-a", self.folder, folder], check=True)
        return Project(folder, self.code)

    def files(self, *folders):
        """Every file under the folders, by path."""
        return {
            path.relative_to(self.folder).as_posix(): path
            for folder in folders
            for path in sorted((self / folder).rglob("*"))
            if path.is_file()
        }


def real_project(folder):
    """Workflow and options as they are."""
    folder.mkdir(parents=True)
    for name in PARTS:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, folder / name)
    (folder / ".guard").mkdir()
    (folder / ".guard" / "sitecustomize.py").write_text(GUARD)
    return Project(folder)


def small_project(folder):
    """Workflow and options, with one small figure."""
    project = real_project(folder)
    shutil.rmtree(project / "conf" / "figure")
    (project / project.figure).parent.mkdir(parents=True)
    (project / project.figure).write_text(FIGURE)
    return project


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Folder that all workers of one test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def built(shared):
    """The small project, built once with two jobs at a time; only to be copied and looked at.

    What the build said stands in ``done``.
    """
    with open(shared / "built.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = shared / "built"
        if (folder / "done").exists():
            return Project(folder)
        assert not folder.exists(), "building failed in another worker"
        project = small_project(folder)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
        ignored = (ROOT / ".gitignore").read_text() + "/.guard/\n/done\n/.venv\n"
        (folder / ".gitignore").write_text(ignored)
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
            subprocess.run([*git, *arguments], cwd=folder, check=True)
        (folder / "done").write_text(project.build("-j2"))
        return project


@pytest.fixture
def project(built, tmp_path):
    """A copy of the built project, to be edited."""
    return built.copy(tmp_path / "project")


@pytest.fixture
def fresh(tmp_path):
    """The small project, nothing built."""
    return small_project(tmp_path / "project")


@pytest.fixture
def real(tmp_path):
    """The real figure files, nothing built."""
    return real_project(tmp_path / "project")
