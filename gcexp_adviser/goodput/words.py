"""A table of goodputs in words: under which conditions, the best exact scheme, and from where on redundancy pays."""

from __future__ import annotations

from math import inf, isfinite, isinf, isnan
from typing import TYPE_CHECKING

from gcexp.failures import Faults
from gcexp_adviser.goodput.break_even import LEAST, MOST, BreakEven
from gcexp_adviser.goodput.rows import ALONE

if TYPE_CHECKING:
    import pandas as pd

    from gcexp_adviser.goodput.conditions import Conditions

PHI_NOT_GIVEN = (
    "phi was not given: all of a worker's time is taken to grow with its load, as with phi=0; the larger phi is, the "
    "less redundancy costs"
)
_TIE = 1e-6  # of two schemes whose goodputs differ by less the first one is named
_HOPELESS = 30  # times the mtbf, from which on no period comes to an end


def seconds(value: float) -> str:
    """Seconds in a sentence.

    >>> seconds(3600.0), seconds(1007.3), seconds(1e6), seconds(0.25)
    ('3600 s', '1007 s', '1e+06 s', '0.25 s')
    """
    if 1000 <= value < 1e5:
        return f"{value:.0f} s"
    return f"{value:.4g} s"


def conditions_in_words(conditions: Conditions) -> str:
    """What all numbers of a table rest on."""
    failures = conditions.failures
    if isinstance(failures, Faults):
        words = [f"faults of {failures.name} over {failures.end / 86400:.4g} days"]
    else:
        assert conditions.mtbf is not None
        words = [f"mtbf {seconds(conditions.mtbf)}"]
        if failures.domain > 1:
            words.append(f"domains of {failures.domain} workers that fail together")
        if failures.shape != 1:
            words.append(f"lifetimes of Weibull's shape {failures.shape:g}")
    words += [f"restart {seconds(conditions.restart)}", f"save {seconds(conditions.save)}"]
    if conditions.redo:
        words.append(f"redo {seconds(conditions.redo)}")
    if conditions.period is not None:
        words.append(f"period {seconds(conditions.period)}")
    if not isinstance(failures, Faults):
        if isfinite(failures.rejoin) and failures.rejoin_law != "constant":
            words.append(f"rejoin law {failures.rejoin_law}")
        if failures.spares is not None:
            words.append(f"{failures.spares} spares, repair {seconds(failures.repair or 0.0)}")
    return ", ".join(words)


def rejoin_in_words(rejoin: float) -> str:
    """When dead workers are replaced."""
    if isnan(rejoin):
        return "as recorded"
    if isinf(rejoin):
        return "never replaced"
    return "replaced at once" if rejoin == 0 else f"replaced after {seconds(rejoin)}"


def conclusion(frame: pd.DataFrame) -> str:
    """The best exact scheme and the break-even, for each value of rejoin, in one sentence."""
    parts = []
    for rejoin, rows in frame.groupby("rejoin", sort=False, dropna=False):
        part = f"dead workers {rejoin_in_words(rejoin)}: {_best(rows, frame.attrs['exact'])}"
        found = _break_even_of(frame.attrs["break_evens"], rejoin)
        if found is not None:
            part += f"; {_break_even(found)}"
        parts.append(part)
    return f"With {conditions_in_words(frame.attrs['conditions'])}, {'; with '.join(parts)}."


def _break_even_of(found: dict[float, BreakEven | None], rejoin: float) -> BreakEven | None:
    """The break-even of a value of rejoin; NaN is no key that can be looked up."""
    for key, one in found.items():
        if key == rejoin:
            return one
    return None


def _best(rows: pd.DataFrame, exact: tuple[str, ...]) -> str:
    """The best exact scheme with its goodput, and checkpoints alone beside it."""
    of_exact = rows[rows["scheme"].isin(exact)]
    as_good = of_exact["goodput"] >= (1 - _TIE) * of_exact["goodput"].max()
    best = of_exact[as_good].iloc[0]
    if best["goodput"] == 0:
        return "no exact scheme ever finishes a save"
    said = f"the best exact scheme is {best['scheme']} with goodput {_share(best)}"
    alone = of_exact[of_exact["scheme"] == ALONE]
    if best["scheme"] != ALONE and len(alone):
        said += f" ({ALONE} {_share(alone.iloc[0])})"
    return said


def _share(row: pd.Series) -> str:
    """A goodput with its standard error."""
    return f"{row['goodput']:.3f} ± {row['goodput_se']:.3f}"


def _break_even(found: BreakEven) -> str:
    """From where on a code pays, and what was looked at."""
    looked = f"{seconds(LEAST)} to {seconds(MOST)} were looked at"
    if found.below == 0:
        said = f"{found.scheme} pays at no job MTBF against {ALONE} ({looked})"
    elif found.below == inf:
        said = f"{found.scheme} pays at every job MTBF against {ALONE} ({looked})"
    else:
        said = f"{found.scheme} pays below a job MTBF of {seconds(found.below)} against {ALONE} ({looked})"
    if found.respread == "better":
        said += "; respread is better everywhere"
    elif found.respread == "some":
        said += "; respread is better at some of these"
    return said


def notes(frame: pd.DataFrame, decodable: list[str]) -> list[str]:
    """What a reader of the table should know; `decodable` are schemes for which no waiting rule was named."""
    conditions = frame.attrs["conditions"]
    found = []
    if decodable:
        found.append(
            f"no waiting rule was named for {'; '.join(decodable)}: it waits until it can decode (wait=decodable)"
        )
    mtbf = conditions.mtbf
    period = conditions.period
    if mtbf is not None and period is not None and period > _HOPELESS * mtbf:
        hopeless = frame.loc[(frame["endured"] == 1) & (frame["goodput"] == 0), "scheme"].unique()
        if len(hopeless):
            found.append(
                f"{', '.join(hopeless)}: goodput 0, since nobody's failure is endured and no period of "
                f"{seconds(period)} ends before the next one"
            )
    unendured = frame.loc[frame["endured"] == inf, "scheme"].unique()
    if len(unendured):
        names = "; ".join(unendured)
        found.append(f"no failure was fatal in the runs of {names}: they save as seldom as was tried")
    if mtbf is not None and conditions.failures.shape != 1:
        failures = conditions.failures
        first = mtbf * failures.domains ** (1 - 1 / failures.shape)
        found.append(
            f"with shape {failures.shape:g} the first failure of fresh workers comes after {seconds(first)} on the "
            f"mean, not after the mtbf of {seconds(mtbf)}"
        )
    return found
