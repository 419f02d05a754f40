"""Tables of gradient coding with dynamic clustering: iteration times of GC, GC-SC, GC-DC and their lower bound.

In one table every scheme plays the same draws: differences between schemes, seed by seed, are paired. Times are in the
unit of the delay model, 1/mu.

Reference: Buyukates, Ozfatura, Ulukus, Gunduz: Gradient coding with dynamic clustering for straggler mitigation,
ICC 2021 (arXiv 2011.01922).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

import numpy as np
import pandas as pd

from gcexp.codes.clustered import Clustered
from gcexp.delays.base import Draws
from gcexp.delays.markov import TwoStateMarkov
from gcexp.schemes.placement import (
    Best,
    Greedy,
    best_clusters,
    greedy_clusters,
    home,
    membership,
    seats,
    stored,
)
from gcexp.schemes.scheme import Scheme
from gcexp.schemes.waiting import Decodable
from gcexp.theory.dynamic_clustering import (
    expected_time,
    lower_bound_durations,
    mean_time,
    recoverable_sets,
    slow_threshold,
)
from gcexp.timeline import simulate

_STATE_WORDS = {"state": "previous state", "perfect": "perfect state"}


@dataclass(frozen=True)
class Setting:
    """Workers n, clusters P, load r, memberships m, and how many workers start slow."""

    n: int
    clusters: int
    load: int
    memberships: int
    initial_slow: int

    def draw(self, seeds: int, iterations: int, **delay) -> Draws:
        """Draws that all schemes share."""
        return TwoStateMarkov(initial_slow=self.initial_slow, **delay).draw(
            tuple(range(seeds)), iterations, self.n
        )

    def rule(self, kind: type = Greedy, **more):
        """Placement of GC-DC."""
        return kind(**{"clusters": self.clusters, "memberships": self.memberships} | more)

    def groups(self) -> dict[str, tuple[int, int]]:
        """Groups and spare workers of the schemes with fixed groups."""
        spare = self.load - 1
        return {"GC": (1, spare), "GC-SC": (self.clusters, spare), "LB": (1, self.clusters * spare)}

    def exact(self, iterations: int, **delay) -> dict[str, float]:
        """Expected mean iteration times of GC, GC-SC and LB, by integration."""
        law = {"iterations": iterations, "initial_slow": self.initial_slow, "load": self.load} | delay
        return {
            name: mean_time(self.n, groups, spare, **law) for name, (groups, spare) in self.groups().items()
        }

    def gc(self, drawn: Draws) -> np.ndarray:
        """Iteration times (seeds, iterations), one code of all workers."""
        return _times_of(_code(self.n, 1, self.load, "row"), drawn, None)

    def clustered(self, drawn: Draws, rule=None, layout: str = "row") -> np.ndarray:
        """Iteration times (seeds, iterations), with static clusters or a placement rule."""
        return _times_of(_code(self.n, self.clusters, self.load, layout), drawn, rule)

    def bound(self, drawn: Draws) -> np.ndarray:
        """Lower bound of the iteration times, (seeds, iterations)."""
        arrival = drawn.arrival(self.load / self.n, 1.0)
        return lower_bound_durations(arrival, self.clusters, self.load)

    def played(self, drawn: Draws, observe: Mapping[str, str]) -> dict[str, np.ndarray]:
        """Iteration times of GC, GC-SC, GC-DC under the given labels, and LB."""
        dynamic = {name: self.clustered(drawn, self.rule(observe=what)) for name, what in observe.items()}
        static = {"GC": self.gc(drawn), "GC-SC": self.clustered(drawn)}
        return static | dynamic | {"LB": self.bound(drawn)}


@cache
def _code(n: int, clusters: int, load: int, layout: str) -> Clustered:
    return Clustered(n, clusters, load, layout)


def _times_of(code: Clustered, drawn: Draws, rule) -> np.ndarray:
    return simulate(Scheme(code, Decodable(), placement=rule), drawn).duration


def _rows(means: np.ndarray, **columns) -> pd.DataFrame:
    """One row per seed."""
    return pd.DataFrame({"seed": np.arange(len(means)), "mean_iteration_time": means} | columns)


def _up_to(iterations: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... and the last iteration."""
    decades = range(len(str(iterations)))
    return sorted({iterations, *(k * 10**e for e in decades for k in (1, 2, 5) if k * 10**e < iterations)})


