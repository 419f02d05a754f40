"""The paired ratios that claims of a figure judge, as numbers of its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gcexp.report import predicates
from gcexp.schema import fill

if TYPE_CHECKING:
    import pandas as pd

PAIRED = ("paired_ratio", "ordering")


def paired(claims: Iterable[Mapping]) -> list[dict]:
    """The claims about paired ratios: predicate and its keys."""
    return [{name: claim[name]} for claim in claims for name in PAIRED if name in claim]


def ratios(claims: Iterable[Mapping], frame: pd.DataFrame) -> pd.DataFrame:
    """Every paired ratio that claims judge and the table can answer, each once, with the bounds of its first claim.

    Parameters
    ----------
    claims : list of dict
        Of a figure.
    frame : DataFrame
        Its table.

    Returns
    -------
    DataFrame
        ``pair, of, low, median, high, above, below``: numerator and denominator, what is divided, the median over the
        shared seeds with its interval, and what is claimed; see `gcexp.report.predicates.PairedRatio`.
    """
    import pandas as pd

    rows = []
    for claim in paired(claims):
        ((name, keys),) = claim.items()
        spec = fill(predicates.known()[name], keys, name)
        for pair, bounds, low, median, high in predicates.measured_ratios(spec, frame):
            ends = {sign: limit for sign, limit in bounds.bounds}
            above = max(ends.get(">", -math.inf), ends.get(">=", -math.inf))
            below = min(ends.get("<", math.inf), ends.get("<=", math.inf))
            row = {"pair": pair, "of": _of(spec), "low": low, "median": median, "high": high}
            rows.append(row | {"above": above, "below": below})
    columns = ["pair", "of", "low", "median", "high", "above", "below"]
    return pd.DataFrame(rows, columns=columns).drop_duplicates(["pair", "of"], ignore_index=True)


def _of(spec: predicates.PairedRatio | predicates.Ordering) -> str:
    words = spec.y.replace("_", " ")
    if spec.of == "value":
        return words
    return f"{'iterations' if spec.clock == 'iteration' else 'times'} to {words} {spec.level:g}"
