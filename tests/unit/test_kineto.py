"""Times from profiler traces: of real ranks, and of traces made by hand as NCCL's and other loops' are."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from gcexp.errors import DataError
from gcexp_adviser.logs.files import files_of
from gcexp_adviser.profiler.kineto import read_profiler_folder

#: Four gloo ranks in six steps, as torch 2.13 wrote them for examples/profile_ranks.py, but for the host's name.
RECORDED = Path(__file__).with_name("profiler_folder")


def matrix(folder, column="time"):
    frame, _ = read_profiler_folder(folder)
    return frame.pivot(index="iteration", columns="worker", values=column)


def test_times_of_a_recording_are_those_between_its_marks():
    times, computing = matrix(RECORDED), matrix(RECORDED, "compute")
    assert list(times.index) == [2, 3, 4, 5, 6, 7] and list(times.columns) == [0, 1, 2, 3]
    for file in RECORDED.iterdir():
        trace = json.loads(gzip.decompress(file.read_bytes()))
        rank = trace["distributedInfo"]["rank"]
        begins = {}
        for event in trace["traceEvents"]:
            begins.setdefault(event["name"], []).append(event["ts"])
        launches = np.array(begins["c10d::allreduce_"])
        forward = np.array(begins["DistributedDataParallel.forward"])
        for step in times.index:
            (mark,) = begins[f"ProfilerStep#{step}"]
            launch = launches[launches > mark].min()  # a single one in each of these steps
            assert times.loc[step, rank] == pytest.approx((launch - mark) / 1e6, abs=1e-9)
            began = forward[forward > mark].min()
            assert computing.loc[step, rank] == pytest.approx((launch - began) / 1e6, abs=1e-9)


def test_injected_sleeps_come_back():
    times = matrix(RECORDED)
    assert times.to_numpy().argmax(1)[1:4].tolist() == [2, 2, 2]  # which slept three times longer then
    others = times.loc[[3, 4, 5], [0, 1, 3]].to_numpy()
    assert (times.loc[[3, 4, 5], [2]].to_numpy() > 1.4 * others).all()
    assert files_of(RECORDED).are_profiles and files_of(RECORDED.parent).are_profiles
    assert not files_of(next(RECORDED.glob("*.pt.trace.json.gz"))).are_profiles


# --- traces made by hand ----------------------------------------------------------------------------------------------

BACKWARD = "autograd::engine::evaluate_function: AccumulateGrad"


def event(name, at, took=1.0, category="cpu_op", **more):
    """An event `at` milliseconds."""
    return {"ph": "X", "cat": category, "name": name, "ts": 1000.0 * at, "dur": 1000.0 * took, **more}


def collective(name, at):
    """What NCCL writes of a collective, on the CPU and on the GPU; made by hand after traces of torch 2.2."""
    recorded = {"args": {"Collective name": name.replace("_", "")}}
    return [
        event(f"c10d::{name.replace('_', '')}_", at, 0.3),
        event("record_param_comms", at + 0.05, 0.2, **recorded),
        event(f"nccl:{name}", at + 0.1, 0.1, "user_annotation"),
        event(f"nccl:{name}", at + 40, 2, "gpu_user_annotation"),
        event(f"ncclDevKernel_{name}_RING_LL", at + 40, 2, "kernel"),
        event("record_param_comms", at + 0.3, 0.01, args={"Collective name": "wait"}),
    ]


def step(number, slow=0.0, before=(), reduced=True, after=()):
    """A step of 100 ms from 100 `number` on: forward pass at 10, backward pass at 30 to 50 + `slow`, optimiser."""
    begin = 100.0 * number
    events = [
        event(f"ProfilerStep#{number}", begin, 99.9, "user_annotation"),
        event(f"ProfilerStep#{number}", begin + 30, 99.9, "gpu_user_annotation"),
        event("DistributedDataParallel.forward", begin + 10, 15, "user_annotation"),
        event("aten::linear", begin + 11),
        event(BACKWARD, begin + 30),
        event(BACKWARD, begin + 45 + slow, 5),
        event("Optimizer.step#SGD.step", begin + 90, 5, "user_annotation"),
    ]
    launched = [*before, *after]
    if reduced:
        launched += [("all_reduce", 30.5), ("all_reduce", 47 + slow)]
    for name, at in launched:
        events += collective(name, begin + at)
    return events


def written(folder, *ranks, world_size=None, clocks=0.0):
    """Files of ranks with these events, whose names and clocks say nothing about the rank."""
    folder.mkdir(exist_ok=True)
    for rank, events in enumerate(ranks):
        shifted = [one | {"ts": one["ts"] + clocks * rank} for one in events]
        info = {"backend": "nccl", "rank": rank, "world_size": world_size or len(ranks)}
        trace = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": info, "traceEvents": shifted}
        (folder / f"host{len(ranks) - rank}.json").write_text(json.dumps(trace))
    return folder


def joined(*steps):
    return [one for events in steps for one in events]


def test_launches_on_the_cpu_count_and_clocks_do_not(tmp_path):
    ranks = [joined(*(step(k, slow=10 * (k == rank)) for k in range(3))) for rank in range(2)]
    frame, decisions = read_profiler_folder(written(tmp_path / "run", *ranks, clocks=1e9))
    expected = [[57.0, 47.0], [47.0, 57.0], [47.0, 47.0]]
    assert np.allclose(1000 * frame["time"].to_numpy().reshape(3, 2), expected)
    assert np.allclose(1000 * (frame["time"] - frame["compute"]), 10.0)
    assert decisions[0] == "read 2 ranks x 3 steps from 2 Kineto files"
    assert any("GPU" in told for told in decisions)


@pytest.mark.parametrize("family", ["c10d::", "record_param_comms", "nccl:"])
def test_one_kind_of_mark_is_enough(tmp_path, family):
    ranks = []
    for _ in range(2):
        events = joined(*(step(k) for k in range(3)))
        ranks.append([one for one in events if one["name"].startswith((family, "Profiler", "Dist", "auto"))])
    assert np.allclose(matrix(written(tmp_path / "run", *ranks)), 0.047, atol=2e-4)


def test_a_loss_reduced_after_the_backward_pass_does_not_count(tmp_path):
    ranks = [joined(*(step(k, after=[("all_reduce", 80)]) for k in range(3)))] * 2
    assert np.allclose(matrix(written(tmp_path / "run", *ranks)), 0.047)


def test_of_collectives_after_the_backward_pass_the_first_counts(tmp_path):
    ranks = [
        joined(*(step(k, reduced=False, after=[("all_reduce", 60), ("all_reduce", 85)]) for k in range(3)))
    ] * 2
    folder = written(tmp_path / "run", *ranks)
    assert np.allclose(matrix(folder), 0.060)
    assert "first" in read_profiler_folder(folder)[1][1]


def test_a_broadcast_of_buffers_is_taken_off(tmp_path):
    def waits(rank):
        events = joined(*(step(k, slow=20 * rank, before=[("broadcast", 11)]) for k in range(3)))
        renamed = [one | {"name": one["name"].replace("nccl:broadcast", "gloo:broadcast")} for one in events]
        return [one | {"dur": 12000.0} if one["name"] == "gloo:broadcast" else one for one in renamed]

    folder = written(tmp_path / "run", waits(0), waits(1))
    assert np.allclose(matrix(folder), [[0.035, 0.055]] * 3)
    assert any("broadcast" in told for told in read_profiler_folder(folder)[1])
    on_gpu = joined(*(step(k, before=[("broadcast", 11)]) for k in range(3)))
    assert np.allclose(matrix(written(tmp_path / "gpu", on_gpu, on_gpu)), 0.047)


def test_steps_that_say_nothing_are_left_out_and_told(tmp_path):
    whole = joined(step(0), step(1), step(2), step(3), step(4, before=[("all_gather", 12)]))
    cut_off = [one for one in step(6) if one["ts"] < 640_000]
    ranks = [whole + step(5) + cut_off, whole + cut_off]
    frame, decisions = read_profiler_folder(written(tmp_path / "run", *ranks, world_size=4))
    assert frame["iteration"].unique().tolist() == [0, 1, 2, 3]
    told = "\n".join(decisions)
    for sentence in (
        "is over: 4",
        "last gradient collective: 6",
        "rank has: 5",
    ):
        assert sentence in told
    assert "2 of 4 ranks have no file: 2, 3" in told


def test_cycles_of_a_schedule_are_joined(tmp_path):
    folder = tmp_path / "run"
    written(tmp_path, step(0) + step(1), step(0) + step(1))
    written(folder, step(7) + step(8), step(7) + step(8))
    frame, decisions = read_profiler_folder(tmp_path)
    assert frame["iteration"].tolist() == [0, 0, 1, 1, 7, 7, 8, 8]
    assert "2 ranks x 4 steps from 4 Kineto files" in decisions[0]


def accumulated(first, behind):
    """Steps of which every fourth reduces gradients."""
    return joined(*(step(number, reduced=number % 4 == 3) for number in range(first, behind)))


def test_a_time_begins_behind_the_last_step_with_a_collective(tmp_path):
    """A rank that is late in a step without a collective holds the others up in the step that has one."""

    def late(rank, events):
        """All that follows the first forward pass of the update of steps 4 to 7, `rank` times 20 ms later."""
        shift = 20_000.0 * rank
        moved = []
        for one in events:
            if one["name"].startswith("ProfilerStep#4"):
                one = one | {"dur": one["dur"] + shift}
            elif one["ts"] > 412_000.0:
                one = one | {"ts": one["ts"] + shift}
            moved.append(one)
        return moved

    ranks = [late(rank, accumulated(2, 12)) for rank in range(2)]
    frame, decisions = read_profiler_folder(written(tmp_path / "run", *ranks))
    assert frame["iteration"].tolist() == [
        1,
        1,
        2,
        2,
    ]  # steps 4 to 7 and 8 to 11; 2 and 3 are no whole update
    assert np.allclose(1000 * frame["time"].to_numpy().reshape(2, 2), [[347.0, 367.0], [347.0, 347.0]])
    assert np.allclose(1000 * (frame["time"] - frame["compute"]), 10.0)
    told = "\n".join(decisions)
    assert "an iteration is 4 steps" in told and "was not recorded: 3" in told


def test_updates_that_are_recorded_whole_in_cycles_are_kept(tmp_path):
    written(tmp_path, *[accumulated(4, 12)] * 2)
    written(tmp_path / "next", *[accumulated(20, 24)] * 2)
    frame, _ = read_profiler_folder(tmp_path)
    assert frame["iteration"].tolist() == [1, 1, 2, 2, 5, 5]
    assert np.allclose(frame["time"], 0.347)


def test_an_update_may_begin_where_another_file_ends(tmp_path):
    written(tmp_path, *[accumulated(4, 8)] * 2)
    written(tmp_path / "next", *[accumulated(8, 12)] * 2)
    assert read_profiler_folder(tmp_path)[0]["iteration"].tolist() == [1, 1, 2, 2]


def test_updates_that_begin_before_the_recording_are_refused(tmp_path):
    with pytest.raises(DataError, match="was not recorded: 7"):
        read_profiler_folder(written(tmp_path / "run", *[accumulated(5, 8)] * 2))
    with_gap = [one for one in accumulated(0, 8) if not 5e5 <= one["ts"] < 6e5]
    frame, decisions = read_profiler_folder(
        written(tmp_path / "gap", with_gap + accumulated(8, 12), with_gap)
    )
    assert frame["iteration"].tolist() == [0, 0]
    assert "was not recorded: 7" in "\n".join(decisions)


def test_single_steps_may_be_parts_of_updates(tmp_path):
    folder = written(tmp_path / "run", *[joined(step(3), step(7), step(11))] * 2)
    assert any("if gradients were accumulated" in told for told in read_profiler_folder(folder)[1])
    following = written(tmp_path / "following", *[joined(step(3), step(7), step(8))] * 2)
    assert not any("accumulated" in told for told in read_profiler_folder(following)[1])


def by_lightning(numbers, slow=0.0, updates=True):
    """Marks that lie behind the forward pass, as where training_step returns: 27 ms after a step's begin."""
    events = []
    for number in numbers:
        for one in step(number, slow=slow):
            if one["name"].startswith("ProfilerStep"):
                one = one | {"ts": one["ts"] + 27_000.0}
            elif one["name"].startswith("Optimizer") and not updates:
                continue
            events.append(one)
    return events


