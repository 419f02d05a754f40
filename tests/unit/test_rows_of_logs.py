"""What the rows of a log are: runs, rows that do not count, counters, waiting, units; each is asked about or told."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.command.main import main
from gcexp_adviser.logs.reading import read
from gcexp_adviser.logs.waiting import in_a_queue

ITERATIONS, WORKERS = 60, 6


def drawn(iterations=ITERATIONS, workers=WORKERS, slow=2, factor=1.7, seed=0):
    """Times of a cluster with one slow worker."""
    times = 0.35 * np.exp(0.08 * np.random.default_rng(seed).normal(size=(iterations, workers)))
    times[:, slow] *= factor
    return times.round(4)


def rows_of(times, first=0, labels=None, **columns):
    """A frame of rows, iteration by iteration."""
    iterations, workers = times.shape
    labels = range(workers) if labels is None else labels
    frame = pd.DataFrame(
        {
            "step": np.repeat(np.arange(first, first + iterations), workers),
            "rank": list(labels) * iterations,
            "time": times.ravel(),
        }
    )
    for name, values in columns.items():
        frame[name] = np.broadcast_to(values, times.shape).ravel()
    return frame.dropna(subset="time").reset_index(drop=True)


def slow_in(advice):
    return set(
        advice.diagnosis.table.query("mechanism == 'bad_node' and status == 'found'")["workers"].astype(str)
    )


def appended(*frames):
    return pd.concat(frames, ignore_index=True)


def told(trace, word):
    return any(word in decision for decision in trace.decisions)


def test_two_sessions_are_asked_about(refused):
    log = appended(rows_of(drawn()), rows_of(drawn(40, slow=4, seed=1)))
    refused(("2 runs", "run=2", "run=last"), gcexp.advise, log)
    assert slow_in(gcexp.advise(log, run=1)) == {"2"}
    assert slow_in(gcexp.advise(log, run="last")) == {"4"}
    assert read_with(log, run="all").values["time"].shape == (100, WORKERS)
    refused("run=3", lambda: gcexp.advise(log, run=3))


def read_with(log, **said):
    from gcexp_adviser.logs.how import how_given

    return read(log, how_given(**said))


def test_other_workers_in_the_next_part_are_another_run(refused):
    names = ["alpha", "beta", "gamma", "delta", "rho", "tau"]
    others = ["one", "two", "three", "four", "five", "six"]
    again = appended(rows_of(drawn(), labels=names), rows_of(drawn(seed=1), labels=others))
    later = appended(rows_of(drawn(), labels=names), rows_of(drawn(seed=1), first=ITERATIONS, labels=others))
    refused("2 runs", read, again)
    refused("2 runs", read, later)
    nodes = appended(rows_of(drawn(), labels=range(6)), rows_of(drawn(seed=1), labels=range(6, 12)))
    assert read(nodes).values["time"].shape == (ITERATIONS, 12)


@pytest.mark.parametrize(
    "column",
    ["job", "run_id", "session", "attempt", "job_name", "run_name", "exp", "slurm_job_id", "project"],
)
def test_a_column_tells_runs_apart(column, refused):
    log = appended(rows_of(drawn()).assign(**{column: 1}), rows_of(drawn(seed=1)).assign(**{column: 2}))
    refused((column, "run=2"), read, log.sort_values("step", kind="stable"))
    on = appended(
        rows_of(drawn()).assign(**{column: 1}), rows_of(drawn(seed=1), first=ITERATIONS).assign(**{column: 2})
    )
    assert read(on).values["time"].shape == (2 * ITERATIONS, WORKERS)


def write_ranks(folder, times, pattern, first=0):
    folder.mkdir(parents=True, exist_ok=True)
    for worker, column in enumerate(times.T):
        frame = rows_of(column[:, None], first).drop(columns="rank")
        frame.to_csv(folder / pattern.format(worker), index=False)


def test_folders_of_attempts(tmp_path, refused):
    write_ranks(tmp_path / "log" / "attempt_0", drawn(), "rank{}.csv")
    write_ranks(tmp_path / "log" / "attempt_1", drawn(seed=1), "rank{}.csv")
    refused(("2 runs", "run=2"), read, tmp_path / "log")
    write_ranks(tmp_path / "on" / "attempt_0", drawn(), "rank{}.csv")
    write_ranks(tmp_path / "on" / "attempt_1", drawn(seed=1), "rank{}.csv", first=ITERATIONS)
    assert read(tmp_path / "on").values["time"].shape == (2 * ITERATIONS, WORKERS)


def test_files_of_two_jobs(tmp_path, refused):
    write_ranks(tmp_path, drawn(), "slurm-1001_{}.out")
    assert read(tmp_path).values["time"].shape == (ITERATIONS, WORKERS)
    write_ranks(tmp_path, drawn(seed=1), "slurm-1002_{}.out")
    refused(("2 runs", "run=2"), read, tmp_path)
    assert slow_in(gcexp.advise(tmp_path, run=2)) == {"2"}


TWO_RUNS = {
    "words": ("baseline_rank{}.csv", "fused_rank{}.csv"),
    "seeds": ("seed1_rank{}.csv", "seed2_rank{}.csv"),
    "dates": ("0301_rank{}.csv", "0302_rank{}.csv"),
    "jobs": ("train-48123-rank{}.csv", "train-48140-rank{}.csv"),
    "jobs and numbers": ("job.48123.{}.out", "job.48140.{}.out"),
    "numbers alone": ("48123_{}.csv", "48140_{}.csv"),
    "endings": ("rank{}.csv", "rank{}_old.csv"),
    "jobs behind": ("rank{}_48123.csv", "rank{}_48140.csv"),
    "copies": ("rank{}.csv", "rank{} (1).csv"),
    "days in folders": ("2026-03-01/rank{}.csv", "2026-03-02/rank{}.csv"),
    "words in folders": ("baseline/rank{}.csv", "fused/rank{}.csv"),
    "versions in folders": ("version_0/rank{}.csv", "version_1/rank{}.csv"),
}


@pytest.mark.parametrize("patterns", TWO_RUNS.values(), ids=TWO_RUNS)
def test_names_of_files_tell_runs_apart(patterns, tmp_path, refused):
    for seed, pattern in enumerate(patterns):
        folder = (tmp_path / pattern).parent
        write_ranks(folder, drawn(slow=2 + seed, seed=seed), (tmp_path / pattern).name)
    refused(("2 runs", "run=2"), read, tmp_path)
    runs = [slow_in(gcexp.advise(tmp_path, run=run)) for run in (1, 2)]
    assert {"2"} in runs
    assert {"3"} in runs
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    refused("2 runs", read, files)
    refused("2 runs", lambda: read_with(files, columns="iteration:none"))


def test_files_of_runs_may_be_workers_of_one_where_it_is_said_so(tmp_path, refused):
    write_ranks(tmp_path, drawn(), "alpha_rank{}.csv")
    write_ranks(tmp_path, drawn(slow=3, seed=1), "beta_rank{}.csv")
    refused("columns=worker:file", read, tmp_path)
    advice = gcexp.advise(tmp_path, columns="worker:file")
    assert slow_in(advice) == {"alpha_rank2, beta_rank3"}


@pytest.mark.parametrize(
    "pattern",
    ["node{}_rank%d.csv", "host-{}_gpu%d.csv", "n{}-gpu%d.csv", "rank%d_node{}.csv", "compute-{}-%d.csv"],
)
def test_names_of_machines_tell_no_runs_apart(pattern, tmp_path):
    for machine in range(2):
        of_machine = pattern.format(machine).replace("%d", "{}")
        write_ranks(tmp_path, drawn(seed=machine), of_machine)
    assert read(tmp_path).values["time"].shape == (ITERATIONS, 2 * WORKERS)


def test_ranks_in_a_column_tell_that_names_are_of_one_run(tmp_path):
    for name, first in (("alpha", 0), ("beta", 2)):
        for number in range(2):
            rank = first + number
            frame = rows_of(drawn(seed=rank)[:, :1], labels=[rank])
            frame.to_csv(tmp_path / f"{name}_{number}.csv", index=False)
    assert read(tmp_path).values["time"].shape == (ITERATIONS, 4)


def test_files_of_an_older_run_are_told_apart_by_their_stamps(tmp_path, refused):
    for rank in range(WORKERS):
        is_old = rank >= 4
        times = drawn(workers=WORKERS, slow=5 if is_old else 2, seed=int(is_old))
        ends = 1.77e9 - 1e5 * is_old + np.cumsum(times.max(axis=1) + 0.02)
        stamps = pd.to_datetime(ends, unit="s").strftime("%Y-%m-%d %H:%M:%S.%f")
        frame = rows_of(times[:, [rank]], labels=[rank]).assign(timestamp=stamps)
        frame.to_csv(tmp_path / f"rank{rank}.csv", index=False)
    refused(("2 runs", "timestamp", "run=last"), read, tmp_path)
    assert slow_in(gcexp.advise(tmp_path, run="last")) == {"2"}


@pytest.mark.parametrize("are_global", [False, True])
def test_ranks_in_folders_of_nodes_are_named_by_a_pattern(are_global, tmp_path, refused):
    for node in range(2):
        write_ranks(tmp_path / f"node{node}", drawn(seed=node), f"rank{{}}{node if are_global else ''}.csv")
    refused(f"{tmp_path}/*/*.csv", read, tmp_path)
    assert read(sorted(tmp_path.glob("*/*.csv"))).values["time"].shape == (ITERATIONS, 2 * WORKERS)


def test_a_run_that_went_back_to_a_checkpoint_counts_its_last_rows():
    times = drawn()
    log = appended(rows_of(drawn(seed=1)[:50]), rows_of(times[40:], first=40))
    trace = read(log)
    np.testing.assert_array_equal(trace.values["time"][40:], times[40:])
    assert told(trace, "went back from iteration 49 to 40")


@pytest.mark.parametrize("order", ["by steps", "by workers", "no order"])
def test_epochs_hold_batches_though_they_are_more(order):
    times = drawn(slow=0)
    log = rows_of(times)
    log = log.assign(batch=log["step"] % 4, epoch=log["step"] // 4).drop(columns="step")
    if order == "by workers":
        log = log.sort_values("rank", kind="stable")
    if order == "no order":
        log = log.sample(frac=1, random_state=0)
    np.testing.assert_array_equal(read(log).values["time"], times)


def test_local_ranks_of_nodes(tmp_path, refused):
    for node, slow in enumerate((3, 0)):
        frame = rows_of(drawn(workers=4, slow=slow, factor=1.7 if node == 0 else 1, seed=node))
        frame.rename(columns={"rank": "local_rank"}).to_csv(tmp_path / f"node{node}.csv", index=False)
    refused("columns=worker:file+local_rank", gcexp.advise, tmp_path)
    advice = gcexp.advise(tmp_path, columns="worker:file+local_rank")
    assert advice.recorded.x.shape == (ITERATIONS, 8)
    assert slow_in(advice) == {"node0/3"}


def test_rows_that_hold_the_waiting_are_refused(refused):
    times = drawn()
    ends = 1.7e9 + np.cumsum(times.max(axis=1) + 0.02)
    begins = np.append(1.7e9, ends[:-1])[:, None]
    own = begins + times
    tiled = np.vstack([np.full(WORKERS, 1.7e9), own[:-1]])
    refused("hold the waiting", read, rows_of(times, start=tiled + 1e-5, end=own).drop(columns="time"))
    assert (
        read(rows_of(times, start=begins, end=own).drop(columns="time")).values["time"].shape == times.shape
    )


def stamped(moments, times, form, folder):
    """A log of times and of when rows began or were written, in some form."""
    frame = rows_of(times, stamp=moments)
    dates = pd.to_datetime(frame.pop("stamp"), unit="s")
    if form == "start":
        return frame.assign(start=dates.astype("int64") / 1e9)
    if form == "milliseconds":
        return frame.assign(time=frame["time"] * 1e3, ts=dates.dt.strftime("%Y-%m-%dT%H:%M:%S.%f"))
    if form == "whole seconds":
        return frame.assign(timestamp=dates.dt.strftime("%Y-%m-%d %H:%M:%S"))
    written = frame.assign(date=dates.dt.strftime("%Y-%m-%d %H:%M:%S,%f"))
    line = "{0.date} INFO rank={0.rank:.0f} step={0.step:.0f} step_time={0.time:.4f}\n".format
    (folder / "job.log").write_text("".join(map(line, written.itertuples())))
    return folder / "job.log"


@pytest.mark.parametrize("form", ["start", "milliseconds", "whole seconds", "lines"])
def test_durations_from_stamp_to_stamp_hold_the_waiting(form, tmp_path, refused):
    times = drawn(400)
    ends = 1.77e9 + np.cumsum(times.max(axis=1) + 0.02)
    written = ends[:, None] + 0.03 * np.random.default_rng(1).random(times.shape)
    tiles = np.diff(np.vstack([np.full(WORKERS, 1.77e9), written]), axis=0)
    begun = written - tiles
    refused("hold the waiting", read, stamped(begun if form == "start" else written, tiles, form, tmp_path))
    begins = np.append(1.77e9, ends[:-1])[:, None]
    own = stamped(begins + (0 if form == "start" else times), times, form, tmp_path)
    assert slow_in(gcexp.advise(own, unit="ms" if form == "milliseconds" else "s")) == {"2"}


def test_counters_become_differences():
    times = drawn()
    counters = times.cumsum(axis=0)
    np.testing.assert_allclose(read(rows_of(counters)).values["time"], times[1:])
    counters[30:, 4] -= counters[30, 4] - 0.001
    trace = read(rows_of(counters))
    assert trace.values["time"].shape == (ITERATIONS - 2, WORKERS)
    assert told(trace, "differences")
    epochs = np.vstack([part.cumsum(axis=0) for part in np.split(times, 4)])
    assert read(rows_of(epochs)).values["time"].shape == (ITERATIONS - 4, WORKERS)


@pytest.mark.parametrize("length", [3, 4, 5, 6, 8])
def test_counters_of_short_epochs_become_differences(length):
    times = drawn()
    epochs = counted_by_epochs(times, length)
    trace = read(rows_of(epochs))
    np.testing.assert_allclose(trace.values["time"], times[np.arange(ITERATIONS) % length > 0])
    assert told(trace, f"begin anew {-(-ITERATIONS // length) - 1} times")
    assert read_with(rows_of(epochs), unit="s").values["time"].shape == times.shape


def counted_by_epochs(times, length):
    """The sums of times since the start of each epoch."""
    return np.vstack([times[row : row + length].cumsum(axis=0) for row in range(0, len(times), length)])


@pytest.mark.parametrize("length", [4, 5, 8])
def test_batches_in_the_order_of_their_lengths_are_no_counters(length):
    times = drawn() * (1 + np.arange(ITERATIONS) % length)[:, None]
    np.testing.assert_array_equal(read(rows_of(times)).values["time"], times)


@pytest.mark.parametrize("length", [6, ITERATIONS])
def test_counters_of_some_workers_among_durations_are_refused(length, refused):
    times = drawn()
    times[:, [1, 4]] = counted_by_epochs(times, length)[:, [1, 4]]
    refused(("workers 1, 4", "differences", "unit="), read, rows_of(times))
    assert read_with(rows_of(times), unit="s").values["time"].shape == times.shape
    slower = drawn()
    slower[:, 1] *= np.linspace(1, 4, ITERATIONS)
    np.testing.assert_array_equal(read(rows_of(slower)).values["time"], slower)


def test_counters_behind_a_long_set_up_become_differences():
    times = drawn()
    trace = read(rows_of(40 + times.cumsum(axis=0)))
    np.testing.assert_allclose(trace.values["time"], times[1:])
    assert told(trace, "counters")
    joined = times.cumsum(axis=0)
    joined[:, 3] -= joined[39, 3]
    joined[:40, 3] = np.nan
    np.testing.assert_allclose(read(rows_of(joined)).values["time"], times[41:])


def test_counters_of_epochs_behind_a_set_up_are_asked_about(refused):
    counted = counted_by_epochs(drawn(), 10) + 2
    refused(("epoch", 'unit="s"'), read, rows_of(counted))
    np.testing.assert_array_equal(read_with(rows_of(counted), unit="s").values["time"], counted)


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.04])
@pytest.mark.parametrize("length", [10, ITERATIONS])
def test_durations_that_rise_in_nearly_all_steps_are_no_counters(noise, length):
    draw = np.random.default_rng(3)
    rising = 1 + np.tile(np.linspace(0, 1.5, length), ITERATIONS // length)[:, None]
    times = rising * np.exp(noise * draw.standard_normal((ITERATIONS, WORKERS)))
    np.testing.assert_array_equal(read(rows_of(times)).values["time"], times)


@pytest.mark.parametrize("length", [6, ITERATIONS])
def test_clocks_that_keep_pace_are_refused(length, refused):
    times = drawn()
    longest = counted_by_epochs(times.max(axis=1, keepdims=True), length)
    refused("keep pace", read, rows_of(longest - times.max(axis=1, keepdims=True) + times))


def test_times_behind_the_barrier_do_not_follow_the_compute_times(refused):
    compute = drawn()
    ends = compute.max(axis=1, keepdims=True) + 0.05
    times = ends * (1 + 0.03 * np.random.default_rng(1).normal(size=compute.shape))
    log = rows_of(times, compute=compute)
    refused(("barrier", "columns=time:compute"), gcexp.advise, log)
    longer = log.rename(columns={"compute": "compute_time"})
    refused("columns=time:compute_time", gcexp.advise, longer)
    assert slow_in(gcexp.advise(longer, columns="time:compute_time")) == {"2"}
    assert slow_in(gcexp.advise(log, columns="time:compute")) == {"2"}
    own = rows_of(compute + 0.1 * np.random.default_rng(2).random(compute.shape), compute=compute)
    assert slow_in(gcexp.advise(own)) == {"2"}


def test_times_that_hold_the_waiting_for_slow_loading_are_asked_about(refused):
    loading = 0.2 * drawn(factor=8)
    computing = drawn(factor=1, seed=1)
    waiting_too = (loading + computing).max(axis=1, keepdims=True) - loading
    log = rows_of(waiting_too, data_time=loading).rename(columns={"time": "step_time"})
    cures = ("columns=time:data_time", "columns=time:step_time")
    refused(("falls where its data_time grows", *cures), read, log)
    assert slow_in(gcexp.advise(log, columns="time:data_time")) == {"2"}
    assert told(read_with(log, columns="time:step_time"), "took step_time as it is")


@pytest.mark.parametrize("name", ["wait_time", "sync_ms", "comm", "idle"])
def test_times_behind_the_barrier_are_no_shorter_where_workers_waited_longer(name, refused):
    own = drawn(factor=1.5)
    jitter = np.exp(0.05 * np.random.default_rng(1).normal(size=own.shape))
    waiting = own.max(axis=1, keepdims=True) - own + 0.02
    behind = rows_of(own.max(axis=1, keepdims=True) * jitter, **{name: waiting})
    refused((f"time is no shorter where {name}", f"time - {name}", "columns=time:time"), read, behind)
    assert told(read_with(behind, columns="time:time"), "took time as it is")
    assert slow_in(gcexp.advise(rows_of(own, **{name: waiting}))) == {"2"}


@pytest.mark.parametrize("phase", ["data_time", "forward_ms", "eval_time", "wait_time", "comm_time"])
def test_right_times_beside_other_durations_are_read(phase):
    for seed in range(60):  # 300 logs
        draw = np.random.default_rng(seed)
        shape = (int(draw.integers(10, 100)), int(draw.integers(2, 12)))
        speeds = np.exp(draw.choice([0, 0.3]) * draw.normal(size=shape[1]))
        loads = np.exp(draw.choice([0, 0.3]) * draw.normal(size=(shape[0], 1)))
        own = 0.4 * np.exp(draw.choice([0.02, 0.1, 0.5]) * draw.normal(size=shape)) * speeds * loads
        other = 0.1 * np.exp(draw.choice([0.02, 0.2, 1.0]) * draw.normal(size=shape))
        if phase == "data_time":
            other = other * np.exp(draw.normal(size=shape[1]))
        if phase == "wait_time":
            other = other + own.max(axis=1, keepdims=True) - own
        is_part = phase in ("data_time", "forward_ms") and draw.random() < 0.5
        read(rows_of(own + other if is_part else own, **{phase: other}))


def test_times_of_a_queue_are_refused(refused):
    draw = np.random.default_rng(0)
    served = draw.permuted((4 + 0.2 * draw.normal(size=(80, 6))).cumsum(axis=1), axis=1)
    wide = pd.DataFrame(served).add_prefix("client").rename_axis("round").reset_index()
    refused(("as those of a queue", 'unit="s"'), read, wide)
    refused("as those of a queue", read, rows_of(served))
    assert told(read_with(wide, unit="s"), "as those of a queue")


@pytest.mark.parametrize(
    "law", ["independent", "exponential", "one slow", "shares", "speeds", "loads", "counts"]
)
def test_times_that_do_not_stand_in_a_queue_are_read(law):
    for seed in range(300):  # 2100 logs
        draw = np.random.default_rng(seed)
        rows, workers = shape = (int(draw.choice([20, 40, 80])), int(draw.integers(3, 9)))
        times = np.exp(0.1 * draw.normal(size=shape))
        if law == "exponential":
            times = draw.exponential(size=shape)
        elif law == "one slow":
            times[np.arange(rows), draw.integers(workers, size=rows)] *= 3
        elif law == "shares":
            times = draw.dirichlet(np.full(workers, 5.0), size=rows)
        elif law == "speeds":
            times *= np.arange(1, workers + 1)
        elif law == "loads":
            times *= np.exp(draw.normal(size=(rows, 1)))
        elif law == "counts":
            times = draw.integers(1, 4, size=shape).astype(float)
        assert not in_a_queue(times), seed


def written(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)
    return path


def test_ids_are_no_times_of_workers(tmp_path, refused):
    ids = ("11065368093729246950", "13978149347205368200")
    log = written(
        tmp_path, "".join(f"{step},{host},{2 + 0.1 * step}\n" for step in range(1, 9) for host in ids)
    )
    cure = "columns=iteration:column1,worker:column2,time:column3"
    assert "workers:" not in refused(cure, read, log)
    refused(("column2", cure), lambda: read_with(log, columns="workers:*"))
    assert read_with(log, columns=cure.removeprefix("columns=")).labels == ids


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_is_no_worker(tmp_path, first, refused):
    rows = "".join(f"{first + row}, {0.1 + row % 3}, {3 + row % 7}\n" for row in range(12))
    cure = "columns=iteration:column1,workers:*"
    assert "or columns=workers:*" not in refused(cure, read, written(tmp_path, rows))
    refused(("column1 counts", cure), lambda: read_with(written(tmp_path, rows), columns="workers:*"))
    named = written(tmp_path, "number,alice,bob,carol\n" + rows.replace("\n", ", 2.5\n"))
    refused(
        ("number counts", "columns=iteration:number,workers:*"), lambda: read_with(named, columns="workers:*")
    )
    assert read_with(named, columns="iteration:number,workers:*").labels == ("alice", "bob", "carol")
    array = np.column_stack([np.arange(first, first + 12), drawn(12)])
    refused(("0 counts", "columns=iteration:0,workers:*"), read, array)
    assert read_with(array, columns="iteration:0,workers:*").values["time"].shape == (12, WORKERS)


@pytest.mark.parametrize(
    "names", ["latency_p50_ms latency_p95_ms latency_p99_ms", "mean std", "time_min time_avg time_max"]
)
def test_statistics_of_the_same_times_are_no_workers(names, tmp_path, refused):
    columns = names.split()
    frame = pd.DataFrame(np.sort(drawn()[:, : len(columns)], axis=1), columns=columns)
    refused((columns[-1], "statistics"), lambda: read_with(frame, columns="workers:*"))
    assert "workers:" not in refused("columns=", read, frame)
    if "std" not in columns:
        unordered = pd.DataFrame(drawn()[:, : len(columns)], columns=columns)
        assert read_with(unordered, columns="workers:*").values["time"].shape == (ITERATIONS, len(columns))


def test_the_least_of_each_worker_beside_its_time_is_no_worker(refused):
    times = drawn()[:, :3]
    panel = pd.DataFrame(times, columns=["job-a - time", "job-b - time", "job-c - time"])
    for name in list(panel):
        panel[f"{name}__MIN"] = 0.5 * panel[name]
    cure = "columns=workers:'job-* - time'"
    refused(("job-b - time__MIN", cure), lambda: read_with(panel, columns="workers:*"))
    np.testing.assert_allclose(read_with(panel, columns="workers:job-* - time").values["time"], times)


@pytest.mark.parametrize("name, scale", [("compute", 0.0007), ("compute_pct", 70), ("compute", 1000)])
def test_compute_in_another_unit_is_asked_about(name, scale, refused):
    log = rows_of(drawn(), **{name: scale * drawn()})
    refused(("compute", "columns=compute:none"), read, log)
    assert "compute" not in read_with(log, columns="compute:none").values


@pytest.mark.parametrize(
    "name, cells", [("compute", "70%"), ("compute_pct", "70 %"), ("compute_pct", 70.0), ("compute %", 70.0)]
)
def test_compute_in_percent_says_phi_once_it_is_said_to_be_its_share(name, cells, refused):
    log = rows_of(drawn(), **{name: cells})
    refused(("percent", "columns=compute:"), gcexp.advise, log)
    assert np.mean(gcexp.advise(log, columns=f"compute:{name}").phi) == pytest.approx(0.3)
    milliseconds = log.assign(time=100 * log["time"])  # 35 ms, with compute times that may be percents
    assert np.mean(gcexp.advise(milliseconds, columns=f"compute:{name}").phi) == pytest.approx(0.3)
    assert not gcexp.advise(log, columns="compute:none").as_dict()["phi_measured"]


def test_a_column_of_another_name_in_percent_is_a_share_where_it_is_said_so(refused):
    log = rows_of(drawn(), p2="70%")
    assert not gcexp.advise(log).as_dict()["phi_measured"]
    assert np.mean(gcexp.advise(log, columns="compute:p2").phi) == pytest.approx(0.3)
    shares = rows_of(drawn(), compute_pct=0.7)
    refused("compute", lambda: gcexp.advise(shares, columns="compute:compute_pct"))


@pytest.mark.parametrize(
    "column, usual, other",
    [
        ("is_warmup", 0, 1),
        ("phase", "train", "eval"),
        ("valid", True, False),
        ("is_eval", 0, 1),
        ("eval", False, True),
        ("do_eval", 0, 1),
        ("validation", 0, 1),
        ("measured", 1, 0),
        ("exclude", 0, 1),
        ("type", "training", "evaluation"),
        ("event", "train_step", "val_step"),
        ("tag", "", "warm-up"),
        ("loop", "train", "val"),
        ("dataset", "train", "test"),
        ("epoch", 3, -1),
        ("skip", None, True),
        ("counted", "yes", ""),
    ],
)
def test_rows_that_do_not_count_are_left_out(column, usual, other):
    times = drawn()
    log = rows_of(times)
    log[column] = [other if step < 5 else usual for step in log["step"]]
    trace = read(log)
    np.testing.assert_array_equal(trace.values["time"], times[5:])
    assert told(trace, column)
    assert len(read_with(log, without="none").values["time"]) == ITERATIONS


def test_marks_of_unknown_meaning_are_asked_about(refused):
    log = rows_of(drawn())
    log["phase"] = ["blue" if step < 5 else "green" for step in log["step"]]
    refused(("phase", "without=phase:blue"), read, log)
    assert len(read_with(log, without="phase:blue").values["time"]) == ITERATIONS - 5
    refused("without=phase:red", lambda: read_with(log, without="phase:red"))


@pytest.mark.parametrize(
    "column, usual, other",
    [
        ("status", "bench", "warmup"),
        ("exclude", "", "x"),
        ("measured", "there", "here"),
        ("queue", "batch", "test"),
    ],
)
def test_words_for_an_evaluation_beside_unknown_ones_are_asked_about(column, usual, other, refused):
    log = rows_of(drawn())
    log[column] = [other if step < 5 else usual for step in log["step"]]
    refused((column, f"without={column}:{other}"), read, log)


def test_what_columns_are_is_asked_before_their_words(tmp_path, refused):
    log = rows_of(drawn())
    log["event"] = ["checkpoint" if step < 5 else "step" for step in log["step"]]
    file = tmp_path / "headless.csv"
    log.to_csv(file, index=False, header=False)
    refused("columns=", read, file)
    said = "iteration:column1,worker:column2,time:column3"
    refused("without=column4:checkpoint", lambda: read_with(file, columns=said))


def test_a_worker_that_evaluates_is_asked_about(refused):
    log = rows_of(drawn(), role=["train"] * (WORKERS - 1) + ["evaluation"])
    refused(("role", "without=role:evaluation"), read, log)
    assert len(read_with(log, without="role:evaluation").labels) == WORKERS - 1


@pytest.mark.filterwarnings("error")
def test_a_number_of_the_batch_beside_the_step_is_no_size():
    log = rows_of(drawn(), batch=np.arange(ITERATIONS)[:, None] % 8)
    assert not told(read(log), "batch differs")


@pytest.mark.parametrize(
    "column, words",
    [
        ("rack", ["r1", "r2"]),
        ("gpu_type", ["a100", "h100"]),
        ("pool", ["train", "test"]),
        ("checkpoint", [0, 1]),
        ("error", ["", "could not restore it from there"]),
        ("validation_accuracy", [0.5, 0.6]),
        ("tag", ["eval", "eval"]),
        ("epoch", [-1, -1]),
    ],
)
def test_columns_of_few_values_that_mark_no_rows(column, words):
    log = rows_of(drawn())
    log[column] = [words[rank % 2] for rank in log["rank"]]
    assert not told(read(log), "left out")
    if column not in ("pool", "tag", "epoch"):  # words that do not differ by worker alone
        log[column] = [words[step % 7 == 6] for step in log["step"]]
        assert not told(read(log), "left out")


def test_a_stage_of_each_worker_marks_no_rows():
    log = rows_of(drawn(), stage=np.arange(WORKERS) % 2)
    assert read(log).values["time"].shape == (ITERATIONS, WORKERS)
    assert not told(read(log), "left out")


def test_an_asynchronous_run_is_refused(refused):
    log = pd.DataFrame({"step": range(60), "rank": np.arange(60) % 4, "time": drawn().ravel()[:60]})
    refused(("asynchronous", "columns=iteration:none"), read, log)
    assert read_with(log, columns="iteration:none").values["time"].shape == (15, 4)
    uneven = log.assign(rank=np.random.default_rng(0).permutation(np.repeat(range(4), (9, 12, 18, 21))))
    assert "iteration:none" not in refused("asynchronous", read, uneven)
    refused("unequal numbers of rows", lambda: read_with(uneven, columns="iteration:none"))


def test_sampled_clients_have_two_answers(refused):
    times = drawn(slow=0, factor=1)
    times[np.random.default_rng(1).random(times.shape).argsort(axis=1) >= 3] = np.nan
    refused(("3 of 6 workers", "sampled", "absent=late"), gcexp.advise, rows_of(times))
    assert gcexp.advise(rows_of(times), absent="late").recorded.absent == "late"


def test_workers_that_join_later_are_told_and_make_no_drift():
    times = drawn(120, slow=0, factor=1)
    times[:60, 3:] = np.nan
    advice = gcexp.advise(rows_of(times))
    assert told(advice.recorded.trace, "joined later, with iteration 60")
    assert advice.recorded.x.shape == (60, WORKERS)
    assert "drift" not in advice.diagnosis.found


def test_a_worker_that_counts_from_one_is_asked_about(refused):
    times = drawn()
    log = rows_of(times)
    log["step"] += log["rank"] == 1
    refused(("worker 1", "columns=iteration:none", "columns=iteration:step"), read, log)
    np.testing.assert_array_equal(read_with(log, columns="iteration:none").values["time"], times)
    assert read_with(log, columns="iteration:step").values["time"].shape == (ITERATIONS + 1, WORKERS)


def test_ranks_at_another_cadence_are_read_at_common_steps():
    times = drawn(slow=0, factor=1)
    times[np.arange(ITERATIONS) % 5 != 0, :2] = np.nan
    trace = read(rows_of(times))
    assert trace.values["time"].shape == (12, WORKERS) and trace.missing is None
    assert told(trace, "every 5 iterations") and trace.flags.sampled


def test_rotated_files_belong_to_their_log(tmp_path):
    times = drawn()
    write_ranks(tmp_path, times[:20], "rank{}.log.2")
    write_ranks(tmp_path, times[20:40], "rank{}.log.1", first=20)
    write_ranks(tmp_path, times[40:], "rank{}.log", first=40)
    trace = read(tmp_path)
    np.testing.assert_array_equal(trace.values["time"], times)
    assert told(trace, "rotated")


def test_unequal_data_are_told():
    sizes = np.full((ITERATIONS, WORKERS), 32)
    sizes[:, 2] = 64
    times = drawn(factor=1) * sizes / 32
    assert told(read(rows_of(times, num_examples=sizes)), "num_examples differs by worker")
    assert not told(read(rows_of(times, num_examples=32)), "num_examples differs")
    lengths = np.random.default_rng(1).integers(200, 800, times.shape)
    assert not told(read(rows_of(times, n_tokens=lengths)), "n_tokens differs")


@pytest.mark.parametrize("column", ["bs", "micro_batch_size", "seq_len", "n_tokens", "dataset_size", "batch"])
def test_sizes_are_known_by_many_names(column):
    sizes = np.where(np.arange(WORKERS) == 2, 64, 32)
    log = rows_of(drawn(), **{column: sizes})
    assert told(read(log), f"{column} differs by worker")
    log.loc[7, column] = 10**9
    assert told(read(log), f"{column} differs by worker")


def test_equal_cells_are_no_times(refused):
    refused("equal", read, rows_of(np.full((20, 4), 30.0)))
    refused("equal", read, np.full((16, 4), 0.5))
    assert read_with(np.full((16, 4), 0.5), unit="s").values["time"].shape == (16, 4)


def test_a_server_among_workers_is_asked_about(refused):
    log = rows_of(drawn(), labels=["w0", "w1", "w2", "w3", "w4", "server"])
    refused(("server", "without=rank:server"), read, log)
    assert read_with(log, without="rank:server").labels == ("w0", "w1", "w2", "w3", "w4")
    assert len(read_with(log, without="none").labels) == WORKERS


@pytest.mark.parametrize(
    "others", [["all"], ["max", "mean"], ["ps"], ["ps0", "ps1"], ["evaluator"], ["scheduler"]]
)
def test_rows_that_are_of_no_worker_are_asked_about(others, refused):
    labels = [*range(WORKERS - len(others)), *others]
    log = rows_of(drawn(), labels=labels)
    cure = f"rank:{'+'.join(others)}"
    refused(f"without={cure}", read, log)
    assert len(read_with(log, without=cure).labels) == WORKERS - len(others)


def test_machines_that_are_all_called_servers_are_workers():
    assert len(read(rows_of(drawn(), labels=[f"ps{rank}" for rank in range(WORKERS)])).labels) == WORKERS


def test_ids_of_any_length_are_names(tmp_path):
    ids = [
        11065368093729246000,
        786962950137860000,
        1964828366450082000,
        18446744073709551615,
        7,
        6069840273052575000,
    ]
    log = rows_of(drawn(), labels=ids)
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    for source in (path, log, log.astype({"rank": "uint64"}), log.astype({"rank": str})):
        trace = read(source)
        assert set(trace.labels) == set(map(str, ids))
        assert not told(trace, "names, since")
        assert slow_in(gcexp.advise(source)) == {str(ids[2])}


def test_advise_takes_several_files(here, capsys):
    write_ranks(here, drawn(), "rank{}.csv")
    files = [f"rank{worker}.csv" for worker in range(WORKERS)]
    assert main(["advise", *files, "phi=0.5"]) == 0
    told = capsys.readouterr().out
    assert f"{ITERATIONS} iterations of {WORKERS} workers" in told
    assert "gcexp benchmark rank0.csv rank1.csv" in told


def test_counts_in_columns_of_workers_are_no_times(refused):
    log = pd.DataFrame({"step": range(20), "num_batches_1": 20, "num_batches_2": range(20)})
    refused("counts", read, log)
    wide = pd.DataFrame(drawn(), columns=[f"w{worker}" for worker in range(WORKERS)])
    assert read(wide).values["time"].shape == (ITERATIONS, WORKERS)


@pytest.mark.parametrize("cell, cure", [("1.5D-03", "1.5E-03"), ("01:23.4", "00:01:23.4")])
def test_cells_in_other_writings_end_in_a_sentence_with_the_cure(cell, cure, refused):
    log = rows_of(drawn()).astype({"time": object})
    log.loc[7, "time"] = cell
    refused(cure, read, log)
    log.loc[7, "time"] = cure
    assert read(log).missing is None


def with_units(times, form):
    """A log of whose times every second has a unit behind it."""
    log = rows_of(times)
    log["time"] = [f"{1000 * time:.1f}ms" if row % 2 else form(time) for row, time in enumerate(log["time"])]
    return log


@pytest.mark.parametrize("form, unit", [("{:.4f}".format, "s"), (lambda time: f"{1000 * time:.1f}", "ms")])
def test_numbers_without_a_unit_beside_some_with_one_are_asked_about(form, unit, refused):
    times = drawn()
    log = with_units(times, form)
    refused(("without a unit", "unit=ms"), read, log)
    np.testing.assert_allclose(read_with(log, unit=unit).values["time"], times)
    named = log.rename(columns={"time": f"time_{unit}"})
    np.testing.assert_allclose(read(named).values["time"], times)
    log["time"] = [f"{time}s" for time in times.ravel()]
    np.testing.assert_allclose(read(log).values["time"], times)
    refused("units behind them already", lambda: read_with(log, unit=unit))


def test_columns_of_workers_with_and_without_units(refused):
    times = drawn()
    wide = pd.DataFrame(times, columns=[f"rank{worker}" for worker in range(WORKERS)])
    wide["rank1"] = [f"{1000 * time:.1f}ms" for time in wide["rank1"]]
    refused("unit=ms", read, wide)
    np.testing.assert_allclose(read_with(wide, unit="s").values["time"], times)


def test_a_unit_is_asked_of_compute_times_and_moments_too(refused):
    times = drawn()
    compute = with_units(times * 0.7, "{:.4f}".format)["time"]
    log = rows_of(times).assign(compute=compute)
    refused(("compute", "without a unit"), read, log)
    np.testing.assert_allclose(read_with(log, unit="s").values["compute"], 0.7 * times, atol=1e-4)
    ends = rows_of(times).assign(end=with_units(10 + times, "{:.4f}".format)["time"], start="10s")
    refused(("end", "without a unit"), read, ends.drop(columns="time"))


@pytest.mark.parametrize("beside", ["", "998,000", "998"])
def test_a_comma_before_three_digits_is_asked_about_between_semicolons(tmp_path, beside, refused):
    times = 1 + drawn().round(3)
    log = rows_of(times)
    log["time"] = [f"{time:.3f}".replace(".", ",") for time in log["time"]]
    if beside:
        log.loc[5, "time"] = beside
    path = tmp_path / "log.csv"
    log.to_csv(path, sep=";", index=False)
    refused("decimal=,", read, path)
    assert read_with(path, decimal=",").values["time"][0, 0] == pytest.approx(times[0, 0])
    assert read_with(path, decimal=".").values["time"][0, 0] == pytest.approx(1000 * times[0, 0])
    log.loc[7, "time"] = "0,95"
    log.to_csv(path, sep=";", index=False)
    assert read(path).values["time"][0, 0] == pytest.approx(times[0, 0])


def test_another_column_shows_that_commas_are_decimal(tmp_path):
    log = rows_of(1 + drawn(), loss="0,25")
    log["time"] = [f"{time:.3f}".replace(".", ",") for time in log["time"]]
    log.to_csv(tmp_path / "log.csv", sep=";", index=False)
    assert read(tmp_path / "log.csv").values["time"].max() < 3


@pytest.mark.parametrize("load", [np.arange(WORKERS) + 1.0, -1.0])
def test_a_column_called_load_that_is_none_can_be_left_out(load, refused):
    log = rows_of(drawn(), load=load)
    refused("columns=load:none", gcexp.advise, log)
    assert slow_in(gcexp.advise(log, columns="load:none")) == {"2"}


def test_ids_that_lost_digits_are_refused(refused):
    log = rows_of(drawn(), labels=np.arange(WORKERS) * 1e16 + 1.1e19)
    refused(("1.1e+19", "digits", "text"), read, log)


def test_no_name_of_a_trace_is_refused(refused, capsys):
    refused(("no trace is named", "gcexp advise"), gcexp.advise, "")


@pytest.mark.parametrize(
    "rows, row", [([[1.0, 2.0], [1.0, 2.0, 3.0]], 1), ([[1.0, 2.0], [2.0, 1.0], [1.0, [2.0]]], 2)]
)
def test_a_list_of_another_length_is_named(tmp_path, rows, row, refused):
    refused(f"row {row}", read, rows)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows))
    refused(f"row {row}", read, path)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_compute_times_in_few_rows_say_phi(rows):
    times = drawn()
    compute = np.where(np.arange(ITERATIONS)[:, None] < rows, 0.7 * times, np.nan)
    assert gcexp.advise(rows_of(times, compute=compute)).phi == pytest.approx(0.3)


def test_a_mark_for_a_late_worker_is_left_out(tmp_path, refused):
    log = rows_of(drawn())
    log.loc[7, "time"] = -1
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    refused("without=time:-1.0", read, path)
    refused("without=time:-1.0", read, log)
    for source in (path, log):
        assert read_with(source, without="time:-1.0").missing.sum() == 1


def test_midnight_between_start_and_end(refused):
    log = pd.DataFrame({"step": [0, 0], "rank": [0, 1], "start": ["23:59:59"] * 2, "end": ["00:00:01"] * 2})
    refused("dates", read, log)


@pytest.mark.parametrize("write", ["2024-05-31 12:00:{:02}".format, "{} s".format])
def test_moments_that_say_their_unit_are_not_of_another_one(refused, write):
    steps = np.repeat(np.arange(4), 2)
    ends = 10 * steps + 3 + np.tile([1, 2], 4)
    log = pd.DataFrame({"step": steps, "rank": np.tile([0, 1], 4)})
    log["start"] = [write(moment) for moment in 10 * steps]
    log["end"] = [write(moment) for moment in ends]
    expected = (ends - 10 * steps).reshape(4, 2).tolist()
    assert read(log).values["time"].tolist() == expected
    named = log.rename(columns={"start": "start_ms", "end": "end_ms"})
    assert read(named).values["time"].tolist() == expected
    refused(("unit=ms", "end"), lambda: read_with(log, unit="ms"))
    refused(("unit=ms", "end"), lambda: read_with(log, unit="ms", columns="start:none,end:end"))
    refused(("start", "end"), lambda: read_with(log.assign(start=10 * steps), unit="ms"))


@pytest.mark.parametrize("labels", ["ABCDEFGHIJ", "STUV", "hms"])
def test_a_lone_letter_names_a_worker_and_no_unit(labels):
    times = drawn(20, len(labels), slow=0)
    trace = read_with(pd.DataFrame(times, columns=list(labels)), columns="workers:*")
    assert trace.labels == tuple(labels)
    assert trace.flags.unit == ""
    np.testing.assert_array_equal(trace.values["time"], times)


def stamped_from(starts, times):
    """Rows with starts (R, N) and the ends that follow from their times."""
    return rows_of(times, started=starts, finished=starts + times).drop(columns="time")


def test_a_clock_may_begin_anew_in_each_iteration(refused):
    times = drawn()
    begun = np.random.default_rng(1).uniform(0, 0.1, times.shape).round(4)
    trace = read(stamped_from(begun, times))
    np.testing.assert_allclose(trace.values["time"], times)
    assert told(trace, "begins anew")
    since_submitted = np.cumsum(times, axis=0)
    refused("waiting", read, stamped_from(np.zeros_like(times), since_submitted))
    running = np.arange(ITERATIONS)[:, None] * 0.4
    assert not told(read(stamped_from(running + begun, times / 2)), "begins anew")
    refused("waiting", read, stamped_from(running + begun, 5 * times))
    until_all_end = times.max(axis=1, keepdims=True) - begun
    refused("waiting", read, stamped_from(begun, until_all_end))


def events(times, rank, **further):
    """The events of a rank, of which some are steps, others repeat a step's number, and the first has none."""
    rows = [{"event": "start", "replica_id": rank, "host": "node"}]
    for step, time in enumerate(times, start=1):
        rows.append({"event": "step", "replica_id": rank, "step": step, "dt_ms": round(1000 * time, 3)})
        if step % 10 == 0:
            rows.append({"event": "sync", "replica_id": rank, "step": step, "t_since_prev_s": 8.0, **further})
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.mark.parametrize("further", [{}, {"host": "node"}])
def test_events_of_which_only_some_are_steps(tmp_path, refused, further):
    times = drawn()
    for rank, column in enumerate(times.T):
        (tmp_path / f"ev{rank}.jsonl").write_text(events(column, rank, **further))
    said = refused("columns=time:dt_ms or columns=time:t_since_prev_s", read, tmp_path)
    assert "dt_ms+" not in said
    trace = read_with(tmp_path, columns="time:dt_ms")
    np.testing.assert_allclose(trace.values["time"], times)
    assert told(trace, "1 row without an iteration")


