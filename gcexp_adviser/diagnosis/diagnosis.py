"""What makes the workers of a trace slow: one diagnosis, made once for `gcexp fit` and `gcexp advise`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from gcexp.delays.composed import Composed
from gcexp.traces.missing import SAMPLED
from gcexp_adviser.diagnosis.mechanisms import Decomposition, found_in
from gcexp_adviser.diagnosis.recorded import Recorded
from gcexp_adviser.diagnosis.resampling import Number

_MOSTLY_LOGGED = (
    0.5  # share of the iterations; a worker with fewer rows is not said to be the slowest in most
)
_COLUMNS = ["mechanism", "status", "number", "value", "low", "high", "workers"]


@dataclass(frozen=True, repr=False)
class Diagnosis(Decomposition):
    """A decomposition of recorded times.

    ``found`` names the mechanisms that were found, and ``unsure`` those that may be there, each with what would settle
    it.

    Attributes
    ----------
    recorded : Recorded
        The times.
    phi : Number, optional
        Share of the time that does not grow with the load, where it is known.
    """

    recorded: Recorded
    phi: Number | None

    @property
    def table(self) -> pd.DataFrame:
        """One row for each number: mechanism, whether it is found, number, value, low, high, workers."""
        rows: list[dict[str, Any]] = [*self._changes(), *self._spells()]
        for name, mechanism in self.mechanisms.items():
            if name in ("level_change", "recent_change"):
                continue
            known = {
                "mechanism": name,
                "status": "unsure" if mechanism.unsure else "found",
                "workers": ", ".join(self.recorded.named(mechanism.workers)),
            }
            for number, value in mechanism.numbers.items():
                rows.append(known | {"number": number} | asdict(value))
            if not mechanism.numbers:
                rows.append(known)
        if self.phi:
            known = {"mechanism": "phi", "status": "found", "number": self.recorded.named_phi}
            rows.append(known | asdict(self.phi))
        return pd.DataFrame(rows, columns=_COLUMNS)

    @property
    def slowest(self) -> tuple[int, float]:
        """The worker that is most often the slowest one in what holds now, and in what share of these iterations.

        Where rows are missing it is the share of those in which the worker has one; 0 for fewer than half of them.
        """
        now = self.recorded.logged[self.levels.now :]
        logged = ~np.isnan(now)
        is_slowest = now == np.fmax.reduce(now, axis=1)[:, None]
        shares = is_slowest.sum(0) / np.maximum(logged.sum(0), 1)
        shares[logged.mean(0) < _MOSTLY_LOGGED] = 0.0
        worker = int(shares.argmax())
        return worker, float(shares[worker])

    def _changes(self) -> Iterator[dict[str, Any]]:
        """A row for each change of level."""
        for change in self.levels.changes:
            recent = change in self.levels.recent
            yield {
                "mechanism": "recent_change" if recent else "level_change",
                "status": "unsure" if recent else "found",
                "number": f"factor since iteration {self.recorded.iteration(change.row)}",
                "workers": self.recorded.named([change.worker])[0],
            } | asdict(change.factor)

    def _spells(self) -> Iterator[dict[str, Any]]:
        """A row for each spell of a single worker that may never come again."""
        for spell in self.levels.single_spells:
            first = self.recorded.iteration(spell.first)
            last = self.recorded.iteration(spell.end - 1)
            yield {
                "mechanism": "single_spell",
                "status": "unsure",
                "number": f"factor in iterations {first} to {last}",
                "value": spell.factor,
                "workers": self.recorded.named([spell.worker])[0],
            }


@dataclass(frozen=True, repr=False)
class Fitted(Diagnosis):
    """A diagnosis, and a delay model that follows from it.

    Attributes
    ----------
    model : Composed
        The delay model that replays what holds now: the rows since the last change of level.
    replay : dict
        Mean of the slowest, the second slowest and the middle worker in the model, over that in these rows.
    held : dict
        The same of a model of the first half of the trace, over the second half.
    """

    model: Composed = field(repr=False)
    replay: dict[str, float]
    held: dict[str, float]


def diagnosed(times: Recorded, phi: Number | None = None) -> Diagnosis:
    """The diagnosis of recorded times; phi is the one that was measured, where not given.

    It rests on the rows that were logged, so that it does not matter which times missing rows were given.
    """
    sampled = times.absent == SAMPLED
    found = found_in(times.logged, times.chunks, times.seed, times.levels, sampled)
    return Diagnosis(**vars(found), recorded=times, phi=phi or times.phi)
