"""Logs as people have them: every form gives the same record, what was taken for what is told, and doubt is refused."""

import gzip
import json
import lzma
import pickle
import random
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.command.main import main
from gcexp.delays import Trace
from gcexp.errors import UserError
from gcexp.traces.clean import read_record, record_in_memory
from gcexp.traces.places import located
from gcexp_adviser.diagnosis.check import report
from gcexp_adviser.logs.reading import read, trace_of

TRACE = "bytedance-AR-dp"


def bundled():
    """Times of a bundled trace, and its rows as a frame."""
    x = trace_of(TRACE).values["time"]
    rows, n = x.shape
    table = {
        "iteration": np.repeat(np.arange(rows), n),
        "worker": np.tile(np.arange(n), rows),
        "time": x.ravel(),
    }
    return x, pd.DataFrame(table)


def stamped(table, unit=10**9):
    """The rows with starts and ends since 1970 in parts of a second, in place of times."""
    start = (1_700_000_000 + table["iteration"] * 100) * unit
    end = start + (table["time"] * unit).round().astype("int64")
    return table.drop(columns="time").assign(start=start, end=end)


def forms():
    """Bytes or objects that hold the same times, by what is special about them."""
    x, table = bundled()
    short = {"iteration": "step", "worker": "rank", "time": "duration_s"}
    named = table.rename(columns=short)
    wide = pd.DataFrame(x, columns=[f"rank{w}" for w in range(x.shape[1])])
    stamps = stamped(table)
    text = table.to_csv(index=False)
    parquet, npy, npz, archive = BytesIO(), BytesIO(), BytesIO(), BytesIO()
    named.to_parquet(parquet)
    np.save(npy, x)
    np.savez_compressed(npz, times=x)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("jobs/times.csv", text)
    return {
        "plain": text,
        "synonyms": named.to_csv(index=False),
        "capitals": table.rename(columns=str.title).to_csv(index=False),
        "spaces in names": named.rename(columns={"duration_s": "Step time (s)"}).to_csv(index=False),
        "milliseconds": named.assign(time_ms=x.ravel() * 1000).drop(columns="duration_s").to_csv(index=False),
        "units behind numbers": table.assign(time=[f"{time} s" for time in x.ravel()]).to_csv(index=False),
        "decimal commas": table.to_csv(index=False, sep=";", decimal=","),
        "tabs": table.to_csv(index=False, sep="\t"),
        "bars": "\n".join(f"{line}|" for line in named.to_csv(index=False, sep="|").splitlines()) + "\n",
        "aligned": named.to_string(index=False) + "\n",
        "Windows": text.replace("\n", "\r\n"),
        "UTF-16": text.encode("utf-16"),
        "comments": "# run 7\n" + text.replace("\n40,", "\n# saved\n40,", 1),
        "index of pandas": named.to_csv(),
        "names and values": "".join(
            f"[0] step={t}, rank={w} took={v}s\n" for t, w, v in table.to_numpy(object)
        ),
        "from 1": table.assign(iteration=table["iteration"] + 1).to_csv(index=False),
        "every tenth": table.assign(iteration=table["iteration"] * 10).to_csv(index=False),
        "epochs and batches": named.assign(epoch=named["step"] // 10, batch=named["step"] % 10)
        .drop(columns="step")
        .to_csv(index=False),
        "starts and ends": stamps.to_csv(index=False),
        "dates": stamps.assign(
            start=pd.to_datetime(stamps["start"]), end=pd.to_datetime(stamps["end"])
        ).to_csv(),
        "wide": wide.to_csv(index=False),
        "wide with stamps": wide.assign(timestamp=pd.date_range("2026-01-01", periods=len(x))).to_csv(),
        "wide in ms": (wide * 1000).add_suffix(" (ms)").rename_axis("step").to_csv(),
        "matrix": "\n".join(",".join(map(repr, row)) for row in x.tolist()) + "\n",
        "gzip": gzip.compress(text.encode(), mtime=0),
        "xz": lzma.compress(text.encode()),
        "zip": archive.getvalue(),
        "Parquet": parquet.getvalue(),
        "npy": npy.getvalue(),
        "npz": npz.getvalue(),
        "JSON lines": named.to_json(orient="records", lines=True, double_precision=15),
        "JSON": json.dumps(named.to_dict("records")),
        "JSON lists": json.dumps(x.tolist()),
        "frame": named,
        "wide frame": wide,
        "indexed frame": named.set_index(["step", "rank"]),
        "pivoted frame": named.pivot(index="step", columns="rank", values="duration_s"),
        "columns": named.to_dict("list"),
        "array": x,
        "lists": x.tolist(),
    }


FORMS = forms()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_record(form, tmp_path):
    source = FORMS[form]
    if isinstance(source, str | bytes):
        path = tmp_path / "mine.log"  # what it is, its name does not say
        path.write_bytes(source.encode() if isinstance(source, str) else source)
        source = path
    trace, (x, _) = trace_of(source), bundled()
    rounded = "milli" in form or " ms" in form
    np.testing.assert_allclose(trace.values["time"], x, rtol=1e-15 if rounded else 0)
    assert trace.missing is None and trace.workers == (0, 1, 2, 3) and not trace.names
    assert trace.flags.sampled == (form == "every tenth")
    silent = form in ("plain", "Windows", "comments", "array", "lists")
    assert bool(trace.decisions) != silent and all("\n" not in decision for decision in trace.decisions)


@pytest.mark.parametrize("form", ["plain", "names and values", "JSON lines", "JSON lists"])
def test_the_encoding_of_text_is_told_whatever_its_form(form, tmp_path):
    path = tmp_path / "mine.log"
    path.write_bytes(FORMS[form].encode("utf-16"))
    assert any("UTF-16" in decision for decision in trace_of(path).decisions)


def test_advice_is_the_same_from_another_form(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(FORMS["decimal commas"])
    mine, known = gcexp.advise(path, phi=0.5), gcexp.advise(TRACE, phi=0.5)
    assert (mine.verdict, mine.ratio) == (known.verdict, known.ratio)


def test_files_of_one_worker_each(tmp_path):
    x, table = bundled()
    for w, of_worker in table.groupby("worker"):
        of_worker[["iteration", "time"]].to_csv(tmp_path / f"node{w + 8}.csv", index=False)
        (tmp_path / "bare").mkdir(exist_ok=True)
        np.savetxt(tmp_path / "bare" / f"rank_{w}.txt", of_worker["time"], header="elapsed_s", fmt="%.17g")
    named = trace_of(tmp_path)
    assert named.labels == ("node8", "node9", "node10", "node11") and np.array_equal(named.values["time"], x)
    bare = trace_of(sorted((tmp_path / "bare").iterdir()))
    assert bare.workers == (0, 1, 2, 3) and np.array_equal(bare.values["time"], x)
    assert any("rank_0 to rank_3" in decision for decision in bare.decisions)
    (tmp_path / "node8.csv").write_text("iteration,time\n0,1\n1,x\n")
    with pytest.raises(UserError, match="line 3 of node8.csv"):
        trace_of(tmp_path)


def test_a_folder_for_each_worker(tmp_path, refused):
    for rank in (0, 1):
        (tmp_path / f"rank{rank}").mkdir()
        (tmp_path / f"rank{rank}" / "log.csv").write_text(f"step,time\n0,{rank + 1}\n")
    (tmp_path / "notes.md").write_text("now and then")
    trace = trace_of(tmp_path)
    assert (trace.labels, trace.values["time"].tolist()) == (("0", "1"), [[1, 2]])
    assert any("notes.md" in decision for decision in trace.decisions)
    assert trace_of(sorted(tmp_path.glob("*/log.csv"))).labels == ("0", "1")
    (tmp_path / "rank0" / "err.log").write_text("none")
    refused(f"{tmp_path}/*/log.csv", trace_of, tmp_path)


def test_the_pattern_that_is_shown_fits_the_files_of_torchrun(tmp_path, refused):
    for rank in "01":
        folder = tmp_path / "none_x7" / "attempt_0" / rank
        folder.mkdir(parents=True)
        (folder / "stderr.log").touch()
        (folder / "stdout.log").write_text("step 0 time 1 s\n")
    refused(f"{tmp_path}/none_x7/attempt_0/*/stdout.log", trace_of, tmp_path)


@pytest.mark.parametrize("taken_by", [read, record_in_memory])
def test_numbers_of_an_array_that_are_no_times(refused, taken_by):
    said = refused(("worker 1", "row 0", "-2"), taken_by, [[1.0, -2.0], [1.0, 1.0]])
    assert "float64" not in said
    refused(("worker 1", "no time"), taken_by, [[1.0, np.nan], [1.0, np.nan]])


def test_an_array_that_pandas_wrote_with_its_index(tmp_path):
    x, _ = bundled()
    pd.DataFrame(x).to_csv(tmp_path / "x.csv")
    trace = trace_of(tmp_path / "x.csv")
    assert trace.workers == tuple(range(x.shape[1])) and np.array_equal(trace.values["time"], x)


def test_a_column_that_is_called_some_time_is_shown(refused):
    rows = {"step": [0, 0], "rank": [0, 1], "start_time": ["a", "b"], "train_step_time": [1.0, 2.0]}
    refused("columns=time:train_step_time", trace_of, pd.DataFrame(rows))


def test_a_cell_is_shown_as_it_was_written(refused):
    rows = pd.DataFrame({"iteration": [0.5, 1.5], "worker": [0, 0], "time": [1.0, 2.0]})
    assert "np." not in refused("0.5", trace_of, rows)


def test_files_of_workers_may_differ_in_other_columns(tmp_path, refused):
    (tmp_path / "rank0.log").write_text("saving\nstep=0 loss=0.5 time=1s\nstep=1 loss=0.4 time=1s\n")
    (tmp_path / "rank1.log").write_text("step=0 time=2s\nstep=1 time=3s\n")
    trace = trace_of(tmp_path)
    assert trace.values["time"].tolist() == [[1, 2], [1, 3]]
    assert any("loss" in decision and "left out" in decision for decision in trace.decisions)
    (tmp_path / "rank2.log").write_text("step,seconds_to_go\n0,1\n")
    refused("the same", trace_of, tmp_path)


def test_workers_are_called_without_the_unit_of_their_times():
    trace = trace_of(pd.DataFrame({"GPU 0 [ms]": [100, 200], "GPU 1 [ms]": [300, 400]}))
    assert trace.labels == ("GPU 0", "GPU 1") and trace.values["time"].tolist() == [[0.1, 0.3], [0.2, 0.4]]


def test_what_all_files_tell_is_told_once(tmp_path):
    for rank in range(3):
        text = "started\n" + "".join(f"step={step} time={step + rank + 1}\n" for step in range(3))
        (tmp_path / f"rank{rank}.out").write_text(text)
    told = trace_of(tmp_path).decisions
    assert told[0] == "of each file: took name=value in 3 lines; 1 other line was left out"
    assert not any("rank0.out" in decision for decision in told)


def test_files_of_one_column_without_a_header(tmp_path, refused):
    for rank in (0, 1):
        np.savetxt(tmp_path / f"rank{rank}.csv", [rank + 1.5, rank + 2.5])
        np.save(tmp_path / f"rank{rank}.npy", [rank + 1.5, rank + 2.5])
        (tmp_path / f"pair{rank}.csv").write_text(f"3,{rank + 1.5}\n4,{rank + 2.5}\n")
    for ending in ("csv", "npy"):
        trace = trace_of(sorted(tmp_path.glob(f"rank*.{ending}")))
        assert trace.workers == (0, 1) and trace.values["time"].tolist() == [[1.5, 2.5], [2.5, 3.5]]
        assert any("only column" in decision for decision in trace.decisions)
    pairs = sorted(tmp_path.glob("pair*.csv"))
    refused("columns=iteration:column1,time:column2", trace_of, pairs)
    trace = trace_of(pairs, columns="iteration:column1,time:column2")
    assert trace.values["time"].tolist() == [[1.5, 2.5], [2.5, 3.5]]


def test_durations_that_rise_are_read_with_a_remark(refused):
    drift = np.linspace(1, 1.5, 40)[:, None] * [1, 1.1]
    assert any("only grow" in decision for decision in trace_of(drift).decisions)
    sums = np.random.default_rng(0).lognormal(0, 0.5, (40, 2)).cumsum(0)
    found = trace_of(sums)
    np.testing.assert_allclose(found.values["time"], np.diff(sums, axis=0))
    assert any("differences" in decision for decision in found.decisions)
    np.testing.assert_array_equal(trace_of(sums, unit="s").values["time"], sums)
    for counted in (sums + 86_400,):
        refused(("numpy.diff", 'unit="s"'), trace_of, counted)
        assert not any("only grow" in decision for decision in trace_of(counted, unit="s").decisions)
    refused("frame.diff()", trace_of, pd.DataFrame(sums + 86_400, columns=["rank0", "rank1"]))


def test_a_worker_whose_unit_may_differ_is_told(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("step,rank,time\n0,0,300\n0,1,0.3\n0,2,0.3\n")
    assert any("worker 0 takes 1e+03 times" in decision for decision in trace_of(path).decisions)


def test_durations_of_pandas_are_seconds():
    frame = pd.DataFrame({"step": [0, 0], "rank": [0, 1], "time": pd.to_timedelta(["1.5s", "200ms"])})
    assert trace_of(frame).values["time"].tolist() == [[1.5, 0.2]]


def test_profiler_traces_are_a_source_of_every_command(capsys):
    folder = Path(__file__).parent / "profiler_folder"
    trace = trace_of(folder)
    assert "compute" in trace.values and trace.flags.unit == "s" and "Kineto" in trace.decisions[0]
    files = [str(path) for path in sorted(folder.iterdir())]
    assert np.array_equal(trace_of(files).values["time"], trace.values["time"])
    assert main(["trace", "import", str(folder)]) == 0
    assert f"{len(trace.values['time'])} iterations of 4 workers" in capsys.readouterr().out


LOGS = {
    "JobID|NodeName|Elapsed|\n7|a|00:01:05|\n7|b|1-00:00:00.5|\n": (
        {"columns": "iteration:JobID"},
        [[65, 86400.5]],
    ),
    "step;host;dauer_ms\n0;b;1.234,5\n0;a;987,5\n": ({"columns": "time:dauer_ms"}, [[0.9875, 1.2345]]),
    'step,host,"time (us)"\n0,"n ""1""","1,500.0"\n': ({}, [[0.0015]]),
    "step,rank,host,time_ns\n0,0,a,5\n0,1,a,7\n": ({}, [[5e-9, 7e-9]]),
    "node,local_rank,step,time\na,0,0,1\na,1,0,2\nb,0,0,3\n": ({}, [[1, 2, 3]]),
    "step,alice,bob\n3,1,2\n5,1,3\n": ({"columns": {"workers": "*"}}, [[1, 2], [1, 3]]),
    "0,0,5\n0,1,6\n": ({"columns": "iteration:column1,worker:column2,time:column3"}, [[5, 6]]),
    "step,rank,time\n0,0,1500\n": ({"unit": "ms"}, [[1.5]]),
    "step,rank,time\n0,0,1700000000\n0,1,1700000001\n": ({"unit": "ns"}, [[1.7, 1.700000001]]),
    "step,rank,time,duration\n0,0,1e9,2\n": ({"columns": "time:duration"}, [[2]]),
    "step,rank,start_ns,end_ns\n0,0,123456789012345678,123456789012345679\n": ({}, [[1e-9]]),
    "a b time\n0 0 1,5\n1 0 12,25\n": ({"columns": "iteration:a,worker:b"}, [[1.5], [12.25]]),
    "step,rank,forward_ms,backward_ms\n0,0,100,200\n": (
        {"columns": "time:forward_ms+backward_ms"},
        [[0.3]],
    ),
    "step,rank,timestamp\n2,0,1700000005\n0,0,1700000000\n1,0,1700000002\n": (
        {"columns": "end:timestamp"},
        [[2], [3]],
    ),
    "worker,start,stop\na,0,1\nb,0,2\na,5,8\nb,5,9\n": ({"columns": "iteration:none"}, [[1, 2], [3, 4]]),
    "step;rank;time\n0;0;1.234\n0;1;987\n": ({"decimal": ","}, [[1234, 987]]),
    "step;rank;time\n0;0;1.234\n0;1;5\n": ({"decimal": "point"}, [[1.234, 5]]),
    'step,rank,time\n0,0,"1,234"\n': ({"decimal": "."}, [[1234]]),
    "step,rank,time\n0,0,1\n0,1,timeout\n1,0,2\n1,1,4\n": ({"absent": "skip"}, [[2, 4]]),
    "round,client_id,training_time,loss\n0,x,1.5,9\n": ({}, [[1.5]]),
    "step,rank,time_min,time_max,step_time_s\n0,0,1,9,2\n": ({}, [[2]]),
    "step,rank,ms/step\n0,0,5\n": ({}, [[0.005]]),
    "step,rank,time\n0,0,1\nstep,rank,time\n1,0,2\n": ({}, [[1], [2]]),
    "  \n\nstep,rank,time\n\n0,0,1\n  \n1,0,2\n": ({}, [[1], [2]]),
    "epoch,step,rank,step_time,val\n0,0,0,2,\n0,1,0,3,\n0,1,0,,0.5\n": ({}, [[2], [3]]),
    "step,rank,time\n0,0,0 days 00:00:01.5\n": ({}, [[1.5]]),
    "step,rank,start,end\n0,0,2024/05/01 12:00:00,2024/05/01 12:00:01\n": ({}, [[1]]),
    "step,worker0_step_time_ms,worker1_step_time_ms\n5,1,2\n": ({}, [[0.001, 0.002]]),
    "Step,a-b - time_ms,a-b - time_ms__MIN,c-d - time_ms\n0,1,8,2\n": (
        {"columns": "workers:* - time_ms"},
        [[0.001, 0.002]],
    ),
    "update,rank0,rank1\n5,1,2\n4,3,4\n": ({"columns": "iteration:none"}, [[1, 2], [3, 4]]),
    # names of workers that are numbers or look like none
    "step,rank,time\n0,48213,2\n0,7f9c4,3\n": ({}, [[3, 2]]),
    "step,host,time\n0,1e3,2\n0,NA,3\n0,inf,4\n0,none,5\n": ({}, [[2, 3, 4, 5]]),
    "step,host,time\n0,1e3,2\n0,NA,3\n0,48213,4\n0,7f9c4,5\n": ({}, [[2, 5, 4, 3]]),
    "step,worker,time\n0,1e3,2\n0,2e3,3\n": ({}, [[2, 3]]),
    "step,client_id,time\n0,12345678901234567891,2\n0,9,3\n": ({}, [[3, 2]]),
    # lines of name=value
    "rank=0 step=0 step_time=2\nrank=1 step=0 step_time=3\naccuracy=0.5 time=9\n": ({}, [[2, 3]]),
    "09:00 | INFO | a:b:1 - rank=0 step=5 t=2\n09:01 | INFO | a:b:1 - rank=1 step=5 t=3\n": (
        {"columns": "time:t"},
        [[2, 3]],
    ),
    'step=0,rank=0,time="300 ms"\nstep=0,rank=1,time="0.4 s"\n': ({}, [[0.3, 0.4]]),
    # lines that a pattern reads
    "starting\n[rank1] step 0: loss 0.1, took 0.5 s\n[rank0] step 0: loss 0.1, took 0.25 s\n": (
        {"pattern": r"\[rank(?P<rank>\d+)\] step (?P<step>\d+):.* took (?P<time_s>[\d.]+)"},
        [[0.25, 0.5]],
    ),
    "0: step 5 took 2 s\n1: step 5 took 3 s\n": (
        {
            "pattern": r"^(?P<a>\d+): step (?P<b>\d+) took (?P<c>\S+)",
            "columns": "worker:a,iteration:b,time:c",
        },
        [[2, 3]],
    ),
    '{"step": 0, "of": "rank 1", "took": "2 s"}\n{"step": 0, "of": "rank 0", "took": "3 s"}\n': (
        {"pattern": r'"step": (?P<step>\d+).*rank (?P<rank>\d+)".*"took": "(?P<time>[^"]*)"'},
        [[3, 2]],
    ),
    # JSON
    '{"step": 0, "rank": 1, "time": 2, "extra": {"loss": 1}}\n{"step": 0, "rank": 0, "time": 3}\n': (
        {},
        [[3, 2]],
    ),
    '{"step": 0, "rank": 0, "time": 3}\n': ({}, [[3]]),
}


#: Logs of other forms, and what the sentence names: a recipe of docs/logs.md, or what to type.
ASKED = {
    # words, and what launchers write before them
    "starting\n[rank1] step 0: loss 0.1, took 0.5 s\n[rank0] step 0: loss 0.1, took 250 ms\n": "Lines of words",
    "app | [1] training it 16/150 of epoch 0, 400 ms/it\napp | [0] training it 16/150 of epoch 0, 300 ms/it\n": (
        "Lines behind a launcher"
    ),
    "[1,2]<stdout>:Epoch 0, Batch 5 time 0.5\n[1,0]<stdout>:Epoch 0, Batch 5 time 0.25\n": "Lines of words",
    "Rank [1] Iter [50/100]: loss -0.5, time 2e-1\nRank [0] Iter [50/100]: loss 5., time 3\n": "column",
    "[rank0] step 5 at time 12:00:01 took 2 s\n[rank1] step 5 at time 12:00:02 took 3 s\n": "Lines of words",
    "[rank1]:Epoch: [0][  5/5005]\tTime 2.5 (2.0)\n[rank0]:Epoch: [0][  5/5005]\tTime 3.5 (2.0)\n": (
        "Lines of words"
    ),
    "INFO Rank 1: finished step 5 of 60 in 2 seconds (loss=0.5)\nINFO Rank 0: finished step 5 of 60 in 300 ms\n": (
        "Lines of words"
    ),
    "rank 1 step 5/60 | loss 7.1 | 200.5 ms | 350 tok/s\nrank 0 step 5/60 | loss 7.1 | 100 ms | 350 tok/s\n": (
        "Lines of words"
    ),
    "worker: 0, step: 5, fwd: 0.5s, bwd: 1.5s\nworker: 1, step: 5, fwd: 1.5s, bwd: 1.5s\n": "Lines of words",
    "0: step 5 took 2 s\n1: step 5 took 3 s\n0: step 6 took 4 s\n1: step 6 took 5 s\n": "Lines of words",
    "[pod/train-worker-1/torch] step 5 took 2 s\n[pod/train-worker-0/torch] step 5 took 3 s\n": "Lines of words",
    "train-2  | step 5 took 2 s\ntrain-1  | step 5 took 3 s\n": "Lines of words",
    "[rank1] step=0 time=2\n[rank0] step=0 time=3\n": ("columns=worker:", "Lines behind a launcher"),
    "1: step=5 time=2\n0: step=5 time=3\n1: step=6 time=2\n0: step=6 time=3\n": "Lines behind a launcher",
    "(Worker pid=9, ip=10.0.0.1) step 5: loss=1, time=2s\n(Worker pid=8, ip=10.0.0.2) step 5: loss=1, time=3s\n": (
        "columns=worker:"
    ),
    # objects behind words, and JSON that is nested
    'INFO:root:{"step": 0, "host": "b", "dur": 2}\nINFO:root:{"step": 0, "host": "a", "dur": 1}\n': (
        "JSON behind a prefix"
    ),
    "(rank 1) {'step': 0, 'time': 2}\n(rank 0) {'step': 0, 'time': 3}\n": "JSON behind a prefix",
    "{'step': 0, 'rank': 0, 'time': 2}\n{'step': 0, 'rank': 1, 'time': 3}\n": "JSON behind a prefix",
    'b-1  | {"step": 0, "time": 2}\nb-0  | {"step": 0, "time": 3}\n': "JSON behind a prefix",
    '{"iter": 4, "timers": {"forward": {"1": 3, "0": 2}}}\n{"iter": 5, "timers": {"forward": {"1": 4, "0": 3}}}\n': (
        "Nested JSON"
    ),
    '{"round": 1, "clients": [{"cid": 1, "fit_time": 2}, {"cid": 0, "fit_time": 1}]}\n{"round": 2, "clients": []}\n': (
        "Nested JSON"
    ),
    '{"step": 1, "ranks": {"0": {"time": 1}, "1": {"time": 2}}}\n{"step": 2, "ranks": {"0": {"time": 3}}}\n': (
        "Nested JSON"
    ),
    '{"step": [0, 0], "rank": [0, 1], "time": [1, 2]}': "Nested JSON",
    '{"columns": ["step", "rank", "time"], "index": [0, 1], "data": [[0, 0, 1], [0, 1, 2]]}': "Nested JSON",
    '{"0": {"step": 3, "rank": 0, "time": 1}, "1": {"step": 3, "rank": 1, "time": 2}}': "Nested JSON",
    '{"lr": 1, "log": [{"step": 0, "rank": 1, "time": 2}, {"step": 0, "rank": 0, "time": 1}]}': "Nested JSON",
    '[{"worker_id": 0, "epoch_times_ms": [10, 20]}, {"worker_id": 1, "epoch_times_ms": [30]}]': "Nested JSON",
    '{"lr": 1, "ranks": {"1": {"step_times": [3, 4]}, "0": {"step_times": [1, 2]}}}': "Nested JSON",
    '{"3": {"rank0": 1, "rank1": 2}, "4": {"rank0": 3, "rank1": 4}}': "Nested JSON",
    '{"rank": {"0": 0, "1": 1}, "step": {"0": 5, "1": 5}, "time": {"0": 1, "1": 2}}': "Nested JSON",
    '{"rank0": [1, 2], "rank1": [3]}': "Nested JSON",
    '{"step": 0, "times_ms": [300, 400]}\n{"step": 1, "times_ms": [500, 600]}\n': "Nested JSON",
    '{"status": "success", "data": {"resultType": "matrix", "result": []}}': "Nested JSON",
    '{"Event": "SparkListenerTaskEnd", "Task Info": {"ID": 1}}\n{"Event": "x"}\n': "Nested JSON",
    '{"log": "step=5 time=2", "pod_name": "w-0"}\n{"log": "step=5 time=3", "pod_name": "w-1"}\n': (
        "columns=time:",
        "log",
    ),
    # columns whose names are not beyond doubt
    "| step | rank | s |\n|---|---|---|\n| 0 | 1 | 2 |\n": "columns=time:s",
    "round,client_id,perf/training_time,loss\n0,x,1.5,9\n": "columns=time:perf/training_time",
    "step,rank,dur_s\n0,0,2\n": "columns=time:dur_s",
    "step;rank;t [µs]\n5;0;1500000\n5;1;2500000\n": "columns=time:'t [µs]'",
    "step,rank,time_min\n0,0,2\n": "columns=time:time_min",
    "step,rank,time (%)\n0,0,2\n": "columns=time:",
    "dgx01,dgx02,when\n1,2,today\n": "columns=workers:'dgx*'",
    "step,p0,p1\n5,1,2\n": "columns=workers:'p*'",
    "Time,dgx01,dgx02\n1767225600000,1,2\n": "columns=workers:'dgx*'",
    'Time,"{instance=""b:9""}","{instance=""a:9""}"\n2026-01-01 00:00:00,1,2\n': "columns=worker:",
    "Step,j-0 - step_time,j-0 - step_time__MIN,j-1 - step_time,j-1 - step_time__MAX\n0,1,8,2,9\n": (
        "columns=workers:'j-* - step_time'"
    ),
    "step,rank,time\nstep_3,0,5\nstep_4,0,6\n": "step_3",
    "step,rank,time\n-,-,[ms]\n0,0,1500\n0,1,500\n": "line 2",
    "update,rank0,rank1\n5,1,2\n4,3,4\n": ("columns=iteration:update", "columns=iteration:none"),
    "step=0 rank=0 time=1 loss=2 time=3\nstep=0 rank=1 time=1 loss=2 time=3\n": (
        "time stands twice",
        "Lines of words",
    ),
    "step=0 rank=0 time=1,345\nstep=0 rank=1 time=1,346\n": ("decimal=,", "decimal=."),
    "step,rank,time\n0,0,1\n0,nan,2\n": "line 3",
    "step,rank,time\n0,0,1\n0,-1,2\n": "line 3",
}


@pytest.mark.parametrize("text", ASKED)
def test_other_forms_are_asked_about(text, tmp_path, refused):
    path = tmp_path / "mine.log"
    path.write_text(text)
    refused(ASKED[text], read, path)


def rising(cell):
    """A log of two workers whose cells grow from step to step."""
    rows = [f"{step},{rank},{cell(step, rank)}" for step in range(12) for rank in range(2)]
    return "\n".join(["step,rank,time", *rows, ""])


DOUBTFUL = {
    "step,rank,time,duration\n0,0,1,2\n": ("columns=time:time", "columns=time:duration"),
    "step,rank,start,end\n0,0,1700000000,1700000001500\n": "unit=ms",
    "step,alice,bob\n3,1,2\n": "columns=workers:*",
    "epoch,train_loss,val_loss\n3,1,2\n": "columns=time:NAME",
    "0,0,5\n0,1,6\n": "columns=iteration:column1",
    "when,rank,time\n0,0,1\n": "columns=iteration:",
    "Schritt;Knoten;Dauer (ms)\n0;a;1\n0;b;2\n1;a;1\n1;b;2\n": (
        "columns='iteration:Schritt,worker:Knoten,time:Dauer (ms)'"
    ),
    "id,key,step,timestamp,value\na,x,0,5,0.1\nb,x,0,5,0.2\na,x,1,6,0.1\nb,x,1,6,0.2\n": (
        "columns=iteration:step,worker:id,time:value"
    ),
    "Wall time,Step,Value\n1700000000.5,0,3\n": "time:Value",
    "step;rank;time\n0;0;1.234\n0;1;987\n": ("1234", "decimal=,", "decimal=."),
    "step\trank\ttime\n0\t0\t1,234\n": ("1.234", "1234", "decimal=,", "decimal=."),
    # no times of workers, though numbers stand in columns
    "step,loss_rank0,loss_rank1\n0,1,2\n": "columns=workers:'loss_rank*'",
    "epoch,top1,top5\n0,50,80\n": "columns=workers:'top*'",
    "step,gpu0 tokens/s,gpu1 tokens/s\n0,50,80\n": "Rates",
    "step,rank,it/s\n0,0,5\n": "columns=time:",
    "Step,a-b - time,c-d - time\n0,1,2\n": "columns=workers:",
    "Step,lr-0.1 - time,lr-0.2 - time\n0,1,2\n": "columns=workers:'lr-*.* - time'",
    "step,time,time.1,time.2\n0,1,2,3\n": "columns=worker:",
    ",time,time\nrank,0,1\nstep,,\n0,1,2\n": "Headers of several rows",
    "step,rank,start_time\n0,0,1\n": "columns=end:start_time",
    "step,rank,it/s\n0,0,2\n": "Rates",
    "step,train-worker,time\n0,0,2\n": "columns=worker:",
    '"load1{instance=""n1""}","load1{instance=""n2""}"\n1,2\n': "columns=workers:",
    "step,p50,p99\n0,1,2\n": "p50, p99 are statistics",
    "dgx01,dgx02\n1,200\n": "columns=workers:'dgx*'",
    "dgx01,dgx02,loss\n1,2,3\n": "columns=workers:'dgx*'",
    "x] ITER 1,2,300\nx] ITER 1,3,400\n": "Lines of words",
    "0 1.5 2.5\n1 1.5 2.5\n2 1.5 2.5\n": "columns=iteration:column1,workers:*",
    "# Size Avg Latency(us) Max Latency(us)\n1 2.05 2.5\n2 2.15 3.5\n": "columns=iteration:column1,workers:*",
    "rank,step_0,step_1,step_2\n0,1,2,3\n": ("A column for each iteration", "columns=time:"),
    # text and JSON that are no table
    "the loss of the model is small\nnow and then\n" * 3: "Lines of words",
    '[{"ph": "X", "pid": 1, "tid": 2, "ts": 5, "dur": 1}]': "Timelines of events",
    '{"traceEvents": [{"ph": "X", "pid": 1, "ts": 5}]}': "Timelines of events",
    "job,worker,w0,5.0,6.0\njob,worker,w1,5.5,6.5\n": "no header",
    "[[0, 0, 0.5], [0, 1, 0.5], [1, 0, 0.5]]": "columns=iteration:0,worker:1,time:2",
    '[{"step": 0, "rank": [[1]], "time": 2}, {"step": 0, "rank": [], "time": 2}]': "worker",
    '[{"step": 0, "node": "a", "rank": 1, "time": 2}, {"step": 0, "node": "a", "time": 2}]': "worker",
    "step,rank,start,end\n0,0,05/01/2024 12:00:00,05/01/2024 12:00:01\n": "2024-05-31",
    "<table><tr><td>1</td></tr></table>\n": "HTML",
    "\n\n": "is empty",
    # moments
    "step,rank,time\n0,0,1700000000.5\n0,1,1700000001.5\n": ("columns=end:time", "unit="),
    "Wall time,Step,rank,Value\n1700000000.5,0,0,3\n": "columns=time:'Wall time'",
    rising(lambda step, rank: 0.3 * step + 0.1 * (rank + 1)): ("columns=end:time", "unit=s"),
    rising(lambda step, rank: f"12:00:{step:02d}"): ("columns=end:time", "unit=s"),
    "rank0,rank1\n" + "".join(f"{t},{t + 0.5}\n" for t in range(1, 12)): (
        "Columns of times that only grow",
        "unit=s",
    ),
    # kinds of rows
    "step,rank,phase,time\n0,0,forward,0\n0,0,backward,2\n": ("phase", "forward", "Several rows of one step"),
    "step,rank,compute_ms,send_ms\n0,0,1,2\n": "columns=time:compute_ms+send_ms",
    "step,rank,timestamp\n0,0,2024-05-01T12:00:00\n": "columns=end:timestamp",
    "rank,start,end\n0,1,2\n": "columns=iteration:none",
    "step,time\n0,1\n1,2\n": ("one worker alone", "columns=worker:"),
    "epoch,loss,accuracy\n0,2.5,0.1\n1,2,0.3\n": "epoch, loss",
    "step,rank,time\n0,0,1\n0,0,2\n": "twice",
    "step,rank,time\n0,0,PT1S\n": ("line 2", "PT1S"),
    "\nstep,rank,time\n  \n0,0,1\n\n1,0,PT1S\n": ("line 6", "PT1S"),
    '\n"step",rank,time\n  \n"0",0,1\n\n1,0,PT1S\n': ("line 6", "PT1S"),
    "step,rank,time\n0.5,0,1\n": ("line 2", "0.5"),
    "step,rank,time\n0,,1\n": "line 2",
    "step,rank,time\n0,0,1\n1,0\n": ("line 3", "2 cells"),
    "step,rank,start,end\n0,0,5,4\n": ("line 2", "later end"),
    "step,rank0,rank1\n0,1,2\n1,1,x\n": ("rank1", "line 3"),
    "step,rank0,rank1\n0,1,\n1,1,\n": "worker 1 has no time",
    "step,rank0_ms,rank1_ns\n0,1,2\n": "units",
    "step,rank0,rank1\n0,1,2\n0,1,2\n": "iteration 0",
    "hello\n": "no rows",
    b"step,h\xf4te,time\n0,a,1\n": "iconv",
    b"s\0t\0e\0p\0": "zero",
    b"\x89HDF\r\n\x1a\n": "HDF5",
    b"\x28\xb5\x2f\xfd\x04": "unzstd",
    pickle.dumps([1, 2]): "Pickles and workbooks",
    pickle.dumps([1, 2], protocol=2): "Pickles and workbooks",
    gzip.compress(b"step,rank,time\n0,0,1\n", mtime=0)[:-9]: "damaged",
    gzip.compress(gzip.compress(b"1", mtime=0), mtime=0): "twice",
    b'{"schemaVersion": 1, "traceEvents": []}': "gcexp trace import FOLDER",
    b'{"traceEvents": []}': "Timelines of events",
    b'[{"step": 0, "rank"': "JSON",
    b'{"step": 0}\n{"step": 1\n{"step": 2}\n': "line 2",
    b"[" * 100_000: "JSON",
    b"PAR1 and nothing": "Parquet",
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 99), }": "numpy",
    b"\x93NUMPY\x01\x00\x08\x00{'''\n\n\n ": "numpy",
}


@pytest.mark.parametrize("content", DOUBTFUL, ids=lambda content: str(content[:40]))
def test_doubt_ends_in_a_sentence_with_what_to_type(content, tmp_path, refused):
    path = tmp_path / "mine.log"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    refused(DOUBTFUL[content], read, path)


@pytest.mark.parametrize(
    "given", [{"columns": "iteration:stp"}, {"columns": "step"}, {"columns": "itration:step"}]
)
def test_columns_that_do_not_fit_are_refused(given, refused):
    refused("columns=", lambda: trace_of(FORMS["frame"], **given))


def test_a_packed_file_is_bounded(tmp_path, monkeypatch, refused):
    import gcexp_adviser.logs.contents as contents

    monkeypatch.setattr(contents, "MOST_BYTES", 10_000)
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b"0" * 100_000))
    refused("MiB", trace_of, path)
    encrypted = bytearray(FORMS["zip"])
    at = encrypted.index(b"PK\x01\x02")
    encrypted[6] |= 1
    encrypted[at + 8] |= 1
    path.write_bytes(encrypted)
    refused("encrypted", trace_of, path)


