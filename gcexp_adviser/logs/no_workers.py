"""Which columns of a wide table hold no times of a worker: counters of rows, ids, and statistics of the same times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from os.path import commonprefix

from gcexp_adviser.logs.columns import Column
from gcexp_adviser.logs.names import Name, listed, typed
from gcexp_adviser.logs.tables import Table

_SPREADS = frozenset("std stdev stddev sd var variance cv".split())
_MEANS = frozenset("mean avg average".split())
_PLACES = {"min": 0.0, "minimum": 0.0, "median": 50.0, "max": 100.0, "maximum": 100.0}
_PERCENTS = frozenset((1, 5, 10, 25, 50, 75, 80, 90, 95, 98, 99))


@dataclass(frozen=True)
class NoWorkers:
    """Columns that are no worker's.

    Attributes
    ----------
    counter : str
        The first one that counts the rows; empty for none.
    ids : str
        The first one whose numbers are ids.
    statistics : list of str
        Those of statistics, as a mean and a deviation, of times that each row is about.
    """

    counter: str
    ids: str
    statistics: list[str]

    def __bool__(self) -> bool:
        return bool(self.counter or self.ids or self.statistics)

    @property
    def told(self) -> str:
        """Why."""
        if self.ids:
            return f"{self.ids} has whole numbers of 18 or more digits, which are ids and no times"
        if self.counter:
            return f"{self.counter} counts the rows, and has no times of a worker"
        return f"{listed(self.statistics)} are statistics of many times, and not the times of a worker each"


def no_workers_among(table: Table, columns: Sequence[str]) -> NoWorkers:
    """Which of some columns are no worker's, whoever takes them for that."""
    read = [table[name] for name in columns if table[name].can_be_read]
    counters = [column.name.written for column in read if _counts(column)]
    ids = [column.name.written for column in read if column.are_ids]
    if max(len(counters), len(ids)) == len(read):
        counters, ids = [], []
    return NoWorkers((*counters, "")[0], (*ids, "")[0], _statistics_among(read))


def what_to_type(table: Table, columns: Sequence[str], found: NoWorkers) -> str:
    """What to type in place of workers in these columns, of which some are none."""
    others = [name for name in columns if name not in (found.ids, found.counter, *found.statistics)]
    if found.ids:
        whole = [*filter(None, [found.counter]), *(name for name in others if table[name].is_whole)]
        times = [name for name in others if name not in whole]
        iteration, time = (*whole, "NAME")[0], (*times, "NAME")[0]
        said = f"iteration:{iteration},worker:{found.ids},time:{time}"
        return f"where each row is of one worker: columns={typed(said)}"
    if found.counter:
        pattern = _pattern_of(others, [name for name in table.columns if name != found.counter])
        said = f"iteration:{typed(found.counter)},workers:{pattern or 'PATTERN'}"
        return f"where it numbers the iterations: columns={said}"
    pattern = _pattern_of(others, table.columns)
    if pattern:
        return f"of the others say columns=workers:{pattern}"
    return "wanted are the times themselves, a column for each worker"


def _counts(column: Column) -> bool:
    """Whether a column that is not called after a worker numbers the rows from 0 or 1 on."""
    return column.name.group in ("", "*") and column.counts_rows and column.numbers.values[0] in (0, 1)


def _pattern_of(columns: Sequence[str], names: Sequence[str]) -> str:
    """A pattern that fits these of all names alone, as it is typed; empty where none is known."""
    if len(columns) < 2:
        return ""
    begin = commonprefix(list(columns))
    end = commonprefix([name[len(begin) :][::-1] for name in columns])[::-1]
    for pattern in ("*", f"{begin}*{end}"):
        if [name for name in names if fnmatchcase(name, pattern)] == list(columns):
            return "*" if pattern == "*" else typed(pattern)
    return ""


# --- statistics -------------------------------------------------------------------------------------------------------


def _statistics_among(columns: Sequence[Column]) -> list[str]:
    """Columns that are called as statistics of the same times, and have the order of these in each row."""
    groups: dict[str, list[tuple[Column, str]]] = {}
    for column in columns:
        statistic, of_what = statistic_in(column.name)
        groups.setdefault(of_what, []).append((column, statistic))
    found = []
    for group in groups.values():
        kinds = {statistic for _, statistic in group}
        if len(kinds) == len(group) > 1 and _fit_together(group):
            found += [column.name.written for column, statistic in group if statistic]
    return found


def statistic_in(name: Name) -> tuple[str, str]:
    """The word of a name that says a statistic, and what it is one of; nothing, and the name, where none does.

    >>> from gcexp_adviser.logs.names import name_of
    >>> [statistic_in(name_of(written)) for written in ("latency_p95_ms", "job-a - time__MIN", "rank7", "p0")]
    [('p95', 'latency'), ('min', 'job_a_time'), ('', 'rank7'), ('', 'p0')]
    """
    words = name.base.split("_")
    for word in words:
        if word in _SPREADS or word in _MEANS or _place_of(word) is not None:
            others = [other for other in words if other != word]
            return word, "_".join(others)
    return "", name.base


def _place_of(word: str) -> float | None:
    """The place of a statistic among all times, in percent; None for what has none, and for other words."""
    found = re.fullmatch(r"[pq](\d\d?)|(\d\d)th", word)
    if found:
        percent = int(found[1] or found[2])
        return float(percent) if percent in _PERCENTS else None
    return _PLACES.get(word)


def _fit_together(group: Sequence[tuple[Column, str]]) -> bool:
    """Whether statistics of the same times have their order in each row; a deviation beside others has none."""
    if any(statistic in _SPREADS for _, statistic in group):
        return True
    ordered = []
    for column, statistic in group:
        place = _place_of(statistic)
        if place is not None:
            ordered.append((place, column.numbers.values))
    ordered.sort(key=lambda pair: pair[0])
    pairs = list(pairwise([values for _, values in ordered]))
    if ordered:
        for (
            column,
            statistic,
        ) in group:  # a mean, or the times themselves, lie between the least and the longest
            if _place_of(statistic) is None:
                pairs += [(ordered[0][1], column.numbers.values)] if ordered[0][0] == 0 else []
                pairs += [(column.numbers.values, ordered[-1][1])] if ordered[-1][0] == 100 else []
    return bool(pairs) and not any((lower > upper).any() for lower, upper in pairs)
