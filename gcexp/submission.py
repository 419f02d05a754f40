"""A sweep as jobs of Snakemake's, on a cluster or wherever a profile says: a plan of the jobs, and their start.

A job for each run, and one for each training that runs share. The rules are in ``workflow/sweep.smk``, which reads
the plan; what a job does is ``gcexp job point`` or ``gcexp job train``. Files are named by what decides them, so that a
sweep that was interrupted, or is repeated with more points, makes what is missing.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError, require_known, unknown
from gcexp.files import bundled, read_json, writable, written
from gcexp.run import paths
from gcexp.run.compose import compose
from gcexp.run.datasets import prepared
from gcexp.run.dependencies import digest_of, tracked
from gcexp.run.measured import TIMED
from gcexp.run.measurement import HomeTrainings, Measurement
from gcexp.run.run import Run
from gcexp.run.sweep import Sweep, SweptCheckpoint, clock_of, forget, scores_of

if TYPE_CHECKING:  # pandas takes a second to import
    from gcexp.run.result import Result

_REPORT = "report.json"  # beside the columns: what is known of the point besides


@dataclass(frozen=True)
class Job:
    """A point of a sweep, or a training that several points share."""

    run: list[str]  #: Hydra overrides
    fingerprint: list[str]  #: all else that decides what it makes (`gcexp.run.dependencies`)
    options: list[str]  #: further words of the command
    needs: list[str]  #: files that other jobs of the sweep make

    def named(self, pattern: str, **parts: str) -> str:
        """Its file: `pattern` with a name that stands for the overrides and options."""
        return pattern.format(name=digest_of([self.run, self.options]), **parts)


def profile_folder(given: str) -> Path:
    """Folder of a profile by its path, or by its name where it lies in ``profiles/`` here or comes with gcexp.

    >>> profile_folder("slurm") == profile_folder("profiles/slurm")
    True
    """
    ours = bundled("profiles")
    for folder in (Path(given), "profiles" / Path(given), bundled(given), ours / given):
        if given and (folder / "config.yaml").is_file():
            return folder
    names = [file.parent.name for place in (Path("profiles"), ours) for file in place.glob("*/config.yaml")]
    raise UserError(unknown("profile", given, sorted({*names})))


def submit(jobs: Mapping[str, Job], profile: str) -> None:
    """Make the files of a sweep by Snakemake, which starts its jobs as a profile says and shows how far they are.

    `jobs` names each job by the file that it makes. The same sweep is made by one process at a time.
    """
    folder = profile_folder(profile)
    plan = Path(paths.SWEEP_PLAN.format(name=digest_of(sorted(jobs))))
    with written(plan) as temporary:
        temporary.write_text(json.dumps({file: asdict(job) for file, job in jobs.items()}, indent=0) + "\n")
    lock = plan.with_suffix(".lock")
    with writable(lock), open(lock, "w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until this process and Snakemake have ended
        except BlockingIOError:
            raise UserError("this sweep is being made by another process; wait for it, or end it") from None
        words = ["--snakefile", str(bundled("workflow/sweep.smk")), "--workflow-profile", str(folder)]
        words += ["--nolock", "--keep-going", "--config", f"sweep={plan}"]
        command = [sys.executable, "-m", "snakemake", *words]
        process = subprocess.Popen(command, stdout=sys.stderr, pass_fds=[held.fileno()])
        try:
            code = process.wait()
        except KeyboardInterrupt:  # it got the same signal, and cancels its jobs
            process.wait()
            raise
    if code:
        raise UserError(
            f"the sweep is not whole (Snakemake ended with exit code {code}, see above); the same command goes on with"
            " what is missing"
        )


# --- What the jobs of a sweep are


def submitted(sweep: Sweep, profile: str, rows: str, verify: bool, trains: bool) -> tuple[Result, list[dict]]:
    """The table of a sweep whose runs are jobs of Snakemake's, and the reports of their replays.

    Raises
    ------
    UserError
        For an unknown profile, runs with objects from Python, and where jobs have failed.
    """
    profile_folder(profile)  # complain before any work
    jobs: dict[str, Job] = {}
    files = []
    for run in sweep.runs:
        files.append(_add_training(jobs, run, verify) if trains else _add_clock(jobs, run, rows))
    submit(jobs, profile)
    columns, reports = [], []
    for file in files:
        measured, report = read_point(file)
        columns.append(measured)
        reports.append(report)
    return sweep.table(columns), reports


def _add_clock(jobs: dict[str, Job], run: Run, rows: str) -> str:
    """Add the job of a clock, and say which file will hold what it measures."""
    fingerprint = [*run.fingerprint("timeline"), *tracked("timings")]
    job = Job(_overrides(run), fingerprint, ["--rows", rows], [])
    file = job.named(paths.SWEEP_POINT)
    jobs[file] = job
    return file


def _add_training(jobs: dict[str, Job], run: Run, verify: bool) -> str:
    """Add the jobs of a run that learns, and say which file will hold what it measures.

    Exact runs share a job that trains; each of them reads its trajectory.
    """
    overrides, task = _overrides(run), run.option("task") or "default"
    # Data are prepared here, where there is a network.
    record = prepared(run.dataset, run.config["data_dir"]).with_suffix(".json")
    learned = run.training_fingerprint(read_json(record))
    fingerprint = [*run.fingerprint("timeline"), *learned, *tracked("curves"), *run.fingerprint("replay")]
    checking = ["--verify"] if verify else []
    if not run.exact:
        job = Job(overrides, fingerprint, ["--train", *checking], [])
        file = job.named(paths.SWEEP_TRAINED_POINT, task=task)
    else:
        shared = paths.SWEEP_TRAINING.format(name=digest_of(run.training_key), task=task)
        jobs.setdefault(shared, Job(_overrides_of_training(run), learned, [], []))
        job = Job(overrides, fingerprint, ["--trained", shared, *checking], [shared])
        file = job.named(paths.SWEEP_POINT)
    jobs[file] = job
    return file


def _overrides(run: Run) -> list[str]:
    """Overrides of a job: in the order of their keys, unless the order in which they were given matters."""
    if not run.is_named:
        built = ", ".join(run.built_in_python)
        raise UserError(f"jobs take names and numbers, got an object for {built}; leave submit out")
    ordered = sorted(run.overrides)
    return ordered if compose(ordered) == run.config else list(run.overrides)


def _overrides_of_training(run: Run) -> list[str]:
    """Overrides of a training that exact runs share: without the scheme's, unless the task depends on them."""
    keys = ("task", "optimizer", "iterations", "seeds", "data_dir")
    own = sorted(text for text in run.overrides if re.split("[.=]", text.lstrip("+~"))[0] in keys)
    alone = compose(own)
    same = all(alone[key] == run.config[key] for key in ("task", "optimizer"))
    return [*own, "exact=true"] if same else _overrides(run)


