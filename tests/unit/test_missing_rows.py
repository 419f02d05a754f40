"""Rows that a trace lacks: late, left out or refused, and what is told of them."""

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.errors import DataError, ParameterError
from gcexp.traces.missing import as_late, described, late_otherwise, resolved, skipped
from gcexp_adviser.logs.reading import read, trace_of


def censored(rows=200, n=6, seed=0):
    """Times without those above a timeout of 2, and what was censored."""
    draw = np.random.default_rng(seed)
    x = np.exp(0.3 * draw.standard_normal((rows, n)) + 0.3 * draw.standard_normal((rows, 1)))
    return np.where(x > 2, np.nan, x), x > 2


def frame(x, **more):
    rows, n = x.shape
    table = pd.DataFrame(
        {"iteration": np.repeat(np.arange(rows), n), "worker": np.tile(np.arange(n), rows), "time": x.ravel()}
    )
    return table.assign(**more).dropna(subset="time")


def without_the_slowest(rows=200, n=6, seed=0):
    """Times of a master that waits for all workers but one, and which are missing."""
    x = np.exp(0.3 * np.random.default_rng(seed).standard_normal((rows, n)))
    missing = x == x.max(1, keepdims=True)
    return np.where(missing, np.nan, x), missing


def test_a_late_row_is_as_long_as_what_was_seen_in_its_iteration_and_of_its_worker():
    x, missing = without_the_slowest()
    trace = trace_of(frame(x), "late")
    times = trace.values["time"]
    assert np.array_equal(trace.missing, missing) and np.array_equal(times[~missing], x[~missing])
    for row, worker in np.argwhere(missing):
        own = np.nanquantile(x[:, worker], 0.95, method="inverted_cdf")
        assert times[row, worker] == max(np.nanmax(x[row]), own)
    assert np.all(trace_of(x, "late", timeout=2.5).values["time"][missing] == 2.5)


@pytest.mark.parametrize("timeout", [None, 2.0])
def test_times_behind_a_timeout_are_estimated_from_those_below_it(timeout):
    x, missing = censored(400)
    draw = np.random.default_rng(0)
    whole = np.exp(0.3 * draw.standard_normal(x.shape) + 0.3 * draw.standard_normal((len(x), 1)))
    trace = read(x)
    late = as_late(trace, timeout).values["time"][missing]
    how, other = late_otherwise(trace, timeout)
    otherwise = other.values["time"][missing]
    estimated = late if timeout is None else otherwise
    assert estimated.mean() == pytest.approx(whole[missing].mean(), rel=0.05)
    if timeout is None:
        assert "longest" in how and np.all(otherwise == np.nanmax(x))
    else:
        assert "timeout" in how and np.all(late == timeout)


def test_rows_lost_at_random_are_not_taken_for_a_timeout():
    x = np.exp(0.3 * np.random.default_rng(0).standard_normal((200, 6)))
    x[np.random.default_rng(1).random(x.shape) < 0.03] = np.nan
    trace = read(x)
    least = as_late(trace).values["time"]
    how, other = late_otherwise(trace)
    assert "quarter longer" in how and least.max() == np.nanmax(x)
    assert np.allclose(other.values["time"][trace.missing], 1.25 * least[trace.missing])
    few = read(x[:5])
    assert few.missing.any() and late_otherwise(few, timeout=9.0) is None


def test_a_late_row_has_the_load_of_its_iteration_and_its_workers_usual_shares():
    x, missing = censored(60)
    loads = np.repeat([1.0, 0.5], [40, 20])
    x[40:] /= 2
    table = frame(x, load=np.repeat(loads, 6), compute=0.75 * x.ravel())
    late = trace_of(table, "late")
    assert np.array_equal(late.values["load"], np.broadcast_to(loads[:, None], x.shape))
    assert np.allclose(late.values["compute"], 0.75 * late.values["time"])
    row, worker = np.argwhere(missing[40:])[0] + [40, 0]
    own = np.nanquantile(x[40:, worker], 0.95, method="inverted_cdf")
    assert late.values["time"][row, worker] == max(np.nanmax(x[row]), own)
    halves = pd.concat(
        [table.assign(time=table["time"] * share, chunk=c) for c, share in ((0, 0.25), (1, 0.75))]
    )
    chunks = trace_of(halves, "late").chunks
    assert np.allclose(chunks, late.values["time"][..., None] * [0.25, 0.75])


def test_skipping_leaves_whole_iterations():
    x, missing = censored()
    trace = trace_of(frame(x), "skip")
    assert np.array_equal(trace.values["time"], x[~missing.any(1)])
    assert trace.missing is None and trace.left_out == missing.any(1).sum()


def test_what_is_missing_is_described():
    x, missing = censored()
    trace = read(frame(x))
    found = described(trace)
    assert (found.pairs, found.rows, found.iterations) == (missing.sum(), missing.size, missing.any(1).sum())
    assert (
        sum(found.by_worker.values()) == found.pairs and max(found.by_worker.values()) == missing.sum(0).max()
    )
    assert found.kept_share == pytest.approx(1 - missing.any(1).mean())
    assert found.in_slow_iterations and found.slower > 1.3  # all workers share the slow moments
    assert described(as_late(trace)) == found
    at_random = x.copy()
    at_random[np.isnan(x)] = 2.0
    at_random[np.random.default_rng(1).random(x.shape) < 0.02] = np.nan
    assert not described(read(frame(at_random))).in_slow_iterations
    assert described(skipped(trace)) is None
    first = described(trace, rows=range(50))
    assert first.all_iterations == 50 and first.pairs == missing[:50].sum()


def test_a_worker_without_rows_up_to_the_end_is_told_as_gone():
    """Neither a factor nor a level is told of it, since both would be those of times that were assumed."""
    x = np.exp(0.3 * np.random.default_rng(1).standard_normal((200, 5)))
    gone = x.copy()
    gone[130:, 2] = np.nan
    assert described(trace_of(frame(gone), "late")).silent_since == {"2": 130}
    told = " ".join(gcexp.fit(frame(gone)).sentences)
    assert "worker 2 has no row since iteration 130" in told and "times slower" not in told
    gone[190:, 2] = 1.0
    assert not described(trace_of(frame(gone), "late")).silent_since


def test_what_does_not_fit_is_refused(tmp_path, refused):
    x, _ = censored(20)
    trace = read(x)
    refused(("absent=late", "absent=skip"), trace_of, x)
    refused(("timeout=1.5", "logged"), as_late, trace, 1.5, error=ParameterError)
    refused(("timeout", "absent=late"), resolved, trace, "skip", 3.0, error=ParameterError)
    refused(("absent", "late"), resolved, trace, "lat", error=ParameterError)
    x[:, 2] = np.nan
    refused("worker 2", read, x)
    never_whole = np.array([[1, np.nan], [np.nan, 1]])
    refused("absent=late", trace_of, never_whole, "skip")


def test_a_last_line_without_newline_is_left_out_and_told(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text("iteration,worker,time\n0,0,1\n0,1,2\n1,0,1\n1,1,0.3")
    trace = read(path)
    assert trace.missing.tolist() == [[False, False], [False, True]]
    assert "1,1,0.3" in trace.decisions[0] and "newline" in trace.decisions[0]
    with pytest.raises(DataError, match="newline"):
        trace_of(path)
