"""Rounds of local steps: workers meet only after several iterations of another delay model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gcexp.delays.base import DelayModel, Draws
from gcexp.errors import require, require_known

FIXED = ("step", "round")


@dataclass(frozen=True)
class LocalSteps:
    """Local SGD's clock: an iteration is a round of `steps` local ones, and takes a step's share of the round.

    A worker needs the sum of its times in those iterations of `inner`, and sends one gradient per round; all is
    divided by `steps`, so that mean durations compare with those of a synchronous step. An incomplete last round of a
    trace is left out by asking for no more than R // steps iterations. Nothing says how well such a model learns:
    there is a clock only.

    Parameters
    ----------
    inner : DelayModel
        Whose times of one iteration are F + rho C.
    steps : int
        H, local steps of a round.
    fixed : {"step", "round"}
        The part F is paid in each step, or once in a round: that of its last step.

    Raises
    ------
    ParameterError
        For values outside these, and an inner model whose times do not grow linearly with the load.

    Examples
    --------
    >>> from gcexp.delays import Trace
    >>> one, ten = (LocalSteps(Trace("data/traces/pai-job1.csv"), steps=H) for H in (1, 10))
    >>> (
    ...     one.draw((0,), 2, 10).arrival(0.1, 1)[0, 0, 0],
    ...     ten.draw((0,), 2, 10).arrival(0.1, 1)[0, 0, 0].round(3),
    ... )
    (np.float64(476.0), np.float64(488.3))
    """

    clock_only: ClassVar[bool] = True

    inner: DelayModel
    steps: int = 10
    fixed: Literal["step", "round"] = "step"

    def __post_init__(self):
        require(self.steps >= 1, f"local_steps needs steps >= 1, got {self.steps}")
        require_known("fixed", self.fixed, FIXED)

    def draw(self, seeds: tuple[int, ...], iterations: int, n: int) -> Draws:
        """See `gcexp.delays.base.DelayModel`."""
        H = self.steps
        draws = self.inner.draw(seeds, H * iterations, n)
        require(
            draws.linear,
            "local_steps needs times F + rho C that are linear in the load, so neither micro-batches "
            "nor data_bound nor load_model=sum",
        )

        def by_round(part: np.ndarray | float) -> np.ndarray:
            return np.broadcast_to(part, draws.shape).reshape(len(seeds), iterations, H, n)

        start = by_round(draws.start)
        compute = by_round(draws.compute)
        transmit = by_round(draws.transmit)
        fixed = start[:, :, -1] if self.fixed == "round" else start.sum(2)
        return Draws(
            tuple(seeds),
            (len(seeds), iterations, n),
            start=fixed / H,
            compute=compute.sum(2) / H,
            transmit=transmit[:, :, -1] / H,
            renewed=draws.renewed,
        )
