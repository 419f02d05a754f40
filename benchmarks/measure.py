"""Timing in this process and in others, and the rows of the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from gcexp.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
HEADER = ("id", "work", "peer", "ours", "peer / ours", "floor", "ours / floor", "bar", "met", "ours / limit")
#: Times a limit from which on the command fails: a busy machine stays below.
FAR = 2


@dataclass(frozen=True)
class Row:
    """One line of the table. Seconds are CPU seconds unless `work` says wall."""

    id: str
    work: str
    ours: float  # median seconds
    bar: str = "-"  # what gcexp should reach; "-" where the bar says nothing about this line
    limit: float | None = None  # seconds that the bar allows, from the floor of the same run for a ratio
    memory: tuple[float, float] | None = None  # peak MiB, and what the bar allows
    holds: bool = True  # whether the rest of the bar is met: an error, a number of jobs
    floor: float | None = None  # seconds, measured in the same run
    peer: str = "-"  # the peer's number as it was given
    peer_seconds: float | None = None  # for the ratio, where it is the same work in the same unit
    note: str = ""  # stands behind our number

    @property
    def met(self) -> str:
        """Whether the bar is met, as the table shows it."""
        if self.bar == "-":
            return "-"
        in_time = not self.limit or self.ours <= self.limit
        in_memory = True
        if self.memory:
            used, most = self.memory
            in_memory = used <= most
        return "yes" if self.holds and in_time and in_memory else "no"

    @property
    def excess(self) -> str:
        """Why the command fails: CPU seconds over `FAR` times their bar, or memory, which no other process moves."""
        if self.limit and self.ours > FAR * self.limit:
            return f"{self.ours / self.limit:.1f} times its bar"
        if self.memory:
            used, most = self.memory
            if used > most:
                return f"{used:.0f} MiB, and its bar is {most:.0f} MiB"
        return ""

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        notes = [self.note] if self.note else []
        if self.memory:
            notes.append(f"{self.memory[0]:.0f} MiB")
        ours = duration(self.ours)
        if notes:
            ours += f" ({', '.join(notes)})"
        floor = duration(self.floor) if self.floor else "-"
        to_peer, to_floor = ratio(self.peer_seconds, self.ours), ratio(self.ours, self.floor)
        to_limit = ratio(self.ours, self.limit)
        return self.id, self.work, self.peer, ours, to_peer, floor, to_floor, self.bar, self.met, to_limit


def ratio(one: float | None, other: float | None) -> str:
    """A ratio as the table shows it, or "-" where one side is unknown."""
    return f"{one / other:.3g}" if one is not None and other else "-"


def duration(seconds: float) -> str:
    """Seconds with three digits, in milliseconds below one second."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def table(rows: Iterable[Row]) -> str:
    """Rows as an aligned Markdown table."""
    lines = [HEADER, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def median_cpu(*functions: Callable[[], object], repeats: int = 7) -> list[float]:
    """Median CPU seconds of each function, called in turn (A, B, A, B, ...) after one warm-up round."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats + 1):
        for mine, function in zip(times, functions, strict=True):
            start = time.process_time()
            function()
            mine.append(time.process_time() - start)
    return [median(mine[1:]) for mine in times]


class Spent(NamedTuple):
    """What a process and all that it waited for took: seconds, peak MiB of the largest of them, what was printed."""

    cpu: float
    wall: float
    memory: float
    output: str


#: A small process starts the one that is measured: the memory of whoever starts it would count as its own.
_STARTER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(process.pid, 0)
code = os.waitstatus_to_exitcode(status)
print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]), file=sys.stderr)
"""


def process(*command: str, folder: Path = ROOT, code: int = 0) -> Spent:
    """Run a command, whose gcexp is that of the folder where it has one, and measure it.

    Raises
    ------
    UserError
        If it ends with another exit code.
    """
    place = folder if (folder / "gcexp").is_dir() else ROOT
    # Where nothing may be compiled for good, what is measured is how long Python compiles.
    environment = {}
    for name, value in os.environ.items():
        if not name.startswith(("GCEXP_", "PYTHONDONTWRITEBYTECODE")):
            environment[name] = value
    environment["PYTHONPATH"] = str(place)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    starter = [sys.executable, "-c", _STARTER, *command]
    start = time.perf_counter()
    ended = subprocess.run(starter, cwd=folder, env=environment, capture_output=True, text=True)
    wall = time.perf_counter() - start
    *said, usage = ended.stderr.strip().splitlines()
    found, cpu, memory = json.loads(usage)
    output = "\n".join([ended.stdout, *said])
    if found != code:
        raise UserError(f"{' '.join(command)} ends with {found}: {' '.join(output.splitlines()[-3:])}")
    return Spent(cpu, wall, memory, output)


def alone(function: Callable, *arguments: Any, folder: Path = ROOT) -> tuple[Spent, Any]:
    """Call a function of a module of benchmarks in a process of its own; its answer is what JSON keeps of it."""
    module, name = function.__module__, function.__name__
    call = f"import json; from {module} import {name}; print(json.dumps({name}(*{arguments!r})))"
    spent = process(sys.executable, "-c", call, folder=folder)
    return spent, json.loads(spent.output.splitlines()[0])


def clone(place: Path) -> Path:
    """What is committed, in a folder of its own: neither results nor prepared data nor compiled modules."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True)
    return place
