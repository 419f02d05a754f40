"""Sweeps whose points are jobs of Snakemake's: here under the profile of a desk, in tests/slurm on a cluster."""

import fcntl
import json
import re

import pytest

import gcexp
from gcexp.codes import FractionalRepetition
from gcexp.errors import UserError

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

CLOCKS = ("n=6", "delay=pareto", "iterations=20", "seeds=2")
SUBMITTED = ("--submit", "default")


@pytest.fixture
def folder(fresh, tmp_path):
    """An empty folder, where the installed options are used."""
    (tmp_path / "sweeps").mkdir()
    return type(fresh)(tmp_path / "sweeps").guarded()


def swept(folder, *arguments):
    """The table, and what else was said."""
    with folder.start(
        "bash", "-c", 'gcexp run -m "$@" --format csv > table.csv', "sweep", *arguments
    ) as process:
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return (folder / "table.csv").read_bytes(), said


def jobs(said):
    """How many jobs a sweep made, without the one that stands for all of them."""
    found = re.search(r"^ *total +(\d+)", said, re.M)
    return int(found[1]) - 1 if found else 0


def test_points_that_are_jobs_give_the_bytes_of_one_process(folder):
    points = ("scheme=cgc,cyclic_partial,frc", "s=1,2", *CLOCKS)
    here, _ = swept(folder, *points)
    there, said = swept(folder, *points, *SUBMITTED)
    assert there == here and jobs(said) == 4 and "impossible" in said
    again, said = swept(folder, *points, *SUBMITTED)
    assert again == here and jobs(said) == 0


def test_trained_points_share_what_exact_schemes_share(folder):
    points = ("scheme=cgc,frc,forget", "s=2", "task=digits_mlp", *CLOCKS, "--level", ".5")
    here, _ = swept(folder, *points)
    there, said = swept(folder, *points, *SUBMITTED)
    assert there == here
    assert jobs(said) == 4, "one training of both exact schemes, their points, and a point that trains"
    assert not list((folder / "results/checkpoints/sweep").glob("*.npz*"))


def test_python_gets_the_same_table(folder, monkeypatch):
    monkeypatch.chdir(folder.folder)
    grid, keys = (
        {"scheme": ["cgc", "forget"]},
        {"n": 4, "s": 1, "iterations": 3, "seeds": 1, "task": "digits_mlp"},
    )
    here, there = gcexp.sweep(grid, **keys), gcexp.sweep(grid, submit="default", **keys)
    assert here.equals(there) and [*here.dtypes] == [*there.dtypes]
    assert json.loads(json.dumps(here.verification)) == there.verification
    assert here.provenance["points"] == there.provenance["points"]


def test_what_cannot_be_submitted_is_one_sentence(folder, monkeypatch):
    monkeypatch.chdir(folder.folder)
    for arguments, words in (
        (["s=1", *CLOCKS, *SUBMITTED], "-m"),
        (["-m", "s=1,2", *CLOCKS, "--submit", "slrum"], "did you mean 'slurm'"),
    ):
        code, said = folder.gcexp("run", "scheme=cgc", *arguments)
        assert code == 2 and words in said and "Traceback" not in said, said
    with pytest.raises(UserError, match="object for code"):
        gcexp.sweep({"s": [1, 2]}, code=FractionalRepetition(n=6, d=2), n=6, iterations=3, submit="default")
    assert not (folder / "results").exists()


def test_a_point_that_fails_is_told_and_the_others_are_kept(folder):
    (folder / "times.csv").write_text("iteration,worker,time\n" + "0,0,1.0\n0,1,2.0\n0,2,1.5\n")
    points = (
        "scheme=cgc,frc",
        "n=3",
        "s=0",
        "delay=trace",
        "delay.file=times.csv",
        "iterations=1",
        "seeds=1",
    )
    table, _ = swept(folder, *points, *SUBMITTED)
    (plan,) = (folder / "results/sweep/plan").glob("*.json")
    lost = sorted(json.loads(plan.read_text()))[0]
    (folder / lost).unlink()
    record = folder / f"results/records/{lost}.json"
    record.unlink()
    record.mkdir()  # no file can be written here
    code, said = folder.gcexp("run", "-m", *points, *SUBMITTED)
    assert code == 2 and "gcexp: the sweep is not whole" in said and "Traceback" not in said, said
    assert "failed: point" in said and "cannot be written" in said and "repeat it: gcexp job point" in said
    record.rmdir()
    again, said = swept(folder, *points, *SUBMITTED)
    assert again == table and jobs(said) == 1
    with open(plan.with_suffix(".lock"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, said = folder.gcexp("run", "-m", *points, *SUBMITTED)
    assert code == 2 and "another process" in said