def test_a_sum_of_columns_is_shown_only_where_it_is_possible(refused):
    log = rows_of(drawn()).rename(columns={"time": "fwd_s"})
    log["bwd_ms"] = 2000 * log["fwd_s"]
    said = refused("columns=time:fwd_s or columns=time:bwd_ms", read, log)
    assert "fwd_s+bwd_ms" not in said
    refused("columns=time:fwd_s+bwd_s", read, log.rename(columns={"bwd_ms": "bwd_s"}))


def test_a_column_that_most_rows_lack_is_not_offered_for_the_worker(refused):
    log = rows_of(drawn()).assign(host="")
    log.loc[::20, "host"] = "node"
    twice = appended(log, log).sort_values("step", kind="stable")
    said = refused("stands twice", read, twice)
    assert "worker:host" not in said


def test_only_columns_that_are_there_are_named_where_rows_stand_twice(refused):
    log = appended(rows_of(drawn()), rows_of(drawn(seed=1))).sort_values("step", kind="stable")
    said = refused("stands twice", read, log)
    assert "columns=" not in said
    epochs = appended(rows_of(drawn(), epoch=0), rows_of(drawn(seed=1), epoch=1))
    epochs = epochs.sort_values("step", kind="stable")
    refused("columns=iteration:epoch+step", lambda: read_with(epochs, columns="iteration:step"))
    assert read_with(epochs, columns="iteration:epoch+step").values["time"].shape == (2 * ITERATIONS, WORKERS)
    nodes = appended(rows_of(drawn(), host="a"), rows_of(drawn(seed=1), host="b"))
    nodes = nodes.sort_values("step", kind="stable")
    refused("columns=worker:host+rank", lambda: read_with(nodes, columns="worker:rank"))
    assert read_with(nodes, columns="worker:host+rank").values["time"].shape == (ITERATIONS, 2 * WORKERS)


