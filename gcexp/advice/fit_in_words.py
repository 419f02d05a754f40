"""What `gcexp fit` found, in words: what makes the workers slow, how sure that is, and what it means for coding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gcexp.advice.diagnosis import Diagnosis
from gcexp.advice.mechanisms import LEAST_ROWS
from gcexp.advice.page import Page, counted, percent
from gcexp.figures.rows import listed

_OFF, _CHANGED = 0.05, 0.15  # what a model may miss of its own trace, and of the other half
_MOSTLY = 0.8  # of the variance
#: What a mechanism is called, and what it means for coding.
WORDS = {
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


def sentences(found: Diagnosis) -> list[str]:
    """What it is, how sure that is, and what it means for coding."""
    T, n = found.recorded.x.shape
    certain = [name for name in found.mechanisms if name not in found.unsure]
    independent = counted(max(T // found.block, 1), "independent stretch")
    sure = f"This rests on {counted(T, 'iteration')} of {counted(n, 'worker')}, about {independent} of rows"
    if found.unsure:
        sure += f"; not sure: {listed([WORDS[name][0] for name in found.unsure])}"
    meaning = "Nothing here asks for a code; `gcexp advise` weighs the remedies."
    if certain:
        _, meaning = WORDS[certain[-1]]
    return [f"{found.recorded.trace.name}: {_what_it_is(found, certain)}", f"{sure}.", meaning]


def _what_it_is(found: Diagnosis, certain: list[str]) -> str:
    """The mechanisms that are certain, or why there are none."""
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
    mechanism = found.mechanisms[name]
    words, _ = WORDS[name]
    if name == "bad_node":
        workers = listed(found.recorded.named(mechanism.workers))
        one = len(mechanism.workers) == 1
        words = f"worker {workers} is slow throughout" if one else f"workers {workers} are slow throughout"
    number, value = next(iter(mechanism.numbers.items()))
    return f"{words} ({number} {value})"


def page(found: Diagnosis) -> Page:
    """All of it in words and tables."""
    shown = found.table.dropna(axis=1, how="all")
    tables = {} if shown.empty else {"Mechanisms": shown}
    title = f"What makes the workers of {found.recorded.trace.name} slow"
    return Page(title, sentences(found), tables, list(_notes(found)))


def _notes(found: Diagnosis) -> Iterator[str]:
    """What is not sure, phi, what was left out, and how well the model replays the trace."""
    recorded = found.recorded
    for name, why in found.unsure.items():
        yield f"Not sure, {WORDS[name][0]}: {why}."
    known = f": {found.phi}" if found.phi else f", is not known: {recorded.phi_unknown}"
    yield f"{recorded.named_phi}, the share of the time that does not grow with the load{known}."
    yield from recorded.notes
    shares = listed([f"{percent(share)} by {by}" for by, share in found.variance.shares.items()])
    alike = ""
    if np.isfinite(found.stability):
        alike = f"; rank correlation of the workers' means in the two halves {found.stability:.2f}"
    yield f"Variance of the logarithms: {shares}{alike}."
    if found.changed:
        workers = listed(recorded.named(found.changed))
        yield f"The mean of worker {workers} differs between the two halves."
    ratios = listed([f"{name} worker {ratio:.2f}" for name, ratio in found.replay.items()])
    off = any(abs(ratio - 1) > _OFF for ratio in found.replay.values())
    misses = " The model does not replay this trace; use delay=trace." if off else ""
    yield f"The model over the trace, mean times: {ratios}.{misses}"
    later = found.held.get("slowest", 1.0)
    if abs(later - 1) > _CHANGED:
        yield (
            f"The trace changed: a model of its first half gives {later:.2f} of the slowest "
            "worker's time in its second half."
        )
