"""Remedies for stragglers, and what no code can beat, as a tidy table: `benchmark`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp.errors import ParameterError, UserError, require, require_known
from gcexp.progress import bar
from gcexp.run.benchmark_schemes import Entry, entries
from gcexp.run.scheme import Codes
from gcexp.schema import arguments, fitted
from gcexp.traces.missing import LEFT_OUT, Told, dependence, described, ways
from gcexp_adviser.benchmark.replay import UNCODED, Replay
from gcexp_adviser.benchmark.verdict import judged
from gcexp_adviser.diagnosis.recorded import doubts_of
from gcexp_adviser.diagnosis.sampled import refuse_sampled

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.traces.missing import Absent
    from gcexp.traces.record import TraceFile

_OF_TRACE = ("pricing", "column", "rows", "data_bound")  # what a benchmark leaves to its caller
COLUMNS = (
    "trace",
    "phi",
    "late",
    "chunks",
    "scheme",
    "group",
    "workers",
    "load",
    "learned",
    "hindsight",
    "placement",
    "mean_duration",
    "ratio",
    "ratio_low",
    "ratio_high",
    "exact",
    "used_share",
    "error",
    "bias",
    "never_used",
    "ratio_per_used",
    "bound",
    "gap",
    "colour",
    "reference",
    "against",
)


def benchmark(
    file: Any,
    schemes: str | dict | Iterable[str | dict] | None = None,
    phi: Sequence[float] = (0.0, 0.5, 1.0),
    *,
    late: str | Sequence[str] = "stop",
    chunks: int | Sequence[int] | None = None,
    n: int | None = None,
    progress: bool = True,
    absent: Absent | None = None,
    timeout: float | None = None,
    barrier: str = "check",
    **more: Any,
) -> pd.DataFrame:
    """Remedies for stragglers, and what no code can beat, on the replayed times of a trace.

    All schemes are scored on the same rows. Where a column of the trace is one worker throughout, the first tenth of
    the rows is a prefix: rules that learn do so there, and it is not scored. There is no communication, and how times
    grow with the load is assumed. Nothing is drawn at random but what a scheme draws.

    Parameters
    ----------
    file : path, DataFrame or array
        A log of any form that `gcexp_adviser.logs.reading.read` takes, as a CSV with ``iteration,worker,time``, or the
        name of a bundled trace, such as ``pai-job1``; or the same as a frame, or as an array (iterations,
        workers).
    schemes : str, dict or iterable of them, optional
        Labels of conf/benchmark.yaml, names of scheme options, or mappings of keys such as ``{"scheme": "cgc", "s":
        3}``. By default all of that file, and options that declare ``benchmark: true``.
    phi : sequence of float
        Shares of the time that do not grow with the load.
    late : str or sequence of str
        What workers do whose work was not waited for, see `gcexp.schemes.late`.
    chunks : int or sequence of int, optional
        For ``late=chunk``.
    n : int, optional
        Workers; by default all of the trace.
    progress : bool
        Show a progress bar, as `gcexp.simulate` does.
    absent : {"refuse", "late", "skip"}, optional
        What missing rows are taken for. By default the table takes them as late; where its verdicts differ from those
        without the iterations that lack some, ``table.attrs["depends"]`` says so. Workers that are sampled cannot be
        replayed: `gcexp.advise` answers for them.
    timeout : float, optional
        The time of missing rows that are late.
    barrier : {"check", "no"}
        Whether to ask, as `gcexp.advise` does, if the times were stamped after a barrier.
    **more
        Parameters of `gcexp.delays.Trace`: ``pricing``, ``column``, ``rows``, ``data_bound``; and what is said of the
        log: ``columns``, ``unit``, ``decimal``, ``pattern`` (`gcexp_adviser.logs.how.how_given`).

    Returns
    -------
    DataFrame
        One row for each phi, value of `late` and scheme. ``ratio`` is its ``mean_duration`` over that of waiting for
        all, with the smallest and the largest of that ratio over four quarters of the rows; ``used_share`` the mean
        of (sum c)^2 / (k sum c^2), ``error`` that of ||c - 1||^2 / k, ``bias`` the same of the mean coefficients,
        ``never_used`` the share of partitions that never count. ``bound`` is what no scheme of these loads and
        messages can beat at this ``exact``-ness, row by row, as a ratio, ``gap`` the ratio over it, minus one.

        ``colour`` compares an exact code with the best that needs no code: wins, loses, or cannot win, which is proven
        for all codes of these loads and messages. ``reference`` is the ratio of that best, and ``against`` says what
        it is: waiting for all, or rebalancing with the same largest load, by the times that were seen last.

        A value is empty where a thing does not exist. ``table.attrs`` has the number of scored ``rows`` and of the
        ``prefix``, what a trace does not allow and why (``left_out``), remarks on how it was priced (``notes``), what
        makes the times doubtful (``doubts``), what its times are, where its index says so (``measures``), and schemes
        that drop the data of some worker always or nearly always, with a phrase that names the worker (``unused``). Of
        a scheme that hears nobody in most iterations there is a warning too.

    Raises
    ------
    UserError
        For a file that is no trace, an unknown scheme, and values outside what they may be.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.benchmark("pai-job4", ["FRC, d = 2, learned pairs"], phi=[0.0])
    >>> table[["ratio", "bound", "reference", "colour"]].round(4).to_numpy().tolist()
    [[0.3586, 0.3585, 0.2957, 'cannot win']]
    """
    from gcexp.traces.clean import without_gaps
    from gcexp.traces.record import TraceFile
    from gcexp_adviser.logs.how import OF_A_LOG, how_of
    from gcexp_adviser.logs.reading import read

    log = {name: more.pop(name) for name in OF_A_LOG if name in more}
    trace = more
    source = file
    in_memory = isinstance(file, list | TraceFile) or getattr(file, "size", 0) > 0
    if not in_memory:
        source = fitted(str | Path, file, "file")
    n = fitted(int | None, n, "n")
    progress = fitted(bool, progress, "progress")
    shares = _listed(phi, float, "phi")
    ways_to_be_late = _ways_to_be_late(late, chunks)
    _check_trace_options(trace)
    if schemes is not None:
        schemes = _listed(schemes, str | dict, "schemes")
    cases = _cases(entries(schemes), ways_to_be_late)
    record = read(source, how_of(log, benchmark))
    if absent == "refuse" and record is not source:
        record = without_gaps(record, absent, timeout)
    if absent is None:
        refuse_sampled(record, cure="gcexp advise with absent=sampled, since no replay can")
    by_way = ways(record, absent, timeout)
    main, *others = by_way.values()
    is_of_times = trace.get("column", "time") == "time"
    doubts = doubts_of(main, barrier if is_of_times else "no")
    frame = _table(main, n, shares, cases, progress, trace)
    frame.attrs["doubts"] = tuple(doubts)
    lacking = described(record)
    if lacking is not None:
        frame.attrs["notes"] += tuple(f"{record.name}: {sentence}" for sentence in lacking.sentences)
    if lacking is not None and "late" in by_way and absent is None:
        otherwise = {}
        for other in others:
            otherwise[LEFT_OUT] = _told(_table(other, n, shares, cases, progress, trace))
        below = _told(frame)._replace(words="that below")
        frame.attrs["depends"] = dependence("the verdict", lacking, below, otherwise).sentence
    return frame


@dataclass(frozen=True)
class _Late:
    """What workers do whose work was not waited for, and in how many pieces they do it."""

    name: str
    chunks: int | None = None


@dataclass(frozen=True)
class _Case:
    """A scheme, and what its workers do when they are late."""

    entry: Entry
    late: _Late


def _ways_to_be_late(late: str | Sequence[str], chunks: int | Sequence[int] | None) -> list[_Late]:
    """What workers do who are late, checked; ``chunk`` with every number of pieces."""
    from gcexp.schemes import LATE

    names = _listed(late, str, "late")
    pieces = [None]
    if chunks is not None:
        pieces = _listed(chunks, int, "chunks")
    for name in names:
        require_known("late", name, LATE)
    for count in pieces:
        require(count is None or count >= 1, f"chunks is a number of pieces >= 1, got {count}")
    found = []
    for name in names:
        if name == "chunk":
            found += [_Late(name, count) for count in pieces]
        else:
            found.append(_Late(name))
    return found


def _check_trace_options(given: dict[str, Any]) -> None:
    """Refuse what is no option of a trace, and turn numbers of numpy into plain ones."""
    from gcexp.delays import Trace
    from gcexp_adviser.logs.how import OF_A_LOG

    for name, value in given.items():
        require_known("key", name, (*_OF_TRACE, *OF_A_LOG))
        if hasattr(value, "tolist"):
            given[name] = value.tolist()
    arguments(Trace, {"file": ""} | given, "", joint="")


def _cases(listed: list[Entry], ways_to_be_late: list[_Late]) -> list[_Case]:
    """Every scheme with everything that its workers may do when they are late.

    A bound is played once: with workers that stop at once, whatever late ones do.
    """
    bounds_of_list = [entry for entry in listed if entry.run(1).config["bound"]]
    first = ways_to_be_late[0]
    cases = []
    for late in ways_to_be_late:
        for entry in listed:
            if late is first or entry not in bounds_of_list:
                cases.append(_Case(entry, late))
    return cases


def _told(frame: pd.DataFrame) -> Told:
    """The verdicts of a table, which are compared by whether to code and with what, and their sentences."""
    found = judged(frame)
    compared = [(one.case, one.word, one.scheme) for one in found]
    return Told(tuple(compared), " ".join(map(str, found)))


def _table(
    trace: TraceFile,
    n: int | None,
    shares: list[float],
    cases: list[_Case],
    progress: bool,
    trace_options: dict[str, Any],
) -> pd.DataFrame:
    """The table of a trace without gaps: a row for each phi and each case."""
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    codes = Codes()
    with bar(len(cases) * len(shares), "benchmark", "scheme", progress) as moving:
        for share in shares:
            replay = Replay.of(trace, share, n, codes, **trace_options)
            for case in cases:
                entry = case.entry
                try:
                    rows.append(replay.row(entry, case.late.name, case.late.chunks))
                except ParameterError as error:
                    waiting = UNCODED.run(replay.n, case.late.name, case.late.chunks, codes).scheme
                    replay.played(waiting)  # or no scheme can be played
                    left_out[entry.label] = str(error)
                except UserError as error:
                    raise UserError(f"{entry.label}: {error}") from None
                moving.update()
    if left_out and not rows:
        raise ParameterError("; ".join(f"{label}: {why}" for label, why in left_out.items()))
    import pandas as pd  # slow to import: not before a mistake is told

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame.attrs |= {"rows": replay.rows, "prefix": replay.prefix, "left_out": left_out, "notes": replay.notes}
    frame.attrs |= {"measures": replay.measures, "unused": _unused(rows)}
    silences = tuple(_silences(rows, replay))
    frame.attrs["notes"] += silences
    for sentence in silences:
        warnings.warn(sentence, stacklevel=3)
    return frame


def _silences(rows: list[dict], replay: Replay) -> Iterator[str]:
    """Which schemes hear nobody most of the time: a limit of theirs is then in another unit than the trace."""
    from gcexp.summary import SILENT_MOSTLY, silence
    from gcexp.timeline import median_time

    silent = {row["scheme"]: row["silent"] for row in rows if row.get("silent", 0.0) > SILENT_MOSTLY}
    for scheme, share in silent.items():
        usual = median_time(replay.draws(replay.n))
        yield silence(scheme, share, f"{usual:.4g}")


def _unused(rows: list[dict]) -> dict[str, str]:
    """The phrase of each scheme that hardly ever uses the data of some worker, and whether it holds everywhere."""
    by_scheme: dict[str, list[str]] = {}
    for row in rows:
        by_scheme.setdefault(row["scheme"], []).append(row.get("unused", ""))
    found = {}
    for scheme, phrases in by_scheme.items():
        first = next(filter(None, phrases), "")
        if first and len(set(phrases)) > 1:
            first += " in some columns"
        if first:
            found[scheme] = first
    return found


def _listed(given: Any, kind: Any, name: str) -> list:
    """One value or several as a list of that kind, which is not empty."""
    values = [given]
    if isinstance(given, Iterable) and not isinstance(given, str | dict):
        values = list(given)
    found = fitted(list[kind], values, name)
    require(bool(found), f"{name} names at least one, got none")
    return found
