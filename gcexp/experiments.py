"""One's own experiments from Python: `simulate`, `train`, `sweep` give tidy tables, `plot` and `show` draw.

The same composition, checks, draws and bits as the workflow, without its files.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from gcexp.errors import ExtraError, UserError, lacking, unknown
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.given import Given
from gcexp.run.run import Run
from gcexp.run.sweep import Sweep, name_of_point
from gcexp.schema import fitted, quoted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gcexp.codes import Code
    from gcexp.run.result import Result
    from gcexp.schemes.scheme import Scheme

ROWS = Literal["seeds", "running", "iterations"]
_MEASURED = ("seed", "iteration", "iterations", "simulated_time_s", "mean_iteration_time_s")


def simulate(*overrides: str, rows: str = "seeds", progress: bool = True, **keys: Any) -> Result:
    """Clock of one scheme under one delay model; nothing is trained.

    Parameters
    ----------
    *overrides : str
        Hydra overrides, as on the command line: ``"code.beta=15"``.
    rows : {"seeds", "running", "iterations"}
        One row per seed; per seed and iteration 1, 2, 5, 10, ...; or per seed and iteration.
    progress : bool
        Show a progress bar on a terminal or in a notebook, if it takes longer than half a second.
    **keys
        The same as keyword arguments: ``scheme="cgc", n=30, s=5, delay="pareto", iterations=1000, seeds=10``. A
        dotted key is written ``**{"code.beta": 15}``. `code`, `wait`, `placement` and `delay` also take objects;
        `delay` takes recorded times too, as a frame with the columns of a trace or an array (iterations, workers).
        ``seeds=10`` are ten seeds, 0 to 9; ``"5-9"``, ``range(5, 10)`` and ``[5]`` name them.

    Returns
    -------
    Result
        A DataFrame (see `gcexp.run.result`): every given key as a column, then ``seed`` and the statistics of its
        clock, times in simulated seconds.

    Raises
    ------
    UserError
        For an unknown key or option, with the nearest match, and for a value outside what the mathematics allows.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.simulate(scheme="cgc", n=6, s=2, delay="pareto", iterations=50, seeds=3)
    >>> table[["scheme", "n", "s", "seed", "iterations"]].to_numpy().tolist()
    [['cgc', 6, 2, 0, 50], ['cgc', 6, 2, 1, 50], ['cgc', 6, 2, 2, 50]]
    """
    rows = fitted(ROWS, rows, "rows")
    progress = fitted(bool, progress, "progress")
    run = Sweep.of(overrides, keys, trains=False)
    found = run.clocks(rows, progress=progress)
    _warn_of_silence(found, run)
    return found


def train(*overrides: str, verify: bool = True, progress: bool = True, **keys: Any) -> Result:
    """Train a task with the coefficients that a scheme decodes, on its clock.

    Parameters
    ----------
    *overrides, **keys
        As in `simulate`; `task` and `optimizer` too are names or objects. The data set is prepared where it is missing.
    verify : bool
        Replay the true encode, drop, decode path on kept parameters; what is found stands in ``table.attrs``, and a
        failure is a warning.
    progress : bool
        Show progress bars, as `simulate` does.

    Returns
    -------
    Result
        A DataFrame (see `gcexp.run.result`): every given key as a column, then one row per seed and evaluated
        iteration: ``seed, iteration, simulated_time_s``, the task's scores, and what the code costs a worker.

    Raises
    ------
    UserError
        As in `simulate`, and for a scheme that is a bound of durations.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.train(scheme="frc", n=4, s=1, task="digits_mlp", iterations=3, seeds=1)
    >>> table["iteration"].tolist(), table.attrs["verification"]["passed"]
    ([0, 1, 2, 3], True)
    """
    progress = fitted(bool, progress, "progress")
    alone = Sweep.of(overrides, keys, trains=True)
    found, reports = alone.trainings(verify=verify, resume=False, progress=progress)
    _warn_of_silence(found, alone)
    if verify:
        from gcexp.run.result import Kept

        found.attrs["verification"] = Kept(reports[0])
        _warn({"": reports[0]})
    return found


def sweep(
    grid: Mapping[str, Sequence[Any]],
    *overrides: str,
    jobs: int = 1,
    rows: str = "seeds",
    verify: bool = True,
    impossible: str = "skip",
    progress: bool = True,
    submit: str | None = None,
    queued: str | None = None,
    **keys: Any,
) -> Result:
    """Every combination of some keys: simulated, or trained where a `task` is given.

    Schemes share their draws, and all that are exact share one training per task, optimiser, seeds and iterations.
    A call that was interrupted continues its trainings when it is repeated: their checkpoints are in
    ``results/checkpoints/sweep`` until a call has its table. Points with objects from Python are trained again.

    Parameters
    ----------
    grid : mapping
        Key to the values it takes, as in ``{"scheme": ["cgc", "frc"], "s": [2, 5]}``.
    *overrides, rows, **keys
        As in `simulate`, the same for every point.
    jobs : int
        Processes side by side.
    impossible : {"skip", "raise"}
        Combinations that the mathematics does not allow, as FRC where d does not divide n, are left out with a warning
        and listed with their reasons in ``table.impossible``; or the first of them raises.
    verify : bool
        As in `train`, for every point that is trained; ``table.attrs["verification"]`` has a report for each.
    progress : bool
        Show progress bars, as `simulate` does.
    submit : str, optional
        A profile of Snakemake's, such as ``"slurm"`` or its folder: the points become jobs of a cluster, with the same
        bits. What is made lies in ``results/sweep``; a call that is repeated makes what is missing. Points are then
        told by names and numbers, not by objects.
    queued : {"wait", "cancel"}, optional
        What is done with jobs of the sweep that a process that was killed has left in the queue; by default they are an
        error that names them.

    Returns
    -------
    Result
        The rows of all points, in the order of the grid, the last key fastest.

    Raises
    ------
    UserError
        Before anything runs: for an unknown key or option, and where no point is possible. Where jobs that were
        submitted have failed.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.sweep(
    ...     {"scheme": ["cgc", "frc"], "s": [1, 2]}, n=6, delay="pareto", iterations=20, seeds=2
    ... )
    >>> table.groupby(["scheme", "s"], sort=False)["mean_iteration_time_s"].count().to_dict()
    {('cgc', 1): 2, ('cgc', 2): 2, ('frc', 1): 2, ('frc', 2): 2}
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise UserError(f"jobs is a number of processes >= 1, got {jobs!r}")
    impossible = fitted(Literal["skip", "raise"], impossible, "impossible")
    rows = fitted(ROWS, rows, "rows")
    progress = fitted(bool, progress, "progress")
    trains = _names_a_task(grid, overrides, keys)
    points = Sweep.of(overrides, keys, grid, trains=trains, skip=impossible == "skip")
    reports: list[dict] = []
    if submit is not None:
        from gcexp.submission import submit_sweep

        queued = fitted(Literal["wait", "cancel"] | None, queued, "queued")
        found, reports = submit_sweep(points, submit, rows, verify, trains, queued)
    elif trains:
        found, reports = points.trainings(verify, resume=True, jobs=jobs, progress=progress)
    else:
        found = points.clocks(rows, jobs, progress)
    if points.impossible:
        _tell_impossible(found, points)
    _warn_of_silence(found, points)
    if trains and verify:
        from gcexp.run.result import Kept

        names = [run.label for run in points.runs]
        found.attrs["verification"] = Kept(zip(names, reports, strict=True))
        _warn(found.attrs["verification"])
    return found


