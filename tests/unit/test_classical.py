"""Tests by scipy.special agree with those of scipy.stats."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from gcexp_adviser.diagnosis.classical import line_through, p_of_equal_means, rank_correlation


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
