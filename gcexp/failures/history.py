"""What happens to a job that a scheme runs: lives, each from a start with all workers to its fatal failure.

Failures strike in wall time, whatever the job does then. So who is dead when, and which failure is fatal, depends on
the scheme and on the times of restarts, but neither on the period of saves nor on what an endured failure costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import inf
from operator import sub

import numpy as np

from gcexp.failures.lifetimes import Event, Lifetimes
from gcexp.failures.recorded import Faults
from gcexp.failures.steps import Step, Steps

MOST_FATAL = 400  # fatal failures after which a run ends
MOST_FAILURES = 50_000  # failures after which it ends where hardly any is fatal
_LEAST, _MOST = 8, 512  # events of which the clock is asked together


@dataclass(frozen=True)
class History:
    """Stretches of wall time between two events, and the lives that they make up.

    Attributes
    ----------
    n : int
        Workers.
    life : ndarray (E,)
        The life to which each stretch belongs.
    length : ndarray (E,)
        Its seconds.
    step, used : ndarray (E,)
        Seconds of a step in it, and the share of the data that a step uses.
    alive : ndarray (E,)
        Workers that are there.
    failed : ndarray (E,)
        Whether it begins with a failure that was endured.
    fatal : ndarray (L,)
        Whether each life ends with a fatal failure; else the run ends in it.
    waiting, restart : ndarray (L,)
        Seconds behind the life in which the job waits for machines, and restarts.
    failures : ndarray (L,)
        Failures of the life, the fatal one among them.
    closed : bool
        Whether the run ends where the last life does, since nothing is known of the time behind it.
    """

    n: int
    life: np.ndarray
    length: np.ndarray
    step: np.ndarray
    used: np.ndarray
    alive: np.ndarray
    failed: np.ndarray
    fatal: np.ndarray
    waiting: np.ndarray
    restart: np.ndarray
    failures: np.ndarray
    closed: bool = False


class _Record:
    """A history while it is written, stretch by stretch and life by life."""

    def __init__(self, n: int):
        self._n = n
        self._life: list[int] = []
        self._length: list[float] = []
        self._steps: list[Step] = []
        self._alive: list[int] = []
        self._failed: list[bool] = []
        self._lives: list[tuple[bool, float, float, int]] = []

    @property
    def lives(self) -> int:
        """Lives that are over."""
        return len(self._lives)

    @property
    def stretches(self) -> int:
        """Stretches of all lives."""
        return len(self._life)

    def add(self, happened: list[Event], steps: list[Step]) -> None:
        """Stretches that each begin with an event and last until the next one, with the steps in them."""
        begin = [event.time for event in happened[:-1]]
        end = [event.time for event in happened[1:]]
        self._life += [self.lives] * len(begin)
        self._length += map(sub, end, begin)
        self._steps += steps[: len(begin)]
        self._alive += [self._n - event.dead.bit_count() for event in happened[:-1]]
        self._failed += [event.failed for event in happened[:-1]]

    def end(self, waiting: float, restart: float, failures: int) -> None:
        """The life is over by a fatal failure."""
        self._lives.append((True, waiting, restart, failures))

    def history(self, failures: int, closed: bool = False) -> History:
        """What was written; of a life that is not over so many failures are known."""
        lives = self._lives
        if self._life and self._life[-1] == len(lives):
            lives = [*lives, (False, 0.0, 0.0, failures)]
        fatal, waiting, restart, counts = np.array(lives, dtype=float).reshape(-1, 4).T
        step, used = np.array(self._steps, dtype=float).reshape(-1, 2).T
        return History(
            n=self._n,
            life=np.array(self._life, dtype=int),
            length=np.array(self._length),
            step=step,
            used=used,
            alive=np.array(self._alive, dtype=float),
            failed=np.array(self._failed, dtype=bool),
            fatal=fatal.astype(bool),
            waiting=waiting,
            restart=restart,
            failures=counts,
            closed=closed,
        )


class Job:
    """A job under random failures, whose history is written as far as it is asked for.

    Parameters
    ----------
    lifetimes : Lifetimes
    steps : Steps
    restart : float
        Seconds of a restart.
    most_fatal, most_failures : int
        The run ends with the restart of so many fatal failures, or at so many failures in all where hardly any is
        fatal.
    """

    def __init__(
        self,
        lifetimes: Lifetimes,
        steps: Steps,
        restart: float,
        most_fatal: int = MOST_FATAL,
        most_failures: int = MOST_FAILURES,
    ):
        self._most_fatal = most_fatal
        self._most_failures = most_failures
        self._lifetimes = lifetimes
        self._steps = steps
        self._restart = restart
        self._record = _Record(steps.n)
        self._pool = lifetimes.pool
        self._failures_before = 0  # in the lives that are over
        self._wall = 0.0  # at the end of what is written
        self._begin()

    def until(self, wall: float) -> History:
        """The history up to this wall time, or to the end of the run where that comes before."""
        while self._wall < wall and not self._is_over():
            self._go_on()
        return self._record.history(len(self._failed))

    def _is_over(self) -> bool:
        failures = self._failures_before + len(self._failed)
        return self._record.lives >= self._most_fatal or failures >= self._most_failures

    def _begin(self) -> None:
        """Start a life with all workers."""
        self._events = self._lifetimes.life(self._record.lives, self._pool)
        self._last = Event(0.0, 0, False)
        self._failed: list[float] = []  # times of the failures of this life
        self._began = self._wall
        # What the clock is asked about events behind the end of a life is in vain: so about half a life at once.
        events_of_a_life = self._record.stretches // max(1, self._record.lives)
        self._at_once = min(max(_LEAST, events_of_a_life // 2), _MOST)

    def _go_on(self) -> None:
        """The next events of this life, up to a fatal failure where there is one among them."""
        events = list(islice(self._events, self._at_once))
        self._at_once = min(2 * self._at_once, _MOST)
        steps = self._steps.of([self._last.dead, *(event.dead for event in events)])
        end = len(events)
        for i in range(len(events)):
            if steps[i + 1].time == inf:
                end = i + 1
                break
        happened = [self._last, *events[:end]]
        self._record.add(happened, steps)
        self._failed += [event.time for event in happened[1:] if event.failed]
        self._last = happened[-1]
        self._wall = self._began + self._last.time
        if steps[end].time == inf:
            self._restarted()

    def _restarted(self) -> None:
        """The fatal failure has happened: wait for machines where they are counted, restart, and begin anew."""
        waiting = 0.0
        if self._pool is not None:
            waiting, self._pool = self._lifetimes.restarted(
                self._pool, self._failed, self._last.dead, self._restart
            )
        self._record.end(waiting, self._restart, len(self._failed))
        self._failures_before += len(self._failed)
        self._wall += waiting + self._restart
        self._begin()


def recorded_history(faults: Faults, steps: Steps, restart: float) -> History:
    """What happens to a job under recorded faults.

    Behind a fatal failure the job waits until its scheme endures those who are down, and then restarts. In a restart
    nothing fails: who went down in it is down when it is over. If the scheme does not endure that, the job waits and
    restarts again.
    """
    record = _Record(steps.n)
    events = list(faults.events)
    sets = [0, *(event.dead for event in events)]
    step_of = dict(zip(sets, steps.of(sets), strict=True))
    happened = [Event(0.0, 0, False)]
    place = 0  # of the next event
    while place < len(events):
        happened.append(events[place])
        place += 1
        now, dead, _ = happened[-1]
        if step_of[dead].time < inf:
            continue
        record.add(happened, [step_of[event.dead] for event in happened])
        waiting = restart_took = 0.0
        while step_of[dead].time == inf and now < faults.end:
            fatal_at = now
            while step_of[dead].time == inf and place < len(events):
                now, dead, _ = events[place]
                place += 1
            waiting += now - fatal_at
            if step_of[dead].time == inf:
                break
            over = min(now + restart, faults.end)
            restart_took += over - now
            now = over
            while place < len(events) and events[place].time <= now:
                dead = events[place].dead
                place += 1
        record.end(waiting, restart_took, sum(event.failed for event in happened))
        happened = [Event(now, dead, False)]
    record.add(happened, [step_of[event.dead] for event in happened])
    return record.history(sum(event.failed for event in happened), closed=True)