def _saved(times: np.ndarray, baseline: np.ndarray) -> dict[str, np.ndarray]:
    """What a scheme saves against another one; the mean over seeds of the share is 1 - mean / mean of the baseline."""
    return {"saved_time": baseline - times, "saved_share": (baseline - times) / baseline.mean()}


# --- Figures 3, 4, 5 ----------------------------------------------------------------------------------------------


def iteration_times(
    n: int,
    clusters: int,
    load: int,
    memberships: int,
    initial_slow: int,
    observe: Mapping[str, str],
    delay: Mapping[str, float],
    iterations: int,
    seeds: int,
) -> pd.DataFrame:
    """Running means of the iteration times of GC, GC-SC, GC-DC and LB, one row per scheme, iteration and seed.

    Parameters
    ----------
    n, clusters, load, memberships, initial_slow : int
        See `Setting`.
    observe : mapping
        Label of a GC-DC bar to what its master knows (``state``, ``perfect``).
    delay : mapping
        p, alpha, mu_s, mu_f.
    iterations, seeds : int

    Returns
    -------
    DataFrame
        With `iteration` 1, 2, 5, 10, 20, ... and the last one, to which the result of a run belongs;
        `mean_iteration_time` over the iterations up to this one; `exact`, its expectation where the groups are fixed;
        `saved_time` and `saved_share`, of GC-SC against GC and of GC-DC against GC-SC; and what a scheme costs:
        `messages` of model size that a worker sends per iteration, its `load`, the partitions it stores and the
        codewords it may be asked for.
    """
    setting = Setting(n, clusters, load, memberships, initial_slow)
    times = setting.played(setting.draw(seeds, iterations, **delay), observe)
    exact = {last: setting.exact(last, **delay) for last in _up_to(iterations)}
    frames = []
    for label, each in times.items():
        costs = {} if label == "LB" else _costs(setting, label, label in observe)
        baseline = {"GC": None, "LB": None, "GC-SC": "GC"}.get(label, "GC-SC")
        for last, expected in exact.items():
            mean = each[:, :last].mean(1)
            saved = _saved(mean, times[baseline][:, :last].mean(1)) if baseline else {}
            columns = {"scheme": label, "iteration": last, "exact": expected.get(label, np.nan)}
            frames.append(_rows(mean, **columns, **saved, **costs))
    first = ["scheme", "iteration", "seed", "mean_iteration_time", "exact"]
    frame = pd.concat(frames, ignore_index=True)
    return frame[first + [column for column in frame if column not in first]]


def _costs(setting: Setting, label: str, dynamic: bool) -> dict[str, float]:
    code = _code(setting.n, 1 if label == "GC" else setting.clusters, setting.load, "row")
    costs = {"messages": (code.messages * code.length).max(), "load": code.load.max()}
    if not dynamic:
        return costs | {"stored_partitions": code.assignment.sum(1).max(), "codewords": 1}
    matrix = setting.rule().matrix(setting.n, 0)
    allowed = membership(matrix)
    each = np.zeros(setting.n, dtype=int)
    for quorum, may in zip(code.quorums, allowed, strict=True):
        each += may * len(quorum.workers)
    return costs | {"stored_partitions": stored(matrix).sum(1).max(), "codewords": each.max()}


# --- Around them: ablation, sensitivity, sweeps, unequal workers ---------------------------------------------------


def ablation(
    settings: Mapping[str, Mapping[str, int]],
    observe: Iterable[str],
    delay: Mapping[str, float],
    iterations: int,
    seeds: int,
) -> pd.DataFrame:
    """What GC-DC saves against GC-SC in several settings, one row per setting, knowledge and seed.

    Parameters
    ----------
    settings : mapping
        Label to the fields of `Setting`.
    observe : list of str
        What the master knows.
    delay, iterations, seeds
        As in `iteration_times`.
    """
    frames: dict[str, list] = {what: [] for what in observe}
    for name, fields in settings.items():
        setting = Setting(**fields)
        drawn = setting.draw(seeds, iterations, **delay)
        static = setting.clustered(drawn).mean(1)
        for what, found in frames.items():
            times = setting.clustered(drawn, setting.rule(observe=what)).mean(1)
            columns = {"setting": name, "known": _STATE_WORDS[what], "static_time": static}
            found.append(_rows(times, **columns, **_saved(times, static)))
    return pd.concat(chain.from_iterable(frames.values()), ignore_index=True)


