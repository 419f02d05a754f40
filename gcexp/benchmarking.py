"""Where does redundancy pay on given times, and where can it not? What does a clock cost? As tidy tables."""

from __future__ import annotations

import gc
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.errors import ParameterError, UserError, require, require_known
from gcexp.progress import bar
from gcexp.run.benchmarked import Entry, entries
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp.schema import arguments, fitted
from gcexp.theory import bounds

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.codes import Code
    from gcexp.delays import Draws, Trace
    from gcexp.schemes import Scheme
    from gcexp.timeline import Timeline
    from gcexp.traces.missing import Absent
    from gcexp.traces.reading import Columns
    from gcexp.traces.record import TraceFile

_OF_TRACE = ("pricing", "column", "rows", "data_bound")  # what a benchmark leaves to its caller
COLUMNS = (
    *("trace", "phi", "late", "chunks", "scheme", "group", "workers", "load", "learned", "hindsight"),
    *("placement", "mean_duration", "ratio", "ratio_low", "ratio_high", "exact", "used_share", "error"),
    *("bias", "never_used", "ratio_per_used", "bound", "gap", "colour", "reference", "against"),
)
WINS, LOSES, CANNOT = "wins", "loses", "cannot win"
REBALANCING, WAITING = "rebalancing", "waiting for all"
#: The reference where workers are new in every row, or where times follow the data.
ALONE = "waiting for all (rebalancing does not apply)"
_TIE = 1e-9
_HARDLY = 0.05  # a worker whose data are used less often than this is named
_MOST_NAMED = 4  # workers that are named in a phrase
_QUARTERS = 4
_GRID, _STEP = 101, 2e-8  # values of phi that are tried together, and how close two of them get


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
    columns: Columns = None,
    unit: str | None = None,
    **trace: Any,
) -> pd.DataFrame:
    """Remedies for stragglers, and what no code can beat, on the replayed times of a trace.

    All schemes are scored on the same rows. Where a column of the trace is one worker throughout, the first tenth of
    the rows is a prefix: rules that learn do so there, and it is not scored. There is no communication, and how times
    grow with the load is assumed. Nothing is drawn at random but what a scheme draws.

    Parameters
    ----------
    file : path, DataFrame or array
        A log of any form that `gcexp.traces.reading.read_trace` takes, as a CSV with ``iteration,worker,time``, or the
        name of a bundled trace, such as ``pai-job1``; or the same as a frame, or as an array (iterations, workers).
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
        without the iterations that lack some, ``table.attrs["depends"]`` says so.
    timeout, columns, unit : optional
        As in `gcexp.traces.reading.read_trace`.
    **trace
        Further parameters of `gcexp.delays.Trace`: ``pricing``, ``column``, ``rows``, ``data_bound``.

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
        its times are, where its index says so (``measures``), and schemes that drop the data of some worker always or
        nearly always, with a phrase that names the worker (``unused``). Of a scheme that hears nobody in most
        iterations there is a warning too.

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
    from gcexp.delays import Trace
    from gcexp.schemes import LATE
    from gcexp.traces.missing import described, ways
    from gcexp.traces.reading import trace_of, trace_with_gaps
    from gcexp.traces.record import TraceFile

    in_memory = isinstance(file, list | TraceFile) or getattr(file, "size", 0) > 0
    source = file if in_memory else fitted(str | Path, file, "file")
    n = fitted(int | None, n, "n")
    progress = fitted(bool, progress, "progress")
    shares, lates = _listed(phi, float, "phi"), _listed(late, str, "late")
    pieces = [None] if chunks is None else _listed(chunks, int, "chunks")
    for name in lates:
        require_known("late", name, LATE)
    for count in pieces:
        require(count is None or count >= 1, f"chunks is a number of pieces >= 1, got {count}")
    for name, value in trace.items():
        require_known("key", name, _OF_TRACE)
        if hasattr(value, "tolist"):
            trace[name] = value.tolist()
    arguments(Trace, {"file": ""} | trace, "", joint="")
    listed = entries(None if schemes is None else _listed(schemes, str | dict, "schemes"))
    bound = [entry for entry in listed if entry.run(1).config["bound"]]
    played: list[tuple[str, int | None, Entry]] = []
    for value in lates:
        for count in pieces if value == "chunk" else [None]:
            # A bound is played once: with workers that stop at once, whatever late ones do.
            left = [entry for entry in listed if not played or entry not in bound]
            played += [(value, count, entry) for entry in left]
    if absent == "refuse":
        read = trace_of(source, absent, timeout, columns=columns, unit=unit)
    else:
        read = trace_with_gaps(source, columns=columns, unit=unit)
    found = ways(read, absent, timeout)
    main, *others = found.values()
    frame = _table(main, n, shares, played, progress, trace)
    lacking = described(read)
    if lacking is not None:
        frame.attrs["notes"] += tuple(f"{read.name}: {sentence}" for sentence in lacking.sentences)
    if "late" in found and absent is None:
        tables = [_table(other, n, shares, played, progress, trace) for other in others]
        frame.attrs["depends"] = _dependence(frame, *tables)
    return frame


def _dependence(late: pd.DataFrame, skipped: pd.DataFrame | None = None) -> str:
    """Whether the verdicts depend on what missing rows are taken for, in a sentence."""
    from gcexp.traces.missing import without_numbers

    if skipped is None:
        return "Every iteration lacks some worker, so missing rows are taken as late here."
    differing = []
    for of_late, of_skipped in zip(verdicts(late), verdicts(skipped), strict=False):
        if without_numbers(of_late) != without_numbers(of_skipped):
            differing.append(of_skipped)
    if not differing:
        return "The verdicts are the same whether missing rows are late or their iterations are left out."
    return (
        "The verdicts depend on the missing rows: below they are late; with their iterations left out (absent=skip): "
        f"{' '.join(differing)}"
    )


def _table(
    trace: TraceFile,
    n: int | None,
    shares: list[float],
    played: list[tuple[str, int | None, Entry]],
    progress: bool,
    more: dict[str, Any],
) -> pd.DataFrame:
    """The table of a trace without gaps: a row for each phi and each scheme that is played; `more` is of `Trace`."""
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    codes = Codes()
    with bar(len(played) * len(shares), "benchmark", "scheme", progress) as moving:
        for share in shares:
            replay = Replay.of(trace, share, n, codes, **more)
            for value, count, entry in played:
                try:
                    rows.append(replay.row(entry, value, count))
                except ParameterError as error:
                    waiting = _UNCODED.run(replay.n, value, count, codes).scheme
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
    from gcexp.summary import SILENT, silence
    from gcexp.timeline import median_time

    silent = {row["scheme"]: row["silent"] for row in rows if row.get("silent", 0.0) > SILENT}
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
        told = [phrase for phrase in phrases if phrase]
        if told:
            everywhere = len(set(phrases)) == 1
            found[scheme] = told[0] if everywhere else f"{told[0]} in some columns"
    return found


def _hardly_used(labels: Sequence[str], shares: np.ndarray) -> str:
    """A phrase that names the workers whose data are never or hardly ever used; empty where there are none."""
    used = dict(zip(labels, shares.tolist(), strict=False))
    never = [name for name, share in used.items() if share == 0]
    hardly = [name for name, share in used.items() if 0 < share < _HARDLY]
    parts = []
    for phrase, workers in (("never uses", never), ("hardly ever uses", hardly)):
        if workers:
            noun = "worker" if len(workers) == 1 else "workers"
            more = f" and {len(workers) - _MOST_NAMED} more" if len(workers) > _MOST_NAMED else ""
            parts.append(f"{phrase} {noun} {', '.join(workers[:_MOST_NAMED])}{more}")
    return "; ".join(parts)


def _listed(given: Any, kind: Any, name: str) -> list:
    """One value or several as a list of that kind, which is not empty."""
    several = isinstance(given, Iterable) and not isinstance(given, str | dict)
    found = fitted(list[kind], list(given) if several else [given], name)
    require(bool(found), f"{name} names at least one, got none")
    return found


@dataclass(frozen=True)
class Replay:
    """The scored rows of a trace at one phi: what schemes are played on, and what that took."""

    name: str
    delay: Trace
    n: int  #: workers
    rows: int  #: that are scored
    prefix: int  #: rows that are known before
    notes: tuple[str, ...]  #: what a reader of the numbers should know about this trace
    measures: str  #: what the times are, where the trace says it and they are compute times alone
    labels: tuple[str, ...]  #: names of the workers; none where they are new in every row
    #: Where codes are built, shared by several replays.
    codes: Codes = field(default_factory=Codes, repr=False)
    _kept: dict = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        file: str | Path | TraceFile,
        phi: float = 0.0,
        n: int | None = None,
        codes: Codes | None = None,
        **trace: Any,
    ) -> Replay:
        """The replay of a file: rows behind the prefix, once each."""
        from gcexp.delays import Trace
        from gcexp.delays.trace_loads import loads_of
        from gcexp.traces.reading import read_trace
        from gcexp.traces.record import TraceFile

        require(n is None or n >= 1, f"n is a number of workers >= 1, got {n}")
        read = read_trace(file)
        source = file if isinstance(file, TraceFile) else str(file)
        whole = Trace(source, phi=phi, **trace)
        whole.draw((0,), 1, n or 1)  # says what is wrong with rows, column, pricing and n
        times = read.values["time"][whole.played_rows(read)]
        learns = read.flags.persistent and len(times) > 1
        prefix = max(1, len(times) // 10) if learns else 0
        there = np.flatnonzero(~np.isnan(times).any(0))
        delay = replace(whole, skip="prefix" if learns else 0)
        loads = loads_of(read)
        notes = tuple(f"{read.name}: {decision}" for decision in read.decisions)
        if loads.several:
            notes += (f"{read.name}: {loads.sentence}",)
        if read.flags.data_bound and not delay.data_bound:
            notes += (
                f"{read.name}: who is slow changes with the data (data_bound: true in its index), but here times "
                "follow the worker, which flatters redundancy; data_bound (--data-bound) lets them follow the data",
            )
        measures = "" if "compute" in read.values else read.flags.measures
        labels = tuple(read.labels[i] for i in there) if read.flags.persistent else ()
        return cls(
            name=read.name,
            delay=delay,
            n=len(there) if n is None else n,
            rows=len(times) - prefix,
            prefix=prefix,
            notes=notes,
            measures=measures,
            labels=labels,
            codes=Codes() if codes is None else codes,
        )

    def draws(self, n: int, phi: tuple[float, ...] | None = None) -> Draws:
        """The rows for n workers; for several phi one below the other, as if each were a seed. The last are kept."""
        if self._kept.get("asked") != (n, phi):
            self._kept["draws"] = self._drawn(n, phi)
            self._kept["asked"] = n, phi
        return self._kept["draws"]

    def _drawn(self, n: int, phi: tuple[float, ...] | None) -> Draws:
        """The same, drawn anew."""
        if phi is None:
            return self.delay.draw((0,), self.rows, n)
        draws = [replace(self.delay, phi=share).draw((0,), self.rows, n) for share in phi]
        arrays = {}
        for part in fields(draws[0]):
            if isinstance(getattr(draws[0], part.name), np.ndarray):
                arrays[part.name] = np.concatenate([getattr(one, part.name) for one in draws])
        shape = (len(draws), self.rows, n)
        return replace(draws[0], seeds=(0,) * len(draws), shape=shape, **arrays)

    def played(self, scheme: Scheme, rounds: int = 1, phi: tuple[float, ...] | None = None) -> Timeline:
        """The timeline of a scheme on these rows, at several phi where they are named."""
        from gcexp.delays import LocalSteps
        from gcexp.timeline import simulate

        n = scheme.code.n
        if rounds == 1:
            return simulate(scheme, self.draws(n, phi))
        require(
            self.rows >= rounds,
            f"{self.name} has {self.rows} scored rows, a round of local steps takes {rounds}",
        )
        return simulate(scheme, LocalSteps(self.delay, rounds).draw((0,), self.rows // rounds, n))

    def waiting(self, n: int, phi: tuple[float, ...] | None = None) -> np.ndarray:
        """Durations (S, T) of waiting for all."""
        return self._took(_UNCODED, n, phi)

    def reference(self, n: int, cap: float, phi: tuple[float, ...] | None = None) -> tuple[np.ndarray, str]:
        """The best that needs no code, as ratios (S,) to waiting for all, and what it is at the first of them.

        It is rebalancing with no load above `cap`, where the trace allows that and it is faster than waiting.
        """
        draws = self.draws(n, phi)
        if draws.renewed or self.delay.data_bound:
            return np.ones(draws.shape[0]), ALONE
        rebalancing = Entry("uneven", "rebalance", {"scheme": "uneven", "loads.cap": float(cap)})
        ratios = self._took(rebalancing, n, phi).mean(1) / self.waiting(n, phi).mean(1)
        against = REBALANCING if ratios[0] < 1 - _TIE else WAITING
        return np.minimum(ratios, 1.0), against

    def _took(self, entry: Entry, n: int, phi: tuple[float, ...] | None) -> np.ndarray:
        """Durations (S, T) of a scheme without a code; they are kept."""
        key = entry.label, n, entry.keys.get("loads.cap"), phi
        if key not in self._kept:
            scheme = entry.run(n, codes=self.codes).scheme_of(0)
            self._kept[key] = self.played(scheme, phi=phi).duration
        return self._kept[key]

    def allowed(self, entry: Entry, late: str = "stop", chunks: int | None = None) -> tuple[Run, Scheme]:
        """Run and scheme of an entry at the largest number of workers that it allows, at most an eighth fewer."""
        first_refusal: ParameterError | None = None
        fewest = self.n - max(1, self.n // 8)
        for n in range(self.n, fewest - 1, -1):
            try:
                run = entry.run(n, late, chunks, self.codes)
                return run, run.scheme_of(0)
            except ParameterError as error:
                if first_refusal is None:
                    first_refusal = error
        assert first_refusal is not None
        raise first_refusal

    def row(self, entry: Entry, late: str = "stop", chunks: int | None = None) -> dict[str, Any]:
        """What a scheme does here, as a row of `benchmark`."""
        from gcexp.summary import silent_share

        run, scheme = self.allowed(entry, late, chunks)
        steps = max(1, entry.local_steps)
        timeline = None
        if scheme.bound and self.delay.data_bound:
            took = self._bound_by_data(scheme)
        else:
            timeline = self.played(scheme, steps)
            took = timeline.duration[0]
        waited = self.waiting(scheme.code.n)[0, : len(took) * steps]
        every = waited.reshape(-1, steps).mean(1)  # of the iterations of each round
        found = self._described(entry, scheme, chunks)
        found |= {"mean_duration": took.mean(), "ratio": took.mean() / every.mean()}
        if len(took) >= _QUARTERS:
            quarters = _ratios_of_quarters(took, every)
            found |= {"ratio_low": min(quarters), "ratio_high": max(quarters)}
        if timeline is not None:
            found["silent"] = silent_share(timeline, scheme.decodes)
        if timeline is not None and scheme.decodes and steps == 1:
            found |= self._judged(run, scheme, timeline, took=took, every=every)
        return found

    def _bound_by_data(self, scheme: Scheme) -> np.ndarray:
        """Durations (T,) that a theorem gives for a bound whose times follow the data, which no clock can play."""
        least = bound_of(scheme, self.draws(scheme.code.n), 1.0)
        if least is None:
            raise ParameterError("no theorem bounds times that follow the data for this scheme")
        return least[0]

    def _described(self, entry: Entry, scheme: Scheme, chunks: int | None) -> dict[str, Any]:
        """What was played: the case, and what the scheme is made of."""
        rules = (scheme.placement, scheme.loads)
        load: float | None = load_of(scheme)
        if getattr(scheme.loads, "cap", load) is None:  # any load may occur
            load = None
        learned = getattr(scheme.wait, "begin", None) is not None
        learned = learned or any(getattr(rule, "learned", False) for rule in rules)
        return {
            "trace": self.name,
            "phi": self.delay.phi,
            "late": scheme.late,
            "chunks": chunks if scheme.late == "chunk" else None,
            "scheme": entry.label,
            "group": entry.group,
            "workers": scheme.code.n,
            "load": load,
            "learned": learned,
            "hindsight": any(getattr(rule, "hindsight", False) for rule in rules),
            "placement": type(scheme.placement).__name__.lower() if scheme.placement else "home",
        }

    def _judged(
        self, run: Run, scheme: Scheme, timeline: Timeline, *, took: np.ndarray, every: np.ndarray
    ) -> dict[str, Any]:
        """How good the gradients of a timeline are, and its durations beside the bound and the reference."""
        fresh = _is_fresh(scheme)
        found = _quality(timeline, fresh)
        if run.exact and not found["exact"]:
            raise UserError(
                "the scheme declares exact: true, but its timeline has a coefficient that is not 1"
            )
        ratio = took.mean() / every.mean()
        used = found["used_share"]
        found["ratio_per_used"] = ratio / used if used else None
        if not found["exact"] and not fresh and scheme.placement is None:
            found["unused"] = _hardly_used(self.labels, _used_of_workers(timeline, scheme))
        bound = 0.0  # nothing is proven where no theorem speaks
        least = bound_of(scheme, self.draws(scheme.code.n), _share(timeline, scheme))
        if least is not None:
            bound = least.mean() / every.mean()
            found |= {"bound": bound, "gap": took.mean() / least.mean() - 1}
        load = load_of(scheme)
        if found["exact"] and scheme.loads is None and load > 1 + _TIE:
            references, against = self.reference(scheme.code.n, load)
            (reference,) = references
            found |= {"colour": colour(ratio, bound, reference), "reference": reference, "against": against}
        return found


def _ratios_of_quarters(took: np.ndarray, every: np.ndarray) -> list[float]:
    """The ratio of the mean durations over each quarter of the rows."""
    edges = [len(took) * i // _QUARTERS for i in range(_QUARTERS + 1)]
    return [took[a:b].mean() / every[a:b].mean() for a, b in pairwise(edges)]


#: Waiting for all, which every duration is divided by.
_UNCODED = Entry("wait for all", "rebalance", {"scheme": "uncoded"})


def _is_fresh(scheme: Scheme) -> bool:
    """Whether the data of each batch are drawn anew, so that what is heard makes up a whole one."""
    return getattr(scheme.loads, "fresh", False)


def load_of(scheme: Scheme) -> float:
    """Largest relative load: a cap where loads differ, that of a backup worker, else the code's."""
    from gcexp.schemes import Backup, Uneven

    n = scheme.code.n
    if isinstance(scheme.loads, Uneven):
        return float(n if scheme.loads.cap is None else scheme.loads.cap)
    if isinstance(scheme.loads, Backup):
        return n / (n - scheme.loads.b)
    return float(n * scheme.code.load.max() / scheme.code.k)


