"""Which scheme is fastest? One row per scheme of a figure, from its table: behind ``gcexp compare`` and MLflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.errors import UserError, require_known
from gcexp.figures.rows import paired_ratio, sign_interval, time_to
from gcexp.figures.tables import scores_of
from gcexp.report.columns import key_columns

if TYPE_CHECKING:
    import pandas as pd

    from gcexp.report.figure import Figure


def comparison(
    figure: Figure,
    frame: pd.DataFrame,
    level: float | None = None,
    more: Sequence[float] = (),
    against: str | None = None,
) -> pd.DataFrame:
    """`medians_of_runs` with ratios to one of them, and what their codes compute and send, the fastest first.

    ``ratio`` is the median over the seeds of the times by which runs are ranked, divided seed by seed by those of the
    run with the label `against`, by default the fastest; ``ratio_low`` and ``ratio_high`` are the ends of its interval.
    All schemes see the same draws, so that the ratio may be told apart from 1 where the intervals of two medians
    overlap. In a figure with panels each panel has a first run, and a run `against`, of its own.

    Raises
    ------
    UserError
        If no run, or more than one of a panel, has the label.
    """
    import pandas as pd

    found = medians_of_runs(figure, frame, level, more)
    loads = pd.DataFrame([run.loads() for run in figure.runs])
    times = []
    for name in found:
        if name.startswith("time_to_") or name == "mean_iteration_time_s":
            times.append(name)
    ranked = found.sort_values(times, kind="stable")
    ratios = _ratios(figure, frame, ranked, _ranking_level(figure, frame, level, more), against)
    return ranked.join(ratios).join(loads)


def _ranking_level(
    figure: Figure, frame: pd.DataFrame, level: float | None, more: Sequence[float]
) -> float | None:
    """The score whose first passage ranks the runs; None where their iteration times do."""
    if level is None:
        level = figure.file.level
    scores = scores_of(frame)
    if level is None and more and scores and not scores[0].endswith("loss"):
        return more[0]
    return level


def _ratios(
    figure: Figure, frame: pd.DataFrame, ranked: pd.DataFrame, level: float | None, against: str | None
) -> pd.DataFrame:
    """The ratios of `comparison`, by the places of the runs."""
    import pandas as pd

    if against is not None:
        require_known("label", against, ranked["label"], "against")
    rows_of_runs = _shared_rows(figure, frame)
    scores = scores_of(frame)
    times = [_times_of_seeds(seeds, scores, level) for seeds in rows_of_runs]
    places_in_panel: dict[object, list[int]] = {}
    for place in ranked.index:
        panel = _panel_of(figure, rows_of_runs[place])
        places_in_panel.setdefault(panel, []).append(place)
    ratios = {}
    for places in places_in_panel.values():
        reference = _reference(places, ranked["label"], against)
        for place in places:
            ratios[place] = (math.nan,) * 3
            if reference is not None:
                ratios[place] = paired_ratio(times[place], times[reference])
    return pd.DataFrame.from_dict(ratios, orient="index", columns=["ratio", "ratio_low", "ratio_high"])


def _panel_of(figure: Figure, seeds: list[pd.DataFrame]) -> object:
    """The panel in which a run is drawn; None where there is one panel."""
    column = figure.file.plot.get("panel")
    if column is None or column not in seeds[0]:
        return None
    return seeds[0][column].iloc[0]


def _reference(places: list[int], labels: pd.Series, against: str | None) -> int | None:
    """Which of some runs, the fastest first, the others are compared with; None where no label fits."""
    if against is None:
        return places[0]
    named = [place for place in places if labels[place] == against]
    if len(named) > 1:
        raise UserError(f"against: {len(named)} runs are called {against!r}; name one that stands alone")
    return next(iter(named), None)


def _shared_rows(figure: Figure, frame: pd.DataFrame) -> list[list[pd.DataFrame]]:
    """The rows of each run of a figure, seed by seed, for the seeds that all of them have."""
    rows_of_runs = []
    for run in figure.runs:
        is_of_run = (frame["run"] == run.id) & (frame["label"] == run.label)
        rows_of_runs.append(frame[is_of_run])
    shared = set.intersection(*(set(rows["seed"]) for rows in rows_of_runs))
    found = []
    for rows in rows_of_runs:
        rows_of_shared = rows[rows["seed"].isin(shared)]
        found.append([of_seed for _, of_seed in rows_of_shared.groupby("seed")])
    return found


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
    lines = []
    for run, seeds in zip(figure.runs, _shared_rows(figure, frame), strict=True):
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
    found["mean_iteration_time_s"] = float(np.mean(_times_of_seeds(seeds, scores, None)))
    return found


def _times_of_seeds(seeds: list[pd.DataFrame], scores: list[str], level: float | None) -> np.ndarray:
    """For each seed the time by which runs are ranked: a first passage, or the mean time of an iteration."""
    if scores and level is not None:
        falling = scores[0].endswith("loss")
        return np.array([time_to(rows, scores[0], level, falling) for rows in seeds])
    if scores:
        last_rows = [rows.sort_values("iteration").iloc[-1] for rows in seeds]
        return np.array([row["simulated_time_s"] / max(row["iteration"], 1) for row in last_rows])
    if "reached_s" in seeds[0]:
        first_level = seeds[0]["level"].iloc[0]
        reached = [rows.loc[rows["level"] == first_level, "reached_s"].iloc[0] for rows in seeds]
        return np.nan_to_num(reached, nan=math.inf)
    return np.array([rows["mean_iteration_time_s"].mean() for rows in seeds])


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
