"""What the sentences on a table of goodputs are about, as facts; the sentences are in ``templates``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from gcexp.failures import Faults
from gcexp_adviser.goodput.break_even import LEAST, MOST, BreakEven
from gcexp_adviser.goodput.rows import ALONE
from gcexp_adviser.page import paragraphs, phrase

if TYPE_CHECKING:
    import pandas as pd

    from gcexp_adviser.goodput.conditions import Conditions

_MACROS = "goodput/templates/goodput.j2"
_TIE = 1e-6  # of two schemes whose goodputs differ by less the first one is named
_HOPELESS = 30  # times the mtbf, from which on no period comes to an end


@dataclass(frozen=True)
class GoodputFacts:
    """A goodput with its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class CaseFacts:
    """What was found for a value of rejoin: the best exact scheme, checkpoints alone beside it, and the break-even."""

    rejoin: float  # seconds; infinite where dead workers are never replaced, NaN where that is as recorded
    best: str
    goodput: GoodputFacts
    alone: GoodputFacts | None  # where they are another scheme than the best one
    break_even: BreakEven | None


def conditions_in_words(conditions: Conditions) -> str:
    """What all numbers of a table rest on."""
    return phrase(_MACROS, "conditions", conditions)


def rejoin_in_words(rejoin: float) -> str:
    """When dead workers are replaced."""
    return phrase(_MACROS, "replaced", rejoin)


def conclusion(frame: pd.DataFrame) -> str:
    """The best exact scheme and the break-even, for each value of rejoin, in one sentence."""
    cases = [
        _case(rejoin, rows, frame.attrs) for rejoin, rows in frame.groupby("rejoin", sort=False, dropna=False)
    ]
    return phrase(_MACROS, "conclusion", frame.attrs["conditions"], cases, ALONE, (LEAST, MOST))


def notes(frame: pd.DataFrame, decodable: list[str], phi_is_given: bool) -> list[str]:
    """What a reader of the table should know; `decodable` are schemes for which no waiting rule was named."""
    conditions = frame.attrs["conditions"]
    mtbf, period = conditions.mtbf, conditions.period
    hopeless: list[str] = []
    if mtbf is not None and period is not None and period > _HOPELESS * mtbf:
        hopeless = frame.loc[(frame["endured"] == 1) & (frame["goodput"] == 0), "scheme"].unique().tolist()
    return paragraphs(
        "goodput/templates/notes.j2",
        conditions=conditions,
        decodable=decodable,
        hopeless=hopeless,
        never_fatal=frame.loc[frame["endured"] == inf, "scheme"].unique().tolist(),
        first_failure=_first_failure(conditions),
        phi_is_given=phi_is_given,
    )


def _first_failure(conditions: Conditions) -> float | None:
    """When the first of fresh workers fails, on the mean; None where that is not known, or the same as the mtbf."""
    failures = conditions.failures
    if isinstance(failures, Faults) or conditions.mtbf is None or failures.shape == 1:
        return None
    return conditions.mtbf * failures.domains ** (1 - 1 / failures.shape)


def _case(rejoin: float, rows: pd.DataFrame, known: Mapping[str, Any]) -> CaseFacts:
    """The best exact scheme of the rows of a value of rejoin, of those that are as good the first one."""
    of_exact = rows[rows["scheme"].isin(known["exact"])]
    as_good = of_exact["goodput"] >= (1 - _TIE) * of_exact["goodput"].max()
    best = of_exact[as_good].iloc[0]
    alone = of_exact[of_exact["scheme"] == ALONE]
    another = best["scheme"] != ALONE and len(alone) > 0
    return CaseFacts(
        rejoin=rejoin,
        best=best["scheme"],
        goodput=_goodput(best),
        alone=_goodput(alone.iloc[0]) if another else None,
        break_even=_break_even_of(known["break_evens"], rejoin),
    )


def _goodput(row: pd.Series) -> GoodputFacts:
    return GoodputFacts(row["goodput"], row["goodput_se"])


def _break_even_of(found: dict[float, BreakEven | None], rejoin: float) -> BreakEven | None:
    """The break-even of a value of rejoin; NaN is no key that can be looked up."""
    for key, one in found.items():
        if key == rejoin:
            return one
    return None
