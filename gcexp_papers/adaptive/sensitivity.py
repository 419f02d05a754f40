"""What of Table VI and Fig. 5 depends on how long a lost first epoch takes: the paper prints two values of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from gcexp.analysis.declared import columns

from . import experiment, theory

#: Schemes and their names in figures; G-CGC(0) is CGC(0).
NAMES = {scheme: name for scheme, name in experiment.NAMES.items() if scheme != "g_cgc0"}
#: Column to the scheme that is faster than all of the others from some c on.
CROSSINGS = {
    "agc_first_from_s": ("agc", ["cgc0", "cgc1", "cgc2"]),
    "g_agc_first_from_s": ("g_agc", [scheme for scheme in NAMES if scheme != "g_agc"]),
    "cgc1_best_from_s": ("cgc1", ["cgc0", "cgc2"]),
    "cgc2_beats_uncoded_from_s": ("cgc2", ["uncoded"]),
}


@columns("p", "lost_first_epoch_s", "scheme", "mean_iteration_time_s", "first", *CROSSINGS)
def constant(probabilities: Sequence[float], largest: float, step: float):
    """Mean iteration time of (91), (92) where c + 4 (i - 1) seconds are lost before epoch i, c = 0, step, ..., largest.

    The paper's Table VI needs c = 16, its text prints 4 i, which is c = 4. Everything else is as in Table VI by the
    formula. ``lost_first_epoch_s`` is c, ``first`` the fastest scheme at this c, and for each of the `probabilities` p
    the last columns say from which c on AGC is before every CGC, G-AGC before all, CGC(1) the best CGC, and CGC(2)
    before uncoded.
    """
    for p in probabilities:
        crossings = {}
        for column, (scheme, others) in CROSSINGS.items():
            own_time = partial(_least_time, [scheme], p)
            their_time = partial(_least_time, others, p)
            crossings[column] = theory.crossing(own_time, their_time, 0.0, largest)
        for c in np.arange(0, largest + step / 2, step).tolist():
            times = {scheme: _least_time([scheme], p, c) for scheme in NAMES}
            fastest = min(times, key=times.__getitem__)
            for scheme, time in times.items():
                yield {
                    "p": p,
                    "lost_first_epoch_s": c,
                    "scheme": NAMES[scheme],
                    "mean_iteration_time_s": time,
                    "first": NAMES[fastest],
                    **crossings,
                }


def _least_time(schemes: Sequence[str], p: float, c: float) -> float:
    """The smallest mean iteration time of some schemes, where a lost first epoch takes c seconds."""
    _, later = experiment.LOST
    return min(experiment.modified_average_time(scheme, p, lost=(c, later)) for scheme in schemes)