def bound_of(scheme: Scheme, draws: Draws, share: float | np.ndarray) -> np.ndarray | None:
    """What no scheme of these loads and messages can beat, (S, T); None where no theorem speaks of it.

    `share` is that of the gradient which each iteration used, one or (S, T): 1 for exact schemes. The theorem with
    unequal loads, or with several messages of which some were dropped, is that of the work floor, with the largest load
    as its cap. No theorem speaks of single iterations of a code over time, which decodes in later ones.
    """
    if scheme.lag:
        return None
    code = scheme.code
    load = load_of(scheme)
    one_message = bool((code.messages == 1).all())
    equal_loads = bool((code.load == code.load[0]).all())
    if scheme.loads is not None:
        equal_loads = equal_loads and load * (code.n - 1) <= code.n
    exact = np.ndim(share) == 0 and share == 1
    if getattr(draws, "data_bound", False):
        plain = one_message and equal_loads and exact and code.k == code.n and scheme.loads is None
        return _bound_of_data(scheme, draws, plain)
    in_one_order = scheme.decoder is code or _is_alike(code)
    if scheme.loads is None and exact and in_one_order and not (one_message and equal_loads and draws.linear):
        return _played_bound(scheme, draws, anywhere=equal_loads)
    if not draws.linear:
        return None
    fixed, growing = draws.parts()
    if one_message and (scheme.loads is None and equal_loads or _is_fresh(scheme)):
        return bounds.capacity(fixed, growing, load, share)
    return bounds.work_floor(fixed, growing, max(load, 1.0), share)


