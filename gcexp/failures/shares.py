"""What of the wall time of a job is progress, for a period of saves, and the best period."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from gcexp.failures.history import History, Job

MOST_SAVES = 100_000  # saves after which a run ends
_FEW = 30  # complete lives from which on they tell the error; else batches of stretches do
_BATCHES = 100
# The search: periods over and below a first guess, and how many are tried, then and around the best of them.
_FACTOR, _TRIED, _NEAR, _TRIED_AGAIN = 30.0, 13, 2.0, 17
_WORSE = 0.002  # a smoothed best period is taken where it loses no more of the goodput than this share


@dataclass(frozen=True)
class Costs:
    """What saves and failures cost, in seconds.

    Attributes
    ----------
    save : float
        Length of a save, in which nothing is computed.
    redo : float
        What is lost at a failure that is endured.
    ideal : float
        A step of all workers without failures, all of whom are waited for: the unit of progress.
    """

    save: float
    redo: float = 0.0
    ideal: float = 1.0


@dataclass(frozen=True)
class Goodput:
    """Where the wall time of a job goes.

    Attributes
    ----------
    period : float
        Wall time of work between two saves.
    progress : float
        The goodput: saved ideal time over wall time.
    error : float
        Standard error of the goodput.
    slower_steps : float
        What saved work took beyond that; negative where the steps are faster than ideal ones.
    saving, redo, lost_work, restart, waiting : float
        Saves, broken ones among them; endured failures; work that was never saved; restarts; waiting for machines. With
        the two shares before they sum to 1.
    endured : float
        Failures up to and with the fatal one, on the mean; infinite where none was fatal.
    used_share : float
        Share of the data that saved steps used, on the mean.
    worker_time : float
        Workers' time for each unit of progress: the mean number of workers that are there, over the goodput. All count
        in restarts and while the job waits.
    saves, failures : int
        In the run.
    """

    period: float
    progress: float
    error: float
    slower_steps: float
    saving: float
    redo: float
    lost_work: float
    restart: float
    waiting: float
    endured: float
    used_share: float
    worker_time: float
    saves: int
    failures: int


def goodput(job: Job, costs: Costs, period: float) -> Goodput:
    """The goodput of a job under random failures with this period, up to the 100 000th save at most."""
    return of_history(job.until(MOST_SAVES * (period + costs.save)), costs, period)


def best_goodput(job: Job, costs: Costs) -> Goodput:
    """The same with the period that has the largest goodput."""
    return best_of_history(job.until(inf), costs)


def best_of_history(history: History, costs: Costs) -> Goodput:
    """The goodput of a history with the best period.

    Periods around sqrt(2 save M) are tried, where M is the time that a life takes on the mean. The goodput of one run
    is a ragged function of the period, so that near the best of them a parabola through many is taken instead.
    """
    guess = sqrt(2 * costs.save * history.length.sum() / max(1, history.fatal.sum()))

    def tried(periods: np.ndarray) -> list[Goodput]:
        return [of_history(history, costs, period) for period in periods.tolist()]

    wide = tried(np.geomspace(guess / _FACTOR, guess * _FACTOR, _TRIED))
    best = max(wide, key=lambda one: one.progress)
    near = tried(np.geomspace(best.period / _NEAR, best.period * _NEAR, _TRIED_AGAIN))
    best = max([best, *near], key=lambda one: one.progress)
    places = np.log([one.period for one in near])
    bend, slope, _ = np.polyfit(places - places.mean(), [one.progress for one in near], 2)
    if bend < 0:
        top = np.clip(places.mean() - slope / (2 * bend), places[0], places[-1])
        smooth = of_history(history, costs, float(np.exp(top)))
        if smooth.progress >= (1 - _WORSE) * best.progress:
            return smooth
    return best


def of_history(history: History, costs: Costs, period: float) -> Goodput:
    """Where the wall time of a history goes, with a period of work between two saves.

    Work and saves run on a clock of their own, which stands still while an endured failure is redone. On it a save is
    finished at every multiple of period + save, counted from the start of a life.
    """
    spent = _spent(history, costs, period)
    progress = spent.saved * costs.ideal / history.step
    total = progress.sum()
    stops = spent.waiting.sum() + spent.restart.sum()
    wall = spent.work.sum() + spent.saving.sum() + spent.redo.sum() + stops
    if not wall:
        wall = 1.0  # of a run without an end in which no save was finished
    at_work = (history.alive * (spent.work + spent.saving + spent.redo)).sum()
    used = (history.used * progress).sum()
    return Goodput(
        period=period,
        progress=total / wall,
        error=_error(history, spent, progress),
        slower_steps=(spent.saved.sum() - total) / wall,
        saving=spent.saving.sum() / wall,
        redo=spent.redo.sum() / wall,
        lost_work=(spent.work.sum() - spent.saved.sum()) / wall,
        restart=spent.restart.sum() / wall,
        waiting=spent.waiting.sum() / wall,
        endured=float(history.failures[history.fatal].mean()) if history.fatal.any() else inf,
        used_share=float(used / total) if total else 0.0,
        worker_time=float((at_work + history.n * stops) / total) if total else inf,
        saves=int(spent.saves.sum()),
        failures=int(history.failures.sum()),
    )


@dataclass(frozen=True)
class _Spent:
    """Seconds of a history, up to the end of the run.

    Attributes
    ----------
    work, saved, saving, redo : ndarray (E,)
        Of each stretch: work, what of it was saved, saves, and redoing what failures broke.
    waiting, restart, saves : ndarray (L,)
        Behind each life, and its finished saves.
    """

    work: np.ndarray
    saved: np.ndarray
    saving: np.ndarray
    redo: np.ndarray
    waiting: np.ndarray
    restart: np.ndarray
    saves: np.ndarray


def _spent(history: History, costs: Costs, period: float) -> _Spent:
    """Where the seconds go, with a period of work between two saves."""
    life = history.life
    lives = len(history.fatal)
    cycle = period + costs.save
    redo = _redo(history, costs.redo)
    ran = history.length - redo
    total = np.bincount(life, ran, minlength=lives)
    end = np.cumsum(ran)
    end -= (np.cumsum(total) - total)[life]
    begin = end - ran
    saves = np.floor(total / cycle)
    is_over = np.ones(lives, dtype=bool)
    limit = np.full(lives, inf)  # on the clock of each life the end of the run
    before = np.cumsum(saves) - saves
    if before[-1] + saves[-1] >= MOST_SAVES:
        last = int(np.searchsorted(before + saves, MOST_SAVES))
        saves[last] = MOST_SAVES - before[last]
        saves[last + 1 :] = 0
        is_over[last:] = False
        limit[last:] = saves[last:] * cycle
    elif not history.fatal[-1] and not history.closed:
        limit[-1] = saves[-1] * cycle
    saved_until = (saves * cycle)[life]
    begin = np.minimum(begin, limit[life])
    end = np.minimum(end, limit[life])
    work = _worked(end, period, cycle) - _worked(begin, period, cycle)
    saved = _worked(np.minimum(end, saved_until), period, cycle)
    saved -= _worked(np.minimum(begin, saved_until), period, cycle)
    return _Spent(
        work=work,
        saved=saved,
        saving=end - begin - work,
        redo=np.where(begin < limit[life], redo, 0.0),
        waiting=np.where(is_over, history.waiting, 0.0),
        restart=np.where(is_over, history.restart, 0.0),
        saves=saves,
    )


def _worked(time: np.ndarray, period: float, cycle: float) -> np.ndarray:
    """Seconds of work up to some times on the clock of work and saves."""
    whole = np.floor(time / cycle)
    return whole * period + np.minimum(time - whole * cycle, period)


def _redo(history: History, redo: float) -> np.ndarray:
    """Seconds of each stretch in which what failures broke is redone, (E,); what a fatal failure ends is left out.

    Every endured failure asks for `redo` seconds, one after the other. What is left to be redone at the start of a
    stretch is a queue, W' = max(W - length, 0) + redo, so that a running minimum tells it.
    """
    if not redo:
        return np.zeros_like(history.length)
    asked = redo * history.failed
    is_first = np.diff(history.life, prepend=-1) > 0
    # Between two lives so much time passes here that nothing is left.
    passed = np.concatenate([[0.0], history.length[:-1]])
    passed[is_first] += asked.sum()
    work = np.cumsum(asked - passed)
    before = np.concatenate([[0.0], work[:-1]]) - passed
    left = work - np.minimum(np.minimum.accumulate(before), 0.0)
    return np.minimum(left, history.length)


def _error(history: History, spent: _Spent, progress: np.ndarray) -> float:
    """Standard error of progress over wall time, from lives, or where these are few from parts of the run."""
    lives = len(history.fatal)
    wall = spent.work + spent.saving + spent.redo
    stops = spent.waiting + spent.restart
    if history.closed:
        return 0.0  # nothing is drawn
    if lives >= _FEW:
        parts = lives
        of_part = history.life
        wall_of_part = np.bincount(of_part, wall, minlength=parts) + stops
    else:
        parts = min(_BATCHES, len(wall))
        of_part = np.arange(len(wall)) * parts // max(1, len(wall))
        last_of_life = np.searchsorted(history.life, np.arange(lives), side="right") - 1
        wall_of_part = np.bincount(of_part, wall, minlength=parts)
        np.add.at(wall_of_part, of_part[last_of_life], stops)
    whole = wall_of_part.sum()
    if parts < 2 or not whole:
        return 0.0
    progress_of_part = np.bincount(of_part, progress, minlength=parts)
    off = progress_of_part - progress_of_part.sum() / whole * wall_of_part
    return float(np.sqrt((off**2).sum() * parts / (parts - 1)) / whole)