@pytest.mark.parametrize(
    "rows",
    [
        b"0,0,1,%s\n0,1,2\n" % (b"x" * 140_000),
        b'0,0,1,"%s"\n0,1,2\n' % (b"x" * 140_000),
        b'0,0,1,"%s"\n0,1,y,\n' % (b"x" * 140_000),
    ],
)
def test_a_long_cell_beside_a_bad_row_ends_in_a_sentence(rows, tmp_path, refused):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"step,rank,time,note\n" + rows)
    refused("line", trace_of, path)


def test_a_file_of_very_many_columns_is_refused_by_its_header(tmp_path, refused, monkeypatch):
    path = tmp_path / "wide.csv"
    names = ",".join(f"rank{number}" for number in range(40_000))
    path.write_text(f"{names}\n{names}\n")
    monkeypatch.setattr("gcexp_adviser.logs.table_files.table_of_cells", None)  # is not asked
    refused("40000 columns", trace_of, path)


def test_reading_a_long_log_shows_its_progress(tmp_path, monkeypatch):
    from gcexp_adviser.logs import cells

    shown = []

    class Bar:
        def __init__(self, total, what, unit):
            shown.append(total)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, count):
            shown.append(count)

    monkeypatch.setattr(cells, "bar", Bar)
    path = tmp_path / "long.csv"
    lines = [f"{step},{rank},{rank + 1}.5" for step in range(100_000) for rank in range(8)]
    path.write_text("\n".join(["iteration,worker,time", *lines, ""]))
    times = trace_of(path).values["time"]
    assert times.shape == (100_000, 8) and (times == np.arange(1, 9) + 0.5).all()
    total, *counts = shown
    assert len(counts) > 2 and sum(counts) == total == path.stat().st_size - len("iteration,worker,time\n")


