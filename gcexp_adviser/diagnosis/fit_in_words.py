"""What `gcexp fit` found, in words: what makes the workers slow, how sure that is, and what it means for coding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gcexp.figures.rows import list_in_words
from gcexp_adviser.diagnosis.diagnosis import Diagnosis, Fitted
from gcexp_adviser.diagnosis.diagnosis_in_words import WORDS, causes, meaning, missing_rows, what_would_settle
from gcexp_adviser.page import Page, counted, percent

_OFF, _CHANGED = 0.05, 0.15  # what a model may miss of its own trace, and of the other half


def sentences(found: Fitted) -> list[str]:
    """What it is, how sure that is, and what it means for coding."""
    told = [*causes(found), meaning(found)]
    if found.depends_on_missing:
        told.insert(0, found.depends_on_missing)
    return told


def depends_on_missing(found: Diagnosis, otherwise: dict[str, Diagnosis]) -> str:
    """That what is found depends on what missing rows are taken for, where it does."""
    missing = found.recorded.missing
    if missing is None or all(other.found == found.found for other in otherwise.values()):
        return ""
    told = [f"{_in_short(found)} where they are taken as late"]
    told += [f"{_in_short(other)} where {how}" for how, other in otherwise.items()]
    rows = counted(missing.pairs, "row")
    verb = "is" if missing.pairs == 1 else "are"
    return f"{rows} {verb} missing, and what is found depends on that: {'; '.join(told)}."


def _in_short(found: Diagnosis) -> str:
    """The mechanisms that are certain, in the words of the report."""
    names = [WORDS[name][0] for name in found.mechanisms if name not in found.unsure]
    return list_in_words(names) if names else "nothing that is certain"


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
    shares = list_in_words([f"{percent(share)} by {by}" for by, share in found.variance.shares.items()])
    alike = ""
    if np.isfinite(found.stability):
        alike = f"; rank correlation of the workers' means in the two halves {found.stability:.2f}"
    yield f"Variance of the logarithms: {shares}{alike}."
    if found.changed:
        workers = list_in_words(recorded.named(found.changed))
        yield f"The mean of worker {workers} differs between the two halves."
    ratios = list_in_words([f"{name} worker {ratio:.2f}" for name, ratio in found.replay.items()])
    off = any(abs(ratio - 1) > _OFF for ratio in found.replay.values())
    misses = " The model does not replay this trace; use delay=trace." if off else ""
    yield f"The model over the trace, mean times: {ratios}.{misses}"
    later = found.held.get("slowest", 1.0)
    if abs(later - 1) > _CHANGED:
        yield (
            f"The trace changed: a model of its first half gives {later:.2f} of the slowest "
            "worker's time in its second half."
        )
