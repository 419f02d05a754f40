"""Logs of the kinds that public projects keep: no false verdict, and what a question prints may be typed."""

from __future__ import annotations

import io
import re
import tarfile

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.errors import UserError
from gcexp_adviser.logs.how import how_given
from gcexp_adviser.logs.names import COLUMNS_EXAMPLE
from gcexp_adviser.logs.reading import read

ITERATIONS, WORKERS, SLOW = 60, 6, 2


def drawn(seed=0, iterations=ITERATIONS, workers=WORKERS):
    """Times of a cluster in which one worker is slow throughout."""
    times = 0.35 * np.exp(0.08 * np.random.default_rng(seed).normal(size=(iterations, workers)))
    times[:, SLOW] *= 1.7
    return times


def rows_of(**columns):
    """A row for each iteration and worker, with the entries of matrices (R, N)."""
    shape = np.broadcast_shapes(*(np.shape(values) for values in columns.values()))
    rounds, clients = np.indices(shape)
    frame = {"round": 1 + rounds.ravel(), "client": [f"c{number}" for number in clients.ravel()]}
    for name, values in columns.items():
        frame[name] = np.broadcast_to(values, shape).ravel()
    return pd.DataFrame(frame)


def ends_of(times, pause=0.02):
    """When workers were ready in a run in which all wait for the slowest one."""
    begins = 1.7e9 + np.append(0, np.cumsum(times.max(axis=1) + pause)[:-1])
    return begins[:, None] + times


def read_with(log, **said):
    return read(log, how_given(**said))


def told(trace, word):
    return any(word in decision for decision in trace.decisions)


# --- moments ----------------------------------------------------------------------------------------------------------


def test_ends_of_a_run_in_which_all_wait_are_no_beginnings_of_the_next(refused):
    log = rows_of(end=ends_of(drawn()))
    refused(("keep pace", "'Ends of iterations'"), lambda: read_with(log, columns="end:end"))
    counted = log.assign(elapsed=log.pop("end") - 1.7e9)
    sentence = refused(("keep pace", "'Ends of iterations'"), read, counted)
    assert "columns=end" not in str(sentence)


def test_ends_of_workers_that_do_not_wait_are_those_of_rows():
    log = rows_of(end=1.7e9 + np.cumsum(drawn(), axis=0))
    trace = read_with(log, columns="end:end")
    np.testing.assert_allclose(trace.values["time"], drawn()[1:], atol=1e-6)


def test_a_counter_that_begins_anew_behind_a_slow_step_is_one():
    times = drawn()
    times[10, 4] = 2.6  # a worker that compiles, in the first step that counts
    counter = np.vstack([np.cumsum(times[:10], axis=0) + 20, np.cumsum(times[10:], axis=0)])
    trace = read(rows_of(train_time=counter))
    assert told(trace, "took them for counters") and trace.values["time"].max() < 3


def test_durations_that_fall_to_many_increments_are_durations():
    within = np.linspace(0.3, 0.9, 25)[:, None] * np.linspace(1, 1.1, WORKERS)
    assert not told(read(rows_of(time=np.tile(within, (3, 1)))), "counters")


def test_times_of_day_are_no_durations(refused):
    seconds = np.sort(np.random.default_rng(0).integers(0, 900, ITERATIONS * 3)).reshape(ITERATIONS, 3)
    words = pd.to_datetime(seconds.ravel() + 64_800, unit="s").strftime("%H:%M:%S,250")
    log = pd.DataFrame({"process": list("abc") * ITERATIONS, "time": words})
    refused(("only grow", "'Ends of iterations'"), lambda: read_with(log, columns="iteration:none"))


def test_durations_in_hours_minutes_and_seconds_are_durations():
    words = pd.to_datetime((600 * drawn()).ravel(), unit="s").strftime("%H:%M:%S")
    assert read(rows_of(elapsed=np.reshape(words, (ITERATIONS, WORKERS)))).values["time"].shape == (60, 6)


# --- numbers that are no times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["num_samples", "n_samples", "value"])
def test_a_number_of_each_worker_that_never_changes_is_no_time(column, refused):
    sizes = np.array([120, 80, 310, 95, 120, 77])
    log = rows_of(**{column: np.tile(sizes, (ITERATIONS, 1))})
    refused("no time", lambda: read_with(log, columns=f"time:{column}"))
    assert read_with(log, columns=f"time:{column}", unit="s").values["time"].shape == (60, 6)


def test_a_number_of_samples_is_no_time(refused):
    log = rows_of(num_samples=np.random.default_rng(0).integers(50, 90, (ITERATIONS, WORKERS)))
    refused(("num_samples", "unit=s"), lambda: read_with(log, columns="time:num_samples"))


