r"""What no code can beat: lower bounds of an iteration's duration, with the theorems that prove them.

A worker w with relative load rho (1 is its share of an uncoded run) is done at F_w + rho C_w: the part F_w is fixed,
the part C_w grows. Rows are iterations, x is F + C, and x_(q) the q-th smallest of a row. Proofs: docs/bounds.md.

Each theorem speaks of the decoded vector sum_i c_i g_i and asks only that a coefficient other than 0 belongs to a
partition that a heard message contains. So it holds for every assignment, decoder and number of partitions, with
hindsight too, and for late workers, who only arrive later. None holds for messages with gradients of earlier
iterations, nor for restarts.
"""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import TypeAlias

import numpy as np

from gcexp.errors import ParameterError, require

_CLOSE = 1e-9
_FEW = 4  # workers, whose 15 sets a program chooses among in a second


Numbers: TypeAlias = float | np.ndarray


def needed(n: int, load: float, fraction: Numbers = 1.0):
    """Workers of relative load `load` that a fraction of the partitions takes at least: ceil(fraction n / load).

    Examples
    --------
    >>> [int(needed(10, *given)) for given in ((2,), (3,), (2, 0.9), (10 / 9,))]
    [5, 4, 5, 9]
    """
    load = _number(load, "load")
    require(0 < load < inf, f"a load must be a number > 0, got {load:g}")
    share = _numbers(fraction, "fraction")
    require(
        not (share > 1 + _CLOSE).any(),
        f"a fraction of the partitions must be at most 1, got {share.max(initial=0):g}",
    )
    with np.errstate(over="ignore"):
        workers = np.ceil(np.maximum(share, 0) * n / load - _CLOSE)
    return np.clip(workers, 0, 2**53).astype(int)  # far more than there are


def capacity(fixed: np.ndarray, growing: np.ndarray, load: float, fraction: Numbers = 1.0) -> np.ndarray:
    """Theorem 1 for one message per worker and equal loads: (F + load C)_(q) with q = `needed`, by row.

    With F = phi x and C = (1 - phi) x this is (phi + (1 - phi) load) x_(q). ``wait=capacity`` is the same on the
    clock, for any loads and any number of messages.

    Parameters
    ----------
    fixed, growing : ndarray (..., n)
        F and C.
    load : float
        Relative, the same for all workers.
    fraction : float or ndarray (...)
        Share of the partitions that have a coefficient other than 0, perhaps one for each row; at most 0: nothing is
        bounded.

    Returns
    -------
    ndarray (...)
        No exact code of one message and this load is decodable sooner, wherever its workers sit; inf where even all of
        them cannot hold that many partitions.

    Raises
    ------
    ParameterError
        For times that are negative or not finite.

    References
    ----------
    Theorem 1 of docs/bounds.md.

    Examples
    --------
    >>> float(capacity(np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]), load=2))
    4.0
    """
    F, C = _times(fixed, growing)
    n = F.shape[-1]
    q = np.asarray(needed(n, load, fraction))
    _require_rows(q, F)
    q = np.broadcast_to(q, F.shape[:-1])
    with np.errstate(over="ignore"):  # what is too long for a number is inf
        at = np.sort(F + load * C, axis=-1)
    place = np.clip(q - 1, 0, n - 1)[..., None]
    bound = np.take_along_axis(at, place, axis=-1)[..., 0]
    bound = np.where(q > 0, bound, 0.0)
    return np.where(q > n, inf, bound)


def work_floor(
    fixed: np.ndarray, growing: np.ndarray, cap: float | None = None, fraction: Numbers = 1.0
) -> np.ndarray:
    r"""Theorem 2: the smallest tau with sum_w clip((tau - F_w) / C_w, 0, cap) >= fraction n, by row.

    No scheme whose workers hold at most `cap` shares is faster, with any loads and any number of messages; shares of
    real size that are chosen in hindsight reach it (``scheme=work_floor``).

    Parameters
    ----------
    fixed, growing : ndarray (..., n)
        F >= 0 and C >= 0; where C_w = 0 the worker can have done `cap` from F_w on.
    cap : float, optional
        Largest relative load of a worker, at least `fraction`; by default n, which is none.
    fraction : float or ndarray (...)
        As in `capacity`.

    Raises
    ------
    ParameterError
        If all workers together cannot hold that many shares, and for times that are negative or not finite.

    References
    ----------
    Theorem 2 of docs/bounds.md.

    Examples
    --------
    >>> float(work_floor(np.zeros(3), np.array([1.0, 2.0, 2.0])))
    1.5
    >>> round(float(work_floor(np.zeros(3), np.array([1.0, 2.0, 2.0]), cap=1.2)), 9)
    1.8
    """
    F, C = _times(fixed, growing)
    n = F.shape[-1]
    cap = float(n) if cap is None else _number(cap, "cap")
    fraction = _numbers(fraction, "fraction")
    require(
        cap < inf and bool(np.all(cap >= fraction - _CLOSE)),
        f"cap must be at least 1, since the shares sum to n={n}; got cap={cap:g}",
    )
    _require_rows(fraction, F)
    total = np.broadcast_to(fraction * n, F.shape[:-1])[..., None]
    edges = np.sort(np.concatenate([F, F + cap * C], axis=-1), axis=-1)
    # The first edge by which enough can be done, between two that are halved; at the last one it is cap n.
    first = np.zeros(total.shape, int)
    last = np.full(total.shape, 2 * n - 1)
    while (first < last).any():
        middle = (first + last) // 2
        work = _possible_work(np.take_along_axis(edges, middle, -1), F, C, cap)
        enough = work >= total * (1 - 1e-14)
        first = np.where(enough, first, middle + 1)
        last = np.where(enough, middle, last)
    high = np.take_along_axis(edges, first, -1)
    low = np.take_along_axis(edges, np.maximum(first - 1, 0), -1)
    work_by_low = _possible_work(low, F, C, cap)
    # Between two edges work grows linearly, and it jumps at the second where somebody has C = 0.
    at_work = (low >= F) & (low < F + cap * C)
    speed = np.divide(1.0, C, out=np.zeros_like(C), where=at_work).sum(-1, keepdims=True)
    never = np.full_like(work_by_low, inf)
    tau = low + np.divide(total - work_by_low, speed, out=never, where=speed > 0)
    tau = np.where(first == 0, high, np.clip(tau, low, high))
    return np.where(total <= 0, 0.0, tau)[..., 0]


