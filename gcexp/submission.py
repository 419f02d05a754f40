"""A sweep as jobs of Snakemake's, on a cluster or wherever a profile says: a plan of the jobs, and their start.

A job for each point, and one for each training that points share. The rules are in ``workflow/sweep.smk``, which reads
the plan; what a job does is ``gcexp job point`` or ``gcexp job train``. Files are named by what decides them, so that a
sweep that was interrupted, or is repeated with more points, makes what is missing.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gcexp.errors import UserError, unknown
from gcexp.files import bundled, writable, written
from gcexp.run import paths
from gcexp.run.dependencies import digest_of

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


def write_point(path: Path | str, columns: Mapping[str, np.ndarray], report: Any = None) -> None:
    """Write what a point measured, columns of a table, and the report of its verification where it was trained."""
    with written(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **columns, **{_REPORT: np.array(json.dumps(report))})  # type: ignore[arg-type]


def read_point(path: Path | str) -> tuple[dict[str, np.ndarray], Any]:
    """What `write_point` wrote."""
    with np.load(path) as stored:
        columns = {name: stored[name] for name in stored.files}
    return columns, json.loads(str(columns.pop(_REPORT)))