def _names_a_task(grid: object, overrides: Sequence[str], keys: Mapping[str, Any]) -> bool:
    """Whether the points of a sweep are trained: a task is swept, given by a keyword or by an override."""
    if isinstance(grid, Mapping) and ("task" in grid or "task" in keys):
        return True
    return any(str(text).startswith("task=") for text in overrides)


def _tell_impossible(found: Result, points: Sweep) -> None:
    """Warn of the points of a grid that were left out, and list them beside the table."""
    from gcexp.run.result import Kept

    found.attrs["impossible"] = Kept(points=list(points.impossible))
    first = dict(points.impossible[0])
    reason = first.pop("reason")
    count = len(points.impossible)
    all_points = count + len(points.runs)
    warnings.warn(
        f"{count} of {all_points} points are impossible and left out, see table.impossible; "
        f"{name_of_point(first)}: {reason}",
        stacklevel=3,
    )


def _warn_of_silence(found: Result, points: Sweep) -> None:
    """Warn of runs that hear nobody in most of their iterations, of the first one in whole."""
    told = points.silences(found)
    if not told:
        return
    more = f" (so do {len(told) - 1} other points)" if len(told) > 1 else ""
    warnings.warn(f"{told[0]}{more}", stacklevel=3)


def _warn(reports: Mapping[str, dict]) -> None:
    """Warn of verifications that failed."""
    failed = {point: report for point, report in reports.items() if not report["passed"]}
    if not failed:
        return
    from gcexp.run.verification import failure

    sentences = []
    for point, report in failed.items():
        sentence = failure(report["failures"])
        if point:
            sentence = f"{point}: {sentence}"
        sentences.append(sentence)
    warnings.warn(
        f"verification failed: {'; '.join(sentences)} (attrs['verification'] has all)", stacklevel=3
    )