def _possible_work(at: np.ndarray, F: np.ndarray, C: np.ndarray, cap: float) -> np.ndarray:
    """Work (..., 1) that all workers together can have done by the times `at` (..., 1)."""
    late = at - F
    share = np.divide(late, C, out=np.where(late >= 0, inf, 0.0), where=C > 0)
    return np.clip(share, 0, cap).sum(-1, keepdims=True)


def _numbers(values: object, name: str) -> np.ndarray:
    """An array of real numbers."""
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be numbers, got {repr(values)[:100]}") from None


def _number(value: object, name: str) -> float:
    """One real number."""
    number = _numbers(value, name)
    require(number.ndim == 0, f"{name} must be one number, got {number.size}")
    return float(number)


def _require_rows(fraction: np.ndarray, times: np.ndarray) -> None:
    """Refuse fractions that are neither one nor one for each row."""
    lengths = zip(fraction.shape[::-1], times.shape[-2::-1], strict=False)
    fit = fraction.ndim < times.ndim and all(of_fraction in (1, rows) for of_fraction, rows in lengths)
    require(
        fit, f"a fraction must be a number, or one for each of {times.shape[:-1]} rows, got {fraction.shape}"
    )


def _times(fixed: np.ndarray, growing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both parts as arrays of one shape, which are times."""
    F = _numbers(fixed, "fixed")
    C = _numbers(growing, "growing")
    try:
        F, C = np.broadcast_arrays(F, C)
    except ValueError:
        raise ParameterError(f"fixed and growing times have the shapes {F.shape} and {C.shape}") from None
    require(F.ndim > 0 and F.shape[-1] > 0, f"times must be arrays (..., n) of n >= 1 workers, got {F.shape}")
    for name, part in (("fixed", F), ("growing", C)):
        wrong = part[~((part >= 0) & (part < inf))]
        require(not wrong.size, f"{name} times must be finite numbers >= 0, got {wrong.min(initial=inf):g}")
    return F, C


def water_loads(fixed: np.ndarray, growing: np.ndarray, cap: float | None = None) -> np.ndarray:
    """Relative loads (..., n) that sum to n, are at most `cap`, and reach `work_floor`.

    Workers whose time does not grow share what is left: as few as `cap` allows, the fastest (ties: the lower), equally.

    Examples
    --------
    >>> water_loads(np.zeros(3), np.array([1.0, 2.0, 2.0]))
    array([1.5 , 0.75, 0.75])
    >>> water_loads(np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4), cap=2)
    array([2., 2., 0., 0.])
    """
    F, C = _times(fixed, growing)
    n = F.shape[-1]
    top = float(n) if cap is None else cap
    tau = work_floor(F, C, cap)[..., None]
    loads = np.clip(np.divide(tau - F, C, out=np.zeros_like(C), where=C > 0), 0, top)
    does_not_grow = C <= 0
    if does_not_grow.any():
        left = n - loads.sum(-1, keepdims=True)
        sharing = np.ceil(left / top - _CLOSE)  # workers that share it
        order = np.argsort(np.where(does_not_grow, F, inf), axis=-1, kind="stable")
        place = np.argsort(order, axis=-1, kind="stable")
        share = left / np.maximum(sharing, 1)
        loads = np.where(does_not_grow & (place < sharing), share, loads)
    return loads


def one_assignment(fixed: np.ndarray, growing: np.ndarray, load: float) -> float:
    """Least mean duration of one message per worker and one assignment for all rows, for at most four workers.

    Partitions are told apart by who holds them: s_A of them, in shares, are with exactly the workers A. If s_A > 0,
    then somebody in A must be heard in every row t, so that D_t >= min over A of F + load C. A mixed-integer program
    chooses the s_A: they sum to n, and no worker holds more than `load`.

    Parameters
    ----------
    fixed, growing : ndarray (T, n)
        F and C.
    load : float
        Relative, the largest of a worker; all are priced at it.

    Returns
    -------
    float
        No exact code of one message and this load has a smaller mean duration over these rows, unless its assignment
        changes between them: at least the mean of `capacity`.

    Raises
    ------
    ParameterError
        For more than four workers, for times that are negative or not finite, and for a load below 1, which holds no
        exact code.

    References
    ----------
    Theorem 4 of docs/bounds.md.

    Examples
    --------
    >>> rows = np.array([[1.0, 1.0, 9.0, 9.0], [1.0, 9.0, 1.0, 9.0], [9.0, 1.0, 1.0, 9.0]])
    >>> [round(float(np.mean(f(0 * rows, rows, 2))), 6) for f in (capacity, one_assignment)]
    [2.0, 7.333333]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

    F, C = _times(fixed, growing)
    load = _number(load, "load")
    require(F.ndim == 2, f"times must be arrays (T, n) of T rows and n workers, got {F.shape}")
    T, n = F.shape
    require(
        n <= _FEW,
        f"the bound for one assignment in all rows is computed for at most {_FEW} workers, got n={n}",
    )
    require(
        1 <= load < inf,
        f"workers of relative load {load:g} cannot hold all data: the load of an exact code is a finite number >= 1",
    )
    at = F + load * C
    holders: list[list[int]] = []
    for r in range(1, n + 1):
        holders += map(list, combinations(range(n), r))
    U = len(holders)
    first_heard = np.stack([at[:, A].min(1) for A in holders], axis=1)  # (T, U)
    is_holder = np.zeros((n, U))
    for u, A in enumerate(holders):
        is_holder[A, u] = 1
    # Variables: D_t, s_A, and whether A holds anything.
    duration_of_row = np.repeat(np.eye(T), U, axis=0)
    heard_by = (first_heard[..., None] * np.eye(U)).reshape(T * U, U)
    waited = np.hstack([duration_of_row, np.zeros((T * U, U)), -heard_by])
    used = np.hstack([np.zeros((U, T)), np.eye(U), -n * np.eye(U)])
    memory = np.hstack([np.zeros((n, T)), is_holder, np.zeros((n, U))])
    whole = np.concatenate([np.zeros(T), np.ones(U), np.zeros(U)])
    solution = milp(
        np.concatenate([np.full(T, 1 / T), np.zeros(2 * U)]),
        integrality=np.concatenate([np.zeros(T + U), np.ones(U)]),
        bounds=Bounds(0, np.concatenate([np.full(T + U, inf), np.ones(U)])),
        constraints=[
            LinearConstraint(waited, lb=0),
            LinearConstraint(used, ub=0),
            LinearConstraint(memory, ub=load),
            LinearConstraint(whole, n, n),
        ],
        options={"mip_rel_gap": 0.0},
    )
    return float(solution.mip_dual_bound)


