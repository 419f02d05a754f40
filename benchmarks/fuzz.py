"""``python -m benchmarks.fuzz``: commands and calls that nobody would write end at once, in a result or a sentence.

2000 commands through `gcexp.command.main.main`, in one process and an empty folder, and 1000 calls from Python. Each
case follows from the seed and its number alone; ``--only`` repeats one. A finding is a trace, an exit code other than 0
and 2, more than 10 seconds of CPU without a progress bar that moves, or more than 1 GiB of memory beyond the most that
the process had before. Long work that shows how far it is (10^9 iterations take some minutes) is stopped and counted.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import contextlib
import inspect
import io
import random
import resource
import runpy
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import gcexp
from benchmarks.measure import ROOT
from gcexp import codes, delays, progress, schemes
from gcexp.command.main import main as command
from gcexp.decoding_error.error import error
from gcexp.errors import UserError
from gcexp.theory import bounds

SECONDS, BYTES = 10.0, 2**30
MOVING = 2.0  # CPU seconds in which a progress bar must have moved
ODD: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, -1, 2.5, 1e-300, 1e308, 10**9, 10**30, float("nan"), float("inf")),
    *("", "x", "cgc", "é", "\n", "../x", "x" * 300, [], {}, [[1]], [None], {"a": 1}, (1, 2), [1, 2, 3]),
    *(np.arange(3), np.ones((2, 2)), np.array([1, np.nan]), -np.ones(2), np.zeros((2, 0)), np.float64(3)),
    *(object(), len, b"x"),
]
#: Traces, whole and broken, by the name of their file; all but the empty one begin with the names of their columns.
TRACES = {
    "good.csv": "".join(f"{t},{w},{1 + (7 * t + 3 * w) % 5}\n" for t in range(12) for w in range(4)),
    "far.csv": "0,0,1\n0,1000000000,2\n1,0,3\n1,1000000000,1\n",
    "gap.csv": "0,0,1\n5,0,1\n",
    "negative.csv": "0,0,-1\n",
    "late.csv": "1000000000,0,1\n",
    "empty.csv": "",
}
SCHEMES = [
    "wait for all",
    "cyclic, s = 1",
    "",
    "bound: any loads",
    *"cgc frc uneven partial_work nope".split(),
]
WORDS = [*"nan inf -1 0 1 2 0.5 1e400 1000000000 x [1] stop chunk a=b".split(), ""]

RUN = {"scheme": "cgc", "n": 6, "s": 1}
TIMES = {"fixed": np.ones(3), "growing": np.ones(3)}
#: Functions that are called, each with arguments that it takes.
FUNCTIONS: dict[Callable, dict[str, Any]] = {
    gcexp.simulate: RUN
    | {"iterations": 3, "seeds": 1, "delay": "pareto", "progress": False, "horizon": None},
    gcexp.benchmark: {
        "file": "pai-job1",
        "schemes": "frc",
        "phi": [0.0],
        "late": "stop",
        "chunks": 8,
        "rows": None,
    },
    gcexp.show: RUN,
    gcexp.sweep: {"grid": {"s": [1]}, "scheme": "frc", "n": 6, "iterations": 2},
    bounds.capacity: TIMES | {"load": 1.0, "fraction": 1.0},
    bounds.data_bound: TIMES | {"d": 2},
    bounds.work_floor: TIMES | {"cap": None, "fraction": 1.0},
    error: {"code": codes.Uncoded(4), "s": 1, "kind": "worst"},
}
CLASSES = [
    found
    for module in (codes, codes, delays, schemes)
    for name, found in sorted(vars(module).items())
    if inspect.isclass(found) and not getattr(found, "_is_protocol", False)
]
#: Arguments of classes that fit; any other one is 2.
LIKELY = {"n": 6, "s": 1, "d": 2, "k": 6, "seed": 0, "alpha": 0.5, "code": codes.Uncoded(4)}


def benchmark_line(chance: random.Random) -> list[str]:
    """A benchmark, or another command that reads times, a sweep, or an error."""
    file = chance.choice([*TRACES, "pai-job1", "bytedance-AR-dp", "nope", "", "."])
    options = ["--phi", "--late", "--chunks", "-n", "--pricing", "--rows", "--data-bound", "-o", "--level"]
    words = [chance.choice(SCHEMES) for _ in range(chance.randint(0, 2))]
    for option in chance.sample(options, chance.randint(0, 3)):
        words += [option, *([] if option == "--data-bound" else [chance.choice(WORDS)])]
    keys = ["n", "s", "code.d", "iterations", "seeds", "delay.shape", "wait.s"]
    settings = [f"{key}={chance.choice(WORDS)}" for key in chance.sample(keys, 2)]
    sweep = chance.choice(["scheme=glob(c*)", "s=interval(1,3)", "s=1,2", "scheme=cgc,frc", "n=range(2,4)"])
    lines = [
        ["trace", "check", file],
        ["simulate", "scheme=cgc", "delay=trace", f"delay.file={file}", "iterations=3", *settings],
        ["run", "-m", sweep, "n=4", *settings, "iterations=2"],
        ["error", "scheme=frc", *settings, f"s={chance.choice(WORDS)}..{chance.choice(WORDS)}"],
        ["init", chance.choice([*WORDS, "numpy", "class", "random"])],
        ["plan", chance.choice(WORDS)],
    ]
    return chance.choice([["benchmark", file, *words]] * 2 + lines)


def call(chance: random.Random) -> tuple[str, Callable[[], object]]:
    """A call from Python with one or two arguments that nobody would give."""
    of = chance.choice([*FUNCTIONS, None, None]) or chance.choice(CLASSES)
    if of in FUNCTIONS:
        given = FUNCTIONS[of]
        keys = [*given]
    else:
        found = [p for p in inspect.signature(of).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        keys = [p.name for p in found]
        given = {p.name: LIKELY.get(p.name, 2) for p in found if p.default is p.empty}
    changed = chance.sample(keys, min(len(keys), chance.randint(1, 2)))
    given = given | {key: chance.choice(ODD) for key in changed}
    return f"{of.__name__}({given})"[:300], partial(of, **given)


class Stopped(BaseException):
    """A case took too much CPU."""


_moved = 0.0  # CPU seconds of this process when a progress bar moved last


def moved(*_: object) -> None:
    """Notice that a bar moves, be it seen or not: there is no terminal here, and ``progress=False`` hides it."""
    global _moved
    _moved = time.process_time()


def stop(*_: object) -> None:
    """Stop the case, which is at work as long as its progress bar moves."""
    raise Stopped("at work" if time.process_time() - _moved < MOVING else "hang")


def peak() -> int:
    """Most bytes that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def tried(act: Callable[[], object], is_command: bool, trace_asked: bool) -> tuple[str, str]:
    """How a command or a call ended, and what is wrong with that; ``--debug`` asks for a trace."""
    err, before = io.StringIO(), peak()
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                found = act()
        ended = f"exit {found}" if is_command else "result"
    except SystemExit as stopped:
        ended = f"exit {stopped.code if isinstance(stopped.code, int) else 2}"
    except UserError:
        ended = "sentence"
    except Stopped as stopped:
        ended = str(stopped)
        return ended, f"more than {SECONDS:g} s" if ended == "hang" else ""
    except BaseException as found:
        # A name or number of arguments, as Python has it.
        by_python = isinstance(found, TypeError) and len(traceback.extract_tb(found.__traceback__)) == 1
        return ("arguments", "") if by_python and not is_command else ("trace", repr(found)[:600])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if (more := peak() - before) > BYTES:
        return "excess", f"{more / 2**30:.1f} GiB"
    words = ["Warning"] if trace_asked else ["Traceback", "Warning"]
    if ended in ("exit 0", "exit 2", "result", "sentence") and not any(
        word in err.getvalue() for word in words
    ):
        return ended, ""
    return "trace", err.getvalue()[-600:]