def test_marks_behind_the_forward_pass_give_way_to_the_steps_of_the_optimizer(tmp_path):
    folder = written(tmp_path / "run", by_lightning(range(4)), by_lightning(range(4), slow=10))
    frame, decisions = read_profiler_folder(folder)
    assert frame["iteration"].unique().tolist() == [1, 2, 3]
    times = 1000 * frame["time"].to_numpy().reshape(3, 2)
    assert np.allclose(times, [[52.0, 62.0]] * 3)  # from 95 ms of the step before to the launch at 47 and 57
    assert np.allclose(1000 * (frame["time"] - frame["compute"]), 15.0)
    assert any("Lightning" in told for told in decisions)


def test_marks_behind_the_forward_pass_without_an_optimizer_are_refused(tmp_path):
    events = by_lightning(range(3), updates=False)
    with pytest.raises(DataError, match="on_train_batch_end"):
        read_profiler_folder(written(tmp_path / "run", events, events))


def test_steps_of_which_some_reduce_after_the_backward_pass_are_told_apart(tmp_path):
    """A static graph reduces its gradients after the backward pass at the beginning only."""
    behind = [step(k, reduced=False, after=[("all_reduce", 60)]) for k in range(2)]
    folder = written(tmp_path / "run", *[joined(*behind, *(step(k) for k in range(2, 6)))] * 2)
    assert np.allclose(matrix(folder).to_numpy()[:, 0], [0.060] * 2 + [0.047] * 4)
    told = read_profiler_folder(folder)[1]
    assert told[1].endswith("to the launch of the last gradient collective")
    assert "in 2 steps of 6, 0, 1, time ends with the first" in told[2]


