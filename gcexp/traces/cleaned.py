"""A trace as a file in the format of this project: what any log becomes when it is to be kept."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gcexp.errors import UserError, require
from gcexp.files import read_json, write_text, written
from gcexp.traces.record import Flags, TraceFile

_INDEX = "index.json"


def as_frame(trace: TraceFile) -> pd.DataFrame:
    """The rows of a trace, one for each iteration, worker and micro-batch that is there; iterations count from 0.

    Examples
    --------
    >>> from gcexp.traces.reading import trace_of
    >>> as_frame(trace_of([[1.0, 2.0], [1.5, 1.0]])).to_numpy().tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [1.0, 1.0, 1.0]]
    """
    times = trace.values["time"]
    rows, places = np.nonzero(~np.isnan(times))
    labels = np.array(trace.names, dtype=object) if trace.names else np.array(trace.workers)
    columns: dict[str, np.ndarray] = {"iteration": rows, "worker": labels[places]}
    repeats = 1
    if trace.chunks is not None:
        repeats = trace.chunks.shape[2]
        columns = {name: np.repeat(values, repeats) for name, values in columns.items()}
        columns["chunk"] = np.tile(np.arange(repeats), len(rows))
    for name in trace.columns:
        if name == "time" and trace.chunks is not None:
            columns["time"] = trace.chunks[rows, places].ravel()
        elif name in trace.values:
            columns[name] = np.repeat(trace.values[name][rows, places], repeats)
    return pd.DataFrame(columns).dropna(axis=1, how="all")


def write_clean(trace: TraceFile, output: Path) -> list[Path]:
    """Write a trace as a new CSV file, and what its times mean into ``index.json`` beside it where that is not usual.

    Raises
    ------
    UserError
        For a file that is there already, and an ``index.json`` that is no index of traces.
    """
    require(not output.exists(), f"{output} is there already; name a new file")
    entry = _unusual(trace.flags)
    index = output.parent / _INDEX
    entries: dict[str, Any] = {}
    if index.exists():
        entries = read_json(index)
        if not isinstance(entries, dict):
            raise UserError(f"{index} is no index of traces; write {output.name} into another folder")
    with written(output) as temporary:
        as_frame(trace).to_csv(temporary, index=False)
    if not entry and output.stem not in entries:
        return [output]
    entries[output.stem] = entry
    write_text(index, json.dumps(entries, indent=1) + "\n")
    return [output, index]


def _unusual(flags: Flags) -> dict[str, Any]:
    """Flags that differ from those of a file without an entry."""
    found = {}
    for one in fields(Flags):
        value = getattr(flags, one.name)
        if value != one.default:
            found[one.name] = value
    return found
