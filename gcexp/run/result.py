"""What `gcexp.simulate`, `train` and `sweep` give: a table that knows its keys, times, loads and origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from gcexp.errors import UserError, unknown
from gcexp.figures.rows import sign_interval, time_to
from gcexp.run.medians import Medians
from gcexp.run.result_columns import COSTS

#: What a code costs a worker: columns of every table.
LOADS = ("mean_load_fraction", *COSTS)


class Kept(dict):
    """A mapping that copies of a table share: pandas copies what a table's ``attrs`` hold with every step."""

    def __deepcopy__(self, memo: dict) -> Kept:
        return self


class Result(pd.DataFrame):
    """A tidy table with what is known about its runs; parts of it are such tables too.

    Attributes
    ----------
    verification : dict
        What the replay of encode, drop and decode found; of a sweep one report for each point, by its keys; empty where
        nothing was trained.
    provenance : dict
        ``points``, the resolved config of each; ``versions``; ``packages`` with their commits.
    impossible : DataFrame
        Points of a sweep that were left out, with their ``reason``.
    """

    @property
    def _constructor(self):
        return Result

    @property
    def _keys(self) -> list[str]:
        return [key for key in self.attrs.get("keys", []) if key in self]

    @property
    def verification(self) -> dict[str, Any]:
        return self.attrs.get("verification", {})

    @property
    def provenance(self) -> dict[str, Any]:
        return self.attrs.get("provenance", {})

    @property
    def impossible(self) -> pd.DataFrame:
        return pd.DataFrame(self.attrs.get("impossible", {}).get("points", []))

    @property
    def scores(self) -> list[str]:
        """Columns with scores, the main one first; none where nothing was trained."""
        if "simulated_time_s" not in self or "iteration_time_s" in self:
            return []
        behind = list(self.columns)[self.columns.get_loc("simulated_time_s") + 1 :]
        return [name for name in behind if name not in LOADS]

    @property
    def loads(self) -> pd.DataFrame:
        """What a worker computes, sends and stores, one row per point: means over the seeds.

        ``mean_load_fraction`` of the data over the workers; at most ``messages`` in gradients, ``load`` and
        ``stored_partitions``, ``codewords``.
        """
        names = [name for name in LOADS if name in self]
        if not names:
            raise UserError("this table has no loads: ask for rows=seeds")
        return self._points(lambda part: part.groupby("seed")[names].first().mean().to_dict())

    def time_to(self, level: float, score: str | None = None, *, per_seed: bool = False) -> pd.DataFrame:
        """Simulated time until a score reaches a level, one row per point or per point and seed.

        Parameters
        ----------
        level : float
        score : str, optional
            Column; default the main score. A loss reaches a level from above.
        per_seed : bool
            One row for each seed, with its own time.

        Returns
        -------
        DataFrame
            The keys and ``time_to_<level>`` in simulated seconds, infinite where the level is not reached. Per point it
            is the median over the seeds, with ``low`` and ``high``, the ends of its interval (the sign test, see
            `gcexp.figures.rows.sign_interval`; without end below five seeds, as the table says where it is printed),
            ``seeds`` and ``seeds_reached``.

        Raises
        ------
        UserError
            If nothing was trained, or there is no such score.
        """
        if not self.scores:
            raise UserError("times to a level are of scores: train, or sweep with a task")
        name = score or self.scores[0]
        if name not in self.scores:
            raise UserError(unknown("score", name, self.scores))
        falling = name.endswith("loss")
        column = f"time_to_{level:g}"

        def times_of_seeds(part: pd.DataFrame) -> dict[str, Any]:
            seeds, times = [], []
            for seed, rows in part.groupby("seed"):
                seeds.append(seed)
                times.append(time_to(rows, name, level, falling))
            return {"seed": seeds, column: np.array(times)}

        def median_of_seeds(part: pd.DataFrame) -> dict[str, Any]:
            times = times_of_seeds(part)[column]
            reached = np.isfinite(times)
            return _median(column, times) | {"seeds_reached": int(reached.sum())}

        if not per_seed:
            return Medians(self._points(median_of_seeds))
        lists = self._points(times_of_seeds)
        return lists.explode(["seed", column], ignore_index=True).infer_objects()

    def mean_time(self, *, per_seed: bool = False) -> pd.DataFrame:
        """Mean simulated time of an iteration, one row per point or per point and seed.

        Parameters
        ----------
        per_seed : bool
            One row for each seed, with its own time.

        Returns
        -------
        DataFrame
            The keys, ``mean_iteration_time_s`` (median over the seeds, simulated seconds), ``low`` and ``high`` of its
            interval as in `time_to`, and ``seeds``.
        """
        column = "mean_iteration_time_s"

        def times_of_seeds(part: pd.DataFrame) -> dict[str, Any]:
            seeds, times = [], []
            for seed, rows in part.groupby("seed"):
                seeds.append(seed)
                times.append(_mean_time(rows))
            return {"seed": seeds, column: np.array(times)}

        if not per_seed:
            return Medians(self._points(lambda part: _median(column, times_of_seeds(part)[column])))
        lists = self._points(times_of_seeds)
        return lists.explode(["seed", column], ignore_index=True).infer_objects()

    def _points(self, measure: Callable[[pd.DataFrame], dict[str, Any]]) -> pd.DataFrame:
        """One row per point: its keys, and what `measure` says of its rows."""
        plain = pd.DataFrame(self)
        keys = self._keys
        if not keys:
            return pd.DataFrame([measure(plain)])
        rows = []
        for values, part in plain.groupby(keys, sort=False, dropna=False):
            point = dict(zip(keys, values, strict=True))
            rows.append(point | measure(part))
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        told = [f"{len(self)} rows"]
        if "seed" in self:
            told.append(f"{self['seed'].nunique()} seeds")
        if self.verification and self._passed:
            told.append("verification passed")
        elif self.verification:
            told.append("verification <b>failed</b>")
        if len(self.impossible):
            told.append(f"{len(self.impossible)} impossible points left out")
        return f"<p>{', '.join(told)}</p>{pd.DataFrame(self)._repr_html_()}"

    @property
    def _passed(self) -> bool:
        """Whether the replay found no other gradient: of one run, or of all points of a sweep."""
        reports = self.verification
        if "passed" in reports:
            return reports["passed"]
        return all(report["passed"] for report in reports.values())


def _mean_time(rows: pd.DataFrame) -> float:
    """Mean time of an iteration over all that a seed has run, whatever the rows are."""
    if "mean_iteration_time_s" in rows:
        return float(rows["mean_iteration_time_s"].iloc[-1])
    last = rows.loc[rows["iteration"].idxmax()]
    return float(last["simulated_time_s"] / max(last["iteration"], 1))


def _median(column: str, times: np.ndarray) -> dict[str, Any]:
    """Median over the seeds with its interval."""
    low, high = sign_interval(times, times)
    return {column: float(np.median(times)), "low": low, "high": high, "seeds": len(times)}
