"""Logs of tools that write no time of each step: why they do not show who is slow, and what to write in their place."""

from __future__ import annotations

import re

from gcexp_adviser.logs.log_lines import first_lines

WRITE_A_LINE = (
    "let every rank write a line in each step, with the time until its own gradients are ready: "
    "print(f'rank={rank} step={step} step_time={seconds:.4f}', flush=True)"
)
#: ``45/100 [00:15<00:18, 2.95it/s]``
_BAR = re.compile(r"\d+/(?:\d+|\?) \[[\d:]+<[\d:?]+,\s*[\d.?]+\s*(?:it/s|s/it)")
_DEEPSPEED = re.compile(r"\[Rank (\d+)\] time \(ms\) \|")
_FEW = 2  # lines by which a report is known


def sentence_of_bars(text: str) -> str:
    r"""What to do with progress bars of tqdm, as a sentence goes on; nothing where most of the first lines are others.

    >>> sentence_of_bars(" 1%| | 1/90 [00:01<01:29, 1.00s/it]\n")[:29]
    'holds progress bars of tqdm, '
    """
    head = first_lines(text)
    bars = [line for line in head if _BAR.search(line)]
    if len(bars) <= len(head) / 2:
        return ""
    return (
        "holds progress bars of tqdm, whose rate is a mean over several steps and about the same on all ranks that "
        f"wait for each other, so that it does not show who is slow; {WRITE_A_LINE}"
    )


def sentence_of_reports(text: str) -> str:
    """What to do with the timers of DeepSpeed, as a sentence goes on; nothing for other text."""
    ranks = _DEEPSPEED.findall(text)
    if len(ranks) < _FEW:
        return ""
    whose = "are written by rank 0 alone unless log_dist is told otherwise"
    if len(set(ranks)) > 1:
        whose = "stand in other lines than the number of the step"
    return f"holds the timers of DeepSpeed, which {whose}; {WRITE_A_LINE}"
