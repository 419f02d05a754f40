"""What `gcexp fit` found, in words: what makes the workers slow, how sure that is, and what it means for coding."""

from __future__ import annotations

from collections.abc import Iterator

from gcexp.words import joined
from gcexp_adviser.diagnosis.diagnosis import Fitted
from gcexp_adviser.diagnosis.diagnosis_in_words import (
    missing_rows,
    sentences,
    variance_in_words,
    what_would_settle,
)
from gcexp_adviser.page import Page

_OFF, _CHANGED = 0.05, 0.15  # what a model may miss of its own trace, and of the other half


def page(found: Fitted) -> Page:
    """All of it in words and tables."""
    shown = found.table.dropna(axis=1, how="all")
    tables = {} if shown.empty else {"Mechanisms": shown}
    title = f"What makes the workers of {found.recorded.trace.name} slow"
    return Page(title, sentences(found), tables, list(_notes(found)))


def _notes(found: Fitted) -> Iterator[str]:
    """What is not sure, phi, what was left out, and how well the model replays the trace."""
    recorded = found.recorded
    yield from what_would_settle(found)
    known = f": {found.phi}" if found.phi else f", is not known: {recorded.phi_unknown}"
    yield f"{recorded.named_phi}, the share of the time that does not grow with the load{known}."
    yield from recorded.notes
    yield from missing_rows(recorded)
    yield variance_in_words(found)
    if found.changed:
        workers = joined(recorded.named(found.changed))
        yield f"The mean of worker {workers} differs between the two halves."
    ratios = joined([f"{name} worker {ratio:.2f}" for name, ratio in found.replay.items()])
    off = any(abs(ratio - 1) > _OFF for ratio in found.replay.values())
    misses = " The model does not replay this trace; use delay=trace." if off else ""
    yield f"The model over the trace, mean times: {ratios}.{misses}"
    later = found.held.get("slowest", 1.0)
    if abs(later - 1) > _CHANGED:
        yield (
            f"The trace changed: a model of its first half gives {later:.2f} of the slowest "
            "worker's time in its second half."
        )
