"""Whether the time of a row is the mean of several steps, as the moments beside it say."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gcexp.errors import DataError
from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.keys import Keys
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.tables import Table
from gcexp_adviser.logs.times import Times

_ENOUGH = 10  # rows of a worker from which on a pattern is no chance
_OFF = 0.01  # distance of two moments from the time of the steps between them, in logarithms, that is none
_FOLLOWS = (
    0.2  # the same, relative to how far times move from row to row: single steps are as far off as they move
)
_MOVES = 0.005  # how far times move from row to row at least, in logarithms: equal steps are no means
_SCALES = (1.0, 1e3, 1e-3)  # seconds of a number whose unit is not known


def told_of_means(table: Table, found: Matched, keys: Keys, times: Times) -> str:
    """A sentence where each row of some worker is the mean of the steps since its row before; empty for none."""
    if not found.times or found.chunk or not _skip_steps(keys.iterations):
        return ""
    others = table.names.without(found.used)
    stamps = others.where(lambda name: name.is_stamp)
    for name in (*stamps, *others.fitting("end"), *others.fitting("start")):
        moments = _seconds(table[name])
        if moments is None:
            continue
        steps = steps_of_a_row(moments, times.seconds, keys.iterations, keys.workers)
        if steps:
            return (
                f"from one {name} to the next lie {steps} times the time of a row: each row seems to be the mean of "
                f"{steps} steps, which hides single steps that are slow"
            )
    return ""


def _skip_steps(iterations: np.ndarray) -> bool:
    """Whether there are steps between those of any two rows (L,)."""
    distances = np.diff(np.unique(iterations))
    return len(distances) > 0 and bool(distances.min() > 1)


def _seconds(column: Column) -> np.ndarray | None:
    """Moments (L,) since the first one, in seconds where their unit is known; None where the column has none."""
    try:
        moments = column.moments
    except DataError:
        return None
    return moments._replace(unit=moments.unit or column.name.unit).seconds


def steps_of_a_row(
    moments: np.ndarray, times: np.ndarray, iterations: np.ndarray, workers: np.ndarray
) -> int:
    """Of how many steps the rows (L,) of some worker are the mean; 0 for rows of single steps.

    All that lies between two moments then is the time of a row, as often as there are steps between them. Single steps
    are as far from that as they are from each other.

    >>> step = np.arange(10, 210, 10)
    >>> time = 1 + 0.1 * np.random.default_rng(0).random(20)
    >>> (
    ...     steps_of_a_row((10 * time).cumsum(), time, step, 0 * step),
    ...     steps_of_a_row(1.05 * step, time, step, 0 * step),
    ... )
    (10, 0)
    """
    rows = pd.DataFrame({"moment": moments, "time": times, "iteration": iterations})
    for _, own in rows.dropna().groupby(workers[~rows.isna().any(axis=1)]):
        own = own.sort_values("iteration")
        steps = np.diff(own["iteration"])
        took = own["time"].to_numpy()
        between = np.diff(own["moment"])
        if len(steps) < _ENOUGH or (steps <= 1).any() or (took <= 0).any() or (between <= 0).any():
            continue
        moves = float(np.median(np.abs(np.diff(np.log(took)))))
        ratios = np.log(between / (steps * took[1:]))
        off = min(float(np.median(np.abs(ratios - np.log(scale)))) for scale in _SCALES)
        if moves >= _MOVES and off <= min(_OFF, _FOLLOWS * moves):
            return int(np.median(steps))
    return 0
