"""Optimal decoding without a linear solve: every step is a valid decode and a valid upper bound on the error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcexp.codes.base import Code
from gcexp.errors import require


class Iterates(NamedTuple):
    """Weights (U, M) after the last step, and ||c - 1||^2 / k after 0, 1, ... steps, (U, steps + 1)."""

    weights: np.ndarray
    bound: np.ndarray


def iterate(code: Code, responses, steps: int) -> Iterates:
    r"""Iterative optimal decoder: gradient descent on ||w B - 1||^2 over the weights of what was heard.

    With B_F the messages heard and v = ||B_F||_2^2, u_0 = 1 and u_{t+1} = u_t - u_t B_F^* B_F / v. Then u_t = 1 - w_t B
    for w_{t+1} = w_t + u_t B_F^* / v: ||u_t||^2 / k never increases, tends to the error of the optimal decoder, and
    bounds it from above at every step.

    Parameters
    ----------
    code : Code
        Any code with one block.
    responses : array_like (U, n)
        Messages heard of each worker.
    steps : int
        Two products with the encoding each.

    Raises
    ------
    ParameterError
        Unless steps >= 0 and the code has one block.

    References
    ----------
    Charles, Papailiopoulos, Ellenberg: Approximate gradient coding via sparse random graphs, 2017, section 2.

    Examples
    --------
    >>> from gcexp.codes import CyclicPartialRecovery
    >>> code = CyclicPartialRecovery(n=6, s=2, beta=4)
    >>> iterate(code, [[1, 1, 1, 1, 0, 0]], steps=2).bound.round(4)
    array([[1.    , 0.3333, 0.3333]])
    """
    require(steps >= 0, f"the iterative decoder needs steps >= 0, got {steps}")
    require(code.blocks == 1, f"the iterative decoder takes codes with one block, {code!r} has {code.blocks}")
    responses = np.atleast_2d(np.asarray(responses)).astype(int)
    received = code.received(responses)
    B = code.encoding.toarray()
    norms = np.linalg.norm(received[:, :, None] * B, ord=2, axis=(1, 2)) ** 2
    step = received / np.where(norms > 0, norms, 1)[:, None]
    w = np.zeros(received.shape, dtype=B.dtype)
    u = np.ones((len(responses), code.k), dtype=B.dtype)
    bound = [np.ones(len(responses))]
    for _ in range(steps):
        w += step * (u @ B.conj().T)
        u = 1 - w @ B
        bound.append((np.abs(u) ** 2).mean(1))
    return Iterates(w, np.stack(bound, axis=1))
