"""What can be seen in traces of real workers' times: strips of all times, and their statistics."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.delays.trace_report import statistics
from gcexp.traces.reading import read_trace
from gcexp.traces.record import Flags

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
    trace = read_trace(file)
    times, flags = trace.values["time"], trace.flags
    wide = times[:, ~np.isnan(times).any(0)]
    # Of traces with new workers in every row the last row: the widest one.
    seen = statistics(wide if flags.persistent else times[-1:])
    mean = np.nanmean(times)
    edges = np.unique(np.linspace(0, len(times), min(BINS, len(times)) + 1).astype(int))
    rows: list[dict] = [
        {"what": "time", "iteration": a, "worker": w, "value": times[a:b, i].mean() / mean}
        for a, b in pairwise(edges)
        for i, w in enumerate(trace.workers)
        if not np.isnan(times[a:b, i]).any()
    ]
    said = {name: float(getattr(flags, name)) for name in ("persistent", "data_bound", "sampled")}
    size = {"iterations": len(times), "workers": len(trace.workers)}
    rows += [{"what": name, "value": value} for name, value in (size | seen | said).items()]
    rows.append({"what": "licence", "note": flags.licence or Flags().licence})
    frame = pd.DataFrame(rows).astype({"iteration": "Int64", "worker": "Int64"})
    frame.insert(0, "trace", Path(file).stem)
    return frame
