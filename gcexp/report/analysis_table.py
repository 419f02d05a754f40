"""The table behind a figure of kind analysis: what one function returns."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.run.build import with_makers

if TYPE_CHECKING:  # a figure brings values alone
    import pandas as pd

    from gcexp.report.figure import Figure


def analysis_table(figure: Figure) -> pd.DataFrame:
    """Table of an analysis function, which must have the columns that the function declares: plans believe those."""
    name = figure.file.analysis["function"]
    frame = resolve_name(name)(**with_makers(figure.arguments))
    if figure.columns is None:
        return frame
    made = {str(column) for column in frame}
    declared = set(figure.columns)
    undeclared = sorted(made - declared)
    if undeclared:
        raise UserError(f"{name} gives columns that it does not declare: {', '.join(undeclared)}")
    missing = sorted(declared - made)
    if missing:
        raise UserError(f"{name} declares columns that it does not give: {', '.join(missing)}")
    return frame
