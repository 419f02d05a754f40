"""Many runs from the shell, in Hydra's multirun spelling, and one table at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcexp.errors import UserError
from gcexp.experiments import simulate, sweep
from gcexp.run.compose import swept
from gcexp.schema import typed

if TYPE_CHECKING:
    import pandas as pd


def multirun(overrides: list[str], jobs: int, form: str) -> str:
    """Every combination of the swept values, one row each: medians of the final scores, mean iteration time."""
    single, several = swept(overrides)
    if not several:
        raise UserError("nothing is swept: give a key several values, as in scheme=cgc,frc s=2,5,9")
    grid = {key: [typed(value) for value in values] for key, values in several.items()}
    return shown(summary(sweep(grid, *single, jobs=jobs)), form)


def simulated(overrides: list[str], rows: str, form: str) -> str:
    """The clock of one scheme as a table."""
    return shown(simulate(*overrides, rows=rows), form)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row per point of a sweep."""
    keys = table.attrs["keys"]
    groups = table.groupby(keys, sort=False, dropna=False)
    if "simulated_time_s" not in table:
        means = groups[["mean_iteration_time_s", "mean_recovered_fraction"]].mean()
        return means.assign(seeds=groups["seed"].nunique()).reset_index()
    last = table.loc[table.groupby([*keys, "seed"], sort=False, dropna=False)["iteration"].idxmax()]
    last = last.assign(mean_iteration_time_s=last["simulated_time_s"] / last["iteration"].clip(lower=1))
    scores = list(table.columns[table.columns.get_loc("simulated_time_s") + 1 :])
    groups = last.groupby(keys, sort=False, dropna=False)
    found = groups[["simulated_time_s", *scores]].median().add_prefix("final_")
    found["mean_iteration_time_s"] = groups["mean_iteration_time_s"].mean()
    return found.assign(seeds=groups["seed"].nunique()).reset_index()


def shown(table: pd.DataFrame, form: str) -> str:
    """A table as aligned text, CSV or Markdown."""
    from gcexp.report.comparison import as_text

    return as_text(table, form)
