"""What Slurm says of partitions and jobs, where it is there: with its own commands, and without its accounting too."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence

from gcexp.errors import UserError

_ANSWERS = 20  # seconds in which a controller answers
_MOST_AWAY = 600  # seconds that a controller may be away
#: What Slurm's programs say where no file and no server names a controller.
_NO_CLUSTER = "DNS SRV lookup failed"
_PAUSE = 3  # seconds between two looks at the queue
_MOST_UNKNOWN = 180  # seconds after which a job that Slurm answers about, and does not know, is lost
#: The state of a lost job: Slurm itself has no word for what it does not know.
LOST = "LOST"
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
    days, hours, minutes = found.group(1, 2, 3)
    whole_hours = 24 * int(days or 0) + int(hours or 0)
    return max(1, 60 * whole_hours + int(minutes))


def end_of(job: str) -> tuple[str, str] | None:
    """What a job that failed ended with, ``TIMEOUT`` say, and its node; None where Slurm does not know."""
    said = _told("squeue", "--noheader", "--states=all", "--format=%T|%N", "--jobs", job)
    if not said:  # forgotten, some minutes after its end: the accounting knows, where there is one
        columns = "--format=State,NodeList"
        said = _told("sacct", "--noheader", "--allocations", "--parsable2", columns, "--jobs", job)
    state, _, node = (said or "").strip().partition("|")
    word = state.partition(" ")[0]  # as in CANCELLED by 1000
    return (word, node) if word in _ENDED_BADLY else None


def usable_nodes(partition: str | None = None) -> set[str]:
    """Names of the nodes that run jobs or could, in a partition, by default the cluster's default one.

    None where Slurm does not answer.
    """
    asked = ["--partition", partition] if partition else []
    said = _told("sinfo", "--noheader", "--Node", "--states=idle,mixed,allocated", "--format=%N %P", *asked)
    found = set()
    for line in (said or "").splitlines():
        node, _, name = line.partition(" ")
        if partition or name.strip().endswith("*"):
            found.add(node)
    return found


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


class UnknownJobs:
    """The submitted jobs of a name that Slurm does not know, and since when it has not known them.

    A controller that dies within seconds of a submission may have written nothing of it, and never knows the job again.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._since: dict[str, float] = {}

    def lost(self, jobs: Sequence[str]) -> list[str]:
        """Those of some submitted jobs that Slurm has not known for some minutes, in which it answered every question.

        A task of an array, ``12_3``, is known where its array is.
        """
        if not jobs:
            return []
        known = _jobs_in_queue(self.name)
        if known is None:  # the controller is away, and the minutes begin anew when it answers
            self._since.clear()
            return []
        now = time.monotonic()
        unknown = [job for job in jobs if _array_of(job) not in known]
        self._since = {job: self._since.get(job, now) for job in unknown}
        overdue = [job for job in unknown if now - self._since[job] >= _MOST_UNKNOWN]
        if not overdue:
            return []
        recorded = _jobs_in_accounting(self.name, overdue)
        if recorded is None:
            return []
        return [job for job in overdue if _array_of(job) not in recorded]


def _array_of(job: str) -> str:
    """The number of the array that a job is a task of, and of any other job its own."""
    return job.partition("_")[0]


def _jobs_in_queue(name: str) -> set[str] | None:
    """Jobs of a name that the controller knows, also those that have ended; None where it does not answer."""
    said = _told("squeue", "--noheader", "--all", "--states=all", "--format=%F", "--name", name)
    if said is None:
        return None
    return set(said.split())


def _jobs_in_accounting(name: str, jobs: Sequence[str]) -> set[str] | None:
    """Those of some jobs of a name that the accounting knows: none without accounting, None if it does not answer.

    It also knows the jobs that were submitted to other clusters, of which the controller of this one says nothing.
    """
    if shutil.which("sacct") is None:
        return set()
    which = ("--clusters=all", "--name", name, "--jobs", ",".join(jobs))
    answer = _answer("sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID", *which)
    if answer is None:
        return None
    if answer.returncode == 0:
        return {_array_of(job) for job in answer.stdout.split()}
    if "accounting storage is disabled" in answer.stderr:
        return set()
    return None


def wait_until_it_answers() -> None:
    """Return when Slurm's controller answers, or after some minutes, when what is asked of it next fails.

    Where this machine belongs to no cluster there is nobody to wait for.
    """
    end = time.monotonic() + _MOST_AWAY
    while time.monotonic() < end and shutil.which("sinfo") is not None:
        answer = _answer("sinfo", "--noheader")
        if answer is not None and (answer.returncode == 0 or _NO_CLUSTER in answer.stderr):
            return
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
    answer = _answer(*command)
    if answer is None or answer.returncode != 0:
        return None
    return answer.stdout


def _answer(*command: str) -> subprocess.CompletedProcess[str] | None:
    """What a command of Slurm ends with; None where there is none, or where it does not end."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_ANSWERS)
    except (OSError, subprocess.TimeoutExpired):
        return None
