"""Points packed into jobs, what these ask a cluster for, and what is told of jobs that Slurm ended."""

import asyncio
from types import SimpleNamespace

import pytest

from gcexp import slurm
from gcexp.command import progress, snakemake_inside
from gcexp.errors import UserError
from gcexp.run.costs import Cost, replay_cost
from gcexp.run.run import Run
from gcexp.submission import Point, estimates, pack


def points(count, **fields):
    """Points without runs."""
    return [(None, Point([f"s={i}"], "", "seeds", **fields)) for i in range(count)]


@pytest.mark.parametrize(
    ("count", "seconds", "jobs"),
    [(1, 0.05, 1), (10_000, 0.05, 5), (10_000, 1, 50), (300, 700, 300), (200, 300, 100)],
)
def test_points_are_packed_by_their_cost(count, seconds, jobs):
    given = points(count)
    found = pack(given, [Cost("clock", seconds, 100, 0)] * count)
    assert len(found) == jobs
    assert [point for job in found.values() for point in job.points] == [point for _, point in given]
    assert all(job.cost.cpu_s == pytest.approx(seconds * len(job.points)) for job in found.values())
    sizes = [len(job.points) for job in found.values()]
    assert max(sizes) - min(sizes) <= 1


def test_trainings_of_one_job_start_once():
    costs = [Cost("training", 5, 100, 0, start_s=3)] * 60
    (job,) = pack(points(60), costs).values()
    assert job.cost.cpu_s == pytest.approx(3 + 60 * 2)


def test_a_training_that_is_not_verified_is_not_replayed():
    run = Run.of(
        "scheme=forget n=30 s=3 delay=pareto task=digits_mlp seeds=2 iterations=20".split(), trains=True
    )
    point, verified = (Point([], "", "seeds", train=True, verify=verify) for verify in (False, True))
    costs = estimates([(run, point), (run, verified)])
    assert costs[1].cpu_s - costs[0].cpu_s == pytest.approx(replay_cost(run).cpu_s)


def test_points_that_wait_for_another_training_are_in_another_job():
    given = points(2, trained="a.npz") + points(3, trained="b.npz") + points(4)
    found = pack(given, [Cost("clock", 1, 100, 0)] * 9)
    assert [(job.needs, len(job.points)) for job in found.values()] == [
        (("a.npz",), 2),
        (("b.npz",), 3),
        ((), 4),
    ]


def test_a_scheme_that_is_slower_than_its_rate_is_measured(monkeypatch):
    """Its largest point is."""
    measured = []

    def clock(run):
        measured.append(run.config["n"])
        return 100 * run.config["n"]

    monkeypatch.setattr("gcexp.submission.measure_clock", clock)
    runs = [Run.of(["scheme=cgc", f"n={n}", "s=1", "delay=pareto"], trains=False) for n in (6, 12, 8)]
    costs = estimates([(run, point) for run, (_, point) in zip(runs, points(3), strict=True)])
    assert measured == [12] and costs[1].cpu_s == pytest.approx(1200)
    assert costs[0].cpu_s < costs[2].cpu_s < costs[1].cpu_s


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Programs of Slurm that print a text, and fail without one."""

    def made(**said):
        for name in ("squeue", "sacct", "sinfo"):
            text = said.get(name)
            script = f"#!/bin/sh\necho '{text}'\n" if text is not None else "#!/bin/sh\nexit 1\n"
            (tmp_path / name).write_text(script)
            (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return made


def test_what_slurm_says(programs):
    programs(squeue="TIMEOUT|n1", sinfo="short 30:00\nall* 2-00:00:00")
    assert slurm.end_of("7") == ("TIMEOUT", "n1")
    assert slurm.longest_minutes() == 2880 and slurm.longest_minutes("short") == 30
    programs(sacct="CANCELLED by 1000|n2")  # squeue has forgotten it
    assert slurm.end_of("7") == ("CANCELLED", "n2") and slurm.longest_minutes() is None
    programs(squeue="COMPLETED|n1", sinfo="n1 all*\nn2 short")
    assert slurm.end_of("7") is None
    assert slurm.usable_nodes() == {"n1"} and slurm.usable_nodes("any") == {"n1", "n2"}
    programs()
    assert slurm.end_of("7") is None
    with pytest.raises(UserError, match="does not say"):
        slurm.queued("name")


@pytest.fixture
def clock(monkeypatch):
    """Seconds that have passed, which a test moves."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(slurm.time, "monotonic", lambda: now.seconds)
    return now


def test_nobody_waits_for_a_controller_where_there_is_no_cluster(monkeypatch, clock):
    answers = [None, (1, "Connection refused"), (1, "fetch_config: DNS SRV lookup failed"), (0, "")]

    def answer(*_):
        given = answers.pop(0)
        return given and SimpleNamespace(returncode=given[0], stderr=given[1])

    monkeypatch.setattr(slurm, "_answer", answer)
    monkeypatch.setattr(slurm.time, "sleep", lambda _: None)
    monkeypatch.setattr(slurm.shutil, "which", lambda name: name)
    slurm.wait_until_it_answers()
    assert len(answers) == 1
    monkeypatch.setattr(slurm.shutil, "which", lambda name: None)
    slurm.wait_until_it_answers()
    assert len(answers) == 1


