"""``python -m benchmarks.level_changes [REPLICATES] [KIND ...]``: are changes of level of one worker found?

Times are exp(N(0, .1)) of 8 and 16 workers in 200 and 1000 rows, or that and a mechanism of `NOISES`. Printed are, for
each kind: how often a planted change (factor 1.5, 3, 10 from 10, 50, 90 % of the rows on) is found within 5 rows, how
often its factor is then within 5 %, the same of changes with 100 rows or more on both sides, and how often anything
false is told, without a planted change and beside one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from gcexp.advice.level_changes import levels_of
from gcexp_papers.stragglers.clusters import chain

ROWS, WORKERS, FACTORS, PLACES = (200, 1000), (8, 16), (1.5, 3.0, 10.0), (0.1, 0.5, 0.9)
CLOSE_ROWS, CLOSE_FACTOR, LONG = 5, 0.05, 100
NOISES = (
    "noise",
    "memory",
    "long memory",
    "heavy tail",
    "shock",
    "drift",
    "speeds",
    "bad node",
    "slow state",
)
_HONEST = NOISES[:2]


def logs(kind: str, rows: int, n: int, draw: np.random.Generator) -> np.ndarray:
    """Logarithms (rows, n) of times without a change of level."""
    y = 0.1 * draw.standard_normal((rows, n))
    if kind in ("memory", "long memory"):
        memory = 0.5 if kind == "memory" else 0.7
        new = 0.1 * np.sqrt(1 - memory**2) * draw.standard_normal((rows + 50, n))
        return lfilter([1], [1, -memory], new, axis=0)[50:]
    if kind == "heavy tail":
        return draw.standard_exponential((rows, n)) / 1.8
    if kind == "shock":
        y += 0.15 * draw.standard_normal((rows, 1))
    elif kind == "drift":
        y += 0.3 * np.linspace(-0.5, 0.5, rows)[:, None]
    elif kind == "speeds":
        y += 0.2 * draw.standard_normal(n)
    elif kind == "bad node":
        y[:, 0] += np.log(1.8)
    elif kind == "slow state":
        y += np.log(3) * chain(0.02, 0.1, rows, n, draw)
    return y


def trials(kind: str, replicates: int) -> Iterator[dict]:
    """One row for each trace: what was planted, and what was found."""
    for rows, n, replicate in product(ROWS, WORKERS, range(replicates)):
        found = levels_of(logs(kind, rows, n, np.random.default_rng([1, replicate, rows, n])))
        yield {"planted": False, "false": bool(found.changes), "spell": bool(found.spells)}
    for rows, n, factor, place, replicate in product(ROWS, WORKERS, FACTORS, PLACES, range(replicates)):
        draw = np.random.default_rng([2, replicate, rows, n, int(10 * factor), int(10 * place)])
        y, worker, row = logs(kind, rows, n, draw), draw.integers(n), int(rows * place)
        y[row:, worker] += np.log(factor)
        found = levels_of(y)
        hits = [one for one in found.changes if one.worker == worker and abs(one.row - row) <= CLOSE_ROWS]
        close = bool(hits) and abs(hits[0].factor.value / factor - 1) <= CLOSE_FACTOR
        yield {
            "planted": True,
            "long": min(row, rows - row) >= LONG,
            "row": bool(hits),
            "factor": close,
            "false": len(found.changes) > len(hits),
        }


def summary(kind: str, replicates: int) -> dict:
    """Shares of the traces of one kind."""
    frame = pd.DataFrame(trials(kind, replicates))
    alone, planted = frame[~frame["planted"]], frame[frame["planted"]]
    long = planted[planted["long"].astype(bool)]
    return {
        "kind": kind,
        "row": planted["row"].mean(),
        "factor": planted["factor"].mean(),
        "factor, long": long["factor"].mean(),
        "false alone": alone["false"].mean(),
        "false beside": planted["false"].mean(),
    }


def main(replicates: int = 100, *kinds: str) -> None:
    """Print the table."""
    found = pd.DataFrame([summary(kind, replicates) for kind in kinds or _HONEST])
    print(found.to_string(index=False, float_format=lambda share: f"{share:.4f}"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 100, *sys.argv[2:])
