"""What `gcexp advise` concludes from recorded times, as data: answers by phi, settings, and the scheme to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from gcexp.traces.missing import SAMPLED
from gcexp_adviser.diagnosis.diagnosis import Diagnosis, diagnosed
from gcexp_adviser.diagnosis.recorded import Recorded
from gcexp_adviser.remedies.remedies import Plan, Remedy
from gcexp_adviser.remedies.verdict import CODE, DEPENDS, NOTHING, REBALANCE, UNKNOWN, Answer, Comparison

#: The clean record that a log of another form is to be made, for what replays it.
CLEAN = "clean.csv"


@dataclass(frozen=True)
class Conclusion:
    """The answers of `gcexp.advise`, and what follows from them.

    Attributes
    ----------
    recorded : Recorded
        The times.
    comparison : Comparison
        What was compared, and by which rules: the rows since the last change of level, without single spells and
        changes that are too recent.
    answers : tuple of Answer
        One for each phi that was looked at: the one that is known, or the ends and the middle of a range.
    table : DataFrame
        The settings, see `gcexp_adviser.remedies.settings.settings`.
    measured : bool
        Whether phi was measured.
    as_recorded : Comparison
        The same rows as they were recorded, with single spells and with changes that are too recent.
    if_it_comes_again : Answer, optional
        The answer on `as_recorded`, where there are such spells and changes.
    whole : Answer, optional
        The answer on the whole trace, where the answers are those since a change.
    """

    recorded: Recorded
    comparison: Comparison = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    table: pd.DataFrame = field(repr=False)
    measured: bool
    as_recorded: Comparison = field(repr=False)
    if_it_comes_again: Answer | None = field(repr=False)
    whole: Answer | None = field(repr=False)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What makes the workers slow: that of `gcexp.fit`, made when it is first asked for."""
        return diagnosed(self.recorded)

    @property
    def since(self) -> int:
        """First row of those on which the answers rest."""
        return self.recorded.levels.now

    @property
    def main(self) -> Answer:
        """The answer at the phi that is known, or in the middle of its range."""
        return self.answers[len(self.answers) // 2]

    @property
    def verdict(self) -> str:
        """``do nothing``, ``rebalance``, ``code``, ``depends on phi`` or ``not enough data``."""
        verdicts = {answer.verdict for answer in self.answers}
        return self.main.verdict if len(verdicts) == 1 else DEPENDS

    @property
    def ratio(self) -> float:
        """Mean iteration of the best simple remedy over that of waiting for all, at the main phi."""
        return self.main.ratio

    @property
    def low(self) -> float:
        """Lower end of the ratio's 95 % interval."""
        return self.main.low

    @property
    def high(self) -> float:
        """Upper end of it."""
        return self.main.high

    @property
    def bound(self) -> float:
        """No exact scheme within the memory has a smaller ratio: certified, on these rows."""
        return self.main.bound

    @property
    def phi(self) -> float | list[float]:
        """The share of the time that does not grow with the load, or its range."""
        if len(self.answers) == 1:
            return self.main.phi
        return [self.answers[0].phi, self.answers[-1].phi]

    @property
    def plan(self) -> Plan | None:
        """What is to be run, learned from the whole trace; None where nothing definite is advised."""
        if self.verdict == NOTHING:
            return Remedy("wait").learned(self.comparison.x)
        return self.main.plan if self.verdict in (REBALANCE, CODE) else None

    @property
    def scheme(self) -> list[str] | None:
        """Overrides with which `gcexp run` plays the advice on this trace; None where it cannot, or nothing is advised.

        A replay has the same workers in each iteration, so that it plays nothing where workers are sampled.
        """
        if self.plan is None or self.recorded.absent == SAMPLED:
            return None
        return self.playing(self.plan)

    def playing(self, plan: Plan) -> list[str]:
        """Overrides of a plan and of its replay."""
        replay = self.replayed(plan)
        return [*plan.overrides(self.comparison.terms.data_bound), *replay]

    def replayed(self, plan: Plan) -> list[str]:
        """Overrides that replay the trace for a plan; of times in memory only how many workers there are.

        A log of another form is replayed as the clean record that ``gcexp trace import LOG -o clean.csv`` makes of it.
        """
        recorded = self.recorded
        compared = self.comparison
        workers = recorded.trace.workers
        overrides = [f"n={len(workers)}"]
        if not recorded.trace.source:
            return overrides
        file = recorded.trace.source if recorded.trace.replayable else CLEAN
        overrides += ["delay=trace", f"delay.file={file}", f"delay.phi={self.main.phi:.12g}"]
        if compared.terms.data_bound:
            seated = ",".join(str(workers[column]) for column in plan.workers)
            overrides += ["delay.data_bound=true", f"delay.workers=[{seated}]"]
        if compared.terms.late != "stop":
            overrides.append(f"late={compared.terms.late}")
        if recorded.missing and recorded.absent != "refuse":
            overrides.append(f"delay.absent={recorded.absent}")
            if recorded.timeout is not None:
                overrides.append(f"delay.timeout={recorded.timeout:.12g}")
        return overrides

    @property
    def mean_as_written(self) -> float | None:
        """Mean iteration of `scheme` on the whole trace, which `gcexp simulate` gives as well."""
        if self.plan is None:
            return None
        compared = self.comparison
        took = self.plan.times(
            self.recorded.every, [self.main.phi], compared.terms.late, compared.terms.data_bound
        )
        return float(took.mean())

    @cached_property
    def depends(self) -> list[dict[str, Any]]:
        """The nearest changes of phi, message cost and memory that would change the kind of remedy."""
        return [] if self.verdict == UNKNOWN else self.comparison.changes(self.main.phi)
