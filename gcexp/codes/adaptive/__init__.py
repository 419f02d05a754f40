"""Adaptive gradient codes: workers send round after round, and the master stops them as soon as it can decode."""

from gcexp.codes.adaptive.code import Adaptive
from gcexp.codes.adaptive.groups import GroupedAdaptive, GroupedCGC, group_sizes
from gcexp.codes.adaptive.matrices import decode_rows, random_matrix, rounds_needed, vandermonde

__all__ = [
    "Adaptive",
    "GroupedAdaptive",
    "GroupedCGC",
    "decode_rows",
    "group_sizes",
    "random_matrix",
    "rounds_needed",
    "vandermonde",
]