def sensitivity(
    settings: Mapping[str, Mapping[str, int]],
    variants: Mapping[str, Mapping[str, str]],
    delay: Mapping[str, float],
    iterations: int,
    seeds: int,
) -> pd.DataFrame:
    """What GC-DC saves against GC-SC if one choice is made otherwise, one row per setting, variant and seed.

    Parameters
    ----------
    settings : mapping
        Label to the fields of `Setting`.
    variants : mapping
        Label to what differs: `swap_rule`, `order_mode`, `observe`, `layout`, `load_model` or ``placement: best``.
        Static clusters get the same layout and load model.
    delay, iterations, seeds
        As in `iteration_times`.
    """
    frames = []
    for name, fields in settings.items():
        setting, drawn, static = Setting(**fields), {}, {}
        for label, given in variants.items():
            options = dict(given)
            law = options.pop("load_model", "scaled")
            kind = {"greedy": Greedy, "best": Best}[options.pop("placement", "greedy")]
            layout = options.get("layout", "row")
            if options.get("observe") in ("threshold", "censored"):
                rates = {key: delay[key] for key in ("alpha", "mu_s", "mu_f")}
                options["threshold"] = slow_threshold(setting.load, **rates)
            if law not in drawn:
                drawn[law] = setting.draw(seeds, iterations, load_model=law, **delay)
            if (law, layout) not in static:
                static[law, layout] = setting.clustered(drawn[law], layout=layout).mean(1)
            times = setting.clustered(drawn[law], setting.rule(kind, **options), layout).mean(1)
            columns = {"setting": name, "variant": label}
            frames.append(_rows(times, **columns, **_saved(times, static[law, layout])))
    return pd.concat(frames, ignore_index=True)


def sweeps(
    setting: Mapping[str, int],
    over: Mapping[str, Iterable[float]],
    observe: Mapping[str, str],
    delay: Mapping[str, float],
    iterations: int,
    seeds: int,
) -> pd.DataFrame:
    """Mean iteration times while one number is swept, one row per value, scheme and seed.

    Parameters
    ----------
    setting : mapping
        Fields of `Setting`.
    over : mapping
        Field of the setting, or parameter of the delay model, to its values.
    observe, delay, iterations, seeds
        As in `iteration_times`.
    """
    frames = []
    for key, values in over.items():
        for value in values:
            here = Setting(**(dict(setting) | ({key: value} if key in setting else {})))
            law = dict(delay) | ({} if key in setting else {key: value})
            times = here.played(here.draw(seeds, iterations, **law), observe)
            for name, each in times.items():
                frames.append(_rows(each.mean(1), swept=key, value=value, scheme=name))
    return pd.concat(frames, ignore_index=True)


def heterogeneous(
    settings: Mapping[str, Mapping[str, int]],
    spread: float,
    observe: Mapping[str, str],
    delay: Mapping[str, float],
    iterations: int,
    seeds: int,
) -> pd.DataFrame:
    """Mean iteration times where each worker has rates of its own, one row per setting, scheme and seed.

    Parameters
    ----------
    settings : mapping
        Label to the fields of `Setting`.
    spread : float
        Each worker's rates are uniform on [1 - spread, 1 + spread] times mu_s and mu_f, drawn once per seed.
    observe, delay, iterations, seeds
        As in `iteration_times`.

    Returns
    -------
    DataFrame
        With `equal_workers`, the exact expectation without spread.
    """
    frames = []
    for name, fields in settings.items():
        setting = Setting(**fields)
        times = setting.played(setting.draw(seeds, iterations, spread=spread, **delay), observe)
        equal = setting.exact(iterations, **delay)
        for label, each in times.items():
            mean = each.mean(1)
            saved = _saved(mean, times["GC-SC"].mean(1)) if label in observe else {}
            columns = {"setting": name, "scheme": label, "equal_workers": equal.get(label, np.nan)}
            frames.append(_rows(mean, **columns, **saved))
    return pd.concat(frames, ignore_index=True)


# --- The running example: matrices, counts, drawings ---------------------------------------------------------------


def matrices(n: int, clusters: int, load: int, shifts: Iterable[int]) -> pd.DataFrame:
    """The matrices of the running example, 0-based, one row per row.

    (4) clusters and their workers at home, (5) partitions of each worker, (6) codeword of each worker, (12) clusters
    with all their workers, (13) the same, sorted.

    Parameters
    ----------
    n, clusters, load : int
    shifts : list of int
        One per row of a cluster, for two memberships.
    """
    setting = Setting(n, clusters, load, 2, 0)
    matrix = setting.rule(shifts=shifts).matrix(n, 0)
    size = n // clusters
    at_home, row = home(n, clusters)
    found = {
        "(4) home clusters": matrix[:size],
        "(5) partitions of a worker": [size * at_home + (row + i) % size for i in range(load)],
        "(6) codeword of a worker": np.array([[f"c[{j},{q}]" for q, j in zip(at_home, row, strict=True)]]),
        "(12) clusters, with memberships": matrix,
        "(13) the same, sorted": np.sort(matrix, axis=0),
    }
    rows = []
    for name, values in found.items():
        for i, line in enumerate(values):
            cells = dict.fromkeys((f"column {j}" for j in range(n)), " ")
            cells |= {f"column {j}": str(value) for j, value in enumerate(line)}
            rows.append({"matrix": name, "row": i} | cells)
    return pd.DataFrame(rows)


