"""Under which failures a job runs, and what saves, restarts and failures cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from gcexp.errors import require
from gcexp.failures import (
    Costs,
    Faults,
    Goodput,
    Job,
    Lifetimes,
    Steps,
    best_goodput,
    best_of_history,
    goodput,
    of_history,
    recorded_history,
)


@dataclass(frozen=True)
class Conditions:
    """What all schemes of a table share.

    Attributes
    ----------
    failures : Lifetimes or Faults
        Of lifetimes the `rejoin` is set for each row.
    restart, save, redo : float
        Seconds of each.
    ideal : float
        Seconds of a step of all workers without failures.
    period : float, optional
        Wall time of work between two saves; by default the best one of each row.
    """

    failures: Lifetimes | Faults
    restart: float
    save: float
    redo: float
    ideal: float
    period: float | None = None

    def __post_init__(self):
        require(0 <= self.restart < inf, f"restart is a time >= 0 in seconds, got {self.restart}")
        require(0 <= self.save < inf, f"save is a time >= 0 in seconds, got {self.save}")
        require(0 <= self.redo < inf, f"redo is a time >= 0 in seconds, got {self.redo}")
        require(
            self.period is None or 0 < self.period < inf,
            f"period is a time > 0 in seconds, got {self.period}",
        )
        require(
            self.save > 0 or self.period is not None,
            "with save=0 the best period is none at all, since saves cost nothing: give period=",
        )

    @property
    def mtbf(self) -> float | None:
        """Mean time between failures of the whole job, in seconds, where it is known."""
        if isinstance(self.failures, Faults):
            return None
        return self.failures.mean / self.failures.domains

    @property
    def costs(self) -> Costs:
        """What saves and failures cost."""
        return Costs(self.save, self.redo, self.ideal)

    def goodput(self, steps: Steps) -> Goodput:
        """The goodput of a scheme."""
        if isinstance(self.failures, Faults):
            history = recorded_history(self.failures, steps, self.restart)
            if self.period is None:
                return best_of_history(history, self.costs)
            return of_history(history, self.costs, self.period)
        job = Job(self.failures, steps, self.restart)
        if self.period is None:
            return best_goodput(job, self.costs)
        return goodput(job, self.costs, self.period)
