"""Many runs from the shell, in Hydra's multirun spelling, and one table at the end."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.experiments import sweep
from gcexp.report.comparison import format_comparison
from gcexp.run.compose import swept
from gcexp.schema import typed

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.run.result import Result


def multirun(
    overrides: list[str], jobs: int, form: str, level: float | None = None, submit: str | None = None
) -> str:
    """Every combination of the swept values, one row each: final scores, times to a level, mean iteration time."""
    single, several = swept(overrides)
    if not several:
        raise UserError("nothing is swept: give a key several values, as in scheme=cgc,frc s=2,5,9")
    grid = {key: [typed(value) for value in values] for key, values in several.items()}
    with warnings.catch_warnings(record=True) as told:
        table = sweep(grid, *single, jobs=jobs, submit=submit)
    for one in told:
        if one.category is UserWarning:
            print(f"gcexp: {one.message}", file=sys.stderr)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return format_comparison(summary(table, level), form)


def summary(result: Result, level: float | None = None) -> pd.DataFrame:
    """One row per point of a sweep: medians over the seeds, but for the mean iteration time."""
    import pandas as pd

    times, scores = None if level is None else result.time_to(level), result.scores
    table, keys = pd.DataFrame(result), result.attrs["keys"]
    groups = table.groupby(keys, sort=False, dropna=False)
    if "simulated_time_s" not in table:
        columns = ["mean_iteration_time_s", "mean_decoding_error", "mean_recovered_fraction"]
        table = table.assign(mean_decoding_error=result.attrs["mean_decoding_error"])
        means = table.groupby(keys, sort=False, dropna=False)[columns].mean()
        # Where the gradient is near and still no partition has coefficient 1, the share recovered means nothing.
        partial = (means["mean_recovered_fraction"] + means["mean_decoding_error"] - 1).abs() < 1e-9
        means["mean_recovered_fraction"] = means["mean_recovered_fraction"].where(partial)
        return means.assign(seeds=groups["seed"].nunique()).reset_index()
    last = table.loc[table.groupby([*keys, "seed"], sort=False, dropna=False)["iteration"].idxmax()]
    last = last.assign(mean_iteration_time_s=last["simulated_time_s"] / last["iteration"].clip(lower=1))
    groups = last.groupby(keys, sort=False, dropna=False)
    found = groups[["simulated_time_s", *scores]].median().add_prefix("final_")
    found["mean_iteration_time_s"] = groups["mean_iteration_time_s"].mean()
    found = found.assign(seeds=groups["seed"].nunique()).reset_index()
    return (
        found if times is None else found.assign(**{name: times[name] for name in times if name not in keys})
    )
