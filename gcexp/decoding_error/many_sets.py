"""The errors of random and recorded sets of stragglers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gcexp.codes.base import Code
from gcexp.decoding_error.decodings import errors_of, in_pieces, own_coefficients
from gcexp.decoding_error.results import RandomError
from gcexp.decoding_error.straggler_sets import random_sets
from gcexp.decoding_error.subset_errors import MOST_WORKERS_IN_TABLE, rows
from gcexp.delays.trace import Trace


def random_errors(
    code: Code, sizes: Sequence[int], decoding: str, trials: int, seed: int, steps: int
) -> list[RandomError]:
    """Errors of `trials` random sets of each of some sizes."""
    messages = None
    if decoding == "optimal":
        messages = rows(code)
        if code.n <= MOST_WORKERS_IN_TABLE and 2**code.n <= 32 * trials * len(sizes):
            _ = messages.table  # all sets at once are cheaper
    errors = []
    for s in sizes:
        responses = random_sets(code.n, s, trials, seed)
        if messages is None:
            errors.append(error_over_sets(code, s, responses, decoding, steps))
        else:
            errors.append(_statistics(s, messages.errors(responses)))
    return errors


def error_over_sets(code: Code, s: float, responses: np.ndarray, decoding: str, steps: int) -> RandomError:
    """Errors of some survivor sets (U, n), and with the code's own decoder the mean coefficients."""
    if decoding != "own":
        return _statistics(s, errors_of(code, responses, decoding, steps))
    c = np.concatenate(list(own_coefficients(code, in_pieces(code, responses))))
    of_errors = _statistics(s, ((c - 1) ** 2).mean(1))
    spread = float(c.std(axis=0, ddof=1).max()) if len(c) > 1 else float("nan")
    return replace(
        of_errors,
        coefficients=tuple(c.mean(0).tolist()),
        coefficients_stderr=spread / len(c) ** 0.5,
    )


def _statistics(s: float, errors: np.ndarray) -> RandomError:
    """Mean and spread of the errors of some sets."""
    trials = len(errors)
    spread = float(errors.std(ddof=1)) if trials > 1 else float("nan")  # one set tells nothing of it
    return RandomError(s, float(errors.mean()), spread / trials**0.5, float(errors.max()), trials)


def recorded_times(trace: str, n: int) -> np.ndarray:
    """Times of the first n workers in every iteration of a trace, (iterations, n)."""
    model = Trace(trace)
    iterations = len(model.played_rows(model.recorded()))
    return model.draw((0,), iterations, n).arrival(1 / n, 0)[0]
