"""Where does redundancy pay on given times, and where can it not? What does a clock cost? As tidy tables."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from tracemalloc import get_traced_memory, start, stop
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.declared import gives
from gcexp.errors import ParameterError, UserError, require, unknown
from gcexp.progress import bar
from gcexp.run.benchmarked import Entry, entries
from gcexp.run.scheme import build_scheme, schemes_kept
from gcexp.run.stages import Length, simulated
from gcexp.schema import arguments, fitted
from gcexp.theory import bounds

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.delays import Draws, Trace
    from gcexp.schemes import Scheme
    from gcexp.timeline import Timeline

_OF_TRACE = ("pricing", "column", "rows", "data_bound")  # what a benchmark leaves to its caller
COLUMNS = (
    *(
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
    ),
    *(
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
    ),
    *("bound", "gap", "colour", "reference", "colour_waiting"),
)
WINS, LOSES, CANNOT = "wins", "loses", "cannot win"
_TIE = 1e-9
_QUARTERS = 4
_GRID = 21


def benchmark(
    file: str | Path,
    schemes: str | dict | Iterable[str | dict] | None = None,
    phi: Sequence[float] = (0.0, 0.5, 1.0),
    *,
    late: str | Sequence[str] = "stop",
    chunks: int | Sequence[int] | None = None,
    n: int | None = None,
    progress: bool = True,
    **trace: Any,
) -> pd.DataFrame:
    """Remedies for stragglers, and what no code can beat, on the replayed times of a trace.

    All are scored on the rows behind the prefix, a tenth of a trace whose columns are workers, in which rules that
    learn do so; there is no communication, and how times grow with the load is assumed. Nothing is drawn at random
    but what a scheme draws.

    Parameters
    ----------
    file : path
        CSV with ``iteration,worker,time``, as `gcexp.delays.trace_file.read_trace` takes it.
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
        ``colour`` compares an exact code with ``reference``, the ratio of rebalancing with the same largest load
        (loads by the row before): wins, loses, or cannot win, which is proven for all codes of these loads and
        messages; ``colour_waiting`` with waiting for all. Empty where a thing does not exist. What a trace does not
        allow is left out, and told in ``table.attrs["left_out"]``.

    Raises
    ------
    UserError
        For a file that is no trace, an unknown scheme, and values outside what they may be.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.benchmark("data/traces/pai-job4.csv", ["FRC, d = 2, learned pairs"], phi=[0.0])
    >>> table[["ratio", "bound", "colour"]].round(4).to_numpy().tolist()
    [[0.3586, 0.3585, 'cannot win']]
    """
    import pandas as pd

    from gcexp.delays import Trace

    file, n = fitted(str | Path, file, "file"), fitted(int | None, n, "n")
    phi = fitted(list[float], list(phi) if isinstance(phi, Iterable) else phi, "phi")
    named = [schemes] if isinstance(schemes, str | dict) else schemes
    named = fitted(list[str | dict] | None, list(named) if isinstance(named, Iterable) else named, "schemes")
    for name in trace:
        if name not in _OF_TRACE:
            raise UserError(unknown("key", name, _OF_TRACE))
    arguments(Trace, {"file": str(file)} | trace, "", joint="")
    listed = entries(named)
    lates = [late] if isinstance(late, str) else list(late)
    pieces = list(chunks) if isinstance(chunks, Iterable) else [chunks]
    for name, values in (("schemes", listed), ("late", lates), ("chunks", pieces), ("phi", phi)):
        require(bool(values), f"{name} names at least one, got none")
    cases = [(v, c) for v in lates for c in (pieces if v == "chunk" else [None])]
    rows, left_out = [], {}
    played = [(v, c, entry) for v, c in cases for entry in listed if (v, c) == cases[0] or not entry.is_bound]
    with schemes_kept(), bar(len(played) * len(phi), "benchmark", "scheme", progress) as moving:
        for share in phi:
            replay = Replay.of(file, float(share), n, **trace)
            for v, c, entry in played:
                try:
                    rows.append(replay.row(entry, v, c))
                except ParameterError as error:
                    if replay.refuses_all(v, c):
                        raise
                    left_out[entry.label] = str(error)
                except UserError as error:
                    raise UserError(f"{entry.label}: {error}") from None
                moving.update()
    if left_out and not rows:
        raise ParameterError("; ".join(f"{label}: {why}" for label, why in left_out.items()))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame.attrs["left_out"] = left_out
    return frame


class _Drawn:
    """A delay model whose last draws are kept."""

    def __init__(self, delay: Trace):
        self.delay = delay
        self._asked: tuple | None = None

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Draws:
        if self._asked != (seeds, iterations, n):
            self._asked, self._found = (seeds, iterations, n), self.delay.draw(seeds, iterations, n)
        return self._found


@dataclass(frozen=True)
class Replay:
    """The scored rows of a trace at one phi: what schemes are played on, and what that took.

    Attributes
    ----------
    name : str
    delay : Trace
    n, rows, prefix : int
        Workers, scored rows, and rows that are known before.
    """

    name: str
    delay: Trace
    n: int
    rows: int
    prefix: int

    @classmethod
    def of(cls, file: str | Path, phi: float = 0.0, n: int | None = None, **trace: Any) -> Replay:
        """The replay of a file: rows behind the prefix, once each."""
        from gcexp.delays import Trace
        from gcexp.delays.trace_file import read_trace

        require(n is None or n >= 1, f"n is a number of workers >= 1, got {n}")
        read = read_trace(file)
        Trace(str(file), phi=phi, **trace).draw(
            (0,), 1, 1
        )  # says what is wrong with rows, column and pricing
        chosen = trace.get("rows")
        times = read.values["time"] if chosen is None else read.values["time"][list(chosen)]
        learns = read.flags.persistent and len(times) > 1
        prefix = max(1, len(times) // 10) if learns else 0
        wide = int((~np.isnan(times)).all(0).sum())
        delay = Trace(str(file), phi=phi, skip="prefix" if learns else 0, **trace)
        return cls(read.name, delay, wide if n is None else n, len(times) - prefix, prefix)

    def refuses_all(self, late: str, chunks: int | None) -> bool:
        """Whether not even waiting for all can be played, so that the fault is not a scheme's."""
        try:
            self.played(
                Entry("wait for all", "rebalance", {"scheme": "uncoded"}).config(self.n, late, chunks)
            )
        except ParameterError:
            return True
        return False

    def played(self, config: dict, rounds: int = 1) -> Timeline:
        """The timeline of a composed run on these rows."""
        from gcexp.delays import LocalSteps

        delay = self.drawn if rounds == 1 else LocalSteps(self.delay, rounds)
        require(
            self.rows >= rounds,
            f"{self.name} has {self.rows} scored rows, a round of local steps takes {rounds}",
        )
        return simulated(config | {"delay": delay}, Length(self.rows // rounds, None, (0,)))

    @cached_property
    def drawn(self) -> _Drawn:
        """The delay model, which keeps what was drawn last: schemes are played on the same rows."""
        return _Drawn(self.delay)

    def at(self, phi: float) -> Replay:
        """The same rows at another phi, kept."""
        if phi not in self._kept:
            self._kept[phi] = replace(self, delay=replace(self.delay, phi=phi))
        return self._kept[phi]

    def taken(self, entry: Entry, config: dict, scheme: Scheme) -> tuple[float, float]:
        """Mean duration of an exact scheme, and that of its bound, inf where there is none; kept."""
        if entry.label not in self._kept:
            timeline = self.played(config)
            exact = _quality(timeline, getattr(scheme.loads, "fresh", False))["exact"]
            bound = self.bound(config, scheme, timeline, exact)
            least = np.inf if bound is None else bound.mean()
            self._kept[entry.label] = timeline.duration[0].mean(), least
        return self._kept[entry.label]

    def waiting(self, n: int) -> np.ndarray:
        """Durations (T,) of waiting for all."""
        return self._took(Entry("wait for all", "rebalance", {"scheme": "uncoded"}), n)

    def rebalanced(self, n: int, cap: float) -> np.ndarray:
        """Durations (T,) of loads by the row before, none above `cap`."""
        return self._took(Entry("uneven", "rebalance", {"scheme": "uneven", "loads.cap": float(cap)}), n)

    def _took(self, entry: Entry, n: int) -> np.ndarray:
        key = entry.label, n, entry.keys.get("loads.cap")
        if key not in self._kept:
            self._kept[key] = self.played(entry.config(n)).duration[0]
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict:
        return {}

    def allowed(self, entry: Entry, late: str, chunks: int | None) -> tuple[dict, Any]:
        """Config and scheme of an entry at the largest number of workers that it allows, at most an eighth fewer."""
        first: ParameterError | None = None
        for n in range(self.n, self.n - max(1, self.n // 8) - 1, -1):
            try:
                config = entry.config(n, late, chunks)
                return config, build_scheme(config, 0)
            except ParameterError as error:
                first = first or error
        assert first is not None
        raise first

    def row(self, entry: Entry, late: str = "stop", chunks: int | None = None) -> dict[str, Any]:
        """What a scheme does here, as a row of `benchmark`."""
        config, scheme = self.allowed(entry, late, chunks)
        code, loads, rounds = scheme.code, scheme.loads, max(1, entry.local_steps)
        n = code.n
        timeline = self.played(config, rounds)
        took, every = timeline.duration[0], self.waiting(n)[: len(timeline.duration[0]) * rounds]
        every = every.reshape(-1, rounds).mean(1)
        load = self.load(scheme)
        known = getattr(scheme.wait, "begin", None) is not None
        known |= any(getattr(rule, "learned", False) for rule in (scheme.placement, loads))
        found: dict[str, Any] = {
            "trace": self.name,
            "phi": self.delay.phi,
            "late": scheme.late,
            "chunks": chunks if scheme.late == "chunk" else None,
            "scheme": entry.label,
            "group": entry.group,
            "workers": n,
            "load": None if getattr(loads, "cap", load) is None else load,
            "learned": known,
            "hindsight": bool(
                getattr(scheme.placement, "hindsight", False) or getattr(loads, "hindsight", False)
            ),
            "placement": type(scheme.placement).__name__.lower() if scheme.placement else "home",
            "mean_duration": took.mean(),
            "ratio": took.mean() / every.mean(),
        }
        parts = [
            slice(len(took) * i // _QUARTERS, len(took) * (i + 1) // _QUARTERS) for i in range(_QUARTERS)
        ]
        if len(took) >= _QUARTERS:
            quarters = [took[part].mean() / every[part].mean() for part in parts]
            found |= {"ratio_low": min(quarters), "ratio_high": max(quarters)}
        if scheme.bound or rounds > 1:
            return found
        quality = _quality(timeline, getattr(loads, "fresh", False))
        found |= quality | {
            "ratio_per_used": found["ratio"] / quality["used_share"] if quality["used_share"] else None
        }
        bound = self.bound(config, scheme, timeline, quality["exact"])
        if bound is not None:
            found |= {"bound": bound.mean() / every.mean(), "gap": took.mean() / bound.mean() - 1}
        if quality["exact"] and loads is None and load > 1 + _TIE and bound is not None:
            found["colour_waiting"] = colour(found["ratio"], found["bound"], 1.0)
            if not self.delay.data_bound:
                reference = self.rebalanced(n, load).mean() / every.mean()
                found |= {"reference": reference, "colour": colour(found["ratio"], found["bound"], reference)}
        return found

    def load(self, scheme: Scheme) -> float:
        """Largest relative load: a cap where loads differ, that of a backup worker, else the code's."""
        from gcexp.schemes import Backup, Uneven

        n = scheme.code.n
        if isinstance(scheme.loads, Uneven):
            return float(n if scheme.loads.cap is None else scheme.loads.cap)
        if isinstance(scheme.loads, Backup):
            return n / (n - scheme.loads.b)
        return float(n * scheme.code.load.max() / scheme.code.k)

    def bound(self, config: dict, scheme: Scheme, timeline: Timeline, exact: bool) -> np.ndarray | None:
        """What no scheme of these loads and messages can beat, by row (T,); None where no theorem speaks of it.

        For what drops gradients, at the share of each iteration that it used. The theorem with unequal loads, or with
        several messages of which some were dropped, is that of the work floor, with the largest load as its cap.
        """
        code, load, one = scheme.code, self.load(scheme), bool((scheme.code.messages == 1).all())
        equal = bool((code.load == code.load[0]).all()) and (
            scheme.loads is None or load * (code.n - 1) <= code.n
        )
        draws = self.drawn.draw((0,), self.rows, code.n)
        if self.delay.data_bound:
            whole = one and equal and exact and code.k == code.n and scheme.loads is None
            chunks = getattr(draws, "chunks", None)
            if not whole or chunks is None:
                return None
            fixed = np.broadcast_to(draws.start, draws.shape)[0]
            return bounds.data_bound(fixed, chunks[0].sum(-1), int(code.load[0]))
        share: Any = (
            1.0 if exact or getattr(scheme.loads, "fresh", False) else _used(timeline)[timeline.pattern[0]]
        )
        if scheme.loads is None and exact and not (one and equal and draws.linear):
            same = config | {"wait": _capacity(), "bound": True, "exact": False, "late": "stop"}
            same = {key: value for key, value in same.items() if key != "placement" or not equal}
            return self.played(same).duration[0]
        if not draws.linear:
            return None
        fixed, growing = (part[0] for part in draws.parts())
        if one and (scheme.loads is None and equal or getattr(scheme.loads, "fresh", False)):
            return bounds.capacity(fixed, growing, load, share)
        return bounds.work_floor(fixed, growing, max(load, 1.0), share)


def _capacity():
    from gcexp.schemes import Capacity

    return Capacity()


def colour(ratio: float, bound: float, reference: float) -> str:
    """Whether a code wins against a reference, loses though another of its loads might win, or provably cannot win.

    Examples
    --------
    >>> colour(0.8, 0.7, 0.9), colour(1.1, 0.7, 0.9), colour(1.1, 1.0, 0.9)
    ('wins', 'loses', 'cannot win')
    """
    if ratio <= reference * (1 + _TIE):
        return WINS
    return CANNOT if bound > reference * (1 + _TIE) else LOSES


def _used(timeline: Timeline) -> np.ndarray:
    """(sum c)^2 / (k sum c^2) of each pattern, 0 where c = 0."""
    c = timeline.coefficients.astype(float)
    square = (c**2).sum(1)
    return np.divide(c.sum(1) ** 2, c.shape[1] * square, out=np.zeros(len(c)), where=square > 0)


def _quality(timeline: Timeline, fresh: bool) -> dict[str, Any]:
    """How good the decoded gradients are; all heard shares of a fresh batch are that batch."""
    if (timeline.coefficients == 1).all() and not fresh:
        return {"exact": True, "used_share": 1.0, "error": 0.0, "bias": 0.0, "never_used": 0.0}
    c = np.ones((1, 1)) if fresh else timeline.coefficients.astype(float)
    weight = (
        np.ones(1)
        if fresh
        else np.bincount(timeline.pattern[0], minlength=len(c)) / timeline.pattern.shape[1]
    )
    mean = weight @ c
    return {
        "exact": False,
        "used_share": 1.0 if fresh else float(weight @ _used(timeline)),
        "error": float(weight @ ((c - 1) ** 2).mean(1)),
        "bias": float(((mean - 1) ** 2).mean()),
        "never_used": float((c == 0)[weight > 0].all(0).mean()),
    }


@gives(*COLUMNS, clocks=True)
def remedies(
    traces: list[dict],
    phi: list[float],
    schemes: list | None = None,
    late: list[str] | None = None,
    chunks: list[int] | None = None,
) -> pd.DataFrame:
    """`benchmark` of several traces, one below the other: the table of a figure.

    Parameters
    ----------
    traces : list of dict
        Each has a ``file``, and may have a ``name``, a list ``phi`` of its own, and parameters of `benchmark`.
    phi, schemes, late, chunks
        As in `benchmark`; `late` is ``stop`` by default.
    """
    import pandas as pd

    frames = []
    for given in traces:
        more = dict(given)
        file, name, shares = more.pop("file"), more.pop("name", None), more.pop("phi", phi)
        found = benchmark(file, schemes, shares, late=late or "stop", chunks=chunks, progress=False, **more)
        frames.append(found if name is None else found.assign(trace=name))
    return pd.concat(frames, ignore_index=True)


@gives("trace", "against", "scheme", "load", "wins_from", "bound_from", clocks=True)
@schemes_kept()
def break_evens(traces: list[dict], schemes: list | None = None) -> pd.DataFrame:
    """From which phi on schemes win on traces, against waiting for all and against rebalancing; see `break_even`.

    Parameters
    ----------
    traces : list of dict
        As in `remedies`.
    schemes : list, optional
        Exact schemes with one load.

    Returns
    -------
    DataFrame
        ``wins_from`` is 0 where a scheme always wins and empty where it never does; below ``bound_from`` no exact
        scheme of these loads and messages can.
    """
    import pandas as pd

    rows = []
    for given in traces:
        more = dict(given)
        file, name = more.pop("file"), more.pop("name", None)
        replay = Replay.of(file, 0.0, **more)
        for entry in entries(schemes):
            load = replay.load(replay.allowed(entry, "stop", None)[1])
            for against in ("waiting", "rebalancing"):
                found = _break_even(replay, entry, against)
                said = {"against": against, "scheme": entry.label, "load": load}
                ends = {"wins_from": found["scheme"], "bound_from": found["bound"]}
                rows.append({"trace": name or replay.name} | said | ends)
    return pd.DataFrame(rows)


def break_even(
    file: str | Path, entry: Entry, against: str = "rebalancing", n: int | None = None, **trace: Any
) -> dict[str, float | None]:
    """From which phi on a scheme wins, and below which no code of its loads and messages can.

    Both are the smallest phi from which on, up to 1, the ratio (of the scheme, or of its bound) is at most the
    reference's: on a grid of 21 values, then by bisection.

    Parameters
    ----------
    file, n, **trace
        As in `benchmark`.
    entry : Entry
        An exact scheme.
    against : {"rebalancing", "waiting"}
        Loads by the row before, up to the largest load of the scheme; or waiting for all.

    Returns
    -------
    dict
        ``scheme`` and ``bound``: 0 for always, None for never.

    Examples
    --------
    >>> from gcexp.run.benchmarked import entries
    >>> found = break_even("data/traces/pai-job1.csv", entries(["cyclic, s = 1"])[0], "waiting")
    >>> {name: round(phi, 4) for name, phi in found.items()}
    {'scheme': 0.9525, 'bound': 0.8672}
    """
    return _break_even(Replay.of(file, 0.0, n, **trace), entry, against)


def _break_even(replay: Replay, entry: Entry, against: str) -> dict[str, float | None]:
    """`break_even` on a replay at phi = 0, which keeps what schemes share."""
    config, scheme = replay.allowed(entry, "stop", None)
    n, load = scheme.code.n, replay.load(scheme)

    @cache
    def excess(phi: float) -> tuple[float, float]:
        here = replay.at(phi)
        took, bound = here.taken(entry, config, scheme)
        reference = (here.waiting(n) if against == "waiting" else here.rebalanced(n, load)).mean()
        return took / reference - 1, bound / reference - 1

    return {
        "scheme": _last_change(lambda phi: excess(float(phi))[0]),
        "bound": _last_change(lambda phi: excess(float(phi))[1]),
    }


def _last_change(excess: Callable[[float], float]) -> float | None:
    """The smallest phi from which on `excess` is not above 0 up to 1, to 1e-9; None: not even at 1."""
    from scipy.optimize import brentq  # slow to import

    grid = np.linspace(0, 1, _GRID)
    last = next((i for i in range(_GRID)[::-1] if excess(grid[i]) > _TIE), None)
    if last is None:
        return 0.0
    if last == _GRID - 1:
        return None
    low, high = grid[last], grid[last + 1]
    return float(high) if excess(high) > -_TIE else float(brentq(excess, low, high, xtol=_TIE))


@gives("label", "n", "iterations", "quantity", "value", "exponent")
def growth(
    codes: list, n: list[int], iterations: int, repeats: int = 1, sizes: list[int] | None = None
) -> pd.DataFrame:
    """CPU time and memory of building schemes and playing their clocks, against the number of workers.

    Times of workers are unit exponentials, `gcexp.delays.ShiftedExponential`. The library is loaded before; what is
    measured is the code, the draws, waiting, and the 64 iterations that are decoded as a sample.

    Parameters
    ----------
    codes : list of mapping
        ``label``; ``of``, what makes the code at each n; ``s``, how many are not waited for at each n: left out, as
        many as the code lets be missing in each iteration.
    n : list of int
        Workers.
    iterations : int
        Of one seed.
    repeats : int
        Times are the least of so many rounds over all codes and sizes.
    sizes : list of int, optional
        Those n that are measured; default all.

    Returns
    -------
    DataFrame
        ``label, n, iterations, quantity, value, exponent``: quantity is ``CPU seconds`` of this process, or ``memory
        (MiB)``, the largest that is allocated at once, as `tracemalloc` counts it. ``exponent`` is the slope of a line
        through the CPU seconds of all sizes in logarithms; memory, which small sizes fill in pieces, has none.

    Raises
    ------
    ParameterError
        Unless n rises and has at least two of the sizes, each with a code.

    Examples
    --------
    >>> from functools import partial
    >>> from gcexp.codes import Uncoded
    >>> makers = [partial(Uncoded, 10), partial(Uncoded, 1000)]
    >>> table = growth([{"label": "uncoded", "of": makers}], n=[10, 1000], iterations=20)
    >>> memory = table[table["quantity"] == "memory (MiB)"]
    >>> memory["n"].tolist(), bool(memory["value"].is_monotonic_increasing), bool((table["value"] > 0).all())
    ([10, 1000], True, True)
    """
    import pandas as pd

    sizes = [size for size in n if sizes is None or size in sizes]
    require(n == sorted(set(n)) and len(sizes) > 1, f"two or more sizes of a rising n are needed, got n={n}")
    require(repeats >= 1, f"repeats is a number of rounds >= 1, got {repeats}")
    cases = {}
    for given in codes:
        lost = given.get("s", [None] * len(n))
        fit = isinstance(given["of"], list) and len(given["of"]) == len(lost) == len(n)
        require(fit, f"{given['label']}: one code and one s for each of {len(n)} n")
        for size, make, s in zip(n, given["of"], lost, strict=True):
            cases[given["label"], size] = partial(_played, make, s, iterations)
    next(iter(cases.values()))()  # loads what is loaded when it is first used
    rounds = [
        {case: _seconds(play) for case, play in cases.items() if case[1] in sizes} for _ in range(repeats)
    ]
    rows = []
    for label in dict.fromkeys(label for label, _ in cases):
        spent = [min(one[label, size] for one in rounds) for size in sizes]
        held = [_allocated(cases[label, size]) for size in sizes]
        exponent = float(np.polyfit(np.log(sizes), np.log(spent), 1)[0])
        for quantity, values, slope in (("CPU seconds", spent, exponent), ("memory (MiB)", held, np.nan)):
            known = {"label": label, "iterations": iterations, "quantity": quantity, "exponent": slope}
            rows += [known | {"n": size, "value": value} for size, value in zip(sizes, values, strict=True)]
    return pd.DataFrame(rows)[["label", "n", "iterations", "quantity", "value", "exponent"]]


def _played(make: Callable, s: int | None, iterations: int) -> None:
    """One seed of a scheme, built and played."""
    from gcexp.delays import ShiftedExponential
    from gcexp.schemes import Decodable, Fastest, Scheme
    from gcexp.summary import summarise

    scheme = Scheme(make(), Decodable() if s is None else Fastest(s=s))
    summarise(scheme, ShiftedExponential(), (0,), iterations)


def _seconds(play: Callable[[], None]) -> float:
    """CPU seconds of this process."""
    gc.collect()
    began = time.process_time()
    play()
    return time.process_time() - began


def _allocated(play: Callable[[], None]) -> float:
    """Largest number of MiB that Python and numpy hold for it at once."""
    start()
    try:
        play()
        return get_traced_memory()[1] / 2**20
    finally:
        stop()
