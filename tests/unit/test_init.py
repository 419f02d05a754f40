"""A project of one's own, outside the clone."""

import errno
import os
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from gcexp.command.init import init, rules
from gcexp.command.main import main
from gcexp.report.figurefile import read_figure
from gcexp.report.figureschema import document
from gcexp.report.targets import paper_of, target_files
from gcexp.run.options import option_names, project, search_dirs
from tests.conftest import BIN, unload


@pytest.fixture
def mine(here, monkeypatch, forget):
    """A fresh project as working folder."""
    unload("mine")
    init("mine")
    monkeypatch.chdir("mine")
    forget()
    return here / "mine"


@pytest.mark.slow
def test_its_options_and_figures_join_the_built_in_ones(mine, capsys):
    assert project() == mine and search_dirs()[-2:] == [mine / "conf", mine / "mine" / "conf"]
    assert {"mirror", "cgc"} <= set(option_names("scheme"))
    files = {paper_of(path): path for path in target_files().values() if path.stem == "first"}
    assert files["mine"] == mine / "mine" / "figures" / "first.yaml"
    assert main(["show", "scheme=mirror", "n=6"]) == 0
    assert "Mirror(n=6)" in capsys.readouterr().out
    made = read_figure(files["mine"], "quick")
    assert made.target == "mine_first" and made.labels[0] == "mirror"
    first = files["mine"]
    named = first.read_text().partition("$schema=")[2].partition("\n")[0]
    assert (first.parent / named).read_text() == document()
    assert not list(Path().rglob("*.in")) and "mypaper" not in Path("README.md").read_text()


def test_the_clone_is_no_project(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    assert project() is None and Path(rules()).is_file()


@pytest.mark.parametrize(
    "name",
    [
        *("My-Paper", "../x", "json", "class", "numpy", "gcexp", "conf", "taken"),
        pytest.param("adaptive", marks=pytest.mark.paper("adaptive")),
    ],
)
def test_a_name_that_cannot_be_used_is_a_sentence(here, refused, name):
    """No name of a package, or one that Python, a library, a paper or this folder has already."""
    Path("taken").mkdir()
    refused(name, init, name)
    assert [path.name for path in here.iterdir()] == ["taken"]


def test_a_project_is_made_whole_or_not_at_all(here, refused, monkeypatch):
    """On a full disk half a project stayed, with an empty pyproject.toml, and the second try said that it exists."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", full)  # what comes last
        refused(("mine", "No space left"), init, "mine")
    assert not list(here.iterdir())
    init("mine")
    assert [path.name for path in here.iterdir()] == ["mine"] and (here / "mine/pyproject.toml").read_text()


@pytest.mark.parametrize(
    "file, name",
    [
        ("random.py", "random.py"),
        ("yaml/__init__.py", "yaml"),
        ("class.py", "class.py"),
        ("pandas/notes.txt", None),  # a folder without modules shadows nothing
        ("helpers.py", None),
        ("tests/__init__.py", None),
    ],
)
def test_a_module_of_the_project_in_the_place_of_another(mine, file, name, refused, refused_command):
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text("")
    if name is None:
        assert main(["list", "waits"]) == 0
    else:
        refused_command(name, "list", "waits")
        refused(name, rules)


WRONG = """
from gcexp.codes import Code, CyclicRepetition, Quorum
from gcexp.schema import checked


class Bad(Code):
    @checked
    def __init__(self, n: int):
        super().__init__([[float(i == j) for j in range(n)] for i in range(n)])


class Worse(Code):
    @checked
    def __init__(self, n: int):
        helped(n)


class Off(Code):
    @checked
    def __init__(self, n: int):
        rows = [[1.0 * (i == j) + 2.0 * (i + j == n - 1) for j in range(n)] for i in range(n)]
        super().__init__(rows, quorums=[Quorum((w, n - 1 - w), [(1, 1)]) for w in range(n // 2)])


class Shifted(CyclicRepetition):
    def combine(self, sent, weights):
        return super().combine(sent, weights) + 1


class Short(CyclicRepetition):
    def combine(self, sent, weights):
        return super().combine(sent, weights)[1:]


def helped(n):
    return lost + n
"""


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        (["code._target_=mine.wrong.Worse"], ("line 36", "helped", "NameError", "return lost + n")),
        (["wait.s=1", "code._target_=mine.wrong.Bad"], ("Bad(n=4)", "promise='least_squares'", "line 6")),
        (["wait.s=0", "code._target_=mine.wrong.Off"], ("promise='least_squares'", "line 18")),
    ],
)
def test_a_mistake_in_the_projects_code_is_the_projects(mine, capsys, overrides, names):
    """With its file and line; a broken promise says which stragglers and how an approximate code says so."""
    Path("mine/wrong.py").write_text(WRONG)
    run = ["simulate", "scheme=uncoded", "wait=fastest", "n=4", "iterations=3", "seeds=1"]
    assert main([*run, *overrides]) == 2
    said = capsys.readouterr().err
    assert [name for name in ("mine/wrong.py", *names) if name not in said] == [] and "defect" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "names"),
    [("Shifted", ("verification failed", "Shifted", "line 25")), ("Short", ("combine", "Short", "line 30"))],
)
def test_a_wrong_combine_is_the_projects(mine, capsys, name, names):
    """What the replay finds: a vector that is no gradient, or none of its length."""
    Path("mine/wrong.py").write_text(WRONG)
    run = ["run", "scheme=cgc", "n=4", "s=1", "task=digits_mlp", "iterations=3", "seeds=1"]
    assert main([*run, f"code._target_=mine.wrong.{name}"]) == 2
    said = capsys.readouterr().err
    assert [name for name in ("mine/wrong.py", *names) if name not in said] == [] and "defect" not in said


def test_its_own_tests_pass(mine, monkeypatch):
    monkeypatch.syspath_prepend(mine)  # as its pyproject.toml has it
    (marked,) = runpy.run_path("mine/tests/test_mirror.py")["test_contract"].pytestmark
    _, checks = marked.args
    assert len(checks) > 10
    for check in checks:
        check()


def test_a_new_project_is_planned_by_snakemake(tmp_path):
    """By the one that is found first: `make test-oldest` puts the oldest one that is allowed before ours."""
    subprocess.run([BIN / "gcexp", "init", "mypaper"], cwd=tmp_path, check=True)
    plan = [BIN / "snakemake", "-n", "mypaper_first", "--default-resources", "slurm_partition=long"]
    done = subprocess.run(plan, cwd=tmp_path / "mypaper", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "train_exact" in done.stdout + done.stderr
