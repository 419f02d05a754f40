"""What a build says where there is no terminal: a line per finished job, and at its end what failed.

On a terminal the bars of Snakemake's logger are there instead. Slurm is asked what its jobs ended with.
"""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gcexp import slurm

_LAST_LINES = 15  # of the log of a failed job
#: Why a job ended that did nothing wrong, by the state that Slurm reports.
_CAUSES = {
    "TIMEOUT": "Its time limit ended it",
    "OUT_OF_MEMORY": "It needed more memory than it asked for, and asks for more in each attempt",
    "NODE_FAIL": "Its node failed",
    slurm.LOST: "Slurm has lost the job: its controller answers, and does not know it",
}
#: States for which the node may be to blame: others name a limit, a person or the controller.
_OF_THE_NODE = ("FAILED", "NODE_FAIL", "BOOT_FAIL")
#: So many submissions that failed on a node make a retry leave it out.
_FAILURES_OF_A_NODE = 2
#: What stays of such a job, by its rule.
_KEPT = {
    "train": "goes on from its checkpoint",
    "train_exact": "goes on from its checkpoint",
    "sweep_training": "goes on from its checkpoint",
    "sweep_trained_point": "goes on from its checkpoint",
    "sweep_point": "goes on with the points that are not measured",
}


@dataclass(frozen=True)
class _Submission:
    """What is known of a failed submission to a cluster."""

    number: str
    logs: tuple[str, ...]  #: what the cluster wrote
    state: str  #: what Slurm says that it ended with; empty where it is not known
    node: str

    @classmethod
    def of(cls, number: str, logs: list[str], lost: bool) -> _Submission:
        """Ask Slurm now what a job that is not lost ended with: it forgets jobs soon."""
        if lost:
            return cls(number, tuple(logs), slurm.LOST, node="")
        state, node = slurm.end_of(number) or ("", "")
        if state in ("", "FAILED") and any(slurm.ran_out_of_memory(_content(log)) for log in logs):
            state = "OUT_OF_MEMORY"
        return cls(number, tuple(logs), state, node)

    def __str__(self) -> str:
        words = f"job {self.number}"
        if self.state:
            words += f": {self.state}"
        if self.node:
            words += f" on {self.node}"
        return words


class _Watch(logging.Handler):
    """Follows the jobs of this build: what they are, how many are done, which failed."""

    total = done = 0
    again = ""

    def __init__(self) -> None:
        super().__init__()
        self.submissions: dict[int, _Submission] = {}
        self.failed_on: dict[str, set[str]] = defaultdict(set)  # node to numbers of submissions
        self.began = time.monotonic()
        self.jobs: dict[int, Any] = {}
        self.failed: dict[int, None] = {}

    def emit(self, record: Any) -> None:  # Snakemake's records say more than logging's
        event = str(getattr(record, "event", ""))
        if event.endswith("job_info"):
            self.jobs[record.jobid] = record
        elif event.endswith("group_error"):
            for about in record.job_error_info:
                self._submission(about["jobid"], about["aux"], record.aux_logs)
        elif event.endswith("job_error"):
            self.failed[record.jobid] = None
            own = _logs(self.jobs.get(record.jobid))
            self._submission(record.jobid, record.aux, [log for log in record.log if log not in own])
        elif event.endswith("job_finished"):
            self.failed.pop(record.job_id, None)  # where it was tried again
            self.done += 1
            if not sys.stderr.isatty():
                print(self.line_of_finished(record.job_id), file=sys.stderr, flush=True)

    def _submission(self, job: int, facts: dict[str, Any] | None, logs: list[str]) -> None:
        """Keep what is known of the submission of a failed job; nothing where it failed here."""
        facts = facts or {}
        number = facts.get("external_jobid")
        if number is None:
            return
        lost = facts.get("state") == slurm.LOST
        for known in self.submissions.values():
            # After a job was lost the controller may give its number to the next one.
            if known.number == number and (known.state == slurm.LOST) == lost:
                self.submissions[job] = known
                return
        found = _Submission.of(str(number), logs, lost)
        self.submissions[job] = found
        if found.node and found.state in _OF_THE_NODE:
            self.failed_on[found.node].add(found.number)

    def suspected(self) -> dict[str, int]:
        """Nodes on which several submissions failed, and how many."""
        counted = {node: len(numbers) for node, numbers in sorted(self.failed_on.items())}
        return {node: count for node, count in counted.items() if count >= _FAILURES_OF_A_NODE}

    def line_of_finished(self, job: int) -> str:
        """Line of a finished job: how many are done, the time left if the others take as long, what it was."""
        seconds_for_each = (time.monotonic() - self.began) / self.done
        left = int(seconds_for_each * max(self.total - self.done, 0))
        minutes, seconds = divmod(left, 60)
        width = len(str(self.total))
        name = ""
        if job in self.jobs:
            name = _name(self.jobs[job])
        return f"[{self.done:{width}}/{self.total}] {minutes}:{seconds:02} left  {name}"


