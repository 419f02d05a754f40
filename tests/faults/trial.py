"""One small project that is built, harmed and built again, and what counts as right afterwards."""

import hashlib
import random
import re
import shutil
import sqlite3
import subprocess
import time
from contextlib import suppress

import psutil

from tests.conftest import BIN, at_work, jobs_of, small_project, wait

PRODUCTS = ("data/prepared", "results/trajectory", "reports")
LONG = 480.0  # seconds, after which something hangs
RUNS = """common: {task: digits_mlp, delay: pareto, n: 6, s: 2, iterations: 200, seeds: 2}"""
TABLE = """\
title: Clocks
source: Table I
kind: timings
common: {delay: pareto, n: 6, s: 2, iterations: 2000, seeds: 3}
runs: [{label: CGC, scheme: cgc}, {label: FRC, scheme: frc}]
plot: {kind: table, columns: [label, mean_iteration_time_s], mean_by: label}
"""
STATEMENTS = """\
id,where,kind,statement,conditions,target,checkable,main
known,Sec. I,definition,A code is a matrix,,,no: a definition,
"""
#: Gradients that replays share are kept in files, however small they are.
KEPT = """
import sys
if {"table", "train"} & {*sys.orig_argv}:
    from gcexp.run import verification
    verification.LARGE = 0
"""
#: Of each kind of job its verb, what is deleted so that there is work for it, and what a person types.
_FIGURE = "reports/quick/data/small_three.csv reports/quick/figures/small_three.p*"
KINDS = {
    "data": ("data", f"data/prepared results/trajectory/*/*/exact {_FIGURE}", "small_three"),
    "train_exact": ("train", f"results/trajectory/*/*/exact results/checkpoints {_FIGURE}", "small_three"),
    "train": ("train", f"results/trajectory/*/*/cyclic* results/checkpoints {_FIGURE}", "small_three"),
    "table": ("table", _FIGURE, "small_three"),
    "draw": ("plot", "reports/quick/figures", "small_three"),
    "typeset": ("plot", "reports/quick/tables", "small_clocks"),
    "page": ("page", "reports/quick/index.html", "all"),
    "tracking": ("track", "results/mlflow", "mlflow"),
    "everything": ("train", "results reports data/prepared", "all"),
}


class Skipped(Exception):
    """A fault that cannot be made on this machine."""


class Wrong(Exception):
    """A build that is not as it must be after a fault."""


def built(folder):
    """The project with everything made: exact and approximate trainings, a drawing, a table, a statement."""
    project = small_project(folder)
    figure = project / project.figure
    figure.write_text(re.sub("^common:.*$", RUNS, figure.read_text(), flags=re.M))
    (project / "small/figures/clocks.yaml").write_text(TABLE)
    (project / "small/statements.csv").write_text(STATEMENTS)
    with open(project / ".guard/sitecustomize.py", "a") as file:
        file.write(KEPT)
    for target in ("all", "mlflow"):
        build(project, "-j2", target)
    return project


def build(project, *arguments):
    """Jobs that a run of Snakemake made, by rule; it is started as a person starts it."""
    code, output = project.run(str(BIN / "snakemake"), *arguments)
    assert code == 0, output
    return jobs_of(output)


def digests(project):
    """Sha256 of all products by name."""
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in project.files(*PRODUCTS).items()
        if not name.endswith(".provenance.json")
    }


RUNS_SHOWN = """
select name, count(*) from runs join metrics on metrics.run_uuid = runs.run_uuid
where lifecycle_stage = 'active' group by runs.run_uuid order by 1, 2
"""


def imported(project):
    """Name and number of metrics of all runs that MLflow shows."""
    with sqlite3.connect(project / "results/mlflow/mlflow.db") as database:
        return database.execute(RUNS_SHOWN).fetchall()


def traces(said):
    """Traces that pass through our code."""
    found = [trace for text in said for trace in text.split("Traceback (most recent call last):")[1:]]
    return [trace[:2000] for trace in found if "/gcexp/" in trace or ".smk" in trace]