def test_columns_that_change_their_kind_late_are_read_as_one(tmp_path):
    """Pandas tells the kind of a column from a part of its rows."""
    path = tmp_path / "late.csv"
    steps = 400_000
    lines = [f"{step},007,1" for step in range(steps)]
    path.write_text("\n".join(["step,host,time", *lines, f"{steps},7f9c4,1.5", f"{steps},007,0.1", ""]))
    trace = read(path)
    assert trace.labels == ("007", "7f9c4")
    assert trace.values["time"][-1].tolist() == [0.1, 1.5] and trace.values["time"][0, 0] == 1


def mutated(text, draw):
    """A log with one to three things wrong."""
    for _ in range(draw.randint(1, 3)):
        lines = text.split("\n")
        at = draw.randrange(len(lines))
        cells = lines[at].split(",")
        choice = draw.randrange(6)
        if choice == 0:
            text = text[: draw.randrange(len(text) + 1)] or "\n"
            continue
        if choice == 1:
            text = text.replace(",", draw.choice(";\t| "))
            continue
        if choice == 2:
            lines.insert(at, lines[at])
        elif choice == 3:
            draw.shuffle(lines)
        elif choice == 4:
            lines[at] = draw.choice(['"', "#", "[", "0,1,2", "step,step,time", "a=1 b=2", "----", ""])
        else:
            cells[draw.randrange(len(cells))] = draw.choice(
                ["nan", "1e999", "9" * 30, "-1", "x", "1,5", "1.234,5", ""]
            )
            lines[at] = ",".join(cells)
        text = "\n".join(lines)
    return text


