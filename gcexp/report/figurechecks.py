"""Is what a figure file says right? All that can be known before the first job is told while the file is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gcexp.errors import UserError, require, require_known, unknown
from gcexp.figures.plots import BarsPlot, Drawn, LinesPlot, Plot
from gcexp.figures.plots import parse as parse_plot
from gcexp.figures.tables import FLOAT
from gcexp.report.columns import Timings, key_columns
from gcexp.report.figure import Figure
from gcexp.run.datasets import check_data_set
from gcexp.run.declarations import check_named, scores_of_task
from gcexp.run.dependencies import dotted_names
from gcexp.run.result_columns import CURVE
from gcexp.run.seeds import check_count

#: The class that replays a recorded trace, and what it is found by in a composed delay model.
_TRACE = "gcexp.delays.trace.Trace"


def check_figure(figure: Figure) -> None:
    """Whether the figure has what its kind is made of, and whether all that its file names will be there.

    Raises
    ------
    UserError
        The first mistake, with the key that it stands under.
    """
    _check_kind(figure)
    _check_values(figure)
    _check_tasks(figure)
    _check_traces(figure)
    _check_own_columns(figure)
    _check_labels(figure)
    _check_plot(figure)
    str(figure.note)  # the text with the values of the runs in it


def _check_kind(figure: Figure) -> None:
    """Whether the figure has what its kind is made of."""
    file = figure.file
    if file.timings != Timings():
        require(file.kind == "timings", f"timings are rows of kind timings, got kind {file.kind}")
    if file.passages is not None:
        require(file.kind == "curves", f"passages are rows of kind curves, got kind {file.kind}")
    if file.kind == "analysis":
        function = file.analysis.get("function")
        what = "the dotted name of a function, as .numerics.table of the paper"
        require(isinstance(function, str), f"analysis.function is {what}, got {function!r}")
    else:
        require(bool(figure.runs), f"kind {file.kind} needs runs")
    if file.kind == "curves":
        for run in figure.runs:
            require(run.trains, f"kind curves needs a task, and run {run.label!r} has none")
    if file.kind == "timings":
        for label in (*file.timings.against, *file.timings.against.values()):
            require_known("label", label, figure.labels, "timings.against")
        if file.timings.exact is not None:
            check_named(file.timings.exact, "timings.exact")


def _check_values(figure: Figure) -> None:
    """Whether the numbers of the file itself can be meant."""
    file = figure.file
    if file.level is not None:
        require(math.isfinite(file.level), f"level must be a finite number, got {file.level}")
    for column, share in file.tolerances.items():
        require(share >= 0, f"tolerances: {column} must be a share of at least 0, got {share:g}")
    if file.passages is None:
        return
    require(bool(file.passages.levels), "passages.levels must be scores to be reached, got none")
    for level in file.passages.levels:
        require(math.isfinite(level), f"passages.levels must be finite numbers, got {level}")
    for run in figure.runs:
        scores = scores_of_task(run.config["task"])
        if scores is not None:
            require_known("score", file.passages.y, scores, "passages.y")


def _check_tasks(figure: Figure) -> None:
    """Whether the data sets are there, and how often a training is scored and replayed."""
    for run in figure.runs:
        if not run.trains:
            continue
        task = run.config["task"]
        check_data_set(task.get("dataset"))
        for key in ("evaluate_every", "verify_every"):
            if key in task:
                check_count(f"task.{key}", task[key])


def _check_traces(figure: Figure) -> None:
    """Whether the traces that are replayed are there; what stands in them is checked by who reads them."""
    files: set[str] = set()
    for run in figure.runs:
        files |= _trace_files(run.config["delay"])
    if not files:
        return
    from gcexp.traces.places import located

    for file in sorted(files):
        located(file)


def _trace_files(node: Any) -> set[str]:
    """The files of all traces in a delay model, which may be made of several."""
    files: set[str] = set()
    if isinstance(node, dict):
        file = node.get("file")
        if node.get("_target_") == _TRACE and isinstance(file, str):
            files.add(file)
        for value in node.values():
            files |= _trace_files(value)
    elif isinstance(node, list):
        for value in node:
            files |= _trace_files(value)
    return files


def _check_own_columns(figure: Figure) -> None:
    """Whether the figure's own columns have names that no other column of the table has."""
    file = figure.file
    taken = ["label", "run", *key_columns(figure.runs)]
    if file.kind == "timings":
        taken += file.timings.columns
    elif file.passages is not None:
        taken += file.passages.columns
    else:
        taken += CURVE
    for name in figure.own_columns:
        require(name != "", "columns.NAME: a column of the figure's own needs a name")
        require(name not in taken, f"columns.{name}: the table has a column {name!r} of this name already")


def _check_labels(figure: Figure) -> None:
    """Whether runs of one label differ in a column that says so: a table and MLflow know runs by these."""
    known: dict[tuple, str] = {}
    for row in _rows(figure):
        run = row.pop("run")
        told_apart_by = tuple(f"{name}={value}" for name, value in row.items())
        other = known.setdefault(told_apart_by, run)
        if other != run:
            raise UserError(
                f"runs: the label {row['label']!r} stands for two runs that no column tells apart, {other} and {run}; "
                "give each a label of its own"
            )


