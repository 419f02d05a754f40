"""Turn the raw traces into one CSV per matrix:  python derive.py [--faas CHECKOUT]

Reads  raw/ (next to this file) and, only with --faas, a checkout of danielBCN/faas-parallelism-benchmark.
Writes *.csv here (columns iteration, worker, time, and optional ones), index.json and SHA256SUMS.
Without --faas the faas-*.csv of the pack stay as they are. Needs pandas and pyarrow. No random numbers, no dates: the same input gives the same bytes.
"""
import argparse
import hashlib
import json
import pathlib

import pandas as pd

HERE = pathlib.Path(__file__).resolve().parent
COMPUTE = ("forward-compute", "backward-compute")
FIXED = ("params-all-gather", "grads-reduce-scatter", "layernorm-grads-all-reduce", "embedding-grads-all-reduce",
         "optimizer-clip-main-grad", "optimizer")  # once per step, whatever the number of micro-batches
FAAS = {  # name: (platform, result file, memory in MB)
    "aws-256mb": ("aws", "work"), "aws-2048mb": ("aws", "work2g"),
    "gcp-256mb": ("gcp", "work"), "gcp-256mb-warm": ("gcp", "work_warm"), "gcp-2048mb": ("gcp", "work2g_2"),
    "ibm-256mb": ("ibm", "work"), "ibm-256mb-warm": ("ibm", "work_warm"),
    "ibm-2048mb": ("ibm", "work2g"), "ibm-2048mb-warm": ("ibm", "work2g_warm"),
}
SIZES = (50, 100, 200)
TITLES = {  # what gcexp list says of the delay model that replays a matrix
    "bytedance-AR-chunk": "ByteDance AR by micro-batches: 4 replicas of an LLM job, 44 sampled steps, one worker slowed on purpose (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-AR-dp": "ByteDance AR: 4 replicas of an LLM job, 44 sampled steps, one worker slowed on purpose (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-AR-rank": "ByteDance AR by ranks: 16 ranks of an LLM job, 44 sampled steps, one worker slowed on purpose (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-SE-chunk": "ByteDance SE by micro-batches: 32 replicas of an LLM job, 43 sampled steps, slow because of its data (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-SE-dp": "ByteDance SE: 32 replicas of an LLM job, 43 sampled steps, slow because of its data (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-SE-rank": "ByteDance SE by ranks: 64 ranks of an LLM job, 43 sampled steps, slow because of its data (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-ST-chunk": "ByteDance ST by micro-batches: 2 replicas of an LLM job, 32 sampled steps, the last pipeline stage is longer (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-ST-dp": "ByteDance ST: 2 replicas of an LLM job, 32 sampled steps, the last pipeline stage is longer (Apache-2.0, What-if analysis, OSDI 2025).",
    "bytedance-ST-rank": "ByteDance ST by ranks: 8 ranks of an LLM job, 32 sampled steps, the last pipeline stage is longer (Apache-2.0, What-if analysis, OSDI 2025).",
    "faas-aws-2048mb": "AWS Lambda, 2048 MB: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-aws-256mb": "AWS Lambda, 256 MB: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-gcp-2048mb": "Google Cloud Functions, 2048 MB: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-gcp-256mb": "Google Cloud Functions, 256 MB: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-gcp-256mb-warm": "Google Cloud Functions, 256 MB, warm: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-ibm-2048mb": "IBM Cloud Functions, 2048 MB: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-ibm-2048mb-warm": "IBM Cloud Functions, 2048 MB, warm: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-ibm-256mb": "IBM Cloud Functions, 256 MB: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "faas-ibm-256mb-warm": "IBM Cloud Functions, 256 MB, warm: rounds of 50, 100 and 200 parallel calls, workers new in each (Apache-2.0, FGCS 2021).",
    "pai-job1": "Alibaba PAI job 1: 10 workers, 300 sampled mini-batches; worker 6 turns slow in the middle (CC BY 4.0, Weng et al., NSDI 2022).",
    "pai-job2": "Alibaba PAI job 2: 10 workers, 238 sampled mini-batches; worker 5 is nearly always the slowest (CC BY 4.0, Weng et al., NSDI 2022).",
    "pai-job3": "Alibaba PAI job 3: 10 workers, 248 sampled mini-batches (CC BY 4.0, Weng et al., NSDI 2022).",
    "pai-job4": "Alibaba PAI job 4: 10 workers, 2182 sampled mini-batches; five are 3 to 5 times slower for long phases (CC BY 4.0, Weng et al., NSDI 2022).",
}
# Of these the part that does not grow with the load is known: their delay models add it.
ADDITIVE = (
    "faas-aws-2048mb",
    "faas-aws-256mb",
    "faas-gcp-2048mb",
    "faas-ibm-2048mb",
    "faas-ibm-2048mb-warm",
    "faas-ibm-256mb",
    "faas-ibm-256mb-warm",
)