def test_damaged_logs_are_read_or_refused_in_a_sentence(tmp_path):
    draw = random.Random(0)
    read = 0
    for number in range(240):
        form = draw.choice(["plain", "wide", "starts and ends", "JSON lines", "decimal commas"])
        path = tmp_path / f"{number}.log"
        path.write_text(mutated("\n".join(FORMS[form].split("\n")[:25]) + "\n", draw))
        try:
            report(path)
            read += 1
        except UserError as error:
            assert "\n" not in str(error) and len(str(error)) < 600
    assert 20 < read < 200


# --- gcexp trace import -----------------------------------------------------------------------------------------------


def test_import_writes_a_clean_file_and_a_line_for_each_decision(here, capsys, refused_command):
    Path("jobs.tsv").write_text(
        FORMS["every tenth"].replace("iteration,worker,time", "step,rank,ms").replace(",", "\t")
    )
    assert main(["trace", "import", "jobs.tsv", "-o", "clean.csv"]) == 0
    told = capsys.readouterr().out.splitlines()
    x, _ = bundled()
    assert told[0] == f"read {len(x)} iterations of 4 workers from jobs.tsv"
    assert [line for line in told if "tabs" in line] and [line for line in told if "time = ms" in line]
    assert [line for line in told if "in steps of 10" in line] and "wrote clean.csv" in told
    assert json.loads(Path("index.json").read_text()) == {"clean": {"sampled": True, "unit": "s"}}
    clean = trace_of("clean.csv")
    assert np.array_equal(clean.values["time"], x / 1000) and clean.flags.sampled and not clean.decisions
    refused_command("clean.csv", "trace", "import", "jobs.tsv", "-o", "clean.csv")
    Path("index.json").write_text("[]")
    refused_command("index.json", "trace", "import", "jobs.tsv", "-o", "other.csv")
    assert not Path("other.csv").exists()


