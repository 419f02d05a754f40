"""Clock, training and replay of a run, one after the other: the one way in which all of them are put together.

A `Measurement` says in which order. Where a training comes from is said by its `Trainings` (`gcexp.run.trainings`): it
is made here, made and written to files, or read from the files of an earlier job.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a plan trains nothing
    import pandas as pd

    from gcexp.run.run import Run
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline


class Trainings(Protocol):
    """Where the trainings of some runs, and the replays of these trainings, come from."""

    def trajectory(self, run: Run, timeline: Timeline | None) -> Trajectory:
        """What is learned with the coefficients of a run's clock; an exact run has no need of a clock."""

    def report(self, run: Run, timeline: Timeline, trajectory: Trajectory) -> dict:
        """What the replay of encode, drop and decode finds, see `gcexp.run.verification.verify_decoding`.

        A training of the workflow whose replay finds another gradient is an error, `VerificationError`. Of one that is
        made for a person in Python the report says so, and the person is warned.
        """


@dataclass(eq=False)
class Measurement:
    """What a run gives: its clock, then what it learns, then what the replay of its training finds.

    Each step is made when it is first asked for. A step that another process has made is set from outside.

    Examples
    --------
    >>> from gcexp.run.run import Run
    >>> from gcexp.run.trainings import HomeTrainings
    >>> run = Run.of(
    ...     ["scheme=frc", "n=4", "s=1", "delay=pareto", "task=digits_mlp", "iterations=3", "seeds=1"]
    ... )
    >>> measurement = Measurement(run, HomeTrainings(progress=False))
    >>> measurement.curve["iteration"].tolist(), measurement.report["passed"]
    ([0, 1, 2, 3], True)
    """

    run: Run
    trainings: Trainings

    @cached_property
    def timeline(self) -> Timeline:
        """When each iteration ends, who is heard, and the coefficients that are decoded."""
        return self.run.clock()

    @cached_property
    def trajectory(self) -> Trajectory:
        """What is learned with these coefficients."""
        if self.run.exact:
            return self.trainings.trajectory(self.run, None)
        return self.trainings.trajectory(self.run, self.timeline)

    @cached_property
    def curve(self) -> pd.DataFrame:
        """Scores on the simulated clock, one row per seed and evaluated iteration."""
        from gcexp.run.result_columns import curve_of

        return curve_of(self.timeline, self.trajectory)

    @cached_property
    def report(self) -> dict:
        """What the replay of the training finds."""
        return self.trainings.report(self.run, self.timeline, self.trajectory)