def save(frame, name, **facts):
    """Write one matrix (long form, sorted, LF line ends) and return its entry of index.json."""
    frame = frame.sort_values(["iteration", "worker"], kind="stable")
    frame.to_csv(HERE / f"{name}.csv", index=False, lineterminator="\n")
    counts = frame.groupby("iteration")["worker"].nunique()
    entry = {"file": f"{name}.csv", "T": int(len(counts)), "n": int(counts.min()), "rows": int(len(frame)),
             "columns": list(frame.columns), **facts}
    if counts.nunique() > 1:
        entry["n_per_iteration"] = counts.tolist()
    keys = [key for key in ("iteration", "worker", "chunk") if key in frame]
    assert not frame.duplicated(keys).any() and (frame["time"] > 0).all(), name
    return name, entry


def pai(job):
    """Job 1-4: keep the iterations in which all ten workers have exactly one sample; nothing is filled in."""
    raw = pd.read_csv(HERE / "raw" / f"pai_job_{job}_norm.csv.gz")
    raw = raw.drop_duplicates(["time", "worker"])  # job 2 has one row twice, with the same value
    full = raw.groupby("time")["worker"].transform("nunique") == raw["worker"].nunique()
    kept = raw[full].rename(columns={"time": "source_time", "batch_time_norm": "time"})
    kept["iteration"] = kept["source_time"].rank(method="dense").astype(int) - 1
    return save(kept[["iteration", "worker", "time", "source_time"]], f"pai-job{job}", unit="1/1000 of the job's largest value",
                source="alibaba", licence="CC-BY-4.0", persistent=True, data_bound=False, sampled=True, measures="one mini-batch: forward, backward, update, as logged by the worker",
                dropped_rows=int((~full).sum()))


