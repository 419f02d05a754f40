"""What `gcexp advise` concluded, in words: its page and its tables; the sentences are in ``templates/advice.j2``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from gcexp.traces.missing import Dependence, Told, dependence
from gcexp_adviser.page import Page, paragraphs, percent, percent_to, phrase
from gcexp_adviser.remedies.advice_facts import advice_facts
from gcexp_adviser.remedies.conclusion import Conclusion
from gcexp_adviser.remedies.remedies import KINDS, Plan
from gcexp_adviser.remedies.verdict import DEPENDS
from gcexp_adviser.remedies.verdict_facts import answer_facts, in_short, once_facts, plan_facts, verdict_facts

if TYPE_CHECKING:
    from gcexp_adviser.remedies.trained import Trained

_LONGEST_UNIT = 3  # letters; a longer one is a description


def sentence(found: Conclusion) -> str:
    """The verdict in one or two sentences, with the phi for which its numbers are."""
    (told,) = paragraphs("remedies/templates/verdict.j2", verdict=verdict_facts(found))
    return told


def described(found: Conclusion, plan: Plan) -> str:
    """What a plan is, with the names of its workers."""
    return phrase("remedies/templates/phrases.j2", "described", plan_facts(found, plan))


def page(
    found: Conclusion,
    trained: Trained | None,
    otherwise: Mapping[str, Conclusion],
) -> Page:
    """What was read, what makes workers slow, what to set, what cannot be said; then tables, and what all rests on."""
    facts = advice_facts(found, on_missing_rows(found, otherwise))
    first = trained.sentence if trained else ""
    told = paragraphs("remedies/templates/advice.j2", trained=first, **vars(facts))
    tables = {}
    if trained:
        tables[f"Time to {trained.level:g} on {trained.task}"] = trained.runs.drop(columns="reached")
    tables[_heading_of_settings(found)] = _settings_in_words(found)
    if len(found.answers) > 1:
        tables[f"The verdict by {found.recorded.named_phi}"] = _verdicts(found)
    return Page.of(told, tables)


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
    return in_short(answer_facts(found, found.main)) if found.verdict == found.main.verdict else found.verdict


def _verdicts(found: Conclusion) -> pd.DataFrame:
    """One row for each phi that was looked at."""
    rows = []
    for one in found.answers:
        row = {
            "phi": f"{one.phi:g}",
            "verdict": one.verdict,
            "best remedy": KINDS[one.remedy],
            "time": f"{percent(one.ratio, 1)} ({percent_to(one.low, one.high)})",
            "bound": percent(one.bound, 1),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _heading_of_settings(found: Conclusion) -> str:
    """On which iterations the settings rest."""
    recorded = found.recorded
    first = recorded.iteration(found.since)
    last = recorded.iteration(len(recorded.x) - 1)
    return phrase("remedies/templates/phrases.j2", "settings_on", first, last)


def _settings_in_words(found: Conclusion) -> pd.DataFrame:
    """The settings as they are read, with units."""
    unit = found.recorded.trace.flags.unit or ""
    if len(unit) > _LONGEST_UNIT:
        unit = ""
    columns = {"time": "time"}
    left_out = once_facts(found)
    if left_out is not None:
        events = phrase("remedies/templates/phrases.j2", "events", left_out)
        columns["time_without_event"] = f"time without the {events}"
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