def test_import_keeps_names_that_look_like_numbers(here, capsys):
    Path("hosts.csv").write_text("step,host,time\n0,48213,2\n0,7f9c4,3\n0,12345678901234567891,4\n")
    assert main(["trace", "import", "hosts.csv", "-o", "clean.csv"]) == 0
    capsys.readouterr()
    for reads in (trace_of, read_record):
        clean = reads("clean.csv")
        assert clean.labels == ("7f9c4", "48213", "12345678901234567891")
        assert clean.values["time"].tolist() == [[3, 2, 4]]


def test_what_a_run_can_replay_is_known_when_it_is_read(here, refused):
    clean = "iteration,worker,time\n0,0,2\n0,1,3\n1,0,2.5\n1,1,2\n"
    Path("clean.csv").write_text(clean)
    Path("log.csv").write_text(clean.replace("iteration", "step"))
    Path("packed.csv.gz").write_bytes(gzip.compress(clean.encode()))
    Path("recorded").mkdir()
    for rank in range(2):
        of_rank = f"0,{rank},9,,1\n1,{rank},2,,1\n2,{rank},3,,1\n"
        Path("recorded", f"rank-000{rank}.csv").write_text(f"iteration,worker,time,compute,load\n{of_rank}")
    assert read("clean.csv").replayable and read("recorded").replayable
    for source in ("log.csv", "packed.csv.gz", pd.read_csv("clean.csv")):
        assert not read(source).replayable
    for source in ("clean.csv", "recorded"):
        assert read_record(source).replayable
        assert Trace(source).draw((0,), 2, 2).shape == (1, 2, 2)
    for source in ("log.csv", "packed.csv.gz"):
        refused(source, read_record, source)


