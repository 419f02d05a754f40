"""The schemes of a table or of a figure, ranked by their medians."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError, require_known
from gcexp.schema import quoted

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.run.result import Result


def compare(
    of: str | Result,
    level: float | None = None,
    preset: str = "paper",
    *,
    against: str | Mapping[str, Any] | None = None,
) -> pd.DataFrame:
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
    against : str or mapping, optional
        To which row ratios are told, by default the first: the label of a scheme of a figure; of a table a scheme, or
        values of keys, ``{"scheme": "cgc", "s": 2}``.

    Returns
    -------
    DataFrame
        One row per scheme or point, with the ends ``low`` and ``high`` of the median's interval by the sign test, which
        covers 93.75 % with five seeds. ``ratio`` is the median of the times divided, seed by seed, by those of the row
        `against`, with the ends ``ratio_low`` and ``ratio_high`` of its interval. All points see the same draws, so
        that a ratio may be told apart from 1 where the intervals of two medians overlap.

    Raises
    ------
    UserError
        For an unknown target, a figure without runs, where there is no table, and where not one row is `against`.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.sweep(
    ...     {"scheme": ["uncoded", "forget"]}, n=6, s=2, delay="pareto", iterations=20, seeds=5
    ... )
    >>> found = gcexp.compare(table, against="uncoded")
    >>> found["scheme"].tolist(), found["ratio"].round(2).tolist()
    (['forget', 'uncoded'], [0.38, 1.0])
    """
    if isinstance(of, str):
        return _compared_runs(of, level, preset, against)
    from gcexp.run.result import Result  # with pandas, which a mistyped target does without

    if not isinstance(of, Result):
        raise UserError(f"compare takes a figure's target or a table of train or sweep, got {quoted(of)}")
    if level is None:
        column = "mean_iteration_time_s"
        medians = of.mean_time()
        times = of.mean_time(per_seed=True)
    else:
        column = f"time_to_{level:g}"
        medians = of.time_to(level)
        times = of.time_to(level, per_seed=True)
    compared = _with_ratios(medians, times, column, against)
    return compared.sort_values(column, ignore_index=True)


def _with_ratios(
    medians: pd.DataFrame, times: pd.DataFrame, column: str, against: str | Mapping[str, Any] | None
) -> pd.DataFrame:
    """Points with the ratios of their times to those of one of them, seed by seed."""
    from gcexp.figures.rows import paired_ratio

    keys = [name for name in times if name not in ("seed", column)]
    parts = [times]
    if keys:
        parts = [part for _, part in times.groupby(keys, sort=False, dropna=False)]
    times_of_points = [part.set_index("seed")[column] for part in parts]
    reference = times_of_points[_place_of(medians, keys, column, against)]
    ratios = []
    for of_point in times_of_points:
        shared = of_point.index.intersection(reference.index)
        ratios.append(paired_ratio(of_point[shared].to_numpy(), reference[shared].to_numpy()))
    median, low, high = zip(*ratios, strict=True)
    return medians.assign(ratio=median, ratio_low=low, ratio_high=high)


def _place_of(
    medians: pd.DataFrame, keys: list[str], column: str, against: str | Mapping[str, Any] | None
) -> int:
    """The place of the point that the others are compared with: the fastest, or the one that `against` names."""
    if against is None:
        return int(medians[column].argmin())
    if isinstance(against, str):
        main_key = "scheme" if "scheme" in keys else next(iter(keys), "scheme")
        wanted: Mapping[str, Any] = {main_key: against}
    else:
        wanted = against
    fits = medians[column].notna()  # of every point: no time is missing
    for key, value in wanted.items():
        require_known("key", key, keys, "against")
        given = medians[key].astype(str)
        require_known(key, str(value), given, "against")
        fits &= given == str(value)
    places = [place for place, fit in enumerate(fits) if fit]
    if len(places) != 1:
        raise UserError(
            f"against: {len(places)} points have {dict(wanted)}; name one by its keys: {', '.join(keys)}"
        )
    return places[0]


def _compared_runs(
    target: str, level: float | None, preset: str, against: str | Mapping[str, Any] | None
) -> pd.DataFrame:
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
    if not isinstance(against, str | None):
        raise UserError(f"against is the label of a scheme of {target}, got {quoted(against)}")
    medians = comparison(figure_of_target, table, level, against=against)
    return Medians(add_identifying_columns(medians, figure_of_target))
