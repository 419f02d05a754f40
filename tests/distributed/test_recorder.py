"""What a recorder writes of blocks, and one trace of all ranks' files."""

import types

import pytest
import torch
from torch import nn

from gcexp.command.main import main
from gcexp.delays import Trace
from gcexp.distributed import Recorder, join
from gcexp.errors import DataError, UserError
from gcexp_adviser.logs.reading import trace_of

HEAD = "iteration,worker,time,compute,load\n"


def row(iteration, rank, time=0.5, compute=0.25, load=1):
    return f"{iteration},{rank},{time},{compute},{load}\n"


def rows(rank, *iterations, **cells):
    return HEAD + "".join(row(t, rank, **cells) for t in iterations)


@pytest.fixture
def recordings(tmp_path):
    """Leave two ranks' files of iterations 2 to 5 in a folder; give a text of rank 1's, if it is another."""

    def recorded(rank_1=None):
        folder = tmp_path / "jobs"
        folder.mkdir()
        texts = [rows(0, *range(2, 6)), rows(1, *range(2, 6), time=1.5) if rank_1 is None else rank_1]
        for rank, text in enumerate(texts):
            (folder / f"rank-000{rank}.csv").write_text(text)
        return folder

    return recorded


def test_a_block_is_a_step_without_ddp(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    recorder = Recorder(tmp_path / "jobs", load=0.5)
    for load in (0.5, 0.5, 1):
        recorder.load = load
        with recorder.step():
            pass
    lines = (tmp_path / "jobs" / "rank-0003.csv").read_text().splitlines()[1:]  # not closed yet
    cells = [line.split(",") for line in lines]
    assert [(cell[0], cell[4]) for cell in cells] == [("0", "0.5"), ("1", "0.5"), ("2", "1")]
    with pytest.raises(UserError, match="rank-0003.csv"):
        Recorder(tmp_path / "jobs")
    monkeypatch.delenv("RANK")
    with pytest.raises(UserError, match="rank="):
        Recorder(tmp_path / "other")


class Clocked(nn.Module):
    """A layer whose forward pass takes a second of a clock that is set by hand."""

    def __init__(self, clock):
        super().__init__()
        self.layer, self.clock = nn.Linear(2, 1), clock

    def forward(self, inputs):
        self.clock.now += 1.0
        return self.layer(inputs)


def evaluate_without_gradients(model):
    with torch.no_grad():
        model(torch.ones(3, 2))


def evaluate_in_evaluation_mode(model):
    model.eval()
    model(torch.ones(3, 2))
    model.train()


def train_in_evaluation_mode(model):
    model.eval()
    evaluate_without_gradients(model)


def train_in_two_parts(model):
    evaluate_without_gradients(model)
    with model.no_sync():
        model(torch.ones(3, 2)).sum().backward()


@pytest.mark.parametrize(
    "before, seconds, compute",
    [
        (lambda model: None, 111.0, 1.0),
        (evaluate_without_gradients, 112.0, 1.0),
        (evaluate_in_evaluation_mode, 112.0, 1.0),
        (train_in_evaluation_mode, 112.0, 1.0),
        (train_in_two_parts, 113.0, 2.0),
    ],
)
def test_computing_begins_with_the_first_forward_pass_for_training(
    alone, tmp_path, monkeypatch, before, seconds, compute
):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr("gcexp.distributed.recorder.time.perf_counter", lambda: clock.now)

    def reduce(bucket):
        clock.now += 1000.0
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    model = alone(Clocked(clock))
    recorder = Recorder(tmp_path / "jobs", model=model, inner=reduce)
    for _ in range(4):
        clock.now += 10.0  # loading
        before(model)
        model(torch.ones(3, 2)).sum().backward()
        clock.now += 100.0  # the optimiser
    recorder.close()
    lines = (tmp_path / "jobs" / "rank-0000.csv").read_text().splitlines()[1:]
    assert lines == [f"{step},0,{seconds},{compute},1" for step in (2, 3)]


def test_a_trace_of_all_ranks(recordings, tmp_path, capsys):
    folder, output = recordings(), tmp_path / "jobs.csv"
    assert main(["trace", "import", str(folder), "-o", str(output)]) == 0
    assert "3 iterations of 2 workers" in capsys.readouterr().out
    trace = trace_of(output)
    of_folder = trace_of(folder)  # every command reads the folder as the import does
    assert (of_folder.columns, of_folder.flags.unit) == (trace.columns, "s")
    assert of_folder.values["time"].tolist() == trace.values["time"].tolist()
    assert main(["trace", "check", str(folder)]) == 0
    assert "3 iterations, 2 workers" in capsys.readouterr().out
    assert trace.columns == ("iteration", "worker", "time", "compute", "load")
    assert trace.values["time"].tolist() == [[0.5, 1.5]] * 3
    assert Trace(str(output)).draw((0,), 3, 2).arrival(0.5, 1)[0, 0].tolist() == [0.5, 1.5]
    assert main(["trace", "import", str(folder), "-o", str(output)]) == 2  # it is there
    join(folder, tmp_path / "all.csv", warm_up=0)
    assert len(trace_of(tmp_path / "all.csv").values["time"]) == 4


@pytest.mark.parametrize(
    "rank_1, iterations, compute",
    [
        (rows(1, 2, 3, 4) + "5,1,0.2", 2, True),  # the rank was killed
        (rows(1, 2, 3, 4, 5, compute=""), 3, False),  # times of blocks
    ],
)
def test_incomplete_rows_and_columns_are_left_out(recordings, tmp_path, rank_1, iterations, compute):
    join(recordings(rank_1), tmp_path / "jobs.csv")
    trace = trace_of(tmp_path / "jobs.csv")
    assert len(trace.values["time"]) == iterations and ("compute" in trace.columns) == compute


@pytest.mark.parametrize(
    "told, rank_1",
    {
        "rank-0001.csv lacks iteration 4": rows(1, 2, 3, 5),
        "line 3": rows(1, 2) + row(3, 1, time=0.0) + row(4, 1),
        "fast": HEAD + "2,1,fast,1,1\n",
        "line 4": rows(1, 2, 3) + "4,1,0.5\n",
        "line 5": rows(1, 2, 3, 4, 4),
        "rank 1": rows(0, 2),
        "line 2": rows(1, 2, load=-1),
        "loads .* iteration 3": rows(1, 2) + row(3, 1, load=0.5) + row(4, 1),
        "columns iteration,worker": "worker,time\n",
        "rank-0001.csv": HEAD,
        "warm-up": rows(1, 2),
    }.items(),
)
def test_what_is_no_whole_recording_is_refused(recordings, tmp_path, told, rank_1):
    with pytest.raises(DataError, match=told):
        join(recordings(rank_1), tmp_path / "jobs.csv")
    assert not (tmp_path / "jobs.csv").exists()


def test_arguments_of_joining_and_checking(recordings, tmp_path, refused_command):
    folder, output = recordings(), tmp_path / "jobs.csv"
    for line, told in {
        f"trace import {folder} columns=time:compute -o {output}": "columns=",
        f"trace import {folder} -o {output} --warm-up -1": "-1",
        f"trace check pai-job1 -o {output}": "-o",
    }.items():
        refused_command(told, *line.split())
    (folder / "rank-0001.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="rank-0001.csv"):
        join(folder, output)
    (folder / "rank-0000.csv").rename(folder / "rank-0002.csv")
    for lacking in (folder, tmp_path / "empty"):
        with pytest.raises(DataError, match="rank 0"):
            join(lacking, output)
