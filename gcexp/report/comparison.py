"""Which scheme is fastest? One row per scheme of a figure, from its table: behind ``gcexp compare`` and MLflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gcexp.figures.rows import sign_interval, time_to
from gcexp.figures.tables import scores_of
from gcexp.report.columns import key_columns

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.figure import Figure


def comparison(
    figure: Figure, frame: pd.DataFrame, level: float | None = None, more: Sequence[float] = ()
) -> pd.DataFrame:
    """Medians over the seeds that all runs of a figure of kind curves or timings have, the fastest first.

    The index is the place of the run among the figure's. `level` is the score whose first passage is compared, by
    default the figure's own, with the interval of its median by the sign test; `more` are further levels of a score
    that rises. A level that fewer than half of the seeds reach has an infinite time.
    """
    import pandas as pd

    level = figure.file.level if level is None else level
    rows = []
    each = [frame[(frame["run"] == run.id) & (frame["label"] == run.label)] for run in figure.runs]
    shared = set.intersection(*({*mine["seed"]} for mine in each))
    for run, mine in zip(figure.runs, each, strict=True):
        seeds = [rows for seed, rows in mine.groupby("seed") if seed in shared]
        found = {"label": run.label, "run": run.id, "seeds": len(seeds)}
        rows.append(found | medians(seeds, scores_of(frame), level, more) | run.loads())
    found = pd.DataFrame(rows)
    times = [name for name in found if name.startswith("time_to_") or name == "mean_iteration_time_s"]
    return found.sort_values(times, kind="stable")


def identifying_columns(found: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The comparison with what tells rows with one label apart: columns of the figure's own, then keys of its runs."""
    runs = [figure.runs[place] for place in found.index]
    keys = key_columns(figure.runs)
    names, shown = [repr(run.label) for run in runs], {}
    for name in figure.identifying_columns[2:]:
        values = [keys[name][run.id] if name in keys else dict(run.columns).get(name) for run in runs]
        longer = [f"{known} {value!r}" for known, value in zip(names, values, strict=True)]
        if len(set(longer)) > len(set(names)):
            names, shown[name] = longer, values
    return found.assign(**shown)[["label", "run", *shown, *found.columns[2:]]].reset_index(drop=True)


def medians(
    seeds: list[pd.DataFrame], scores: list[str], level: float | None, more: Sequence[float]
) -> dict[str, float]:
    """What `comparison` says of one run, from the rows of each of its seeds."""
    if not scores and "reached_s" in seeds[0]:  # a table of first passages alone
        import pandas as pd

        levels = pd.concat(seeds).groupby("level", sort=False)["reached_s"]
        return {f"time_to_{one:g}": float(np.median(times.fillna(math.inf))) for one, times in levels}
    if not scores:
        names = [name for name in ("mean_iteration_time_s", "mean_recovered_fraction") if name in seeds[0]]
        return {name: float(np.mean([rows[name].mean() for rows in seeds])) for name in names}
    found: dict[str, float] = {}
    last = [rows.sort_values("iteration").iloc[-1] for rows in seeds]
    falling = scores[0].endswith("loss")
    for one in dict.fromkeys([*([] if level is None else [level]), *([] if falling else more)]):
        times = [time_to(rows, scores[0], one, falling=falling) for rows in seeds]
        found[f"time_to_{one:g}"] = float(np.median(times))
        if one == level:
            found["low"], found["high"] = sign_interval(np.array(times), np.array(times))
            found["seeds_reached"] = sum(math.isfinite(time) for time in times)
    found |= {f"final_{name}": float(np.median([end[name] for end in last])) for name in scores}
    spent = [end["simulated_time_s"] / max(end["iteration"], 1) for end in last]
    return found | {"mean_iteration_time_s": float(np.mean(spent))}


def format_comparison(found: pd.DataFrame, form: str) -> str:
    """The comparison as aligned text, CSV or a Markdown table."""
    if form == "csv":
        return found.to_csv(index=False, lineterminator="\n")
    shown = found.drop(columns="run", errors="ignore")
    if form == "markdown":
        from gcexp.figures.markdown import grid
        from gcexp.figures.typeset import cell

        cells = [[cell(value, ".6g") for value in row] for row in shown.to_numpy(dtype=object)]
        numbers = [place for place, name in enumerate(shown) if shown[name].dtype.kind in "iuf"]
        return grid(list(shown.columns), cells, right=numbers)
    return shown.to_string(index=False, na_rep="–", float_format=lambda value: f"{value:.6g}") + "\n"