def _check_plot(figure: Figure) -> None:
    """Whether plot and tolerances are about columns that the table will have, and functions are there."""
    plot = parse_plot(figure.file.plot)
    known = figure.columns
    drawn: tuple[str, ...] = plot.columns_drawn
    tolerated: Iterable[str] = figure.file.tolerances
    if known is None and figure.runs:  # a task that declares no scores: what tells its runs apart is known
        known = [*figure.identifying_columns, *CURVE]
        drawn = plot.keys
        tolerated = ()
    if known is not None:
        for column in drawn:
            require_known("column", column, known, "plot")
        for column in tolerated:
            require_known("column", column, known, "tolerances")
    for function in dotted_names(figure.file.plot):
        check_named(function, "plot.function")
    _check_names(figure, plot)


def _check_names(figure: Figure, plot: Plot) -> None:
    """Whether values that a plot names stand in the table, as far as its runs say them."""
    rows = _rows(figure)
    known = _known_columns(rows)
    for column, wanted in plot.where.items():
        if column in known:
            rows = _rows_with(rows, column, wanted)
    if isinstance(plot, Drawn) and plot.panel in known:
        for key in ("panel_titles", "xlabel", "ylabel"):
            _check_mapping(rows, plot.panel, getattr(plot, key, None), f"plot.{key}")
    if isinstance(plot, BarsPlot) and plot.by in known:
        _check_mapping(rows, plot.by, plot.reference, "plot.reference")
    if isinstance(plot, LinesPlot) and plot.by in known:
        _check_mapping(rows, plot.by, dict.fromkeys(plot.dashed), "plot.dashed")
        if plot.curves:
            _check_one_run_on_a_line(rows, plot, known)
    for key in ("x", "y", "threshold", "reference"):
        column = getattr(plot, key, None)
        if isinstance(column, str) and column in known:
            for row in rows:
                value = row[column]
                is_number = value is None or _number(value) is not None
                require(is_number, f"plot.{key}: column {column!r} holds text, where a plot needs numbers")


def _check_one_run_on_a_line(rows: list[dict[str, Any]], plot: LinesPlot, known: set[str]) -> None:
    """Whether each line of curves is of one run, as far as the columns are known that tell lines apart."""
    columns = [plot.by] if plot.panel is None else [plot.by, plot.panel]
    if not known.issuperset([*columns, *plot.where]):
        return
    run_of: dict[tuple, str] = {}
    for row in rows:
        line = tuple(str(row[column]) for column in columns)
        if run_of.setdefault(line, row["run"]) != row["run"]:
            raise UserError(
                f"plot: the line {line[0]!r} would have several runs, each with a clock of its own; let the label name "
                "a swept value, as in {code.d}, or tell them apart by panel or where"
            )


def _rows_with(rows: list[dict[str, Any]], column: str, wanted: object) -> list[dict[str, Any]]:
    """The rows that a plot chooses by the values of a column; there must be some."""
    values = wanted if isinstance(wanted, list | tuple) else [wanted]
    names = [str(value) for value in values]
    found = []
    for row in rows:
        if not _spellings(row[column]).isdisjoint(names):
            found.append(row)
    if not found:
        raise UserError(f"plot.where: {unknown(column, wanted, _every_spelling(rows, column))}")
    return found


def _rows(figure: Figure) -> list[dict[str, Any]]:
    """What is known of the table before it is made: of each run the columns that tell it apart."""
    keys = key_columns(figure.runs)
    rows = []
    for run in figure.runs:
        of_keys = {key: values[run.id] for key, values in keys.items()}
        rows.append(of_keys | dict(run.columns) | {"label": run.label, "run": run.id})
    return rows


def _known_columns(rows: list[dict[str, Any]]) -> set[str]:
    """The columns of which every row says one value."""
    if not rows:
        return set()
    columns = set(rows[0])
    for row in rows:
        for column in list(columns):
            if column not in row or isinstance(row[column], list):
                columns.discard(column)
    return columns


def _check_mapping(rows: list[dict[str, Any]], column: str, given: object, place: str) -> None:
    """Whether the names in a mapping are values of a column."""
    if not isinstance(given, dict):
        return
    names = _every_spelling(rows, column)
    for name in given:
        require_known(column, str(name), names, place)


def _every_spelling(rows: list[dict[str, Any]], column: str) -> list[str]:
    """How the values of a column may be written, in the order of the rows."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(sorted(_spellings(row[column])))
    return list(found)


def _spellings(value: Any) -> set[str]:
    """How a value may be written: as it stands in the file, and as it is read back from the table."""
    found = {str(value)}
    number = _number(value)
    if number is not None and math.isfinite(number):
        rounded = float(FLOAT % number)
        found |= {str(number), str(rounded)}
        if rounded.is_integer():
            found.add(str(int(rounded)))
    return found


def _number(value: Any) -> float | None:
    """The number that a value is, or is read back as; None for any other text."""
    if not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
