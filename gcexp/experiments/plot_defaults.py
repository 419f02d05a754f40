"""What a plot of a table shows unless somebody says otherwise: its axes, its lines and its panels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Lines of a panel that a reader tells apart.
MOST_LINES = 8
_MEASURED = ("seed", "iteration", "iterations", "simulated_time_s", "mean_iteration_time_s")


def keys_of(table: pd.DataFrame) -> list[str]:
    """The keys of the runs in a table: its own, or of any tidy table the columns that are not measured."""
    return table.attrs.get("keys") or [name for name in table if name not in _MEASURED]


def varied_keys(table: pd.DataFrame) -> list[str]:
    """The keys that take several values."""
    return [key for key in keys_of(table) if table[key].nunique(dropna=False) > 1]


def usual_plot(x: str | None, y: str, line_keys: list[str]) -> dict[str, Any]:
    """Fields of a plot: lines over x, a scheme in its colour; bars where there is no x."""
    if x is None:
        return {"kind": "bars", "y": y, "by": "line"}
    fields = {"kind": "lines", "x": x, "y": y, "by": "line"}
    if "scheme" in line_keys and len(line_keys) > 1:
        fields["colour"] = "scheme"
    return fields


def most_lines(table: pd.DataFrame, panel: str | None) -> int:
    """Lines of the panel that has most of them."""
    if panel in table:
        return table.groupby(panel)["line"].nunique().max()
    return table["line"].nunique()


def line_names(table: pd.DataFrame, keys: list[str]) -> pd.Series | str:
    """The name of each row's line: the value of a scheme alone, else the keys with their values."""
    if not keys:
        return "all"
    if len(keys) == 1 and (keys[0] == "scheme" or not _is_key(table, keys[0])):
        return table[keys[0]].astype(str)
    import pandas as pd

    last_parts = [key.rpartition(".")[2] for key in keys]
    columns = []
    for key, last_part in zip(keys, last_parts, strict=True):
        name = key
        if last_parts.count(last_part) == 1:
            name = last_part
        columns.append(f"{name}=" + table[key].map(_spelled))
    return pd.concat(columns, axis=1).agg(", ".join, axis=1)


def _is_key(table: pd.DataFrame, column: str) -> bool:
    """Whether a column is a key of the runs, and no name that was given to them."""
    return column in (table.attrs.get("keys") or [])


def _spelled(value: Any) -> str:
    """A value in a name: 6 and not 6.0, as it stands in a column beside missing ones."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def key_of_panels(table: pd.DataFrame, keys: list[str]) -> str | None:
    """The key that gets panels of its own where too many lines would stand in one; None where they are few."""
    others = [key for key in keys if key != "scheme"]
    if not others:
        return None
    lines = len(table[keys].drop_duplicates())
    if lines <= MOST_LINES:
        return None
    return min(others, key=lambda key: table[key].nunique())


def common_ends(table: pd.DataFrame, y: str, *, log: bool) -> tuple[float, float] | None:
    """Ends of the y axis that all panels share, with some room; None where the column holds no numbers to show."""
    import numpy as np

    values = table[y].to_numpy(float)
    values = values[np.isfinite(values)]
    if log:
        values = values[values > 0]
    if not len(values) or values.min() == values.max():
        return None
    if log:
        room = (values.max() / values.min()) ** 0.05
        return float(values.min() / room), float(values.max() * room)
    room = 0.05 * (values.max() - values.min())
    return float(values.min() - room), float(values.max() + room)


def usual_x(table: pd.DataFrame, varied: list[str]) -> str | None:
    """The simulated clock, else the iteration, else the first number that was swept; None where there is none."""
    for name in ("simulated_time_s", "iteration"):
        if name in table:
            return name
    for key in varied:
        if all(isinstance(value, int | float) for value in table[key]):
            return key
    return None


def usual_y(table: pd.DataFrame) -> str:
    """The main score, else the iteration time, else its mean."""
    from gcexp.run.result import Result

    scores = Result(table).scores
    if scores:
        return scores[0]
    if "iteration_time_s" in table:
        return "iteration_time_s"
    return "mean_iteration_time_s"
