"""Maps of a benchmark: what every remedy takes on every trace, the darker the slower, and where redundancy pays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Behind a code's ratio: it wins, loses, or cannot win, which is proven for all codes of its loads and messages.
SIGNS = {"wins": " ✓", "loses": "", "cannot win": " ✗"}
#: Red, green and blue of the lightest and the darkest cell, and the ratios that have them.
_LIGHT = np.array([0.97, 0.98, 0.87])
_DARK = np.array([0.03, 0.28, 0.48])
_ENDS = (0.25, 8.0)
_HALF = 0.55  # of the way to the darkest cell, from which on letters are white
FONT = style.LEAST
_COLUMNS = ("trace", "phi", "late", "chunks")


@dataclass(frozen=True)
class _Words:
    """What is written in a map: names of its rows, and a text for each row of the table, in columns of some inches."""

    names: list[str]
    texts: list[str]
    inches: float


def map_of(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios of `gcexp.benchmark`: a row for each scheme, a column for each trace, phi and value of `late` that varies.

    The larger a ratio, the darker is its cell. A sign behind it says whether an exact code wins; hindsight is hatched.
    The share of the gradient that a scheme uses stands behind its ratio, or where columns are too narrow its range
    behind the scheme's name.
    """
    rows.require_columns(frame, "scheme", "group", "ratio", "colour", "hindsight", *_COLUMNS)
    schemes = list(dict.fromkeys(frame["scheme"]))
    varied = []
    for name in _COLUMNS:
        if frame[name].astype(str).nunique() > 1:
            varied.append(name)
    varied = varied or ["trace"]
    cases = list(dict.fromkeys(frame[varied].astype(object).itertuples(index=False, name=None)))
    words = _words(axes, frame, schemes, len(cases))
    for row, text in zip(frame.itertuples(), words.texts, strict=True):
        case = tuple(getattr(row, name) for name in varied)
        x = cases.index(case) if len(cases) > 1 else 0
        y = schemes.index(row.scheme)
        draw_cell(axes, x, y, row.ratio, text, hatched=row.hindsight and row.group != "bounds")
    _separate_groups(axes, frame, schemes)
    axes.set_xlim(0, len(cases))
    axes.set_ylim(len(schemes), 0)
    columns = [_name_of_column(varied, case) for case in cases]
    name_columns(axes, np.arange(len(cases)) + 0.5, columns, words.inches)
    axes.set_yticks(np.arange(len(schemes)) + 0.5, words.names, fontsize=FONT)
    axes.tick_params(length=0)
    axes.grid(visible=False)


def _separate_groups(axes: Axes, frame: pd.DataFrame, schemes: list[str]) -> None:
    """A line between schemes of different groups."""
    group_of = frame.drop_duplicates("scheme").set_index("scheme")["group"]
    for y, (above, below) in enumerate(itertools.pairwise(schemes), 1):
        if group_of[above] != group_of[below]:
            axes.axhline(y, color="black", linewidth=0.6)


def draw_cell(axes: Axes, x: int, y: int, ratio: float, text: str, *, hatched: bool = False) -> None:
    """A cell with a text, the darker the larger the ratio."""
    from matplotlib.patches import Rectangle

    low, high = np.log(_ENDS)
    share = float(np.clip((np.log(ratio) - low) / (high - low), 0, 1))
    face = tuple(_LIGHT + share * (_DARK - _LIGHT))
    # An artist, since a patch would make the axes compute their limits again, which the caller sets.
    axes.add_artist(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.6))
    if hatched:
        lines = {"fill": False, "edgecolor": "#b4b4b4", "linewidth": 0, "hatch": "////"}
        axes.add_artist(Rectangle((x, y), 1, 1, **lines))
    colour = "white" if share > _HALF else "black"
    cell = axes.text(x + 0.5, y + 0.52, text, ha="center", va="center", fontsize=FONT, color=colour)
    cell.set_in_layout(False)  # within the axes, which are laid out: none of hundreds is measured


