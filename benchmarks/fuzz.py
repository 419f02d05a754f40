"""``python -m benchmarks.fuzz``: commands and calls that nobody would write end at once, in a result or a sentence.

2000 commands through `gcexp.command.main.main`, in one process and a project of its own, and 1000 calls from Python.
Each case follows from the seed and its number alone; ``--only`` repeats one. A finding is a trace, an exit code other
than 0 and 2, a file where none was asked for, more than 10 seconds of CPU without a progress bar that moves, or more
than 1 GiB of memory beyond the most that the process had before. Long work that shows how far it is (10^9 iterations
take some minutes) is stopped and counted.
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
from unittest.mock import patch

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

#: Odd values that a YAML file can hold.
PLAIN: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, -1, 2.5, -0.0, 1e-300, 1e308, 10**9, 10**30, -(10**30)),
    *(float("nan"), float("inf"), "", " ", "x", "0", "null", "cgc", "é", "a b", "\n", "\t", "\0", "x" * 300),
    *"${n} ${ ${oc.env:HOME} {n} { %s ../x /etc/passwd a/b a+b@c ~ * ' \" [".split(),
    *("$(touch pwned)", "`touch pwned`; touch pwned"),
    *"os.system builtins.dict builtins.eval subprocess.Popen gcexp.nope gcexp.codes.Code".split(),
    *([], {}, [[]], [[1]], [None], [1, "x"], [1, 2, 3], {"a": 1}, {1: 2}, {"a": {"b": [1, {"c": None}]}}),
]
ODD: list[Any] = [
    *(*PLAIN, (1, 2), np.arange(3), np.ones((2, 2)), np.array([1, np.nan]), -np.ones(2), np.zeros((2, 0))),
    *(np.float64(3), object(), len, b"x"),
]
#: Words of a command line: those values as they are typed, and what a parser might take for something else.
WORDS = [
    *(str(value).replace("\0", "") for value in PLAIN),
    *"0.5 6 7 10 12 0.1 1e-3 1e400 .inf .nan true 0-2 3-1 -1-2 [1,2] 1,2 007 1_0 stop chunk a=b --help".split(),
    *("{a: 1}", "!!set {1}", "9" * 24, "gcexp.codes.uncoded.Uncoded"),
]
USUAL = "0 1 2 3 0.5 stop chunk".split()
TRACE = "iteration,worker,time\n"
#: The project in which commands run, besides conf/: a paper, traces, whole and broken, and files of other kinds.
PROJECT = {
    "paper/paper.yaml": "title: A paper\n",
    "paper/__init__.py": "",
    "paper/figures/small.yaml": """
title: A figure
source: Fig. 1
kind: timings
common: {delay: markov, delay.p: 0.1, n: 8, iterations: 20, seeds: 0-2, code.clusters: 2, code.d: 2}
runs:
  - {label: "{scheme}", scheme: [gc, gc_sc]}
  - {label: GC-DC, scheme: gc_dc, columns.panel: a}
