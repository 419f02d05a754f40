"""The schemes of a table or of a figure, ranked by their medians."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.schema import quoted

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.run.result import Result


def compare(of: str | Result, level: float | None = None, preset: str = "paper") -> pd.DataFrame:
    """Rank schemes by their medians over the seeds that all of them have, the fastest first.

    Parameters
    ----------
    of : str or Result
        Target of a figure, whose table must be there (made here, or published); or a table of `train` or `sweep`.
    level : float, optional
        Score whose first passage is compared, in simulated seconds; by default the figure's own. Without a level, and
        where nothing was trained, mean iteration times are compared.
    preset : str
        Of the figure: here paper unless it is said, whose tables are published, and quick in ``gcexp compare``.

    Returns
    -------
    DataFrame
        One row per scheme or point, with the ends ``low`` and ``high`` of the median's interval by the sign test.

    Raises
    ------
    UserError
        For an unknown target, a figure without runs, and where there is no table.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.sweep(
    ...     {"scheme": ["uncoded", "forget"]}, n=6, s=2, delay="pareto", iterations=20, seeds=5
    ... )
    >>> gcexp.compare(table)["scheme"].tolist()
    ['forget', 'uncoded']
    """
    if isinstance(of, str):
        return _compared_runs(of, level, preset)
    from gcexp.run.result import Result  # with pandas, which a mistyped target does without

    if not isinstance(of, Result):
        raise UserError(f"compare takes a figure's target or a table of train or sweep, got {quoted(of)}")
    if level is None:
        return of.mean_time().sort_values("mean_iteration_time_s", ignore_index=True)
    return of.time_to(level).sort_values(f"time_to_{level:g}", ignore_index=True)


def _compared_runs(target: str, level: float | None, preset: str) -> pd.DataFrame:
    """The runs of a figure, the fastest first, from its table."""
    from gcexp.figures import read_table
    from gcexp.report.comparison import add_identifying_columns, comparison
    from gcexp.report.figurefile import figure
    from gcexp.report.published import table_of
    from gcexp.run.medians import Medians

    figure_of_target = figure(target, preset)
    if not figure_of_target.runs:
        raise UserError(f"{target} has no runs to compare: it is of kind {figure_of_target.file.kind}")
    table = read_table(table_of(figure_of_target))
    medians = comparison(figure_of_target, table, level)
    return Medians(add_identifying_columns(medians, figure_of_target))
