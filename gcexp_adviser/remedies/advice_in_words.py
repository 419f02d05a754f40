"""What `gcexp advise` concluded, in words: the verdict, what to set, what it rests on, and what would change it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.traces.missing import SAMPLED, Dependence, Told, dependence
from gcexp.words import joined
from gcexp_adviser.diagnosis.diagnosis_in_words import (
    causes,
    changed,
    missing_rows,
    spell_in_words,
    what_would_settle,
)
from gcexp_adviser.diagnosis.level_changes import LEAST_NOW, Change
from gcexp_adviser.diagnosis.logged import longest
from gcexp_adviser.page import Page, counted, percent
from gcexp_adviser.remedies.conclusion import Conclusion
from gcexp_adviser.remedies.remedies import KINDS, Plan
from gcexp_adviser.remedies.verdict import CODE, DEPENDS, LEAST_ROWS, NOTHING, UNKNOWN, Answer

if TYPE_CHECKING:
    from gcexp_adviser.remedies.trained import Trained

_CHANGED = 0.15  # of the mean iteration, from one half of a trace to the other
_WORTH = 0.01  # of the time of waiting; less is not told
_LONGEST_UNIT = 3  # letters; a longer one is a description


def sentence(found: Conclusion) -> str:
    """The verdict in one or two sentences, with the phi for which its numbers are."""
    main = found.main
    pick = found.main.pick
    if found.verdict == DEPENDS:
        name = found.recorded.named_phi
        by_answer: dict[str, list[str]] = {}
        for one in found.answers:
            by_answer.setdefault(_short(one), []).append(f"{one.phi:g}")
        cases = "; ".join(f"with phi {joined(phis)}, {answer}" for answer, phis in by_answer.items())
        return (
            f"Measure {name} first, the share of the time that does not grow with the load, for what to set depends on "
            f"it: {cases}. {_for_which_phi(found)}"
        )
    if found.verdict == UNKNOWN:
        return (
            f"Keep waiting for all workers and record more, for there is not enough data for advice: {main.reason}. "
            f"The best so far {_with_phi(main)} is this, at {percent(pick.ratio, 1)} of waiting for all "
            f"({_interval(main)}): {described(found, main.plan)}."
        )
    if found.verdict == NOTHING:
        best, that = pick, "the best remedy"
        if pick.remedy.kind == "wait":
            best, that = main.runner_up, "the best other remedy"
        return (
            f"Do nothing: keep waiting for all workers of {found.recorded.trace.name}; {that} {_with_phi(main)}, "
            f"{KINDS[best.remedy.kind]}, takes {percent(best.ratio, 1)} of that, and a gain below "
            f"{percent(found.comparison.terms.least)} is not worth it."
        )
    what = described(found, main.plan)
    if found.verdict == CODE:
        what = f"Use redundancy: {what}"
    else:
        what = what[0].upper() + what[1:]
    return (
        f"{what}. Expected time per iteration {_with_phi(main)}: {percent(pick.ratio)} of waiting for all "
        f"({_interval(main)}){_without(found)}.{_with_other_phi(found)}"
    )


def _with_phi(answer: Answer) -> str:
    """For which phi an answer is."""
    return f"with phi {answer.phi:.3g}"


def _with_other_phi(found: Conclusion) -> str:
    """What the best remedy is with each other phi that was looked at, where phi is not known."""
    told = []
    for one in found.answers:
        if one is found.main:
            continue
        remedy = "it"
        if one.pick.remedy != found.main.pick.remedy:
            remedy = f"the best remedy is {_named(found, one.plan)}, which"
        told.append(f"{_with_phi(one)} {remedy} takes {percent(one.ratio)} of waiting for all")
    if not told:
        return ""
    sentence = "; ".join(told)
    return f" {sentence[0].upper()}{sentence[1:]}. {_for_which_phi(found)}"


def _for_which_phi(found: Conclusion) -> str:
    """For which phi the numbers are that name none."""
    return f"Numbers that name no phi are for {found.main.phi:.3g}."


def _named(found: Conclusion, plan: Plan) -> str:
    """A plan in a few words: its kind, and of workers that are excluded their names."""
    if plan.remedy.kind != "exclude":
        return KINDS[plan.remedy.kind]
    excluded = found.recorded.named(np.flatnonzero(plan.shares == 0))
    noun = "worker" if len(excluded) == 1 else "workers"
    return f"excluding {noun} {joined(excluded)}"


def _without(found: Conclusion) -> str:
    """That the expected time leaves out what was seen only once."""
    return "" if found.if_it_comes_again is None else f", without the {_events(found)} named above"


def _events(found: Conclusion) -> str:
    """What was seen only once: spells, and changes that are too recent."""
    spells = found.levels.single_spells
    recent = [change for change in found.levels.recent if change.factor.value > 1]
    events = []
    if spells:
        events.append("spell" if len(spells) == 1 else "spells")
    if recent:
        events.append("recent change" if len(recent) == 1 else "recent changes")
    return joined(events)


def described(found: Conclusion, plan: Plan) -> str:
    """What a plan is, with the names of its workers."""
    remedy = plan.remedy
    size = plan.remedy.size
    s = plan.remedy.s
    names = found.recorded.named(plan.workers)
    if remedy.kind == "wait":
        return "wait for all workers"
    if remedy.kind == "exclude":
        excluded = found.recorded.named(np.flatnonzero(plan.shares == 0))
        if len(excluded) == 1:
            return f"exclude worker {excluded[0]}, and share its data among the others"
        return f"exclude workers {joined(excluded)}, and share their data among the others"
    if remedy.order == "recent":
        return "rebalance before every iteration, by the mean times of the last 20"
    if remedy.kind == "rebalance":
        shares = ", ".join(f"{share:.2f}" for share in plan.shares)
        return f"rebalance: give the workers {shares} of an even share"
    if remedy.kind == "chunks":
        others = "that of the next one" if size == 2 else f"those of the next {size - 1}"
        ring = f"each worker computes its own share and then {others} on the ring {' '.join(names)}"
        if remedy.pieces == 1:
            return f"{ring}, with a message for each; the first copy of a share counts"
        return (
            f"{ring}, a share in {remedy.pieces} chunks and those of others from their last chunk, with a message for "
            "each chunk; the first copy of a chunk counts"
        )
    groups = [names[first : first + size] for first in range(0, len(names), size)]
    if size == 2:
        pairs = ", ".join("-".join(pair) for pair in groups)
        return f"fractional repetition with pairs {pairs}"
    if len(groups) == 1:
        return f"one group of all workers in which s = {s} need not be waited for (load {s + 1})"
    code = "fractional repetition" if s == size - 1 else "cyclic repetition inside each group"
    members = "; ".join(" ".join(group) for group in groups)
    return f"groups of {size} with s = {s}, {code}: {members}"


def page(
    found: Conclusion,
    trained: Trained | None,
    otherwise: Mapping[str, Conclusion],
) -> Page:
    """What was read, what makes workers slow, what to set, what cannot be said; then tables, and what all rests on."""
    depends = on_missing_rows(found, otherwise)
    first = [depends.sentence] if depends and depends.differs else []
    same = [depends.sentence] if depends and not depends.differs else []
    sections = {
        "What was read": [*_read(found), *same],
        "What makes workers slow": causes(found.diagnosis),
        "What to set": [
            sentence(found),
            *_costs(found),
            *_also(found),
            *_limits(found),
            *_settings_to_type(found),
        ],
        "What cannot be said, and what would tell": [*_unknown(found)],
    }
    sections = {heading: told for heading, told in sections.items() if told}
    tables = {_heading_of_settings(found): _settings_in_words(found)}
    if len(found.answers) > 1:
        tables[f"The verdict by {found.recorded.named_phi}"] = _verdicts(found)
    if trained:
        sections["What to set"].insert(0, trained.sentence)
        heading = f"Time to {trained.level:g} on {trained.task}"
        tables = {heading: trained.runs.drop(columns="reached")} | tables
    title = f"Advice for {found.recorded.trace.name}"
    notes = [*_what_would_change_it(found), *rests_on(found)]
    return Page(title, first, tables, notes, sections)


def on_missing_rows(found: Conclusion, otherwise: Mapping[str, Conclusion]) -> Dependence | None:
    """Whether the verdict depends on what missing rows are taken for; None where it was asked in one way."""
    missing = found.recorded.missing
    if missing is None or not otherwise:
        return None
    others = {how: told(other) for how, other in otherwise.items()}
    return dependence("the verdict", missing, told(found), others)


def told(found: Conclusion) -> Told:
    """The verdict, and the same in a few words; one for each phi, where it depends on that.

    Where missing rows are taken in another way, phi may be measured as another value, or not be measured.
    """
    verdict: Hashable = found.verdict
    if verdict == DEPENDS:
        verdict = tuple((answer.phi, answer.verdict) for answer in found.answers)
    return Told(verdict, _in_short(found))


def _in_short(found: Conclusion) -> str:
    """A verdict in a few words."""
    return _short(found.main) if found.verdict == found.main.verdict else found.verdict


def _read(found: Conclusion) -> Iterator[str]:
    """What was read of which file, what it was taken for, and which rows are missing."""
    recorded = found.recorded
    T, n = recorded.every.shape
    unit = f", times in {recorded.trace.flags.unit}" if recorded.trace.flags.unit else ""
    yield f"{recorded.trace.name}: {counted(T, 'iteration')} of {counted(n, 'worker')}{unit}."
    yield from recorded.notes
    yield from missing_rows(recorded)


def _costs(found: Conclusion) -> Iterator[str]:
    """What the remedy asks of the workers."""
    main = found.main
    n = found.comparison.n
    if not main.advised or found.verdict == DEPENDS:
        return
    remedy = main.pick.remedy
    messages = f"{remedy.messages(n)} messages per iteration"
    if remedy.kind in ("exclude", "rebalance"):
        most = float(main.plan.shares.max())
        yield f"What it costs: the worker with most to do gets {most:.3g} of an even share, and there are {messages}."
    else:
        load = f"{remedy.load(n):g} shares of the data"
        yield f"What it costs: every worker stores and computes {load}, and there are {messages}."


def _also(found: Conclusion) -> Iterator[str]:
    """Second to the answer: since when it holds, what rests on a single event, and what the whole trace would say."""
    recorded, levels = found.recorded, found.levels
    if found.if_it_comes_again is not None and levels.single_spells:
        yield from _if_spells_come_again(found, found.if_it_comes_again)
    for change in levels.recent:
        if change.factor.value > 1:
            yield _if_it_lasts(found, change)
    if levels.now:
        yield (
            f"This is for what holds since iteration {recorded.iteration(levels.now)} "
            f"({counted(len(found.comparison.x), 'iteration')})."
        )
    if found.whole is not None:
        whole = counted(len(recorded.x), "iteration")
        yield (
            f"On all {whole} of the trace, before and after the change, the answer {_with_phi(found.whole)} is: "
            f"{_short(found.whole)}."
        )


def _if_spells_come_again(found: Conclusion, other: Answer) -> Iterator[str]:
    """What would have helped against single spells, and what the remedy takes with them."""
    levels = found.levels
    main = found.main
    compared = found.as_recorded
    rests = joined([f"one spell of {spell.rows} iterations" for spell in levels.single_spells])
    judged = compared.judged(main.pick.remedy, main.phi)
    if main.pick.remedy.kind in ("wait", "exclude"):
        excluded = set(np.flatnonzero(main.plan.shares == 0).tolist())
        more = sorted({spell.worker for spell in levels.single_spells if spell.factor > 1} - excluded)
        without = compared.mean_without(np.array(sorted(excluded), int), compared.x, main.phi)
        excluded_with_more = sorted(excluded.union(more))
        without_more = compared.mean_without(np.array(excluded_with_more, int), compared.x, main.phi)
        saved = (without - without_more) / compared.waiting.mean()
        if saved > _WORTH:
            who = joined(found.recorded.named(more))
            noun = "worker" if len(more) == 1 else "workers"
            too = " as well" if excluded else ""
            yield (
                f"Second: excluding {noun} {who}{too} would have saved {percent(saved, 1)} more of the time of waiting "
                f"for all in these iterations, but rests on {rests}."
            )
    elif other.advised and judged.ratio - other.ratio > _WORTH:
        yield (
            f"Second: {described(found, other.plan)} would have saved {percent(judged.ratio - other.ratio, 1)} more of "
            f"the time of waiting for all in these iterations, but rests on {rests}."
        )
    if main.advised and abs(judged.ratio - main.ratio) > _WORTH:
        yield f"As recorded, with {rests}, the remedy takes {percent(judged.ratio)} of waiting for all."


def _if_it_lasts(found: Conclusion, change: Change) -> str:
    """What excluding a worker would take if it stayed as slow as it became shortly before the end."""
    recorded = found.recorded
    compared = found.comparison
    since = replace(compared, x=recorded.x[change.row :])
    excluded = [change.worker]
    taken = since.mean_without(np.array(excluded), since.x, found.main.phi)
    waiting = since.mean_without(np.array([], int), since.x, found.main.phi)
    rows = counted(len(since.x), "iteration")
    worker = recorded.named(excluded)[0]
    since_when = recorded.iteration(change.row)
    return (
        f"Second: if worker {worker} stays as slow as it has been since iteration {since_when}, excluding it takes "
        f"{percent(taken / waiting)} of waiting for all; that rests on {rows}."
    )


def _unknown(found: Conclusion) -> Iterator[str]:
    """What the trace cannot say, each with the measurement that would."""
    recorded, diagnosis = found.recorded, found.diagnosis
    levels = found.levels
    T = len(recorded.x)
    if not found.measured:
        yield _whether_phi_is_known(found)
    for change in levels.recent:
        more = counted(LEAST_NOW - (T - change.row), "iteration")
        yield f"Whether it lasts that {changed(recorded, change)}: record {more} more."
    for spell in levels.single_spells:
        again = spell_in_words(recorded, spell)
        yield f"Whether it comes again that {again}: a recording several times as long would tell."
    yield from what_would_settle(diagnosis)
    if found.verdict == UNKNOWN:
        yield f"Whether a remedy pays: {found.main.reason}; record at least {2 * len(found.comparison.x)} iterations."
    if recorded.missing is not None and recorded.absent == "late" and recorded.timeout is None:
        yield (
            "How long the workers of missing rows took: log a time at the timeout too, or give it as timeout=VALUE "
            "in the unit of the trace."
        )


def _verdicts(found: Conclusion) -> pd.DataFrame:
    """One row for each phi that was looked at."""
    rows = []
    for one in found.answers:
        row = {
            "phi": f"{one.phi:g}",
            "verdict": one.verdict,
            "best remedy": KINDS[one.remedy],
            "time": f"{percent(one.ratio, 1)} ({_interval(one)})",
            "bound": percent(one.bound, 1),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _heading_of_settings(found: Conclusion) -> str:
    """On which iterations the settings rest."""
    recorded = found.recorded
    first = recorded.iteration(found.since)
    last = recorded.iteration(len(recorded.x) - 1)
    return (
        f"Settings on iterations {first} to {last} as they were recorded, chosen on the first half of these and judged "
        "on the second"
    )


def _settings_in_words(found: Conclusion) -> pd.DataFrame:
    """The settings as they are read, with units."""
    unit = found.recorded.trace.flags.unit or ""
    if len(unit) > _LONGEST_UNIT:
        unit = ""
    columns = {"time": "time"}
    if found.if_it_comes_again is not None:
        columns["time_without_event"] = f"time without the {_events(found)}"
    columns |= {name: name for name in ("used", "least_used_worker", "worst_iteration")}
    rows = []
    for one in found.table.itertuples():
        row = {"setting": one.setting, "value": f"{one.value:g}"}
        if one.setting == "timeout":
            row["setting"] = f"timeout, drops at most {percent(one.limit, 1)}"
            row["value"] = f"{one.value:.6g} {unit}".rstrip()
        elif one.setting == "spare":
            row["setting"] = f"spare workers, phi {one.phi:g}"
        for name, shown in columns.items():
            row[shown] = percent(getattr(one, name), 1)
        row["remark"] = one.remark
        rows.append(row)
    return pd.DataFrame(rows)


def _limits(found: Conclusion) -> Iterator[str]:
    """What is proven to be out of reach, and the runner-up."""
    main = found.main
    compared = found.comparison
    if not main.advised or found.verdict == DEPENDS:
        return
    limited = f"No exact scheme whose workers store at most {compared.terms.d_max:g} shares"
    least = main.bound
    if main.capacity is not None:
        load = main.pick.remedy.load(compared.n)
        limited = f"No exact code of one message with load {load:g}"
        least = main.capacity
    runner = main.runner_up
    slower = (main.pick.times < runner.times).mean()
    yield (
        f"{limited} can take less than {percent(least, 1)} of waiting for all; the second best remedy, "
        f"{KINDS[runner.remedy.kind]}, takes {percent(runner.ratio, 1)} and is slower in {percent(slower)} of the "
        "iterations."
    )


def _settings_to_type(found: Conclusion) -> Iterator[str]:
    """The timeout or quorum that saves most among those that may be recommended, and why spare workers are not."""
    table = found.table
    saving = table[table["time"] < 1 - found.comparison.terms.least]
    recommended = saving[(saving["setting"] != "spare") & (saving["remark"] == "")]
    if recommended.empty:
        yield "No timeout and no quorum saves time without dropping more than it should."
    else:
        yield _timeout_or_quorum(found, recommended.loc[recommended["time"].idxmin()])
    spare = saving[(saving["setting"] == "spare") & (saving["phi"] == found.main.phi)]
    if not spare.empty:
        yield _spare_workers(found, spare.loc[spare["time"].idxmin()])


def _timeout_or_quorum(found: Conclusion, best: pd.Series) -> str:
    """What a timeout or a quorum takes, and what it drops."""
    unit = found.recorded.trace.flags.unit or "(the trace's unit)"
    if best["setting"] == "quorum":
        unit = "workers"
    without = ""
    if found.if_it_comes_again is not None:
        without = f" ({percent(best['time_without_event'])} without the {_events(found)} named above)"
    return (
        f"If gradients may be dropped: a {best['setting']} of {best['value']:.4g} {unit} takes "
        f"{percent(best['time'])} of waiting for all{without}, uses {percent(best['used'], 1)} of the gradient and "
        f"{percent(best['least_used_worker'], 1)} of the data of the worker that is heard least."
    )


def _spare_workers(found: Conclusion, best: pd.Series) -> str:
    """What spare workers take, what they need, and why they are not what is advised."""
    b = int(best["value"])
    quorum = found.table[
        (found.table["setting"] == "quorum") & (found.table["value"] == found.comparison.n - b)
    ]
    least = quorum["least_used_worker"].iloc[0]
    counts = "those of the least used worker would be lost"
    if least > 0:
        counts = f"only {percent(least, 1)} of those of the least used worker would count"
    return (
        f"{counted(b, 'spare worker')} would take {percent(best['time'])} of waiting for all {_with_phi(found.main)}, "
        "if every worker can draw any data. A log of times does not tell whether they can, so spare workers are not "
        f"what is advised: where data stay with their workers, {counts}."
    )


def _what_would_change_it(found: Conclusion) -> Iterator[str]:
    """What would change the verdict, and whether phi is known."""
    for one in found.depends:
        side = "below" if one["below"] else "above"
        at = one["at"]
        only = "only " if one["below"] else ""
        changes = {
            "phi": f"If {found.recorded.named_phi} were {side} {at:.3g}",
            "per_message": f"If the cost of a message were {side} {at:.2g} of a mean iteration",
            "d_max": f"If a worker could store {only}{counted(round(at), 'share')}",
        }
        yield f"{changes[one['what']]}, the best remedy would be {KINDS[one['then']]}."
    if not found.depends and found.verdict != UNKNOWN:
        yield (
            "The kind of remedy would be the same with any phi, with messages that cost up to 5 % of an iteration, and "
            "with less memory."
        )
    if found.measured:
        yield _whether_phi_is_known(found)


def _whether_phi_is_known(found: Conclusion) -> str:
    """Whether phi was measured, and if not, what would measure it."""
    recorded = found.recorded
    name = recorded.named_phi
    several = recorded.loads.several
    if found.measured:
        value = f": {recorded.phi}" if several else ""
        return f"{name} was measured in this trace{value}."
    if several and recorded.phi is not None:
        return f"{name} is given; from the loads of this trace it would be {recorded.phi}."
    if several:
        return f"{name} could not be measured: {recorded.phi_unknown}."
    known = "is given, not measured" if len(found.answers) == 1 else "is not known"
    return (
        f"phi {known}: to measure it, run 20 iterations with half the data as well, and log them with a column load, "
        "which is 1 for the whole share and 0.5 for half of it."
    )


def rests_on(found: Conclusion) -> Iterator[str]:
    """What the answer takes for granted, and which doubts the trace itself raises."""
    compared = found.comparison
    terms = compared.terms
    x = compared.x
    yield (
        f"This rests on {counted(len(x), 'iteration')} of {x.shape[1]} workers; each remedy was learned on one "
        f"half and priced on the other. It is taken that a message costs {terms.per_message:g} of a mean iteration, "
        f"that an iteration has an overhead of {terms.overhead:g}, and that a worker can store {terms.d_max:g} shares."
    )
    yield from _changes_of_the_cluster(x, found.recorded.logged[found.since :])
    yield from _broken_promises(found)
    if len(x) // 2 >= LEAST_ROWS and found.verdict != DEPENDS:
        early = replace(compared, x=x[: len(x) // 2]).answer(found.main.phi)
        if (early.verdict, early.remedy) != (found.main.verdict, found.main.remedy):
            yield f"From the first half alone the verdict would be: {_short(early)}."
    are_sampled = found.recorded.absent == SAMPLED
    if not compared.terms.data_bound and not are_sampled:
        yield (
            "A slow time is taken to belong to the worker. If it belongs to the data, a copy of them is as slow, and "
            "redundancy helps less than is told here: set slowness=data."
        )
    if compared.terms.late != "stop":
        yield (
            f"Workers that were not waited for go on with their work (late={compared.terms.late}), which delays what "
            "they do next; codes in chunks were not compared."
        )
    if are_sampled:
        yield (
            "A slow time is taken to belong to the worker, and a code to be made anew of those who are asked. gcexp "
            "benchmark replays whole iterations, so that it takes none of these times."
        )
    else:
        yield (
            "The map of gcexp benchmark has other numbers for the same times. There a message costs nothing, schemes "
            "learn from the first tenth of the iterations and all others count as they were recorded, rebalancing goes "
            "by the last iteration, and work in chunks has eight chunks of each share; here 1, 2, 4 and 8 are tried."
        )
    yield "Not modelled: contention of the network, and time of the master beyond overhead and messages."


def _changes_of_the_cluster(x: np.ndarray, logged: np.ndarray) -> Iterator[str]:
    """Whether waiting takes longer or shorter in the second half of times (T, n), and of those that were logged."""
    half = len(x) // 2
    change, of_logged = [longest(one[half:]).mean() / longest(one[:half]).mean() - 1 for one in (x, logged)]
    if abs(change) > _CHANGED and of_logged / change > _CHANGED / abs(change):
        word = "longer" if change > 0 else "shorter"
        yield (
            f"The cluster changed: waiting for all takes {percent(abs(change))} {word} in the second half of "
            "the trace than in the first, so do not trust for long what was learned early."
        )


def _broken_promises(found: Conclusion) -> Iterator[str]:
    """Timeouts that drop more than they promised, and quorums that never use some worker."""
    broken = found.table[~found.table["kept_on_second_half"]]
    if len(broken):
        excess = 1 - broken["used"] - broken["limit"]
        worst = broken.loc[excess.idxmax()]
        yield (
            f"A timeout that drops {percent(worst['limit'], 1)} of the first half drops "
            f"{percent(1 - worst['used'], 1)} of the second, more than was asked for."
        )
    for one in found.table[found.table["setting"] == "quorum"].itertuples():
        if one.never_used:
            who = joined(found.recorded.named(one.never_used))
            several = len(one.never_used) > 1
            noun, whose = ("workers", "their") if several else ("worker", "its")
            yield f"Waiting for {one.value:g} workers never uses {noun} {who}: {whose} data would be lost."


def _interval(answer: Answer) -> str:
    """The 95 % interval of an answer's ratio."""
    low = percent(answer.low).removesuffix(" %")
    return f"{low} to {percent(answer.high)}"


def _short(answer: Answer) -> str:
    """An answer in a few words."""
    if not answer.advised:
        return answer.verdict
    return f"{KINDS[answer.remedy]} ({percent(answer.ratio)} of waiting for all)"
