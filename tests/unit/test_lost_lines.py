"""Files without a step: rows that are numbered belong together only where no line is lost."""

import numpy as np
import pandas as pd
import pytest

from gcexp_adviser.logs.how import how_given
from gcexp_adviser.logs.lost_lines import lost_lines
from gcexp_adviser.logs.reading import read

WORKERS, ROWS = 6, 120


def loaded(rows=ROWS, workers=WORKERS, shared=0.3, own=0.08, seed=0):
    """Times of workers that share the load of each iteration."""
    draw = np.random.default_rng(seed)
    return 0.35 * np.exp(shared * draw.normal(size=(rows, 1)) + own * draw.normal(size=(rows, workers)))


def cut(times, lost):
    """The times of all workers without a row of some, cut to one length; `lost` says which row of which worker."""
    columns = []
    for worker, column in enumerate(times.T):
        own = np.delete(column, lost[worker]) if worker in lost else column
        columns.append(own[: len(times) - 1])
    return np.stack(columns, axis=1)


def write(folder, columns):
    """A file of each worker, of one time in each line."""
    for worker, column in enumerate(columns):
        (folder / f"rank{worker}.txt").write_text("\n".join(map(str, column)) + "\n")
    return folder


def numbered(log):
    return read(log, how_given(columns="iteration:none"))


def test_a_lost_line_is_seen_in_files_of_equal_length(tmp_path, refused):
    times = loaded()
    np.testing.assert_allclose(read(write(tmp_path, times.T)).values["time"], times)
    write(tmp_path, cut(times, {3: 20}).T)
    refused(("worker 3", "row 21 on", "number the rows"), read, tmp_path)
    refused(("worker 3", "row 21 on"), numbered, tmp_path)
    steps = pd.DataFrame(cut(times, {3: 20})).rename_axis("step").add_prefix("rank").reset_index()
    assert read(steps).values["time"].shape == (ROWS - 1, WORKERS)


def test_each_file_may_have_lost_another_line(tmp_path, refused):
    lost = {0: 15, 1: 30, 2: 45, 3: 60, 4: 75, 5: 90}
    write(tmp_path, cut(loaded(), lost).T)
    found = lost_lines(cut(loaded(), lost))
    assert len(found) >= 4  # two that are next to each other may be taken as one
    for line in found:
        assert line.row == pytest.approx(lost[line.worker], abs=4)
    refused((*(f"worker {line.worker} from" for line in found), "cannot be aligned"), read, tmp_path)


def test_files_of_unequal_length(tmp_path, refused):
    times = loaded()
    write(
        tmp_path, [np.delete(column, 20) if worker == 3 else column for worker, column in enumerate(times.T)]
    )
    refused(("worker 3: 119", "row 21 on", "cannot be aligned"), read, tmp_path)
    refused(("worker 3", "row 21 on"), numbered, tmp_path)
    write(tmp_path, [column[:-2] if worker == 3 else column for worker, column in enumerate(times.T)])
    refused(("worker 3: 118", "cannot be aligned", "columns=iteration:none"), read, tmp_path)
    assert numbered(tmp_path).missing.sum() == 2


def test_rows_of_one_table_that_a_person_lets_be_numbered(refused):
    def table(times):
        return pd.DataFrame({"host": np.tile(list("abcdef"), len(times)), "time": times.ravel()})

    refused(("worker c", "row 31 on"), numbered, table(cut(loaded(), {2: 30})))
    assert numbered(table(loaded())).values["time"].shape == (ROWS, WORKERS)


def rows_of_sampled(rounds=160, workers=10, each=4):
    """Lines of workers of which only some take part in each round."""
    draw = np.random.default_rng(0)
    asked = np.concatenate([draw.permutation(workers)[:each] for _ in range(rounds)])
    return pd.DataFrame({"client": asked, "time": np.exp(0.1 * draw.normal(size=len(asked)))})


def test_rows_of_sampled_workers_cannot_be_numbered(refused):
    log = rows_of_sampled()
    said = refused("rows, and others than their last ones are missing", read, log)
    assert "iteration:none" not in said
    said = refused(("unequal numbers of rows", "their last ones", "write the step"), numbered, log)
    assert "iteration:none" not in said


def test_rows_of_one_table_may_end_early(refused):
    ended = [(row, worker) for row in range(ROWS) for worker in range(4) if worker != 2 or row < 90]
    log = pd.DataFrame(ended, columns=["row", "client"])[["client"]].assign(
        time=loaded().ravel()[: len(ended)]
    )
    refused(("workers have 90 to 120 rows", "last ones", "columns=iteration:none"), read, log)
    assert numbered(log).missing.sum() == 30
    of_each = log.sort_values("client", kind="stable", ignore_index=True)
    refused(("workers have 90 to 120 rows", "columns=iteration:none"), read, of_each)
    assert numbered(of_each).missing.sum() == 30
    lined_up = rows_of_sampled(each=10)
    assert "10 rows" not in refused("columns=iteration:none", read, lined_up)
    assert numbered(lined_up).missing is None


@pytest.mark.parametrize("shared", [0.0, 0.1, 0.3, 0.8])
@pytest.mark.parametrize("law", ["even", "drifts", "blocks", "outliers", "in turns", "next one"])
def test_logs_in_order_have_no_lost_line(law, shared):
    for seed in range(17):  # 408 logs
        draw = np.random.default_rng(seed)
        rows, workers = (
            int(draw.integers(40, 300)),
            int(draw.integers(2, 6 if law in ("in turns", "next one") else 16)),
        )
        times = loaded(rows, workers, shared, draw.uniform(0.04, 0.2), seed)
        if law == "drifts":
            times *= np.exp(0.1 * draw.normal(size=times.shape).cumsum(axis=0))
        elif law == "blocks":
            times *= np.repeat(np.exp(draw.normal(size=rows)), 10)[:rows, None]
        elif law == "outliers":
            times *= np.exp(shared * np.clip(draw.standard_t(1.5, size=(rows, 1)), -20, 20))
        elif law == "in turns":
            times[np.arange(rows), np.arange(rows) % workers] *= 3
        elif law == "next one" and workers > 2:
            load = np.exp(0.4 * draw.normal(size=rows + workers))
            times *= np.stack([load[worker : worker + rows] for worker in range(workers)], axis=1)
        assert lost_lines(times) == []


def test_a_long_log_is_seen_through():
    times = cut(loaded(11_001, 3), {1: 10_000})
    assert [line.worker for line in lost_lines(times)] == [1]
