"""A benchmark's table as one page that sorts and filters it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcexp.files import written
from gcexp.report.page import environment

if TYPE_CHECKING:
    import pandas as pd

_CHOICES = ("trace", "phi", "late", "chunks", "group", "placement", "exact", "colour")


def write_leaderboard(frame: pd.DataFrame, path: Path, title: str, notes: Sequence[str] = ()) -> None:
    """Write one file without network: all columns, sorted by a click on a name, filtered by words and values.

    Parameters
    ----------
    frame : DataFrame
        Of `gcexp.benchmark`, or of a figure that shows it.
    path : path
        The page.
    title : str
    notes : sequence of str
        What is said above the table.
    """
    from gcexp.figures.remedies import FACES

    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    columns = [str(name) for name in frame.columns]
    choices = {}
    for name in _CHOICES:
        texts = dict.fromkeys(row[columns.index(name)][1] for row in rows) if name in columns else {}
        if len(texts) > 1:
            choices[name] = [text for text in texts if text]
    text = environment().get_template("leaderboard.html.j2").render(
        title=title, notes=notes, columns=columns, rows=rows, choices=choices, faces=FACES
    )  # fmt: skip
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _cell(value: Any) -> tuple[Any, str]:
    """What a cell is sorted by, and what it shows.

    Examples
    --------
    >>> _cell(0.35861789), _cell(float("nan")), _cell(None), _cell(True), _cell("FRC")
    ((0.35861789, '0.3586'), ('', ''), ('', ''), ('yes', 'yes'), ('FRC', 'FRC'))
    """
    if value is None or value != value:
        return "", ""
    if str(value) in ("True", "False"):
        text = "yes" if str(value) == "True" else "no"
        return text, text
    return (value, str(value)) if isinstance(value, str) else (float(value), f"{value:.4g}")
