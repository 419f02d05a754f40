"""What `gcexp advise` concluded, in words: the verdict, what to set, what it rests on, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gcexp.advice.conclusion import Conclusion
from gcexp.advice.page import Page, counted, percent
from gcexp.advice.remedies import KINDS, Plan
from gcexp.advice.verdict import CODE, DEPENDS, LEAST_ROWS, NOTHING, UNKNOWN, Answer
from gcexp.figures.rows import listed

if TYPE_CHECKING:
    from gcexp.advice.trained import Trained

_CHANGED = 0.15  # of the mean iteration, from one half of a trace to the other
_LONGEST_UNIT = 3  # letters; a longer one is a description


def sentence(found: Conclusion) -> str:
    """The verdict in one or two sentences."""
    main, pick = found.main, found.main.pick
    if found.verdict == DEPENDS:
        name = found.recorded.named_phi
        cases = "; ".join(f"phi {one.phi:g}: {_short(one)}" for one in found.answers)
        return f"It depends on {name}, the share of the time that does not grow with the load: {cases}."
    if found.verdict == UNKNOWN:
        return (
            f"There is not enough data for advice: {main.reason}. The best so far is this, at "
            f"{percent(pick.ratio, 1)} of waiting for all ({_interval(main)}): {described(found, main.plan)}."
        )
    if found.verdict == NOTHING:
        best, that = pick, "the best remedy"
        if pick.remedy.kind == "wait":
            best, that = main.runner_up, "the best other remedy"
        return (
            f"Do nothing: keep waiting for all workers of {found.recorded.trace.name}; {that}, "
            f"{KINDS[best.remedy.kind]}, takes {percent(best.ratio, 1)} of that, and a gain below "
            f"{percent(found.comparison.least)} is not worth it."
        )
    what = described(found, main.plan)
    if found.verdict == CODE:
        what = f"Use redundancy: {what}"
    else:
        what = what[0].upper() + what[1:]
    ratio = percent(pick.ratio)
    return f"{what}. Expected time per iteration: {ratio} of waiting for all ({_interval(main)})."


def described(found: Conclusion, plan: Plan) -> str:
    """What a plan is, with the names of its workers."""
    remedy, size, s = plan.remedy, plan.remedy.size, plan.remedy.s
    names = found.recorded.named(plan.workers)
    if remedy.kind == "wait":
        return "wait for all workers"
    if remedy.kind == "exclude":
        excluded = found.recorded.named(np.flatnonzero(plan.shares == 0))
        noun = "worker" if len(excluded) == 1 else "workers"
        return f"exclude {noun} {listed(excluded)}, and share their data among the others"
    if remedy.order == "recent":
        return "rebalance before every iteration, by the mean times of the last 20"
    if remedy.kind == "rebalance":
        shares = ", ".join(f"{share:.2f}" for share in plan.shares)
        return f"rebalance: give the workers {shares} of an even share"
    if remedy.kind == "chunks":
        return (
            f"chunks: each worker computes its own share and then those of the next {size - 1} on the ring "
            f"{' '.join(names)}, with a message for each; the first copy of a share counts"
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


def page(found: Conclusion, trained: Trained | None = None) -> Page:
    """Sentences, settings, what the verdict rests on, and what would change it."""
    sentences = [sentence(found), *_limits(found), _setting(found)]
    tables = {"Settings, chosen on the first half and judged on the second": _settings_in_words(found)}
    if len(found.answers) > 1:
        tables[f"The verdict by {found.recorded.named_phi}"] = _verdicts(found)
    if trained:
        sentences.insert(0, trained.sentence)
        heading = f"Time to {trained.level:g} on {trained.task}"
        tables = {heading: trained.runs.drop(columns="reached")} | tables
    title = f"Advice for {found.recorded.trace.name}"
    return Page(title, sentences, tables, [*_what_would_change_it(found), *rests_on(found)])


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


def _settings_in_words(found: Conclusion) -> pd.DataFrame:
    """The settings as they are read, with units."""
    unit = found.recorded.trace.flags.unit or ""
    if len(unit) > _LONGEST_UNIT:
        unit = ""
    rows = []
    for one in found.table.itertuples():
        row = {"setting": one.setting, "value": f"{one.value:g}"}
        if one.setting == "timeout":
            row["setting"] = f"timeout, drops at most {percent(one.limit, 1)}"
            row["value"] = f"{one.value:.6g} {unit}".rstrip()
        elif one.setting == "spare":
            row["setting"] = f"spare workers, phi {one.phi:g}"
        for name in ("time", "used", "least_used_worker", "worst_iteration"):
            row[name] = percent(getattr(one, name), 1)
        row["remark"] = one.remark
        rows.append(row)
    return pd.DataFrame(rows)


def _limits(found: Conclusion) -> Iterator[str]:
    """What is proven to be out of reach, and the runner-up."""
    main, compared = found.main, found.comparison
    if not main.advised or found.verdict == DEPENDS:
        return
    limited, least = f"No exact scheme whose workers store at most {compared.d_max:g} shares", main.bound
    if main.capacity is not None:
        load = main.pick.remedy.load(compared.n)
        limited, least = f"No exact code of one message with load {load:g}", main.capacity
    runner = main.runner_up
    slower = (main.pick.times < runner.times).mean()
    yield (
        f"{limited} can be faster than {percent(least, 1)}; the runner-up, {KINDS[runner.remedy.kind]}, "
        f"reaches {percent(runner.ratio, 1)} and is slower in {percent(slower)} of the iterations."
    )


def _setting(found: Conclusion) -> str:
    """The timeout or quorum that saves most among those that may be recommended."""
    table = found.table
    recommended = table[(table["setting"] != "spare") & (table["remark"] == "")]
    saving = recommended[recommended["time"] < 1 - found.comparison.least]
    if saving.empty:
        return "No timeout and no quorum saves time without dropping more than it should."
    best = saving.loc[saving["time"].idxmin()]
    unit = found.recorded.trace.flags.unit or "(the trace's unit)"
    if best["setting"] == "quorum":
        unit = "workers"
    return (
        f"If gradients may be dropped: a {best['setting']} of {best['value']:.4g} {unit} takes "
        f"{percent(best['time'])} of waiting for all, uses {percent(best['used'], 1)} of the gradient and "
        f"{percent(best['least_used_worker'], 1)} of the data of the worker that is heard least."
    )


def _what_would_change_it(found: Conclusion) -> Iterator[str]:
    """What would change the verdict, and whether phi is known."""
    for one in found.depends:
        side, at = "Below" if one["below"] else "Above", one["at"]
        changes = {
            "phi": f"{side} {found.recorded.named_phi} = {at:.3g}",
            "per_message": f"{side} {at:.2g} of a mean iteration per message",
            "d_max": f"With memory for {counted(round(at), 'share')} per worker",
        }
        yield f"{changes[one['what']]} the best remedy would be {KINDS[one['then']]}."
    if not found.depends and found.verdict != UNKNOWN:
        yield "No phi, no message cost up to 5 % of an iteration and no smaller memory changes the kind of remedy."
    yield _whether_phi_is_known(found)


def _whether_phi_is_known(found: Conclusion) -> str:
    """Whether phi was measured, and if not, what would measure it."""
    recorded = found.recorded
    name, several = recorded.named_phi, recorded.loads.several
    if found.measured:
        value = f": {recorded.phi}" if several else ""
        return f"{name} was measured in this trace{value}."
    if several and recorded.phi is not None:
        return f"{name} is given; from the loads of this trace it would be {recorded.phi}."
    if several:
        return f"{name} is assumed, not measured: {recorded.phi_unknown}."
    return (
        "phi is assumed, not measured: run 20 iterations with half the data as well, and give them with a column "
        "load, to measure it."
    )


def rests_on(found: Conclusion) -> Iterator[str]:
    """What the answer takes for granted, and which doubts the trace itself raises."""
    compared, x = found.comparison, found.recorded.x
    yield (
        f"This rests on {counted(len(x), 'iteration')} of {x.shape[1]} workers; each remedy was learned on one "
        f"half and priced on the other. A message costs {compared.per_message:g} of a mean iteration, overhead is "
        f"{compared.overhead:g}, and a worker can store {compared.d_max:g} shares."
    )
    yield from found.recorded.notes
    yield from _changes_of_the_cluster(x)
    yield from _broken_promises(found)
    if len(x) // 2 >= LEAST_ROWS and found.verdict != DEPENDS:
        early = replace(compared, x=x[: len(x) // 2]).answer(found.main.phi)
        if (early.verdict, early.remedy) != (found.main.verdict, found.main.remedy):
            yield f"From the first half alone the verdict would be: {_short(early)}."
    if not compared.data_bound:
        yield (
            "A slow time is taken to belong to the worker; where it belongs to the data (slowness=data), a copy is "
            "as slow, and redundancy is flattered."
        )
    if compared.late != "stop":
        yield (
            f"Workers that were not waited for go on with their work (late={compared.late}), which delays what "
            "they do next; codes in chunks were not compared."
        )
    yield "Not modelled: contention of the network, and time of the master beyond overhead and messages."


def _changes_of_the_cluster(x: np.ndarray) -> Iterator[str]:
    """Whether waiting for all takes longer or shorter in the second half of the times (T, n)."""
    half = len(x) // 2
    change = x[half:].max(1).mean() / x[:half].max(1).mean() - 1
    if abs(change) > _CHANGED:
        word = "longer" if change > 0 else "shorter"
        yield (
            f"The cluster changed: waiting for all takes {percent(abs(change))} {word} in the second half of "
            "the trace than in the first, so that nothing that was learned early may be trusted for long."
        )


def _broken_promises(found: Conclusion) -> Iterator[str]:
    """Timeouts that drop more than they promised, and quorums that never use some worker."""
    broken = found.table[~found.table["kept_on_second_half"]]
    if len(broken):
        excess = 1 - broken["used"] - broken["limit"]
        worst = broken.loc[excess.idxmax()]
        yield (
            f"A timeout that drops {percent(worst['limit'], 1)} of the first half drops "
            f"{percent(1 - worst['used'], 1)} of the second: the promise is not kept."
        )
    for one in found.table[found.table["setting"] == "quorum"].itertuples():
        if one.never_used:
            who = listed(found.recorded.named(one.never_used))
            yield f"Waiting for {one.value:g} workers never uses worker {who}: its data would be lost."


def _interval(answer: Answer) -> str:
    """The 95 % interval of an answer's ratio."""
    low = percent(answer.low).removesuffix(" %")
    return f"{low} to {percent(answer.high)}"


def _short(answer: Answer) -> str:
    """An answer in a few words."""
    if answer.verdict == NOTHING:
        return answer.verdict
    words = KINDS[answer.remedy] if answer.advised else answer.verdict
    return f"{words} ({percent(answer.ratio)})"