class Trial:
    """A copy of the built project, and the random numbers of one fault.

    The kind of job decides what a person types. `damaged`: a file's bytes are wrong until the first command has run;
    `settles`: nothing is left to do after the build that mends it.
    """

    def __init__(self, original, folder, seed):
        self.original, self.project = original, original.copy(folder)
        self.random = random.Random(seed)
        self.kind, self.damaged, self.settles = "table", False, True
        self.mounted = []

    # --- What harm is made of

    @property
    def command(self):
        """What a person types for a build with this kind of job."""
        return [str(BIN / "snakemake"), "-j2", KINDS[self.kind][2]]

    def delete(self, patterns):
        """Delete files and folders of the project."""
        for path in [path for pattern in patterns.split() for path in self.project.folder.glob(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def undo(self, kind):
        """Delete what jobs of a kind make, so that there is work for one."""
        self.kind = kind
        self.delete(KINDS[kind][1])

    def start(self, command):
        """Start a command in a process group of its own; what it says goes to a file."""
        if command[0] == "make":
            self.project.make("--version").communicate()  # links its virtual environment
        with open(self.project / f".said-{time.monotonic_ns()}", "w") as output:
            process = self.project.start(*command, output=output)
        process.said = self.project / output.name
        return process

    def job(self, word, build=None):
        """The process of a command with this word, as soon as the build has one; None if there is none."""
        while True:
            for process in at_work(self.project):
                with suppress(psutil.Error):  # it has ended meanwhile
                    line = process.cmdline()
                    if word in line and "python" in line[0]:  # a process that ends has an empty line
                        return process
            if build is None or build.poll() is not None:
                return None
            time.sleep(0.02)

    def end_of(self, process):
        """What a command said, when it and all that it started have ended."""
        ended = lambda: process.poll() is not None and not at_work(self.project)  # noqa: E731
        wait(ended, f"end of {process.args}", LONG)
        return process.said.read_text(errors="replace")

    def said(self, command):
        """What a command says."""
        return self.end_of(self.start(command))

    def mount(self, *arguments):
        """Mount something, which this machine may not allow."""
        made = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
        if made.returncode != 0:
            raise Skipped(f"mount is not allowed here: {made.stderr.strip()}")
        self.mounted += {arguments[-1]} - {*self.mounted}

    def unmount(self):
        """Unmount all."""
        while self.mounted:
            subprocess.run(["umount", "--lazy", self.mounted.pop()], check=True)

    def clear(self):
        """Leave nothing mounted, nothing at work and no file."""
        self.unmount()
        for process in at_work(self.project):
            process.kill()
        shutil.rmtree(self.project.folder, ignore_errors=True)

    # --- What must hold after it

    def mended(self, said):
        """How the same command comes to the right bytes: at once, or after what its sentence says."""
        if not self.damaged:
            self._check(partly=True)
        advice = []
        for _ in range(4):
            process = self.start(self.command)
            said.append(self.end_of(process))
            if process.returncode == 0:
                break
            advice.append(self._follow(said[-1]))
        else:
            raise Wrong("no sentence led to a build")
        self._check()
        target = KINDS[self.kind][2]
        if self.settles:
            left = build(self.project, "-n", target)
            if left:
                raise Wrong(f"still to do: {left}")
        half_written = [name for name in self.project.files("results", "reports", "data") if "/." in name]
        if half_written:
            raise Wrong(f"half written: {half_written}")
        return " and ".join(dict.fromkeys(advice)) or "same command"

    def _follow(self, text):
        """Do what the last sentence says."""
        if "--unlock" in text:
            code, output = self.project.run(*self.command, "--unlock")
            assert code == 0, output
            return "--unlock"
        if "older modification time" in text:
            for path in self.project.files(".").values():
                if path.stat().st_mtime > time.time():
                    path.touch()
            return "touch files of the future"
        for line in text.splitlines():
            if not re.search(r"\bdelete\b", line):
                continue
            for name in re.findall(r"[\w./+@-]+\.\w+", line):
                if (self.project / name).is_file():
                    (self.project / name).unlink()
                    return "delete the named file"
        raise Wrong("the command failed without a sentence that says what to do")

    def _check(self, partly=False):
        """All products have the right bytes; `partly`: those that are there, as nothing asks for data of a table."""
        found, wrong = digests(self.project), []
        for name, digest in digests(self.original).items():
            may_lack = partly or not name.startswith("reports")
            if found.get(name, digest if may_lack else "") != digest:
                wrong.append(name)
        if self.kind == "tracking" and not partly and imported(self.project) != imported(self.original):
            wrong.append("MLflow")
        if wrong:
            raise Wrong(f"wrong bytes: {', '.join(wrong)}")