def bytedance(trace):
    """Per trace: one column per data-parallel replica, one per recorded rank, and the micro-batches of each replica."""
    ops = pd.read_parquet(HERE / "raw" / f"bytedance_trace-{trace}.parquet").astype({"duration": "float64", "start_ts": "float64"})
    ops = ops.astype({"optype": str, "dp_rank": int, "stage": int, "rank": int, "mb_id": int})
    fixed = ops[ops["optype"].isin(FIXED)].groupby(["step", "optype", "rank"])["duration"].sum()
    fixed = fixed.groupby(["step", "optype"]).min().groupby("step").sum().median()  # fastest rank: least waiting inside a collective
    ops = ops[ops["optype"].isin(COMPUTE)]
    ops["end"] = ops["start_ts"] + ops["duration"]
    order = {step: i for i, step in enumerate(sorted(ops["step"].unique()))}
    rank = ops.groupby(["step", "dp_rank", "stage", "rank"], as_index=False).agg(time=("duration", "sum"), load=("seq_id", "nunique"))
    rank["iteration"] = rank["step"].map(order)
    replica = rank.groupby(["step", "iteration", "dp_rank"], as_index=False).agg(time=("time", "max"), sum_stages=("time", "sum"), load=("load", "first"))
    ends = ops.groupby(["step", "dp_rank"], as_index=False).agg(first=("start_ts", "min"), last=("end", "max"))
    replica["span"] = (ends["last"] - ends["first"]).to_numpy()  # same order: both sorted by step, dp_rank
    slow = rank.loc[rank.groupby(["step", "dp_rank"])["time"].idxmax(), ["step", "dp_rank", "stage"]]
    chunk = ops.merge(slow, on=["step", "dp_rank", "stage"]).groupby(["step", "dp_rank", "mb_id"], as_index=False).agg(time=("duration", "sum"))
    chunk["iteration"] = chunk["step"].map(order)
    chunk = chunk.rename(columns={"dp_rank": "worker", "mb_id": "chunk"}).sort_values(["iteration", "worker", "chunk"]).round(6)
    replica = replica.rename(columns={"dp_rank": "worker", "step": "source_step"}).round(6)
    rank = rank.rename(columns={"rank": "worker", "step": "source_step", "dp_rank": "dp"}).round(6)
    facts = dict(unit="s", source="bytedance", licence="Apache-2.0", persistent=True, data_bound=trace == "SE", sampled=True)
    yield save(replica[["iteration", "worker", "time", "sum_stages", "span", "load", "source_step"]], f"bytedance-{trace}-dp",
               measures="forward + backward compute of one replica; time: its slowest pipeline stage", fixed_seconds_per_step=round(float(fixed), 4), **facts)
    yield save(rank[["iteration", "worker", "time", "load", "dp", "stage", "source_step"]], f"bytedance-{trace}-rank",
               measures="forward + backward compute of one rank", **facts)
    yield save(chunk[["iteration", "worker", "chunk", "time"]], f"bytedance-{trace}-chunk",
               measures="forward + backward compute of one micro-batch on the replica's slowest stage; the chunks of a worker add up to its time", **facts)


def faas(name, checkout):
    """Three independent rounds (50, 100, 200 parallel invocations), workers in the order of submission."""
    platform, stem = FAAS[name]
    rows = []
    for iteration, size in enumerate(SIZES):
        text = (checkout / platform / "run-experiment" / "results" / f"{stem}_size={size}.json").read_text()
        calls = sorted(json.loads("[" + text.strip().rstrip(",") + "]"), key=lambda call: call["pystart_ms"])
        assert len(calls) == size and all(isinstance(call["func_data"], dict) for call in calls)
        assert len({call["func_data"]["containerID"] for call in calls}) == size  # every worker has its own container
        first = calls[0]["pystart_ms"]
        rows += [{"iteration": iteration, "worker": worker, "time": round(call["pyduration_ms"] / 1e3, 6),
                  "compute": round(call["func_data"]["duration_ms"] / 1e3, 6), "submitted": round((call["pystart_ms"] - first) / 1e3, 6)}
                 for worker, call in enumerate(calls)]
    return save(pd.DataFrame(rows), f"faas-{name}", unit="s", source="faas", licence="Apache-2.0", persistent=False, data_bound=False, sampled=False,
                measures="time: one function call seen by the client; compute: inside the function")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faas", type=pathlib.Path, help="checkout of danielBCN/faas-parallelism-benchmark")
    args = parser.parse_args()
    path = HERE / "index.json"
    index = json.loads(path.read_text()) if path.exists() else {}
    index.update(pai(job) for job in (1, 2, 3, 4))
    for trace in ("AR", "SE", "ST"):
        index.update(bytedance(trace))
    if args.faas:
        index.update(faas(name, args.faas) for name in FAAS)
    for name, entry in index.items():
        entry["title"] = TITLES[name]
        if name in ADDITIVE:
            entry["pricing"] = "additive"
    path.write_text(json.dumps(dict(sorted(index.items())), indent=1) + "\n")
    files = sorted(p for p in HERE.rglob("*") if p.is_file() and p.name != "SHA256SUMS" and "__pycache__" not in p.parts)
    sums = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(HERE).as_posix()}\n" for p in files]
    (HERE / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
