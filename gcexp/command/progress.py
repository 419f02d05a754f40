"""What a build says where there is no terminal: a line per finished job, and at its end what failed.

On a terminal the bars of Snakemake's logger are there instead.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any

_LAST_LINES = 15  # of the log of a failed job


class _Watch(logging.Handler):
    """Follows the jobs of this build: what they are, how many are done, which failed."""

    total = done = 0

    def __init__(self) -> None:
        super().__init__()
        self.began = time.monotonic()
        self.jobs: dict[int, Any] = {}
        self.failed: dict[int, None] = {}

    def emit(self, record: Any) -> None:  # Snakemake's records say more than logging's
        event = str(getattr(record, "event", ""))
        if event.endswith("job_info"):
            self.jobs[record.jobid] = record
        elif event.endswith("job_error"):
            self.failed[record.jobid] = None
        elif event.endswith("job_finished"):
            self.done += 1
            if not sys.stderr.isatty():
                print(self.finished(record.job_id), file=sys.stderr, flush=True)

    def finished(self, job: int) -> str:
        """Line of a finished job: how many are done, the time left if the others take as long, what it was."""
        left = int((time.monotonic() - self.began) / self.done * max(self.total - self.done, 0))
        width, about = len(str(self.total)), self.jobs.get(job)
        return f"[{self.done:{width}}/{self.total}] {left // 60}:{left % 60:02} left  {_name(about) if about else ''}"


_WATCH = _Watch()


def watch(logger: logging.Logger, total: int) -> None:
    """Follow the jobs of a build that is about to start."""
    _WATCH.total = total
    logger.addHandler(_WATCH)


def failures() -> str:
    """Every failed job with the last lines of its log and the command that repeats it."""
    lines = []
    for about in (_WATCH.jobs[job] for job in _WATCH.failed if job in _WATCH.jobs):
        logs = getattr(about, "log", None) or []
        named = f" (log: {', '.join(map(str, logs))})" if logs else ""
        lines.append(f"failed: {_name(about)}{named}")
        for log in logs:
            text = Path(log).read_text("utf-8", errors="replace") if Path(log).is_file() else ""
            lines += [f"  {line}" for line in text.splitlines()[-_LAST_LINES:]]
        if command := getattr(about, "shellcmd", None):
            words = command.partition(" 2> ")[0]
            lines.append(f"repeat it: {' '.join(words[words.index('gcexp ') :].split())}")
    return "\n".join(lines)


def _name(about: Any) -> str:
    return str(getattr(about, "rule_msg", None) or getattr(about, "rule_name", ""))
