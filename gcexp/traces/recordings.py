"""Recordings of `gcexp.distributed.Recorder`: a file of each rank in one folder, joined to one table."""

from __future__ import annotations

from io import StringIO
from math import inf
from pathlib import Path

import pandas as pd

from gcexp.errors import DataError
from gcexp.traces.record import RECORDED, rank_file


def joined(folder: Path, warm_up: int) -> tuple[pd.DataFrame, list[str]]:
    """The rows of all ranks without the first `warm_up` iterations, numbered from 0, and what was decided.

    What follows the last iteration that every rank has is dropped and counted: a rank may have been killed. The column
    ``compute`` is kept if every row has it.

    Raises
    ------
    DataError
        For missing ranks or iterations, a time or load that is no number above 0, and loads that differ in an
        iteration.
    """
    recordings = _recordings(folder)
    rows = pd.concat(recordings)
    last = min(recording["iteration"].max() for recording in recordings)
    first = rows["iteration"].min() + warm_up
    if first > last:
        raise DataError(f"{folder}: the iterations of all ranks end with {last}, warm-up is {warm_up}")

    loads = rows.pivot(index="iteration", columns="worker", values="load")
    loads = loads.reindex(range(first, last + 1))
    for iteration, of_ranks in loads.iterrows():
        if of_ranks.isna().any():
            raise DataError(f"{rank_file(folder, of_ranks.isna().idxmax())} lacks iteration {iteration}")
        if of_ranks.nunique() > 1:
            raise DataError(f"{folder}: the ranks' loads differ in iteration {iteration}")

    kept = rows[rows["iteration"].between(first, last)].sort_values(["iteration", "worker"])
    table = kept.assign(iteration=kept["iteration"] - first).dropna(axis=1).reset_index(drop=True)
    dropped = int((rows["iteration"] > last).sum())
    told = [f"joined the recordings of {len(recordings)} ranks"]
    if warm_up:
        noun = "iteration" if warm_up == 1 else f"{warm_up} iterations"
        told.append(f"left out the first {noun}, to warm up; gcexp trace import --warm-up says how many")
    if dropped:
        told.append(f"left out {dropped} rows behind the last iteration that every rank has")
    return table, told


def _recordings(folder: Path) -> list[pd.DataFrame]:
    """All ranks' rows; there is a file of every rank from 0 on."""
    files = sorted(folder.glob("rank-*.csv"))
    recordings = []
    for rank, file in enumerate(files or [folder]):
        if file != rank_file(folder, rank):
            raise DataError(f"{folder} lacks the recording of rank {rank}, {rank_file(folder, rank).name}")
        recordings.append(_recording(rank, file))
    return recordings


def _recording(rank: int, file: Path) -> pd.DataFrame:
    """A rank's rows, without a last line that was cut off when the rank was killed."""
    try:
        text = file.read_text("utf-8").rpartition("\n")[0]
        rows = pd.read_csv(StringIO(text), dtype=RECORDED, index_col=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read ({error})") from None
    if list(rows) != list(RECORDED) or rows.empty:
        raise DataError(f"{file} is no recording with columns {','.join(RECORDED)} and an iteration")
    fine = (rows["worker"] == rank) & ~rows["iteration"].duplicated()
    compute = rows["compute"].fillna(1.0)  # which blocks do not have
    for numbers in (rows["time"], compute, rows["load"]):
        fine &= (numbers > 0) & (numbers < inf)
    if not fine.all():
        line = fine.argmin() + 2
        raise DataError(f"{file}: line {line} is no new iteration of rank {rank} with numbers > 0")
    return rows
