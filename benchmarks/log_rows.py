"""Is a log read for what its rows are?  ``python -m benchmarks.log_rows write DIR`` and ``... judge DIR``.

Written before the reader was made to ask what a row is, and without a look at it. Known clusters of 4 to 16 workers in
40 to 300 iterations are written as logs of the kinds below. Times are lognormal, exponential (above a least time) or
gamma, with a standard deviation of 4 to 20 %; all of an iteration may share a factor; in seven of ten clusters one
worker is slow throughout, by a factor of 1.3 to 3. Names of columns, units, separators, CSV or lines of JSON, one file
or one for each worker, are drawn too. All of it follows from ``numpy.random.default_rng([seed, kind, index])``, where
kind is the place in `benchmarks.log_kinds.KINDS`, so that the wrong and the right log of an index are akin.

In the *wrong* variant the plain reading gives a false verdict. In the *right* one the log resembles it and is in order.

=============== ============================================= ==============================================
kind            wrong                                         right
=============== ============================================= ==============================================
gapless         rows begin where the last ended               a pause between two rows
cumulative      time since the start, a restart or the epoch  durations that grow by up to 40 % over the run
barrier         time after the barrier, compute before it     time = compute + the worker's communication
compute_unit    compute in another unit, or in percent        in the same unit
uncounted       warm-up, evaluation, invalid rows are marked  the mark is constant, or names racks
asynchronous    one worker's update is one step               rows in the order of finishing, with their number
sampled         as many workers each time, not the same ones  all, or all but for a few lost rows
lost_line       no step; one file lacks one to three lines    no line is lost, or a column says the step
joins_late      some workers start later                      they stand at the end of the file
cadence         some ranks log every second to tenth step     all of them do
rotated         rank0.log, rank0.log.1, rank0.log.2           rank0.log or rank.0.log alone
sizes           unequal data; speed is per example            equal data
counts          equal whole numbers, counts, bytes            whole milliseconds
server          one worker is the server (master, ...)        all are called server0, server1, ...
long_ids        ids of 18 to 20 digits, some nearly alike     ids of 9 to 12 digits
step_falls      2 or 3 sessions, each from its first step     one run, written in blocks of steps
other_workers   two jobs of different workers in one file     names of random letters
attempts        attempt_0, attempt_1, each from step 0        attempt_0, attempt_1 whose steps go on
file_numbers    slurm-JOB_RANK.out of two jobs                of one job
run_column      a column job, run, session, attempt           constant, or an attempt whose steps go on
checkpoint      went back to a step in the middle             continued at a high step, none twice
local_ranks     a file per node with local ranks              with ranks over all nodes
=============== ============================================= ==============================================

Beside each log lies ``truth.json``, never inside the folder that is read. What a person sees of `gcexp.advise` is
judged. It is a *value* where iterations, workers, the mean time of waiting for all (within 5 %), phi and who is slow
are right and, where that is sensible, the verdict is that of the true times. A worker that is slow may go unnamed
only where it does for the true times too. An error of `gcexp.errors` is a question (*ask*) if it says what to type,
as in ``columns=...``, else a refusal; it is *unrelated* where its words say nothing of what is wrong with the log: read
it with ``--show``. Words that tell the doubt count where the value is false. All else is *silent*: a false verdict
without a doubt. *misled* is a question whose cure would spoil the log. *needless* is a question, a refusal or a doubt
where the truth does not call for one.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import re
import shutil
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gcexp
from benchmarks.log_kinds import KINDS
from gcexp.errors import UserError

VARIANTS = ("wrong", "right")
OUTCOMES = ("value", "ask", "refuse", "doubt", "unrelated", "misled", "needless", "silent")
CLOSE = 0.05  # of times and of phi
CLOSE_PHI = 0.01  # where two verdicts can be compared
CLOSE_RATIO = 0.03  # of times relative to waiting, where two remedies are as good

#: Sentences that say how a log in order was read: no doubt.
ROUTINE = re.compile(
    r"took |no unit of |times are in |columns are divided by |iterations begin with |numbered the pairs of "
    r"|no column says the iteration: the rows of each file are numbered|put the rows of |iteration = "
    r"|did not use [\w.%/-]+((, | and )[\w.%/-]+)*$|[\w.-]+: \d+ iterations of \d+ workers"
)
#: Sentences about the times, once they are read.
ABOUT_TIMES = re.compile(
    r"slow throughout|% of waiting|If gradients may be dropped|This rests on|phi is not known|Not sure|What it costs"
    r"|No exact |No timeout and no quorum|in some iterations all workers are slow|single workers are slow"
    r"|Workers differ lastingly|no mechanism stands out|all times (fall|grow)|Measure phi first"
)
#: Words with which a sentence tells a doubt.
DOUBTS = re.compile(
    r"\?|cannot|can not|\bmay\b|might|seem|whether|unsure|doubt|depends|looks? like|as if|not known|\w+=\w|left out"
)


def folder_of(root: Path, kind: str, variant: str, index: int) -> Path:
    """Where a log and its truth lie."""
    return root / kind / f"{variant}_{index:04d}"


def write(root: Path, kind: str, variant: str, index: int, seed: int) -> Path:
    """Write a log into the folder ``log`` and its truth beside it; returns the folder of both."""
    place = folder_of(root, kind, variant, index)
    if place.exists():
        shutil.rmtree(place)
    (place / "log").mkdir(parents=True)
    rng = np.random.default_rng([seed, list(KINDS).index(kind), index])
    truth = KINDS[kind](rng, variant == "wrong", place / "log").as_dict()
    told = {"kind": kind, "variant": variant, "seed": seed, "index": index, **truth}
    (place / "truth.json").write_text(json.dumps(told), encoding="utf-8")
    return place


@dataclass(frozen=True)
class Outcome:
    """What a log came to, why, and in how many CPU seconds."""

    place: Path
    kind: str
    variant: str
    result: str  # of OUTCOMES
    why: str
    seconds: float


def judged(place: Path) -> Outcome:
    """Read the log of a folder as a user would, and compare with its truth."""
    truth = json.loads((place / "truth.json").read_text(encoding="utf-8"))
    files = [*(place / "log").iterdir()]
    source = files[0] if len(files) == 1 and files[0].is_file() else place / "log"
    before = time.process_time()
    try:
        advice = gcexp.advise(source)
    except UserError as error:
        seconds = time.process_time() - before
        result, why = _of_error(str(error).replace(str(place), ""), truth)  # the folder tells the kind
    except Exception as error:  # a defect is no outcome that a truth may call for
        seconds = time.process_time() - before
        result, why = "silent", f"crash: {type(error).__name__}: {error}"
    else:
        seconds = time.process_time() - before
        result, why = _of_advice(advice, truth)
    return Outcome(place, truth["kind"], truth["variant"], result, why, seconds)


def _of_error(sentence: str, truth: dict[str, Any]) -> tuple[str, str]:
    """The outcome of an error for users."""
    if re.search(truth["misleading"], sentence):
        return "misled", sentence
    result = "ask" if re.search(r"\b[a-z_]+=\S", sentence) else "refuse"
    if result not in truth["acceptable"]:
        return "needless", sentence
    if not re.search(truth["words"], sentence, re.IGNORECASE):
        return "unrelated", sentence
    return result, sentence


def _of_advice(advice: Any, truth: dict[str, Any]) -> tuple[str, str]:
    """The outcome of a verdict, with the doubts that it tells."""
    sentences = [line for line in str(advice).splitlines() if not ROUTINE.match(line)]
    own = [line for line in sentences if line.startswith("Doubtful") or not ABOUT_TIMES.search(line)]
    if "value" not in truth["acceptable"]:
        return _silent_unless_told(own, truth, "a verdict, where the rows allow none")
    try:
        plain = gcexp.advise(_true_times(truth))
    except UserError as error:
        return "needless", f"the true times in the plainest form are refused: {error}"
    difference = _difference(advice, plain, truth)
    if difference:
        return _silent_unless_told(own, truth, difference)
    if truth["variant"] == "wrong":
        return "value", ""
    if plain.as_dict()["phi_measured"] and not advice.as_dict()["phi_measured"]:
        return "needless", "phi is asked for, and the column compute says it"
    usual = {_form(line) for line in str(plain).splitlines()}
    needless = [line for line in own if DOUBTS.search(line) and _form(line) not in usual]
    return ("needless", " / ".join(needless)) if needless else ("value", "")


def _silent_unless_told(sentences: list[str], truth: dict[str, Any], why: str) -> tuple[str, str]:
    """A doubt where a sentence tells the one that the log deserves, else a silent wrong verdict."""
    told = [line for line in sentences if re.search(truth["words"], line, re.IGNORECASE)]
    if told and "doubt" in truth["acceptable"]:
        return "doubt", " / ".join(told)
    return "silent", why


def _form(sentence: str) -> str:
    """A sentence without its numbers and the trace's name."""
    return re.sub(r"\d+(\.\d+)?", "#", re.sub(r"^[\w.-]+: ", "", sentence))


