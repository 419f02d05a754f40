"""The page of `gcexp fit`: its facts, and its tables; the sentences are in ``templates/fit.j2``."""

from __future__ import annotations

from gcexp_adviser.diagnosis.diagnosis import Fitted
from gcexp_adviser.diagnosis.diagnosis_in_words import diagnosis_facts, missing_facts
from gcexp_adviser.page import Page, paragraphs

_OFF, _CHANGED = 0.05, 0.15  # what a model may miss of its own trace, and of the other half


def page(found: Fitted) -> Page:
    """What makes the workers slow, what is not sure of it, and how well the model replays the trace."""
    recorded = found.recorded
    slowest_of_half = found.held.get("slowest", 1.0)
    told = paragraphs(
        "diagnosis/templates/fit.j2",
        told=diagnosis_facts(found),
        phi_name=recorded.named_phi,
        phi=found.phi,
        phi_unknown=recorded.phi_unknown,
        notes=recorded.notes,
        missing=missing_facts(recorded),
        changed=recorded.named(found.changed),
        replay=found.replay,
        model_is_off=any(abs(ratio - 1) > _OFF for ratio in found.replay.values()),
        half_differs=abs(slowest_of_half - 1) > _CHANGED,
        slowest_of_half=slowest_of_half,
    )
    shown = found.table.dropna(axis=1, how="all")
    tables = {} if shown.empty else {"Mechanisms": shown}
    return Page.of(told, tables)