def test_a_broadcast_before_the_forward_pass_is_no_part_of_computing(tmp_path):
    events = []
    for one in joined(*(step(k, before=[("broadcast", 2)]) for k in range(3))):
        name = one["name"].replace("nccl:broadcast", "gloo:broadcast")
        events.append(one | {"name": name} | ({"dur": 6000.0} if name == "gloo:broadcast" else {}))
    frame, _ = read_profiler_folder(written(tmp_path / "run", events, events))
    assert np.allclose(frame["time"], 0.041) and np.allclose(frame["compute"], 0.037)


THREE = joined(step(0), step(1), step(2))


def without_marks(events):
    return [one for one in events if not one["name"].startswith("ProfilerStep")]


@pytest.mark.parametrize(
    "told, events",
    {
        "no step has a gradient collective": joined(*(step(k, reduced=False) for k in range(3))),
        "FSDP": joined(*(step(k, before=[("_all_gather_base", 12)]) for k in range(3))),
        "tensor": joined(*(step(k, before=[("all_reduce", 12)]) for k in range(3))),
        "prof.step": without_marks(THREE),
        "step 2 twice": THREE + [one for one in step(2) if one["name"] == "ProfilerStep#2"],
        "has no time": [*THREE, event(BACKWARD, 0) | {"dur": "long"}],
    }.items(),
)
def test_runs_that_do_not_show_what_a_rank_takes_are_refused(tmp_path, told, events):
    with pytest.raises(DataError, match=told):
        read_profiler_folder(written(tmp_path / "run", events, events))