def _is_alike(code: Code) -> bool:
    """Whether the first messages of a worker need the same work in whatever order it computes them."""
    sizes = np.diff(code.encoding.indptr)
    return bool((sizes == sizes[0]).all()) and sizes.sum() == code.blocks * code.load.sum()


def _bound_of_data(scheme: Scheme, draws: Draws, plain: bool) -> np.ndarray | None:
    """The bound where times follow the data: of a scheme that shares all work, or of a `plain` one."""
    fixed = np.broadcast_to(draws.start, draws.shape)
    growing = draws.chunks.sum(-1)  # type: ignore[attr-defined]  # data-bound draws have them
    if scheme.bound and scheme.loads is not None:
        return bounds.shared_work(fixed, growing)
    if plain:
        return bounds.data_bound(fixed, growing, int(scheme.code.load[0]))
    return None


def _played_bound(scheme: Scheme, draws: Draws, *, anywhere: bool) -> np.ndarray:
    """The bound as the clock plays it: the capacity of the workers that have answered, with any seats if `anywhere`."""
    from gcexp.schemes import Capacity
    from gcexp.timeline import simulate

    rule = replace(scheme, wait=Capacity(), bound=True, late="stop", overhead=0.0)
    if anywhere:
        rule = replace(rule, placement=None)
    return simulate(rule, draws).duration


