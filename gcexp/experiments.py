"""One's own experiments from Python: `simulate`, `train`, `sweep` give tidy tables, `plot` and `show` draw.

The same composition, checks, draws and bits as the workflow, without its files.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gcexp.errors import ExtraError, ParameterError, UserError, lacking, unknown
from gcexp.files import read_json
from gcexp.progress import bar
from gcexp.run import paths
from gcexp.run.build import GROUPS_BUILT, build
from gcexp.run.checks import check_scheme
from gcexp.run.compose import compose, look_again
from gcexp.run.datasets import prepared
from gcexp.run.dependencies import digest_of, tracked
from gcexp.run.run import seed_range, spelled_seeds
from gcexp.run.scheme import build_scheme, require_trainable, schemes_kept
from gcexp.run.stages import decided_by, length_of, simulated, summarised, trained, verified
from gcexp.schema import fitted, quoted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gcexp.codes import Code
    from gcexp.delays import Trace
    from gcexp.run.records import Seen
    from gcexp.run.result import Result
    from gcexp.submission import Job
    from gcexp.tasks.training import Trajectory
    from gcexp.timeline import Timeline

_TEXT = (str, int, float, list, tuple, type(None))  # what an override spells
ROWS = Literal["seeds", "running", "iterations"]


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
    look_again()
    rows, progress = fitted(ROWS, rows, "rows"), fitted(bool, progress, "progress")
    point = _point(overrides, keys)
    with schemes_kept():
        point.check()
        return _clock_table([point], rows, progress=progress)


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
    look_again()
    progress = fitted(bool, progress, "progress")
    point = _point(overrides, keys)
    point.check()
    found, reports = _training_table([point], verify, resume=False, progress=progress)
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
    rows, progress = fitted(ROWS, rows, "rows"), fitted(bool, progress, "progress")
    lists = _lists(grid, keys)
    look_again()
    with schemes_kept():
        points, left_out = _possible_points(lists, overrides, keys, skip=impossible == "skip")
        trains = any(text.startswith("task=") for text in overrides) or "task" in keys | lists
        if submit is not None:
            found, reports = _submitted(points, None if trains else rows, verify, submit)
        elif trains:
            found, reports = _training_table(points, verify, resume=True, jobs=jobs, progress=progress)
        else:
            found, reports = _clock_table(points, rows, jobs=jobs, progress=progress), []
    from gcexp.run.result import Kept

    if left_out:
        found.attrs["impossible"] = Kept(points=left_out)
        *place, (_, reason) = left_out[0].items()
        warnings.warn(
            f"{len(left_out)} of {len(left_out) + len(points)} points are impossible and left out, see "
            f"table.impossible; {_name_of(dict(place))}: {reason}",
            stacklevel=2,
        )
    if trains and verify:
        names = [_name_of({key: point.keys[key] for key in lists}) for point in points]
        found.attrs["verification"] = Kept(zip(names, reports, strict=True))
        _warn(found.attrs["verification"])
    return found


def _lists(grid: Mapping[str, Sequence[Any]], keys: Mapping[str, Any]) -> dict[str, list]:
    """The values that each key of a grid takes."""
    if not isinstance(grid, Mapping):
        raise UserError(f"the grid names keys and the values they take, as in {{'s': [2, 5]}}, got {grid!r}")
    lists = {}
    for key, values in grid.items():
        if not isinstance(values, Iterable):
            raise UserError(
                f"{key} is swept over a list of values, as in {{{key!r}: [{values!r}]}}, got {values!r}"
            )
        lists[key] = [values] if isinstance(values, str) else list(values)
        if not lists[key]:
            raise UserError(f"{key}: the list of values to sweep is empty")
        if key in keys:
            raise UserError(f"{key} stands both in the grid and beside it; give it once")
    if "seeds" in lists:
        raise UserError(f"seeds are the rows of every run and not swept: give the most, got {lists['seeds']}")
    return lists


def _possible_points(
    lists: dict[str, list], overrides: Iterable[str], keys: Mapping[str, Any], skip: bool
) -> tuple[list[_Point], list[dict]]:
    """The points of a grid, checked before anything runs, and those that the mathematics does not allow, with reasons.

    It raises where no point is possible, and where impossible ones are not to be skipped.
    """
    combined = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    points, left_out = [], []
    for chosen in combined:
        try:
            point = _point(overrides, {**keys, **chosen}, lists)
            point.check()
        except ParameterError as error:
            left_out.append(chosen | {"reason": str(error)})
            if not skip or len(left_out) == len(combined):
                raise
        else:
            points.append(point)
    return points, left_out


def _submitted(
    points: list[_Point], rows: str | None, verify: bool, profile: str
) -> tuple[Result, list[dict]]:
    """The table of a sweep whose points are jobs of Snakemake's, and the reports of their replays; `rows` of clocks."""
    from gcexp.submission import profile_folder, read_point, submit

    profile_folder(profile)  # complain before any work
    for point in points if rows is None else ():
        require_trainable(point.config)
    jobs: dict[str, Job] = {}
    files = [_add_jobs(jobs, point, rows, verify) for point in points]
    submit(jobs, profile)
    columns, reports = zip(*map(read_point, files), strict=True)
    return _result(points, list(columns)), list(reports)


