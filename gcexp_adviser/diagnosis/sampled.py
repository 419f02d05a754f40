"""Are workers of a record sampled, or were those without a row late? Two answers that a log cannot tell apart.

Which workers have a row in which iterations is a matrix ``there`` of bool (R, N).
"""

from __future__ import annotations

import numpy as np

from gcexp.errors import UserError
from gcexp.traces.record import TraceFile

_ENOUGH = 10  # iterations from which on a pattern is no chance
_GOES_ON = 0.95  # share of the rows of a worker that goes on without gaps
_SELDOM = 0.5  # share of the iterations with a row of a worker, below which missing rows are no exception
_HARDLY = 0.1  # share of the iterations with a row of one worker, below which late times would be made up
_AS_MANY = 0.95  # share of the steps with the same number of workers
_OTHERS = 0.2  # share of the steps from which on the workers are others than in the step before
_HALF = 0.5  # share of the steps that is no exception
_ALL_THERE = 0.05  # share of the steps with all workers, up to which nobody seems to wait for all
_LACKING = 0.1  # share of the rows, of which fewer may be lost where all wait for all
_EVEN = 0.25  # how many gaps a worker has at least, relative to the mean, where nobody is faster


def refuse_sampled(gaps: TraceFile, cure: str = "absent=sampled") -> None:
    """Raise `UserError` where workers may be sampled, with what to type if they are."""
    doubt = may_be_sampled(gaps, cure)
    if doubt:
        raise UserError(f"{gaps.name}: {doubt}")


def may_be_sampled(gaps: TraceFile, cure: str = "absent=sampled") -> str:
    """The question where missing rows may be of workers that were not asked; else empty.

    Two answers fit, and both are told with what to type for each; `cure` is that for workers that are sampled.
    """
    if gaps.missing is None or not gaps.lacks_rows:
        return ""
    there = ~gaps.missing
    for first in (0, _behind_all(there)):
        still_there = there[first:].any(axis=0)
        asked = _as_many_but_others(there[first:, still_there])
        if asked:
            return _either(gaps, f"{asked}", cure, first)
    seldom = _seldom(_share_there(there), cure)
    if seldom:
        return seldom
    some = _never_all(there)
    if some is not None:
        fewest, most = some
        return _either(gaps, f"{fewest} to {most}", cure)
    return _hardly_there(gaps, there, cure)


def _either(gaps: TraceFile, asked: str, cure: str, first: int = 0) -> str:
    """The question whether so many workers, in words, are asked in each iteration, or those without a row are late.

    It is about the iterations from the `first` one on.
    """
    times = gaps.values["time"]
    waiting = float(np.nanmax(times[first:], axis=1).mean())
    since = f" since iteration {first}" if first else ""
    own = np.nanmedian(times / np.nanmedian(times, axis=1, keepdims=True), axis=0)
    slowest = int(own.argmax())
    return (
        f"{asked} of {times.shape[1]} workers have a row in each iteration{since}, and not the same ones. Either "
        f"{asked} are sampled and asked in each: then waiting for those takes {waiting:.4g} on the mean, nobody is "
        f"missing, and worker {gaps.labels[slowest]} is the slowest, {own[slowest]:.3g} times as long as the middle of "
        f"its iterations: {cure}. Or the fastest {asked} are kept: then those who are missing are stragglers: "
        "absent=late. The log cannot tell which"
    )


def _hardly_there(gaps: TraceFile, there: np.ndarray, cure: str) -> str:
    """The question where a worker has rows in hardly any iteration, here and there; `there` (R, N) says where."""
    counts = there.sum(axis=0)
    hardly = np.flatnonzero(_comes_and_goes(there) & (counts < _HARDLY * len(there)))
    if not len(hardly):
        return ""
    worker = int(hardly[0])
    return (
        f"worker {gaps.labels[worker]} has a row in {counts[worker]} of {len(there)} iterations: too few to tell how "
        f"long it takes. Where it was late in the others: absent=late; where it was not asked in them: {cure}"
    )


