"""Selective repetition: workers who were late repeat their task some iterations later, if it is still needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gcexp.codes import Code
from gcexp.errors import require


class History(NamedTuple):
    """What the master remembers, oldest iterations first."""

    straggled: np.ndarray  #: (S, window - 1, n), who was not heard
    returned: np.ndarray  #: (S, burst, n), who sent the message of that iteration in that iteration


@dataclass(frozen=True)
class SelectiveRepeat:
    r"""SR-SGC: a code for s stragglers, whose late workers repeat what is missing `burst` iterations later.

    The gradient of iteration t is decoded from n - s messages, at the latest when iteration t + B ends, B = `burst`.
    Where fewer came in iteration t, as many workers as are missing, of those that did not send their message of it then
    and beginning with the lowest index, send it in iteration t + B instead of their message of that one. All others go
    on with the newest iteration.

    The master waits for (1 + mu) times the fastest worker. It waits longer while the stragglers, those not heard by
    then, break the model for which the code is built: in any W = `window` iterations at most lambda = `stragglers`
    workers straggle, and none of them in two iterations that are B or more apart. With s >= B lambda / (W - 1 + B)
    every gradient is then decoded in time.

    So the gradients of B + 1 iterations are under way together, and each iteration belongs to another of B + 1 models
    that are trained in turn: see `gcexp.timeline.Timeline`.

    Parameters
    ----------
    burst, window : int
        B and W; B divides W - 1.
    stragglers : int, optional
        lambda; default: the most for which the code's s is enough, floor(s (W - 1 + B) / B), at most n.
    mu : float
        Patience beyond the fastest worker.

    Raises
    ------
    ParameterError
        Unless burst >= 1 divides window - 1 >= burst, mu >= 0, and the code decodes from any n - s of its n workers,
        one message each, for an s that is large enough.

    References
    ----------
    Krishnan, Ebrahimi, Khisti: Sequential gradient coding for straggler mitigation, ICLR 2023, arXiv 2211.13802.
    The paper's text was not at hand; tasks and straggler model follow its abstract and the authors' public simulation,
    which waits for all workers where the model is broken. That only as many are waited for as keep the model, and that
    the iteration ends once all are there, are this library's.

    Examples
    --------
    >>> from gcexp.codes import CyclicRepetition
    >>> rule, code = SelectiveRepeat(burst=1, window=2), CyclicRepetition(n=4, s=1)
    >>> _, heard, state = rule.stop(code, lambda r=None: np.array([[[1.0, 9.0, 9.0, 1.0]]]), rule.begin(None))
    >>> heard, rule.ages(code, state)
    (array([[[1, 0, 0, 1]]], dtype=int16), array([[0, 1, 0, 0]]))
    """

    burst: int = 1
    window: int = 2
    stragglers: int | None = None
    mu: float = 1.0

    def __post_init__(self):
        require(
            self.burst >= 1 and self.window > self.burst and (self.window - 1) % self.burst == 0,
            "wait=selective_repeat needs a burst >= 1 that divides window - 1 >= 1, got "
            f"burst={self.burst}, window={self.window}",
        )
        require(
            self.stragglers is None or self.stragglers >= 0,
            f"wait=selective_repeat needs stragglers >= 0, got {self.stragglers}",
        )
        require(self.mu >= 0, f"wait=selective_repeat needs mu >= 0, got {self.mu}")

    @property
    def lag(self) -> int:
        """Iterations after which a gradient is decoded at the latest."""
        return self.burst

    def begin(self, lead):
        return None

    def ages(self, code, state):
        if state is None:
            return np.zeros(code.n, dtype=np.intp)
        missing = ~state.returned[:, 0]
        needed = missing.sum(1) - _tolerated(code)
        repeats = missing & (missing.cumsum(1) <= needed[:, None])
        return np.where(repeats, self.burst, 0)

    def stop(self, code, arrive, state):
        most = self._most(code)
        at = arrive()[:, 0]
        S, n = at.shape
        if state is None:
            nobody = np.zeros((S, self.window - 1, n), dtype=bool)
            state = History(straggled=nobody, returned=np.ones((S, self.burst, n), dtype=bool))

        patient = (1 + self.mu) * at.min(1)
        # Who straggled `burst` or more iterations ago and within the window must not straggle again.
        must_be_heard = state.straggled[:, : self.window - self.burst].any(1)
        last_of_those = np.where(must_be_heard, at, 0).max(1)
        # Beside those who straggled within the window only so many others may.
        before = state.straggled.any(1)
        others = np.sort(np.where(before, 0, at), axis=1)
        may_straggle = np.minimum(most - before.sum(1), n - 1)
        last_of_others = np.take_along_axis(others, n - 1 - may_straggle[:, None], axis=1)[:, 0]
        time = np.maximum(np.maximum(patient, last_of_those), last_of_others)
        time = np.minimum(time, at.max(1))

        heard = at <= time[:, None]
        sends_newest = self.ages(code, state) == 0
        state = History(
            straggled=np.concatenate([state.straggled[:, 1:], ~heard[:, None]], axis=1),
            returned=np.concatenate([state.returned[:, 1:], (heard & sends_newest)[:, None]], axis=1),
        )
        return time[:, None], heard[:, None].astype(np.int16), state

    def _most(self, code: Code) -> int:
        """lambda, refused where the code tolerates too few stragglers for it."""
        s = _tolerated(code)
        B = self.burst
        W = self.window
        if self.stragglers is None:
            return min(code.n, s * (W - 1 + B) // B)
        require(
            self.stragglers <= code.n and s * (W - 1 + B) >= B * self.stragglers,
            f"wait=selective_repeat with burst={B}, window={W} and stragglers={self.stragglers} of n={code.n} workers "
            f"needs a code for s >= {-(-B * self.stragglers // (W - 1 + B))}, got {code!r}",
        )
        return self.stragglers


def _tolerated(code: Code) -> int:
    """The s of a code that decodes from any n - s workers with one message each."""
    quorums = code.quorums
    one_message_each = bool((code.messages == 1).all())
    require(
        one_message_each and len(quorums) == 1 and len(quorums[0].workers) == code.n,
        "wait=selective_repeat needs a code that decodes from any n - s of its workers, with one message each, such as "
        f"cyclic_repetition; {code!r} does not",
    )
    ((_, q),) = quorums[0].need
    return code.n - q