def _add_jobs(jobs: dict[str, Job], point: _Point, rows: str | None, verify: bool) -> str:
    """Add the jobs of a point, and say which file will hold what it measures."""
    from gcexp.submission import Job

    config, run = point.config, sorted(point.overrides)
    if not point.is_named:
        built = ", ".join(key for key in GROUPS_BUILT if not _is_plain(config.get(key)))
        raise UserError(f"jobs take names and numbers, got an object for {built}; leave submit out")
    if compose(run) != config:  # the order of what was given matters
        run = point.overrides
    fingerprint, pattern = tracked("timeline", config), paths.SWEEP_POINT
    task, needs = str(point.keys.get("task", "default")), list[str]()
    if rows is not None:
        fingerprint, options = [*fingerprint, *tracked("timings")], ["--rows", rows]
    else:
        # Data are prepared here, where there is a network.
        data = read_json(prepared(build(config, "task").dataset, config["data_dir"]).with_suffix(".json"))
        learned = decided_by(config, data)
        fingerprint = [*fingerprint, *learned, *tracked("curves"), *tracked("replay", config)]
        if config["exact"]:
            length = length_of(config)
            decisive = [config["task"], config["optimizer"], length.iterations, length.seeds]
            shared = paths.SWEEP_TRAINING.format(name=digest_of(decisive), task=task)
            jobs.setdefault(shared, Job(_learning(point), learned, [], []))
            options, needs = ["--trained", shared], [shared]
        else:
            options, pattern = ["--train"], paths.SWEEP_TRAINED_POINT
        options += ["--verify"] if verify else []
    job = Job(run, fingerprint, options, needs)
    file = job.named(pattern, task=task)
    jobs[file] = job
    return file


def _learning(point: _Point) -> list[str]:
    """Overrides of a training that exact schemes share: without the scheme's, unless the task depends on them."""
    keys = ("task", "optimizer", "iterations", "seeds", "data_dir")
    own = sorted(text for text in point.overrides if re.split("[.=]", text.lstrip("+~"))[0] in keys)
    alone = compose(own)
    same = all(alone[key] == point.config[key] for key in ("task", "optimizer"))
    return own if same else point.overrides


def measure_point(
    overrides: Sequence[str],
    output: Path,
    rows: str = "seeds",
    train: bool = False,
    given: Path | None = None,
    verify: bool = False,
) -> None:
    """Write what a point of a submitted sweep measures, as `sweep` would have it: its clock, or scores on it.

    They are those of a training of its own (`train`), or of the `given` trajectory that exact schemes share.
    """
    from gcexp.submission import write_point
    from gcexp.tasks.training import Trajectory

    point = _point(overrides, {})
    with schemes_kept():
        if not (train or given):
            write_point(output, _clock_columns(point, fitted(ROWS, rows, "rows"), False))
            return
        timeline = _timeline(point)
        learned = (Trajectory.load(given), None) if given else _trained(point, timeline, True, False)
        trajectory, place = learned
        columns = _score_columns(point, timeline, trajectory)
        report = point.verified(timeline, trajectory) if verify else None
    write_point(output, columns, report)
    _forget(place)


