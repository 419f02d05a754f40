"""The worst cases of one part of a code, for every number of lost workers: exact ones, else brackets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import comb

import numpy as np

from gcexp.codes.base import Code
from gcexp.decoding_error.adversary import bad_sets, path
from gcexp.decoding_error.design_parameters import SAME, design_parameters
from gcexp.decoding_error.parts import Part, is_transitive
from gcexp.decoding_error.subset_errors import MOST_WORKERS_IN_TABLE, Rows, search_worst, worst_of_size
from gcexp.decoding_error.upper_bounds import upper_bounds
from gcexp.progress import bar
from gcexp.theory.errors import Parameters, bibd_error


@dataclass(frozen=True)
class Limits:
    """Sets that are enumerated and searched at most, and whether a bar is shown."""

    enumerated: int
    searched: int = 0
    progress: bool = False


@dataclass(frozen=True)
class Curve:
    """Bracket of a part for 0, 1, ... lost workers.

    Attributes
    ----------
    lower, upper : ndarray (W,)
        Errors times the partitions of the part; NaN for numbers that were not asked for.
    responses : ndarray (W, classes)
        Classes of which a worker survives in a set with the error `lower`.
    exact : ndarray (W,)
        Whether the two are equal because the worst case is known.
    closed : bool
        By a closed form.
    """

    lower: np.ndarray
    upper: np.ndarray
    responses: np.ndarray
    exact: np.ndarray
    closed: bool = False


def worst_curve(
    part: Part,
    wanted: Sequence[int],
    random: np.random.Generator,
    limits: Limits,
    starts: Sequence[np.ndarray],
    code: Code,
) -> Curve:
    """Worst cases of one part when its lost workers number at most w, for each w in `wanted`; NaN for the others.

    `starts` are survivor sets from which a search for bad ones also begins.
    """
    weight, rows = part.weight, part.rows
    if not len(weight) or not rows.k:
        return _curve_without_links(part)
    equal_classes = bool((weight == weight[0]).all())
    design = design_parameters(rows) if equal_classes else None
    if design is not None:
        return _curve_of_design(part, design)
    search = _Search(part, wanted, equal_classes)
    if rows.n <= MOST_WORKERS_IN_TABLE and 2**rows.n <= limits.enumerated:
        search.tabulate()
    else:
        search.enumerate_and_search(limits, random)
    search.bracket_the_rest(random, starts, code)
    return search.curve()


def _curve_without_links(part: Part) -> Curve:
    """The curve of a partition that nobody holds, or of a worker without partitions."""
    total = int(part.weight.sum())
    classes = len(part.classes)
    k = part.rows.k
    errors = np.full(total + 1, float(k))
    survivors = np.arange(total, -1, -1)
    responses = survivors[:, None] > np.zeros(classes)
    return Curve(errors, errors, responses, np.ones(total + 1, dtype=bool), closed=True)


def _curve_of_design(part: Part, design: Parameters) -> Curve:
    """The curve of a design, all of whose classes have equally many workers."""
    total = int(part.weight.sum())
    classes = len(part.classes)
    k = part.rows.k
    lost_classes = np.arange(total + 1) // part.weight[0]
    errors = k * bibd_error(design, lost_classes)
    errors[errors < SAME * k] = 0
    responses = np.arange(classes) >= lost_classes[:, None]
    return Curve(errors, errors, responses, np.ones(total + 1, dtype=bool), closed=True)


class _Search:
    """Worst cases of a part that has no closed form, filled in one after the other.

    `lower`, `upper`, `responses` and `exact` are as of a `Curve`, but errors instead of errors times k.
    """

    def __init__(self, part: Part, wanted: Sequence[int], equal_classes: bool):
        self.rows = part.rows
        self.weight = part.weight
        self.wanted = list(wanted)
        self.total = int(self.weight.sum())
        self.lower = np.full(self.total + 1, np.nan)
        self.upper = np.full(self.total + 1, np.nan)
        self.responses = np.zeros((self.total + 1, len(self.weight)), dtype=bool)
        self.exact = np.zeros(self.total + 1, dtype=bool)
        self._equal_classes = equal_classes
        # Copies of a message go together where all classes have as many; else they are messages that depend on each
        # other.
        self._messages = self.rows if equal_classes else Rows(np.repeat(self.rows.B, self.weight, axis=0))

    def _put(self, w: int, error: float, responses: np.ndarray) -> None:
        """An error that w lost workers cause, and who survives them."""
        self.lower[w], self.responses[w] = error, responses

    def _surviving_classes(self, survivors: np.ndarray) -> np.ndarray:
        """Classes of which one worker survives at least, where `survivors` are single messages."""
        if self._equal_classes:
            return survivors
        first_of_class = self.weight.cumsum() - self.weight
        return np.logical_or.reduceat(survivors, first_of_class)

    def tabulate(self) -> None:
        """Take all worst cases from the errors of all sets of classes."""
        table = self.rows.table
        classes = self.rows.n
        lost = np.full(1, self.total)
        for workers in self.weight:  # class c is bit c: sets without it first, then those with it
            lost = np.concatenate([lost, lost - workers])
        for w in np.unique(lost):
            sets = np.flatnonzero(lost == w)
            worst = sets[table[sets].argmax()]
            self._put(w, table[worst], worst >> np.arange(classes) & 1)
        for w in range(1, self.total + 1):
            # A weight that no set has, or that a smaller set of classes does worse with.
            if not self.lower[w] >= self.lower[w - 1]:
                self._put(w, self.lower[w - 1], self.responses[w - 1])
        self.exact[:] = True
        self._close_exact()

    def enumerate_and_search(self, limits: Limits, random: np.random.Generator) -> None:
        """Find the worst sets by enumeration or by branch and bound, where the limits allow it."""
        pinned = is_transitive(self._messages)
        n = self._messages.n
        to_search: dict[
            int, tuple[int, int]
        ] = {}  # for w lost workers the lost messages, and the sets of as many
        for w in self.wanted:
            lost = w * n // self.total
            sets: float = comb(n, lost)
            if pinned:
                sets *= min(lost, n - lost) / n
            if sets <= limits.searched and 3 <= lost <= n / 2:
                to_search[w] = lost, round(sets)
            elif sets <= limits.enumerated:
                worst, survivors = worst_of_size(self._messages, lost, pinned)
                self._put(w, worst, self._surviving_classes(survivors))
                self.exact[w] = True
        self._close_exact()
        for w, (lost, sets) in to_search.items():
            self._branch_and_bound(w, lost, sets, pinned, random, limits.progress)

    def _close_exact(self) -> None:
        """Set the upper ends that are known by now."""
        self.lower[self.lower < SAME] = 0
        self.upper[self.exact] = self.lower[self.exact]

    def _branch_and_bound(
        self, w: int, lost: int, sets: int, pinned: bool, random: np.random.Generator, progress: bool
    ) -> None:
        """Find the worst among so many sets of `lost` messages, or leave w open where too many have to be decoded."""
        *_, (greedy, _) = path(self.rows, self.weight, w, random)
        greedy_error = float(self.rows.errors(greedy[None])[0])
        with suppress(np.linalg.LinAlgError), bar(sets, f"s = {w}", "set", progress) as moving:
            found = search_worst(self._messages, lost, greedy_error, pinned, moving.update)
            if found:
                worst, survivors = found
                self._put(w, worst, self._surviving_classes(survivors))
            else:
                self._put(w, greedy_error, greedy)
            self.upper[w], self.exact[w] = self.lower[w], True

    def bracket_the_rest(self, random: np.random.Generator, starts: Sequence[np.ndarray], code: Code) -> None:
        """Where no worst case is known yet, bad sets from below and bounds from above."""
        rest = [w for w in self.wanted if not self.exact[w]]
        if not rest:
            return
        self.lower[rest], self.responses[rest] = bad_sets(self.rows, self.weight, rest, random, starts)
        workers_of_smallest_classes = np.sort(self.weight).cumsum()
        most_classes = [int((workers_of_smallest_classes <= w).sum()) for w in rest]
        self.upper[rest] = upper_bounds(self.rows, most_classes, code)

    def curve(self) -> Curve:
        """The curve; the error does not decrease when one more worker is lost."""
        falling = self.wanted[::-1]
        self.upper[falling] = np.minimum.accumulate(self.upper[falling])
        for before, w in zip(self.wanted, self.wanted[1:], strict=False):
            if self.lower[before] > self.lower[w]:
                self._put(w, self.lower[before], self.responses[before])
        k = self.rows.k
        return Curve(self.lower * k, self.upper * k, self.responses, self.exact)