def one_rank(folder):
    (folder / "host1.json").unlink()


def no_info(folder):
    trace = json.loads((folder / "host1.json").read_text())
    del trace["distributedInfo"]
    (folder / "host1.json").write_text(json.dumps(trace))


def rank_twice(folder):
    (folder / "copy.json").write_bytes((folder / "host1.json").read_bytes())


def other_world(folder):
    text = (folder / "host1.json").read_text().replace('"world_size": 2', '"world_size": 3')
    (folder / "host1.json").write_text(text)


def wrong_rank(folder):
    text = (folder / "host1.json").read_text().replace('"rank": 1', '"rank": 17')
    (folder / "host1.json").write_text(text)


def cut(folder):
    text = (folder / "host1.json").read_text()
    (folder / "host1.json").write_text(text[: len(text) // 2])


def cut_packed(folder):
    packed = gzip.compress((folder / "host1.json").read_bytes())
    (folder / "host1.json").write_bytes(packed[: len(packed) // 2])


def empty(folder):
    (folder / "host1.json").write_bytes(b"")


def nested(folder):
    text = (folder / "host1.json").read_text()
    (folder / "host1.json").write_text(text.replace('"traceEvents": [', '"traceEvents": [' + "[" * 200_000))


@pytest.mark.parametrize(
    "harm, told",
    [
        (one_rank, "one rank only, rank 0 of 2"),
        (no_info, "host1.json does not say which rank"),
        (rank_twice, "copy.json and host1.json"),
        (other_world, "2, 3 ranks"),
        (wrong_rank, "rank 17 of 2"),
        (cut, "host1.json cannot be read to its end"),
        (cut_packed, "host1.json cannot be read to its end"),
        (empty, "host1.json is empty"),
        (nested, "host1.json cannot be read to its end"),
    ],
)
def test_damaged_folders_are_refused_in_one_sentence(tmp_path, harm, told):
    folder = written(tmp_path / "run", THREE, THREE)
    harm(folder)
    with pytest.raises(DataError, match=told) as refused:
        read_profiler_folder(folder)
    assert "\n" not in str(refused.value)


def test_what_else_lies_in_a_folder_is_left_out(tmp_path):
    with pytest.raises(DataError, match="holds no log"):
        files_of(tmp_path)
    folder = written(tmp_path / "run", THREE, THREE)
    (folder / "notes.txt").write_text("slow on Monday")
    (folder / "options.json").write_text('{"lr": 0.1}')
    _, decisions = read_profiler_folder(folder)
    assert any("notes.txt, options.json" in told for told in decisions)
    (folder / "host1.json").unlink()
    (folder / "host2.json").unlink()
    assert not files_of(folder).are_profiles
    with pytest.raises(DataError, match="no profiler trace"):
        read_profiler_folder(folder)
