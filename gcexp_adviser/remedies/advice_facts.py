"""What the page of `gcexp advise` is about, as facts: numbers, names and truth values, from which templates tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gcexp.traces.missing import SAMPLED, Dependence
from gcexp_adviser.diagnosis.diagnosis_in_words import (
    ChangeFacts,
    DiagnosisFacts,
    MissingFacts,
    change_facts,
    diagnosis_facts,
    missing_facts,
)
from gcexp_adviser.diagnosis.level_changes import Change
from gcexp_adviser.diagnosis.logged import longest
from gcexp_adviser.diagnosis.resampling import Number
from gcexp_adviser.remedies.conclusion import Conclusion
from gcexp_adviser.remedies.remedies import KINDS
from gcexp_adviser.remedies.terms import Terms
from gcexp_adviser.remedies.verdict import DEPENDS, LEAST_ROWS
from gcexp_adviser.remedies.verdict_facts import (
    AnswerFacts,
    PlanFacts,
    VerdictFacts,
    answer_facts,
    plan_facts,
    verdict_facts,
)

_CHANGED = 0.15  # of the mean iteration, from one half of a trace to the other
_WORTH = 0.01  # of the time of waiting; less is not told


@dataclass(frozen=True)
class CostFacts:
    """Messages of an iteration, and the largest share of a worker, or the load of all where it is one."""

    messages: int
    largest_share: float
    load: float | None


@dataclass(frozen=True)
class SpellsFacts:
    """What single spells would ask for.

    Attributes
    ----------
    lengths : tuple of int
        Iterations of each.
    excluded_too : tuple of str
        Workers that one would exclude as well.
    other_plan : PlanFacts, optional
        What one would do in the place of what is advised.
    saved : float
        What either would save, of the time of waiting.
    as_recorded : float, optional
        What the remedy takes with the spells, over waiting for all, where that is another number.
    """

    lengths: tuple[int, ...]
    excluded_too: tuple[str, ...]
    other_plan: PlanFacts | None
    saved: float
    as_recorded: float | None


@dataclass(frozen=True)
class SlowerNowFacts:
    """What excluding a worker takes, over waiting for all, in the few iterations since it became slower."""

    worker: str
    since: int
    ratio: float
    iterations: int


@dataclass(frozen=True)
class LimitFacts:
    """The ratio that nothing can beat: of exact codes with this load, or of all schemes; and the runner-up."""

    least: float
    load: float | None
    runner_up_slower: float  # in this share of the iterations


@dataclass(frozen=True)
class SpareFacts:
    """Spare workers, what they take over waiting for all, and what of the least used worker would count without."""

    count: int
    time: float
    least_used_worker: float


@dataclass(frozen=True)
class PhiFacts:
    """What is known of phi: by which name, whether it was measured or given, and what the loads of the trace say."""

    name: str
    measured: bool
    given: bool
    several_loads: bool
    by_loads: Number | None
    has_compute: bool
    unknown: str


@dataclass(frozen=True)
class NeverUsedFacts:
    """A quorum, and the workers that it never uses."""

    awaited: int
    workers: tuple[str, ...]


@dataclass(frozen=True)
class AdviceFacts:
    """What the page of `gcexp advise` tells, in its order; what is not told is None or empty.

    Attributes
    ----------
    trace, unit : str
        Its name, and the unit of its times.
    iterations, iterations_used, iterations_compared : int
        At the own load; from which something can be learned; of what holds now.
    workers : int
    notes : tuple of str
        Of the reader of the log.
    missing : MissingFacts, optional
    on_missing : Dependence, optional
        Whether the verdict depends on what missing rows are taken for.
    causes : DiagnosisFacts
    verdict : VerdictFacts
    cost : CostFacts, optional
    spells : SpellsFacts, optional
    slower_now : tuple of SlowerNowFacts
    since : int, optional
        First iteration of what holds now, where that is not all of them.
    whole : AnswerFacts, optional
        The answer on the whole trace then.
    limit : LimitFacts, optional
    dropping : row of the table of settings, optional
        The setting that saves most among those that may be recommended.
    spare : SpareFacts, optional
    phi : PhiFacts
    too_recent : tuple of ChangeFacts
    turning_points : list of dict
        Where another kind of remedy is the best one, see `Comparison.changes`.
    kinds : dict
        What kinds of remedies are called.
    terms : Terms
    are_sampled : bool
        Whether other workers are asked in each iteration, which nothing can replay.
    longer_in_second_half : float, optional
        By what share waiting for all takes longer there, where it is much.
    broken_timeout : row of the table of settings, optional
        The timeout that drops most above what it may.
    never_used : tuple of NeverUsedFacts
    first_half : AnswerFacts, optional
        The answer on the first half alone, where that is another one.
    """

    trace: str
    unit: str
    iterations: int
    iterations_used: int
    iterations_compared: int
    workers: int
    notes: tuple[str, ...]
    missing: MissingFacts | None
    on_missing: Dependence | None
    causes: DiagnosisFacts
    verdict: VerdictFacts
    cost: CostFacts | None
    spells: SpellsFacts | None
    slower_now: tuple[SlowerNowFacts, ...]
    since: int | None
    whole: AnswerFacts | None
    limit: LimitFacts | None
    dropping: Any
    spare: SpareFacts | None
    phi: PhiFacts
    too_recent: tuple[ChangeFacts, ...]
    turning_points: list[dict[str, Any]]
    kinds: dict[str, str]
    terms: Terms
    are_sampled: bool
    longer_in_second_half: float | None
    broken_timeout: Any
    never_used: tuple[NeverUsedFacts, ...]
    first_half: AnswerFacts | None


def advice_facts(found: Conclusion, on_missing: Dependence | None) -> AdviceFacts:
    """The facts of a conclusion."""
    recorded, levels, compared = found.recorded, found.recorded.levels, found.comparison
    T, n = recorded.every.shape
    slower = [change for change in levels.recent if change.factor.value > 1]
    return AdviceFacts(
        trace=recorded.trace.name,
        unit=recorded.trace.flags.unit or "",
        iterations=T,
        iterations_used=len(recorded.x),
        iterations_compared=len(compared.x),
        workers=n,
        notes=recorded.notes,
        missing=missing_facts(recorded),
        on_missing=on_missing,
        causes=diagnosis_facts(found.diagnosis),
        verdict=verdict_facts(found),
        cost=_cost(found),
        spells=_spells(found),
        slower_now=tuple(_slower_now(found, change) for change in slower),
        since=recorded.iteration(levels.now) if levels.now else None,
        whole=None if found.whole is None else answer_facts(found, found.whole),
        limit=_limit(found),
        dropping=_dropping(found),
        spare=_spare(found),
        phi=_phi(found),
        too_recent=tuple(change_facts(recorded, change) for change in levels.recent),
        turning_points=found.depends,
        kinds=KINDS,
        terms=compared.terms,
        are_sampled=recorded.absent == SAMPLED,
        longer_in_second_half=_longer_in_second_half(compared.x, recorded.logged[found.since :]),
        broken_timeout=_broken_timeout(found),
        never_used=_never_used(found),
        first_half=_first_half(found),
    )


def _cost(found: Conclusion) -> CostFacts | None:
    """What the remedy asks of the workers; None where none is advised."""
    main = found.main
    n = found.comparison.n
    if not main.advised or found.verdict == DEPENDS:
        return None
    remedy = main.pick.remedy
    return CostFacts(
        messages=remedy.messages(n),
        largest_share=float(main.plan.shares.max()),
        load=None if remedy.kind in ("exclude", "rebalance") else remedy.load(n),
    )


def _spells(found: Conclusion) -> SpellsFacts | None:
    """What single spells would ask for, and what the remedy takes with them; None where there are none."""
    main, other, compared = found.main, found.if_it_comes_again, found.as_recorded
    spells = found.recorded.levels.single_spells
    if other is None or not spells:
        return None
    judged = compared.judged(main.pick.remedy, main.phi)
    excluded_too: tuple[str, ...] = ()
    other_plan = None
    if main.pick.remedy.kind in ("wait", "exclude"):
        slow = {spell.worker for spell in spells if spell.factor > 1}
        excluded = np.flatnonzero(main.plan.shares == 0)
        too = np.array(sorted(slow.difference(excluded.tolist())), int)
        both = np.union1d(excluded, too)
        without = compared.mean_without(excluded, compared.x, main.phi)
        without_both = compared.mean_without(both, compared.x, main.phi)
        saved = float((without - without_both) / compared.waiting.mean())
        if saved > _WORTH:
            excluded_too = tuple(found.recorded.named(too))
    else:
        saved = judged.ratio - other.ratio
        if other.advised and saved > _WORTH:
            other_plan = plan_facts(found, other.plan)
    differs = main.advised and abs(judged.ratio - main.ratio) > _WORTH
    return SpellsFacts(
        lengths=tuple(spell.rows for spell in spells),
        excluded_too=excluded_too,
        other_plan=other_plan,
        saved=saved,
        as_recorded=judged.ratio if differs else None,
    )


def _slower_now(found: Conclusion, change: Change) -> SlowerNowFacts:
    """What excluding a worker would take if it stayed as slow as it became shortly before the end."""
    recorded = found.recorded
    since = replace(found.comparison, x=recorded.x[change.row :])
    taken = since.mean_without(np.array([change.worker]), since.x, found.main.phi)
    waiting = since.mean_without(np.array([], int), since.x, found.main.phi)
    return SlowerNowFacts(
        worker=recorded.named([change.worker])[0],
        since=recorded.iteration(change.row),
        ratio=taken / waiting,
        iterations=len(since.x),
    )


def _limit(found: Conclusion) -> LimitFacts | None:
    """What is proven to be out of reach, and how often the runner-up is slower; None where nothing is advised."""
    main = found.main
    if not main.advised or found.verdict == DEPENDS:
        return None
    of_code = main.capacity is not None
    return LimitFacts(
        least=main.bound if main.capacity is None else main.capacity,
        load=main.pick.remedy.load(found.comparison.n) if of_code else None,
        runner_up_slower=float((main.pick.times < main.runner_up.times).mean()),
    )


def _dropping(found: Conclusion) -> Any:
    """The row of the timeout or quorum that saves most among those that may be recommended; None without one."""
    table = found.table
    saving = table["time"] < 1 - found.comparison.terms.least
    recommended = table[saving & (table["setting"] != "spare") & (table["remark"] == "")]
    return next(recommended.sort_values("time", kind="stable").itertuples(), None)


def _spare(found: Conclusion) -> SpareFacts | None:
    """The spare workers that save most, where some save enough."""
    table = found.table
    saving = table["time"] < 1 - found.comparison.terms.least
    spare = table[saving & (table["setting"] == "spare") & (table["phi"] == found.main.phi)]
    if spare.empty:
        return None
    best = spare.loc[spare["time"].idxmin()]
    count = int(best["value"])
    quorum = table[(table["setting"] == "quorum") & (table["value"] == found.comparison.n - count)]
    return SpareFacts(count, best["time"], quorum["least_used_worker"].iloc[0])


def _phi(found: Conclusion) -> PhiFacts:
    """What is known of phi."""
    recorded = found.recorded
    return PhiFacts(
        name=recorded.named_phi,
        measured=found.measured,
        given=len(found.answers) == 1,
        several_loads=recorded.loads.several,
        by_loads=recorded.phi,
        has_compute="compute" in recorded.trace.values,
        unknown=recorded.phi_unknown,
    )


def _longer_in_second_half(x: np.ndarray, logged: np.ndarray) -> float | None:
    """By what share waiting for all takes longer in the second half of times x (T, n).

    None where that is little, in all times or in those that were logged.
    """
    half = len(x) // 2
    longer, of_logged = [longest(one[half:]).mean() / longest(one[:half]).mean() - 1 for one in (x, logged)]
    is_told = min(longer, of_logged) > _CHANGED or max(longer, of_logged) < -_CHANGED
    return float(longer) if is_told else None


def _broken_timeout(found: Conclusion) -> Any:
    """The row of the timeout that drops most above what it may; None without one."""
    broken = found.table[~found.table["kept_on_second_half"]]
    excess = 1 - broken["used"] - broken["limit"]
    return next(broken.loc[excess.sort_values(ascending=False, kind="stable").index].itertuples(), None)


def _never_used(found: Conclusion) -> tuple[NeverUsedFacts, ...]:
    """Quorums that never use some worker."""
    quorums = found.table[found.table["setting"] == "quorum"]
    told = []
    for quorum in quorums.itertuples():
        if quorum.never_used:
            told.append(NeverUsedFacts(quorum.value, tuple(found.recorded.named(quorum.never_used))))
    return tuple(told)


def _first_half(found: Conclusion) -> AnswerFacts | None:
    """The answer on the first half alone, where there are enough rows and it is another one."""
    main, compared = found.main, found.comparison
    half = len(compared.x) // 2
    if half < LEAST_ROWS or found.verdict == DEPENDS:
        return None
    early = replace(compared, x=compared.x[:half]).answer(main.phi)
    if (early.verdict, early.remedy) == (main.verdict, main.remedy):
        return None
    return answer_facts(found, early)
