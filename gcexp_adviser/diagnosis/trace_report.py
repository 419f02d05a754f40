"""What a trace holds, in words: sizes, statistics, slow workers and other lasting structure, and what times mean."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import nan

import numpy as np

from gcexp.delays.trace_loads import Loads, loads_of
from gcexp.traces.missing import Absent, described, ways, without_numbers
from gcexp.traces.record import Flags, TraceFile
from gcexp_adviser.diagnosis.trace_structure import LEAST_ROWS, barrier, structure
from gcexp_adviser.logs.reading import Columns, trace_with_gaps

_MOST_NUMBERS = 3  # numbers that a sentence lists


def statistics(times: np.ndarray) -> dict[str, float]:
    """Statistics of a matrix of times (R, N), NaN where one row says nothing.

    ``mean``; ``cov``, standard deviation over mean of all entries; ``row_cov``, the median over rows of the same;
    ``max_over_median`` of a row, its median, and ``max_over_median_95``, its 95 % quantile; shares of variance by
    ``worker``, by ``iteration`` and the ``rest`` (two-way, no interaction); ``lag1``, correlation of a worker's times
    with its previous ones, mean over workers; ``repeats``, share of times equal to the worker's previous one.

    Examples
    --------
    >>> found = statistics(np.array([[1.0, 3.0], [2.0, 4.0], [1.0, 3.0]]))
    >>> found["mean"], round(found["worker"], 2), round(found["iteration"], 2)
    (2.3333333333333335, 0.82, 0.18)
    """
    mean = float(times.mean())
    peak = times.max(1) / np.median(times, axis=1)
    statistics = {
        "mean": mean,
        "cov": float(times.std() / mean),
        "row_cov": float(np.median(times.std(1) / times.mean(1))),
        "max_over_median": float(np.median(peak)),
        "max_over_median_95": float(np.quantile(peak, 0.95)),
        **dict.fromkeys(("worker", "iteration", "rest", "lag1", "repeats"), nan),
    }
    whole = times.var()
    if len(times) < 2 or whole == 0:
        return statistics
    by_worker = float(times.mean(0).var() / whole)
    by_iteration = float(times.mean(1).var() / whole)
    statistics["worker"] = by_worker
    statistics["iteration"] = by_iteration
    statistics["rest"] = 1 - by_worker - by_iteration
    statistics["repeats"] = float((times[1:] == times[:-1]).mean())
    before = times[:-1] - times[:-1].mean(0)
    after = times[1:] - times[1:].mean(0)
    spread = np.sqrt((before**2).sum(0) * (after**2).sum(0))
    moving = spread > 0
    if moving.any():
        together = (before * after).sum(0)
        statistics["lag1"] = float((together[moving] / spread[moving]).mean())
    return statistics


def report(
    source: object,
    absent: Absent | None = None,
    timeout: float | None = None,
    *,
    columns: Columns = None,
    unit: str | None = None,
    decimal: str | None = None,
) -> str:
    """Lines that describe a trace; raise `DataError` for the first fault of a broken one.

    Of a trace with several loads all that is said of times is said of the iterations at its own load. Of one with
    missing rows it is said where they are late (`gcexp.traces.missing.as_late`) unless `absent` is given; where another
    structure is found when their iterations are left out, that is the first sentence. Parameters are those of
    `gcexp_adviser.logs.reading.trace_of`.
    """
    trace = trace_with_gaps(source, columns=columns, unit=unit, decimal=decimal)
    traces_by_way = ways(trace, absent, timeout)
    main, *others = traces_by_way.values()
    missing = described(trace)
    on_missing = []
    if missing is not None:
        on_missing = [f"missing: {sentence}" for sentence in missing.sentences]
    lines = [*_sizes(main, trace), *on_missing, *_described(main)]
    if "late" in traces_by_way and absent is None:
        lines = [_compared(main, *others), *lines]
    return "\n".join(lines)


def _compared(late: TraceFile, skipped: TraceFile | None = None) -> str:
    """Whether what is found depends on what missing rows are taken for."""
    if skipped is None:
        return (
            "Every iteration lacks some worker, so all that follows takes missing rows as late; the time after which "
            "workers were given up, if it is known, is told by absent=late timeout=VALUE."
        )
    of_late = _structure(late)
    of_skipped = _structure(skipped)
    if [without_numbers(line) for line in of_late] == [without_numbers(line) for line in of_skipped]:
        return "The same structure is found whether missing rows are late or their iterations are left out."
    without_them = " and ".join(of_skipped) or "no structure beyond chance"
    return (
        "What is found depends on the missing rows: below they are late; with their iterations left out (absent=skip) "
        f"there is: {without_them}."
    )


def _structure(trace: TraceFile) -> list[str]:
    """Sentences on the lasting structure of a trace, and on a barrier before which it was stamped."""
    times = trace.values["time"][loads_of(trace).own_rows]
    if not trace.flags.persistent:
        return []
    lines = []
    _, warning = barrier(times)
    if warning:
        lines.append(f"warning: {warning}")
    if len(times) >= LEAST_ROWS:
        lines += structure(times, trace.workers, trace.labels)
    return lines


def _described(trace: TraceFile) -> list[str]:
    """Lines on the times of a trace without gaps."""
    loads = loads_of(trace)
    lines = []
    if loads.several:
        lines.append(f"loads: {loads.sentence}")
    times = trace.values["time"][loads.own_rows]
    persistent = trace.flags.persistent
    on_structure = _structure(trace)
    lines += on_structure
    nothing_beyond_chance = all(line.startswith("warning") for line in on_structure)
    if persistent and len(times) >= LEAST_ROWS and nothing_beyond_chance:
        lines.append("slow workers, racks, bursts, drift: none beyond chance")
    lines += _not_looked_for(len(times), persistent)
    lines += _times(trace, times)
    lines += _flags(trace)
    lines.append(_priced(trace, loads))
    return lines


def _sizes(trace: TraceFile, read: TraceFile) -> list[str]:
    """How many iterations, workers and gaps there are, and what columns and workers are called, of a trace as read."""
    times = trace.values["time"]
    sizes = (~np.isnan(times)).sum(1)
    least = sizes.min()
    most = sizes.max()
    ragged = "" if least == most else f" (rows have {least} to {most} of them)"
    gaps = "no gaps"
    if trace.left_out:
        gaps = f"{trace.left_out} iterations with missing workers left out"
    elif trace.missing is not None:
        gaps = f"{trace.missing.sum()} missing rows taken as late"
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
    *others, last = parts
    if not others:
        return f" without {last}"
    return f" without {', '.join(others)} and {last}"


def _times(trace: TraceFile, times: np.ndarray) -> list[str]:
    """Statistics of times (R, N) of a trace, where a row may lack the last workers."""
    flags = trace.flags
    least = (~np.isnan(times)).sum(1).min()
    of_times = statistics(times[:, :least])
    mean = f"time: mean {of_times['mean']:.6g} {flags.unit}".rstrip()
    lines = [
        f"{mean}, standard deviation {of_times['cov']:.1%} of it",
        f"slowest worker of an iteration: {of_times['max_over_median']:.2f} times the middle one, in one of twenty "
        f"iterations more than {of_times['max_over_median_95']:.2f} times",
    ]
    if len(times) > 1 and flags.persistent and np.isfinite(of_times["rest"]):
        lag = f"{of_times['lag1']:.2f}" if np.isfinite(of_times["lag1"]) else "unknown, too few rows differ"
        lines.append(
            f"variance: {of_times['worker']:.0%} between workers, {of_times['iteration']:.0%} between iterations, "
            f"{of_times['rest']:.0%} within both"
        )
        lines.append(
            f"correlation of a worker's time with its previous one: {lag}; {of_times['repeats']:.0%} are equal to it"
        )
    if trace.chunks is not None:
        lines.append(f"micro-batches: {trace.chunks.shape[2]} for each worker and iteration")
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
        compute = trace.values["compute"][loads.own_rows]
        times = trace.values["time"][loads.own_rows]
        share = np.nansum(compute) / np.nansum(times)
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


def _not_looked_for(rows: int, persistent: bool) -> list[str]:
    """What so many rows, or workers that are new in every row, cannot tell."""
    few_to_learn = "fewer than 10 iterations"
    few_to_compare = f"fewer than {LEAST_ROWS} iterations"
    if not persistent:
        few_to_learn = few_to_compare = "workers are new in every row"
    lines = []
    if rows < 10 or not persistent:
        lines.append(f"{few_to_learn}: nothing is learned from a prefix")
    if rows < LEAST_ROWS or not persistent:
        lines.append(f"{few_to_compare}: racks, bursts and drift are not looked for")
    return lines
