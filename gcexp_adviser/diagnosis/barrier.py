"""Whether times were stamped after a barrier, where every worker has waited for the slowest."""

from __future__ import annotations

import numpy as np

from gcexp.errors import UserError
from gcexp.traces.record import TraceFile
from gcexp_adviser.diagnosis.logged import counts, mean, median, usual_count
from gcexp_adviser.logs.names import typed

_EQUAL, _NEARLY_EQUAL = 0.006, 0.03  # scatter of the times of one iteration, in logarithms

_FOLLOWS = 0.3  # slope of the times over the compute times, below which they do not follow these
_APART = 0.03  # scatter of the compute times of one iteration, from which on they tell workers apart


def doubts(trace: TraceFile, times: np.ndarray, rows: np.ndarray) -> list[str]:
    """What speaks for a stamp after the all-reduce; `UserError` where the times (T, n) tell nothing of the workers.

    The times were logged in the `rows` (T,) of a trace.
    """
    compute = trace.values.get("compute")
    take_compute = f"columns=time:{typed(trace.compute_column)}"
    if compute is not None:
        waited = stamped_after_waiting(times, compute[rows])
        if waited:
            raise UserError(
                f"{trace.name}: {waited}. Take the compute times: {take_compute}; where the times are right: barrier=no"
            )
    verdict, said = barrier(times)
    if not verdict:
        return []
    hint = ""
    if compute is not None and (compute > 0).all():
        apart = np.median(np.log(compute).std(axis=1, ddof=1)) > _APART
        hint = f"; the compute times differ between workers: {take_compute}" if apart else ""
    if verdict == "equalised":
        raise UserError(f"{trace.name}: {said}; if these are compute times, say barrier=no{hint}")
    return [f"Doubtful: {said}.{hint}"]


def barrier(times: np.ndarray) -> tuple[str, str]:
    """Whether times (T, n) look as if they had been stamped after a barrier, with the slowest worker's time for all.

    NaN stands where a worker has no row; iterations with fewer than two rows say nothing.

    The answer is a verdict and a sentence about it; both are empty if the times look right.

    Within a row the logarithms of the times scatter by s (the median over rows of their standard deviation), and the
    logarithms of the row medians by V. Honest workers differ from each other at least as much as iterations do. Times
    are ``equalised`` where s <= .006 and V >= max(2 s, .005), for three workers or more: no scheme can be priced from
    them. They are ``doubtful`` where s <= .03, and two times of an iteration have a correlation of at least .9.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> honest = np.exp(0.1 * draw.standard_normal((100, 6)))
    >>> after = honest.max(1, keepdims=True) * np.exp(0.001 * draw.standard_normal((100, 6)))
    >>> barrier(honest), barrier(after)[0]
    (('', ''), 'equalised')
    """
    logs = np.log(times[counts(times, axis=1) > 1])
    T, n = logs.shape
    if n < 3 or T < 2:
        return "", ""
    within = float(np.median(np.nanstd(logs, axis=1, ddof=1)))
    across = float(median(logs, axis=1).std())
    if within <= _EQUAL and across >= max(2 * within, 0.005):
        return "equalised", (
            f"the times of all workers agree to {within:.2%} within an iteration while iterations differ by "
            f"{across:.1%}: they look as if they were stamped after the barrier, where everybody has waited for the "
            "slowest; stamp them before the all-reduce"
        )
    rows = mean(logs, axis=1)
    of_row = usual_count(logs, axis=1)
    between = of_row * rows.var(ddof=1)
    rest = np.nansum((logs - rows[:, None]) ** 2) / (counts(logs) - T)
    alike = (between - rest) / (between + (of_row - 1) * rest) if between + rest > 0 else 0.0
    if within <= _NEARLY_EQUAL and alike >= 0.9:
        return "doubtful", (
            "the times of all workers are nearly equal within each iteration: they may have been stamped after the "
            "barrier"
        )
    return "", ""


def stamped_after_waiting(times: np.ndarray, compute: np.ndarray) -> str:
    """A sentence where times (T, n) do not follow the compute times of the workers, as after a barrier; else empty.

    With dt and dc the deviations of a worker's time and compute time from the means of its iteration, dt = b dc with
    b = 1 where a worker's other work has nothing to do with its computing, and b = 0 where everybody has waited for
    the slowest, whatever the jitter of the stamps. It is told where b < .3, and is more than three standard errors
    below .5. Rows that are missing are NaN in the times.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> compute = draw.gamma(100, 0.01, (100, 6))
    >>> after = compute.max(1, keepdims=True) * draw.gamma(900, 1 / 900, (100, 6))
    >>> stamped_after_waiting(compute + 0.1 * draw.random((100, 6)), compute)
    ''
    >>> stamped_after_waiting(after, compute)[:60]
    'the times of workers that compute longer are no longer: they'
    """
    T, n = times.shape
    if n < 2 or T < 10:
        return ""
    compute = np.where(np.isnan(times), np.nan, compute)
    x = compute - mean(compute, axis=1)[:, None]
    y = times - mean(times, axis=1)[:, None]
    squares = float(np.nansum(x * x))
    if not squares:
        return ""
    slope = float(np.nansum(x * y)) / squares
    error = float(np.sqrt(np.nansum((y - slope * x) ** 2) / max(counts(y) - T, 1) / squares))
    if not (slope < _FOLLOWS and slope + 3 * error < 0.5):
        return ""
    usual = median(compute, axis=0)
    return (
        "the times of workers that compute longer are no longer: they seem to be stamped after the barrier, and hold "
        "the waiting for the slowest. The usual compute times of workers differ by a factor of "
        f"{usual.max() / usual.min():.3g}"
    )