_WATCH = _Watch()


def watch(logger: logging.Logger, total: int, again: str = "") -> None:
    """Follow the jobs of a build that is about to start; `again` is the command that goes on with it."""
    _WATCH.total = total
    _WATCH.again = again or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    logger.addHandler(_WATCH)


def suspected_nodes() -> set[str]:
    """Nodes of Slurm on which several submissions of this build failed."""
    return set(_WATCH.suspected())


def failures() -> str:
    """Every failed job with the last lines of its log, and the command that repeats it, or goes on on the cluster."""
    lines = []
    submitted = defaultdict(list)
    for job in _WATCH.failed:
        if job not in _WATCH.jobs:
            continue
        submission = _WATCH.submissions.get(job)
        if submission is None:
            lines += _lines_about_failed(_WATCH.jobs[job])
        else:
            submitted[submission].append(_WATCH.jobs[job])
    for submission, members in submitted.items():
        # Where one of several jobs failed, Snakemake reports all of them, those too that never began.
        began = [about for about in members if _last_lines(_logs(about))]
        for about in began or members[:1]:
            lines += _lines_about_submitted(about, submission)
    lines += lines_about_nodes()
    if submitted:
        lines.append(f"go on: {_WATCH.again}")
    return "\n".join(lines)


def lines_about_nodes() -> list[str]:
    """Nodes on which several submissions failed, and how later jobs are kept away; none where there is no such node.

    A build that ended well by its retries tells it too. Whoever typed another command than Snakemake's, which has no
    such option, sets the key of the profile.
    """
    suspected = _WATCH.suspected()
    if not suspected:
        return []
    nodes = ",".join(suspected)
    how = f"--slurm-exclude-failed-nodes={nodes}"
    if not _WATCH.again.startswith("snakemake "):
        how = f"the line `slurm-exclude-failed-nodes: {nodes}` in the profile"
    lines = [f"node {node}: {count} submissions failed on it" for node, count in suspected.items()]
    return [*lines, f"If the jobs are not to blame, {how} keeps later jobs away from there."]


def _lines_about_failed(about: Any) -> list[str]:
    """Lines about a job that failed on this machine."""
    logs = _logs(about)
    line = f"failed: {_name(about)}"
    if logs:
        line += f" (log: {', '.join(logs)})"
    return [line, *_last_lines(logs), *_how_to_repeat(about)]


def _lines_about_submitted(about: Any, submission: _Submission) -> list[str]:
    """Lines about a job of a cluster: what it ended with, and the log that says something."""
    logs = _logs(about)
    if not _last_lines(logs):
        logs = [log for log in submission.logs if _last_lines([log])]
    where = "no log says anything"
    if logs:
        where = f"log: {', '.join(logs)}"
    lines = [f"failed: {_name(about)} ({submission}; {where})", *_last_lines(logs)]
    if submission.state in _CAUSES:
        kept = _KEPT.get(getattr(about, "rule_name", ""), "begins anew")
        lines.append(f"  {_CAUSES[submission.state]}; when it is submitted again it {kept}.")
    if submission.state in ("", "FAILED"):
        lines += _how_to_repeat(about)
    return lines


def _logs(about: Any) -> list[str]:
    """The logs that the rule of a job names."""
    return [str(log) for log in getattr(about, "log", None) or []]


def _last_lines(logs: list[str]) -> list[str]:
    """The last lines of some logs, set in; none of logs that are empty or not there."""
    lines = []
    for log in logs:
        last = _content(log).splitlines()[-_LAST_LINES:]
        lines += [f"  {line}" for line in last]
    return lines


def _content(log: str) -> str:
    """The text of a log; empty where there is none."""
    file = Path(log)
    if not file.is_file():
        return ""
    return file.read_text("utf-8", errors="replace")


def _how_to_repeat(about: Any) -> list[str]:
    """The command that repeats a job here."""
    command = getattr(about, "shellcmd", None)
    if not command:
        return []
    without_log, _, _ = command.partition(" 2> ")
    begin = without_log.index("gcexp ")
    words = without_log[begin:].split()
    return [f"repeat it: {' '.join(words)}"]


def _name(about: Any) -> str:
    """What a job is called: by its message, else by its rule."""
    return str(getattr(about, "rule_msg", None) or getattr(about, "rule_name", ""))
