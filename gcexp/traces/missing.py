"""Missing rows of a trace: who lacks them and when, and the trace in which they are late or left out.

A worker without a row in an iteration was most likely the slowest one: a timeout ended it before it wrote its time. So
missing rows are not harmless, and to leave their iterations out is an assumption as much as to call them late.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from gcexp.errors import DataError, ParameterError, require, require_known
from gcexp.traces.ranks import p_of_equal_ranks
from gcexp.traces.record import LEAST, MOST, TraceFile
from gcexp.traces.timeouts import hides_the_longest, mean_beyond
from gcexp.words import joined

Absent: TypeAlias = Literal["refuse", "late", "skip", "sampled"]
ABSENT = ("refuse", "late", "skip", "sampled")
_OWN_LONG = 0.95  # quantile of a worker's own times that counts as long
_LATER = 1.25  # times as long as the least that a late worker may have taken
_CHANCE = 0.01  # a difference that comes by chance less often is told
_MOST_NAMED = 4  # workers that are named in a sentence
_GONE = 10  # last iterations without a row, from which on a worker may be gone
#: The way to take missing rows where workers are sampled, in which nothing can be replayed.
SAMPLED = "sampled"
LEFT_OUT = "their iterations are left out (absent=skip)"  # what became of missing rows, in words
CURES = "absent=late takes them as late, absent=skip leaves their iterations out"


def ways(trace: TraceFile, absent: Absent | None, timeout: float | None = None) -> dict[str, TraceFile]:
    """The trace without gaps in each of the ways in which its missing rows are taken, the main one first.

    Where nothing was asked for (None) there are two, ``late`` and ``skip``; the second is left out where skipping
    leaves no iteration. A trace that lacks nothing is itself, under the name ``whole``.

    Examples
    --------
    >>> from gcexp.traces.record import NEEDED
    >>> x = np.array([[1.0, 2.0], [1.5, np.nan]])
    >>> trace = TraceFile("mine", NEEDED, (0, 1), {"time": x}, missing=np.isnan(x))
    >>> list(ways(trace, None)), list(ways(trace, "skip")), list(ways(skipped(trace), None))
    (['late', 'skip'], ['skip'], ['whole'])
    """
    if absent is not None:
        return {absent: resolved(trace, absent, timeout)}
    late = resolved(trace, "late", timeout)
    if trace.missing is None or not trace.lacks_rows:
        return {"whole": late}
    found = {"late": late}
    if not trace.missing.any(1).all():
        found["skip"] = skipped(trace)
    return found


def resolved(trace: TraceFile, absent: Absent, timeout: float | None = None) -> TraceFile:
    """The trace without gaps: missing rows are refused, taken as late, or left out with their iterations.

    Parameters
    ----------
    trace : TraceFile
        With or without missing rows; one without is given back.
    absent : {"refuse", "late", "skip", "sampled"}
        ``sampled`` leaves gaps, so that it is refused here.
    timeout : float, optional
        The time of missing rows, in the unit of the trace, where they are late.

    Raises
    ------
    DataError
        For missing rows that are refused, and where skipping leaves nothing.
    ParameterError
        For an unknown value, and a timeout that does not fit.
    """
    check_absent(absent, timeout)
    if absent == "late":
        return as_late(trace, timeout)
    if absent == "skip":
        return skipped(trace)
    if trace.missing is None or not trace.lacks_rows:
        return trace
    if absent == SAMPLED:
        raise ParameterError(
            "absent=sampled prices each iteration on the workers that were asked in it, as gcexp advise, gcexp fit and "
            "gcexp trace check do; a replay needs the times of all workers: absent=late or absent=skip"
        )
    row, worker = np.argwhere(trace.missing)[0]
    pairs = int(trace.missing.sum())
    told = "".join(f"; {decision}" for decision in trace.decisions)
    raise DataError(
        f"trace {trace.name}: iteration {row} lacks worker {trace.labels[worker]} ({pairs} such pairs in all): "
        f"{CURES}{told}"
    )


def check_absent(absent: Absent, timeout: float | None) -> None:
    """Raise `ParameterError` for an unknown way to take missing rows, and for a timeout that does not go with it."""
    require_known("absent", absent, ABSENT)
    if timeout is not None:
        require(
            absent == "late",
            f"timeout={timeout:g} is the time of missing rows that are late, so it goes with absent=late, not "
            f"absent={absent}",
        )


def as_late(trace: TraceFile, timeout: float | None = None) -> TraceFile:
    """The trace whose missing rows are late.

    A missing row of worker w in iteration t takes at least

        max( max_v x[t, v], q_w )

    with x the times that are there and q_w the 95 % quantile of those of worker w at the load of iteration t
    (``inverted_cdf``, a time that was seen): the longest time seen in its iteration, or the worker's own long times.
    Where the longest times of all are missing, as after a timeout, it takes as long as they did on the mean, by the
    estimate of `gcexp.traces.timeouts`. With `timeout` it is that value. A load is that of the iteration; of
    ``compute`` and of micro-batches the worker has its usual share of the time (the median); other columns stay empty.

    Parameters
    ----------
    trace : TraceFile
    timeout : float, optional
        At least as long as the longest time of the trace, for what was shorter was logged.

    Raises
    ------
    ParameterError
        For a timeout that is shorter than a time that was logged.

    Examples
    --------
    >>> from gcexp.traces.record import NEEDED
    >>> x = np.array([[1.0, 2.0], [1.5, np.nan], [5.0, np.nan]])
    >>> trace = TraceFile("mine", NEEDED, (0, 1), {"time": x}, missing=np.isnan(x))
    >>> as_late(trace).values["time"].tolist(), as_late(trace, timeout=9.0).values["time"][1].tolist()
    ([[1.0, 2.0], [1.5, 2.0], [5.0, 5.0]], [1.5, 9.0])
    """
    if trace.missing is None or not trace.lacks_rows:
        return trace
    if timeout is None:
        return filled(trace, _usual_late_times(trace))
    _check_timeout(trace, timeout)
    return filled(trace, np.full(trace.missing.shape, timeout))


def late_otherwise(trace: TraceFile, timeout: float | None = None) -> tuple[str, TraceFile] | None:
    """The trace whose missing rows took another time than `as_late` has it, and in words how long that is.

    How long they took is not known, so an answer that rests on it is asked for twice. Where `as_late` estimates it,
    they now take as long as the longest time that was logged, which is the least that is possible; where it knows only
    such a least time, a quarter longer. Where the timeout is given, they take what `gcexp.traces.timeouts.mean_beyond`
    estimates; None where the logged times are too few for that.
    """
    if trace.missing is None or not trace.lacks_rows:
        return None
    if timeout is not None:
        estimated = _beyond_timeouts(trace, timeout)
        of_missing = estimated[trace.missing.any(1)]
        if np.isnan(of_missing).any():
            return None
        how = f"they took {of_missing.mean():.3g}, as the times below the timeout suggest"
        return how, filled(trace, estimated)
    least = _least_late_times(trace)
    if np.array_equal(least, _usual_late_times(trace)):
        return "they took a quarter longer than they did at least", filled(trace, _LATER * least)
    longest = _by_load(trace, lambda logged, hidden: float(logged.max()))
    return "they took no longer than the longest time that was logged", filled(trace, np.fmax(least, longest))


def _usual_late_times(trace: TraceFile) -> np.ndarray:
    """Times (R, N) that missing rows took on the mean where a timeout hides them, and else at least."""
    return np.fmax(_least_late_times(trace), _beyond_timeouts(trace))


def _least_late_times(trace: TraceFile) -> np.ndarray:
    """Times (R, N) that missing rows took at least."""
    times = trace.logged
    return np.fmax(_longest_of_rows(times), _own_long(times, _loads_of_rows(trace)))


def _beyond_timeouts(trace: TraceFile, timeout: float | None = None) -> np.ndarray:
    """Times (R, 1) that missing rows took on the mean, where a timeout hides them; NaN where it seems that none does.

    The timeout is the one given, or a little above the longest time that was logged.
    """

    def of_one_load(logged: np.ndarray, hidden: int) -> float:
        if timeout is not None:
            return mean_beyond(logged, hidden, timeout)
        if hides_the_longest(logged, hidden):
            return mean_beyond(logged, hidden, float(logged.max()))
        return np.nan

    return _by_load(trace, of_one_load)


def _by_load(trace: TraceFile, told: Callable[[np.ndarray, int], float]) -> np.ndarray:
    """What is told (R, 1) of each row by the times logged at its load, and by how many are missing there."""
    times = trace.logged
    loads = _loads_of_rows(trace)
    found = np.full((len(times), 1), np.nan)
    for load in np.unique(loads):
        at = loads == load
        missing = np.isnan(times[at])
        if missing.any():
            found[at] = told(times[at][~missing], int(missing.sum()))
    return found


def _loads_of_rows(trace: TraceFile) -> np.ndarray:
    """Loads (R,) of the iterations; 1 where no load was logged."""
    if "load" not in trace.values:
        return np.ones(len(trace.values["time"]))
    return np.where(trace.missing, -np.inf, trace.values["load"]).max(axis=1)


def filled(trace: TraceFile, late: np.ndarray) -> TraceFile:
    """The trace whose missing rows take the times `late` (R, N), with what else belongs to a row; see `as_late`."""
    times = trace.logged
    missing = np.isnan(times)
    values = dict(trace.values)
    if "load" in values:
        values["load"] = np.where(missing, _loads_of_rows(trace)[:, None], values["load"])
    values["time"] = np.where(missing, late, times)
    if "compute" in values:
        usual = _usual(values["compute"] / times)
        values["compute"] = np.where(missing, usual * values["time"], values["compute"])
    chunks = trace.chunks
    if chunks is not None:
        usual = _usual(chunks / times[..., None])
        usual = usual / usual.sum(axis=-1, keepdims=True)
        chunks = np.where(missing[..., None], usual * values["time"][..., None], chunks)
    return replace(trace, values=values, chunks=chunks)


def _longest_of_rows(times: np.ndarray) -> np.ndarray:
    """The longest time (R, 1) that was seen in each row."""
    return np.fmax.reduce(times, axis=1, keepdims=True)


def _own_long(times: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """Long times (R, N) of each worker among those that were seen at the load of each row; NaN where none was."""
    found = np.full(times.shape, np.nan)
    for load in np.unique(loads):
        at = np.flatnonzero(loads == load)
        seen = ~np.isnan(times[at]).all(0)
        long = np.nanquantile(times[at][:, seen], _OWN_LONG, axis=0, method="inverted_cdf")
        found[np.ix_(at, np.flatnonzero(seen))] = long
    return found


def _usual(shares: np.ndarray) -> np.ndarray:
    """Usual shares of each worker, the median over rows (R, N, ...)."""
    return np.nanmedian(shares, axis=0)


def _check_timeout(trace: TraceFile, timeout: float) -> None:
    """Raise `ParameterError` for a timeout that logged times exceed, or that is no time."""
    require(LEAST <= timeout <= MOST, f"timeout is a time > 0, got {timeout}")
    longest = float(np.nanmax(trace.values["time"]))
    if timeout < longest:
        raise ParameterError(
            f"timeout={timeout:g} is shorter than the longest time of trace {trace.name}, {longest:g}, which was "
            f"logged; wanted is timeout={longest:.3g} or more, in the unit of the trace"
        )


def skipped(trace: TraceFile) -> TraceFile:
    """The trace without the iterations in which rows are missing, which `left_out` counts.

    Raises
    ------
    DataError
        Where every iteration lacks some worker.
    """
    if trace.missing is None:
        return trace
    whole = ~trace.missing.any(1)
    if not whole.any():
        raise DataError(
            f"trace {trace.name}: in every one of its {len(whole)} iterations some worker is missing; absent=late "
            "takes missing rows as late"
        )
    values = {key: matrix[whole] for key, matrix in trace.values.items()}
    chunks = None if trace.chunks is None else trace.chunks[whole]
    left_out = trace.left_out + int((~whole).sum())
    return replace(trace, values=values, chunks=chunks, missing=None, left_out=left_out)


@dataclass(frozen=True)
class MissingRows:
    """Which rows a trace lacks, and in what iterations.

    Attributes
    ----------
    pairs : int
        Missing pairs of an iteration and a worker, of `rows` that the trace would have.
    iterations, all_iterations : int
        Iterations with a missing row, and all.
    by_worker : dict
        Missing rows of each worker that lacks some, by its label; most first.
    silent_since : dict
        For workers that lack at least the last ten iterations: the first of these, by label.
    slower : float
        How many times as long the workers that are there take in iterations with missing rows as in others: the ratio
        of medians, each time divided by its worker's median.
    p_value : float
        Chance of a difference as large as this one if missing rows came in iterations like all others (two-sided
        rank test of Mann and Whitney); NaN where there are no others.
    """

    pairs: int
    rows: int
    iterations: int
    all_iterations: int
    by_worker: dict[str, int]
    silent_since: dict[str, int]
    slower: float
    p_value: float

    @property
    def kept_share(self) -> float:
        """Share of the iterations that remain when those with missing rows are left out."""
        return 1 - self.iterations / self.all_iterations

    @property
    def in_slow_iterations(self) -> bool:
        """Whether the workers that are there are slower in iterations with missing rows, beyond chance."""
        return self.slower > 1 and self.p_value < _CHANCE

    @property
    def sentences(self) -> list[str]:
        """How many rows are missing, of whom, whether in slow iterations, and what leaving out would keep."""
        verb = "row is" if self.pairs == 1 else "rows are"
        amount = (
            f"{self.pairs} {verb} missing, {self.pairs / self.rows:.2g} of all, in {self.iterations} of "
            f"{self.all_iterations} iterations: {_of_whom(self.by_worker)}."
        )
        kept = self.all_iterations - self.iterations
        listwise = (
            f"Leaving out iterations with missing rows would keep {kept} of {self.all_iterations} iterations "
            f"({self.kept_share:.0%})."
        )
        return [amount, *self._silent(), self._slow_or_not(), listwise]

    def _silent(self) -> list[str]:
        """That workers have no row up to the end, so that they may have been gone."""
        told = []
        for label, since in list(self.silent_since.items())[:_MOST_NAMED]:
            told.append(
                f"Worker {label} has no row from iteration {since} to the end: it was gone, or in each of them later "
                "than the timeout; absent=skip answers for the iterations before."
            )
        return told

    def _slow_or_not(self) -> str:
        """Whether iterations with missing rows are slow ones."""
        if np.isnan(self.p_value):
            return "Whether rows are missing in slow iterations cannot be told: there are too few to compare."
        if self.in_slow_iterations:
            return f"They are missing in slow iterations: the other workers took {self.slower:.3g} times as long there."
        if self.p_value < _CHANCE:
            return f"They are missing in fast iterations: the other workers took {self.slower:.3g} times as long there."
        return "The other workers took about as long in these iterations as in all others."


class Told(NamedTuple):
    """An answer where missing rows were taken in one way: its verdict, and that in words."""

    verdict: Hashable
    words: str


@dataclass(frozen=True)
class Dependence:
    """Whether an answer depends on what missing rows are taken for, and the sentence that says so."""

    differs: bool
    sentence: str


def dependence(what: str, missing: MissingRows, late: Told, otherwise: Mapping[str, Told]) -> Dependence:
    """Whether `what` was answered depends on what missing rows are taken for: whether the verdicts differ.

    `late` is the answer where they are late, and `otherwise` has those where they were taken in other ways, by that
    way in words.

    Examples
    --------
    >>> from gcexp.traces.record import NEEDED
    >>> x = np.array([[1.0, 2.0], [1.5, np.nan], [5.0, np.nan]])
    >>> missing = described(TraceFile("mine", NEEDED, (0, 1), {"time": x}, missing=np.isnan(x)))
    >>> code, wait = Told("code", "code"), Told("wait", "wait")
    >>> print(dependence("the verdict", missing, code, {"they are left out": code}).sentence)
    2 rows are missing, and the verdict is the same where they are taken as late and where they are left out.
    >>> depends = dependence("the verdict", missing, code, {"they are left out": wait})
    >>> depends.differs, depends.sentence.partition(": ")[2]
    (True, 'code where they are taken as late; wait where they are left out.')
    """
    rows = "1 row is missing" if missing.pairs == 1 else f"{missing.pairs} rows are missing"
    if not otherwise:
        return Dependence(False, f"{rows}, some in every iteration, and {what} takes them as late.")
    if all(other.verdict == late.verdict for other in otherwise.values()):
        others = " and ".join(f"where {how}" for how in otherwise)
        return Dependence(False, f"{rows}, and {what} is the same where they are taken as late and {others}.")
    told = [f"{late.words} where they are taken as late"]
    told += [f"{other.words} where {how}" for how, other in otherwise.items()]
    return Dependence(True, f"{rows}, and {what} depends on that: {'; '.join(told)}.")


def _of_whom(by_worker: dict[str, int]) -> str:
    """Who lacks how many rows, those with most of them by name."""
    named = list(by_worker.items())[:_MOST_NAMED]
    parts = [f"{count} of worker {label}" for label, count in named]
    others = list(by_worker.values())[_MOST_NAMED:]
    if others:
        noun = "other worker" if len(others) == 1 else "other workers"
        parts.append(f"{sum(others)} of {len(others)} {noun}")
    return joined(parts)


def described(trace: TraceFile, rows: Iterable[int] | None = None) -> MissingRows | None:
    """What a trace lacks; None where no row is missing.

    Parameters
    ----------
    trace : TraceFile
        As it was read, or with its missing rows filled by `as_late`.
    rows : iterable of int, optional
        Only these iterations, such as those at the own load.

    Examples
    --------
    >>> from gcexp.traces.record import NEEDED
    >>> x = np.array([[1.0, 2.0], [1.5, np.nan], [5.0, np.nan]])
    >>> trace = TraceFile("mine", NEEDED, (0, 1), {"time": x}, missing=np.isnan(x))
    >>> print(described(trace).sentences[0])
    2 rows are missing, 0.33 of all, in 2 of 3 iterations: 2 of worker 1.
    """
    if trace.missing is None:
        return None
    missing = trace.missing
    times = trace.values["time"]
    silent_since = {}
    for worker, since in _silent_since(missing).items():
        silent_since[trace.labels[worker]] = since
    if rows is not None:
        chosen = np.fromiter(rows, int)
        missing = missing[chosen]
        times = times[chosen]
    if not missing.any():
        return None
    counts = missing.sum(0)
    order = np.argsort(-counts, kind="stable")
    by_worker = {trace.labels[w]: int(counts[w]) for w in order if counts[w]}
    slower, p_value = _slowness(np.where(missing, np.nan, times), missing.any(1))
    return MissingRows(
        pairs=int(missing.sum()),
        rows=missing.size,
        iterations=int(missing.any(1).sum()),
        all_iterations=len(missing),
        by_worker=by_worker,
        silent_since=silent_since,
        slower=slower,
        p_value=p_value,
    )


def _silent_since(missing: np.ndarray) -> dict[int, int]:
    """The first of the last iterations in which a worker has no row, by the workers that lack at least ten of them.

    >>> _silent_since(np.arange(30)[:, None] >= [30, 12])
    {1: 12}
    """
    found = {}
    for worker in np.flatnonzero(missing[-_GONE:].all(0)):
        there = np.flatnonzero(~missing[:, worker])
        found[int(worker)] = int(there[-1]) + 1 if len(there) else 0
    return found


def _slowness(times: np.ndarray, lacking: np.ndarray) -> tuple[float, float]:
    """Ratio of medians of the seen times (R, N) in rows that lack some to that in whole rows, and its p-value."""
    there = ~np.isnan(times).all(1)
    lacking = lacking[there]
    times = times[there]
    seen = ~np.isnan(times).all(0)
    levels = np.nanmedian(times[:, seen] / np.nanmedian(times[:, seen], axis=0), axis=1)
    if lacking.all() or not lacking.any():
        return np.nan, np.nan
    slower = float(np.median(levels[lacking]) / np.median(levels[~lacking]))
    return slower, p_of_equal_ranks(levels[lacking], levels[~lacking])
