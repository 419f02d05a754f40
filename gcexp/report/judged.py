"""The paired ratios that claims of a figure judge, as numbers of its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures.plots import CLOCK, LinesPlot
from gcexp.figures.rows import time_to
from gcexp.report import predicates
from gcexp.schema import fill

if TYPE_CHECKING:
    import pandas as pd

PAIRED = ("paired_ratio", "ordering")


def paired(claims: Iterable[Mapping]) -> list[dict]:
    """The claims about paired ratios: predicate and its keys."""
    return [{name: claim[name]} for claim in claims for name in PAIRED if name in claim]


def strip(claims: Iterable[Mapping], plot: Mapping, frame: pd.DataFrame) -> pd.DataFrame | None:
    """What stands under curves: what their claims compare, else when each line reaches the levels that are drawn.

    Under panels the latter would have a row for each line of each, and stands under the figures of one.
    """
    if paired(claims := list(claims)):
        return ratios(claims, frame)
    levels, y = plot.get("level", []), plot.get("y", LinesPlot.y)
    curves = plot.get("kind") == "lines" and {CLOCK, "iteration", "seed", "label", y} <= {*frame}
    if not curves or plot.get("x", CLOCK) != CLOCK or plot.get("panel") or not levels:
        return None
    found = passages(frame, y, levels if isinstance(levels, list) else [levels])
    return found if np.isfinite(found["median"]).any() else None


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
        ``pair, of, low, median, high, above, below``: numerator and denominator, what they are, the median over the
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
        return f"ratio of {words}"
    return f"ratio of {'iterations' if spec.clock == 'iteration' else 'times'} to {words} {spec.level:g}"


def passages(frame: pd.DataFrame, y: str, levels: Iterable[float]) -> pd.DataFrame:
    """When each label first reaches some levels, medians over the seeds, in the columns of `ratios`; claims none."""
    import pandas as pd

    rows = []
    for level in levels:
        for label, part in frame.groupby("label", sort=False):
            middle = np.median([time_to(run, y, level) for _, run in part.groupby("seed", sort=False)])
            ends = dict.fromkeys(("low", "median", "high"), float(middle))
            of = f"time to {y.replace('_', ' ')} {level:g} (s)"
            rows.append({"pair": label, "of": of} | ends | {"above": -math.inf, "below": math.inf})
    return pd.DataFrame(rows)
