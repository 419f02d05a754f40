"""Sweeps whose points are jobs of Snakemake's, under the profile of a desk; more of it stands in tests/slurm."""

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
    command = ["gcexp", "run", "-m", *arguments, "--format", "csv"]
    code, said = folder.begin(*command, table="table.csv").ended()
    assert code == 0, said
    return (folder / "table.csv").read_bytes(), said


def jobs(said):
    """How many jobs a sweep made, without the one that stands for all of them."""
    found = re.search(r"^ *total +(\d+)", said, re.M)
    return int(found[1]) - 1 if found else 0


def test_points_that_are_jobs_give_the_bytes_of_one_process(folder):
    points = ("scheme=cgc,cyclic_partial,frc", "s=1,2", *CLOCKS)
    here, _ = swept(folder, *points)
    there, said = swept(folder, *points, *SUBMITTED)
    assert there == here and jobs(said) == 1 and "impossible" in said
    again, said = swept(folder, *points, *SUBMITTED)
    assert again == here and jobs(said) == 0


def test_what_cannot_be_submitted_is_one_sentence(folder, monkeypatch):
    monkeypatch.chdir(folder.folder)
    for arguments, words in (
        (["s=1", *CLOCKS, *SUBMITTED], "-m"),
        (["-m", "s=1,2", *CLOCKS, "--submit", "slrum"], "did you mean 'slurm'"),
    ):
        code, said = folder.begin("gcexp", "run", "scheme=cgc", *arguments).ended()
        assert code == 2 and words in said and "Traceback" not in said, said
    with pytest.raises(UserError, match="object for code"):
        gcexp.sweep({"s": [1, 2]}, code=FractionalRepetition(n=6, d=2), n=6, iterations=3, submit="default")
    assert not (folder / "results").exists()
