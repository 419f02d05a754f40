"""For which values of an assumed parameter does a verdict hold? One line to be shown beside the verdict."""

from __future__ import annotations

from collections.abc import Mapping

from gcexp.analysis.claims import REPRODUCED, UNDECIDED, Verdict
from gcexp.words import joined


def range_said(name: str, unit: str, verdicts: Mapping[float, Verdict]) -> str:
    """The values of a parameter for which a verdict holds, for which it is undecided, and for which it does not hold.

    Parameters
    ----------
    name, unit : str
        What was varied, in the plural, and in which unit.
    verdicts : mapping of float to Verdict
        The verdict for each value that was tried, one at least.

    Examples
    --------
    >>> holds, open, fails = (Verdict(one) for one in ("reproduced", "undecided", "not reproduced"))
    >>> range_said("delay scales", "ms", {0.1: open, 0.3: holds, 1: holds, 3: holds, 10: fails})
    'It holds for delay scales from 0.3 to 3 ms; it is undecided at 0.1 ms and does not hold at 10 ms.'
    >>> range_said("delay scales", "ms", {1: holds, 3: holds})
    'It holds for all delay scales that were tried, from 1 to 3 ms.'
    >>> range_said("delay scales", "ms", {1: fails, 3: open})
    'It holds for none of the delay scales that were tried, from 1 to 3 ms; it is undecided at 3 ms.'
    """
    tried = sorted(verdicts)
    holding = [value for value in tried if verdicts[value].outcome == REPRODUCED]
    undecided = [value for value in tried if verdicts[value].outcome == UNDECIDED]
    failing = [value for value in tried if value not in holding and value not in undecided]
    span = f"from {tried[0]:g} to {_with_unit(tried[-1:], unit)}"
    if len(holding) == len(tried):
        return f"It holds for all {name} that were tried, {span}."
    others = []
    if undecided:
        others.append(f"is undecided at {_with_unit(undecided, unit)}")
    if holding and failing:
        others.append(f"does not hold at {_with_unit(failing, unit)}")
    rest = f"; it {' and '.join(others)}" if others else ""
    if not holding:
        return f"It holds for none of the {name} that were tried, {span}{rest}."
    between = tried[tried.index(holding[0]) : tried.index(holding[-1]) + 1]
    if len(holding) > 1 and between == holding:
        where = f"from {holding[0]:g} to {_with_unit(holding[-1:], unit)}"
    else:
        where = _with_unit(holding, unit)
    return f"It holds for {name} {where}{rest}."


def _with_unit(values: list[float], unit: str) -> str:
    """Values as a reader writes them: 1, 3 and 10 ms."""
    return f"{joined(f'{value:g}' for value in values)} {unit}".strip()
