"""What a build says where there is no terminal: a line per finished job, and at its end what failed.

On a terminal the bars of Snakemake's logger are there instead.
"""

from __future__ import annotations

import logging
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LAST_LINES = 15  # of the log of a failed job


@dataclass
class _Seen:
    """Jobs of this build: what they are, how many are done, which failed."""

    total: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    jobs: dict[int, Any] = field(default_factory=dict)
    failed: list[int] = field(default_factory=list)


_SEEN = _Seen()


class _Watch(logging.Handler):
    def emit(self, record: Any) -> None:  # Snakemake's records say more than logging's
        event = str(getattr(record, "event", ""))
        if event.endswith("job_info"):
            _SEEN.jobs[record.jobid] = record
        elif event.endswith("job_error"):
            _SEEN.failed.append(record.jobid)
        elif event.endswith("job_finished"):
            _SEEN.done += 1
            if not sys.stderr.isatty():
                print(finished(record.job_id, time.monotonic() - _SEEN.started), file=sys.stderr, flush=True)


def watch(logger: logging.Logger, total: int) -> None:
    """Follow the jobs of a build that is about to start."""
    _SEEN.total = total
    logger.addHandler(_Watch())


def finished(job: int, seconds: float) -> str:
    """Line of a finished job: how many are done, the time left if the others take as long, what it was."""
    left = seconds / max(_SEEN.done, 1) * max(_SEEN.total - _SEEN.done, 0)
    width = len(str(_SEEN.total))
    about = _SEEN.jobs.get(job)
    text = (getattr(about, "rule_msg", None) or getattr(about, "rule_name", "")) if about else ""
    return f"[{_SEEN.done:{width}}/{_SEEN.total}] {int(left) // 60}:{int(left) % 60:02} left  {text}"


def failures() -> str:
    """Every failed job with the last lines of its log and the command that repeats it."""
    lines = []
    for job in dict.fromkeys(_SEEN.failed):
        if (about := _SEEN.jobs.get(job)) is None:
            continue
        logs = getattr(about, "log", None) or []
        named = f" (log: {', '.join(map(str, logs))})" if logs else ""
        lines.append(f"failed: {getattr(about, 'rule_msg', None) or about.rule_name}{named}")
        for log in logs:
            text = Path(log).read_text("utf-8", errors="replace") if Path(log).is_file() else ""
            lines += [f"  {line}" for line in text.splitlines()[-_LAST_LINES:]]
        if command := getattr(about, "shellcmd", None):
            words = command.partition(" 2> ")[0]
            lines.append(f"repeat it: {' '.join(words[words.index('gcexp ') :].split())}")
    return "\n".join(lines)
