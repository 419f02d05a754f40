"""The workflow on a one-node Slurm: the bytes of a desk, a failure that is told, a training that outlives its limit."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import yaml

from gcexp.run.run import run_of_path
from tests.conftest import LONG, assert_same_arrays, at_work, wait

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "munged")
NODE = Path(__file__).with_name("node.sh")
TRAINED = "results/trajectory/digits_mlp/gradient_descent/exact/T3000/seeds0-2.npz"
#: A training that no test waits for.
ENDLESS = "results/trajectory/digits_mlp/gradient_descent/exact/T300000/seeds0-1.npz"
SLURM = ("--workflow-profile", "profiles/slurm")

PLACES = f"{os.environ['PATH']}:/usr/sbin"
missing = [program for program in NEEDED if shutil.which(program, path=PLACES) is None]
if missing:
    told = f"no Slurm here, {', '.join(missing)} not found: apt-get install --no-install-recommends slurm-wlm munge"
    pytest.skip(told, allow_module_level=True)


@contextlib.contextmanager
def started(folder, *nodes):
    """A cluster, which this process knows until it is stopped."""
    path = f"{folder}/bin:{PLACES}"
    subprocess.run(
        ["bash", NODE, "start", folder, *nodes], check=True, env=os.environ | {"PATH": path}, timeout=LONG
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        patch.setenv("SLURM_CONF", f"{folder}/slurm.conf")
        try:
            yield folder
        finally:
            subprocess.run(["bash", NODE, "stop", folder], check=True, timeout=LONG)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A node that lives as long as the tests."""
    with started(tmp_path_factory.mktemp("slurm")) as folder:
        yield folder


def test_a_second_start_finds_the_programs_of_slurm_and_all_cores(cluster, tmp_path):
    subprocess.run(
        ["bash", NODE, "configure", tmp_path], check=True
    )  # this path has a srun of `start` already
    assert str(cluster) not in (tmp_path / "bin/srun").read_text()
    assert f" CPUs={os.cpu_count()} " in (tmp_path / "slurm.conf").read_text()
    assert squeue("sinfo", "--noheader", "--partition=all", "--format=%c").strip() == str(os.cpu_count())


def submit(project, *arguments, timeout=LONG):
    return project.run("snakemake", *arguments, *SLURM, timeout=timeout)


def same_bytes(project, other, *folders):
    """Both have the same files with the same bytes, but for provenance, which tells times."""
    mine, theirs = (
        {name: file for name, file in one.files(*folders).items() if "provenance" not in name}
        for one in (project, other)
    )
    assert set(mine) == set(theirs) and mine
    assert not [name for name in mine if mine[name].read_bytes() != theirs[name].read_bytes()]
    return mine


def test_a_paper_has_the_bytes_of_a_desk(cluster, real, tmp_path):
    desk, far = real, real.copy(tmp_path / "far")
    desk.build("-j2", "comm_efficient")
    code, output = submit(far, "comm_efficient")
    assert code == 0, output
    made = same_bytes(desk, far, "results/trajectory", "reports")
    target = "comm_efficient_table1"
    assert {f"reports/quick/data/{target}.csv", f"reports/quick/tables/{target}.md"} <= {*made}
    submissions = re.findall(r"submitted with SLURM jobid (\d+)", output)
    tables = [name for name in made if name.startswith("reports/quick/data/")]
    trained = [name for name in made if name.startswith("results/") and name.endswith(".npz")]
    assert len(submissions) == len(tables) + len(trained), "a table and its drawing share a submission"
    assert not list(far.folder.glob("slurm-*.out")), "logs of Slurm have a folder"


def test_a_failure_is_told_with_its_log(cluster, fresh):
    data = "data/prepared/digits.npz"
    code, output = submit(fresh, data)
    assert code == 0 and "SLURM jobid" not in output, "data are prepared where Snakemake was started"
    with open(fresh / data, "r+b") as file:
        file.seek(1000)
        file.write(b"!")
    code, output = submit(fresh, TRAINED.replace("T3000/seeds0-2", "T30/seeds0-1"), "--retries", "0")
    assert code != 0 and "Traceback" not in output
    assert f"gcexp: {data}: expected sha256" in output
    told = r"failed: training digits_mlp, exact \(job \d+: FAILED on n1; log: logs/trajectory/digits_mlp/"
    assert re.search(told, output), output
    assert "repeat it: gcexp job train" in output and "\ngo on: snakemake results/trajectory/" in output
    assert (fresh / "logs/slurm").is_dir()


@pytest.mark.parametrize("profile", ["slurm", "cluster_generic"])
def test_a_job_that_the_cluster_kills_ends_the_workflow(cluster, fresh, tmp_path, profile):
    with training_on(profile, fresh, tmp_path) as process:
        squeue("scancel", *queued())
        assert process.wait(120) != 0
    output = (tmp_path / "output.txt").read_text()
    assert re.search(r"failed: training digits_mlp, exact \(job \d+: CANCELLED on n1; ", output), output
    assert f"go on: snakemake {ENDLESS} --workflow-profile" in output and not (fresh / ENDLESS).exists()


