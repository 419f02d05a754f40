"""How many runs of a job a log holds, and which rows are of which: runs are never merged without being asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

import numpy as np
import pandas as pd

from gcexp.errors import DataError, ParameterError
from gcexp_adviser.logs.keys import Keys
from gcexp_adviser.logs.matching import Matched
from gcexp_adviser.logs.names import typed
from gcexp_adviser.logs.tables import Table

_MOST_RUNS = 50  # that a column tells apart
_NEAR_FIRST = 0.02  # share of the iterations before, up to which a worker falls to its first one
_SHOWN = 4  # runs of which the sizes are told


@dataclass(frozen=True)
class Runs:
    """Runs of the rows of a log.

    Attributes
    ----------
    of_rows : array of int (L,)
        The number of each row's run, from 0.
    how : str
        By what they are told apart, as a sentence goes on.
    names : tuple of str
        Those of their folders or files, where these tell them apart.
    """

    of_rows: np.ndarray
    how: str
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.of_rows.max()) + 1


def of_one_run(
    table: Table, found: Matched, keys: Keys, run: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Which rows are of the run that is meant, without iterations that it repeated.

    Parameters
    ----------
    table : Table
    found : Matched
        Its columns, one of which says the iteration.
    keys : Keys
    run : str
        Which of several runs is meant, as `How` has it.

    Returns
    -------
    rows : array of bool (L,)
    iterations : array of int (L,)
        Numbers of the iterations, which rise from run to run where all are one.
    told : list of str

    Raises
    ------
    DataError
        For several runs where nobody said which is meant.
    ParameterError
        For a run that is not there.
    """
    rows = np.ones(len(keys.iterations), bool)
    iterations = keys.iterations
    of_rows = np.zeros(len(rows), np.int64) if found.of_workers else keys.workers
    workers, numbers = pd.factorize(of_rows)
    labels = [keys.hosts[number] if keys.hosts else str(number) for number in numbers]
    told = []
    runs = _runs_of(table, found.used, keys, workers, labels)
    if runs is None and run not in ("", "last", "all", "1"):
        raise ParameterError(f"{table.place}: run={run} is not there; it holds one run")
    if runs is not None and not run:
        _refuse_several(runs, table, iterations, workers, found)
    if runs is not None and run == "all":
        told.append(f"put {runs.count} runs after one another, told apart by {runs.how}")
        iterations = one_after_another(runs.of_rows, iterations)
    elif runs is not None:
        number = runs.count if run == "last" else int(run)
        if number > runs.count:
            raise ParameterError(f"{table.place}: run={run} is not there; it holds {runs.count} runs")
        rows = runs.of_rows == number - 1
        told.append(f"took run {number} of {runs.count}, told apart by {runs.how}")
    chunks = None if keys.chunks is None else keys.chunks[rows]
    repeated, sentence = repeated_rows(iterations[rows], workers[rows], chunks)
    if sentence:
        rows[np.flatnonzero(rows)[repeated]] = False
        told.append(sentence)
    return rows, iterations, told


def _runs_of(
    table: Table, used: set[str], keys: Keys, workers: np.ndarray, labels: Sequence[str]
) -> Runs | None:
    """The runs of a log, whose `workers` (L,) are counted from 0; None for one run."""
    iterations = keys.iterations
    if table.runs is not None:
        codes, names = pd.factorize(table.runs)
        return (
            None if goes_on(codes, iterations) else Runs(codes, "the names of folders or files", tuple(names))
        )
    for name in table.names.where(lambda name: name.is_run and name.written not in used):
        codes = table[name].codes
        if 1 < table[name].distinct <= _MOST_RUNS and not _names_workers(codes, workers):
            return None if goes_on(codes, iterations) else Runs(codes, f"the column {name}")
    sessions = sessions_of(iterations, workers, keys.chunks)
    if sessions.max(initial=0) > 0:
        return Runs(sessions, "the iterations, which begin again")
    stretches = stretches_of(iterations, workers, table.files)
    if stretches is not None and not (_count_on(labels) and _same_iterations(stretches, iterations)):
        return Runs(stretches, "the workers: those of one part do not occur in the next")
    for name in table.names.without(used).written:
        stamps = table[name].stamps
        if stamps is not None:
            groups = apart_in_time(np.asarray(stamps.values, float), iterations, workers)
            if groups is not None:
                return Runs(groups, f"{name}: some workers had ended before others began the same iterations")
    return None


