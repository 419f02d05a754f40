"""What Slurm says of partitions and jobs, where it is there: with its own commands, and without its accounting too."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence

from gcexp.errors import UserError

_ANSWERS = 20  # seconds in which a controller answers
_MOST_AWAY = 600  # seconds that a controller may be away
_PAUSE = 3  # seconds between two looks at the queue
#: States in which a job has ended and its submitter has not made an end of it.
_ENDED_BADLY = (
    *("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
)


def longest_minutes(partition: str | None = None) -> int | None:
    """Longest time that a partition grants a job, by default the cluster's default partition; None without a limit."""
    asked = ["--partition", partition] if partition else []
    for line in (_told("sinfo", "--noheader", "--format=%P %l", *asked) or "").splitlines():
        name, _, limit = line.partition(" ")
        if partition or name.endswith("*"):
            return minutes_of(limit)
    return None


def minutes_of(limit: str) -> int | None:
    """A time as Slurm writes it in whole minutes, at least one; None for one that is no limit.

    >>> minutes_of("2-00:30:00"), minutes_of("90:00"), minutes_of("4:00:59"), minutes_of("infinite")
    (2910, 90, 240, None)
    """
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit.strip())
    if found is None:
        return None
    days, hours, minutes, _ = (int(part or 0) for part in found.groups())
    return max(1, (24 * days + hours) * 60 + minutes)


def end_of(job: str) -> tuple[str, str] | None:
    """What a job that failed ended with, ``TIMEOUT`` say, and its node; None where Slurm does not know."""
    said = _told("squeue", "--noheader", "--states=all", "--format=%T|%N", "--jobs", job)
    if not said:  # forgotten, some minutes after its end: the accounting knows, where there is one
        columns = "--format=State,NodeList"
        said = _told("sacct", "--noheader", "--allocations", "--parsable2", columns, "--jobs", job)
    state, _, node = (said or "").strip().partition("|")
    word = state.partition(" ")[0]  # as in CANCELLED by 1000
    return (word, node) if word in _ENDED_BADLY else None


def ran_out_of_memory(log: str) -> bool:
    """Whether Slurm wrote into the log of a job that it needed more memory than it was granted.

    The state of the job does not say so where a step of the job was ended, and the job itself failed by that.

    >>> (
    ...     ran_out_of_memory("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0."),
    ...     ran_out_of_memory("Error"),
    ... )
    (True, False)
    """
    return re.search(r"oom[-_]kill event|exceeded (job|step)? ?memory limit", log, re.IGNORECASE) is not None


def queued(name: str) -> list[str]:
    """Numbers of the jobs of a name that wait or run.

    Raises
    ------
    UserError
        Where Slurm does not answer.
    """
    said = _told("squeue", "--noheader", "--format=%i", "--name", name)
    if said is None:
        raise UserError(
            f"Slurm does not say whether jobs named {name} are still in the queue; ask again when it answers"
        )
    return said.split()


def wait_until_it_answers() -> None:
    """Return when Slurm's controller answers, or after some minutes, when what is asked of it next fails."""
    end = time.monotonic() + _MOST_AWAY
    while _told("sinfo", "--noheader") is None and time.monotonic() < end:
        time.sleep(_PAUSE)


def wait_for(name: str) -> None:
    """Return when no job of a name waits or runs."""
    while queued(name):
        time.sleep(_PAUSE)


def cancel(jobs: Sequence[str]) -> None:
    """Take jobs out of the queue, running ones too."""
    if _told("scancel", *jobs) is None:
        raise UserError(f"Slurm does not cancel the jobs {', '.join(jobs)}; scancel says why")


def _told(*command: str) -> str | None:
    """What a command of Slurm prints; None where there is none, or where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWERS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