def plot(
    table: pd.DataFrame,
    x: str | None = None,
    y: str | None = None,
    line: str | None = None,
    *,
    ax: Axes | None = None,
    **options: Any,
) -> Any:
    """Draw a table in the house style, as a figure of its own or into axes of yours.

    Parameters
    ----------
    table : DataFrame
        From `simulate`, `train` or `sweep`, or any tidy table.
    x, y : str, optional
        Columns. By default scores over the simulated clock; without a clock the mean iteration time over the first
        number that was swept, or as bars with their intervals where no number was.
    line : str, optional
        Column whose values are the lines or bars; by default every other key that takes several values. Lines are named
        by these keys, and a scheme keeps its colour. Where more than eight lines would stand in a panel, a key gets
        panels of its own.
    ax : matplotlib.axes.Axes, optional
        Axes that are drawn into: they get the lines or bars, labels, `title` and a legend, and keep their fonts and
        size. A `note` stands on figures only.
    **options
        Further fields of `gcexp.figures.plots.LinesPlot` or `BarsPlot`, and `title` and `note` of the figure.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure, which a notebook shows as the last value of a cell; or `ax`, where it is given.

    Raises
    ------
    UserError
        For an unknown column or option, for something else than a table or axes, and for several panels in one `ax`.

    Examples
    --------
    >>> import gcexp
    >>> table = gcexp.sweep(
    ...     {"scheme": ["cgc", "frc"], "s": [1, 2]}, n=6, delay="pareto", iterations=20, seeds=2
    ... )
    >>> figure = gcexp.plot(table, x="s")
    >>> figure.axes[0].get_xlabel()
    's'

    Beside a drawing of one's own:

    >>> from matplotlib import pyplot
    >>> mine, (left, right) = pyplot.subplots(1, 2)
    >>> gcexp.plot(table, x="s", ax=right, title="pareto") is right
    True
    >>> [text.get_text() for text in right.get_legend().get_texts()]
    ['cgc', 'frc']
    >>> pyplot.close(mine)
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise UserError(f"plot takes a table of simulate, train or sweep, got {table!r}")
    keys = table.attrs.get("keys") or [name for name in table if name not in _MEASURED]
    varied = [key for key in keys if table[key].nunique(dropna=False) > 1]
    if x is None:
        x = _usual_x(table, varied)
    if y is None:
        y = _usual_y(table)
    for name in (x, y, line):
        if name is not None and name not in table:
            raise UserError(unknown("column", name, table.columns))
    title = options.pop("title", "")
    note = options.pop("note", "The clock is simulated.")
    if line is not None:
        told_apart_by = [line]
    else:
        told_apart_by = [key for key in varied if key not in (x, options.get("panel"))]
        if x is not None and ax is None and "panel" not in options:
            key_of_panels = _key_of_panels(table, told_apart_by)
            if key_of_panels is not None:
                told_apart_by.remove(key_of_panels)
                options["panel"] = key_of_panels
    if not told_apart_by and "scheme" in keys:
        told_apart_by = ["scheme"]
    named = table.assign(line=_line_names(table, told_apart_by))
    if x is not None:
        most = _most_lines(named, options.get("panel"))
        if most > _MOST_LINES:
            note += f" {most} lines in a panel: choose some by where={{KEY: VALUES}}, or spread them by panel=KEY."
    wanted = _usual_plot(table, x, y, told_apart_by)
    if "panel" in options and options["panel"] in table:
        wanted["ylim"] = _common_ends(table, y, log=options.get("yscale") == "log")
    wanted |= options
    try:
        return _drawn(named, wanted, ax, title=title, note=note)
    except ModuleNotFoundError as error:
        sentence = lacking(error)
        if sentence:
            raise ExtraError(sentence) from None
        raise


#: Lines of a panel that a reader tells apart.
_MOST_LINES = 8


def _usual_plot(table: pd.DataFrame, x: str | None, y: str, told_apart_by: list[str]) -> dict[str, Any]:
    """What a plot says unless options say otherwise: lines over x, a scheme in its colour; bars where there is no x."""
    if x is None:
        return {"kind": "bars", "y": y, "by": "line"}
    plot = {"kind": "lines", "x": x, "y": y, "by": "line"}
    if "scheme" in told_apart_by and len(told_apart_by) > 1:
        plot["colour"] = "scheme"
    return plot


def _most_lines(named: pd.DataFrame, panel: str | None) -> int:
    """Lines of the panel that has most of them."""
    if panel in named:
        return named.groupby(panel)["line"].nunique().max()
    return named["line"].nunique()


def _line_names(table: pd.DataFrame, keys: list[str]) -> pd.Series | str:
    """The name of each row's line: the value of a scheme alone, else the keys with their values."""
    if not keys:
        return "all"
    if keys == ["scheme"] or (len(keys) == 1 and not _is_key(table, keys[0])):
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


