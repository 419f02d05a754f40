"""What can be seen in traces of real workers' times: strips of all times, and their statistics."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.traces.clean import read_record
from gcexp.traces.record import Flags
from gcexp_adviser.diagnosis.trace_statistics import statistics

BINS = 150  # columns of a strip at most: longer traces are averaged over consecutive rows


@columns("trace", "what", "iteration", "worker", "value", "note")
def overview(files: list[str]) -> pd.DataFrame:
    """Every trace as a strip of times over its mean, with its statistics and flags.

    For ``what`` time there is one row per strip column and worker: the first iteration of the column, and the time over
    the trace's mean. Else one row is a statistic or flag (0 or 1; NaN where the trace says nothing), or the licence, in
    ``note``.
    """
    return pd.concat([_rows(file) for file in files], ignore_index=True)


def _rows(file: str) -> pd.DataFrame:
    """Strip, statistics and flags of one trace."""
    trace = read_record(file)
    times = trace.values["time"]
    flags = trace.flags
    rows: list[dict] = []
    mean = np.nanmean(times)
    edges = np.unique(np.linspace(0, len(times), min(BINS, len(times)) + 1).astype(int))
    for begin, end in pairwise(edges):
        for column, worker in enumerate(trace.workers):
            part = times[begin:end, column]
            if not np.isnan(part).any():
                value = part.mean() / mean
                rows.append({"what": "time", "iteration": begin, "worker": worker, "value": value})
    if flags.persistent:
        always_there = ~np.isnan(times).any(0)
        facts = statistics(times[:, always_there])
    else:  # workers are new in every row, and the last row is the widest one
        facts = statistics(times[-1:])
    facts = {"iterations": len(times), "workers": len(trace.workers)} | facts
    for name in ("persistent", "data_bound", "sampled"):
        facts[name] = float(getattr(flags, name))
    for name, value in facts.items():
        rows.append({"what": name, "value": value})
    rows.append({"what": "licence", "note": flags.licence or Flags().licence})
    frame = pd.DataFrame(rows).astype({"iteration": "Int64", "worker": "Int64"})
    frame.insert(0, "trace", Path(file).stem)
    return frame