@pytest.mark.parametrize("column", ["time_ms", "time_s", "time"])
def test_compute_in_percent_is_asked_about_whatever_the_unit_of_the_time(column, refused):
    computing = drawn()
    times = computing + np.random.default_rng(1).lognormal(-3, 0.1, computing.shape)
    percent = 100 * computing / times
    scale = 1e4 if column == "time_ms" else 300
    refused("may be in percent", read, rows_of(**{column: scale * times, "compute": percent}))


def test_containers_that_answer_requests_do_not_wait_for_each_other(refused):
    rng = np.random.default_rng(0)
    log = rows_of(latency_ms=100 * rng.lognormal(0, 0.4, (400, 40)).round(3))
    log = log[rng.random(len(log)) < 0.06]
    refused(("do not seem to wait", "absent=late", "absent=skip"), gcexp.advise, log)
    assert gcexp.advise(log, absent="late").as_dict()["workers"] == 40


def test_workers_that_come_and_go_are_not_asked_about():
    times = drawn(iterations=200, workers=8)
    there = np.ones(times.shape, bool)
    there[:130, 5:] = False
    there[60:, :3] = False
    log = rows_of(time=times)[there.ravel()]
    trace = read(log)
    assert trace.values["time"].shape == (70, 5) and told(trace, "left out workers c0, c1, c2")


def test_compute_times_beside_a_barrier_are_no_percents(refused):
    computing = 20 * drawn()
    ends = computing.max(axis=1, keepdims=True) + 5
    times = ends * (1 + 0.04 * np.random.default_rng(1).normal(size=computing.shape))
    refused("stamped after the barrier", gcexp.advise, rows_of(time=times, compute=computing))


# --- what a question prints -------------------------------------------------------------------------------------------


def printed(error):
    """What a question offers to type that says all of a table, but for placeholders."""
    found = re.findall(r"columns=((?:'[^']*'|[^\s;,']|,(?=\w+:))+)", str(error))
    return [
        said.replace("'", "")
        for said in found
        if said.count(":") == 3 and COLUMNS_EXAMPLE not in f"columns={said}"
    ]


TABLES = {
    "scores of rounds": pd.DataFrame(
        {"round": range(1, 9), "test_loss": np.linspace(2.3, 0.4, 8), "test_acc": 0.1}
    ),
    "a run's epochs": pd.DataFrame(
        {"epoch": [1, 2, 3], "loss": [1.9, 1.8, 1.7], "wall_sec": [164.6, 160.1, 161.0]}
    ),
    "scores of clients": rows_of(loss=drawn(), accuracy=drawn() / 2, num_samples=np.full((60, 6), 26)).drop(
        columns="client"
    ),
    "scaling": pd.DataFrame(
        {
            "mode": ["async"] * 4 + ["sync"] * 4,
            "threads": [1, 1, 2, 2] * 2,
            "epoch": [1, 2] * 4,
            "wall_sec": 30.5,
        }
    ),
    "requests": pd.DataFrame(
        {"timestamp": [0, 0, 3000], "input_length": [40, 36, 7], "output_length": [6, 4, 2]}
    ),
    "jobs": pd.DataFrame({"id": ["Seren", "Kalos"], "job_num": [1031, 62], "fail_rate": [0.2, 0.3]}),
    "events": pd.DataFrame(
        {"Timestamp (s)": [0, 1, 3], "Event": ["Enter", "Enter", "Leave"], "Process": [0, 0, 0]}
    ),
    "episodes": pd.DataFrame({"r": [0.5, -1.2, 3.0], "l": [100, 90, 80], "t": [8.8, 9.9, 10.4]}),
    "steps": rows_of(wall=drawn()).rename(columns={"round": "it", "client": "who"}),
    "shares": pd.DataFrame(
        {"strategy": ["a", "a", "b"], "part": [0, 1, 0], "rows": [10, 20, 30], "gini": 0.1}
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_question_names_no_column_that_the_next_command_refuses(name):
    table = TABLES[name]
    with pytest.raises(UserError) as caught:
        read(table)
    for columns in printed(caught.value):
        read_with(table, columns=columns)  # raises where it is refused


def test_a_question_names_the_columns_that_may_be_meant(refused):
    refused("columns=iteration:it,worker:who,time:wall", read, TABLES["steps"])


def test_a_log_of_one_worker_is_told_so():
    for name in ("a run's epochs", "scores of rounds"):
        with pytest.raises(UserError, match="one worker|no column 'time'"):
            read(TABLES[name])


def test_a_stamp_is_no_time(refused):
    sentence = str(refused("columns=end:'Timestamp (s)'", read, TABLES["events"]))
    assert "columns=time:'Timestamp" not in sentence


def test_a_column_of_ends_is_offered_as_such(refused):
    refused("columns=end:finished", read, rows_of(finished=ends_of(drawn())))


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        "This is commit c031 with e1, e2, e3 in /root\n\n",
        "=======\nimport os\nimport sys\nwith open(sys.argv[0]) as f:\n    code = f.read()\n",
        "CUDA available:  True\n\n",
    ],
)
def test_lines_of_words_behind_other_text_are_words(head, tmp_path, refused):
    lines = [f"step:{step}/90 train_loss: 2.3, train_time:{140 * step}ms" for step in range(20)]
    path = tmp_path / "run.txt"
    path.write_text(head + "\n".join(lines) + "\n")
    refused(("is a log of words", "pattern="), read, path)