@pytest.mark.parametrize("name", sorted(path.stem for path in located(TRACE).parent.glob("*.csv")))
def test_the_library_and_the_adviser_read_the_same_in_a_clean_record(name):
    """The adviser also asks what its rows are; where it has no question, both say the same to the last bit."""
    mine, its = read(name), read_record(name, "late" if read(name).lacks_rows else "refuse")
    there = ~np.isnan(mine.values["time"])
    assert (mine.columns, mine.labels, mine.flags, mine.gap) == (its.columns, its.labels, its.flags, its.gap)
    assert mine.values.keys() == its.values.keys()
    for column, values in mine.values.items():
        np.testing.assert_array_equal(values[there], its.values[column][there])


@pytest.mark.parametrize(("end", "times"), [("2,0", [2, 1]), ("2.000,0", [2000, 1999])])
def test_moments_that_are_whole_numbers_may_have_decimal_commas(end, times, tmp_path):
    path = tmp_path / "moments.csv"
    path.write_text(f"step;rank;start;end\n0;0;0,0;{end}\n0;1;1,0;{end}\n")
    assert read(path).values["time"].tolist() == [times]


def test_import_refuses_two_loads_in_an_iteration(here, capsys, refused_command):
    rows = "iteration,worker,time,load\n0,0,1,1\n0,1,1,0.5\n"
    Path("two.csv").write_text(rows)
    refused_command(("load", "columns=load:none"), "trace", "import", "two.csv", "-o", "clean.csv")
    assert not Path("clean.csv").exists()
    assert main(["trace", "import", "two.csv", "columns=load:none", "-o", "clean.csv"]) == 0
    assert "load" not in pd.read_csv("clean.csv")


