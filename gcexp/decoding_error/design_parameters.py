"""Messages that form a block design, and products of two, whose errors have closed forms."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.composite import Kronecker
from gcexp.decoding_error.subset_errors import Rows, rows
from gcexp.theory.errors import Parameters

#: Relative difference below which two numbers are equal.
SAME = 1e-12


def design_parameters(rows: Rows) -> Parameters | None:
    """Parameters of messages with constant load and constant intersection below it (Lemma 5), in units of the load."""
    if rows.n == 0 or not is_constant(rows.h) or not is_constant(rows.G.diagonal()):
        return None
    intersections = rows.G[~np.eye(rows.n, dtype=bool)]
    load = float(rows.h[0])
    square = float(rows.G[0, 0])
    intersection = float(intersections[0]) if len(intersections) else 0.0
    if load <= 0 or not is_constant(intersections) or not 0 <= intersection < square * (1 - 1e-9):
        return None
    # 0/1 messages have ||row||^2 = load; others are scaled by load / ||row||^2, which no optimal error sees.
    scale = load / square
    redundancy = load * scale * rows.n / rows.k
    return Parameters(rows.n, rows.k, load * scale, redundancy, intersection * scale * scale)


def design_of(code: Code) -> Parameters | None:
    """Parameters of a code that is a design."""
    return design_parameters(_plain_sums(code))


def factors_of(code: Code | None) -> tuple[Parameters, Parameters] | None:
    """Parameters of two designs if the code is their product."""
    if not isinstance(code, Kronecker):
        return None
    a = design_of(code.a)
    b = design_of(code.b)
    return (a, b) if a and b else None


def _plain_sums(code: Code) -> Rows:
    """Messages of a plain-sum code; none for others, whose loads are in other units."""
    messages = rows(code)
    if np.isin(messages.B, (0, 1)).all():
        return messages
    return Rows(np.zeros((0, 0)))


def is_constant(values: np.ndarray) -> bool:
    """Whether all numbers are equal, up to rounding."""
    return len(values) == 0 or bool(np.ptp(values) <= SAME * np.abs(values).max())