HEADERLESS = {
    "1,5.2\n1,6.1\n2,5.9\n2,7.3\n3,5.1\n3,6.6\n": 1,
    "1, 0.10, 3\n2, 0.12, 21\n3, 0.15, 40\n4, 0.16, 52\n": 1,
    "0,0,0.5\n0,1,0.6\n1,0,0.4\n1,1,0.7\n": 1,
    "0.5,0,a\n0.6,0,b\n0.4,1,a\n0.7,1,b\n": 1,
}


@pytest.mark.parametrize("text", HEADERLESS)
def test_what_is_shown_for_columns_without_names_is_read(text, tmp_path, refused):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    said = refused("no header", read, path)
    examples = re.findall(r"columns=(\S*[^\s,;])", said)
    assert len(examples) == HEADERLESS[text]
    for example in examples:
        assert read_with(path, columns=example).values["time"].size


def test_what_is_shown_for_files_without_a_header_is_read(tmp_path, refused):
    times = drawn()
    ends = 1.7e9 + np.cumsum(times.max(axis=1) + 0.5)
    for worker, column in enumerate(times.T):
        rows = np.column_stack([ends - column, ends - 0.1 * column])
        np.savetxt(tmp_path / f"worker{worker}.txt", rows, fmt="%.4f")
    refused("columns=start:column1,end:column2", read, tmp_path)
    trace = read_with(tmp_path, columns="start:column1,end:column2")
    np.testing.assert_allclose(trace.values["time"], 0.9 * times, atol=2e-4)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_an_array_of_objects_ends_in_a_cure(tmp_path, refused, ending):
    times = drawn(20).astype(object)
    times[3, 2] = None
    path = tmp_path / f"mine.{ending}"
    if ending == "npy":
        np.save(path, times)
    else:
        np.savez(path, times)
    refused("astype(float)", read, path)
    saved = tmp_path / "saved.npy"
    np.save(saved, times.astype(float))
    assert np.isnan(read(saved).values["time"]).sum() == 1