def lost_at(unknown, clock, *seconds):
    """What is lost of three jobs, asked at some seconds."""
    found = []
    for at in seconds:
        clock.seconds = at
        found.append(unknown.lost(["7", "8", "9_3"]))
    return found


def test_a_job_that_slurm_does_not_know_for_minutes_is_lost(programs, clock):
    programs(squeue="7\n9", sacct="")
    unknown = slurm.UnknownJobs("name")
    assert lost_at(unknown, clock, 0, 100, 179, 180) == [[], [], [], ["8"]]
    programs(squeue="", sacct="")  # 9 is the array of 9_3
    assert lost_at(unknown, clock, 200, 379, 381) == [["8"], ["8"], ["7", "8", "9_3"]]
    assert unknown.lost([]) == []


def test_a_job_of_which_slurm_does_not_answer_is_not_lost(programs, clock, tmp_path):
    unknown = slurm.UnknownJobs("name")
    programs(sacct="")
    assert lost_at(unknown, clock, 0, 1000) == [[], []]
    programs(squeue="7", sacct="")
    assert lost_at(unknown, clock, 1010) == [[]]
    programs(sacct="")  # away again: the minutes begin anew
    assert lost_at(unknown, clock, 1100) == [[]]
    programs(squeue="7", sacct="")
    assert lost_at(unknown, clock, 1200, 1379, 1380) == [[], [], ["8", "9_3"]]
    programs(squeue="7", sacct="8\n")  # on another cluster, or ended and forgotten
    assert lost_at(unknown, clock, 1390) == [["9_3"]]
    programs(squeue="7")
    assert lost_at(unknown, clock, 1400) == [[]], "the accounting is away"
    (tmp_path / "sacct").write_text("#!/bin/sh\necho Slurm accounting storage is disabled >&2; exit 1\n")
    assert lost_at(unknown, clock, 1410) == [["8", "9_3"]]


def test_a_lost_job_has_failed_and_the_last_lines_say_so(programs, clock, monkeypatch):
    """Snakemake tries it again, and goes on to ask for the others."""
    reported = []
    watch = progress._Watch()
    monkeypatch.setattr(progress, "_WATCH", watch)

    def report(job, message, aux_logs, **facts):
        reported.append(job.external_jobid)
        facts |= {"external_jobid": job.external_jobid}  # as Snakemake does
        watch.emit(SimpleNamespace(event="job_error", jobid=1, log=aux_logs, aux=facts))

    async def check(jobs):
        executor._status_query_calls += 1
        for job in jobs:
            yield job

    executor = SimpleNamespace(
        run_uuid="name", _status_query_calls=0, check_active_jobs=check, run_job=None, report_job_error=report
    )
    snakemake_inside.outlast_controller(SimpleNamespace(scheduler=SimpleNamespace(_executor=executor)))
    watch.emit(SimpleNamespace(event="job_info", jobid=1, rule_name="train", rule_msg="training", log=[]))
    programs(squeue="8", sacct="")
    jobs = [SimpleNamespace(external_jobid=number, aux={"slurm_logfile": "no.log"}) for number in "78"]

    async def still_active():
        return [job.external_jobid async for job in executor.check_active_jobs(jobs)]

    assert asyncio.run(still_active()) == ["7", "8"] and not reported
    clock.seconds = 200
    assert asyncio.run(still_active()) == ["8"] and reported == ["7"]
    told = progress.failures()
    assert "training (job 7: LOST; no log says anything)" in told and "Slurm has lost the job" in told
    assert "goes on from its checkpoint" in told and "repeat it" not in told
    programs(squeue="TIMEOUT|n1")  # of the next attempt, which may have the number of the lost one
    watch.emit(SimpleNamespace(event="job_error", jobid=1, log=[], aux={"external_jobid": "7"}))
    assert "training (job 7: TIMEOUT on n1" in progress.failures()


def test_a_retry_leaves_out_a_node_on_which_two_jobs_failed(programs, monkeypatch):
    """Unless no other node is usable; what a limit of its own ended says nothing of the node."""
    watch = progress._Watch()
    monkeypatch.setattr(progress, "_WATCH", watch)
    monkeypatch.setattr("gcexp.slurm.wait_until_it_answers", lambda: None)
    submitted = []
    executor = SimpleNamespace(run_uuid="name", _failed_nodes={"n9"}, check_active_jobs=None)
    executor.run_job = lambda job: submitted.append(executor._failed_nodes)
    snakemake_inside.outlast_controller(SimpleNamespace(scheduler=SimpleNamespace(_executor=executor)))
    watch.emit(SimpleNamespace(event="job_info", jobid=1, rule_name="train", rule_msg="training", log=[]))
    jobs = [SimpleNamespace(attempt=attempt, resources={}) for attempt in (1, 2)]
    for number, state in (("4", "TIMEOUT"), ("5", "FAILED"), ("6", "FAILED")):
        executor.run_job(jobs[1])
        programs(squeue=f"{state}|n1", sinfo="n1 all*\nn2 all*")
        watch.emit(SimpleNamespace(event="job_error", jobid=1, log=[], aux={"external_jobid": number}))
    assert submitted == [{"n9"}] * 3
    executor.run_job(jobs[0])
    executor.run_job(jobs[1])
    programs(sinfo="n1 all*\nn3 other")  # a node of a partition to which the job does not go
    executor.run_job(jobs[1])
    assert submitted[3:] == [{"n9"}, {"n9", "n1"}, {"n9"}] and executor._failed_nodes == {"n9"}
    for command, option in (
        ("snakemake one", "--slurm-exclude-failed-nodes=n1 keeps"),
        ("gcexp run -m s=1,2 --submit slurm", "`slurm-exclude-failed-nodes: n1` in the profile keeps"),
    ):
        watch.again = command
        told = progress.failures()
        assert "node n1: 2 submissions failed" in told and option in told


