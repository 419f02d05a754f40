"""What of Table VI and Fig. 5 depends on how long a lost first epoch takes: the paper prints two values of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from gcexp.analysis.declared import columns
from gcexp.theory import adaptive as theory

from . import theory as experiment
from .tables import NAMES as _NAMES

#: Names in figures; G-CGC(0) is CGC(0).
NAMES = {scheme: name for scheme, name in _NAMES.items() if scheme != "g_cgc0"}
_FIXED = ("cgc0", "cgc1", "cgc2")
CROSSINGS = ("agc_first_from_s", "g_agc_first_from_s", "cgc1_best_from_s", "cgc2_beats_uncoded_from_s")


def _time(scheme: str, p: float) -> Callable[[float], float]:
    """Mean iteration time of a scheme as a function of the seconds that a lost first epoch takes."""
    cost = experiment.prices(scheme)
    sizes = theory.group_sizes(experiment.N, experiment.D) if scheme.startswith("g_") else [experiment.N]
    chances = theory.last_epoch(sizes, p, experiment.most_stragglers(scheme))
    return lambda c: (
        experiment.OVERHEAD + theory.mean_time(chances, cost.first, cost.later, (c, experiment.LOST[1]))
    )


def _least(functions: Sequence[Callable[[float], float]]) -> Callable[[float], float]:
    return lambda c: min(one(c) for one in functions)


@columns("p", "lost_first_epoch_s", "scheme", "mean_iteration_time_s", "first", *CROSSINGS)
def constant(probabilities: Sequence[float], largest: float, step: float) -> pd.DataFrame:
    """Mean iteration time of (91), (92) where c + 4 (i - 1) seconds are lost before epoch i, over c.

    The paper's Table VI needs c = 16, its text prints 4 i, which is c = 4. Everything else is as in Table VI by the
    formula: expected times are sums over the restart chain.

    Parameters
    ----------
    probabilities : sequence of float
        Chances p to straggle in an epoch.
    largest, step : float
        c = 0, step, ..., largest.

    Returns
    -------
    DataFrame
        ``p, lost_first_epoch_s`` (c), ``scheme, mean_iteration_time_s, first`` (the fastest scheme at this c), and for
        each p from which c on AGC is before every CGC, G-AGC before all, CGC(1) the best CGC, CGC(2) before uncoded.
    """
    rows = []
    for p in probabilities:
        times = {scheme: _time(scheme, p) for scheme in NAMES}

        rest = [scheme for scheme in NAMES if scheme != "g_agc"]
        pairs = (("agc", _FIXED), ("g_agc", rest), ("cgc1", ("cgc0", "cgc2")), ("cgc2", ("uncoded",)))
        found = {
            column: theory.crossing(times[one], _least([times[other] for other in others]), 0.0, largest)
            for column, (one, others) in zip(CROSSINGS, pairs, strict=True)
        }
        for c in np.arange(0, largest + step / 2, step):
            at = {scheme: time(float(c)) for scheme, time in times.items()}
            first = NAMES[min(at, key=lambda scheme: at[scheme])]
            rows += [
                {"p": p, "lost_first_epoch_s": c, "scheme": NAMES[scheme], "mean_iteration_time_s": time}
                | {"first": first}
                | found
                for scheme, time in at.items()
            ]
    return pd.DataFrame(rows)
