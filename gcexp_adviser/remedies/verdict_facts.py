"""What the verdict of `gcexp advise` is about, as facts; its sentences are in ``templates/verdict.j2``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcexp_adviser.page import phrase
from gcexp_adviser.remedies.conclusion import Conclusion
from gcexp_adviser.remedies.remedies import KINDS, Plan, Remedy
from gcexp_adviser.remedies.verdict import Answer


@dataclass(frozen=True)
class PlanFacts:
    """A remedy, the names of the workers by their seats, of those that are excluded, and the share of each."""

    remedy: Remedy
    workers: tuple[str, ...]
    excluded: tuple[str, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class AnswerFacts:
    """The answer at one phi; the attributes are those of `gcexp_adviser.remedies.verdict.Answer`."""

    phi: float
    verdict: str
    advised: bool
    reason: str
    remedy: str  # in words
    plan: PlanFacts
    ratio: float
    low: float
    high: float
    runner_up: str  # in words: the best remedy of another kind
    runner_up_ratio: float


@dataclass(frozen=True)
class OnceFacts:
    """How many spells, and changes to a slower level that are too recent, are left out of what is expected."""

    spells: int
    changes: int


@dataclass(frozen=True)
class VerdictFacts:
    """What is advised."""

    word: str
    trace: str
    phi_name: str  # what phi is called
    main: AnswerFacts  # at the phi that is known, or in the middle of its range
    others: tuple[AnswerFacts, ...]  # at the other values of phi
    alike: tuple[tuple[AnswerFacts, ...], ...]  # all, those together that are the same in a few words
    least_gain: float  # a smaller one is none
    left_out: OnceFacts | None  # what was seen only once


def verdict_facts(found: Conclusion) -> VerdictFacts:
    """The facts of the verdict of a conclusion."""
    main = answer_facts(found, found.main)
    read_alike = f"{main.phi:.3g}"  # the bounds of a narrow interval are the same number to a reader
    others = [answer for answer in found.answers if f"{answer.phi:.3g}" != read_alike]
    return VerdictFacts(
        word=found.verdict,
        trace=found.recorded.trace.name,
        phi_name=found.recorded.named_phi,
        main=main,
        others=tuple(answer_facts(found, answer) for answer in others),
        alike=_alike(found),
        least_gain=found.comparison.terms.least,
        left_out=once_facts(found),
    )


def answer_facts(found: Conclusion, answer: Answer) -> AnswerFacts:
    """The facts of one of the answers of a conclusion, or of another one on its times."""
    return AnswerFacts(
        phi=answer.phi,
        verdict=answer.verdict,
        advised=answer.advised,
        reason=answer.reason,
        remedy=KINDS[answer.remedy],
        plan=plan_facts(found, answer.plan),
        ratio=answer.ratio,
        low=answer.low,
        high=answer.high,
        runner_up=KINDS[answer.runner_up.remedy.kind],
        runner_up_ratio=answer.runner_up.ratio,
    )


def plan_facts(found: Conclusion, plan: Plan) -> PlanFacts:
    """The facts of a plan."""
    excluded = np.flatnonzero(plan.shares == 0)
    return PlanFacts(
        remedy=plan.remedy,
        workers=tuple(found.recorded.named(plan.workers)),
        excluded=tuple(found.recorded.named(excluded)),
        shares=tuple(plan.shares.tolist()),
    )


def once_facts(found: Conclusion) -> OnceFacts | None:
    """What was seen only once; None where nothing was."""
    if found.if_it_comes_again is None:
        return None
    slower = [change for change in found.recorded.levels.recent if change.factor.value > 1]
    return OnceFacts(len(found.recorded.levels.single_spells), len(slower))


def in_short(answer: AnswerFacts) -> str:
    """An answer in a few words."""
    return phrase("remedies/templates/phrases.j2", "in_short", answer)


def _alike(found: Conclusion) -> tuple[tuple[AnswerFacts, ...], ...]:
    """All answers, those together that are the same in a few words."""
    by_words: dict[str, list[AnswerFacts]] = {}
    for answer in found.answers:
        facts = answer_facts(found, answer)
        by_words.setdefault(in_short(facts), []).append(facts)
    return tuple(map(tuple, by_words.values()))