def _forget(place: Path | None) -> None:
    """Delete the state of a training that is finished."""
    for file in place.parent.glob(f"{place.name}*") if place else ():
        file.unlink(missing_ok=True)


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
        Column whose values are the lines or bars; by default every other key that takes several values.
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

    from gcexp.run.result import Result

    if not isinstance(table, pd.DataFrame):
        raise UserError(f"plot takes a table of simulate, train or sweep, got {table!r}")
    given = table.attrs.get("keys") or [name for name in table if name not in _MEASURED]
    varied = [key for key in given if table[key].nunique(dropna=False) > 1]
    numbers = [key for key in varied if table[key].map(lambda value: isinstance(value, int | float)).all()]
    if x is None:
        places = [name for name in ("simulated_time_s", "iteration") if name in table]
        x = (places or numbers or [None])[0]
    times = [name for name in ("iteration_time_s", "mean_iteration_time_s") if name in table]
    y = y or [*Result(table).scores, *times, "mean_iteration_time_s"][0]
    for name in (x, y, line):
        if name is not None and name not in table:
            raise UserError(unknown("column", name, table.columns))
    others = (
        [line] if line else [key for key in varied if key != x] or [key for key in given if key == "scheme"]
    )
    names = table[others].astype(str).agg(", ".join, axis=1) if others else "all"
    title, note = options.pop("title", ""), options.pop("note", "The clock is simulated.")
    wanted = {"kind": "lines", "x": x, "y": y, "by": "line"} if x else {"kind": "bars", "y": y, "by": "line"}
    try:
        from gcexp.figures import draw, parse
        from gcexp.figures.compose import draw_on

        if ax is None:
            return draw(table.assign(line=names), wanted | options, title, note)
        if not callable(getattr(ax, "get_window_extent", None)):
            raise UserError(f"ax is a pair of matplotlib's axes, got {quoted(ax)}")
        draw_on(ax, table.assign(line=names), parse(wanted | options), title)
        return ax
    except ModuleNotFoundError as error:
        if sentence := lacking(error):
            raise ExtraError(sentence) from None
        raise


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
    from gcexp.figures import read_table
    from gcexp.report.comparison import comparison, identifying_columns
    from gcexp.report.figurefile import figure
    from gcexp.report.published import table_of

    if not isinstance(of, str):
        from gcexp.run.result import Result  # with pandas, which a mistyped target does without

        if isinstance(of, Result):
            found = of.mean_time() if level is None else of.time_to(level)
            column = "mean_iteration_time_s" if level is None else f"time_to_{level:g}"
            return found.sort_values(column, ignore_index=True)
        raise UserError(f"compare takes a figure's target or a table of train or sweep, got {quoted(of)}")
    if not (shown := figure(of, preset)).runs:
        raise UserError(f"{of} has no runs to compare: it is of kind {shown.file.kind}")
    return identifying_columns(comparison(shown, read_table(table_of(shown)), level), shown)


