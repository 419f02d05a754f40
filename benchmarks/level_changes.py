"""``python -m benchmarks.level_changes [REPLICATES] [KIND ...]``: are changes of level of one worker found?

Each replicate is 36 traces with a planted change and 36 without. Times are exp(N(0, .1)) of 8 and 16 workers in 200 and
1000 rows, or that and a mechanism of `NOISES`. Printed are, for each kind: how often a planted change (factor 1.5, 3,
10 from 10, 50, 90 % of the rows on) is found within 5 rows, how often its factor is then within 5 %, the same of
changes with 100 rows or more on both sides, and how often anything false is told: a change where none was planted, and
beside a planted one a change of another worker or a second one of the same worker.

``best`` is how often the factor would be within 5 % by the best unbiased estimator, which is told the row and the
memory of the noise (`best_share`). Where that is below 95 %, no method can do better: 20 rows with a memory of .5 do
not know their level to 5 % more often than in 81 of 100 traces.

Where ruptures is installed, the same is printed of its exact search for least squares (``KernelCPD``, kernel
``linear``, stretches of at least 10 rows, changes of at least 1.3), each worker's logarithms without the middle
worker's: once with the usual price of a cut, 2 log(rows) times the variance of the noise, and once with 4 log(rows)
times its long-run variance, which is ours. Shares of 504 traces with a planted change, and of as many without:

========== =================== ===== ====== ===== ============ =========== ============
kind       by                  row   factor best  factor, long false alone false beside
========== =================== ===== ====== ===== ============ =========== ============
noise      gcexp               1.000 .994   .989  1.000        0           0
noise      ruptures            1.000 .964   .989  .970         0           0
noise      ruptures, our price 1.000 .972   .989  .978         0           0
memory     gcexp               .998  .919   .930  .997         0           0
memory     ruptures            .990  .568   .930  .554         .240        .286
memory     ruptures, our price 1.000 .873   .930  .920         0           0
slow state gcexp               .534  .280   -     .313         .022        .018
slow state ruptures            .944  .448   -     .479         1           1
slow state ruptures, our price .895  .409   -     .435         1           1
========== =================== ===== ====== ===== ============ =========== ============

The standard error of a share of .92 is .012. Among slow states a change is told half as often as by ruptures, which
tells changes in every trace without any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter
from scipy.stats import norm

from gcexp_adviser.diagnosis.level_changes import levels_of, long_run_variance
from gcexp_papers.stragglers.clusters import chain

ROWS = (200, 1000)
WORKERS = (8, 16)
FACTORS = (1.5, 3.0, 10.0)
PLACES = (0.1, 0.5, 0.9)  # of the change, as shares of the rows
CLOSE_ROWS = 5
CLOSE_FACTOR = 0.05
LONG = 100  # rows on both sides of a change that is called long
SD = 0.1
MEMORY = {"noise": 0.0, "memory": 0.5, "long memory": 0.7}
NOISES = (
    *MEMORY,
    "heavy tail",
    "shock",
    "drift",
    "speeds",
    "bad node",
    "slow state",
)
_HONEST = NOISES[:2]

#: Finds changes in logarithms (rows, n): worker, row and factor of each.
Finder = Callable[[np.ndarray], list[tuple[int, int, float]]]


def logs(kind: str, rows: int, n: int, draw: np.random.Generator) -> np.ndarray:
    """Logarithms (rows, n) of times without a change of level."""
    y = SD * draw.standard_normal((rows, n))
    if kind in ("memory", "long memory"):
        memory = MEMORY[kind]
        new = SD * np.sqrt(1 - memory**2) * draw.standard_normal((rows + 50, n))
        return lfilter([1], [1, -memory], new, axis=0)[50:]
    if kind == "heavy tail":
        return draw.standard_exponential((rows, n)) / 1.8
    if kind == "shock":
        y += 0.15 * draw.standard_normal((rows, 1))
    elif kind == "drift":
        y += 0.3 * np.linspace(-0.5, 0.5, rows)[:, None]
    elif kind == "speeds":
        y += 0.2 * draw.standard_normal(n)
    elif kind == "bad node":
        y[:, 0] += np.log(1.8)
    elif kind == "slow state":
        y += np.log(3) * chain(0.02, 0.1, rows, n, draw)
    return y


def ours(y: np.ndarray) -> list[tuple[int, int, float]]:
    """Changes as `gcexp advise` tells them."""
    return [(one.worker, one.row, one.factor.value) for one in levels_of(y).changes]


def by_ruptures(y: np.ndarray, with_memory: bool) -> list[tuple[int, int, float]]:
    """Changes by ruptures, priced by the variance of the noise, or by its long-run variance."""
    import ruptures

    own = y - np.median(y - np.median(y, axis=0), axis=1)[:, None]
    found = []
    for worker, series in enumerate(own.T):
        scatter = np.median(np.abs(np.diff(series))) * 1.4826 / np.sqrt(2)
        price = 2 * np.log(len(series)) * scatter**2
        if with_memory:
            price = 4 * np.log(len(series)) * long_run_variance(series)
        search = ruptures.KernelCPD(kernel="linear", min_size=10).fit(series[:, None])
        edges = [0, *search.predict(pen=price)]
        levels = [series[first:end].mean() for first, end in zip(edges[:-1], edges[1:], strict=True)]
        for row, step in zip(edges[1:-1], np.diff(levels), strict=True):
            if abs(step) >= np.log(1.3):
                found.append((worker, row, float(np.exp(step))))
    return found


def trials(kind: str, replicates: int, finder: Finder) -> Iterator[dict]:
    """One row for each trace: what was planted, and what was found."""
    as_many = len(FACTORS) * len(PLACES)
    for rows, n, replicate in product(ROWS, WORKERS, range(as_many * replicates)):
        found = finder(logs(kind, rows, n, np.random.default_rng([1, replicate, rows, n])))
        yield {"planted": False, "false": bool(found)}
    for rows, n, factor, place, replicate in product(ROWS, WORKERS, FACTORS, PLACES, range(replicates)):
        draw = np.random.default_rng([2, replicate, rows, n, int(10 * factor), int(10 * place)])
        y = logs(kind, rows, n, draw)
        planted = draw.integers(n)
        row = int(rows * place)
        y[row:, planted] += np.log(factor)
        found = finder(y)
        of_planted = [(at, size) for worker, at, size in found if worker == planted]
        hits = [size for at, size in of_planted if abs(at - row) <= CLOSE_ROWS]
        yield {
            "planted": True,
            "long": min(row, rows - row) >= LONG,
            "row": bool(hits),
            "factor": bool(hits) and abs(hits[0] / factor - 1) <= CLOSE_FACTOR,
            "false": len(of_planted) > 1 or len(found) > len(of_planted),
        }


def best_share(memory: float) -> float:
    """Share of the planted changes of which the best unbiased estimator has the factor within 5 %.

    The noise is Gaussian with correlations memory^k at lag k, and row, memory and variance are known. Then generalised
    least squares reaches the bound of Cramér and Rao: the step's variance is the last entry of (A' C^-1 A)^-1, with the
    columns of A a one in every row and in every row since the change, and C the covariance of the rows.
    """
    shares = []
    for rows, place in product(ROWS, PLACES):
        since = np.arange(rows) >= int(rows * place)
        design = np.column_stack([np.ones(rows), since])
        covariance = SD**2 * memory ** np.arange(rows)
        information = design.T @ solve_toeplitz(covariance, design)
        error = np.linalg.inv(information)[1, 1] ** 0.5
        ends = np.log([1 - CLOSE_FACTOR, 1 + CLOSE_FACTOR])
        low, high = norm.cdf(ends / error)
        shares.append(high - low)
    return float(np.mean(shares))


def summary(kind: str, replicates: int, name: str, finder: Finder) -> dict:
    """Shares of the traces of one kind."""
    frame = pd.DataFrame(trials(kind, replicates, finder))
    alone = frame[~frame["planted"]]
    planted = frame[frame["planted"]]
    long = planted[planted["long"].astype(bool)]
    return {
        "kind": kind,
        "by": name,
        "row": planted["row"].mean(),
        "factor": planted["factor"].mean(),
        "best": best_share(MEMORY[kind]) if kind in MEMORY else np.nan,
        "factor, long": long["factor"].mean(),
        "false alone": alone["false"].mean(),
        "false beside": planted["false"].mean(),
    }


def finders() -> dict[str, Finder]:
    """Ours, and those of ruptures where it is installed."""
    found: dict[str, Finder] = {"gcexp": ours}
    try:
        import ruptures  # noqa: F401
    except ImportError:
        return found
    found["ruptures"] = partial(by_ruptures, with_memory=False)
    found["ruptures, our price"] = partial(by_ruptures, with_memory=True)
    return found


def main(replicates: int = 14, *kinds: str) -> None:
    """Print the table."""
    rows = []
    for kind in kinds or _HONEST:
        rows += [summary(kind, replicates, name, finder) for name, finder in finders().items()]
    print(pd.DataFrame(rows).to_string(index=False, float_format=lambda share: f"{share:.4f}"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 14, *sys.argv[2:])
