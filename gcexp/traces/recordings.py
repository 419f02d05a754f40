"""Recordings of `gcexp.distributed.Recorder`: a file of each rank in one folder, joined to one table."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from io import StringIO
from math import inf
from pathlib import Path

import pandas as pd

from gcexp.errors import DataError, require
from gcexp.traces.frames import record_of_frame
from gcexp.traces.record import RECORDED, Flags, TraceFile, rank_file

_WARM_UP = 1  # first iterations of a recording that are left out unless a person says how many


def record_of_recordings(folder: Path, written: tuple, warm_up: int | None = None) -> TraceFile:
    """The record of what all ranks wrote, without its first iterations (default 1).

    A folder is not read again as long as nothing of it is `written`, which `gcexp.traces.places.Place` tells.
    """
    first = _WARM_UP if warm_up is None else warm_up
    require(first >= 0, f"warm-up is a number of iterations >= 0, got {first}")
    return _record_of(folder, written, first)


@lru_cache(maxsize=4)
def _record_of(folder: Path, _written: tuple, warm_up: int) -> TraceFile:
    frame, told = joined(folder, warm_up)
    trace = record_of_frame(frame, folder.name, f"trace {folder.name}", Flags(unit="s"), "row {}".format)
    return replace(trace, decisions=(*told, *trace.decisions))


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
            lacking = folder / rank_file(of_ranks.isna().idxmax())
            raise DataError(f"{lacking} lacks iteration {iteration}")
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
        if file.name != rank_file(rank):
            raise DataError(f"{folder} lacks the recording of rank {rank}, {rank_file(rank)}")
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
