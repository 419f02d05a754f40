"""Adaptive gradient coding: communication costs, groups, and expected times in the restart model.

Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845. Costs are exact (`fractions.Fraction`), in gradients;
`d` is the load, `w` the gradient's length, `L` the number of rounds, `s` stragglers. In the restart model a started
worker straggles with probability `p`; epoch 0 starts all workers, each later one the stragglers of undecoded groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from gcexp.codes.adaptive import group_sizes
from gcexp.errors import require, require_known

_MOST_STARTED = 4000  # a matrix of as many rows
_MOST_COMB = 500  # beyond, binomial coefficients leave the numbers of a float

# --- costs ------------------------------------------------------------------------------------------------------


def rounds(L: int, d: int, s: int) -> int:
    """Rounds that decode with s stragglers, r_s = ceil(L / (d - s)), (58).

    Examples
    --------
    >>> [rounds(6, 3, s) for s in range(3)]
    [2, 3, 6]
    """
    require(0 <= s < d, f"adaptive codes tolerate 0 <= s < d stragglers, got s={s}, d={d}")
    require(L >= 1, f"adaptive codes send L >= 1 rounds, got L={L}")
    return -(-L // (d - s))


def feasible(d: int, lengths: Sequence[int], w: int) -> bool:
    """Whether lengths (q_0, ..., q_smax) are achievable by one code: d >= s + ceil(w / q_s) for every s, (10).

    Examples
    --------
    >>> feasible(4, [3, 4, 6, 12], w=12), feasible(4, [3, 3], w=12)
    (True, False)
    """
    _sizes(d, w)
    require(all(q >= 1 for q in lengths), f"lengths must be q >= 1, got {list(lengths)}")
    return all(d >= s + -(-w // q) for s, q in enumerate(lengths))


def optimal_costs(d: int, w: int) -> tuple[Fraction, ...]:
    """Smallest costs at once, c* = (ceil(w/d), ceil(w/(d-1)), ..., w) / w, (11).

    Examples
    --------
    >>> [str(c) for c in optimal_costs(4, 12)]
    ['1/4', '1/3', '1/2', '1']
    """
    _sizes(d, w)
    return tuple(Fraction(-(-w // (d - s)), w) for s in range(d))


def _sizes(d: int, w: int, L: int = 1) -> None:
    """Refuse a load, a length or a number of rounds that none can be."""
    require(min(d, w, L) >= 1, f"costs need d, w, L >= 1, got d={d}, w={w}, L={L}")


def adaptive_costs(L: int, d: int, w: int) -> tuple[Fraction, ...]:
    """Costs of AGC with L rounds, r_s ceil(w/L) / w for s = 0, ..., d-1, (58).

    Equal to `optimal_costs` for L = w, and for L = lcm(1, ..., d) where that divides w.

    Examples
    --------
    >>> adaptive_costs(6, 3, 12) == optimal_costs(3, 12)
    True
    """
    _sizes(d, w, L)
    return tuple(Fraction(rounds(L, d, s) * -(-w // L), w) for s in range(d))


def fixed_costs(d: int, q: int, w: int) -> tuple[Fraction, ...]:
    """Costs of CGC with messages of length q: q/w for s = 0, ..., s_max = d - ceil(w/q); it fails above.

    Raises
    ------
    ParameterError
        Unless 1 <= q <= w and ceil(w/q) <= d.

    Examples
    --------
    >>> [str(c) for c in fixed_costs(4, 4, 12)]
    ['1/3', '1/3']
    """
    require(
        1 <= q <= w and -(-w // q) <= d, f"CGC needs 1 <= q <= w and ceil(w/q) <= d, got q={q}, w={w}, d={d}"
    )
    return (Fraction(q, w),) * (d - -(-w // q) + 1)


def superior(c: Sequence[Fraction], other: Sequence[Fraction]) -> bool:
    """Whether costs c survive as many stragglers and are nowhere larger (Remark 1).

    Examples
    --------
    >>> (
    ...     superior(optimal_costs(4, 12), fixed_costs(4, 6, 12)),
    ...     superior(fixed_costs(4, 6, 12), optimal_costs(4, 12)),
    ... )
    (True, False)
    """
    return len(c) >= len(other) and all(a <= b for a, b in zip(c, other, strict=False))


# --- groups -----------------------------------------------------------------------------------------------------


def group_length(L: int, d: int, s: Sequence[int], w: int) -> int:
    """Length that G-AGC sends with s_j stragglers in group j, ceil(L / (d - max s_j)) ceil(w / L), (68).

    Examples
    --------
    >>> group_length(6, 3, [0, 1, 0], w=12)
    6
    """
    _of_groups(s)
    _sizes(d, w, L)
    return rounds(L, d, max(s)) * -(-w // L)


def _of_groups(s: Sequence[int]) -> None:
    """Refuse numbers of stragglers that are none of groups."""
    require(
        len(s) >= 1 and min(s) >= 0,
        f"stragglers s must be a number >= 0 for each of one or more groups, got {s}",
    )


def group_feasible(d: int, s: Sequence[int], q: int, w: int) -> bool:
    """Whether length q is achievable with s_j stragglers in group j: d >= max s_j + ceil(w / q) (Theorem 3).

    Examples
    --------
    >>> group_feasible(3, [0, 1], q=6, w=12), group_feasible(3, [0, 2], q=6, w=12)
    (True, False)
    """
    _of_groups(s)
    require(q >= 1, f"a length must be q >= 1, got q={q}")
    _sizes(d, w)
    return d >= max(s) + -(-w // q)


def survivable(n: int, d: int) -> int:
    """Stragglers that G-AGC survives, d - 1 in each group: floor(n/d) (d-1) in all.

    Examples
    --------
    >>> survivable(20, 3)
    12
    """
    require(1 <= d <= n, f"groups need 1 <= d <= n, got n={n}, d={d}")
    return n // d * (d - 1)


def survivable_bound(n: int, d: int) -> int:
    """Upper bound on `survivable` over all groupings with load d, n - ceil(n/d) (Theorem 4).

    With lambda = n mod d it is larger by lambda - ceil(lambda/d): by less than d - 1 for d >= 2, and by nothing if d
    divides n or n - 1.

    Examples
    --------
    >>> survivable_bound(20, 3)
    13
    """
    require(1 <= d <= n, f"groups need 1 <= d <= n, got n={n}, d={d}")
    return n - -(-n // d)


# --- decoding ---------------------------------------------------------------------------------------------------


def decode_size(n: int, d: int, L: int, s: int) -> int:
    """Order of the matrix that AGC inverts, h = L + (n-d) r_s, (57).

    Examples
    --------
    >>> [decode_size(20, 3, 6, s) for s in range(3)]
    [40, 57, 108]
    """
    require(1 <= d <= n, f"decoding needs 1 <= d <= n, got n={n}, d={d}")
    return L + (n - d) * rounds(L, d, s)


DECODERS = ("agc", "cgc", "g_agc", "g_cgc")


def decode_cost(scheme: str, n: int, d: int, s: int, L: int) -> int:
    r"""Leading term of the decoding cost (Table II); r = n mod d, q = ceil(w / (d-s)), b = ceil(w/q) = d - s.

    agc: h^3 with h of `decode_size`; cgc: (b + n - d)^2; g_agc: (floor(n/d)-1) L^2 + (L + r_s r)^3; g_cgc:
    (floor(n/d)-1) b^2 + (b + r)^2.

    Parameters
    ----------
    scheme : {"agc", "cgc", "g_agc", "g_cgc"}
    n, d : int
    s : int
        Stragglers (AGC), or stragglers the code is built for (CGC).
    L : int
        Rounds of AGC; CGC has none.

    Examples
    --------
    >>> [decode_cost(scheme, 20, 3, 1, 6) for scheme in ("agc", "cgc", "g_agc", "g_cgc")]
    [185193, 361, 1908, 36]
    """
    require_known("scheme", scheme, DECODERS)
    require(0 <= s < d <= n, f"decoding needs 0 <= s < d <= n, got s={s}, d={d}, n={n}")
    r = n % d
    groups = n // d - 1
    b = d - s
    if scheme == "agc":
        return decode_size(n, d, L, s) ** 3
    if scheme == "cgc":
        return (b + n - d) ** 2
    if scheme == "g_agc":
        return groups * L**2 + (L + rounds(L, d, s) * r) ** 3
    return groups * b**2 + (b + r) ** 2


# --- the restart model --------------------------------------------------------------------------------------------


def first_epoch(u: int, p: float, s_max: int) -> np.ndarray:
    """h(u, i, s, s_max): probability that i is the first epoch with at most s_max of u workers left, and s are.

    A chain equal to the multi-sum (81): the number left is Binomial(u, p) in epoch 0, then thinned by p in each epoch;
    what has entered s <= s_max is taken out. It runs until less than 1e-16 is left.

    Parameters
    ----------
    u : int
        Workers started.
    p : float
        Probability that a started worker straggles, 0 <= p < 1.
    s_max : int
        Stragglers survived.

    Returns
    -------
    ndarray (epochs, s_max+1)

    Examples
    --------
    >>> first_epoch(2, 0.5, 0)[:3, 0]
    array([0.25    , 0.3125  , 0.203125])
    """
    require(0 <= p < 1, f"restarts end only if 0 <= p < 1, got p={p}")
    require(0 <= s_max <= u, f"restarts need 0 <= s_max <= u, got s_max={s_max}, u={u}")
    require(u <= _MOST_STARTED, f"the chain of restarts has at most u = {_MOST_STARTED} workers, got u={u}")
    return _first_epoch(u, p, s_max).copy()


@lru_cache(maxsize=256)  # prices and lengths change no chance
def _first_epoch(u: int, p: float, s_max: int) -> np.ndarray:
    """What `first_epoch` gives for valid arguments; not to be written to."""
    thin = _thinning(u, p)
    left = thin[u].copy()
    found: list[np.ndarray] = []
    while not found or left.sum() > 1e-16:
        if found:
            left = left @ thin
        found.append(left[: s_max + 1].copy())
        left[: s_max + 1] = 0
    return np.array(found)


@lru_cache(maxsize=256)
def _thinning(u: int, p: float) -> np.ndarray:
    """Chance that b of a workers straggle again, at [a, b]; not to be written to."""
    thin = np.zeros((u + 1, u + 1))
    for a in range(u + 1):
        thin[a, : a + 1] = _binomial(a, p)
    return thin


def _binomial(a: int, p: float) -> np.ndarray:
    """Chances of 0, ..., a of a workers that straggle with probability p each."""
    if a <= _MOST_COMB:
        return np.array([comb(a, b) * p**b * (1 - p) ** (a - b) for b in range(a + 1)])
    if p == 0:
        return np.eye(1, a + 1)[0]
    from scipy.special import betaln, xlog1py, xlogy

    b = np.arange(a + 1)
    return np.exp(xlogy(b, p) + xlog1py(a - b, -p) - betaln(b + 1, a - b + 1) - np.log(a + 1))


def last_epoch(sizes: Sequence[int], p: float, s_max: int) -> np.ndarray:
    """Probability that the last group is decoded in epoch i, and s = most stragglers left in a group decoded then.

    P(Y=i, S=s) = P(i, s) - P(i, s-1), where P(i, s) = prod_j [sum_{b<i} sum_a h(n_j, b, a) + sum_{a<=s} h(n_j, i, a)]
    and P(i, -1) = prod_j sum_{b<i} sum_a h(n_j, b, a); (84) and the appendix. A group decoded earlier counts as 0.

    Parameters
    ----------
    sizes : sequence of int
        Workers of each group; one group: `first_epoch`.
    p, s_max
        As there; s_max holds in each group.

    Returns
    -------
    ndarray (epochs, s_max+1)

    Examples
    --------
    >>> float(last_epoch([3, 3, 5], 0.1, 2).sum().round(9))
    1.0
    >>> bool(np.allclose(last_epoch([4], 0.3, 1), first_epoch(4, 0.3, 1)))
    True
    """
    require(len(sizes) >= 1, f"sizes must name one or more groups, got {sizes}")
    each = {size: first_epoch(size, p, s_max) for size in set(sizes)}
    epochs = max(map(len, each.values()))
    decoded = {}  # P(i, s) of one group, columns s = -1, 0, ..., s_max
    for size, chances in each.items():
        h = np.pad(chances, ((0, epochs - len(chances)), (1, 0)))
        before = np.cumsum(h.sum(1)) - h.sum(1)
        decoded[size] = before[:, None] + np.cumsum(h, axis=1)
    product = np.ones((epochs, s_max + 2))
    for size in sizes:
        product *= decoded[size]
    return np.diff(product, axis=1)


def mean_time(
    chances: np.ndarray, first: Sequence[float], later: Sequence[float], lost: Sequence[float]
) -> float:
    """Mean of an iteration's time, priced by its final epoch i and the stragglers s left in it.

    ``first[s]`` if i = 0, else ``lost[0] + (i-1) lost[1] + later[s]``.

    Parameters
    ----------
    chances : ndarray (epochs, s_max+1)
        From `last_epoch`.
    first, later : sequence of s_max+1 float
        Length of the final epoch.
    lost : sequence of two float
        Length of epoch 0 and of any later one, if not final.

    Examples
    --------
    >>> round(mean_time(np.array([[0.5, 0.25], [0.25, 0.0]]), [8, 10], [8, 10], [16, 4]), 6)
    12.5
    """
    before = lost[0] + np.arange(len(chances)) * lost[1] - lost[1]
    before[0] = 0
    in_epoch_0 = chances[0] @ np.array(first)
    in_later_epochs = (chances[1:] @ np.array(later)).sum()
    in_lost_epochs = chances.sum(1) @ before
    return float(in_epoch_0 + in_later_epochs + in_lost_epochs)


def average_time(
    n: int,
    d: int,
    p: float,
    s_max: int | None = None,
    grouped: bool = False,
    t_cp: float = 3.0,
    t_cm: float = 13.0,
) -> float:
    r"""AET: t_cp + sum_{i,s} P(Y=i, S=s) (c_s t_cm + i (t_cp + t_cm)), (83) and (84).

    c_s = 1/(d-s) with s_max = d-1 for AGC, 1/(d-s_max) for CGC(s_max).

    Parameters
    ----------
    n, d : int
    p : float
    s_max : int, optional
        Of CGC; default: AGC.
    grouped : bool
        G-AGC or G-CGC, with `group_sizes`.
    t_cp, t_cm : float
        Seconds to compute, and to send one gradient.

    Examples
    --------
    >>> round(average_time(20, 3, 0.1), 4), round(average_time(20, 3, 0.1, grouped=True), 4)
    (15.8772, 10.6662)
    >>> round(average_time(20, 3, 0.1, s_max=1), 4)
    19.5048
    """
    most = d - 1 if s_max is None else s_max
    require(0 <= most < d, f"the average time needs 0 <= s_max < d, got s_max={s_max}, d={d}")
    if s_max is None:
        final_epoch = [t_cp + t_cm / (d - s) for s in range(d)]
    else:
        final_epoch = [t_cp + t_cm / (d - s_max)] * (s_max + 1)
    sizes = group_sizes(n, d) if grouped else [n]
    lost = [t_cp + t_cm, t_cp + t_cm]
    return mean_time(last_epoch(sizes, p, most), final_epoch, final_epoch, lost)


def crossing(
    one: Callable[[float], float], other: Callable[[float], float], low: float, high: float
) -> float:
    """Where two functions of p are equal, between `low` and `high`.

    Examples
    --------
    >>> round(
    ...     crossing(lambda p: average_time(20, 3, p, 0), lambda p: average_time(20, 3, p, 1), 0.001, 0.1), 5
    ... )
    0.00778
    """
    from scipy.optimize import brentq  # slow to import

    return float(brentq(lambda p: one(p) - other(p), low, high, xtol=1e-10))
