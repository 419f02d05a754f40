"""One trace of the files that a `Recorder` of each rank has written."""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path

from gcexp.errors import DataError, UserError
from gcexp.files import written

COLUMNS = ("iteration", "worker", "time", "compute", "load")


def rank_file(folder: Path | str, rank: int) -> Path:
    """Where a rank's recording lies.

    Examples
    --------
    >>> str(rank_file("jobs", 3))
    'jobs/rank-0003.csv'
    """
    return Path(folder) / f"rank-{rank:04}.csv"


def join(folder: Path | str, output: Path | str, warm_up: int = 1) -> str:
    """Write the recordings of all ranks as one new trace without its first `warm_up` iterations; what it holds.

    What follows the last iteration that every rank has is dropped and counted: a rank may have been killed. The column
    ``compute`` is kept if every row has it.

    Raises
    ------
    DataError
        For missing ranks or iterations, a time that is no number > 0, and loads that differ within an iteration.
    UserError
        If `output` is there.
    """
    folder, output = Path(folder), Path(output)
    files = sorted(folder.glob("rank-*.csv"))
    for rank, file in enumerate(files or [folder]):
        if file != rank_file(folder, rank):
            raise DataError(f"{folder} lacks the recording of rank {rank}, {rank_file(folder, rank).name}")
    if output.exists():
        raise UserError(f"{output} is there already; name a new file")
    ranks = [_rows(file) for file in files]
    first, last = min(min(rows) for rows in ranks), min(max(rows) for rows in ranks)
    kept = range(first + max(0, warm_up), last + 1)
    if not kept:
        raise DataError(
            f"{folder} has {last + 1 - first} iterations of all ranks, and warm-up leaves out {warm_up}"
        )
    for t in kept:
        if lacking := [rank for rank, rows in enumerate(ranks) if t not in rows]:
            raise DataError(f"{files[lacking[0]]} lacks iteration {t}")
        if len({rows[t][-1] for rows in ranks}) > 1:
            raise DataError(f"{folder}: the ranks' loads differ in iteration {t}")
    columns = [
        name for name in COLUMNS if name != "compute" or all(rows[t][1] for rows in ranks for t in kept)
    ]
    with written(output) as temporary, open(temporary, "w", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for number, t in enumerate(kept):
            for worker, rows in enumerate(ranks):
                table.writerow(dict(zip(COLUMNS, (number, worker, *rows[t]), strict=True)))
    dropped = sum(t > last for rows in ranks for t in rows)
    return f"{output}: {len(kept)} iterations of {len(files)} workers; {dropped} rows behind the last are dropped"


def _rows(file: Path) -> dict[int, list[str]]:
    """Time, compute and load of each iteration; a last line that was cut when the rank was killed is dropped."""
    head, *lines = file.read_text("utf-8").rpartition("\n")[0].split("\n")
    rows = {}
    for number, line in enumerate(lines, start=2):
        cells = line.split(",")
        try:
            rows[int(cells[0])] = cells[2:]
            fine = len(cells) == len(COLUMNS) and isfinite(float(cells[2])) and float(cells[2]) > 0
        except ValueError:
            fine = False
        if not fine:
            raise DataError(
                f"{file}: line {number} is {line!r}, wanted are {', '.join(COLUMNS)} with a time > 0"
            )
    if head != ",".join(COLUMNS) or not rows:
        raise DataError(f"{file} is no recording with the columns {', '.join(COLUMNS)} and an iteration")
    return rows