def _key_of_panels(table: pd.DataFrame, keys: list[str]) -> str | None:
    """The key that gets panels of its own where too many lines would stand in one; None where they are few."""
    others = [key for key in keys if key != "scheme"]
    if not others:
        return None
    lines = len(table[keys].drop_duplicates())
    if lines <= _MOST_LINES:
        return None
    return min(others, key=lambda key: table[key].nunique())


def _common_ends(table: pd.DataFrame, y: str, *, log: bool) -> tuple[float, float] | None:
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


def _usual_x(table: pd.DataFrame, varied: list[str]) -> str | None:
    """The simulated clock, else the iteration, else the first number that was swept; None where there is none."""
    for name in ("simulated_time_s", "iteration"):
        if name in table:
            return name
    for key in varied:
        if all(isinstance(value, int | float) for value in table[key]):
            return key
    return None


def _usual_y(table: pd.DataFrame) -> str:
    """The main score, else the iteration time, else its mean."""
    from gcexp.run.result import Result

    scores = Result(table).scores
    if scores:
        return scores[0]
    if "iteration_time_s" in table:
        return "iteration_time_s"
    return "mean_iteration_time_s"


def _drawn(table: pd.DataFrame, wanted: dict[str, Any], ax: Axes | None, *, title: str, note: str) -> Any:
    """A figure of its own, or the axes that were drawn into."""
    from gcexp.figures import draw, parse
    from gcexp.figures.compose import draw_on
    from gcexp.figures.style import SCREEN

    if ax is None:
        width = None if "width" in wanted else SCREEN
        return draw(table, wanted, title, note, width=width)
    if not callable(getattr(ax, "get_window_extent", None)):
        raise UserError(f"ax is a pair of matplotlib's axes, got {quoted(ax)}")
    draw_on(ax, table, parse(wanted), title)
    return ax


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
        Of the figure.

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

    shown = figure(target, preset)
    if not shown.runs:
        raise UserError(f"{target} has no runs to compare: it is of kind {shown.file.kind}")
    table = read_table(table_of(shown))
    found = comparison(shown, table, level)
    return Medians(add_identifying_columns(found, shown))


