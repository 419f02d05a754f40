"""Tables of medians over the seeds, which say in a sentence what infinite entries in them mean."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gcexp.figures import rows

_RATIO = "ratio"
_INTERVAL = "low and high are the ends of the median's interval by the sign test, which covers {covered}."
_PAIRED = "ratio is the median of the times divided, seed by seed, by those of the row whose ratio is 1."
_NO_INTERVAL = (
    "low and high are the ends of the median's interval. "
    f"There is one from {rows.LEAST_SEEDS} seeds on; with fewer they are -inf and inf."
)
_NOT_REACHED = "An infinite time says that half of the seeds or more do not reach the level."


def remarks(table: pd.DataFrame) -> list[str]:
    """What infinite entries of a table of medians mean, a sentence each; none where there are none.

    Examples
    --------
    >>> table = pd.DataFrame({"scheme": ["cgc"], "time_to_0.9": [2.0], "low": [-np.inf], "high": [np.inf]})
    >>> len(remarks(table)), len(remarks(table.drop(columns="low")))
    (1, 0)
    """
    told = []
    covered = rows.coverage_in_words(table["seeds"]) if {"low", "seeds"} <= {*table} else ""
    if covered:
        told.append(_INTERVAL.format(covered=covered))
    if _RATIO in table:
        told.append(_PAIRED)
    if "low" in table and np.isneginf(table["low"]).any():
        told.append(_NO_INTERVAL)
    times = [name for name in table if str(name).startswith("time_to_")]
    if np.isposinf(table[times].to_numpy(dtype=float)).any():
        told.append(_NOT_REACHED)
    return told


class Medians(pd.DataFrame):
    """A table with a row per run, its median over the seeds, and the ends ``low`` and ``high`` of its interval.

    Printed, it also says what its infinite entries mean.

    Examples
    --------
    >>> Medians({"scheme": ["cgc"], "time_to_0.9": [2.0], "low": [-np.inf], "high": [np.inf], "seeds": [2]})
      scheme  time_to_0.9  low  high  seeds
    0    cgc          2.0 -inf   inf      2
    low and high are the ends of the median's interval. There is one from 5 seeds on; with fewer they are -inf and inf.
    """

    @property
    def _constructor(self):
        return Medians

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *remarks(self)])

    def _repr_html_(self) -> str:
        below = "".join(f"<p>{sentence}</p>" for sentence in remarks(self))
        return f"{pd.DataFrame(self)._repr_html_()}{below}"
