"""Timing, and the rows of the table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    "id",
    "work",
    "peer's number",
    "ours",
    "peer / ours",
    "floor",
    "ours / floor",
    "bar",
    "met",
    "ours / limit",
    "MiB / limit",
)
#: What stands under the table for what `floored` adds.
CALIBRATED = (
    "* no floor of its own: numpy sorts a million numbers and Python adds up a million, in the same run"
)
#: Times a limit at which the gate is shut: a busy machine stays below.
SHUT = 2


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    id, work : str
        Benchmark, and what was done.
    ours : float
        Seconds, median; CPU seconds unless `work` says wall.
    bar : str
        What gcexp should reach.
    met : bool, optional
        Whether it did; None where the bar says nothing about this line.
    peer : str
        The peer's number as it was given.
    peer_seconds : float, optional
        The same in seconds, where it is the same work in the same unit; the ratio to the peer is only shown then.
    floor : float, optional
        Seconds of the floor, measured in the same run.
    calibrated : bool
        The floor is that of `floored`.
    note : str
        Stands behind our number.
    limit : float, optional
        CPU seconds that the bar allows; those of a bar on a ratio, from the floor of the same run.
    memory : (float, float), optional
        Peak memory in MiB, and what the bar allows.
    """

    id: str
    work: str
    ours: float
    bar: str
    met: bool | None = None
    peer: str = "-"
    peer_seconds: float | None = None
    floor: float | None = None
    note: str = ""
    limit: float | None = None
    memory: tuple[float, float] | None = None
    calibrated: bool = False

    @property
    def speedup(self) -> float | None:
        """Peer's seconds over ours."""
        return self.peer_seconds / self.ours if self.peer_seconds else None

    @property
    def over_floor(self) -> float | None:
        """Our seconds over the floor's."""
        return self.ours / self.floor if self.floor else None

    @property
    def over_limit(self) -> float | None:
        """Our seconds over those that the bar allows."""
        return self.ours / self.limit if self.limit else None

    @property
    def over_memory(self) -> float | None:
        """Our memory over that which the bar allows."""
        return self.memory[0] / self.memory[1] if self.memory else None

    @property
    def shut(self) -> str:
        """What shuts the gate: CPU seconds over `SHUT` times their bar, or memory, which no other process moves."""
        if self.over_limit and self.over_limit > SHUT:
            return f"{self.over_limit:.1f} times its bar"
        return f"{self.over_memory:.2f} times its memory" if self.over_memory and self.over_memory > 1 else ""

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        return (
            self.id,
            self.work,
            self.peer,
            duration(self.ours) + (f" ({self.note})" if self.note else ""),
            f"{self.speedup:.3g}" if self.speedup else "-",
            duration(self.floor) + " *" * self.calibrated if self.floor else "-",
            f"{self.over_floor:.2f}" if self.over_floor else "-",
            self.bar,
            {True: "yes", False: "no", None: "-"}[self.met],
            f"{self.over_limit:.2f}" if self.over_limit else "-",
            f"{self.over_memory:.2f}" if self.over_memory else "-",
        )


def median_cpu(*functions: Callable[[], object], repeats: int = 7) -> list[float]:
    """Median CPU seconds of each function, called in turn (A, B, A, B, ...) after one warm-up round."""
    times: list[list[float]] = [[] for _ in functions]
    for turn in range(repeats + 1):
        for mine, function in zip(times, functions, strict=True):
            start = time.process_time()
            function()
            if turn:
                mine.append(time.process_time() - start)
    return [statistics.median(mine) for mine in times]


def calibration() -> None:
    """Work that is no part of gcexp: how fast this machine is now."""
    np.sort(np.random.default_rng(0).random(10**6))
    sum(i & 1 for i in range(10**6))


def floored(rows: list[Row]) -> list[Row]:
    """The rows, with the seconds of `calibration` as the floor of those that have none."""
    if all(row.floor for row in rows):
        return rows
    (seconds,) = median_cpu(calibration, repeats=3)
    return [row if row.floor else replace(row, floor=seconds, calibrated=True) for row in rows]


def duration(seconds: float) -> str:
    """Seconds with three digits, in milliseconds below one second.

    Examples
    --------
    >>> duration(0.00123456), duration(2.5)
    ('1.23 ms', '2.5 s')
    """
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def table(rows: Iterable[Row]) -> str:
    """Rows as an aligned Markdown table."""
    lines = [HEADER, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)