def _true_times(truth: dict[str, Any]) -> pd.DataFrame:
    """The true times in the plainest form: a row for each iteration and worker, in seconds."""
    times = np.array(truth["times"], dtype=float)
    iterations, workers = times.shape
    columns = {
        "iteration": np.repeat(np.arange(iterations), workers),
        "worker": np.tile([f"w{name}" if len(name) > 15 else name for name in truth["names"]], iterations),
        "time": times.ravel(),
    }
    if truth["compute"] is not None and truth["phi"] is not None:
        columns["compute"] = np.array(truth["compute"], dtype=float).ravel()
    return pd.DataFrame(columns).dropna().reset_index(drop=True)


def _difference(advice: Any, plain: Any, truth: dict[str, Any]) -> str:
    """In what an answer differs from the truth, or nothing; `plain` is the answer on the true times."""
    said = advice.as_dict()
    least, most = truth["iterations"]
    if not least <= said["iterations"] <= most:
        return f"{said['iterations']} iterations, not {least} to {most}"
    if said["workers"] != truth["workers"]:
        return f"{said['workers']} workers, not {truth['workers']}"
    allowed = [*truth["waiting"]]
    if np.isnan(np.array(truth["times"], dtype=float)).any():  # lost rows may be taken as late
        allowed.append(_waiting(plain))
    if not np.isclose(_waiting(advice), allowed, rtol=CLOSE, atol=0).any():
        return f"waiting takes {_waiting(advice):.4g}, not {allowed}"
    named, on_plain = _slow(said, truth["names"]), _slow(plain.as_dict(), truth["names"])
    slow = {truth["slow"]} - {None}
    if named - slow - on_plain:
        return f"{named} called slow, not {slow}"
    if slow & on_plain - named:
        return f"{slow} not called slow"
    if "drift" in set(said["diagnosis"]["found"]) - set(plain.as_dict()["diagnosis"]["found"]):
        return "drift, where there is none"
    if truth["phi"] is not None:
        low, high = advice.phi if np.ndim(advice.phi) else (advice.phi, advice.phi)
        if not low - CLOSE <= truth["phi"] <= high + CLOSE:
            return f"phi {low:.3g} to {high:.3g}, not {truth['phi']:.3g}"
    if truth["same_verdict"]:
        return _other_verdict(said, plain.as_dict())
    return ""


