"""A scheme that is asked while messages arrive: whether its waiting rule has stopped, and how to decode."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gcexp.schemes import Scheme


class Decisions:
    """The waiting rule and the decoder of a scheme with one message per worker."""

    def __init__(self, scheme: Scheme):
        self.code = scheme.code
        self._wait = scheme.wait
        self._message = np.argsort(self.code.owner)  # of each worker
        begin = getattr(self._wait, "begin", None)
        self._memory: list = [begin(None)] if begin else []
        self.decoded = lru_cache(maxsize=1024)(self._decoded)  # few sets occur again and again

    def stop(self, at: np.ndarray, final: bool = False) -> tuple[float, tuple[bool, ...]]:
        """When the rule stops and which ranks it uses, if messages arrive at times `at` (n,), or never, at inf.

        A rule looks at nothing that arrives after its stop, so a stop that has passed holds, whatever comes later. A
        rule with a memory remembers the iteration if it is `final`.
        """
        arrivals = at[None, None]  # of one seed and one iteration

        def of_messages(r=None):
            return arrivals

        memory: list
        time, responses, *memory = self._wait.stop(self.code, of_messages, *self._memory)
        if final:
            self._memory = memory
        heard = responses[0, 0] > 0
        return float(time[0, 0]), tuple(heard.tolist())

    def _decoded(self, heard: tuple[bool, ...]) -> tuple[np.ndarray, np.ndarray, float]:
        """Weights (n,), coefficients (k,) and the 2-norm of the weights."""
        found = self.code.decode(np.array(heard), partial=True)
        weights = found.weights[0, 0, self._message]
        coefficients = found.coefficients[0]
        if not coefficients.any():  # nothing is decoded, from whatever weights
            weights = np.zeros_like(weights)
        return weights, coefficients, float(found.noise_gain[0])
