"""The workers of a job without failures: equal ones, recorded times, or times drawn from a law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from gcexp.delays import DelayModel, Draws, LocalSteps
from gcexp.errors import ParameterError, require
from gcexp.failures import Steps
from gcexp.run.benchmark_schemes import Entry
from gcexp.run.run import Run
from gcexp.schemes import Scheme
from gcexp.traces.missing import Absent, described, resolved
from gcexp_adviser.benchmark import Replay
from gcexp_adviser.diagnosis.sampled import refuse_sampled
from gcexp_adviser.logs.how import ANYHOW, How
from gcexp_adviser.logs.reading import read, trace_of

_EQUAL_ROWS = 9  # of equal workers: enough for schemes that learn from one step to the next
_LAW_ROWS = 1112  # of a law: a tenth is known before, and a thousand are scored


@dataclass(frozen=True)
class Log:
    """How a log is read, and what its missing rows are taken for; as in `gcexp.benchmark`."""

    how: How = ANYHOW
    absent: Absent | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class Workers:
    """Who works, how long each takes for a step with its own share of the data, and how that grows with the load.

    Attributes
    ----------
    replay : Replay
        Their times, at one phi.
    words : str
        What they are, in a phrase.
    drawn : bool
        Whether the times are a sample of a law, so that their means have standard errors.
    """

    replay: Replay
    words: str
    drawn: bool = False

    @classmethod
    def of(
        cls,
        times: Any,
        n: int | None,
        phi: float,
        delay: str | Mapping[str, Any] | DelayModel | None,
        seed: int,
        log: Log,
    ) -> Workers:
        """The workers that a person gives."""
        if isinstance(times, Integral) and not isinstance(times, bool):
            require(
                n is None or n == times, f"there are {times} workers or n={n} of them: give one of the two"
            )
            n, times = int(times), None
        require(n is None or n >= 1, f"n is a number of workers >= 1, got {n}")
        if times is not None:
            require(
                delay is None, f"the times are recorded, so that no law gives them: leave out delay={delay}"
            )
            replay = _recorded(times, phi, n, log)
            return cls(replay, f"{replay.n} workers of {replay.name}, {replay.rows} scored rows, phi {phi:g}")
        if n is None:
            raise ParameterError(
                "say who works: a log of workers' times, or a number of equal workers (n=64)"
            )
        if delay is None:
            replay = Replay.of(trace_of(np.ones((_EQUAL_ROWS, n)), unit="s"), phi)
            return cls(replace(replay, notes=()), f"{n} equal workers, phi {phi:g}")
        model, name = _law(delay, n)
        draws = model.draw((seed,), _LAW_ROWS, n)
        require(not draws.counts, f"delay={name} counts epochs and gives no times")
        replay = Replay.of(trace_of(np.array(draws.arrival(1 / n, 1.0)[0]), unit="s"), phi)
        words = f"{n} workers by {name}, {replay.rows} scored rows, phi {phi:g}"
        return cls(replace(replay, notes=()), words, drawn=True)

    @property
    def n(self) -> int:
        """How many there are."""
        return self.replay.n

    @property
    def ideal(self) -> float:
        """Mean seconds of a step of all workers, all of whom are waited for."""
        return float(self.replay.waiting(self.n)[0].mean())

    def steps(self, scheme: Scheme, exact: bool, rounds: int = 1) -> Steps:
        """The steps of a scheme of theirs; of one with rounds of local steps the mean step of a round."""
        return Steps(scheme, self._draws(rounds), exact)

    def _draws(self, rounds: int) -> Draws:
        """The scored rows, in rounds."""
        if rounds <= 1:
            return self.replay.draws(self.n)
        return LocalSteps(self.replay.delay, rounds).draw((0,), max(1, self.replay.rows // rounds), self.n)

    def relative_error(self, steps: Steps) -> float:
        """Standard error of the ratio of a scheme's step to the ideal one, over that ratio; 0 where no law is drawn."""
        if not self.drawn:
            return 0.0
        took = steps.times_alive()
        waited = self.replay.waiting(self.n)[0][-len(took) :]
        off = took / took.mean() - waited / waited.mean()
        return float(off.std(ddof=1) / np.sqrt(len(off)))

    def scheme_of(self, entry: Entry) -> tuple[Run, Scheme]:
        """Run and scheme of an entry for all workers; raise `ParameterError` where it is not for so many."""
        run = entry.run(self.n, codes=self.replay.codes)
        return run, run.scheme_of(0)


def _recorded(times: Any, phi: float, n: int | None, log: Log) -> Replay:
    """Recorded times; missing rows are late unless something else is asked for, and the notes say which there are."""
    record = read(times, log.how)
    if log.absent is None:
        refuse_sampled(record, cure="gcexp advise with absent=sampled, since no replay can")
    replay = Replay.of(resolved(record, log.absent or "late", log.timeout), phi, n)
    lacking = described(record)
    if lacking is None:
        return replay
    return replace(
        replay, notes=(*replay.notes, *(f"{record.name}: {sentence}" for sentence in lacking.sentences))
    )


def _law(delay: str | Mapping[str, Any] | DelayModel, n: int) -> tuple[DelayModel, str]:
    """A delay model, given as itself, by its name, or by keys ``delay`` and ``delay.KEY``; and what it is called."""
    if isinstance(delay, str):
        delay = {"delay": delay}
    if not isinstance(delay, Mapping):
        return delay, type(delay).__name__
    overrides = [f"{key}={value}" for key, value in delay.items()]
    run = Run.of(["scheme=uncoded", f"n={n}", *overrides], trains=False, checked=False)
    return run.delay_model, " ".join(overrides)
