"""The median time of a worker, and limits of waiting rules that are multiples of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gcexp.delays.base import DelayExtras
from gcexp.errors import require
from gcexp.extras import extras
from gcexp.schemes.limits import with_times
from gcexp.schemes.scheme import require_workers
from gcexp.timeline.arrivals import arrivals

if TYPE_CHECKING:
    from gcexp.delays import DelayModel, Draws
    from gcexp.schemes import Scheme

# Iterations whose draws tell how long a worker usually takes, and most draws for it, where times do not repeat.
_ITERATIONS, _MOST_DRAWS = 1000, 2**20


def in_times_of(scheme: Scheme, delay: DelayModel) -> Scheme:
    """The scheme with the limits of its waiting rule as times of a delay model; some may be multiples of its median.

    Examples
    --------
    >>> from gcexp.codes import Uncoded
    >>> from gcexp.delays import Trace
    >>> from gcexp.schemes import Deadline, Scheme
    >>> in_times_of(Scheme(Uncoded(10), Deadline("2x")), Trace("data/traces/pai-job1.csv")).wait
    Deadline(time=876.0, early=False)
    """
    return with_limits_as_times(scheme, lambda: _usual_draws(delay, scheme.code.n))


def with_limits_as_times(scheme: Scheme, draws: Callable[[], Draws]) -> Scheme:
    """The scheme with all limits as times; `draws` are asked for where a limit is a multiple of their median."""
    wait = with_times(scheme.wait, lambda: median_time(draws()))
    return scheme if wait is scheme.wait else replace(scheme, wait=wait)


def usual_time(delay: DelayModel, n: int) -> float:
    """`median_time` of a delay model, the same for all seeds and schemes of a run.

    It is taken over all iterations after which the times repeat, as those of a trace do, and else over 1000 iterations
    of seed 0.
    """
    return median_time(_usual_draws(delay, n))


def _usual_draws(delay: DelayModel, n: int) -> Draws:
    """The draws that tell how long one of n workers usually takes."""
    require_workers(delay, n)
    period = extras(DelayExtras, delay).period
    if callable(period):
        iterations = period()
    else:
        iterations = max(1, min(_ITERATIONS, _MOST_DRAWS // n))
    return delay.draw((0,), iterations, n)


def median_time(draws: Draws) -> float:
    """Median time of a worker with its own share of the data, as in an uncoded run, over all iterations and workers.

    Raises
    ------
    ParameterError
        Where arrivals are counts of epochs, and where the median is no time above 0: then nothing is a multiple of it.

    Examples
    --------
    >>> from gcexp.delays import Trace
    >>> median_time(Trace("data/traces/pai-job1.csv").draw((0,), 300, 10))
    438.0
    """
    from gcexp.codes import Uncoded
    from gcexp.schemes import Fastest, Scheme

    require(not draws.counts, "delay=epochs counts epochs, so workers have no median time: give a number")
    n = draws.shape[2]
    uncoded = Scheme(Uncoded(n), Fastest(q=n))
    median = float(np.median(arrivals(uncoded, draws)))
    require(
        0 < median < np.inf, f"the median time of a worker is {median} here, of which nothing is a multiple"
    )
    return median
