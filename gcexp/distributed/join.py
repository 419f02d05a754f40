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
    """Write the recordings of all ranks as one trace, and say what it holds.

    Iterations after the last one that every rank has are dropped and counted: a rank may have been killed. The others
    are numbered anew from 0 behind the warm-up. The column ``compute`` is kept if every row has it.

    Parameters
    ----------
    folder : path
        With ``rank-0000.csv``, ``rank-0001.csv``, ... and no rank left out.
    output : path
        A new file; one that is there is not written over.
    warm_up : int
        First iterations that are left out.

    Raises
    ------
    DataError
        For missing ranks or iterations, a time that is no number > 0, and loads that differ within an iteration.
    UserError
        If `output` is there.
    """
    folder, output = Path(folder), Path(output)
    if warm_up < 0:
        raise UserError(f"warm-up is a number of iterations >= 0, got {warm_up}")
    files = sorted(folder.glob("rank-*.csv"))
    if not files:
        raise DataError(f"{folder} has no recording, which would be named {rank_file(folder, 0).name}")
    for rank, file in enumerate(files):
        if file != rank_file(folder, rank):
            raise DataError(f"{folder} lacks the recording of rank {rank}, {rank_file(folder, rank).name}")
    if output.exists():
        raise UserError(f"{output} is there already; name a new file")
    ranks = [_rows(file) for file in files]
    first, last = min(min(rows) for rows in ranks), min(max(rows) for rows in ranks)
    for file, rows in zip(files, ranks, strict=True):
        if missing := [t for t in range(first, last + 1) if t not in rows]:
            raise DataError(f"{file} lacks iteration {missing[0]}")
    kept = range(first + warm_up, last + 1)
    if not kept:
        raise DataError(f"{folder} has {last + 1 - first} iterations of all ranks, and warm-up leaves out {warm_up}")
    for t in kept:
        if len({rows[t][2] for rows in ranks}) > 1:
            raise DataError(f"{folder}: the ranks' loads differ in iteration {t}")
    columns = COLUMNS if all(rows[t][1] for rows in ranks for t in kept) else [c for c in COLUMNS if c != "compute"]
    with written(output) as temporary, open(temporary, "w", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for number, t in enumerate(kept):
            for worker, rows in enumerate(ranks):
                table.writerow(dict(zip(COLUMNS, (number, worker, *rows[t]), strict=True)))
    dropped = sum(t > last for rows in ranks for t in rows)
    return (
        f"{output}: {len(kept)} iterations of {len(files)} workers; left out: {warm_up} first iterations, "
        f"{dropped} rows behind the last iteration of all"
    )


def _rows(file: Path) -> dict[int, list[str]]:
    """Time, compute and load of each iteration; a last line that a killed rank has left half is dropped."""
    *lines, rest = file.read_text("utf-8").split("\n")
    if not lines or lines[0] != ",".join(COLUMNS):
        raise DataError(f"{file} is no recording: its first line is not {','.join(COLUMNS)}")
    rows = {}
    for number, cells in enumerate(csv.reader(lines[1:]), start=2):
        try:
            rows[int(cells[0])] = cells[2:]
            fine = len(cells) == len(COLUMNS) and float(cells[2]) > 0 and isfinite(float(cells[2]))
        except (ValueError, IndexError):
            fine = False
        if not fine:
            raise DataError(f"{file}: line {number} is {','.join(cells)!r}, wanted are {', '.join(COLUMNS)}, time > 0")
    if not rows:
        raise DataError(f"{file} has no iteration")
    return rows