def _waiting(advice: Any) -> float:
    """Mean time of waiting for all, on the times that an answer rests on."""
    return float(np.nanmax(advice.recorded.x, axis=1).mean())


def _other_verdict(said: dict[str, Any], plain: dict[str, Any]) -> str:
    """In what two verdicts differ: the remedy at some phi, and its time by more than equally good ones do."""
    for one, other in product(said["by_phi"], plain["by_phi"]):
        if abs(one["phi"] - other["phi"]) > CLOSE_PHI or one["remedy"] == other["remedy"]:
            continue
        if abs(one["ratio"] - other["ratio"]) > CLOSE_RATIO:
            return f"{one['remedy']} at phi {one['phi']:.2g}, not {other['remedy']}"
    return ""


def _slow(said: dict[str, Any], names: Iterable[str]) -> set[str]:
    """Workers that are called slow, throughout or since some iteration, by their names in the truth."""
    named = set()
    for entry in said["diagnosis"]["mechanisms"]:
        slow = entry["mechanism"] == "bad_node" and entry["number"] == "factor"
        changed = entry["mechanism"] == "level_change" and entry["number"] == "factor" and entry["value"] > 1
        if entry["status"] == "found" and (slow or changed):
            named |= {_known_name(label, names) for label in str(entry["workers"]).replace(",", " ").split()}
    return named


