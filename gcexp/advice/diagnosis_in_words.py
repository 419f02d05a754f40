"""What makes workers slow, since when, and what is not sure of it, in words."""

from __future__ import annotations

from collections.abc import Iterator

from gcexp.advice.diagnosis import Diagnosis
from gcexp.advice.level_changes import Change, Spell
from gcexp.advice.mechanisms import LEAST_ROWS
from gcexp.advice.page import counted
from gcexp.advice.recorded import Recorded
from gcexp.figures.rows import listed

_MOST_NAMED = 4  # changes and spells that are named
_MOSTLY = 0.8  # of the variance
#: What a mechanism is called, and what it means for coding.
WORDS = {
    "level_change": (
        "workers whose speed changed for good",
        "A worker that is slow since some iteration is better excluded, or given less work, than coded around.",
    ),
    "recent_change": ("a worker whose speed has changed too recently to say that it lasts", ""),
    "drift": ("times drift over the run", "Drift slows all schemes alike."),
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


def causes(found: Diagnosis) -> list[str]:
    """What makes the workers slow and since when; what rests on too little; and on how many rows all of it rests."""
    name = found.recorded.trace.name
    told = [f"{name}: {_what_it_is(found)}", *_not_certain(found)]
    T, n = found.recorded.x.shape
    independent = counted(max(T // found.block, 1), "independent stretch")
    rests = f"This rests on {counted(T, 'iteration')} of {counted(n, 'worker')}, about {independent} of rows"
    doubts = [WORDS[name][0] for name in found.unsure if name != "recent_change"]
    if doubts:
        rests += f"; not sure: {listed(doubts)}"
    return [*told, f"{rests}."]


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
    yield f"Missing rows are taken as late, with a time of {taken}; absent=skip leaves their iterations out."


def meaning(found: Diagnosis) -> str:
    """What the finding that is certain means for coding."""
    certain = [name for name in found.mechanisms if name not in found.unsure]
    if not certain:
        return "Nothing here asks for a code; `gcexp advise` weighs the remedies."
    return WORDS[certain[-1]][1]


def what_would_settle(found: Diagnosis) -> Iterator[str]:
    """Each doubt, and what would settle it."""
    for name, why in found.unsure.items():
        if name == "recent_change":  # told with its worker and row
            continue
        yield f"Not sure, {WORDS[name][0]}: {why}."


def changed(recorded: Recorded, change: Change) -> str:
    """A change of level, in words."""
    worker, since = recorded.named([change.worker])[0], recorded.iteration(change.row)
    factor = change.factor.value
    if factor >= 1:
        return f"worker {worker} has been {factor:.3g} times slower since iteration {since}"
    return f"worker {worker} was {1 / factor:.3g} times slower until iteration {since}"


def spell_in_words(recorded: Recorded, spell: Spell) -> str:
    """A spell, in words."""
    worker = recorded.named([spell.worker])[0]
    first, last = recorded.iteration(spell.first), recorded.iteration(spell.end - 1)
    many, size = ("slower", spell.factor) if spell.factor >= 1 else ("faster", 1 / spell.factor)
    return f"worker {worker} was {size:.3g} times {many} in iterations {first} to {last}"


def _what_it_is(found: Diagnosis) -> str:
    """The mechanisms that are certain, or why there are none."""
    certain = [name for name in found.mechanisms if name not in found.unsure]
    T = len(found.recorded.x)
    if certain:
        return f"{listed([_told(found, name) for name in certain])}."
    if T < LEAST_ROWS:
        return f"{counted(T, 'iteration')} cannot tell any mechanism; {LEAST_ROWS} are needed."
    if found.unsure:
        return "nothing is certain yet."
    what = "no mechanism stands out of the noise."
    if found.variance.shares["rest"] > _MOSTLY and found.recorded.chunks is None:
        what += " Noise of the machine or of the data: they cannot be told apart without times of chunks."
    return what


def _told(found: Diagnosis, name: str) -> str:
    """A mechanism with its first number."""
    if name == "level_change":
        lasting = [change for change in found.levels.changes if change not in found.levels.recent]
        return _listed_with_rest([changed(found.recorded, change) for change in reversed(lasting)], "change")
    mechanism = found.mechanisms[name]
    words, _ = WORDS[name]
    if name == "bad_node":
        workers = listed(found.recorded.named(mechanism.workers))
        one = len(mechanism.workers) == 1
        words = f"worker {workers} is slow throughout" if one else f"workers {workers} are slow throughout"
    number, value = next(iter(mechanism.numbers.items()))
    return f"{words} ({number} {value})"


def _not_certain(found: Diagnosis) -> Iterator[str]:
    """Changes that are too recent, and single spells."""
    levels, T = found.levels, len(found.recorded.x)
    recent = [
        f"{changed(found.recorded, change)} (iterations since: {T - change.row})" for change in levels.recent
    ]
    if recent:
        yield f"Too recent to say that it lasts: {_listed_with_rest(recent[::-1], 'change')}."
    spells = [spell_in_words(found.recorded, spell) for spell in levels.single_spells]
    if spells:
        yield f"One spell, which may never come again: {listed(spells)}."


def _listed_with_rest(told: list[str], noun: str) -> str:
    """The first few of some things, and how many more there are."""
    more = len(told) - _MOST_NAMED
    if more > 0:
        told = [*told[:_MOST_NAMED], counted(more, f"earlier {noun}")]
    return listed(told)
