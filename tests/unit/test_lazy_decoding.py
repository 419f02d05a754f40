"""A clock trusts what a code promises, certifies a sample of it, and decodes the rest."""

from __future__ import annotations

import numpy as np
import pytest

from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.delays import ShiftedExponential
from gcexp.errors import DecodingError, UserError
from gcexp.run.compose import compose
from gcexp.run.options import options
from gcexp.run.scheme import build_scheme
from gcexp.run.stages import length_of, simulated
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


def test_who_is_heard_of_uncoded_workers_is_what_is_recovered():
    timeline = run_clock(Scheme(Uncoded(n=30), Fastest(s=5)), ShiftedExponential(), (0,), 300)
    assert (timeline.coefficients == (timeline.patterns > 0)).all()
    assert np.isfinite(timeline.residual).sum() == 64


@pytest.mark.slow
def test_all_that_is_trusted_is_what_is_decoded():
    """Every scheme that exists at sizes that no other test tries: each distinct pattern, not a sample."""
    trusted = set()
    for scheme in options("scheme"):
        for size in (
            "n=13 s=3",
            "n=15 s=4",
            "n=22 s=1",
            "n=421 s=9" if scheme in ("cgc", "frc") else "n=18 s=5",
        ):
            delay = "epochs" if scheme.endswith("_restart") else "shifted_exponential"
            try:
                config = compose(
                    [f"scheme={scheme}", *size.split(), f"delay={delay}", "iterations=100", "seeds=7-7"]
                )
                code, timeline = build_scheme(config, 7).code, simulated(config, length_of(config))
            except UserError:
                continue  # a size at which it does not exist, or a rule that needs another delay
            known, told = code.trusted(timeline.patterns)
            if not config["bound"] and known.any():
                trusted.add(type(code).__name__)
                decoding = code.decode(timeline.patterns[known], partial=True)
                np.testing.assert_array_equal(decoding.coefficients, told, err_msg=f"{code!r}")
                np.testing.assert_array_equal(timeline.coefficients[known], told, err_msg=f"{code!r}")
    assert trusted >= {
        "CyclicRepetition",
        "FractionalRepetition",
        "Clustered",
        "CyclicMDS",
        "ReedSolomon",
        "Uncoded",
    }
    assert len(trusted) >= 14, sorted(trusted)