def test_import_keeps_gaps_unless_asked(here, capsys):
    lines = FORMS["plain"].splitlines(keepends=True)
    del lines[5 * 4 + 2]
    Path("holes.csv").write_text("".join(lines))
    rows = []
    for options in ([], ["absent=late", "timeout=99"], ["absent=skip"], ["--warm-up", "6"]):
        assert main(["trace", "import", "holes.csv", "-o", f"{len(rows)}.csv", *options]) == 0
        rows.append(pd.read_csv(f"{len(rows)}.csv"))
    assert "1 row is missing" in capsys.readouterr().out
    assert [len(frame) for frame in rows] == [44 * 4 - 1, 44 * 4, 43 * 4, 38 * 4]
    assert rows[1].loc[5 * 4 + 1, "time"] == 99


def test_import_of_workers_with_names_chunks_and_several_files(here, capsys, refused_command):
    chunked = "iteration,worker,chunk,time,load\n" + "".join(
        f"{t},{host},{c},{t + c + 1},1.0\n" for t in range(2) for host in ("a", "b") for c in range(2)
    )
    Path("chunks.csv").write_text(chunked)
    assert main(["trace", "import", "chunks.csv", "-o", "clean.csv"]) == 0
    clean, known = trace_of("clean.csv"), trace_of("chunks.csv")
    assert clean.labels == known.labels == ("a", "b") and np.array_equal(clean.chunks, known.chunks)
    for rank in (0, 1):
        Path(f"rank{rank}.csv").write_text(f"step,time_s\n0,{rank + 1}\n")
    assert main(["trace", "import", "rank0.csv", "rank1.csv", "-o", "both.csv"]) == 0
    assert trace_of("both.csv").values["time"].tolist() == [[1, 2]]
    assert main(["trace", "check", "rank0.csv", "rank1.csv"]) == 0
    capsys.readouterr()
    refused_command("columns", "trace", "import", "rank0.csv", "rank1.csv", "colums=x")
    refused_command("name a file", "trace", "import", "-o", "none.csv")
    capsys.readouterr()


