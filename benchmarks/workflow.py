"""B10 to B12, B19 and B21: what a person waits for at the terminal. Clones hold what is committed: commit first."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import ROOT, Row, Spent, alone, clone, process

CORES = 2


def jobs(output: str) -> int:
    """How many jobs Snakemake says that it makes."""
    found = re.findall(r"^ *total +(\d+) *$", output, flags=re.MULTILINE)
    return int(found[0]) if found else 0


def b10() -> list[Row]:
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
            (bare := Path(folder, f"empty{turn}")).mkdir()
            (bare / "Snakefile").write_text("rule all:\n")
            empty.append(process("snakemake", "--dry-run", folder=bare).cpu)
    rows = []
    for name, found in (("first in a clone", cold), ("second", warm)):
        work, count = f"snakemake -n of everything, preset paper, {name}", jobs(found[0].output)
        peer, note = "1.4-2.3 s (floor)", f"{count} jobs"
        seconds = median(spent.cpu for spent in found)
        rows.append(Row("B10", work, seconds, "<= 4 s", 4, floor=median(empty), peer=peer, note=note))
    return rows


def reproduced(target: str) -> tuple[Spent, int]:
    """Snakemake in a new clone: what it took, and its jobs."""
    with TemporaryDirectory() as folder:
        place = clone(Path(folder, "clone"))
        spent = process("snakemake", "--cores", str(CORES), "--", target, folder=place)
    return spent, jobs(spent.output)


def b11() -> list[Row]:
    """B11: the first figure file alone, from a clean clone. Installing is not measured."""
    first = sorted((ROOT / "gcexp_papers").glob("*/figures/*.yaml"))[0]
    spent, count = reproduced(f"{first.parent.parent.name}_{first.stem}")
    note = f"{count} jobs, CPU {spent.cpu:.0f} s"
    work = f"first figure from a clean clone, {CORES} cores, wall"
    return [Row("B11", work, spent.wall, "< 60 s with installation", holds=spent.wall < 60, note=note)]


def b12() -> list[Row]:
    """B12: the quick preset from clean clones: the figures and tables of the five papers, and everything.

    CPU seconds are those of Snakemake and of all the processes that it waited for.
    """
    rows = []
    for name, target, most, cpu_most, wall_most in (
        ("the five papers", "all", 110, 120, 80),
        ("everything", "everything", 300, None, 150),
    ):
        spent, count = reproduced(target)
        work, note = f"quick preset, {name}", f"{count} jobs"
        bar = f"<= {wall_most} s, <= {most} jobs"
        holds = spent.wall <= wall_most and count <= most
        rows.append(Row("B12", f"{work}, {CORES} cores, wall", spent.wall, bar, holds=holds, note=note))
        rows.append(Row("B12", f"{work}, CPU", spent.cpu, f"<= {cpu_most} s" if cpu_most else "-", cpu_most))
    return rows


#: What is typed, the exit code, and the CPU seconds that it may take.
COMMANDS = {
    "list": (0, 0.5),
    "show scheme=cgc n=8 s=2": (0, 0.5),
    "show schme=cgc n=8 s=2": (2, 0.5),
    "simulate scheme=cgc n=12 s=2": (0, 1.0),
}


def b19() -> list[Row]:
    """B19: commands that answer at once, one of them with a misspelt key. Floor: Python that imports numpy."""
    rows = []
    for typed, (code, most) in COMMANDS.items():
        ours, floor = [], []
        for _ in range(6):
            floor.append(process(sys.executable, "-c", "import numpy").cpu)
            ours.append(process("gcexp", *typed.split(), code=code).cpu)
        seconds, base = median(ours[1:]), median(floor[1:])
        rows.append(Row("B19", f"gcexp {typed}", seconds, f"<= {most:g} s", most, floor=base))
    return rows


DRAWN = "partial_recovery_fig4_fixed_s"


def called(folder: str) -> dict[str, int]:
    """B21's work: how many functions of ours, in how many modules, draw a figure from its table."""
    from gcexp.figures.tables import read_table, write_table
    from gcexp.report.figurefile import figure
    from gcexp.report.jobs import make_drawing

    (published,) = (ROOT / "reports/published/data").glob(f"{DRAWN}.csv*")
    table, drawing = Path(folder, "table.csv"), Path(folder, "drawing.png")
    write_table(read_table(published), table)
    drawn, ours = figure(DRAWN, "paper"), set()

    def note(frame, event, argument):
        if event == "call" and str(ROOT / "gcexp") in (file := frame.f_code.co_filename):
            ours.add((file, frame.f_code.co_qualname))

    sys.setprofile(note)
    make_drawing(drawn, table, [drawing])
    sys.setprofile(None)
    assert drawing.is_file()
    return {"functions": len(ours), "modules": len({file for file, _ in ours})}


def b21() -> list[Row]:
    """B21: functions of gcexp that are called to draw one figure from its table, counted with `sys.setprofile`."""
    with TemporaryDirectory() as folder:
        spent, count = alone(called, folder)
    holds = count["functions"] <= 200 and count["modules"] <= 20
    note = f"{count['functions']} functions in {count['modules']} modules"
    bar = "<= 200 functions, <= 20 modules"
    return [Row("B21", f"drawing of {DRAWN}", spent.cpu, bar, holds=holds, note=note)]