def recoverable(n: int, clusters: int, load: int, shifts: Iterable[int]) -> pd.DataFrame:
    """How many straggler sets leave a scheme decodable without a straggler, one row per number of stragglers.

    Parameters
    ----------
    n, clusters, load, shifts
        As in `matrices`.

    Returns
    -------
    DataFrame
        Counts of GC and GC-SC by formula, of greedy and of the most even placement by enumeration; the sets that
        these lose to the home clusters; and how many results decode whatever the stragglers are (`threshold`), with
        every placement that greedy makes for sets of this size.
    """
    setting = Setting(n, clusters, load, 2, 0)
    allowed = membership(setting.rule(shifts=shifts).matrix(n, 0))
    code = _code(n, clusters, load, "row")
    gc, static = (recoverable_sets(n, groups, load) for groups in (1, clusters))
    rows = []
    for s in range(clusters * (load - 1) + 1):
        slow = _sets(n, s)
        each = np.broadcast_to(allowed, (len(slow), *allowed.shape))
        placed = greedy_clusters(each, slow)
        greedy = _decodable(placed, slow, clusters, load)
        at_home = _decodable(np.broadcast_to(home(n, clusters)[0], slow.shape), slow, clusters, load)
        best = _decodable(best_clusters(each, slow), slow, clusters, load)
        rows.append(
            {
                "stragglers": s,
                "sets": len(slow),
                "gc": gc[s],
                "static": static[s],
                "greedy": greedy.sum(),
                "best": best.sum(),
                "lost_by_greedy": (at_home & ~greedy).sum(),
                "lost_by_best": (at_home & ~best).sum(),
                "threshold": _threshold(code, seats(placed, clusters)),
            }
        )
    return pd.DataFrame(rows)


def _sets(n: int, s: int) -> np.ndarray:
    """All sets of s of n workers, boolean (U, n)."""
    sets = [np.isin(np.arange(n), chosen) for chosen in combinations(range(n), s)]
    return np.array(sets)


def _counts(cluster: np.ndarray, slow: np.ndarray, clusters: int) -> np.ndarray:
    """Slow workers in each cluster, (U, P)."""
    return ((cluster[:, None] == np.arange(clusters)[:, None]) & slow[:, None]).sum(2)


def _decodable(cluster: np.ndarray, slow: np.ndarray, clusters: int, load: int) -> np.ndarray:
    return (_counts(cluster, slow, clusters) < load).all(1)


def _threshold(code: Clustered, seated: np.ndarray) -> int:
    """Results that decode whichever are missing, with every seating (U, n)."""
    seated = np.unique(seated, axis=0)
    for missing in range(1, code.n):
        late = _sets(code.n, missing)
        # Position j of the code is played by worker seated[u, j].
        heard = ~late[:, seated].reshape(-1, code.n)
        if not code.met(np.unique(heard, axis=0).astype(int)).all():
            return code.n - missing + 1
    return 1


def balls_in_bins(
    n: int,
    clusters: int,
    load: int,
    shifts: Iterable[int],
    slow: Mapping[str, Iterable[int]],
    law: Mapping[str, float],
) -> pd.DataFrame:
    """Stragglers in home clusters, as a drawing: one row per straggler set and worker.

    Parameters
    ----------
    n, clusters, load, shifts
        As in `matrices`.
    slow : mapping
        Title of a panel to its slow workers.
    law : mapping
        alpha, mu_s, mu_f.

    Returns
    -------
    DataFrame
        With the exact expected times of GC, GC-SC, GC-DC (states known) and LB.
    """
    setting = Setting(n, clusters, load, 2, 0)
    allowed = membership(setting.rule(shifts=shifts).matrix(n, 0))
    frames = []
    for title, chosen in slow.items():
        states = np.isin(np.arange(n), list(chosen))
        at_home, _ = home(n, clusters)
        placed = greedy_clusters(allowed[None], states[None])[0]
        times = _times(setting, states, at_home, placed, law)
        caption = (
            (
                "no cluster waits for a slow worker"
                if _decodable(at_home[None], states[None], clusters, load)[0]
                else "a cluster waits for a slow worker"
            )
            + "; expected time "
            + ", ".join(f"{name} {time:.3f}" for name, time in times.items())
        )
        frames.append(_balls(title, at_home, states, np.zeros(n, dtype=bool), caption, times))
    return pd.concat(frames, ignore_index=True)


