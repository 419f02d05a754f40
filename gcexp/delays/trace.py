"""Replay of recorded times of workers: whole rows in their order, without resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from gcexp.delays.base import Draws
from gcexp.delays.trace_loads import loads_of
from gcexp.errors import ParameterError, require
from gcexp.seeding import rng
from gcexp.traces.clean import read_record
from gcexp.traces.missing import Absent
from gcexp.traces.record import LEAST, MOST, TraceFile

_WHOLE = 1e-9  # a load this close to a whole number of shares is that number


@dataclass(frozen=True)
class Trace:
    r"""Times x[r, w] of real workers, replayed: the row of iteration t is skip + (start + t) mod (R - skip).

    Of a trace with several loads the R rows are those at its own load, see `gcexp.delays.trace_loads.own_load`. The
    relative load rho of a worker that computes the fraction u of the data is n u: 1 is its share of an uncoded run, the
    load at which these rows were recorded. Its time is

        x (phi + (1 - phi) rho)        scaled: the share phi does not grow with the load; assumed, not measured
        fixed + rho compute            additive, where the trace has both: fixed = time - compute

    Nothing is drawn but `start` and `workers` where they are ``random``, from a stream of its own for each seed, the
    same for all schemes. With a column ``chunk`` in the file, the growing part is made of its micro-batches in order;
    beyond its own share a worker repeats its list. Communication costs nothing.

    Parameters
    ----------
    file : str
        A clean record (`gcexp.traces.clean`), from the current or from the project's folder, a folder of
        `gcexp.distributed.Recorder`, or a bundled trace by its name. From Python also a record that was read already.
    phi : float
        Share of the time that does not grow with the load, between 0 and 1.
    pricing : {"scaled", "additive"}
    column : str
        Which times are replayed, where the file has several.
    start : int or "random"
        First row that is played, counted behind `skip`.
    skip : int or "prefix"
        First rows that are not played but known beforehand, to rules that learn; ``prefix``: a tenth of the rows, at
        least one; none where workers are new in every row.
    workers : "first", "random" or list of int
        Who takes part: the first n, n random ones of each seed, or the named ones.
    rows : list of int, optional
        Only these rows, all of the own load; from a ragged file one row alone has all its workers, several have those
        that all have.
    absent : {"refuse", "late", "skip"}
        What happens where workers have no row in an iteration, as in `gcexp.traces.clean.read_record`.
    timeout : float, optional
        With ``absent=late``, the time of a missing row.
    data_bound : bool
        The growing part follows the partition and the fixed part the worker: partition i of k takes the time of the
        share of the data it belongs to, that of worker floor(i n / k). Refused where n does not divide k.

    Raises
    ------
    ParameterError, DataError
        For values outside these, a file that is not whole, and more workers than it has.

    References
    ----------
    The bundled traces and their sources: data/traces/SOURCES.md.

    Examples
    --------
    >>> draws = Trace("data/traces/pai-job1.csv", phi=0.5, skip="prefix").draw((0,), iterations=300, n=10)
    >>> draws.arrival(load=0.2, length=1)[0, 0, :3], draws.past.shape
    (array([726. , 714. , 673.5]), (1, 30, 10))
    """

    file: str | TraceFile
    phi: float = 0.0
    pricing: Literal["scaled", "additive"] = "scaled"
    column: str = "time"
    start: int | Literal["random"] = 0
    skip: int | Literal["prefix"] = 0
    workers: Literal["first", "random"] | Sequence[int] = "first"
    rows: Sequence[int] | None = None
    data_bound: bool = False
    absent: Absent = "refuse"
    timeout: float | None = None

    def __post_init__(self):
        require(
            self.file != "",
            "delay=trace replays a file: name it (delay.file=clean.csv), or a bundled trace (delay=pai_job1)",
        )
        for name in ("workers", "rows"):
            value = getattr(self, name)
            if isinstance(value, list):  # as YAML gives it; a frozen class is to be hashable
                object.__setattr__(self, name, tuple(value))
        require(0 <= self.phi <= 1, f"phi must be a share from 0 to 1, got {self.phi}")
        require(
            self.pricing == "scaled" or self.phi == 0,
            f"pricing=additive takes the fixed part from the trace, so phi must be 0, got {self.phi}",
        )

    def recorded(self) -> TraceFile:
        """The trace that is replayed."""
        return read_record(self.file, self.absent, self.timeout)

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Draws:
        """The rows of all iterations; see `gcexp.delays.base.DelayModel`."""
        trace = self.recorded()
        rows = self.played_rows(trace)
        skip, start = self._places(trace, len(rows), seeds)
        workers = self._workers(trace, rows, seeds, n)
        played = skip + (start[:, None] + np.arange(iterations)) % (len(rows) - skip)
        entries = (rows[played][:, :, None], workers[:, None])  # (S or 1, T, n)
        times, fixed, growing = self._parts(trace)
        micro_batches = None  # their growing parts
        if trace.chunks is not None and self.column == "time":
            micro_batches = (1 - self.phi) * trace.chunks
        elif self.data_bound:
            micro_batches = growing[..., None]
        before_the_run: dict[str, Any] = {}
        if skip:
            parts = {"past": times, "past_fixed": fixed, "past_growing": growing}
            if micro_batches is not None:
                parts["past_chunks"] = micro_batches
            skipped_entries = rows[:skip, None], workers[:, None]
            for name, part in parts.items():
                shape = (len(seeds), skip, n, *part.shape[2:])
                before_the_run[name] = np.broadcast_to(part[skipped_entries], shape)
        return TraceDraws(
            tuple(seeds),
            (len(seeds), iterations, n),
            start=fixed[entries],
            compute=n * growing[entries] if micro_batches is None else 0.0,
            chunks=None if micro_batches is None else micro_batches[entries],
            data_bound=self.data_bound,
            renewed="" if trace.flags.persistent else trace.name,
            **before_the_run,
        )

    def _parts(self, trace: TraceFile) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times of all rows and workers, and what of them is fixed and grows with the load, (R, N) each."""
        times = trace.column(self.column, f"column={self.column}")
        if self.column != "time":
            self._require_numbers(trace, self.column, LEAST, times)
        if self.pricing == "scaled":
            return times, self.phi * times, (1 - self.phi) * times
        growing = trace.column("compute", "pricing=additive")
        self._require_numbers(trace, "compute", 0.0, growing)
        fixed = times - growing
        self._require_numbers(trace, "time - compute, the fixed part", 0.0, fixed)
        return times, fixed, growing

    def wraps(self, iterations: int) -> int:
        """How often this many iterations continue from the last row to the first one."""
        trace = self.recorded()
        _, start = self._places(trace, len(self.played_rows(trace)), (0,))
        return int((start[0] + iterations - 1) // self.period())

    def period(self) -> int:
        """Rows that are played, one after another, before the first one comes again."""
        trace = self.recorded()
        rows = len(self.played_rows(trace))
        skip, _ = self._places(trace, rows, (0,))
        return rows - skip

    def played_rows(self, trace: TraceFile) -> np.ndarray:
        """Numbers of the rows that are replayed: those at the trace's own load, or those of them that are named."""
        loads = loads_of(trace)
        if self.rows is None:
            return loads.own_rows
        R = len(trace.values["time"])
        wrong = [row for row in self.rows if not 0 <= row < R]
        require(bool(self.rows) and not wrong, f"rows {list(self.rows)}: {trace.name} has rows 0 to {R - 1}")
        for row in self.rows:
            load = loads.of_rows[row]
            require(
                load == loads.own,
                f"rows {list(self.rows)}: row {row} of {trace.name} has load {load:g}; rows of its own load "
                f"{loads.own:g} are replayed",
            )
        return np.array(self.rows)

    def _places(self, trace: TraceFile, R: int, seeds) -> tuple[int, np.ndarray]:
        """Number of skipped rows, and the first row of each seed after them (one number if equal for all)."""
        skip = self.skip
        if skip == "prefix":
            require(
                R > 1 or not trace.flags.persistent,
                "the trace has only 1 row: there is nothing to learn from and nothing to score",
            )
            skip = max(1, R // 10) if trace.flags.persistent else 0
        require(skip >= 0, f"skip must be at least 0, got {skip}")
        require(skip < R, f"skip={skip} leaves none of the {R} rows")
        require(
            skip == 0 or trace.flags.persistent,
            f"{trace.name} has new workers in every row (persistent: false): skipped rows say nothing about them",
        )
        if self.start == "random":
            return skip, np.array([rng(seed, "trace", 0).integers(R - skip) for seed in seeds])
        behind = f" behind the {skip} skipped" if skip else ""
        require(
            0 <= self.start < R - skip,
            f"start={self.start}: rows are 0 to {R - skip - 1}{behind}",
        )
        return skip, np.array([self.start])

    def _workers(self, trace: TraceFile, rows: np.ndarray, seeds, n: int) -> np.ndarray:
        """Columns of the n workers, (S or 1, n)."""
        complete = np.flatnonzero(~np.isnan(trace.values["time"][rows]).any(0))
        names = [trace.workers[i] for i in complete]
        span = "no worker in all of these rows"
        if names:
            span = f"workers {names[0]} to {names[-1]}"
            if names[-1] - names[0] >= len(names):
                span = f"workers {', '.join(map(str, names))}"
        require(
            n <= len(names),
            f"{trace.name} has {len(names)} workers, but n={n} are asked for; take n <= {len(names)}",
        )
        if self.workers == "first":
            return complete[None, :n]
        if self.workers == "random":
            of_seeds = []
            for seed in seeds:
                shuffled = rng(seed, "trace", 1).permutation(len(complete))
                of_seeds.append(complete[shuffled[:n]])
            return np.stack(of_seeds)
        wanted = list(self.workers)
        require(len(set(wanted)) == len(wanted), f"workers {wanted} names a worker twice")
        require(set(wanted) <= set(names), f"workers {wanted}: {trace.name} has {span}")
        require(n <= len(wanted), f"workers={wanted} names {len(wanted)} workers, but n={n} are asked for")
        return np.array([[complete[names.index(w)] for w in wanted[:n]]])

    def _require_numbers(self, trace: TraceFile, what: str, least: float, values: np.ndarray) -> None:
        """Raise `ParameterError` if a used worker has a missing or impossible number in some values (R, N)."""
        has_row = ~np.isnan(trace.values["time"])
        fits = (values >= least) & (values <= MOST)
        wrong = has_row & ~fits
        if wrong.any():
            row, i = np.argwhere(wrong)[0]
            raise ParameterError(
                f"{trace.name}: {what} of worker {trace.workers[i]} in row {row} is {values[row, i]:.6g}, wanted is a "
                f"number from {least:g} to {MOST:g}"
            )


@dataclass(frozen=True)
class TraceDraws(Draws):
    """Replayed rows whose growing part consists of micro-batches or depends on the data.

    Attributes
    ----------
    chunks : ndarray (S or 1, T, n, M), optional
        What the micro-batches of each worker's own share take, in order.
    past_chunks : ndarray (S, P, n, M), optional
        The same before the run.
    data_bound : bool
        A partition takes the time of the share it belongs to, whoever computes it.
    """

    _apart: ClassVar[tuple[str, ...]] = (*Draws._apart, "chunks", "past_chunks")

    chunks: np.ndarray | None = None
    past_chunks: np.ndarray | None = None
    data_bound: bool = False

    @property
    def micro_batches(self) -> int | None:
        return None if self.chunks is None or self.data_bound else self.chunks.shape[3]

    @property
    def linear(self) -> bool:
        return self.chunks is None

    def parts(self):
        require(
            not self.data_bound,
            "uneven loads belong to workers and data_bound times to partitions: choose one of the two",
        )
        fixed, growing = super().parts()
        if self.chunks is None:
            return fixed, growing
        return fixed, np.broadcast_to(self.chunks.sum(3), self.shape)

    def before(self) -> Draws | None:
        draws = super().before()
        if draws is None or self.chunks is None:
            return draws
        return TraceDraws(
            draws.seeds, draws.shape, start=draws.start, chunks=self.past_chunks, data_bound=self.data_bound
        )

    def arrival(self, load, length):
        if self.chunks is None:
            return super().arrival(load, length)
        require(
            not self.data_bound,
            "data-bound times belong to partitions, so they cannot be scaled by the load of a worker",
        )
        n = self.shape[2]
        share = n * np.asarray(load, float)
        nearest = np.rint(share)
        share = np.where(np.abs(share - nearest) < _WHOLE, nearest, share)  # 0.3 * 10 is three shares
        of_workers = np.broadcast_to(share, np.broadcast_shapes(share.shape, (n,)))
        whole, part = np.divmod(of_workers, 1)
        ends = _ends(self.chunks)
        return super().arrival(load, length) + whole * ends[..., -1] + _interpolated(ends, part)

    def arrival_of(self, computed: np.ndarray, length) -> np.ndarray:
        """Arrival times (S, T, n) of workers that compute the partitions ``computed`` (n, k), where data-bound."""
        n, k = computed.shape
        require(k % n == 0, f"data_bound needs n to divide k, got n={n}, k={k}")
        assert self.chunks is not None, "what follows the data comes in micro-batches"
        ends = _ends(self.chunks)
        partition_ends = [_interpolated(ends, np.full(n, j * n / k)) for j in range(k // n + 1)]
        durations = np.stack([end - begin for begin, end in pairwise(partition_ends)], axis=3)
        durations = durations.reshape(*durations.shape[:2], k)  # the partitions of a share stand together
        return super().arrival(0, length) + durations @ computed.T

    def seated(self, seats):
        draws = super().seated(seats)
        if self.chunks is None or self.data_bound:  # the data stay where they are
            return draws
        chunks = np.broadcast_to(self.chunks, (*self.shape, self.chunks.shape[3]))
        places = np.asarray(seats, np.intp)[..., None]
        return replace(draws, chunks=np.take_along_axis(chunks, places, axis=2))

    def between(self, first, last):
        draws = super().between(first, last)
        if self.chunks is None:
            return draws
        return replace(draws, chunks=self.chunks[:, first:last])


def _ends(chunks: np.ndarray) -> np.ndarray:
    """When the micro-batches (S, T, n, M) of each share end, behind the 0 at which the first one begins."""
    begin = np.zeros((*chunks.shape[:3], 1))
    return np.concatenate([begin, np.cumsum(chunks, axis=3)], axis=3)


def _interpolated(ends: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Time of the first `part` (n,) or (S, T, n) of each share, from its ends of micro-batches (..., n, M + 1)."""
    M = ends.shape[-1] - 1
    place = part * M
    first = np.minimum(place.astype(int), M - 1)
    cells = np.broadcast_shapes(ends.shape[:-1], part.shape)
    ends = np.broadcast_to(ends, (*cells, M + 1))
    at = np.broadcast_to(first[..., None], (*cells, 1))
    low = np.take_along_axis(ends, at, axis=-1)[..., 0]
    high = np.take_along_axis(ends, at + 1, axis=-1)[..., 0]
    return low + (place - first) * (high - low)
