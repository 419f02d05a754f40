"""What the sentences on a table of goodputs are about, as facts; the sentences are in ``templates``."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isinf, isnan
from typing import TYPE_CHECKING

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
class RecordedFacts:
    """Recorded faults: their name, and over how many days they are."""

    name: str
    days: float


@dataclass(frozen=True)
class ConditionsFacts:
    """What all numbers of a table rest on: recorded faults or a law of lifetimes, and what things cost, in seconds."""

    recorded: RecordedFacts | None
    mtbf: float | None
    domain: int
    shape: float
    restart: float
    save: float
    redo: float
    period: float | None
    rejoin_law: str
    spares: int | None
    repair: float


@dataclass(frozen=True)
class RejoinFacts:
    """When dead workers are replaced: as recorded, never, or after so many seconds."""

    as_recorded: bool
    never: bool
    after: float


@dataclass(frozen=True)
class GoodputFacts:
    """A goodput with its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class BestFacts:
    """The best exact scheme, and checkpoints alone where they are another one."""

    scheme: str
    goodput: GoodputFacts
    alone: GoodputFacts | None
    name_alone: str = ALONE


@dataclass(frozen=True)
class PaysFacts:
    """Below which job MTBF in seconds a code pays against checkpoints alone, of those between `least` and `most`."""

    scheme: str
    never: bool
    always: bool
    below: float
    respread: str
    least: float = LEAST
    most: float = MOST
    name_alone: str = ALONE


@dataclass(frozen=True)
class CaseFacts:
    """What was found for a value of rejoin."""

    rejoin: RejoinFacts
    best: BestFacts
    break_even: PaysFacts | None


def conditions_in_words(conditions: Conditions) -> str:
    """What all numbers of a table rest on."""
    return phrase(_MACROS, "conditions", _conditions(conditions))


def rejoin_in_words(rejoin: float) -> str:
    """When dead workers are replaced."""
    return phrase(_MACROS, "rejoining", _rejoin(rejoin))


def conclusion(frame: pd.DataFrame) -> str:
    """The best exact scheme and the break-even, for each value of rejoin, in one sentence."""
    cases = []
    for rejoin, rows in frame.groupby("rejoin", sort=False, dropna=False):
        best = _best(rows, frame.attrs["exact"])
        cases.append(CaseFacts(_rejoin(rejoin), best, _break_even_of(frame.attrs["break_evens"], rejoin)))
    return phrase(_MACROS, "conclusion", _conditions(frame.attrs["conditions"]), cases)


def notes(frame: pd.DataFrame, decodable: list[str], phi_is_given: bool) -> list[str]:
    """What a reader of the table should know; `decodable` are schemes for which no waiting rule was named."""
    conditions = frame.attrs["conditions"]
    given = _conditions(conditions)
    mtbf, period, shape = given.mtbf, given.period, given.shape
    hopeless: list[str] = []
    first_failure = mtbf
    if mtbf is not None and period is not None and period > _HOPELESS * mtbf:
        hopeless = frame.loc[(frame["endured"] == 1) & (frame["goodput"] == 0), "scheme"].unique().tolist()
    if mtbf is not None:
        first_failure = mtbf * conditions.failures.domains ** (1 - 1 / shape)
    return paragraphs(
        "goodput/templates/notes.j2",
        decodable=decodable,
        hopeless=hopeless,
        period=period,
        never_fatal=frame.loc[frame["endured"] == inf, "scheme"].unique().tolist(),
        shape=shape,
        first_failure=first_failure,
        mtbf=mtbf,
        phi_is_given=phi_is_given,
    )


def _conditions(conditions: Conditions) -> ConditionsFacts:
    """The facts of the conditions of a table."""
    failures = conditions.failures
    costs = {
        "restart": conditions.restart,
        "save": conditions.save,
        "redo": conditions.redo,
        "period": conditions.period,
    }
    if isinstance(failures, Faults):
        return ConditionsFacts(
            recorded=RecordedFacts(failures.name, failures.end / 86400),
            mtbf=None,
            domain=1,
            shape=1.0,
            rejoin_law="constant",
            spares=None,
            repair=0.0,
            **costs,
        )
    return ConditionsFacts(
        recorded=None,
        mtbf=conditions.mtbf,
        domain=failures.domain,
        shape=failures.shape,
        rejoin_law=failures.rejoin_law if isfinite(failures.rejoin) else "constant",
        spares=failures.spares,
        repair=failures.repair or 0.0,
        **costs,
    )


def _rejoin(rejoin: float) -> RejoinFacts:
    return RejoinFacts(isnan(rejoin), isinf(rejoin), rejoin)


def _best(rows: pd.DataFrame, exact: tuple[str, ...]) -> BestFacts:
    """The best exact scheme of some rows, and checkpoints alone."""
    of_exact = rows[rows["scheme"].isin(exact)]
    as_good = of_exact["goodput"] >= (1 - _TIE) * of_exact["goodput"].max()
    best = of_exact[as_good].iloc[0]
    alone = of_exact[of_exact["scheme"] == ALONE]
    beside = None
    if best["scheme"] != ALONE and len(alone):
        beside = _goodput(alone.iloc[0])
    return BestFacts(best["scheme"], _goodput(best), beside)


def _goodput(row: pd.Series) -> GoodputFacts:
    return GoodputFacts(row["goodput"], row["goodput_se"])


def _break_even_of(found: dict[float, BreakEven | None], rejoin: float) -> PaysFacts | None:
    """The break-even of a value of rejoin; NaN is no key that can be looked up."""
    for key, one in found.items():
        if key == rejoin and one is not None:
            return PaysFacts(one.scheme, one.below == 0, isinf(one.below), one.below, one.respread)
    return None