def test_rows_that_are_means_of_steps_are_told():
    times = drawn(600)
    moments = 1000 + np.cumsum(times, axis=0)[9::10]
    means = times.reshape(60, 10, WORKERS).mean(axis=1)
    of_means = rows_of(means.round(5), ts=moments.round(3))
    of_means["step"] = 10 * (of_means["step"] + 1)
    assert told(read(of_means), "mean of 10 steps")
    of_steps = rows_of(times[9::10], ts=moments.round(3))
    of_steps["step"] = 10 * (of_steps["step"] + 1)
    assert not told(read(of_steps), "mean of")
    in_ms = of_means.assign(dt_ms=1000 * of_means["time"]).drop(columns="time")
    assert told(read_with(in_ms, columns="time:dt_ms"), "mean of 10 steps")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_with_neither_an_iteration_nor_a_time_are_left_out(tmp_path, refused, ending):
    times = drawn()
    log = rows_of(times).astype({"step": float})
    log.loc[len(log)] = [np.nan, 0, np.nan]
    path = tmp_path / f"mine.{ending}"

    def write():
        if ending == "csv":
            log.to_csv(path, index=False)
        else:
            log.to_json(path, orient="records", lines=True)

    write()
    trace = read(path)
    np.testing.assert_array_equal(trace.values["time"], times)
    assert told(trace, "1 row with neither")
    log.loc[len(log)] = [np.nan, 1, 0.5]
    write()
    refused("iteration", read, path)


