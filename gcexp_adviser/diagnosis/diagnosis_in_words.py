"""What makes workers slow, since when, and what is not sure of it, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gcexp.words import joined
from gcexp_adviser.diagnosis.diagnosis import Diagnosis
from gcexp_adviser.diagnosis.level_changes import LEAST_NOW, Change, Spell
from gcexp_adviser.diagnosis.mechanisms import LEAST_ROWS, LEAST_WORKERS
from gcexp_adviser.diagnosis.recorded import Recorded
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.page import counted, percent

_MOST_NAMED = 4  # workers that are named with their changes
_MOSTLY = 0.8  # of the variance
_MOST, _NEARLY_ALL = 0.5, 0.95  # shares of the iterations, or of the slow times, of a worker that is named
#: Doubts that have a sentence of their own: with the worker and its row, and that there are too few workers.
_TOLD_APART = ("recent_change", "workers")
#: What a mechanism is called, and what it means for coding.
WORDS = {
    "level_change": (
        "workers whose speed changed for good",
        "A worker that is slow since some iteration is better excluded, or given less work, than coded around.",
    ),
    "recent_change": ("a worker whose speed has changed too recently to say that it lasts", ""),
    "gone": (
        "workers without a row up to the end",
        "What became of a worker without rows no time tells: it was gone, or later than any timeout.",
    ),
    "few_rows": ("workers with too few rows", ""),
    "drift": ("times that drift over the run", "Drift slows all schemes alike."),
    "common_shock": (
        "iterations in which all workers are slow together",
        "Common shocks slow all schemes alike: no code helps against them.",
    ),
    "slow_state": (
        "workers that become slow for a while and recover",
        "Slow spells that come and go are what redundancy is for, if the time hardly grows with the load.",
    ),
    "independent_slow": (
        "single slow iterations of single workers",
        "Slow iterations that strike anybody are what redundancy is for, if the time hardly grows with the load.",
    ),
    "bad_node": (
        "a worker that is slow throughout",
        "A worker that is slow throughout is better excluded, or given less work, than coded around.",
    ),
    "heterogeneous": (
        "workers of lastingly different speed",
        "Speeds that last are answered by rebalancing: slow workers get less data.",
    ),
    "data_bound_or_chunk_noise": (
        "noise of the data or of the parts of the work",
        "If it is the data that is slow, a copy of it is slow as well, and redundancy does not help.",
    ),
    "workers": ("differences between the workers", ""),
}


def sentences(found: Diagnosis) -> list[str]:
    """What it is, how sure that is, and what it means for coding."""
    return [*causes(found), meaning(found)]


def causes(found: Diagnosis) -> list[str]:
    """What makes the workers slow and since when; what rests on too little; and on how many rows all of it rests."""
    name = found.recorded.trace.name
    told = [f"{name}: {_what_it_is(found)}", *_not_certain(found)]
    T, n = found.recorded.x.shape
    if n < LEAST_WORKERS:
        told.append(
            f"With {n} workers nobody can be called slow: it takes {LEAST_WORKERS} to say who is unusual."
        )
    independent = counted(max(T // found.block, 1), "stretch")
    rests = f"This rests on {counted(T, 'iteration')} of {counted(n, 'worker')}, which count as about {independent}"
    told.append(f"{rests} of iterations that do not depend on each other.")
    doubts = [WORDS[name][0] for name in found.unsure if name not in _TOLD_APART]
    if doubts:
        told.append(f"Not sure: {joined(doubts)}.")
    return told


def missing_rows(recorded: Recorded) -> Iterator[str]:
    """Which rows are missing, and what they are taken for."""
    if recorded.missing is None:
        return
    yield from recorded.missing.sentences
    if recorded.absent != "late":
        return
    taken = f"{recorded.mean_of_missing:.4g} on the mean"
    if recorded.timeout is not None:
        taken = f"{recorded.timeout:g}, the timeout"
    yield (
        "What makes workers slow is told by the rows that were logged alone. Where times are priced, missing rows are "
        f"late, with a time of {taken}; absent=skip leaves their iterations out."
    )


def meaning(found: Diagnosis) -> str:
    """What the finding that is certain means for coding."""
    certain = [name for name in found.mechanisms if name not in found.unsure]
    if not certain:
        return "Nothing here asks for a code; `gcexp advise` weighs the remedies."
    return WORDS[certain[-1]][1]


def variance_in_words(found: Diagnosis) -> str:
    """How much of the variance lies between workers, between iterations and within both, and whether it lasts."""
    shares = joined([f"{percent(share)} by {by}" for by, share in found.variance.shares.items()])
    alike = ""
    if np.isfinite(found.stability):
        alike = f"; rank correlation of the workers' means in the two halves {found.stability:.2f}"
    return f"Variance of the logarithms: {shares}{alike}."


def what_would_settle(found: Diagnosis) -> Iterator[str]:
    """Each doubt, and what would settle it."""
    for name, why in found.unsure.items():
        if name in _TOLD_APART:
            continue
        what = WORDS[name][0]
        if name == "few_rows":
            what += f" ({joined(found.recorded.named(found.mechanisms[name].workers), _MOST_NAMED)})"
        yield f"Not sure, {what}: {why}."


def changed(recorded: Recorded, change: Change) -> str:
    """A change of level, in words."""
    worker = recorded.named([change.worker])[0]
    since = recorded.iteration(change.row)
    factor = change.factor.value
    if factor >= 1:
        return f"worker {worker} has been {factor:.3g} times slower since iteration {since}"
    return f"worker {worker} was {1 / factor:.3g} times slower until iteration {since}"


def spell_in_words(recorded: Recorded, spell: Spell) -> str:
    """A spell, in words."""
    worker = recorded.named([spell.worker])[0]
    first = recorded.iteration(spell.first)
    last = recorded.iteration(spell.end - 1)
    many, size = ("slower", spell.factor) if spell.factor >= 1 else ("faster", 1 / spell.factor)
    return f"worker {worker} was {size:.3g} times {many} in iterations {first} to {last}"


def _what_it_is(found: Diagnosis) -> str:
    """The mechanisms that are certain, a sentence for each, or why there are none."""
    certain = [name for name in found.mechanisms if name not in found.unsure]
    T = len(found.recorded.x)
    if certain:
        first, *others = [_told(found, name) for name in certain]
        return " ".join([f"{first}.", *[f"{one[0].upper()}{one[1:]}." for one in others]])
    if T < LEAST_ROWS:
        return (
            f"{counted(T, 'iteration')} are too few to tell what makes workers slow; {LEAST_ROWS} are needed."
        )
    if found.unsure:
        return "nothing that makes workers slow is certain yet."
    what = "no mechanism stands out of the noise."
    if found.variance.shares["rest"] > _MOSTLY and found.recorded.chunks is None:
        what += " Noise of the machine and of the data cannot be told apart without times of chunks."
    return what


def _told(found: Diagnosis, name: str) -> str:
    """A mechanism with its first number, without a capital at the beginning and without a full stop."""
    if name == "level_change":
        lasting = [change for change in found.levels.changes if change not in found.levels.recent]
        return _changes_in_words(found.recorded, lasting)
    mechanism = found.mechanisms[name]
    if name == "gone":
        return joined([_gone_in_words(found, worker) for worker in mechanism.workers], _MOST_NAMED)
    words, _ = WORDS[name]
    value = next(iter(mechanism.numbers.values()), None)
    if name == "bad_node":
        workers = joined(found.recorded.named(mechanism.workers))
        one = len(mechanism.workers) == 1
        words = f"worker {workers} is slow throughout" if one else f"workers {workers} are slow throughout"
        return f"{words} (factor {value})"
    if name == "drift":
        return _drift_in_words(mechanism.numbers["change"])
    if name == "common_shock":
        return f"in some iterations all workers are slow together ({_typical(value)})"
    if name == "heterogeneous":
        return f"workers differ lastingly in speed ({_typical(value)}){_slowest(found)}"
    if name == "slow_state":
        who, others = _whose_slow_times(found)
        if who:
            return f"worker {who} becomes slow for a while, by a factor of {value}, and recovers"
        return f"workers become slow for a while, by a factor of {value}, and recover{others}"
    if name == "independent_slow":
        who, others = _whose_slow_times(found)
        if who:
            return f"worker {who} is slow in single iterations, by a factor of {value}"
        return f"single workers are slow in single iterations, by a factor of {value}{others}"
    return words if value is None else f"{words} ({next(iter(mechanism.numbers))} {value})"


def _gone_in_words(found: Diagnosis, worker: int) -> str:
    """Since when a worker has no row."""
    since = found.recorded.iteration(found.levels.gone[worker])
    return f"worker {found.recorded.named([worker])[0]} has no row since iteration {since}"


def _whose_slow_times(found: Diagnosis) -> tuple[str, str]:
    """Whose the slow times are that come and go: a worker that has nearly all of them, or else one that has most."""
    if found.states is None:
        return "", ""
    slow = found.states.slow & ~np.isnan(found.recorded.logged)
    shares = slow.sum(0) / slow.sum()
    worker = int(shares.argmax())
    name = found.recorded.named([worker])[0]
    if shares[worker] >= _NEARLY_ALL:
        return name, ""
    if shares[worker] < _MOST:
        return "", ""
    return "", f"; {percent(shares[worker])} of the slow times are those of worker {name}"


def _slowest(found: Diagnosis) -> str:
    """Who is the slowest worker in most iterations, where one is."""
    worker, share = found.slowest
    if share < _MOST:
        return ""
    of_which = "of the iterations"
    if found.levels.now:
        of_which = f"of those since iteration {found.recorded.iteration(found.levels.now)}"
    return f"; worker {found.recorded.named([worker])[0]} is the slowest in {percent(share)} {of_which}"


def _typical(deviation: Number | None) -> str:
    """A standard deviation of logarithms as the factor that it stands for."""
    if deviation is None:
        return "by an unknown factor"
    limits = [None if one is None else float(np.exp(one)) for one in (deviation.low, deviation.high)]
    factor = Number(float(np.exp(deviation.value)), *limits)
    return f"typically by a factor of {factor}"


def _drift_in_words(change: Number) -> str:
    """By how much all times grow or fall over the run."""
    word, sign = "grow", 1
    if change.value < 0:
        word, sign = "fall", -1
    size = percent(sign * change.value, 1)
    if change.low is None or change.high is None:
        return f"all times {word} over the run, by {size}"
    low, high = sorted([sign * change.low, sign * change.high])
    return f"all times {word} over the run, by {size} ({100 * low:.1f} to {percent(high, 1)})"


def _not_certain(found: Diagnosis) -> Iterator[str]:
    """Changes that are too recent, and single spells."""
    recorded, levels = found.recorded, found.levels
    if levels.recent:
        told = _changes_in_words(recorded, list(levels.recent))
        yield f"Fewer than {LEAST_NOW} iterations followed, too few to say that it lasts: {told}."
    spells = [spell_in_words(recorded, spell) for spell in levels.single_spells]
    if spells:
        event = "One spell" if len(spells) == 1 else "Single spells"
        yield f"{event}, which may never come again: {joined(spells)}."


def _changes_in_words(recorded: Recorded, changes: list[Change]) -> str:
    """Changes of level, all of one worker together, the worker with the latest change first."""
    by_worker: dict[int, list[Change]] = {}
    for change in sorted(changes, key=lambda change: change.row, reverse=True):
        by_worker.setdefault(change.worker, []).insert(0, change)
    told = []
    for worker, of_worker in by_worker.items():
        if len(of_worker) == 1:
            told.append(changed(recorded, of_worker[0]))
            continue
        steps = [_step_in_words(recorded, change) for change in of_worker]
        told.append(f"worker {recorded.named([worker])[0]} became {', then '.join(steps)}")
    more = len(told) - _MOST_NAMED
    if more > 0:
        verb = "has" if more == 1 else "have"
        told = [*told[:_MOST_NAMED], f"{counted(more, 'other worker')} {verb} changed before"]
    return "; ".join(told)


def _step_in_words(recorded: Recorded, change: Change) -> str:
    """One of several changes of a worker."""
    factor = change.factor.value
    row = recorded.iteration(change.row)
    if factor >= 1:
        return f"{factor:.3g} times slower in iteration {row}"
    return f"{1 / factor:.3g} times faster in iteration {row}"
