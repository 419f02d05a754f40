"""Tables of figures: goodputs against the job MTBF and the restart, and which exact scheme has the largest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.failures import Costs, Job, Lifetimes, best_of_history
from gcexp_adviser.goodput.rows import rows_of
from gcexp_adviser.goodput.workers import Log, Workers

_MOST_FATAL, _MOST_FAILURES = 400, 5000


@columns(
    "workers",
    "mtbf",
    "restart",
    "label",
    "exact",
    "step",
    "endured",
    "period",
    "goodput",
    "goodput_se",
    clocks=True,
)
def goodputs(
    cases: list[dict[str, Any]],
    mtbf: list[float],
    restart: list[float],
    save: float,
    rejoin: float,
    schemes: list,
) -> Iterator[tuple]:
    """Goodputs of schemes, each with its best period, for every job MTBF and restart.

    Parameters
    ----------
    cases : list
        Workers, each with a ``name``, a number ``n``, ``phi``, and where they are not equal a law: ``delay`` and
        ``delay.KEY``.
    mtbf, restart : list of float
        Seconds.
    save, rejoin : float
        Seconds of a save, and until a dead worker is replaced.
    schemes : list
        As in `gcexp.goodput`.
    """
    yield from _goodputs(cases, mtbf, restart, save, rejoin, schemes)


def _goodputs(
    cases: list[dict[str, Any]],
    mtbf: list[float],
    restart: list[float],
    save: float,
    rejoin: float,
    schemes: list,
) -> Iterator[tuple]:
    """The rows of `goodputs`."""
    for case in cases:
        law = {key: value for key, value in case.items() if key == "delay" or key.startswith("delay.")}
        workers = Workers.of(case["n"], None, float(case.get("phi", 0.0)), law or None, 0, Log())
        rows, _ = rows_of(schemes, workers)
        costs = Costs(save=float(save), ideal=workers.ideal)
        for between in mtbf:
            lifetimes = Lifetimes(n=workers.n, mean=between * workers.n, rejoin=float(rejoin))
            for row in rows:
                # Who is dead when does not depend on how long a restart takes.
                lived = Job(lifetimes, row.steps, 0.0, _MOST_FATAL, _MOST_FAILURES).until(inf)
                for seconds in restart:
                    history = replace(lived, restart=np.where(lived.fatal, float(seconds), 0.0))
                    found = best_of_history(history, costs)
                    error = float(np.hypot(found.error, found.progress * row.error))
                    yield (
                        case["name"],
                        between,
                        seconds,
                        row.label,
                        row.exact,
                        row.steps.alive.time / workers.ideal,
                        found.endured,
                        found.period,
                        found.progress,
                        error,
                    )


@columns("panel", "mtbf", "restart", "scheme", "goodput", clocks=True)
def best_schemes(
    cases: list[dict[str, Any]],
    mtbf: list[float],
    restart: list[float],
    save: float,
    rejoin: float,
    schemes: list,
    without: str = "respread",
) -> Iterator[tuple]:
    """The exact scheme with the largest goodput for every job MTBF and restart, among all and without one of them.

    A panel is the name of a case, with what is left out. The parameters are those of `goodputs`.
    """
    best: dict[tuple, tuple[float, str]] = {}
    for workers, between, seconds, scheme, exact, *_, goodput, _ in _goodputs(
        cases, mtbf, restart, save, rejoin, schemes
    ):
        if not exact:
            continue
        for panel in (workers, f"{workers}, without {without}"):
            if panel != workers and scheme == without:
                continue
            place = panel, between, seconds
            if place not in best or goodput > best[place][0]:
                best[place] = goodput, scheme
    for place, (goodput, scheme) in best.items():
        yield (*place, scheme, goodput)