def _seldom(share: float, cure: str) -> str:
    """The question where the share of iterations in which workers have a row is small; else empty."""
    if share >= _SELDOM:
        return ""
    return (
        f"workers have a row in {100 * share:.0f} % of the iterations between their first and their last one: they do "
        "not seem to wait for each other, as where each serves requests of its own, or other workers are asked in each "
        f"iteration: {cure}. Where all wait for all, and those without a row were late: absent=late; absent=skip takes "
        "the iterations in which all have a row"
    )


def _as_many_but_others(there: np.ndarray) -> int:
    """How many workers have a row in each step (R, N), where these are as many each time and not the same; else 0.

    They are others from one step to the next, or one hardly takes part beside those that nearly always do.

    >>> rng = np.random.default_rng(0)
    >>> _as_many_but_others(rng.random((40, 6)).argsort(axis=1) < 3)
    3
    """
    if len(there) < _ENOUGH:
        return 0
    counts = there.sum(axis=1)
    usual = int(np.median(counts))
    if usual >= there.shape[1] or (counts == usual).mean() < _AS_MANY:
        return 0
    visits = _comes_and_goes(there) & (there.mean(axis=0) < _HALF)
    return usual if _changes(there) >= _OTHERS or visits.any() else 0


def _behind_all(there: np.ndarray) -> int:
    """The step (R, N) behind the last one in which all workers have a row, as clients have in a first round.

    >>> _behind_all(np.array([[1, 1], [1, 0], [0, 1]], bool))
    1
    """
    return len(there) - int(there.all(axis=1)[::-1].argmax()) if there.all(axis=1).any() else 0


def _never_all(there: np.ndarray) -> tuple[int, int] | None:
    """The fewest and the most workers of a step (R, N), where hardly any has all, and each lacks its part; else None.

    Where all wait for all, some steps have all workers, fewer than a tenth of the rows are lost, or some workers have
    far fewer gaps than others, since they are fast.

    >>> rng = np.random.default_rng(0)
    >>> order = rng.random((40, 6)).argsort(axis=1).argsort(axis=1)
    >>> _never_all(order < rng.integers(3, 6, (40, 1))), _never_all(order < rng.integers(3, 7, (40, 1)))
    ((3, 5), None)
    """
    counts = there.sum(axis=1)
    lacking = 1 - there.mean(axis=0)
    if len(there) < _ENOUGH or (counts == there.shape[1]).mean() > _ALL_THERE or lacking.mean() < _LACKING:
        return None
    if lacking.min() < _EVEN * lacking.mean() or _changes(there) < _HALF:
        return None
    return int(counts.min()), int(counts.max())


def _changes(there: np.ndarray) -> float:
    """In what share of the steps (R, N) the workers are others than in the step before.

    >>> _changes(np.array([[1, 0], [1, 0], [0, 1]], bool))
    0.5
    """
    return float((there[1:] != there[:-1]).any(axis=1).mean())


def _comes_and_goes(there: np.ndarray) -> np.ndarray:
    """Which workers (N,) have rows (R, N) here and there, rather than nearly all from some iteration to another one.

    A worker that joins or leaves has them up to an end of the log, or for at least ten iterations.

    >>> rows = np.arange(30)[:, None]
    >>> _comes_and_goes((rows >= [0, 12, 11, 4]) & (rows <= [29, 29, 12, 13])).tolist()
    [False, False, True, False]
    """
    first, last = _ends(there)
    length = last - first + 1
    goes_on = there.sum(axis=0) >= _GOES_ON * length
    is_stretch = (first == 0) | (last == len(there) - 1) | (length >= _ENOUGH)
    return ~(goes_on & is_stretch)


def _share_there(there: np.ndarray) -> float:
    """In what share of the steps (R, N) workers have a row, from the first row of each to its last one.

    >>> _share_there(np.array([[1, 0], [0, 0], [0, 1], [1, 1]], bool))
    0.6666666666666666
    """
    first, last = _ends(there)
    return float(there.sum() / (last - first + 1).sum())


def _ends(there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last step (R, N) of each worker."""
    return there.argmax(axis=0), len(there) - 1 - there[::-1].argmax(axis=0)
