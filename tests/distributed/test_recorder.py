"""What a recorder writes of known sleeps, and one trace of all ranks' files."""

from statistics import median

import numpy as np
import pytest

from gcexp.command.main import main
from gcexp.delays import Trace
from gcexp.delays.trace_file import read_trace
from gcexp.distributed import Recorder, join
from gcexp.errors import DataError, UserError

HEAD = "iteration,worker,time,compute,load\n"


def row(iteration, rank, time=0.5, compute=0.25, load=1):
    return f"{iteration},{rank},{time},{compute},{load}\n"


def recordings(folder, **changed):
    """Two ranks' files of iterations 2 to 5; `changed` names the text of a rank's file."""
    folder.mkdir()
    for rank in range(2):
        text = HEAD + "".join(row(t, rank, time=0.5 + rank) for t in range(2, 6))
        (folder / f"rank-000{rank}.csv").write_text(changed.get(f"rank{rank}", text))
    return folder


@pytest.mark.slow
def test_known_sleeps_are_recorded_before_the_collective(ranks, tmp_path):
    sleeps = [0.0, 0.03, 0.06, 0.09]
    (found,) = ranks.beside([{"bare": True, "record": str(tmp_path / "jobs"), "sleeps": sleeps, "steps": 25}])
    assert [one["error"] for one in found] == [""] * 4
    assert not (tmp_path / "jobs" / "rank-0000.csv").read_text().splitlines()[1].startswith(("0,", "1,"))
    assert "22 iterations of 4 workers" in join(tmp_path / "jobs", tmp_path / "jobs.csv")
    trace = read_trace(tmp_path / "jobs.csv")
    beyond = np.median(trace.values["time"], axis=0) - sleeps
    if beyond.max() > 0.03:
        pytest.skip(f"void: steps without sleep take up to {beyond.max():.3f} s on this machine now")
    assert beyond.min() > 0
    assert np.corrcoef(np.median(trace.values["time"], axis=0), sleeps)[0, 1] > 0.98
    slowest = np.median(trace.values["time"].max(1))
    assert (
        slowest < median(found[0]["seconds"][3:]) * 1.05
    )  # and all ranks' steps take as long as the slowest


def test_a_block_is_a_step_without_ddp(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    recorder = Recorder(tmp_path / "jobs", load=0.5)
    for _ in range(3):
        with recorder.step():
            pass
    recorder.load = 1
    with recorder.step():
        pass
    lines = (tmp_path / "jobs" / "rank-0003.csv").read_text().splitlines()  # not closed yet
    assert [line.split(",")[0] for line in lines[1:]] == ["0", "1", "2", "3"]
    assert [line.split(",")[4] for line in lines[1:]] == ["0.5", "0.5", "0.5", "1"]
    with pytest.raises(UserError, match="is there already"):
        Recorder(tmp_path / "jobs")
    monkeypatch.delenv("RANK")
    with pytest.raises(UserError, match="rank="):
        Recorder(tmp_path / "other")


def test_a_trace_of_all_ranks(tmp_path, capsys):
    folder = recordings(tmp_path / "jobs")
    output = tmp_path / "jobs.csv"
    assert main(["trace", "join", str(folder), "-o", str(output)]) == 0
    assert "3 iterations of 2 workers; 0 rows" in capsys.readouterr().out
    trace = read_trace(output)
    assert (
        trace.columns == ("iteration", "worker", "time", "compute", "load") and len(trace.values["time"]) == 3
    )
    assert Trace(str(output)).draw((0,), 3, 2).arrival(0.5, 1)[0, 0].tolist() == [0.5, 1.5]
    assert main(["trace", "check", str(output)]) == 0
    assert main(["trace", "join", str(folder), "-o", str(output)]) == 2  # it is there
    assert main(["trace", "join", str(folder)]) == 2
    assert "4 iterations" in join(folder, tmp_path / "all.csv", warm_up=0)


def test_what_a_killed_rank_left_is_cut(tmp_path):
    half = HEAD + "".join(row(t, 1) for t in range(2, 5)) + "5,1,0.2"
    told = join(recordings(tmp_path / "jobs", rank1=half), tmp_path / "jobs.csv")
    assert (
        "2 iterations of 2 workers; 1 rows" in told
        and len(read_trace(tmp_path / "jobs.csv").values["time"]) == 2
    )


def test_times_of_blocks_have_no_compute(tmp_path):
    text = HEAD + "".join(row(t, 1, compute="") for t in range(2, 6))
    join(recordings(tmp_path / "jobs", rank1=text), tmp_path / "jobs.csv")
    assert read_trace(tmp_path / "jobs.csv").columns == ("iteration", "worker", "time", "load")


@pytest.mark.parametrize(
    "told, text",
    {
        "lacks iteration 4": HEAD + row(2, 1) + row(3, 1) + row(5, 1),
        "line 3": HEAD + row(2, 1) + row(3, 1, time=0.0) + row(4, 1),
        "line 2": HEAD + "2,1,fast,1,1\n",
        "line 4": HEAD + row(2, 1) + row(3, 1) + "4,1,0.5\n",
        "line 5": HEAD + row(2, 1) + row(3, 1) + row(4, 1) + row(4, 1),
        "wanted is a new iteration of rank 1": HEAD + row(2, 0),
        "with numbers > 0": HEAD + row(2, 1, load=-1),
        "loads differ in iteration 3": HEAD + row(2, 1) + row(3, 1, load=0.5) + row(4, 1),
        "no recording": "worker,time\n",
        "warm-up": HEAD + row(2, 1),
    }.items(),
)
def test_what_is_no_whole_recording_is_refused(tmp_path, told, text):
    with pytest.raises(DataError, match=told):
        join(recordings(tmp_path / "jobs", rank1=text), tmp_path / "jobs.csv")
    assert not (tmp_path / "jobs.csv").exists()


def test_arguments_of_joining_and_checking(tmp_path, capsys):
    folder, output = str(recordings(tmp_path / "jobs")), str(tmp_path / "jobs.csv")
    for line, told in {
        f"trace join {folder} absent=skip -o {output}": "absent=skip",
        f"trace join {folder} -o {output} --warm-up -1": "-1",
        f"trace check pai-job1 -o {output}": "-o",
    }.items():
        assert main(line.split()) == 2
        assert told in capsys.readouterr().err
    (tmp_path / "jobs" / "rank-0001.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="rank-0001.csv cannot be read"):
        join(folder, output)


def test_every_rank_must_be_there(tmp_path):
    folder = recordings(tmp_path / "jobs")
    (folder / "rank-0000.csv").rename(folder / "rank-0002.csv")
    with pytest.raises(DataError, match="lacks the recording of rank 0"):
        join(folder, tmp_path / "jobs.csv")
    with pytest.raises(DataError, match="lacks the recording of rank 0"):
        join(tmp_path / "empty", tmp_path / "jobs.csv")
