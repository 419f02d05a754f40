"""Files of tools that hold no times of workers, recognised by their first bytes."""

from __future__ import annotations

import re

from gcexp.errors import DataError
from gcexp_adviser.logs.recipes import FLIGHT, see

_HEAD = 2**16  # bytes by which a file is recognised
_INSTEAD = "print a line for each step and rank, or record the steps (docs/real-runs.md)"
_FLIGHT = (
    "is a dump of torch's flight recorder, which says when collectives were launched and not what a rank took before; "
    + see(FLIGHT)
)
_SCORES = (
    "is a report of scores, which compare ranks over many steps: they are no times, and their steps are not known; "
    + _INSTEAD
)
_TOTALS = (
    "is a profiler's table of totals over all steps of one rank, in which single steps cannot be told apart; "
    + _INSTEAD
)
_XLA = (
    "is a profile of JAX or another program of XLA, whose events do not say what a worker took before it waited for "
    "others; print a line for each step and process (docs/logs.md)"
)
#: What the first bytes match, and what the file is.
_TOOLS = {
    rb"\x80[\x02-\x05].*(pg_config|collective_seq_id)": _FLIGHT,
    rb'\s*\{.*"(collective_seq_id|comm_lib_version|nccl_comm_state)"': _FLIGHT,
    rb'\s*\{[^{}\[\]]*"schema"\s*:\s*"[^"]*chakra': (
        "is a Chakra execution trace, which holds the operations of one rank and what they depend on, without their "
        "times; name a folder with the profiler traces of all ranks"
    ),
    rb'\s*\{[^\[]*"highres-ticks".*"/(host|device):': _XLA,
    rb"\n.{1,12}\x12.{1,2}/(host|device):": _XLA,
    rb":W&B": (
        "is an offline file of Weights & Biases, which only its own tools read: upload it by wandb sync, and export "
        "the times of all ranks as CSV"
    ),
    rb"\s*\w+ Profiler Report\s": _TOTALS,
    rb"\s*-{5}[-\s]*Name +Self CPU %": _TOTALS,
    rb'\s*\{\s*"(gpu|section)_\w+_perf_scores"': _SCORES,
}
_PATTERNS = [(re.compile(pattern, re.DOTALL), sentence) for pattern, sentence in _TOOLS.items()]
_SCORE = re.compile(
    rb"Rank=\d+ (Node=\S+ )?Score=[\d.]+\s*$|(Best|Worst) performing \d|GPU (relative|individual) perf"
)


def told_of(head: bytes) -> str:
    r"""What is told of a file with these first bytes; nothing where it may hold times.

    Examples
    --------
    >>> told_of(b"FIT Profiler Report\n\n---").split(",")[0], told_of(b"step,rank,time\n")
    ("is a profiler's table of totals over all steps of one rank", '')
    """
    head = head[:_HEAD]
    for pattern, sentence in _PATTERNS:
        if pattern.match(head):
            return sentence
    lines = [line for line in head.splitlines() if line.strip()]
    scores = [line for line in lines if _SCORE.search(line)]
    return _SCORES if 2 * len(scores) > len(lines) else ""


def refuse_without_times(data: bytes, place: str) -> None:
    """Raise `DataError` for the content of a file that holds no times of workers."""
    told = told_of(data)
    if told:
        raise DataError(f"{place}: {told}")
