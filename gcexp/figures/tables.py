"""Tables of figures on disk: CSV with nine significant digits and equal bytes for equal numbers, and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gcexp.errors import DataError, require_known
from gcexp.files import write_text, written

if TYPE_CHECKING:
    import pandas as pd

FLOAT = "%.9g"
_TEXT = ("label", "run")  # a label may look like a number


def write_table(frame: pd.DataFrame, path: Path | str) -> None:
    """Write `frame` as CSV: no index, nine digits, line feeds; an empty cell is a missing value.

    Parameters
    ----------
    frame : DataFrame
        A tidy table.
    path : path
        Where.
    """
    frame = frame.copy(deep=False)
    for name in frame:
        if frame[name].dtype.kind == "O":  # float_format passes objects over
            frame[name] = frame[name].map(_nine_digits, na_action="ignore")
    with written(path) as temporary:
        frame.to_csv(temporary, index=False, float_format=FLOAT, lineterminator="\n", encoding="utf-8")


def _nine_digits(value: object) -> object:
    """A number as it stands in a table; anything else as it is."""
    if isinstance(value, float):
        return FLOAT % value
    return value


def read_table(path: Path | str) -> pd.DataFrame:
    """Read what `write_table` wrote; a label ``NA`` or ``12`` stays text.

    Raises
    ------
    DataError
        If there is no such table, or it is damaged.
    """
    import pandas as pd

    try:
        texts = dict.fromkeys(_TEXT, str)
        return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""], encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot read the table {path}: {error.strerror or error}") from error
    except ValueError as error:  # pandas' parser errors and undecodable bytes are ValueErrors
        raise DataError(f"the table {path} is damaged: {' '.join(str(error).split())}") from error


def scores_of(frame: pd.DataFrame) -> list[str]:
    """Names of the scores of a table of curves, none for another table."""
    columns = list(frame.columns)
    if "simulated_time_s" not in columns:
        return []
    return columns[columns.index("simulated_time_s") + 1 :]


@dataclass(frozen=True)
class Typeset:
    """A table as text, by the suffix of its file: ``.md`` and ``.tex``."""

    sources: Mapping[str, str]

    def save(self, paths: Iterable[Path | str]) -> None:
        """Write the table in the forms that the suffixes say; see `gcexp.figures.save`."""
        for path in map(Path, paths):
            require_known("format of a table", path.suffix, self.sources, str(path))
            write_text(path, self.sources[path.suffix])
