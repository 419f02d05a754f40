"""Bad straggler sets: greedy deletion with rank-one updates of an inverse, then the best swaps.

Finding the worst set is NP-hard: what is found here bounds a worst case from below, never from above.

References
----------
Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017 (hardness).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gcexp.decoding_error.subset_errors import Rows

_CUT = 1e-10  # eigenvalues of G_F below this times the largest are zero
_SAME = 1e-9  # differences of k e below this are none
_FLOPS = 2e9  # what the paths from all partitions may cost together
_RESTARTS, _SWAPS, _TRIALS = 3, 200, 50
_REFRESH = 16  # rank-one updates before an inverse is computed anew


class Survivors:
    r"""Survivors F of real messages, with G_F^+ and the best weights w = G_F^+ h_F, ready to lose one worker more.

    Losing j raises k e by w_j^2 / (G_F^+)_jj where its message is independent of the others, that is where
    (G_F^+ G_F)_jj = 1, else by 0. In the first case the new inverse is a rank-one update of the old, O(n^2).
    """

    def __init__(self, rows: Rows, responses):
        self.rows, self.responses = rows, np.array(responses, dtype=bool)
        self._renew()

    def _renew(self) -> None:
        F = np.flatnonzero(self.responses)
        G = self.rows.G
        n = self.rows.n
        values, vectors = np.linalg.eigh(G[np.ix_(F, F)])
        large = values > _CUT * values.max(initial=0)
        vectors = vectors[:, large]
        self.inverse = np.zeros((n, n))
        self.alone = np.zeros(n, dtype=bool)
        self.w = np.zeros(n)
        self.inverse[np.ix_(F, F)] = (vectors / values[large]) @ vectors.T
        self.alone[F] = np.abs((vectors**2).sum(1) - 1) < 1e-9
        self.w[F] = self.inverse[np.ix_(F, F)] @ self.rows.h[F]
        self.updates = 0

    @property
    def total(self) -> float:
        """K e(F)."""
        return self.rows.k - float(self.rows.h @ self.w)

    def rises(self) -> np.ndarray:
        """By how much k e rises when one more survivor is lost, (n,); 0 for workers that are not heard."""
        diagonal = np.where(self.alone, self.inverse.diagonal(), 1)
        return np.where(self.alone, self.w**2, 0) / diagonal

    def lose(self, j: int) -> None:
        """Lose worker j."""
        self.responses[j] = False
        self.updates += 1
        if not self.alone[j] or self.updates > _REFRESH:
            self._renew()
            return
        column = self.inverse[j].copy()
        self.w -= column * (self.w[j] / column[j])
        self.inverse -= np.outer(column, column / column[j])
        self.alone[j], self.w[j], self.inverse[j], self.inverse[:, j] = False, 0, 0, 0

    def swap(self, weight: np.ndarray) -> bool:
        """Bring one straggler back and lose the survivor of no larger weight that hurts most, if that is worse."""
        G = self.rows.G
        h = self.rows.h
        silent = np.flatnonzero(~self.responses)
        u = self.inverse @ G[:, silent]
        d = G[silent, silent] - np.einsum("js,js->s", G[:, silent], u)
        new = d > 1e-9 * G[silent, silent]  # independent of the survivors: only those can lower the error
        silent = silent[new]
        u = u[:, new]
        d = d[new]
        if not len(silent):
            return False
        a = (h[silent] - h @ u) / d
        w = self.w[:, None] - u * a
        diagonal = self.inverse.diagonal()[:, None] + u**2 / d
        may = self.alone[:, None] & (weight[:, None] <= weight[silent])
        change = np.where(may, w**2, 0) / np.where(may, diagonal, 1) - a**2 * d
        lost, back = np.unravel_index(int(change.argmax()), change.shape)
        if change[lost, back] <= _SAME:
            return False
        z = -u[:, back]
        z[silent[back]] = 1
        self.inverse += np.outer(z, z / d[back])
        self.w += z * a[back]
        self.responses[silent[back]] = self.alone[silent[back]] = True
        self.lose(int(lost))
        return True


def path(
    rows: Rows, weight, most: int, random: np.random.Generator, start=None
) -> Iterator[tuple[np.ndarray, float]]:
    """Survivors (n,) and their error, while the worker whose loss hurts most for its weight is lost; ties at random.

    Where no single loss hurts (a message that others imply), all holders of the partition with the fewest survivors go
    together. Ends before the lost workers weigh more than `most`.
    """
    weight = np.asarray(weight)
    support = rows.B != 0
    state = Survivors(rows, np.ones(rows.n, dtype=bool) if start is None else start)
    while True:
        left = most - int(weight[~state.responses].sum())
        if left < 0:
            return
        yield state.responses.copy(), state.total / rows.k
        rises = np.where(state.responses & (weight <= left), state.rises() / weight, -1)
        if rises.max(initial=-1) < 0:
            return
        together = np.zeros(0, dtype=int)
        if rises.max() < _SAME:
            holders = support[state.responses].sum(0)
            costs = weight[state.responses] @ support[state.responses]
            fewest = np.flatnonzero((holders > 0) & (costs <= left))
            if len(fewest):
                fewest = fewest[costs[fewest] == costs[fewest].min()]
                together = np.flatnonzero(state.responses & support[:, random.choice(fewest)])
        if not len(together):
            together = [random.choice(np.flatnonzero(rises >= rises.max() - _SAME))]
        for j in together:
            state.lose(int(j))


def bad_sets(
    rows: Rows,
    weight,
    wanted: Iterable[int],
    random: np.random.Generator,
    given: Iterable[np.ndarray] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Errors (W,) and survivors (W, n) of bad sets whose lost workers weigh at most w, for each wanted w.

    The errors are lower bounds on the worst. Losing worker j counts ``weight[j]``. Every start is followed down to the
    largest w at once, and what it passes counts for the w on the way: nothing lost (a few times, as ties are random),
    the holders of each partition, consecutive workers, random sets for each w, and the survivor sets `given`. For each
    wanted w the best of each of these kinds is improved by swaps.
    """
    weight = np.asarray(weight)
    wanted = list(wanted)
    most = max(wanted)
    n = rows.n
    holders = np.unique((rows.B != 0).T, axis=0)
    holders = holders[holders @ weight <= most]
    holders = holders[np.argsort(holders @ weight, kind="stable")]
    starts = holders[: max(4, int(_FLOPS / (n * n * max(most, 1))))]
    mixed = [random.permutation(n) for _ in range(_TRIALS)]
    from_everyone: list[tuple[np.ndarray, float]] = []
    for _ in range(_RESTARTS):
        from_everyone += path(rows, weight, most, random)
    from_holders: list[tuple[np.ndarray, float]] = []
    for lost in starts:
        from_holders += path(rows, weight, most, random, ~lost)
    in_an_order: list[tuple[np.ndarray, float]] = []
    orders = np.array([np.arange(n), *mixed])
    for order, errors_along in zip(orders, rows.errors_along(orders), strict=True):
        for w in wanted:
            responses = _without(order, weight, w)
            lost = n - responses.sum()
            in_an_order.append((responses, errors_along[lost]))
    kinds = []  # survivor sets of one kind, and their errors
    for met in (from_everyone, from_holders, in_an_order):
        if met:
            kinds.append((np.array([responses for responses, _ in met]), np.array([e for _, e in met])))
    sets_given = np.array(list(given))
    if len(sets_given):
        kinds.append((sets_given, rows.errors(sets_given)))
    places, improved = [], []  # of the best of each kind for each wanted w
    for found, values in kinds:
        responses, first = np.unique(found, axis=0, return_index=True)
        lost = ~responses @ weight
        values = values[first]
        for i, w in enumerate(wanted):
            reach = np.flatnonzero(lost <= w)
            if not reach.size:
                continue
            largest = values[reach] >= values[reach].max() - _SAME
            best = responses[reach[largest.argmax()]]  # the first of them: roundings decide nothing
            state = Survivors(rows, _without(np.arange(n), weight, w, best))
            for _ in range(_SWAPS):
                if not state.swap(weight):
                    break
            places.append(i)
            improved.append(state.responses)
    errors = np.full(len(wanted), -1.0)
    sets = np.zeros((len(wanted), n), dtype=bool)
    for i, responses, error in zip(places, improved, rows.errors(np.array(improved)), strict=True):
        if error > errors[i]:
            errors[i], sets[i] = error, responses
    return errors, sets


def _without(
    order: np.ndarray, weight: np.ndarray, most: int, responses: np.ndarray | None = None
) -> np.ndarray:
    """Survivors after losing workers in this order, beside those lost already, while they weigh at most `most`."""
    responses = np.ones(len(weight), dtype=bool) if responses is None else responses.copy()
    order = order[responses[order]]
    responses[order[weight[order].cumsum() <= most - weight[~responses].sum()]] = False
    return responses
