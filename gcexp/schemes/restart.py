"""Restarting stragglers: the master waits epoch after epoch until it can decode; a table gives the time of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gcexp.errors import require, require_known
from gcexp.schemes.waiting import Decodable


@dataclass(frozen=True)
class Restart:
    r"""`Decodable` on arrivals that count epochs (delay=epochs), converted to seconds.

    If the last quorum is met in epoch i, with at most s of a quorum's workers missing (those met in earlier epochs
    count as 0), an iteration takes ``first[s]`` for i = 0, else ``lost[0] + (i-1) lost[1] + later[s]``.

    Parameters
    ----------
    first, later : tuple of float
        Seconds of the final epoch, by s; the number of entries is how many stragglers the table knows, plus one.
    lost : tuple of two float
        Seconds of epoch 0, and of any later one, if it is not final.

    Raises
    ------
    ParameterError
        Unless tables are as long as each other and times are >= 0; in `stop`, for arrivals that are not counts, or more
        stragglers than the table knows.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: (83), (91).

    Examples
    --------
    >>> from gcexp.codes import FractionalRepetition
    >>> rule = Restart(first=(7.0, 9.0), later=(8.0, 8.5), lost=(16.0, 4.0))
    >>> rule.stop(
    ...     FractionalRepetition(n=4, d=2),
    ...     lambda r=1: np.array([[[3.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]),
    ... )
    (array([[28.5,  9. ]]), array([[[0, 1, 1, 1],
            [1, 0, 1, 1]]], dtype=int16))
    """

    anew: ClassVar[bool] = True  # all workers start together, whatever happened before

    first: tuple[float, ...]
    later: tuple[float, ...]
    lost: tuple[float, ...]

    def __post_init__(self):
        for name in ("first", "later", "lost"):  # YAML gives lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        require(
            len(self.first) == len(self.later) >= 1 and len(self.lost) == 2,
            f"wait=restart needs as many first as later times and two lost ones, got {len(self.first)}, "
            f"{len(self.later)} and {len(self.lost)}",
        )
        require(min(*self.first, *self.later, *self.lost) >= 0, f"wait=restart takes times >= 0, got {self}")

    def stop(self, code, arrive: Callable):
        epoch, responses = Decodable().stop(code, arrive)
        arrived = arrive(1)
        require(
            bool((arrived == np.rint(arrived)).all()),
            "wait=restart turns numbers of epochs into times, so it needs delay=epochs",
        )
        left = np.zeros(epoch.shape, dtype=np.intp)
        for quorum in code.quorums:
            is_heard = responses[..., quorum.index] > 0
            at = arrived[..., quorum.index]
            is_met_last = np.where(is_heard, at, -1).max(-1) == epoch
            missing = (~is_heard).sum(-1)
            left = np.maximum(left, np.where(is_met_last, missing, 0))
        require(
            int(left.max(initial=0)) < len(self.first),
            f"wait=restart has times for up to {len(self.first) - 1} stragglers, {code!r} decoded with {left.max()}",
        )
        again = self.lost[0] + (epoch - 1) * self.lost[1] + np.array(self.later)[left]
        return np.where(epoch == 0, np.array(self.first)[left], again), responses


def phases(
    row: str,
    rows: dict,
    lost: tuple[float, float],
    send: tuple[float, float],
    timing: Literal["measured", "nominal"] = "measured",
) -> Restart:
    r"""`Restart` with the measured times of the phases of an implementation.

    With s stragglers left an iteration's final epoch takes, for ``measured``, the sum of the four phases of `row`
    (computing, sending, encoding, decoding), in epoch 0 or later; for ``nominal`` computing + c_s t_cm + encoding
    + decoding of epoch 0, where c_s is the length sent in gradients and t_cm the seconds `send` for a gradient, in
    epoch 0 and later.

    Parameters
    ----------
    row : str
        Scheme: a key of `rows`.
    rows : dict
        Scheme to ``length`` (c_s, one for each s that it survives), ``first`` and ``later``: lists of four phases in
        seconds, one for each s, or one for all.
    lost : tuple of two float
        As in `Restart`.
    send : tuple of two float
        t_cm in epoch 0 and later, for ``nominal``.
    timing : {"measured", "nominal"}

    Raises
    ------
    ParameterError
        For an unknown row, or phases that are not four times for each s.

    References
    ----------
    Cao, Yan, Tang, Han: Adaptive gradient coding, arXiv 2006.04845: Tables IV and V, (91) and (92).

    Examples
    --------
    >>> rows = {
    ...     "cgc": {"length": [0.5, 0.5], "first": [[2.0, 6.0, 0.5, 1.0]], "later": [[2.0, 0.5, 0.5, 1.0]]}
    ... }
    >>> phases("cgc", rows, (16.0, 4.0), (13.0, 1.0))
    Restart(first=(9.5, 9.5), later=(4.0, 4.0), lost=(16.0, 4.0))
    >>> phases("cgc", rows, (16.0, 4.0), (13.0, 1.0), timing="nominal").later
    (4.0, 4.0)
    """
    require_known("row", row, rows)
    require_known("timing", timing, ("measured", "nominal"))
    scheme = rows[row]
    require(
        set(scheme) == {"length", "first", "later"},
        f"phases of {row!r} are length, first and later, got {', '.join(map(str, scheme))}",
    )
    lengths = scheme["length"]
    tables = {}
    for name in ("first", "later"):
        table = scheme[name]
        if len(table) != len(lengths):
            table = table * len(lengths)
        fits = len(table) == len(lengths) and all(len(four) == 4 for four in table)
        require(
            fits, f"{name} phases of {row!r} are four times for each of {len(lengths)} stragglers, or one row"
        )
        tables[name] = table
    if timing == "nominal":
        send_first, send_later = send
        first = _nominal(tables["first"], lengths, send_first)
        later = _nominal(tables["first"], lengths, send_later)
    else:
        first = tuple(sum(phases_of_epoch) for phases_of_epoch in tables["first"])
        later = tuple(sum(phases_of_epoch) for phases_of_epoch in tables["later"])
    return Restart(first, later, tuple(lost))


def _nominal(table: list[list[float]], lengths: list[float], t_cm: float) -> tuple[float, ...]:
    """Times of a final epoch by s, where a gradient is sent in t_cm seconds and all else takes what is in the table."""
    times = []
    for (computing, _, encoding, decoding), length in zip(table, lengths, strict=True):
        times.append(computing + length * t_cm + encoding + decoding)
    return tuple(times)
