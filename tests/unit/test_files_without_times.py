"""Files of tools that hold no times of workers end in one sentence; what looks similar is read."""

import gzip
import json
import pickle

import pytest

from gcexp.errors import DataError
from gcexp_adviser.logs.contents import told_of
from gcexp_adviser.logs.reading import trace_of

ENTRY = {
    **{"collective_seq_id": 1, "op_id": 1, "pg_id": 0, "process_group": ["0", "default_pg"], "record_id": 0},
    **{"profiling_name": "gloo:all_reduce", "time_created_ns": 1795947107762826132, "state": "scheduled"},
}
DUMP = {"version": "2.10", "comm_lib_version": "", "pg_config": {}, "pg_status": {}, "entries": [ENTRY] * 9}
EVENTS = [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}}]
XLA = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": EVENTS}
CHAKRA = {"schema": "1.1.1-chakra.0.0.4", "pid": 4549, "nodes": [{"id": 2, "name": "aten::empty"}]}
SCORES = {"gpu_relative_perf_scores": {"0": 1.0, "1": 0.5}, "section_relative_perf_scores": {}}
NVRX = """[2026-11-29 10:00:00] GPU relative performance:
 Worst performing 2/4 ranks:
  Rank=3 Node=n1 Score=0.51
  Rank=1 Node=n0 Score=0.97
 Best performing 2/4 ranks:
  Rank=0 Node=n0 Score=1.00
  Rank=2 Node=n1 Score=0.99
"""
TOTALS = """FIT Profiler Report

-----------------------------------------------------------
|  Action                | Mean duration (s) | Num calls  |
-----------------------------------------------------------
|  run_training_batch    | 0.012             | 100        |
"""
OPERATIONS = "-------  ------------  ------------  \n   Name    Self CPU %      Self CPU   # of Calls  \n"


def written_in_json(what):
    return json.dumps(what, sort_keys=what is DUMP, separators=(",", ":")).encode()


FILES = {  # as torch 2.13.0, Lightning 2.6.6, jax 0.10.2, wandb 0.31.0 and NVRx 0.4.1 write them, made shorter
    "dump.pkl": ("flight recorder", pickle.dumps(DUMP, protocol=2)),
    "dump.json": ("flight recorder", written_in_json(DUMP)),
    "chakra.json": ("Chakra", json.dumps(CHAKRA, indent=1).encode()),
    "host.trace.json.gz": ("JAX", gzip.compress(written_in_json(XLA))),
    "host.xplane.pb": ("JAX", b'\n\xbe\x13\x12\x0e/host:metadata"\xa5\x06\x08\x03'),
    "run-68m37kng.wandb": ("Weights & Biases", b":W&B\xe1\xbe\x00x=t\x11M\x00\x01\x08\x01"),
    "fit-profile.txt": ("table of totals", TOTALS.encode()),
    "averages.txt": ("table of totals", OPERATIONS.encode()),
    "report.json": ("scores", written_in_json(SCORES)),
    "nvrx.log": ("scores", NVRX.encode()),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_times_is_named(tmp_path, name):
    told, content = FILES[name]
    (tmp_path / name).write_bytes(content)
    for source in (tmp_path / name, tmp_path):
        with pytest.raises(DataError, match=told) as refused:
            trace_of(source)
        assert "\n" not in str(refused.value)


def test_files_without_times_beside_logs_are_left_out(tmp_path):
    for name, (_, content) in FILES.items():
        (tmp_path / name).write_bytes(content)
    for rank in range(2):
        rows = "".join(f"{step},{0.3 + rank / 10}\n" for step in range(20))
        (tmp_path / f"rank{rank}.csv").write_text("step,time_s\n" + rows)
    assert trace_of(tmp_path).values["time"].shape == (20, 2)


def test_logs_that_name_scores_and_tools_hold_times():
    assert not told_of(b"rank=0 step=1 time=0.3 score=0.9\nrank=1 step=1 time=0.4 score=0.8\n")
    assert not told_of(
        ("step=1 rank=0 time=0.3\nstep=1 rank=1 time=0.2\nstep=2 rank=0 time=0.2\n" * 3 + NVRX).encode()
    )
    assert not told_of(b'{"step": 1, "rank": 0, "time": 0.3, "score": 0.9}\n')
    assert not told_of(b"FIT,step,rank,time\n")
