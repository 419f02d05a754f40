"""``python -m benchmarks.fuzz``: commands and calls that nobody would write end at once, in a result or a sentence.

2000 commands through `gcexp.command.main.main`, in one process and an empty folder, and 1000 calls from Python. Each
case follows from the seed and its number alone; ``--only`` repeats one. A finding is a trace, an exit code other than 0
and 2, more than 10 seconds of CPU without a progress bar that moves, or more than 1 GiB of memory beside what the
process had before. Long work that shows how far it is (10^9 iterations take some minutes) is stopped and counted.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import contextlib
import inspect
import io
import random
import runpy
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import gcexp
from gcexp import codes, delays, progress, schemes
from gcexp.command.main import main as command
from gcexp.decoding_error.error import error as code_error
from gcexp.errors import UserError
from gcexp.theory import bounds

ROOT = Path(__file__).resolve().parents[1]
SECONDS, BYTES = 10.0, 2**30
MOVING = 2.0  # CPU seconds in which a progress bar must have moved
ODD: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, -1, 2.5, 1e-300, 1e308, 10**9, 10**30, float("nan"), float("inf")),
    *("", "x", "cgc", "é", "\n", "../x", "x" * 300, [], {}, [[1]], [None], {"a": 1}, (1, 2), [1, 2, 3]),
    *(np.arange(3), np.ones((2, 2)), np.array([np.nan]), np.float64(3), object(), len, b"x"),
]
#: Traces, whole and broken, by the name of their file.
TRACES = {
    "good.csv": "".join(f"{t},{w},{1 + (7 * t + 3 * w) % 5}\n" for t in range(12) for w in range(4)),
    "far.csv": "0,0,1\n0,1000000000,2\n1,0,3\n1,1000000000,1\n",
    "gap.csv": "0,0,1\n5,0,1\n",
    "negative.csv": "0,0,-1\n",
    "late.csv": "1000000000,0,1\n",
    "empty.csv": "",
}
SCHEMES = [
    "cgc",
    "frc",
    "uneven",
    "wait for all",
    "cyclic, s = 1",
    "partial_work",
    "nope",
    "",
    "bound: any loads",
]
WORDS = [*"nan inf -1 0 1 2 0.5 1e400 1000000000 x [1] stop chunk a=b".split(), ""]


class Hang(BaseException):
    """A case took too much CPU."""


class AtWork(BaseException):
    """A case took long and showed its progress."""


_moved = 0.0  # CPU seconds of this process when a progress bar moved last


def follow_progress() -> None:
    """Notice when a bar moves, be it seen or not: there is no terminal here, and ``progress=False`` hides it."""

    def moved(*_: object) -> None:
        global _moved
        _moved = time.process_time()

    tqdm.update = moved
    progress._Hidden.update = moved


def benchmark_line(chance: random.Random) -> list[str]:
    """A benchmark, or another command that reads times, a sweep, or an error."""
    file = chance.choice([*TRACES, "pai-job1", "bytedance-AR-dp", "nope", "", "."])
    options = ["--phi", "--late", "--chunks", "-n", "--pricing", "--rows", "--data-bound", "-o", "--level"]
    words = [chance.choice(SCHEMES) for _ in range(chance.randint(0, 2))]
    for option in chance.sample(options, chance.randint(0, 3)):
        words += [option, *([] if option == "--data-bound" else [chance.choice(WORDS)])]
    settings = [
        f"{key}={chance.choice(WORDS)}"
        for key in chance.sample(["n", "s", "code.d", "iterations", "seeds", "delay.shape", "wait.s"], 2)
    ]
    sweep = chance.choice(["scheme=glob(c*)", "s=interval(1,3)", "s=1,2", "scheme=cgc,frc", "n=range(2,4)"])
    return chance.choice(
        [
            ["benchmark", file, *words],
            ["benchmark", file, *words],
            ["trace", "check", file],
            ["simulate", "scheme=cgc", "delay=trace", f"delay.file={file}", "iterations=3", *settings],
            ["run", "-m", sweep, "n=4", *settings, "iterations=2"],
            ["error", "scheme=frc", *settings, f"s={chance.choice(WORDS)}..{chance.choice(WORDS)}"],
            ["init", chance.choice([*WORDS, "numpy", "class", "random"])],
            ["plan", chance.choice(WORDS)],
        ]
    )


def calls(chance: random.Random) -> tuple[str, Callable[[], object]]:
    """A call from Python with one or two arguments that nobody would give."""

    def odd() -> Any:
        return chance.choice(ODD)

    def filled(of: Callable) -> tuple[str, Callable[[], object]]:
        likely = {"n": 6, "s": 1, "d": 2, "k": 6, "seed": 0, "alpha": 0.5, "code": codes.Uncoded(4)}
        names = [p for p in inspect.signature(of).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        given = {p.name: likely.get(p.name, 2) for p in names if p.default is p.empty}
        for p in chance.sample(names, min(len(names), chance.randint(1, 2))):
            given[p.name] = odd()
        return f"{getattr(of, '__name__', of)}({given})"[:300], lambda: of(**given)

    def keyed(name: str, of: Callable, *fixed: Any, **likely: Any) -> tuple[str, Callable[[], object]]:
        for key in chance.sample(sorted(likely), 2):
            likely[key] = odd()
        return f"{name}({likely})"[:300], lambda: of(*fixed, **likely)

    classes = [
        found
        for module in (codes, codes, delays, schemes)
        for name, found in sorted(vars(module).items())
        if inspect.isclass(found) and not getattr(found, "_is_protocol", False)
    ]
    run = {"scheme": chance.choice(["cgc", "frc", "forget"]), "n": 6, "s": 1}
    length = {"iterations": 3, "seeds": 1, "delay": "pareto", "progress": False, "horizon": None}
    trace = {"schemes": "frc", "phi": [0.0], "late": "stop", "chunks": 8, "n": None, "rows": None}
    times = [np.ones(3), np.array([1, np.nan]), -np.ones(2), np.zeros((2, 0)), 1.0]
    return chance.choice(
        [
            lambda: filled(chance.choice(classes)),
            lambda: filled(chance.choice(classes)),
            lambda: keyed("simulate", gcexp.simulate, **run, **length),
            lambda: keyed("benchmark", gcexp.benchmark, "pai-job1", **trace, progress=False),
            lambda: keyed("show", gcexp.show, **run),
            lambda: keyed("sweep", gcexp.sweep, {"s": odd()}, scheme="cgc", n=6, iterations=2),
            lambda: filled(chance.choice([bounds.capacity, bounds.data_bound, code_error])),
            lambda: keyed(
                "work_floor", bounds.work_floor, *chance.choices(times, k=2), cap=None, fraction=1.0
            ),
        ]
    )()


@contextlib.contextmanager
def watched() -> Iterator[Callable[[], str]]:
    """Stops what takes too long; the answer says what was too much, if anything."""

    def stop(*_: object) -> None:
        raise AtWork if time.process_time() - _moved < MOVING else Hang

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    began, before = time.process_time(), _memory("VmRSS")
    with contextlib.suppress(OSError):  # the peak from here on
        Path("/proc/self/clear_refs").write_text("5")
    try:
        yield (
            lambda: (
                f"{time.process_time() - began:.1f} s" * (time.process_time() - began > SECONDS)
                + f"{(_memory('VmHWM') - before) / 2**30:.1f} GiB" * (_memory("VmHWM") - before > BYTES)
            )
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _memory(name: str) -> int:
    """Bytes of this process, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def tried(act: Callable[[], object], is_command: bool, asked_for_trace: bool = False) -> tuple[str, str]:
    """How a command or a call ended, and what is wrong with that; ``--debug`` asks for a trace."""
    err = io.StringIO()
    with watched() as excess, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                found = act()
            ended = f"exit {found}" if is_command else "result"
        except SystemExit as stopped:
            ended = f"exit {stopped.code if isinstance(stopped.code, int) else 2}"
        except UserError:
            ended = "sentence"
        except AtWork:
            return "at work", ""
        except Hang:
            return "hang", f"more than {SECONDS:g} s"
        except BaseException as error:
            # A name or number of arguments, as Python has it.
            by_python = isinstance(error, TypeError) and len(traceback.extract_tb(error.__traceback__)) <= 2
            return ("arguments", "") if by_python and not is_command else ("trace", repr(error)[:600])
        told = excess()
    if told:
        return "excess", told
    ends_well = ended in ("exit 0", "exit 2", "result", "sentence")
    words = ["Warning"] if asked_for_trace else ["Traceback", "Warning"]
    if is_command and not ends_well or any(word in err.getvalue() for word in words):
        return "trace", err.getvalue()[-600:]
    return ended, ""


