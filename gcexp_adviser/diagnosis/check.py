"""What `gcexp trace check` says of a log: what was read, what makes its workers slow, and what its times mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gcexp.delays.trace_loads import Loads, loads_of
from gcexp.errors import UserError
from gcexp.traces.missing import SAMPLED, Absent, described
from gcexp.traces.record import Flags, TraceFile
from gcexp.words import joined
from gcexp_adviser.diagnosis.diagnosis import diagnosed
from gcexp_adviser.diagnosis.diagnosis_in_words import checked
from gcexp_adviser.diagnosis.recorded import recorded_in, ways_of
from gcexp_adviser.diagnosis.trace_statistics import statistics
from gcexp_adviser.logs.how import how_of
from gcexp_adviser.logs.reading import read
from gcexp_adviser.page import counted

_MOST_NUMBERS = 3  # numbers that a sentence lists
_LEAST_TO_LEARN = 10  # iterations of which a tenth is a prefix


def report(
    source: object,
    absent: Absent | None = None,
    timeout: float | None = None,
    *,
    barrier: str = "check",
    seed: int = 0,
    **log: Any,
) -> str:
    """The text of `check`, as lines.

    Examples
    --------
    >>> print(report("bytedance-AR-dp").splitlines()[3])
    bytedance-AR-dp: worker 0 is slow throughout (factor 2.26, 2.25 to 2.27).
    """
    return check(source, absent, timeout, barrier=barrier, seed=seed, **log).text


@dataclass(frozen=True)
class Checked:
    """What a trace holds, as lines, and whether `gcexp.advise` answers with the same words."""

    text: str
    can_be_advised: bool


def check(
    source: object,
    absent: Absent | None = None,
    timeout: float | None = None,
    *,
    barrier: str = "check",
    seed: int = 0,
    **log: Any,
) -> Checked:
    """What a trace holds; raise `DataError` for the first fault of a broken one.

    The lines tell what was read, and what makes the workers slow in the words of `gcexp.fit`. Where nothing can be said
    of the workers, as of times that were stamped after a barrier, they tell why. Of a trace with several loads all that
    is said of times is said of the iterations at its own load, and of one with missing rows it is said of the rows that
    were logged. The parameters are those of `gcexp.fit`.
    """
    gaps = read(source, how_of(log, check))
    way, *_ = ways_of(gaps, absent, timeout)
    trace = way.trace
    loads = loads_of(trace)
    lines = _sizes(trace, gaps, absent)
    missing = described(gaps)
    if missing is not None and absent != SAMPLED:
        lines += [f"missing: {sentence}" for sentence in missing.sentences]
    can_be_advised = True
    try:
        times = recorded_in(gaps, way, barrier, seed)
        notes = [note for note in times.notes if note not in times.trace.decisions]
        lines += checked(diagnosed(times), notes)
        can_be_advised = not times.too_little
    except UserError as error:
        lines.append(f"warning: {error}")
        can_be_advised = False
    lines += [*_times(trace, loads), *_flags(trace), _priced(trace, loads)]
    return Checked("\n".join(lines), can_be_advised)


def _sizes(trace: TraceFile, read: TraceFile, absent: Absent | None) -> list[str]:
    """How many iterations, workers and gaps there are, and what columns and workers are called, of a trace as read."""
    times = trace.values["time"]
    sizes = (~np.isnan(times)).sum(1)
    least = sizes.min()
    most = sizes.max()
    ragged = "" if least == most else f" (rows have {least} to {most} of them)"
    gaps = "no gaps"
    if trace.left_out:
        gaps = f"{counted(trace.left_out, 'iteration')} with missing workers left out"
    elif trace.missing is not None and absent == SAMPLED:
        gaps = f"{int(trace.missing.sum())} times a worker was not asked"
    elif trace.missing is not None:
        gaps = counted(int(trace.missing.sum()), "missing row")
    holes = "" if trace.names else _without(trace.workers)
    return [
        f"{trace.name}: {len(times)} iterations, {len(trace.workers)} workers{ragged}, {gaps}",
        *(f"read: {decision}" for decision in read.decisions),
        f"columns: {', '.join(trace.columns)}",
        f"workers: {trace.labels[0]} to {trace.labels[-1]}{holes}",
    ]


def _without(workers: tuple[int, ...]) -> str:
    """Which numbers between the first worker and the last one are no workers: the first three, and how many more.

    >>> _without((1, 2, 3)), _without((0, 2)), _without((0, 2, 4)), _without((0, 10**9))
    ('', ' without 1', ' without 1 and 3', ' without 1, 2, 3 and 999999996 more')
    """
    count = workers[-1] - workers[0] + 1 - len(workers)
    if not count:
        return ""
    parts: list[str] = []
    for worker, following in pairwise(workers):
        parts += map(str, range(worker + 1, min(following, worker + 1 + _MOST_NUMBERS)))
    parts = parts[:_MOST_NUMBERS]
    if count > _MOST_NUMBERS:
        parts.append(f"{count - _MOST_NUMBERS} more")
    return f" without {joined(parts)}"


def _times(trace: TraceFile, loads: Loads) -> list[str]:
    """Statistics of the times of a trace that were logged at its own load."""
    flags = trace.flags
    times = trace.logged[loads.own_rows]
    compared = times
    if not flags.persistent:  # an iteration may lack the last workers
        compared = times[:, : (~np.isnan(times)).sum(1).min()]
    of_times = statistics(compared)
    mean = f"time: mean {of_times['mean']:.6g} {flags.unit}".rstrip()
    lines = [
        f"{mean}, standard deviation {of_times['cov']:.1%} of it",
        f"slowest worker of an iteration: {of_times['max_over_median']:.2f} times the middle one, in one of twenty "
        f"iterations more than {of_times['max_over_median_95']:.2f} times",
    ]
    if len(times) > 1 and flags.persistent and np.isfinite(of_times["rest"]):
        lag = f"{of_times['lag1']:.2f}" if np.isfinite(of_times["lag1"]) else "unknown, too few rows differ"
        lines.append(
            f"correlation of a worker's time with its previous one: {lag}; {of_times['repeats']:.0%} are equal to it"
        )
    if trace.chunks is not None:
        lines.append(f"micro-batches: {trace.chunks.shape[2]} for each worker and iteration")
    if len(times) < _LEAST_TO_LEARN or not flags.persistent:
        few = "workers are new in every row"
        if flags.persistent:
            few = f"there are fewer than {_LEAST_TO_LEARN} iterations"
        lines.append(f"schemes learn nothing from the first iterations: {few}")
    return lines


def _flags(trace: TraceFile) -> list[str]:
    """What the times mean, and their licence, by the trace's entry in its index; nothing for a trace without one."""
    flags = trace.flags
    if replace(flags, unit="", sampled=False) == Flags():
        return []
    names = ("persistent", "data_bound", "sampled")
    told = [f"{name}: {str(getattr(flags, name)).lower()}" for name in names]
    licence = flags.licence or "none stated: usable here, not to be published"
    return [f"flags of its index.json: {', '.join(told)}", f"licence: {licence}"]


def _priced(trace: TraceFile, loads: Loads) -> str:
    """What is assumed about loads at which the trace was not recorded."""
    if "compute" in trace.values:
        times = trace.logged[loads.own_rows]
        compute = trace.values["compute"][loads.own_rows]
        share = np.nansum(np.where(np.isnan(times), np.nan, compute)) / np.nansum(times)
        if loads.several:
            return (
                f"loads: column compute holds {share:.0%} of the time; what share grows with the load, gcexp advise "
                f"measures from the loads of this file, as phi at load {loads.own:g}"
            )
        return f"loads: {share:.0%} of the time, column compute, grows with the load (delay.pricing=additive)"
    assumed = (
        "loads: delay.phi=0 assumes that all of a time grows with the worker's load, so that twice the data takes "
        "twice as long"
    )
    if loads.several:
        return f"{assumed}; gcexp advise measures phi at load {loads.own:g} from the loads of this file"
    return f"{assumed}; the file cannot tell, so try delay.phi=0.5 too (gcexp benchmark does)"
