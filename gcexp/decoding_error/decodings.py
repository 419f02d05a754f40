"""The errors of given survivor sets, with any decoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gcexp.codes.base import Code
from gcexp.codes.iterative import iterate
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.decoding_error.design_parameters import design_of, factors_of
from gcexp.decoding_error.subset_errors import rows
from gcexp.errors import ParameterError, require
from gcexp.theory.errors import bibd_weight, product_gram

DECODINGS = ("closed_form", "constant", "iterative", "one_step", "optimal", "own")
OWN = ("closed_form", "own")  # two names for what the code itself does
_NUMBERS = 2**22  # numbers of an array of sets times messages times partitions


def errors_of(code: Code, responses, decoding: str = "optimal", steps: int = 10) -> np.ndarray:
    """Error of each survivor set, (U,), for boolean responses (U, n); sets may differ in size."""
    responses = np.atleast_2d(responses) > 0
    if decoding == "optimal":
        return rows(code).errors(responses)
    pieces = in_pieces(code, responses)
    if decoding == "iterative":
        return np.concatenate([iterate(code, p * code.messages, steps).bound[:, -1] for p in pieces])
    if decoding in ("one_step", "constant"):
        coefficients = _equally_weighted(code, pieces, decoding)
    else:
        coefficients = own_coefficients(code, pieces)
    return np.concatenate([((c - 1) ** 2).mean(1) for c in coefficients])


def in_pieces(code: Code, responses: np.ndarray) -> list[np.ndarray]:
    """Survivor sets in pieces that are decoded together."""
    step = max(1, _NUMBERS // code.encoding.shape[0] // code.encoding.shape[1])
    return [responses[u : u + step] for u in range(0, len(responses), step)]


def own_coefficients(code: Code, pieces: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """What the code itself decodes, (U, k) for each piece of survivor sets (U, n)."""
    for responses in pieces:
        yield code.decode(responses * code.messages, partial=True).coefficients


def _equally_weighted(code: Code, pieces: Iterable[np.ndarray], decoding: str) -> Iterator[np.ndarray]:
    """What equal weights of all survivors decode, (U, k) for each piece of survivor sets (U, n)."""
    B = rows(code).B
    weight = np.append(0, equal_weight(code, np.arange(1, code.n + 1), decoding))  # by number of survivors
    for responses in pieces:
        survivors = responses.sum(1)
        yield weight[survivors, None] * (responses @ B)


def equal_weight(code: Code, survivors: np.ndarray, decoding: str) -> np.ndarray:
    """Weight of each of m >= 1 survivors, (M,) like m.

    Raises
    ------
    ParameterError
        For ``constant`` unless the code is a design, a product of two, or a Soft BIBD.
    """
    if decoding == "one_step":
        total = float(rows(code).B.sum())
        require(total > 0, f"one_step decoding needs a positive sum of the encoding, got {total:g}")
        return code.k * code.n / (total * survivors)
    if isinstance(code, SoftBIBD):
        return bibd_weight(code.d, code.shared, survivors)
    design = design_of(code)
    if design is not None:
        return bibd_weight(design.load, design.intersection, survivors)
    factors = factors_of(code)
    if factors is None:
        raise ParameterError(f"constant decoding is for designs, their products and Soft BIBDs, got {code!r}")
    a, b = factors
    return a.load * b.load * survivors / product_gram(a, b, survivors)
