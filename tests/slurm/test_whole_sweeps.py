"""Whole sweeps as jobs, and a build in conda environments, under the profile of a desk; no Slurm is needed."""

import fcntl
import json
import re
import shutil

import pytest

import gcexp
from tests.workflow.test_deployment import stand_ins
from tests.workflow.test_submitted_sweep import CLOCKS, SUBMITTED, folder, jobs, swept

__all__ = ["folder", "stand_ins"]  # fixtures
pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def test_trained_points_share_what_exact_schemes_share(folder):
    points = ("scheme=cgc,frc,forget", "s=2", "task=digits_mlp", *CLOCKS, "--level", ".5")
    here, _ = swept(folder, *points)
    there, said = swept(folder, *points, *SUBMITTED)
    assert there == here
    assert jobs(said) == 3, "one training of both exact schemes, both their points, and a point that trains"
    assert not list((folder / "results/checkpoints/sweep").glob("*.npz*"))


def test_python_gets_the_same_table(folder, monkeypatch):
    monkeypatch.chdir(folder.folder)
    grid = {"scheme": ["cgc", "forget"]}
    keys = {"n": 4, "s": 1, "iterations": 3, "seeds": 1, "task": "digits_mlp"}
    here, there = gcexp.sweep(grid, **keys), gcexp.sweep(grid, submit="default", **keys)
    assert here.equals(there) and [*here.dtypes] == [*there.dtypes]
    assert json.loads(json.dumps(here.verification)) == there.verification
    assert here.provenance["points"] == there.provenance["points"]


def test_a_point_that_fails_is_told_and_the_others_are_kept(folder):
    for name in ("times.csv", "other.csv"):
        (folder / name).write_text("iteration,worker,time\n" + "0,0,1.0\n0,1,2.0\n0,2,1.5\n")
    points = "scheme=cgc,frc n=3 s=0 delay=trace delay.file=times.csv,other.csv iterations=1 seeds=1".split()
    table, _ = swept(folder, *points, *SUBMITTED)
    (plan,) = (folder / "results/sweep/plan").glob("*.json")
    place = folder / "results/sweep/point"
    shutil.rmtree(place)
    place.touch()  # no file can be written here
    code, said = folder.gcexp("run", "-m", *points, *SUBMITTED)
    assert code == 2 and "gcexp: the sweep is not whole" in said and "Traceback" not in said, said
    assert "failed: points" in said and "cannot be written" in said, said
    repeated = re.search(r"^repeat it: gcexp (job point .*)$", said, re.M)[1]
    place.unlink()
    (folder / "other.csv").rename(folder / "away.csv")
    code, said = folder.gcexp(*repeated.split())
    assert code == 2 and "2 of 4 points failed" in said and said.count("other.csv") >= 2, said
    (folder / "away.csv").rename(folder / "other.csv")
    again, said = swept(folder, *points, *SUBMITTED)
    assert again == table and "together: 2" in said, "the other points were kept"
    with open(plan.with_suffix(".lock"), "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, said = folder.gcexp("run", "-m", *points, *SUBMITTED)
    assert code == 2 and re.search(r"being made by process \d+ on", said), said


def test_jobs_run_in_the_environment_that_their_rule_names(fresh, stand_ins):
    code, output = fresh.run("snakemake", "-n", "small_three", "--sdm", "conda")
    assert code == 0, output
    assert len(re.findall(r"Conda environment \S+ will be created", output)) == 2, output
    code, output = fresh.run("snakemake", "-j1", "small_three", "--sdm", "conda")
    assert code == 0, output
    calls = (stand_ins / "calls").read_text().splitlines()
    assert len(calls) == 7 and (fresh / "reports/quick/figures/small_three.pdf").is_file()
    makes = {line.split()[-1]: line for line in calls}  # by verb, the first words say for which jobs
    assert all("that prepare data, train" in makes[verb] for verb in ("data", "train"))
    assert all("that make tables, draw" in makes[verb] for verb in ("table", "plot", "figure_page"))
