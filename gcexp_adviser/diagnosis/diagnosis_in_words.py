"""What the sentences on slow workers are about, as facts; the sentences are in ``templates/diagnosis.j2``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gcexp_adviser.diagnosis.diagnosis import Diagnosis
from gcexp_adviser.diagnosis.level_changes import LEAST_NOW, Change, Spell
from gcexp_adviser.diagnosis.mechanisms import LEAST_ROWS, LEAST_WORKERS, Mechanism
from gcexp_adviser.diagnosis.recorded import Recorded
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.page import paragraphs

_MOSTLY = 0.8  # of the variance
_MOST, _NEARLY_ALL = 0.5, 0.95  # shares of the iterations, or of the slow times, of a worker that is named
#: Doubts that have a sentence of their own: with the worker and its row, and that there are too few workers.
_TOLD_APART = ("recent_change", "workers")


@dataclass(frozen=True)
class CauseFacts:
    """A mechanism: its first number as it is told, the workers that it strikes, and why it is not sure."""

    kind: str
    number_name: str
    number: Number | None
    falls: bool  # of a drift, whose number is then how far
    workers: tuple[str, ...]
    unsure: str


@dataclass(frozen=True)
class ChangeFacts:
    """From an iteration on a worker takes `factor` times as long."""

    worker: str
    since: int
    rows: int  # since then
    factor: float


@dataclass(frozen=True)
class GoneFacts:
    """From an iteration on a worker has no row."""

    worker: str
    since: int


@dataclass(frozen=True)
class SpellFacts:
    """In the iterations from `first` to `last` a worker took `factor` times as long."""

    worker: str
    first: int
    last: int
    factor: float


@dataclass(frozen=True)
class ShareFacts:
    """A worker, and its share of something."""

    worker: str
    share: float


@dataclass(frozen=True)
class MissingFacts:
    """Which rows are missing; whether they are late, and then by the timeout that was given or on the mean."""

    sentences: tuple[str, ...]
    late: bool
    timeout: float | None
    mean: float


@dataclass(frozen=True)
class DiagnosisFacts:
    """What makes the workers of a trace slow, and on how much that rests."""

    trace: str
    iterations: int
    workers: int
    stretches: int  # of iterations, which do not depend on each other
    least_iterations: int  # of fewer nothing is told
    least_workers: int  # of fewer nobody is called slow
    least_since_change: int  # where fewer followed, a change is not known to last
    certain: tuple[CauseFacts, ...]
    unsure: tuple[CauseFacts, ...]
    doubts: tuple[CauseFacts, ...]  # those of the unsure ones that have no sentence of their own
    lasting: tuple[
        tuple[ChangeFacts, ...], ...
    ]  # those of one worker together, first that with the latest one
    recent: tuple[tuple[ChangeFacts, ...], ...]
    gone: tuple[GoneFacts, ...]
    spells: tuple[SpellFacts, ...]  # those that may never come again
    since: int | None  # first iteration of what holds now, where that is not all of them
    slowest: ShareFacts | None  # who is the slowest worker in most iterations
    all_slow_times_of: ShareFacts | None  # the worker with nearly all of the slow times that come and go
    most_slow_times_of: ShareFacts | None  # or else the one with most of them
    chunks_would_tell: bool  # noise of the machine from noise of the data
    variance: dict[str, float]
    stability: float | None  # rank correlation of the workers' means in the two halves


def diagnosis_facts(found: Diagnosis) -> DiagnosisFacts:
    """The facts of a diagnosis."""
    recorded, levels = found.recorded, found.levels
    T, n = recorded.x.shape
    causes = [_cause(recorded, kind, mechanism) for kind, mechanism in found.mechanisms.items()]
    unsure = tuple(cause for cause in causes if cause.unsure)
    slowest = _slowest(found)
    slow_times = _whose_slow_times(found)
    of_one_worker = slow_times is not None and slow_times.share >= _NEARLY_ALL
    return DiagnosisFacts(
        trace=recorded.trace.name,
        iterations=T,
        workers=n,
        stretches=max(T // found.block, 1),
        least_iterations=LEAST_ROWS,
        least_workers=LEAST_WORKERS,
        least_since_change=LEAST_NOW,
        certain=tuple(cause for cause in causes if not cause.unsure),
        unsure=unsure,
        doubts=tuple(cause for cause in unsure if cause.kind not in _TOLD_APART),
        lasting=_by_worker(recorded, [change for change in levels.changes if change not in levels.recent]),
        recent=_by_worker(recorded, levels.recent),
        gone=tuple(
            GoneFacts(recorded.named([worker])[0], recorded.iteration(row))
            for worker, row in levels.gone.items()
        ),
        spells=tuple(spell_facts(recorded, spell) for spell in levels.single_spells),
        since=recorded.iteration(levels.now) if levels.now else None,
        slowest=slowest if slowest.share >= _MOST else None,
        all_slow_times_of=slow_times if of_one_worker else None,
        most_slow_times_of=None if of_one_worker else slow_times,
        chunks_would_tell=found.variance.shares["rest"] > _MOSTLY and recorded.chunks is None,
        variance=found.variance.shares,
        stability=found.stability if np.isfinite(found.stability) else None,
    )


def _cause(recorded: Recorded, kind: str, mechanism: Mechanism) -> CauseFacts:
    """The facts of a mechanism, with the number that is told of it."""
    name, number = next(iter(mechanism.numbers.items()), ("", None))
    falls = False
    if number is not None and kind in ("common_shock", "heterogeneous"):
        number = _typical_factor(number)
    if number is not None and kind == "drift":
        falls = number.value < 0
        number = _size(number)
    return CauseFacts(
        kind=kind,
        number_name=name,
        number=number,
        falls=falls,
        workers=tuple(recorded.named(mechanism.workers)),
        unsure=mechanism.unsure,
    )


def _typical_factor(deviation: Number) -> Number:
    """A standard deviation of logarithms as the factor that it stands for."""
    limits = [None if one is None else float(np.exp(one)) for one in (deviation.low, deviation.high)]
    return Number(float(np.exp(deviation.value)), *limits)


def _size(change: Number) -> Number:
    """How far times grow, or how far they fall."""
    if change.value >= 0 or change.low is None or change.high is None:
        return Number(abs(change.value), change.low, change.high)
    return Number(-change.value, -change.high, -change.low)


def _whose_slow_times(found: Diagnosis) -> ShareFacts | None:
    """The worker that has most of the slow times that come and go, where one has."""
    if found.states is None:
        return None
    slow = found.states.slow & ~np.isnan(found.recorded.logged)
    shares = slow.sum(0) / slow.sum()
    worker = int(shares.argmax())
    if shares[worker] < _MOST:
        return None
    return ShareFacts(found.recorded.named([worker])[0], float(shares[worker]))


def _slowest(found: Diagnosis) -> ShareFacts:
    worker, share = found.slowest
    return ShareFacts(found.recorded.named([worker])[0], share)


def _by_worker(recorded: Recorded, changes: Iterable[Change]) -> tuple[tuple[ChangeFacts, ...], ...]:
    """Changes of level, all of one worker together, the worker with the latest change first."""
    by_worker: dict[int, list[ChangeFacts]] = {}
    for change in sorted(changes, key=lambda change: change.row, reverse=True):
        by_worker.setdefault(change.worker, []).insert(0, change_facts(recorded, change))
    return tuple(map(tuple, by_worker.values()))


def change_facts(recorded: Recorded, change: Change) -> ChangeFacts:
    """The facts of a change of level."""
    return ChangeFacts(
        worker=recorded.named([change.worker])[0],
        since=recorded.iteration(change.row),
        rows=len(recorded.x) - change.row,
        factor=change.factor.value,
    )


def spell_facts(recorded: Recorded, spell: Spell) -> SpellFacts:
    """The facts of a spell."""
    return SpellFacts(
        worker=recorded.named([spell.worker])[0],
        first=recorded.iteration(spell.first),
        last=recorded.iteration(spell.end - 1),
        factor=spell.factor,
    )


def missing_facts(recorded: Recorded) -> MissingFacts | None:
    """What missing rows are taken for; None where none is missing."""
    if recorded.missing is None:
        return None
    return MissingFacts(
        sentences=tuple(recorded.missing.sentences),
        late=recorded.absent == "late",
        timeout=recorded.timeout,
        mean=recorded.mean_of_missing,
    )


def sentences(found: Diagnosis) -> list[str]:
    """What it is, how sure that is, and what it means for coding."""
    return paragraphs("diagnosis/templates/sentences.j2", told=diagnosis_facts(found))


def checked(found: Diagnosis, notes: Iterable[str]) -> list[str]:
    """The same for `gcexp trace check`, with all doubts, the notes of the times, and their variance."""
    return paragraphs("diagnosis/templates/check.j2", told=diagnosis_facts(found), notes=notes)