def colour(ratio: float, bound: float, reference: float) -> str:
    """Whether a code wins against a reference, loses though another of its loads might win, or provably cannot win."""
    if ratio <= reference * (1 + _TIE):
        return WINS
    return CANNOT if bound > reference * (1 + _TIE) else LOSES


def _used(timeline: Timeline) -> np.ndarray:
    """(sum c)^2 / (k sum c^2) of each pattern, 0 where c = 0."""
    c = timeline.coefficients.astype(float)
    square = (c**2).sum(1)
    return np.divide(c.sum(1) ** 2, c.shape[1] * square, out=np.zeros(len(c)), where=square > 0)


def _share(timeline: Timeline, scheme: Scheme) -> float | np.ndarray:
    """Share of the gradient that each iteration used, (S, T), or 1 for exact schemes."""
    exact = _is_fresh(scheme) or (timeline.coefficients == 1).all()
    return 1.0 if exact else _used(timeline)[timeline.pattern]


def _quality(timeline: Timeline, fresh: bool) -> dict[str, Any]:
    """How good the decoded gradients are; all heard shares of a fresh batch are that batch."""
    if fresh or (timeline.coefficients == 1).all():
        return {"exact": not fresh, "used_share": 1.0, "error": 0.0, "bias": 0.0, "never_used": 0.0}
    c = timeline.coefficients.astype(float)
    weight = np.bincount(timeline.pattern[0], minlength=len(c)) / timeline.pattern.shape[1]
    return {
        "exact": False,
        "used_share": float(weight @ _used(timeline)),
        "error": float(weight @ ((c - 1) ** 2).mean(1)),
        "bias": float(((weight @ c - 1) ** 2).mean()),
        "never_used": float((c == 0)[weight > 0].all(0).mean()),
    }