def test_the_same_options_in_every_command(here, capsys):
    x, table = bundled()
    table = table.rename(columns={"iteration": "a", "worker": "b"}).drop(index=[50])
    table.to_csv("mine.csv", index=False)
    options = ["absent=late", "timeout=99", "columns=iteration:a,worker:b", "unit=s"]
    assert main(["trace", "check", "mine.csv", *options]) == 0
    assert "4 workers, 1 missing row\n" in capsys.readouterr().out
    assert main(["benchmark", "mine.csv", "wait for all", *options, "--phi", "0"]) == 0
    capsys.readouterr()
    full = x.copy()
    full[12, 2] = 99
    with pytest.raises(UserError, match="gcexp trace import"):
        gcexp.simulate("delay.columns='iteration:a,worker:b'", delay="trace", **{"delay.file": "mine.csv"})
    with pytest.raises(UserError, match="gcexp trace import mine.csv"):
        gcexp.simulate(scheme="uncoded", n=4, delay="trace", **{"delay.file": "mine.csv"})
    assert main(["trace", "import", "mine.csv", *options[2:], "-o", "clean.csv"]) == 0
    replay = {"delay": "trace", "delay.file": "clean.csv", "delay.absent": "late", "delay.timeout": "99"}
    found = gcexp.simulate(scheme="uncoded", n=4, iterations=len(x), seeds=1, progress=False, **replay)
    assert found["mean_iteration_time_s"][0] == pytest.approx(full.max(1).mean())


def test_check_tells_who_lacks_rows_and_benchmark_begins_with_what_depends_on_them(here, capsys):
    draw = np.random.default_rng(3)
    x = np.exp(0.05 * draw.standard_normal((200, 6)))
    x[:, 2] *= np.where(draw.random(200) < 0.5, 3.0, 1.0)
    table = pd.DataFrame(
        {"iteration": np.repeat(range(200), 6), "worker": np.tile(range(6), 200), "time": x.ravel()}
    )
    table[table["time"] < 2].to_csv("cut.csv", index=False)
    assert main(["trace", "check", "cut.csv", "absent=late", "timeout=3"]) == 0
    told = capsys.readouterr().out
    assert "101 of worker 2" in told and "no mechanism stands out" in told  # no logged row of it is slow
    diagnosed = told.partition("no mechanism")[2].partition("what to set")[0]
    assert diagnosed == report("cut.csv", timeout=9.0).partition("no mechanism")[2] + "\n"
    frame = gcexp.benchmark("cut.csv", ["cyclic, s = 1", "wait for all"], [0.0], timeout=3.0, progress=False)
    assert "depend" in frame.attrs["depends"] or "same" in frame.attrs["depends"]
    assert main(["benchmark", "cut.csv", "wait for all", "cyclic, s = 1", "timeout=3", "--phi", "0.5"]) == 0
    assert "rows are missing" in capsys.readouterr().out.splitlines()[0]
