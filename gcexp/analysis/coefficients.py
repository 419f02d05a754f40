"""What the workers of a code send and how it is decoded, coefficient by coefficient: the table behind a code's diagram.

Coefficients of codes that are built from whole numbers and fractions are given exactly, as text beside the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from gcexp.analysis.declared import columns
from gcexp.analysis.enumeration import silent_sets
from gcexp.codes.base import Code, Quorum
from gcexp.errors import ParameterError, require

MOST_DENOMINATOR = 10_000


def exact(x: float) -> Fraction:
    """The fraction with a small denominator that rounds to `x`; refused if there is none."""
    found = Fraction(float(x)).limit_denominator(MOST_DENOMINATOR)
    is_near = abs(float(found) - x) <= 1e-13 * max(1.0, abs(x))
    require(is_near, f"{x!r} is no fraction with a small denominator")
    return found


def first_round(code: Code) -> Code:
    """The first message of every worker alone: of an adaptive code one without stragglers."""
    alone = [Quorum(range(code.n), [(1, code.n)])]
    return Code(code.encoding[: code.n], blocks=code.blocks, quorums=alone)


@columns("code", "what", "worker", "round", "partition", "coordinate", "silent", "value", "fraction")
def table(
    codes: dict[str, Callable[[], Code]],
    length: int,
    shown: dict[str, list[list[int]]] | None = None,
    first_rounds: list[str] | None = None,
):
    """Coefficients, decoding weights and properties of toy codes, each by its name and what makes it.

    A gradient has `length` numbers; of a code whose messages have several coordinates, all are coded alike. For the
    names in `shown` the decoding weights of these sets of silent workers are listed, else of all sets that the code
    survives. Of the codes in `first_rounds` only the first round is looked at. ``what`` is ``coefficient`` (of a
    coordinate of a held partition in a message), ``weight`` (of a message in the sum of a coordinate), ``scalars``
    (that a worker sends), ``survived`` (the most stragglers of which every set is survived), ``sets`` (of so many or
    fewer) or ``decoded`` (those of them that decode exactly).
    """
    for name, make in codes.items():
        code = make()
        if name in (first_rounds or ()):
            code = first_round(code)
        survived, sets, decoded = survival(code)
        silent_of_code = silent_sets(code.n, survived)
        if shown is not None:
            silent_of_code = [tuple(silent) for silent in shown.get(name, [])]
        numbers = [
            *_coefficients(code),
            *_weights(code, length, silent_of_code),
            _Number("survived", survived),
            _Number("sets", sets),
            _Number("decoded", decoded),
        ]
        for number in numbers:
            place = (number.worker, number.round, number.partition, number.coordinate, number.silent)
            yield name, number.what, *place, float(number.value), str(exact(number.value))


@dataclass(frozen=True)
class _Number:
    """A number of a code: what it is, and where it stands."""

    what: str
    value: float
    worker: int | None = None
    round: int | None = None
    partition: int | None = None
    coordinate: int | None = None
    silent: str | None = None


def _coefficients(code: Code) -> Iterator[_Number]:
    """The coefficients of the held partitions in every message."""
    held = code.assignment
    B = code.encoding.toarray()
    for row, (worker, round) in enumerate(zip(code.owner, code.rank, strict=True)):
        for i in np.flatnonzero(held[worker]):
            for u in range(code.blocks):
                value = B[row, i * code.blocks + u]
                yield _Number("coefficient", value, int(worker), int(round), int(i), u)


def _weights(code: Code, length: int, silent_of_code: list[tuple[int, ...]]) -> Iterator[_Number]:
    """The decoding weights for some sets of silent workers, and behind each set the scalars that a worker sends."""
    scalars_of_a_message = math.ceil(length / code.blocks)
    for silent in silent_of_code:
        responses = responses_of_rounds(code, silent)
        weights = code.decode(responses[None]).weights[0]
        received = np.flatnonzero(code.received(responses[None])[0])
        for u in range(code.blocks):
            for row in received:
                worker = int(code.owner[row])
                round = int(code.rank[row])
                yield _Number("weight", weights[u, row], worker, round, coordinate=u, silent=words(silent))
        yield _Number("scalars", responses.max() * scalars_of_a_message, silent=words(silent))


def words(silent: tuple[int, ...]) -> str:
    """A set of workers in words: their numbers, or that there are none."""
    return " ".join(map(str, silent)) or "none"


def responses_of_rounds(code: Code, silent: tuple[int, ...]) -> np.ndarray:
    """Fewest rounds, the same for all other workers of a quorum, that decode without the workers `silent`.

    Refused if some quorum cannot be met without them.
    """
    responses = code.messages.copy()
    responses[list(silent)] = 0
    for quorum in code.quorums:
        members = list(quorum.workers)
        there = int((responses[members] > 0).sum())
        enough = [r for r, q in quorum.need if q <= there]
        require(bool(enough), f"{code!r} does not decode without the workers {words(silent)}")
        responses[members] = np.minimum(responses[members], enough[0])
    return responses


def survival(code: Code) -> tuple[int, int, int]:
    """Most stragglers of which every set is survived, sets of at most so many, and sets that decode exactly."""

    def decodes(silent: tuple[int, ...]) -> bool:
        try:
            return code.decode(responses_of_rounds(code, silent)[None]).exact
        except ParameterError:
            return False

    survived = 0
    for s in range(1, code.n):
        if not all(decodes(silent) for silent in combinations(range(code.n), s)):
            break
        survived = s
    sets = silent_sets(code.n, survived)
    decoded = sum(decodes(silent) for silent in sets)
    return survived, len(sets), decoded