def _used_of_workers(timeline: Timeline, scheme: Scheme) -> np.ndarray:
    """How often the data of each worker count, (n,): the mean over the partitions that it holds."""
    weight = np.bincount(timeline.pattern[0], minlength=len(timeline.coefficients))
    used = weight @ (timeline.coefficients != 0) / timeline.pattern.shape[1]
    held = scheme.code.assignment
    many = held.sum(1)
    return np.where(many > 0, held @ used / np.maximum(many, 1), 1.0)  # who holds nothing loses nothing


def verdicts(table: pd.DataFrame) -> list[str]:
    """Whether to code, in a sentence for each trace, phi and value of `late` of a table of `benchmark`.

    Codes that know the times beforehand are not considered.
    """
    found = []
    by = ["phi", "trace", "late", "chunks"]
    varied = [name for name in ("trace", "late", "chunks") if table[name].nunique(dropna=False) > 1]
    for case, rows in table.groupby(by, sort=False, dropna=False):
        compared = rows["colour"].notna() & rows["reference"].notna()
        codes = rows[compared & (rows["hindsight"] == False)]  # noqa: E712  # it may be empty
        if codes.empty:
            continue
        values = dict(zip(by, case, strict=True))
        place = [f"phi {values['phi']:g}"]
        for name in varied:
            if name != "chunks":
                place.append(values[name])
            elif not math.isnan(values[name]):
                place.append(f"{values[name]:g} pieces")
        found.append(f"{', '.join(place)}: {_verdict(codes)}")
    return found


