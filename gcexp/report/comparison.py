"""Which scheme is fastest? One row per scheme of a figure, from its table: behind ``gcexp compare`` and MLflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.figures.rows import sign_interval, time_to
from gcexp.figures.tables import scores_of
from gcexp.report.columns import key_columns
from gcexp.run.declarations import require_reachable

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.figure import Figure


def comparison(
    figure: Figure, frame: pd.DataFrame, level: float | None = None, more: Sequence[float] = ()
) -> pd.DataFrame:
    """`medians_of_runs` with what their codes compute and send, the fastest first."""
    import pandas as pd

    found = medians_of_runs(figure, frame, level, more)
    loads = pd.DataFrame([run.loads() for run in figure.runs])
    times = []
    for name in found:
        if name.startswith("time_to_") or name == "mean_iteration_time_s":
            times.append(name)
    return found.join(loads).sort_values(times, kind="stable")


def medians_of_runs(
    figure: Figure, frame: pd.DataFrame, level: float | None = None, more: Sequence[float] = ()
) -> pd.DataFrame:
    """Medians over the seeds that all runs of a figure of kind curves or timings have, a row for each run.

    The index is the place of the run among the figure's. `level` is the score whose first passage is compared, by
    default the figure's own, with the interval of its median by the sign test; `more` are further levels of a score
    that rises. A level that fewer than half of the seeds reach has an infinite time.
    """
    import pandas as pd

    if level is None:
        level = figure.file.level
    scores = scores_of(frame)
    if level is not None and scores:
        require_reachable(level, scores[0])
    rows_of_runs = []
    for run in figure.runs:
        is_of_run = (frame["run"] == run.id) & (frame["label"] == run.label)
        rows_of_runs.append(frame[is_of_run])
    shared = set.intersection(*(set(rows["seed"]) for rows in rows_of_runs))
    lines = []
    for run, rows in zip(figure.runs, rows_of_runs, strict=True):
        rows_of_shared = rows[rows["seed"].isin(shared)]
        seeds = [of_seed for _, of_seed in rows_of_shared.groupby("seed")]
        line: dict[str, Any] = {"label": run.label, "run": run.id, "seeds": len(seeds)}
        line |= medians(seeds, scores, level, more)
        lines.append(line)
    return pd.DataFrame(lines)


def add_identifying_columns(found: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The comparison with what tells rows with one label apart: columns of the figure's own, then keys of its runs."""
    runs = [figure.runs[place] for place in found.index]
    keys = key_columns(figure.runs)
    names = [repr(run.label) for run in runs]
    shown: dict[str, list] = {}
    for column in figure.identifying_columns[2:]:
        if column in keys:
            values = [keys[column][run.id] for run in runs]
        else:
            values = [dict(run.columns).get(column) for run in runs]
        names_with_values = [f"{name} {value!r}" for name, value in zip(names, values, strict=True)]
        tells_more_apart = len(set(names_with_values)) > len(set(names))
        if tells_more_apart:
            names = names_with_values
            shown[column] = values
    columns = ["label", "run", *shown, *found.columns[2:]]
    return found.assign(**shown)[columns].reset_index(drop=True)


def medians(
    seeds: list[pd.DataFrame], scores: list[str], level: float | None, more: Sequence[float]
) -> dict[str, float]:
    """What `medians_of_runs` says of one run, from the rows of each of its seeds."""
    if scores:
        return _of_curves(seeds, scores, level, more)
    if "reached_s" in seeds[0]:
        return _of_passages(seeds)
    found = {}
    for name in ("mean_iteration_time_s", "mean_recovered_fraction"):
        if name in seeds[0]:
            found[name] = float(np.mean([rows[name].mean() for rows in seeds]))
    return found


def _of_curves(
    seeds: list[pd.DataFrame], scores: list[str], level: float | None, more: Sequence[float]
) -> dict[str, float]:
    """Medians of a training: when its main score reaches the levels, how it ends, and what an iteration takes."""
    found: dict[str, float] = {}
    main = scores[0]
    falling = main.endswith("loss")
    levels = [] if level is None else [level]
    if not falling:
        levels += [other for other in more if other != level]
    for one in levels:
        times = np.array([time_to(rows, main, one, falling=falling) for rows in seeds])
        found[f"time_to_{one:g}"] = float(np.median(times))
        if one == level:
            found["low"], found["high"] = sign_interval(times, times)
            found["seeds_reached"] = int(np.isfinite(times).sum())
    last_rows = [rows.sort_values("iteration").iloc[-1] for rows in seeds]
    for name in scores:
        found[f"final_{name}"] = float(np.median([row[name] for row in last_rows]))
    iteration_times = [row["simulated_time_s"] / max(row["iteration"], 1) for row in last_rows]
    found["mean_iteration_time_s"] = float(np.mean(iteration_times))
    return found


def _of_passages(seeds: list[pd.DataFrame]) -> dict[str, float]:
    """Medians of a table that has first passages alone."""
    import pandas as pd

    found = {}
    for level, times in pd.concat(seeds).groupby("level", sort=False)["reached_s"]:
        found[f"time_to_{level:g}"] = float(np.median(times.fillna(math.inf)))
    return found


def format_comparison(found: pd.DataFrame, form: str) -> str:
    """The comparison as aligned text, CSV or a Markdown table; of an interval without ends the first and last tell why.

    >>> import pandas as pd
    >>> found = pd.DataFrame({"scheme": ["cgc"], "low": [-math.inf], "high": [math.inf]})
    >>> [("5 seeds" in format_comparison(found, form)) for form in ("text", "markdown", "csv")]
    [True, True, False]
    """
    if form == "csv":
        return found.to_csv(index=False, lineterminator="\n")
    from gcexp.run.medians import remarks

    shown = found.drop(columns="run", errors="ignore")
    below = ""
    sentences = remarks(found)
    if sentences:
        below = "\n" + "\n".join(sentences) + "\n"
    if form == "markdown":
        from gcexp.figures.markdown import grid
        from gcexp.figures.typeset import cell

        body = []
        for row in shown.to_numpy(dtype=object):
            body.append([cell(value, ".6g") for value in row])
        numbers = [place for place, name in enumerate(shown) if shown[name].dtype.kind in "iuf"]
        return grid(list(shown.columns), body, right=numbers) + below
    text = shown.to_string(index=False, na_rep="–", float_format=lambda value: f"{value:.6g}")
    return f"{text}\n{below}"
