"""B10 to B12, B19, B21 and B22: what a person waits for. Clones hold what is committed: commit first."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import ROOT, Row, Spent, alone, clone, process
from gcexp.report.figurefile import figure
from gcexp.report.jobs import make_drawing
from gcexp.report.published import published_table

CORES = 2


def jobs(output: str) -> int:
    """How many jobs Snakemake says that it makes."""
    found = re.findall(r"^ *total +(\d+) *$", output, flags=re.MULTILINE)
    return int(found[0]) if found else 0


def b10() -> Iterator[Row]:
    """B10: ``snakemake -n`` of everything of the paper preset, as the first plan of a clone and as the second.

    Median of three clones. Floor: the plan of a file with one empty rule.
    """
    cold, warm, empty = [], [], []
    with TemporaryDirectory() as folder:
        for turn in range(3):
            place = clone(Path(folder, str(turn)))
            command = ("snakemake", "--dry-run", "--config", "preset=paper", "--", "everything")
            cold.append(process(*command, folder=place))
            warm.append(process(*command, folder=place))
            bare = Path(folder, f"empty{turn}")
            bare.mkdir()
            (bare / "Snakefile").write_text("rule all:\n")
            empty.append(process("snakemake", "--dry-run", folder=bare).cpu)
    for name, found in (("first in a clone", cold), ("second", warm)):
        work, note = f"snakemake -n of everything, preset paper, {name}", f"{jobs(found[0].output)} jobs"
        told = {"floor": median(empty), "peer": "1.4-2.3 s (floor)", "note": note}
        yield Row("B10", work, median(spent.cpu for spent in found), "<= 4 s", 4, **told)


def reproduce(target: str) -> tuple[Spent, int]:
    """Snakemake in a new clone: what it took, and its jobs."""
    with TemporaryDirectory() as folder:
        place = clone(Path(folder, "clone"))
        spent = process("snakemake", "--cores", str(CORES), "--", target, folder=place)
    return spent, jobs(spent.output)


def b11() -> Iterator[Row]:
    """B11: the first figure file alone, from a clean clone. Installing is not measured."""
    first = sorted((ROOT / "gcexp_papers").glob("*/figures/*.yaml"))[0]
    spent, count = reproduce(f"{first.parent.parent.name}_{first.stem}")
    note = f"{count} jobs, CPU {spent.cpu:.0f} s"
    work = f"first figure from a clean clone, {CORES} cores, wall"
    yield Row("B11", work, spent.wall, "< 60 s with installation", holds=spent.wall < 60, note=note)


def b12() -> Iterator[Row]:
    """B12: the quick preset from clean clones: the figures and tables of the five papers, and everything.

    CPU seconds are those of Snakemake and of all the processes that it waited for.
    """
    for work, target, most, wall_most, cpu in (
        ("quick preset, the five papers", "all", 110, 80, ("<= 120 s", 120)),
        ("quick preset, everything", "everything", 300, 150, ()),
    ):
        spent, count = reproduce(target)
        told = {"holds": spent.wall <= wall_most and count <= most, "note": f"{count} jobs"}
        bar = f"<= {wall_most} s, <= {most} jobs"
        yield Row("B12", f"{work}, {CORES} cores, wall", spent.wall, bar, **told)
        yield Row("B12", f"{work}, CPU", spent.cpu, *cpu)


#: What is typed, the exit code, and the CPU seconds that it may take.
COMMANDS = {
    "list": (0, 0.5),
    "show scheme=cgc n=8 s=2": (0, 0.5),
    "show schme=cgc n=8 s=2": (2, 0.5),
    "simulate scheme=cgc n=12 s=2": (0, 1.0),
}


def b19() -> Iterator[Row]:
    """B19: commands that answer at once, one of them with a misspelt key. Floor: Python that imports numpy."""
    for typed, (code, most) in COMMANDS.items():
        found = []
        for _ in range(6):
            floor = process(sys.executable, "-c", "import numpy").cpu
            found.append((process("gcexp", *typed.split(), code=code).cpu, floor))
        seconds, floor = map(median, zip(*found[1:], strict=True))
        yield Row("B19", f"gcexp {typed}", seconds, f"<= {most:g} s", most, floor=floor)


DRAWN = "partial_recovery_fig4_fixed_s"


def count_functions(folder: str) -> tuple[int, int]:
    """B21's work: how many functions of ours, in how many modules, draw a figure from its table."""
    table = published_table(DRAWN)
    drawing = Path(folder, "drawing.png")
    one_figure = figure(DRAWN, "paper")
    functions = set()

    def note(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and str(ROOT / "gcexp") in file:
            functions.add((file, frame.f_code.co_qualname))

    sys.setprofile(note)
    make_drawing(one_figure, table, [drawing])
    sys.setprofile(None)
    assert drawing.is_file()
    modules = {file for file, _ in functions}
    return len(functions), len(modules)


def b21() -> Iterator[Row]:
    """B21: functions of gcexp that are called to draw one figure from its table, counted with `sys.setprofile`."""
    with TemporaryDirectory() as folder:
        spent, (functions, modules) = alone(count_functions, folder)
    told = {
        "holds": functions <= 200,
        "note": f"{functions} functions in {modules} modules",
    }
    yield Row("B21", f"drawing of {DRAWN}", spent.cpu, "<= 200 functions", **told)


def closed_loop() -> tuple[float, float, float, str]:
    """B22's work: seconds of an uncoded step, of a coded one as measured and as predicted, and the verdict."""
    sys.path.insert(0, str(ROOT / "examples"))
    example = importlib.import_module("closed_loop")
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        verdict, _, predicted, measured = example.main(Path(folder))
        with np.load(Path(folder) / "steps-0.npz") as steps:
            uncoded = float(steps["uncoded"][example.SETTLED :].mean())
    return uncoded, measured["cgc"] * uncoded, float(predicted["cgc"]) * uncoded, verdict


def b22() -> Iterator[Row]:
    """B22: a coded step of four real ranks, from ``examples/closed_loop.py``. Floor: the uncoded step of the same run.

    The bar is met where the code saves a tenth of the step, and the prediction is within 10 % of it or the run is void.
    """
    _, (uncoded, coded, predicted, verdict) = alone(closed_loop)
    holds = verdict != "no" and coded < 0.9 * uncoded
    note = f"predicted {predicted * 1e3:.3g} ms; within 10 %: {verdict}"
    bar = "<= 0.9 of the uncoded step, predicted within 10 %"
    yield Row("B22", "coded step of four real ranks, wall", coded, bar, holds=holds, floor=uncoded, note=note)