def _verdict(codes: pd.DataFrame) -> str:
    """Whether one of these codes, or any other of their loads and messages, is worth it."""
    winning = codes[codes["colour"] == WINS]
    if not winning.empty:
        return _verdict_for(_first(winning, "ratio"))
    fastest = _first(codes, "ratio")
    reference = _percent(fastest["reference"])
    faster = {
        REBALANCING: f"Rebalancing takes {reference} of the waiting time",
        WAITING: "Waiting for everybody is faster than rebalancing",
        ALONE: "Rebalancing does not apply here",
    }[fastest["against"]]
    undecided = codes[codes["colour"] == LOSES]
    if undecided.empty:
        loads = " or ".join(f"{load:.3g}" for load in sorted(set(codes["load"])))
        return f"do not code. {faster}; no exact code with load {loads} and the same messages can be faster."
    told = f"use none of these codes. {faster}; the fastest code takes {_percent(fastest['ratio'])}."
    least = _first(undecided, "bound")
    if math.isnan(least["bound"]):
        return told
    could = f"Another code with load {least['load']:.3g} could reach {_percent(least['bound'])} at best."
    return f"{told} {could}"


def _verdict_for(best: pd.Series) -> str:
    """The same where this code is the fastest of those that win."""
    advice = "coding changes nothing"
    if best["ratio"] < best["reference"] * (1 - _TIE):
        advice = "code"
    beside = ""
    if best["against"] == REBALANCING:
        beside = f", rebalancing {_percent(best['reference'])}"
    return f"{advice}. {best['scheme']} takes {_percent(best['ratio'])} of the waiting time{beside}."


