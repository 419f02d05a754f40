"""``python -m benchmarks.missing_rows [LOGS] [KIND ...]``: what is found where rows are missing, and what is not there?

Known clusters of 8 workers in 200 iterations (`gcexp.delays.Composed`), numbered 0, 1, ..., lose rows in each of the
ways of `WAYS`. Printed are, for each kind and way, shares of the logs: how often the mechanism that was planted is
found for certain (and of a slow worker or a change of level the right one), and how often any other one, which is
false. Each is told of the whole log, of the rows that are left, as `gcexp.fit` sees them, and of these with times in
place of the missing ones, as `gcexp.traces.missing.as_late` prices them.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from gcexp.delays import Composed
from gcexp.traces.clean import record_in_memory
from gcexp.traces.missing import as_late
from gcexp_adviser.diagnosis.mechanisms import found_in

WORKERS, ITERATIONS = 8, 200
SLOW = 3  # the worker that is slow throughout, or since the middle
_PLACES = (np.arange(200) + 0.5) / 200
_NOISE = (0.1 * norm.ppf(_PLACES)).tolist()
_TAILS = (0.08 * t.ppf(_PLACES, 2.5)).tolist()
#: Keys of `gcexp.delays.Composed`, and the mechanism that is to be found.
KINDS: dict[str, tuple[dict, str]] = {
    "noise": ({"values": _NOISE}, ""),
    "heavy tails": ({"values": _TAILS}, ""),
    "slow worker": ({"values": _NOISE, "workers": [1.0, 1.0, 1.0, 1.8, 1.0, 1.0, 1.0, 1.0]}, "bad_node"),
    "spells": ({"values": _NOISE, "p01": 0.02, "p10": 0.1, "factor": 3.0}, "slow_state"),
    "correlated": ({"values": _NOISE, "common_sd": 0.15, "common_lag": 0.5}, "common_shock"),
    "speeds": (
        {"values": _NOISE, "workers": np.exp(0.2 * norm.ppf((np.arange(8) + 0.5) / 8)).tolist()},
        "heterogeneous",
    ),
    "since": ({"values": _NOISE}, "level_change"),
}
_OF_WORKER = ("bad_node", "level_change")
Left = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def at_random(share: float) -> Left:
    """Rows are lost by chance."""
    return lambda x, draw: draw.random(x.shape) < share


def in_stretches(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Four times a worker lacks 10 to 60 rows, one after the other."""
    missing = np.zeros(x.shape, bool)
    for _ in range(4):
        first = draw.integers(len(x) - 70)
        missing[first : first + draw.integers(10, 61), draw.integers(x.shape[1])] = True
    return missing


def late_ones(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """The later in its iteration, the more likely a row is lost: the last one in 40 %, none of the first half."""
    rank = x.argsort(axis=1).argsort(axis=1) + 1.0
    return draw.random(x.shape) < 0.4 * np.maximum(2 * rank / x.shape[1] - 1, 0)


def last_ones(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """In each iteration the last worker is lost, and in half of them the last but one as well."""
    rank = x.argsort(axis=1).argsort(axis=1)
    kept = x.shape[1] - 1 - (draw.random((len(x), 1)) < 0.5)
    return rank >= kept


def more_and_more(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """The longest times are lost, beyond a limit that falls from the 99 % to the 70 % quantile."""
    limits = np.quantile(x, np.linspace(0.99, 0.7, len(x)))
    return x > limits[:, None]


def beyond_a_timeout(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """The longest tenth of all times is lost."""
    return x > np.quantile(x, 0.9)


WAYS: dict[str, Left] = {
    "5 %": at_random(0.05),
    "20 %": at_random(0.2),
    "40 %": at_random(0.4),
    "stretches": in_stretches,
    "late ones": late_ones,
    "last ones": last_ones,
    "timeout": beyond_a_timeout,
    "timeout falls": more_and_more,
}


def times(kind: str, number: int) -> np.ndarray:
    """Times (ITERATIONS, WORKERS) of a cluster."""
    keys, _ = KINDS[kind]
    x = Composed(**keys).draw((number,), ITERATIONS, WORKERS).arrival(1 / WORKERS, 1)[0].copy()
    if kind == "since":
        x[ITERATIONS // 2 :, SLOW] *= 1.8
    return x


def judged(x: np.ndarray, planted: str) -> tuple[bool, bool]:
    """Whether the planted mechanism is found, and whether any other one is."""
    found = found_in(x)
    certain = set(found.found) - {"no_mechanism", "gone"}
    right = planted in certain
    if planted in _OF_WORKER:
        right = right and found.mechanisms[planted].workers == (SLOW,)
    return right, bool(certain - {planted}) or (planted in certain and not right)


def trials(kind: str, logs: int) -> pd.DataFrame:
    """Each log of a kind in each way."""
    planted = KINDS[kind][1]
    rows = []
    for number in range(logs):
        x = times(kind, number)
        whole = judged(x, planted)
        for place, (way, lost) in enumerate(WAYS.items()):
            missing = lost(x, np.random.default_rng([number, place]))
            if missing.all(axis=0).any():  # a worker without any row is no worker of the log
                continue
            left = np.where(missing, np.nan, x)
            some = ~missing.all(axis=1)
            priced = as_late(record_in_memory(left[some])).values["time"]
            logged = judged(left[some], planted)
            filled = judged(priced, planted)
            rows.append(
                {"kind": kind, "way": way, "lost": missing.mean()}
                | {"found": whole[0], "of logged": logged[0], "of filled": filled[0]}
                | {"false": whole[1], "false of logged": logged[1], "false of filled": filled[1]}
            )
    return pd.DataFrame(rows)


def main(logs: int = 200, *kinds: str) -> None:
    """Print the table."""
    frame = pd.concat([trials(kind, logs) for kind in kinds or KINDS])
    shares = frame.groupby(["kind", "way"], sort=False).mean()
    print(shares.to_string(float_format=lambda share: f"{share:.3f}"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200, *sys.argv[2:])
