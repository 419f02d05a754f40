"""What approximate codes share: one-step or optimal decoding of a matrix chosen for its spectrum."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.linear import pinv, svd
from gcexp.errors import require_known
from gcexp.schema import checked

DECODERS = ("one_step", "optimal")
_RANK = 1e-10  # singular values below this fraction of the largest are zero, as in `Code.weights`
_GAP = 1e-4  # smallest nonzero one for which the short way is taken


class ApproximateCode(Code):
    """A code without quorum whose decoder is a choice: fixed weights, or the best for what was heard.

    Parameters
    ----------
    encoding : array_like (n, k)
        One message per worker.
    decoder : {"one_step", "optimal"}
        Weight ``scale`` / m on each of the m workers heard (promise: linear), or the weights of smallest ||c - 1||
        (promise: least_squares), which are never worse.
    scale : float
        Of the one-step weights; n where the columns of the encoding sum to 1.
    """

    formulas = {"messages": "1", "length": "1"}
    decoding = (
        "one_step: equal weights, O(n); optimal: a system in s unknowns, O(s^3 + s n), or the "
        "pseudoinverse, O(n^2 k)"
    )
    limit = "none: singular values below 1e-10 of the largest count as 0"

    @checked
    def __init__(self, encoding, decoder: str, scale: float):
        require_known("decoder", decoder, DECODERS)
        super().__init__(encoding, promise="linear" if decoder == "one_step" else "least_squares")
        self.decoder, self._scale = decoder, scale
        if decoder == "optimal":
            self._left, self._singular, right = svd(self.encoding.toarray())
            rank = int((self._singular > _RANK * self._singular.max(initial=0)).sum())
            self._null = self._left[:, rank:]
            self._left = self._left[:, :rank]
            self._null[np.abs(self._null) < 1e-12] = 0  # rounding is not a direction
            self._singular = self._singular[:rank]
            # The best weights if all are heard.
            self._everyone = self._left @ (right[:rank].sum(1) / self._singular)

    def weights(self, responses):
        heard = responses > 0
        if self.decoder == "one_step":
            return heard * (self._scale / heard.sum(1, keepdims=True).clip(1))
        weights = np.zeros(responses.shape)
        stragglers = (~heard).sum(1)
        are_few = 3 * stragglers <= self.n
        if self._singular.min(initial=1) < _GAP * self._singular.max(initial=0):
            are_few[:] = False
        weights[~are_few] = super().weights(responses[~are_few])[:, 0]
        for s in np.unique(stragglers[are_few]):
            rows = np.flatnonzero(are_few & (stragglers == s))
            silent = np.nonzero(~heard[rows])[1].reshape(len(rows), s)
            weights[rows] = self._without(silent)
        return np.where(heard, weights, 0)

    def _without(self, silent: np.ndarray) -> np.ndarray:
        r"""Best weights without the workers S = silent (U, s): linear algebra in s dimensions, not in n - s.

        All w with a given gradient of ||w B - 1||^2 / 2 are w_0 - G mu + N z, with G = (B B^T)^+, N spanning the left
        null space of B, w_0 the best weights of all workers and mu the multipliers of w_S = 0. The gradient lies in the
        row space where N_S^T mu = 0; let P project onto such mu. Then P G_SS mu = P w_{0,S}, and z solves
        N_S z = G_SS mu - w_{0,S}.
        """
        root = self._left / self._singular
        mine = root[silent]
        w0 = self._everyone[silent][..., None]
        G = mine @ mine.transpose(0, 2, 1)
        null = self._null[silent]
        if null.shape[2]:
            back = pinv(null, rcond=1e-8)
            Q = null @ back  # I - P
            P = np.eye(silent.shape[1]) - Q
            # G is positive definite where P projects to: with Q there too, the system is regular.
            mu = P @ np.linalg.solve(P @ G @ P + Q / self._singular.max(initial=1) ** 2, P @ w0)
            z = (back @ (G @ mu - w0))[..., 0]
        else:
            mu = np.linalg.solve(G, w0)
            z = np.zeros((len(silent), 0))
        return self._everyone - ((mu.transpose(0, 2, 1) @ mine)[:, 0] @ root.T) + z @ self._null.T