def _first(codes: pd.DataFrame, column: str) -> pd.Series:
    """The row with the smallest value of a column; one that has none stands before all."""
    return codes.sort_values(column, na_position="first", kind="stable").iloc[0]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


@columns(*COLUMNS, clocks=True)
def remedies(
    traces: list[dict],
    phi: list[float],
    schemes: list | None = None,
    late: list[str] | None = None,
    chunks: list[int] | None = None,
) -> pd.DataFrame:
    """`benchmark` of several traces, one below the other: the table of a figure.

    Each of the `traces` has a ``file``, and may have a ``name``, a list ``phi`` of its own, and parameters of
    `benchmark`.
    """
    import pandas as pd

    frames = []
    for given in traces:
        more = dict(given)
        file = more.pop("file")
        name = more.pop("name", None)
        shares = more.pop("phi", phi)
        found = benchmark(file, schemes, shares, late=late or "stop", chunks=chunks, progress=False, **more)
        frames.append(found if name is None else found.assign(trace=name))
    return pd.concat(frames, ignore_index=True)


@columns("trace", "against", "scheme", "load", "wins_from", "bound_from", clocks=True)
def break_evens(traces: list[dict], schemes: list | None = None) -> Iterator[dict[str, Any]]:
    """From which phi on schemes win on traces, against waiting for all and against rebalancing.

    ``wins_from`` is the smallest phi from which on, up to 1, a scheme's ratio is at most the reference's: 0 where it
    always wins, empty where it never does. Below ``bound_from``, the smallest phi at which the bound is at most the
    reference's ratio, no exact scheme of these loads and messages can. Both are looked for among 101 values of phi,
    and between two of these to 1e-8. Between other values of the 101 nothing is proven, because rebalancing is no
    continuous function of phi: a worker that is given nothing is not measured any more.

    `traces` are as in `remedies`, `schemes` exact ones with one load.
    """
    codes = Codes()
    for given in traces:
        more = dict(given)
        file = more.pop("file")
        name = more.pop("name", None)
        replay = Replay.of(file, 0.0, codes=codes, **more)
        for entry in entries(schemes):
            _, scheme = replay.allowed(entry)
            for against in ("waiting", "rebalancing"):
                of_scheme, of_bound = _excesses(replay, scheme, rebalanced=against == "rebalancing")
                yield {
                    "trace": name or replay.name,
                    "against": against,
                    "scheme": entry.label,
                    "load": load_of(scheme),
                    "wins_from": _crossing(of_scheme, last=True),
                    "bound_from": _crossing(of_bound, last=False),
                }