def test_a_failed_job_is_told_by_its_state_and_the_log_that_has_content(programs, tmp_path, monkeypatch):
    programs(squeue="TIMEOUT|n1")
    empty, written = tmp_path / "rule.log", tmp_path / "slurm.log"
    empty.touch()
    written.write_text("slurmstepd: error: CANCELLED DUE TO TIME LIMIT\n")
    watch = progress._Watch()
    monkeypatch.setattr(progress, "_WATCH", watch)
    watch.again = "snakemake one"
    facts = {"rule_msg": "training", "log": [str(empty)], "shellcmd": "gcexp job train 2> log"}
    for number, rule in enumerate(("train", "table")):
        watch.emit(SimpleNamespace(event="job_info", jobid=number, rule_name=rule, **facts))
    error = {"jobid": 0, "log": [str(empty), str(written)], "aux": {"external_jobid": "7"}}
    watch.emit(SimpleNamespace(event="job_error", **error))
    told = progress.failures()
    assert f"failed: training (job 7: TIMEOUT on n1; log: {written})" in told and "TIME LIMIT" in told
    assert "goes on from its checkpoint" in told and told.endswith("\ngo on: snakemake one")
    watch.emit(SimpleNamespace(event="job_error", jobid=1, log=[str(empty)], aux={}))
    assert f"failed: training (log: {empty})\nrepeat it: gcexp job train" in progress.failures()
    watch.emit(SimpleNamespace(event="job_finished", job_id=0))
    assert "TIMEOUT" not in progress.failures(), "the second attempt was well"


def test_a_job_that_ran_out_of_memory_or_lost_its_node_is_told(programs, tmp_path, monkeypatch):
    """Where a step needed too much memory, Slurm calls the step so and says of its job that it failed."""
    log = tmp_path / "slurm.log"
    log.write_text("slurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.0.\nError in rule train\n")
    for said, state, cause in (
        ("FAILED|n1", "OUT_OF_MEMORY on n1", "more memory than it asked for"),
        ("NODE_FAIL|n2", "NODE_FAIL on n2", "Its node failed"),
    ):
        programs(squeue=said)
        watch = progress._Watch()
        monkeypatch.setattr(progress, "_WATCH", watch)
        facts = {"rule_msg": "training", "log": [], "shellcmd": "gcexp job train 2> log"}
        watch.emit(SimpleNamespace(event="job_info", jobid=0, rule_name="train", **facts))
        watch.emit(SimpleNamespace(event="job_error", jobid=0, log=[str(log)], aux={"external_jobid": "7"}))
        told = progress.failures()
        assert f"job 7: {state}; log: {log}" in told and cause in told, told
        assert "goes on from its checkpoint" in told and "repeat it" not in told
        log.write_text("Error in rule train\n")


def test_a_group_is_one_submission(programs, monkeypatch):
    """Of a group that failed Snakemake says the number once, and names every job of it."""
    programs(squeue="OUT_OF_MEMORY|n1")
    watch = progress._Watch()
    monkeypatch.setattr(progress, "_WATCH", watch)
    for number, rule in enumerate(("table", "draw")):
        about = {"rule_name": rule, "rule_msg": rule, "log": [f"no-such-{rule}.log"], "shellcmd": "gcexp job"}
        watch.emit(SimpleNamespace(event="job_info", jobid=number, **about))
    members = [{"jobid": number, "aux": {"external_jobid": "9"}} for number in (0, 1)]
    watch.emit(SimpleNamespace(event="group_error", job_error_info=members, aux_logs=["no-such.log"]))
    for number in (0, 1):
        watch.emit(SimpleNamespace(event="job_error", jobid=number, log=[], aux={}))
    told = progress.failures()
    assert told.count("failed: ") == 1 and "failed: table (job 9: OUT_OF_MEMORY on n1; no log says" in told


def test_slurm_is_asked_for_usable_nodes_of_the_partition_alone(programs, tmp_path):
    """A node that is down or drained is none for a retry, nor is one to which the job does not go."""
    programs(sinfo="")
    (tmp_path / "sinfo").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    slurm.usable_nodes("short")
    asked = (tmp_path / "asked").read_text()
    assert "--partition short" in asked and "--states=idle,mixed,allocated" in asked