def apart_in_time(moments: np.ndarray, iterations: np.ndarray, workers: np.ndarray) -> np.ndarray | None:
    """Groups (L,) of workers of which each had ended before the next one began; None where there is one.

    They are runs where they have iterations in common, and one of them several workers.

    >>> workers = np.tile([0, 1, 2], 3)
    >>> moments = np.array([50.0, 50, 10, 51, 51, 11, 52, 52, 12])
    >>> apart_in_time(moments, np.repeat([0, 1, 2], 3), workers).tolist()
    [1, 1, 0, 1, 1, 0, 1, 1, 0]
    >>> apart_in_time(np.repeat([0.0, 1, 2], 3), np.repeat([0, 1, 2], 3), workers)
    """
    rows = pd.DataFrame({"moment": moments, "iteration": iterations, "worker": workers})
    spans = rows.groupby("worker")["moment"].agg(["min", "max"]).dropna().sort_values("min")
    if len(spans) < len(np.unique(workers)) or not (spans["min"] < spans["max"]).all():
        return None
    begins_anew = spans["min"] > spans["max"].cummax().shift()
    group_of = begins_anew.cumsum()
    if not begins_anew.any() or len(group_of) == group_of.iloc[-1] + 1:
        return None
    groups = rows["worker"].map(group_of)
    of_groups = rows["iteration"].groupby(groups).agg(set)
    if not all(first & other for first, other in pairwise(of_groups)):
        return None
    return groups.to_numpy(np.int64)


def _names_workers(codes: np.ndarray, workers: np.ndarray) -> bool:
    """Whether numbers of runs say the same as those of workers."""
    pairs = codes.astype(np.int64) * (int(workers.max(initial=0)) + 1) + workers
    return len(np.unique(pairs)) == codes.max() + 1 == workers.max() + 1


def goes_on(runs: np.ndarray, iterations: np.ndarray) -> bool:
    """Whether runs are attempts of one job: each begins behind the first iteration of the one before, none from anew.

    >>> runs = np.array([0, 0, 1, 1])
    >>> goes_on(runs, np.array([0, 1, 2, 3])), goes_on(runs, np.array([0, 1, 0, 1]))
    (True, False)
    """
    firsts = []
    lasts = []
    for run in range(int(runs.max()) + 1):
        own = iterations[runs == run]
        firsts.append(int(own.min()))
        lasts.append(int(own.max()))
    for before in range(len(firsts) - 1):
        is_later = (
            firsts[before] < firsts[before + 1] <= lasts[before] + max(1, lasts[before] - firsts[before])
        )
        if not (is_later and lasts[before + 1] > lasts[before]):
            return False
    return True


def sessions_of(iterations: np.ndarray, workers: np.ndarray, chunks: np.ndarray | None = None) -> np.ndarray:
    """The number of each row's session: a worker begins a new one where its iteration falls to its first one.

    Rows in any order are one session, as long as none stands twice.

    >>> sessions_of(np.array([0, 1, 2, 0, 1]), np.zeros(5, int)).tolist()
    [0, 0, 0, 1, 1]
    >>> (
    ...     sessions_of(np.array([0, 1, 2, 1, 2]), np.zeros(5, int)).tolist(),
    ...     sessions_of(np.array([2, 0, 1]), np.zeros(3, int)).tolist(),
    ... )
    ([0, 0, 0, 0, 0], [0, 0, 0])
    """
    none = np.zeros(len(iterations), np.int64)
    if not _falls_anywhere(iterations, workers) or not twice(iterations, workers, chunks).any():
        return none
    order = np.argsort(workers, kind="stable")
    numbers = iterations[order]
    begins = np.append(True, np.diff(workers[order]) != 0)
    least = pd.Series(numbers).groupby(workers[order]).transform("min").to_numpy()
    before = np.append(numbers[0], numbers[:-1])
    is_first = numbers - least <= _NEAR_FIRST * (before - least)
    falls = (numbers < before) & ~begins & is_first
    sessions = np.cumsum(falls)
    at_begin = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    found = none.copy()
    found[order] = sessions - sessions[at_begin]
    return found


