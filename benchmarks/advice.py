"""B25: advice on a long log, beside the benchmark of all schemes on the same times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.logs import WORKERS, write_log
from benchmarks.measure import Row, process

ITERATIONS = 5000
_REPEATS = 3


def b25() -> Iterator[Row]:
    """B25: ``gcexp advise`` of a log of 512 workers x 5000 iterations, with phi 0.5.

    Floor: ``gcexp benchmark`` of its default schemes on the same log and phi. Both read the log. They take turns.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        write_log(str(path), ITERATIONS)
        gcexp = [sys.executable, "-m", "gcexp"]
        advice, schemes = [], []
        for _ in range(_REPEATS):
            advice.append(process(*gcexp, "advise", str(path), "phi=0.5"))
            schemes.append(process(*gcexp, "benchmark", str(path), "--phi", "0.5"))
    ours = median(one.cpu for one in advice)
    floor = median(one.cpu for one in schemes)
    yield Row(
        "B25",
        f"advice on a log of {WORKERS} workers x {ITERATIONS}",
        ours,
        "<= gcexp benchmark",
        limit=floor,
        floor=floor,
    )
