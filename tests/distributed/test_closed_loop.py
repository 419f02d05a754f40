"""The example that records, predicts, runs and compares; how near both come to each other is for `make bench`."""

import re
from pathlib import Path

import pytest

from tests.conftest import LONG

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_prediction_is_compared_with_the_measurement(python):
    example = ROOT / "examples" / "closed_loop.py"
    assert len(example.read_text().splitlines()) <= 100
    with python(example) as process:
        said, _ = process.communicate(timeout=LONG)
    last = (said.splitlines() or [""])[-1]
    line = r"coded/uncoded: predicted ([\d.]+), measured ([\d.]+), within 10 %: (yes|no|void: .+)"
    ratios = re.fullmatch(line, last)
    assert ratios, said
    predicted, measured, verdict = float(ratios[1]), float(ratios[2]), ratios[3]
    within = abs(predicted / measured - 1)
    assert process.returncode == {"yes": 0, "no": 1}.get(verdict, 3)
    if verdict == "yes":
        assert within < 0.11  # the ratios are printed with three digits
    if verdict == "no":
        assert within > 0.09
