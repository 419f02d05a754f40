"""Codes of 2023 to 2026 beside older ones, on delays that are alike, unequal or recorded."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.delays import Composed, Trace
from gcexp.errors import require_known
from gcexp_adviser.benchmark import COLUMNS, benchmark

_PREFIX = (
    10  # one of so many iterations is known before the run, as `gcexp_adviser.benchmark.benchmark` has it
)
LEARNED = ("each", "mean")


@columns("delays", "panel", "seed", *COLUMNS, clocks=True)
def comparison(
    delays: list[dict],
    n: int,
    iterations: int,
    draws: int,
    phi: list[float],
    deadline: float,
    learned: dict[str, str],
    schemes: list,
) -> pd.DataFrame:
    """`gcexp.benchmark` of several delays, with straggling probabilities learned from their first tenth.

    Parameters
    ----------
    delays : list of dict
        Each has a ``name``, and either the ``file`` of a trace or parameters of `gcexp.delays.Composed`.
    n, iterations : int
        Workers; iterations that are drawn, of a trace those that it has.
    draws : int
        How often the times are drawn, with seeds from 0 on; a trace is what it is, and has seed 0 alone.
    phi : list of float
        Shares of the time that do not grow with the load.
    deadline : float
        In medians: who takes longer straggles. Rules with a deadline are to be given the same number.
    learned : dict
        Label of a scheme to what its `code.p` is: the probability of ``each`` worker, or their ``mean``.
    schemes : list
        As in `gcexp_adviser.benchmark.benchmark`.
    """
    frames = []
    for given in delays:
        name = given["name"]
        for seed in range(1 if "file" in given else draws):
            times = _times(given, n, iterations, seed)
            known = times[: len(times) // _PREFIX]
            p = straggling_probabilities(known, deadline)
            entries = []
            for entry in schemes:
                entries.append(_with_probabilities(entry, learned.get(entry["label"]), p))
            found = benchmark(times, entries, phi, n=n, progress=False)
            panels = [f"{name}, φ = {share:g}" for share in found["phi"]]
            frames.append(found.assign(delays=name, panel=panels, seed=seed))
    return pd.concat(frames, ignore_index=True)


def straggling_probabilities(times: np.ndarray, deadline: float) -> np.ndarray:
    """How often each worker took longer than `deadline` medians, (n,), of times (iterations, workers).

    Half an iteration is added on either side, so that no probability is 0 or 1.

    Examples
    --------
    >>> straggling_probabilities(np.array([[1.0, 1.0, 9.0], [1.0, 1.0, 9.0]]), deadline=2).round(3)
    array([0.167, 0.167, 0.833])
    """
    late = times > deadline * np.median(times)
    return (late.sum(0) + 0.5) / (len(times) + 1)


def _times(given: dict, n: int, iterations: int, seed: int) -> np.ndarray:
    """Times of n workers at their own share of the data, (iterations, n)."""
    if "file" in given:
        trace = Trace(given["file"])
        iterations = len(trace.played_rows(trace.recorded()))
        draws = trace.draw((0,), iterations, n)
    else:
        parameters = dict(given)
        del parameters["name"]
        draws = Composed(**parameters).draw((seed,), iterations, n)
    return draws.arrival(1 / n, 1)[0]


def _with_probabilities(entry: dict, learned: str | None, p: np.ndarray) -> dict:
    """A scheme with the probabilities that its code is to assume."""
    if learned is None:
        return entry
    require_known("learned", learned, LEARNED)
    if learned == "each":
        return entry | {"code.p": p.tolist()}
    return entry | {"code.p": float(p.mean())}