def main(argv: list[str] | None = None) -> int:
    """Entry point: 0, or 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", help="one case: c17 is a command, p17 a call from Python")
    asked = parser.parse_args(argv)
    tqdm.update = progress._Hidden.update = moved
    signal.signal(signal.SIGPROF, stop)
    older = runpy.run_path(str(ROOT / "tests" / "workflow" / "test_fuzz.py"))["command_line"]
    cases = [f"c{i}" for i in range(asked.commands)] + [f"p{i}" for i in range(asked.calls)]
    ends: Counter = Counter()
    findings = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(ROOT / "conf", "conf")
        for name, text in TRACES.items():
            Path(name).write_text(text and "iteration,worker,time\n" + text)
        for case in [asked.only] if asked.only else cases:
            chance = random.Random(f"{asked.seed} {case}")
            line: list[str] = []
            if is_command := case[0] == "c":
                line = benchmark_line(chance) if chance.random() < 0.5 else older(f"{asked.seed} {case[1:]}")
                name, act = f"gcexp {line}", partial(command, [word.replace("\0", "") for word in line])
            else:
                name, act = call(chance)
            ended, wrong = tried(act, is_command, "--debug" in line)
            ends[f"{'command' if is_command else 'call'}: {ended}"] += 1
            if wrong:
                findings += 1
                print(f"{case}: {ended}: {name[:400]}: {wrong}", flush=True)
    print(*(f"{end} {ends[end]}" for end in sorted(ends)), sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