@pytest.mark.parametrize("profile", ["slurm", "cluster_generic"])
def test_an_interrupt_cancels_the_jobs(cluster, fresh, tmp_path, profile):
    with training_on(profile, fresh, tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(120) != 0
        wait(lambda: not queued(), "end of all jobs", 60)
        assert not (fresh / ENDLESS).exists(), "the training was waited for"


def test_the_generic_profile_makes_the_same_bytes(cluster, fresh, tmp_path):
    desk, far = fresh, fresh.copy(tmp_path / "far")
    desk.build("-j2", "small_three")
    code, output = far.run("snakemake", "small_three", "--workflow-profile", "profiles/cluster_generic")
    assert code == 0, output
    same_bytes(desk, far, "results/trajectory", "reports")
    assert len(re.findall(r"Submitted (?:group )?job \S+ with external jobid", output)) == 4, output


@pytest.mark.parametrize("profile", ["slurm", "profiles/cluster_generic"])
def test_a_sweep_is_submitted(cluster, fresh, tmp_path, profile):
    clocks = ("scheme=cgc,frc,forget", "s=1,2,3,5", "n=12", "delay=pareto", "iterations=20", "seeds=2")
    training = ("scheme=cgc,frc,forget", "s=2", "n=6", "task=digits_mlp", "iterations=20", "seeds=2")
    for points, submissions in ((clocks, 1), (training, 3)):
        tables, said = [], ""
        for more in ([], ["--submit", profile]):
            command = ["gcexp", "run", "-m", *points, *more, "--format", "csv"]
            where = {"cwd": fresh.folder, "env": fresh.environment}
            done = subprocess.run(command, capture_output=True, timeout=LONG, **where)
            said = done.stderr.decode()
            assert done.returncode == 0, said
            tables.append(done.stdout)
        assert tables[0] == tables[1] and tables[0].count(b"\n") > 3
        assert len(re.findall(r"submitted with SLURM jobid|with external jobid", said)) == submissions, said


def test_a_training_goes_on_where_its_time_limit_ended_it(cluster, fresh, tmp_path):
    project = fresh
    project.edit(project.figure, "scheme: cgc", "scheme: cgc, iterations: 3000, seeds: 3")
    limit = ("--set-resources", "train_exact:runtime=1", "--retries", "4")
    with open(tmp_path / "output.txt", "w") as output:
        process = project.start("snakemake", TRAINED, *SLURM, *limit, output=output)
        said = (tmp_path / "output.txt").read_text
        wait(lambda: rows(project) >= 2 or process.poll() is not None, "second seed", 400)
        reached = rows(project)
        (trainer,) = trainers(project)
        trainer.suspend()  # it now lasts longer than any limit
        wait(lambda: "TIMEOUT" in said() or process.poll() is not None, "end at the limit", 400)
        with contextlib.suppress(psutil.NoSuchProcess):
            trainer.kill()  # what a cluster with control groups does to all that a job started
        assert process.wait(600) == 0, said()
    assert reached == 2
    parts = {"task": "digits_mlp", "optimizer": "gradient_descent", "iterations": "3000", "seeds": "0-2"}
    command = ("gcexp", "job", "train", *run_of_path(parts).overrides, "-o", "whole.npz")
    code, output = project.run(*command, timeout=LONG)
    assert code == 0, output
    assert_same_arrays(project / TRAINED, project / "whole.npz")
    spent = [cpu(project / path) for path in (TRAINED, "whole.npz")]
    assert spent[0] < 0.8 * spent[1], "two of three seeds were kept"


@contextlib.contextmanager
def training_on(profile, project, folder):
    """A workflow whose training takes an hour, from when it works on the node."""
    with open(folder / "output.txt", "w") as output:
        profile = f"profiles/{profile}"
        once = ("--retries", "0")
        process = project.start("snakemake", ENDLESS, "--workflow-profile", profile, *once, output=output)
        try:
            wait(lambda: trainers(project) or process.poll() is not None, "training", 180)
            assert process.poll() is None, (folder / "output.txt").read_text()
            yield process
        finally:
            process.kill()
            squeue("scancel", "--state=RUNNING", f"--user={os.getuid()}")


def squeue(*command):
    """What a program of Slurm says."""
    return subprocess.run(command, capture_output=True, text=True).stdout


def queued():
    """Numbers of jobs that wait or run."""
    return squeue("squeue", "--noheader", "--format=%i").split()


def rows(project):
    """Seeds that the checkpoint has finished."""
    saved = project / "results/checkpoints" / TRAINED
    if not saved.exists():
        return 0
    with np.load(saved) as state:
        return int(state["at_row"])


def cpu(result):
    """CPU seconds of the job that made a result."""
    return json.loads(result.with_suffix(".provenance.json").read_text())["cpu_s"]


def trainers(project):
    """Training processes that work in the folder."""
    found = []
    for process in at_work(project, "train"):
        with contextlib.suppress(psutil.Error):  # it has ended since
            if "python" in process.cmdline()[0]:
                found.append(process)
    return found


def children(project, process):
    """Processes of the folder that a process has started."""
    found = []
    for one in at_work(project):
        with contextlib.suppress(psutil.Error):  # it has ended since
            if one.ppid() == process.pid:
                found.append(one)
    return found


@pytest.mark.parametrize("rule", ["train_exact", "train", "sweep_training", "sweep_trained_point"])
def test_a_training_on_cifar_asks_for_a_gpu(rule):
    """What Snakemake evaluates for each job; the node of these tests has no GPU that it could grant."""
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    asked = {
        task: eval(profile["set-resources"][rule]["gpu"], {"wildcards": SimpleNamespace(task=task)})
        for task in ("cifar_resnet18", "cifar_resnet18+batch@90", "small_cnn", "mnist_mlp")
    }
    assert asked == {"cifar_resnet18": 1, "cifar_resnet18+batch@90": 1, "small_cnn": 0, "mnist_mlp": 0}