def _words(axes: Axes, frame: pd.DataFrame, schemes: list[str], columns: int) -> _Words:
    """Names of the schemes, and ratios with what is said of codes, and the share of the gradient that schemes use."""
    inches = column_width(axes, _inches_of_names(schemes), columns)
    texts = _signed_ratios(frame, inches)
    used = _used_shares(frame)
    if used is None:
        return _Words(schemes, texts, inches)
    with_shares = []
    for text, share in zip(texts, used, strict=True):
        if not math.isnan(share):
            text = f"{text} {share:.0%}"
        with_shares.append(text)
    if all(texts) and _widest(with_shares) < 0.9 * inches:
        return _Words(schemes, with_shares, inches)
    names = []
    for scheme in schemes:
        shares = used[frame["scheme"] == scheme].dropna()
        name = scheme
        if len(shares):
            name = f"{scheme}, uses {_range_in_words(shares)}"
        names.append(name)
    inches = column_width(axes, _inches_of_names(names), columns)
    return _Words(names, _signed_ratios(frame, inches), inches)


def _used_shares(frame: pd.DataFrame) -> pd.Series | None:
    """The share of the gradient that each row's scheme uses, NaN for an exact one; None where none is known."""
    if "used_share" not in frame:
        return None
    shares = frame["used_share"].where(frame["exact"] == False)  # noqa: E712
    if shares.isna().all():
        return None
    return shares


def _range_in_words(shares: pd.Series) -> str:
    """From the smallest to the largest share, in per cent, as in 80% to 90%."""
    least = f"{shares.min():.0%}"
    most = f"{shares.max():.0%}"
    if least == most:
        return least
    return f"{least} to {most}"


def _inches_of_names(names: list[str]) -> float:
    """What names take at the left of the axes."""
    return 0.15 + _widest(names)


def _widest(texts: Iterable[str]) -> float:
    """Inches of the widest text."""
    return max(style.inches_of(text, FONT) for text in set(texts))


def _signed_ratios(frame: pd.DataFrame, inches: float) -> list[str]:
    """Ratios as texts of that width, with what is said of codes behind them."""
    widest_sign = _widest(SIGNS.values())
    ratios = write_ratios(frame["ratio"].tolist(), inches - widest_sign)
    signs = [SIGNS.get(colour, "") for colour in frame["colour"]]
    if any(ratios):
        return [ratio + sign for ratio, sign in zip(ratios, signs, strict=True)]
    if widest_sign < 0.9 * inches:  # a sign alone
        return [sign.strip() for sign in signs]
    return [""] * len(signs)


def column_width(axes: Axes, left: float, columns: int) -> float:
    """Inches of a column of axes that have so many beside what stands at their left."""
    panels = axes.get_subplotspec().get_gridspec().ncols
    return (axes.figure.get_figwidth() / panels - left) / columns


def name_columns(axes: Axes, places: np.ndarray, names: list[str], room: float) -> None:
    """Names under columns of that many inches, upright where they would run into each other."""
    axes.set_xticks(places, names, fontsize=FONT)
    if _widest(names) > 0.9 * room:
        axes.tick_params(axis="x", rotation=90)


def write_ratios(ratios: list[float], inches: float) -> list[str]:
    """Ratios as texts of that width, all in the same way.

    >>> [write_ratios([0.947, 1.004, 12.6], inches) for inches in (0.3, 0.2, 0.1)]
    [['0.95', '1.00', '13'], ['.95', '1.0', '13'], ['', '', '']]
    """
    for write in (_three_digits, _two_digits):
        texts = [write(ratio) for ratio in ratios]
        if _widest(texts) < 0.9 * inches:
            return texts
    return [""] * len(ratios)


def _three_digits(ratio: float) -> str:
    if ratio < 9.995:
        return f"{ratio:.2f}"
    return f"{ratio:.0f}"


def _two_digits(ratio: float) -> str:
    longer = _three_digits(ratio)
    if longer.startswith("0"):
        return longer.removeprefix("0")
    if ratio < 9.95:
        return f"{ratio:.1f}"
    return f"{ratio:.0f}"


def _name_of_column(varied: list[str], case: tuple) -> str:
    """A column's name: values of what varies."""
    words = []
    for name, value in zip(varied, case, strict=True):
        if value is None or value != value:  # NaN is no value
            continue
        if name == "phi":
            words.append(f"φ = {value:g}")
        elif isinstance(value, float):
            words.append(f"{value:g}")
        else:
            words.append(str(value))
    return " ".join(words).replace("bytedance-", "").replace("-dp", "")