def placement(
    n: int,
    clusters: int,
    load: int,
    shifts: Iterable[int],
    slow: Mapping[str, Iterable[int]],
    law: Mapping[str, float],
) -> pd.DataFrame:
    """How the greedy rule spreads slow workers, as a drawing.

    Parameters
    ----------
    n, clusters, load, shifts, slow, law
        As in `balls_in_bins`. Two panels each: at home and placed, or, if there is a swap, before and after it.

    Returns
    -------
    DataFrame
        One row per panel and worker; after phase 1 a worker may have no cluster. `slow_in_cluster` is the largest
        number of slow workers in a cluster, `expected_time` that of the panel's clusters; beside it those of GC,
        GC-SC, GC-DC and LB for the same slow workers.
    """
    setting = Setting(n, clusters, load, 2, 0)
    allowed = membership(setting.rule(shifts=shifts).matrix(n, 0))
    at_home, _ = home(n, clusters)
    frames = []
    for title, chosen in slow.items():
        states = np.isin(np.arange(n), list(chosen))
        placed = greedy_clusters(allowed[None], states[None])[0]
        dealt = _dealt(allowed, states)
        times = _times(setting, states, at_home, placed, law)
        still = np.zeros(n, dtype=bool)
        if (dealt >= 0).all():
            stages = {"at home (GC-SC)": (at_home, still), "placed (GC-DC)": (placed, placed != at_home)}
        else:
            stages = {"after phase 1": (dealt, still), "after the swap": (placed, placed != dealt)}
        for stage, (cluster, moved) in stages.items():
            counts = _counts(cluster[None], states[None], clusters)[0]
            caption = "slow per cluster: " + ", ".join(map(str, counts))
            time = times["GC-SC"] if cluster is at_home else times["GC-DC"]
            done = (cluster >= 0).all()
            caption += f"; time {time:.3f}" if done else ""
            columns = {"expected_time": time if done else np.nan, "slow_in_cluster": counts.max()} | times
            frames.append(_balls(f"{title}: {stage}", cluster, states, moved, caption, columns))
    return pd.concat(frames, ignore_index=True)


def _balls(panel, cluster, slow, moved, caption, columns) -> pd.DataFrame:
    where = np.where(cluster < 0, np.nan, cluster)
    columns = {name.lower().replace("-", "_"): value for name, value in columns.items()}
    first = {"panel": panel, "cluster": where, "worker": np.arange(len(slow)), "slow": slow, "moved": moved}
    return pd.DataFrame(first | columns | {"caption": caption})


def _times(setting: Setting, slow, at_home, placed, law) -> dict[str, float]:
    """Exact expected times where the states are known."""

    def time(cluster: np.ndarray, groups: int, spare: int) -> float:
        order = np.argsort(cluster, kind="stable")
        q = slow[order].astype(float).reshape(groups, -1)
        return expected_time(q, spare, load=setting.load, **law)

    times = {
        name: time(np.zeros_like(at_home) if groups == 1 else at_home, groups, spare)
        for name, (groups, spare) in setting.groups().items()
    }
    dynamic = time(placed, setting.clusters, setting.load - 1)
    return {"GC": times["GC"], "GC-SC": times["GC-SC"], "GC-DC": dynamic, "LB": times["LB"]}


def _dealt(allowed: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Clusters (n,) after phase 1 of the greedy rule, -1 for whoever is left over: fast first unless more are slow."""
    clusters, n = allowed.shape
    cluster, room = np.full(n, -1), np.full(clusters, n // clusters)
    for turn in (True, False) if 2 * slow.sum() > n else (False, True):
        order = np.argsort((allowed & (slow == turn)).sum(1), kind="stable")
        placed = True
        while placed:
            placed = False
            for q in order:
                free = np.flatnonzero(allowed[q] & (slow == turn) & (cluster < 0))
                if room[q] and free.size:
                    cluster[free[0]], placed = q, True
                    room[q] -= 1
    return cluster
