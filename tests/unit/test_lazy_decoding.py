"""A clock trusts what a code promises, certifies a sample of it, and decodes the rest."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.codes import CyclicRepetition
from gcexp.delays import ShiftedExponential
from gcexp.errors import DecodingError
from gcexp.schemes import Decodable, Fastest, Scheme
from gcexp.timeline import run_clock


class Counting(CyclicRepetition):
    """Counts the patterns that it decodes, and gets all of them wrong if asked to."""

    decoded, wrong = 0, False

    def weights(self, responses):
        self.decoded += len(responses)
        return super().weights(responses) * (1 + self.wrong)


@pytest.mark.parametrize(("wait", "known"), [(Decodable(), True), (Fastest(s=4), False)])
def test_only_what_is_not_promised_is_decoded(wait, known):
    code = Counting(n=20, s=3)
    timeline = run_clock(Scheme(code, wait), ShiftedExponential(), (0,), 1000)
    count = len(timeline.patterns)
    assert count > 500 and code.decoded == (64 if known else count)
    assert np.isfinite(timeline.residual).sum() == code.decoded
    expected = CyclicRepetition(n=20, s=3).decode(timeline.patterns, partial=True).coefficients
    assert (timeline.coefficients == expected).all()


def test_a_promise_that_does_not_hold_is_found():
    code = Counting(n=20, s=3)
    code.wrong = True
    with pytest.raises(DecodingError):
        run_clock(Scheme(code, Decodable()), ShiftedExponential(), (0,), 200)
