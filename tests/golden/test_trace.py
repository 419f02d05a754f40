"""Replay of real times: definitions of section 1 of the straggler benchmark, the bundled traces, bad input.

The numbers of its section 6 stand in ``stragglers.expected.csv``, which `test_benchmark` compares.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from gcexp.codes import Clustered, CyclicRepetition, CyclicTwoMessage, FractionalRepetition, Uncoded
from gcexp.command import main
from gcexp.delays import Trace
from gcexp.errors import DataError, ParameterError, UserError
from gcexp.schemes import Decodable, Fastest, Given, Greedy, Pairs, Scheme
from gcexp.timeline import run_clock
from gcexp.traces.clean import read_record
from gcexp_adviser.diagnosis.trace_statistics import statistics
from gcexp_adviser.logs.reading import trace_of
from tests.conftest import refusals

TRACES = Path(__file__).parents[2] / "data" / "traces"
JOB1, JOB4, FAAS = (str(TRACES / f"{name}.csv") for name in ("pai-job1", "pai-job4", "faas-aws-2048mb"))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("pai-job1", (443.7, 0.076, 0.052, 1.10, 1.20, 0.29, 0.18, 0.53, 0.74)),
        ("pai-job4", (167.2, 0.898, 0.609, 2.16, 7.09, 0.54, 0.09, 0.38, 0.72)),
        ("bytedance-SE-dp", (6.090, 0.098, 0.094, 1.26, 1.42, 0.01, 0.03, 0.96, 0.02)),
    ],
)
def test_statistics_are_those_of_the_sources(name, row):
    found = statistics(trace_of(TRACES / f"{name}.csv").values["time"])
    keys = "mean cov row_cov max_over_median max_over_median_95 worker iteration rest lag1".split()
    assert [found[key] for key in keys] == pytest.approx(row, rel=2e-4, abs=0.0051)


def test_bundled_faults_are_the_sources():
    folder = TRACES.parent / "faults"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.slow
def test_bundled_files_are_the_sources_and_have_entries():
    sums = [line.split("  ") for line in (TRACES / "SHA256SUMS").read_text().splitlines()]
    for digest, name in sums:
        assert hashlib.sha256((TRACES / name).read_bytes()).hexdigest() == digest, name
    index = json.loads((TRACES / "index.json").read_text())
    assert {entry["file"] for entry in index.values()} == {path.name for path in TRACES.glob("*.csv")}
    for name, entry in index.items():
        trace = trace_of(TRACES / entry["file"])
        sizes = (~np.isnan(trace.values["time"])).sum(1)
        assert (entry["T"], entry["n"], tuple(entry["columns"])) == (len(sizes), sizes.min(), trace.columns)
        assert trace.flags.persistent == (not name.startswith("faas"))
        assert trace.flags.data_bound == name.startswith("bytedance-SE")
        assert trace.flags.licence in ("CC-BY-4.0", "Apache-2.0")


# --- definitions ------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """Three rows of four workers, 1 to 12, with micro-batches."""
    x = np.arange(1.0, 13).reshape(3, 4)
    rows = [f"{t},{w},{x[t, w]}" for t in range(3) for w in range(4)]
    (tmp_path / "small.csv").write_text("\n".join(["iteration,worker,time", *rows, ""]))
    chunks = [f"{t},{w},{c},{x[t, w] * (c + 1) / 3}" for t in range(3) for w in range(4) for c in range(2)]
    (tmp_path / "chunks.csv").write_text("\n".join(["iteration,worker,chunk,time", *chunks, ""]))
    return str(tmp_path / "small.csv"), str(tmp_path / "chunks.csv"), x


def test_rows_come_whole_in_order_and_wrap(small):
    file, _, x = small
    times = Trace(file, skip=1, start=1).draw((0, 1), 4, 4).arrival(0.25, 1)
    np.testing.assert_array_equal(times[0], x[[2, 1, 2, 1]])
    np.testing.assert_array_equal(times[1], times[0])
    assert Trace(file, skip=1, start=1).wraps(1) == 0 and Trace(file, skip=1, start=1).wraps(4) == 2
    some = Trace(file, workers=[3, 1], rows=[2, 0]).draw((0,), 2, 2).arrival(0.5, 1)
    np.testing.assert_array_equal(some[0], x[[2, 0]][:, [3, 1]])


def test_time_at_another_load(small):
    file, _, x = small
    times = Trace(file, phi=0.25).draw((0,), 3, 4).arrival([0, 0.25, 0.5, 1], 1)
    np.testing.assert_allclose(times[0], x * (0.25 + 0.75 * np.array([0, 1, 2, 4])))


def test_random_starts_are_shared_by_schemes_and_clocks(small):
    file = small[0]
    seeds = tuple(range(12))
    traces = [Trace(file, start="random", phi=phi) for phi in (0.0, 0.5)]
    starts = [trace.draw(seeds, 1, 4).arrival(0.25, 1)[:, 0, 0] for trace in traces]
    np.testing.assert_array_equal(*starts)
    assert set(starts[0]) == {1.0, 5.0, 9.0}
    people = Trace(file, workers="random").draw(seeds, 1, 2).arrival(0.25, 1)[:, 0]
    assert len({tuple(row) for row in people}) > 5


def test_messages_and_micro_batches(small):
    """The fixed part is paid once; the r-th message waits for the micro-batches of all it contains."""
    file, chunked, x = small
    code = CyclicTwoMessage(4, 2, 4, guaranteed=False)
    draws = Trace(chunked, phi=0.5).draw((0,), 3, 4)
    # The whole share, its first half, and half of the list again.
    for load, growing in ((0.25, 1), (0.125, 1 / 3), (0.375, 4 / 3)):
        np.testing.assert_allclose(draws.arrival(load, 1)[0], x * (0.5 + 0.5 * growing))
    one, seats = draws.between(1, 2), np.array([[[3, 2, 1, 0]]])
    np.testing.assert_allclose(one.seated(seats).arrival(0.375, 1)[0, 0], (x * (0.5 + 2 / 3))[1, ::-1])
    plain = Trace(file, phi=0.5).draw((0,), 3, 4)
    np.testing.assert_allclose(plain.arrival(code.work(1) / 4, 1)[0], x * (0.5 + 0.5 * code.work(1)))


def test_data_bound_is_a_sum_over_partitions(small):
    file, _, x = small
    code = CyclicRepetition(4, 2)
    delay = Trace(file, phi=0.25, data_bound=True)
    for placement in (None, Given([2, 0, 3, 1])):
        who = np.arange(4) if placement is None else np.array(placement.workers)
        expected = 0.25 * x[:, who] + 0.75 * (code.assignment.astype(float) @ x.T).T
        found = run_clock(Scheme(code, Fastest(q=4), placement=placement), delay, (0,), 3)
        np.testing.assert_allclose(found.duration[0], expected.max(1))
    with pytest.raises(ParameterError, match="n=4.*k=6"):
        run_clock(Scheme(FractionalRepetition(4, 2, k=6), Decodable()), delay, (0,), 3)


def test_uncoded_is_the_trace_in_every_pricing(small):
    _, chunked, x = small
    for more in ({}, {"phi": 0.3}, {"phi": 1.0}, {"data_bound": True}):
        found = run_clock(Scheme(Uncoded(4), Decodable()), Trace(chunked, **more), (0,), 3)
        np.testing.assert_allclose(found.duration[0], x.max(1))


# --- bad input: one sentence each ---------------------------------------------------------------------------------


def drawn(file, n=None, iterations=3, **more):
    return lambda: Trace(file, **more).draw((0,), iterations, n or 4)


def placed(code, placement, file, **more):
    return lambda: run_clock(Scheme(code, Decodable(), placement=placement), Trace(file, **more), (0,), 3)


test_refuses = refusals(
    (drawn(JOB4, 12), "pai-job4 .*10.*n=12"),
    (drawn(JOB4, 2, workers=[3, 12]), r"workers \[3, 12\].*0 to 9"),
    (drawn(JOB4, 2, workers=[3, 3]), r"workers \[3, 3\]"),
    (drawn(JOB4, 3, workers=[3, 4]), r"\[3, 4\].*n=3"),
    (drawn(FAAS, rows=[5]), r"rows \[5\].*0 to 2"),
    (drawn(JOB4, phi=1.2), "phi .*1.2"),
    (drawn(JOB1, pricing="additive"), "pai-job1 .*'compute'.*iteration, worker"),
    (drawn(FAAS, pricing="additive", phi=0.5), "phi .*0.5"),
    (drawn(JOB1, pricing="scald"), "pricing.*'scald'.*'scaled'"),
    (drawn(JOB1, skip=300), "skip=300"),
    (drawn(JOB1, start=300), "start=300.*299"),
    (drawn(JOB1, rows=[0], skip="prefix"), "1 row"),
    (drawn(FAAS, skip=1), "persistent: false"),
    (placed(FractionalRepetition(4, 2), Pairs(2), FAAS, skip="prefix"), "placement=pairs"),
    (lambda: Pairs(3).check(Uncoded(10)), "placement=pairs .*n=10, d=3"),
    (lambda: Given([0, 2]), r"\[0, 2\]"),
    (lambda: Given([1, 0]).check(Uncoded(3)), "2 workers, .*n=3"),
    (placed(Clustered(4, 2, 2), Greedy(clusters=2, memberships=1), JOB4), "states.*arrival"),
    (drawn("nowhere.csv"), "nowhere.csv"),
    error=(ParameterError, DataError),
)


HEAD = "iteration,worker,time\n"
CHUNKED = "iteration,worker,chunk,time\n"
BROKEN = [
    ("", "is empty"),
    ("worker,time\n0,1\n", "'iteration'.*worker, time"),
    (HEAD, "no rows"),
    (HEAD + "0,0,1\n0,0,1\n", "iteration 0, worker 0 .*twice"),
    *((HEAD + f"0,0,1\n0,1,{bad}\n", f"time .*3 is '?{bad}\\b") for bad in ("abc", "inf", "0", "-1")),
    (HEAD + "0,0,1\n0,1,1e-151\n", "time .*3 is 1e-151"),
    (HEAD + "0,0,1\n0,1,2e150\n", r"time .*3 is 2e\+150"),
    (HEAD + "0,0,1\n0,1,nan\n", "worker 1 has no time"),
    (HEAD + f"0,0,1\n{'1' * 5000},0,1\n", "iteration .*3 is '1111"),
    ("iteration,worker,time,time\n0,0,1,2\n", "2 columns 'time'"),
    (HEAD + "0,0,1\n0,1\n", "line 3 .*2 .*3"),
    (CHUNKED + "0,0,0,1\n0,0,1000000000,1\n", "chunks .*0, 1000000000: 1"),
    (CHUNKED + "0,0,0,1\n0,0,1,1\n0,1,1,1\n", "iteration 0, worker 1 .*chunk 0"),
]


GAPS = [
    (HEAD + "0,0,1\n0,1,1\n1,0,1\n", "iteration 1 .* worker 1"),
    (HEAD + "0,0,1\n0,2,1\n1,0,1\n1,1,1\n1,2,1\n", "iteration 0 .* worker 1"),
    (HEAD + "0,0,1\n0,1,1\n1,0,1\n1,1,nan\n", "iteration 1 .* worker 1"),
    (HEAD + "0,0,1\n0,1,1\n1,0,1\n1,1,\n", "iteration 1 .* worker 1"),
    (HEAD + "0,0,1\n1,0,1\n3,0,1\n", "iterations .*0, 1, 3: 2"),
]


@pytest.mark.parametrize(("text", "named"), GAPS, ids=[row[1] for row in GAPS])
def test_gaps_are_described_and_not_replayed_unasked(text, named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(text)
    with pytest.raises(DataError, match=named):
        Trace("mine.csv").draw((0,), 1, 1)
    assert Trace("mine.csv", absent="late").draw((0,), 2, 1).shape == (1, 2, 1)
    assert main.main(["trace", "check", "mine.csv"]) == 0
    assert re.search("missing|no row", capsys.readouterr().out)


def test_a_number_of_a_worker_is_a_name(tmp_path, capsys):
    """One of 10^9 took gigabytes, as did a matrix of many short rows."""
    (tmp_path / "t.csv").write_text(HEAD + "0,0,1\n0,1000000000,2\n1,0,3\n1,1000000000,4\n")
    assert Trace(str(tmp_path / "t.csv")).draw((0,), 2, 2).start.shape == (1, 2, 2)
    with pytest.raises(ParameterError, match="has workers 0, 1000000000"):
        Trace(str(tmp_path / "t.csv"), workers=[1]).draw((0,), 1, 1)
    many = "".join(f"0,{w},1\n" for w in range(6000)) + "".join(f"{t},0,1\n" for t in range(1, 6000))
    (tmp_path / "many.csv").write_text(HEAD + many)
    with pytest.raises(DataError, match="6000 iterations and 6000 workers"):
        trace_of(tmp_path / "many.csv")


def test_a_number_of_very_many_digits_is_a_name(tmp_path):
    long = "1" * 5000
    (tmp_path / "t.csv").write_text(HEAD + f"0,{long},1\n0,1,2\n1,{long},3\n1,1,4\n")
    for reads in (read_record, trace_of):
        assert reads(tmp_path / "t.csv").labels == ("1", long)


def test_iterations_begin_with_any_number(tmp_path):
    (tmp_path / "t.csv").write_text(HEAD + "1,0,1\n2,0,3\n")
    assert trace_of(tmp_path / "t.csv").values["time"].tolist() == [[1], [3]]


def test_a_byte_order_mark_is_read(tmp_path):
    (tmp_path / "t.csv").write_text(HEAD + "0,0,1.5\n", encoding="utf-8-sig")
    assert trace_of(tmp_path / "t.csv").values["time"].tolist() == [[1.5]]


@pytest.mark.parametrize(("text", "named"), BROKEN, ids=[row[1] for row in BROKEN])
def test_broken_files(text, named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(text)
    assert main.main(["trace", "check", "mine.csv"]) == 2
    out, err = capsys.readouterr()
    assert not out and re.search(named, err) and err.count("\n") == 1
    with pytest.raises(UserError):
        Trace("mine.csv").draw((0,), 1, 1)


def test_a_negative_fixed_part(tmp_path):
    (tmp_path / "mine.csv").write_text("iteration,worker,time,compute\n0,0,1,0.5\n0,1,1,1.25\n")
    with pytest.raises(ParameterError, match=r"worker 1 in row 0.*-0.25"):
        Trace(str(tmp_path / "mine.csv"), pricing="additive").draw((0,), 1, 2)


def test_check_says_what_a_file_holds(capsys):
    assert main.main(["trace", "check", JOB4]) == 0
    told = capsys.readouterr().out
    assert "2182 iterations, 10 workers" in told and "28%" in told and "CC-BY-4.0" in told
    assert main.main(["trace", "check", FAAS]) == 0
    assert "50 to 200" in capsys.readouterr().out


def test_a_trace_is_no_pipe_and_no_device(tmp_path, capsys):
    """A pipe without a writer would be waited for, and /dev/zero has no end."""
    os.mkfifo(tmp_path / "pipe")
    for place in ("/dev/zero", str(tmp_path / "pipe")):
        assert main.main(["trace", "check", place]) == 2
        assert "no regular file" in capsys.readouterr().err


def test_check_tells_no_statistic_that_does_not_exist(tmp_path, capsys):
    (tmp_path / "two.csv").write_text(HEAD + "0,0,1\n0,1,2\n1,0,3\n1,1,1\n")  # two rows have no correlation
    (tmp_path / "same.csv").write_text(HEAD + "0,0,1\n0,1,1\n1,0,1\n1,1,1\n")
    for name in ("two", "same"):
        assert main.main(["trace", "check", str(tmp_path / f"{name}.csv")]) == 0
        told = capsys.readouterr().out
        assert "nan" not in told and "2 iterations, 2 workers" in told
