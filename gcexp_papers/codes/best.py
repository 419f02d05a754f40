"""The table of best codes as a figure, and how the least worst error and the least mean error trade off."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.codes.best import encoding_of, least_error_of, records
from gcexp.decoding_error.subset_errors import Rows
from gcexp.figures import rows
from gcexp.theory.errors import frc_error, least_mean_error

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_KINDS = ("plain", "any", "uneven")


# --- The table -----------------------------------------------------------------------------------------------------


@columns("n", "d", "s", "mean_load_bound", "bound", *_KINDS, "optimal", "repetition", "mean", "mean_bound")
def records_and_bounds(most_workers: int, least_workers: int, loads: list[int]) -> Iterator[tuple]:
    """Records of all cells of some sizes beside the bounds, as decimals.

    ``optimal`` names the kinds whose record attains the bound. ``repetition`` is fractional repetition, where d divides
    n. ``mean`` is the plain record's mean error.
    """
    for n, d in product(range(least_workers, most_workers + 1), loads):
        if d > n // 2:
            continue
        for s in range(d, n - 1):
            of_kind = {kind: records()[n, d, s, kind] for kind in _KINDS}
            optimal = [kind for kind in _KINDS if of_kind[kind].is_optimal]
            repetition = None
            if n % d == 0:
                repetition = float(frc_error(n, d, s))
            worst = [float(of_kind[kind].worst) for kind in _KINDS]
            mean = float(of_kind["plain"].mean)
            bounds = [float(least_error_of(n, d, s, kind)) for kind in ("uneven", "plain")]
            yield (
                n,
                d,
                s,
                *bounds,
                *worst,
                ", ".join(optimal),
                repetition,
                mean,
                float(least_mean_error(n, d, s)),
            )


# --- Worst against mean ----------------------------------------------------------------------------------------------


@columns("panel", "what", "construction", "s", "worst", "mean")
def front(n: int, d: int, stragglers: list[int]) -> Iterator[tuple]:
    """Worst and mean error of the circulant codes, fractional repetition and the records of one size, and the bounds.

    n must be at most 20, since the errors of all 2^n sets are computed.
    """
    heard = np.bitwise_count(np.arange(2**n))
    for s in stragglers:
        panel = f"s = {s}"
        for what, construction in _codes(n, d, s):
            errors = Rows(encoding_of(construction, n).astype(float)).table[heard == n - s]
            yield panel, what, construction, s, float(errors.max()), float(errors.mean())
        yield panel, "bound", "", s, float(least_error_of(n, d, s, "plain")), float(least_mean_error(n, d, s))


def _codes(n: int, d: int, s: int) -> Iterator[tuple[str, str]]:
    """What a code is, and its construction."""
    for others in combinations(range(1, n), d - 1):
        yield "circulant", "circulant " + " ".join(map(str, (0, *others)))
    if n % d == 0:
        block = f"{d}x({','.join(map(str, range(d)))})"
        yield "repetition", "union " + " ".join([block] * (n // d))
    for kind in _KINDS:
        yield kind, records()[n, d, s, kind].construction


_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "circulant": (
        "circulant codes",
        {"marker": "o", "markersize": 3.5, "markerfacecolor": "0.75", "markeredgecolor": "0.45"},
    ),
    "repetition": ("fractional repetition", {"marker": "s", "markersize": 6, "color": "#0072B2"}),
    "plain": ("record, plain", {"marker": "*", "markersize": 9, "color": "#D55E00"}),
    "any": (
        "record, any coefficients",
        {"marker": "D", "markersize": 5, "markerfacecolor": "none", "markeredgecolor": "black"},
    ),
    "uneven": (
        "record, uneven loads",
        {"marker": "^", "markersize": 6, "markerfacecolor": "none", "markeredgecolor": "#009E73"},
    ),
}


def draw_front(axes: Axes, frame: pd.DataFrame) -> None:
    """One panel of `front`: mean error over worst error, and the two bounds as lines."""
    rows.require_columns(frame, "what", "worst", "mean")
    bound = frame[frame["what"] == "bound"].iloc[0]
    line: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": (0, (4, 2)), "marker": "none"}
    axes.axvline(bound["worst"], label="no code is below", **line)
    axes.axhline(bound["mean"], **line)
    least = frame.loc[frame["what"] == "plain", "worst"].min()
    for what, (label, look) in _LOOKS.items():
        of_kind = frame[frame["what"] == what]
        if what in ("any", "uneven"):  # shown where they are better than the plain record
            of_kind = of_kind[of_kind["worst"] < least - 1e-9]
        places = of_kind[["worst", "mean"]].round(9).drop_duplicates()
        if not places.empty:
            axes.plot(*places.to_numpy(float).T, linestyle="none", label=label, **look)
