"""Columns of several series: a panel of Weights & Biases has ``RUN - METRIC``, Prometheus writes ``{instance="a"}``."""

from __future__ import annotations

import re
from dataclasses import replace

from gcexp_adviser.logs.names import Names, name_of
from gcexp_adviser.logs.tables import Table

_BETWEEN = " - "  # a run and what was measured
_BOUNDS = ("__MIN", "__MAX")
_DECIMAL = re.compile(r"\d*\.\d+|\d+e-?\d+")  # a setting, as of a learning rate, and no number of a run
_SERIES = re.compile(r"(?P<metric>\w*)\{(?P<labels>.*)\}")
_SERIES_LABEL = re.compile(r'(\w+)="([^"]*)"')


def without_bounds(table: Table, given: dict[str, str]) -> Table:
    """The table without ``NAME__MIN`` and ``NAME__MAX`` beside ``NAME``, unless a person names such columns."""
    named = " ".join(given.values())
    if any(bound in named for bound in _BOUNDS):
        return table
    bounds = []
    for column in table.columns:
        for bound in _BOUNDS:
            if column.endswith(bound) and column.removesuffix(bound) in table.columns:
                bounds.append(column)
    if not bounds:
        return table
    told = f"did not use columns of the least and the greatest values: {bounds[0]}"
    if len(bounds) > 1:
        told += f" and {len(bounds) - 1} more"
    return replace(table, frame=table.frame.drop(columns=bounds), decisions=[*table.decisions, told])


def panel_of(names: Names) -> list[str]:
    """The columns of the runs, where several runs have the same time; none for other tables.

    Examples
    --------
    >>> from gcexp_adviser.logs.names import names_of
    >>> panel_of(names_of(["Step", "run-0 - step_time", "run-1 - step_time"]))
    ['run-0 - step_time', 'run-1 - step_time']
    """
    found = []
    metrics = set()
    for column in names.written:
        run, dash, metric = column.rpartition(_BETWEEN)
        if run and dash and name_of(metric).fits("time"):
            found.append(column)
            metrics.add(metric)
    if len(found) < 2 or len(metrics) > 1:
        return []
    return found


def pattern_of(panel: list[str]) -> str:
    """A pattern for the columns of a panel."""
    return f"*{_BETWEEN}{panel[0].rpartition(_BETWEEN)[2]}"


def are_of_one_job(panel: list[str]) -> bool:
    """Whether the runs' names differ in one place only, as those of the workers of a job do.

    Examples
    --------
    >>> (
    ...     are_of_one_job(["job-rank0 - time", "job-rank1 - time"]),
    ...     are_of_one_job(["lr-0.1 - time", "lr-0.2 - time"]),
    ... )
    (True, False)
    """
    divided = []
    for column in panel:
        run = column.rpartition(_BETWEEN)[0]
        divided.append(re.split(r"[-_ /:]", run))
    if len(set(map(len, divided))) > 1:
        return False
    places = []
    for words in zip(*divided, strict=True):
        if len(set(words)) > 1:
            places.append(words)
    if len(places) != 1:
        return False
    return not any(_DECIMAL.fullmatch(word) for word in places[0])


def series_of(columns: list[str]) -> dict[str, str]:
    """The workers of columns that Prometheus names by labels, of which one differs; none for other columns.

    Examples
    --------
    >>> series_of(["Time", '{instance="a:9100", job="x"}', '{instance="b:9100", job="x"}'])
    {'{instance="a:9100", job="x"}': 'a:9100', '{instance="b:9100", job="x"}': 'b:9100'}
    """
    labels = {}
    metrics = set()
    for column in columns:
        found = _SERIES.fullmatch(column.strip())
        if found:
            labels[column] = dict(_SERIES_LABEL.findall(found["labels"]))
            metrics.add(found["metric"])
    if len(labels) < 2 or len(metrics) > 1 or not _may_be_time(metrics.pop()):
        return {}
    differing = []
    for label in next(iter(labels.values())):
        values = {of_column.get(label, "") for of_column in labels.values()}
        if len(values) == len(labels) and name_of(label).fits("worker"):
            differing.append(label)
    if not differing:
        return {}
    return {column: of_column[differing[0]] for column, of_column in labels.items()}


def _may_be_time(metric: str) -> bool:
    """Whether a metric is a time by its name, or has no name."""
    name = name_of(metric)
    return not metric or bool(name.unit) or name.fits("time")
