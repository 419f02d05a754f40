"""What SPARe (Lee et al., arXiv 2603.00357) states of the best number of copies where workers fail."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from gcexp.analysis.claims import claim, equals
from gcexp.theory import failures

MTBF, SAVE, RESTART, SHAPE = 300.0, 60.0, 3600.0, 0.78
_MOST_COPIES = 6
_WORKERS = (200, 600, 1000)


def best_copies(n: int, shape: float) -> int:
    """The number of copies with the largest goodput, each with its best period, by the renewal formula.

    The last n modulo r workers are left out, and a step takes r times as long.
    """
    return max(range(1, _MOST_COPIES + 1), key=lambda r: _goodput(n, r, shape))


def step_of_copies(r: int) -> float:
    """How many times as long a step takes with r copies, in which each worker computes r shares."""
    return float(r)


def _goodput(n: int, r: int, shape: float) -> float:
    """The goodput of r copies on the largest number of n workers that r divides."""
    kept = n - n % r
    lifetime = MTBF * n

    def survives(time: np.ndarray) -> np.ndarray:
        return failures.groups_survive(failures.failed_by(time, lifetime, shape), kept, r)

    goodput = partial(failures.goodput, survives, save=SAVE, restart=RESTART, slow=step_of_copies(r))
    found = minimize_scalar(
        lambda place: -goodput(float(np.exp(place))), bounds=(np.log(10.0), np.log(1e5)), method="bounded"
    )
    return -found.fun


@claim(*(f"spare_copies_{n}" for n in _WORKERS), assumed=True, fitted="time_of_copies")
def three_copies_are_best():
    """The renewal formula has its largest goodput with three copies; with exponential lifetimes it would be two."""
    for n in _WORKERS:
        yield f"spare_copies_{n}", equals(best_copies(n, SHAPE), 3)