def _known_name(label: str, names: Iterable[str]) -> str:
    """The name in the truth of a worker that a reader may call rank3, 3 or slurm-1001_3.

    Examples
    --------
    >>> _known_name("slurm-1001_3", ["2", "3"])
    '3'
    >>> _known_name("node1+0", ["node0/0", "node1/0"])
    'node1/0'
    """
    if label in names:
        return label
    digits = re.findall(r"\d+", label)
    for name in names:
        own = re.findall(r"\d+", name)
        if own and digits[-len(own) :] == own:
            return name
    return label


def table(outcomes: list[Outcome]) -> str:
    """One line for each kind and variant: how many logs, with which outcomes, and CPU seconds for each log."""
    head = (
        f"{'kind':14} {'variant':7} {'logs':>5}"
        + "".join(f"{name:>10}" for name in OUTCOMES)
        + f"{'CPU s':>8}"
    )
    lines = [head]
    for kind in KINDS:
        for variant in VARIANTS:
            own = [outcome for outcome in outcomes if (outcome.kind, outcome.variant) == (kind, variant)]
            if own:
                lines.append(_line(kind, variant, own))
    for variant in VARIANTS:
        own = [outcome for outcome in outcomes if outcome.variant == variant]
        if own:
            lines.append(_line("all", variant, own))
    return "\n".join(lines)


def _line(kind: str, variant: str, outcomes: list[Outcome]) -> str:
    """A line of the table."""
    number = Counter(outcome.result for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
    cells = "".join(f"{number[name] or '-':>10}" for name in OUTCOMES)
    return f"{kind:14} {variant:7} {len(outcomes):5}{cells}{seconds:8.3f}"


def examples(outcomes: list[Outcome], most: int) -> str:
    """Up to so many examples of each outcome but values, with what was said or what is wrong."""
    shown: Counter[tuple[str, str, str]] = Counter()
    lines = []
    for outcome in outcomes:
        group = (outcome.kind, outcome.variant, outcome.result)
        if outcome.result != "value" and shown[group] < most:
            shown[group] += 1
            lines.append(f"{outcome.place}: {outcome.result}: {outcome.why}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Entry point: exit code 1 where `judge` finds a silent wrong verdict."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.log_rows", description=__doc__.splitlines()[0]
    )
    parser.add_argument("act", choices=("write", "judge"))
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="one of them; default: all")
    parser.add_argument("--count", type=int, default=20, help="write: logs of each kind and variant")
    parser.add_argument("--seed", type=int, default=0, help="write: default 0")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="judge: N examples of each outcome")
    given = parser.parse_args(argv)
    kinds = given.kind or [*KINDS]
    if given.act == "write":
        for kind in kinds:
            for variant in VARIANTS:
                for index in range(given.count):
                    write(given.folder, kind, variant, index, given.seed)
        return 0
    outcomes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in kinds:
            print(f"{kind} ...", file=sys.stderr, flush=True)
            outcomes += [judged(truth.parent) for truth in sorted(given.folder.glob(f"{kind}/*/truth.json"))]
    print(table(outcomes))
    if given.show:
        print(examples(outcomes, given.show))
    return int(any(outcome.result == "silent" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
