"""Tests by scipy.special agree with those of scipy.stats."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from gcexp.traces.ranks import p_of_equal_ranks
from gcexp_adviser.diagnosis.classical import (
    line_through,
    p_of_equal_means,
    p_of_even_odds,
    rank_correlation,
)


@pytest.mark.parametrize("seed", range(5))
def test_they_agree_with_scipy_stats(seed):
    draw = np.random.default_rng(seed)
    x, y = draw.normal(size=(2, 9))
    line, known = line_through(x, y), stats.linregress(x, y)
    np.testing.assert_allclose(line, (known.slope, known.stderr, known.pvalue))
    a, b = draw.normal(size=(5, 3)), draw.normal(1, 1, size=(4, 3))
    np.testing.assert_allclose(p_of_equal_means(a, b), stats.ttest_ind(a, b).pvalue)
    tied = draw.integers(0, 4, 9)
    np.testing.assert_allclose(rank_correlation(tied, y), stats.spearmanr(tied, y)[0])


def test_p_of_samples_with_missing_values_is_that_of_the_others():
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(5, 3)), draw.normal(1, 1, size=(4, 3))
    a[[0, 1], 1] = b[2, 2] = np.nan
    known = stats.ttest_ind(a, b, nan_policy="omit").pvalue
    np.testing.assert_allclose(p_of_equal_means(a, b), known, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 30), (3, 4), (8, 9), (8, 300), (9, 9), (40, 200)])
@pytest.mark.parametrize("values", ["apart", "tied", "alike"])
def test_the_rank_test_is_that_of_scipy_stats(sizes, values):
    m, n = sizes
    for seed in range(5):
        draw = np.random.default_rng(seed)
        a, b = draw.normal(size=m), draw.normal(seed / 4, 1, size=n)
        if values != "apart":
            a, b = a.round(1 if values == "tied" else -1), b.round(1 if values == "tied" else -1)
        for one, other in ((a, b), (b, a)):
            with np.errstate(all="ignore"):
                known = stats.mannwhitneyu(one, other).pvalue
            assert p_of_equal_ranks(one, other) == pytest.approx(1.0 if np.isnan(known) else known, rel=1e-12)


def test_the_sign_test_is_that_of_scipy_stats():
    for trials in (1, 2, 9, 10, 57):
        for wins in range(trials + 1):
            known = stats.binomtest(wins, trials).pvalue
            assert p_of_even_odds(wins, trials) == pytest.approx(known, rel=1e-12)


def test_points_on_a_line():
    x = np.arange(4.0)
    assert line_through(x, 2 * x) == (2, 0, 0) and line_through(x, 0 * x) == (0, 0, 1)


@pytest.mark.parametrize("command", ["advise", "benchmark", "trace check"])
def test_commands_of_logs_do_without_scipy_stats(command):
    words = [*command.split(), "pai-job4"]
    program = (
        "import sys; from gcexp.command.main import main; code = main(sys.argv[1:]); "
        "assert not code and 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True)


def test_a_log_with_missing_rows_does_without_scipy_stats(tmp_path):
    path = tmp_path / "gaps.csv"
    draw = np.random.default_rng(0)
    rows = [f"{t},{w},{draw.gamma(50):.4f}" for t in range(60) for w in range(4) if (t + w) % 9]
    path.write_text("\n".join(["iteration,worker,time", *rows, ""]))
    program = "import sys, gcexp; gcexp.fit(sys.argv[1]); assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True)
