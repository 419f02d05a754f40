"""What `gcexp fit` finds in recorded times, as data: mechanisms, phi, and a delay model with its errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from gcexp.advice.mechanisms import Decomposition
from gcexp.advice.recorded import Recorded
from gcexp.advice.resampling import Number
from gcexp.delays.composed import Composed

_COLUMNS = ["mechanism", "status", "number", "value", "low", "high", "workers"]


@dataclass(frozen=True)
class Diagnosis(Decomposition):
    """A decomposition of recorded times, and the delay model that follows from it.

    ``found`` names the mechanisms that were found, and ``unsure`` those that may be there, each with what would settle
    it.

    Attributes
    ----------
    recorded : Recorded
        The times.
    phi : Number, optional
        Share of the time that does not grow with the load, where it is known.
    model : Composed
        The delay model that replays the trace.
    replay : dict
        Mean of the slowest, the second slowest and the middle worker in the model, over that in the trace.
    held : dict
        The same of a model of the first half, over the second half.
    """

    recorded: Recorded
    phi: Number | None
    model: Composed = field(repr=False)
    replay: dict[str, float]
    held: dict[str, float]

    @property
    def table(self) -> pd.DataFrame:
        """One row for each number: mechanism, whether it is found, number, value, low, high, workers."""
        rows: list[dict[str, Any]] = []
        for name, mechanism in self.mechanisms.items():
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