def test_trace_check_and_benchmark_take_several_files(here, capsys, refused_command):
    write_ranks(here, drawn(), "rank{}.csv")
    files = [f"rank{worker}.csv" for worker in range(WORKERS)]
    assert main(["trace", "check", *files]) == 0
    assert f"{WORKERS} workers" in capsys.readouterr().out
    (here / "uncoded").write_text("a file that is called as a scheme")
    assert main(["benchmark", *files, "uncoded"]) == 0
    told = capsys.readouterr().out
    assert f"{WORKERS} workers" in told and f"gcexp advise {' '.join(files)}" in told
    refused_command("rank9.csv", "benchmark", *files, "rank9.csv")


def test_a_benchmark_of_few_iterations_says_its_doubt_first(here, capsys):
    rows_of(drawn(3)).to_csv("few.csv", index=False)
    assert main(["benchmark", "few.csv", "wait for all"]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("Doubtful") and "too few" in first


def test_compute_that_is_longer_than_the_time_on_the_mean_says_no_phi():
    log = rows_of(
        drawn(), compute=1.003 * drawn(slow=2) + 0.001 * np.random.default_rng(1).normal(size=drawn().shape)
    )
    advice = gcexp.advise(log)
    assert not advice.as_dict()["phi_measured"] and any("phi=0" in sentence for sentence in advice.sentences)
    assert gcexp.fit(log).phi is None
    assert gcexp.advise(log, phi=0).verdict


def test_compute_that_is_a_share_of_the_time_is_asked_about(refused):
    compute = drawn()
    times = compute + 0.15
    refused(("share", "columns=compute:none"), read, rows_of(7 * times, compute=compute / times))
    shares = rows_of(7 * times, compute=compute / times)
    assert "compute" not in read_with(shares, columns="compute:none").values
    slower = compute * np.exp(0.1 * np.random.default_rng(1).normal(size=compute.shape))
    for time in (times, 1.5 * compute, compute + 0.5 * slower):
        np.testing.assert_array_equal(read(rows_of(time, compute=compute)).values["compute"], compute)


def wide(times, first=0):
    """A frame with a column for each worker."""
    iterations, workers = times.shape
    columns = {f"rank{worker}": times[:, worker] for worker in range(workers)}
    return pd.DataFrame({"step": np.arange(first, first + iterations), **columns})


def test_runs_of_tables_with_a_column_for_each_worker(refused):
    times, later = drawn(), drawn(50, seed=1)
    sessions = appended(wide(times), wide(later))
    refused(("2 runs", f"60 rows of {WORKERS} workers", "run=2"), read, sessions)
    np.testing.assert_array_equal(read_with(sessions, run="last").values["time"], later)
    np.testing.assert_array_equal(
        read_with(sessions, run="all").values["time"], np.concatenate([times, later])
    )
    back = read(appended(wide(times), wide(later, first=40)))
    np.testing.assert_array_equal(back.values["time"], np.concatenate([times[:40], later]))
    assert told(back, "checkpoint")
    twice = appended(wide(times), wide(times)).sort_values("step", ignore_index=True)
    refused(("iteration 0", "stands twice", "docs/logs.md"), read, twice)


@pytest.mark.parametrize(
    "column", ["it/s", "steps_per_second", "throughput", "samples/s", "tokens_per_sec", "speed"]
)
def test_rates_are_no_times(column, refused):
    rates = 1 / drawn()
    log = rows_of(rates).rename(columns={"time": column})
    refused(("rate", "'Rates'"), read, log)
    refused(("rate", "'Rates'"), lambda: read_with(log, columns=f"time:{column}"))
    assert read_with(log, columns=f"time:{column}", unit="s").values["time"].shape == rates.shape
    name = f"rank{{}}_{column}"
    wide = pd.DataFrame(
        {"step": range(ITERATIONS)} | {name.format(rank): rates[:, rank] for rank in range(WORKERS)}
    )
    refused(("rate", "'Rates'"), read, wide)
    refused(("rate", "'Rates'"), lambda: read_with(wide, columns=f"workers:{name.format('*')}"))


def test_seconds_per_iteration_are_times():
    log = rows_of(drawn()).rename(columns={"time": "s/it"})
    np.testing.assert_array_equal(read(log).values["time"], drawn())
    assert read(log).flags.unit == "s"


@pytest.mark.parametrize("iteration, worker", [("step", "rank"), ("iteration", "worker")])
@pytest.mark.parametrize("column", ["unit", "time_unit"])
def test_a_column_says_the_unit_of_the_times(iteration, worker, column, refused):
    times = drawn()
    log = rows_of(1000 * times).rename(columns={"step": iteration, "rank": worker})
    log[column] = "ms"
    np.testing.assert_allclose(read(log).values["time"], times)
    assert read(log).flags.unit == "s"
    assert told(read(log), f"as the column {column} says")
    log.loc[3, column] = "s"
    refused((column, "ms, s"), read, log)
    assert read_with(log, unit="ms").flags.unit == "s"
    log[column] = "node"
    np.testing.assert_array_equal(read(log).values["time"], 1000 * times)


def test_a_column_and_a_name_that_say_different_units_are_asked_about(refused):
    log = rows_of(drawn()).rename(columns={"time": "time_ms"})
    log["unit"] = "s"
    refused(("unit=s", "unit=ms"), read, log)
    wide = pd.DataFrame(1000 * drawn(), columns=[f"rank{rank}" for rank in range(WORKERS)]).assign(unit="ms")
    np.testing.assert_allclose(read(wide).values["time"], drawn())