def _falls_anywhere(iterations: np.ndarray, workers: np.ndarray) -> bool:
    """Whether some worker's iteration is less than in its row before."""
    if not (np.diff(iterations) < 0).any():
        return False
    order = np.argsort(workers, kind="stable")
    same = np.diff(workers[order]) == 0
    return bool((same & (np.diff(iterations[order]) < 0)).any())


def twice(iterations: np.ndarray, workers: np.ndarray, chunks: np.ndarray | None = None) -> np.ndarray:
    """Which rows (L,) are followed by another one of the same iteration, worker and micro-batch."""
    columns = {"iteration": iterations, "worker": workers}
    if chunks is not None:
        columns["chunk"] = chunks
    return pd.DataFrame(columns).duplicated(keep="last").to_numpy()


def stretches_of(
    iterations: np.ndarray, workers: np.ndarray, files: np.ndarray | None = None
) -> np.ndarray | None:
    """Parts (L,) of a log, each with several workers that occur in no other part; None where there is one.

    Parts with the same iterations are those of one run where they stand in a file each, as those of nodes do.

    >>> iterations = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    >>> stretches_of(iterations, np.array([0, 1, 0, 1, 2, 3, 2, 3])).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    rows = np.arange(len(workers))
    number = int(workers.max(initial=0)) + 1
    last = np.zeros(number, np.int64)
    last[workers] = rows
    reached = np.maximum.accumulate(last[workers])  # the last row of any worker that has begun
    ends = np.flatnonzero(reached == rows)
    if not 1 < len(ends) <= _MOST_RUNS:
        return None
    parts = np.searchsorted(ends, rows)
    for part in range(len(ends)):
        if len(np.unique(workers[parts == part])) < 2:
            return None
    if files is not None and _same_iterations(parts, iterations):
        return None
    return parts


def _same_iterations(parts: np.ndarray, iterations: np.ndarray) -> bool:
    """Whether all parts (L,) of a log have the same iterations."""
    first = np.unique(iterations[parts == 0])
    return all(
        np.array_equal(np.unique(iterations[parts == part]), first) for part in range(int(parts.max()) + 1)
    )


def _count_on(labels: Sequence[str]) -> bool:
    """Whether workers are called by one word and numbers without a gap, as those of one run are.

    >>> _count_on(["w0", "w1", "w2"]), _count_on(["w0", "w7"]), _count_on(["a", "b"])
    (True, False, False)
    """
    words = set()
    numbers = []
    for label in labels:
        found = re.fullmatch(r"(.*?)(\d{1,18})", label)
        if not found:
            return False
        words.add(found[1])
        numbers.append(int(found[2]))
    return len(words) == 1 and min(numbers) <= 1 and max(numbers) - min(numbers) + 1 == len(set(numbers))


def one_after_another(runs: np.ndarray, iterations: np.ndarray) -> np.ndarray:
    """Numbers of iterations where each run goes on behind the one before.

    >>> one_after_another(np.array([0, 0, 1, 1]), np.array([5, 6, 0, 1])).tolist()
    [5, 6, 7, 8]
    """
    numbers = iterations.copy()
    for run in range(1, int(runs.max()) + 1):
        own = runs == run
        before = numbers[runs == run - 1].max()
        numbers[own] += before + 1 - numbers[own].min()
    return numbers


def _refuse_several(
    runs: Runs, table: Table, iterations: np.ndarray, workers: np.ndarray, found: Matched
) -> NoReturn:
    """Raise `DataError`: the log holds several runs; the sentence says how large they are and what to type."""
    sizes = []
    for run in range(min(runs.count, _SHOWN)):
        own = runs.of_rows == run
        count = len(found.of_workers) or len(np.unique(workers[own]))
        name = f", {runs.names[run]}," if runs.names else ""
        sizes.append(
            f"run {run + 1}{name} has {int(own.sum())} rows of {count} workers, iterations {iterations[own].min()} to "
            f"{iterations[own].max()}"
        )
    if runs.count > _SHOWN:
        sizes.append("...")
    told = f"{table.place}: holds {runs.count} runs by {runs.how} ({'; '.join(sizes)})"
    cures = "say which: run=2 or run=last, or run=all where they are one run, one after another"
    nodes = _where_nodes(runs, table, found.worker)
    if table.worker_in_place_of_runs:
        typed_worker = typed(f"{table.worker_in_place_of_runs}")
        nodes = f"where all are workers of one run: columns=worker:{typed_worker}"
    raise DataError(f"{told}: {nodes}{cures}" if not nodes else f"{told}: {nodes}; or {cures}")


def _where_nodes(runs: Runs, table: Table, named: tuple[str, ...]) -> str:
    """What to type where files are of nodes that count their own ranks; empty where each run is not one file."""
    if table.files is None or len(named) != 1 or table.runs is not None:
        return ""
    pairs = np.unique(runs.of_rows * (int(table.files.max()) + 1) + table.files)
    if not len(pairs) == int(table.files.max()) + 1 == runs.count:
        return ""
    return (
        f"where each file is that of a node, whose {named[0]} is counted on it: columns=worker:"
        f"{typed(f'file+{named[0]}')}"
    )


def repeated_rows(
    iterations: np.ndarray, workers: np.ndarray, chunks: np.ndarray | None
) -> tuple[np.ndarray, str]:
    """Which rows (L,) a run repeated later since it went back to a checkpoint, and a sentence; empty where it did not.

    >>> repeated, told = repeated_rows(np.array([0, 1, 2, 3, 2, 3, 4]), np.zeros(7, int), None)
    >>> repeated.tolist(), told.partition(",")[0]
    ([False, False, True, True, False, False, False], 'went back from iteration 3 to 2')
    """
    none = np.zeros(len(iterations), bool)
    if not _falls_anywhere(iterations, workers):
        return none, ""
    repeated = twice(iterations, workers, chunks)
    if not repeated.any():
        return none, ""
    order = np.argsort(workers, kind="stable")
    numbers = iterations[order]
    same = np.diff(workers[order]) == 0
    at = np.flatnonzero(same & (np.diff(numbers) < 0))
    if len(at) > _MOST_RUNS * (workers.max() + 1):  # rows in no order: not those of a run that went back
        return none, ""
    if not _repeats_in_a_row(numbers, at, repeated[order]):
        return none, ""
    first, back = int(numbers[at[0]]), int(numbers[at[0] + 1])
    told = (
        f"went back from iteration {first} to {back}, as to a checkpoint: of iterations that stand twice the last rows "
        f"count, and {int(repeated.sum())} earlier ones are left out"
    )
    return repeated, told


def _repeats_in_a_row(numbers: np.ndarray, falls: np.ndarray, repeated: np.ndarray) -> bool:
    """Whether the rows before each fall of the iteration, down to where it falls, are those that are repeated."""
    expected = np.zeros(len(numbers), bool)
    for at in falls:
        back = numbers[at + 1]
        row = int(at)
        while row >= 0 and numbers[row] >= back and (row == at or numbers[row] <= numbers[row + 1]):
            expected[row] = True
            row -= 1
    return bool((repeated <= expected).all())
