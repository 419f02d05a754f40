"""The scored rows of a trace at one phi, and what schemes take on them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import ParameterError, UserError, require
from gcexp.run.benchmark_schemes import Entry
from gcexp.run.run import Run
from gcexp.run.scheme import Codes
from gcexp_adviser.benchmark.bound import bound_of, is_fresh, load_of
from gcexp_adviser.benchmark.quality import hardly_used, quality, share_used, used_of_workers
from gcexp_adviser.benchmark.verdict import ALONE, REBALANCING, TIE, WAITING, colour

if TYPE_CHECKING:
    from gcexp.delays import Draws, Trace
    from gcexp.schemes import Scheme
    from gcexp.timeline import Timeline
    from gcexp.traces.record import TraceFile

_QUARTERS = 4
#: Waiting for all, which every duration is divided by.
UNCODED = Entry("wait for all", "rebalance", {"scheme": "uncoded"})


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
        from gcexp.traces.clean import read_record

        require(n is None or n >= 1, f"n is a number of workers >= 1, got {n}")
        read = read_record(file)
        whole = Trace(read, phi=phi, **trace)
        whole.draw((0,), 1, n or 1)  # says what is wrong with rows, column, pricing and n
        times = read.values["time"][whole.played_rows(read)]
        delay = replace(whole, skip=0)
        prefix = 0
        if read.flags.persistent and len(times) > 1:  # schemes may learn
            delay = replace(whole, skip="prefix")
            prefix = max(1, len(times) // 10)
        workers = np.flatnonzero(~np.isnan(times).any(0))
        labels: tuple[str, ...] = ()
        if read.flags.persistent:
            labels = tuple(read.labels[i] for i in workers)
        measures = ""
        if "compute" not in read.values:
            measures = read.flags.measures
        return cls(
            name=read.name,
            delay=delay,
            n=len(workers) if n is None else n,
            rows=len(times) - prefix,
            prefix=prefix,
            notes=tuple(f"{read.name}: {sentence}" for sentence in _about_trace(read, delay)),
            measures=measures,
            labels=labels,
            codes=codes or Codes(),
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
        first = draws[0]
        arrays = {}
        for part in fields(first):
            if isinstance(getattr(first, part.name), np.ndarray):
                arrays[part.name] = np.concatenate([getattr(one, part.name) for one in draws])
        shape = (len(draws), self.rows, n)
        return replace(first, seeds=(0,) * len(draws), shape=shape, **arrays)

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
        return self._took(UNCODED, n, phi)

    def reference(self, n: int, cap: float, phi: tuple[float, ...] | None = None) -> tuple[np.ndarray, str]:
        """The best that needs no code, as ratios (S,) to waiting for all, and what it is at the first of them.

        It is rebalancing with no load above `cap`, where the trace allows that and it is faster than waiting.
        """
        draws = self.draws(n, phi)
        if draws.renewed or self.delay.data_bound:
            return np.ones(draws.shape[0]), ALONE
        rebalancing = Entry("uneven", "rebalance", {"scheme": "uneven", "loads.cap": float(cap)})
        ratios = self._took(rebalancing, n, phi).mean(1) / self.waiting(n, phi).mean(1)
        against = REBALANCING if ratios[0] < 1 - TIE else WAITING
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
        fresh = is_fresh(scheme)
        found = quality(timeline, fresh)
        if run.exact and not found["exact"]:
            raise UserError(
                "the scheme declares exact: true, but its timeline has a coefficient that is not 1"
            )
        ratio = took.mean() / every.mean()
        used = found["used_share"]
        found["ratio_per_used"] = ratio / used if used else None
        if not found["exact"] and not fresh and scheme.placement is None:
            found["unused"] = hardly_used(self.labels, used_of_workers(timeline, scheme))
        bound = 0.0  # nothing is proven where no theorem speaks
        least = bound_of(scheme, self.draws(scheme.code.n), share_used(timeline, scheme))
        if least is not None:
            bound = least.mean() / every.mean()
            found |= {"bound": bound, "gap": took.mean() / least.mean() - 1}
        load = load_of(scheme)
        if found["exact"] and scheme.loads is None and load > 1 + TIE:
            references, against = self.reference(scheme.code.n, load)
            (reference,) = references
            found |= {"colour": colour(ratio, bound, reference), "reference": reference, "against": against}
        return found


def _about_trace(read: TraceFile, delay: Trace) -> list[str]:
    """What a reader of the numbers should know: how the trace was read, its loads, and whether times follow data."""
    from gcexp.delays.trace_loads import loads_of

    sentences = list(read.decisions)
    loads = loads_of(read)
    if loads.several:
        sentences.append(loads.sentence)
    if read.flags.data_bound and not delay.data_bound:
        sentences.append(
            "who is slow changes with the data (data_bound: true in its index), but here times follow the worker, "
            "which flatters redundancy; data_bound (--data-bound) lets them follow the data"
        )
    return sentences


def _ratios_of_quarters(took: np.ndarray, every: np.ndarray) -> list[float]:
    """The ratio of the mean durations over each quarter of the rows."""
    edges = [len(took) * i // _QUARTERS for i in range(_QUARTERS + 1)]
    return [took[a:b].mean() / every[a:b].mean() for a, b in pairwise(edges)]
