"""The table of best codes: each row has the errors that it states, and no code is below the bounds."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from gcexp.codes.base import Code
from gcexp.codes.best import BestCode, encoding_of, records
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.repetition import FractionalRepetition
from gcexp.command.error import errors as errors_of_command
from gcexp.command.error import format_errors
from gcexp.decoding_error.best_known import compared, why_not_compared
from gcexp.decoding_error.error import error
from gcexp.decoding_error.subset_errors import Rows
from gcexp.errors import ParameterError
from gcexp.theory.errors import (
    least_mean_error,
    least_mean_error_by_worker,
    least_worst_error,
    least_worst_error_of_largest_load,
)
from tests.conftest import ROOT

KINDS = ("plain", "any", "uneven")


@pytest.fixture(scope="module")
def judge():
    """The script that judges rows in exact fractions without the library."""
    folder = str(ROOT / "docs" / "best_codes")
    sys.path.insert(0, folder)
    try:
        import judge

        yield judge
    finally:
        sys.path.remove(folder)
        sys.modules.pop("judge", None)


def all_errors(encoding: np.ndarray, s: int) -> np.ndarray:
    """Error of each set of s stragglers."""
    n = len(encoding)
    heard = np.bitwise_count(np.arange(2**n))
    return Rows(encoding.astype(float)).table[heard == n - s]


@pytest.mark.slow
def test_each_row_has_the_errors_that_it_states():
    for (n, d, s, kind), record in records().items():
        encoding = encoding_of(record.construction, n)
        found = all_errors(encoding, s)
        assert encoding.shape == (n, n)
        assert found.max() == pytest.approx(float(record.worst), abs=1e-9)
        assert found.mean() == pytest.approx(float(record.mean), abs=1e-9)
        loads = (encoding != 0).sum(1)
        assert (loads.mean() if kind == "uneven" else loads.max()) <= d
        assert kind == "any" or np.isin(encoding, (0, 1)).all()
        assert record.worst >= record.bound and record.mean >= least_mean_error(n, d, s)


def test_rows_are_the_same_without_the_library(judge):
    for (n, d, s, kind), record in records().items():
        B = judge.matrix_of(record.construction, n)
        assert B == encoding_of(record.construction, n).tolist()
        assert judge.mistake(B, n, d, kind) is None
        assert judge.bound(n, d, s, kind) == record.bound
        if n <= 7:
            assert judge.worst_and_mean(B, s) == (record.worst, record.mean)


def test_every_cell_has_its_three_kinds_and_they_are_in_order():
    cells = {(n, d, s) for n in range(4, 13) for d in range(2, n // 2 + 1) for s in range(d, n - 1)}
    assert {cell[:3] for cell in records()} == cells
    for n, d, s in cells:
        plain, other, uneven = (records()[n, d, s, kind].worst for kind in KINDS)
        assert other <= plain and uneven <= plain


@pytest.mark.parametrize("real", [False, True])
def test_no_random_code_is_below_the_bounds(real):
    draw = np.random.default_rng(3)
    for _ in range(60):
        n = int(draw.integers(3, 8))
        d = int(draw.integers(1, n + 1))
        encoding = np.zeros((n, n))
        ones = draw.permutation(n * n)[: n * d]  # loads are uneven: d on the mean
        encoding.flat[ones] = draw.normal(size=n * d) if real else 1
        for s in range(n + 1):
            found = all_errors(encoding, s)
            assert found.max() >= float(least_worst_error(n, d, s)) - 1e-9
            assert found.mean() >= float(least_mean_error(n, d, s)) - 1e-9
        p = float(draw.uniform())
        by_worker = sum(
            comb(n, s) * p**s * (1 - p) ** (n - s) * all_errors(encoding, s).mean() for s in range(n + 1)
        )
        assert by_worker >= least_mean_error_by_worker(d, p) - 1e-9


@pytest.mark.parametrize("real", [False, True])
def test_no_random_code_of_equal_loads_is_below_the_bound_of_the_largest_load(real):
    draw = np.random.default_rng(4)
    for _ in range(60):
        n = int(draw.integers(3, 9))
        d = int(draw.integers(1, n + 1))
        encoding = np.zeros((n, n))
        for worker in range(n):  # columns have unequal numbers of holders
            held = draw.permutation(n)[: draw.integers(max(1, d - 1), d + 1)]
            encoding[worker, held] = draw.normal(size=len(held)) if real else 1
        for s in range(n + 1):
            bound = least_worst_error_of_largest_load(n, d, s)
            assert bound >= least_worst_error(n, d, s) - Fraction(1, n)
            assert all_errors(encoding, s).max() >= float(bound) - 1e-9


def test_with_load_two_all_stragglers_but_one_lose_a_partition():
    for n in range(3, 13):
        for s in range(2, n):
            assert least_worst_error_of_largest_load(n, 2, s) == Fraction(s - 1, n)


def test_fractional_repetition_attains_the_mean_and_designs_the_worst():
    repetition = FractionalRepetition(n=6, d=2).encoding.toarray()
    for s in range(7):
        assert all_errors(repetition, s).mean() == pytest.approx(float(least_mean_error(6, 2, s)))
    for design, n, d in (("pg-2-2", 7, 3), ("paley-11", 11, 5), ("pg-2-3", 13, 4)):
        found = error(Code(BlockDesign(n=n, design=design).encoding, promise="least_squares"), d)
        assert found.exact and found.upper == pytest.approx(float(least_worst_error(n, d, d))) == 1 / n


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ({"n": 10, "d": 3, "s": 2}, "cyclic_repetition"),
        ({"n": 10, "d": 3, "s": 9}, "1 - d/n"),
        ({"n": 40, "d": 3, "s": 4}, "n=12 code.d=3"),
        ({"n": 10, "d": 3, "s": 4, "kind": "plane"}, "plain"),
    ],
)
def test_other_cells_are_refused_with_what_is_near(cell, name):
    with pytest.raises(ParameterError) as refused:
        BestCode(**cell)
    assert name in str(refused.value)


def test_a_code_is_compared_with_its_cell():
    assert "attains" in compared(BestCode(n=10, d=3, s=4), 4, float(records()[10, 3, 4, "plain"].worst))
    assert "new record" in compared(BestCode(n=10, d=3, s=4), 4, 0.05)
    worse = compared(FractionalRepetition(n=9, d=3), 3, 1 / 3)
    assert "1/9" in worse and "attains" not in worse and "load 3" in worse
    assert compared(FractionalRepetition(n=9, d=3), 2, 0.0) is None
    assert compared(FractionalRepetition(n=9, d=3), 8, 2 / 3) is None
    negative = Code(-FractionalRepetition(n=9, d=3).encoding.toarray(), promise="least_squares")
    known = records()[9, 3, 3, "any"]
    assert known.construction in compared(negative, 3, 1 / 3)


def test_the_command_tells_the_record_or_why_not():
    told = format_errors(errors_of_command(["code=best", "n=7", "code.d=3", "s=3", "code.s=3"]))
    assert "best known 1/7" in told
    random = errors_of_command(["code=random_regular", "n=8", "code.d=3", "s=3"])
    assert "random" in random["note"] and "best_known" not in random["errors"][0]
    own = errors_of_command(["code=cyclic_repetition", "n=6", "code.s=2", "s=3", "decoding=own"])
    assert "decoding=own" in own["note"]
    assert why_not_compared(Code(np.ones((4, 2)))) is not None
    assert why_not_compared(Code(np.ones((2, 2)), owner=[0, 0], n=2)) is not None


def test_checking_a_new_code(judge):
    worse = judge.matrix_of("circulant 0 1", 6)
    assert judge.worst_and_mean(worse, 2)[0] == Fraction(1, 5)
    assert judge.mistake(judge.matrix_of("circulant 0 1 2", 6), 6, 2, "plain") is not None
    assert judge.mistake([[2]], 1, 1, "plain") is not None and judge.mistake([[2]], 1, 1, "any") is None


def test_a_code_that_is_built_for_another_s_is_told():
    """``s`` says how many stragglers are asked about, and ``code.s`` what the code is built for."""
    of_code = ["code=best", "n=10", "code.d=3"]
    assert "s=4" in errors_of_command([*of_code, "s=3"])["note"]
    for words in (["s=3", "code.s=3"], ["s=3", "code.s=4"], ["s=4"], ["s=3,4"], []):
        assert not errors_of_command([*of_code, *words])["note"]