def main(argv: list[str] | None = None) -> int:
    """Entry point: 0, or 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", help="one case: c17 is a command, p17 a call from Python")
    asked = parser.parse_args(argv)
    follow_progress()
    older = runpy.run_path(str(ROOT / "tests" / "workflow" / "test_fuzz.py"))["command_line"]
    cases = [f"c{i}" for i in range(asked.commands)] + [f"p{i}" for i in range(asked.calls)]
    counts: dict[str, Counter] = {"command": Counter(), "call": Counter()}
    found = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(ROOT / "conf", "conf")
        for name, text in TRACES.items():
            Path(name).write_text("iteration,worker,time\n" + text if name != "empty.csv" else text)
        for case in [asked.only] if asked.only else cases:
            number = int(case[1:])
            chance = random.Random(f"{asked.seed} {case}")
            line: list[str] = []
            if case[0] == "c":
                line = benchmark_line(chance) if chance.random() < 0.5 else older(f"{asked.seed} {number}")
                name, act = f"gcexp {line}", partial(command, [word.replace("\0", "") for word in line])
            else:
                name, act = calls(chance)
            ended, wrong = tried(act, case[0] == "c", "--debug" in line)
            counts["command" if case[0] == "c" else "call"][ended] += 1
            if wrong:
                found += 1
                print(f"{case}: {ended}: {name[:400]}: {wrong}", flush=True)
    for kind, ends in counts.items():
        print(f"{kind}s: {sum(ends.values())}: {', '.join(f'{end} {ends[end]}' for end in sorted(ends))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