def data_bound(fixed: np.ndarray, growing: np.ndarray, d: int) -> np.ndarray:
    r"""Theorem 3: one message, n partitions, d with every worker; C follows the partition and F the worker.

    The largest of (a) F_(q) + the d smallest C, q = ceil(n/d); (b) F_(1) + the largest C + the d - 1 smallest; (c)
    the tau with sum_w max(0, tau - F_w) = sum C, which holds for any loads. Only exact codes with k = n are meant.

    Parameters
    ----------
    fixed, growing : ndarray (..., n)
        F of the workers and C of the partitions.
    d : int
        Partitions of each worker.

    References
    ----------
    Theorem 3 of docs/bounds.md.

    Examples
    --------
    >>> float(data_bound(np.zeros(4), np.array([1.0, 1.0, 1.0, 5.0]), d=2))
    6.0
    """
    F, C = (np.sort(part, axis=-1) for part in _times(fixed, growing))
    n = F.shape[-1]
    require(_number(d, "d") in range(1, n + 1), f"data_bound needs 1 <= d <= n={n}, got d={d}")
    several = F[..., needed(n, d) - 1] + C[..., :d].sum(-1)
    slowest = F[..., 0] + C[..., -1] + C[..., : d - 1].sum(-1)
    return np.maximum.reduce([several, slowest, shared_work(F, C)])


def shared_work(fixed: np.ndarray, growing: np.ndarray) -> np.ndarray:
    """(c) of Theorem 3: tau with sum_w max(0, tau - F_w) = sum C, by row; it holds for any loads.

    Examples
    --------
    >>> float(shared_work(np.array([0.0, 1.0, 9.0]), np.array([1.0, 1.0, 1.0])))
    2.0
    """
    C = np.asarray(growing, float).sum(-1)[..., None]
    n = np.shape(fixed)[-1]
    # Every worker at the speed of one partition of size sum C / n: the water level of equal growing parts.
    return work_floor(fixed, np.broadcast_to(C / n, np.shape(fixed)))