def test_a_column_of_one_word_with_a_bad_row_names_its_line(tmp_path, refused):
    path = tmp_path / "rank0.csv"
    path.write_text("time\n0.3\n0.4\n0.5,0.6\n")
    refused("line 4 has 2 cells", read, path)


def test_the_folders_of_mpirun_are_named(tmp_path, refused):
    for rank in range(3):
        (tmp_path / "1" / f"rank.{rank}").mkdir(parents=True)
        (tmp_path / "1" / f"rank.{rank}" / "stdout").write_text(f"rank={rank} step=0 time=0.3\n")
    sentence = str(refused("1/*/stdout", read, tmp_path))
    assert "none of its 0 files" not in sentence


def test_a_tar_archive_is_named(tmp_path, refused):
    path = tmp_path / "logs.tgz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("rank0.csv")
        member.size = 8
        archive.addfile(member, io.BytesIO(b"step,t\n\n"))
    refused(("tar archive", "unpack"), read, path)


# --- columns, headers and cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["", "n/a", "soon"])
def test_a_compute_column_without_a_number_is_not_used(tmp_path, refused, cell):
    log = rows_of(time=drawn()).assign(compute=cell)
    for frame in (log, log.rename(columns={"round": "iteration", "client": "worker"})):
        frame.to_csv(tmp_path / "log.csv", index=False)
        trace = read(tmp_path / "log.csv")
        assert "compute" not in trace.values and told(trace, "compute")
        np.testing.assert_allclose(trace.values["time"], drawn())
    refused("compute", lambda: read_with(log, columns="compute:compute"))


def test_an_infinite_compute_time_is_told_with_its_place(refused):
    compute = drawn() / 2
    compute[3, 1] = np.inf
    refused(("worker c1", "row 3"), lambda: read(rows_of(time=drawn(), compute=compute)))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("workers", [3, 6])
def test_a_header_that_counts_the_workers_is_no_row(tmp_path, first, workers):
    times = drawn(workers=workers)
    columns = range(first, first + workers)
    pd.DataFrame(times, columns=columns).to_csv(tmp_path / "log.csv", index=False)
    trace = read(tmp_path / "log.csv")
    np.testing.assert_allclose(trace.values["time"], times)
    assert trace.workers == tuple(columns)


def test_masked_cells_of_an_array_are_missing():
    times = np.ma.masked_array(drawn())
    times.data[10:20, 3] = 9999
    times[10:20, 3] = np.ma.masked
    trace = read(times)
    assert np.isnan(trace.values["time"][10:20, 3]).all() and trace.missing.sum() == 10


@pytest.mark.parametrize(("flag", "counts"), [("is_train", 1), ("discard", 0), ("skip", 0)])
def test_flags_of_rows_that_do_not_count(flag, counts):
    times = drawn()
    flags = np.full((ITERATIONS, 1), counts)
    flags[:12] = 1 - counts
    trace = read(rows_of(**{"time": times, flag: flags}))
    assert len(trace.values["time"]) == ITERATIONS - 12 and told(trace, flag)
    number = read(rows_of(**{"time": times, flag: np.arange(ITERATIONS)[:, None] % 3}))
    assert len(number.values["time"]) == ITERATIONS


def test_files_are_told_in_the_order_of_their_numbers(tmp_path):
    for worker, times in enumerate(drawn(workers=12).T):
        (tmp_path / f"host-{worker}.txt").write_text("\n".join(map(str, times)) + "\n")
    assert told(read(tmp_path), "host-0 to host-11")


def test_a_phi_that_reads_alike_is_told_once():
    times = drawn()
    frame = rows_of(time=times, compute=0.7 * times)
    told_of_phi = re.findall(r"with phi [\d.]+", gcexp.advise(frame).sentence, re.IGNORECASE)
    assert len(told_of_phi) == len(set(told_of_phi)) == 1