def error(
    *overrides: str,
    s: int | Sequence[int] | None = None,
    kind: str = "worst",
    decoding: str = "optimal",
    stragglers: Iterable[int] | None = None,
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
    kind, decoding, stragglers, trials, seed, steps, max_sets, max_searched, progress
        See `gcexp.decoding_error.error.error`; by default up to 60 million sets are searched.

    Returns
    -------
    DataFrame
        One row for each s: ``lower`` and ``upper`` of the worst error ||c - 1||^2 / k, which are equal where it is
        known exactly; ``mean``, ``stderr`` and ``largest`` over random sets; or ``error`` of the given set.

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
    import dataclasses

    import pandas as pd

    from gcexp.decoding_error import error as measured

    code = build(_point(overrides, keys).config, "code")
    wanted = ([] if kind == "set" else list(range(code.n + 1))) if s is None else s
    found = measured.error(
        code,
        wanted,
        kind,
        decoding,
        stragglers=stragglers,
        trials=trials,
        seed=seed,
        steps=steps,
        max_sets=measured.MAX_SETS if max_sets is None else max_sets,
        max_searched=measured.MAX_SEARCHED if max_searched is None else max_searched,
        progress=progress,
    )
    return pd.DataFrame([dataclasses.asdict(one) for one in (found if isinstance(found, list) else [found])])


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
    from gcexp.timeline import first_iteration

    config, seed = _point(overrides, keys).config, fitted(int, seed, "seed")
    scheme = build_scheme(config, seed)
    code = scheme.code
    seen = first_iteration(scheme, build(config, "delay").draw((seed,), 1, code.n))
    if config["bound"]:
        decoded = "a bound: nothing is decoded"
    else:
        c = code.decode(seen.responses[None], partial=True).coefficients[0]
        decoded = f"{int((c == 1).sum())} of {code.k} partitions decoded"
    heard = f"{int((seen.responses > 0).sum())} of {code.n} workers heard"
    title = f"{type(code).__name__}, n = {code.n}: stop at {seen.stop:.3g} s, {heard}, {decoded}"
    note = f"First iteration of seed {seed} on the simulated clock. Upright marks are messages that have arrived."
    with style.applied():
        return gantt.strips(
            seen.computed, seen.arrived, seen.stop, seen.responses, _supports(code), code.k, title, note
        )


def _supports(code: Code) -> list[list[np.ndarray]]:
    """Of every worker's messages, in their order, the partitions that are in it."""
    rows = code.encoding.tocsr()
    found: list[list[np.ndarray]] = [[] for _ in range(code.n)]
    for row, owner in enumerate(code.owner):
        held = rows.indices[rows.indptr[row] : rows.indptr[row + 1]] // code.blocks
        found[owner].append(held)
    return found


# --- One point ---------------------------------------------------------------------------------------------------

_ERROR = "mean_decoding_error"  # in a table's attrs: tables of clocks keep the columns that they always had
_MEASURED = ("seed", "iteration", "iterations", "simulated_time_s", "mean_iteration_time_s")


@dataclass(frozen=True)
class _Point:
    """A composed run with the objects that a person gave, the keys they gave it by, and the same as overrides."""

    config: dict
    keys: dict[str, Any]
    overrides: list[str]

    def check(self) -> None:
        """Complain before any work."""
        length_of(self.config)
        check_scheme(self.config)
        build(self.config, "delay")

    @property
    def is_named(self) -> bool:
        """Whether options and values say all of it: an object that a person built may be any."""
        return all(map(_is_plain, self.config.values()))

    def data(self, dataset: str) -> Path:
        """Where a data set is prepared, as it is now."""
        return prepared(dataset, self.config["data_dir"], home=True)

    def verified(self, timeline: Timeline, trajectory: Trajectory) -> dict:
        """What the replay of a training finds."""
        return verified(self.config, timeline, trajectory, self.data)


def _point(overrides: Iterable[str], keys: Mapping[str, Any], swept: Iterable[str] = ()) -> _Point:
    """Compose a run of overrides and keys, in which objects take the place of options."""
    for text in overrides:
        if not isinstance(text, str):
            more = "; a mapping is given as **keys" if isinstance(text, Mapping) else ""
            raise UserError(f"an override is text, as in 'code.beta=15', got {quoted(text)}{more}")
    objects, texts = {}, [*overrides]
    given: dict[str, Any] = dict(text.partition("=")[::2] for text in overrides)
    for key, value in keys.items():
        if key == "delay" and hasattr(value, "shape") and not hasattr(value, "draw"):
            objects[key], given[key] = _replayed(value)
        elif isinstance(found := _key_value(key, value), _TEXT):
            texts.append(f"{key}={_spelled(found)}")
            given[key] = found
        else:
            objects[key], given[key] = found, repr(found)
    rows = {"seeds", "iterations"} - {*swept}  # what the rows themselves say
    return _Point(compose(texts) | objects, {k: v for k, v in given.items() if k not in rows}, texts)


def _key_value(key: str, value: Any) -> Any:
    """The value of a key: what an override can spell, or an object of the key's kind."""
    if hasattr(value, "tolist") and key not in GROUPS_BUILT:  # numbers of numpy's
        value = value.tolist()
    if key == "seeds":
        return spelled_seeds(seed_range(value))
    if isinstance(value, _TEXT):
        return value
    if key not in GROUPS_BUILT:
        known = ", ".join(GROUPS_BUILT)
        raise UserError(f"{key} is a name or a number, got {quoted(value)} (objects are taken for: {known})")
    return build({key: value}, key)


def _replayed(times: Any) -> tuple[Trace, str]:
    """The delay model that replays times in memory, a frame or an array (iterations, workers), and a name for it."""
    from gcexp.delays import Trace
    from gcexp.delays.trace_file import trace_of

    file = trace_of(times)
    recorded = file.values["time"]
    rows, workers = recorded.shape
    digest = digest_of(recorded.tolist())[:6]
    return Trace(file), f"{file.name} of {rows} iterations and {workers} workers ({digest})"


def _spelled(value: Any) -> str:
    """A value as an override spells it; an object by its repr."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, _TEXT) else repr(value)


def _clock_table(points: list[_Point], rows: str, jobs: int = 1, progress: bool = True) -> Result:
    """The clocks of some points."""
    clock = partial(_clock_columns, rows=rows, progress=progress and len(points) == 1)
    return _result(points, _for_each(clock, [(point,) for point in points], "timelines", jobs, progress))


def _training_table(
    points: list[_Point], verify: bool, resume: bool, jobs: int = 1, progress: bool = True
) -> tuple[Result, list[dict]]:
    """The curves of some points, of which all exact ones share a training, and the reports of their replays.

    With `resume` trainings keep checkpoints, from which a call that is repeated goes on.
    """
    for point in points:
        require_trainable(point.config)
    timeline = partial(_timeline, progress=progress and len(points) == 1)
    timelines = _for_each(timeline, [(point,) for point in points], "timelines", jobs, progress)
    runs = list(zip(points, timelines, strict=True))
    keys, first = [], dict[str, tuple]()
    for place, (point, clock) in enumerate(runs):
        config, length = point.config, length_of(point.config)
        # With an exact scheme neither scheme nor clock decides what is learned.
        exact = repr([config["task"], config["optimizer"], length.iterations, length.seeds])
        keys.append(exact if _is_exact(clock) else str(place))
        first.setdefault(keys[-1], (point, clock))
    train_one = partial(_trained, resume=resume, progress=progress and len(first) == 1)
    done = _for_each(train_one, [*first.values()], "trainings", jobs, progress)
    trajectories = {key: trajectory for key, (trajectory, _) in zip(first, done, strict=True)}
    learned = [(*run, trajectories[key]) for run, key in zip(runs, keys, strict=True)]
    table = _result(points, [_score_columns(*one) for one in learned])
    reports = _for_each(_Point.verified, learned, "replays", jobs, progress) if verify else []
    for _, place in done:  # the next call begins anew
        _forget(place)
    return table, reports


def _timeline(point: _Point, progress: bool = False) -> Timeline:
    length = length_of(point.config)
    with bar(len(length.seeds) * length.iterations, "clock", "iteration", progress) as moving:
        return simulated(point.config, length, moving.update)


def _clock_columns(point: _Point, rows: str, progress: bool) -> dict[str, np.ndarray]:
    """Columns of a clock; one row per seed has its decoding error beside them, under `_ERROR`."""
    from gcexp.run.measured import marks, summary_columns, timing_columns
    from gcexp.summary import summary_of

    length = length_of(point.config)
    if rows == "iterations":  # what needs them has all durations in memory
        return timing_columns(_timeline(point, progress), point.config, rows)
    if length.horizon is not None:
        timeline = _timeline(point, progress)
        at = marks(timeline.duration.shape[1], rows)
        found = summary_of(timeline, point.config["bound"], at)
    else:
        at = marks(length.iterations, rows)
        with bar(len(length.seeds) * length.iterations, "clock", "iteration", progress) as moving:
            found = summarised(point.config, length, at, moving.update)
    return summary_columns(found, point.config, at) | ({} if at else {_ERROR: found.error})


def _score_columns(point: _Point, timeline: Timeline, trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Columns of a training: scores on the clock, and what the code of each seed costs."""
    import numpy as np

    from gcexp.run.measured import costs, scored

    frame = scored(timeline, trajectory, "", "").drop(columns=["label", "run"])
    row = np.searchsorted(timeline.seeds, frame["seed"])  # seeds rise
    loads = {name: values[row] for name, values in costs(timeline.seeds, point.config).items()}
    return {str(name): values.to_numpy() for name, values in frame.items()} | loads


def _result(points: list[_Point], columns: list[dict[str, np.ndarray]]) -> Result:
    """One table of the columns of many points, behind a column for every key, with what is known about its runs.

    Columns are joined before they become a table: a table for each point would cost most of the time.
    """
    import numpy as np
    import pandas as pd

    from gcexp.run.provenance import packages, versions
    from gcexp.run.result import Kept, Result

    lengths = [len(one["seed"]) for one in columns]
    names = list(dict.fromkeys(name for one in columns for name in one))
    keys = list(dict.fromkeys(key for point in points for key in point.keys))
    given = {}
    for key in (key for key in keys if key not in names):
        values = [point.keys.get(key) for point in points]
        cells = [_spelled(value) if isinstance(value, list | tuple) else value for value in values]
        given[key] = pd.Series(cells, dtype=object).infer_objects()
    measured = {
        name: np.concatenate(
            [one.get(name, np.full(length, np.nan)) for one, length in zip(columns, lengths, strict=True)]
        )
        for name in names
    }
    found = Result({key: values.repeat(lengths).array for key, values in given.items()} | measured)
    if _ERROR in found:
        found.attrs[_ERROR] = found.pop(_ERROR).tolist()
    configs = [{k: v if _is_plain(v) else repr(v) for k, v in point.config.items()} for point in points]
    found.attrs["keys"] = keys
    found.attrs["provenance"] = Kept(points=configs, versions=versions(), packages=packages())
    return found


def _name_of(chosen: Mapping[str, Any]) -> str:
    """The name of a point of a sweep: its keys and their values."""
    return ", ".join(f"{key}={_spelled(value)}" for key, value in chosen.items())


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | dict | list)