# --- What a job does


def measure_point(
    overrides: Sequence[str],
    output: Path,
    *,
    rows: str = "seeds",
    train: bool = False,
    trained: Path | None = None,
    verify: bool = False,
) -> None:
    """Write what a run of a submitted sweep measures, as `gcexp.sweep` would have it: its clock, or scores on it.

    The scores are those of a training of its own (`train`), or of the trajectory `trained`, which exact runs share.
    """
    require_known("rows", rows, TIMED)
    run = Run.of(overrides, trains=train or trained is not None)
    if not run.trains:
        write_point(output, clock_of(run, rows))
        return
    checkpoint = SweptCheckpoint()
    trainings = HomeTrainings(checkpoint, progress=False)
    if trained is not None:
        from gcexp.tasks.training import Trajectory

        trainings.known[run.training_key] = Trajectory.load(trained)
    measurement = Measurement(run, trainings)
    columns = scores_of(measurement)
    write_point(output, columns, measurement.report if verify else None)
    forget(checkpoint.path)


def write_point(path: Path | str, columns: Mapping[str, np.ndarray], report: Any = None) -> None:
    """Write what a point measured, columns of a table, and the report of its verification where it was trained."""
    with written(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **columns, **{_REPORT: np.array(json.dumps(report))})  # type: ignore[arg-type]


def read_point(path: Path | str) -> tuple[dict[str, np.ndarray], Any]:
    """What `write_point` wrote."""
    with np.load(path) as stored:
        columns = {name: stored[name] for name in stored.files}
    return columns, json.loads(str(columns.pop(_REPORT)))