plot: {kind: bars, by: label}
note: text
""",
    "good.csv": TRACE + "".join(f"{t},{w},{1 + (7 * t + 3 * w) % 5}\n" for t in range(12) for w in range(4)),
    "far.csv": TRACE + "0,0,1\n0,1000000000,2\n1,0,3\n1,1000000000,1\n",
    "gap.csv": TRACE + "0,0,1\n5,0,1\n",
    "negative.csv": TRACE + "0,0,-1\n",
    "late.csv": TRACE + "1000000000,0,1\n",
    "empty.csv": "",
    "table.csv": "label,run,seed,mean_iteration_time_s\nGC,a,0,1\n",
    "more.json": "[1]",
    "clock.npz": "no clock",
}
FILES = [*PROJECT, "pai-job1", "bytedance-AR-dp", "nope.npz", "conf/run.yaml", "conf", "", "."]
OUTPUTS = [*"out/c.npz out/d.npz out/deep/b.npz conf conf/run.yaml/x /dev/null /proc/x/y .".split(), ""]
NAMES = [*"paper_small paper_smal cyclic schemes digits nope ../x partial_recovery.lower_bound".split(), ""]
#: Settings that fit, of which a command has one each.
CHOICES = [
    [f"scheme={name}" for name in "cgc frc forget gc_dc epsilon_brc soft_bibd cyclic_partial agc".split()],
    [f"delay={name}" for name in "pareto markov shifted_exponential epochs".split()],
    "wait=decodable wait=fastest code=uncoded code=expander placement=greedy task=linear_regression".split(),
    "n=12 s=3 seeds=0-1 horizon=2 overhead=0.1".split(),
]
KEYS = """n s code.n code.d code.m code.seed wait.q wait.s iterations seeds horizon overhead exact bound delay.scale
    delay.shape delay.persistence delay.p code.clusters code.epsilon code._target_ delay._target_ data_dir scheme schem
    code.betta optimizer.learning_rate""".split()
SCHEMES = ["wait for all", "cyclic, s = 1", "bound: any loads", "", *"cgc frc uneven nope".split()]
SWEEPS = "scheme=glob(c*) s=interval(1,3) s=1,2 scheme=cgc,frc n=range(2,4)".split()
BENCHMARK = "--phi --late --chunks -n --pricing --rows --data-bound".split()


def command_line(chance: random.Random) -> list[str]:
    """The arguments of a command."""
    word, name, file = (chance.choice(words) for words in (WORDS, NAMES, FILES))
    out = ["-o", chance.choice(OUTPUTS)]
    settings = [chance.choice(words) for words in chance.sample(CHOICES, chance.randint(0, 3))]
    if chance.random() < 0.5:
        settings += [f"{chance.choice(KEYS)}={chance.choice(chance.choice([USUAL, WORDS]))}"]
    if not any(setting.startswith("iterations=") for setting in settings):
        settings.append("iterations=4")
    benchmark = ["benchmark", file, *chance.choices(SCHEMES, k=chance.randint(0, 2))]
    for option in chance.sample(BENCHMARK, chance.randint(0, 3)):
        benchmark += [
            option,
            *([] if option == "--data-bound" else [chance.choice(chance.choice([USUAL, WORDS]))]),
        ]
    line = chance.choice(
        [
            *[benchmark, [*benchmark, "-o", "out"]] * 3,
            ["show", *settings],
            ["simulate", *settings],
            ["simulate", "scheme=cgc", "n=4", "delay=trace", f"delay.file={file}", *settings],
            ["run", "-m", chance.choice(SWEEPS), "n=4", *settings],
            ["error", "scheme=frc", *settings, f"s={word}..{chance.choice(WORDS)}"],
            ["trace", "check", file],
            ["init", chance.choice([word, "numpy", "class", "random"])],
            ["plan", chance.choice([word, name])],
            ["list", name],
            ["theory", name, *(f"{chance.choice('nsdkx')}={chance.choice(WORDS)}" for _ in range(2))],
            ["compare", name],
            ["schema", chance.choice(["figure", "x"]), *out],
            ["publish"],
            ["job", "train", *settings, *out],
            ["job", "train", *settings, *out, "--verified", chance.choice(OUTPUTS)],
            ["job", "data", chance.choice(["digits", "digit", "", "../x"]), *out],
            ["job", "table", name, *out],
            ["job", "plot", name, "-i", file, *out],
            ["job", "page", name, *out],
        ]
    )
    if chance.random() < 0.1:
        line.insert(chance.randrange(len(line) + 1), chance.choice([*WORDS, "--debug", "--nope", "-o"]))
    return line


RUN = {"scheme": "cgc", "n": 6, "s": 1}
SIMULATED = {"iterations": 3, "seeds": 1, "delay": "pareto", "progress": False, "horizon": None}
COMPARED = {"schemes": "frc", "phi": [0.0], "late": "stop", "chunks": 8, "rows": None}
TIMES = {"fixed": np.ones(3), "growing": np.ones(3)}
#: Functions that are called, each with arguments that it takes.
FUNCTIONS: dict[Callable, dict[str, Any]] = {
    gcexp.simulate: RUN | SIMULATED,
    gcexp.benchmark: {"file": "pai-job1"} | COMPARED,
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
    return f"{of.__name__}({given})", partial(of, **given)


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
    more = peak() - before
    if more > BYTES:
        return "excess", f"{more / 2**30:.1f} GiB"
    words = ["Warning"] if trace_asked else ["Traceback", "Warning"]
    said = err.getvalue()
    if ended in ("exit 0", "exit 2", "result", "sentence") and not any(word in said for word in words):
        return ended, ""
    return "trace", said[-600:]


def files() -> set[str]:
    """The files of the project, without those of its cache."""
    found = set()
    for folder, below, names in os.walk("."):
        if folder == "." and ".cache" in below:
            below.remove(".cache")
        place = folder.removeprefix(".").removeprefix("/")
        found.update(os.path.join(place, name) for name in names)
    return found


def main(argv: list[str] | None = None) -> int:
    """Entry point: 0, or 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", help="one case: c17 is a command, p17 a call from Python")
    asked = parser.parse_args(argv)
    signal.signal(signal.SIGPROF, stop)
    cases = [f"c{i}" for i in range(asked.commands)] + [f"p{i}" for i in range(asked.calls)]
    ends: Counter = Counter()
    findings = 0
    with contextlib.ExitStack() as inside:
        inside.enter_context(patch.object(tqdm, "update", moved))
        inside.enter_context(patch.object(progress._Hidden, "update", moved))
        inside.enter_context(contextlib.chdir(inside.enter_context(tempfile.TemporaryDirectory())))
        shutil.copytree(ROOT / "conf", "conf")
        for file, text in PROJECT.items():
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text)
        there = files()
        for case in [asked.only] if asked.only else cases:
            chance = random.Random(f"{asked.seed} {case}")
            line: list[str] = []
            is_command = case[0] == "c"
            if is_command:
                line = command_line(chance)
                name, act = f"gcexp {line}", partial(command, line)
            else:
                name, act = call(chance)
            ended, wrong = tried(act, is_command, "--debug" in line)
            made = ("out/", "results/", *(f"{word}/" for word in line[-1:] if "init" in line))
            before, there = there, files()
            changed = {path for path in there ^ before if not path.startswith(made)}
            wrong = wrong or (f"wrote or removed {changed}" if changed else "")
            ends[f"{'command' if is_command else 'call'}: {ended}"] += 1
            if wrong:
                findings += 1
                print(f"{case}: {ended}: {name[:400]}: {wrong}", flush=True)
    print(*(f"{end} {ends[end]}" for end in sorted(ends)), sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
