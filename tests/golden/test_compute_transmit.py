"""The two-part delay model on codes of Ye and Abbe gives the expected times of their Table 3 and Section 5."""

from __future__ import annotations

import pytest

from gcexp.codes import CommunicationEfficient
from gcexp.delays import ComputeTransmit
from gcexp.errors import ParameterError
from gcexp.schemes import Decodable, Scheme
from gcexp.timeline import simulate

TABLE_3_CELLS = {(1, 1): 36.1138, (4, 3): 21.3697, (8, 1): 24.1063, (6, 2): 22.2099, (8, 8): 42.0638}


def mean_time(n, d, m, delay, overhead=0.0, iterations=4000):
    scheme = Scheme(CommunicationEfficient(n=n, d=d, m=m), Decodable(), overhead)
    return simulate(scheme, delay.draw((0, 1), iterations, n)).duration.mean()


@pytest.mark.parametrize(("d", "m"), TABLE_3_CELLS)
def test_table_3(d, m):
    delay = ComputeTransmit(compute_shift=8 * 1.6, compute_mean=8 / 0.8, transmit_shift=6, transmit_mean=10)
    assert mean_time(8, d, m, delay) == pytest.approx(TABLE_3_CELLS[d, m], rel=0.01)


@pytest.mark.parametrize(
    ("d", "m", "expected"), [(1, 1, 3.8172), (4, 1, 3.3786), (4, 3, 2.5544), (3, 3, 2.5660)]
)
def test_section_5_at_n_10(d, m, expected):
    assert mean_time(10, d, m, ComputeTransmit(), overhead=1.2) == pytest.approx(expected, rel=0.01)


def test_the_parts_are_independent_and_priced_apart():
    draws = ComputeTransmit(0, 1, 0, 1).draw((0,), 2000, 2)
    assert abs((draws.compute * draws.transmit).mean() - 1) < 0.1
    assert (draws.arrival(0.5, 0.25) == 0.5 * draws.compute + 0.25 * draws.transmit).all()


@pytest.mark.parametrize("name", ["compute_shift", "compute_mean", "transmit_shift", "transmit_mean"])
def test_negative_times_are_refused(name):
    with pytest.raises(ParameterError, match=f"{name} is a time >= 0"):
        ComputeTransmit(**{name: -1.0})