def _excesses(replay: Replay, scheme: Scheme, rebalanced: bool) -> tuple[Callable, Callable]:
    """By how much a scheme, and its bound, take longer than the reference at some phi: a function for each."""
    n = scheme.code.n
    load = load_of(scheme)

    @cache
    def excesses(phi: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        timeline = replay.played(scheme, phi=phi)
        every = replay.waiting(n, phi).mean(1)
        reference: float | np.ndarray = 1.0
        if rebalanced:
            reference, _ = replay.reference(n, load, phi)
        bound = bound_of(scheme, replay.draws(n, phi), _share(timeline, scheme))
        least = np.full(len(phi), np.inf) if bound is None else bound.mean(1)
        return timeline.duration.mean(1) / every / reference - 1, least / every / reference - 1

    def of_scheme(phi: tuple[float, ...]) -> np.ndarray:
        return excesses(phi)[0]

    def of_bound(phi: tuple[float, ...]) -> np.ndarray:
        return excesses(phi)[1]

    return of_scheme, of_bound


def _crossing(excess: Callable[[tuple[float, ...]], np.ndarray], last: bool) -> float | None:
    """The first phi, to 1e-8, at which `excess` is at most 0, and with `last` stays so up to 1; None: there is none."""
    low, high = 0.0, 1.0
    while high - low > _STEP:
        phi = tuple(np.linspace(low, high, _GRID).tolist())
        reached = excess(phi) <= _TIE
        first = int(reached.argmax())
        if last and not reached.all():
            first = len(phi) - int(reached[::-1].argmin())  # behind the last that is not reached
        if first == len(phi) or not reached[first]:
            return None
        if first == 0:
            return low
        low, high = phi[first - 1], phi[first]
    return high


@columns("label", "n", "iterations", "quantity", "value", "exponent")
def growth(codes: list, n: list[int], iterations: int, sizes: list[int] | None = None) -> Iterator[tuple]:
    """CPU time and memory of building schemes and playing their clocks, against the number of workers.

    Times of workers are unit exponentials, `gcexp.delays.ShiftedExponential`. The library is loaded before; what is
    measured is the code, the draws, waiting, and the 64 iterations that are decoded as a sample.

    Each of the `codes` has a ``label``; ``of``, what makes the code at each n; and ``s``, how many are not waited for
    at each n: left out, as many as the code lets be missing in each iteration. `sizes` are the n that are measured, by
    default all.

    The ``quantity`` of a row is ``CPU seconds`` of this process, or ``memory (MiB)``, the largest that is allocated at
    once, as `tracemalloc` counts it. ``exponent`` is the slope of a line through the CPU seconds of all sizes in
    logarithms; memory, which small sizes fill in pieces, has none.
    """
    sizes = [size for size in n if sizes is None or size in sizes]
    require(n == sorted(set(n)) and len(sizes) > 1, f"two or more sizes of a rising n are needed, got n={n}")
    loaded = False
    for given in codes:
        label = given["label"]
        makers = given["of"]
        lost = given.get("s", [None] * len(n))
        fit = isinstance(makers, list) and len(makers) == len(lost) == len(n)
        require(fit, f"{label}: one code and one s for each of {len(n)} n")
        spent: list[float] = []
        held: list[float] = []
        for size, make, s in zip(n, makers, lost, strict=True):
            if size not in sizes:
                continue
            play = partial(_play, make, s, iterations)
            if not loaded:
                play()  # loads what is loaded when it is first used
                loaded = True
            seconds, mebibytes = _costs(play)
            spent.append(seconds)
            held.append(mebibytes)
        exponent, _ = np.polyfit(np.log(sizes), np.log(spent), 1)
        for size, seconds in zip(sizes, spent, strict=True):
            yield label, size, iterations, "CPU seconds", seconds, float(exponent)
        for size, mebibytes in zip(sizes, held, strict=True):
            yield label, size, iterations, "memory (MiB)", mebibytes, np.nan


def _play(make: Callable, s: int | None, iterations: int) -> None:
    """One seed of a scheme, built and played."""
    from gcexp.delays import ShiftedExponential
    from gcexp.schemes import Decodable, Fastest, Scheme
    from gcexp.summary import summarise

    scheme = Scheme(make(), Decodable() if s is None else Fastest(s=s))
    summarise(scheme, ShiftedExponential(), (0,), iterations)


def _costs(play: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of this process; and played again, the most MiB that Python and numpy hold for it at once."""
    gc.collect()
    began = time.process_time()
    play()
    spent = time.process_time() - began
    tracemalloc.start()
    try:
        play()
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return spent, most_bytes / 2**20
