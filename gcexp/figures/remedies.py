"""Maps of a benchmark: what every remedy takes on every trace, the darker the slower, and where redundancy pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures import rows, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Behind a code's ratio: it wins, loses, or cannot win, which is proven for all codes of its loads and messages.
SIGNS = {"wins": " ✓", "loses": "", "cannot win": " ✗"}
#: Red, green and blue of the lightest and the darkest cell, and the ratios that have them.
_LIGHT, _DARK = np.array([0.97, 0.98, 0.87]), np.array([0.03, 0.28, 0.48])
_ENDS = (0.25, 8.0)
_HALF = 0.55  # of the way to the darkest cell, from which on letters are white
FONT = style.LEAST
_COLUMNS = ("trace", "phi", "late", "chunks")


def map_of(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratios of `gcexp.benchmark`: a row for each scheme, a column for each trace, phi and value of `late` that varies.

    The larger a ratio, the darker is its cell. A sign behind it says whether an exact code wins; hindsight is hatched.
    The share of the gradient that a scheme uses stands behind its ratio, or where columns are too narrow its range
    behind the scheme's name.
    """
    rows.known(frame, "scheme", "group", "ratio", "colour", "hindsight", *_COLUMNS)
    schemes = list(dict.fromkeys(frame["scheme"]))
    varied = [name for name in _COLUMNS if frame[name].astype(str).nunique() > 1] or ["trace"]
    cases = list(dict.fromkeys(frame[varied].astype(object).itertuples(index=False, name=None)))
    groups = frame.drop_duplicates("scheme").set_index("scheme")["group"]
    names, room, texts = _texts(axes, frame, schemes, len(cases))
    for row, text in zip(frame.itertuples(), texts, strict=True):
        x = cases.index(tuple(getattr(row, name) for name in varied)) if len(cases) > 1 else 0
        y = schemes.index(row.scheme)
        draw_cell(axes, x, y, row.ratio, text, hatched=row.hindsight and row.group != "bounds")
    for y in range(1, len(schemes)):
        if groups[schemes[y]] != groups[schemes[y - 1]]:
            axes.axhline(y, color="black", linewidth=0.6)
    axes.set_xlim(0, len(cases))
    axes.set_ylim(len(schemes), 0)
    name_columns(axes, np.arange(len(cases)) + 0.5, [_named(varied, case) for case in cases], room)
    axes.set_yticks(np.arange(len(schemes)) + 0.5, names, fontsize=FONT)
    axes.tick_params(length=0)
    axes.grid(visible=False)


def draw_cell(axes: Axes, x: int, y: int, ratio: float, text: str, *, hatched: bool = False) -> None:
    """A cell with a text, the darker the larger the ratio."""
    from matplotlib.patches import Rectangle

    low, high = np.log(_ENDS)
    share = float(np.clip((np.log(ratio) - low) / (high - low), 0, 1))
    face = tuple(_LIGHT + share * (_DARK - _LIGHT))
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.6))
    if hatched:
        lines = {"fill": False, "edgecolor": "#b4b4b4", "linewidth": 0, "hatch": "////"}
        axes.add_patch(Rectangle((x, y), 1, 1, **lines))
    colour = "white" if share > _HALF else "black"
    cell = axes.text(x + 0.5, y + 0.52, text, ha="center", va="center", fontsize=FONT, color=colour)
    cell.set_in_layout(False)  # within the axes, which are laid out: none of hundreds is measured


def _texts(
    axes: Axes, frame: pd.DataFrame, schemes: list[str], columns: int
) -> tuple[list[str], float, list[str]]:
    """Names of the schemes, inches of a column, and the text of each row's cell."""
    room = column_width(axes, 0.15 + max(style.inches_of(name, FONT) for name in schemes), columns)
    texts = _signed(frame, room)
    used = frame["used_share"].where(frame["exact"] == False) if "used_share" in frame else None  # noqa: E712
    if used is None or used.isna().all():
        return schemes, room, texts
    told = [
        text if share != share else f"{text} {share:.0%}" for text, share in zip(texts, used, strict=True)
    ]
    if all(texts) and max(style.inches_of(text, FONT) for text in told) < 0.9 * room:
        return schemes, room, told
    ends = {
        name: " to ".join(dict.fromkeys(f"{share:.0%}" for share in (found.min(), found.max())))
        for name, found in used.groupby(frame["scheme"])
        if found.notna().any()
    }
    names = [f"{name}, uses {ends[name]}" if name in ends else name for name in schemes]
    room = column_width(axes, 0.15 + max(style.inches_of(name, FONT) for name in names), columns)
    return names, room, _signed(frame, room)


def _signed(frame: pd.DataFrame, room: float) -> list[str]:
    """Ratios as texts of that width, with what is said of codes behind them."""
    widest = max(style.inches_of(sign, FONT) for sign in SIGNS.values())
    texts = fitting(frame["ratio"].tolist(), room - widest)
    signs = [SIGNS.get(colour, "") for colour in frame["colour"]]
    if not any(texts):  # a sign alone
        return [sign.strip() if widest < 0.9 * room else "" for sign in signs]
    return [text + sign for text, sign in zip(texts, signs, strict=True)]


def column_width(axes: Axes, left: float, columns: int) -> float:
    """Inches of a column of axes that have so many beside what stands at their left."""
    return (axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols - left) / columns


def name_columns(axes: Axes, places: np.ndarray, names: list[str], room: float) -> None:
    """Names under columns of that many inches, upright where they would run into each other."""
    axes.set_xticks(places, names, fontsize=FONT)
    if max(style.inches_of(name, FONT) for name in names) > 0.9 * room:
        axes.tick_params(axis="x", rotation=90)


def fitting(ratios: list[float], inches: float) -> list[str]:
    """Ratios as texts of that width, all in the same way.

    >>> [fitting([0.947, 1.004, 12.6], inches) for inches in (0.3, 0.2, 0.1)]
    [['0.95', '1.00', '13'], ['.95', '1.0', '13'], ['', '', '']]
    """
    three = [f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}" for ratio in ratios]
    tenths = [f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}" for ratio in ratios]
    two = [text[1:] if text[0] == "0" else tenth for text, tenth in zip(three, tenths, strict=True)]
    for texts in (three, two):
        if max(style.inches_of(text, FONT) for text in texts) < 0.9 * inches:
            return texts
    return [""] * len(ratios)


def _named(varied: list[str], case: tuple) -> str:
    """A column's name: values of what varies."""
    told = []
    for name, value in zip(varied, case, strict=True):
        if value is not None and value == value:  # NaN is no value
            text = f"{value:g}" if isinstance(value, float) else str(value)
            told.append(f"φ = {value:g}" if name == "phi" else text)
    return " ".join(told).replace("bytedance-", "").replace("-dp", "")
