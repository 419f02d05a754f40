"""Limits that are multiples of the median time, and rules that hear nobody, which every command tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gcexp
from gcexp.codes import CyclicRepetition, PartialWork, Uncoded
from gcexp.command.main import main
from gcexp.delays import Epochs, LocalSteps, ShiftedExponential, Trace
from gcexp.errors import ParameterError
from gcexp.report.figurefile import read_figure
from gcexp.report.table import assemble
from gcexp.schemes import Deadline, DropCompute, QuorumGrace, Scheme
from gcexp.summary import summarise, summary_of
from gcexp.testing import checks
from gcexp.timeline import in_times_of, median_time, run_clock, simulate, usual_time
from tests.conftest import refusals

ROWS = np.random.default_rng(3).integers(100, 200, (40, 5)).astype(float)
LOG = "iteration,worker,time\n" + "".join(f"{t},{w},{ROWS[t, w]:g}\n" for t, w in np.ndindex(ROWS.shape))
SILENT = ["scheme=uncoded", "exact=false", "wait=deadline", "wait.time=0.7x", "n=5", "delay=pai_job1"]
SILENT += ["delay.file=log.csv", "iterations=40", "seeds=1"]


@pytest.fixture
def log(paper):
    Path("log.csv").write_text(LOG)
    return "log.csv"


@pytest.mark.parametrize("skip", [0, "prefix"])
@pytest.mark.parametrize("start", [0, "random"])
def test_a_multiple_of_a_trace_is_one_of_the_median_of_the_rows_that_are_played(log, skip, start):
    median = np.median(ROWS[0 if skip == 0 else 4 :])
    delay = Trace(log, phi=0.25, skip=skip, start=start)
    assert usual_time(delay, 5) == median
    code = CyclicRepetition(5, s=1)
    relative, absolute = (Scheme(code, Deadline(time)) for time in ("1.5x", 1.5 * median))
    one, other = (run_clock(scheme, delay, (0, 1), 30) for scheme in (relative, absolute))
    np.testing.assert_array_equal(one.duration, other.duration)
    np.testing.assert_array_equal(one.patterns[one.pattern], other.patterns[other.pattern])


@pytest.mark.parametrize(
    ("code", "rule"), [(Uncoded(5), Deadline), (PartialWork(5, d=1, q=4), lambda tau: DropCompute(tau=tau))]
)
def test_it_is_the_same_in_every_chunk_in_a_summary_and_for_given_draws(code, rule):
    delay = ShiftedExponential(shift=2.0)
    absolute, relative = (Scheme(code, rule(time)) for time in (1.1 * usual_time(delay, 5), "1.1x"))
    expected = run_clock(absolute, delay, (0, 1), 30)
    for chunk in (None, 1, 50):
        np.testing.assert_array_equal(
            run_clock(relative, delay, (0, 1), 30, chunk).duration, expected.duration
        )
    np.testing.assert_array_equal(
        summarise(relative, delay, (0, 1), 30).duration, summary_of(expected, True).duration
    )
    draws = delay.draw((0, 1), 30, 5)
    found = Scheme(code, rule(1.1 * median_time(draws)))
    np.testing.assert_array_equal(simulate(relative, draws).duration, simulate(found, draws).duration)


def test_a_benchmark_has_the_multiple_of_the_rows_that_it_scores(log):
    time = float(np.median(ROWS[4:]))
    keys = {"scheme": "uncoded", "exact": False, "wait": "deadline"}
    listed = [keys | {"wait.time": "1.2x"}, keys | {"wait.time": 1.2 * time}]
    ratios = gcexp.benchmark(log, listed, phi=[0.0, 1.0])["ratio"].to_numpy().reshape(2, 2)
    np.testing.assert_array_equal(ratios[:, 0], ratios[:, 1])


def test_rules_with_such_limits_keep_the_contract():
    for check in checks(waits=[Scheme(Uncoded(5), Deadline("1.2x"))]):
        check()


test_what_is_no_limit_is_refused = refusals(
    (lambda: Deadline("1.5"), "deadline.*1.5"),
    (lambda: Deadline("0x"), "deadline.*0x"),
    (lambda: Deadline("-1x"), "deadline.*-1x"),
    (lambda: Deadline("x"), "deadline.*'x'"),
    (lambda: Deadline("truex"), "deadline.*truex"),
    (lambda: Deadline("nanx"), "deadline.*nanx"),
    (lambda: DropCompute(tau="2 medians"), "tau.*2 medians"),
    (lambda: Deadline("2x").stop(Uncoded(2), lambda r=None: np.ones((1, 1, 2))), "time=2x"),
    (lambda: in_times_of(Scheme(Uncoded(2), Deadline("2x")), Epochs(p=0.1)), "epochs"),
)


def test_local_steps_have_a_median_too():
    delay = LocalSteps(ShiftedExponential(), steps=3)
    assert in_times_of(Scheme(Uncoded(4), Deadline("2x")), delay).wait.time == 2 * usual_time(delay, 4)


# --- A rule that hears nobody


@pytest.mark.parametrize("lag", [0, 1])
def test_the_share_of_silent_iterations(lag):
    """Against a count by hand, of the summary in one go and of the one that keeps no timeline."""
    scheme = Scheme(CyclicRepetition(6, s=2), QuorumGrace(q=2, grace=0.05))
    delay = ShiftedExponential()
    if lag:
        scheme = Scheme(scheme.code, scheme.wait, decodes=False)
    timeline = run_clock(scheme, delay, (0, 1), 200)
    counts = timeline.patterns if lag else timeline.coefficients
    by_hand = [np.mean([not counts[u].any() for u in row]) for row in timeline.pattern]
    for found in (summary_of(timeline, scheme.decodes), summarise(scheme, delay, (0, 1), 200)):
        assert found.silent.tolist() == by_hand


def test_it_is_told_in_python(log):
    with pytest.warns(UserWarning, match="Deadline.*0.7x.*nobody.*1.5x"):
        gcexp.simulate(*SILENT)
    with pytest.warns(UserWarning, match="wait.time=0.72x: nobody.*1 other"):
        gcexp.sweep({"wait.time": ["0.72x", "0.7x", "1.5x"]}, *SILENT[:3], *SILENT[4:])


@pytest.mark.filterwarnings("error::UserWarning")
def test_nothing_is_told_of_a_rule_that_hears_somebody(log):
    gcexp.simulate(*SILENT[:3], "wait.time=1.5x", *SILENT[4:])


@pytest.mark.parametrize(
    "command", [["simulate", *SILENT], ["run", "-m", *SILENT[:3], "wait.time=0.7x,1.5x", *SILENT[4:]]]
)
def test_it_is_told_by_commands(command, log, capsys):
    assert main(command) == 0
    assert "nobody" in capsys.readouterr().err


def test_it_is_told_by_a_benchmark(log):
    entry = dict(text.split("=") for text in SILENT[:4]) | {"exact": False}
    with pytest.warns(UserWarning, match="nobody.*1.5x"):
        table = gcexp.benchmark(log, [entry], phi=[0.0])
    assert any("nobody" in note for note in table.attrs["notes"])


def test_it_is_told_in_the_log_of_a_table(log, capsys):
    own = {key: value for key, value in (text.split("=") for text in SILENT)}
    path = Path("paper/figures/target.yaml").resolve()
    runs = ", ".join(f"{key}: {value}" for key, value in own.items())
    path.write_text(
        f"title: A\nsource: B\nkind: timings\nruns: [{{label: silent, {runs}}}]\n"
        "timings: {rows: seeds}\nplot: {kind: lines, x: seed, y: mean_iteration_time_s}\n"
    )
    table, _ = assemble(read_figure(path, "paper"))
    assert len(table) == 1 and "silent: nobody" in capsys.readouterr().err


def test_who_is_never_heard_is_told_with_the_median(log):
    with pytest.raises(ParameterError, match="ever heard.*151.5"):
        gcexp.simulate(*SILENT[:3], "wait.time=1", *SILENT[4:])