def _trained(
    point: _Point, timeline: Timeline, resume: bool, progress: bool
) -> tuple[Trajectory, Path | None]:
    """Train a point, perhaps from where an earlier call was when it ended, and say where its state is kept."""
    from gcexp.run.own_checkpoint import OwnCheckpoint

    config, length = point.config, length_of(point.config)
    clock = None if _is_exact(timeline) else timeline
    if not (resume and point.is_named and os.access(".", os.W_OK)):
        return trained(config, clock, point.data, None, progress), None
    states = list[Path]()

    def kept(decided: list[str], seen: Seen) -> OwnCheckpoint:
        own = tracked("timeline", config) if clock else []
        key = [*decided, *own, config["n"], length.iterations, length.horizon]
        states.append(Path(paths.SWEPT.format(point=digest_of(key))))
        return OwnCheckpoint(states[0], decided, seen)

    return trained(config, clock, point.data, kept, progress), states[0]


def _is_exact(timeline: Timeline) -> bool:
    """Whether all that a training takes from it is how long it is: what every exact scheme shares."""
    return bool((timeline.coefficients == 1).all())


def _warn(reports: Mapping[str, dict]) -> None:
    """Warn of verifications that failed."""
    failed = {point: report for point, report in reports.items() if not report["passed"]}
    if failed:
        from gcexp.run.verification import failure

        told = [f"{point}: {failure(one['failures'])}".removeprefix(": ") for point, one in failed.items()]
        warnings.warn(f"verification failed: {'; '.join(told)} (attrs['verification'] has all)", stacklevel=3)


def _for_each(function: Callable, arguments: list[tuple], what: str, jobs: int, progress: bool) -> list:
    """Call a function with every tuple of arguments, some processes side by side; several calls have a progress bar."""
    if min(jobs, len(arguments)) == 1:
        results = itertools.starmap(function, arguments)
    else:
        from joblib import Parallel, delayed

        calls = (delayed(function)(*each) for each in arguments)
        results = Parallel(n_jobs=min(jobs, len(arguments)), return_as="generator")(calls)
    found = []
    with bar(len(arguments), what, "run", progress and len(arguments) > 1) as moving:
        for result in results:
            found.append(result)
            moving.update()
    return found