def error(
    *overrides: str,
    s: int | Sequence[int] | None = None,
    kind: str = "worst",
    decoding: str = "optimal",
    stragglers: Iterable[int] | None = None,
    p: float | Sequence[float] | None = None,
    trace: str | None = None,
    trials: int = 2000,
    seed: int = 0,
    steps: int = 10,
    max_sets: int | None = None,
    max_searched: int | None = None,
    progress: bool = False,
    **keys: Any,
) -> pd.DataFrame:
    """Measure how far from the gradient a code decodes without some of its workers.

    Parameters
    ----------
    *overrides, **keys
        The code, as in `simulate`: ``code="cyclic_repetition", n=10``, with ``**{"code.s": 3}`` for what it is built
        for; or an object, ``code=CyclicRepetition(n=10, s=3)``.
    s : int or sequence of int, optional
        Stragglers; by default 0 to n.
    kind, decoding, stragglers, p, trace, trials, seed, steps, max_sets, max_searched, progress
        See `gcexp.decoding_error.error.error`; by default up to 60 million sets are searched.

    Returns
    -------
    DataFrame
        One row for each s: ``lower`` and ``upper`` of the worst error ||c - 1||^2 / k, which are equal where it is
        known exactly; ``mean``, ``stderr`` and ``largest`` over drawn or recorded sets, and with ``decoding="own"`` the
        mean ``coefficients`` of the partitions; or ``error`` of the given set.

    Raises
    ------
    UserError
        For an unknown key or option, and whatever the code refuses.

    Examples
    --------
    >>> import gcexp
    >>> gcexp.error(code="fractional_repetition", n=6, s=[1, 2], **{"code.d": 2})["upper"].round(4).tolist()
    [0.0, 0.3333]
    """
    import pandas as pd

    from gcexp.decoding_error import error as measured

    given = Given.of(overrides, keys)
    code = build(compose(given.overrides) | given.objects, "code")
    if s is None and kind in ("set", "by_worker"):
        s = []
    elif s is None:
        s = list(range(code.n + 1))
    if max_sets is None:
        max_sets = measured.MAX_SETS
    if max_searched is None:
        max_searched = measured.MAX_SEARCHED
    found = measured.error(
        code,
        s,
        kind,
        decoding,
        stragglers=stragglers,
        p=p,
        trace=trace,
        trials=trials,
        seed=seed,
        steps=steps,
        max_sets=max_sets,
        max_searched=max_searched,
        progress=progress,
    )
    if not isinstance(found, list):
        found = [found]
    table = pd.DataFrame([dataclasses.asdict(one) for one in found])
    if decoding != "own":
        table = table.drop(columns=["coefficients", "coefficients_stderr"], errors="ignore")
    return table


def show(*overrides: str, seed: int = 0, **keys: Any) -> Figure:
    """Draw the first iteration of a seed: a strip per worker, the stop, and the messages that are decoded with.

    Parameters
    ----------
    *overrides : str
        Hydra overrides, as on the command line: ``"code.beta=15"``.
    seed : int
        Whose draws are shown.
    **keys
        The same as keyword arguments, as in `gcexp.simulate`: ``scheme="cgc", n=8, s=2, delay="pareto"``.

    Returns
    -------
    matplotlib.figure.Figure
        Times in simulated seconds; workers by their seat in the code.

    Raises
    ------
    UserError
        For an unknown key or option, and for a value outside what the mathematics allows.

    Examples
    --------
    >>> import gcexp
    >>> figure = gcexp.show(scheme="cgc", n=6, s=2, delay="pareto")
    >>> [axes.get_title() for axes in figure.axes]
    ['who is heard', 'what is decoded with']
    """
    from gcexp.figures import gantt, style
    from gcexp.timeline import first_iteration, in_times_of

    given = Given.of(overrides, keys)
    seed = fitted(int, seed, "seed")
    run = Run.of(given.overrides, given.objects, trains=False)
    scheme = in_times_of(run.scheme_of(seed), run.delay_model)
    code = scheme.code
    seen = first_iteration(scheme, run.delay_model.draw((seed,), 1, code.n))
    responses = scheme.counted(seen.responses[None])[0]
    heard = f"{int((responses > 0).sum())} of {code.n} workers heard"
    decoded = _decoded_in_words(scheme, seen.responses)
    title = f"{type(code).__name__}, n = {code.n}: stop at {seen.stop:.3g} s, {heard}, {decoded}"
    note = f"First iteration of seed {seed} on the simulated clock. Upright marks are messages that have arrived."
    with style.use_style():
        return gantt.strips(
            seen.computed, seen.arrived, seen.stop, responses, _supports(code), code.k, title, note
        )


def _decoded_in_words(scheme: Scheme, responses: np.ndarray) -> str:
    """What is decoded from the responses (n,) of an iteration."""
    if scheme.bound:
        return "a bound: nothing is decoded"
    if not scheme.decodes:
        return "a clock only: nothing is decoded yet"
    coefficients = scheme.decoder.decode(responses[None], partial=True).coefficients[0]
    return f"{int((coefficients == 1).sum())} of {scheme.code.k} partitions decoded"


def _supports(code: Code) -> list[list[np.ndarray]]:
    """Of every worker's messages, in their order, the partitions that are in it."""
    rows = code.encoding.tocsr()
    found: list[list[np.ndarray]] = [[] for _ in range(code.n)]
    for row, owner in enumerate(code.owner):
        held = rows.indices[rows.indptr[row] : rows.indptr[row + 1]] // code.blocks
        found[owner].append(held)
    return found
