"""A delay model from what was found in a trace, and how well it replays the trace."""

from __future__ import annotations

import numpy as np

from gcexp.advice.mechanisms import Decomposition
from gcexp.delays.composed import Composed

_MOST_VALUES = 2000
_ITERATIONS = 20_000
SHOWN = ("slowest", "second slowest", "middle")


def model_of(found: Decomposition, phi: float = 0.0, drift: bool = False) -> Composed:
    """The mechanisms that were found, or that may be there, on top of the rest, which is resampled."""
    rest = np.sort(found.rest, axis=None)
    if len(rest) > _MOST_VALUES:
        rest = np.quantile(rest, (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES)
    level = found.worker_effect.mean()
    begins = level - found.slope / 2 if drift else level  # the effects are those of the middle of the trace
    shock, states = found.get("common_shock"), found.states
    shared = shock is not None and bool(shock.numbers)
    p01, p10 = (states.chain.p01, states.chain.p10) if states else (0.0, 0.5)
    lasting = max(p01 + p10, 1.0)
    T = len(found.rest)
    return Composed(
        level=float(np.exp(begins)),
        workers=[float(round(factor, 6)) for factor in np.exp(found.worker_effect - level)],
        common_sd=shock.numbers["sd"].value if shock and shared else 0.0,
        common_lag=float(np.clip(shock.numbers["lag1"].value, -0.99, 0.99)) if shock and shared else 0.0,
        p01=p01 / lasting,
        p10=p10 / lasting,
        factor=states.chain.factor if states else 1.0,
        values=[float(round(value, 6)) for value in rest],
        phi=phi,
        drift=found.slope / T if drift else 0.0,
    )


def replayed(model: Composed, x: np.ndarray) -> dict[str, float]:
    """Mean time of the slowest, second slowest and middle worker of the model, over that of the rows x (T, n)."""
    T, n = x.shape
    iterations = T if model.drift else max(T, _ITERATIONS // max(n // 16, 1))
    drawn = model.draw((0,), iterations, n).arrival(1 / n, 1)[0]
    ours, theirs = np.sort(drawn, axis=1).mean(0), np.sort(x, axis=1).mean(0)
    places = (n - 1, max(n - 2, 0), n // 2)
    return {name: float(ours[at] / theirs[at]) for name, at in zip(SHOWN, places, strict=True)}
