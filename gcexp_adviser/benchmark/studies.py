"""Tables of figures: `benchmark` of several traces, and from which phi on a scheme wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.run.benchmark_schemes import entries
from gcexp.run.scheme import Codes
from gcexp_adviser.benchmark.bound import bound_of, load_of
from gcexp_adviser.benchmark.quality import share_used
from gcexp_adviser.benchmark.replay import Replay
from gcexp_adviser.benchmark.table import COLUMNS, benchmark
from gcexp_adviser.benchmark.verdict import TIE

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.schemes import Scheme

_GRID = 101  # values of phi that are tried together
_STEP = 2e-8  # how close two values of phi get


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
        frame = benchmark(file, schemes, shares, late=late or "stop", chunks=chunks, progress=False, **more)
        if name is not None:
            frame = frame.assign(trace=name)
        frames.append(frame)
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
        bound = bound_of(scheme, replay.draws(n, phi), share_used(timeline, scheme))
        least = np.full(len(phi), np.inf)
        if bound is not None:
            least = bound.mean(1)
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
        reached = excess(phi) <= TIE
        first = int(reached.argmax())
        if last and not reached.all():
            first = len(phi) - int(reached[::-1].argmin())  # behind the last that is not reached
        if first == len(phi) or not reached[first]:
            return None
        if first == 0:
            return low
        low = phi[first - 1]
        high = phi[first]
    return high
